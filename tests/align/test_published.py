"""Published recognisers: loaded from a folder as they lie on the hub, of networks made here; and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olu.align.published import listener_named, pieces
from olu.core.errors import OluError
from olu.core.types import Audio

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

RATE = 16000
LETTERS = ["<pad>", "<s>", "</s>", "<unk>", "|", *"abdehiklmnoprstuwyz"]


def sound(seconds: float) -> Audio:
    time = np.arange(round(seconds * RATE)) / RATE
    return Audio((0.1 * np.sin(2 * np.pi * 150 * time) * np.sin(2 * np.pi * 2 * time)).astype(np.float32), RATE)


def wav2vec(folder: Path, *, languages: tuple[str, ...] = ()) -> Path:
    """A small network with CTC, one alphabet or one for each language with its adapter, as MMS has them."""
    torch.manual_seed(0)
    config = transformers.Wav2Vec2Config(
        vocab_size=len(LETTERS),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        conv_dim=(16, 16),
        conv_stride=(16, 20),
        conv_kernel=(16, 20),
        num_feat_extract_layers=2,
        num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=2,
        mask_time_prob=0.0,
        layerdrop=0.0,
        adapter_attn_dim=4 if languages else None,
    )
    network = transformers.Wav2Vec2ForCTC(config).eval()
    network.save_pretrained(folder)
    alphabet = {letter: id for id, letter in enumerate(LETTERS)}
    vocabulary: dict[str, Any] = dict.fromkeys(languages, alphabet) if languages else alphabet
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    target = languages[0] if languages else None
    transformers.Wav2Vec2CTCTokenizer(str(folder / "vocab.json"), target_lang=target).save_pretrained(folder)
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    transformers.Wav2Vec2FeatureExtractor(sampling_rate=RATE).save_pretrained(folder)
    if languages:
        from safetensors.torch import save_file

        for code in languages:
            held = {name: value.contiguous() for name, value in network._get_adapters().items()}
            save_file(held, folder / f"adapter.{code}.safetensors", metadata={"format": "pt"})
    return folder


def whisper(folder: Path, *, languages: tuple[str, ...] = ("en", "sw")) -> Path:
    """A small Whisper with a byte alphabet, and the marks that tell languages."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    torch.manual_seed(0)
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: id for id, letter in enumerate(letters)}
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    marks = ["<|endoftext|>", "<|startoftranscript|>", *(f"<|{code}|>" for code in languages)]
    marks += ["<|translate|>", "<|transcribe|>", "<|notimestamps|>"]
    fast = transformers.WhisperTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token=marks[0],
        bos_token=marks[0],
        eos_token=marks[0],
        extra_special_tokens=marks[1:],
    )
    ids = {mark: fast.convert_tokens_to_ids(mark) for mark in marks}
    config = transformers.WhisperConfig(
        vocab_size=len(fast),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        num_mel_bins=80,
        max_target_positions=256,
        pad_token_id=ids[marks[0]],
        bos_token_id=ids[marks[0]],
        eos_token_id=ids[marks[0]],
        decoder_start_token_id=ids["<|startoftranscript|>"],
        suppress_tokens=[],
        begin_suppress_tokens=[],
    )
    network = transformers.WhisperForConditionalGeneration(config).eval()
    made = network.generation_config
    made._from_model_config = False  # else it would be made anew when it is read
    made.is_multilingual = len(languages) > 1
    if made.is_multilingual:
        made.lang_to_id = {f"<|{code}|>": ids[f"<|{code}|>"] for code in languages}
        made.task_to_id = {task: ids[f"<|{task}|>"] for task in ("transcribe", "translate")}
    made.no_timestamps_token_id = ids["<|notimestamps|>"]
    made.forced_decoder_ids = None
    network.save_pretrained(folder)
    fast.save_pretrained(folder)
    transformers.WhisperFeatureExtractor(feature_size=80, sampling_rate=RATE).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("languages", [(), ("amh", "swh")])
def test_a_network_with_ctc_drafts(tmp_path: Path, languages: tuple[str, ...]) -> None:
    place = wav2vec(tmp_path / "model", languages=languages)
    listener, name = listener_named("mms", str(place), language="swa", device="cpu")
    found = listener(sound(2.0))
    assert str(place) in name
    assert found.words and len(found.sure) == len(found.words) and all(0 <= one <= 1 for one in found.sure)
    assert not {"<", ">", "|", " "} & set("".join(found.words))
    network = transformers.Wav2Vec2ForCTC.from_pretrained(place, **({"target_lang": "swh"} if languages else {}))
    prepare = transformers.AutoFeatureExtractor.from_pretrained(place)
    given = prepare(sound(2.0).samples, sampling_rate=RATE, return_tensors="pt").input_values
    with torch.inference_mode():
        best = network.eval()(given).logits[0].argmax(-1).tolist()
    letters = [LETTERS[one] for one, before in zip(best, [None, *best], strict=False) if one != before]
    kept = "".join(letter for letter in letters if letter not in LETTERS[:4]).replace("|", " ").split()
    assert list(found.words) == kept, "what transformers itself hears"


def test_whisper_drafts_words_with_their_chance(tmp_path: Path) -> None:
    place = whisper(tmp_path / "model")
    listener, name = listener_named("whisper", str(place), language="swa", device="cpu")
    found = listener(sound(2.0))
    assert name == f"Whisper ({place})"
    assert len(found.words) == len(found.sure) and found.text.split() == list(found.words)
    assert all(0 <= one <= 1 for one in found.sure) and 0 <= found.confidence <= 1
    with pytest.raises(OluError, match="does not know 'yor'"):
        listener_named("whisper", str(place), language="yor", device="cpu")


def test_an_english_whisper_is_for_english(tmp_path: Path) -> None:
    place = whisper(tmp_path / "model", languages=("en",))
    with pytest.raises(OluError, match="knows English alone"):
        listener_named("whisper", str(place), language="swa", device="cpu")
    listener, _ = listener_named("whisper", str(place), language="eng", device="cpu")
    listener(sound(1.0))


def test_what_is_no_model_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(OluError, match=r"no folder with a config\.json"):
        listener_named("mms", str(tmp_path), language="swa", device="cpu")
    place = wav2vec(tmp_path / "model", languages=("amh",))
    with pytest.raises(OluError, match="does not know 'swa'"):
        listener_named("mms", str(place), language="swa", device="cpu")
    (place / "model.safetensors").unlink()
    with pytest.raises(OluError, match="cannot be opened") as bad:
        listener_named("mms", str(place), language="amh", device="cpu")
    assert "\n" not in str(bad.value)
    (place / "vocab.json").write_text("no json", encoding="utf-8")
    with pytest.raises(OluError, match=r"no vocab\.json"):
        listener_named("mms", str(place), language="amh", device="cpu")


def test_a_long_recording_is_heard_in_pieces() -> None:
    found = pieces(sound(75.0))
    assert len(found) == 4 and all(part.seconds <= 30 for part in found)
    assert sum(len(part.samples) for part in found) == 75 * RATE

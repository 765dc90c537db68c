"""For people who have the released weights of XTTS v2: load them, look at a fixed list of numbers, write them as JSON.

    python dev/xtts_check.py FOLDER [--wav clip.wav --text "what is said in it" --language en] [-o report.json]

The weights were never seen where this was written: everything is proved with drawn ones. The report holds numbers only,
no weights and no sound, and is meant to be sent. Where the package coqui-tts can be imported, its answers are compared
with ours. About 6 GB of memory and a few minutes on one core.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import torch
from check_numbers import CODES, SENTENCE, made_sound, rounded, say, some, spread, write
from torch import Tensor
from torch.nn import functional as F

from olu.audio.io import read, resample
from olu.core.errors import OluError
from olu.families.xtts.codes import Dvae
from olu.families.xtts.config import RATE
from olu.families.xtts.decoder import frames_of
from olu.families.xtts.foreign.read import VOCABULARY, Release, read_release
from olu.families.xtts.model import Xtts
from olu.families.xtts.speaker import RATE as SPEAKER_RATE
from olu.families.xtts.spectrum import prompt_mel
from olu.nn.causal import Cache
from olu.text.piece_files import read_pieces
from olu.text.pieces import PieceVocabulary

RELEASED = {"tensors": 963, "parameters": 518_442_047, "tokens": 6681}
LOOKED_AT = (
    "gpt.text_embedding.weight",
    "gpt.text_head.weight",
    "gpt.text_head.bias",
    "gpt.mel_embedding.weight",
    "gpt.text_pos_embedding.emb.weight",
    "gpt.mel_pos_embedding.emb.weight",
    "gpt.gpt.h.0.attn.c_attn.weight",
    "gpt.gpt.h.29.mlp.c_proj.weight",
    "gpt.conditioning_perceiver.latents",
    "hifigan_decoder.waveform_decoder.conv_pre.weight",
)
SIZES = ("layers", "width", "heads", "codes", "text_places", "code_places", "decoder_width", "dvae_width", "code_width")


def main() -> None:
    report = write(__doc__, longest=11, check=check)
    for name, fine in report["as released"].items():
        say(f"{'as released ' if fine else 'NOT AS RELEASED'} {name}")
    for name, apart in report.get("apart from coqui-tts", {}).items():
        say(f"apart from coqui-tts: {name}: {apart}")


@torch.no_grad()
def check(asked: argparse.Namespace) -> dict[str, Any]:
    release = read_release(asked.folder)
    vocabulary = read_pieces((asked.folder if asked.folder.is_dir() else asked.folder.parent) / VOCABULARY)
    model = Xtts(release.config, vocab_size=release.vocab_size).eval()
    dvae = Dvae(release.config).eval() if release.dvae else None
    release.load(model, dvae)
    tagged = vocabulary.grown(tag=asked.language)
    found = {
        "tensors": len(release.weights),
        "parameters": sum(p.numel() for one in (model, dvae) if one is not None for p in one.parameters()),
        "tokens": release.vocab_size,
    }
    if tagged.size != release.vocab_size:
        raise OluError(f"the vocabulary has no tag [{asked.language}]: name another with --language")
    report: dict[str, Any] = {
        "found": found,
        "as released": {name: found[name] == value for name, value in RELEASED.items()},
        "version": release.version,
        "config": {name: getattr(release.config, name) for name in SIZES},
        "vocabulary": told_of(vocabulary),
        "ids of a sentence": tagged.encode_text(SENTENCE),
        "weights": {name: spread(release.weights[name]) for name in LOOKED_AT if name in release.weights},
        "mel statistics": spread(release.mel_stats),
        "answers": answers(model, dvae, tagged),
        "notes": list(release.notes),
    }
    if asked.wav:
        report["recording"] = recording(model, dvae, tagged, asked)
    if public := public_model(asked.folder, release):
        report["apart from coqui-tts"] = compared(public, model, tagged, release)
    return report


def told_of(vocabulary: PieceVocabulary) -> dict[str, Any]:
    ids = {piece: id for id, piece in enumerate(vocabulary.symbols)}
    return {
        "merges": len(vocabulary.merges),
        "distinct merges": len(set(vocabulary.merges)),
        "special": {piece: ids[piece] for piece in vocabulary.specials if piece in ids},
    }


def answers(model: Xtts, dvae: Dvae | None, vocabulary: PieceVocabulary) -> dict[str, Any]:
    """What the networks say to made input."""
    wave = torch.from_numpy(made_sound(RATE))[None]
    prompt = model.gpt.condition(prompt_mel(wave, model.mel_stats))
    vector = heard(model, wave)
    codes, latents = written(model, vocabulary, prompt)
    sound = model.hifigan_decoder.waveform_decoder(frames_of(latents[None]), vector)
    told = {"prompt": some(prompt), "speaker": some(vector), "codes": codes, "latents": some(latents)}
    told |= {"sound": {**spread(sound), "samples": sound.shape[1]}}
    if dvae is not None:
        told["codes of the made sound"] = dvae.codes(wave, model.mel_stats)[0].tolist()
    return told


def heard(model: Xtts, wave: Tensor) -> Tensor:
    from olu.core.types import Audio

    low = resample(Audio(wave[0].numpy(), RATE), SPEAKER_RATE).samples
    vector: Tensor = model.hifigan_decoder.speaker_encoder(torch.from_numpy(low)[None])
    return vector


def written(model: Xtts, vocabulary: PieceVocabulary, prompt: Tensor) -> tuple[list[int], Tensor]:
    """The likeliest codes of the sentence, and their latents."""
    gpt, c, cache = model.gpt, model.config, Cache()
    rows = torch.cat([prompt, gpt.text_rows(text_of(vocabulary)), gpt.code_rows(torch.tensor([[c.start_code]]))], dim=1)
    codes, latents = list[int](), list[Tensor]()
    while len(codes) < CODES and c.stop_code not in codes:
        latents.append(gpt.latents(rows, cache=cache)[0, -1])
        codes.append(int(gpt.mel_head(latents[-1]).argmax()))
        rows = gpt.code_rows(torch.tensor([[codes[-1]]]), first=len(codes))
    return codes, torch.stack(latents)


def text_of(vocabulary: PieceVocabulary, text: str = SENTENCE) -> Tensor:
    ids = {piece: id for id, piece in enumerate(vocabulary.symbols)}
    return torch.tensor([[ids["[START]"], *vocabulary.encode_text(text), ids["[STOP]"]]])


def recording(model: Xtts, dvae: Dvae | None, vocabulary: PieceVocabulary, asked: argparse.Namespace) -> dict[str, Any]:
    """How well the model foretells a recording: cross-entropies in nats; a blind guess is beside them."""
    if dvae is None or not asked.text:
        raise OluError("--wav needs --text with what is said in it, and a folder with dvae.pth")
    wave = torch.from_numpy(resample(read(asked.wav), RATE).samples)[None]
    codes, c = dvae.codes(wave, model.mel_stats), model.config
    stops = torch.full((1, 4), c.stop_code)
    text = text_of(vocabulary, asked.text.lower())
    begun = torch.cat([torch.tensor([[c.start_code]]), codes, stops[:, :3]], dim=1)
    lengths = {"text_lengths": torch.tensor([text.shape[1]]), "code_lengths": torch.tensor([begun.shape[1]])}
    prompt = model.gpt.condition(prompt_mel(wave[:, : 6 * RATE], model.mel_stats))
    text_logits, code_logits, _ = model.gpt(prompt, text, begun, **lengths)
    return {
        "seconds": rounded(wave.shape[1] / RATE),
        "codes": codes.shape[1],
        "distinct codes": len(codes.unique()),
        "text": rounded(F.cross_entropy(text_logits[0, :-1], text[0, 1:])),
        "code": rounded(F.cross_entropy(code_logits[0], torch.cat([codes, stops], dim=1)[0])),
        "blind guess": [rounded(math.log(len(vocabulary.symbols))), rounded(math.log(c.codes + 2))],
        "unknown tokens": vocabulary.encode_text(asked.text.lower()).count(vocabulary.symbols.index("[UNK]")),
    }


# ---------------------------------------------------------------- beside the public package


def public_model(folder: Path, release: Release) -> Any:
    """The same weights in coqui-tts, where that can be imported; its own loader would write model.pth anew."""
    if not folder.is_dir():
        return None
    try:
        from TTS.tts.configs.xtts_config import XttsConfig as Public
        from TTS.tts.layers.xtts.tokenizer import VoiceBpeTokenizer
        from TTS.tts.models.xtts import Xtts as PublicModel
    except ImportError:
        say("coqui-tts cannot be imported: nothing is compared with it")
        return None
    config = Public()
    config.load_json(str(folder / "config.json"))
    theirs = PublicModel(config)
    theirs.tokenizer = VoiceBpeTokenizer(vocab_file=str(folder / VOCABULARY))
    theirs.init_models()
    theirs.load_state_dict(release.weights, strict=True)
    theirs.hifigan_decoder.eval()
    theirs.gpt.init_gpt_for_inference(kv_cache=True)
    theirs.gpt.eval()
    return theirs


def compared(theirs: Any, model: Xtts, vocabulary: PieceVocabulary, release: Release) -> dict[str, float]:
    wave = torch.from_numpy(made_sound(RATE))[None]
    prompt = model.gpt.condition(prompt_mel(wave, model.mel_stats))
    public = theirs.get_gpt_cond_latents(wave, RATE, length=6, chunk_length=6)
    vector, public_vector = heard(model, wave), theirs.get_speaker_embedding(wave, RATE)[:, :, 0]
    ids = text_of(vocabulary)[:, 1:-1]
    made = theirs.gpt.generate(cond_latents=prompt, text_inputs=ids, do_sample=False, num_beams=1, max_new_tokens=CODES)
    codes, latents = written(model, vocabulary, prompt)
    public_codes = [int(code) for code in made[0]][: len(codes)]
    sound = model.hifigan_decoder.waveform_decoder(frames_of(latents[None]), vector)
    public_sound = theirs.hifigan_decoder(latents[None], g=vector[:, :, None])[:, 0]
    return {
        "prompt, share of the largest": rounded((prompt - public).abs().max() / public.abs().max()),
        "speaker, 1 - cosine": rounded(1 - float(F.cosine_similarity(vector, public_vector)[0])),
        "codes that differ": sum(one != other for one, other in zip(codes, public_codes, strict=False)),
        "sound": rounded((sound - public_sound).abs().max()),
        "tensors that differ": sum(
            not torch.equal(value.float(), theirs.state_dict()[name].float())
            for name, value in release.weights.items()
            if name in theirs.state_dict()
        ),
    }


if __name__ == "__main__":
    main()

"""A folder as XTTS v2 was released, with drawn weights: for tests, and as a script for whoever tries commands.

python tests/helpers/xtts_release.py FOLDER [v2]
"""

from __future__ import annotations

import json
import string
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from olu.families.xtts.codes import Dvae
from olu.families.xtts.config import XttsConfig
from olu.families.xtts.foreign.read import INERT
from olu.families.xtts.model import Xtts
from olu.train.pickles import stored

# v2 in all that its files tell, as narrow as can be; the encoder of speakers has one size.
SMALLEST = XttsConfig(
    size="v2", layers=2, width=64, heads=4, codes=64, conditioning_layers=1, perceiver_layers=1, perceiver_heads=1,
    prompt_rows=8, dvae_width=16, code_width=16, dvae_blocks=1, decoder_width=32, speaker_width=64,
    text_places=120, code_places=200, dropout=0.0,
)  # fmt: skip
FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
TAGS = ("en", "es", "sw")


def vocabulary(*, size: int = 300, tags: tuple[str, ...] = TAGS) -> dict[str, Any]:
    """vocab.json: ids without a gap, the special tokens where the release has them."""
    fixed = {"[STOP]": 0, "[UNK]": 1, "[SPACE]": 2, f"[{tags[0]}]": 259, "[START]": 261}
    merges = [("t", "h"), ("th", "e"), ("i", "n"), ("a", "n"), ("a", "r"), ("t", "h"), ("s", "t")]
    signs = [*string.ascii_lowercase, *string.digits, *" !',-.:;?\"()áéíóúñü", "th", "the", "in", "an", "ar", "st"]
    named = iter([*(sign for sign in signs if sign != " "), *(f"[{tag}]" for tag in tags[1:])])
    table, taken = dict(fixed), set(fixed.values())
    for id in range(size):
        if id not in taken:
            table[next(named, f"<{id}>")] = id
    special = ["[STOP]", "[UNK]", "[SPACE]", "[START]", *(f"[{tag}]" for tag in tags)]
    return {
        "version": "1.0",
        "added_tokens": [{"id": table[token], "content": token, **FLAGS} for token in special],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "decoder": None,
        "model": {
            "type": "BPE",
            "unk_token": "[UNK]",
            "fuse_unk": False,
            "vocab": dict(sorted(table.items(), key=lambda item: item[1])),
            "merges": [f"{a} {b}" for a, b in merges],
        },
    }


def settings(config: XttsConfig, *, tags: tuple[str, ...] = TAGS) -> dict[str, Any]:
    """config.json."""
    return {
        "model": "xtts",
        "temperature": 0.75,
        "length_penalty": 1.0,
        "repetition_penalty": 5.0,
        "top_k": 50,
        "top_p": 0.85,
        "gpt_cond_len": 30,
        "gpt_cond_chunk_len": 4,
        "max_ref_len": 30,
        "languages": list(tags),
        "audio": {"sample_rate": 22050, "output_sample_rate": 24000},
        "model_args": {
            "gpt_layers": config.layers,
            "gpt_n_model_channels": config.width,
            "gpt_n_heads": config.heads,
            "gpt_num_audio_tokens": config.codes + 2,
            "gpt_start_audio_token": config.start_code,
            "gpt_stop_audio_token": config.stop_code,
            "gpt_max_text_tokens": config.text_places - 2,
            "gpt_max_audio_tokens": config.code_places - 3,
            "gpt_max_prompt_tokens": 70,
            "gpt_code_stride_len": 1024,
            "gpt_use_perceiver_resampler": True,
            "gpt_number_text_tokens": None,
            "gpt_start_text_token": None,
            "gpt_stop_text_token": None,
            "input_sample_rate": 22050,
            "output_sample_rate": 24000,
            "output_hop_length": 256,
            "decoder_input_dim": config.width,
            "d_vector_dim": config.speaker_width,
            "cond_d_vector_in_each_upsampling_layer": True,
        },
    }


def drawn(module: nn.Module, *, seed: int = 0) -> nn.Module:
    """The module with noise on every weight: some layers are born as zeros."""
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for value in module.parameters():
            value.add_(0.02 * torch.randn(value.shape, generator=random))
    return module.eval()


def networks(config: XttsConfig, *, vocab_size: int = 300) -> tuple[Xtts, Dvae]:
    torch.manual_seed(0)
    model, dvae = Xtts(config, vocab_size=vocab_size), Dvae(config)
    drawn(model)
    drawn(dvae)
    model.mel_stats.copy_(torch.linspace(1.0, 2.0, 80))
    return model, dvae


def old_spelling(state: dict[str, Tensor]) -> dict[str, Tensor]:
    def old(name: str) -> str:
        name = name.replace(".parametrizations.weight.original0", ".weight_g")
        return name.replace(".parametrizations.weight.original1", ".weight_v")

    return {old(name): value for name, value in state.items()}


@contextmanager
def public_classes() -> Iterator[type[Any]]:
    """A class under the name of the public package's settings, for as long as something is pickled with it."""
    names = ["TTS", "TTS.tts", "TTS.tts.configs", "TTS.tts.configs.xtts_config"]
    before = {name: sys.modules.get(name) for name in names}
    for name in names:
        sys.modules[name] = ModuleType(name)
    made = type("XttsConfig", (), {"__module__": names[-1]})
    sys.modules[names[-1]].XttsConfig = made  # type: ignore[attr-defined]
    try:
        yield made
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def write_release(
    folder: Path,
    *,
    config: XttsConfig = SMALLEST,
    vocab_size: int = 300,
    tags: tuple[str, ...] = TAGS,
    models: tuple[Xtts, Dvae] | None = None,
    config_object: bool = True,
) -> Path:
    """`config_object`: as released, with an object of a class as the config inside model.pth."""
    folder.mkdir(parents=True, exist_ok=True)
    model, dvae = models or networks(config, vocab_size=vocab_size)
    told = settings(config, tags=tags)
    with public_classes() as public:
        held = public()
        held.__dict__.update(told)
        inside = held if config_object else told
        torch.save({"model": model.state_dict(), "config": inside, "step": 0}, folder / "model.pth")
    extra = {"discrete_loss.accumulator": torch.zeros(4), "discrete_loss.accumulator_index": torch.zeros(1)}
    torch.save({**dvae.state_dict(), **extra}, folder / "dvae.pth")
    torch.save(model.mel_stats, folder / "mel_stats.pth")
    row = {
        "gpt_cond_latent": torch.randn(1, config.prompt_rows, config.width),
        "speaker_embedding": nn.functional.normalize(torch.randn(1, config.speaker_width, 1), dim=1),
    }
    torch.save({"Ana Example": row}, folder / "speakers_xtts.pth")
    write_json(folder / "config.json", told)
    write_json(folder / "vocab.json", vocabulary(size=vocab_size, tags=tags))
    return folder


def write_finetuned(folder: Path, release: Path, *, old: bool = True) -> Path:
    """A checkpoint of the public trainer beside the release's vocabulary, with moments and all."""
    folder.mkdir(parents=True, exist_ok=True)
    state = stored(release / "model.pth", inert=INERT)["model"]
    dvae = torch.load(release / "dvae.pth", weights_only=True)
    state = old_spelling(state) if old else state
    whole = {f"xtts.{name}": value for name, value in state.items()}
    whole |= {f"dvae.{name}": value for name, value in dvae.items()}
    whole["torch_mel_spectrogram_dvae.mel_stft.spectrogram.window"] = torch.zeros(4)
    whole["xtts.gpt.gpt_inference.lm_head.0.weight"] = torch.zeros(4)
    whole["xtts.gpt.gpt.wte.weight"] = torch.zeros(4, 4)
    whole["xtts.gpt.gpt.h.0.attn.masked_bias"] = torch.tensor(-1e4)
    table = json.loads((release / "config.json").read_text())
    rest = {"config": table, "optimizer": {"state": {0: {"exp_avg": torch.zeros(8)}}}, "step": 40, "scaler": None}
    torch.save({"model": whole, **rest}, folder / "best_model.pth")
    (folder / "vocab.json").write_bytes((release / "vocab.json").read_bytes())
    return folder


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    wide = XttsConfig(size="v2") if "v2" in sys.argv[2:] else SMALLEST
    write_release(Path(sys.argv[1]), config=wide, vocab_size=6681 if wide.size == "v2" and wide.layers == 30 else 300)

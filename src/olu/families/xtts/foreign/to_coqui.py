"""A run as a folder that the public package coqui-tts loads like the release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from olu.core.errors import ExportError
from olu.core.files import write_json, write_text
from olu.families.xtts.config import CODE_SAMPLES, OUT_HOP, OUT_RATE, RATE, XttsConfig
from olu.families.xtts.foreign.read import CONFIG, DVAE, MEL_STATS, SPEAKERS, VOCABULARY
from olu.families.xtts.voice import merged, prompt_rows, references_of, speaker_vector
from olu.text.piece_files import tokenizers_file
from olu.text.pieces import PieceVocabulary

if TYPE_CHECKING:
    from olu.export.subject import ExportSubject

# Sizes that its classes have and no setting changes.
FIXED = {
    "speakers": "encoder",
    "conditioning_layers": 6,
    "perceiver_layers": 2,
    "perceiver_heads": 8,
    "perceiver_head_width": 64,
    "prompt_rows": 32,
    "decoder_width": 512,
    "speaker_width": 512,
}
USE = """
```python
from TTS.tts.configs.xtts_config import XttsConfig
from TTS.tts.models.xtts import Xtts

config = XttsConfig()
config.load_json("config.json")
model = Xtts(config)
model.load_checkpoint(config, checkpoint_dir=".", eval=True)
voice = model.speaker_manager.speakers["{speaker}"]
```

Texts go in as ids, `model.gpt.generate(voice["gpt_cond_latent"], ids)`: its tokenizer reads no language but its own."""
LOST = (
    "how texts are read: its tokenizer knows sixteen languages and refuses others, so give it the ids of vocab.json",
    "the guards against loops, silence and strange ends",
)


def write_coqui(subject: ExportSubject, folder: Path) -> list[str]:
    learner: Any = subject.learner
    if not isinstance(subject.vocabulary, PieceVocabulary):
        raise ExportError("this voice has no vocabulary of pieces, which coqui-tts needs")
    write_folder(learner, folder, vocabulary=subject.vocabulary, speakers=subject.speakers)
    files = [
        "`model.pth`: the weights, in 32 bits",
        f"`{CONFIG}`, `{VOCABULARY}`: its settings and its tokens, with those of the new language",
        f"`{DVAE}`, `{MEL_STATS}`: what codes are made with, for training on",
        f"`{SPEAKERS}`: the speakers, heard from chosen recordings",
    ]
    use = USE.format(speaker=subject.speakers[0])
    text = subject.readme(what="This folder is for coqui-tts.", use=use, lost=LOST, files=files, library="coqui")
    write_text(folder / "README.md", text)
    return [f"lost in this format: {one}" for one in LOST]


@torch.no_grad()
def write_folder(learner: Any, folder: Path, *, vocabulary: PieceVocabulary, speakers: list[str]) -> None:
    config: XttsConfig = learner.config
    for name, value in FIXED.items():
        if getattr(config, name) != value:
            raise ExportError(
                f"coqui-tts has one size of this network: model.{name} is {getattr(config, name)!r}, and it needs"
                f" {value!r}; only runs that start from XTTS v2 can be written for it"
            )
    own = merged(learner)
    parts = {"gpt": own.gpt, "hifigan_decoder": own.hifigan_decoder}
    state = {f"{part}.{name}": value for part, module in parts.items() for name, value in module.state_dict().items()}
    weights = {"mel_stats": own.mel_stats, **state}
    settings = settings_of(config, languages=[tag.strip("[]") for tag in vocabulary.specials if tag.islower()])
    torch.save({"model": _plain(weights), "config": settings, "step": 0}, folder / "model.pth")
    torch.save(_plain(own.dvae.state_dict()), folder / DVAE)
    torch.save(own.mel_stats.cpu().clone(), folder / MEL_STATS)
    torch.save({name: _speaker(own, number) for number, name in enumerate(speakers)}, folder / SPEAKERS)
    write_json(folder / CONFIG, settings)
    write_json(folder / VOCABULARY, tokenizers_file(vocabulary))


def _plain(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().cpu().clone() for name, value in state.items()}


def _speaker(learner: Any, number: int) -> dict[str, Tensor]:
    waves = references_of(learner, number)
    latent, vector = prompt_rows(learner, waves), speaker_vector(learner, number, waves)
    return {"gpt_cond_latent": latent[None].cpu(), "speaker_embedding": vector[None, :, None].cpu()}


def settings_of(config: XttsConfig, *, languages: list[str]) -> dict[str, Any]:
    """config.json as its program reads it."""
    return {
        "model": "xtts",
        "temperature": config.temperature,
        "length_penalty": 1.0,
        "repetition_penalty": config.repetition_penalty,
        "top_k": config.top_k,
        "top_p": config.top_p,
        "gpt_cond_len": 30,
        "gpt_cond_chunk_len": 4,
        "max_ref_len": 30,
        "languages": languages,
        "audio": {"sample_rate": RATE, "output_sample_rate": OUT_RATE},
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
            "gpt_code_stride_len": CODE_SAMPLES,
            "gpt_use_perceiver_resampler": True,
            "gpt_use_masking_gt_prompt_approach": True,
            "gpt_start_text_token": None,
            "gpt_stop_text_token": None,
            "input_sample_rate": RATE,
            "output_sample_rate": OUT_RATE,
            "output_hop_length": OUT_HOP,
            "decoder_input_dim": config.width,
            "d_vector_dim": config.speaker_width,
            "cond_d_vector_in_each_upsampling_layer": True,
        },
    }

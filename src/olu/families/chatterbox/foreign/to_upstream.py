"""A run as a folder that the public program chatterbox-tts loads like the release, in both of its spellings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from olu.core.errors import ExportError
from olu.core.files import write_text
from olu.families.chatterbox.codec.mels import FFT
from olu.families.chatterbox.config import ChatterboxConfig
from olu.families.chatterbox.foreign.conds import CONDS, BuiltInVoice, write_conds
from olu.families.chatterbox.foreign.read import ENGLISH, MULTILINGUAL
from olu.nn.lora import merged_copy
from olu.text.piece_files import byte_files, tokenizers_file
from olu.text.pieces import BytePieceVocabulary, PieceVocabulary

if TYPE_CHECKING:
    from olu.export.subject import ExportSubject

RELEASED_IDS = {"multilingual": 2454, "english": 704, "turbo": 50_276, "nano": 50_276}  # by the program's own settings
T3_NAMES = {"multilingual": "t3_mtl23ls_v2", "english": "t3_cfg", "turbo": "t3_turbo_v1", "nano": "t3_nano_v1"}
S3GEN, S3GEN_MEAN = "s3gen", "s3gen_meanflow"
# Its own list of languages.
SPEAKS = (
    *("ar", "da", "de", "el", "en", "es", "fi", "fr", "he", "hi", "it", "ja"),
    *("ko", "ms", "nl", "no", "pl", "pt", "ru", "sv", "sw", "tr", "zh"),
)
USE = """
```python
from chatterbox.{module} import {name}

model = {name}.from_local(".", {place})
wave = model.generate("{text}"{language}{heard})
```
{note}"""
PLACE = '"cpu"'
FROM_FILE = ', audio_prompt_path="reference.wav"'
# Its loaders of s3gen.pt and s3gen_meanflow.safetensors miss nothing but this; s3gen.safetensors is released without.
WINDOW = {"tokenizer.window": torch.hann_window(FFT)}
LOST = (
    "how texts are read: numbers and abbreviations have to be written out{letters}",
    "the guards against loops, silence and strange ends, and the word times",
)


def write_upstream(subject: ExportSubject, folder: Path) -> list[str]:
    learner: Any = subject.learner
    if not isinstance(subject.vocabulary, PieceVocabulary):
        raise ExportError("this voice has no vocabulary of pieces, which chatterbox-tts needs")
    write_folder(learner, folder, vocabulary=subject.vocabulary)
    spoken = write_voice_of(learner, folder / CONDS)
    said = lost_of(learner.config, subject.vocabulary)
    t3, decoder = T3_NAMES[kind_of(learner.config)], decoder_of(learner.config)
    tokenizer = ", ".join(f"`{name}`" for name in tokenizer_files(learner.config, subject.vocabulary))
    files = [
        f"`{t3}.safetensors`, `{t3}.pt`: T3, in 32 bits, adapters merged",
        f"{tokenizer}: its tokenizer, of {subject.vocabulary.size} ids",
        f"`{decoder}.safetensors`, `{decoder}.pt`, `ve.safetensors`, `ve.pt`: the frozen networks, as they came",
    ]
    if spoken:
        files.append(f"`{CONDS}`: the voice of {subject.speakers[0]}, for a call without a recording")
    use = use_of(learner.config, subject.vocabulary, subject.example or "...", spoken=spoken)
    text = subject.readme(
        what="This folder is for chatterbox-tts.", use=use, lost=said, files=files, library="chatterbox"
    )
    write_text(folder / "README.md", text)
    return [f"lost in this format: {one}" for one in said]


def kind_of(config: ChatterboxConfig) -> str:
    """Which of the program's releases it is like."""
    if config.backbone == "gpt2":
        return "nano" if config.size == "nano" else "turbo"
    return "english" if config.size == "english" else "multilingual"


def decoder_of(config: ChatterboxConfig) -> str:
    return S3GEN_MEAN if config.meanflow else S3GEN


def tokenizer_files(config: ChatterboxConfig, vocabulary: PieceVocabulary) -> dict[str, str]:
    """Their texts by their names, as the program looks for them."""
    if isinstance(vocabulary, BytePieceVocabulary):
        return byte_files(vocabulary)
    name = ENGLISH if kind_of(config) == "english" else MULTILINGUAL[0]
    return {name: json.dumps(tokenizers_file(vocabulary), ensure_ascii=False, indent=1) + "\n"}


def lost_of(config: ChatterboxConfig, vocabulary: PieceVocabulary) -> list[str]:
    said = [one.format(letters=", in small letters" if vocabulary.tagged else "") for one in LOST]
    released = RELEASED_IDS.get(config.size)
    if released is not None and vocabulary.size != released:
        said.append(
            f"its own settings: they have {released} text ids and this T3 {vocabulary.size}: give its T3Config that"
            " number before it loads"
        )
    if config.backbone == "gpt2" and not config.meanflow:
        said.append("its decoder of two steps: this run has ten; put s3gen_meanflow.safetensors of the release beside")
    if kind_of(config) == "nano":
        said.append("its settings of Nano, which versions before July 2026 do not have (0.1.7 among them)")
    if config.backbone == "llama" and config.meanflow:
        said.append(
            "its decoder of ten steps: this run has two, which the program takes for Turbo and Nano alone; put s3gen.pt"
            " and s3gen.safetensors of the release beside"
        )
    if vocabulary.tagged and vocabulary.tag and vocabulary.tag not in SPEAKS:
        said.append(
            f"its list of languages has no {vocabulary.tag!r}: pass language_id=None and write [{vocabulary.tag}]"
            " before the text"
        )
    return said


def use_of(config: ChatterboxConfig, vocabulary: PieceVocabulary, text: str, *, spoken: bool) -> str:
    """`spoken`: whether the folder has a voice of its own."""
    heard = "" if spoken else FROM_FILE
    if config.size == "english":
        english = {"module": "tts", "name": "ChatterboxTTS", "place": PLACE}
        return USE.format(**english, text=text, language="", heard=heard, note="")
    if config.backbone == "gpt2":
        place = f"{PLACE}, nano=True" if kind_of(config) == "nano" else PLACE
        turbo = {"module": "tts_turbo", "name": "ChatterboxTurboTTS", "place": place}
        return USE.format(**turbo, text=text, language="", heard=heard, note="")
    known = vocabulary.tag in SPEAKS
    told = f', language_id="{vocabulary.tag}"' if known else ", language_id=None"
    note = (
        "" if known else f"\nIts list of languages does not have this one: the tag [{vocabulary.tag}] is in the text."
    )
    shown = text if known else f"[{vocabulary.tag}]{text}"
    many = {"module": "mtl_tts", "name": "ChatterboxMultilingualTTS", "place": PLACE}
    return USE.format(**many, text=shown, language=told, heard=heard, note=note)


@torch.no_grad()
def write_voice_of(learner: Any, path: Path) -> bool:
    """The first speaker as the folder's own voice; False where none was heard."""
    if not (waves := learner.references.get(0)):
        return False
    vector, prompt = learner.listened(waves)
    emotion = learner.config.exaggeration if learner.config.emotion else None
    write_conds(BuiltInVoice(vector, prompt, emotion, learner.s3gen.heard(waves[0])), path)
    return True


@torch.no_grad()
def write_folder(learner: Any, folder: Path, *, vocabulary: PieceVocabulary) -> None:
    """Every file in both spellings: one of its loaders wants .safetensors, the other .pt."""
    t3, decoder = T3_NAMES[kind_of(learner.config)], decoder_of(learner.config)
    parts: dict[str, nn.Module] = {t3: merged_copy(learner.t3), decoder: learner.s3gen, "ve": learner.ve}
    for name, module in parts.items():
        state = plain_state(module)
        whole = {**WINDOW, **state} if name in (S3GEN, S3GEN_MEAN) else state
        save_file(whole if name == S3GEN_MEAN else state, folder / f"{name}.safetensors")
        torch.save(whole, folder / f"{name}.pt")
    for name, text in tokenizer_files(learner.config, vocabulary).items():
        write_text(folder / name, text)


def plain_state(module: nn.Module) -> dict[str, Tensor]:
    return {
        name: (one.float() if one.is_floating_point() else one).detach().cpu().contiguous().clone()
        for name, one in module.state_dict().items()
    }

"""A run as a folder that the public program chatterbox-tts loads like the release, in both of its spellings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from olu.core.errors import ExportError
from olu.core.files import write_json, write_text
from olu.families.chatterbox.codec.mels import FFT
from olu.families.chatterbox.config import ChatterboxConfig
from olu.families.chatterbox.foreign.conds import CONDS, BuiltInVoice, write_conds
from olu.families.chatterbox.foreign.read import ENGLISH, MULTILINGUAL
from olu.nn.lora import merged_copy
from olu.text.piece_files import tokenizers_file
from olu.text.pieces import PieceVocabulary

if TYPE_CHECKING:
    from olu.export.subject import ExportSubject

RELEASED_IDS = {"multilingual": 2454, "english": 704}  # that the program's own settings have
T3_NAMES = {"multilingual": "t3_mtl23ls_v2", "english": "t3_cfg"}
# Its own list of languages.
SPEAKS = (
    *("ar", "da", "de", "el", "en", "es", "fi", "fr", "he", "hi", "it", "ja"),
    *("ko", "ms", "nl", "no", "pl", "pt", "ru", "sv", "sw", "tr", "zh"),
)
USE = """
```python
from chatterbox.{module} import {name}

model = {name}.from_local(".", "cpu")
wave = model.generate("{text}"{language}{heard})
```
{note}"""
FROM_FILE = ', audio_prompt_path="reference.wav"'
# Its loader of s3gen.pt misses nothing but this; s3gen.safetensors, which it reads less strictly, is released without.
WINDOW = {"tokenizer.window": torch.hann_window(FFT)}
LOST = (
    "how texts are read: numbers and abbreviations have to be written out, in small letters",
    "the guards against loops, silence and strange ends, and the word times",
)


def write_upstream(subject: ExportSubject, folder: Path) -> list[str]:
    learner: Any = subject.learner
    if not isinstance(subject.vocabulary, PieceVocabulary):
        raise ExportError("this voice has no vocabulary of pieces, which chatterbox-tts needs")
    write_folder(learner, folder, vocabulary=subject.vocabulary)
    spoken = write_voice_of(learner, folder / CONDS)
    said = lost_of(learner.config, subject.vocabulary)
    t3, tokenizer = names(learner.config)
    files = [
        f"`{t3}.safetensors`, `{t3}.pt`: T3, in 32 bits, adapters merged",
        f"`{tokenizer}`: its tokenizer, of {subject.vocabulary.size} ids",
        "`s3gen.safetensors`, `s3gen.pt`, `ve.safetensors`, `ve.pt`: the frozen networks, as they came",
    ]
    if spoken:
        files.append(f"`{CONDS}`: the voice of {subject.speakers[0]}, for a call without a recording")
    use = use_of(learner.config, subject.vocabulary, subject.example or "...", spoken=spoken)
    text = subject.readme(
        what="This folder is for chatterbox-tts.", use=use, lost=said, files=files, library="chatterbox"
    )
    write_text(folder / "README.md", text)
    return [f"lost in this format: {one}" for one in said]


def names(config: ChatterboxConfig) -> tuple[str, str]:
    """Of the T3 and of the tokenizer, as the program looks for them."""
    kind = "english" if config.size == "english" else "multilingual"
    return T3_NAMES[kind], ENGLISH if kind == "english" else MULTILINGUAL[0]


def lost_of(config: ChatterboxConfig, vocabulary: PieceVocabulary) -> list[str]:
    said = list(LOST)
    released = RELEASED_IDS.get(config.size)
    if released is not None and vocabulary.size != released:
        said.append(
            f"its own settings: they have {released} text ids and this T3 {vocabulary.size}: give its T3Config that"
            " number before it loads"
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
        return USE.format(module="tts", name="ChatterboxTTS", text=text, language="", heard=heard, note="")
    known = vocabulary.tag in SPEAKS
    told = f', language_id="{vocabulary.tag}"' if known else ", language_id=None"
    note = (
        "" if known else f"\nIts list of languages does not have this one: the tag [{vocabulary.tag}] is in the text."
    )
    shown = text if known else f"[{vocabulary.tag}]{text}"
    name = "ChatterboxMultilingualTTS"
    return USE.format(module="mtl_tts", name=name, text=shown, language=told, heard=heard, note=note)


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
    if learner.config.backbone == "gpt2":
        raise ExportError("Turbo and Nano are no bases for languages here, and are not written for chatterbox-tts")
    t3, tokenizer = names(learner.config)
    parts: dict[str, nn.Module] = {t3: merged_copy(learner.t3), "s3gen": learner.s3gen, "ve": learner.ve}
    for name, module in parts.items():
        state = plain_state(module)
        save_file(state, folder / f"{name}.safetensors")
        whole = WINDOW if name == "s3gen" else {}
        torch.save({**whole, **state}, folder / f"{name}.pt")
    write_json(folder / tokenizer, tokenizers_file(vocabulary))


def plain_state(module: nn.Module) -> dict[str, Tensor]:
    return {
        name: (one.float() if one.is_floating_point() else one).detach().cpu().contiguous().clone()
        for name, one in module.state_dict().items()
    }

"""The formats a voice can be written in, in one list; and checkpoints that other programs load, each with a card."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from olu.core.config import did_you_mean
from olu.core.errors import ExportError
from olu.core.files import write_text
from olu.export.card import quoted_example, readme
from olu.export.onnx import write_onnx
from olu.export.piper import write_piper
from olu.export.sherpa import write_sherpa
from olu.export.spelled import symbols_of
from olu.export.subject import ExportSubject


@dataclass(frozen=True)
class Format:
    name: str
    what: str
    write: Callable[[ExportSubject, Path], list[str]]  # into a folder; returns what is lost
    also: tuple[str, ...] = ()  # other names it goes by
    trains: bool = False  # whether it holds what judges in training too
    noiseless: str = ""  # why its files cannot hold what noise to speak with


PIPELINE = """
```python
from transformers import pipeline
speak = pipeline("text-to-speech", ".")  # this folder, or its name on the hub
sound = speak({text})  # sound["audio"], sound["sampling_rate"]
```
"""
BY_PHONES = """
The tokenizer of transformers reads one character at a time, and this voice reads phones: give it phones. `phones.json`
has one character for each phone. With Olu, the phones of a text are its `symbols` in

```sh
olu read -l {code} {text}{options} --json
```

and in Python:

```python
import json
from pathlib import Path
stands = json.loads(Path("phones.json").read_text(encoding="utf-8"))
symbols = {symbols}
text = "".join(stands[symbol] for symbol in symbols)
```
"""


def write_hf(subject: ExportSubject, folder: Path) -> list[str]:
    lost = _written(subject, folder, "hf")
    write_text(folder / "README.md", _hf_readme(subject, lost, what="This folder is for transformers."))
    return lost


def write_hf_train(subject: ExportSubject, folder: Path) -> list[str]:
    lost = _written(subject, folder, "hf-train")
    what = "This folder is for training on with finetune-hf-vits: it holds the discriminator too."
    write_text(folder / "README.md", _hf_readme(subject, lost, what=what))
    return lost


def write_mms(subject: ExportSubject, folder: Path) -> list[str]:
    lost = _written(subject, folder, "mms")
    use = f"Give it to the original VITS code or to the tools of MMS, in place of `models/{subject.language.code}`."
    files = [
        "`G_*.pth`: the generator",
        "`D_*.pth`: the discriminator, where there is one",
        "`config.json`, `vocab.txt`",
    ]
    what = "This folder is for the original VITS and MMS."
    text = readme(subject, what=what, use=use, lost=lost, files=files, library="vits")
    write_text(folder / "README.md", text)
    return lost


def _written(subject: ExportSubject, folder: Path, to: str) -> list[str]:
    writer = subject.speaks.writers.get(to)
    if writer is None:
        known = ", ".join(("voice", *subject.speaks.writers))
        raise ExportError(f"the family {subject.family.name!r} has no format {to!r}: it has {known}")
    return writer(subject.learner, folder=folder, card=subject.card)


def _hf_readme(subject: ExportSubject, lost: list[str], *, what: str) -> str:
    said = "" if subject.by_letters else _by_phones(subject)
    example = json.dumps(subject.example or "...", ensure_ascii=False)
    use = said + PIPELINE.format(text=example if subject.by_letters else "text")
    return readme(subject, what=what, use=use, lost=lost, library="transformers")


def _by_phones(subject: ExportSubject) -> str:
    """The example's own phones, as `olu read` gives them with what this voice reads with."""
    symbols = list(symbols_of(subject.frontend, subject.vocabulary, subject.example) or ())
    if not symbols:  # no sentence of the language fits: something to try it with all the same
        symbols = [one for one in subject.vocabulary.sayable() if one[0].isalpha()][:3]
    marks = subject.vocabulary.marks
    return BY_PHONES.format(
        code=subject.language.code,
        text=quoted_example(subject),
        options="" if marks == "vowel" else f" --marks {marks}",
        symbols=symbols,
    )


VOICE = "voice"  # the one package that keeps everything; it is written by itself
ORIGINAL = "the original code takes the noise each time it speaks (infer's noise_scale)"
SHERPA = "sherpa-onnx takes the noise each time it speaks (--vits-noise-scale)"
FORMATS = (
    Format("hf", "transformers", write_hf),
    Format("hf-train", "finetune-hf-vits", write_hf_train, also=("hf-training",), trains=True),
    Format("mms", "the original VITS and MMS", write_mms, also=("vits",), trains=True, noiseless=ORIGINAL),
    Format("onnx", "ONNX Runtime, one graph", write_onnx),
    Format("piper", "piper-tts", write_piper),
    Format("sherpa", "sherpa-onnx", write_sherpa, noiseless=SHERPA),
)
NAMES = (VOICE, *(one.name for one in FORMATS))


def format_named(name: str) -> Format:
    for one in FORMATS:
        if name in (one.name, *one.also):
            return one
    raise ExportError(f"cannot export to {name!r}{did_you_mean(name, NAMES)}; there is: {', '.join(NAMES)}")

"""Checkpoints that other programs load, and one ONNX graph, each with a card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.core.files import write_json, write_text
from olu.families.vits.export import one_graph
from olu.families.vits.foreign.to_original import write_original
from olu.families.vits.foreign.to_transformers import write_training, write_transformers
from olu.networks.session import halve
from olu.text.spelled import symbols_of

if TYPE_CHECKING:
    from olu.export.subject import ExportSubject

PIPELINE = """
```python
from transformers import pipeline
speak = pipeline("text-to-speech", ".")  # this folder, or its name on the hub
sound = speak({text})  # sound["audio"], sound["sampling_rate"]
```
"""
BY_PHONES = "\n" + Path(__file__).with_name("use_phones.txt").read_text(encoding="utf-8")


def write_hf(subject: ExportSubject, folder: Path) -> list[str]:
    lost = write_transformers(subject.learner, folder=folder, card=subject.card)
    write_text(folder / "README.md", _hf_readme(subject, lost, what="This folder is for transformers."))
    return lost


def write_hf_train(subject: ExportSubject, folder: Path) -> list[str]:
    lost = write_training(subject.learner, folder=folder, card=subject.card)
    what = "This folder is for training on with finetune-hf-vits: it holds the discriminator too."
    write_text(folder / "README.md", _hf_readme(subject, lost, what=what))
    return lost


def write_mms(subject: ExportSubject, folder: Path) -> list[str]:
    lost = write_original(subject.learner, folder=folder, card=subject.card)
    use = f"Give it to the original VITS code or to the tools of MMS, in place of `models/{subject.language.code}`."
    files = [
        "`G_*.pth`: the generator",
        "`D_*.pth`: the discriminator, where there is one",
        "`config.json`, `vocab.txt`",
    ]
    what = "This folder is for the original VITS and MMS."
    text = subject.readme(what=what, use=use, lost=lost, files=files, library="vits")
    write_text(folder / "README.md", text)
    return lost


def _hf_readme(subject: ExportSubject, lost: list[str], *, what: str) -> str:
    said = "" if subject.by_letters else _by_phones(subject)
    example = json.dumps(subject.example or "...", ensure_ascii=False)
    use = said + PIPELINE.format(text=example if subject.by_letters else "text")
    return subject.readme(what=what, use=use, lost=lost, library="transformers")


def _by_phones(subject: ExportSubject) -> str:
    """The example's own phones, as `olu read` gives them with what this voice reads with."""
    symbols = list(symbols_of(subject.frontend, subject.vocabulary, subject.example) or ())
    if not symbols:  # no sentence of the language fits: something to try it with all the same
        symbols = [one for one in subject.vocabulary.sayable() if one[0].isalpha()][:3]
    marks = subject.vocabulary.marks
    return BY_PHONES.format(
        code=subject.language.code,
        text=subject.quoted_example,
        options="" if marks == "vowel" else f" --marks {marks}",
        symbols=symbols,
    )


# ---- one ONNX graph, symbols to sound, with what is needed to feed it


USE = "\n" + Path(__file__).with_name("use_onnx.txt").read_text(encoding="utf-8")
BLANKS = "ids = [0] + [number for id in ids for number in (id, 0)]  # the blank, id 0, around every symbol\n"


def write_onnx(subject: ExportSubject, folder: Path) -> list[str]:
    facts = _graph(subject, folder / "model.onnx")
    write_json(folder / "model.json", facts)
    several = len(subject.speakers) > 1
    said = symbols_of(subject.frontend, subject.vocabulary, subject.example) if subject.example else None
    use = USE.format(
        symbols=json.dumps(said or subject.vocabulary.sayable()[:3], ensure_ascii=False),
        which=f"of {json.dumps(subject.example, ensure_ascii=False)}" if said else "put those of your text here",
        spaced=BLANKS if subject.vocabulary.interleave else "",
        sid='\n    "sid": numpy.array([0], numpy.int64),' if several else "",
        row="| `sid` | [batch] int64 | which speaker, by `speakers` in model.json |\n" if several else "",
    )
    lost = [
        f"the reading of texts: feed symbols; 'olu read -l {subject.language.code} \"a text\"' shows those of a text,"
        " and '--to voice' keeps all of it"
    ]
    files = ["`model.onnx`: the network", "`model.json`: symbols by id, rate, scales, speakers"]
    text = subject.readme(
        what="This folder holds it as one ONNX graph.", use=use, lost=lost, files=files, library="onnx"
    )
    write_text(folder / "README.md", text)
    return lost


def _graph(subject: ExportSubject, path: Path) -> dict[str, Any]:
    metadata = {
        "name": subject.name,
        "language": subject.language.code,
        "symbols": json.dumps(list(subject.vocabulary.symbols), ensure_ascii=False),
        "blank": "0" if subject.vocabulary.interleave else "",
        "speakers": json.dumps(subject.speakers, ensure_ascii=False),
        "licence": subject.rights.licence,
        "made_by": "olu",
    }
    facts = one_graph(subject.learner, path=path, facts=metadata)
    halve(path)  # as in the voice package, so that both make the same sound
    return {
        "name": subject.name,
        "language": subject.language.code,
        **facts,
        "symbols": list(subject.vocabulary.symbols),
        "blank": 0 if subject.vocabulary.interleave else None,
        "speakers": subject.speakers,
        **subject.rights.facts(),
    }

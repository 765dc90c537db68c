"""A voice for piper: x.onnx and x.onnx.json. Piper reads code points or calls espeak-ng; it cannot run our frontend."""

from __future__ import annotations

import shlex
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.core.errors import OluError
from olu.core.files import write_json, write_text
from olu.families.vits.export import one_graph
from olu.text.espeak import voice_for
from olu.text.letters import LetterTable
from olu.text.spelled import Form, Measure, symbols_of
from olu.text.vocabulary import BLANK_ID

if TYPE_CHECKING:
    from olu.export.subject import ExportSubject
    from olu.families.vits.formats.reader import LetterReader

FORM: Form = "NFD"  # piper takes every text apart
PAD, START, END = "_", "^", "$"
IdMap = dict[str, list[int]]


def write_piper(subject: ExportSubject, folder: Path) -> list[str]:
    stem = unicodedata.normalize("NFC", subject.name).replace(" ", "_")
    reader, table, measure, lost = _reading(subject)
    facts = one_graph(subject.learner, path=folder / f"{stem}.onnx", reader=reader)
    write_json(folder / f"{stem}.onnx.json", _config(subject, facts, table))
    lost.append(measure.sentence("piper"))
    use = f"""
```sh
pip install piper-tts
piper -m {shlex.quote(f"{stem}.onnx")} -f out.wav {subject.quoted_example}
```
"""
    files = [f"`{stem}.onnx`: the network", f"`{stem}.onnx.json`: what piper reads it with"]
    text = subject.readme(what="This folder is for piper-tts.", use=use, lost=lost, files=files, library="piper")
    write_text(folder / "README.md", text)
    return lost


def _reading(subject: ExportSubject) -> tuple[LetterReader | None, IdMap, Measure, list[str]]:
    if subject.via == "espeak":
        table = espeak_map(subject.vocabulary.symbols, interleave=subject.vocabulary.interleave)
        said = ["piper calls its own espeak-ng, which may be of another version than Olu's"]
        return None, table, _by_espeak(subject, table), said
    letters = subject.letters(FORM)
    reader = None if _fits(letters) else reader_of(subject, letters)
    table = letter_map(subject, letters, reader)
    return reader, table, subject.measure(letters, form=FORM), lost_by_letters(subject, "piper")


def reader_of(subject: ExportSubject, letters: LetterTable) -> LetterReader:
    from olu.families.vits.formats.reader import LetterReader  # it is a part of a network

    return LetterReader(letters, subject.vocabulary)


def _fits(letters: LetterTable) -> bool:
    """Whether piper's table of code points is enough: it can hold several ids for one, but knows no neighbours."""
    return not letters.rows and all(letters.alone.values())


def lost_by_letters(subject: ExportSubject, who: str) -> list[str]:
    """What goes when letters are read one by one."""
    said = [
        f"{who} has none of Olu's rules for texts: figures, dates, abbreviations and SSML are not turned into words"
    ]
    if not subject.by_letters:
        said.append(
            "phones are guessed from each letter and its neighbours, learnt from"
            f" {len(subject.texts)} texts; words that go against them are said wrong"
        )
    if subject.via == "uroman":
        said.append(f"{who} has no uroman: other scripts are read by a table learnt from the texts")
    return said


def letter_map(subject: ExportSubject, letters: LetterTable, reader: LetterReader | None) -> IdMap:
    """Code point -> ids. With a reader in the graph each letter has one number of its own, and no blanks are put."""
    ids = {symbol: id for id, symbol in enumerate(subject.vocabulary.symbols)}
    spaced = subject.vocabulary.interleave and reader is None
    table: IdMap = {PAD: [BLANK_ID] if spaced else [], START: [], END: []}
    for letter, symbols in letters.alone.items():
        if letter not in table:  # its own marks cannot be letters
            table[letter] = [reader.numbers[letter]] if reader else _between([ids[s] for s in symbols], spaced)
    table |= {
        other: table[letter] for other, letter in letters.aliases.items() if letter in table and other not in table
    }
    return table


def _between(ids: list[int], spaced: bool) -> list[int]:
    """Several ids of one letter, with the blanks that piper would have put between letters."""
    return [n for at, id in enumerate(ids) for n in ((BLANK_ID, id) if at else (id,))] if spaced else ids


def espeak_map(symbols: tuple[str, ...], *, interleave: bool) -> IdMap:
    table: IdMap = {PAD: [BLANK_ID] if interleave else [], START: [], END: []}
    single = {symbol: [id] for id, symbol in enumerate(symbols) if len(symbol) == 1}
    return {**single, **table}


def _by_espeak(subject: ExportSubject, table: IdMap) -> Measure:
    """As piper would: espeak-ng's phones, each code point of them looked up."""
    rows = []
    back = {ids[0]: symbol for symbol, ids in table.items() if ids}
    for text in subject.sentences:
        try:
            ours = symbols_of(subject.frontend, subject.vocabulary, text)
            phones = unicodedata.normalize(FORM, _phones(subject, text))
        except OluError:
            return Measure(rate=0.0, same=0.0, sentences=0, held_out=False)
        if ours is not None:
            rows.append((text, list(ours), [back[table[c][0]] for c in phones if table.get(c)]))
    return Measure.of(rows, held_out=bool(subject.held_out))


def _phones(subject: ExportSubject, text: str) -> str:
    from olu.text.espeak import phonemize  # a large library, and few voices need it

    return phonemize(text, voice=voice_for(subject.language.code))


def _config(subject: ExportSubject, facts: dict[str, Any], table: IdMap) -> dict[str, Any]:
    espeak = subject.via == "espeak"
    several = len(subject.speakers) > 1
    return {
        "dataset": subject.name,
        "audio": {"sample_rate": facts["rate"], "quality": subject.name},
        "espeak": {"voice": voice_for(subject.language.code) if espeak else subject.language.code},
        "language": {
            "code": subject.language.code,
            "name_native": subject.language.native,
            "name_english": subject.language.name,
        },
        "inference": {
            "noise_scale": facts["noise_scale"],
            "length_scale": facts["length_scale"],
            "noise_w": facts["noise_w"],
        },
        "phoneme_type": "espeak" if espeak else "text",
        "phoneme_map": {},
        "phoneme_id_map": table,
        "num_symbols": 1 + max(id for ids in table.values() for id in ids),
        "num_speakers": len(subject.speakers) if several else 1,
        "speaker_id_map": {name: at for at, name in enumerate(subject.speakers)} if several else {},
        "hop_length": facts["hop"],
        "piper_version": "1.0.0",
        **subject.rights.facts(),
    }

"""The reading in JavaScript gives the ids of Python's, line by line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.reading_lines import lines_of

from olu.core.errors import ExportError, OluError
from olu.core.types import STRESS, TONE_LETTERS
from olu.speak.lines import LineReader
from olu.speak.portable.reading import PortableReading, reading_files
from olu.text.characters import CharacterFrontend
from olu.text.frontend import ReadingSettings, for_language
from olu.text.languages import load
from olu.text.phones import PhoneFrontend
from olu.text.vocabulary import StreamVocabulary, SymbolVocabulary

SOAK = os.environ.get("OLU_SOAK") == "1"
LINES = 10_000 if SOAK else 40
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")
LANGUAGES = ("amh", "ibo", "spa", "swa", "yor", "hau")  # the last by its letters
READER = Path(__file__).parents[1] / "helpers" / "reading.mjs"


def reading_of(code: str, settings: ReadingSettings | None = None, *, streams: bool = False) -> PortableReading:
    language = load(code)
    frontend = for_language(language, settings=settings or ReadingSettings())
    symbols = set(" ,.?!;:'\"-_") | set(TONE_LETTERS.values())
    if isinstance(frontend, PhoneFrontend):
        tones = ["", *TONE_LETTERS.values(), *(a + b for a in TONE_LETTERS.values() for b in TONE_LETTERS.values())]
        symbols |= {f"{mark}{phone}{tone}" for phone in frontend.phones for tone in tones for mark in ("", STRESS)}
    else:
        symbols |= {chr(code) for code in range(0x20, 0x3000)}
    vocabulary = StreamVocabulary(["_", *sorted(symbols - {"_"})]) if streams else SymbolVocabulary.of(symbols)
    rows = frontend.pack.rows("abbreviations.tsv") if frontend.pack else []
    short = frozenset(row[0].strip() for row in rows if row[0].strip().endswith("."))
    lines = LineReader(code, frontend, vocabulary, list(language.sentence_ends), short, most_tokens=None, plans=False)
    return PortableReading(lines)


def by_node(reading: PortableReading, folder: Path, lines: list[str], texts: list[str]) -> dict[str, Any]:
    for name, data in reading_files(reading).items():
        (folder / name).write_bytes(data)
    asked = json.dumps({"lines": lines, "texts": texts})
    done = subprocess.run(
        [str(NODE), str(READER), str(folder)], input=asked, capture_output=True, text=True, check=True
    )
    return dict(json.loads(done.stdout))


def tried(work: Any) -> Any:
    try:
        return work()
    except OluError as bad:
        return f"{type(bad).__name__}: {bad}"


def alike(ours: Any, theirs: Any) -> bool:
    """Ids, or a refusal of the same kind: hints such as 'did you mean' are Python's alone."""
    if isinstance(ours, str) and isinstance(theirs, str):
        return ours.split(":")[0] == theirs.split(":")[0]
    if "\u0378" in json.dumps(theirs, ensure_ascii=False):  # shown for characters that Python's tables do not have yet
        ours, theirs = (_without(rows, ("text", "dropped", "unsaid")) for rows in (ours, theirs))
    return bool(json.loads(json.dumps(ours)) == theirs)


def _without(rows: Any, names: tuple[str, ...]) -> Any:
    return [{key: value for key, value in row.items() if key not in names} for row in rows]


def check(reading: PortableReading, folder: Path, lines: list[str]) -> int:
    texts = [" ".join(lines[at : at + 7]) for at in range(0, min(len(lines), 700), 7)]
    theirs = by_node(reading, folder, lines, texts)
    differ = [
        (line, ours, got)
        for line, got in zip(lines, theirs["lines"], strict=True)
        if not alike(ours := tried(lambda line=line: reading.ids(line)), got)  # type: ignore[misc]
    ]
    assert not differ, f"{len(differ)} of {len(lines)} lines, such as {differ[0]}"
    for text, got in zip(texts, theirs["texts"], strict=True):
        assert alike(tried(lambda text=text: list(reading.read(text))), got), text  # type: ignore[misc]
    return sum(isinstance(one, list) for one in theirs["lines"])


@needs_node
@pytest.mark.parametrize("code", LANGUAGES)
def test_every_language_has_the_same_ids(code: str, tmp_path: Path) -> None:
    read = check(reading_of(code), tmp_path, lines_of(code, LINES))
    assert read > 0.8 * LINES  # the rest is refused by both: markup that is wrong


@needs_node
def test_restored_tones_are_the_same(tmp_path: Path) -> None:
    reading = reading_of("yor", ReadingSettings(restore="tones"))
    lines = [_bare(line) for line in lines_of("yor", max(60, LINES // 5), seed=1)]
    assert check(reading, tmp_path, lines) > 0.8 * len(lines)


def _bare(text: str) -> str:
    """The text as many type it: without tones and dots."""
    return "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char))


@needs_node
def test_streams_of_tones_and_stress(tmp_path: Path) -> None:
    reading = reading_of("yor", streams=True)
    lines = lines_of("yor", 40, seed=2)
    theirs = by_node(reading, tmp_path, [], lines)["texts"]
    ours = [tried(lambda text=text: list(reading.read(text))) for text in lines]
    assert all(alike(a, b) for a, b in zip(ours, theirs, strict=True))
    assert any(
        any(row.get("streams", {}).get("tones", ())) for rows in theirs if isinstance(rows, list) for row in rows
    )


@needs_node
def test_what_it_does_not_know_is_refused_by_name(tmp_path: Path) -> None:
    line = "<sub alias='caf&eacute;'>x</sub>"
    (said,) = by_node(reading_of("spa"), tmp_path, [line], [])["lines"]
    assert said.startswith("NotInThisReading: the entity &eacute; is not in this reading")


def test_readings_that_need_python_are_refused() -> None:
    plain = reading_of("hau").lines
    letters = CharacterFrontend("amh", via="uroman")
    with pytest.raises(ExportError, match="uroman"):
        reading_files(PortableReading(LineReader("v", letters, plain.vocabulary, [], frozenset(), None, plans=False)))

"""Thirty faults planted in real recordings, through the same import and audit that people run."""

from __future__ import annotations

import os
import random
import shutil
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import soxr

from olu.core.files import Workspace
from olu.core.job import finish
from olu.corpus.manifest import Corpus
from olu.stages.audit import audit
from olu.stages.import_ import import_source

CORPORA = Path(__file__).parents[3] / "shared" / "corpora"
CLIPS, BLOCK, LEAST = 300, 20, 29
WRONG = {
    "amh": "Этот текст написан на совсем другом языке и другими буквами",
    "yor": "This sentence is written in quite another language than the rest",
    "swa": "This sentence is written in quite another language than the rest",
}

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(os.environ.get("OLU_SOAK") != "1", reason="full counts are run by make soak: OLU_SOAK=1"),
    pytest.mark.skipif(not CORPORA.is_dir(), reason="no real corpora beside the repository"),
]


def rows_of(language: str, seed: int) -> list[list[str]]:
    lines = (CORPORA / language / "metadata.csv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("|", 1) for line in lines if "|" in line]
    start = random.Random(seed).randrange(len(rows) - CLIPS)
    return rows[start : start + CLIPS]


def heard(folder: Path, language: str) -> dict[str, dict[str, set[str]]]:
    """Recording -> check -> severities."""
    ws = Workspace.create(folder.with_suffix(".ws"), language=language)
    finish(import_source(ws, folder))
    finish(audit(ws))
    corpus = Corpus.open(ws)
    found: dict[str, dict[str, set[str]]] = {}
    for clip in corpus:
        marks: dict[str, set[str]] = {}
        for mark in corpus.marks(clip):
            marks.setdefault(mark.check, set()).add(mark.severity)
        found[Path(clip.audio).stem] = marks
    return found


def written(folder: Path, rows: list[list[str]], language: str, *, sounds: dict[str, Any]) -> Path:
    """A folder of texts beside recordings: a text there may hold newlines."""
    folder.mkdir()
    for name, text in rows:
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
        if name in sounds:
            sounds[name](folder / f"{name}.ogg", CORPORA / language / "audio" / f"{name}.ogg")
        else:
            shutil.copy(CORPORA / language / "audio" / f"{name}.ogg", folder)
    return folder


def truncated(path: Path, source: Path) -> None:
    data = source.read_bytes()
    path.write_bytes(data[: int(0.6 * len(data))])


def narrow(path: Path, source: Path) -> None:
    samples, rate = soundfile.read(source, dtype="float32")
    slim = soxr.resample(soxr.resample(samples, rate, 8000), 8000, rate)
    soundfile.write(path.with_suffix(".wav"), slim, rate)


def silent(path: Path, source: Path) -> None:
    soundfile.write(path.with_suffix(".wav"), np.zeros(16000 * 4, dtype=np.float32), 16000)


def endless(path: Path, source: Path) -> None:
    samples, rate = soundfile.read(source, dtype="float32")
    soundfile.write(path.with_suffix(".wav"), np.resize(samples, 29 * 60 * rate), rate)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("language", ["amh", "yor", "swa"])
def test_faults_in_real_recordings_are_found(language: str, seed: int, tmp_path: Path) -> None:
    rows = rows_of(language, seed)
    before = heard(written(tmp_path / "before", rows, language, sounds={}), language)

    chosen = random.Random(seed + 100)
    block = chosen.randrange(40, 200)
    free = [place for place in range(CLIPS) if not block - 2 <= place < block + BLOCK + 2]
    places = iter(chosen.sample(free, 29))
    planted: dict[str, str] = {}
    sounds: dict[str, Any] = {}
    partners: set[str] = set()

    def plant(kind: str, times: int, *, sound: Any = None, text: Any = None) -> None:
        for _ in range(times):
            row = rows[next(places)]
            planted[row[0]] = kind
            if sound:
                sounds[row[0]] = sound
            if text:
                row[1] = text(row[1])

    plant("truncated", 4, sound=truncated)
    plant("8 kHz", 4, sound=narrow)
    plant("silence", 3, sound=silent)
    plant("29 minutes", 1, sound=endless)
    plant("newline", 3, text=lambda text: text.replace(" ", "\n", 1) if " " in text else text + "\n" + text)
    plant("music", 3, text=lambda text: "[music]" if chosen.random() < 0.5 else "♪♪")
    plant("language", 4, text=lambda text: WRONG[language])
    decomposed = lambda text: unicodedata.normalize("NFD", text + " é ọ́")  # noqa: E731
    plant("NFD", 3, text=decomposed)
    for _ in range(4):
        twin, other = rows[next(places)], rows[chosen.choice(free)]
        planted[twin[0]] = "duplicate"
        partners.add(other[0])  # which of the two is the copy cannot be told
        sounds[twin[0]] = lambda path, source, other=other: shutil.copy(
            CORPORA / language / "audio" / f"{other[0]}.ogg", path
        )
        twin[1] = other[1]
    texts = [row[1] for row in rows[block : block + BLOCK]]
    for row, text in zip(rows[block : block + BLOCK], texts[1:] + texts[:1], strict=True):
        row[1] = text

    after = heard(written(tmp_path / "after", rows, language, sounds=sounds), language)
    missed = [f"{name}: {kind}" for name, kind in planted.items() if not _new(before.get(name, {}), after.get(name))]
    shifted = sum("shifted" in after.get(row[0], {}) for row in rows[block : block + BLOCK])
    found = len(planted) - len(missed) + (shifted >= BLOCK // 2)
    whole = [
        name for name, _ in rows if name not in planted and name not in partners and not _is_error(before.get(name, {}))
    ]
    outside = [name for name in whole if name not in {row[0] for row in rows[block : block + BLOCK]}]
    became = [name for name in outside if _is_error(after.get(name, {}))]
    assert found >= LEAST, (found, missed, shifted)
    assert len(became) <= 0.01 * len(outside), became


def _new(before: dict[str, set[str]], after: dict[str, set[str]] | None) -> bool:
    """A check that speaks up now and did not before; a clip that was left out at import was found there."""
    if after is None:
        return True
    return any(severities - {"info"} - before.get(check, set()) for check, severities in after.items())


def _is_error(marks: dict[str, set[str]]) -> bool:
    return any("error" in severities for severities in marks.values())

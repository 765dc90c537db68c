"""Subtitles with planted faults over speech of known times: what is kept and told, and whose words are in a clip."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from olu.cli.main import app
from olu.core.files import Workspace
from olu.core.job import finish
from olu.corpus.doubts import standing
from olu.corpus.manifest import Corpus
from olu.corpus.readers import Options, SourceFolder, subtitles
from olu.corpus.readers.rows import Doubt, Problem, Row, SourceNote
from olu.stages.import_ import import_source
from olu.stages.status import status

from ..helpers import films as made

WORD_SECONDS = 0.2
SHIFTS = (0.0, 0.8, 2.4, -1.5, 6.0)
# Jitter -> clips with a neighbour's word, of 78 sentences, by the code that threw overlapping cues away.
BEFORE = {0.0: 0, 0.15: 0, 0.35: 1, 0.6: 4}
# The same, of cues that end in the middle of 40 sentences.
BEFORE_RUNNING = {0.0: 0, 0.15: 0, 0.35: 8, 0.6: 14}

Span = tuple[float, float]


@dataclass(frozen=True)
class Talk:
    """Sentences one after the other, with pauses between."""

    samples: made.Wave
    speech: list[Span]


def talk(sentences: int, *, seed: int = 0, seconds: Span = (1.5, 6.0)) -> Talk:
    rng = np.random.default_rng(seed)
    parts: list[made.Wave] = []
    speech: list[Span] = []
    at = 0.0
    for number in range(sentences):
        wave = made.voice(100 * seed + number, float(rng.uniform(*seconds)))
        first, end = made.own_speech(wave)
        pause = np.asarray(rng.normal(size=round(rng.uniform(0.3, 1.2) * made.RATE)) * 1e-3, dtype=np.float32)
        parts += [pause, wave[first:end]]
        start = at + len(pause) / made.RATE
        at = start + (end - first) / made.RATE
        speech.append((start, at))
    return Talk(np.concatenate(parts), speech)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Talk]:
    folder = tmp_path_factory.mktemp("talk")
    found = talk(78)
    soundfile.write(folder / "a.wav", found.samples, made.RATE)
    return folder, found


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Talk, list[bool]]:
    """Sentences of several cues each, which end wherever the text is divided; and which of the cues are the last."""
    folder = tmp_path_factory.mktemp("running")
    found = talk(40, seed=3, seconds=(12.0, 25.0))
    soundfile.write(folder / "a.wav", found.samples, made.RATE)
    speech: list[Span] = []
    last: list[bool] = []
    for start, end in found.speech:
        times = np.linspace(start, end, max(1, round((end - start) / 4.0)) + 1)
        speech += pairwise(map(float, times))
        last += [False] * (len(times) - 2) + [True]
    return folder, Talk(found.samples, speech), last


def srt(cues: list[Span], *, text: Callable[[int], str] = "s{}".format) -> str:
    film = made.Film(
        np.zeros(0, np.float32), [], [(max(0.0, a), b) for a, b in cues], [text(n) for n in range(len(cues))]
    )
    return made.srt(film)


def jittered(speech: list[Span], *, shift: float, jitter: float, overlaps: int = 0) -> list[Span]:
    """`overlaps`: every so-many-th cue begins 0.3 s before the one before it ends."""
    rng = np.random.default_rng(7)
    cues: list[Span] = []
    for number, (start, end) in enumerate(speech):
        one = (start + rng.normal(0, jitter) - shift, end + rng.normal(0, jitter) - shift)
        if overlaps and number % overlaps == overlaps - 1:
            one = (cues[-1][1] - 0.3, max(one[1], cues[-1][1] + 0.2))
        cues.append(one)
    return cues


@dataclass(frozen=True)
class Found:
    rows: list[Row]
    doubts: list[Doubt]
    notes: list[str]
    problems: list[Problem]

    @property
    def shift(self) -> float:
        (doubt,) = self.doubts
        match = re.search(r"--shift (\S+)", doubt.remedy)
        assert match is not None, doubt
        return float(match[1])


def read(folder: Path, text: str, **options: float | bool) -> Found:
    (folder / "a.srt").write_text(text, encoding="utf-8")
    rows = list(subtitles.rows(SourceFolder(folder, Options(**options))))  # type: ignore[arg-type]
    return Found(
        [one for one in rows if isinstance(one, Row)],
        [one for one in rows if isinstance(one, Doubt)],
        [one.text for one in rows if isinstance(one, SourceNote)],
        [one for one in rows if isinstance(one, Problem)],
    )


def kept(found: Found, speech: list[Span]) -> float:
    """Of the seconds that are spoken."""
    spans = [(row.start, row.start + (row.seconds or 0.0)) for row in found.rows]
    heard = sum(max(0.0, min(b, end) - max(a, start)) for a, b in spans for start, end in speech)
    return heard / sum(end - start for start, end in speech)


def strange(found: Found, speech: list[Span]) -> int:
    """Clips that hold a word of a sentence that their text does not have."""
    count = 0
    for row in found.rows:
        mine = {int(number) for number in re.findall(r"\bs(\d+)\b", row.text or "")}
        end = row.start + (row.seconds or 0.0)
        count += any(min(end, b) - max(row.start, a) > WORD_SECONDS for n, (a, b) in enumerate(speech) if n not in mine)
    return count


@pytest.mark.parametrize("jitter", BEFORE)
@pytest.mark.parametrize("shift", SHIFTS)
def test_planted_shift_jitter_and_overlaps(long: tuple[Path, Talk], shift: float, jitter: float) -> None:
    folder, film = long
    text = srt(jittered(film.speech, shift=shift, jitter=jitter, overlaps=20))
    found = read(folder, text)
    assert kept(found, film.speech) >= 0.9
    if shift == 0.0:
        assert found.doubts == []
    else:
        assert found.shift == pytest.approx(shift, abs=0.3)
        found = read(folder, text, shift=found.shift)
        assert found.doubts == []
        assert kept(found, film.speech) >= 0.9
    assert strange(found, film.speech) <= BEFORE[jitter]


@pytest.mark.parametrize("jitter", BEFORE_RUNNING)
@pytest.mark.parametrize("shift", [0.0, 2.4])
def test_planted_faults_where_cues_end_in_running_speech(
    running: tuple[Path, Talk, list[bool]], shift: float, jitter: float
) -> None:
    folder, film, last = running
    cues = jittered(film.speech, shift=shift, jitter=jitter, overlaps=20)
    text = srt(cues, text=lambda number: f"s{number}{'.' if last[number] else ''}")
    if shift:
        assert read(folder, text).shift == pytest.approx(shift, abs=0.3)
    found = read(folder, text, shift=shift)
    assert found.doubts == [] and kept(found, film.speech) >= 0.9
    assert strange(found, film.speech) <= BEFORE_RUNNING[jitter]
    assert max(row.seconds or 0.0 for row in found.rows) < 30.0  # an audit calls what is longer an error


@pytest.mark.parametrize("sentences", [20, 40])
def test_a_short_recording_tells_its_shift_too(tmp_path: Path, sentences: int) -> None:
    film = talk(sentences, seed=3)
    soundfile.write(tmp_path / "a.wav", film.samples, made.RATE)
    found = read(tmp_path, srt(jittered(film.speech, shift=2.4, jitter=0.35, overlaps=10)))
    assert found.shift == pytest.approx(2.4, abs=0.3)


def test_subtitles_of_another_recording_are_not_taken_for_right(long: tuple[Path, Talk]) -> None:
    folder, _ = long
    found = read(folder, srt(jittered(talk(70, seed=9).speech, shift=0.0, jitter=0.1)))
    (doubt,) = found.doubts
    assert "could not be compared" in doubt.text and not doubt.remedy


def test_subtitles_that_run_away_are_told_with_the_stretch(long: tuple[Path, Talk]) -> None:
    folder, film = long
    text = srt([(a / 1.0427 - 1.0, b / 1.0427 - 1.0) for a, b in film.speech])
    found = read(folder, text)
    (doubt,) = found.doubts
    assert "runs away" in doubt.text
    match = re.fullmatch(r"--stretch (\S+) --shift (\S+)", doubt.remedy)
    assert match is not None and float(match[1]) == pytest.approx(1.0427, abs=0.001)
    mended = read(folder, text, stretch=float(match[1]), shift=float(match[2]))
    assert mended.doubts == [] and strange(mended, film.speech) == 0


def test_one_shift_that_does_not_fit_is_said(tmp_path: Path) -> None:
    film = talk(160, seed=5)
    cut = film.speech[80][0]
    soundfile.write(tmp_path / "a.wav", film.samples, made.RATE)
    found = read(tmp_path, srt([(a, b) if a < cut else (a + 3, b + 3) for a, b in film.speech]))
    (doubt,) = found.doubts
    assert "no one shift" in doubt.text and "comes as it should up to about" in doubt.text and not doubt.remedy
    assert re.search(r"(2\.9|3\.0)\d s too late from there on", doubt.text)


STYLES: dict[str, Callable[[list[Span]], list[Span]]] = {
    "early": lambda speech: [(a - 0.2, b) for a, b in speech],
    "touching": lambda speech: [
        (a, b[0]) for (a, _), b in zip(speech, [*speech[1:], (speech[-1][1],) * 2], strict=True)
    ],
    "staying": lambda speech: [
        (a, speech[min(n + 2, len(speech) - 1)][0] if n + 2 < len(speech) else b) for n, (a, b) in enumerate(speech)
    ],
    "lingering": lambda speech: [
        (a, min(b + 1.5, speech[n + 1][0] - 0.05) if n + 1 < len(speech) else b) for n, (a, b) in enumerate(speech)
    ],
}


@pytest.mark.parametrize("style", STYLES)
def test_styles_of_subtitles_that_fit(long: tuple[Path, Talk], style: str) -> None:
    folder, film = long
    found = read(folder, srt(STYLES[style](film.speech)))
    assert [doubt.remedy for doubt in found.doubts if doubt.remedy] == []
    assert kept(found, film.speech) >= 0.95
    assert strange(found, film.speech) == 0


def test_two_who_speak_at_once_are_left_out(long: tuple[Path, Talk]) -> None:
    folder, film = long
    cues = list(film.speech)
    cues[10] = (cues[9][0] + 0.2, cues[9][1])  # says something while s9 is said
    found = read(folder, srt(cues))
    assert [problem.message.partition(" by ")[0] for problem in found.problems] == [
        "it overlaps the cue of a.srt line 42",
        "it overlaps the cue of a.srt line 38",
    ]
    assert not any({"s9", "s10"} & set((row.text or "").split()) for row in found.rows)
    assert len(found.rows) == 76


def test_a_doubt_stands_until_it_is_mended_or_denied(tmp_path: Path, long: tuple[Path, Talk]) -> None:
    source, film = tmp_path / "in", long[1]
    source.mkdir()
    soundfile.write(source / "a.wav", film.samples, made.RATE)
    cues = jittered(film.speech, shift=2.4, jitter=0.15, overlaps=20)
    (source / "a.srt").write_text(srt(cues, text="neno la {}".format), encoding="utf-8")
    ws = Workspace.create(tmp_path / "ws", language="swa")

    def said(*words: str) -> str:
        done = CliRunner().invoke(app, list(words))
        assert done.exit_code == 0, done.output
        return re.sub(r"\s+", " ", done.output)

    place = str(ws.root)
    output = said("import", place, str(source))
    mending = status(ws).next
    assert re.fullmatch(rf"olu import {re.escape(place)} {re.escape(str(source / 'a.wav'))} --shift 2\.\d+", mending)
    assert f"Next: listen to a few clips; if it is so, {mending}" in output
    for words in (("audit", place), ("status", place), ("read", place)):
        output = said(*words)
        assert "a.srt comes about 2." in output and mending in output, words
    assert f"Next: {mending}" in said("audit", place)
    denied = finish(import_source(ws, source, in_sync=True))
    assert denied.doubts == () and standing(ws) == []
    assert finish(import_source(ws, source)).doubts == ()  # it is kept
    finish(import_source(ws, source, shift=0.0))
    assert len(standing(ws)) == 1
    mended = finish(import_source(ws, source / "a.wav", shift=float(mending.rpartition(" ")[2])))
    assert mended.doubts == () and standing(ws) == [] and "--shift" not in status(ws).next
    assert len(Corpus.open(ws)) == mended.clips


def test_too_few_cues_are_said_and_no_doubt(tmp_path: Path) -> None:
    film = talk(12, seed=4)
    soundfile.write(tmp_path / "a.wav", film.samples, made.RATE)
    found = read(tmp_path, srt(film.speech[:4]))
    assert found.doubts == [] and any("too few cues" in note for note in found.notes)

"""Recordings without a text: cut at silences, kept, never trained on, and replaced when a text comes."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from olu.audio.activity import frame_dbfs
from olu.core.errors import CorpusError
from olu.core.files import Workspace, read_jsonl
from olu.core.job import finish
from olu.core.types import Audio
from olu.corpus.manifest import Corpus
from olu.corpus.readers.recordings import PieceLengths, cut
from olu.stages.audit import audit
from olu.stages.clips import clips
from olu.stages.import_ import ImportSummary, import_source
from olu.stages.prepare import prepare
from olu.stages.read import read_corpus
from olu.stages.status import status

from ..helpers import films as made


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws", language="swa")


def bring(ws: Workspace, source: Path, **options: Any) -> ImportSummary:
    return finish(import_source(ws, source, **options))


def long_one(path: Path, *, seed: int = 1, sentences: int = 12, pause: float = 0.7) -> list[tuple[float, float]]:
    """A recording of sentences with pauses between, and where they are."""
    rng = np.random.default_rng(seed)
    parts, spans, at = [], [], 0
    for number in range(sentences):
        quiet = made._pause(rng, pause, level=0.1, kind="silence")
        voice = made.voice(100 * seed + number, 2.0 + number % 3)
        first, end = made.own_speech(voice)
        spans.append(((at + len(quiet) + first) / made.RATE, (at + len(quiet) + end) / made.RATE))
        parts += [quiet, voice]
        at += len(quiet) + len(voice)
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, np.concatenate(parts), made.RATE)
    return spans


def test_cut_at_silences(ws: Workspace, tmp_path: Path) -> None:
    spans = long_one(tmp_path / "in" / "radio.wav", sentences=20)
    summary = bring(ws, tmp_path / "in")
    assert summary.layout == "recordings"
    assert summary.why.startswith("one recording and no text: cut at silences, and trained on only when they")
    clips = sorted(Corpus.open(ws), key=lambda clip: clip.start)
    assert summary.untranscribed == summary.added == len(clips)
    assert all(clip.text == "" and not clip.transcribed for clip in clips)
    assert all(3.0 <= clip.seconds <= 15.5 for clip in clips)
    for first, last in spans:  # every sentence in one piece, whole
        holders = [clip for clip in clips if clip.start < last and clip.start + clip.seconds > first]
        assert len(holders) == 1
        assert holders[0].start <= first and last <= holders[0].start + holders[0].seconds
    assert bring(ws, tmp_path / "in").added == 0


def voiced(pattern: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Levels from letters of half a second: x speech, s softer speech, . silence."""
    level = {"x": -20.0, "s": -28.0, ".": -70.0}
    return np.repeat(np.asarray([level[letter] for letter in pattern], dtype=np.float32), 50)


@pytest.mark.parametrize(
    ("pattern", "pieces"),
    [
        ("." * 60, []),
        ("..xx....xx..", [(0.8, 2.2), (3.8, 5.2)]),  # a long pause is always a cut
        ("x" * 10 + "." + "x" * 10 + ".." + "x" * 20, [(0.0, 10.7), (11.3, 21.5)]),  # the longest pause in reach
        ("x" * 36, [(0.0, 18.0)]),  # longer than a piece should be, shorter than the cap
        ("x" * 30 + "s" + "x" * 30, None),
    ],
)
def test_where_it_is_cut(pattern: str, pieces: list[tuple[float, float]] | None) -> None:
    found = cut(voiced(pattern), frames_per_second=100.0)
    if pieces is not None:
        assert found == [pytest.approx(piece) for piece in pieces]
        return
    assert len(found) == 2  # beyond the cap: at the softest place
    assert 15.0 <= found[0][1] <= 15.5
    assert found[0][1] == found[1][0]


def test_every_cap_holds() -> None:
    rng = np.random.default_rng(0)
    cutting = PieceLengths()
    for _ in range(50):
        pattern = "".join(rng.choice(list("xxxxs."), size=int(rng.integers(1, 400))))
        found = cut(voiced(pattern), frames_per_second=100.0)
        assert all(end - start <= cutting.cap + 2 * cutting.pad for start, end in found)
        assert all(before[1] <= after[0] for before, after in pairwise(found))


def test_short_recordings_stay_whole_and_take_a_text_later(ws: Workspace, tmp_path: Path) -> None:
    source = tmp_path / "in"
    long_one(source / "a.wav", sentences=2)
    long_one(source / "b.wav", seed=2, sentences=2)
    bring(ws, source)
    before = [clip.id for clip in Corpus.open(ws)]
    (source / "a.txt").write_text("habari\n", encoding="utf-8")
    (source / "b.txt").write_text("nzuri\n", encoding="utf-8")
    summary = bring(ws, source, speaker="Amina")
    assert (summary.layout, summary.added, summary.already, summary.untranscribed) == ("folder", 0, 2, 0)
    assert "2 clips that had no text have one now" in summary.notes
    corpus = Corpus.open(ws)
    assert [clip.id for clip in corpus] == before
    assert [(clip.text, clip.speaker) for clip in corpus] == [("habari", "Amina"), ("nzuri", "Amina")]
    again = bring(ws, source, layout="recordings")
    assert (again.added, again.already, again.untranscribed) == (0, 2, 0)
    elsewhere = tmp_path / "other"
    long_one(elsewhere / "a.wav", sentences=2)
    assert bring(ws, elsewhere).added == 0
    assert [clip.text for clip in Corpus.open(ws)] == ["habari", "nzuri"]


def test_pieces_become_clips_with_a_text_as_the_docs_say(ws: Workspace, tmp_path: Path) -> None:
    """From the table of pieces to rows, and subtitles for a recording whose pieces have none."""
    source = tmp_path / "in"
    spans = long_one(source / "a.wav", sentences=20)
    bring(ws, source)
    todo = clips(ws, expression='text == ""').rows
    row = todo[1]
    said = {"offset": row["start"], "duration": round(row["end"] - row["start"], 3), "text": "Habari za asubuhi."}
    line = json.dumps({"audio": str(row["audio"]).removeprefix("s1/"), **said})
    (source / "texts.jsonl").write_text(line + "\n", encoding="utf-8")
    bring(ws, source)
    left = {clip.id: clip.text for clip in Corpus.open(ws)}
    assert len(left) == len(todo) and left[str(row["id"])] == "Habari za asubuhi."
    (source / "texts.jsonl").unlink()
    stamp = "00:{:02d}:{:06.3f}"
    cues = (" --> ".join(stamp.format(int(t // 60), t % 60) for t in span).replace(".", ",") for span in spans)
    (source / "a.srt").write_text("\n\n".join(f"{cue}\nneno." for cue in cues), encoding="utf-8")
    summary = bring(ws, source)
    assert summary.layout == "subtitles" and summary.untranscribed == 0
    assert {clip.text for clip in Corpus.open(ws)} == {"neno."}


def test_a_text_for_stretches_takes_the_place_of_pieces(ws: Workspace, tmp_path: Path) -> None:
    source = tmp_path / "in"
    spans = long_one(source / "a.wav", sentences=20)
    pieces = bring(ws, source).clips
    rows = [{"audio": "a.wav", "text": "neno", "offset": a, "duration": b - a} for a, b in spans[:4]]
    (source / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    summary = bring(ws, source)
    assert (summary.layout, summary.added) == ("jsonl", 4)
    assert 0 < summary.untranscribed < pieces
    untranscribed = [clip for clip in Corpus.open(ws) if not clip.transcribed]
    assert all(clip.start >= spans[3][1] - 0.5 for clip in untranscribed)
    again = bring(ws, source, layout="recordings")
    assert (again.added, again.clips) == (0, summary.clips)


def test_never_trained_on(ws: Workspace, tmp_path: Path) -> None:
    long_one(tmp_path / "radio" / "radio.wav", sentences=12)
    bring(ws, tmp_path / "radio")
    with pytest.raises(CorpusError, match=r"no clip of .* has a text"):
        finish(prepare(ws, rate=16000))
    long_one(tmp_path / "in" / "a.wav", seed=5, sentences=1)
    (tmp_path / "in" / "a.txt").write_text("habari ya asubuhi\n", encoding="utf-8")
    summary = bring(ws, tmp_path / "in")
    corpus = Corpus.open(ws)
    silent = {clip.id for clip in corpus if not clip.transcribed}
    assert len(silent) == summary.untranscribed == status(ws).untranscribed == len(corpus) - 1
    found = finish(audit(ws))
    marks = list(read_jsonl(ws.audit_folder / "audit.jsonl"))
    assert {row["id"] for row in marks if row["check"] == "untranscribed"} == silent
    assert {row["severity"] for row in marks if row["check"] == "untranscribed"} == {"info"}
    of_text = {"text", "duplicate_text", "rate", "frames", "script", "shifted", "sound_note", "other_language"}
    assert not [row for row in marks if row["id"] in silent and row["check"] in of_text]
    assert found.seconds_left <= corpus.seconds - sum(clip.seconds for clip in corpus if clip.id in silent) + 0.01
    read = finish(read_corpus(ws))
    assert read.empty == []
    assert finish(prepare(ws, rate=16000)).clips == 1
    assert all(corpus.split(clip) is None for clip in corpus if clip.id in silent)
    assert all(corpus.why_not(clip) for clip in corpus if clip.id in silent)


@pytest.mark.parametrize("other", ["words.csv", "list.txt", "notes.json", "a.srt.bak", "text"])
def test_anything_that_may_be_a_text_is_not_passed_over(ws: Workspace, tmp_path: Path, other: str) -> None:
    long_one(tmp_path / "in" / "a.wav", sentences=1)
    (tmp_path / "in" / other).write_text("something", encoding="utf-8")
    with pytest.raises(CorpusError, match="--layout recordings takes them without any text"):
        bring(ws, tmp_path / "in")
    assert bring(ws, tmp_path / "in", layout="recordings").untranscribed == 1


def test_one_file_silence_and_damage(ws: Workspace, tmp_path: Path) -> None:
    source = tmp_path / "in"
    long_one(source / "a.wav")
    soundfile.write(source / "silent.wav", np.zeros(20 * made.RATE), made.RATE)
    (source / "bad.wav").write_bytes(b"no sound")
    (source / "README.md").write_text("about", encoding="utf-8")
    summary = bring(ws, source)
    assert [line.partition(":")[0] for line in summary.skipped] == ["bad.wav", "silent.wav"]
    assert "nothing is heard" in summary.skipped[1]
    one = bring(ws, source / "a.wav")
    assert (one.layout, one.added, one.already) == ("recordings", 0, summary.clips)


def test_levels_move_with_the_speaker() -> None:
    """A quiet minute in a loud recording is still cut at its pauses."""
    loud = np.concatenate([np.concatenate([made.voice(n, 3.0), np.zeros(made.RATE // 2)]) for n in range(20)])
    samples = np.concatenate([loud, 0.1 * loud, loud]).astype(np.float32)
    samples += np.random.default_rng(0).normal(size=len(samples)).astype(np.float32) * 1e-4
    found = cut(frame_dbfs(Audio(samples, made.RATE)), frames_per_second=100.0)
    quiet = [end - start for start, end in found if len(loud) < start * made.RATE < 2 * len(loud)]
    assert len(quiet) >= 4
    assert max(quiet) <= 15.5

"""Recordings with subtitles that are imported once more: what was there gives way, and what was said is kept."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from olu.core.files import Workspace
from olu.core.job import finish
from olu.corpus.doubts import standing
from olu.corpus.manifest import Corpus
from olu.stages.import_ import ImportSummary, import_source
from olu.stages.status import status

from ..helpers import films as made
from ..helpers.phone_recordings import record
from .test_subtitles import lay, made_film

SHIFT = 2.4


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws", language="swa")


@pytest.fixture(scope="module")
def film() -> made.Film:
    return made_film(3, clips=30)


def bring(ws: Workspace, source: Path, **options: Any) -> ImportSummary:
    return finish(import_source(ws, source, **options))


def starts(ws: Workspace) -> list[float]:
    return sorted(clip.start for clip in Corpus.open(ws) if "habari" in clip.audio)


@pytest.mark.parametrize("kind", ["copied", "below", "phone came later"])
def test_the_command_of_a_doubt_replaces_the_old_clips(
    ws: Workspace, tmp_path: Path, film: made.Film, kind: str
) -> None:
    """Before: a second source was made, and wrong and right texts stayed together."""
    pytest.importorskip("av", reason="the extra media is not installed")
    folder = tmp_path / "in"
    sound = lay(folder / "radio" if kind == "below" else folder, film, name="habari.wav", shift=SHIFT) / "habari.wav"
    later = record(tmp_path / "simu.m4a", seconds=8.0)
    cue = "1\n00:00:00,500 --> 00:00:02,500\nHabari za simu.\n"
    if kind == "phone came later":
        bring(ws, folder)
    if kind != "below":
        shutil.move(later, folder / "simu.m4a")
        (folder / "simu.srt").write_text(cue, encoding="utf-8")
    first = bring(ws, folder)
    assert f"{sound} --shift" in first.mending
    before = first.clips
    named = folder if kind == "phone came later" else sound
    mended = bring(ws, named, shift=SHIFT)
    assert mended.clips == before, mended.notes
    assert any("gave way" in note for note in mended.notes)
    assert mended.doubts == () and standing(ws) == [] and status(ws).doubts == []
    corpus = Corpus.open(ws)
    assert all(corpus.audio(clip).seconds > 0 for clip in corpus)
    assert bring(ws, named, shift=SHIFT).added == 0
    if kind == "copied":
        assert {clip.audio.partition("/")[0] for clip in corpus} == {"s1"}
        assert json.loads((ws.corpus / "audio" / "origins.json").read_text()) == {"s1": str(folder)}


def test_what_was_said_of_times_is_used_again(ws: Workspace, tmp_path: Path, film: made.Film) -> None:
    """Before: the next import of the folder brought the old times back over the shifted ones."""
    folder = lay(tmp_path / "in", film, name="habari.wav", shift=SHIFT)
    shifted = bring(ws, folder / "habari.wav", shift=SHIFT)
    assert shifted.doubts == ()
    moved = starts(ws)
    lay(folder, made_film(4, clips=8), name="mpya.wav")
    more = bring(ws, folder)
    assert (more.added, more.already, starts(ws)) == (8, 30, moved)
    assert f"habari.wav: --shift {SHIFT} was said before and is used again; --shift 0 takes it back" in more.notes
    assert not any("gave way" in note for note in more.notes)

    folder = folder.rename(tmp_path / "moved")
    found = bring(ws, folder)
    assert (found.added, starts(ws)) == (0, moved)

    texts = (folder / "habari.srt").read_text(encoding="utf-8")
    (folder / "habari.srt").write_text(texts.replace("nambari 3.", "namba tatu."), encoding="utf-8")
    assert bring(ws, folder).doubts == () and starts(ws) == moved

    back = bring(ws, folder / "habari.wav", shift=0.0)
    assert back.doubts and starts(ws) != moved
    assert bring(ws, folder).doubts and not (ws.corpus / "timings.jsonl").read_text()


def test_other_subtitles_are_not_moved_as_the_old_ones_were(ws: Workspace, tmp_path: Path, film: made.Film) -> None:
    folder = lay(tmp_path / "in", film, name="habari.wav", shift=SHIFT)
    bring(ws, folder, shift=SHIFT)
    lay(folder, film, name="habari.wav")
    mended = bring(ws, folder)
    assert mended.doubts == ()
    assert mended.notes[0] == f"habari.wav has other subtitles than before: --shift {SHIFT} is not used for them"


def test_that_subtitles_fit_is_said_once(ws: Workspace, tmp_path: Path, film: made.Film) -> None:
    """Before: the same doubt came again with every import of the folder."""
    folder = lay(tmp_path / "in", film, name="habari.wav", shift=SHIFT)
    first = bring(ws, folder)
    assert first.fitting == f"olu import {ws.root} {folder / 'habari.wav'} --in-sync"
    bring(ws, folder / "habari.wav", in_sync=True)
    again = bring(ws, folder)
    assert (again.doubts, again.mending, again.added) == ((), "", 0)


def test_doubts_stay_where_something_else_is_imported(ws: Workspace, tmp_path: Path, film: made.Film) -> None:
    """Before: nothing of it, and 'Next: olu audit' where status named the import that mends it."""
    folder = lay(tmp_path / "in", film, name="habari.wav", shift=SHIFT)
    first = bring(ws, folder)
    other = bring(ws, lay(tmp_path / "other", made_film(4, clips=8), name="mpya.wav"))
    assert (other.doubts, other.mending) == (first.doubts, first.mending)
    assert other.mending == status(ws).next


def test_a_doubt_keeps_no_name_of_the_workspace(ws: Workspace, tmp_path: Path, film: made.Film) -> None:
    """Before: the command named the old place after the workspace was moved."""
    first = bring(ws, lay(tmp_path / "in", film, name="habari.wav", shift=SHIFT))
    assert str(ws.root) not in (ws.corpus / "doubts.jsonl").read_text(encoding="utf-8")
    moved = Workspace.open(ws.root.rename(tmp_path / "renamed"))
    (doubt,) = standing(moved)
    assert doubt.mending(moved) == first.mending.replace(str(ws.root), str(moved.root))
    row = {"audio": doubt.audio, "text": doubt.text, "command": first.mending}  # as versions before kept it
    (moved.corpus / "doubts.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    (old,) = standing(moved)
    assert old.mending(moved) == doubt.mending(moved)


def test_what_cannot_be_compared_names_what_to_do(ws: Workspace, tmp_path: Path, film: made.Film) -> None:
    """Before: only that it may be at wrong times."""
    folder = lay(tmp_path / "in", film, name="habari.wav")
    cues = [(n * 4.7 + 0.3 * (n % 3), n * 4.7 + 2.0) for n in range(30)]
    (folder / "habari.srt").write_text(made.srt(made.Film(film.samples, [], cues, film.texts)), encoding="utf-8")
    (doubt,) = bring(ws, folder).doubts
    assert "could not be compared" in doubt and "--shift SECONDS" in doubt
    assert doubt.endswith(f"; if the texts fit, olu import {ws.root} {folder / 'habari.wav'} --in-sync")

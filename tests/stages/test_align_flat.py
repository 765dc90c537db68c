"""Long recordings and their texts to clips: import, align, cut, with nothing else given."""

from __future__ import annotations

import json

import numpy as np
import pytest

from olu.align.state import alignments
from olu.audio import io
from olu.core.errors import AlignError, ConfigError, CorpusError
from olu.core.files import Workspace
from olu.core.job import finish
from olu.core.types import Audio
from olu.corpus.manifest import Corpus
from olu.stages.align import after_align, align
from olu.stages.cut import cut, undo_cut
from olu.stages.import_ import import_source
from olu.stages.long_path import is_cold
from olu.stages.status import status
from olu.stages.verbs.corpus import ImportOptions

from ..helpers.made_radio import jingle, radio

SENTENCES = 22


@pytest.fixture(scope="module")
def aligned(tmp_path_factory):
    """A workspace of one long recording, aligned after a kill; what was made of it, and what was next on the way."""
    place = tmp_path_factory.mktemp("archive")
    made = radio(1, sentences=SENTENCES, jingle_after=7, unsaid_after=14)
    folder = place / "radio"
    folder.mkdir()
    io.write(folder / "hour.wav", made.audio)
    (folder / "hour.txt").write_text(made.text, encoding="utf-8")
    ws = Workspace.create(place / "ws", language="swa")
    summary = finish(import_source(ws, folder))
    told = [str(list(summary.sentences(ImportOptions(ws=ws.root, source=folder)))[-1]), status(ws).next]
    job = align(ws, force=True)
    kept = ws.alignment / "flat" / "round.json"
    while not kept.exists() or json.loads(kept.read_text())["done"] < 2:
        next(job)
    job.close()
    begun = json.loads(kept.read_text())["done"]
    seen = []
    job = align(ws, force=True)
    while True:
        try:
            seen.append(next(job))
        except StopIteration as end:
            found = end.value
            break
    told += [str(after_align(ws)), status(ws).next]
    rounds = {tick.done for tick in seen if getattr(tick, "what", "") == "finding the words" or "finding" in str(tick)}
    return ws, made, found, told, (begun, rounds)


def test_each_verb_names_the_next_step(aligned):
    ws, _, _, told, _ = aligned
    where = ws.root
    assert told == [f"Next: olu align {where}", f"olu align {where}", f"olu cut {where}", f"olu cut {where}"]


def test_an_alignment_that_was_killed_goes_on_and_leaves_nothing_behind(aligned):
    ws, _, _, _, (begun, rounds) = aligned
    assert begun == 2 and min(rounds) >= 2
    assert not (ws.alignment / "flat").exists()


def test_the_report_names_what_is_not_written(aligned):
    ws, made, found, _, _ = aligned
    assert found.method == "flat" and found.made_by == "a flat start on these recordings"
    (alignment,) = alignments(ws).values()
    assert any("s that are not in the text, between" in hole for hole in found.holes)
    assert (ws.alignment / "holes.txt").read_text(encoding="utf-8").splitlines() == found.holes
    assert len(alignment.words) == len(made.words)


def test_the_report_names_what_is_not_said(aligned):
    assert any("that nobody says" in hole for hole in aligned[2].holes)


def test_cut_keeps_what_is_said_and_written_and_undo_takes_it_back(aligned):
    ws, made, _, _, _ = aligned
    summary = finish(cut(ws, longest=12.0))
    corpus = Corpus.open(ws)
    pieces = [clip for clip in corpus if clip.seconds < 60]
    assert len(pieces) == len(summary.cut[next(clip.id for clip in corpus if clip.seconds > 60)]) > 5
    said = [(word, at) for word, at in zip(made.words, made.times, strict=True) if at]
    wrong = 0
    for piece in pieces:
        inside = [word for word, (start, end) in said if piece.start <= (start + end) / 2 < piece.start + piece.seconds]
        wrong += inside != [word.label for word in alignments(ws)[piece.id].words]
        assert piece.seconds <= 12.0 or piece.id in summary.still_long
    assert wrong == 0
    assert sum(piece.seconds for piece in pieces) > 0.8 * sum(end - start for _, (start, end) in said)
    assert any("not in the text" in why for why in summary.left_out)
    assert not is_cold(corpus) and status(ws).next.split()[1] == "audit"
    assert undo_cut(ws) == (1, len(pieces))
    assert status(ws).next == f"olu cut {ws.root}"


def long_workspace(tmp_path, text, *, sound=None, language="swa"):
    folder = tmp_path / "radio"
    folder.mkdir()
    io.write(folder / "hour.wav", sound or radio(5, sentences=8).audio)
    (folder / "hour.txt").write_text(text, encoding="utf-8")
    ws = Workspace.create(tmp_path / "ws", language=language)
    finish(import_source(ws, folder))
    return ws


def test_little_speech_is_refused_in_one_sentence(tmp_path):
    ws = long_workspace(tmp_path, radio(5, sentences=8).text)
    with pytest.raises(CorpusError, match=r"0\.\d minutes with a text to learn from, .* needs 10: .* --force"):
        finish(align(ws))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kama sasa moto " * 2000, "words cannot be said in its .* minutes: give it the part of the text"),
        ("Kama sasa.", "2 words is next to nothing for .* minutes: give it its whole text"),
    ],
)
def test_a_text_much_longer_or_shorter_than_its_sound_is_named(tmp_path, text, said):
    ws = long_workspace(tmp_path, text)
    with pytest.raises(CorpusError, match=said):
        finish(align(ws))


def test_options_that_ask_for_a_recogniser_need_short_clips(tmp_path):
    ws = long_workspace(tmp_path, radio(5, sentences=8).text)
    with pytest.raises(CorpusError, match="minutes of speech to learn from"):
        finish(align(ws, cross=True))


def test_a_text_of_another_script_has_nothing_to_align(tmp_path):
    ws = long_workspace(tmp_path, "ሰላም ለሁላችሁ ዛሬ እንዴት ናችሁ። " * 5)
    with pytest.raises(CorpusError, match="a word that can be read as swa: is it in another script"):
        finish(align(ws, force=True))


def test_sound_without_speech_is_no_text(tmp_path):
    sound = Audio(jingle(40.0, np.random.default_rng(0)), 16000)
    ws = long_workspace(tmp_path, radio(5, sentences=8).text, sound=sound)
    with pytest.raises(
        AlignError, match=r"nothing was aligned: clip hour-\w+: .*: is (it|the text) another's, or in another"
    ):
        finish(align(ws, force=True))


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ("nothing", r"--base .*other is no workspace: name one of another language that 'olu align' has aligned"),
        ("bare", r"--base .*other: it has no alignment of its own to hear by: run 'olu align .*other' first"),
    ],
)
def test_a_base_that_cannot_hear_is_one_sentence(tmp_path, made, said):
    ws = long_workspace(tmp_path, radio(5, sentences=8).text)
    if made == "bare":
        Workspace.create(tmp_path / "other", language="amh")
    with pytest.raises(ConfigError, match=said):
        finish(align(ws, force=True, base=tmp_path / "other"))
    assert not (ws.alignment / "flat").exists()

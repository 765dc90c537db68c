from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from olu.align import flat
from olu.align.band import FILLER
from olu.align.borrowed import BorrowedEar
from olu.align.chain import classes
from olu.align.flat import LongPath, flat_start
from olu.align.holes import long_alignment
from olu.align.recording import FoundFrames, LongText, hear
from olu.align.runs import otherwise_named, spoken_runs, unspoken_named, unwritten_named
from olu.core.job import finish
from olu.core.types import Audio

from ..helpers.made_radio import RATE, radio


def text_of(made, *, id="made"):
    sentences, at = set(), 0
    for sentence in made.text.split(". "):
        sentences.add(at)
        at += len(sentence.split())
    audio = made.audio
    size = 30 * RATE
    chunks = [Audio(audio.samples[start : start + size], RATE) for start in range(0, len(audio.samples), size)]
    return LongText(id, tuple(tuple(word) for word in made.words), frozenset(sentences), lambda: chunks)


def right(made, alignment):
    """Share of the words that are said whose middle lies in them."""
    pairs = [(word, at) for word, at in zip(alignment.words, made.times, strict=True) if at]
    return np.mean([at[0] <= (word.start + word.end) / 2 <= at[1] for word, at in pairs])


@pytest.fixture(scope="module")
def found():
    made = radio(2, sentences=22, jingle_after=7, unsaid_after=14)
    start = finish(flat_start([text_of(made)]))
    return made, aligned(made, start), start.model


def aligned(made, start, *, id="made"):
    words = tuple((word, tuple(word)) for word in made.words)
    return long_alignment(id, start.paths[id], words, seconds=made.audio.seconds)


def test_words_are_found_with_nothing_given_but_sound_and_text(found):
    made, alignment, _ = found
    assert right(made, alignment) >= 0.95
    labels = [span.label for span in alignment.phones if span.label]
    assert labels == [phone for word in made.words for phone in word]
    edges = [(span.start, span.end) for span in alignment.phones]
    assert edges[0][0] == 0.0 and edges[-1][1] == pytest.approx(made.audio.seconds)
    assert all(one[1] == pytest.approx(two[0]) for one, two in pairwise(edges))


def test_what_is_not_written_is_named_with_its_times(found):
    _, alignment, _ = found
    longest = max(alignment.unwritten, key=lambda one: one[1] - one[0])
    assert longest[1] - longest[0] == pytest.approx(6.0, abs=0.5)
    assert any("that are not in the text, between" in said for said in unwritten_named(alignment))
    inside = [word for word in alignment.words if longest[0] + 0.1 < (word.start + word.end) / 2 < longest[1] - 0.1]
    assert all(word.score == -20.0 for word in inside)


def test_what_is_not_said_is_named_with_its_words(found):
    made, alignment, _ = found
    unsaid = {at for at, time in enumerate(made.times) if time is None}
    told = {at for first, last in alignment.unspoken for at in range(first, last)}
    assert len(unsaid & told) >= len(unsaid) - 1 and len(told - unsaid) <= 2
    first = made.words[min(unsaid & told)]
    assert any("that nobody says" in said and first in said for said in unspoken_named(alignment))
    runs = spoken_runs(alignment)
    assert len(runs) >= 3 and all(not told & set(range(run.first, run.last)) for run in runs)


class Kept:
    def __init__(self):
        self.done, self.found, self.saved = 0, {}, []

    def load(self):
        return self.done, dict(self.found)

    def save(self, done, found):
        self.done, self.found = done, found
        self.saved.append(done)


def test_a_start_that_was_killed_goes_on_with_the_next_round():
    made = radio(2, sentences=12)
    whole, broken = Kept(), Kept()
    first = finish(flat_start([text_of(made)], store=whole))
    assert whole.saved == [1, 2, 3, 4, 5, 6]
    job = flat_start([text_of(made)], store=broken)
    while broken.done < 3:
        next(job)
    job.close()
    second = finish(flat_start([text_of(made)], store=broken))
    assert broken.saved == whole.saved
    assert np.array_equal(first.paths["made"].owner_F, second.paths["made"].owner_F)


def test_a_model_of_other_sounds_is_a_start(found):
    """The first look hears by a frame model of another corpus, each phone by the nearest that it knows."""
    model = found[2]
    made = radio(6, sentences=12)
    ear = BorrowedEar(model, "other")
    assert [ear.nearest(phone) for phone in ("a", "ã", "p", "ɛ", "ŋ")] == ["a", "a", "t", "e", "n"]
    phones = tuple(sorted(set(model.phones)))
    assert ear.columns(phones).tolist() == list(range(classes(len(phones)))), "its own phones are themselves"
    store = Kept()
    job = flat_start([text_of(made)], ear=ear, store=store)
    while store.done < 1:
        next(job)
    job.close()
    first = long_alignment(
        "made",
        LongPath(
            store.found["made"].owner_F, *(np.zeros(len(store.found["made"].owner_F), np.float32),) * 2, sounds(made)
        ),
        tuple((word, tuple(word)) for word in made.words),
        seconds=made.audio.seconds,
    )
    assert right(made, first) >= 0.9, "the first look alone"


def sounds(made):
    return hear(text_of(made), tuple(sorted({phone for word in made.words for phone in word}))).sound


@pytest.mark.parametrize(("seconds", "told"), [(0.5, True), (1.5, True), (0.05, False), (5.0, False)])
def test_words_with_as_much_sound_as_they_need_are_said_otherwise(seconds, told):
    """Of three words of four sounds the middle one is heard nowhere: by the sound there it is one or the other."""
    hole = round(100 * seconds)
    quiet = [-1] * 20
    owner = [*np.repeat(range(4), 10), *quiet, *[FILLER] * hole, *quiet, *np.repeat(range(8, 12), 10)]
    sound = np.array(owner) != -1
    zeros = np.zeros(len(owner), np.float32)
    path = LongPath(np.array(owner, np.int32), zeros, zeros, sound)
    words = tuple((word, tuple(word)) for word in ("kama", "sasa", "moto"))
    found = long_alignment("made", path, words, seconds=len(owner) / 100)
    assert found.otherwise == (((1, 2),) if told else ()) and found.unspoken == (() if told else ((1, 2),))
    assert found.words[1].score == -20.0, "no clip begins or ends with it"
    if told:
        assert not found.unwritten and 0.6 <= found.words[1].start < found.words[1].end <= 0.6 + seconds
        assert otherwise_named(found) == ["0:00.6: 1 word said otherwise than read: sasa"]
    assert len(found.unwritten) == (seconds == 5.0)


def test_breaths_in_a_long_pause_are_not_speech():
    """Four breaths of 0.3 s between two words are a pause; one sound of 0.7 s is not written."""
    breaths, sound = (np.tile(np.repeat([False, True], part), 4) for part in ((70, 30), (30, 70)))
    for inside, told in ((breaths, ()), (sound, ((0.7, 4.4),))):
        owner = np.array([*np.repeat(range(4), 10), *[-1] * len(inside), *np.repeat(range(4, 8), 10)], np.int32)
        zeros = np.zeros(len(owner), np.float32)
        path = LongPath(owner, zeros, zeros, np.array([*[True] * 40, *inside, *[True] * 40]))
        words = tuple((word, tuple(word)) for word in ("kama", "sasa"))
        found = long_alignment("made", path, words, seconds=len(owner) / 100)
        assert found.unwritten == told


def test_a_recording_within_a_longer_text_is_found():
    made = radio(3, sentences=16)
    before = radio(4, sentences=6)
    words = tuple(tuple(word) for word in (*before.words, *made.words, *before.words))
    text = LongText("middle", words, frozenset(), text_of(made).chunks)
    start = finish(flat_start([text]))
    owner = start.paths["middle"].owner_F
    phones = [len(word) for word in words]
    edges = np.concatenate([[0], np.cumsum(phones)])
    low, high = edges[len(before.words)], edges[len(before.words) + len(made.words)]
    spoken = owner[owner >= 0]
    assert np.mean((spoken >= low) & (spoken < high)) > 0.95


def test_labels_leave_out_sounds_that_are_too_long():
    owner = np.array([0] * 5 + [-1] * 50 + [1] * (flat.LONGEST_PHONE + 1), dtype=np.int32)
    assert np.flatnonzero(flat._longer(owner, flat.LONGEST_PHONE)).tolist() == list(range(55, len(owner)))
    assert FoundFrames(owner, owner).owner_F is owner

"""Alignments of made clips, whose boundaries are known."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from olu.align.aligner import PAD_SECONDS, Aligner, AlignerClip, train_frames
from olu.align.frames import FrameModel
from olu.core.errors import AlignError
from olu.core.job import finish
from olu.core.rows import from_row
from olu.core.types import Alignment, Audio

from ..helpers.aligner_clips import PHONES, RATE, Made, MadeRecogniser, clip


@cache
def clips() -> list[Made]:
    return [clip(seed) for seed in range(14)]


def items(clips: list[Made]) -> list[AlignerClip]:
    return [AlignerClip(one.id, one.words, lambda one=one: one.audio) for one in clips]  # type: ignore[misc]


@pytest.fixture(scope="module")
def flat_model() -> FrameModel:
    return finish(train_frames(items(clips()), rounds=2))


def errors(alignment: Alignment, made: Made) -> list[float]:
    """Milliseconds between where phones start and end, and where they do."""
    found = [span for span in alignment.phones if span.label]
    assert [span.label for span in found] == [phone for _, phones in made.words for phone in phones]
    pairs = zip(found, made.times, strict=True)
    return [1000 * abs(a - b) for span, times in pairs for a, b in zip((span.start, span.end), times, strict=True)]


def holds(alignment: Alignment, made: Made) -> None:
    """What every alignment promises."""
    assert alignment.phones[0].start == 0.0
    assert alignment.phones[-1].end == pytest.approx(made.audio.seconds)
    for left, right in zip(alignment.phones[:-1], alignment.phones[1:], strict=True):
        assert left.end == right.start and left.start < left.end
        assert left.label or right.label, "two silences in a row"
    assert [word.label for word in alignment.words] == [text for text, _ in made.words]
    starts = {span.start for span in alignment.phones if span.label}
    assert all(word.start in starts for word in alignment.words)
    assert all(span.score is not None and span.score <= 0 for span in alignment.phones if span.label)
    assert from_row(alignment.row(), Alignment).row() == alignment.row()


def test_from_an_even_start_boundaries_come_within_a_frame(flat_model: FrameModel) -> None:
    aligner = Aligner(frames=flat_model)
    far: list[float] = []
    for made in clips():
        found = aligner.align(made.id, made.audio, made.words)
        holds(found, made)
        assert found.score is None and found.method == "frames"
        far += errors(found, made)
    assert np.median(far) <= 8 and np.mean(far) <= 12, (np.median(far), np.mean(far))
    assert np.mean(np.array(far) <= 25) >= 0.95


def test_ctc_alone_is_coarser_and_its_score_tells_a_wrong_text(flat_model: FrameModel) -> None:
    recogniser = MadeRecogniser()
    coarse, sharp = Aligner(recogniser), Aligner(recogniser, flat_model)
    far: list[float] = []
    near: list[float] = []
    for made, other in zip(clips()[:7], clips()[7:], strict=True):
        found = coarse.align(made.id, made.audio, made.words)
        holds(found, made)
        assert found.method == "ctc"
        far += errors(found, made)
        better = sharp.align(made.id, made.audio, made.words)
        near += errors(better, made)
        wrong = coarse.align(made.id, made.audio, other.words)
        assert found.score is not None and wrong.score is not None
        assert better.score == found.score > wrong.score + 0.5
    assert np.median(far) <= 20
    assert np.mean(near) < 0.9 * np.mean(far), (np.mean(near), np.mean(far))


def test_a_ctc_start_gives_as_sharp_a_model(flat_model: FrameModel) -> None:
    model = finish(train_frames(items(clips()[:8]), MadeRecogniser(), rounds=2, gauss_rounds=0))
    far = [
        error for made in clips()[8:] for error in errors(Aligner(frames=model).align("", made.audio, made.words), made)
    ]
    assert np.median(far) <= 8 and np.mean(far) <= 15, (np.median(far), np.mean(far))


class Deaf(MadeRecogniser):
    """Hears something else than what is said."""

    def log_probs(self, audio: Audio) -> NDArray[np.float32]:
        noise = np.random.default_rng(0).normal(size=(len(audio.samples) // 320, 9)) * 3
        return np.asarray(noise - np.log(np.exp(noise).sum(1, keepdims=True)), dtype=np.float32)


def test_a_recogniser_that_has_learnt_nothing_does_no_harm(flat_model: FrameModel) -> None:
    """The even start explains the sound better, so it is taken: the same model comes out."""
    model = finish(train_frames(items(clips()), Deaf(), rounds=2))
    made = clips()[0]
    assert Aligner(frames=model).align("x", made.audio, made.words) == Aligner(frames=flat_model).align(
        "x", made.audio, made.words
    )


def test_speech_at_the_very_edge_is_found(flat_model: FrameModel) -> None:
    for seed in range(40, 46):
        made = clip(seed, edge=0.0)
        for aligner in (Aligner(frames=flat_model), Aligner(MadeRecogniser())):
            found = aligner.align(made.id, made.audio, made.words)
            holds(found, made)
            assert np.median(errors(found, made)) <= 20
            assert found.phones[0].start == 0.0 and found.phones[0].end < PAD_SECONDS


def test_training_twice_gives_the_same_model() -> None:
    one, two = (finish(train_frames(items(clips()[:3]), rounds=1, gauss_rounds=2)) for _ in range(2))
    mels = np.random.default_rng(0).normal(size=(50, 40)).astype(np.float32)
    assert np.array_equal(one.posteriors(mels), two.posteriors(mels))
    other = finish(train_frames(items(clips()[:3]), rounds=1, gauss_rounds=2, seed=1))
    assert not np.array_equal(one.posteriors(mels), other.posteriors(mels))


def test_a_saved_model_aligns_the_same(flat_model: FrameModel, tmp_path: Path) -> None:
    flat_model.save(tmp_path / "frames")
    again = FrameModel.load(tmp_path / "frames")
    made = clips()[0]
    assert Aligner(frames=again).align("x", made.audio, made.words) == Aligner(frames=flat_model).align(
        "x", made.audio, made.words
    )


def test_words_without_sounds_are_left_out_and_a_clip_without_words_is_silence(flat_model: FrameModel) -> None:
    made = clips()[1]
    words = (("—", ()), *made.words, ("…", ()))
    aligner = Aligner(frames=flat_model)
    assert aligner.align("x", made.audio, words) == aligner.align("x", made.audio, made.words)
    empty = aligner.align("x", made.audio, [("—", ())])
    assert [(span.label, span.end) for span in empty.phones] == [("", made.audio.seconds)] and empty.words == ()


def test_a_fast_clip_still_aligns(flat_model: FrameModel) -> None:
    """Forty phones in half a second leave less than three frames each."""
    random = np.random.default_rng(0)
    words = [("word", tuple(str(random.choice(PHONES)) for _ in range(10))) for _ in range(4)]
    audio = Audio(0.1 * random.standard_normal(RATE // 2).astype(np.float32), RATE)
    found = Aligner(frames=flat_model).align("x", audio, words)
    assert sum(1 for span in found.phones if span.label) == 40
    assert all(span.end > span.start for span in found.phones)


def test_errors_name_the_clip_and_the_sound(flat_model: FrameModel) -> None:
    made = clips()[0]
    with pytest.raises(AlignError, match=r"made-0: the recogniser never learnt 'ʒ'"):
        Aligner(MadeRecogniser()).align(made.id, made.audio, [("ʒ", ("ʒ",))])
    with pytest.raises(AlignError, match=r"made-0: the sound 'ʒ' was in no clip"):
        Aligner(frames=flat_model).align(made.id, made.audio, [("ʒ", ("ʒ",))])
    with pytest.raises(AlignError, match=r"made-0: 2000 symbols need at least"):
        Aligner(MadeRecogniser()).align(made.id, made.audio, [("long", tuple("ak") * 1000)])
    with pytest.raises(AlignError, match=r"made-0: 2000 sounds cannot be in"):
        Aligner(frames=flat_model).align(made.id, made.audio, [("long", tuple("ak") * 1000)])
    with pytest.raises(AlignError, match="needs a recogniser or a frame model"):
        Aligner().align(made.id, made.audio, made.words)
    with pytest.raises(AlignError, match="no clip has a text"):
        finish(train_frames([AlignerClip("x", (), lambda: made.audio)]))

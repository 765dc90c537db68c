"""Long recordings: in pieces as in one, what nobody wrote down left alone, memory bounded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from olu.align.aligner import SymbolMap
from olu.align.ctc import force
from olu.align.long import align_long, windows
from olu.core.errors import AlignError
from olu.core.types import Audio

from ..helpers.aligner_clips import RATE, MadeRecogniser, clip

SOAK = os.environ.get("OLU_SOAK") == "1"
MINUTES = 60 if SOAK else 5


def pieces(audio: Audio, seed: int) -> Iterator[Audio]:
    """The recording in pieces of any length."""
    random = np.random.default_rng(seed)
    at = 0
    while at < len(audio.samples):
        size = int(random.integers(1, 3 * RATE))
        yield Audio(audio.samples[at : at + size], audio.rate)
        at += size


@pytest.mark.parametrize("seed", range(8))
def test_in_pieces_and_windows_as_in_one(seed: int) -> None:
    made = clip(seed, words=30)
    recogniser = MadeRecogniser()
    whole = recogniser.log_probs(made.audio)
    heard = np.concatenate(list(windows(pieces(made.audio, seed), recogniser, window_seconds=3.0, around_seconds=0.5)))
    assert np.array_equal(heard, whole)
    symbols = SymbolMap(recogniser, made.words)
    path = force(whole, symbols.ids)
    found = align_long(pieces(made.audio, seed), made.words, recogniser, stars=(), window_seconds=3.0)
    one = align_long([made.audio], made.words, recogniser, stars=(), window_seconds=1000.0)
    assert found == one
    assert found.score == pytest.approx((path.total - float(whole.max(1).sum(dtype=np.float64))) / len(whole))
    spoken = [span for span in found.phones if span.label]
    assert len(spoken) == len(made.times) == len(path.first)
    for span, first, (start, end) in zip(spoken, path.first, made.times, strict=True):
        assert span.start <= (first + 1) * recogniser.frame_seconds and abs(span.start - start) < 0.15 > abs(
            span.end - end
        )


def test_a_recording_of_another_rate_is_heard_the_same() -> None:
    made = clip(3, words=20)
    from olu.audio.io import resample

    other = resample(made.audio, 22050)
    found = align_long([Audio(part, 22050) for part in np.array_split(other.samples, 7)], made.words, MadeRecogniser())
    spoken = [span for span in found.phones if span.label]
    far = [abs(span.start - start) for span, (start, _) in zip(spoken, made.times, strict=True)]
    assert np.median(far) < 0.03 and max(far) < 0.2


def test_what_nobody_wrote_down_drags_no_word_along() -> None:
    """Thirty seconds of other words before, between and after two stretches of text."""
    one, two = clip(1, words=12), clip(2, words=12)
    strange = [clip(seed, words=30).audio.samples for seed in (5, 6, 7)]
    parts = [strange[0], one.audio.samples, strange[1], two.audio.samples, strange[2]]
    starts = np.cumsum([0, *(len(part) for part in parts)]) / RATE
    words = [*one.words, *two.words]
    audio = Audio(np.concatenate(parts), RATE)
    times = [start + starts[1] for start, _ in one.times] + [start + starts[3] for start, _ in two.times]

    def far(stars: tuple[int, ...]) -> float:
        found = align_long([audio], words, MadeRecogniser(), stars=stars)
        spoken = [span.start for span in found.phones if span.label]
        return float(np.mean(np.abs(np.array(spoken) - times) > 0.2))

    assert far((0, 12, 24)) == 0.0
    assert far(()) > 0.05


def test_errors_are_sentences() -> None:
    made = clip(0)
    with pytest.raises(AlignError, match="tape: 600 symbols need at least"):
        align_long([made.audio], [("x", tuple("ak") * 300)], MadeRecogniser(), id="tape")
    with pytest.raises(AlignError, match="goes on at 8000 Hz"):
        align_long([made.audio, Audio(made.audio.samples, 8000)], made.words, MadeRecogniser())
    with pytest.raises(AlignError, match="the recording has 0"):
        align_long([], made.words, MadeRecogniser())


SCRIPT = """
import json, pathlib, re, sys, time
import numpy as np
from olu.align.long import align_long
from olu.core.types import Audio

MINUTES, SYMBOLS, RATE = float(sys.argv[1]), 60, 16000

class Hears:
    '''Frames of 20 ms from a made sequence: a peak every fourth frame, as fast speech has.'''
    rate, frame_seconds, symbols = RATE, 0.02, ("_", *map(chr, range(97, 97 + SYMBOLS - 1)))
    def __init__(self): self.random, self.at = np.random.default_rng(0), 0
    def log_probs(self, audio):
        frames = len(audio.samples) // 320
        probs = self.random.uniform(0.0, 0.02, (frames, SYMBOLS)).astype(np.float32)
        start = round(float(audio.samples[0]))  # a sample says which frame it is of
        for f in range(frames):
            place, part = divmod(start + f, 4)
            probs[f, said[place] if part == 0 and place < len(said) else 0] += 1.0
        return np.log(probs / probs.sum(1, keepdims=True))

total = int(MINUTES * 60 * 50)
said = np.random.default_rng(1).integers(1, SYMBOLS, total // 4)
hears = Hears()
words = [("w", tuple(hears.symbols[id] for id in said[at:at + 5])) for at in range(0, len(said), 5)]
def sound():
    for first in range(0, total, 500):
        yield Audio(np.repeat(np.arange(first, min(total, first + 500), dtype=np.float32), 320), RATE)
began = time.monotonic()
found = align_long(sound(), words, hears)
seconds = time.monotonic() - began
starts = np.array([s.start for s in found.phones if s.label])
far = np.abs(starts - 0.08 * np.arange(len(starts)))
status = pathlib.Path("/proc/self/status").read_text()  # getrusage would count what the caller had when it forked
megabytes = int(re.search(r"VmHWM:\\s+(\\d+)", status)[1]) / 1024
print(json.dumps({"mb": megabytes, "seconds": seconds, "far": float(far.max()), "phones": len(starts)}))
"""


def test_memory_stays_bounded_and_time_below_real_time() -> None:
    """A whole process; an hour of 45,000 phones in the soak."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(MINUTES)], capture_output=True, text=True, check=True, timeout=3600
    )
    result = json.loads(done.stdout)
    assert result["phones"] == MINUTES * 60 * 50 // 4
    assert result["far"] <= 0.1, result
    assert result["mb"] < (2000 if SOAK else 900), result
    assert result["seconds"] < 60 * MINUTES, result

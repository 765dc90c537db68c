"""An acoustic model and a vocoder: tokens, then durations and pitch as plain numbers, then a mel, then sound.

text:    ids, tones, stress [1, T], speaker [1] -> hidden [1, C, T], log_frames [1, T]; knots [1, T, K]: log2 of hertz
mean:    hidden, frames [1, T] (whole numbers), contour [1, F], speaker -> mel [1, M, F]; states, voicing
step:    x [1, M, F], mel, states, time [1], speaker -> velocity [1, M, F]; where there is one, it refines the mel
decoder: mel [B, M, F], contour [B, F], voicing [B, F], noise [B, W, F], speaker [B] -> wave [B, S]

Every network takes of these what it asks for. Durations and pitch stand between text and mel, where they can be edited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from olu.core.errors import VoiceError
from olu.speak.engines import (
    MOST_CONTEXT,
    MOST_HOP,
    MOST_RATE,
    FrameCutter,
    GraphSpec,
    LineJob,
    SoundDecoder,
    SpeechEngine,
    alike,
    count,
    knobs_of,
    word_spans,
)
from olu.speak.graphs import OnnxGraph
from olu.speak.stream import Chunk, LineMaking, Manner, SpokenSentence, Wave

if TYPE_CHECKING:
    from olu.speak.package import Package
    from olu.text.vocabulary import SymbolVocabulary

KNOBS = ("pitch", "steps", "temperature")  # semitones; refining steps; how much they draw
MOST_LOG_FRAMES = 6.0  # of a token: 400 frames; a package may ask for more than fits into the memory
CHECKED_TOKENS = 41  # of a check sentence, so that opening stays quick
PITCH_APART = 0.02  # octaves that another processor's rounding may make


class MelEngine:
    GRAPHS: Mapping[str, GraphSpec] = {
        "text": GraphSpec(("ids", "tones", "stress", "speaker")),
        "mean": GraphSpec(("hidden", "frames", "contour", "speaker")),
        "step": GraphSpec(("x", "mel", "states", "time", "speaker"), optional=True),
        "decoder": GraphSpec(("mel", "contour", "voicing", "noise", "speaker"), outputs=1, threads=None),
    }

    most_tokens: int | None = None

    def __init__(self, package: Package, vocabulary: SymbolVocabulary) -> None:
        facts = package.facts
        self._vocabulary = vocabulary
        self.rate, self._hop = count(facts["rate"], MOST_RATE), count(facts["hop"], MOST_HOP)
        self.context: int | None = count(facts["context"], MOST_CONTEXT, least=0)
        self.frame_seconds = self._hop / self.rate
        self.knobs = knobs_of(package, KNOBS)
        self._cutter = FrameCutter(self._hop, self.rate)

    def connect(self, graphs: Mapping[str, OnnxGraph]) -> None:
        self._text, self._mean, self._step = graphs["text"], graphs["mean"], graphs.get("step")
        self.decoder = SoundDecoder(graphs["decoder"], main="mel", hop=self._hop)
        wanted = {"text": ("hidden", "log_frames"), "mean": ("mel",), "step": ("velocity",)}
        if any(not set(wanted[name]) <= set(graphs[name].outputs) for name in wanted if name in graphs):
            raise ValueError("outputs")
        noise = graphs["decoder"].shapes.get("noise")
        self._noise_rows = count(noise[1], MOST_HOP) if noise is not None else 0
        if "pitch" in self.knobs and "knots" not in self._text.outputs:
            raise ValueError("pitch")

    def begin(self, job: LineJob, manner: Manner) -> LineMaking:
        line = job.line
        assert line.reading is not None
        streams = self._vocabulary.streams(line.reading)
        read, frames = self._read(line.ids, speed=manner.speed, speaker=job.speaker, streams=streams)
        random = job.random(manner)
        contour = self._contour(read.get("knots"), frames, semitones=manner.knobs.get("pitch", 0.0))
        made = self._mel(read["hidden"], frames, contour, manner=manner, speaker=job.speaker, random=random)
        durations = tuple(int(one) for one in frames)
        sentence = SpokenSentence(
            number=job.number,
            text=line.text,
            start=job.start,
            end=job.start + sum(durations) * self.frame_seconds,
            words=word_spans(
                line.reading, self._vocabulary, durations, frame_seconds=self.frame_seconds, start=job.start
            ),
            durations=durations,
            dropped=line.reading.dropped,
        )
        total = sum(durations)
        if self._noise_rows:
            made["noise"] = random.standard_normal((1, self._noise_rows, total), np.float32)
        feeds = {name: array for name, array in made.items() if name in self.decoder.graph.shapes}
        yield from self._cutter.spoken(feeds, sentence, plan=job.plan, frames=total, speaker=job.speaker)

    def run(self, chunks: Sequence[Chunk]) -> list[Wave]:
        return self.decoder.run(chunks)

    def _read(
        self, ids: Sequence[int], *, speed: float, speaker: int, streams: Mapping[str, Sequence[int]] | None = None
    ) -> tuple[dict[str, Any], NDArray[np.int64]]:
        """What the text side makes of tokens, and how many frames each of them has; `streams`: tones and stress."""
        beside = {"tones": [0] * len(ids), "stress": [0] * len(ids)} | dict(streams or {})
        feeds = {name: np.array([row], np.int64) for name, row in {"ids": ids, **beside}.items()}
        read = self._text.named({**feeds, "speaker": np.array([speaker], np.int64)})
        if read["log_frames"].shape != (1, len(ids)) or read["hidden"].shape[::2] != (1, len(ids)):
            raise VoiceError("the networks of the voice do not fit each other: export the voice again")
        wanted = np.exp(np.minimum(read["log_frames"][0].astype(np.float64), MOST_LOG_FRAMES)) / speed
        return read, np.maximum(1, np.rint(np.nan_to_num(wanted))).astype(np.int64)

    def _contour(self, knots: NDArray[Any] | None, frames: NDArray[np.int64], *, semitones: float) -> NDArray[Any]:
        """Pitch of every frame [1, F]: straight lines between the knots, which lie evenly inside their tokens."""
        total = int(frames.sum())
        if knots is None:
            return np.zeros((1, total), np.float32)
        each = knots.shape[2]
        starts = np.cumsum(frames) - frames
        places = starts[:, None] + frames[:, None] * (np.arange(each) + 0.5) / each
        line = np.interp(np.arange(total) + 0.5, places.ravel(), knots[0].astype(np.float64).ravel())
        return np.asarray(line + semitones / 12, np.float32)[None]

    def _mel(
        self,
        hidden: NDArray[Any],
        frames: NDArray[np.int64],
        contour: NDArray[Any],
        *,
        manner: Manner,
        speaker: int,
        random: np.random.Generator,
    ) -> dict[str, NDArray[Any]]:
        who = {"speaker": np.array([speaker], np.int64)}
        made: dict[str, NDArray[Any]] = dict(
            self._mean.named({"hidden": hidden, "frames": frames[None], "contour": contour, **who})
        )
        if made["mel"].ndim != 3 or made["mel"].shape[2] != contour.shape[1]:
            raise VoiceError("the networks of the voice do not fit each other: export the voice again")
        steps = round(manner.knobs.get("steps", 0))
        if self._step is not None and steps:
            x = random.standard_normal(made["mel"].shape, np.float32) * np.float32(manner.knobs.get("temperature", 1.0))
            for at in range(steps):
                time = np.array([at / steps], np.float32)
                x = x + self._step.named({**made, "x": x, "time": time, **who})["velocity"] / np.float32(steps)
            made["mel"] = x
        return {**made, "contour": contour}

    def proof(self, ids: Sequence[int]) -> dict[str, Any]:
        """Frames and pitch per token at the start of a sentence, of the first speaker at speed 1."""
        read, frames = self._read(ids[:CHECKED_TOKENS], speed=1.0, speaker=0)
        knots = read.get("knots")
        told = {"frames": [int(one) for one in frames]}
        return told if knots is None else {**told, "knots": [round(float(one), 3) for one in knots[0].ravel()]}

    def differs(self, ids: Sequence[int], row: Mapping[str, Any]) -> str:
        found = self.proof(ids)
        if not alike(found["frames"], row.get("frames")):
            return "speaks with other lengths than at its export"
        kept = row.get("knots", [])
        apart = [abs(a - b) for a, b in zip(found.get("knots", []), kept, strict=False)]
        same = len(found.get("knots", [])) == len(kept) and max(apart, default=0.0) <= PITCH_APART
        return "" if same else "speaks with another melody than at its export"


ENGINE: type[SpeechEngine] = MelEngine

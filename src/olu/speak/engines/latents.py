"""VITS: one network reads the tokens and draws latents, another makes sound of them.

encoder: ids [1, T], noise [1, C, N], duration_noise [1, 2, T] and their scales, length_scale, speaker [1]
         -> latents [1, C, F], durations [1, T]; contour [1, F]: log2 of hertz, voicing [1, F]: 0 or 1
decoder: latents [B, C, F], contour and voicing [B, F], source and noise [B, W, F], speaker [B] -> wave [B, S]

Pitch, voicing, source and noise are of voices with a source; pulses and noise are made here for a whole sentence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

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
    number,
    word_spans,
)
from olu.speak.graphs import OnnxGraph
from olu.speak.source import framed, pulses
from olu.speak.stream import SHORT_NAMES, Chunk, LineMaking, Manner, SpokenSentence, Wave

if TYPE_CHECKING:
    from olu.speak.package import Package
    from olu.text.vocabulary import SymbolVocabulary

NOISE_FRAMES_PER_TOKEN = 16  # the encoder repeats noise when a text needs more frames than this
MOST_STRETCHING = 16.0  # a package may ask for speech so slow that its noise would fill the memory
CHECKED_TOKENS = 41  # of a check sentence, so that opening stays quick
MOST_CHANNELS = 16_384
OUTPUTS = ("latents", "durations", "contour", "voicing")  # the last two where sound is made of a source


class LatentsEngine:
    GRAPHS: Mapping[str, GraphSpec] = {
        "encoder": GraphSpec(
            ("ids", "noise", "duration_noise", "noise_scale", "duration_noise_scale", "length_scale", "speaker"),
            optimised=True,
        ),
        "decoder": GraphSpec(("latents", "contour", "voicing", "source", "noise", "speaker"), outputs=1, threads=None),
    }

    most_tokens: int | None = None
    draws = False
    join_words = 0
    plans = False

    def __init__(self, package: Package, vocabulary: SymbolVocabulary) -> None:
        facts = package.facts
        self._vocabulary = vocabulary
        self.rate, self._hop = count(facts["rate"], MOST_RATE), count(facts["hop"], MOST_HOP)
        self._channels = count(facts["channels"], MOST_CHANNELS)
        self.context = count(facts["context"], MOST_CONTEXT) if package.schema > 1 else None
        self.frame_seconds = self._hop / self.rate
        self._scales = {name: number(facts["sampling"][f"{name}_scale"]) for name in SHORT_NAMES}
        self._length_scale = number(facts["sampling"]["length_scale"])
        self.knobs = knobs_of(package, SHORT_NAMES)
        if any(knob.default != self._scales[name] for name, knob in self.knobs.items()):
            raise ValueError("its knobs are not what its sampling says")
        self._cutter = FrameCutter(self._hop, self.rate)

    def connect(self, graphs: Mapping[str, OnnxGraph]) -> None:
        self._encoder, self.decoder = graphs["encoder"], SoundDecoder(graphs["decoder"], main="latents", hop=self._hop)
        if graphs["decoder"].shapes["latents"][1:2] != [self._channels]:
            raise ValueError("channels")
        self._outputs = OUTPUTS if "source" in graphs["decoder"].shapes else OUTPUTS[:2]
        if len(self._encoder.outputs) != len(self._outputs):
            raise ValueError("outputs")

    def begin(self, job: LineJob, manner: Manner) -> LineMaking:
        line = job.line
        assert line.reading is not None
        bits = np.random.PCG64([manner.seed, job.number])
        made = self.encode(line.ids, bits, manner=manner, speaker=np.array([job.speaker], np.int64))
        latents, counts = made.pop("latents"), made.pop("durations")
        durations = tuple(int(frames) for frames in counts[0])
        frame = self.frame_seconds
        sentence = SpokenSentence(
            number=job.number,
            text=line.text,
            start=job.start,
            end=job.start + latents.shape[2] * frame,
            words=word_spans(line.reading, self._vocabulary, durations, frame_seconds=frame, start=job.start),
            durations=durations,
            dropped=line.reading.dropped,
        )
        feeds = {"latents": latents, **(self._excited(made, job.random(manner, 1)) if made else {})}
        yield from self._cutter.spoken(feeds, sentence, plan=job.plan, frames=latents.shape[2], speaker=job.speaker)

    def run(self, chunks: Sequence[Chunk]) -> list[Wave]:
        return self.decoder.run(chunks)

    def _excited(self, melody: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
        """Pitch, voicing, pulses and noise of a whole sentence."""
        pulse = pulses(melody["contour"][0], melody["voicing"][0], hop=self._hop, rate=self.rate)
        noise = random.standard_normal(len(pulse), np.float32)
        return {**melody, "source": framed(pulse, self._hop), "noise": framed(noise, self._hop)}

    def encode(self, ids: Any, bits: np.random.PCG64, *, manner: Manner, speaker: Any) -> dict[str, Any]:
        """The encoder's outputs, by name."""
        random = np.random.Generator(bits)
        length_scale = self._length_scale / manner.speed
        frames = math.ceil(NOISE_FRAMES_PER_TOKEN * len(ids) * min(MOST_STRETCHING, max(1.0, length_scale)))
        scales = [manner.knobs.get(name, scale) for name, scale in self._scales.items()]
        feeds: dict[str, Any] = {
            "ids": np.array([ids], np.int64),
            "duration_noise": random.standard_normal((1, 2, len(ids)), np.float32),
            "noise": random.standard_normal((1, self._channels, frames), np.float32),
            "noise_scale": np.float32(scales[0]),
            "duration_noise_scale": np.float32(scales[1]),
            "length_scale": np.float32(length_scale),
            "speaker": speaker,
        }
        made: dict[str, Any] = dict(zip(self._outputs, self._encoder.run(feeds), strict=True))
        latents, durations = made["latents"], made["durations"]
        if latents.ndim != 3 or latents.shape[:2] != (1, self._channels) or durations.shape != (1, len(ids)):
            raise VoiceError("the networks of the voice do not fit each other: export the voice again")
        if any(made[name].shape != latents.shape[::2] for name in self._outputs[2:]):
            raise VoiceError("the networks of the voice do not fit each other: export the voice again")
        return made

    def proof(self, ids: Sequence[int]) -> dict[str, Any]:
        """Frames per token at the start of a sentence, as seed 0 and the first speaker give them."""
        who = np.array([0], np.int64)
        made = self.encode(ids[:CHECKED_TOKENS], np.random.PCG64([0, 0]), manner=Manner(), speaker=who)
        counts = made["durations"]
        return {"durations": [int(frames) for frames in counts[0]]}

    def told(self) -> dict[str, Any]:
        """What a program without Python must know of its numbers."""
        return {"channels": self._channels, "length_scale": self._length_scale}

    def differs(self, ids: Sequence[int], row: Mapping[str, Any]) -> str:
        kept = row.get("durations")
        same = kept is None or alike(self.proof(ids)["durations"], kept)
        return "" if same else "speaks with other lengths than at its export"


ENGINE: type[SpeechEngine] = LatentsEngine

"""A language model of codes, a flow that draws a mel from them, and a vocoder: Chatterbox and its kind.

step and its arrays: see `codes.py`
flow_encoder: codes [1, T] -> mean [1, M, 2 T]
flow_step:    mel, mean, known [B, M, F], speaker [B, M], time [B], and until [B] of a mean flow -> way [B, M, F]
pitch:        mel [1, M, F] -> hertz [1, F]
vocoder:      mel [1, M, F], source [1, S] -> wave [1, S]
watermark:    see `watermark.py`; where there is none, nothing is put into the sound

arrays: reference_codes [codes of all speakers], reference_mel [two frames a code, M], speakers [speakers, M],
        sines [sines + 1]: how the vocoder's source is mixed
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from olu.audio.stretch import FASTEST, SLOWEST, Stretcher
from olu.core.errors import VoiceError
from olu.core.types import Span
from olu.speak.engines import (
    MOST_CONTEXT,
    MOST_HOP,
    MOST_RATE,
    GraphSpec,
    LineJob,
    SpeechEngine,
    count,
    knobs_of,
    number,
)
from olu.speak.engines.codes import TURN_CODES, CodeRun, CodeWriter
from olu.speak.engines.guards import GuardedText, TailTrimmer, TextGuard
from olu.speak.engines.sampling import MOST_CODES, Sampler, StopRules
from olu.speak.engines.sines import SineSource
from olu.speak.engines.watermark import WatermarkStream
from olu.speak.graphs import OnnxGraph
from olu.speak.stream import Chunk, LineMaking, Manner, SpokenSentence, SpokenWave, Wave
from olu.text.pieces import PieceVocabulary

if TYPE_CHECKING:
    from olu.speak.package import Package
    from olu.text.vocabulary import SymbolVocabulary

KNOBS = (
    *("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "penalty_window"),
    *("guidance", "exaggeration", "guards"),
)
FRAMES = 2  # of the mel, for each code
FIRST_CODES = 25  # before the first sound of who is in a hurry; then twice as many each time
NOISE_BLOCK = 50  # frames of noise that are drawn together
MOST_STEPS = 1000
MOST_CLOSING = 100

Mel = NDArray[np.float32]


@dataclass(frozen=True)
class StoredReference:
    """What the flow begins with for a speaker."""

    codes: NDArray[np.int64]
    mel: Mel  # [M, two frames a code]
    speaker: NDArray[np.float32]


@dataclass
class SentenceSound:
    """The sound of a sentence as far as it is made: pieces of it are drawn from the same noise, and go on in phase."""

    reference: StoredReference
    random: np.random.Generator
    source: SineSource
    mel: Mel  # of the frames that were given
    heard: Wave  # their source, as far back as the vocoder looks
    tail: Wave | None = None  # what an earlier run made of the next frame, to fade from
    noise: list[Mel] = field(default_factory=list)

    @property
    def given(self) -> int:
        """Frames that are sound."""
        return int(self.mel.shape[1])

    def drawn(self, frames: int) -> Mel:
        """Noise [M, frames] by the number of the frame, however often it is asked for."""
        bins = len(self.mel)
        while len(self.noise) * NOISE_BLOCK < frames:
            self.noise.append(self.random.standard_normal((NOISE_BLOCK, bins), dtype=np.float32))
        return np.concatenate(self.noise)[:frames].T


@dataclass(frozen=True)
class SoundJob:
    """Codes to be sound; `last`: no more of them come."""

    sound: SentenceSound
    codes: tuple[int, ...]
    last: bool


@dataclass
class FlowMaking:
    """A sentence on its way from codes to sound."""

    job: LineJob
    rules: StopRules
    ids: Sequence[int]
    speed: float
    trimmer: TailTrimmer
    stretcher: Stretcher
    watermark: WatermarkStream | None
    notes: list[str]
    size: int  # codes that the next piece waits for
    attempt: int = 0
    sound: SentenceSound | None = None
    faults: list[str] = field(default_factory=list)  # of every try
    samples: int = 0

    def finished(self, wave: Wave, *, last: bool) -> Wave:
        wave = self.stretcher.push(self.trimmer.push(wave, last=last), last=last)
        wave = self.watermark.push(wave, last=last) if self.watermark else wave
        self.samples += len(wave)
        return wave


class FlowEngine:
    plans = False
    draws = True
    GRAPHS: Mapping[str, GraphSpec] = {
        "step": GraphSpec(("rows", "past", "seqlens_k", "total_sequence_length")),
        "flow_encoder": GraphSpec(("codes",), outputs=1, threads=None),
        "flow_step": GraphSpec(("mel", "mean", "speaker", "known", "time", "until"), outputs=1, threads=None),
        "pitch": GraphSpec(("mel",), outputs=1),
        "vocoder": GraphSpec(("mel", "source"), outputs=1, threads=None),
        "watermark": GraphSpec(("magnitude",), outputs=1, optional=True),
    }

    def __init__(self, package: Package, vocabulary: SymbolVocabulary) -> None:
        facts, arrays = package.facts, package.arrays
        self.rate, self._hop = count(facts["rate"], MOST_RATE), count(facts["hop"], MOST_HOP)
        self._around = count(facts["context"], MOST_CONTEXT)
        self.context: int | None = self._around
        self.frame_seconds = self._hop / self.rate
        self.knobs = knobs_of(package, KNOBS)
        self.writer = CodeWriter(package, vocabulary, frame_seconds=FRAMES * self.frame_seconds)
        self.most_tokens = self.writer.most_tokens
        self._times = [number(one, 0.0, 1.0) for one in facts["flow_times"][:MOST_STEPS]]
        self._guidance = number(facts["flow_guidance"], 0.0, 100.0)
        self._ahead = count(facts["ahead"], 1000, least=0)
        self._closing = [count(one, MOST_CODES, least=0) for one in facts.get("closing_codes", [])[:MOST_CLOSING]]
        self._penalty_last = facts.get("penalty_last") is True
        self._sines = np.asarray(arrays["sines"], np.float64)
        self._references = _references(facts, arrays)
        self._vocabulary = vocabulary
        self._guard = TextGuard.of(facts.get("text_guard"), vocabulary, ends=facts.get("sentence_ends"))
        self._keep = None if facts.get("tail") is None else number(facts["tail"], 0.0, 10.0)
        self.join_words = self._guard.short_words if self._guard else 0
        if len(self._times) < 2 or self._sines.ndim != 1 or len(self._sines) < 2:
            raise ValueError("its flow or its source is damaged")

    def connect(self, graphs: Mapping[str, OnnxGraph]) -> None:
        self.writer.connect(graphs["step"])
        self._encoder, self._flow_step = graphs["flow_encoder"], graphs["flow_step"]
        self._pitch, self._vocoder = graphs["pitch"], graphs["vocoder"]
        self._watermark = graphs.get("watermark")

    # ---- a sentence

    def begin(self, job: LineJob, manner: Manner) -> LineMaking:
        """Codes a turn at a time; who is in a hurry hears the first of them before the last are written."""
        if not SLOWEST <= manner.speed <= FASTEST:
            raise VoiceError(
                f"speed {manner.speed:g} is out of reach for this voice: choose {SLOWEST:g} to {FASTEST:g}"
            )
        return self._made(job, manner)

    def _made(self, job: LineJob, manner: Manner) -> LineMaking:
        knobs, guarded = manner.knobs, manner.knobs.get("guards", 1.0) >= 0.5
        asked, rules = GuardedText(job.line.ids, knobs, ()), self.writer.rules.without_guards()
        if guarded:
            asked, rules = (self._guard.of_line(job.line, knobs) if self._guard else asked), self.writer.rules
        hurried = job.plan.first < job.plan.most
        if rules.patient and not hurried:
            rules = replace(rules, hold=MOST_CODES)
        making = FlowMaking(
            job,
            rules,
            asked.ids,
            manner.speed,
            TailTrimmer(self.rate, self._keep if guarded else None),
            Stretcher(self.rate, manner.speed),
            WatermarkStream(self._watermark, self.rate) if self._watermark else None,
            list(asked.notes),
            size=FIRST_CODES if hurried else MOST_CODES,
        )
        told = {"guidance": knobs.get("guidance", 0.0), "exaggeration": knobs.get("exaggeration")}
        for making.attempt in range(max(1, rules.tries)):
            sample = Sampler.of(asked.knobs, job.random(manner, making.attempt), penalty_last=self._penalty_last)
            run = self.writer.begun(asked.ids, job.speaker, sample, rules, **told)  # type: ignore[arg-type]
            while not run.over:
                yield Chunk("codes", TURN_CODES * self.writer.code_seconds, run, gains=self.writer.batches)
                if not run.over and len(run.codes) >= max(making.size, rules.hold):
                    yield from self._sounded(making, run, manner)
            making.faults += [run.fault] if run.fault else []
            if not run.failed or len(run.codes) > rules.hold:
                break
            if making.attempt + 1 < rules.tries:
                making.notes.append(f"{run.why}, and it was tried again")
        making.notes += [run.why] if run.why else []
        yield from self._sounded(making, run, manner)

    def _sounded(self, making: FlowMaking, run: CodeRun, manner: Manner) -> LineMaking:
        """The sound of what is certain; of a run that is over, all the rest."""
        codes = (*run.codes, *(self._closing if run.over else ()))
        wave = np.zeros(0 if making.sound else self._hop, np.float32)  # of nothing to say
        if codes:
            if making.sound is None:
                making.sound = self._begun_sound(making, manner)
            seconds = (len(codes) + len(making.sound.reference.codes)) * self.writer.code_seconds
            wave = yield Chunk(("sound", len(codes)), seconds, SoundJob(making.sound, codes, run.over))
        making.size = len(codes) + max(making.size, FIRST_CODES)
        given = making.finished(wave, last=run.over)
        if len(given) or run.over:
            yield SpokenWave(given, self._sentence(making, run), run.over)

    def _begun_sound(self, making: FlowMaking, manner: Manner) -> SentenceSound:
        job, reference = making.job, self._references[making.job.speaker]
        source = SineSource(self.rate, self._hop, self._sines, job.random(manner, making.attempt, 2))
        nothing = np.zeros((len(reference.mel), 0), np.float32)
        return SentenceSound(reference, job.random(manner, making.attempt, 1), source, nothing, np.zeros(0, np.float32))

    def _sentence(self, making: FlowMaking, run: CodeRun) -> SpokenSentence:
        job, reading = making.job, making.job.line.reading
        dropped = making.trimmer.dropped
        left_out = [f"{dropped / self.rate:.2f} s of silence after its end left out"] if dropped else []
        end = job.start + making.samples / self.rate
        return SpokenSentence(
            job.number,
            job.line.text,
            job.start,
            end,
            words=self._words(making, run, end),
            dropped=reading.dropped if reading else {},
            notes=(*making.notes, *left_out),
            faults=tuple(making.faults),
        )

    def _words(self, making: FlowMaking, run: CodeRun, end: float) -> tuple[Span, ...]:
        """When each word is heard, by the heads that follow the text; nothing where the voice has none."""
        reading, follower = making.job.line.reading, run.follower
        if follower is None or reading is None or not run.over:
            return ()
        firsts = self._vocabulary.word_firsts(making.ids) if isinstance(self._vocabulary, PieceVocabulary) else []
        if len(firsts) != len(reading.words):
            return ()
        start, each = making.job.start, self.writer.code_seconds / making.speed
        begins = [min(start + code * each, end) for code in follower.starts(firsts)]
        spans = zip(reading.words, begins, [*begins[1:], end], strict=True)
        return tuple(Span(word.text, first, last) for word, first, last in spans)

    # ---- the networks

    def run(self, chunks: Sequence[Chunk]) -> list[Any]:
        if isinstance(chunks[0].payload, SoundJob):
            return [self._sound(chunk.payload) for chunk in chunks]
        runs: list[CodeRun] = [chunk.payload for chunk in chunks]
        self.writer.advance(runs)
        return [len(run.codes) for run in runs]

    def _sound(self, job: SoundJob) -> Wave:
        """Samples that are certain now and were not given before."""
        sound, first = job.sound, job.sound.given
        mel = self._mel(job)
        upto = mel.shape[1] if job.last else max(first, mel.shape[1] - self._around)
        if upto == first and not job.last:
            return np.zeros(0, np.float32)
        left = min(first, self._around)
        used = np.concatenate([sound.mel[:, first - left :], mel[:, first:]], axis=1)[None]
        (hertz,) = self._pitch.run({"mel": used})
        kept, sound.source.turns = sound.source.made(hertz[0, left : left + upto - first], first=first)
        rest, _ = sound.source.made(hertz[0, left + upto - first :], first=upto)
        source = np.concatenate([sound.heard[len(sound.heard) - left * self._hop :], kept, rest])
        (waves,) = self._vocoder.run({"mel": used, "source": source[None]})
        if waves.shape != (1, used.shape[2] * self._hop) or not np.isfinite(waves).all():
            raise VoiceError("the voice makes numbers that are no sound: export the voice again")
        wave = waves[0, left * self._hop :].copy()
        if sound.tail is not None and len(wave):
            rise = (np.arange(self._hop, dtype=np.float32) + 0.5) / self._hop
            wave[: self._hop] = sound.tail * (1 - rise) + wave[: self._hop] * rise
        if first == 0:
            wave[: 2 * self._hop] *= _opening(self._hop)[: len(wave)]
        end = (upto - first) * self._hop
        sound.tail = None if job.last else wave[end : end + self._hop]
        sound.mel = np.concatenate([sound.mel, mel[:, first:upto]], axis=1)
        sound.heard = np.concatenate([sound.heard, kept])[-self._around * self._hop :]
        return wave[:end]

    def _mel(self, job: SoundJob) -> Mel:
        """Of the codes alone; without the last ones, which hang on what comes, unless nothing does."""
        reference = job.sound.reference
        codes = np.concatenate([reference.codes, np.array(job.codes, np.int64)])[None]
        (mean,) = self._encoder.run({"codes": codes})
        frames = FRAMES * (codes.shape[1] - (0 if job.last else min(self._ahead, len(job.codes))))
        before = reference.mel.shape[1]
        known = np.zeros((len(reference.mel), frames), np.float32)
        known[:, :before] = reference.mel
        told = [mean[0, :, :frames], known, reference.speaker]
        mel = job.sound.drawn(frames)
        for now, then in pairwise(self._times):
            mel = mel + np.float32(then - now) * self._way(mel, *told, now=now, then=then)
        return mel[:, before:]

    def _way(self, mel: Mel, mean: Mel, known: Mel, speaker: Mel, *, now: float, then: float) -> Mel:
        rows = 2 if self._guidance else 1
        feeds = {"mel": np.stack([mel] * rows), "time": np.full(rows, now, np.float32)}
        for name, one in (("mean", mean), ("known", known), ("speaker", speaker)):
            feeds[name] = np.stack([one, np.zeros_like(one)][:rows])
        (way,) = self._flow_step.run({**feeds, "until": np.full(rows, then, np.float32)})
        if not self._guidance:
            return np.asarray(way[0])
        return np.asarray((1.0 + self._guidance) * way[0] - self._guidance * way[1], np.float32)

    # ---- what is certain

    def proof(self, ids: Sequence[int]) -> dict[str, Any]:
        return self.writer.proof(ids)

    def differs(self, ids: Sequence[int], row: Mapping[str, Any]) -> str:
        return self.writer.differs(ids, row)


def _references(facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> list[StoredReference]:
    counts = [count(one, MOST_CODES) for one in facts["reference_codes"]]
    codes, mel, speakers = arrays["reference_codes"], arrays["reference_mel"], arrays["speakers"]
    whole = codes.shape == (sum(counts),) and mel.ndim == 2 and len(mel) == FRAMES * sum(counts)
    if not whole or len(counts) != len(facts["speakers"]) or speakers.shape != (len(counts), mel.shape[1]):
        raise ValueError("its references do not fit each other")
    found = list[StoredReference]()
    for first, last in pairwise([0, *accumulate(counts)]):
        frames = np.asarray(mel[FRAMES * first : FRAMES * last], np.float32).T
        speaker = np.asarray(speakers[len(found)], np.float32)
        found.append(StoredReference(np.asarray(codes[first:last], np.int64), frames, speaker))
    return found


def _opening(hop: int) -> Wave:
    """A frame of silence, and one that rises: what is left of the reference is not heard."""
    rise = (np.cos(np.linspace(np.pi, 0, hop)) + 1) / 2
    return np.concatenate([np.zeros(hop), rise]).astype(np.float32)


ENGINE: type[SpeechEngine] = FlowEngine

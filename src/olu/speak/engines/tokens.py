"""A language model of codes whose decoder takes codes, or the hidden rows they were drawn from.

prefill, step and their arrays: see `codes.py`
decoder: codes [B, N], or hidden [B, H, N], and speaker, a number [B] or a vector [B, G] -> wave [B, S]
prompt and speaker, of a voice that hears others: see `hearing.py`

What stands around texts and codes, how hidden rows become frames of the decoder, and what ends a sentence, is said in
voice.json.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from olu.core.types import Audio
from olu.speak.engines import (
    MOST_CONTEXT,
    MOST_HOP,
    MOST_RATE,
    DecoderInput,
    GraphSpec,
    LineJob,
    SoundDecoder,
    SpeechEngine,
    count,
    knobs_of,
    number,
)
from olu.speak.engines.codes import TURN_CODES, CodeRun, CodeWriter
from olu.speak.engines.guards import GuardedText, TailTrimmer, TextGuard
from olu.speak.engines.hearing import Hearing
from olu.speak.engines.latent_frames import FrameSteps
from olu.speak.engines.sampling import MOST_CODES, Sampler, StopRules
from olu.speak.graphs import OnnxGraph
from olu.speak.stream import Chunk, LineMaking, Manner, SpokenSentence, SpokenWave

if TYPE_CHECKING:
    from olu.speak.package import Package
    from olu.text.vocabulary import SymbolVocabulary

KNOBS = ("temperature", "top_p", "top_k", "repetition_penalty", "guards")
SLOWEST, FASTEST = 0.8, 1.25  # speeds at which latents can be drawn apart or together and still sound right


@dataclass
class SentenceMaking:
    """A sentence on its way from codes to sound."""

    job: LineJob
    rules: StopRules
    steps: FrameSteps | None
    trimmer: TailTrimmer
    notes: list[str]
    size: int  # frames of the next chunk
    start: int = 0  # frames that are sound
    faults: list[str] = field(default_factory=list)  # of every try


class TokensEngine:
    plans = False
    draws = True
    GRAPHS: Mapping[str, GraphSpec] = {
        "prefill": GraphSpec(("rows",), optional=True),
        "step": GraphSpec(("rows", "past", "seqlens_k", "total_sequence_length")),
        "decoder": GraphSpec(("speaker", "codes", "hidden"), outputs=1, threads=None),
        "prompt": GraphSpec(("mel",), outputs=1, optional=True, threads=None),
        "speaker": GraphSpec(("mel",), outputs=1, optional=True, threads=None),
    }

    def __init__(self, package: Package, vocabulary: SymbolVocabulary) -> None:
        facts = package.facts
        self.rate, self._hop = count(facts["rate"], MOST_RATE), count(facts["hop"], MOST_HOP)
        self.context: int | None = count(facts["context"], MOST_CONTEXT, least=0)
        self.frame_seconds = self._hop / self.rate
        self.knobs = knobs_of(package, KNOBS)
        self.writer = CodeWriter(package, vocabulary, frame_seconds=self.frame_seconds)
        self.most_tokens = self.writer.most_tokens
        factors = facts.get("frame_steps")
        self._steps = None if factors is None else FrameSteps(tuple(number(one, 0.01, 1000.0) for one in factors))
        self._guard = TextGuard.of(facts.get("text_guard"), vocabulary, ends=facts.get("sentence_ends"))
        self._keep = None if facts.get("tail") is None else number(facts["tail"], 0.0, 10.0)
        self.join_words = self._guard.short_words if self._guard else 0
        self.hearing = Hearing(package) if "hearing" in facts else None

    def connect(self, graphs: Mapping[str, OnnxGraph]) -> None:
        self._main = "hidden" if "hidden" in graphs["decoder"].shapes else "codes"
        voices = self.hearing.voices if self.hearing else None
        told = graphs["decoder"].shapes["speaker"][1:]
        if told != ([] if voices is None else [voices.shape[1]]):
            raise ValueError("speaker")
        if self.hearing is not None:
            self.hearing.connect(graphs["prompt"], graphs["speaker"])
        self.decoder = SoundDecoder(graphs["decoder"], main=self._main, hop=self._hop, voices=voices)
        self.writer.connect(graphs["step"], graphs.get("prefill"))
        if self._main == "hidden" and "hidden" not in graphs["step"].outputs:
            raise ValueError("hidden")
        if self._steps is not None and self._main != "hidden":
            raise ValueError("frame_steps")

    def hears(self, recordings: Sequence[Audio]) -> TokensEngine | None:
        """The same with one speaker more, the last, who is heard from recordings; None where it cannot hear."""
        if self.hearing is None:
            return None
        rows, vector = self.hearing.heard(recordings)
        made = copy(self)
        made.writer = self.writer.with_speaker(rows)
        made.decoder = self.decoder.with_voice(vector)
        return made

    # ---- a sentence

    def begin(self, job: LineJob, manner: Manner) -> LineMaking:
        """Codes a turn at a time; sound as soon as enough of them are certain."""
        guarded = manner.knobs.get("guards", 1.0) >= 0.5
        asked, rules = GuardedText(job.line.ids, manner.knobs, ()), self.writer.rules.without_guards()
        if guarded:
            asked, rules = (self._guard.of_line(job.line, manner.knobs) if self._guard else asked), self.writer.rules
        if rules.patient and job.plan.first >= job.plan.most:
            rules = replace(rules, hold=MOST_CODES)
        making = SentenceMaking(
            job,
            rules,
            self._steps.at_speed(manner.speed) if self._steps else None,
            TailTrimmer(self.rate, self._keep if guarded else None),
            [*asked.notes, *self._speed_notes(manner.speed)],
            size=job.plan.first,
        )
        for attempt in range(max(1, rules.tries)):
            sample = Sampler.of(asked.knobs, job.random(manner, attempt))
            run = self.writer.begun(asked.ids, job.speaker, sample, rules)
            while not run.over:
                yield Chunk("codes", TURN_CODES * self.writer.code_seconds, run, gains=self.writer.batches)
                if not run.over:
                    yield from self._sounded(making, run)
            making.faults += [run.fault] if run.fault else []
            if not run.failed or len(run.codes) > rules.hold:
                break
            if attempt + 1 < rules.tries:
                making.notes.append(f"{run.why}, and it was tried again")
        making.notes += [run.why] if run.why else []
        yield from self._sounded(making, run)

    def _sounded(self, making: SentenceMaking, run: CodeRun) -> LineMaking:
        """The sound of what is certain; of a run that is over, all the rest."""
        plan, steps, over = making.job.plan, making.steps, run.over
        if not over and len(run.codes) < making.rules.hold:
            return
        if steps is None:
            have = len(run.codes)
        else:
            have = steps.count(len(run.hidden)) if over else steps.certain(len(run.hidden))
        while making.start < have:
            end = plan.cut(making.start, making.size, have)
            if not over and (end is None or have - end < (plan.context or 0)):
                return
            end = end or have
            wave = yield self._chunk(run, making, end, frames=have)
            given = making.trimmer.push(wave, last=over and end == have)
            making.start, making.size = end, plan.grown(making.size)
            if len(given) and end < have:
                yield SpokenWave(given, self._sentence(making), False)
            elif end == have:
                yield SpokenWave(given, self._sentence(making), over)
        if over and have == 0:  # nothing to say, or a speed that leaves nothing
            making.trimmer.push(np.zeros(self._hop, np.float32), last=True)
            yield SpokenWave(np.zeros(self._hop, np.float32), self._sentence(making), True)

    def _speed_notes(self, speed: float) -> list[str]:
        if self._steps is None:
            return [] if speed == 1.0 else ["this voice has one speed, and keeps it"]
        if SLOWEST <= speed <= FASTEST:
            return []
        return [f"speed {speed:g}: this voice sounds right from {SLOWEST:g} to {FASTEST:g}"]

    def _sentence(self, making: SentenceMaking) -> SpokenSentence:
        job, trimmer = making.job, making.trimmer
        reading = job.line.reading
        left_out = [f"{trimmer.dropped / self.rate:.2f} s of silence after its end left out"] if trimmer.dropped else []
        return SpokenSentence(
            job.number,
            job.line.text,
            job.start,
            job.start + trimmer.given / self.rate,
            dropped=reading.dropped if reading else {},
            notes=(*making.notes, *left_out),
            faults=tuple(making.faults),
        )

    def _chunk(self, run: CodeRun, making: SentenceMaking, end: int, *, frames: int) -> Chunk:
        """Frames from where the sound is to `end`, in their context."""
        start, context = making.start, making.job.plan.context or 0
        left, right = max(0, start - context), min(frames, end + context)
        if making.steps is not None:
            feed: NDArray[Any] = making.steps.frames(run.hidden, left, right)[None]
        elif self._main == "hidden":
            feed = np.stack(run.hidden[left:right], axis=1)[None]
        else:
            feed = np.array([run.codes[left:right]], np.int64)
        keep = slice((start - left) * self._hop, (end - left) * self._hop)
        given = DecoderInput({self._main: np.ascontiguousarray(feed)}, right - left, making.job.speaker, keep)
        return Chunk(("decode", right - left), (right - left) * self.frame_seconds, given)

    def run(self, chunks: Sequence[Chunk]) -> list[Any]:
        if not isinstance(chunks[0].payload, CodeRun):
            return self.decoder.run(chunks)
        runs: list[CodeRun] = [chunk.payload for chunk in chunks]
        self.writer.advance(runs)
        return [len(run.codes) for run in runs]

    def proof(self, ids: Sequence[int]) -> dict[str, Any]:
        return self.writer.proof(ids)

    def differs(self, ids: Sequence[int], row: Mapping[str, Any]) -> str:
        return self.writer.differs(ids, row)


ENGINE: type[SpeechEngine] = TokensEngine

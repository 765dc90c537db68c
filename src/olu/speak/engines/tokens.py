"""A language model of codes: conditioning rows, text and codes go through a causal transformer, codes to a decoder.

prefill: rows [1, T, D] -> logits [1, T or 1, V], hidden [1, T or 1, H], present.*; where there is none, step does it
step:    rows [1, T, D], past.* -> logits, hidden, present.*; a cache of a fixed length is also told seqlens_k [1] and
         total_sequence_length, as contrib GroupQueryAttention wants them
decoder: codes [B, N], or hidden [B, H, N], and speaker [B] -> wave [B, S]

arrays:  text_rows [tokens, D], code_rows [codes, D], prompt [speakers, K, D]; text_positions and code_positions [P, D]
         where places are learnt

The draw of a code is ours, so that the same text and seed give the same codes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    count,
    knobs_of,
    number,
)
from olu.speak.graphs import OnnxGraph
from olu.speak.stream import Chunk, LineMaking, Manner, SpokenSentence, SpokenWave

if TYPE_CHECKING:
    from olu.speak.package import Package
    from olu.text.vocabulary import SymbolVocabulary

KNOBS = ("temperature", "top_p", "top_k", "repetition_penalty")
TURN_CODES = 12  # made in one turn of a worker
MOST_CODES = 100_000  # of one sentence
LONGEST_LOOP = 8  # codes that repeat
CHECKED_TOKENS = 41  # of a check sentence, so that opening stays quick
CHECKED_LOGITS = 16


@dataclass(frozen=True)
class StopRules:
    """When a sentence of codes is over, by voice.json."""

    least: float  # codes a token before which no stop is taken
    most: float  # codes a token after which it is over
    extra: int = 0  # beside the most
    repeat: int = 0  # so many times the same few codes are a loop; 0: not looked for
    tries: int = 1  # where one ends by a loop or by the most
    hold: int = MOST_CODES  # codes before the first sound; a try that fails later is not made again

    @staticmethod
    def of(row: Mapping[str, Any]) -> StopRules:
        least, most = number(row["least"], 0.0, 1000.0), number(row["most"], 0.01, 1000.0)
        whole = {"extra": MOST_CODES, "repeat": 1000, "tries": 10, "hold": MOST_CODES}
        given = {name: count(row[name], top, least=0) for name, top in whole.items() if name in row}
        return StopRules(least, most, **given)


@dataclass
class CodeRun:
    """One try at a sentence."""

    sample: Sampler
    least: int
    most: int
    logits: NDArray[np.float32]
    hidden_row: NDArray[np.float32] | None
    cache: dict[str, NDArray[Any]]
    length: int  # rows that went through the transformer
    codes: list[int] = field(default_factory=list)
    hidden: list[NDArray[np.float32]] = field(default_factory=list)  # of each code: the row that predicted it
    over: bool = False
    failed: bool = False  # by a loop, or without a stop


@dataclass(frozen=True)
class Sampler:
    """Draws a code as the knobs say; at temperature 0 the likeliest."""

    random: np.random.Generator
    temperature: float
    top_p: float
    top_k: int
    repetition_penalty: float

    @staticmethod
    def of(knobs: Mapping[str, float], random: np.random.Generator) -> Sampler:
        top_k = round(knobs.get("top_k", 0))
        return Sampler(
            random, knobs.get("temperature", 1.0), knobs.get("top_p", 1.0), top_k, knobs.get("repetition_penalty", 1.0)
        )

    def draw(self, logits: NDArray[np.float32], before: Sequence[int], *, never: Sequence[int]) -> int:
        """`before`: codes that were drawn, which the penalty makes less likely; `never`: those that may not come."""
        scores = logits.astype(np.float64)
        if self.repetition_penalty != 1.0 and before:
            seen = np.unique(before)
            scores[seen] = np.where(
                scores[seen] > 0, scores[seen] / self.repetition_penalty, scores[seen] * self.repetition_penalty
            )
        scores[list(never)] = -np.inf
        if self.temperature <= 0:
            return int(scores.argmax())
        scores /= self.temperature
        order = np.argsort(-scores, kind="stable")
        if self.top_k:
            order = order[: self.top_k]
        chances = np.exp(scores[order] - scores[order[0]])
        chances /= chances.sum()
        if self.top_p < 1:
            kept = int(np.searchsorted(np.cumsum(chances), self.top_p)) + 1
            order, chances = order[:kept], chances[:kept] / chances[:kept].sum()
        at = int(np.searchsorted(np.cumsum(chances), self.random.random(), side="right"))
        return int(order[min(at, len(order) - 1)])


class TokensEngine:
    plans = False
    GRAPHS: Mapping[str, GraphSpec] = {
        "prefill": GraphSpec(("rows",), optional=True),
        "step": GraphSpec(("rows", "past", "seqlens_k", "total_sequence_length")),
        "decoder": GraphSpec(("speaker", "codes", "hidden"), outputs=1, threads=None),
    }

    def __init__(self, package: Package, vocabulary: SymbolVocabulary) -> None:
        facts, arrays = package.facts, package.arrays
        self.rate, self._hop = count(facts["rate"], MOST_RATE), count(facts["hop"], MOST_HOP)
        self.context: int | None = count(facts["context"], MOST_CONTEXT, least=0)
        self.frame_seconds = self._hop / self.rate
        self.knobs = knobs_of(package, KNOBS)
        self._rules = StopRules.of(facts["stop_rules"])
        self._text, self._code, self._prompt = arrays["text_rows"], arrays["code_rows"], arrays["prompt"]
        self._text_at, self._code_at = arrays.get("text_positions"), arrays.get("code_positions")
        self.most_tokens = None if self._text_at is None else max(1, len(self._text_at) - 1)  # a tag may stand before
        self._size = count(self._text.shape[1], 65_536)
        self._start = count(facts["start_code"], len(self._code) - 1, least=0)
        self._stop = count(facts["stop_code"], MOST_CODES, least=0)
        if self._code.shape[1:] != (self._size,) or self._prompt.shape[2:] != (self._size,):
            raise ValueError("its arrays do not fit each other")
        if len(self._prompt) != len(facts["speakers"]) or len(self._text) < vocabulary.size:
            raise ValueError("its arrays do not fit its speakers or symbols")
        self._cutter = FrameCutter(self._hop, self.rate)

    def connect(self, graphs: Mapping[str, OnnxGraph]) -> None:
        self._step, self._prefill = graphs["step"], graphs.get("prefill")
        self._main = "hidden" if "hidden" in graphs["decoder"].shapes else "codes"
        self.decoder = SoundDecoder(graphs["decoder"], main=self._main, hop=self._hop)
        outputs = self._step.outputs
        cached = [name for name in self._step.shapes if name.startswith("past")]
        if "logits" not in outputs or any(name.replace("past", "present", 1) not in outputs for name in cached):
            raise ValueError("outputs")
        if self._main == "hidden" and "hidden" not in outputs:
            raise ValueError("hidden")
        self._empty = {name: _empty(self._step.shapes[name]) for name in cached}

    # ---- codes

    def begin(self, job: LineJob, manner: Manner) -> LineMaking:
        """Codes a turn at a time; sound as soon as enough of them are certain."""
        start, size, plan = 0, job.plan.first, job.plan
        for attempt in range(max(1, self._rules.tries)):
            run = self._begun(job.line.ids, job.speaker, Sampler.of(manner.knobs, job.random(manner, attempt)))
            while not run.over:
                yield Chunk("codes", TURN_CODES * self.frame_seconds, run)
                have = len(run.codes)
                while (
                    have >= self._rules.hold
                    and not run.over
                    and (end := plan.cut(start, size, have)) is not None
                    and have - end >= (plan.context or 0)
                ):
                    wave = yield self._chunk(run, start, end, job=job)
                    yield SpokenWave(wave, self._sentence(job, have), False)
                    start, size = end, plan.grown(size)
            if not run.failed or len(run.codes) > self._rules.hold:
                break
        have = len(run.codes)
        while start < have:
            end = plan.cut(start, size, have) or have
            wave = yield self._chunk(run, start, end, job=job)
            yield SpokenWave(wave, self._sentence(job, have), end == have)
            start, size = end, plan.grown(size)

    def _sentence(self, job: LineJob, codes: int) -> SpokenSentence:
        reading = job.line.reading
        end = job.start + codes * self.frame_seconds
        return SpokenSentence(job.number, job.line.text, job.start, end, dropped=reading.dropped if reading else {})

    def _chunk(self, run: CodeRun, start: int, end: int, *, job: LineJob) -> Chunk:
        feeds: NDArray[Any] = np.array([run.codes], np.int64)
        if self._main == "hidden":
            feeds = np.stack(run.hidden, axis=1)[None]
        context = job.plan.context or 0
        return self._cutter.chunk(
            {self._main: feeds}, start, end, frames=len(run.codes), context=context, speaker=job.speaker
        )

    def run(self, chunks: Sequence[Chunk]) -> list[Any]:
        if not isinstance(chunks[0].payload, CodeRun):
            return self.decoder.run(chunks)
        for chunk in chunks:
            self._advance(chunk.payload)
        return [len(chunk.payload.codes) for chunk in chunks]

    def _begun(self, ids: Sequence[int], speaker: int, sample: Sampler) -> CodeRun:
        text = self._placed(self._text[list(ids)], self._text_at, 0)
        rows = np.concatenate([self._prompt[speaker], text, self._code_row(self._start, 0)]).astype(np.float32)[None]
        rules, tokens = self._rules, len(ids)
        most = min(math.ceil(rules.most * tokens) + rules.extra, MOST_CODES)
        if self._code_at is not None:
            most = min(most, len(self._code_at) - 1)
        run = CodeRun(sample, max(1, math.floor(rules.least * tokens)), max(1, most), rows[0, 0], None, {}, 0)
        self._forward(run, rows, self._prefill or self._step)
        return run

    def _placed(self, rows: NDArray[Any], places: NDArray[Any] | None, first: int) -> NDArray[Any]:
        if places is None:
            return rows
        if first + len(rows) > len(places):
            raise VoiceError(f"a sentence of {first + len(rows)} tokens is too long for this voice: break it up")
        return np.asarray(rows.astype(np.float32) + places[first : first + len(rows)])

    def _code_row(self, code: int, place: int) -> NDArray[Any]:
        return self._placed(self._code[[code]], self._code_at, place)

    def _forward(self, run: CodeRun, rows: NDArray[np.float32], graph: OnnxGraph) -> None:
        """Rows through the transformer: logits of what comes next, and the cache with them in it."""
        length = run.length + rows.shape[1]
        told = {"seqlens_k": np.array([length - 1], np.int32), "total_sequence_length": np.array(length, np.int32)}
        made = graph.named({"rows": rows, **told, **(run.cache or self._empty)})
        logits, hidden = made["logits"], made.get("hidden")
        if logits.shape[-1] <= self._stop or not np.isfinite(logits).all():
            raise VoiceError("the voice makes numbers that are no sound: export the voice again")
        run.logits = logits.reshape(-1, logits.shape[-1])[-1]
        run.hidden_row = None if hidden is None else hidden.reshape(-1, hidden.shape[-1])[-1]
        run.cache = {name: made[name.replace("past", "present", 1)] for name in self._empty}
        run.length = length

    def _advance(self, run: CodeRun) -> None:
        """Some codes more, or to the end."""
        for _ in range(TURN_CODES):
            if run.over:
                return
            early = len(run.codes) < run.least
            beyond = [code for code in range(len(self._code), len(run.logits)) if code != self._stop]
            never = [self._start, *beyond, *([self._stop] if early else [])]
            code = run.sample.draw(run.logits, run.codes, never=[one for one in never if one < len(run.logits)])
            if code == self._stop:
                run.over = True
                return
            run.codes.append(code)
            if run.hidden_row is not None:
                run.hidden.append(run.hidden_row)
            looped = loop_of(run.codes, self._rules.repeat)
            if looped or len(run.codes) >= run.most:
                run.over = run.failed = True
                if looped and len(run.codes) <= self._rules.hold:  # none of it was heard yet: once is enough
                    kept = len(run.codes) - looped * (self._rules.repeat - 1)
                    del run.codes[kept:], run.hidden[kept:]
                return
            self._forward(run, self._code_row(code, len(run.codes)).astype(np.float32)[None], self._step)

    # ---- what is certain

    def proof(self, ids: Sequence[int]) -> dict[str, Any]:
        """The first logits after one prefill with the first speaker."""
        run = self._begun(ids[:CHECKED_TOKENS], 0, Sampler.of({}, np.random.default_rng(0)))
        return {"logits": [round(float(one), 4) for one in run.logits[:CHECKED_LOGITS]]}

    def differs(self, ids: Sequence[int], row: Mapping[str, Any]) -> str:
        found, kept = self.proof(ids)["logits"], row.get("logits")
        told = isinstance(kept, list) and len(kept) == len(found) and all(type(one) in (int, float) for one in kept)
        room = 1e-2 * max(1.0, *map(abs, found))
        same = told and all(abs(one - other) <= room for one, other in zip(found, kept or [], strict=True))
        return "" if same else "answers with other logits than at its export"


def loop_of(codes: Sequence[int], repeat: int) -> int:
    """How many codes at the end repeat so many times; 0 where none do."""
    if repeat < 2:
        return 0
    for size in range(1, LONGEST_LOOP + 1):
        tail = codes[-size * repeat :]
        if len(tail) == size * repeat and list(tail[size:]) == list(tail[:-size]):
            return size
    return 0


def _empty(shape: Sequence[Any]) -> NDArray[np.float32]:
    """A cache with nothing in it: axes without a fixed length have none, but the first, which is one sentence."""
    return np.zeros([1, *(axis if isinstance(axis, int) else 0 for axis in shape[1:])], np.float32)


ENGINE: type[SpeechEngine] = TokensEngine

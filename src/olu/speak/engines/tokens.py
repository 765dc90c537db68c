"""A language model of codes: conditioning rows, text and codes go through a causal transformer, codes to a decoder.

prefill: rows [1, T, D] -> logits [1, T or 1, V], hidden [1, T or 1, H], present.*; where there is none, step does it
step:    rows [1, T, D], past.* -> logits, hidden, present.*; a cache that stays in its place is also told seqlens_k [1]
         and total_sequence_length, as contrib GroupQueryAttention wants them; such a graph may take several sentences
decoder: codes [B, N], or hidden [B, H, N], and speaker [B] -> wave [B, S]

arrays:  text_rows [tokens, D], code_rows [codes, D], prompt [speakers, K, D]; text_positions and code_positions [P, D]
         where places are learnt

What stands around texts and codes, how hidden rows become frames of the decoder, and what ends a sentence, is said in
voice.json. The draw of a code is ours, so that the same text and seed give the same codes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from olu.core.errors import VoiceError
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
from olu.speak.engines.guards import GuardedText, TailTrimmer, TextGuard
from olu.speak.engines.latent_frames import FrameSteps
from olu.speak.engines.sampling import MOST_CODES, Sampler, StopRules
from olu.speak.graphs import GraphCache, OnnxGraph
from olu.speak.stream import ENDLESS, LOOP, SILENCE, Chunk, LineMaking, Manner, SpokenSentence, SpokenWave

if TYPE_CHECKING:
    from olu.speak.package import Package
    from olu.text.vocabulary import SymbolVocabulary

KNOBS = ("temperature", "top_p", "top_k", "repetition_penalty", "guards")
TURN_CODES = 12  # made in one turn of a worker
CHECKED_TOKENS = 41  # of a check sentence, so that opening stays quick
CHECKED_LOGITS = 16
ROUNDING, ROUNDING_8_BITS = 0.01, 0.06  # of logits; kernels for 8 bits round differently from one machine to another
MOST_LISTED = 4096  # codes that voice.json lists
SLOWEST, FASTEST = 0.8, 1.25  # speeds at which latents can be drawn apart or together and still sound right


@dataclass
class CodeRun:
    """One try at a sentence."""

    sample: Sampler
    rules: StopRules
    tokens: int
    least: int
    most: int
    logits: NDArray[np.float32]
    hidden_row: NDArray[np.float32] | None
    cache: dict[str, NDArray[Any]] | GraphCache
    length: int  # rows that went through the transformer
    codes: list[int] = field(default_factory=list)
    hidden: list[NDArray[np.float32]] = field(default_factory=list)  # of each code: the row that predicted it
    over: bool = False
    failed: bool = False  # by a loop, or without a stop
    why: str = ""  # what ended it, where that was not its own stop
    fault: str = ""  # the same in a word: LOOP, SILENCE or ENDLESS


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
    }

    def __init__(self, package: Package, vocabulary: SymbolVocabulary) -> None:
        facts, arrays = package.facts, package.arrays
        self.rate, self._hop = count(facts["rate"], MOST_RATE), count(facts["hop"], MOST_HOP)
        self.context: int | None = count(facts["context"], MOST_CONTEXT, least=0)
        self.frame_seconds = self._hop / self.rate
        self._rounding = ROUNDING_8_BITS if facts.get("bits") == 8 else ROUNDING
        self._code_seconds = number(facts.get("code_seconds", self.frame_seconds), 1e-4, 10.0)
        self.knobs = knobs_of(package, KNOBS)
        self._rules = StopRules.of(facts["stop_rules"])
        self._text, self._code, self._prompt = arrays["text_rows"], arrays["code_rows"], arrays["prompt"]
        self._text_at, self._code_at = arrays.get("text_positions"), arrays.get("code_positions")
        named = [name for name in ("text_start", "text_stop") if name in facts]
        self._around = [count(facts[name], len(self._text) - 1, least=0) for name in named]
        room = MOST_CODES if self._text_at is None else max(1, len(self._text_at) - 1 - len(named))  # and a tag before
        told = count(facts.get("most_tokens", MOST_CODES), MOST_CODES)
        self.most_tokens = None if self._text_at is None and told == MOST_CODES else min(told, room)
        places = MOST_CODES if self._code_at is None else len(self._code_at) - 1
        self._most_codes = min(count(facts.get("most_codes", MOST_CODES), MOST_CODES), places)
        self._size = count(self._text.shape[1], 65_536)
        self._start = count(facts["start_code"], len(self._code) - 1, least=0)
        self._stop = count(facts["stop_code"], MOST_CODES, least=0)
        self._seen, self._silence = (_codes(facts.get(name, [])) for name in ("seen_codes", "silence_codes"))
        self._never = _codes(facts.get("never_codes", [self._start]))
        self._stop_sounds = facts.get("stop_sounds") is True
        factors = facts.get("frame_steps")
        self._steps = None if factors is None else FrameSteps(tuple(number(one, 0.01, 1000.0) for one in factors))
        self._guard = TextGuard.of(facts.get("text_guard"), vocabulary, ends=facts.get("sentence_ends"))
        self._keep = None if facts.get("tail") is None else number(facts["tail"], 0.0, 10.0)
        self.join_words = self._guard.short_words if self._guard else 0
        if self._code.shape[1:] != (self._size,) or self._prompt.shape[2:] != (self._size,):
            raise ValueError("its arrays do not fit each other")
        if len(self._prompt) != len(facts["speakers"]) or len(self._text) < vocabulary.size:
            raise ValueError("its arrays do not fit its speakers or symbols")

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
        if self._steps is not None and self._main != "hidden":
            raise ValueError("frame_steps")
        self._stays = "seqlens_k" in self._step.shapes and self._prefill is None
        self._batches = self._stays and self._step.shapes["rows"][0] != 1
        self._empty = {name: _empty(self._step.shapes[name]) for name in cached} if not self._stays else {}

    # ---- a sentence

    def begin(self, job: LineJob, manner: Manner) -> LineMaking:
        """Codes a turn at a time; sound as soon as enough of them are certain."""
        guarded = manner.knobs.get("guards", 1.0) >= 0.5
        asked, rules = GuardedText(job.line.ids, manner.knobs, ()), self._rules.without_guards()
        if guarded:
            asked, rules = (self._guard.of_line(job.line, manner.knobs) if self._guard else asked), self._rules
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
            run = self._begun(asked.ids, job.speaker, sample, rules)
            while not run.over:
                yield Chunk("codes", TURN_CODES * self._code_seconds, run, gains=self._batches)
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
        if len(runs) > 1 and self._batches:
            self._advance_together(runs)
        else:
            for run in runs:
                self._advance(run)
        return [len(run.codes) for run in runs]

    def _begun(self, ids: Sequence[int], speaker: int, sample: Sampler, rules: StopRules) -> CodeRun:
        around = [*self._around[:1], *ids, *self._around[1:]]
        text = self._placed(self._text[around], self._text_at, 0)
        rows = np.concatenate([self._prompt[speaker], text, self._code_row(self._start, 0)]).astype(np.float32)[None]
        tokens, most = len(ids), min(rules.most_codes(len(ids)), self._most_codes)
        cache = self._step.cache(rows.shape[1] + most) if self._stays else self._empty
        run = CodeRun(
            sample, rules, tokens, max(1, math.floor(rules.least * tokens)), max(1, most), rows[0, 0], None, cache, 0
        )
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
        if isinstance(run.cache, GraphCache):
            made = run.cache.run(rows, [length])
        else:
            told = {"seqlens_k": np.array([length - 1], np.int32), "total_sequence_length": np.array(length, np.int32)}
            made = graph.named({"rows": rows, **told, **run.cache})
            run.cache = {name: made[name.replace("past", "present", 1)] for name in self._empty}
        self._take(run, made, 0, length)

    def _take(self, run: CodeRun, made: Mapping[str, NDArray[np.float32]], sentence: int, length: int) -> None:
        logits, hidden = made["logits"][sentence], made.get("hidden")
        if logits.shape[-1] <= self._stop or not np.isfinite(logits).all():
            raise VoiceError("the voice makes numbers that are no sound: export the voice again")
        run.logits = logits.reshape(-1, logits.shape[-1])[-1]
        run.hidden_row = None if hidden is None else hidden[sentence].reshape(-1, hidden.shape[-1])[-1]
        run.length = length

    def _advance(self, run: CodeRun) -> None:
        """Some codes more, or to the end."""
        for _ in range(TURN_CODES):
            if not run.over:
                self._draw(run)
            if not run.over:
                self._forward(run, self._next_row(run)[None], self._step)

    def _advance_together(self, runs: Sequence[CodeRun]) -> None:
        """As `_advance` for several sentences, whose codes go through the transformer together.

        Most of the time of a step is spent on reading its weights: four sentences take less than twice as long as one.
        """
        live = [run for run in runs if not run.over]
        before = [run.length for run in live]
        caches = [run.cache for run in live if isinstance(run.cache, GraphCache)]
        together = GraphCache.joined(self._step, caches, before, more=TURN_CODES) if live else None
        for _ in range(TURN_CODES):
            for run in live:
                if not run.over:
                    self._draw(run)
            if together is None or all(run.over for run in live):
                break
            lengths = [run.length + 1 for run in live]  # one that is over is led along, and forgotten
            made = together.run(np.stack([self._next_row(run) for run in live]), lengths)
            for at, run in enumerate(live):
                if not run.over:
                    self._take(run, made, at, lengths[at])
        for at, (run, cache) in enumerate(zip(live, caches, strict=True)):
            if together is not None and not run.over:
                together.part(at, cache, before[at], run.length)

    def _next_row(self, run: CodeRun) -> NDArray[np.float32]:
        """[1, D] of the code that was drawn last."""
        code = run.codes[-1] if run.codes else self._start
        return self._code_row(code, len(run.codes)).astype(np.float32)

    def _draw(self, run: CodeRun) -> None:
        """One code more, or the end."""
        code = run.sample.draw(run.logits, [*self._seen, *run.codes], never=self._barred(run))
        if code == self._stop:
            run.over = True
            if self._stop_sounds and run.hidden_row is not None:
                run.hidden.append(run.hidden_row)
            return
        run.codes.append(code)
        if run.hidden_row is not None:
            run.hidden.append(run.hidden_row)
        self._judge(run)

    def _barred(self, run: CodeRun) -> list[int]:
        """Codes that may not come next."""
        early = [self._stop] if len(run.codes) < run.least else []
        beyond = [code for code in range(len(self._code), len(run.logits)) if code != self._stop]
        return [one for one in (*self._never, *beyond, *early) if one < len(run.logits)]

    def _judge(self, run: CodeRun) -> None:
        """End a run that goes on for ever: by a loop, by silence, or by its length."""
        rules = run.rules
        if looped := rules.looped(run.codes):
            run.over = run.failed = True
            run.why, run.fault = f"the same {looped} codes came {rules.repeat} times", LOOP
            if len(run.codes) <= rules.hold:  # none of it was heard yet: once is enough
                kept = len(run.codes) - looped * (rules.repeat - 1)
                del run.codes[kept:], run.hidden[kept:]
        elif silent := rules.silence(run.codes, self._silence, tokens=run.tokens):
            run.over = True
            run.why, run.fault = f"{silent * self._code_seconds:.1f} s of silence ended it", SILENCE
        elif len(run.codes) >= run.most:
            run.over = run.failed = True
            run.why, run.fault = f"it found no end in {run.most} codes", ENDLESS

    # ---- what is certain

    def proof(self, ids: Sequence[int]) -> dict[str, Any]:
        """The first logits after one prefill with the first speaker."""
        run = self._begun(
            ids[:CHECKED_TOKENS], 0, Sampler.of({}, np.random.default_rng(0)), replace(self._rules, most=1e-6, extra=1)
        )
        return {"logits": [round(float(one), 4) for one in run.logits[:CHECKED_LOGITS]]}

    def differs(self, ids: Sequence[int], row: Mapping[str, Any]) -> str:
        found, kept = self.proof(ids)["logits"], row.get("logits")
        told = isinstance(kept, list) and len(kept) == len(found) and all(type(one) in (int, float) for one in kept)
        room = self._rounding * max(1.0, *map(abs, found))
        same = told and all(abs(one - other) <= room for one, other in zip(found, kept or [], strict=True))
        return "" if same else "answers with other logits than at its export"


def _codes(value: Any) -> list[int]:
    if not isinstance(value, list) or len(value) > MOST_LISTED:
        raise TypeError("a list of codes is none")
    return [count(one, MOST_CODES, least=0) for one in value]


def _empty(shape: Sequence[Any]) -> NDArray[np.float32]:
    """A cache with nothing in it: axes without a fixed length have none, but the first, which is one sentence."""
    return np.zeros([1, *(axis if isinstance(axis, int) else 0 for axis in shape[1:])], np.float32)


ENGINE: type[SpeechEngine] = TokensEngine

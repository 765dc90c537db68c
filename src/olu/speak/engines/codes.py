"""Codes one after the other, by a causal transformer: what stands before them, how each is drawn, what ends them.

prefill: rows [1, T, D] -> logits [1, T or 1, V], hidden [1, T or 1, H], present.*; where there is none, step does it
step:    rows [B, T, D], past.* -> logits, hidden, present.*; a cache that stays in its place is also told seqlens_k [B]
         and total_sequence_length, as contrib GroupQueryAttention wants them; such a graph may take several rows, and
         may put out `queries` of the heads that follow the text

arrays:  text_rows [tokens, D], code_rows [codes, D], prompt [speakers, K, D]; text_positions and code_positions [P, D]
         where places of a kind are learnt, row_positions [P, D] where those of the whole are, emotion [D] where a row
         says how exaggerated to speak

With guidance a second row hears no text, and logits are pushed away from what it would say. The draw of a code is ours,
so that the same text and seed give the same codes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from olu.core.errors import VoiceError
from olu.speak.engines import count, number
from olu.speak.engines.following import FollowRules, TextFollower
from olu.speak.engines.sampling import MOST_CODES, Sampler, StopRules
from olu.speak.graphs import GraphCache, OnnxGraph
from olu.speak.stream import ENDLESS, LOOP, SILENCE

if TYPE_CHECKING:
    from olu.speak.package import Package
    from olu.text.vocabulary import SymbolVocabulary

TURN_CODES = 12  # made in one turn of a worker
CHECKED_TOKENS = 41  # of a check sentence, so that opening stays quick
CHECKED_LOGITS = 16
ROUNDING, ROUNDING_SMALL = 0.01, 0.06  # of logits; kernels for 4 and 8 bits round differently on other machines
MOST_LISTED = 4096  # codes that voice.json lists
MOST_STARTS = 8

Rows = NDArray[np.float32]


@dataclass
class CodeRun:
    """One try at a sentence."""

    sample: Sampler
    rules: StopRules
    tokens: int
    least: int
    most: int
    logits: Rows
    hidden_row: Rows | None
    cache: dict[str, NDArray[Any]] | GraphCache
    length: int  # rows that went through the transformer
    guidance: float = 0.0
    codes: list[int] = field(default_factory=list)
    hidden: list[Rows] = field(default_factory=list)  # of each code: the row that predicted it
    over: bool = False
    failed: bool = False  # by a loop, or without a stop
    why: str = ""  # what ended it, where that was not its own stop
    fault: str = ""  # the same in a word: LOOP, SILENCE or ENDLESS
    follower: TextFollower | None = None

    @property
    def rows(self) -> int:
        """Of the transformer, at each step: two with guidance."""
        return 2 if self.guidance else 1


class CodeWriter:
    def __init__(self, package: Package, vocabulary: SymbolVocabulary, *, frame_seconds: float) -> None:
        """A code lasts as long as a frame of the decoder where voice.json says nothing else."""
        facts, arrays = package.facts, package.arrays
        self.code_seconds = number(facts.get("code_seconds", frame_seconds), 1e-4, 10.0)
        self.rules = StopRules.of(facts["stop_rules"])
        self._rounding = ROUNDING_SMALL if facts.get("bits") in (4, 8) else ROUNDING
        self._text, self._code, self.prompt = arrays["text_rows"], arrays["code_rows"], arrays["prompt"]
        self._text_at, self._code_at = arrays.get("text_positions"), arrays.get("code_positions")
        self._row_at, self._emotion = arrays.get("row_positions"), arrays.get("emotion")
        named = [name for name in ("text_start", "text_stop") if name in facts]
        self._around = [count(facts[name], len(self._text) - 1, least=0) for name in named]
        room = MOST_CODES if self._text_at is None else max(1, len(self._text_at) - 1 - len(named))  # and a tag before
        told = count(facts.get("most_tokens", MOST_CODES), MOST_CODES)
        self.most_tokens = None if self._text_at is None and told == MOST_CODES else min(told, room)
        places = MOST_CODES if self._code_at is None else len(self._code_at) - 1
        self._most_codes = min(count(facts.get("most_codes", MOST_CODES), MOST_CODES), places)
        self._size = count(self._text.shape[1], 65_536)
        self._start = count(facts["start_code"], len(self._code) - 1, least=0)
        self._starts = count(facts.get("starts", 1), MOST_STARTS)
        self._stop = count(facts["stop_code"], MOST_CODES, least=0)
        self._seen, self._silence = (_codes(facts.get(name, [])) for name in ("seen_codes", "silence_codes"))
        self._never = _codes(facts.get("never_codes", [self._start]))
        beyond = facts.get("never_from")  # all ids from here on
        self._never_from = MOST_CODES if beyond is None else count(beyond, MOST_CODES)
        self._stop_sounds = facts.get("stop_sounds") is True
        self._follows = FollowRules.of(facts["follow"]) if facts.get("follow") else None
        speakers = len(facts["speakers"])
        lengths = facts.get("prompt_rows", [self.prompt.shape[1]] * speakers)
        self._prompt_rows = [count(one, self.prompt.shape[1]) for one in lengths]
        if self._code.shape[1:] != (self._size,) or self.prompt.shape[2:] != (self._size,):
            raise ValueError("its arrays do not fit each other")
        if len(self.prompt) != speakers or len(lengths) != speakers or len(self._text) < vocabulary.size:
            raise ValueError("its arrays do not fit its speakers or symbols")
        if self._emotion is not None and self._emotion.shape != (self._size,):
            raise ValueError("its arrays do not fit each other")

    def with_speaker(self, rows_KD: NDArray[Any]) -> CodeWriter:
        """The same with one speaker more; this one stays as it is."""
        if rows_KD.shape != self.prompt.shape[1:]:
            raise VoiceError("the voice hears another number of rows than it speaks with: export the voice again")
        made = copy(self)
        made.prompt = np.concatenate([self.prompt, rows_KD[None].astype(self.prompt.dtype)])
        made._prompt_rows = [*self._prompt_rows, len(rows_KD)]
        return made

    def connect(self, step: OnnxGraph, prefill: OnnxGraph | None = None) -> None:
        self.step, self._prefill = step, prefill
        cached = [name for name in step.shapes if name.startswith("past")]
        if "logits" not in step.outputs or any(n.replace("past", "present", 1) not in step.outputs for n in cached):
            raise ValueError("outputs")
        self._stays = "seqlens_k" in step.shapes and prefill is None
        self.batches = self._stays and step.shapes["rows"][0] != 1
        self._empty = {name: _empty(step.shapes[name]) for name in cached} if not self._stays else {}
        if self._follows is not None and ("queries" not in step.outputs or not self._stays):
            raise ValueError("queries")

    # ---- a try at a sentence

    def begun(
        self,
        ids: Sequence[int],
        speaker: int,
        sample: Sampler,
        rules: StopRules,
        *,
        guidance: float = 0.0,
        exaggeration: float | None = None,
    ) -> CodeRun:
        """What stands before the first code has gone through the transformer."""
        around = [*self._around[:1], *ids, *self._around[1:]]
        before = self._heard(speaker, exaggeration)
        text = self._placed(self._text[around], self._text_at, 0)
        starts = [self._code_row(self._start, 0)] * self._starts
        rows = [np.concatenate([before, text, *starts])]
        if guidance:
            unheard = self._placed(np.zeros_like(self._text[around]), self._text_at, 0)
            rows.append(np.concatenate([before, unheard, *starts]))
        whole = self._laid(np.stack(rows).astype(np.float32), 0)
        tokens, most = len(ids), max(1, min(rules.most_codes(len(ids)), self._most_codes))
        if self._row_at is not None:
            most = max(1, min(most, len(self._row_at) - whole.shape[1]))
        cache: Any = self._empty
        if self._stays:
            cache = GraphCache(self.step, whole.shape[1] + most, sentences=len(rows))
        least = max(1, math.floor(rules.least * tokens))
        run = CodeRun(sample, rules, tokens, least, most, whole[0, 0], None, cache, 0, guidance)
        if self._follows is not None:
            first = len(before) + len(self._around[:1])
            run.follower = TextFollower(self._follows, first=first, tokens=tokens)
        self._forward(run, whole, self._prefill or self.step)
        return run

    def _heard(self, speaker: int, exaggeration: float | None) -> NDArray[Any]:
        """The rows of a speaker; the last of them says how exaggerated to speak, where the voice was taught that."""
        rows = self.prompt[speaker][: self._prompt_rows[speaker]]
        if self._emotion is None or exaggeration is None:
            return np.asarray(rows)
        return np.concatenate([rows[:-1], self._emotion[None] * exaggeration])

    def _placed(self, rows: NDArray[Any], places: NDArray[Any] | None, first: int) -> NDArray[Any]:
        if places is None:
            return rows
        if first + len(rows) > len(places):
            raise VoiceError(f"a sentence of {first + len(rows)} tokens is too long for this voice: break it up")
        return np.asarray(rows.astype(np.float32) + places[first : first + len(rows)])

    def _laid(self, rows: Rows, first: int) -> Rows:
        """Rows [R, T, D] with the positions of the whole sequence, where those are learnt."""
        if self._row_at is None:
            return rows
        if first + rows.shape[1] > len(self._row_at):
            raise VoiceError(f"a sentence of {first + rows.shape[1]} rows is too long for this voice: break it up")
        return np.asarray(rows + self._row_at[first : first + rows.shape[1]], np.float32)

    def _code_row(self, code: int, place: int) -> NDArray[Any]:
        return self._placed(self._code[[code]], self._code_at, place)

    def _next_rows(self, run: CodeRun) -> Rows:
        """[R, 1, D] of the code that was drawn last."""
        code = run.codes[-1] if run.codes else self._start
        row = self._code_row(code, len(run.codes)).astype(np.float32)
        return self._laid(np.stack([row] * run.rows), run.length)

    # ---- steps

    def _forward(self, run: CodeRun, rows: Rows, graph: OnnxGraph) -> None:
        """Rows through the transformer: logits of what comes next, and the cache with them in it."""
        length = run.length + rows.shape[1]
        if isinstance(run.cache, GraphCache):
            made = run.cache.run(rows, [length] * len(rows))
        else:
            told = {"seqlens_k": np.array([length - 1], np.int32), "total_sequence_length": np.array(length, np.int32)}
            made = graph.named({"rows": rows, **told, **run.cache})
            run.cache = {name: made[name.replace("past", "present", 1)] for name in self._empty}
        self._take(run, made, 0, length, run.cache)

    def _take(self, run: CodeRun, made: Mapping[str, Rows], first: int, length: int, cache: Any) -> None:
        """What was made for a run, whose rows stand from `first` on."""
        logits, hidden = made["logits"], made.get("hidden")
        told = logits[first].reshape(-1, logits.shape[-1])[-1]
        if run.guidance:
            untold = logits[first + 1].reshape(-1, logits.shape[-1])[-1]
            told = told + np.float32(run.guidance) * (told - untold)
        if logits.shape[-1] <= self._stop or not np.isfinite(told).all():
            raise VoiceError("the voice makes numbers that are no sound: export the voice again")
        run.logits, run.length = told, length
        run.hidden_row = None if hidden is None else hidden[first].reshape(-1, hidden.shape[-1])[-1]
        if run.follower is not None:
            run.follower.hear(made["queries"][first].reshape(-1), cache.held, row=first, place=length - 1)

    def advance(self, runs: Sequence[CodeRun]) -> None:
        """Some codes more of each, or to their ends."""
        if len(runs) > 1 and self.batches:
            self._advance_together(runs)
            return
        for run in runs:
            for _ in range(TURN_CODES):
                if not run.over:
                    self._draw(run)
                if not run.over:
                    self._forward(run, self._next_rows(run), self.step)

    def _advance_together(self, runs: Sequence[CodeRun]) -> None:
        """Several sentences, whose codes go through the transformer together.

        Most of the time of a step is spent on reading its weights: four sentences take less than twice as long as one.
        """
        live = [run for run in runs if not run.over]
        caches = [run.cache for run in live if isinstance(run.cache, GraphCache)]
        before = [run.length for run in live]
        firsts = [sum(run.rows for run in live[:at]) for at in range(len(live))]
        together = GraphCache.joined(self.step, caches, before, more=TURN_CODES) if live else None
        for _ in range(TURN_CODES):
            for run in live:
                if not run.over:
                    self._draw(run)
            if together is None or all(run.over for run in live):
                break
            lengths = [run.length + 1 for run in live]  # one that is over is led along, and forgotten
            each = [length for run, length in zip(live, lengths, strict=True) for _ in range(run.rows)]
            made = together.run(np.concatenate([self._next_rows(run) for run in live]), each)
            for at, run in enumerate(live):
                if not run.over:
                    self._take(run, made, firsts[at], lengths[at], together)
        for at, (run, cache) in enumerate(zip(live, caches, strict=True)):
            if together is not None and not run.over:
                together.part(firsts[at], cache, before[at], run.length)

    # ---- one code

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
        early = len(run.codes) < run.least
        if run.follower is not None and not early:
            early = run.follower.holds(len(run.codes), usual=run.rules.usual * run.tokens)
        last = min(len(self._code), self._never_from)
        beyond = [code for code in range(last, len(run.logits)) if code != self._stop]
        return [one for one in (*self._never, *beyond, *([self._stop] if early else [])) if one < len(run.logits)]

    def _judge(self, run: CodeRun) -> None:
        """End a run that goes on for ever: by a loop, by silence, by what it looks at, or by its length."""
        rules = run.rules
        if looped := rules.looped(run.codes):
            run.over = run.failed = True
            times = rules.times(looped)
            run.why, run.fault = f"the same {looped} codes came {times} times", LOOP
            if len(run.codes) <= rules.hold:  # none of it was heard yet: once is enough
                kept = len(run.codes) - looped * (times - 1)
                del run.codes[kept:], run.hidden[kept:]
        elif silent := rules.silence(run.codes, self._silence, tokens=run.tokens):
            run.over = True
            run.why, run.fault = f"{silent * self.code_seconds:.1f} s of silence ended it", SILENCE
        elif run.follower is not None and (why := run.follower.over()):
            run.over = True
            run.why = why
        elif len(run.codes) >= run.most:
            run.over = run.failed = True
            run.why, run.fault = f"it found no end in {run.most} codes", ENDLESS

    # ---- what is certain

    def proof(self, ids: Sequence[int]) -> dict[str, Any]:
        """The first logits after one prefill with the first speaker."""
        bare = replace(self.rules, most=1e-6, extra=1)
        run = self.begun(ids[:CHECKED_TOKENS], 0, Sampler.of({}, np.random.default_rng(0)), bare)
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


def _empty(shape: Sequence[Any]) -> Rows:
    """A cache with nothing in it: axes without a fixed length have none, but the first, which is one sentence."""
    return np.zeros([1, *(axis if isinstance(axis, int) else 0 for axis in shape[1:])], np.float32)

"""What a listening test came to: opinions, preferences and words heard, each with its interval."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from olu.core.told import TextTable, Told
from olu.core.words import many
from olu.evaluate.blind import Counted, Preference, preference, say
from olu.evaluate.estimates import DRAWS, PERCENT, SEED, Interval, interval, mean
from olu.evaluate.listening import KINDS, Kind, ListenerAnswer, ListeningTest, answers, load_test, trials
from olu.evaluate.metrics.cer import edits
from olu.text.words import split


@dataclass(frozen=True)
class ListenedVoice:
    """One voice: what listeners said of it."""

    name: str
    opinion: Interval | None = None  # 1 to 5
    letters: Interval | None = None  # heard wrong by people, a share
    words: Interval | None = None
    machine: float | None = None  # letters heard wrong by the recogniser, of the same sentences


@dataclass(frozen=True)
class ListenedPair:
    """Two voices: how often each was preferred, and the share of the second with its interval."""

    counted: Counted
    share: Interval


@dataclass(frozen=True)
class ListeningResult:
    name: str
    kind: Kind
    answers: int
    listeners: tuple[tuple[str, int, int], ...]  # name, answers given, trials
    voices: tuple[ListenedVoice, ...] = ()
    pairs: tuple[ListenedPair, ...] = ()

    def row(self) -> dict[str, Any]:
        return {
            "test": self.name,
            "kind": self.kind,
            "answers": self.answers,
            "listeners": [{"name": name, "answers": done, "trials": of} for name, done, of in self.listeners],
            "voices": [asdict(one) for one in self.voices],
            "pairs": [{**one.counted.row(), "interval": [one.share.low, one.share.high]} for one in self.pairs],
        }

    def told(self) -> Iterator[Told]:
        people = many(len(self.listeners), "listener")
        yield f"{self.name}: {KINDS[self.kind]}. {many(self.answers, 'answer')} of {people}."
        if not self.answers:
            return
        if self.kind == "mos":
            rows = [[one.name, *_shown(one.opinion, "{:.2f}")] for one in self.voices]
            yield TextTable(["voice", "opinion, 1 to 5", "95 %", "answers"], rows)
        elif self.kind == "words":
            rows = [
                [
                    one.name,
                    *_shown(one.letters, "{:.1%}"),
                    _shown(one.words, "{:.1%}")[0],
                    "-" if one.machine is None else f"{one.machine:.1%}",
                ]
                for one in self.voices
            ]
            yield TextTable(["voice", "letters wrong", "95 %", "answers", "words wrong", "by the recogniser"], rows)
        for one in self.pairs:
            yield from say(one.counted)
            yield f"Share of {one.counted.second}: {' '.join(_shown(one.share, '{:.0%}')[:2])}".rstrip()


def _shown(held: Interval | None, form: str) -> list[str]:
    if held is None or held.middle is None:
        return ["-", "", "0"]
    spread = "" if held.low is None or held.high is None else f"{form.format(held.low)} to {form.format(held.high)}"
    return [form.format(held.middle), spread, str(held.n)]


def result_of(folder: Path) -> ListeningResult:
    """Everything that was answered so far."""
    test, held = load_test(folder), answers(folder)
    people: dict[str, list[ListenerAnswer]] = {}
    for one in held:
        people.setdefault(one.listener, []).append(one)
    told = tuple((own[0].name or id, len(own), len(trials(test, id))) for id, own in people.items())
    common: dict[str, Any] = {"name": test.name, "kind": test.kind, "answers": len(held), "listeners": told}
    if test.kind == "ab":
        return ListeningResult(**common, pairs=tuple(_pairs(test, held)))
    return ListeningResult(**common, voices=tuple(_voice(test, held, place) for place in range(len(test.voices))))


def _voice(test: ListeningTest, held: Sequence[ListenerAnswer], voice: int) -> ListenedVoice:
    own = [one for one in held if one.voices == (voice,)]
    name = test.voices[voice]
    if test.kind == "mos":
        return ListenedVoice(name, opinion=_crossed(own, lambda one: float(one.answer)))

    def wrong(part: Callable[[str], list[str]]) -> Callable[[ListenerAnswer], float]:
        return lambda one: edits(part(test.sentences[one.sentence].text), part(str(one.answer))).rate

    asked = sorted({one.sentence for one in own})
    machine = mean([test.sentences[one].machine[voice] if test.sentences[one].machine else None for one in asked])
    return ListenedVoice(
        name, letters=_crossed(own, wrong(letters_of)), words=_crossed(own, wrong(words_of)), machine=machine
    )


def words_of(text: str) -> list[str]:
    """The words of a text as they are compared: without case, marks of punctuation and how letters are composed."""
    return split(unicodedata.normalize("NFC", text).casefold())[0]


def letters_of(text: str) -> list[str]:
    return list("".join(words_of(text)))


def _crossed(own: Sequence[ListenerAnswer], value: Callable[[ListenerAnswer], float]) -> Interval:
    """The mean, and its interval by drawing listeners and sentences again: both are only some of many."""
    if not own:
        return Interval(None, None, None, 0)
    people = {id: place for place, id in enumerate(dict.fromkeys(one.listener for one in own))}
    said = {id: place for place, id in enumerate(dict.fromkeys(one.sentence for one in own))}
    table = np.full((len(people), len(said)), np.nan)
    for one in own:
        table[people[one.listener], said[one.sentence]] = value(one)
    middle = float(np.nanmean(table))
    if len(own) < 2:
        return Interval(middle, None, None, len(own))
    chance = np.random.default_rng(SEED)
    rows = chance.integers(0, len(people), (DRAWS, len(people)))
    columns = chance.integers(0, len(said), (DRAWS, len(said)))
    drawn = np.array([_mean(table[row][:, column]) for row, column in zip(rows, columns, strict=True)])
    low, high = np.nanpercentile(drawn, ((100 - PERCENT) / 2, (100 + PERCENT) / 2))
    return Interval(middle, float(low), float(high), len(own))


def _mean(part: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    known = part[~np.isnan(part)]
    return float(known.mean()) if known.size else float("nan")


def _pairs(test: ListeningTest, held: Sequence[ListenerAnswer]) -> Iterator[ListenedPair]:
    for first, second in combinations(range(len(test.voices)), 2):
        own = [one for one in held if set(one.voices) == {first, second}]
        counted = _counted(test, own, first, second)
        chosen = [float(_side(one, second) == 1) for one in own if _side(one, second) != 2]
        yield ListenedPair(counted, interval(chosen, counted=True))


def _side(one: ListenerAnswer, second: int) -> int:
    """0: the first voice was preferred, 1: the second, 2: neither."""
    return 2 if one.answer == 0 else int(one.voices[int(one.answer) - 1] == second)


def _counted(test: ListeningTest, own: Sequence[ListenerAnswer], first: int, second: int) -> Counted:
    people: dict[str, list[int]] = {}
    sentences: dict[str, int] = {}
    for one in own:
        side = _side(one, second)
        people.setdefault(one.name or one.listener, [0, 0, 0])[side] += 1
        id = test.sentences[one.sentence].id
        sentences[id] = sentences.get(id, 0) + (-1, 1, 0)[side]
    sums = [sum(counts[place] for counts in people.values()) for place in range(3)]
    each: tuple[tuple[str, Preference], ...] = tuple(
        (name, preference(a, b, equal=c)) for name, (a, b, c) in people.items()
    )
    return Counted(
        test.voices[first], test.voices[second], preference(sums[0], sums[1], equal=sums[2]), each, sentences
    )

"""What a check is: a suspicion, its rule and fix in words, and a function that finds it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from olu.align.text_match import Match
from olu.audit.sound import SoundFacts
from olu.audit.thresholds import Thresholds
from olu.core.parse import load_toml
from olu.core.types import Clip, Mark, Severity, Span, Split

if TYPE_CHECKING:
    from olu.networks.models import Deep

Aligned = Literal["", "words", "scores"]
SEVERITIES: tuple[Severity, ...] = ("error", "warn", "info")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredClip:
    """A clip and what its sound told, or why it told nothing."""

    clip: Clip
    facts: SoundFacts | None
    trouble: str = ""  # with facts: what could be decoded is not all
    damage: str = ""  # what the decoder left out, and went on from
    split: Split | None = "train"
    deep: Deep | None = None
    pitch: float | None = None  # hertz, the median of what is voiced, where networks listen
    match: Match | None = None  # what the aligner heard
    words: tuple[Span, ...] = ()  # where the aligner found them
    aligner: str = ""  # its method
    dropped: bool = False  # a person left it out
    measured: bool = True  # false: it was decoded, and measuring it failed
    kept: bool = False  # a person takes it, whatever is said of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    id: str
    mark: Mark
    badness: float  # orders the findings of one check and severity; larger is worse


Look = Callable[[Sequence[MeasuredClip], Thresholds], Iterable[Finding]]
Tell = Callable[
    [Sequence[MeasuredClip], Sequence[Finding], Thresholds], str
]  # one sentence on the whole corpus, or nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    name: str
    title: str
    rule: Callable[[Thresholds], str]  # what is marked, with the numbers in force
    reason: str  # why it hurts a voice
    fix: str  # what a person can do
    look: Look
    tell: Tell
    deep: bool = False  # hears with networks, so only --deep has it
    aligned: Aligned = ""  # what it needs of an alignment: none, where the words are, or how well texts fit


WORDS = load_toml(Path(__file__).parent / "checks" / "checks.toml")
DEFINED: dict[str, Check] = {}


def define(
    name: str,
    look: Look,
    *,
    tell: Tell = lambda heard, found, limits: "",
    more: Callable[[Thresholds], str] = lambda limits: "",
) -> None:
    """A check by its function; its words lie in checks.toml, where {more} is what only code can say of the limits."""
    words = dict(WORDS[name])
    template: str = words.pop("rule")
    rule = lambda limits: template.format(t=limits, more=more(limits))  # noqa: E731
    DEFINED[name] = Check(name=name, rule=rule, look=look, tell=tell, **words)


def each(
    judge: Callable[[MeasuredClip, Thresholds], Mark | None], *, badness: Callable[[Mark], float] | None = None
) -> Look:
    """Makes a check of all clips from `judge`, which looks at one of them."""

    def look(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
        for one in heard:
            mark = judge(one, limits)
            if mark is not None:
                yield Finding(id=one.clip.id, mark=mark, badness=badness(mark) if badness else mark.value)

    return look


def order(finding: Finding) -> tuple[int, float]:
    """Sort key for findings: the worst first; equals keep the order of the corpus."""
    return SEVERITIES.index(finding.mark.severity), -finding.badness


def across(one: MeasuredClip, other: MeasuredClip) -> str:
    """A clause that tells on which sides two copies are; nothing where it is the same side."""
    return f"; one is in {one.split}, the other in {other.split}" if one.split != other.split else ""

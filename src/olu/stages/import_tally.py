"""What an import left out, summed up: how many for which reason, an example of each, and whether much is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from olu.corpus.intake.merge import Merge
from olu.corpus.readers.rows import Problem, Why

EXAMPLES = 5
MUCH = 0.1  # of the rows or of the minutes


@dataclass(frozen=True, slots=True)
class Tally:
    reasons: dict[str, int]  # code -> how many, the commonest first
    told: str  # the same in words
    examples: tuple[str, ...]  # one of each reason first
    lost: str  # a sentence where much is lost


def tally(problems: Sequence[Problem], merge: Merge, *, joined: int = 0) -> Tally:
    """`joined`: rows of the source that were taken as a part of another one's clip."""
    found = Counter(problem.why for problem in problems)
    return Tally(
        {why.name.lower(): number for why, number in found.most_common()},
        ", ".join(why.told(number) for why, number in found.most_common()),
        _examples(problems),
        _lost(problems, merge, joined),
    )


def _examples(problems: Sequence[Problem]) -> tuple[str, ...]:
    first: dict[Why, int] = {}
    for at, problem in enumerate(problems):
        first.setdefault(problem.why, at)
    rest = (at for at in range(len(problems)) if at not in first.values())
    chosen = [*first.values(), *rest][:EXAMPLES]
    return tuple(str(problems[at]) for at in sorted(chosen))


def _lost(problems: Sequence[Problem], merge: Merge, joined: int) -> str:
    """A text that belongs to no recording is no row: it may be anything."""
    rows = sum(problem.why is not Why.NO_SOUND for problem in problems)
    every = rows + merge.added + merge.already + joined
    gone = sum(problem.seconds for problem in problems) / 60
    kept = sum(merge.clips[id].seconds for _, ids in merge.seen.values() for id in ids if id in merge.clips) / 60
    if rows <= MUCH * every and gone <= MUCH * (gone + kept):
        return ""
    said = f"{rows} of {every} rows ({100 * rows / every:.0f} %)"
    if gone:
        said += f", {gone:.1f} of {gone + kept:.1f} minutes by their times"
    return f"{said}: mend them and import again, which adds only what is new"

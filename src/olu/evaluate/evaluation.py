"""What is judged, and an evaluation as it lies in its folder.

A sample is a sentence as it was spoken; references are what the judges need to know. An evaluation holds what was
judged, every figure, and every sentence with its own values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from olu.core.errors import WorkspaceError
from olu.core.files import read_json, write_json
from olu.core.rows import from_row
from olu.core.types import Alignment, Audio, Reading
from olu.evaluate.estimates import Estimate

if TYPE_CHECKING:
    from olu.evaluate.metrics.sanity import Usual
    from olu.evaluate.metrics.speaker import Voice

SCHEMA = 1
FILE, PAGE, WAVS = "evaluation.json", "report.html", "wavs"
Domain = Literal["in", "out"]  # sentences of the corpus, and others
Level = Literal["pass", "warn", "fail", "unknown"]
DOMAINS: tuple[Domain, ...] = ("in", "out")
KEYS: dict[Domain, str] = {"in": "figures", "out": "figures_elsewhere"}  # in the file
LEVELS: tuple[Level, ...] = ("pass", "unknown", "warn", "fail")


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One sentence. Sounds are read when they are needed, so that many sentences fit in memory."""

    id: str
    text: str
    domain: Domain
    wav: str  # the name of its file
    spoken: Callable[[], Audio]
    natural: Callable[[], Audio] | None = None
    reading: Reading | None = None
    speaker: str = ""

    @property
    def letters(self) -> int | None:
        """How many are said; none where the text could not be read."""
        return sum(len(word.text) for word in self.reading.words) if self.reading else None


class Transcriber(Protocol):
    """A recogniser as judging needs it."""

    @property
    def version(self) -> str: ...

    def target(self, reading: Reading) -> list[str]: ...
    def transcribe(self, audio: Audio) -> str: ...


Aligns = Callable[[str, Audio, Reading], Alignment | None]


@dataclass(frozen=True, kw_only=True)
class References:
    """What the natural recordings of the corpus say, gathered once for all sentences."""

    language: str = ""
    hears: Transcriber | None = None
    second: Transcriber | None = None  # trained on another part of the corpus: for the collusion check
    aligns: Aligns | None = None
    aligner: str = ""
    usual: Usual | None = None
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # speaker -> pitch in Hz
    voices: Mapping[str, Voice] = field(default_factory=dict)  # speaker -> the middle of its recordings
    absent: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # group -> why it has no instrument, command

    def any_bounds(self, speaker: str) -> tuple[float, float] | None:
        return self.bounds.get(speaker) or next(iter(self.bounds.values()), None)


def spread_evenly(items: Sequence[str], count: int) -> list[str]:
    """At most `count` of the items, taken from the whole length of the list."""
    if len(items) <= count:
        return list(items)
    return [items[round(place * (len(items) - 1) / max(1, count - 1))] for place in range(count)]


@dataclass(frozen=True, kw_only=True)
class SentenceResult:
    """One sentence that was spoken."""

    id: str
    text: str
    domain: Domain
    wav: str  # inside the evaluation's folder
    seconds: float
    speaker: str = ""
    natural_seconds: float | None = None  # of the recording of the same text
    heard: str | None = None  # what the recogniser wrote down
    heard_natural: str | None = None
    expected: str | None = None  # what it should have written
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What was judged: a voice of a run or a package, or sound files."""

    name: str
    kind: Literal["voice", "wavs"]
    path: str
    fingerprint: str  # the same for the same voice only
    language: str
    run: str | None = None
    step: int | None = None
    noise: float | None = None  # what it spoke with
    usual_noise: float | None = None  # what it was trained to be used with
    speaker: str | None = None  # the one of its speakers that was judged, where one was named


@dataclass(frozen=True, kw_only=True)
class Missing:
    """A metric that could not be measured, why, and the command that helps."""

    metric: str
    why: str
    command: str = ""


@dataclass(frozen=True, kw_only=True)
class Gate:
    """A figure held against its limit: pass, warn, fail or unknown, and a sentence."""

    name: str
    level: Level
    said: str


@dataclass(frozen=True, kw_only=True)
class CheckpointMeans:
    """The means of the figures at one checkpoint."""

    step: int
    means: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    subject: Subject
    level: Level
    verdict: tuple[str, ...]  # sentences
    figures: Mapping[Domain, tuple[Estimate, ...]]
    gates: tuple[Gate, ...]
    items: tuple[SentenceResult, ...]
    missing: tuple[Missing, ...] = ()
    curve: tuple[CheckpointMeans, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    def of(self, domain: Domain) -> list[SentenceResult]:
        return [item for item in self.items if item.domain == domain]

    def value(self, item: SentenceResult, name: str) -> float | None:
        """What one metric said of one sentence: figures hold their values in the order of the items."""
        figure, own = self.figure(name, item.domain), self.of(item.domain)
        return figure.values[own.index(item)] if figure and len(figure.values) == len(own) else None

    def figure(self, name: str, domain: Domain = "in") -> Estimate | None:
        return next((one for one in self.figures.get(domain, ()) if one.name == name), None)

    def row(self) -> dict[str, Any]:
        """What evaluation.json and --json hold."""
        return {
            "schema": SCHEMA,
            "subject": asdict(self.subject),
            "run": self.subject.run,
            "step": self.subject.step,
            "noise": self.subject.noise,
            "level": self.level,
            "verdict": list(self.verdict),
            **{KEYS[domain]: [one.row() for one in self.figures.get(domain, ())] for domain in DOMAINS},
            "gates": [asdict(gate) for gate in self.gates],
            "missing": [asdict(one) for one in self.missing],
            "curve": [{"step": point.step, "means": dict(point.means)} for point in self.curve],
            "facts": dict(self.facts),
            "items": [{**asdict(item), "faults": list(item.faults)} for item in self.items],
        }

    def save(self, folder: Path) -> None:
        write_json(folder / FILE, self.row())


def load(folder: Path) -> Evaluation:
    """The evaluation in a folder, or one sentence why it is none."""
    path = folder / FILE
    if not path.is_file():
        raise WorkspaceError(f"{folder} is not an evaluation (no {FILE}): make one with 'olu evaluate'")
    row = read_json(path, shape={})
    if row.get("schema") != SCHEMA:
        raise WorkspaceError(f"{path} has schema {row.get('schema')!r}, this Olu knows {SCHEMA}: evaluate again")
    try:
        figures = {domain: [*map(Estimate.from_row, row[KEYS[domain]])] for domain in DOMAINS if row[KEYS[domain]]}
        return from_row({**row, "figures": figures}, Evaluation)
    except (KeyError, TypeError, ValueError) as bad:
        raise WorkspaceError(f"{path} is damaged ({bad}): evaluate again") from None


def worst(levels: Sequence[Level]) -> Level:
    return max(levels, key=LEVELS.index, default="unknown")

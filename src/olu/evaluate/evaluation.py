"""An evaluation as it lies in its folder: what was judged, every figure, and every sentence with its own values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from olu.core.errors import WorkspaceError
from olu.core.files import read_json, write_json
from olu.evaluate.estimates import Estimate

SCHEMA = 1
FILE, PAGE, WAVS = "evaluation.json", "report.html", "wavs"
Domain = Literal["in", "out"]  # sentences of the corpus, and others
Level = Literal["pass", "warn", "fail", "unknown"]
DOMAINS: tuple[Domain, ...] = ("in", "out")
KEYS: dict[Domain, str] = {"in": "figures", "out": "figures_elsewhere"}  # in the file
LEVELS: tuple[Level, ...] = ("pass", "unknown", "warn", "fail")


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
    """What was judged."""

    name: str
    kind: Literal["voice", "wavs"]
    path: str
    fingerprint: str  # the same for the same voice only
    language: str
    run: str | None = None
    step: int | None = None
    noise: float | None = None  # what it spoke with
    usual_noise: float | None = None  # what it was trained to be used with


@dataclass(frozen=True, kw_only=True)
class Missing:
    """A metric that could not be measured, why, and the command that helps."""

    metric: str
    why: str
    command: str = ""


@dataclass(frozen=True, kw_only=True)
class Gate:
    """A figure held against a limit."""

    name: str
    level: Level
    said: str


@dataclass(frozen=True, kw_only=True)
class CheckpointMeans:
    """The means of one checkpoint."""

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
    """From an evaluation's folder, or one sentence why it is none."""
    path = folder / FILE
    if not path.is_file():
        raise WorkspaceError(f"{folder} is not an evaluation (no {FILE}): make one with 'olu evaluate'")
    row = read_json(path)
    if row.get("schema") != SCHEMA:
        raise WorkspaceError(f"{path} has schema {row.get('schema')!r}, this Olu knows {SCHEMA}: evaluate again")
    try:
        return Evaluation(
            subject=Subject(**row["subject"]),
            level=row["level"],
            verdict=tuple(row["verdict"]),
            figures={
                domain: tuple(map(Estimate.from_row, row[KEYS[domain]])) for domain in DOMAINS if row[KEYS[domain]]
            },
            gates=tuple(Gate(**gate) for gate in row["gates"]),
            missing=tuple(Missing(**one) for one in row["missing"]),
            curve=tuple(CheckpointMeans(**point) for point in row["curve"]),
            facts=row["facts"],
            items=tuple(_item(one) for one in row["items"]),
        )
    except (KeyError, TypeError) as bad:
        raise WorkspaceError(f"{path} is damaged ({bad}): evaluate again") from None


def worst(levels: Sequence[Level]) -> Level:
    return max(levels, key=LEVELS.index, default="unknown")


def _item(row: dict[str, Any]) -> SentenceResult:
    return SentenceResult(**{**row, "faults": tuple(row["faults"])})

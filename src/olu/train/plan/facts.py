"""What a plan is made from, what a family knows of its own training, and the plan itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from olu.core.machine import Machine

if TYPE_CHECKING:
    from olu.train.base_facts import Licence
    from olu.train.family import Base


OWN_VOCODER = 600.0  # seconds of sound from which a vocoder of its own is worth training


@dataclass(frozen=True)
class Setting:
    key: str  # as --set writes it: plan.steps
    value: Any
    reason: str


@dataclass(frozen=True, kw_only=True)
class PlanClip:
    """A clip that may train."""

    seconds: float
    tokens: int


@dataclass(frozen=True, kw_only=True)
class Material:
    """What a corpus has left to learn from, after the audit and the decisions."""

    pieces: tuple[PlanClip, ...]
    language: str
    speakers: int = 1
    rates: Mapping[int, int] = field(default_factory=dict)  # sampling rate -> clips
    valid: int = 0  # clips for validation
    verdict: str = ""  # the audit's, on what the corpus is enough for
    left_out: int = 0  # clips, by audit or decision
    left_out_seconds: float = 0.0
    most_seconds: float = 0.0  # of the speaker who has most
    aligned: bool = False  # whether it is known where the pauses are

    @property
    def hours(self) -> float:
        return sum(piece.seconds for piece in self.pieces) / 3600


@dataclass(frozen=True, kw_only=True)
class Foundation:
    """A base to begin with."""

    folder: str
    settings: dict[str, Any]
    speakers: int
    licence: Licence
    has_discriminator: bool  # whether it brings a discriminator
    language: str = ""  # its code; nothing where the base does not tell
    language_name: str = ""
    why: str = ""  # it was taken, where nobody asked for it
    languages: tuple[str, ...] = ()  # those of a base that speaks several, as `Base.languages` has them


@dataclass(frozen=True, kw_only=True)
class Case:
    """All that a plan is made from. `given` is what a person has set already, nested as in a recipe."""

    material: Material
    machine: Machine
    base: Foundation | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""  # this family, where nobody asked for it

    def asked(self, key: str) -> Any:
        value: Any = self.given
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return value


@dataclass(frozen=True)
class FamilyOffer:
    """Why a family suits a corpus, and whether a plan takes it where nobody names one, or only says so."""

    why: str
    taken: bool


@dataclass(frozen=True)
class Advice:
    """What a family knows of its own training."""

    model: Callable[[Case], list[Setting]]  # all of [model] that should not be left to chance, and plan.rates
    batch: Callable[[Case], tuple[int, str]]  # clips that should make one update
    steps: Callable[[Case, Any, int], tuple[int, str]]  # (case, config, clips of an update)
    warmup: Callable[[Case, int], tuple[int, str]]  # (case, steps)
    pace: Callable[[Case, Any, float, float], tuple[float, str]]  # (.., clips, seconds of each) -> seconds of a batch
    parameters: Callable[[Any], float]
    memory: Callable[..., float]  # (config, clips=, seconds=, tokens=) -> bytes at the peak of a step
    sizes: tuple[str, ...] = ()  # whose memory the audit foretells for the default recipe
    tuning: Callable[[Base], dict[str, Any]] | None = None  # (base) -> what of [model] fine-tuning changes
    schedule: Callable[[Case], tuple[str, str]] | None = None  # none: exponential, as voices are published with
    suits: Callable[[Material], FamilyOffer | None] | None = None  # what it is better for than the usual one
    validations: int = 40  # of a run, with samples to hear
    cpu_half: bool = False  # whether it trains in bf16 on a CPU that has it: measured to learn as well
    longest: Callable[[Case], tuple[float, str]] | None = None  # seconds that no clip may exceed, and why; none: 60
    saved: Callable[[Any], float] | None = None  # (config): bytes of a checkpoint; none: 16 for a parameter
    notes: Callable[[Case, Any], list[str]] | None = None  # (case, config): what else a person should know before
    again: Callable[[Any, float], list[Setting]] | None = None  # (config, seconds of sound): what --from-run changes


@dataclass(frozen=True)
class Plan:
    settings: tuple[Setting, ...]
    bytes_needed: float
    seconds_per_step: float
    pace_reason: str
    notes: tuple[str, ...]

    @property
    def hours(self) -> float:
        return self.seconds_per_step * float(self["plan.steps"]) / 3600

    def __getitem__(self, key: str) -> Any:
        return next(one.value for one in self.settings if one.key == key)

    def __contains__(self, key: str) -> bool:
        return any(one.key == key for one in self.settings)

    def values(self) -> dict[str, Any]:
        """The settings, nested as a recipe holds them."""
        nested: dict[str, Any] = {}
        for one in self.settings:
            *sections, name = one.key.split(".")
            here = nested
            for section in sections:
                here = here.setdefault(section, {})
            here[name] = one.value
        return nested

"""What settings suit a corpus and a machine, each with its reason. Pure: the same facts give the same plan.

What a family knows of its own training (sizes, rates, how many clips make a good step) is its `Advice`; what holds for
all of them (batches by memory, intervals, precision) is here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from olu.config import check
from olu.train.recipe import PlanSettings, Recipe

if TYPE_CHECKING:
    from olu.train.family import Family
    from olu.train.licence import Licence

LIMITS = (15.0, 20.0, 25.0, 30.0, 40.0, 60.0)  # seconds a longest clip may have
ENOUGH = 0.99  # of the hours that a limit must keep
SHARE = {"cuda": 0.8, "mps": 0.5, "cpu": 0.5}  # of the memory that a step may take: the rest is for all else
DRIVER_BYTES = 0.5e9  # a GPU's own
LEAST_EPOCH = 8  # steps: fewer clips make smaller batches
LEAST_BATCH = 4
VALIDATIONS = 40
VALIDATE_LEAST, VALIDATE_MOST = 200, 2000
LOST_SECONDS = 900.0  # of work that a crash may cost
PATIENCE = 8
KEEP = 3
SAVED_BYTES = 16  # of a parameter in a checkpoint: weight, average and two moments


@dataclass(frozen=True)
class Setting:
    key: str  # as --set writes it: plan.steps
    value: Any
    reason: str


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A clip that may train."""

    seconds: float
    tokens: int


@dataclass(frozen=True, kw_only=True)
class Material:
    """What a corpus has left to learn from, after the audit and the decisions."""

    pieces: tuple[Piece, ...]
    language: str
    speakers: int = 1
    rates: Mapping[int, int] = field(default_factory=dict)  # sampling rate -> clips
    valid: int = 0  # clips for validation
    left_out: int = 0  # clips, by audit or decision
    left_out_seconds: float = 0.0

    @property
    def hours(self) -> float:
        return sum(piece.seconds for piece in self.pieces) / 3600


@dataclass(frozen=True, kw_only=True)
class Machine:
    device: str  # cpu, cuda or mps
    name: str
    memory: float  # bytes that it has in all, so that a plan does not change with what else runs
    cores: int
    bf16: bool = False
    devices: int = 1


@dataclass(frozen=True, kw_only=True)
class Foundation:
    """A base that was asked for."""

    folder: str
    settings: dict[str, Any]
    speakers: int
    licence: Licence
    judged: bool  # whether it brings a discriminator


@dataclass(frozen=True, kw_only=True)
class Case:
    """All that a plan is made from. `given` is what a person has set already, nested as in a recipe."""

    material: Material
    machine: Machine
    base: Foundation | None = None
    given: Mapping[str, Any] = field(default_factory=dict)

    def asked(self, key: str) -> Any:
        value: Any = self.given
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return value


@dataclass(frozen=True)
class Advice:
    """What a family knows of its own training."""

    model: Callable[[Case], list[Setting]]  # all of [model] that should not be left to chance, and plan.rates
    batch: Callable[[Case], tuple[int, str]]  # clips that should make one update
    steps: Callable[[Case, Any, int], tuple[int, str]]  # (case, config, clips of an update)
    warmup: Callable[[Case, int], tuple[int, str]]  # (case, steps)
    pace: Callable[[Case, Any, float, float], tuple[float, str]]  # (.., clips, seconds of each) -> seconds of a step
    parameters: Callable[[Any], float]


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
        """As a recipe holds them."""
        nested: dict[str, Any] = {}
        for one in self.settings:
            *sections, name = one.key.split(".")
            here = nested
            for section in sections:
                here = here.setdefault(section, {})
            here[name] = one.value
        return nested


class Draft:
    """Settings as they are decided. What a person has set stays, and what follows is derived from it."""

    def __init__(self, case: Case) -> None:
        self.case, self.settings = case, list[Setting]()

    def set(self, key: str, value: Any, reason: str) -> Any:
        asked = self.case.asked(key)
        if asked is not None:
            value, reason = asked, "You set it."
        self.settings.append(Setting(key, value, reason))
        return value


def make_plan(case: Case, family: Family) -> Plan:
    advice = family.advice
    assert advice is not None
    draft = Draft(case)
    draft.set("family", family.name, f"{family.summary}.")
    if case.base:
        said = f"You gave it with --base. {case.base.licence.sentence()}"
        draft.settings.append(Setting("base", case.base.folder, said))
    draft.set("seed", 1, "Any number: the same one gives the same run on the same CPU.")
    for one in advice.model(case):
        draft.set(one.key, one.value, one.reason)
    config = _config(case, family, draft)
    left_out = _data(draft, config, family)
    clips, seconds = _batch(draft, config, family, advice)
    pace, why_pace = advice.pace(case, config, clips, seconds)
    _times(draft, config, advice, pace)
    values = {one.key: one.value for one in draft.settings}
    needed = _peak(config, family, _kept(case, values), values["plan.batch_clips"], values["plan.batch_seconds"])
    notes = [*left_out, *_notes(case, needed, config, advice)]
    return Plan(tuple(draft.settings), needed, pace, why_pace, tuple(notes))


def _config(case: Case, family: Family, draft: Draft) -> Any:
    asked = {one.key.removeprefix("model."): one.value for one in draft.settings if one.key.startswith("model.")}
    under = case.base.settings if case.base else {}
    return check(family.config, {**under, **asked, **case.given.get("model", {})}, where="recipe [model]")


def _data(draft: Draft, config: Any, family: Family) -> list[str]:
    """Which clips are taken; returns a sentence on those that are not."""
    material = draft.case.material
    least = draft.set("data.min_seconds", 0.6, "Shorter clips hold hardly a word, and no whole training segment.")
    said = f"The audit and your decisions leave out {material.left_out} clips ({material.left_out_seconds / 60:.1f} min)."
    draft.set("data.leave_out_errors", True, said)
    total = sum(piece.seconds for piece in material.pieces)
    fits = [limit for limit in LIMITS if _fits(draft.case, config, family, limit)] or [LIMITS[0]]
    enough = [limit for limit in fits if _below(material, limit) >= ENOUGH * total]
    limit = enough[0] if enough else fits[-1]
    lost = [piece for piece in material.pieces if not least <= piece.seconds <= limit]
    share = sum(piece.seconds for piece in lost) / total if total else 0.0
    why = f"{len(lost)} clips with {share:.1%} of the sound are longer or too short and stay out; nothing is cut."
    if fits[-1] < LIMITS[-1] and not enough:
        why += f" A longer limit does not fit the memory, even one clip at a time: at most {fits[-1]:g} s do."
    draft.set("data.max_seconds", limit, why)
    if share > 1 - ENOUGH:
        return [f"{len(lost)} clips ({share:.0%} of the sound) are over {limit:g} s: cut them to take them in"]
    return []


def _below(material: Material, limit: float) -> float:
    return sum(piece.seconds for piece in material.pieces if piece.seconds <= limit)


def _kept(case: Case, values: Mapping[str, Any]) -> list[Piece]:
    low, high = values["data.min_seconds"], values["data.max_seconds"]
    return [piece for piece in case.material.pieces if low <= piece.seconds <= high] or list(case.material.pieces)


def _room(machine: Machine) -> float:
    return SHARE[machine.device] * machine.memory - (DRIVER_BYTES if machine.device == "cuda" else 0.0)


def _fits(case: Case, config: Any, family: Family, limit: float) -> bool:
    pieces = [piece for piece in case.material.pieces if piece.seconds <= limit]
    return _peak(config, family, pieces, 1, limit) <= _room(case.machine)


def _peak(config: Any, family: Family, pieces: list[Piece], clips: int, seconds: float) -> float:
    """Bytes of the worst batch under these limits."""
    assert family.memory is not None
    worst, most_tokens = 0.0, 1
    for length in sorted({math.ceil(piece.seconds) for piece in pieces}):
        most_tokens = max([most_tokens, *(piece.tokens for piece in pieces if math.ceil(piece.seconds) == length)])
        together = max(1, min(clips, int(seconds / length)))
        worst = max(worst, family.memory(config, clips=together, seconds=float(length), tokens=most_tokens))
    return worst


def _batch(draft: Draft, config: Any, family: Family, advice: Advice) -> tuple[float, float]:
    """How many clips a step has, and how they reach the memory; returns clips of an update and their usual length."""
    case = draft.case
    pieces = _kept(case, {one.key: one.value for one in draft.settings})
    lengths = sorted(piece.seconds for piece in pieces)
    usual, mean = lengths[int(0.9 * (len(lengths) - 1))], sum(lengths) / len(lengths)
    target, why = advice.batch(case)
    for_epoch = max(LEAST_BATCH, len(pieces) // LEAST_EPOCH)
    if for_epoch < target:
        target = min(for_epoch, len(pieces))
        why = f"{len(pieces)} clips are few: {target} at a time, so that an epoch has some {LEAST_EPOCH} steps."
    own = case.asked("plan.batch_clips") or case.asked("plan.batch_seconds")
    clips = _largest(case, config, family, pieces, target, usual)
    parts = 1 if own else math.ceil(target / clips)
    clips = case.asked("plan.batch_clips") or math.ceil(target / parts)
    said = f"{why} {clips} of them fit the memory at once." if clips < target else why
    clips = draft.set("plan.batch_clips", clips, said)
    seconds = _up(max(clips * usual, lengths[-1]))
    said = f"{clips} clips of {usual:.1f} s, which nine in ten do not exceed; longer ones come fewer at a time."
    seconds = draft.set("plan.batch_seconds", seconds, said)
    said = "The whole batch fits the memory at once." if parts == 1 else f"{parts} x {clips} clips make one update."
    parts = draft.set("plan.accumulate", parts, said)
    return float(min(clips * parts, len(pieces))), mean


def _largest(case: Case, config: Any, family: Family, pieces: list[Piece], target: int, usual: float) -> int:
    """The most clips at a time that fit, of those that share the batch evenly."""
    longest = max(piece.seconds for piece in pieces)
    for parts in range(1, target + 1):
        clips = math.ceil(target / parts)
        if _peak(config, family, pieces, clips, max(clips * usual, longest)) <= _room(case.machine):
            return clips
    return 1


def _times(draft: Draft, config: Any, advice: Advice, pace: float) -> None:
    case = draft.case
    values = {one.key: one.value for one in draft.settings}
    together = int(values["plan.batch_clips"] * values["plan.accumulate"])
    kept = len(_kept(case, values))
    steps = draft.set("plan.steps", *advice.steps(case, config, together))
    schedule = draft.set("plan.schedule", "exponential", "A factor per epoch, as the family was published with.")
    if schedule == "exponential":
        epochs = max(1.0, steps * together / kept)
        decay = round(max(0.9, 0.5 ** (1 / epochs)), 6)
        said = f"{epochs:,.0f} epochs end at half the rate, whatever the corpus' size; a fixed factor would not."
        draft.set("plan.decay", decay, said)
    draft.set("plan.warmup_steps", *advice.warmup(case, steps))
    machine, validate = case.machine, min(VALIDATE_MOST, max(VALIDATE_LEAST, _nice(steps / VALIDATIONS)))
    half = machine.device == "cuda" and machine.bf16
    said = f"{machine.name} computes it: half the memory traffic, and no loss scale to go wrong as with fp16."
    draft.set("plan.precision", *(("bf16", said) if half else ("fp32", "The safe one; bf16 is for GPUs that have it.")))
    said = f"About {max(1, steps // validate)} times over the run, with samples to hear; at least {VALIDATE_LEAST} steps."
    validate = draft.set("plan.validate_every", validate, said)
    save = min(validate, max(20, _nice(LOST_SECONDS / max(pace, 1e-6))))
    said = f"At the predicted pace a crash costs {save * pace / 60:.0f} minutes at most."
    draft.set("plan.save_every", save, said)
    size = SAVED_BYTES * advice.parameters(config) / 1e9
    draft.set("plan.keep", KEEP, f"The newest {KEEP} beside the best; each takes about {size:.2f} GB of disk.")
    demos = PlanSettings.model_fields["demo_clips"].default
    draft.set("plan.demo_clips", demos, "Sentences spoken at every validation: ears judge what a loss cannot.")
    draft.set(
        "guards.overfit_patience",
        PATIENCE,
        "Validations without a better one before a note. It never stops the run: the figure at hand is a spectral"
        " loss, which is flat long before the voice is ripe. Listen to the samples, and export the step you like.",
    )


def _notes(case: Case, needed: float, config: Any, advice: Advice) -> list[str]:
    notes = []
    if needed > _room(case.machine):
        notes.append(f"even one clip takes {needed / 1e9:.1f} GB: {case.machine.name} may be too small")
    if case.machine.devices > 1:
        notes.append(f"{case.machine.devices} GPUs: torchrun --nproc_per_node {case.machine.devices} -m olu train WS")
    if case.material.valid == 0:
        notes.append("no clip is on the validation side: 'olu split WS' makes one")
    wanted = getattr(config, "sampling_rate", None)
    low = sum(count for rate, count in case.material.rates.items() if wanted and rate < wanted)
    if low:
        notes.append(f"{low} clips are recorded below {wanted} Hz: they will sound duller than the rest")
    return notes


def _nice(value: float) -> int:
    """Rounded to a number people would write."""
    if value < 1:
        return 1
    size = 10 ** math.floor(math.log10(value))
    return int(next(size * step for step in (1, 2, 2.5, 5, 10) if size * step >= value * 0.999)) or 1


def _up(seconds: float) -> float:
    return float(math.ceil(seconds))


def recipe_of(plan: Plan) -> Recipe:
    return check(Recipe, plan.values(), where="plan")

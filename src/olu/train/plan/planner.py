"""What settings suit a corpus and a machine, each with its reason. Pure: the same facts give the same plan.

What a family knows of its own training (sizes, rates, how many clips make a good step) is its `Advice`; what holds for
all of them (batches by memory, intervals, precision) is here.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from olu.core.config import check
from olu.core.machine import Machine
from olu.core.words import length, many, size
from olu.train.plan.facts import Advice, Case, Material, Plan, PlanClip, Setting
from olu.train.recipe import PlanSettings, Recipe

if TYPE_CHECKING:
    from olu.train.family import Family

LIMITS = (15.0, 20.0, 25.0, 30.0, 40.0, 60.0)  # seconds a longest clip may have
ENOUGH = 0.99  # of the hours that a limit must keep
LEAST_EPOCH = 8  # steps: fewer clips make smaller batches
LEAST_BATCH = 4
VALIDATE_LEAST, VALIDATE_MOST = 200, 2000
VALIDATIONS_LEAST, VALIDATE_SHORT = 6, 20  # of a run so short that it would have fewer; steps between them even there
LOST_SECONDS = 900.0  # of work that a crash may cost
PATIENCE = 8
KEEP = 3
LARGE_GB = 2.0  # of a checkpoint, from which on few are kept
SAVED_BYTES = 16  # of a parameter in a checkpoint: weight, average and two moments


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

    def keep_asked(self) -> None:
        """What a person has set and no plan decides on is a line too."""
        known = {one.key for one in self.settings}
        for section, held in self.case.given.items():
            asked = (
                {f"{section}.{key}": one for key, one in held.items()} if isinstance(held, Mapping) else {section: held}
            )
            self.settings += [Setting(key, one, "You set it.") for key, one in asked.items() if key not in known]


def make_plan(case: Case, family: Family, *, pace: float | None = None) -> Plan:
    """The plan for a case; `pace`: measured seconds of a step, where there are any."""
    advice = family.advice
    assert advice is not None
    draft = Draft(case)
    draft.set("family", family.name, case.why or f"{family.summary}.")
    if case.base:
        asked, allows = (
            "You gave it with --base.",
            case.base.licence.sentence() if family.bases and family.bases.licensed else "",
        )
        said = f"{case.base.why or asked} {allows}".rstrip()
        draft.settings.append(Setting("base", case.base.folder, said))
    draft.set("seed", 1, "Any number: the same one gives the same run on the same CPU.")
    for one in advice.model(case):
        draft.set(one.key, one.value, one.reason)
    config = _config(case, family, draft)
    left_out = _data(draft, config, family)
    clips, seconds = _batch(draft, config, family, advice)
    once, why_pace = advice.pace(case, config, clips, seconds)
    parts = next(one.value for one in draft.settings if one.key == "plan.accumulate")
    pace = once * parts if pace is None else pace
    _times(draft, config, advice, pace, speaks=family.kind != "listener")
    draft.keep_asked()
    values = {one.key: one.value for one in draft.settings}
    needed = peak(config, family, ladder(kept(case, values)), values["plan.batch_clips"], values["plan.batch_seconds"])
    notes = [
        *(advice.notes(case, config) if advice.notes else []),
        *left_out,
        *_notes(case, needed, family.data.rate(config), held_back=values.get("data.hold_back", 0.0)),
    ]
    return Plan(tuple(draft.settings), needed, pace, why_pace, tuple(notes))


def _config(case: Case, family: Family, draft: Draft) -> Any:
    asked = {one.key.removeprefix("model."): one.value for one in draft.settings if one.key.startswith("model.")}
    under = case.base.settings if case.base else {}
    return check(family.config, {**under, **asked, **case.given.get("model", {})}, where="recipe [model]")


def _data(draft: Draft, config: Any, family: Family) -> list[str]:
    """Which clips are taken; returns a sentence on those that are not."""
    material = draft.case.material
    least = draft.set("data.min_seconds", 0.6, "Shorter clips hold hardly a word, and no whole training segment.")
    lost_clips = f"{many(material.left_out, 'clip')} ({material.left_out_seconds / 60:.1f} min)"
    said = f"The audit and your decisions leave out {lost_clips}."
    draft.set("data.leave_out_errors", True, said)
    total = sum(piece.seconds for piece in material.pieces)
    limit, limited = _longest(draft.case, config, family, least=least, total=total)
    over = [piece.seconds for piece in material.pieces if piece.seconds > limit]
    stay = "is longer and stays out" if len(over) == 1 else "are longer and stay out"
    why = f"{many(len(over), 'clip')} with {sum(over) / total:.1%} of the sound {stay}; nothing is cut.{limited}"
    draft.set("data.max_seconds", limit, why)
    values = {one.key: one.value for one in draft.settings}
    lost = total - sum(piece.seconds for piece in kept(draft.case, values))
    if lost > (1 - ENOUGH) * total:
        what = f"{values['data.min_seconds']:g} to {values['data.max_seconds']:g} s"
        return [f"{lost / total:.0%} of the sound is in clips that are not {what} long and stay out"]
    return []


def _longest(case: Case, config: Any, family: Family, *, least: float, total: float) -> tuple[float, str]:
    """The limit of length that takes enough of the sound and fits the memory; a sentence where that lowers it."""
    most, why = family.advice.longest(case) if family.advice and family.advice.longest else (LIMITS[-1], "")
    limits = [limit for limit in (*LIMITS, most) if least < limit <= most] or [2 * least]
    if why:
        return (most if fits(case, config, family, most) else limits[0]), f" {why}"
    fitting = [limit for limit in limits if fits(case, config, family, limit)] or limits[:1]
    enough = [limit for limit in fitting if below(case.material, limit) >= ENOUGH * total]
    if enough or fitting[-1] == limits[-1]:
        return (enough or fitting[-1:])[0], ""
    longer = "A longer limit does not fit the memory, even one clip at a time"
    return fitting[-1], f" {longer}: at most {fitting[-1]:g} s do."


def _batch(draft: Draft, config: Any, family: Family, advice: Advice) -> tuple[float, float]:
    """How many clips a step has, and how they reach the memory; returns clips at a time and their mean length."""
    case = draft.case
    pieces = kept(case, {one.key: one.value for one in draft.settings})
    lengths = sorted(piece.seconds for piece in pieces)
    usual, mean = lengths[int(0.9 * (len(lengths) - 1))], sum(lengths) / len(lengths)
    target, why = advice.batch(case)
    segment = family.data.segment
    number = len(pieces) if segment is None else int(sum(lengths) * family.data.rate(config) / segment(config))
    for_epoch = max(LEAST_BATCH, number // LEAST_EPOCH)
    if for_epoch < target:
        target = min(for_epoch, max(1, number))
        few = f"{many(len(pieces), 'clip')} {'is' if len(pieces) == 1 else 'are'} few"
        why = f"{few}: {target} at a time, so that an epoch has some {LEAST_EPOCH} steps."
    own = case.asked("plan.batch_clips") or case.asked("plan.batch_seconds")
    clips = largest(case, config, family, pieces, target, usual)
    parts = 1 if own else math.ceil(target / clips)
    clips = case.asked("plan.batch_clips") or math.ceil(target / parts)
    said = f"{why} {clips} of them fit the memory at once." if clips < target else why
    clips = draft.set("plan.batch_clips", clips, said)
    seconds = _up(max(clips * usual, lengths[-1]))
    said = f"{many(clips, 'clip')} of {usual:.1f} s, which nine in ten do not exceed; longer ones come fewer at a time."
    seconds = draft.set("plan.batch_seconds", seconds, said)
    said = (
        "The whole batch fits the memory at once."
        if parts == 1
        else f"{parts} x {many(clips, 'clip')} make one update."
    )
    parts = draft.set("plan.accumulate", parts, said)
    return float(min(clips, max(1, number))), mean


def _times(draft: Draft, config: Any, advice: Advice, pace: float, *, speaks: bool) -> None:
    case = draft.case
    values = {one.key: one.value for one in draft.settings}
    together = int(values["plan.batch_clips"] * values["plan.accumulate"])
    number = len(kept(case, values))
    steps = draft.set("plan.steps", *advice.steps(case, config, together))
    usual = ("exponential", "A factor per epoch, as the family was published with.")
    schedule = draft.set("plan.schedule", *(advice.schedule(case) if advice.schedule else usual))
    if schedule == "exponential":
        epochs = max(1.0, steps * together / number)
        decay = round(max(0.9, 0.5 ** (1 / epochs)), 6)
        said = f"{epochs:,.0f} epochs end at half the rate, whatever the corpus' size; a fixed factor would not."
        draft.set("plan.decay", decay, said)
    draft.set("plan.warmup_steps", *advice.warmup(case, steps))
    machine, least = case.machine, min(VALIDATE_LEAST, max(VALIDATE_SHORT, _nice(steps / VALIDATIONS_LEAST)))
    validate = min(VALIDATE_MOST, max(least, _nice(steps / advice.validations)))
    draft.set("plan.precision", *_precision(machine, half=bool(advice.fp16 and advice.fp16(config))))
    said = f"About {max(1, steps // validate)} times over the run, with samples to hear; at least {least} steps."
    validate = draft.set("plan.validate_every", validate, said)
    save = min(validate, max(20, _nice(LOST_SECONDS / max(pace, 1e-6))))
    said = f"At the predicted pace a crash costs {save * pace / 60:.0f} minutes at most."
    draft.set("plan.save_every", save, said)
    size = (advice.saved(config) if advice.saved else SAVED_BYTES * advice.parameters(config)) / 1e9
    keep = KEEP if size < LARGE_GB else 1
    newest = f"The newest {KEEP} beside" if keep > 1 else "Only the newest, and"
    draft.set("plan.keep", keep, f"{newest} the best; each takes about {size:.2f} GB of disk.")
    if not speaks:
        return
    demos = PlanSettings.model_fields["demo_clips"].default
    demos = min(demos, case.material.valid) or demos
    draft.set("plan.demo_clips", demos, "Sentences spoken at every validation: ears judge what a loss cannot.")
    draft.set(
        "guards.overfit_patience",
        PATIENCE,
        "Validations without a better one before a note. It never stops the run: the figure at hand is a loss,"
        " which is flat long before the voice is ripe. Listen to the samples, and export the step you like.",
    )


def _precision(machine: Machine, *, half: bool) -> tuple[str, str]:
    """The precision of a step, and why; `half`: whether this model is known to learn in fp16."""
    if machine.device == "cuda" and machine.bf16:
        return (
            "bf16",
            f"{machine.name} computes it: half the memory traffic, and no loss scale to go wrong as with fp16.",
        )
    if machine.device == "cuda" and machine.fp16 and half:
        return (
            "fp16",
            f"{machine.name} has no bf16. Half the memory traffic; the loss scale finds itself in some steps.",
        )
    return "fp32", "The safe one; bf16 is for GPUs that have it."


def _notes(case: Case, needed: float, wanted: int, *, held_back: float) -> list[str]:
    notes = [f"the audit says: {case.material.verdict.rstrip('.')}"] if case.material.verdict else []
    if needed > room(case.machine):
        notes.append(f"even one clip takes {needed / 1e9:.1f} GB: {case.machine.name} may be too small")
    if case.machine.devices > 1:
        notes.append(f"{case.machine.devices} GPUs: torchrun --nproc_per_node {case.machine.devices} -m olu train WS")
    if case.material.valid == 0 and not held_back:
        notes.append("no clip is on the validation side: 'olu split WS' makes one")
    low = sum(count for rate, count in case.material.rates.items() if rate < wanted)
    if low:
        are, they = ("is", "it") if low == 1 else ("are", "they")
        notes.append(f"{many(low, 'clip')} {are} recorded below {wanted} Hz: {they} will sound duller than the rest")
    return notes


def _nice(value: float) -> int:
    """A round number at or below `value`: 1, 2 or 5 times a power of ten."""
    size = 10 ** math.floor(math.log10(max(value, 1.0)))
    return int(next(size * step for step in (5, 2, 1) if size * step <= max(value, 1.0)))


def _up(seconds: float) -> float:
    return float(math.ceil(seconds))


def recipe_of(plan: Plan) -> Recipe:
    return check(Recipe, plan.values(), where="plan")


SHARE = {"cuda": 0.8, "mps": 0.5, "cpu": 0.5}  # of the memory that a step may take: the rest is for all else
DRIVER_BYTES = 0.5e9  # a GPU's own


def below(material: Material, limit: float) -> float:
    return sum(piece.seconds for piece in material.pieces if piece.seconds <= limit)


def kept(case: Case, values: Mapping[str, Any]) -> list[PlanClip]:
    low, high = values["data.min_seconds"], values["data.max_seconds"]
    return [piece for piece in case.material.pieces if low <= piece.seconds <= high] or list(case.material.pieces)


def room(machine: Machine) -> float:
    return SHARE[machine.device] * machine.memory - (DRIVER_BYTES if machine.device == "cuda" else 0.0)


def fits(case: Case, config: Any, family: Family, limit: float) -> bool:
    pieces = [piece for piece in case.material.pieces if piece.seconds <= limit]
    return peak(config, family, ladder(pieces), 1, limit) <= room(case.machine)


Ladder = list[tuple[int, int]]  # whole seconds -> most tokens of a clip up to that long


def ladder(pieces: list[PlanClip]) -> Ladder:
    tokens: dict[int, int] = {}
    for piece in pieces:
        length = max(1, math.ceil(piece.seconds))
        tokens[length] = max(tokens.get(length, 1), piece.tokens)
    lengths = sorted(tokens)
    return list(zip(lengths, accumulate((tokens[length] for length in lengths), max), strict=True))


def peak(config: Any, family: Family, lengths: Ladder, clips: int, seconds: float) -> float:
    """Bytes of the worst batch under these limits."""
    assert family.advice is not None
    memory = family.advice.memory
    return max(
        (
            memory(config, clips=max(1, min(clips, int(seconds / length))), seconds=float(length), tokens=tokens)
            for length, tokens in lengths
        ),
        default=0.0,
    )


def largest(case: Case, config: Any, family: Family, pieces: list[PlanClip], target: int, usual: float) -> int:
    """The most clips at a time that fit, of those that share the batch evenly."""
    lengths, longest = ladder(pieces), max(piece.seconds for piece in pieces)
    for parts in range(1, target + 1):
        clips = math.ceil(target / parts)
        if peak(config, family, lengths, clips, max(clips * usual, longest)) <= room(case.machine):
            return clips
    return 1


WIDTH = 116
SECTIONS = ("data", "model", "plan", "guards", "voice")


def plan_head(name: str, made: Plan, case: Case, command: str, measured: dict[str, Any]) -> list[str]:
    """What stands above a plan: for what and for which machine it was made, and what it will take."""
    material, machine = case.material, case.machine
    speakers = many(material.speakers, "speaker")
    held = {one.key: one.value for one in made.settings}.get("data.hold_back")
    judged = f"{held:.0%} of them are held back" if held else many(material.valid, "clip")
    rates = ", ".join(f"{count} at {rate} Hz" for rate, count in sorted(material.rates.items()))
    lines = [
        f"Planned by 'olu plan' for {name}: edit what you like, it is kept. Above every setting is its reason.",
        f"{many(len(material.pieces), 'clip')} to train on, {length(3600 * material.hours)}, {speakers},"
        f" {material.language}; {rates}; {judged} for validation.",
        f"Machine: {machine.name}, {machine.memory / 1e9:.0f} GB, {machine.cores} cores.",
        f"Expected: {length(3600 * made.hours)}, {made.seconds_per_step:.2f} s a step ({made.pace_reason});"
        f" {size(made.bytes_needed)} for the heaviest batch, by prediction in fp32.",
        f"Train with: {command}",
    ]
    if measured.get("memory_measured"):
        lines.insert(4, f"Measured: {size(measured['memory_measured'])} at most with the heaviest batch.")
    return [*lines, *(f"Note: {note}." for note in made.notes)]


def plan_toml(plan: Plan, *, head: Sequence[str]) -> str:
    lines = [*(line for text in head for line in _comment(text)), ""]
    section = ""
    top = [one for one in plan.settings if "." not in one.key]
    inside = [one for one in plan.settings if "." in one.key]
    for one in [*top, *sorted(inside, key=lambda one: SECTIONS.index(one.key.partition(".")[0]))]:
        if (own := one.key.rpartition(".")[0]) != section:
            section = own
            lines += ["", f"[{own}]"]
        lines += _lines(one)
    return "\n".join(lines) + "\n"


def _lines(one: Setting) -> list[str]:
    return [*_comment(one.reason), f"{one.key.rpartition('.')[2]} = {toml_value(one.value)}"]


def _comment(text: str) -> list[str]:
    clean = "".join(letter if letter.isprintable() else " " for letter in text)
    return [f"# {line}" for line in textwrap.wrap(clean, WIDTH, break_long_words=False, break_on_hyphens=False)]


def toml_value(value: Any) -> str:
    """A setting's value as a recipe has it, and as --set takes it."""
    if isinstance(value, dict):
        held = ", ".join(f"{json.dumps(key)} = {toml_value(inner)}" for key, inner in value.items())
        return f"{{ {held} }}" if held else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)

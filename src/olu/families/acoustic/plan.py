"""What is known of training an acoustic model: rates, batches and steps, with where each figure comes from."""

from __future__ import annotations

from typing import Any

from olu.core.words import minutes
from olu.families.acoustic.config import AcousticConfig
from olu.train.plan.facts import OWN_VOCODER, Advice, Case, FamilyOffer, Material, Setting
from olu.train.recipe import EVEN

PARAMETERS = {"tiny": 0.05e6, "base": 4.9e6}
PER_PARAMETER = 20  # bytes: weight, gradient, two moments, average
EDGES = 0.1  # seconds of silence that a clip keeps: a longer one would be a sound to learn
LITTLE_HOURS = 0.5
STEPS = 500  # for an hour, with the root of the hours: pitch, durations and pauses are learnt by heart afterwards
PATIENCE = 3  # validations without a better step
TUNING_RATE, TUNING_STEPS = 3e-4, 1 / 3  # from the weights of a run: that rate, and this share of the steps
CHOSEN = True  # whether a plan takes this family where it suits and nobody names one; else it only says so
SUITED_HOURS = 3.0  # below which it spoke more clearly than VITS of the same minutes: judged up to 2.3 hours
GPU_SECONDS = 0.016  # a step of 48 clips of 6 s on an H200: benchmarks/family_step.py
CPU_SECONDS = {"tiny": 0.001, "base": 0.014}  # a second of speech in a step in fp32, on 2 cores
UNREFINED, HALVED = 0.5, 0.55  # shares of that without the refiner and in bf16


def memory(config: AcousticConfig, *, clips: int, seconds: float, tokens: int) -> float:
    """Bytes at the peak of a step on `clips` clips, padded to the longest."""
    frames = seconds * 16000 / 256
    blocks = config.mean_layers * config.mean_width + config.refiner_layers * config.refiner_width
    per_frame = 9 * blocks + 6 * config.width + 1500
    per_token = (10 * config.near_layers + 22 * config.phrase_layers + 12) * config.width
    squares = 5 * config.phrase_layers * config.heads * tokens**2 + frames * tokens
    return PER_PARAMETER * PARAMETERS[config.size] + 1.2 * 4 * clips * (
        frames * per_frame + tokens * per_token + squares
    )


def _model(case: Case) -> list[Setting]:
    hours = case.material.hours
    even = "Every clip as loud as the others: no text tells how loud its clip is, so that would be learnt by heart."
    edges = "Silence at the ends of clips is cut to what a gap can learn."
    from_scratch = f"From scratch, for any amount of speech; {minutes(3600 * hours)} here."
    rate, why = (TUNING_RATE, "From the weights of a base: a third of the rate.") if case.base else (1e-3, from_scratch)
    plain = "The mean speaks: refining takes half of a step, and has made no voice of ours clearer."
    stop = f"Ends where {PATIENCE} validations in a row are no better: what follows is learnt by heart."
    return [
        Setting("model.learning_rate", rate, why),
        *([Setting("model.refiner_layers", 0, plain)] if case.machine.device == "cpu" and not case.base else []),
        Setting("plan.rates", {}, "Nothing is frozen."),
        Setting("plan.stop_patience", PATIENCE, stop),
        Setting("plan.final_rate", 0.03, "The last steps are small ones."),
        Setting("data.loudness", EVEN, even),
        Setting("data.edges", EDGES, edges),
    ]


def _suits(material: Material) -> FamilyOffer | None:
    if material.hours >= SUITED_HOURS:
        return None
    spoken = minutes(3600 * material.hours)
    sound = "a vocoder of its own" if material.most_seconds >= OWN_VOCODER else "a vocoder that is shared"
    why = (
        f"{spoken} of speech, aligned: an acoustic model is told durations and pitch, learns from less of it, and its"
        f" tones can be seen and moved; {sound} makes it sound."
    )
    return FamilyOffer(why, CHOSEN and material.most_seconds >= OWN_VOCODER)


def _again(config: AcousticConfig, seconds: float) -> list[Setting]:
    steps = TUNING_STEPS * _by_hours(STEPS, seconds / 3600)
    return [
        Setting("model.learning_rate", TUNING_RATE, "From the weights of a run: a third of the rate."),
        Setting("plan.steps", max(1, round(steps / 100) * 100), "From the weights of a run: a third of the steps."),
    ]


def _by_hours(per_hour: float, hours: float) -> float:
    return float(min(max(per_hour * hours**0.5, 0.5 * per_hour), 3 * per_hour))


def _batch(case: Case) -> tuple[int, str]:
    if case.machine.device == "cpu":
        return 16, "16 clips for an update: more make each step of a CPU slower for little gain."
    return 48, "48 clips for an update, as our voices are trained."


def _steps(case: Case, config: Any, together: int) -> tuple[int, str]:
    hours = case.material.hours
    steps = _by_hours(STEPS, hours) * (TUNING_STEPS if case.base else 1)
    said = f"{STEPS:,} for an hour, with the root of the hours ({hours:.2f} h)"
    return max(1, round(steps / 100) * 100), said + ("; a third of them from a base." if case.base else ".")


def _pace(case: Case, config: AcousticConfig, clips: float, seconds: float) -> tuple[float, str]:
    if case.machine.device == "cpu":
        cores = min(8, case.machine.cores) / 2
        said = f"from 2 cores, scaled to {case.machine.cores}; --measure times a step here"
        halved = case.asked("plan.precision") == "bf16"
        share = (1.0 if config.refiner_layers else UNREFINED) * (HALVED if halved else 1.0)
        return clips * seconds * CPU_SECONDS[config.size] * share / cores, said
    return GPU_SECONDS * max(1.0, clips / 48), "measured on an H200; --measure times a step here"


ADVICE = Advice(
    model=_model,
    batch=_batch,
    steps=_steps,
    warmup=lambda case, steps: (min(200, steps // 10), "Attention diverges at the full rate from the start."),
    pace=_pace,
    parameters=lambda config: PARAMETERS[config.size],
    memory=memory,
    suits=_suits,
    again=_again,
    tuning=lambda base: {"learning_rate": TUNING_RATE},
    validations=12,
    schedule=lambda case: ("cosine", "Down in a half wave: the last quiet steps bring most."),
)

"""What is known of training a vocoder: rates, batches and steps, with where each figure comes from."""

from __future__ import annotations

from typing import Any

from olu.core.words import minutes
from olu.families.vocoder.config import BEGINNING, MELS, SIZES, VocoderConfig
from olu.train.plan.facts import Advice, Case, Setting
from olu.train.recipe import EVEN

STEPS, TUNING_STEPS = 4_000, 2_500  # an H200 alone needs 1.4 minutes for the first, 0.9 for the second
TUNING_RATE = 1e-4
LITTLE_SECONDS = 600.0  # below it only the last layers move: the rest would forget what it knows of other voices
LAST_BLOCKS = 2
SECONDS_PER_SEGMENT = {"tiny": 0.01, "small": 0.18}  # 2 cores; 0.35 s of one
GPU_SECONDS = 0.021  # a step of 32 segments on an H200, recorded: benchmarks/family_step.py
SEGMENT_BYTES = 96e6  # of a segment of 64 frames at the peak of a step of `small` on a GPU: 3.0 GiB for 32 of them


def parameters(config: VocoderConfig) -> float:
    """Of generator and discriminators, as they are built."""
    c, bins = config, 257
    block = c.channels * (c.kernel + 1 + 2 + 2 * c.widening * c.channels + c.widening + 2)
    ends = c.channels * (7 * (MELS + 2) + 4 * c.channels + 2 * bins + 5 * bins + 7)
    wide = [1, *c.discriminator_period_channels]
    period = sum(5 * one * two for one, two in zip(wide, [*wide[1:], wide[-1]], strict=True))
    window = c.discriminator_window_channels**2 * (3 * 27 + 9)
    rest = len(c.discriminator_periods) * period + len(c.discriminator_windows) * window
    return float(c.layers * block + ends + rest)


def memory(config: VocoderConfig, *, clips: int, seconds: float, tokens: int) -> float:
    """Bytes at the peak of a step: weights with moments, and what is kept of each segment, however long its clip is."""
    share = config.segment_frames / 64 * (config.channels * config.layers + 2048) / (256 * 8 + 2048)
    return 4 * 4 * parameters(config) + SEGMENT_BYTES * clips * share


def frozen_rates(config_layers: int) -> dict[str, float]:
    """Only the output layers and the last blocks move."""
    still = ["enter", "finer", "hear", "first_norm", *(f"blocks.{at}." for at in range(config_layers - LAST_BLOCKS))]
    return {f"gen.{name}": 0.0 for name in still}


def tuned(layers: int, seconds: float) -> tuple[dict[str, float], str]:
    """plan.rates of a vocoder that begins with another's weights, and why."""
    if seconds >= LITTLE_SECONDS:
        return {}, f"{minutes(seconds)} of sound: enough for all of it to move."
    return frozen_rates(layers), (
        f"{minutes(seconds)} of sound, less than {minutes(LITTLE_SECONDS)}: only the output layers and the last"
        f" {LAST_BLOCKS} blocks move, the rest keeps what it learnt of other voices."
    )


def _model(case: Case) -> list[Setting]:
    base = case.base
    settings = []
    if base:
        settings.append(Setting("model.learning_rate", TUNING_RATE, "A vocoder that can speak has little to learn."))
        said = "As the generator's." if base.has_discriminator else "They start afresh, at the rate of a start."
        rate = TUNING_RATE if base.has_discriminator else VocoderConfig().discriminator_learning_rate
        settings.append(Setting("model.discriminator_learning_rate", rate, said))
        rates, why = tuned(int(base.settings["layers"]), 3600 * case.material.hours)
    else:
        size = case.asked("model.size") or "small"
        if case.asked("model.size") is None:
            settings.append(Setting("model.size", size, "The one size there is; tiny is for tests."))
        rate = SIZES.get(size, {}).get("learning_rate", VocoderConfig().learning_rate)
        settings.append(Setting("model.learning_rate", rate, "From scratch: what 2,500 steps copied a low voice with."))
        rates, why = {}, "Nothing to freeze in new weights."
        if case.material.speakers > 1:
            said = (
                f"{case.material.speakers} speakers: a third of the segments faster or slower, as if there were more."
            )
            settings.append(Setting("model.resampled", 0.33, said))
    even = "The level that every vocoder and acoustic model here is made for."
    settings += [Setting("plan.rates", rates, why), Setting("data.loudness", EVEN, even)]
    if case.asked("plan.schedule") in (None, "cosine", "linear"):
        settings.append(Setting("plan.final_rate", 0.03, "The last steps only settle."))
    return settings


def _batch(case: Case) -> tuple[int, str]:
    return 32, "32 segments of a second for an update, each of a clip drawn by how much sound it has."


def _steps(case: Case, config: Any, together: int) -> tuple[int, str]:
    if case.base:
        return TUNING_STEPS, "A vocoder that can speak learns a voice in this many."
    return STEPS, "2,600 made copies that are hard to tell from the recordings, this many for four speakers."


def _warmup(case: Case, steps: int) -> tuple[int, str]:
    return min(200, steps // 10), "The first gradients of new weights are noisy."


def _pace(case: Case, config: Any, clips: float, seconds: float) -> tuple[float, str]:
    if case.machine.device == "cpu":
        cores = min(8, case.machine.cores) / 2
        said = f"from 2 measured cores, scaled to {case.machine.cores}; --measure times a step here"
        return clips * SECONDS_PER_SEGMENT[config.size] / cores, said
    return GPU_SECONDS * max(1.0, clips / 32), "measured on an H200 with recorded steps; --measure times a step here"


def _again(config: VocoderConfig, seconds: float) -> list[Setting]:
    """A vocoder that goes on from another run's weights, its discriminators too."""
    rates, why = tuned(config.layers, seconds)
    slow = "A vocoder that can speak has little to learn."
    return [
        *(Setting(f"model.{name}", value, "It is past its beginning.") for name, value in BEGINNING.items()),
        Setting("model.learning_rate", TUNING_RATE, slow),
        Setting("model.discriminator_learning_rate", TUNING_RATE, slow),
        Setting("plan.rates", rates, why),
        Setting("plan.steps", TUNING_STEPS, "A vocoder that can speak learns a voice in this many."),
    ]


ADVICE = Advice(
    model=_model,
    batch=_batch,
    steps=_steps,
    warmup=_warmup,
    pace=_pace,
    parameters=parameters,
    memory=memory,
    tuning=lambda base: {**BEGINNING, "learning_rate": TUNING_RATE} if base.has_discriminator else {},
    validations=10,  # steps are short, and a validation takes as long as dozens of them
    again=_again,
    schedule=lambda case: ("cosine", "Down to a small rate at the end: the last steps settle the sound."),
)

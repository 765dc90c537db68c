"""What is known of training VITS: sizes, rates, batches and steps, with where each figure comes from."""

from __future__ import annotations

from math import prod
from typing import Any

from olu.core.words import minutes
from olu.families.vits.config import SIZES, VitsConfig
from olu.train.plan.facts import Advice, Case, Foundation, Material, Setting
from olu.train.recipe import EVEN

# ---- how much memory a batch takes in training, without torch
# Fitted to what autograd keeps for one step in fp32, measured for the sizes small and mms with clips of 2 to 20 s, 13
# to 801 tokens and segments of 4096 and 8192 samples: every measurement is met to 3 %. Two things grow with a clip:
# its frames (posterior encoder and flow) and the square of its tokens (attention). The decoder and the discriminators
# hear one segment of each clip, however long it is.


BYTES = 4  # of a float
PARAMETERS = {"tiny": 0.1e6, "small": 9.3e6, "mms": 83.0e6}  # generator and discriminators
SOURCE_PARAMETERS = {"tiny": 0.2e6, "small": 11.7e6, "mms": 73.8e6}  # with the decoder `source`
PER_PARAMETER = 26  # bytes: weight, gradient, two moments, average, and what normed weights keep
PASSING = 1.2  # times: what the backward pass holds for a moment, and blocks an allocator cannot reuse


def memory(config: VitsConfig, *, clips: int, seconds: float, tokens: int) -> float:
    """Bytes at the peak of a step on `clips` clips, padded to the longest; a GPU driver's own 0.5 GB come on top."""
    frames = seconds * config.sampling_rate / config.hop_length
    per_clip = (
        frames * _per_frame(config)
        + tokens * _per_token(config)
        + tokens**2 * 5 * (config.num_hidden_layers + _source(config)) * config.num_attention_heads
        + config.segment_size * _per_sample(config)
    )
    return PER_PARAMETER * parameters(config) + PASSING * BYTES * clips * per_clip


def parameters(config: VitsConfig) -> float:
    return (SOURCE_PARAMETERS if _source(config) else PARAMETERS)[config.size]


def _source(config: VitsConfig) -> bool:
    return config.decoder == "source"


def _per_frame(c: VitsConfig) -> float:
    layers = c.posterior_encoder_num_wavenet_layers + c.prior_encoder_num_flows * c.prior_encoder_num_wavenet_layers
    return 4.58 * layers * c.hidden_size + 2.28 * c.spectrogram_bins + _source(c) * 11 * c.hidden_size


def _per_token(c: VitsConfig) -> float:
    durations = (
        190 * c.hidden_size if c.use_stochastic_duration_prediction else 17 * c.duration_predictor_filter_channels
    )
    return c.num_hidden_layers * (8 * c.hidden_size + 3 * c.ffn_dim) + durations + _source(c) * 14 * c.hidden_size


def _per_sample(c: VitsConfig) -> float:
    convolutions = 2 * sum(len(dilations) for dilations in c.resblock_dilation_sizes)
    wide = sum(
        c.upsample_initial_channel / 2 ** (stage + 1) * prod(c.upsample_rates[: stage + 1]) / c.hop_length
        for stage in range(len(c.upsample_rates))
    )
    judged = sum(
        channels / c.discriminator_stride ** (place + 1)
        for place, channels in enumerate(c.discriminator_period_channels)
    )
    made = (12 * c.source_layers * c.source_channels + 10_400) / 128 if _source(c) else 2 * convolutions * wide
    return float(made + 10.6 * len(c.discriminator_periods) * judged)


SCRATCH_RATE = 2e-4  # the paper's and MMS'; our 20-minute run from 88 minutes of speech used it too
TUNING_RATE = 2e-5  # finetune-hf-vits, for some 100 clips; ten times more forgets the base
TUNING_HOURS = 0.15  # that 100 clips come to
TUNING_POWER = 0.25  # sixteen times the hours, twice the rate
TUNING_MOST = 1e-4
OTHER_LANGUAGE_RATE = 3e-4  # the best of six, `small`, 13 and 56 minutes: benchmarks/results/rates_h200_202611.md
LITTLE_HOURS = 0.5
SCRATCH_STEPS = {"tiny": 2000, "small": 20_000, "mms": 50_000}  # for an hour; with the root of the hours
SECONDS_PER_CLIP = {"tiny": 0.035, "small": 0.235, "mms": 1.25}  # CPU: benchmarks/results, 2 cores, clips of 3 s
SOURCE_SHARE = 0.7  # of those seconds, with the decoder `source`: `small`, 0.20 against 0.29 s of one core a clip
MMS_GPU_SECONDS = 0.35  # a step of up to 64 clips of 4 s with eager kernels on an H200: bound by launches
PAUSE_SECONDS = 0.15  # Swahili: 1,086 pauses in 663 clips; 46 commas then gave 32 pauses in place of 4
DROPOUTS = ("hidden_dropout", "attention_dropout", "activation_dropout")


def tuning_rate(hours: float) -> float:
    rate = TUNING_RATE * (max(hours, TUNING_HOURS) / TUNING_HOURS) ** TUNING_POWER
    return float(f"{min(TUNING_MOST, rate):.1e}")


def _tuning(base: Foundation, material: Material) -> tuple[float, str]:
    """Within a language little has to move; another one has new symbols, other lengths and another melody."""
    if base.language and base.language != material.language:
        rate, why = (
            OTHER_LANGUAGE_RATE,
            "measured with 13 and 56 minutes: at 2e-5 about twice as many letters stay wrong",
        )
        if base.settings.get("size") != "small":
            rate, why = SCRATCH_RATE, "the published rate of a start; only `small` was measured"
        return rate, (
            f"The base speaks {base.language_name} ({base.language}) and the corpus {material.language}: symbols and"
            f" melody are learnt anew ({why})."
        )
    whose = "" if base.language else " The base does not tell its language: it is taken for the corpus' own."
    return tuning_rate(material.hours), (
        "Fine-tuning within one language: 2e-5 for some 100 clips, rising with the fourth root of the hours;"
        f" {minutes(3600 * material.hours)} here.{whose}"
    )


def _size(case: Case) -> tuple[str, str]:
    machine, hours = case.machine, case.material.hours
    if machine.device == "cpu":
        return "small", "A step of the full network takes five times as long, too long for a CPU."
    needed = memory(VitsConfig(size="mms"), clips=8, seconds=10.0, tokens=300)
    if machine.memory < needed / 0.8:
        return "small", f"The full network wants {needed / 1e9:.0f} GB for 8 clips, more than {machine.name} can spare."
    if hours < LITTLE_HOURS:
        return "small", f"{minutes(3600 * hours)} of speech: little, and a small network learns fewer of them by heart."
    return "mms", f"{machine.name} has room for the full network, and {hours:.1f} hours can fill it."


def _model(case: Case) -> list[Setting]:
    material, base, settings = case.material, case.base, list[Setting]()
    size, why = (base.settings["size"], "The base's own.") if base else _size(case)
    if base is None:  # with one it is not ours to say
        settings.append(Setting("model.size", size, why))
        size = case.asked("model.size") or size
    own = SIZES.get(size, {})
    hours = material.hours
    if base:
        rate, why = _tuning(base, material)
        discriminator, why_rate = (rate, "As the generator's.") if base.has_discriminator else (SCRATCH_RATE, _FRESH)
    elif "learning_rate" in own:
        rate, why = own["learning_rate"], f"What the size {size} learns with; it is for tests, not for voices."
        discriminator, why_rate = own["discriminator_learning_rate"], "Half of that."
    else:
        rate, why = SCRATCH_RATE, "From scratch: the published rate of VITS and MMS, for any amount of data."
        discriminator, why_rate = SCRATCH_RATE, "As the generator's, as published."
    settings += [
        Setting("model.learning_rate", rate, why),
        Setting("model.discriminator_learning_rate", discriminator, why_rate),
    ]
    little = hours < LITTLE_HOURS
    said = (
        f"{minutes(3600 * hours)} of speech: {'little, so twice the usual' if little else 'enough for the usual'} {{}}."
    )
    for name in DROPOUTS:
        what = f"dropout of the text encoder ({name.split('_')[0]})"
        settings.append(Setting(f"model.{name}", 0.2 if little else 0.1, said.format(what)))
    frozen = (
        "Nothing is frozen: a voice sits in every part of the base." if base else "Nothing to freeze in new weights."
    )
    # Amharic clips that differed by 6 dB gave sentences 15 dB apart
    even = "Every clip as loud as the others: no text tells how loud its clip is, so that would be learnt by heart."
    settings += [Setting("plan.rates", {}, frozen), Setting("data.loudness", EVEN, even)]
    if material.aligned:
        heard = "Pauses that the alignment found and no text marks: only at a mark can a voice learn to pause."
        settings.append(Setting("data.pauses", PAUSE_SECONDS, heard))
    return settings


_FRESH = "The base brings no discriminator: a fresh one learns at the rate of a start from scratch."


def _batch(case: Case) -> tuple[int, str]:
    if case.base:
        return 16, "16 clips for an update, as finetune-hf-vits takes."
    if case.machine.device == "cpu":
        return 16, "16 clips for an update: more make each step of a CPU slower for little gain."
    return 48, "48 clips for an update: what our run from 88 minutes of speech learnt to speak with."


def _steps(case: Case, config: Any, together: int) -> tuple[int, str]:
    clips, hours = len(case.material.pieces), case.material.hours
    if case.base:
        steps = _clamp(200 * clips / together, low=1000, high=20_000)
        return steps, f"200 epochs, as finetune-hf-vits takes, but 1,000 to 20,000 steps; {clips:,} clips here."
    per_hour = SCRATCH_STEPS[config.size]
    steps = _clamp(per_hour * hours**0.5, low=0.4 * per_hour, high=5 * per_hour)
    said = (
        f"{per_hour:,} for an hour at size {config.size}, with the root of the hours ({hours:.2f} h), 0.4 to 5 times."
    )
    return steps, said


def _clamp(value: float, *, low: float, high: float) -> int:
    return max(1, round(min(max(value, low), high) / 100) * 100)


def _warmup(case: Case, steps: int) -> tuple[int, str]:
    if case.base:
        return steps // 100, "A hundredth of the run: the first gradients are noisy and must not hurt the base."
    return min(100, steps // 100), "As long as the optimiser's second moment takes to settle (betas 0.99)."


def _pace(case: Case, config: Any, clips: float, seconds: float) -> tuple[float, str]:
    if case.machine.device == "cpu":
        length = 0.7 + 0.1 * seconds  # the decoder hears a segment of each, the rest grows with the clip
        cores = min(8, case.machine.cores) / 2
        said = f"from 2 measured cores, scaled to {case.machine.cores}; --measure times a step here"
        share = SOURCE_SHARE if _source(config) else 1.0
        return share * clips * SECONDS_PER_CLIP[config.size] * length / cores, said
    said = "from an H200, where launches and not arithmetic take the time; --measure times a step here"
    share = 0.5 if config.size == "small" else 1.0
    return share * MMS_GPU_SECONDS * max(1.0, clips / 64), said


ADVICE = Advice(
    model=_model,
    batch=_batch,
    steps=_steps,
    warmup=_warmup,
    pace=_pace,
    parameters=parameters,
    memory=memory,
    sizes=("small", "mms"),
    tuning=lambda base: {"learning_rate": TUNING_RATE, "discriminator_learning_rate": TUNING_RATE},
    fp16=lambda config: config.decoder == "hifigan",  # the other one was never trained so
)

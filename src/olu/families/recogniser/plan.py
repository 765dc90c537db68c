"""What is known of training a recogniser on little speech: sizes, batches, steps and memory, with their reasons.

Memory is fitted to what autograd keeps for one step in fp32, measured for 20 networks of the sizes cpu and gpu with
clips of 4 and 12 s: every measurement is met to 13 %. Attention keeps the square of the frames; some GPU kernels do
without it.
"""

from __future__ import annotations

from typing import Any

from olu.families.recogniser.config import RecogniserConfig
from olu.text.languages import traits
from olu.train.plan.facts import Advice, Case, Setting

# ---- how much memory a batch takes in training, without torch
# Fitted to what autograd keeps for one step in fp32, measured for 20 networks of the sizes cpu and gpu with clips of
# 4 and 12 s: every measurement is met to 13 %. Attention keeps the square of the frames; some GPU kernels do without
# it.


BYTES = 4  # of a float
PER_PARAMETER = 20  # bytes: weight, gradient, two moments and average
PASSING = 1.3  # times: what the backward pass holds for a moment


def parameters(c: RecogniserConfig) -> float:
    """All but the last layer, whose size hangs on the alphabet."""
    width = c.width
    attention = 4 * width**2 if c.heads else 0
    block = 4 * width * c.feed_forward + attention + 3 * width**2 + width * c.kernel
    recurrent = 18 * width**2 * c.recurrent + 2 * width**2 * bool(c.recurrent)
    front = c.channels * (c.mel_bins // 4) * width + 12 * c.channels**2
    return float(c.blocks * block + recurrent + front)


def memory(config: RecogniserConfig, *, clips: int, seconds: float, tokens: int) -> float:
    """Bytes at the peak of a step on `clips` clips, padded to the longest; a GPU driver's own 0.5 GB come on top."""
    c = config
    mel = seconds * c.sampling_rate / c.hop_length
    frames = mel / c.subsample
    front = mel * (0.33 * c.fft_size + 0.63 * c.channels * c.mel_bins)
    attention = 7.2 * c.width + 3.0 * c.heads * frames if c.heads else 0.0
    block = 17.4 * c.width + 5.9 * c.feed_forward + attention
    per_clip = front + frames * (c.blocks * block + 13 * c.width * c.recurrent)
    return PER_PARAMETER * parameters(c) + PASSING * BYTES * clips * per_clip


DENSE = 11.0  # symbols a second from which on four mel frames a frame are too coarse: pauses count too
BATCH_SECONDS = {"cpu": 60, "gpu": 200}
GPU_STEPS = 5000  # 3,600 to 3,900 brought swa to 6.8 % and yor to 9.3 %
CPU_STEPS = 3000  # for an hour; with the root of the hours
GPU_SECONDS = 0.09  # a step on an H200 that trained four at once: bound by launches, so faster alone
CPU_SECONDS = {"tiny": 0.001, "cpu": 0.006, "gpu": 0.03}  # a second of speech in a step, 2 cores


def _model(case: Case) -> list[Setting]:
    machine = case.machine
    size = "cpu" if machine.device == "cpu" else "gpu"
    if case.base:
        size, why = case.base.settings["size"], "The base's."
    else:
        why = f"For {machine.name}."
    settings = [Setting("model.size", size, why)]
    pieces = case.material.pieces
    letters = sum(piece.tokens for piece in pieces) / max(1e-9, sum(piece.seconds for piece in pieces))
    size = case.asked("model.size") or size
    units = case.asked("model.units") or "letters"
    symbols = letters * traits(case.material.language).symbols_per_letter
    fine = symbols > DENSE or (units == "symbols" and machine.device != "cpu")
    subsample = 2 if fine or (case.base and case.base.settings["subsample"] == 2) else 4  # a base keeps its fine frames
    if size != "tiny":
        why = f"{symbols:.0f} symbols a second of speech, as {units}: {10 * subsample} ms a frame."
        settings.append(Setting("model.subsample", subsample, why))
    subsample = case.asked("model.subsample") or subsample
    if size == "gpu" and subsample == 2 and not case.base:
        settings += [
            Setting("model.kernel", 31, "Frames of half the length: as much sound as 15 of the others."),
            Setting("model.dropout", 0.15, "With 0.25 and a kernel of 15 such a recogniser did not begin to hear."),
        ]
    return [
        *settings,
        _held_back(case),
        Setting("data.valid_clips", 200, "Enough for a figure to half a percent; hearing them takes seconds."),
        Setting("plan.final_rate", 0.02, "The last steps are small ones."),
        Setting("plan.rates", {}, "Nothing is frozen."),
    ]


def _held_back(case: Case) -> Setting:
    if case.asked("data.everything"):
        return Setting("data.hold_back", 0.0, "It is to learn from everything (data.everything): nothing is held back.")
    return Setting("data.hold_back", 0.1, "A tenth of the training clips, by hash, tells how well it hears.")


def _batch(case: Case) -> tuple[int, str]:
    pieces = case.material.pieces
    mean = sum(piece.seconds for piece in pieces) / len(pieces)
    seconds = BATCH_SECONDS["cpu" if case.machine.device == "cpu" else "gpu"]
    clips = int(min(32, max(4, round(seconds / mean))))
    return clips, f"{seconds} s of speech make an update, clips of {mean:.1f} s on average."


def _steps(case: Case, config: Any, together: int) -> tuple[int, str]:
    hours = case.material.hours
    if case.machine.device == "cpu":
        steps = _clamp(CPU_STEPS * hours**0.5, low=500, high=8000)
        return steps, f"{CPU_STEPS:,} for an hour, with the root of the hours ({hours:.2f} h)."
    steps = _clamp(GPU_STEPS * (hours / 2) ** 0.5, low=2000, high=30_000)
    return steps, f"{GPU_STEPS:,} for two hours, with the root of the hours ({hours:.2f} h)."


def _clamp(value: float, *, low: float, high: float) -> int:
    return max(1, round(min(max(value, low), high) / 100) * 100)


def _warmup(case: Case, steps: int) -> tuple[int, str]:
    return min(1000, steps // 10), "A tenth of the run: attention diverges at the full rate from the start."


def _pace(case: Case, config: RecogniserConfig, clips: float, seconds: float) -> tuple[float, str]:
    if case.machine.device == "cpu":
        cores = min(8, case.machine.cores) / 2
        said = f"from 2 measured cores, scaled to {case.machine.cores}; --measure times a step here"
        return clips * seconds * CPU_SECONDS[config.size] / cores, said
    return GPU_SECONDS, "from an H200 that trained four at once, so rather less; --measure times a step here"


def _schedule(case: Case) -> tuple[str, str]:
    return "cosine", "Down in a half wave: the last quiet steps bring most."


ADVICE = Advice(
    model=_model,
    batch=_batch,
    steps=_steps,
    warmup=_warmup,
    pace=_pace,
    parameters=parameters,
    memory=memory,
    schedule=_schedule,
)

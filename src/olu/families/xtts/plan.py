"""What is known of training XTTS: rates by hours of speech with where each comes from, memory, disk and time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from olu.core.words import length, size
from olu.families.xtts.config import CODE_SAMPLES, RATE, XttsConfig
from olu.text.pieces import tag_of
from olu.train.plan.facts import Advice, Case, Setting

FLOAT = 4
PER_MOVED = 16  # bytes of a weight that learns: itself, its gradient and two moments
PER_BLOCK = 32  # numbers that autograd keeps for a row, a block and a channel: measured at 30 x 1024
PROMPT_BYTES = 0.4e9  # that the conditioning encoder keeps for a clip at 1024 channels and six blocks
FLOPS = 6  # of a weight and a row, to and fro
SPEED = {"cuda": 1.3e14, "mps": 5e12, "cpu": 1.5e10}  # a second; of a CPU for each core. Measured on an H200 alone
RECOMPUTED = 1.5  # with gradient checkpointing, as measured there
LONGEST = 11.6  # seconds of a clip that the published weights were trained with
HELD_STEPS = 300  # in which only the tables of text move, while new rows settle
ROWS_FASTER = 10.0
SCRATCH_RATE, SCRATCH_STEPS = 2e-4, 24_000
SHARES = (1 / 6, 2 / 3)  # of the steps from scratch: when the codes are learnt, and when the decoder begins


@dataclass(frozen=True)
class Advised:
    """A row of the table of rates."""

    hours: float  # below which it holds
    rate: float
    clips: int
    epochs: int
    source: str


KNOWN = (
    Advised(1.0, 5e-6, 16, 10, "the public demo and xtts-finetune-webui: 5e-6, at most 10 epochs, stop by ear"),
    Advised(1e9, 5e-6, 32, 8, "the public recipe: 5e-6, constant"),
)
NEW = (
    Advised(1.0, 5e-6, 16, 20, "nobody reports success with so little of a new language; ours, untested"),
    Advised(10.0, 5e-6, 32, 15, "ours, untested: expect an accent, perhaps failure"),
    Advised(50.0, 5e-6, 32, 8, "XTTSv2-Finetuning-for-New-Languages #4: 50 hours the least for a dialect; 1e-5 may do"),
    Advised(1e9, 5e-6, 64, 5, "the same, #18 and #46: 100 hours, some dozens of people, 5e-6; #28: 1e-5 got worse"),
)


OWN = Advised(1e9, 1e-4, 64, 0, "a run of ours as the base: half the rate it was trained with, untested")
OWN_STEPS, OWN_SHARE = 6000, 2 / 3  # from a run of ours; the share after which the decoder learns the new speakers


def is_new(case: Case) -> bool:
    """Whether the base does not speak the corpus' language."""
    return case.base is not None and tag_of(case.material.language) not in case.base.languages


def is_published(case: Case) -> bool:
    """Whether the base is of the published size; else it is a run of ours."""
    return case.base is not None and case.base.settings.get("size") == "v2"


def advised(case: Case) -> Advised:
    if not is_published(case):
        return OWN
    return next(row for row in (NEW if is_new(case) else KNOWN) if case.material.hours < row.hours)


# ---------------------------------------------------------------- sizes, without torch


def weights(c: XttsConfig, *, tokens: int = 6681) -> dict[str, float]:
    """How many numbers each network has, by name."""
    d, inner = c.width, int(c.width * 8 / 3)
    block = 12 * d * d + 13 * d
    heads = c.perceiver_heads * c.perceiver_head_width
    conditioning = 81 * d + c.conditioning_layers * (4 * d * d + 6 * d)
    perceiver = c.prompt_rows * d + c.perceiver_layers * (4 * d * heads + 3 * d * inner + 2 * inner + d) + d
    tables = (2 * tokens + 2 * (c.codes + 2) + c.text_places + c.code_places) * d + tokens + c.codes + 2
    full, half = 2 * c.dvae_width, c.dvae_width
    dvae = 2 * c.dvae_blocks * 7 * full * full + 2 * c.code_width * full + 3 * (full * full + 2 * half * full)
    decoder = 7 * d * c.decoder_width + 53 * c.decoder_width**2
    encoder = 8.05e6 if c.speakers == "encoder" else 0.0
    gpt = c.layers * block + 4 * d + conditioning + perceiver + tables
    return {"gpt": gpt, "dvae": dvae, "decoder": decoder + encoder, "text": 2.0 * tokens * d}


def moved(c: XttsConfig) -> float:
    """How many numbers learn at once."""
    sizes = weights(c)
    adapters = 16 * c.width * c.lora_rank * c.layers
    return adapters + sizes["text"] if c.lora_rank else max(sizes["gpt"], sizes["decoder"] if c.decoder_from else 0.0)


def memory(config: XttsConfig, *, clips: int, seconds: float, tokens: int) -> float:
    """Bytes at the peak of a step in fp32; bf16 takes about half of what is not fixed."""
    c, sizes = config, weights(config)
    whole = sum(sizes[name] for name in ("gpt", "dvae", "decoder"))
    copies = PER_MOVED + (FLOAT if c.average else 0)
    fixed = copies * moved(c) + FLOAT * (whole - (0 if c.lora_rank else moved(c)))
    rows = c.prompt_rows + tokens + seconds * RATE / CODE_SAMPLES
    a_block, blocks = PER_BLOCK * c.width, (1 if c.gradient_checkpointing else c.layers)
    between = c.layers * c.width if c.gradient_checkpointing else 0
    prompt = PROMPT_BYTES * (c.width / 1024) * (c.conditioning_layers / 6) * c.prompt_seconds[1] / 6
    return fixed + clips * (FLOAT * rows * (blocks * a_block + between) + prompt)


def saved(c: XttsConfig) -> float:
    """Bytes of a checkpoint: weights and two moments, and the average where there is one; frozen ones lie once."""
    return moved(c) * FLOAT * (4 if c.average else 3)


# ---------------------------------------------------------------- the plan


def _model(case: Case) -> list[Setting]:
    return _tuned(case) if case.base else _scratch(case)


def _scratch(case: Case) -> list[Setting]:
    steps = case.asked("plan.steps") or SCRATCH_STEPS
    first, last = (round(share * steps) for share in SHARES)
    chosen = case.asked("model.size") or "small"
    return [
        Setting("model.size", "small", "Without weights of XTTS v2 a small one of its kind, free of their licence."),
        Setting("model.learning_rate", SCRATCH_RATE if chosen == "small" else 3e-3, "What this size learns with."),
        Setting("model.codes_steps", first, "First its own codes of sound; the transformer learns those."),
        Setting("model.decoder_from", last, "Then its decoder, from what the transformer hears in the true codes."),
        Setting("plan.rates", {}, "Nothing is frozen."),
    ]


def _tuned(case: Case) -> list[Setting]:
    row, new = advised(case), is_new(case)
    hours = f"{length(3600 * case.material.hours)} of a {'new' if new else 'known'} language"
    settings = [
        Setting("model.learning_rate", row.rate, f"{hours}: {row.source}. 'olu train --find-lr' measures."),
        Setting("model.gradient_checkpointing", *_checkpointing(case)),
        Setting("plan.rates", *_rates(new and is_published(case))),
    ]
    if new:
        body = ("gpt.gpt", "gpt.conditioning", "gpt.mel_", "gpt.final_norm")
        why = f"For {HELD_STEPS} steps only the tables of text move: the new rows settle before they can hurt the rest."
        settings.append(Setting("plan.late", dict.fromkeys(body, HELD_STEPS), why))
    assert case.base is not None
    if case.base.settings.get("speakers") == "table":
        last = round(OWN_SHARE * (case.asked("plan.steps") or OWN_STEPS)) or 1
        settings.append(
            Setting("model.decoder_from", last, "New speakers have rows in the decoder: it learns them last.")
        )
    return settings


def _rates(new: bool) -> tuple[dict[str, float], str]:
    if not new:
        return {}, "Nothing is frozen."
    faster = dict.fromkeys(("gpt.text_embedding", "gpt.text_head"), ROWS_FASTER)
    return faster, f"The tables of text, where the new rows are, at {ROWS_FASTER:g} times the rate (ours, untested)."


def _checkpointing(case: Case) -> tuple[bool, str]:
    assert case.base is not None
    config = XttsConfig(**case.base.settings)
    needed = memory(config, clips=4, seconds=10.0, tokens=150)
    if case.machine.device == "cuda" and needed > 0.8 * case.machine.memory:
        return (
            True,
            f"Four clips want {needed / 1e9:.0f} GB otherwise: half as much time more, a tenth of their memory.",
        )
    return False, "There is memory enough without."


def _batch(case: Case) -> tuple[int, str]:
    if case.base is None:
        return (64, "64 clips for an update.") if case.machine.device != "cpu" else (8, "8 clips: a CPU is slow.")
    row = advised(case)
    said = "maintainers of the public code trained with 8, its recipe asks for 252, others take 32"
    return row.clips, f"{row.clips} clips for an update: {said if is_published(case) else 'as from scratch'}."


def _steps(case: Case, config: Any, together: int) -> tuple[int, str]:
    if case.base is None:
        return (
            SCRATCH_STEPS,
            "4,000 for codes, 12,000 for the transformer, 8,000 for the decoder: reckoned, not proved.",
        )
    if not is_published(case):
        return OWN_STEPS, "4,000 for the transformer, 2,000 for the decoder: reckoned, not proved."
    row, clips = advised(case), len(case.material.pieces)
    steps = max(2 * HELD_STEPS if is_new(case) else 1, round(row.epochs * clips / together))
    return steps, f"{row.epochs} epochs of {clips:,} clips, {together} at a time; the best step is chosen by ear."


def _pace(case: Case, config: XttsConfig, clips: float, seconds: float) -> tuple[float, str]:
    device = case.machine.device
    speed = SPEED[device] * (case.machine.cores if device == "cpu" else 1)
    rows = config.prompt_rows + 15 * seconds + seconds * RATE / CODE_SAMPLES
    again = RECOMPUTED if config.gradient_checkpointing else 1.0
    work = FLOPS * weights(config)["gpt"] * rows * clips * again
    large = ", as fast as an H200 is with the published size" if device == "cuda" else ""
    return work / speed, f"reckoned from its size{large}, not measured here; --measure times a step"


def _longest(case: Case) -> tuple[float, str]:
    if not is_published(case):
        return 20.0, "Places for codes end at 28 s."
    return LONGEST, "The published weights learnt from clips up to 11.6 s, and know no places beyond."


def _notes(case: Case, config: XttsConfig) -> list[str]:
    if case.base is None:
        return []
    notes = [f"a checkpoint takes {size(saved(config))} of disk; three have to fit: the newest, the best, the next"]
    if case.base.licence.non_commercial:
        notes.append(f"NON-COMMERCIAL: {case.base.licence.name} holds for the voice and for what it says")
    if is_published(case) and is_new(case) and case.material.hours < 10:
        spoken = f"{length(3600 * case.material.hours)} of a language the base does not speak"
        notes.append(f"{spoken}: nobody reports success with less than 50 hours; a VITS of your own may be clearer")
    return notes


ADVICE = Advice(
    model=_model,
    batch=_batch,
    steps=_steps,
    warmup=lambda case, steps: (min(100, steps // 20), "The first gradients are noisy."),
    pace=_pace,
    parameters=moved,
    memory=memory,
    tuning=lambda base: {"learning_rate": KNOWN[0].rate if base.settings["size"] == "v2" else OWN.rate},
    schedule=lambda case: (
        ("constant", "Constant, as published: nothing better is known.")
        if case.base
        else ("constant", "Three parts learn one after the other, each at its own rate.")
    ),
    validations=20,
    longest=_longest,
    saved=saved,
    notes=_notes,
)

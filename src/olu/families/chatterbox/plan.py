"""What is known of training T3: rates by hours of speech, memory, disk and time."""

from __future__ import annotations

from typing import Any

from olu.core.words import length, size
from olu.families.chatterbox.config import CODE_SAMPLES, RATE, TEXT_IDS, ChatterboxConfig
from olu.text.pieces import tag_of
from olu.train.plan.facts import Advice, Case, Setting

FLOAT = 4
PER_MOVED = 16  # bytes of a weight that learns: itself, its gradient and two moments
PER_BLOCK = 34  # numbers that autograd keeps for a row, a block and a channel of the width: reckoned
FLOPS = 6  # of a weight and a row, to and fro
# A second; of a CPU for each core. Of a GPU as an H200 did it in bf16 (1.36e14), the others reckoned.
SPEED = {"cuda": 1.3e14, "mps": 5e12, "cpu": 1.5e10}
RECOMPUTED = 1.38  # with gradient checkpointing, measured there
ADAPTED = 1.26  # with adapters: two thin products beside each matrix cost more than the gradients they save
HALF = 2  # bytes of a weight's copy in bf16
FROZEN = {"multilingual": 265.3e6, "tiny": 0.5e6}  # numbers of S3Gen and the voice encoder
BATCH_SECONDS = 160.0  # of speech for an update
LONGEST = 30.0  # seconds: beyond, the tokenizer cuts and joins
FEW_HOURS, FEW_RATE, RATE_OF_MORE = 2.0, 1e-5, 2e-5
LATE = 0.1  # of the steps, in which only the tables of text move
LARGE_CARD = 16e9
SOURCES = "public scripts: 5e-5 and 2e-5 (stlohrey, gokhaneraslan, davidbrowne17); ours is lower, untested on weights"


def is_new(case: Case) -> bool:
    """Whether the base does not speak the corpus' language."""
    return case.base is not None and tag_of(case.material.language) not in case.base.languages


# ---------------------------------------------------------------- sizes, without torch


def weights(c: ChatterboxConfig) -> dict[str, float]:
    """How many numbers each part of T3 has, by name; `frozen` are those that never move."""
    d = c.width
    block = 4 * d * d + 3 * d * c.inner + 2 * d if c.backbone == "llama" else 12 * d * d + 13 * d
    places = (c.text_places + c.code_places) * d if c.backbone == "llama" else 8196 * d
    unread = 0 if c.backbone == "llama" or c.size == "tiny" else TEXT_IDS["gpt2"] * d
    perceiver = c.prompt_rows * d + 4 * d * d + 6 * d if c.prompt_rows else 0
    condition = c.voice_width * d + d + (d if c.emotion else 0) + perceiver
    body = c.layers * block + d
    return {
        "body": float(body),
        "text": 2.0 * text_ids(c) * d,
        "speech": 2.0 * c.speech_ids * d,
        "places": float(places),
        "condition": float(condition),
        "frozen": FROZEN["tiny" if c.size == "tiny" else "multilingual"] + unread,
    }


def text_ids(c: ChatterboxConfig) -> int:
    return TEXT_IDS["llama" if c.size == "tiny" else c.backbone]


def moved(c: ChatterboxConfig) -> float:
    """How many numbers learn."""
    sizes = weights(c)
    if c.lora_rank:
        each = 8 * c.width + 3 * (c.width + c.inner) if c.backbone == "llama" else 16 * c.width
        return each * c.lora_rank * c.layers + sizes["text"]
    still = sizes["condition"] if "cond_enc" in c.held else 0.0
    still += sizes["speech"] / 2 * sum(one in c.held for one in ("speech_emb", "speech_head"))
    if c.backbone == "llama":  # the places of a GPT-2 are within its body
        still += sum(
            count * c.width
            for name, count in (("text_pos_emb", c.text_places), ("speech_pos_emb", c.code_places))
            if name in c.held
        )
    return sum(sizes[name] for name in ("body", "text", "speech", "places", "condition")) - still


def memory(config: ChatterboxConfig, *, clips: int, seconds: float, tokens: int) -> float:
    """Bytes at the peak of a step in fp32; bf16 takes about half of what is not fixed."""
    c, sizes = config, weights(config)
    learns = moved(c)
    fixed = (PER_MOVED + (FLOAT if c.average else 0)) * learns + FLOAT * (sum(sizes.values()) - learns)
    fixed += HALF * (sum(sizes.values()) - sizes["frozen"])
    rows = c.condition_rows + tokens + seconds * RATE / CODE_SAMPLES
    blocks, between = (1, c.layers * c.width) if c.gradient_checkpointing else (c.layers, 0)
    heads = tokens * text_ids(c) + seconds * RATE / CODE_SAMPLES * c.speech_ids
    return fixed + clips * FLOAT * (rows * (blocks * PER_BLOCK * c.width + between) + 3 * heads)


def saved(c: ChatterboxConfig) -> float:
    """Bytes of a checkpoint: weights and two moments, and the average where there is one; frozen ones lie once."""
    return moved(c) * FLOAT * (4 if c.average else 3)


# ---------------------------------------------------------------- the plan


def _model(case: Case) -> list[Setting]:
    if case.base is None:
        return [Setting("model.size", "tiny", "Without weights of Chatterbox only toys can be learnt.")]
    few = case.material.hours < FEW_HOURS
    rate = FEW_RATE if few else RATE_OF_MORE
    hours = f"{length(3600 * case.material.hours)} of a {'new' if is_new(case) else 'known'} language"
    settings = [
        Setting("model.learning_rate", rate, f"{hours}; {SOURCES}. 'olu train --find-lr' measures."),
        Setting("model.lora_rank", *_lora(case)),
        Setting("model.gradient_checkpointing", *_checkpointing(case)),
    ]
    settings.append(Setting("plan.rates", {}, "model.held and model.text_rate say what is held and what is faster."))
    if is_new(case):
        steps = round(LATE * (case.asked("plan.steps") or _usual_steps(case, _together(case))))
        why = f"For the first {steps} steps only the tables of text move: the new rows settle before they can hurt."
        settings.append(Setting("plan.late", {"t3.tfmr": steps}, why))
    return settings


def _lora(case: Case) -> tuple[int, str]:
    if case.machine.device == "cuda" and case.machine.memory < LARGE_CARD:
        return 32, "This card has no room for all of T3: adapters of rank 32, which are merged at export."
    return 0, "All of T3 learns."


def _checkpointing(case: Case) -> tuple[bool, str]:
    assert case.base is not None
    needed = memory(ChatterboxConfig(**case.base.settings), clips=8, seconds=8.0, tokens=120)
    if case.machine.device == "cuda" and needed > 0.8 * case.machine.memory:
        return True, f"Eight clips want {needed / 1e9:.0f} GB otherwise: a third more time, a tenth of their memory."
    return False, "There is memory enough without."


def _together(case: Case) -> int:
    mean = 3600 * case.material.hours / max(1, len(case.material.pieces))
    return max(2, round(BATCH_SECONDS / max(1.0, mean)))


def _batch(case: Case) -> tuple[int, str]:
    if case.base is None:
        return 8, "8 clips: a toy."
    clips = _together(case)
    return (
        clips,
        f"{clips} clips, about {BATCH_SECONDS:.0f} s of speech, for an update (public scripts: 8 to 96 clips).",
    )


def _epochs(case: Case) -> int:
    return 10 if case.material.hours < FEW_HOURS else 6


def _usual_steps(case: Case, together: int) -> int:
    return max(20, round(_epochs(case) * len(case.material.pieces) / together))


def _steps(case: Case, config: Any, together: int) -> tuple[int, str]:
    if case.base is None:
        return 2000, "Enough for a toy."
    steps, clips = _usual_steps(case, together), len(case.material.pieces)
    return steps, f"{_epochs(case)} epochs of {clips:,} clips, {together} at a time; the best step is chosen by ear."


def _pace(case: Case, config: ChatterboxConfig, clips: float, seconds: float) -> tuple[float, str]:
    device = case.machine.device
    speed = SPEED[device] * (case.machine.cores if device == "cpu" else 1)
    rows = config.condition_rows + 12 * seconds + seconds * RATE / CODE_SAMPLES
    again = (RECOMPUTED if config.gradient_checkpointing else 1.0) * (ADAPTED if config.lora_rank else 1.0)
    work = FLOPS * weights(config)["body"] * rows * clips * again
    known = " and what an H200 took" if device == "cuda" else ""
    return work / speed, f"reckoned from its size{known}; --measure times a step here"


def _notes(case: Case, config: ChatterboxConfig) -> list[str]:
    if case.base is None:
        return ["without --base only the size 'tiny' can learn, which is a toy: name a folder of Chatterbox"]
    notes = [
        f"a checkpoint takes {size(saved(config))} of disk, and the frozen networks"
        f" {size(FLOAT * weights(config)['frozen'])} once; three checkpoints have to fit: newest, best, next"
    ]
    if config.size == "english" and case.material.language != "eng":
        notes.append("the English Chatterbox has heard one language: the multilingual one knows most letters already")
    if config.backbone == "gpt2" and case.material.language != "eng":
        notes.append(
            "Turbo and Nano have heard English alone, and cut other letters into bytes: to learn a language the"
            " multilingual Chatterbox is the better base, and these are for the speed"
        )
    if case.base.licence.non_commercial:
        notes.append(f"NON-COMMERCIAL: {case.base.licence.name} holds for the voice and for what it says")
    if is_new(case) and case.material.hours < 1:
        notes.append(f"{length(3600 * case.material.hours)} of a language the base does not speak: expect an accent")
    return notes


ADVICE = Advice(
    model=_model,
    batch=_batch,
    steps=_steps,
    warmup=lambda case, steps: (min(200, steps // 10), "The first gradients are noisy."),
    pace=_pace,
    parameters=moved,
    memory=memory,
    tuning=lambda base: {"learning_rate": FEW_RATE if base.settings["size"] != "tiny" else 1.5e-3},
    schedule=lambda case: ("cosine", "Falls to a tenth: what was learnt last settles."),
    validations=20,
    longest=lambda case: (LONGEST, "The tokenizer cuts and joins longer clips, and its codes differ there."),
    saved=saved,
    notes=_notes,
)

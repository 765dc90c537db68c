"""A run of Chatterbox as a voice: its knobs, its speakers heard from chosen recordings, the graphs it is written as."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.core.errors import ExportError
from olu.core.types import Audio, Knob
from olu.families.chatterbox.config import CODE_SAMPLES, RATE, ChatterboxConfig

if TYPE_CHECKING:
    from olu.families.chatterbox.export import VoiceReference
    from olu.families.chatterbox.heads import KnownClip
    from olu.families.chatterbox.learn import ChatterboxLearner

FLOW_SECONDS = 4.0  # of a reference: all frames look at it, and ten would take more than twice as long
PACE = 3.0  # times the usual codes a token, after which a sentence is over
FLOOR = 0.5  # of the fewest codes a token that were heard, before which no stop is taken
LONGEST_SECONDS = 20.0  # of a sentence: longer ones are cut at their commas
MOST_SILENCE = 64  # codes that are listed as silence
MARK = "perth"


def knobs(config: ChatterboxConfig) -> tuple[Knob, ...]:
    """A control that does nothing for a base is none of its voice's: Turbo and Nano were taught no guidance."""
    own = [
        Knob("temperature", config.temperature, 0.0, 2.0, "how freely codes are drawn; 0: always the likeliest"),
        Knob("top_k", config.top_k, 0, config.codes, "codes that are drawn from; 0: all"),
        Knob("top_p", config.top_p, 0.01, 1.0, "how much of what is likely they make up together"),
        Knob("min_p", config.min_p, 0.0, 1.0, "how likely a code must be, beside the likeliest"),
        Knob("repetition_penalty", config.repetition_penalty, 1.0, 50.0, "against codes that came before"),
        Knob("penalty_window", 0, 0, 10_000, "how many codes back that looks; 0: all"),
    ]
    if config.unconditional > 0 or config.guidance > 0:
        own.append(Knob("guidance", config.guidance, 0.0, 10.0, "how much the text is kept to; 0: as it comes"))
    if config.emotion:
        own.append(Knob("exaggeration", config.exaggeration, 0.0, 2.0, "how lively; the recordings are taken as 0.5"))
    return (*own, Knob("guards", 1, 0, 1, "0: nothing is done against loops, silence and strange ends"))


def export(learner: Any, *, folder: Path, bits: int = 8, watermark: bool | None = None) -> dict[str, Any]:
    """Write the graphs and arrays of a run; returns what voice.json keeps of them.

    `watermark` None: where there are published weights in it.
    """
    from olu.families.chatterbox.export import write_voice
    from olu.families.chatterbox.heads import follow_rules

    own = merged(learner)
    figures, seconds = own.figures, CODE_SAMPLES / RATE
    usual = figures.usual_codes_per_token or figures.codes_per_token / 2
    most_tokens = round(LONGEST_SECONDS / seconds / max(usual, 0.1))
    facts = write_voice(
        own.t3,
        own.s3gen.flow,
        own.s3gen.mel2wav,
        folder,
        references=[reference_of(own, speaker) for speaker in range(own.num_speakers)],
        rules={
            "least": round(FLOOR * figures.least_codes_per_token, 3),
            "most": round(PACE * usual, 3),
            "usual": round(usual, 3),
        },
        bits=bits,
        follow=follow_rules(own.t3, known_clips(own)),
        silence=silence_codes(own)[:MOST_SILENCE],
        most_tokens=min(most_tokens, figures.longest_tokens or most_tokens),
    )
    marked = own.config.size != "tiny" if watermark is None else watermark
    return {**facts, "watermark": _marked(folder) if marked else None}


def _marked(folder: Path) -> str:
    from olu.networks import perth

    if perth.weights_file() is None:
        raise ExportError(
            f"the watermark's network is not here: install it with 'pip install {perth.PACKAGE}', or export with"
            " --no-watermark"
        )
    perth.write_graph(folder / "watermark.onnx")
    return MARK


def merged(learner: ChatterboxLearner) -> ChatterboxLearner:
    """The networks as they speak: adapters, where there are any, in their matrices."""
    from olu.nn.lora import is_lora, merge_lora

    adapted = any(is_lora(name) for name, _ in learner.t3.named_parameters())
    own = deepcopy(learner) if adapted else learner
    if adapted:
        merge_lora(own.t3)
    own.cpu().float().eval()
    return own


def reference_of(learner: ChatterboxLearner, speaker: int) -> VoiceReference:
    """What is stored of a speaker, of the recordings that `olu train` chose."""
    import torch

    from olu.families.chatterbox.export import VoiceReference

    waves = learner.references.get(speaker)
    if not waves:
        raise ExportError(
            "no recording of a speaker is at hand to hear the voice from: prepare the corpus again ('olu prepare')"
        )
    with torch.no_grad():
        sound = learner.s3gen.heard(waves[0], seconds=FLOW_SECONDS)
        told = learner.s3gen.flow.speaker(sound.vector_G[None])[0]
        return VoiceReference(learner.heard(waves)[0], sound.codes_P, sound.mel_FM, told)


def known_clips(learner: ChatterboxLearner) -> list[KnownClip]:
    """Clips whose codes the run kept, as T3 is told them when it speaks."""
    import torch

    from olu.families.chatterbox.heads import KnownClip

    c, heard, found = learner.config, dict[int, Any](), []
    for one in learner.figures.known:
        speaker = one["speaker"]
        if speaker not in heard and learner.references.get(speaker):
            heard[speaker] = learner.heard(learner.references[speaker])[0]
        if speaker in heard:
            ids = [c.text_start, *one["ids"], c.text_stop] if c.text_bounds else one["ids"]
            clip = KnownClip(heard[speaker], torch.tensor(ids), torch.tensor(one["codes"]), bounded=c.text_bounds)
            found.append(clip)
    return found


def silence_codes(learner: ChatterboxLearner) -> list[int]:
    """Codes of stretches of the references in which nothing is heard."""
    import torch

    from olu.train.code_figures import silent_codes

    found = set[int]()
    for waves in learner.references.values():
        for wave in waves:
            if len(wave) >= CODE_SAMPLES:
                codes = learner.s3gen.tokenizer.codes(torch.from_numpy(wave)).tolist()
                found |= set(silent_codes(wave, codes, samples=CODE_SAMPLES))
    return sorted(found)


def resynthesis(learner: Any, audio: Audio, *, speaker: int) -> Audio:
    """A recording as codes, and those in its own voice again: what the frozen decoder loses."""
    import torch

    from olu.audio.io import resample

    own: ChatterboxLearner = learner
    wave = resample(audio, RATE).samples
    codes = own.s3gen.tokenizer.codes(torch.from_numpy(wave).to(own.device)).tolist()
    return own.sounded(codes, wave)

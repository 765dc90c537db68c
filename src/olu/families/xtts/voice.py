"""A run of XTTS as a voice: its speakers heard from chosen recordings, its knobs, and the graphs it is written as."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.core.errors import ExportError
from olu.core.types import Audio, Knob
from olu.families.xtts.config import CODE_SAMPLES, OUT_RATE, RATE, XttsConfig

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from olu.families.xtts.learn import XttsLearner

PROMPT_SECONDS, PIECE_SECONDS, LEAST_SECONDS = 30, 4, 0.33  # of all references together, of a piece, of the last piece
VECTOR_SECONDS = 30  # of each reference
MOST_SILENCE = 64  # codes that are listed as silence
PACE = 1.5


def knobs(config: XttsConfig) -> tuple[Knob, ...]:
    return (
        Knob("temperature", config.temperature, 0.0, 2.0, "how freely codes are drawn; 0: always the likeliest"),
        Knob("top_k", config.top_k, 0, config.codes + 2, "codes that are drawn from; 0: all"),
        Knob("top_p", config.top_p, 0.01, 1.0, "how much of what is likely they make up together"),
        Knob("repetition_penalty", config.repetition_penalty, 1.0, 50.0, "against codes that came before"),
        Knob("guards", 1, 0, 1, "0: nothing is done against loops, silence and strange ends"),
    )


def with_knob(config: XttsConfig, name: str, value: float) -> XttsConfig:
    kept = int(value) if name == "top_k" else value
    return config.model_copy(update={name: kept})


def export(learner: Any, *, folder: Path, bits: int = 8, cloning: bool = False) -> dict[str, Any]:
    """Write the graphs and arrays of a run; returns what voice.json keeps of them. `cloning`: it hears others too."""
    import torch

    from olu.families.xtts.export import write_voice

    own = merged(learner)
    heard = [references_of(own, speaker) for speaker in range(own.num_speakers)]
    with torch.no_grad():
        prompts = torch.stack([prompt_rows(own, waves) for waves in heard])
        vectors = torch.stack([speaker_vector(own, speaker, waves) for speaker, waves in enumerate(heard)])
        silence = sorted({code for waves in heard for wave in waves for code in silence_codes(own, wave)})
    hearing = None
    if cloning:
        from olu.families.xtts.hear import write_hearing

        seconds = {"most_seconds": PROMPT_SECONDS, "piece_seconds": PIECE_SECONDS, "least_seconds": LEAST_SECONDS}
        hearing = write_hearing(
            own.gpt, own.hifigan_decoder, own.mel_stats, folder, speakers_SG=vectors, seconds=seconds
        )
    figures = own.figures
    pace = figures.codes_per_token
    usual = figures.usual_codes_per_token or pace / 2
    return write_voice(
        own.gpt,
        own.hifigan_decoder.waveform_decoder,
        folder,
        prompts_SKD=prompts,
        speakers_SG=vectors,
        bits=bits,
        rules={"least": 0.0, "most": round(PACE * pace, 3), "usual": round(usual, 3)},
        silence=silence[:MOST_SILENCE],
        most_tokens=figures.longest_tokens or None,
        hearing=hearing,
    )


def merged(learner: XttsLearner) -> XttsLearner:
    """The networks as they speak: adapters, where there are any, in their matrices."""
    from olu.nn.lora import is_lora, merge_lora

    adapted = any(is_lora(name) for name, _ in learner.gpt.named_parameters())
    own = deepcopy(learner) if adapted else learner
    if adapted:
        merge_lora(own.gpt)
    own.cpu().float().eval()
    return own


def references_of(learner: XttsLearner, speaker: int) -> list[NDArray[np.float32]]:
    """Waves at 22,050 Hz."""
    if waves := learner.references.get(speaker):
        return waves
    raise ExportError(
        "no recording of a speaker is at hand to hear the voice from: prepare the corpus again ('olu prepare')"
    )


def prompt_rows(learner: XttsLearner, waves: Sequence[NDArray[np.float32]]) -> Tensor:
    """[K, D]: the mean of what is heard in pieces of the references, one after the other."""
    import numpy as np
    import torch

    from olu.families.xtts.spectrum import prompt_mel

    whole = np.concatenate(list(waves))[: PROMPT_SECONDS * RATE]
    size = PIECE_SECONDS * RATE
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    kept = [piece for piece in pieces if len(piece) >= LEAST_SECONDS * RATE]
    if not kept:
        raise ExportError(f"the recordings of a speaker are shorter than {LEAST_SECONDS} s together: take longer ones")
    heard = [learner.gpt.condition(prompt_mel(torch.from_numpy(one)[None], learner.mel_stats)) for one in kept]
    return torch.stack(heard).mean(0)[0]


def speaker_vector(learner: XttsLearner, speaker: int, waves: Sequence[NDArray[np.float32]]) -> Tensor:
    """[G]: its row of the table, or the mean of what is heard of each reference."""
    import torch

    from olu.audio.io import resample
    from olu.families.xtts.speaker import RATE as SPEAKER_RATE

    sound: Any = learner.hifigan_decoder
    if learner.config.speakers == "table":
        row: Tensor = sound.speaker_table.weight[speaker]
        return row
    heard = [resample(Audio(one[: VECTOR_SECONDS * RATE], RATE), SPEAKER_RATE).samples for one in waves]
    return torch.stack([sound.speaker_encoder(torch.from_numpy(one)[None])[0] for one in heard]).mean(0)


def silence_codes(learner: XttsLearner, wave: NDArray[np.float32]) -> list[int]:
    """Codes of stretches of a recording in which nothing is heard."""
    import torch

    from olu.train.code_figures import silent_codes

    if len(wave) < CODE_SAMPLES:
        return []
    codes = learner.dvae.codes(torch.from_numpy(wave)[None], learner.mel_stats)[0].tolist()
    return silent_codes(wave, codes, samples=CODE_SAMPLES)


def resynthesis(learner: Any, audio: Audio, *, speaker: int) -> Audio:
    """A recording as codes, and those as latents that were told the true codes, through its own decoder."""
    import torch

    from olu.audio.io import resample
    from olu.families.xtts.decoder import frames_of

    own: XttsLearner = learner
    wave = resample(audio, RATE).samples
    with torch.no_grad():
        device = own.mel_stats.device
        codes = own.dvae.codes(torch.from_numpy(wave)[None].to(device), own.mel_stats)
        c = own.config
        prompt = prompt_rows(own, [wave])[None]
        text = torch.tensor([[c.text_start, c.text_stop]], device=device)
        begun = torch.cat([torch.tensor([[c.start_code]], device=device), codes], dim=1)
        latents = own.gpt(prompt, text, begun)[2][:, : codes.shape[1]]
        vector = speaker_vector(own, speaker, [wave])[None]
        made = own.hifigan_decoder.waveform_decoder(frames_of(latents), vector)[0]
    return Audio(made.float().cpu().numpy(), OUT_RATE)

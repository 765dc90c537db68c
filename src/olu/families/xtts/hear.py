"""What a voice needs to speak like a recording that it is given: the networks that hear a speaker, and their mels."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from olu.core.errors import ExportError
from olu.families.xtts import spectrum
from olu.families.xtts.config import MELS, RATE
from olu.families.xtts.model import Gpt, SoundMaker
from olu.families.xtts.speaker import FFT, HOP, PREEMPHASIS, SpeakerEncoder, SpeakerMel
from olu.families.xtts.speaker import FLOOR as SPEAKER_FLOOR
from olu.families.xtts.speaker import RATE as SPEAKER_RATE
from olu.features.mel import FLOOR, mel_bank
from olu.nn.step_graph import save_arrays

OPSET = 17


class PromptHearing(nn.Module):
    def __init__(self, gpt: Gpt) -> None:
        super().__init__()
        self.gpt = gpt

    def forward(self, mel: Tensor) -> Tensor:
        return self.gpt.condition(mel)


class SpeakerHearing(nn.Module):
    def __init__(self, encoder: SpeakerEncoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, mel: Tensor) -> Tensor:
        return self.encoder.of_mel(mel)


def write_hearing(
    gpt: Gpt, sound: SoundMaker, mel_stats: Tensor, folder: Path, *, speakers_SG: Tensor, seconds: dict[str, float]
) -> dict[str, Any]:
    """The networks and arrays; returns what voice.json says of them. `seconds`: how recordings are taken apart."""
    if gpt.config.speakers != "encoder":
        raise ExportError(
            "--cloning: this voice knows its speakers by a table and cannot hear another: only voices from XTTS v2 can"
        )
    encoder: Any = sound.speaker_encoder
    held: SpeakerMel = encoder.torch_spec[1]
    _write(PromptHearing(gpt), folder / "prompt.onnx", bands=MELS, frames=345, output="rows")
    _write(SpeakerHearing(encoder), folder / "speaker.onnx", bands=held.bank.shape[0], frames=400, output="vector")
    bank = mel_bank(rate=RATE, fft_size=spectrum.PROMPT_FFT, bins=MELS, low=0.0, high=spectrum.HIGH, scale="htk")
    arrays = {
        "prompt_bank": torch.from_numpy(bank),
        "prompt_window": torch.hann_window(spectrum.WINDOW),
        "prompt_scale": mel_stats,
        "speaker_bank": held.bank,
        "speaker_window": held.window,
        "voices": speakers_SG,
    }
    save_arrays(folder, arrays, bits=32)  # small, and quiet bands lie far below loud ones
    plain = {"added": 0.0, "emphasis": 0.0}
    prompt = {"rate": RATE, "fft": spectrum.PROMPT_FFT, "hop": spectrum.HOP, "floor": FLOOR}
    speaker = {"rate": SPEAKER_RATE, "fft": FFT, "hop": HOP, "floor": 0.0, "emphasis": PREEMPHASIS}
    return {"prompt": {**plain, **prompt}, "speaker": {**plain, **speaker, "added": SPEAKER_FLOOR}, **seconds}


def _write(module: nn.Module, path: Path, *, bands: int, frames: int, output: str) -> None:
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.eval(),
            (torch.randn(1, bands, frames),),
            str(path),
            input_names=["mel"],
            output_names=[output],
            dynamic_axes={"mel": {2: "F"}},
            opset_version=OPSET,
            dynamo=False,
        )

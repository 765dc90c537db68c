"""The formats a voice can be written in, in one list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from olu.core.config import did_you_mean
from olu.core.errors import ExportError
from olu.export.checkpoints import write_hf, write_hf_train, write_mms
from olu.export.onnx import write_onnx
from olu.export.piper import write_piper
from olu.export.sherpa import write_sherpa
from olu.export.subject import ExportSubject


@dataclass(frozen=True)
class Format:
    name: str
    what: str
    write: Callable[[ExportSubject, Path], list[str]]  # into a folder; returns what is lost
    also: tuple[str, ...] = ()  # other names it goes by
    trains: bool = False  # whether it holds what judges in training too
    noiseless: str = ""  # why its files cannot hold what noise to speak with


VOICE = "voice"  # the one package that keeps everything; it is written by itself
ORIGINAL = "the original code takes the noise each time it speaks (infer's noise_scale)"
SHERPA = "sherpa-onnx takes the noise each time it speaks (--vits-noise-scale)"
FORMATS = (
    Format("hf", "transformers", write_hf),
    Format("hf-train", "finetune-hf-vits", write_hf_train, also=("hf-training",), trains=True),
    Format("mms", "the original VITS and MMS", write_mms, also=("vits",), trains=True, noiseless=ORIGINAL),
    Format("onnx", "ONNX Runtime, one graph", write_onnx),
    Format("piper", "piper-tts", write_piper),
    Format("sherpa", "sherpa-onnx", write_sherpa, noiseless=SHERPA),
)
NAMES = (VOICE, *(one.name for one in FORMATS))


def format_named(name: str) -> Format:
    for one in FORMATS:
        if name in (one.name, *one.also):
            return one
    raise ExportError(f"cannot export to {name!r}{did_you_mean(name, NAMES)}; there is: {', '.join(NAMES)}")

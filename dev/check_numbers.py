"""What dev/xtts_check.py and dev/chatterbox_check.py share: how they are asked, and how they write numbers."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from olu.core.errors import OluError

SENTENCE = "the quick brown fox jumps over the lazy dog."
CODES = 40  # that are written, always the likeliest
Report = dict[str, Any]


def write(about: str | None, *, longest: int, check: Callable[[argparse.Namespace], Report]) -> Report:
    """Ask the command line, write the report as JSON, and return it; `longest`: seconds of a recording."""
    name = Path(sys.argv[0]).stem
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--wav", type=Path, help=f"a recording of up to {longest} seconds")
    parser.add_argument("--text", default="", help="what is said in it")
    parser.add_argument("--language", default="en", help="the tag of its language")
    parser.add_argument("-o", "--output", type=Path, default=Path(f"{name}.json"))
    asked = parser.parse_args()
    torch.manual_seed(3)  # what makes sound draws noise
    try:
        report = {"machine": f"{platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}"}
        report |= check(asked)
    except OluError as bad:
        raise SystemExit(f"{name}: {bad}") from None
    asked.output.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    say(f"{asked.output}: {asked.output.stat().st_size} bytes of numbers")
    return report


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def spread(value: Tensor) -> dict[str, float]:
    held = value.float()
    return {"mean": rounded(held.mean()), "spread": rounded(held.std()), "largest": rounded(held.abs().max())}


def rounded(value: Any) -> float:
    return float(f"{float(value):.5g}")


def some(value: Tensor) -> list[float]:
    """Eight numbers from all over it."""
    flat = value.flatten()
    return [rounded(flat[at]) for at in torch.linspace(0, len(flat) - 1, 8).long()]


def made_sound(rate: int, seconds: float = 6.0) -> NDArray[np.float32]:
    """Hums that change, with noise; the same on every machine."""
    random, samples = np.random.default_rng(3), round(seconds * rate)
    pitch, loud = (np.repeat(random.random(samples * 12 // rate + 1), rate // 12 + 1)[:samples] for _ in range(2))
    phase = 2 * np.pi * np.cumsum(100 + 200 * pitch) / rate
    wave = 0.2 * loud * sum(np.sin(phase * times) / times for times in (1, 2, 3, 5)) + 0.005 * random.random(samples)
    return np.asarray(wave, np.float32)

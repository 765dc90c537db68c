"""A recogniser for the clips of benchmarks/align.py: trained through the engine on a workspace made for it."""

from __future__ import annotations

import argparse
import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from recogniser import Log, measured, planned, trained, with_steps, workspace

from olu.align.aligner import Item
from olu.audio.io import write
from olu.families.recogniser.recognise import Trained, load
from olu.files import write_text
from olu.stages.train_setup import set_up
from olu.train.run import Run
from olu.types import Audio

__all__ = ["Log", "Named", "train_on", "train_recogniser"]

# A phone is written as one letter, so that a corpus of texts can carry it.
LETTERS = string.ascii_lowercase + "абвгдежзиклмнопрстуфхцчшщыэюя"
SPARE = 0.92  # of the minutes that training may take: the rest is for validation


@dataclass(frozen=True)
class Named:
    """A recogniser of letters that stand for phones, called by the phones again."""

    inner: Trained
    phones: dict[str, str]  # letter -> phone

    @property
    def rate(self) -> int:
        return self.inner.rate

    @property
    def frame_seconds(self) -> float:
        return self.inner.frame_seconds

    @property
    def version(self) -> str:
        return self.inner.version

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(self.phones.get(symbol, symbol) for symbol in self.inner.symbols)

    def log_probs(self, audio: Audio) -> NDArray[np.float32]:
        return self.inner.log_probs(audio)


def train_recogniser(items: Sequence[Item], asked: argparse.Namespace, log: Log) -> Named:
    """On all of the clips: it is to align them, not to be judged."""
    names = sorted({phone for item in items for _, phones in item.words for phone in phones})
    letters = dict(zip(names, LETTERS, strict=False))
    assert len(letters) == len(names) <= len(LETTERS)
    folder = asked.out / "corpus"
    if not (folder / "metadata.csv").exists():
        (folder / "wavs").mkdir(parents=True, exist_ok=True)
        lines = []
        for item in items:
            write(folder / "wavs" / f"{item.id}.wav", item.audio())
            text = " ".join("".join(letters[phone] for phone in phones) for _, phones in item.words)
            lines.append(f"{item.id}|{text}\n")
        write_text(folder / "metadata.csv", "".join(lines))
    found = train_on(folder, asked, log, language="rus", units="symbols")
    return Named(found, {letter: phone for phone, letter in letters.items()})


def train_on(folder: Path, asked: argparse.Namespace, log: Log, *, language: str, units: str) -> Trained:
    """A finished run of the workspace under --out, or a new one of about --minutes."""
    ws = workspace(asked.out / "ws", corpus=folder, language=language)
    done = [run for run in Run.all(ws.runs) if run.finished] if ws.runs.exists() else []
    if done:
        return load(done[-1], language=ws.language, device=asked.device)
    changes = ["data.everything=true", "data.hold_back=0.0", *asked.changes]
    wanted = argparse.Namespace(units=units, changes=changes, steps=None, device=asked.device)
    setup = set_up(ws, planned(ws, wanted), device=asked.device)
    log(setup.describe())
    pace = measured(setup, log)
    setup = with_steps(setup, max(200, int(SPARE * 60 * asked.minutes / pace)))
    run = Run.create(ws.runs, setup.recipe, facts=setup.facts, documents=setup.documents)
    trained(setup, run, log)
    return load(run, language=ws.language, device=asked.device)

"""A recogniser for the clips of benchmarks/align.py: trained through the engine on a workspace made for it."""

from __future__ import annotations

import argparse
import json
import string
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from olu.align.aligner import AlignerClip
from olu.audio.io import write
from olu.core.files import Workspace, write_text
from olu.core.job import Tick, finish
from olu.core.types import Audio
from olu.families.recogniser.config import RecogniserConfig
from olu.families.recogniser.learn import RecogniserLearner
from olu.families.recogniser.recognise import Trained, load
from olu.families.recogniser.text import writing
from olu.stages.import_ import import_source
from olu.stages.read import read_corpus
from olu.stages.train import TrainSummary, train
from olu.train.run import Run

# A phone is written as one letter, so that a corpus of texts can carry it.
LETTERS = string.ascii_lowercase + "абвгдежзиклмнопрстуфхцчшщыэюя"


class Log:
    def __init__(self, path: Path) -> None:
        self.file, self.began = path.open("a", encoding="utf-8"), time.monotonic()

    def __call__(self, text: str) -> None:
        line = f"{time.monotonic() - self.began:7.1f} {text}"
        print(line, flush=True)
        self.file.write(line + "\n")
        self.file.flush()


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


def train_recogniser(items: Sequence[AlignerClip], asked: argparse.Namespace, log: Log) -> Named:
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


def opened(root: Path, folder: Path, *, language: str) -> Workspace:
    """The workspace of a corpus, imported and read."""
    if not (root / "olu.toml").exists():
        finish(import_source(Workspace.create(root, language=language), folder.resolve()))
    ws = Workspace.open(root)
    finish(read_corpus(ws))
    return ws


def from_weights(path: Path, *, language: str, device: str) -> Trained:
    """The recogniser whose weights benchmarks/recogniser.py wrote."""
    with safe_open(path, "pt") as file:
        facts = file.metadata()
        weights = {name: file.get_tensor(name).float() for name in list(file.keys())}
    config = RecogniserConfig.model_validate_json(facts["config"])
    symbols = tuple(json.loads(facts["symbols"]))
    learner = RecogniserLearner(config, vocab_size=len(symbols))
    learner.net.load_state_dict(weights)
    spelling = writing(config, language=language)
    return Trained(learner, symbols, spelling, version=path.stem, natural_cer=float("nan"), device=device)


def train_on(folder: Path, asked: argparse.Namespace, log: Log, *, language: str, units: str) -> Trained:
    """A finished run of the workspace under --out, or a new one of --steps."""
    ws = opened(asked.out / "ws", folder, language=language)
    done = [run for run in Run.all(ws.runs_folder) if run.finished] if ws.runs_folder.exists() else []
    if not done:
        changes = ["family=recogniser", f"model.units={units}", "data.everything=true", "data.hold_back=0.0"]
        changes += [f"plan.steps={asked.steps}", *asked.changes]
        summary = _reported(train(ws, overrides=changes, new=True, device=asked.device), log)
        log(str(summary))
        done = [Run.named(ws.runs_folder, summary.run)]
    return load(done[-1], language=ws.language, device=asked.device)


def _reported(work: Generator[Any, None, TrainSummary], log: Log) -> TrainSummary:
    while True:
        try:
            seen = next(work)
        except StopIteration as end:
            summary: TrainSummary = end.value
            return summary
        if isinstance(seen, Tick) or not hasattr(seen, "step"):
            continue
        if seen.scores or seen.step in (1, 2, 10) or seen.step % 200 == 0:
            losses = {name: round(value, 3) for one in seen.seen for name, value in one.losses.items()}
            log(f"step {seen.step}/{seen.steps} {losses} {seen.scores}")

"""A trained recogniser: what it hears in a recording, frame by frame or as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from olu.align.ctc_words import HeardText, words_heard
from olu.audio.io import resample, to_int16
from olu.core.config import check
from olu.core.errors import TrainError
from olu.core.types import Audio, Reading
from olu.families.recogniser.config import RecogniserConfig
from olu.families.recogniser.learn import RecogniserLearner
from olu.families.recogniser.text import Writing, collapsed, writing
from olu.text.vocabulary import SymbolVocabulary
from olu.train.checkpoint import load_averaged
from olu.train.family import Example

if TYPE_CHECKING:
    from olu.train.run import Run

LONGEST = 40.0  # seconds heard at once; a longer recording is heard in windows
WINDOW, AROUND = 30.0, 2.0  # their length, and what is heard on both sides of it for its sake


@dataclass(frozen=True)
class Trained:
    """Meets `types.Recogniser`. `natural_cer` is what it gets wrong of natural speech it has not learnt from."""

    learner: RecogniserLearner
    symbols: tuple[str, ...]
    writing: Writing
    version: str
    natural_cer: float
    run: str = ""
    device: str = "cpu"
    _known: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_known", {symbol: id for id, symbol in enumerate(self.symbols)})
        self.learner.to(self.device).eval().requires_grad_(False)
        self.learner.knows(self.symbols, self.writing.spell)

    @property
    def config(self) -> RecogniserConfig:
        return self.learner.config

    @property
    def units(self) -> str:
        return self.writing.units

    @property
    def rate(self) -> int:
        return self.config.sampling_rate

    @property
    def frame_seconds(self) -> float:
        return self.config.frame_seconds

    def target(self, reading: Reading) -> list[str]:
        """What it should hear of a reading: letters with a space between words, or phones."""
        symbols = self.writing.symbols(reading)
        return self.writing.spell(symbols) if self.units == "letters" else symbols

    def ids(self, symbols: Sequence[str]) -> list[int]:
        """The ids its network has for these letters or phones; what it never learnt has none and is left out."""
        stream = self.writing.parts(symbols)
        return [self._known[symbol] for symbol in stream if symbol in self._known]

    @torch.no_grad()
    def log_probs(self, audio: Audio) -> NDArray[np.float32]:
        """[frames, symbols]; frame n is centred on (n + 1/2) * frame_seconds."""
        samples = to_int16(resample(audio, self.rate))
        if self.config.frames(len(samples)) == 0:
            return np.zeros((0, len(self.symbols)), dtype=np.float32)
        if len(samples) <= LONGEST * self.rate:
            return self._heard(samples)
        return np.concatenate(list(self._windows(samples)))

    def _windows(self, samples: NDArray[np.int16]) -> Iterator[NDArray[np.float32]]:
        step = self.config.subsample * self.config.hop_length
        size, around = (int(seconds * self.rate) // step for seconds in (WINDOW, AROUND))
        total = self.config.frames(len(samples))
        for first in range(0, total, size):
            last, begin = min(first + size, total), max(0, first - around)
            end = len(samples) if last + around >= total else (last + around) * step
            heard = self._heard(samples[begin * step : end])
            yield heard[first - begin : last - begin]

    def _heard(self, samples: NDArray[np.int16]) -> NDArray[np.float32]:
        batch = self.learner.collate([Example(id="", ids=(), samples=samples, speaker=0)])
        last, _, sizes = self.learner.hear(batch.to(torch.device(self.device)), disturb=False)
        heard: NDArray[np.float32] = last[0, : sizes[0]].cpu().numpy()
        return heard

    def transcribe(self, audio: Audio) -> str:
        """The best symbol of each frame, as text; phones are parted by spaces."""
        heard = self.heard(audio)
        return "".join(heard) if self.units == "letters" else " ".join(heard)

    def draft(self, audio: Audio) -> HeardText:
        """What it would write for a recording, with the chance of each word; letters only."""
        return words_heard(self.log_probs(audio), self.symbols, gap=" ", spell=self.writing.spell)

    def heard(self, audio: Audio) -> list[str]:
        """The letters or phones of a recording."""
        log_probs = self.log_probs(audio)
        return self.learner.letters(collapsed(log_probs.argmax(1).tolist())) if len(log_probs) else []


def load(run: Run, *, language: str, device: str = "cpu") -> Trained:
    """The averaged weights of a run's best step."""
    recipe, best, step = run.recipe, run.best, run.best_step()
    if step is None:
        raise TrainError(f"{run.name} has no checkpoint to hear with: train it with 'olu train WS --resume'")
    config = check(RecogniserConfig, recipe.model, where=f"{run.name}/recipe.toml [model]")
    vocabulary = SymbolVocabulary.from_state(run.document("vocabulary.json"))
    learner = RecogniserLearner(config, vocab_size=vocabulary.size)
    load_averaged(learner, run.checkpoints().load(step))
    score = float(best["score"]) if best and best["step"] == step else float("nan")
    return Trained(
        learner=learner,
        symbols=vocabulary.symbols,
        writing=writing(config, language=language),
        version=_version(run.name, step, score, recipe.data),
        natural_cer=score,
        run=run.name,
        device=device,
    )


def _version(run: str, step: int, score: float, data: Any) -> str:
    if data.everything:
        clips = "of clips it has learnt from"
    else:
        clips = (
            f"of natural speech held back ({data.hold_back:.0%} of train)" if data.hold_back else "of the valid side"
        )
    return f"{run}, step {step}, {100 * score:.1f} % wrong {clips}"

"""Toy speech, which a small T3 learns on one core within a minute: a letter is one to three codes.

They are moved by the speaker, who is heard in prompt and vector alone. `FAULTS` are what public training scripts do:
each is a way to learn that must not lead to speech.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from olu.families.chatterbox import batch as batches
from olu.families.chatterbox import learn
from olu.families.chatterbox.config import SIZES, ChatterboxConfig
from olu.families.chatterbox.heads import KnownClip
from olu.families.chatterbox.learn import ChatterboxLearner
from olu.nn.sequence import packed
from olu.train.family import Clock, Example
from olu.train.grow_symbols import Growth, enlarged

FIRST = 4  # id of the first letter: stop, unknown, space and start stand before
UNKNOWN = 1
TOLD = {"perceiver_dropout": 0.0, "temperature": 0.0}
LLAMA = ChatterboxConfig(size="tiny", unconditional=0.1, **TOLD)
BARE = {name: one for name, one in SIZES["turbo"].items() if name in ("emotion", "text_bounds", "start_twice")}
GPT2 = ChatterboxConfig(
    **{**LLAMA.model_dump(), "backbone": "gpt2", "prompt_rows": 0, "guidance": 0.0, "unconditional": 0.0, **BARE}
    | {"perceiver_dropout": ChatterboxConfig(size="tiny").perceiver_dropout}
)


@dataclass(frozen=True)
class Toy:
    """`parts`: the most codes of a letter; `shift`: how many codes a speaker's stand apart."""

    letters: int = 9
    voices: int = 3
    longest: int = 7
    parts: int = 3
    shift: int = 26

    def spelled(self, letters: Sequence[int], speaker: int) -> NDArray[np.int64]:
        parts = [(one, part) for one in letters for part in range(1 + one % self.parts)]
        return np.array([(7 * one + part + self.shift * speaker) % 81 for one, part in parts], np.int64)

    def begins(self, letters: Sequence[int]) -> list[int]:
        """The code each letter begins with."""
        return [0, *np.cumsum([1 + one % self.parts for one in letters]).tolist()][:-1]

    @property
    def rows(self) -> int:
        return FIRST + self.letters

    def read(self, letters: Sequence[int]) -> tuple[int, ...]:
        """Ids of a text."""
        return tuple(FIRST + letter for letter in letters)

    def word(self, random: np.random.Generator) -> list[int]:
        return random.integers(0, self.letters, int(random.integers(3, self.longest + 1))).tolist()

    def clip(self, letters: Sequence[int], speaker: int, number: int, random: np.random.Generator) -> Example:
        vector = np.full(16, 0.01, np.float32)
        vector[speaker] = 1.0

        def one(of: Sequence[int], name: str) -> Example:
            features = {"codes": self.spelled(of, speaker).astype(np.int16), "voice": vector}
            return Example(name, self.read(of), np.zeros(640, np.int16), speaker, features)

        beside = one([*self.word(random), *self.word(random)], f"beside-{number}")
        draw = int(random.integers(0, 2**63))
        return replace(one(letters, f"clip-{number}"), beside=beside, draw=draw)

    def clips(self, count: int, random: np.random.Generator) -> list[Example]:
        return [self.clip(self.word(random), number % self.voices, number, random) for number in range(count)]


SPACE = -2  # as a letter: its codes are no letter's


@dataclass(frozen=True)
class ToySentences(Toy):
    """Words of letters that stand once in a sentence: each code then belongs to one place of the text."""

    letters: int = 12
    voices: int = 2

    @property
    def rows(self) -> int:
        return FIRST + 1 + self.letters

    def read(self, letters: Sequence[int]) -> tuple[int, ...]:
        """As a vocabulary of pieces has it: a tag first, and the space among what stands before the letters."""
        return (FIRST, *(2 if letter == SPACE else FIRST + 1 + letter for letter in letters))

    def word(self, random: np.random.Generator) -> list[int]:
        left, found = random.permutation(self.letters).tolist(), list[int]()
        for _ in range(int(random.integers(2, 5))):
            size = int(random.integers(2, 5))
            found += [SPACE, *left[:size]] if left[:size] else []
            left = left[size:]
        return found[1:]


# ---------------------------------------------------------------- learning and speaking


def new(toy: Toy, config: ChatterboxConfig = LLAMA, *, seed: int = 0, **changes: object) -> ChatterboxLearner:
    torch.manual_seed(seed)
    held = config.model_copy(update=changes)
    return ChatterboxLearner(held, vocab_size=toy.rows, num_speakers=toy.voices)


def grown(learner: ChatterboxLearner, toy: Toy, *, by: int) -> tuple[ChatterboxLearner, Toy]:
    """With rows for more letters in both tables of text."""
    more = replace(toy, letters=toy.letters + by)
    growth = Growth(FIRST + toy.letters, (None,) * by)
    larger = ChatterboxLearner(learner.config, vocab_size=growth.rows, num_speakers=toy.voices)
    tables = ("t3.text_emb.weight", "t3.text_head.weight")
    held = learner.state_dict()
    larger.load_state_dict({**held, **{name: enlarged(held[name], growth) for name in tables}})
    return larger, more


def taught(
    learner: ChatterboxLearner, toy: Toy, *, steps: int, rate: float = 3e-3, clips: int = 32, seed: int = 0
) -> None:
    """Rates rise for 50 steps and fall in the last quarter."""
    random = np.random.default_rng(seed)
    torch.manual_seed(seed)
    moving = torch.optim.AdamW(learner.t3.parameters(), lr=rate, weight_decay=0.0, betas=(0.9, 0.98))
    learner.train()
    for step in range(steps):
        for group in moving.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / 50, 4 * (1 - step / steps))
        batch = learner.collate(toy.clips(clips, random))
        (update,) = learner.step(batch, Clock(step, steps))
        loss = sum(one.sum * one.weight / batch.counts[one.over] for one in update.losses.values())
        moving.zero_grad()
        loss.backward()  # type: ignore[union-attr]
        torch.nn.utils.clip_grad_norm_(learner.t3.parameters(), 1.0)
        moving.step()
    learner.eval()


@dataclass(frozen=True)
class Said:
    """Shares of new words: said without an error, and stopped by themselves."""

    right: float
    stopped: float


def said(learner: ChatterboxLearner, toy: Toy, *, count: int = 60, seed: int = 99) -> Said:
    random, right, stopped = np.random.default_rng(seed), 0, 0
    for number in range(count):
        word, speaker = toy.word(random), number % toy.voices
        one = learner.collate([toy.clip(word, speaker, number, random)])
        heard = learner.condition(one.fixed, torch.stack(list(one.fixed_voices)))
        codes, ended = learner.written(one.fixed[0].sequence.ids, heard, most=60, seed=1)
        right, stopped = right + (codes == toy.spelled(word, speaker).tolist()), stopped + ended
    return Said(right / count, stopped / count)


@torch.no_grad()
def known_clips(
    learner: ChatterboxLearner, toy: Toy, *, count: int, seed: int
) -> Iterator[tuple[KnownClip, list[int]]]:
    """Clips whose codes are known, as heads are found on, and the letters of each."""
    random, c = np.random.default_rng(seed), learner.config
    for number in range(count):
        word, speaker = toy.word(random), number % toy.voices
        one = learner.collate([toy.clip(word, speaker, number, random)])
        heard = learner.condition(one.fixed, torch.stack(list(one.fixed_voices)))[0]
        ids = [*one.fixed[0].sequence.ids]
        around = [c.text_start, *ids, c.text_stop] if c.text_bounds else ids
        codes = torch.from_numpy(toy.spelled(word, speaker))
        yield KnownClip(heard, torch.tensor(around), codes, bounded=c.text_bounds), word


# ---------------------------------------------------------------- what public scripts do


@contextmanager
def no_stop() -> Iterator[None]:
    """Every clip is cut or filled to one length, and the stop is no target."""

    def spoilt(clips: Any, rules: Any) -> Any:
        made = packed(clips, rules)
        kept = made.code_targets != rules.code_stop
        return replace(made, code_rows=made.code_rows[kept], code_targets=made.code_targets[kept])

    with _patched(learn, "packed", spoilt):
        yield


@contextmanager
def first_masked() -> Iterator[None]:
    """The first targets are left out, as many as a prompt is long (there six seconds, here the first six codes)."""
    own = batches.prompt_of

    def masked(*given: Any) -> Any:
        return replace(own(*given), hidden=(0, 6))

    with _patched(batches, "prompt_of", masked):
        yield


@contextmanager
def own_prompt() -> Iterator[None]:
    """The prompt is the beginning of the clip itself."""

    def first(own: Any, beside: Any, config: ChatterboxConfig, *shares: float) -> Any:
        return batches.CodePrompt(own[: config.prompt_codes])

    with _patched(batches, "prompt_of", first):
        yield


@contextmanager
def padding_heard() -> Iterator[None]:
    """Texts are filled up to the longest of the batch, and what fills them is looked at."""
    own = learn.collated

    def padded(examples: Sequence[Example], *rest: Any) -> Any:
        most = max(len(one.ids) for one in examples)
        return own([replace(one, ids=(*one.ids, *[0] * (most - len(one.ids)))) for one in examples], *rest)

    with _patched(learn, "collated", padded):
        yield


FAULTS: Mapping[str, Callable[[], Any]] = {
    "no stop": no_stop,
    "first targets masked": first_masked,
    "prompt of the clip itself": own_prompt,
    "padding that is heard": padding_heard,
}


@contextmanager
def _patched(module: Any, name: str, value: Any) -> Iterator[None]:
    own = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, own)

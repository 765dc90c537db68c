"""Clips that are another each time they are learnt from: the settings `data.augment_...` of a recipe.

What is done to a clip hangs on the seed, the epoch and the clip alone, so that a run that goes on does the same.
Features and durations are made anew of the changed sound; the clips that validate stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.audio.augment import CODECS, QUIETER_DB, coded, in_room, noisy, paced, pitched
from olu.audio.io import to_int16
from olu.core.errors import OluError, TrainError
from olu.core.types import Alignment, Audio, Clip
from olu.corpus.manifest import Corpus
from olu.features.store import FeatureClip, PreparedFeature, Store
from olu.train.batches import drawn
from olu.train.family import Example
from olu.train.recipe import AUGMENT, DataSettings
from olu.train.setup.observe import FRAMES, token_frames
from olu.train.setup.start import TrainingStart
from olu.train.setup.symbols import TrainingTexts

LOUDEST = 0.999  # a clip that would pass it is made quieter as a whole
SHAPING = ("speed", "pitch", "formants", "room", "noise", "codec")  # those that do something by themselves


@dataclass(frozen=True)
class SoundChange:
    """What is done to one clip in one epoch; as it is where nothing is drawn."""

    speed: float = 1.0
    pitch: float = 0.0  # semitones
    formants: float = 0.0  # semitones that pitch and formants rise together
    room: int | None = None  # seed of the room
    noise: tuple[float, int] | None = None  # decibels of the speech over it, and its seed
    codec: str = ""

    @staticmethod
    def draw(data: DataSettings, number: int) -> SoundChange:
        """By a number of its own for every seed, epoch and clip; a setting does not move what another one draws."""
        even, chance = np.random.default_rng([number, 1]).uniform(size=(2, len(SHAPING)))
        spread, hit = dict(zip(SHAPING, even, strict=True)), dict(zip(SHAPING, chance, strict=True))
        seed = int(number % 2**31)
        decibels = data.augment_noise_db + QUIETER_DB * spread["noise"]
        return SoundChange(
            speed=(1 + data.augment_speed) ** (2 * spread["speed"] - 1),
            pitch=data.augment_pitch * (2 * spread["pitch"] - 1),
            formants=data.augment_formants * (2 * spread["formants"] - 1),
            room=seed if hit["room"] < data.augment_room else None,
            noise=(decibels, seed + 1) if hit["noise"] < data.augment_noise else None,
            codec=list(CODECS)[int(spread["codec"] * len(CODECS))] if hit["codec"] < data.augment_codec else "",
        )

    def made(self, audio: Audio) -> Audio:
        if self.speed != 1.0:
            audio = paced(audio, self.speed)
        for semitones, along in ((self.pitch, False), (self.formants, True)):
            audio = pitched(audio, semitones, formants=along) if semitones else audio
        if self.room is not None:
            audio = in_room(audio, np.random.default_rng(self.room))
        if self.noise is not None:
            decibels, seed = self.noise
            audio = noisy(audio, decibels, np.random.default_rng(seed))
        audio = coded(audio, self.codec) if self.codec else audio
        peak = float(np.abs(audio.samples).max(initial=0.0))
        return Audio(audio.samples * np.float32(LOUDEST / peak), audio.rate) if peak > LOUDEST else audio


@dataclass(frozen=True)
class Augmentation:
    """Changes the examples of a training."""

    start: TrainingStart
    corpus: Corpus
    store: Store
    texts: TrainingTexts
    rate: int
    prepared: Sequence[PreparedFeature]

    @cached_property
    def _makers(self) -> dict[str, Callable[[FeatureClip], NDArray[Any]]]:
        return {one.name: one.make("cpu") for one in self.prepared}

    @cached_property
    def _clips(self) -> Mapping[str, Clip]:
        return {clip.id: clip for clip in self.corpus}

    def changed(self, example: Example, *, epoch: int) -> Example:
        """The example as it is heard in this epoch; as it is where its text would no longer fit."""
        recipe = self.start.recipe
        change = SoundChange.draw(recipe.data, drawn("augment", recipe.seed, epoch, example.id))
        if change == SoundChange() or not len(example.samples):
            return example
        audio = change.made(Audio(example.samples.astype(np.float32) / 32768.0, self.rate))
        samples = to_int16(audio)
        family = self.start.family
        if family.data.refuses(self.start.config, samples=len(samples), tokens=len(example.ids)):
            return example
        try:
            features = {**example.features, **self._made_anew(example, samples, speed=change.speed)}
        except OluError:  # its alignment does not fit so many frames, or nothing can be tracked in it
            return example
        return replace(example, samples=samples, features=features)

    def _made_anew(self, example: Example, samples: NDArray[np.int16], *, speed: float) -> dict[str, NDArray[Any]]:
        clip = self._clips[example.id]
        alignment: Alignment | None = None
        if "alignment" in self.start.family.data.needs or FRAMES in example.features:
            alignment = self.corpus.alignment(clip)
        heard = FeatureClip(
            clip=clip,
            samples=samples,
            rate=self.rate,
            begins=self.store.begins.get(clip.id, 0.0),
            factor=self.start.recipe.data.resample * speed,
            alignment=alignment,
        )
        made = {name: make(heard) for name, make in self._makers.items()}
        if FRAMES in example.features and np.any(example.features[FRAMES]):
            counts = token_frames(
                self.start, self.corpus, self.store, self.texts, clip, samples=len(samples), speed=speed
            )
            made[FRAMES] = np.array(counts)
        return made


def is_asked(data: DataSettings) -> bool:
    return any(getattr(data, AUGMENT + name) for name in SHAPING)


def augmentation_of(
    start: TrainingStart, corpus: Corpus, store: Store, texts: TrainingTexts, *, rate: int
) -> Augmentation | None:
    """What a recipe asks for; a family that cannot learn from changed clips refuses it."""
    data, family = start.recipe.data, start.family
    if not is_asked(data):
        return None
    setting = next(f"data.{AUGMENT}{name}" for name in SHAPING if getattr(data, AUGMENT + name))
    if start.recipe.match:
        raise TrainError(f"recipe: {setting} has no effect with match: its mels are of the recordings as they are")
    prepared = family.data.features(start.config, start.base) if family.data.features else ()
    if frozen := [one.name for one in prepared if one.weights]:
        raise TrainError(
            f"recipe: {setting}: the family {family.name!r} learns {frozen[0]} that a frozen network made once of the"
            " recordings as they are: leave it out"
        )
    return Augmentation(start, corpus, store, texts, rate, tuple(prepared))

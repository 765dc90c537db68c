"""Whether a voice whose pitch stands open says the pitch it is asked for: single words moved, then heard."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.core.errors import TextError
from olu.core.types import Audio
from olu.evaluate.estimates import Estimate, figure
from olu.evaluate.metrics import f0
from olu.features.pitch import HIGHEST, LOWEST, instrument
from olu.speak.melody import Melody, MelodySentence
from olu.speak.voice import Voice

EDITS = (-4.0, -2.0, 2.0, 4.0)  # semitones
SENTENCES = 5
ROOM = 0.8  # of the lowest pitch asked for: where a voice is looked for
LEAST_KNOTS = 3  # heard in a word, below which it says nothing
REASON = "a few words moved by 2 and 4 semitones; what is heard is no surer than the tracker, 0.2 to 0.5 semitones"

Floats = NDArray[np.float64]


def pitch_errors(
    voice: Voice, texts: Sequence[str], *, seed: int, speaker: str | None = None
) -> Iterator[tuple[float | None, float | None]]:
    """For each edit of the longest word of each text: how far its knots are heard from where they were asked for, and
    how far the other words moved, both as root mean squares in semitones; None where too little is voiced."""
    for text in texts:
        try:
            planned = voice.plan(text, seed=seed, speaker=speaker)
        except TextError:
            continue
        one = planned.sentences[0]
        word = max(range(len(one.words)), key=lambda at: one.frames[one.words[at].first : one.words[at].last].sum())
        usual = heard_at(voice.speak(text, seed=seed, speaker=speaker, melody=planned), planned)
        for semitones in EDITS:
            edited = voice.plan(
                text, seed=seed, speaker=speaker, melody=planned.moved(word, semitones)
            )  # as it will be said
            found = heard_at(voice.speak(text, seed=seed, speaker=speaker, melody=edited), edited)
            inside = _inside(one, word)
            yield _apart(found, edited.sentences[0].knots, inside), _apart(found, usual, ~inside)


def heard_at(audio: Audio, melody: Melody) -> Floats:
    """The pitch of a sound at the knots of its first sentence [T, K]; 0 where nothing is voiced."""
    one = melody.sentences[0]
    asked = one.knots[one.frames > 0]  # below and above, noise would be taken for a voice
    pitch = f0.track(audio, low=max(LOWEST, ROOM * asked.min()), high=min(HIGHEST, asked.max() / ROOM))
    times = np.array([[at for at, _ in row] for row in one.dots(melody.frame_seconds)])
    heard = pitch.at(times.ravel()).reshape(times.shape)
    return np.where(one.frames[:, None] > 0, heard, 0.0)


def summarise(found: Sequence[tuple[float | None, float | None]]) -> tuple[Estimate, ...]:
    """pitch_obeyed: how far from what was asked for; pitch_kept: how far what was not asked for moved."""
    said: dict[str, Any] = {"unit": "semitones", "instrument": instrument(), "trust": "medium", "reason": REASON}
    return (
        figure("pitch_obeyed", [one for one, _ in found], **said),
        figure("pitch_kept", [other for _, other in found], **said),
    )


def _inside(sentence: MelodySentence, word: int) -> NDArray[np.bool_]:
    places = np.arange(len(sentence.tokens))
    return (places >= sentence.words[word].first) & (places < sentence.words[word].last)


def _apart(heard: Floats, asked: Floats, tokens: NDArray[np.bool_]) -> float | None:
    both = (heard > 0) & (asked > 0) & tokens[:, None]
    if int(both.sum()) < LEAST_KNOTS:
        return None
    return float(np.sqrt(np.mean((12 * np.log2(heard[both] / asked[both])) ** 2)))

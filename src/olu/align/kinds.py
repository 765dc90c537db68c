"""What a sound is like before anything was learnt: loud or soft, dark or bright, by its sign alone.

Vowels are loud, s is bright, m is dark, and before p there is nothing. In every language and with every microphone that
holds of ranks: how loud a frame is among the frames around it. Shapes: F frames, M mels, C classes.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from olu.align.chain import STATES, classes
from olu.text.articulation import TABLE, VOWELS, letters

Floats = NDArray[np.float32]

# shares of the frames with sound that are softer; with less above 3 kHz next to the rest; with a darker middle
SILENT = (0.04, 0.5, 0.5)
UNKNOWN = (0.5, 0.5, 0.5)
SPREAD = (0.22, 0.22, 0.25)
QUIET_STOP, VOICED_STOP = (0.15, 0.6, 0.5), (0.3, 0.35, 0.4)
SIBILANT, VOICED_SIBILANT, BREATH = (0.35, 0.93, 0.6), (0.4, 0.85, 0.55), (0.22, 0.72, 0.5)
VOICED_BREATH, NASAL, LIQUID = (0.35, 0.4, 0.4), (0.42, 0.18, 0.3), (0.5, 0.3, 0.4)
DARK_GLIDE, BRIGHT_GLIDE = (0.5, 0.2, 0.15), (0.5, 0.35, 0.8)
RANK_STEP, RANK_REACH = 200, 500  # frames that are ranked at once, and how many on both sides they are ranked among
LEAST_RANKED = 100  # frames with sound among which a rank says something


def kind(phone: str) -> tuple[tuple[float, float, float], ...]:
    """How the three parts of a phone sound: loudness, brightness and the colour of a vowel, as ranks from 0 to 1."""
    signs = letters(bare(phone))
    if not signs:
        return (UNKNOWN,) * STATES
    first, last = _sign(signs[0]), _sign(signs[-1])
    return (first, first if len(signs) == 1 else last, last)


def _sign(sign: str) -> tuple[float, float, float]:
    if sign in VOWELS:
        height, back, _ = VOWELS[sign]
        return 0.8 - 0.07 * height, 0.35, float(0.8 - 0.3 * back + 0.05 * (height - 1.5) * (1 - back))
    manner, place, voiced = TABLE[sign]
    if manner == "stop":
        return VOICED_STOP if voiced else QUIET_STOP
    if manner == "fricative" and place in (3, 4, 5):
        return VOICED_SIBILANT if voiced else SIBILANT
    if manner == "fricative":
        return VOICED_BREATH if voiced else BREATH
    if manner == "nasal":
        return NASAL
    if manner == "approximant":
        return DARK_GLIDE if place == 0 else BRIGHT_GLIDE if place == 6 else LIQUID
    return LIQUID


def bare(phone: str) -> str:
    """A phone as it is, or the Latin letters in it where nothing is known of its signs."""
    return phone if letters(phone) else _latin(phone)


def _latin(phone: str) -> str:
    """The bare letters that the names of signs end in: a, with whatever marks, is a."""
    names = (unicodedata.name(sign, "") for sign in unicodedata.normalize("NFD", phone))
    return "".join(name.split()[3][:1].lower() for name in names if name.startswith("LATIN ") and len(name.split()) > 3)


def ranks(mels_FM: Floats, sound_F: NDArray[np.bool_]) -> Floats:
    """[F, 3] of each frame: how loud, how bright and of what colour, as its rank among the frames with sound near it.

    A recording of many hands has many rooms and microphones: by the whole of it all of one part would be bright.
    """
    power = np.exp(np.asarray(mels_FM, dtype=np.float64))
    low = np.log(power[:, :14].sum(axis=1))
    bright = np.log(power[:, 28:].sum(axis=1)) - low
    colour = np.log(power[:, 19:28].sum(axis=1)) - np.log(power[:, 6:14].sum(axis=1))
    signs_F3 = np.stack([np.log(power.sum(axis=1)), bright, colour], axis=1)
    found = np.empty(signs_F3.shape, dtype=np.float32)
    for start in range(0, len(found), RANK_STEP):
        end = start + RANK_STEP
        near = slice(max(0, start - RANK_REACH), end + RANK_REACH)
        heard = sound_F[near]
        each = np.sort(signs_F3[near][heard] if heard.sum() >= LEAST_RANKED else signs_F3[near], axis=0)
        for sign in range(3):
            found[start:end, sign] = np.searchsorted(each[:, sign], signs_F3[start:end, sign]) / len(each)
    found[~sound_F, 0] *= 0.2
    return found


def first_scores(ranks_F3: Floats, phones: Sequence[str]) -> Floats:
    """[F, C] log densities by what each phone is like."""
    means = np.array([SILENT, *(part for phone in phones for part in kind(phone))], dtype=np.float32)
    spread = np.tile(np.array(SPREAD, dtype=np.float32), (classes(len(phones)), 1))
    spread[0] = (0.06, 0.6, 0.6)
    precise = 1.0 / spread**2
    constant = -0.5 * (means**2 * precise).sum(axis=1) - np.log(spread).sum(axis=1)
    found = ranks_F3 @ (means * precise).T - 0.5 * (ranks_F3**2) @ precise.T + constant
    return np.asarray(found, dtype=np.float32)

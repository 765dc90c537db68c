"""A language read by a voice that never heard it: each sound it lacks is said with the nearest ones it has learnt."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from olu.core.errors import LanguageError
from olu.core.types import STRESS, TONE_LETTERS, UNKNOWN_TONE, Marks
from olu.text.articulation import TABLE, distance, letters
from olu.text.fallback import Replacements, bare
from olu.text.frontend import ReadingSettings, for_language
from olu.text.languages import Language, load
from olu.text.phones import PhoneFrontend
from olu.text.vocabulary import StreamVocabulary, SymbolVocabulary, is_language_tag

ROUNDED = "ʷ"  # kʷ is k and w, not k alone
NEAR_DOWNSTEP = ("M", "H")  # a downstepped high lies between high and low
PARTS = {"ɲ": ("n", "j"), "ʎ": ("l", "j")}
RHOTICS = frozenset("rɾɹɻɽʀʁ")
CLOSE = 0.03  # of articulation, by which sounds of the accent's own language come before others
FAR = 0.3  # of articulation, from which a replacement is told as a distant one


@dataclass(frozen=True)
class Accent:
    """How a voice reads a language with what it learnt of others."""

    frontend: PhoneFrontend
    of: str  # the language it sounds like
    phones: Mapping[str, tuple[str, ...]]  # that were replaced, and by what
    tones: Mapping[str, str] = field(default_factory=dict)
    lost_tones: tuple[str, ...] = ()

    def told(self) -> list[str]:
        """Every replaced sound, the distant ones by themselves."""
        near = [f"{one} as {' '.join(by)}" for one, by in self.phones.items() if not is_far(one, by)]
        far = [f"{one} as {' '.join(by)}" for one, by in self.phones.items() if is_far(one, by)]
        said = [f"replaced sounds: {', '.join(near)}"] if near else []
        said += [f"replaced by sounds that are not near: {', '.join(far)}"] if far else []
        names = {"H": "high", "M": "mid", "L": "low", "D": "downstep"}
        said += [f"replaced tones: {names[one]} as {names[by]}" for one, by in self.tones.items()]
        lost = ", ".join(names[one] for one in self.lost_tones)
        return [*said, f"tones it never learnt, which are not heard: {lost}"] if lost else said


def _tones(learnt: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """By what a downstep is replaced, and the tones of Igbo and its like that have no stand-in."""
    near = next((one for one in NEAR_DOWNSTEP if one in learnt), "")
    tones = {"D": near} if near and "D" not in learnt else {}
    return tones, tuple(one for one in ("H", "L", "D") if one not in learnt and one not in tones)


def _beside(learnt: Sequence[str], *, stressed: bool) -> set[str]:
    """The marks that a voice of streams can be given."""
    known = {TONE_LETTERS[one] for one in learnt} | ({UNKNOWN_TONE} if learnt else set())
    return known | ({STRESS} if stressed else set())


def is_far(phone: str, by: Sequence[str]) -> bool:
    """Whether a sound is said with one of another place or manner."""
    return len(by) == 1 and apart(phone, by[0]) >= FAR


def with_accent(
    language: Language, *, of: str, vocabulary: SymbolVocabulary, inventory: Iterable[str], marks: Marks
) -> Accent:
    """The reading of a language for a voice of these symbols. `inventory`, `marks`: of what it was trained to read."""
    open_ = for_language(language, settings=ReadingSettings(symbols="phones", marks=marks))
    if not isinstance(open_, PhoneFrontend):
        raise LanguageError(f"{language.name} is read by letters: an accent needs its phones")
    held = set(inventory)
    symbols = [one for one in vocabulary.sayable() if not is_language_tag(one)]
    sounds = {bare(one) for one in symbols if letters(bare(one))}
    if not sounds & set(open_.phones):
        raise LanguageError(f"this voice has no phone of {language.name}: it was trained on letters")
    of_accent = for_language(load(of))
    first = sounds & set(of_accent.phones) if isinstance(of_accent, PhoneFrontend) else sounds
    replaced = {one: nearest(one, sounds, first=first) for one in open_.phones if one not in sounds}
    learnt = [name for name, sign in TONE_LETTERS.items() if any(sign in one for one in {*held, *symbols})]
    tones, lost = _tones(learnt)
    known = set(symbols)
    if isinstance(vocabulary, StreamVocabulary):  # tones and stress stand beside their sounds
        marks = "separate"
        known |= _beside(learnt, stressed=any(STRESS in one for one in held))
    frontend = PhoneFrontend(
        open_.pack, marks=marks, inventory=known, nearest=Replacements(phones=replaced, tones=tones)
    )
    own = _used(open_, language)
    used = {one: by for one, by in replaced.items() if one in own}
    return Accent(frontend, of, used, tones, lost)


def _used(frontend: PhoneFrontend, language: Language) -> set[str]:
    """The phones of a language's own words: of its sentences, and of the example that stands beside each phone."""
    readings = [frontend.read(text) for text in [*own_words(frontend), *language.sentences()]]
    return {phone for reading in readings for word in reading.words for phone in word.phones}


def own_words(frontend: PhoneFrontend) -> tuple[str, ...]:
    """The examples that stand beside the phones of a language."""
    return tuple(row[2] for row in frontend.pack.rows("phones.tsv") if len(row) > 2)


def nearest(phone: str, sounds: Collection[str], *, first: Collection[str] = ()) -> tuple[str, ...]:
    """What a voice of these sounds says for one that it lacks: its parts where it has all of them, else the nearest.

    Of two that are about as near, one of `first` is taken.
    """
    plain = unicodedata.normalize("NFD", phone)
    if ROUNDED in plain:
        inner = unicodedata.normalize("NFC", plain.replace(ROUNDED, ""))
        return tuple(
            one for part in (inner, "w") for one in ((part,) if part in sounds else nearest(part, sounds, first=first))
        )
    parts = PARTS.get(phone) or unicodedata.normalize("NFC", plain).split("͡")
    if len(parts) > 1 and all(part in sounds for part in parts):
        return tuple(parts)
    return (min(sounds, key=lambda one: (apart(phone, one) - CLOSE * (one in first), len(one), one)),)


def apart(phone: str, other: str) -> float:
    """How far a sound lies from one that is said for it. Another part of the mouth is minded most."""
    own, theirs = letters(phone), letters(other)
    marks = [set(unicodedata.normalize("NFD", one)) - set(letters(one)) for one in (phone, other)]
    far = distance(phone, other) + 0.02 * len(marks[0] ^ marks[1]) + 0.15 * (len(own) != len(theirs))
    if own[:1] in RHOTICS and theirs[:1] in RHOTICS:
        return 0.05 + 0.02 * len(marks[0] ^ marks[1])
    return far + 0.3 * (_class(own[:1]) != _class(theirs[:1]))


def _class(sign: str) -> tuple[str, str]:
    """Which part of the mouth says it and whether the nose does: lips, teeth, back or throat; r and l are alike."""
    if sign not in TABLE:
        return "vowel", ""
    manner, place, _ = TABLE[sign]
    if sign in RHOTICS or manner == "lateral":
        return "liquid", ""
    parts = ((1, "lips"), (5, "teeth"), (8, "back"), (9, "throat"))
    part = next(name for last, name in parts if place <= last)
    return part, "nose" if manner == "nasal" else ""

"""A reading said with the symbols a voice has: a tone or length it never learnt is left off before a phone is lost."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from olu.core.errors import OluError
from olu.core.types import STRESS, TONE_LETTERS, UNKNOWN_TONE, Marks, Word

TONES = "".join(TONE_LETTERS.values())
SECONDARY = "ːʷʼʲʰ̩̍̃̊̚"  # length, labial, ejective, palatal, aspirated, syllabic, nasal, unreleased, voiceless


WEAKER = {"?": ".!", "!": ".?", ".": ";,", ";": ",.", ":": ",;", ",": ";."}  # pauses to take instead, nearest first


@dataclass(frozen=True)
class Replacements:
    """Sounds and tones that a voice says in place of those it never learnt: see `text/accent.py`."""

    phones: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tones: Mapping[str, str] = field(default_factory=dict)

    def state(self) -> dict[str, Any]:
        return {"phones": {one: list(by) for one, by in self.phones.items()}, "tones": dict(self.tones)}

    @staticmethod
    def from_state(state: Mapping[str, Any]) -> Replacements:
        phones = {one: tuple(by) for one, by in state.get("phones", {}).items()}
        return Replacements(phones, dict(state.get("tones", {})))


class Fit:
    def __init__(self, inventory: Iterable[str], *, marks: Marks, nearest: Replacements | None = None) -> None:
        self.known, self.marks = set(inventory), marks
        self.phones: dict[str, tuple[str, ...]] = dict(nearest.phones) if nearest else {}
        self.tones: dict[str, str] = dict(nearest.tones) if nearest else {}
        self._bare = {bare(symbol) for symbol in self.known}

    def word(self, word: Word, dropped: Counter[str]) -> Word:
        """`word` with phones this voice has; those without a relative are counted in `dropped`."""
        if all(symbol in self.known for symbol in word.symbols(self.marks)):
            return word
        tones = dict(zip(word.bearers, word.tones, strict=True))
        phones: list[str] = []
        kept: list[tuple[int, str]] = []
        stress = None
        for place, phone in enumerate(word.phones):
            near = list(self.phones.get(phone, ())) or self._near(phone)
            if not near:
                dropped[phone] += 1
                continue
            if place == word.stress:
                stress = len(phones)
            if place in tones and len(near) == 1:
                kept.append((len(phones), self.tones.get(tones[place], tones[place])))
            phones += near
        return self._marked(Word(word.text, tuple(phones), _second(kept), _first(kept), stress))

    def _near(self, phone: str) -> list[str]:
        """The phone or its nearest relative that is known; nothing where there is none."""
        for some in _relatives(phone):
            if all(one in self._bare for one in some):
                return some
        return []

    def _has(self, tone: str) -> bool:
        """Whether a tone's own symbols are known."""
        return all(letter in self.known for letter in _letters(tone) or [UNKNOWN_TONE])

    def pause(self, between: str) -> str:
        """A break with the pauses this voice knows; one it has nothing like is left off."""
        kept = ""
        for mark in between:
            near = next((one for one in mark + WEAKER.get(mark, "") if one in self.known), "")
            kept += near
        return kept

    def _marked(self, word: Word) -> Word:
        """The word without the marks that its phones were never learnt with; bare phones are known."""
        if self.marks != "vowel":
            stress = word.stress if STRESS in self.known else None
            pairs = [(at, tone) for at, tone in zip(word.bearers, word.tones, strict=True) if self._has(tone)]
            return Word(word.text, word.phones, _second(pairs), _first(pairs), stress)
        tones = dict(zip(word.bearers, word.tones, strict=True))
        stress = word.stress
        for place, phone in enumerate(word.phones):
            tone = tones.get(place, "?")
            before, after = STRESS if place == stress else "", _letters(tone)
            if f"{before}{phone}{after}" in self.known:
                continue
            if f"{phone}{after}" not in self.known:
                tones.pop(place, None)
            if place == stress and f"{before}{phone}{_letters(tones.get(place, '?'))}" not in self.known:
                stress = None
        kept = sorted(tones.items())
        return Word(word.text, word.phones, _second(kept), _first(kept), stress)


def _letters(tone: str) -> str:
    return "".join(TONE_LETTERS.get(one, "") for one in tone)


def bare(symbol: str) -> str:
    """A symbol without tone and stress."""
    return symbol.removeprefix(STRESS).rstrip(TONES)


def _relatives(phone: str) -> Iterator[list[str]]:
    """The phone itself, then without its secondary marks one after the other, then its parts."""
    yield [phone]
    plain = unicodedata.normalize("NFD", phone)
    for mark in SECONDARY:
        if mark in plain:
            plain = plain.replace(mark, "")
            yield [unicodedata.normalize("NFC", plain)]
    if "͡" in plain:
        yield plain.split("͡")


def _first(pairs: list[tuple[int, str]]) -> tuple[int, ...]:
    return tuple(place for place, _ in pairs)


def _second(pairs: list[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(tone for _, tone in pairs)


# ---- the closest relative of a symbol among those a voice already knows: ị is near i, ɓ near b


RELATIVES_STRESS = "ˈˌ"  # before the vowel they are on
AS_PHONES = {"ch": "t͡ʃ", "sh": "ʃ", "zh": "ʒ", "kh": "x", "ts": "t͡s", "g": "ɡ", "y": "j"}  # unlike Latin

# Letters whose sound is written by another sign, where a voice knows phones and a text is read by letters.
SOUNDS = {
    "g": ("ɡ",),
    "ɡ": ("g",),
    "y": ("j",),
    "c": ("t͡ʃ", "tʃ", "k"),
    "q": ("k",),
    "r": ("ɾ", "ɹ", "ʁ"),
    "a": ("ɑ",),
    "e": ("ɛ",),
    "i": ("ɪ",),
    "o": ("ɔ",),
    "u": ("ʊ",),
    "ẹ": ("ɛ",),
    "ọ": ("ɔ",),
    "ñ": ("ɲ",),
    "š": ("ʃ",),
    "ṣ": ("ʃ",),
    "ž": ("ʒ",),
    "č": ("t͡ʃ", "tʃ"),
}


def relative(symbol: str, known: Collection[str], *, language: str = "") -> str | None:
    """The nearest of `known`, or None where nothing is near."""
    return next((near for near in _nearer_first(symbol, language) if near in known and near != symbol), None)


def _nearer_first(symbol: str, language: str) -> Iterator[str]:
    for form in dict.fromkeys((symbol, symbol.lstrip(RELATIVES_STRESS), symbol.lstrip(RELATIVES_STRESS).lower())):
        yield form
        yield from SOUNDS.get(unicodedata.normalize("NFC", form), ())
        for kind in ("NFD", "NFKD"):
            parts = unicodedata.normalize(kind, form)
            letters = "".join(part for part in parts if not unicodedata.combining(part))
            yield parts
            for end in range(len(parts) - 1, 0, -1):  # one mark fewer each time
                if not unicodedata.combining(parts[0]):
                    fewer = unicodedata.normalize("NFC", parts[:end])
                    yield from (fewer, parts[:end], *SOUNDS.get(fewer, ()))
            yield letters
            yield letters[:1]
        yield from _by_name(form[:1])
    yield from _in_latin(symbol, language)


def _by_name(character: str) -> Iterator[str]:
    """A plainer letter by the Unicode name: that of B for B WITH HOOK."""
    plain, with_, _ = unicodedata.name(character, "").partition(" WITH ") if character else ("", "", "")
    if with_:
        try:
            yield unicodedata.lookup(plain)
        except KeyError:
            return


def _in_latin(symbol: str, language: str) -> Iterator[str]:
    """What uroman writes, where it is installed: as one phone, else the first of its letters that is known."""
    if symbol.isascii() or not any(unicodedata.category(part)[0] == "L" for part in symbol):
        return
    try:
        from olu.text.characters import romanise

        letters = romanise(symbol, language=language).strip().lower()
    except OluError:
        return
    if len(letters) > 1 and letters in AS_PHONES:
        yield AS_PHONES[letters]
    yield from letters
    yield from (AS_PHONES[letter] for letter in letters if letter in AS_PHONES)

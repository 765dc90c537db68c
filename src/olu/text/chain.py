"""Readings tried one after another, word by word: a person's words, rules, what was learnt, espeak-ng, letters."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace

from olu.core.errors import LanguageError
from olu.text import espeak
from olu.text.derive import clusters
from olu.text.fallback import relative
from olu.text.language_data import Pack, Pronouncer, Pronunciation
from olu.text.restore.phones import LearntPronouncer
from olu.text.words import JOINERS

READINGS = ("lexicon", "rules", "learnt", "espeak", "letters")


def parse_chain(text: str) -> tuple[str, ...]:
    """`lexicon, rules, letters`: the readings of a chain, in their order."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    wrong = next((name for name in names if name not in READINGS or names.count(name) > 1), None)
    if wrong is not None or not names:
        said = f"{wrong!r} is not one of them, or stands there twice" if names else "it is empty"
        raise LanguageError(f"a chain of readings has each of {', '.join(READINGS)} at most once: {said}")
    return names


class ChainPronouncer:
    """Each word by the first reading that can say all of it. `lexicon` are a person's words, already phones."""

    def __init__(self, pack: Pack, rules: Pronouncer | None, lexicon: Mapping[str, Pronunciation]) -> None:
        self.rules, self.lexicon = rules, lexicon
        self.known = frozenset(row[0] for row in pack.rows("phones.tsv"))
        self.learnt = LearntPronouncer.of(pack)
        if "learnt" in pack.chain and self.learnt is None:
            raise LanguageError(
                "'learnt' in the chain needs a model: make one with 'olu g2p learn', name it by --reader"
            )
        self.espeak = _espeak(pack.code) if "espeak" in pack.chain else None
        self.chain = pack.chain

    def mode(self, words: Sequence[str]) -> str:
        return self.rules.mode(words) if self.rules else ""

    def say(self, word: str, *, mode: str = "") -> Pronunciation:
        said = Pronunciation((), dropped=tuple(word))
        for name in self.chain:
            found = self._by(name, word, mode)
            if found is not None and found.phones and not [c for c in found.dropped if c not in JOINERS]:
                return replace(found, by=name)
            said = found if found is not None and found.phones else said
        return said

    def _by(self, name: str, word: str, mode: str) -> Pronunciation | None:
        if name == "lexicon":
            return self.lexicon.get(word)
        if name == "letters":
            return by_letters(word)
        if name == "espeak":
            return self._espeak(word)
        pronouncer = self.rules if name == "rules" else self.learnt
        return pronouncer.say(word, mode=mode) if pronouncer else None

    def _espeak(self, word: str) -> Pronunciation | None:
        """With phones of the language, where it has a list of them: the nearest to each; nothing where one has none."""
        said = self.espeak.say(word) if self.espeak else None
        if said is None or not self.known:
            return said
        near = [phone if phone in self.known else relative(phone, self.known) for phone in said.phones]
        kept = tuple(phone for phone in near if phone is not None)
        return replace(said, phones=kept) if len(kept) == len(near) else None


def _espeak(code: str) -> espeak.EspeakPronouncer | None:
    """Its voice of a language; nothing where it has none, and the next reading takes over."""
    known = espeak.ENGINE.voices()
    try:
        return espeak.make(code)
    except LanguageError:
        if known:
            return None
        raise


def by_letters(word: str) -> Pronunciation:
    """Each letter with its marks as a symbol of its own."""
    letters = tuple(one for one in clusters(word.lower()) if unicodedata.category(one[0])[0] in "LMN")
    return Pronunciation(letters, rules=("by letters",))

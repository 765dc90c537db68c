"""Swahili: its letters and rules, with the stress on the last syllable but one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from olu.text.language_data import Pack, Pronunciation
from olu.text.rules.engine import RulePronouncer
from olu.text.tones import from_end, kinds

ALGORITHM = "swahili"
LAST_BUT_ONE = 2


class Swahili:
    """A syllabic nasal is a syllable too: m̩.tu is stressed on its m."""

    def __init__(self, pack: Pack) -> None:
        self.plain = RulePronouncer(pack)
        self.nuclei = kinds(pack, "vowel", "syllabic")

    def mode(self, words: Sequence[str]) -> str:
        return ""

    def say(self, word: str, *, mode: str = "") -> Pronunciation:
        said = self.plain.say(word)
        return replace(said, stress=from_end(said.phones, self.nuclei, LAST_BUT_ONE))


def make(pack: Pack) -> Swahili:
    return Swahili(pack)

"""Words that must not be said: a list in a file, looked for in a text before anything of it is spoken."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from olu.core.errors import ConfigError, TextError

MOST_WORDS = 100_000  # lines of a list
TAG = re.compile(r"<[^<>]*>")


class WordRefused(TextError):
    """A text has a word of the list."""


@dataclass(frozen=True)
class RefusedWords:
    """Words and phrases, each as the words it is made of, folded."""

    phrases: frozenset[tuple[str, ...]] = frozenset()

    @staticmethod
    def of(lines: Iterable[str]) -> RefusedWords:
        return RefusedWords(frozenset(words for words in map(folded_words, lines) if words))

    @staticmethod
    def load(path: Path) -> RefusedWords:
        """One word or phrase a line; empty lines and lines that begin with # are skipped."""
        try:
            text = path.read_text(encoding="utf-8-sig")
        except OSError as bad:
            raise ConfigError(f"{path} cannot be read ({bad.strerror}): check --refuse-words") from None
        except UnicodeDecodeError as bad:
            raise ConfigError(f"{path} is not UTF-8 (byte {bad.start}): save the list as UTF-8") from None
        lines = [line.strip() for line in text.splitlines()]
        kept = [(number, line) for number, line in enumerate(lines, 1) if line and not line.startswith("#")]
        bare = next(((number, line) for number, line in kept if not folded_words(line)), None)
        if bare is not None:
            raise ConfigError(
                f"{path} line {bare[0]}: {bare[1][:40]!r} has no letter or digit: write a word or a phrase"
            )
        if not kept:
            raise ConfigError(f"{path} holds no word: write one word or phrase a line")
        if len(kept) > MOST_WORDS:
            raise ConfigError(f"{path} has {len(kept)} lines, more than {MOST_WORDS}: make the list shorter")
        return RefusedWords.of(line for _, line in kept)

    def check(self, text: str) -> None:
        """Raises for the first word of the list that a text has, by its name."""
        if not self.phrases:
            return
        for form in dict.fromkeys((text, html.unescape(TAG.sub("", text)))):
            if found := self._first(folded_words(form)):
                named = unicodedata.normalize("NFC", " ".join(found))
                raise WordRefused(f"the text has {named!r}, which is on the list of words that must not be said here")

    def _first(self, words: tuple[str, ...]) -> tuple[str, ...]:
        lengths = sorted({len(phrase) for phrase in self.phrases})
        for at in range(len(words)):
            for length in lengths:
                if (part := words[at : at + length]) in self.phrases:
                    return part
        return ()


NO_WORDS = RefusedWords()  # nothing is refused


def folded_words(text: str) -> tuple[str, ...]:
    """The words of a text without case: runs of letters, marks and digits, however the marks are written.

    Signs that nobody sees are left out first, so that none of them can stand inside a word unseen.
    """
    plain = "".join(sign for sign in text if unicodedata.category(sign) != "Cf")
    folded = unicodedata.normalize("NFD", unicodedata.normalize("NFKD", plain).casefold())
    return tuple("".join(sign if unicodedata.category(sign)[0] in "LMN" else " " for sign in folded).split())

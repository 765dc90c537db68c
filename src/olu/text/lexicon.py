"""A person's own words: a .tsv of spelling and phones, which go before every rule."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from pathlib import Path

from olu.core.errors import LanguageError


class Lexicon(dict[str, str]):
    """Spelling -> phones with spaces, and where each word stands."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[str, str] = {}


def place_of(words: Mapping[str, str], word: str) -> str:
    """File and line of a word, where they are known: a voice carries the words alone."""
    return words.places[word] if isinstance(words, Lexicon) else "your lexicon"


def load_lexicon(path: Path) -> Lexicon:
    """Spelling -> phones with spaces; tones stand behind their vowel (a˥), ˈ before a stressed one."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise LanguageError(f"the lexicon {path} is not there: check the path") from None
    except (OSError, UnicodeDecodeError) as bad:
        raise LanguageError(f"the lexicon {path} cannot be read ({bad}): save it as UTF-8") from None
    found = Lexicon()
    for number, raw in enumerate(text.split("\n"), 1):
        line = unicodedata.normalize("NFC", raw.rstrip("\r"))
        if not line.strip() or line.startswith("#"):
            continue
        word, tab, phones = line.partition("\t")
        where = f"{path} line {number}"
        if not tab or "\t" in phones or not word.strip() or not phones.strip():
            raise LanguageError(f"{where}: write a word, a tab and its phones with spaces between: {line!r}")
        if found.get(word.strip(), phones.strip()) != phones.strip():
            raise LanguageError(f"{where}: {word.strip()!r} has other phones above: remove one of the two")
        found[word.strip()] = phones.strip()
        found.places[word.strip()] = where
    return found

"""The reading every language has: its letters as they stand, tidied, with nothing dropped in silence."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from olu.core.errors import LanguageError, MissingExtra, TextError
from olu.core.types import Reading, Word
from olu.text import markup
from olu.text.language_data import Pack, ReadingTrace
from olu.text.languages import load
from olu.text.normalise.steps import APART, Normal
from olu.text.vocabulary import BLANK
from olu.text.words import JOINERS

# ---- any script in Latin letters, for voices that were made so. One table serves the process: it takes seconds to load


_lock = threading.Lock()
_loaded: list[Any] = []


def romanise(text: str, *, language: str) -> str:
    """`text` in ASCII letters, as the voices of the MMS project were trained. Plain ASCII stays as it is."""
    return text if text.isascii() else str(_uroman().romanize_string(text, lcode=language))


def check_wanted(language: str, symbols: Iterable[str] | None) -> None:
    """Refuse where romanising would lose what the writing tells apart: ụ and u, ñ and n, à and á."""
    own = next((s for s in symbols or () if not s.isascii() and unicodedata.category(s[0])[0] == "L"), None)
    if own is not None:
        raise LanguageError(f"this vocabulary has letters of its own ({own}), and uroman would lose them: leave it out")
    if symbols is None and load(language).script == "Latn":
        raise LanguageError(f"{language} has Latin letters, and uroman would lose their marks: leave it out")


def _uroman() -> Any:
    with _lock:
        if not _loaded:
            try:
                from uroman import Uroman
            except ImportError:
                raise MissingExtra("romanising a text", extra="text", package="uroman") from None
            _loaded.append(Uroman())
        return _loaded[0]


UNSAYABLE = ("Cc", "Cf", "Cs", "Co", "Cn")  # control, format, surrogate, private use, unassigned
TWINS = {"ț": "ţ", "ţ": "ț", "ș": "ş", "ş": "ș", "’": "'", "ʼ": "'"}  # one letter, typed in two ways
UNHEARD = {"\u034f", *map(chr, range(0xFE00, 0xFE10))}  # marks that only choose how a character looks


class CharacterFrontend:
    """NFC, lower case, white space folded. With an inventory (longest symbol first), what is outside it is listed.

    `folds` says what a rare symbol is read as. `via` rewrites the text first: in Latin letters, or in phones.
    """

    kind = "characters"

    def __init__(
        self,
        language: str,
        *,
        lower: bool = True,
        inventory: Iterable[str] | None = None,
        pack: Pack | None = None,
        folds: Mapping[str, str] | None = None,
        via: str | None = None,
    ) -> None:
        self.language, self.lower, self.pack = language, lower, pack
        self.folds, self.via = dict(folds or {}), via
        self._normal = None if pack is None else Normal(pack)
        self.inventory = None if inventory is None else sorted(set(inventory))
        if via == "uroman":
            check_wanted(language, self.inventory)
        # Text is NFC, an inventory may not be: its symbols are found by their NFC form, an NFC one before its twin.
        by_form = sorted(self.inventory or (), key=lambda symbol: _nfc(symbol) == symbol)
        self._symbols = {_nfc(symbol): symbol for symbol in by_form if symbol}
        self._folded: dict[str, list[str]] = {}
        self._known_pattern = _any_of(self._symbols)
        for rare, near in {**TWINS, **self.folds}.items():
            unread: Counter[str] = Counter()
            lost: Counter[str] = Counter()
            self._match(_nfc(rare), unread)
            symbols = self._match(_nfc(near), lost)
            if unread and symbols and not lost:
                self._folded[_nfc(rare)] = symbols
        self._known_pattern = _any_of([*self._symbols, *self._folded])
        capitals = _any_of(form for form in self._symbols if form != form.lower())
        self._capitals = None if capitals is None else re.compile(f"({capitals.pattern})")

    def with_alphabet(self, symbols: Iterable[str], folds: Mapping[str, str]) -> CharacterFrontend:
        """The same reading, limited to an alphabet."""
        return CharacterFrontend(
            self.language, lower=self.lower, inventory=symbols, pack=self.pack, folds=folds, via=self.via
        )

    def unlimited(self) -> CharacterFrontend:
        """The same reading of any letter."""
        return CharacterFrontend(self.language, lower=self.lower, pack=self.pack, via=self.via)

    def read(self, text: str, *, plain: bool = False) -> Reading:
        """`plain` takes no markup out of a text: its brackets are brackets."""
        return self.explain(text, plain=plain)[0]

    def explain(self, text: str, *, plain: bool = False) -> tuple[Reading, ReadingTrace]:
        """The reading, and what was done to get it."""
        notes = ReadingTrace()
        dropped = notes.dropped
        words_only = "".join(self._piece(piece, notes) for piece in markup.parse(text, plain=plain))
        if self.via is not None:
            words_only = self._rewritten(self._canonical(words_only))
        sayable = _fold_spaces(list(_nfc("".join(_sayable(self._canonical(words_only), dropped)))))
        symbols = sayable if self.inventory is None else self._known("".join(sayable), dropped)
        words, breaks = _words(symbols)
        found: dict[str, Any] = {"dropped": dict(dropped), "language": self.language}
        return Reading(text=text, normal="".join(symbols), words=words, breaks=breaks, **found), notes

    def _piece(self, piece: markup.MarkupSpan, notes: ReadingTrace) -> str:
        if piece.kind == "phones":
            raise TextError(f"character {piece.at + 1}: this reading is by letters, so phones cannot be said: spell it")
        if piece.kind == "break":
            return f"{piece.text} "
        if self._normal is None:
            return " ".join(piece.text) if piece.how in APART else piece.text
        return self._normal.say_as(piece.text, piece.how, notes) if piece.how else self._normal.run(piece.text, notes)

    def state(self) -> dict[str, Any]:
        state = {"kind": self.kind, "language": self.language, "lower": self.lower, "inventory": self.inventory}
        extra = {"folds": self.folds, "via": self.via, "pack": self.pack and self.pack.state()}
        return {**state, **{name: value for name, value in extra.items() if value}}

    @staticmethod
    def from_state(state: dict[str, Any]) -> CharacterFrontend:
        pack = Pack.from_state(state["pack"]) if "pack" in state else None
        kept = {"lower": state["lower"], "inventory": state["inventory"]}
        return CharacterFrontend(state["language"], **kept, pack=pack, folds=state.get("folds"), via=state.get("via"))

    def _rewritten(self, text: str) -> str:
        if self.via == "uroman":
            return romanise(text, language=self.language)
        from olu.text.espeak import phonemize, voice_for  # a large library, and few voices need it

        return phonemize(text, voice=voice_for(self.language))

    def _canonical(self, text: str) -> str:
        text = _nfc(text)
        if not self.lower:
            return text
        if self._capitals is None:
            return _nfc(text.lower())
        # capitals that are symbols of their own stay, as in transformers' VitsTokenizer
        pieces = self._capitals.split(text)
        return _nfc("".join(piece if place % 2 else piece.lower() for place, piece in enumerate(pieces)))

    def _known(self, text: str, dropped: Counter[str]) -> list[str]:
        """The symbols of a text. What a drop leaves side by side is read as if it had always stood so."""
        while True:
            symbols = _fold_spaces(self._match(text, dropped))
            left = _nfc("".join(symbols))
            if left == text:
                return symbols
            text = left

    def _match(self, text: str, dropped: Counter[str]) -> list[str]:
        symbols: list[str] = []
        at = 0
        while at < len(text):
            if match := self._known_pattern and self._known_pattern.match(text, at):
                known = self._symbols.get(match[0])
                symbols += self._folded[match[0]] if known is None else [known]
                at = match.end()
                continue
            parts = unicodedata.normalize("NFD", text[at])  # an inventory may hold a letter and its mark apart
            if len(parts) > 1 and all(part in self._symbols for part in parts):
                symbols += [self._symbols[part] for part in parts]
            else:
                dropped[text[at]] += 1
            at += 1
        return symbols


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _any_of(forms: Iterable[str]) -> re.Pattern[str] | None:
    longest_first = sorted(forms, key=lambda form: (-len(form), form))
    return re.compile("|".join(map(re.escape, longest_first))) if longest_first else None


def _sayable(text: str, dropped: Counter[str]) -> list[str]:
    kept = []
    for character in text:
        if character.isspace():
            kept.append(" ")
        elif unicodedata.category(character) in UNSAYABLE or character in UNHEARD or character == BLANK:
            dropped[character] += 1
        else:
            kept.append(character)
    return kept


def _fold_spaces(symbols: list[str]) -> list[str]:
    folded: list[str] = []
    for symbol in symbols:
        if symbol != " " or (folded and folded[-1] != " "):
            folded.append(symbol)
    if folded and folded[-1] == " ":
        folded.pop()
    return folded


def _in_word(symbol: str) -> bool:
    return len(symbol) > 1 or unicodedata.category(symbol)[0] in "LMN"  # breaks are read character by character


def _words(symbols: list[str]) -> tuple[tuple[Word, ...], tuple[str, ...]]:
    """Letters, marks and digits are words; everything between them is breaks."""
    words: list[Word] = []
    breaks = [""]
    current: list[str] = []
    for place, symbol in enumerate(symbols):
        follows = place + 1 < len(symbols) and _in_word(symbols[place + 1])
        if _in_word(symbol) or (current and symbol in JOINERS and follows):
            current.append(symbol)
            continue
        if current:
            words.append(Word("".join(current), tuple(current)))
            current = []
            breaks.append("")
        breaks[-1] += symbol
    if current:
        words.append(Word("".join(current), tuple(current)))
        breaks.append("")
    return tuple(words), tuple(breaks)

"""Abbreviations of capital letters, addresses of pages and people, and signs that have a name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unicodedata import normalize

from olu.text.normalise.number_phrases import PhraseRule, any_of, is_heading
from olu.text.normalise.settings import Spelling
from olu.text.normalise.written_numbers import LETTER
from olu.text.patterns import LONGEST_WORD

# ---- initials of names, whose points end no sentence: J. R. Pérez, А. С. Пушкин


CAPITAL = "[A-ZÀ-ÖØ-ÞĀ-ɏ\u1e00-\u1effЀ-ӿ][\u0300-\u036f]*"  # Latin and Cyrillic; what is small is sorted out below
GOES_ON = ",;:"  # behind a point
CLOSERS = ')]"”’»'
GAP = r"[^\S\n]*+\n?+[^\S\n]*+"  # no empty line
RUN = re.compile(
    rf"(?<![^\s\"“‘«(\[¿¡]){CAPITAL}\.(?:{GAP}{CAPITAL}\.)*(?=\s|$|[{GOES_ON}{re.escape('?!' + CLOSERS)}])"
)
ONE = re.compile(CAPITAL)
NEXT = re.compile(rf"(?=\s){GAP}([^\W\d_][\w’'\u0300-\u036f-]*)")
BEFORE = re.compile(rf"(\S+){GAP}\Z")
PAIRED = re.compile(rf"(?<!\S){CAPITAL}(?:,| (?:and|or|to|y|e|o|u|a|et|ou|und|oder|na|àti|и|или)){GAP}\Z")  # A and B.
INITIALS_LOOK_BACK = 60
NUMERALS = "IVX"  # behind a word these are kings, chapters and acts, and in English a person
UNITS = "0123456789°º%"  # 220 V.
HOURS = ("AM", "PM")
QUOTES = "\"'“”‘’«»()[]¿¡"
# What a letter is the name of, so that its sentence may end with it. And words that open many sentences and are hardly
# a name: all of two letters in more languages (Li and Ng are names).
LABELS, OPENERS = (
    frozenset(Path(__file__).with_name(name).read_text(encoding="utf-8").split())
    for name in ("labels.txt", "openers.txt")
)


@dataclass(frozen=True, slots=True)
class Initials:
    start: int
    end: int  # behind the last point
    letters: tuple[str, ...]
    points: tuple[int, ...]  # places behind the points that end nothing
    named: bool  # whether the name follows, so that this is all of them


def initials(text: str) -> Iterator[Initials]:
    """Single capitals with a point, before another or before a word that may be a name."""
    return (found for run in RUN.finditer(text) if (found := judged(run)))


def judged(run: re.Match[str]) -> Initials | None:
    """What a match of RUN is; nothing where every point of it may end a sentence."""
    letters = tuple(ONE.findall(run[0]))
    if not all(letter.isupper() for letter in letters):
        return None
    named = _named(run, letters)
    ends = [run.start() + at + 1 for at, sign in enumerate(run[0]) if sign == "."]
    points = tuple(ends if named else ends[:-1])
    return Initials(run.start(), run.end(), letters, points, named) if points else None


def _named(run: re.Match[str], letters: tuple[str, ...]) -> bool:
    """Whether initials belong to a name: they mostly do, so only what speaks for a sentence's end counts."""
    text, start = run.string, run.start()
    following = NEXT.match(text, behind := _behind(text, run.end()))
    if behind > run.end():  # (J. R.) went on
        return following is not None and following[1][0].islower()
    if following is None:
        return text[run.end() : run.end() + 1] in tuple(GOES_ON)
    word = following[1]
    if not word[0].isupper():
        return word[0].islower()  # J. de la Cruz
    if normalize("NFC", word).casefold() in OPENERS or len(word) == 1:
        return False
    found = BEFORE.search(text, max(0, start - INITIALS_LOOK_BACK), start)
    before = found[1] if found and not text[start - 1 : start].strip() else ""
    spaced = any(sign.isspace() for sign in run[0])
    if before and before[-1] in UNITS:
        return spaced and "".join(letters) not in HOURS  # in 1990 J. R. Pérez
    if not before or len(letters) > 1:
        return True
    ended = before.casefold().strip(QUOTES) in LABELS or _is_small(before)
    if ended or PAIRED.search(text, max(0, start - INITIALS_LOOK_BACK), start):
        return False
    return letters[0] not in NUMERALS or not before[-1].isalnum()  # behind a comma, a title or a sentence: a name


def _behind(text: str, at: int) -> int:
    while text[at : at + 1] in tuple(CLOSERS):
        at += 1
    return at


def _is_small(before: str) -> bool:
    """Whether a small letter with a point stands before, as in 300 a. C."""
    return len(before) == len("a.") and before[0].islower() and before[1] == "."


ENDS = ("com", "org", "net", "edu", "gov", "info", "ng", "et", "es", "ke", "tz", "ug", "mx", "ar", "cu", "uk")
ENDINGS = tuple(f".{end}" for end in ENDS)
ADDRESS = re.compile(
    r"(?:https?://|www\.)[^\s<>\"]+"
    r"|(?<![\w.])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    rf"|(?<![\w.@])[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:{'|'.join(ENDS)})(?![\w.-]\w|\w)(?:/[^\s<>\"]*)?",
    re.IGNORECASE,
)
CAPITALS = re.compile(rf"(?<!{LETTER})(?<!['’])(?:[A-ZÀ-ÖØ-ÞẸỊỌỤṄṢÑ]\.?){{2,}}(?!{LETTER}|['’$])")
LONE = re.compile(rf"(?<!{LETTER})(?<!{LETTER}\.)(?<!['’‐‑-])[A-Za-zṄṅṢṣÑñ](?!{LETTER}|['’$‐‑-]|\.{LETTER})")
FIDEL = "[\u1200-\u135a]"
TITLE = re.compile(r"\s+[A-ZÀ-ÖØ-Þ]")
LOOK_BACK = 40
BESIDE = re.compile(r"[0-9]\s?\||\|\s?[0-9]")
CONSONANTS = re.compile(rf"(?<!{LETTER})(?<!['’-])[b-df-hj-np-tv-xz]{{2,6}}(?!{LETTER}|['’-])")
HUM = re.compile("[hmns]+")  # mmh, shh: sounds, not letters
TRAILING = ".,;:!?)]}'\"/"


class Speller:
    def __init__(self, spelling: Spelling, *, keep: frozenset[str] = frozenset()) -> None:
        self.spelling, self.keep = spelling, keep  # what has its own meaning beside a number
        self.letters = {letter.casefold(): name for letter, name in spelling.letters.items()}
        self.word = re.compile(spelling.word)
        self.called = re.compile(f"(?:{spelling.called})\\Z") if spelling.called else None
        self._symbols = re.compile("|".join(re.escape(sign) for sign in spelling.symbols) or "(?!)")
        cues = {title.behind for title in spelling.titles.values() if title.behind}
        self._behind = {cue: re.compile(f"(?:{cue})\\s+\\Z") for cue in cues}

    def has_letters(self, text: str) -> bool:
        """Whether capitals stand together or alone."""
        if CAPITALS.search(text) or any(found[0].isupper() for found in LONE.finditer(text)):
            return True
        return any(judged(run) for run in RUN.finditer(text))

    def addresses(self) -> list[PhraseRule]:
        return (
            [PhraseRule("address", ADDRESS, self._address, digits=False, hint=("@", "://", "www.", *ENDINGS))]
            if self.spelling.symbols
            else []
        )

    def rules(self) -> list[PhraseRule]:
        found = [
            PhraseRule("letters", CONSONANTS, self._consonants, digits=False),
            PhraseRule(
                "initials",
                self._dotted(),
                lambda run: " ".join(run[0].strip(".").split(".")),
                digits=False,
                hint=(".",),
            ),
        ]
        if self.spelling.alone:
            found.append(PhraseRule("letter", LONE, self._lone, digits=False))
        if self.spelling.signs:
            signs = "".join(re.escape(sign) for sign in self.spelling.signs)
            found.append(
                PhraseRule("sign", re.compile(f"[{signs}]"), lambda sign: self.spelling.signs[sign[0]], digits=False)
            )
        return found

    def _dotted(self) -> re.Pattern[str]:
        """Fidel with points between them, and names of foreign letters: ኢ.ቢ.ሲ, ኤች.አይ.ቪ."""
        names = any_of(name for name in self.letters.values() if re.fullmatch(f"{FIDEL}+", name))
        one = f"(?:{names}|{FIDEL})"
        end = rf"(?!{LETTER}|\.{LETTER})"
        return re.compile(rf"(?<!{LETTER})(?<!\.)[በለከየ]?{one}(?:\.{one})+{end}(?:\.(?=\s+{LETTER}))?")

    def initials(self) -> PhraseRule:
        return PhraseRule("initials", RUN, self._initials, digits=False, hint=(".",))

    def capitals(self) -> PhraseRule:
        return PhraseRule("letters", CAPITALS, self._capitals, digits=False)

    def _address(self, found: re.Match[str]) -> str | None:
        written = found[0].rstrip(TRAILING)
        tail = found[0][len(written) :].lstrip("/")
        inside = re.sub(r"^https?://", "", written, flags=re.IGNORECASE)
        said = self._symbols.sub(lambda sign: f" {self.spelling.symbols[sign[0]]} ", inside)
        said = " ".join(re.sub(r"[^\w\s'-]", " ", said).split())
        return f"{said}{tail}" if said else None

    def _capitals(self, found: re.Match[str]) -> str | None:
        written = found[0]
        if is_heading(found.string):  # not an abbreviation
            return None
        if self._beside(found, written):
            return None
        letters = written.replace(".", "")
        inside = "." in written.rstrip(".")
        dotted = inside and written.count(".") >= len(letters) - 1
        if not dotted and inside:
            return None
        plain = letters.casefold()
        looks_like_word = self._is_word(plain) or (len(plain) > self.spelling.longest and not self._mute(plain))
        if looks_like_word and not dotted:
            return None
        said = self._spelled(plain)
        return said + "." if said and not dotted and written.endswith(".") else said

    def _beside(self, found: re.Match[str], written: str) -> bool:
        """Whether these letters mean something else beside a number, and one stands there."""
        around = f"{found.string[: found.start()][-2:]}|{found.string[found.end() :][:2]}"
        return written.casefold() in self.keep and BESIDE.search(around) is not None

    def _initials(self, found: re.Match[str]) -> str | None:
        """Their names in a row, without a pause; the last point stays where no name follows."""
        one = judged(found)
        joined = "".join(found[0].split())
        if one is None or (len(one.letters) > 1 and joined == found[0]) or self._beside(found, joined):
            return None  # U.S.A., 8 P. M.
        if title := self._title(found, one):
            return title
        said = " ".join(self.letters.get(letter.casefold()) or letter for letter in one.letters)
        return said if one.named else f"{said}."

    def _title(self, found: re.Match[str], one: Initials) -> str | None:
        title = self.spelling.titles.get(one.letters[0].casefold())
        if title is None or len(one.letters) > 1 or not one.named:
            return None
        before = found.string[max(0, one.start - LOOK_BACK) : one.start]
        if self.called is not None and self.called.search(before):
            return None  # nota D. Luis: the letter ends its sentence
        follows = NEXT.match(found.string, one.end)
        fits = follows is not None and (
            follows[1] in title.names or (title.behind and self._behind[title.behind].search(before))
        )
        return title.said if fits else None

    def _consonants(self, found: re.Match[str]) -> str | None:
        plain = found[0]
        return None if self._is_word(plain) or HUM.fullmatch(plain) else self._spelled(plain)

    def _lone(self, found: re.Match[str]) -> str | None:
        """The name of a single letter that numbers, hours and units did not take; else None."""
        letter, text = found[0], found.string
        is_word = letter.casefold() not in self.spelling.alone
        if letter.isupper() and not is_word:
            return self._spelled(letter.casefold())
        if self.called is None or not self.called.search(text[max(0, found.start() - LOOK_BACK) : found.start()]):
            return None
        title = text.isupper() or TITLE.match(text, found.end())  # Letra Y Música: all words have capitals
        meant = letter.isupper() and not title if is_word else True
        return self._spelled(letter.casefold()) if meant else None

    def _is_word(self, plain: str) -> bool:
        """Longer ones are words by their length, or have no vowel and at most so many letters."""
        return len(plain) <= LONGEST_WORD and self.word.fullmatch(plain) is not None

    def _mute(self, word: str) -> bool:
        return CONSONANTS.fullmatch(word) is not None

    def _spelled(self, word: str) -> str | None:
        names = [self.letters.get(letter) for letter in word]
        return " ".join(name for name in names if name) if all(names) else None

"""Abbreviations of capital letters, addresses of pages and people, and signs that have a name."""

from __future__ import annotations

import re

from olu.text.normalise.initials import NEXT, RUN, Initials, judged
from olu.text.normalise.number_phrases import PhraseRule, any_of, is_heading
from olu.text.normalise.settings import Spelling
from olu.text.normalise.written_numbers import LETTER
from olu.text.patterns import LONGEST_WORD

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
        """Whether it means something else beside the number that it stands beside."""
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
            follows[1] in title.names or (title.behind and re.search(f"(?:{title.behind})\\s+\\Z", before))
        )
        return title.said if fits else None

    def _consonants(self, found: re.Match[str]) -> str | None:
        plain = found[0]
        return None if self._is_word(plain) or HUM.fullmatch(plain) else self._spelled(plain)

    def _lone(self, found: re.Match[str]) -> str | None:
        """Once numbers, hours and units are said: what they did not take is a letter."""
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

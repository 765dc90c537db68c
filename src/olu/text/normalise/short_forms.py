"""Short forms: Roman numerals behind a king or a century, before what is counted, and alone; and abbreviations."""

from __future__ import annotations

import re
from unicodedata import normalize

from olu.core.errors import LanguageError
from olu.text.language_data import Pack
from olu.text.normalise.number_phrases import PhraseRule, Wording, any_of
from olu.text.normalise.settings import NumberSigns, Reigns
from olu.text.normalise.written_numbers import LETTER

VALUES = {"i": 1, "v": 5, "x": 10, "l": 50}
NUMERAL = r"(?=[ivxl])(?:x{0,3}|xl|lx{0,3})(?:ix|iv|v?i{0,3})"
# in capitals, and more than one: I, V and X alone are letters
ALONE = rf"(?<!{LETTER})(?<![0-9.'’-])(?=[IVX]{{2}})X{{0,3}}(?:IX|IV|V?I{{0,3}})(?!{LETTER}|[0-9'’-]|\.{LETTER})"
LOOK_BACK = 40


def roman_rules(wording: Wording) -> list[PhraseRule]:
    reigns = wording.style.roman
    found = _reigns(wording, reigns) if reigns else []
    if wording.style.figures.roman:
        found.append(_alone(wording.style.figures))
    return found


def _alone(figures: NumberSigns) -> PhraseRule:
    """A rule that writes Roman numerals as digits, which other rules then read."""
    behind = re.compile(rf"(?<!\w)(?:{figures.roman_behind})\Z", re.IGNORECASE) if figures.roman_behind else None

    def say(found: re.Match[str]) -> str | None:
        if found["kept"]:
            return None
        doubtful = behind is not None and len(found[0]) == 2 and found[0] != "II"  # VI is a place, too
        if behind is not None and doubtful and not behind.search(_before(found)):
            return None
        return str(_value(found[0]))

    pattern = rf"(?P<kept>{figures.not_roman or '(?!)'})|{ALONE}"
    return PhraseRule("roman", re.compile(pattern), say, digits=False)


def _before(found: re.Match[str]) -> str:
    return found.string[max(0, found.start() - LOOK_BACK) : found.start()]


def _reigns(wording: Wording, reigns: Reigns) -> list[PhraseRule]:
    said = NumeralPhrase(wording, reigns)
    behind = (
        rf"(?<!{LETTER})(?P<word>{any_of((*reigns.masculine, *reigns.feminine))})\s+(?P<a>{NUMERAL})(?!{LETTER})"
        rf"(?:(?P<join>{any_of(reigns.joiners)})(?P<b>{NUMERAL})(?!{LETTER}))?"
    )
    words = any_of((*reigns.before_masculine, *reigns.before_feminine))
    before = rf"(?<!{LETTER})(?<![.'’-])(?P<a>{NUMERAL})\s+(?P<word>(?:{words}))(?P<many>s?)(?!{LETTER})"
    return [
        wording.rule("roman", behind, said.behind, digits=False),
        wording.rule("roman", before, said.before, digits=False),
    ]


class NumeralPhrase:
    """Says a numeral beside a word that shows its gender."""

    def __init__(self, wording: Wording, reigns: Reigns) -> None:
        self.wording, self.reigns = wording, reigns
        self.feminine = {word.casefold() for word in (*reigns.feminine, *reigns.before_feminine)}

    def behind(self, found: re.Match[str]) -> str:
        name = "reign_feminine" if found["word"].casefold() in self.feminine else "reign"
        said = f"{found['word']} {self.wording.whole(_value(found['a']), name)}"
        return f"{said}{found['join']}{self.wording.whole(_value(found['b']), name)}" if found["b"] else said

    def before(self, found: re.Match[str]) -> str | None:
        if not found["a"].isupper():
            return None
        feminine, many = found["word"].casefold() in self.feminine, found["many"]
        name = "ordinal_feminine" if feminine else "ordinal" if many else "ordinal_apocope"
        said = self.wording.whole(_value(found["a"]), name)
        if many:  # las II Jornadas
            said = " ".join(f"{word}{many.lower()}" for word in said.split())
        return f"{said} {found['word']}{many}"


def _value(numeral: str) -> int:
    digits = [VALUES[letter] for letter in numeral.lower()]
    return sum(-one if one < after else one for one, after in zip(digits, [*digits[1:], 0], strict=True))


# ---- words that are written short: the rows of abbreviations.tsv
# A row is the short form, what is said, and perhaps `open` (letters may follow: an ending), `end` (it may close a
# sentence) or `number` (it stands before a number). Spaces and a slash may stand apart in a text. What may be written
# before a word may stand before these too.


TABLE = "abbreviations.tsv"
SLASHED = re.compile("[\u1200-\u135a]+/")
FLAGS = {"open", "end", "number"}


def _rows(pack: Pack) -> list[list[str]]:
    """Each the short form, the words, and its flags; Ethiopic forms once with a slash and once with a point."""
    rows = [[normalize("NFC", cell.strip()) for cell in row] for row in pack.rows(TABLE)]
    listed = {row[0] for row in rows}
    pointed = [[row[0].replace("/", "."), *row[1:]] for row in rows if SLASHED.match(row[0])]  # ዶ/ር, ዶ.ር
    rows += [row for row in pointed if row[0] not in listed]
    known = ", ".join(sorted(FLAGS))
    for row in rows:
        if len(row) < 2 or set(row[2:]) - FLAGS:
            raise LanguageError(f"{pack.code}/{TABLE}: {' '.join(row)!r} is not: short form, words, perhaps {known}")
    return rows


def abbreviation_rules(pack: Pack, proclitics: tuple[str, ...]) -> list[PhraseRule]:
    rows = _rows(pack)
    if not rows:
        return []
    said = {_key(row[0]): row[1] for row in rows}
    ending = {_key(row[0]) for row in rows if "end" in row[2:]}
    forms = sorted(rows, key=lambda row: len(row[0]), reverse=True)
    short = "|".join(_form(row[0], row[2:]) for row in forms)
    before = "|".join(re.escape(word) for word in sorted(proclitics, key=len, reverse=True))
    clitic = rf"(?P<before>{before})??" if before else "(?P<before>)"
    pattern = re.compile(rf"(?<!{LETTER})(?<!{LETTER}\.)(?<![@'’]){clitic}(?P<short>{short})", re.IGNORECASE)

    def say(found: re.Match[str]) -> str:
        key = _key(found["short"])
        words = said[key]
        rest = found.string[found.end() :]
        closes = (
            key in ending and found["short"].endswith(".") and (not rest.strip() or re.match(r"\s+[A-ZÁÉÍÓÚỊỌỤ]", rest))
        )
        return f"{found['before'] or ''}{words}{'.' if closes else ''}"

    return [PhraseRule("abbreviation", pattern, say, digits=False)]


def _form(short: str, flags: list[str]) -> str:
    form = re.escape(short).replace(r"\ ", r"\s?").replace("/", r"\s?/\s?").replace(r"\.", r"\.\s?")
    form = re.sub(r"\\\.\\s\?$", r"\\.", form)  # a space behind it is not part of it
    if "number" in flags:
        return rf"{form}(?=\s?[0-9])"
    if "open" in flags:
        return form
    if not short.endswith("."):
        more = rf"|\.{LETTER}" if "." in short else ""  # አ.አ is another word in አ.አ.ዩ
        return f"{form}(?!{LETTER}{more})"
    return form if "end" in flags else rf"{form}(?=\s*\w)"  # no title stands alone


def _key(short: str) -> str:
    return re.sub(r"\s+", "", short).casefold()

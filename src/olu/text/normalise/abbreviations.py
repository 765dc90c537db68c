"""Words that are written short: the rows of abbreviations.tsv.

A row is the short form, what is said, and perhaps `open` (letters may follow: an ending), `end` (it may
close a sentence) or `number` (it stands before a number). Spaces and a slash may
stand apart in a text. What may be written before a word may stand before these too.
"""

from __future__ import annotations

import re
from unicodedata import normalize

from olu.core.errors import LanguageError
from olu.text.language_data import Pack
from olu.text.normalise.number_phrases import PhraseRule
from olu.text.normalise.written_numbers import LETTER

FILE = "abbreviations.tsv"
SLASHED = re.compile("[\u1200-\u135a]+/")
FLAGS = {"open", "end", "number"}


def _rows(pack: Pack) -> list[list[str]]:
    """Each the short form, the words, and its flags; Ethiopic forms once with a slash and once with a point."""
    rows = [[normalize("NFC", cell.strip()) for cell in row] for row in pack.rows(FILE)]
    listed = {row[0] for row in rows}
    pointed = [[row[0].replace("/", "."), *row[1:]] for row in rows if SLASHED.match(row[0])]  # ዶ/ር, ዶ.ር
    rows += [row for row in pointed if row[0] not in listed]
    known = ", ".join(sorted(FLAGS))
    for row in rows:
        if len(row) < 2 or set(row[2:]) - FLAGS:
            raise LanguageError(f"{pack.code}/{FILE}: {' '.join(row)!r} is not: short form, words, perhaps {known}")
    return rows


def rules(pack: Pack, proclitics: tuple[str, ...]) -> list[PhraseRule]:
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

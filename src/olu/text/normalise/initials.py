"""Initials of names, whose points end no sentence: J. R. Pérez, А. С. Пушкин."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from unicodedata import normalize

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
LOOK_BACK = 60
NUMERALS = "IVX"  # behind a word these are kings, chapters and acts, and in English a person
UNITS = "0123456789°º%"  # 220 V.
HOURS = ("AM", "PM")
QUOTES = "\"'“”‘’«»()[]¿¡"
# What a letter is the name of: its sentence may end with it.
LABELLED = """
plan group team type class option vitamin letter section series grade level point room hepatitis
grupo equipo tipo clase opción vitamina letra sección serie eje punto generación cromosoma
groupe équipe classe vitamine lettre opção gruppe typ klasse buchstabe kundi aina daraja herufi vitamini
план группа группы группе класс класса тип типа витамин витамина буква буквы вариант точка точки
"""
# Words that open many sentences and are hardly a name: all of two letters in more languages (Li and Ng are names).
OPENING = """
am an as at be by do go he if in is it me my no of oh on or so to up us we
al da de el él en es ha la le lo me mi ni os se si sí su te tu tú un va ya yo
ao às as da do em eu já na no os ou só um au ce ci du en et il je le ma ne on où sa se si ta tu
ab am an da du er es ob so um wo zu di ed io lo ma mi se si un il ci ne
ni na ya wa la za cha si ha ka ma ọ o ó ẹ à ní tí sí kí bí mo rí fi yi gi nị ọ̀
во вы да до ее её за из их им ко мы на не ни но ну об он от по со то ты
the then this that these those they there when what where with from after before here but and for she his her our
however while also
los las una uno luego después entonces este esta esto estos estas pero como cuando donde para desde sin con por también
aunque ella ellos más muy hay
les des une puis ensuite elle mais alors dans der die das dann aber danach eine nach
kisha baada lakini hii hiyo huu sasa wọn àwọn nígbà ṣùgbọ́n lẹ́yìn ndị mgbe mana
это этот эта они она оно потом затем после когда если тогда также для при его
"""
LABELS, OPENERS = frozenset(LABELLED.split()), frozenset(OPENING.split())


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
    """Far more points follow an initial than a letter that ends a sentence, so only what speaks for an end counts."""
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
    found = BEFORE.search(text, max(0, start - LOOK_BACK), start)
    before = found[1] if found and not text[start - 1 : start].strip() else ""
    spaced = any(sign.isspace() for sign in run[0])
    if before and before[-1] in UNITS:
        return spaced and "".join(letters) not in HOURS  # in 1990 J. R. Pérez
    if not before or len(letters) > 1:
        return True
    ended = before.casefold().strip(QUOTES) in LABELS or _is_small(before)
    if ended or PAIRED.search(text, max(0, start - LOOK_BACK), start):
        return False
    return letters[0] not in NUMERALS or not before[-1].isalnum()  # behind a comma, a title or a sentence: a name


def _behind(text: str, at: int) -> int:
    while text[at : at + 1] in tuple(CLOSERS):
        at += 1
    return at


def _is_small(before: str) -> bool:
    """As in 300 a. C."""
    return len(before) == len("a.") and before[0].islower() and before[1] == "."

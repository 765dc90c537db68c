"""How a language writes and says what is not letters: its normalise.toml.

`[when."es-419"]` and `[when."clock=ethiopian"]` hold what is different in one dialect or with one option.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self
from unicodedata import normalize

from pydantic import AfterValidator, Field, model_validator

from olu.core.config import Strict, check, parse_toml
from olu.text.language_data import Pack
from olu.text.patterns import LONGEST_WORD, check_pattern, check_word_pattern

FILE = "normalise.toml"


def _pattern(text: str) -> str:
    check_pattern(text)
    return text


def _last_pattern(text: str) -> str:
    check_pattern(text, last=True)
    return text


def _word_pattern(text: str) -> str:
    check_word_pattern(text)
    return text


Regex = Annotated[str, AfterValidator(_pattern)]  # see olu.text.patterns: none that could take for ever
LastRegex = Annotated[str, AfterValidator(_last_pattern)]  # ends where a number or a letter begins
WordRegex = Annotated[str, AfterValidator(_word_pattern)]


class NumberSigns(Strict):
    """Written numbers: the signs in them, and what they are called."""

    thousands: str = ","  # every sign that may stand between groups of three digits
    decimal: str = "."
    marks: dict[str, str] = Field(default_factory=dict)  # what a decimal sign is called
    fraction: Literal["digits", "number"] = "digits"  # how the digits after it are read
    minus: str = ""
    range: str = "{a} {b}"
    percent: str = "{n} %"
    permille: str = "{n} ‰"
    degrees: str = "{n} °"
    fractions: dict[str, str] = Field(default_factory=dict)  # "1/2" = "nusu"
    fraction_one: str | None = None  # where the upper number is 1
    fraction_many: str = "{a} {b}"
    largest_part: int = 10  # what is divided into more is no fraction
    mixed: str = "{n} {f}"  # a whole number and a fraction
    mixed_as: dict[str, str] = Field(default_factory=dict)  # "1/2" = "{n} y medio"
    units: str = "{n} {unit}"
    unit_set: str = "cardinal"
    phone: Regex | None = None  # what stands before a telephone number, whatever it looks like
    roman: bool = False  # XII in capitals is a number wherever it stands
    roman_behind: LastRegex | None = None  # two letters (but II) are one only behind this
    not_roman: Regex | None = None  # words and a numeral that is none: lo que VI
    spaced_letters: bool = False  # a unit of one letter may stand apart from its number


class NumberContext(Strict):
    """Which set of rules a number takes beside some words; the first that fits."""

    set: str
    before: LastRegex | None = None  # text that ends where the number begins
    after: Regex | None = None
    first: int = 0
    last: int | None = None
    plain: bool = False  # only digits: no sign between them


class Glue(Strict):
    """What is written together with a number."""

    proclitics: tuple[str, ...] = ()  # stay joined to the first word
    endings: tuple[str, ...] = ()  # stay joined to the last word
    joins: tuple[tuple[str, str], ...] = ()  # what becomes of the letters that meet there
    ordinals: dict[str, str] = Field(default_factory=dict)  # an ending that makes an ordinal -> its set
    ordinal_rest: tuple[str, ...] = ()  # may follow such an ending


class Dates(Strict):
    months: tuple[tuple[str, ...], ...]  # the name first, then how else it is written
    full: str  # {day} {month} {year}
    day_month: str
    first: str | None = None  # the first of a month
    numeric: str | None = None  # a date in figures, where its month is not named: {day} {m} {year}
    between: Regex = r"\s+"  # what may stand between day, month and year
    year_set: str = "cardinal"
    weak: tuple[str, ...] = ()  # names that are also other words: a month only beside a year
    day_word: Regex = ""  # may follow the day where the month stands before it


class ClockRules(Strict):
    hour: str
    minutes: str
    half: str | None = None
    quarter: str | None = None
    hour_24: str = ""  # from thirteen on, where the printed hour is kept
    minutes_24: str = ""
    zero: bool = False  # 20:05 is said with its zero
    seconds: str = ", {s}"
    counted_from: int = 0  # the hour at which the count begins: 6 in Ethiopia and in Swahili
    day: str = "{time} {part}"
    parts: tuple[tuple[int, str], ...] = ()  # from which hour on a part of the day has its name
    always_part: bool = False
    fixes: tuple[tuple[str, str], ...] = ()
    before: Regex | None = None  # what stands before an hour, and never before a verse
    after: Regex | None = None  # what may follow and is said already


class Currency(Strict):
    one: str
    many: str | None = None
    cent: str
    cents: str | None = None
    set: str = "cardinal"
    cent_set: str = "cardinal"


class Money(Strict):
    units: dict[str, Currency]
    signs: dict[str, str]  # before or after a number
    prefixes: dict[str, str] = Field(default_factory=dict)  # only before it, and joined to it
    whole: str = "{n} {unit}"
    joined: str = "{whole} {part}"
    grammar: str | None = None  # a set that places the unit itself
    scales: dict[str, int] = Field(default_factory=dict)
    of: tuple[tuple[str, str], ...] = ()  # behind these words the unit needs another before it

    @model_validator(mode="after")
    def _units_are_known(self) -> Self:
        for sign, name in (self.signs | self.prefixes).items():
            if name not in self.units:
                raise ValueError(f"{sign} = {name!r} is none of the units {', '.join(self.units)}")
        return self


class Title(Strict):
    """A letter with a point that is no initial before some names: D. José is don José."""

    said: str
    names: tuple[str, ...]
    behind: Regex | None = None  # what stands before one, whatever the name


class Spelling(Strict):
    letters: dict[str, str]
    word: WordRegex  # an abbreviation in capitals that looks like this is read as a word
    longest: int = Field(4, le=LONGEST_WORD)  # capitals longer than this are a word
    alone: str = ""  # letters that are no word: a capital of these that stands alone is said by its name
    called: LastRegex | None = None  # what stands before a letter that is meant as one, also if it is small or a word
    titles: dict[str, Title] = Field(default_factory=dict)
    symbols: dict[str, str] = Field(default_factory=dict)  # in addresses
    signs: dict[str, str] = Field(default_factory=dict)  # in running text


class Reigns(Strict):
    """Roman numerals, where these words stand before them, or behind them (II Guerra Mundial: an ordinal)."""

    masculine: tuple[str, ...]
    feminine: tuple[str, ...] = ()
    before_masculine: tuple[str, ...] = ()
    before_feminine: tuple[str, ...] = ()
    joiners: tuple[str, ...] = ()


class Style(Strict):
    figures: NumberSigns = Field(default_factory=NumberSigns)
    context: tuple[NumberContext, ...] = ()
    glue: Glue = Field(default_factory=Glue)
    dates: Dates | None = None
    clock: ClockRules | None = None
    money: Money | None = None
    spelling: Spelling | None = None
    roman: Reigns | None = None


def style(pack: Pack) -> Style:
    """The style of a language in its dialect and with its options; nothing special where it has no file."""
    where = f"{pack.code}/{FILE}"
    data = parse_toml(normalize("NFC", pack.text(FILE)), where=where)
    for name, other in data.pop("when", {}).items():
        if name in pack.force:
            data = _over(data, other)
    return check(Style, data, where=where)


def _over(data: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    result = dict(data)
    for key, value in other.items():
        inner = result.get(key)
        result[key] = _over(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return result

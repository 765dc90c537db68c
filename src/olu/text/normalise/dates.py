"""Dates: in figures, and with the name of the month. A date is read as it stands; no calendar is changed."""

from __future__ import annotations

import re

from olu.text.normalise.number_phrases import PhraseRule, Wording, any_of, begins_sentence
from olu.text.normalise.settings import Dates, Style

DAYS, MONTHS = 31, 13  # thirteen: the Ethiopian year has Pagume
SHORT_YEARS = 50  # 49 is 2049, 50 is 1950
LETTER = r"[^\W\d_]"
NO_MORE = r"(?![0-9]|[./-][0-9])"
ALONE = r"(?<![0-9])(?<![0-9][.,:/-])"
RANKED = r"(?:st|nd|rd|th|º|°|er|\.º)?"


def rules(wording: Wording) -> list[PhraseRule]:
    dates = wording.style.dates
    if dates is None:
        return []
    said = DatePhrase(wording, dates)
    full, short = any_of(set(said.known) - said.short), any_of(said.short)
    # the point of oct. is part of it unless a sentence begins behind it; the one behind octubre ends a sentence
    month = rf"(?<!{LETTER})(?P<month>(?:{full})(?!{LETTER})|(?:{short})(?!{LETTER})(?:\.(?=\s*[\w,;]))?)"
    between = dates.between
    day = rf"{ALONE}(?P<day>[0-3]?[0-9]){RANKED}(?![0-9])"
    year = r"(?P<year>[12][0-9]{3})(?![0-9]|[.,:/-][0-9])"
    after_day = rf"(?:\s*(?:{dates.day_word}))?" if dates.day_word else ""
    patterns = (
        rf"{ALONE}(?P<year>[12][0-9]{{3}})(?P<sign>[-/.])(?P<m>[01]?[0-9])(?P=sign)(?P<day>[0-3]?[0-9]){NO_MORE}",
        rf"{ALONE}(?P<day>[0-3]?[0-9])(?P<sign>[-/.])(?P<m>[0-3]?[0-9])(?P=sign)(?P<year>[12][0-9]{{3}}){NO_MORE}",
        rf"{ALONE}(?P<day>[0-3]?[0-9])/(?P<m>[0-3]?[0-9])/(?P<short>[0-9]{{2}}){NO_MORE}",
        rf"{day}{between}{month}(?:,?{between}{year})?",
        rf"{month}\s*(?P<day>[0-3]?[0-9]){RANKED}{after_day}(?:,?\s+|/){year}",
        rf"{month}\s*(?P<day>[0-3]?[0-9]){RANKED}{after_day}(?![0-9:/]|[.,][0-9])",
    )
    return [wording.rule("date", pattern, said) for pattern in patterns]


def forms(style: Style) -> frozenset[str]:
    """What months are called, in small letters."""
    return frozenset(name.casefold() for names in (style.dates.months if style.dates else ()) for name in names)


class DatePhrase:
    """Says a date that was found, if it is one."""

    def __init__(self, wording: Wording, dates: Dates) -> None:
        self.wording, self.dates = wording, dates
        self.weak = {name.casefold() for name in dates.weak}
        self.short = _short(dates.months)
        self.known = {name.casefold(): index for index, names in enumerate(dates.months) for name in names}

    def __call__(self, found: re.Match[str]) -> str | None:
        said = self._date(found)
        ends = said is not None and found[0].endswith(".") and begins_sentence(found.string, found.end())
        return f"{said}." if ends else said

    def _date(self, found: re.Match[str]) -> str | None:
        given = {name: value for name, value in found.groupdict().items() if value}
        day, year = int(given["day"]), self._year(given)
        if "month" in given:
            name = given["month"].casefold().rstrip(".")
            if year is None and name in self.weak:
                return None
            month = self.known[name] + 1
        else:
            month = int(given["m"])
            if month > 12 >= day and "short" not in given:  # as in America
                day, month = month, day
        if not (1 <= day <= DAYS and 1 <= month <= MONTHS):
            return None
        if "month" not in given and self.dates.numeric is not None and year is not None:
            return self._fill(self.dates.numeric, day, month, year)
        if month > len(self.dates.months):
            return None
        return self._fill(self.dates.day_month if year is None else self.dates.full, day, month, year)

    def _year(self, given: dict[str, str]) -> int | None:
        if "short" in given:
            return int(given["short"]) + (2000 if int(given["short"]) < SHORT_YEARS else 1900)
        return int(given["year"]) if "year" in given else None

    def _fill(self, template: str, day: int, month: int, year: int | None) -> str:
        name = self.dates.months[month - 1][0] if month <= len(self.dates.months) else ""
        first = self.dates.first if day == 1 else None
        said_year = "" if year is None else self.wording.whole(year, self.dates.year_set)
        said_day = first or self.wording.whole(day)
        return self.wording.fill(template, day=said_day, m=month, month=name, year=said_year)


def _short(months: tuple[tuple[str, ...], ...]) -> set[str]:
    """Names that another one of the same month begins with: oct, sept."""
    found = set()
    for first, *others in ([name.casefold() for name in names] for names in months):
        found |= {name for name in others if any(one != name and one.startswith(name) for one in (first, *others))}
    return found

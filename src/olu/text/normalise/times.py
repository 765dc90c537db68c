"""Times: dates in figures or with the name of the month, hours as they are printed or as a language counts them.

A date is read as it stands, and no calendar is changed. Hours are counted from six where a language wants it so.
"""

from __future__ import annotations

import re

from olu.text.normalise.number_phrases import PhraseRule, Wording, any_of, begins_sentence
from olu.text.normalise.settings import ClockRules, Dates, Style

DAYS, MONTHS = 31, 13  # thirteen: the Ethiopian year has Pagume
SHORT_YEARS = 50  # 49 is 2049, 50 is 1950
LETTER = r"[^\W\d_]"
NO_MORE = r"(?![0-9]|[./-][0-9])"
ALONE = r"(?<![0-9])(?<![0-9][.,:/-])"
RANKED = r"(?:st|nd|rd|th|º|°|er|\.º)?"
HALF, QUARTER, NOON, TEN = 30, 15, 12, 10
DAY, LOOK_BACK = 24, 40
HALVES = r"(?P<half>[ap])\.?\s?m\b\.?"


def forms(style: Style) -> frozenset[str]:
    """What months are called and what stands beside an hour, in small letters."""
    months = [name.casefold() for names in (style.dates.months if style.dates else ()) for name in names]
    halves = [f"{half}{dot}m{end}" for half in "ap" for dot in ("", ".") for end in ("", ".") if style.clock]
    return frozenset([*months, *halves])


def date_rules(wording: Wording) -> list[PhraseRule]:
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


def clock_rules(wording: Wording) -> list[PhraseRule]:
    clock = wording.style.clock
    if clock is None:
        return []
    said = TimePhrase(wording, clock)
    after = rf"(?:\s?(?:{clock.after}))?" if clock.after else ""
    behind = rf"(?:\s?(?:{HALVES}))?{after}"
    start = r"(?<![0-9])(?<![0-9][.,:/])"
    minutes = r"(?P<m>[0-5][0-9])(?::(?P<s>[0-5][0-9]))?"
    until = rf"(?:[-–](?P<to>[0-9]{{1,3}})(?![0-9]|[:h.,/-][0-9]|\s?(?:[%°]|[ap]\.?\s?m\b))(?P<hours>{after}))?"
    full = rf"{start}(?P<h>[01]?[0-9]|2[0-4])[:h]{minutes}(?![0-9]|:[0-9]){behind}{until}"
    short = rf"{start}(?P<h>[01]?[0-9])\s?{HALVES}"
    return [wording.rule("clock", full, said), wording.rule("clock", short, said)]


class TimePhrase:
    """Says a time that was found."""

    def __init__(self, wording: Wording, clock: ClockRules) -> None:
        self.wording, self.clock = wording, clock
        self.cue = re.compile(rf"(?<!\w)(?:{clock.before})[\s:]*\Z", re.IGNORECASE) if clock.before else None

    def __call__(self, found: re.Match[str]) -> str | None:
        given = found.groupdict()
        if given.get("to") and self._is_verse(found):
            return None
        hour, minute = int(given["h"]), int(given.get("m") or 0)
        half = (given.get("half") or "").casefold()
        if half and not 1 <= hour <= NOON:
            half = ""
        if half:
            hour = hour % NOON + (NOON if half == "p" else 0)
        seconds = self.wording.fill(self.clock.seconds, s=int(given["s"])) if given.get("s") else ""
        said = self._hour(hour % DAY, minute, seconds, half=bool(half))
        if given.get("to"):
            said = self._until(said, int(given["to"]))
        ends = not half and found[0].endswith(".") and begins_sentence(found.string, found.end())  # 15:30 h.
        return f"{said}." if ends else said

    def _is_verse(self, found: re.Match[str]) -> bool:
        """3:16-18 are verses of a chapter; 8:30-12 and de 8:10-12 are hours."""
        minute, to = int(found["m"]), int(found["to"])
        if found["half"] or found["hours"] or not (to > DAY or 0 < minute < to):
            return False
        before = found.string[max(0, found.start() - LOOK_BACK) : found.start()]
        return self.cue is None or not self.cue.search(before)

    def _until(self, said: str, hour: int) -> str:
        if hour > DAY:
            return f"{said} - {hour}"
        return self.wording.fill(self.wording.style.figures.range, a=said, b=self._hour(hour % DAY))

    def _hour(self, hour: int, minute: int = 0, seconds: str = "", *, half: bool = False) -> str:
        said = self._time(hour, minute, printed=not half) + seconds
        for old, new in self.clock.fixes:
            said = said.replace(old, new)
        known = half or hour > NOON or hour == 0 or self.clock.always_part
        part = self._part(hour) if known else ""
        if part and (half or self.clock.counted_from or not self.clock.hour_24):
            said = self.clock.day.replace("{time}", said).replace("{part}", part)
        return said

    def _time(self, hour: int, minute: int, *, printed: bool) -> str:
        clock = self.clock
        if printed and clock.hour_24 and (hour > NOON or hour == 0):
            template = clock.minutes_24 if minute and clock.minutes_24 else clock.hour_24
            zero = f"{self.wording.whole(0)} " if clock.zero and minute < TEN else ""
            return self.wording.fill(template, h=hour, m=zero + self.wording.whole(minute))
        own = {HALF: clock.half, QUARTER: clock.quarter}.get(minute)
        template = clock.hour if minute == 0 else own or clock.minutes
        counted = (hour - clock.counted_from) % NOON or NOON
        return self.wording.fill(template, h=counted, m=minute)

    def _part(self, hour: int) -> str:
        """The part of the day that began last."""
        began = [name for start, name in self.clock.parts if start <= hour]
        return began[-1] if began else (self.clock.parts[-1][1] if self.clock.parts else "")

"""Hours and minutes: as they are printed, or counted from six where a language and a person want that."""

from __future__ import annotations

import re

from olu.text.style import Clock, Style
from olu.text.wording import Rule, Wording

HALF, QUARTER, NOON, TEN = 30, 15, 12, 10
VERSES = r"[-–][0-9]{1,3}(?![0-9:h]|\s?[ap]\.?\s?m|\s(?:h|ሰ))"  # 3:16-18: verses of a chapter
HALVES = r"(?P<half>[ap])\.?\s?m\b\.?"


def rules(wording: Wording) -> list[Rule]:
    clock = wording.style.clock
    if clock is None:
        return []
    said = Said(wording, clock)
    behind = rf"(?:\s?(?:{HALVES}))?" + (rf"(?:\s?(?:{clock.after}))?" if clock.after else "")
    start = r"(?<![0-9])(?<![0-9][.,:/])"
    minutes = r"(?P<m>[0-5][0-9])(?::(?P<s>[0-5][0-9]))?"
    until = r"(?P<to>[-–](?=[0-9]+(?![0-9:h])))?"
    full = rf"{start}(?P<h>[01]?[0-9]|2[0-4])[:h]{minutes}(?![0-9]|:[0-9]|{VERSES}){behind}{until}"
    short = rf"{start}(?P<h>[01]?[0-9])\s?{HALVES}"
    return [wording.rule("clock", full, said), wording.rule("clock", short, said)]


def forms(style: Style) -> frozenset[str]:
    """What stands beside an hour, in small letters."""
    return frozenset(f"{half}{dot}m{end}" for half in "ap" for dot in ("", ".") for end in ("", ".") if style.clock)


class Said:
    """Says a time that was found."""

    def __init__(self, wording: Wording, clock: Clock) -> None:
        self.wording, self.clock = wording, clock

    def __call__(self, found: re.Match[str]) -> str | None:
        given = found.groupdict()
        hour, minute = int(given["h"]), int(given.get("m") or 0)
        half = (given.get("half") or "").casefold()
        if half and not 1 <= hour <= NOON:
            half = ""
        if half:
            hour = hour % NOON + (NOON if half == "p" else 0)
        if hour == 2 * NOON:
            hour = 0
        said = self._time(hour, minute, printed=not half)
        if given.get("s"):
            said += self.wording.fill(self.clock.seconds, s=int(given["s"]))
        for old, new in self.clock.fixes:
            said = said.replace(old, new)
        known = half or hour > NOON or hour == 0 or self.clock.always_part
        part = self._part(hour) if known else ""
        if part and (half or self.clock.counted_from or not self.clock.hour_24):
            said = self.clock.day.replace("{time}", said).replace("{part}", part)
        if given.get("to"):
            return f"{said} -"  # and not minus
        ends = not half and found[0].endswith(".") and not found.string[found.end() :].strip()  # 15:30 h.
        return f"{said}." if ends else said

    def _time(self, hour: int, minute: int, *, printed: bool) -> str:
        clock = self.clock
        if printed and clock.hour_24 and (hour > NOON or hour == 0):
            template = clock.minutes_24 if minute and clock.minutes_24 else clock.hour_24
            zero = f"{self.wording.whole(0)} " if clock.zero and minute < TEN else ""
            return self.wording.fill(template, h=hour, m=zero + self.wording.whole(minute))
        template = clock.minutes
        if minute == 0:
            template = clock.hour
        elif minute == HALF and clock.half:
            template = clock.half
        elif minute == QUARTER and clock.quarter:
            template = clock.quarter
        counted = (hour - clock.counted_from) % NOON or NOON
        return self.wording.fill(template, h=counted, m=minute)

    def _part(self, hour: int) -> str:
        """The part of the day that began last."""
        began = [name for start, name in self.clock.parts if start <= hour]
        return began[-1] if began else (self.clock.parts[-1][1] if self.clock.parts else "")

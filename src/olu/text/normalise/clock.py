"""Hours and minutes: as they are printed, or counted from six where a language and a person want that."""

from __future__ import annotations

import re

from olu.text.normalise.number_phrases import PhraseRule, Wording, begins_sentence
from olu.text.normalise.settings import ClockRules, Style

HALF, QUARTER, NOON, TEN = 30, 15, 12, 10
DAY, LOOK_BACK = 24, 40
HALVES = r"(?P<half>[ap])\.?\s?m\b\.?"


def rules(wording: Wording) -> list[PhraseRule]:
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


def forms(style: Style) -> frozenset[str]:
    """What stands beside an hour, in small letters."""
    return frozenset(f"{half}{dot}m{end}" for half in "ap" for dot in ("", ".") for end in ("", ".") if style.clock)


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

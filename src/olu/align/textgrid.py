"""Praat's TextGrid: both its text forms read and written, and its two tiers as an alignment of a clip."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from olu.core.errors import CorpusError
from olu.core.types import Alignment, Span

SILENCE = frozenset(("", "sil", "sp", "spn", "ssil", "pau", "<eps>", "<unk>", "<sil>", "<sp>", "<p:>", "<p>"))
PHONES = ("phones", "phone", "phonemes", "phoneme", "segments", "segment", "segs", "mau", "phon")
TONES = ("tones", "tone")
WORDS = ("words", "word", "ort", "ort-mau", "orthography", "wrd")
TOUCH_SECONDS = 0.001  # neighbours that overlap by less were rounded
SLACK_SECONDS = 0.1  # that a grid may be longer than its recording: aligners round up to a whole frame
MOST_BYTES = 64 * 2**20

BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
# All that Praat itself looks at: texts in quotes and numbers that stand free. Names such as `xmin =` are for people.
TOKEN = re.compile(r'"(?:[^"]|"")*"|![^\n\r]*|[^\s"]+')
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


@dataclass(frozen=True, slots=True)
class Tier:
    """A named row of intervals, in order; a tier of points has none."""

    name: str
    intervals: tuple[Span, ...]
    points: bool = False


@dataclass(frozen=True, slots=True)
class TextGrid:
    start: float
    end: float
    tiers: tuple[Tier, ...]


def decode(data: bytes, *, where: str) -> str:
    """The text of a TextGrid file in UTF-8 or UTF-16, as Praat and MFA write it."""
    if len(data) > MOST_BYTES:
        raise CorpusError(f"{where} has {len(data) / 2**20:.0f} MB: no TextGrid is that long")
    if data.startswith(b"ooBinaryFile"):
        raise CorpusError(f"{where} is a binary TextGrid: save it in Praat as a text file")
    mark, encoding = next(((m, e) for m, e in BOMS if data.startswith(m)), (b"", "utf-8"))
    try:
        return data[len(mark) :].decode(encoding)
    except UnicodeDecodeError:
        raise CorpusError(f"{where} is neither UTF-8 nor UTF-16: save it in Praat with UTF-8") from None


def parse(text: str, *, where: str) -> TextGrid:
    """A TextGrid in the long or the short form; whatever is not one is an error that says where it goes wrong."""
    return _Parser(text, where).grid()


class _Parser:
    def __init__(self, text: str, where: str) -> None:
        self.where, self.tokens, self.at = where, list(_tokens(text)), 0

    def wrong(self, what: str) -> CorpusError:
        return CorpusError(f"{self.where}: {what}: save it in Praat as a text file, or export it again")

    def next(self, kind: type[str] | type[float], what: str) -> str | float:
        if self.at >= len(self.tokens):
            raise self.wrong(f"breaks off before {what}")
        token = self.tokens[self.at]
        self.at += 1
        if not isinstance(token, kind):
            raise self.wrong(f"{what} is missing: {str(token)[:40]!r} stands there")
        return token

    def text(self, what: str) -> str:
        return str(self.next(str, what))

    def number(self, what: str) -> float:
        value = float(self.next(float, what))
        if not math.isfinite(value):
            raise self.wrong(f"{what} is no number")
        return value

    def count(self, what: str) -> int:
        value = self.number(what)
        if value != int(value) or not 0 <= value <= len(self.tokens):
            raise self.wrong(f"{what} cannot be {value:g}")
        return int(value)

    def grid(self) -> TextGrid:
        head = [token for token in self.tokens[:2] if isinstance(token, str)]
        if head and "chronological" in head[0]:
            raise self.wrong("is a chronological TextGrid, which has no tiers in a row")
        if len(head) < 2 or not head[0].startswith("ooTextFile") or head[1] != "TextGrid":
            raise CorpusError(f"{self.where} is not a TextGrid: it does not begin as one")
        self.at = 2
        start, end = self.number("the start"), self.number("the end")
        tiers = [self.tier() for _ in range(self.count("the number of tiers"))]
        if self.at < len(self.tokens):
            raise self.wrong("goes on after its last tier")
        return TextGrid(start, end, tuple(tiers))

    def tier(self) -> Tier:
        kind = self.text("a tier's class")
        name = self.text("a tier's name")
        self.number("a tier's start")
        self.number("a tier's end")
        size = self.count(f"the size of the tier {name!r}")
        if kind == "TextTier":
            for _ in range(size):
                self.number("a point's time")
                self.text("a point's mark")
            return Tier(name, (), points=True)
        if kind != "IntervalTier":
            raise self.wrong(f"a tier of the class {kind!r} is unknown")
        spans: list[Span] = []
        for number in range(1, size + 1):
            which = f"interval {number} of the tier {name!r}"
            start, end = self.number(f"the start of {which}"), self.number(f"the end of {which}")
            if end < start or (spans and start < spans[-1].end - TOUCH_SECONDS):
                raise self.wrong(f"{which} is out of order ({start:g} to {end:g} s)")
            spans.append(Span(self.text(f"the text of {which}"), start, end))
        return Tier(name, tuple(spans))


def _tokens(text: str) -> Iterator[str | float]:
    for match in TOKEN.finditer(text):
        token = match[0]
        if token[0] == '"' and len(token) > 1:
            yield token[1:-1].replace('""', '"')
        elif NUMBER.fullmatch(token):
            yield float(token)


def render(grid: TextGrid, *, short: bool = False) -> str:
    """The long form, which every program reads, or the short one."""
    say = _short if short else _long
    return "\n".join(say(grid)) + "\n"


def _long(grid: TextGrid) -> Iterator[str]:
    yield from ('File type = "ooTextFile"', 'Object class = "TextGrid"', "")
    yield from (f"xmin = {_time(grid.start)} ", f"xmax = {_time(grid.end)} ", "tiers? <exists> ")
    yield from (f"size = {len(grid.tiers)} ", "item []: ")
    for number, tier in enumerate(grid.tiers, 1):
        yield f"    item [{number}]:"
        yield from ('        class = "IntervalTier" ', f"        name = {_quoted(tier.name)} ")
        yield from (f"        xmin = {_time(grid.start)} ", f"        xmax = {_time(grid.end)} ")
        yield f"        intervals: size = {len(tier.intervals)} "
        for place, span in enumerate(tier.intervals, 1):
            yield f"        intervals [{place}]:"
            yield from (f"            xmin = {_time(span.start)} ", f"            xmax = {_time(span.end)} ")
            yield f"            text = {_quoted(span.label)} "


def _short(grid: TextGrid) -> Iterator[str]:
    yield from ('File type = "ooTextFile"', 'Object class = "TextGrid"', "", _time(grid.start), _time(grid.end))
    yield from ("<exists>", str(len(grid.tiers)))
    for tier in grid.tiers:
        yield from ('"IntervalTier"', _quoted(tier.name), _time(grid.start), _time(grid.end), str(len(tier.intervals)))
        for span in tier.intervals:
            yield from (_time(span.start), _time(span.end), _quoted(span.label))


def _time(seconds: float) -> str:
    """Seconds as text, to the microsecond."""
    return f"{seconds:.6f}".rstrip("0").rstrip(".") or "0"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def from_alignment(alignment: Alignment, *, tones: Sequence[str] = ()) -> TextGrid:
    """Tiers without a hole, all ending where the sound ends: words, phones, and tones where there are any.

    `tones`: of each phone that is heard; "" for one that bears none.
    """
    end = alignment.seconds
    tiers = [Tier("words", filled(alignment.words, end=end)), Tier("phones", filled(alignment.phones, end=end))]
    if any(tones):
        heard = [span for span in alignment.phones if span.label]
        borne = [Span(tone, span.start, span.end) for span, tone in zip(heard, tones, strict=True) if tone]
        tiers.append(Tier("tones", filled(borne, end=end)))
    return TextGrid(0.0, end, tuple(tiers))


def to_alignment(grid: TextGrid, *, id: str, seconds: float, where: str) -> Alignment:
    """The words and phones of a grid, in the time of a sound of `seconds`; every hole and both ends are silence."""
    if grid.end - grid.start > seconds + SLACK_SECONDS:
        raise CorpusError(
            f"{where} is {grid.end - grid.start:.2f} s long, its recording {seconds:.2f} s: it is of another recording"
        )
    phones = filled(_plain(_tier(grid, PHONES, "phones", where), grid.start, SILENCE), end=seconds)
    if not any(phone.label for phone in phones):
        raise CorpusError(f"{where}: no phone lies in its tier of phones: align it again")
    named = next((tier for tier in grid.tiers if _is(tier, WORDS)), None)
    words = _plain(named, grid.start, frozenset(("",))) if named else ()
    spoken = [word for word in filled(words, end=seconds) if word.label and not _is_pause(word, phones)]
    return Alignment(id=id, seconds=seconds, words=tuple(spoken), phones=phones, method="textgrid")


def unknown_words(grid: TextGrid) -> list[str]:
    """Words that the aligner did not know: MFA writes one `spn` for all that is said in them."""
    words = next((tier.intervals for tier in grid.tiers if _is(tier, WORDS)), ())
    phones = next((tier.intervals for tier in grid.tiers if _is(tier, PHONES)), ())
    middles = [(span.start + span.end) / 2 for span in phones if span.label.strip().casefold() == "spn"]
    named = (word for word in words if (label := word.label.strip().casefold()) not in SILENCE or label == "<unk>")
    return [word.label for word in named if any(word.start < middle < word.end for middle in middles)]


def tones_in(grid: TextGrid) -> list[str]:
    """The tones of a grid one after another; none where it has no tier of them."""
    tier = next((tier for tier in grid.tiers if _is(tier, TONES)), None)
    return [label for span in tier.intervals if (label := span.label.strip())] if tier else []


def filled(spans: Iterable[Span], *, end: float) -> tuple[Span, ...]:
    """End to end from 0 to `end`: holes are silence, neighbouring silences one, what lies beyond is cut off."""
    found: list[Span] = []
    at = 0.0

    def add(label: str, stop: float, score: float | None = None) -> None:
        nonlocal at
        if not label and found and not found[-1].label:
            found[-1] = Span("", found[-1].start, stop)
        elif label or stop > at:
            found.append(Span(label, at, stop, score))
        at = stop

    for span in spans:
        start, stop = min(max(span.start, at), end), min(max(span.end, at), end)
        if stop <= start:  # nothing of it is heard
            continue
        if start - at > 1e-9:
            add("", start)
        add(span.label, stop, span.score)
    if end - at > 1e-9:
        add("", end)
    elif found and found[-1].end != end:
        found[-1] = Span(found[-1].label, found[-1].start, end, found[-1].score)
    return tuple(found)


def _tier(grid: TextGrid, names: Sequence[str], what: str, where: str) -> Tier:
    found = next((tier for tier in grid.tiers if _is(tier, names)), None)
    if found is None:
        has = ", ".join(repr(tier.name) for tier in grid.tiers) or "none"
        raise CorpusError(f"{where} has no tier of {what} (its tiers: {has}): name one {names[0]!r}")
    return found


def _is(tier: Tier, names: Sequence[str]) -> bool:
    """Whether a tier has one of these names; MFA writes the speaker in front: "amina - phones"."""
    return not tier.points and tier.name.rpartition(" - ")[2].strip().casefold() in names


def _plain(tier: Tier, origin: float, silent: frozenset[str]) -> tuple[Span, ...]:
    """The spans of a tier, from 0 on: labels without white space around them, silence as ""."""
    spans = []
    for span in tier.intervals:
        label = span.label.strip()
        spans.append(Span("" if label.casefold() in silent else label, span.start - origin, span.end - origin))
    return tuple(spans)


def _is_pause(word: Span, phones: Sequence[Span]) -> bool:
    """A word may be spelled "sil"; it is a pause when no phone is heard in it."""
    if word.label.casefold() not in SILENCE:
        return False
    return not any(
        phone.label and min(phone.end, word.end) - max(phone.start, word.start) > TOUCH_SECONDS for phone in phones
    )

"""Control inside a text: [[phones]], and <sub>, <say-as>, <phoneme>, <break>, <prosody> of SSML.

Anything else that looks like one of these is an error with its position; a lone < or [ is just a character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from math import log2

from olu.core.config import did_you_mean
from olu.core.errors import TextError

TAG = re.compile(
    r"<(?P<close>/?)(?P<name>[A-Za-z][A-Za-z-]*)(?P<attributes>(?:[^<>\"']|\"[^\"]*\"|'[^']*')*?)(?P<empty>/?)>"
)
INSIDE = r"(?:[^<>\"']|\"[^\"]*\"|'[^']*')*"
ELEMENT = re.compile(
    rf"<(sub|say-as|phoneme)\b{INSIDE}>.*?</\1\s*>|<(?:break|/?speak|/?prosody|/?p|/?s)\b{INSIDE}>",
    re.DOTALL | re.IGNORECASE,
)
OPENING = re.compile(r"\[\[|\]\]|</?(?=[A-Za-z])")
ATTRIBUTE = re.compile(r"\s+([A-Za-z:-]+)\s*=\s*(\"[^\"]*\"|'[^']*')")
TIME = re.compile(r"(\d+(?:\.\d+)?)(ms|s)")
WRAPPERS = ("speak", "p", "s", "prosody")  # their text is simply read
TAGS = {
    "sub": ("alias",),
    "say-as": ("interpret-as", "format", "detail"),
    "phoneme": ("ph", "alphabet"),
    "break": ("time", "strength"),
    "speak": ("version", "xmlns", "xml:lang"),
    "prosody": ("pitch", "contour", "rate"),
    "p": (),
    "s": (),
}
CLOSING = {name: re.compile(rf"</{re.escape(name)}\s*>", re.IGNORECASE) for name in TAGS}
PROSODY = re.compile(rf"<(?P<close>/?)(?P<name>prosody)\b(?P<attributes>{INSIDE}?)(?P<empty>/?)>", re.IGNORECASE)
PITCHES = {"x-low": -6.0, "low": -3.0, "medium": 0.0, "default": 0.0, "high": 3.0, "x-high": 6.0}  # semitones
RATES = {"x-slow": 0.5, "slow": 0.75, "medium": 1.0, "default": 1.0, "fast": 1.25, "x-fast": 1.75}
OFFSET = re.compile(r"([+-]\d+(?:\.\d+)?)(st|%)")
POINT = re.compile(r"\(\s*(\d+(?:\.\d+)?)%\s*,\s*([^\s()]+)\s*\)")
FASTER = re.compile(r"([+-]?)(\d+(?:\.\d+)?)(%?)")
MOST_SEMITONES = 24.0
MOST_NESTED = 8
SLOWEST, FASTEST = 0.25, 4.0
SAY_AS = ("cardinal", "ordinal", "digits", "telephone", "characters", "spell-out", "date", "time", "currency", "number")
STRENGTHS = {"none": "", "x-weak": " ", "weak": ",", "medium": ",", "strong": ".", "x-strong": "."}
LONG_SECONDS = 0.4  # from here on a pause is one between sentences


@dataclass(frozen=True, slots=True)
class MarkupSpan:
    """A stretch of a text: plain, say-as, phones (`text` is what they stand for) or break (`text` is its mark)."""

    kind: str
    text: str
    at: int  # characters from the start
    phones: str = ""
    how: str = ""  # of say-as


@dataclass(frozen=True, slots=True)
class Prosody:
    """What `<prosody>` asks for: semitones at shares of the time of its words, and how much faster they are said."""

    contour: tuple[tuple[float, float], ...] = ((0.0, 0.0),)
    rate: float = 1.0


def has_markup(text: str) -> bool:
    return "[[" in text or "]]" in text or "<" in text or "&" in text


def parse(text: str, *, plain: bool = False) -> list[MarkupSpan]:
    """The stretches of a text in order; one plain one where it holds no markup, or is to be read as it stands."""
    if plain or not has_markup(text):
        return [MarkupSpan("plain", text, 0)]
    return [piece for piece in _pieces(text) if piece.text or piece.phones or piece.kind == "break"]


def spans(text: str) -> list[tuple[int, int]]:
    """Where markup stands, so that nothing cuts through it; malformed markup has no place."""
    if not has_markup(text):
        return []
    found = [match.span() for match in re.finditer(r"\[\[.*?\]\]", text, re.DOTALL)]
    return found + [match.span() for match in ELEMENT.finditer(text)]


def _pieces(text: str) -> Iterator[MarkupSpan]:
    at = 0
    wrappers: list[tuple[str, int, int]] = []
    while match := OPENING.search(text, at):
        yield MarkupSpan("plain", unescape_plain(text[at : match.start()]), at)
        if match[0] == "]]":
            raise _wrong(text, match.start(), "]] closes nothing: write [[ before the phones")
        if match[0] == "[[":
            end = text.find("]]", match.end())
            if end < 0:
                raise _wrong(text, match.start(), "[[ is never closed: write ]] after the phones")
            inside = text[match.end() : end]
            if not inside.strip():
                raise _wrong(text, match.start(), "[[ ]] holds no phones")
            yield MarkupSpan("phones", "", match.start(), phones=inside)
            at = end + 2
            continue
        tag = TAG.match(text, match.start())
        if tag is None:
            raise _wrong(text, match.start(), "a tag is never closed with >: close it, or write &lt; for a plain <")
        name = tag["name"].lower()
        if name in WRAPPERS:
            _wrap(text, tag, name, wrappers)
            given = _attributes(text, tag, name)
            if name == "prosody" and not tag["close"]:
                _prosody(text, tag.start(), given)
            at = tag.end()
            continue
        piece, at = _element(text, tag, name)
        yield piece
    if wrappers:
        raise _wrong(text, wrappers[-1][1], f"<{wrappers[-1][0]}> is never closed")
    yield MarkupSpan("plain", unescape_plain(text[at:]), at)


def unescape_plain(text: str) -> str:
    """&lt; &gt; &amp; &quot; &apos; mean what they do in SSML; other ampersands are left alone."""
    return re.sub(r"&(?:lt|gt|amp|quot|apos);", lambda found: unescape(found[0]), text) if "&" in text else text


def _wrap(text: str, tag: re.Match[str], name: str, wrappers: list[tuple[str, int, int]]) -> None:
    if tag["empty"]:
        return
    if not tag["close"]:
        nested = (wrappers[-1][2] if wrappers else 0) + (name == "prosody")
        wrappers.append((name, tag.start(), nested))
        if nested > MOST_NESTED:
            raise _wrong(text, tag.start(), f"<prosody> lies inside of {MOST_NESTED} others: take some out")
    elif not wrappers or wrappers[-1][0] != name:
        raise _wrong(text, tag.start(), f"</{name}> closes nothing")
    else:
        wrappers.pop()


def _element(text: str, tag: re.Match[str], name: str) -> tuple[MarkupSpan, int]:
    start = tag.start()
    if name not in TAGS:
        hint = did_you_mean(name, TAGS) or f"; known: {', '.join(TAGS)}"
        raise _wrong(text, start, f"<{name}> is no tag that is read{hint}")
    if tag["close"]:
        raise _wrong(text, start, f"</{name}> closes nothing")
    given = _attributes(text, tag, name)
    if name == "break":
        end = tag.end()
        if not tag["empty"]:
            closing = re.compile(r"\s*</break\s*>").match(text, end)
            end = closing.end() if closing else end
        return MarkupSpan("break", _pause(text, start, given), start), end
    content, end = ("", tag.end()) if tag["empty"] else _content(text, tag, name)
    if name == "sub":
        return MarkupSpan("plain", _needed(text, start, name, given, "alias"), start), end
    if name == "phoneme":
        if given.get("alphabet", "ipa") != "ipa":
            raise _wrong(text, start, f'the alphabet {given["alphabet"]!r} is not read: write alphabet="ipa"')
        return MarkupSpan("phones", content, start, phones=_needed(text, start, name, given, "ph")), end
    how = _needed(text, start, name, given, "interpret-as")
    if how not in SAY_AS:
        hint = did_you_mean(how, SAY_AS) or f"; known: {', '.join(SAY_AS)}"
        raise _wrong(text, start, f"interpret-as={how!r} is not known{hint}")
    return MarkupSpan("say-as", content, start, how=how), end


def _content(text: str, tag: re.Match[str], name: str) -> tuple[str, int]:
    closing = CLOSING[name].search(text, tag.end())
    if closing is None:
        raise _wrong(text, tag.start(), f"<{name}> is never closed: write </{name}>")
    content = text[tag.end() : closing.start()]
    if inner := OPENING.search(content):
        raise _wrong(text, tag.end() + inner.start(), f"<{name}> holds other markup: take one of the two out")
    return unescape_plain(content), closing.end()


def _attributes(text: str, tag: re.Match[str], name: str) -> dict[str, str]:
    raw, at = tag["attributes"], 0
    given: dict[str, str] = {}
    while match := ATTRIBUTE.match(raw, at):
        if match[1] not in TAGS[name]:
            known = ", ".join(TAGS[name]) or "none"
            raise _wrong(text, tag.start(), f"<{name}> has no attribute {match[1]!r}; it has {known}")
        given[match[1]] = unescape(match[2][1:-1])
        at = match.end()
    if raw[at:].strip():
        raise _wrong(text, tag.start(), f'<{name}>: {raw[at:].strip()!r} is not name="value"')
    return given


def _needed(text: str, at: int, name: str, given: dict[str, str], attribute: str) -> str:
    if not given.get(attribute, "").strip():
        raise _wrong(text, at, f"<{name}> needs {attribute}=")
    return given[attribute]


def _pause(text: str, at: int, given: dict[str, str]) -> str:
    if "time" in given:
        match = TIME.fullmatch(given["time"].strip())
        if match is None:
            raise _wrong(text, at, f"time={given['time']!r} is no time: write for example 300ms or 0.5s")
        seconds = float(match[1]) / (1000 if match[2] == "ms" else 1)
        return "" if seconds == 0 else ("." if seconds >= LONG_SECONDS else ",")
    strength = given.get("strength", "medium")
    if strength not in STRENGTHS:
        raise _wrong(text, at, f"strength={strength!r} is not one of {', '.join(STRENGTHS)}")
    return STRENGTHS[strength]


# ---- how words are to be said: <prosody>


def prosody_in(text: str) -> tuple[str, list[tuple[int, int, Prosody]]]:
    """A well-formed text without its prosody tags, and from which character to which each of them held.

    `<s/>` stands in their place, so that the text is read in the same pieces.
    """
    kept, found, at = "", list[tuple[int, int, Prosody]](), 0
    opened: list[tuple[int, Prosody]] = []
    for tag in PROSODY.finditer(text):
        kept += text[at : tag.start()] + "<s/>"
        at = tag.end()
        if tag["close"] and opened:
            start, asked = opened.pop()
            found.append((start, len(kept), asked))
        elif not tag["close"] and not tag["empty"]:
            opened.append((len(kept), _prosody(text, tag.start(), _attributes(text, tag, "prosody"))))
    return kept + text[at:], found


def closed_prosody(text: str, before: list[str]) -> tuple[str, list[str]]:
    """One sentence of a text with the prosody tags that were open before it, all closed; and those open after it."""
    after = list(before)
    for tag in PROSODY.finditer(text):
        if tag["close"]:
            del after[-1:]
        elif not tag["empty"]:
            after.append(tag[0])
    return "".join(before) + text + "</prosody>" * len(after), after


def _prosody(text: str, at: int, given: dict[str, str]) -> Prosody:
    pitch = _semitones(text, at, "pitch", given.get("pitch", "medium").strip())
    contour = given.get("contour", "(0%,+0st)").strip()
    points = [(float(point[1]) / 100, point[2]) for point in POINT.finditer(contour)]
    if not points or POINT.sub("", contour).strip() or any(share > 1 for share, _ in points):
        raise _wrong(text, at, f"contour={contour!r:.60} is none: write for example (0%,+2st) (100%,-1st)")
    line = tuple((share, pitch + _semitones(text, at, "contour", value)) for share, value in points)
    return Prosody(line, _rate(text, at, given.get("rate", "medium").strip()))


def _semitones(text: str, at: int, name: str, value: str) -> float:
    match = OFFSET.fullmatch(value)
    share = 1 + float(match[1]) / 100 if match and match[2] == "%" else 1.0
    if value not in PITCHES and (match is None or share <= 0):
        known = ", ".join(PITCHES)
        raise _wrong(text, at, f"{name}={value!r:.60} is not read: write for example +3st or -10%, or one of {known}")
    semitones = PITCHES[value] if match is None else 12 * log2(share) if match[2] == "%" else float(match[1])
    if abs(semitones) > MOST_SEMITONES:
        raise _wrong(text, at, f"{name}={value!r:.60} is more than {MOST_SEMITONES:g} semitones")
    return semitones


def _rate(text: str, at: int, value: str) -> float:
    match = FASTER.fullmatch(value)
    if value not in RATES and (match is None or (match[1] and not match[3])):
        known = ", ".join(RATES)
        raise _wrong(
            text, at, f"rate={value!r:.60} is not read: write for example 1.2, 120% or -10%, or one of {known}"
        )
    if match is None:
        return RATES[value]
    number = float(match[2]) / (100 if match[3] else 1)
    rate = 1 + number if match[1] == "+" else 1 - number if match[1] == "-" else number
    if not SLOWEST <= rate <= FASTEST:
        raise _wrong(text, at, f"rate={value!r:.60} is out of reach: choose {SLOWEST:g} to {FASTEST:g}")
    return rate


def _wrong(text: str, at: int, what: str) -> TextError:
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    where = f"line {line}, character {column}" if "\n" in text else f"character {column}"
    return TextError(f"{where}: {what}")

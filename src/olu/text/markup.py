"""Control inside a text: [[phones]], and <sub>, <say-as>, <phoneme>, <break> of SSML.

Anything else that looks like one of these is an error with its position; a lone < or [ is just a character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

from olu.core.config import did_you_mean
from olu.core.errors import TextError

TAG = re.compile(
    r"<(?P<close>/?)(?P<name>[A-Za-z][A-Za-z-]*)(?P<attributes>(?:[^<>\"']|\"[^\"]*\"|'[^']*')*?)(?P<empty>/?)>"
)
INSIDE = r"(?:[^<>\"']|\"[^\"]*\"|'[^']*')*"
ELEMENT = re.compile(
    rf"<(sub|say-as|phoneme)\b{INSIDE}>.*?</\1\s*>|<(?:break|/?speak|/?p|/?s)\b{INSIDE}>", re.DOTALL | re.IGNORECASE
)
OPENING = re.compile(r"\[\[|\]\]|</?(?=[A-Za-z])")
ATTRIBUTE = re.compile(r"\s+([A-Za-z:-]+)\s*=\s*(\"[^\"]*\"|'[^']*')")
TIME = re.compile(r"(\d+(?:\.\d+)?)(ms|s)")
WRAPPERS = ("speak", "p", "s")  # their text is simply read
TAGS = {
    "sub": ("alias",),
    "say-as": ("interpret-as", "format", "detail"),
    "phoneme": ("ph", "alphabet"),
    "break": ("time", "strength"),
    "speak": ("version", "xmlns", "xml:lang"),
    "p": (),
    "s": (),
}
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
    wrappers: list[tuple[str, int]] = []
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
            _attributes(text, tag, name)
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


def _wrap(text: str, tag: re.Match[str], name: str, wrappers: list[tuple[str, int]]) -> None:
    if tag["empty"]:
        return
    if not tag["close"]:
        wrappers.append((name, tag.start()))
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
    closing = re.compile(rf"</{re.escape(name)}\s*>", re.IGNORECASE).search(text, tag.end())
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


def _wrong(text: str, at: int, what: str) -> TextError:
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    where = f"line {line}, character {column}" if "\n" in text else f"character {column}"
    return TextError(f"{where}: {what}")

"""How letters.tsv and rules.txt are written, and what is said of a line that is not; rules/engine.py runs them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod

from olu.core.errors import LanguageError

# ---- what may stand beside the target of a rule, as regular expressions of bounded width (so reading stays linear)


EDGE = "#"


@dataclass(frozen=True, slots=True)
class Element:
    """One place of a context: any of `choices`, or none of them; "#" stands for the word's edge."""

    choices: tuple[str, ...]
    negative: bool = False
    optional: bool = False


def widths(element: Element) -> int:
    """In how many ways an element can lie at one place: by how many letters it takes."""
    found = {0, 1} if element.negative else {_width(choice) for choice in element.choices}
    return len(found | {0} if element.optional else found)


def right_pattern(elements: Iterable[Element]) -> str:
    """A look ahead at the elements, one after the other."""
    inside = "".join(map(_ahead, elements))
    return f"(?={inside})" if inside else ""


def left_pattern(elements: Iterable[Element], target: str) -> str:
    """A look behind at the elements and the target: one for each total width, as `re` wants them of fixed width."""
    widths = [_behind(element) for element in elements]
    if not widths:
        return ""
    ways = dict.fromkeys("".join(way) for way in product(*(found.values() for found in widths)))
    return "(?:" + "|".join(f"(?<={way}{re.escape(target)})" for way in ways) + ")"


def _ahead(element: Element) -> str:
    any_of = "|".join(r"\Z" if choice == EDGE else re.escape(choice) for choice in element.choices)
    # at the edge there is nothing to step over
    one = rf"(?!{any_of})(?:.|\Z)" if element.negative else f"(?:{any_of})"
    return f"(?:{one})?" if element.optional else one


def _behind(element: Element) -> dict[int, str]:
    """The ways this element can match, by how many characters each takes."""
    found: dict[int, str] = {}
    if element.negative:
        found[1] = "." + "".join(rf"(?<!{re.escape(choice)})" for choice in element.choices if choice != EDGE)
        if EDGE not in element.choices:
            found[0] = r"\A"
    else:
        for width in sorted({_width(choice) for choice in element.choices}):
            same = [choice for choice in element.choices if _width(choice) == width]
            found[width] = "(?:" + "|".join(r"\A" if c == EDGE else re.escape(c) for c in same) + ")"
    if element.optional:
        found[0] = ""
    return found


def _width(choice: str) -> int:
    return 0 if choice == EDGE else len(choice)


NOTHING = "0"
MOST_PHONES = 32  # that a letter or a rule may give
MOST_WAYS = 256  # of a context: the work at each letter
ARROW = re.compile(r"\s*(?:->|→)\s*")
CLASS = re.compile(r"\s*([^\s=]+)\s*=\s*(.*)")
NAME = re.compile(r"[A-Z][A-Z0-9_]*")  # letters and phones are written small, so a class is seen at a glance
PIECE = re.compile(r"!?\{[^{}]*\}\??|!?[^\s{}]+")


@dataclass(frozen=True, slots=True)
class LetterRule:
    target: tuple[str, ...]  # one string of letters, or phones
    result: tuple[str, ...]
    left: tuple[Element, ...]  # in reading order
    right: tuple[Element, ...]
    line: str
    only: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Rules:
    """A parsed rules.txt."""

    letters: tuple[LetterRule, ...]
    phones: tuple[LetterRule, ...]
    classes: Mapping[str, tuple[str, ...]]

    @staticmethod
    def parse(text: str, *, where: str) -> Rules:
        classes: dict[str, tuple[str, ...]] = {}
        found: dict[bool, list[LetterRule]] = {False: [], True: []}
        in_phones = False
        for number, line in _lines(text):
            if line in ("[letters]", "[phones]"):
                in_phones = line == "[phones]"
                continue
            try:
                if ARROW.search(line):
                    rule = _rule(line, classes, phones=in_phones)
                    if not in_phones and any(rule.line == one.line for one in found[False]):
                        raise ValueError("this rule stands above already, so it never fires")
                    found[in_phones].append(rule)
                elif match := CLASS.fullmatch(line):
                    _add_class(match[1], match[2], classes)
                else:
                    raise ValueError("neither 'a -> b / x _ y' nor 'NAME = a b c' (a comment begins with '# ')")
            except ValueError as bad:
                raise LanguageError(f"{where} line {number}: {bad}: {line!r}") from None
        return Rules(tuple(found[False]), tuple(found[True]), classes)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """`#` is a word edge inside a rule; a comment stands on a line of its own, or after two slashes."""
    for number, raw in enumerate(unicodedata.normalize("NFC", text).split("\n"), 1):
        line = raw.partition("//")[0].strip()
        if line and line != EDGE and not line.startswith(("# ", "#\t", "##")):
            yield number, line


def _add_class(name: str, members: str, classes: dict[str, tuple[str, ...]]) -> None:
    if not NAME.fullmatch(name):
        raise ValueError(f"the name of a class is written in capitals A-Z, not {name!r}")
    if name in classes:
        raise ValueError(f"the class {name} has been written above already")
    if not members.split():
        raise ValueError(f"nothing stands in the class {name}")
    classes[name] = _members(members.split(), classes)


def _members(words: Iterable[str], classes: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    for word in words:
        if NAME.fullmatch(word) and word not in classes:
            raise ValueError(f"no class {word} stands above this line")
    return tuple(member for word in words for member in classes.get(word, (word,)))


def _rule(line: str, classes: Mapping[str, tuple[str, ...]], *, phones: bool) -> LetterRule:
    body, *tags = re.split(r"\s+@", line)
    target, rest = ARROW.split(body, maxsplit=1)
    result, slash, context = rest.partition("/")
    if slash and re.split(r"\s+", f" {context} ").count("_") != 1:
        raise ValueError("a context needs one '_', between spaces, where the target stands")
    if not target.strip() or not result.strip():
        raise ValueError("write what becomes what ('0' is nothing)")
    left, _, right = f" {context} ".partition(" _ ")
    for symbol in (*target.split(), *result.split()):
        if NAME.fullmatch(symbol) or any(sign in symbol for sign in "#_{}"):
            raise ValueError(f"{symbol!r} can stand only in a context, after '/': write a rule for each letter")
    if len(result.split()) > MOST_PHONES:
        raise ValueError(f"{len(result.split())} phones for one place are more than {MOST_PHONES}")
    return LetterRule(
        target=tuple(target.split()) if phones else ("".join(target.split()),),
        result=tuple(symbol for symbol in result.split() if symbol != NOTHING),
        left=_elements(left, classes),
        right=_elements(right, classes),
        line=line,
        only=frozenset(tag.strip() for tag in tags),
    )


def _elements(context: str, classes: Mapping[str, tuple[str, ...]]) -> tuple[Element, ...]:
    if left_over := PIECE.sub("", context).strip():
        raise ValueError(f"a bracket is missing near {left_over!r}")
    found = []
    for piece in PIECE.findall(context):
        inside = piece.removeprefix("!").removesuffix("?").strip("{}").split()
        choices = _members(inside, classes)
        if not choices:
            raise ValueError(f"nothing stands in {piece!r}")
        found.append(Element(choices, negative=piece.startswith("!"), optional=piece.endswith("?")))
    if (ways := prod(map(widths, found))) > MOST_WAYS:
        raise ValueError(f"the context can lie in {ways} ways over the letters, {MOST_WAYS} are the most")
    return tuple(found)


def letter_lines(text: str, *, where: str) -> Iterator[tuple[str, tuple[str, ...], frozenset[str]]]:
    """Lines `letter TAB phones [TAB @dialect]`; later lines replace earlier ones, so a dialect stands below."""
    for number, raw in enumerate(unicodedata.normalize("NFC", text).split("\n"), 1):
        if not raw.strip() or raw.startswith("#"):
            continue
        letter, *rest = (field.strip() for field in raw.split("\t"))
        if not letter or not rest or not rest[0]:
            raise LanguageError(
                f"{where} line {number}: write a letter, a tab and its phones ('0' is nothing): {raw!r}"
            )
        if len(rest[0].split()) > MOST_PHONES:
            raise LanguageError(f"{where} line {number}: more than {MOST_PHONES} phones for {letter[:20]!r}")
        tags = [word.removeprefix("@") for word in " ".join(rest[1:]).split() if word.startswith("@")]
        yield letter, tuple(symbol for symbol in rest[0].split() if symbol != NOTHING), frozenset(tags)

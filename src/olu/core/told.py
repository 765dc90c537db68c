"""What a verb tells a person: sentences, tables and remedies, as data. The command line prints it, a page shows it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

ELLIPSIS = "..."  # stands for a person's own words


@dataclass(frozen=True)
class Caution:
    """A sentence that is no result: a command line writes it to stderr."""

    text: str


@dataclass(frozen=True)
class Verbatim:
    """A text of several lines as it stands, such as a table of commas."""

    text: str


@dataclass(frozen=True)
class TextTable:
    """Rows of cells. `plain`: no frame, numbers to the right, nothing is cut but by the edge of a screen."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    plain: bool = False
    right: Sequence[int] = ()  # of a plain table: the columns whose cells end at the same place


Told = str | Caution | Verbatim | TextTable


class Summary(Protocol):
    """What a verb comes to. `options` are those it was given, for what depends on how it was asked.

    It may have `row(options)`, where its JSON is not all its fields; and `failure(options)`: why the exit code is 2
    after all was told, or nothing.
    """

    def sentences(self, options: Any) -> Iterable[Told]: ...


def quoted(path: object) -> str:
    """A path as it can be pasted into a shell, and is taken for no option."""
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


@dataclass(frozen=True)
class Remedy:
    """A verb to run next, and why: a command line prints it as a command, a page may make it a button.

    `values` are the arguments in their order; `options` are the fields of the verb's options.
    """

    verb: str
    values: tuple[object, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""
    typed: str = ""  # the command, where it was given as a text

    @staticmethod
    def parse(command: str, *, why: str = "") -> Remedy:
        """A remedy from a command as it is typed, its values before its options."""
        _, verb, *words = shlex.split(command)
        first = next((at for at, word in enumerate(words) if word.startswith("-")), len(words))
        options: dict[str, Any] = {}
        name = ""
        for word in words[first:]:
            if word.startswith("--"):
                name, equals, value = word[2:].partition("=")
                name = name.replace("-", "_")
                options[name] = value if equals else True
            else:
                options[name] = word
        return Remedy(verb, tuple(words[:first]), options, why, typed=command)

    def told(self) -> str:
        """The command, after its reason where it has one."""
        return f"{self.why} {self}" if self.why else str(self)

    def row(self) -> dict[str, Any]:
        """The remedy as JSON has it."""
        values = [str(value) for value in self.values]
        options = {name: value if isinstance(value, bool) else str(value) for name, value in self.options.items()}
        return {"verb": self.verb, "values": values, "options": options, "why": self.why}

    def __str__(self) -> str:
        if self.typed:
            return self.typed
        words = [f"olu {self.verb}", *(_word(value) for value in self.values)]
        for name, value in self.options.items():
            given = "-o" if name == "output" else "--" + name.replace("_", "-")
            for one in value if isinstance(value, list | tuple) else [value]:
                words.append(given if one is True else f"{given} {_word(one)}")
        return " ".join(words)


def _word(value: object) -> str:
    if value == ELLIPSIS:
        return f'"{ELLIPSIS}"'
    return quoted(value) if isinstance(value, Path) else shlex.quote(str(value))


def write_texts(ws: Path) -> str:
    """How clips without a text get one."""
    listed = Remedy("transcribe", (ws,), {"list": "todo"})
    return f"{listed}, write the texts in it, {Remedy('correct', (ws, 'todo/texts.csv'))}"


def some(lines: Sequence[str], *, most: int, more: str, of: int | None = None) -> Iterator[str]:
    """The first of some lines, set in, and how many more there are."""
    yield from (f"  {line}" for line in lines[:most])
    if (left := (len(lines) if of is None else of) - min(most, len(lines))) > 0:
        yield f"  ... and {left} more, {more}"

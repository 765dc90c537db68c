"""Rows and documents of a workspace's files, checked by pydantic; of a corrupt file, what is wrong and what mends it.

A row is a dataclass, of which every field is checked, and which may refuse keys it does not know by `EXACT`; or a
`Shape`, the keys that a dict must have beside any others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from olu.core.errors import WorkspaceError
from olu.core.parse import BadData, check_json, from_json

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails

Made = TypeVar("Made")
Shape = Mapping[str, Any]  # key -> the type of its value
# Fields that a file holds only where they say something: of a reading, and of a decision.
RARE = ("restored", "read_by", "who", "at", "batch")

# What to do about a damaged file of a workspace, where running the stage again is not enough; {ws} is its folder.
_IMPORT = "run 'olu import {ws} SOURCE' again, with its options: it keeps what can be read and the damaged file aside"
REMEDIES = {
    "corpus/clips.jsonl": _IMPORT,
    "corpus/files.jsonl": _IMPORT,
    "corpus/sources.json": _IMPORT,
    "corpus/decisions.jsonl": "mend that line, or delete it alone and decide of its clip again",
    "corpus/texts.jsonl": "mend that line, or delete it alone and correct its clip again",
    "corpus/splits.jsonl": "run 'olu split {ws}': it makes it anew",
    "corpus/split.json": "delete it and run 'olu split {ws}' with your shares",
    "corpus/hashes.jsonl": "delete it: the recordings are looked at again",
    "corpus/problems.jsonl": "delete it; the next import lists its problems anew",
    "corpus/doubts.jsonl": "delete it, and import recordings with subtitles again: what is doubtful is said anew",
    "corpus/timings.jsonl": "mend that line, or delete it and import its recording again with --shift and the like",
    "corpus/duplicates.jsonl": "delete it; it is only a list of what merges left out",
    "corpus/cuts.jsonl": "mend it, or delete it: the pieces it names then stay beside the others",
    "corpus/rights.json": "mend it, or delete it and import again with --licence and the like",
    "audit/audit.jsonl": "run 'olu audit {ws} --force'",
    "audit/facts.jsonl": "run 'olu audit {ws} --force'",
    "readings/readings.jsonl": "delete it and run 'olu read {ws}' again",
    "readings/vocabulary.json": "delete it and run 'olu read {ws}' again",
    "readings/frontend.json": "delete it and run 'olu read {ws}' again",
    "alignment/alignment.jsonl": "delete it and run 'olu align {ws} --force'",
    "alignment/hand.jsonl": "mend that line, or delete it alone and set its clip's boundaries again",
    "alignment/match.jsonl": "delete it and run 'olu align {ws} --force'",
}


def corrupt_file(path: Path, why: str, *, line: int | None = None, remedy: str = "") -> WorkspaceError:
    """An error that says which file is damaged, in which line, and what mends it."""
    where = f"{path} line {line}" if line else str(path)
    known = REMEDIES.get(f"{path.parent.name}/{path.name}", "delete it and run its stage again")
    return WorkspaceError(f"{where} is damaged ({why}): {remedy or known.format(ws=path.parent.parent)}")


def schema_error(value: Any, shape: Shape) -> str:
    """What keeps a value from being an object with these keys; nothing when it is one."""
    from pydantic import ValidationError

    try:
        _shaped(tuple(shape.items())).validate_python(value, strict=True)
    except ValidationError as bad:
        return _sentence(bad)
    return ""


def as_row(value: Any) -> dict[str, Any]:
    """What a file holds of a dataclass: its fields, those of dataclasses inside it too."""
    kind: Any = type(value)
    row: dict[str, Any] = _adapter(kind).dump_python(value, warnings=False)
    rare = _rare(kind)
    return {name: one for name, one in row.items() if one or name not in rare}


@cache
def _rare(kind: Any) -> frozenset[str]:
    """The rare fields of a dataclass: a field that must be given is never left out."""
    return frozenset(
        name for name in RARE if name in (found := kind.__dataclass_fields__) and _is_optional(found[name])
    )


def _is_optional(field: Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def from_row(row: Mapping[str, Any], kind: type[Made]) -> Made:
    """The dataclass that `as_row` was given; a value that it cannot have is a ValueError."""
    from pydantic import ValidationError

    try:
        made: Made = _adapter(cast(Any, kind)).validate_python(row)
    except ValidationError as bad:
        raise ValueError(_sentence(bad)) from None
    return made


def load_rows(
    lines: Iterable[tuple[int, bytes]],
    path: Path,
    kind: Any,
    *,
    check: Callable[[Any], None] | None = None,
    lost: list[WorkspaceError] | None = None,
) -> Iterator[Any]:
    """What each line holds, as `kind`: a dataclass, a union of some, or a Shape, which gives dicts.

    `lines` are some of the file `path`, each with its number (0: not known). With `lost`, lines that cannot be read are
    named there and passed over. `check` raises a ValueError over a row that is well formed and still wrong.
    """
    load = _adapter(kind).validate_json if not isinstance(kind, Mapping) else _shaped(tuple(kind.items())).validate_json
    for number, line in lines:
        try:
            row = load(line, strict=True)
            check_json(line)
            if check is not None:
                check(row)
        except ValueError as bad:
            if not line.strip():  # left behind by an editor
                continue
            found = corrupt_file(path, _why(line, bad), line=number or None)
            if lost is None:
                raise found from None
            lost.append(found)
        else:
            yield row


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


@cache
def _shaped(shape: tuple[tuple[str, Any], ...]) -> TypeAdapter[Any]:
    from pydantic import ConfigDict, with_config
    from typing_extensions import TypedDict  # pydantic knows Python's own from 3.12 on

    return _adapter(with_config(ConfigDict(extra="allow"))(TypedDict("Row", dict(shape))))  # type: ignore[operator]


def _why(line: bytes, bad: ValueError) -> str:
    """What is wrong with a line, in the words of Python's own reader where it is no JSON at all."""
    try:
        from_json(line)
    except BadData as worse:
        return worse.why
    return _sentence(bad)


def _sentence(bad: ValueError) -> str:
    from pydantic import ValidationError

    if not isinstance(bad, ValidationError):
        return str(bad)
    found = bad.errors(include_url=False)
    if not bad.title.startswith("union["):
        return _told(found[0], found[0]["loc"])
    members: dict[int | str, list[ErrorDetails]] = {}  # each error begins with the member of the union that it is of
    for one in found:
        members.setdefault(one["loc"][0], []).append(one)
    nearest = min(members.values(), key=len)[0]
    return _told(nearest, nearest["loc"][1:])


def _told(error: ErrorDetails, loc: tuple[int | str, ...]) -> str:
    name, kind = ".".join(map(str, loc)), error["type"]
    if "error" in error.get("ctx", {}):
        return str(error["ctx"]["error"])
    if not name:
        return "it holds something else"
    if kind.startswith("missing"):
        return f"no {name!r}"
    if kind in ("unexpected_keyword_argument", "extra_forbidden"):
        return f"unknown key {name!r}"
    return f"{name!r} is {error['input']!r:.40}"

"""What a verb takes, declared once: the command line, the stamp, the JSON interface and the pages are read off it.

A verb's options are one frozen dataclass whose fields are made by `argument` and `option`. Light: no verb is imported.
"""

from __future__ import annotations

import os
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, dataclass_transform, get_args, get_origin, get_type_hints

from olu.core.errors import ConfigError

Role = Literal["workspace", "input", "output", "folder"]  # what a path leads to
Made = TypeVar("Made")
JSON = "Print one JSON object."


@dataclass(frozen=True)
class Declared:
    """What is said of a field beside its type and its default."""

    help: str
    names: tuple[str, ...] = ()  # on a command line, the long one first; none: it has no name, only a place
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    checked: bool = False  # the command line refuses what is outside; else the stage does, in its own words
    role: Role | None = None
    here: bool = False  # a workspace that may be left out by who stands in it
    hub: bool = False  # a path, or a name that is none: an id on the hub, or the voice inside Olu
    stamped: bool = False  # another value, another result: a stage remembers it
    hidden: bool = False  # not in --help


@dataclass_transform(frozen_default=True, kw_only_default=True)
def options(declared: type[Made]) -> type[Made]:
    """A class of options: a frozen dataclass, given by names."""
    return dataclass(frozen=True, kw_only=True)(declared)


def argument(metavar: str | None, help: str, *, default: Any = MISSING, **said: Any) -> Any:
    """A field that is given by its place. Without a default it must be given."""
    return _field(default, Declared(help, metavar=metavar, **said))


def workspace(help: str = "The workspace.", *, here: bool = False) -> Any:
    """The workspace a verb is about; `here`: the one that a person stands in, where none is named."""
    if here:
        said = "The workspace; without it, the one you are in."
        return _field(None, Declared(said, metavar="[WS]", role="workspace", here=True))
    return argument("WS", help, role="workspace")


def option(help: str, *names: str, default: Any = None, **said: Any) -> Any:
    """A field that is given by its name: by default its own, as `--its-own`. `default=...`: it must be given."""
    return _field(MISSING if default is ... else default, Declared(help, names=names or ("",), **said))


def flag(help: str, *names: str, **said: Any) -> Any:
    """A field that is true when it is named."""
    return option(help, *names, default=False, **said)


def _field(default: Any, said: Declared) -> Any:
    if isinstance(default, list | dict | set):
        raise TypeError("a default must be frozen: give a tuple")
    return field(default=default, metadata={"declared": said})


@dataclass(frozen=True)
class Parameter:
    """One field of a verb's options, with everything known of it."""

    name: str
    type: Any  # as annotated: Path, str | None, tuple[Path, ...]
    default: Any  # MISSING: it must be given
    said: Declared

    @property
    def names(self) -> tuple[str, ...]:
        """Its names on a command line; none for what is given by its place."""
        own = "--" + self.name.replace("_", "-")
        return tuple(name or own for name in self.said.names)

    @property
    def required(self) -> bool:
        return self.default is MISSING

    @property
    def several(self) -> bool:
        return get_origin(self.type) is tuple

    @property
    def kind(self) -> Any:
        """The type of one value: Path, str, int, float or bool."""
        inner = get_args(self.type)
        if self.several or get_origin(self.type) in (types.UnionType, Union):
            return next(one for one in inner if one is not type(None))
        return str if get_origin(self.type) is Literal else self.type


def parameters(declared: type[Any]) -> tuple[Parameter, ...]:
    """The fields of an options class, in their order. A field that no `option` made is not a person's to give."""
    hints = get_type_hints(declared)
    return tuple(
        Parameter(one.name, hints[one.name], one.default, one.metadata["declared"])
        for one in fields(declared)
        if "declared" in one.metadata
    )


@dataclass(frozen=True)
class Verb:
    """One of Olu's verbs. What runs it is named, not imported, so that a list of verbs costs nothing."""

    name: str
    help: str
    options: type[Any]
    run: str = ""  # "olu.stages.split:run" by default: takes the options; returns the summary, or a job that ends so
    label: str | None = None  # stands before its progress; else its name
    job: bool = False  # it may run for long and tells how far it is: it takes --events
    server: bool = False  # it runs until somebody ends it; its first tick is its address
    json: str = JSON  # the help of --json
    about: str | None = None  # the field that names the workspace, where its type does not tell
    environment: Mapping[str, str] = field(default_factory=dict)  # for libraries, before they are imported

    def call(self) -> Callable[[Any], Any]:
        """What runs it, imported now."""
        for name, value in self.environment.items():
            os.environ.setdefault(name, value)
        module, _, name = (self.run or f"olu.stages.{self.name}:run").partition(":")
        found: Callable[[Any], Any] = getattr(import_module(module), name)
        return found

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return parameters(self.options)

    @property
    def workspace(self) -> str:
        """The field that names the workspace it is about; nothing where it is about none."""
        found = (one.name for one in self.parameters if one.said.role == "workspace" and not one.said.names)
        return next(found, "") if self.about is None else self.about


def stamp(given: Any) -> dict[str, Any]:
    """What a stage remembers of its options: those that change its result, as JSON has them, paths whole."""
    found = {one.name: getattr(given, one.name) for one in parameters(type(given)) if one.said.stamped}
    return {name: _plain(value.resolve() if isinstance(value, Path) else value) for name, value in found.items()}


def to_json(given: Any) -> dict[str, Any]:
    """All options as JSON has them; `from_json` makes the same options of it again."""
    return {one.name: _plain(getattr(given, one.name)) for one in parameters(type(given))}


def from_json(declared: type[Any], given: Mapping[str, Any]) -> Any:
    """Options from names and values, such as a form sends; one sentence for what does not fit."""
    known = {one.name: one for one in parameters(declared)}
    if unknown := sorted(set(given) - set(known)):
        raise ConfigError(f"unknown option {unknown[0]!r}; known: {', '.join(known)}")
    if missing := [name for name, one in known.items() if one.required and name not in given]:
        raise ConfigError(f"the option {missing[0]!r} must be given: {known[missing[0]].said.help}")
    return declared(**{name: _value(known[name], value) for name, value in given.items()})


def _value(one: Parameter, value: Any) -> Any:
    if value is None and one.default is None:
        return None
    if one.several:
        if not isinstance(value, list | tuple):
            raise ConfigError(f"the option {one.name!r} takes a list (got {value!r})")
        return tuple(_value_of(one, each) for each in value)
    return _value_of(one, value)


def _value_of(one: Parameter, value: Any) -> Any:
    """One value, of its type and within its range."""
    takes: tuple[Any, ...] = {Path: (str, Path), float: (int, float)}.get(one.kind, (one.kind,))
    if not isinstance(value, takes) or (isinstance(value, bool) and one.kind is not bool):
        raise ConfigError(f"the option {one.name!r} is {_NAMES[one.kind]} (got {value!r})")
    said, number = one.said, value if one.kind in (int, float) else 0
    if said.choices and value not in said.choices:
        raise ConfigError(f"the option {one.name!r} is one of {', '.join(said.choices)} (got {value!r})")
    if (said.least is not None and number < said.least) or (said.most is not None and number > said.most):
        raise ConfigError(f"the option {one.name!r} is {range_of(said)} (got {value!r})")
    return one.kind(value)


def range_of(said: Declared) -> str:
    """Such as "1 to 60", or "0 or more"; nothing where any number will do."""
    if said.least is not None and said.most is not None:
        return f"{said.least:g} to {said.most:g}"
    if said.least is not None:
        return f"{said.least:g} or more"
    return "" if said.most is None else f"{said.most:g} or less"


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, Path) else value


_NAMES = {Path: "a path", str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
_TYPES = {Path: "string", str: "string", int: "integer", float: "number", bool: "boolean"}


def schema(verb: Verb) -> dict[str, Any]:
    """The JSON schema of a verb's options: for a form, and for programs that call it."""
    properties: dict[str, Any] = {}
    for one in verb.parameters:
        inner: dict[str, Any] = {"type": _TYPES[one.kind]}
        inner |= {"enum": list(one.said.choices)} if one.said.choices else {}
        inner |= {"minimum": one.said.least} if one.said.least is not None else {}
        inner |= {"maximum": one.said.most} if one.said.most is not None else {}
        if one.several:
            inner = {"type": "array", "items": inner}
        elif one.default is None:
            inner = {"anyOf": [inner, {"type": "null"}]}
        inner |= {"description": one.said.help}
        inner |= {} if one.required else {"default": _plain(one.default)}
        inner |= {"x-path": one.said.role} if one.said.role else {}
        inner |= {"x-hub": True} if one.said.hub else {}
        properties[one.name] = inner
    return {
        "title": verb.name,
        "description": verb.help,
        "type": "object",
        "properties": properties,
        "required": [one.name for one in verb.parameters if one.required],
        "additionalProperties": False,
    }

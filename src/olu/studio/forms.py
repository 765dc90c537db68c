"""Forms made from the declarations of the verbs: one field for each option, with its help, range and choices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from olu.core.options import Parameter, Verb, range_of
from olu.stages.verbs import VERBS
from olu.studio.verbs import NO_FORMS, fields

FieldKind = Literal["flag", "number", "integer", "choice", "list", "path", "text"]
GROUPS = (
    ("The corpus", ("new", "import", "merge", "audit", "clips", "drop", "keep", "correct", "split", "sample")),
    ("Reading and alignment", ("read", "g2p", "marks", "lexicon", "align", "cut")),
    ("Training", ("make", "prepare", "plan", "train", "tune", "runs")),
    ("Voices", ("evaluate", "compare", "export", "voice", "speak", "pack", "unpack")),
    ("This machine", ()),  # and whatever is in no other group
)


@dataclass(frozen=True)
class FormField:
    name: str
    label: str
    option: str  # as it is typed in a terminal
    kind: FieldKind
    help: str
    required: bool
    value: Any
    default: Any
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    range: str = ""
    role: str = ""
    hub: bool = False
    about: bool = False  # the workspace that the verb is about

    @property
    def shown(self) -> str:
        """Its value as the text of a field."""
        if self.value is None:
            return ""
        if self.kind == "list":
            return "\n".join(map(str, self.value))
        return f"{self.value:g}" if isinstance(self.value, float) else str(self.value)


def form(verb: Verb, values: Mapping[str, Any] | None = None) -> list[FormField]:
    """The fields of a verb, filled with values where there are some."""
    return [_field(one, verb, dict(values or {})) for one in fields(verb)]


def _field(one: Parameter, verb: Verb, values: Mapping[str, Any]) -> FormField:
    default = None if one.required else one.default
    return FormField(
        name=one.name,
        label=_label(one),
        option=one.names[0] if one.said.names else (one.said.metavar or one.name.upper()).strip("[]"),
        kind=_kind(one),
        help=one.said.help,
        required=one.required and one.name != verb.workspace,
        value=values.get(one.name, default),
        default=default,
        choices=one.said.choices,
        least=one.said.least,
        most=one.said.most,
        range=range_of(one.said),
        role=one.said.role or "",
        hub=one.said.hub,
        about=one.name == verb.workspace,
    )


def _kind(one: Parameter) -> FieldKind:
    if one.several:
        return "list"
    if one.said.choices:
        return "choice"
    kinds: dict[Any, FieldKind] = {bool: "flag", int: "integer", float: "number", Path: "path"}
    return "path" if one.said.role else kinds.get(one.kind, "text")


def _label(one: Parameter) -> str:
    words = (one.names[0].strip("-") if one.said.names else one.name).replace("-", " ").replace("_", " ")
    return {"ws": "Workspace"}.get(words, words[:1].upper() + words[1:])


def groups() -> list[tuple[str, list[Verb]]]:
    """All verbs that have a form, in groups."""
    named = {name for _, names in GROUPS for name in names}
    rest = [name for name in VERBS if name not in named]
    return [
        (title, [VERBS[name] for name in names or rest if name in VERBS and name not in NO_FORMS])
        for title, names in GROUPS
    ]

"""Olu from Python: a workspace with a method for every verb. The methods are made from the verbs' declarations.

`api.pyi` beside it tells type checkers the same; `python dev/declared.py` writes it, and a test compares.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from olu.core.errors import OluError
from olu.core.files import Workspace
from olu.core.job import Event
from olu.core.options import Parameter, Verb
from olu.stages.verbs import VERBS

OnEvent = Callable[[Event], None]


def run(verb: str, *, on_event: OnEvent | None = None, **options: Any) -> Any:
    """Run a verb to its end and return its summary: `olu.run("sample", folder="recordings", clips=20)`.

    The options are those of `olu VERB --help`, by the names of their fields. `on_event` gets every `Tick`, `Note` and
    `Report` on the way. Where the command would end with exit code 2, an `OluError` is raised.
    """
    if verb not in VERBS:
        raise OluError(f"no verb {verb!r}: there are {', '.join(VERBS)}")
    given = _given(VERBS[verb], options)
    made = VERBS[verb].call()(given)
    summary = _finished(made, on_event) if isinstance(made, Generator) else made
    if hasattr(summary, "failure") and (failed := summary.failure(given)) is not None:
        raise OluError(failed or f"olu {verb} failed")
    return summary


def _given(verb: Verb, options: dict[str, Any]) -> Any:
    """The options of a verb from values by their names; an unknown or missing one is a TypeError."""
    known = {one.name: one for one in verb.parameters}
    if unknown := [name for name in options if name not in known]:
        raise TypeError(f"{verb.name} takes no {unknown[0]!r}; it takes {', '.join(known)}")
    if missing := [name for name, one in known.items() if one.required and name not in options]:
        raise TypeError(f"{verb.name} needs {missing[0]!r}: {known[missing[0]].said.help}")
    return verb.options(**{name: _value(known[name], value) for name, value in options.items()})


def _value(one: Parameter, value: Any) -> Any:
    if value is None:
        return None
    if one.several:
        single = isinstance(value, str | Path)  # a string is one, not as many as it has letters
        return tuple(one.kind(each) for each in ([value] if single else value))
    return one.kind(value) if one.kind is Path else value


def _finished(job: Generator[Event, None, Any], on_event: OnEvent | None) -> Any:
    while True:
        try:
            event = next(job)
        except StopIteration as end:
            return end.value
        if on_event is not None:
            on_event(event)


class VerbWorkspace(Workspace):
    """A workspace: a folder that `olu new` made. It has a method for every verb, which returns the verb's summary.

    `Workspace("swahili")` opens one, `Workspace.create("swahili", language="swa")` makes one.
    """

    def __init__(self, root: str | Path) -> None:
        opened = Workspace.open(Path(root))
        super().__init__(root=opened.root, language=opened.language, name=opened.name)

    @staticmethod
    def open(root: str | Path) -> VerbWorkspace:
        """The workspace in this folder."""
        return VerbWorkspace(root)

    @staticmethod
    def create(root: str | Path, *, language: str, name: str | None = None) -> VerbWorkspace:
        """A new workspace, for recordings in this language: its code, such as swa."""
        from olu.text.languages import resolve

        Workspace.create(Path(root), language=resolve(language), name=name)
        return VerbWorkspace(root)


def method_name(verb: Verb) -> str:
    """The Python name of a verb's method: import_ for `import`, which is a word of Python."""
    return f"{verb.name}_" if verb.name == "import" else verb.name.replace("-", "_")


def method_parameters(verb: Verb) -> list[Parameter]:
    """What a method takes: all but the workspace itself, and how a command line prints."""
    return [one for one in verb.parameters if one.name not in (verb.workspace, "as_json")]


def _method(verb: Verb) -> Callable[..., Any]:
    places = [one.name for one in method_parameters(verb) if not one.said.names]

    def perform(self: VerbWorkspace, *values: Any, on_event: OnEvent | None = None, **options: Any) -> Any:
        if len(values) > len(places):
            raise TypeError(f"{verb.name} takes at most {len(places)} values without a name")
        given = {**dict(zip(places, values, strict=False)), **options}
        return run(verb.name, on_event=on_event, **{verb.workspace: self.root}, **given)

    kinds = inspect.Parameter
    taken = [kinds("self", kinds.POSITIONAL_OR_KEYWORD)]
    own = sorted(method_parameters(verb), key=lambda one: bool(one.said.names))
    for one in own:
        kind = kinds.KEYWORD_ONLY if one.said.names else kinds.POSITIONAL_OR_KEYWORD
        default = kinds.empty if one.required else one.default
        taken.append(kinds(one.name, kind, default=default, annotation=one.type))
    taken.append(kinds("on_event", kinds.KEYWORD_ONLY, default=None))
    perform.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
    perform.__name__ = method_name(verb)
    lines = (f"{one.name}: {one.said.help}" for one in own)
    perform.__doc__ = "\n\n    ".join((f"{verb.help} Returns its summary.", *lines))
    return perform


for _verb in VERBS.values():
    if _verb.workspace:
        setattr(VerbWorkspace, method_name(_verb), _method(_verb))

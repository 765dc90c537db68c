"""`python dev/declared.py`: write anew what is made from the declarations of the verbs. Tests compare it.

The tables of options in docs/cli.md: their first two columns are made here, the names and what --help says, with the
default. What stands in a third column is a person's, and stays. So does all the rest of the page.
And src/olu/api.pyi: what type checkers know of the methods of a workspace.
"""

from __future__ import annotations

import re
import types
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
STUB = Path(__file__).parents[1] / "src" / "olu" / "api.pyi"
TABLE = re.compile(r"^\| option \|.*\n\|[-|]+\n((?:\|.*\n)*)", re.M)


def rewritten(text: str, commands: dict[str, Any]) -> str:
    """The page with its tables made anew; `commands`: verb -> its command, as typer has it."""
    head, *sections = re.split(r"^(?=## olu )", text, flags=re.M)
    return head + "".join(_section(one, commands) for one in sections)


def _section(text: str, commands: dict[str, Any]) -> str:
    verb = text.split()[2]
    if verb not in commands:
        return text
    held = TABLE.search(text)
    more = _by_hand(held[1]) if held else {}
    options = [one for one in commands[verb].params if one.opts[0].startswith("-") and "--help" not in one.opts]
    rows = [(_names(one), _meaning(one), more.get(max(one.opts, key=len), "")) for one in options]
    wide = any(row[2] for row in rows)
    lines = [
        "| option | meaning | more |" if wide else "| option | meaning |",
        "|---|---|---|" if wide else "|---|---|",
    ]
    lines += [f"| {' | '.join(row if wide else row[:2])} |" for row in rows]
    table = "\n".join(lines) + "\n" if rows else ""
    if held:
        return text[: held.start()] + table + text[held.end() :]
    example = text.index("```\n")
    return text[:example] + table + "\n" + text[example:]


def _by_hand(rows: str) -> dict[str, str]:
    """Option -> what a person wrote in the third column."""
    found = {}
    for row in rows.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
        name = max(re.findall(r"`(-[^`]+)`", cells[0]), key=len)
        found[name] = cells[2] if len(cells) > 2 else ""
    return found


def _names(one: Any) -> str:
    return ", ".join(f"`{name}`" for name in sorted(one.opts, key=len, reverse=True))


def _meaning(one: Any) -> str:
    said = " ".join((one.help or "").split()).replace("|", "\\|")
    if one.default in (None, False, "", [], ()) or "efault" in said or one.required:
        return said
    return f"{said} Default: `{one.default}`."


STUB_HEAD = '''"""What `olu.api` holds, for type checkers. Written by dev/declared.py."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from olu.core.files import Workspace
from olu.core.job import Event
from olu.core.options import Parameter, Verb
IMPORTS
OnEvent = Callable[[Event], None]

def run(verb: str, *, on_event: OnEvent | None = None, **options: Any) -> Any: ...
def method_name(verb: Verb) -> str: ...
def method_parameters(verb: Verb) -> list[Parameter]: ...

class VerbWorkspace(Workspace):
    def __init__(self, root: str | Path) -> None: ...
    @staticmethod
    def open(root: str | Path) -> VerbWorkspace: ...
    @staticmethod
    def create(root: str | Path, *, language: str, name: str | None = None) -> VerbWorkspace: ...
'''


def stub() -> str:
    """The text of src/olu/api.pyi."""
    from olu.api import method_name, method_parameters
    from olu.stages.verbs import VERBS

    imports: set[tuple[str, str]] = set()
    methods = []
    for verb in VERBS.values():
        if not verb.workspace:
            continue
        found = _returned(verb)
        imports |= {(one.__module__, one.__name__) for one in found}
        own = sorted(method_parameters(verb), key=lambda one: bool(one.said.names))
        places = "".join(f"        {_taken(one)},\n" for one in own if not one.said.names)
        names = "".join(f"        {_taken(one)},\n" for one in own if one.said.names)
        taken = f"        self,\n{places}        *,\n{names}        on_event: OnEvent | None = None,\n"
        told = " | ".join(one.__name__ for one in found)
        methods.append(f"    def {method_name(verb)}(\n{taken}    ) -> {told}: ...\n")
    homes = sorted({module for module, _ in imports})
    named = ((home, ", ".join(sorted(name for module, name in imports if module == home))) for home in homes)
    lines = "".join(f"from {module} import {names}\n" for module, names in named)
    return STUB_HEAD.replace("IMPORTS\n", f"{lines}\n") + "".join(methods)


def _taken(one: Any) -> str:
    kind = {"Path": "str | Path"}.get(one.kind.__name__, one.kind.__name__)
    said = f"Iterable[{kind}] | {kind}" if one.several else kind
    if one.required:
        return f"{one.name}: {said}"
    given = "()" if one.several else repr(one.default)
    return f"{one.name}: {said}{' | None' if one.default is None else ''} = {given}"


def _returned(verb: Any) -> list[Any]:
    """The classes of its summaries: of a job, what it ends with."""
    found: list[Any] = []
    todo = [get_type_hints(verb.call())["return"]]
    while todo:
        kind = todo.pop(0)
        if get_origin(kind) in (types.UnionType, Union):
            todo = [*get_args(kind), *todo]
        elif get_args(kind):
            todo.insert(0, get_args(kind)[-1])
        else:
            found.append(kind)
    return found


def main() -> None:
    import typer.main

    from olu.cli.main import app

    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    STUB.write_text(stub(), encoding="utf-8")
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), commands), encoding="utf-8")


if __name__ == "__main__":
    main()

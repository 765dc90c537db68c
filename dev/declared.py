"""`python dev/declared.py`: write anew what is made from the declarations of the verbs. Tests compare it.

The tables of options in docs/cli.md: their first two columns are made here, the names and what --help says, with the
default. An option that three verbs and more have alike stands in the first table, and a verb only names it. What stands
in a third column is a person's, and stays. So does all the rest of the page.
And src/olu/api.pyi: what type checkers know of the methods of a workspace.
"""

from __future__ import annotations

import re
import types
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Union, get_args, get_origin, get_type_hints

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
STUB = Path(__file__).parents[1] / "src" / "olu" / "api.pyi"
TABLE = re.compile(r"^\| option \|.*\n\|[-|]+\n((?:\|.*\n)*)(?:\nAlso: .*\n)?|^Also: .*\n", re.M)
NO_COMMAND = SimpleNamespace(params=[])
ALIKE = {"g2p": "read"}  # a verb whose options are those of another, which alone explains them


def rewritten(text: str, commands: dict[str, Any]) -> str:
    """The page with its tables made anew; `commands`: verb -> its command, as typer has it."""
    head, *sections = re.split(r"^(?=## olu )", text, flags=re.M)
    held = Counter((_names(one), _meaning(one)) for command in commands.values() for one in _options(command))
    shared = {row for row, count in held.items() if count > 2 and count == max(held[o] for o in held if o[0] == row[0])}
    head = TABLE.sub(lambda _: _table(sorted((*row, "") for row in shared)), head, count=1)
    return head + "".join(_section(one, commands, shared) for one in sections)


def _options(command: Any) -> list[Any]:
    return [one for one in command.params if one.opts[0].startswith("-") and "--help" not in one.opts]


def _section(text: str, commands: dict[str, Any], shared: set[tuple[str, str]]) -> str:
    verb = text.split()[2]
    if verb not in commands:
        return text
    held = TABLE.search(text)
    more = _by_hand(held[1] or "") if held else {}
    rows = [(_names(one), _meaning(one), more.get(max(one.opts, key=len), "")) for one in _options(commands[verb])]
    elsewhere = shared | {
        (_names(one), _meaning(one)) for one in _options(commands.get(ALIKE.get(verb, ""), NO_COMMAND))
    }
    own = [row for row in rows if row[2] or row[:2] not in elsewhere]
    named = ", ".join(row[0] for row in rows if row not in own)
    table = "\n".join(part for part in (_table(own), f"Also: {named}.\n" if named else "") if part)
    if held:
        return text[: held.start()] + table + text[held.end() :]
    example = text.index("```\n")
    return text[:example] + table + "\n" + text[example:]


def _table(rows: list[tuple[str, str, str]]) -> str:
    if not rows:
        return ""
    wide = any(row[2] for row in rows)
    lines = [
        "| option | meaning | more |" if wide else "| option | meaning |",
        "|---|---|---|" if wide else "|---|---|",
    ]
    return "\n".join([*lines, *(f"| {' | '.join(row if wide else row[:2])} |" for row in rows)]) + "\n"


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

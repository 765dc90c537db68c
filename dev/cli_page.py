"""`python dev/cli_page.py`: write the tables of options in docs/cli.md anew, from what the verbs declare.

Of each table the first two columns are made here: the names, and what --help says, with the default. What stands in a
third column is a person's, and stays. So does all the rest of the page. A test compares the page with what this writes.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
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


def main() -> None:
    import typer.main

    from olu.cli.main import app

    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), commands), encoding="utf-8")


if __name__ == "__main__":
    main()

"""olu languages"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from olu.cli.show import print_json, say, table

if TYPE_CHECKING:
    from olu.text.languages import Language

UNKNOWN_SCRIPT = "Zyyy"  # ISO 15924: no script is known of the language
OTHERS = "Any other language works too, by its ISO 639-3 code: its text is read character by character."


def register(app: typer.Typer) -> None:
    @app.command()
    def languages(
        code: str | None = typer.Argument(None, metavar="[CODE]", help="All about one of them."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """List the languages that come with a folder of their own, and what each can do."""
        from olu.text.languages import available, load

        if code is not None:
            _one(load(code), as_json=as_json)
            return
        known = available()
        if as_json:
            print_json({"languages": [_row(one) for one in known], "others": OTHERS})
            return
        columns = ["code", "name", "native", "reads", "dialects", "measured"]
        table("", columns, [_cells(one) for one in known])
        say(OTHERS)
        say("More on one of them: olu languages CODE")


def _cells(one: Language) -> list[str]:
    best = one.accuracy[0] if one.accuracy else None
    measured = f"{_what(best.measure)} {best.value:g} % ({best.set})" if best else "-"
    return [one.code, one.name, one.native, _row(one)["reads"], " ".join(one.dialects) or "-", measured]


def _what(measure: str) -> str:
    """What was measured; its unit stands behind the value."""
    return measure.removesuffix(", %")


def _row(one: Language) -> dict[str, Any]:
    folder = one.folder
    return {
        "code": one.code,
        "name": one.name,
        "native": one.native,
        "script": one.script,
        "reads": "phones" if one.reading.pronounce else "characters",
        "numbers": bool(folder and (folder / "numbers.toml").is_file()),
        "dialects": list(one.dialects),
        "options": {name: option.model_dump() for name, option in one.options.items()},
        "accuracy": [row.model_dump() for row in one.accuracy],
    }


def _one(one: Language, *, as_json: bool) -> None:
    row = _row(one)
    if as_json:
        print_json(row)
        return
    script = f", script {one.script}" if one.script != UNKNOWN_SCRIPT else ""
    say(f"{one.code}  {one.name} ({one.native}){script}, read as {row['reads']}")
    if one.dialects:
        say(f"dialects: {', '.join(one.dialects)} (the first is taken unless --dialect says otherwise)")
    if one.options:
        cells = [[name, o.default, ", ".join(o.choices), o.help] for name, o in one.options.items()]
        table("options (--option NAME=VALUE)", ["name", "default", "choices", "what it does"], cells)
    if one.accuracy:
        said = {True: "yes", False: "no"}
        rows = [[a.set, str(a.rows), _what(a.measure), f"{a.value:g} %", said[a.seen]] for a in one.accuracy]
        table("measured", ["set", "rows", "measure", "value", "rules written with it in view"], rows)
    if one.folder is None:
        say(OTHERS)

"""Options declared once: types, the stamp, JSON and its schema, and the command line that is made of them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
import typer.main
from typer.testing import CliRunner

from olu.cli.build import command
from olu.core.errors import ConfigError
from olu.core.options import (
    Verb,
    argument,
    flag,
    from_json,
    option,
    options,
    parameters,
    schema,
    stamp,
    to_json,
    workspace,
)
from olu.core.told import Remedy
from olu.stages.verbs import VERBS


@options
class ToyOptions:
    ws: Path = workspace()
    others: tuple[Path, ...] = argument("OTHER...", "More.", default=())
    shape: str = option("Which.", default="round", choices=("round", "square"), stamped=True)
    times: int | None = option("How often.", "--times", "-t", least=1, most=5)
    loud: bool = flag("Loudly.", stamped=True)


@dataclass(frozen=True)
class ToySummary:
    said: str

    def sentences(self, options: ToyOptions) -> list[str]:
        return [self.said]

    def failure(self, options: ToyOptions) -> str | None:
        return "too loud" if options.loud else None


def run_toy(options: ToyOptions) -> ToySummary:
    return ToySummary(f"{options.ws} {options.others} {options.times}")


TOY = Verb("toy", "Play.", ToyOptions, "toy_stage:run")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = ModuleType("toy_stage")
    stage.run = run_toy  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "toy_stage", stage)


def toy(*words: str) -> Any:
    app = typer.Typer()
    app.command("toy")(command(TOY))
    return CliRunner().invoke(app, list(words))


def test_a_command_is_made_of_the_fields(here: None) -> None:
    done = toy("w", "a", "b", "-t", "3")
    assert not done.exception, done.exception
    assert done.stdout == "w (PosixPath('a'), PosixPath('b')) 3\n"
    assert json.loads(toy("w", "--json").stdout) == {"said": "w () None"}
    failed = toy("w", "--loud")
    assert (failed.exit_code, failed.stderr) == (2, "olu: too loud\n")
    assert "--shape" in toy("--help").stdout


def test_options_go_through_json_and_the_stamp_holds_what_matters() -> None:
    given = ToyOptions(ws=Path("w"), others=(Path("a"),), times=2)
    assert from_json(ToyOptions, json.loads(json.dumps(to_json(given)))) == given
    assert stamp(given) == {"shape": "round", "loud": False}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "'ws' must be given"),
        ({"ws": "w", "sides": 3}, "unknown option 'sides'; known: ws, others, shape, times, loud"),
        ({"ws": 3}, "'ws' is a path"),
        ({"ws": "w", "shape": "oval"}, "'shape' is one of round, square"),
        ({"ws": "w", "times": 6}, "'times' is 1 to 5"),
        ({"ws": "w", "times": True}, "'times' is a whole number"),
        ({"ws": "w", "others": "a"}, "'others' takes a list"),
        ({"ws": "w", "loud": 1}, "'loud' is true or false"),
    ],
)
def test_what_does_not_fit_is_said(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        from_json(ToyOptions, given)


def test_the_schema_says_what_is_declared() -> None:
    found = schema(TOY)
    assert found["required"] == ["ws"]
    assert found["properties"]["shape"] == {
        "type": "string",
        "enum": ["round", "square"],
        "description": "Which.",
        "default": "round",
    }
    assert found["properties"]["ws"]["x-path"] == "workspace"
    assert found["properties"]["times"]["anyOf"][0] == {"type": "integer", "minimum": 1, "maximum": 5}


@pytest.mark.parametrize("verb", VERBS.values(), ids=lambda verb: verb.name)
def test_every_verb_is_declared_whole(verb: Verb) -> None:
    assert callable(verb.call())
    for one in parameters(verb.options):
        assert one.said.help.strip() == one.said.help != ""
        assert one.kind in (Path, str, int, float, bool), one.name
        assert one.said.role or one.kind is not Path, f"{verb.name} {one.name}: say what the path leads to"
    json.dumps(schema(verb))


def test_declarations_are_light() -> None:
    code = (
        "import sys, olu.stages.verbs as v; [one.parameters for one in v.VERBS.values()];"
        "print(*sorted({'numpy', 'onnxruntime', 'torch', 'pydantic', 'typer'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_every_verb_can_say_that_an_extra_is_missing() -> None:
    """What carries it out is imported without the packages of any extra."""
    extras = ("torch", "numba", "safetensors", "onnx", "tomli_w", "av", "fastapi", "uvicorn", "datasets", "swift_f0")
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({extras}));"
        "from olu.stages.verbs import VERBS; [verb.call() for verb in VERBS.values()]"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_remedy_is_a_command() -> None:
    told = Remedy("speak", ("...",), {"voice": Path("my ws"), "output": Path("out.wav")})
    assert str(told) == """olu speak "..." --voice 'my ws' -o out.wav"""
    for typed in ("olu import 'my ws' SOURCE", "olu train w --base embedded --new", "olu clips w --where 'a > 1'"):
        assert str(Remedy.parse(typed)) == typed
    assert Remedy.parse("olu import w s --shift=-1.5 --in-sync").options == {"shift": "-1.5", "in_sync": True}
    waits = Remedy("train", ("w",), {"new": True}, why="mend it, or")
    assert waits.told() == "mend it, or olu train w --new"
    assert waits.row() == {"verb": "train", "values": ["w"], "options": {"new": True}, "why": "mend it, or"}
    assert str(Remedy("audit", (Path("-w"),), {"undo": True, "dry_run": True})) == "olu audit ./-w --undo --dry-run"

"""Files that hold more than any honest one: deep nesting, endless numbers. One sentence, never a traceback."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import olu
from olu.cli.main import app
from olu.core.config import read_toml, with_overrides
from olu.core.errors import ConfigError, TrainError, WorkspaceError
from olu.core.files import Workspace, read_json, read_jsonl
from olu.core.parse import DEEPEST, BadData, from_json, from_toml
from olu.families.vits.foreign.read import json_of
from olu.train.base_facts import licence_of

DEEP = "[" * 100_000 + "]" * 100_000
BURIED = "[" * 500 + "]" * 500  # Python itself reads it, and then runs out in what is done with it
DIGITS = "9" * 5000
LONG = "9" * 400  # a whole number, and no float
HOSTILE = {"deep": DEEP, "buried": BURIED, "digits": DIGITS, "long": LONG, "half": '{"a": ', "bytes": "\udcff"}
BAD = pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE)


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return path


@BAD
def test_json(value: str) -> None:
    with pytest.raises(BadData) as raised:
        from_json(('{"a": ' + value + "}").encode("utf-8", "surrogateescape"))
    assert len(str(raised.value)) < 200


@BAD
def test_toml(value: str) -> None:
    with pytest.raises(BadData) as raised:
        from_toml(("a = " + value).encode("utf-8", "surrogateescape"))
    assert len(str(raised.value)) < 200


def test_dotted_keys_are_nesting_too() -> None:
    with pytest.raises(BadData, match="inside each other"):
        from_toml(".".join("a" * 500) + " = 1")


def test_what_honest_files_hold_is_read() -> None:
    deep = json.loads("[" * DEEPEST + "]" * DEEPEST)
    assert from_json(json.dumps(deep)) == deep
    assert from_json(json.dumps({"text": LONG + "[" * 500})) == {"text": LONG + "[" * 500}
    assert from_toml(f'a = {10**300}\nb = "{LONG}"') == {"a": 10**300, "b": LONG}


@BAD
def test_files_of_a_workspace(tmp_path: Path, value: str) -> None:
    file = put(tmp_path / "corpus" / "sources.json", '{"a": ' + value + "}")
    with pytest.raises(WorkspaceError, match=r"sources.json is damaged"):
        read_json(file)
    rows = put(tmp_path / "corpus" / "clips.jsonl", '{"id": "one"}\n{"a": ' + value + "}\n")
    with pytest.raises(WorkspaceError, match=r"clips.jsonl line 2 is damaged"):
        list(read_jsonl(rows))
    with pytest.raises(ConfigError, match="not valid TOML"):
        read_toml(put(tmp_path / "recipe.toml", "a = " + value))
    with pytest.raises(WorkspaceError, match=r"olu.toml cannot be read"):
        Workspace.open(put(tmp_path / "olu.toml", "schema = " + value).parent)


@BAD
def test_a_damaged_stamp_only_means_that_its_stage_runs_again(tmp_path: Path, value: str) -> None:
    ws = Workspace.create(tmp_path / "ws", language="swa")
    put(ws.stamp_path("import"), '{"inputs": "", "options": {}, "summary": {"clips": ' + value + "}}")
    assert ws.stamped("import") is None


@BAD
def test_files_of_a_base(tmp_path: Path, value: str) -> None:
    config = put(tmp_path / "config.json", '{"vocab_size": ' + value + "}")
    with pytest.raises(TrainError, match=r"config.json is damaged"):
        json_of(config)
    assert licence_of(tmp_path).name == ""


def test_settings_on_the_command_line() -> None:
    assert with_overrides({}, [f"a={DEEP}"]) == {"a": DEEP}  # no TOML: a word, which the setting refuses


@BAD
def test_choices_of_a_listener(tmp_path: Path, value: str) -> None:
    path = put(tmp_path / "choices.json", '{"kind": ' + value + "}")
    told = CliRunner().invoke(app, ["compare", "--choices", str(path)])
    assert isinstance(told.exception, ConfigError)
    assert "holds no choices" in str(told.exception)


def test_nothing_else_parses_files() -> None:
    """One loader: who parses on their own gets tracebacks of their own."""
    root = Path(olu.__file__).parent
    wire = root / "serve" / "process.py"  # between Olu's own processes
    for path in sorted(set(root.rglob("*.py")) - {root / "core/parse.py", wire}):
        code = re.sub(r'"""(?s:.*?)"""', "", path.read_text(encoding="utf-8"))
        code = code.replace("json.loads(json.dumps(", "")  # a copy
        assert not re.search(r"json\.loads?\(|tomllib", code), f"{path} parses on its own: use olu.core.parse"

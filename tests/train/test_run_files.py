"""The files of a run that parse, but hold something else: one sentence that names them and what to do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from olu.core.errors import WorkspaceError
from olu.train.recipe import Recipe, read_recipe, recipe_toml
from olu.train.run import FAULTS, Run

FACTS = {"recipe": "a", "clips": "b", "corpus": "c", "from": None}
DOCUMENTS: dict[str, Any] = {
    "vocabulary.json": {"symbols": ["_", "a"], "interleave": True, "marks": "vowel"},
    "frontend.json": {"kind": "characters", "language": "swa", "lower": True, "inventory": ["a"]},
    "speakers.json": ["default"],
}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run.create(tmp_path / "ws" / "runs", Recipe(), facts=FACTS, documents=DOCUMENTS)
    run.finish(steps=3, stopped=None)
    run.write_best({"step": 3, "score": 1.0}, metric="mel")
    return run


def read_all(run: Run) -> None:
    assert run.finished and run.best is not None and run.recipe == Recipe()
    for name in ("facts.json", *DOCUMENTS):
        assert run.document(name) == {"facts.json": FACTS, **DOCUMENTS}[name]


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("wrong", [b"{}", b"[]", b"3", b"null", b"", b'{"symbols": "\xff"}'])
def test_what_holds_something_else_is_named(run: Run, name: str, wrong: bytes) -> None:
    read_all(run)
    path = run.folder / name
    path.write_bytes(wrong)
    with pytest.raises(WorkspaceError, match=rf"^{re.escape(str(path))} is damaged \(.+\): (put it back|delete it)"):
        read_all(run)


@pytest.mark.parametrize("facts", [{"recipe": "a"}, {"recipe": "a", "clips": None, "from": None}])
def test_a_run_that_knows_less_of_itself_is_no_damaged_one(run: Run, facts: dict[str, Any]) -> None:
    (run.folder / "facts.json").write_text(json.dumps(facts), encoding="utf-8")
    assert run.document("facts.json") == facts


@pytest.mark.parametrize("lacking", ["family", "model", "plan", "guards"])
def test_a_recipe_that_was_emptied_is_not_one_of_defaults(run: Run, lacking: str) -> None:
    path = run.folder / "recipe.toml"
    text = path.read_text(encoding="utf-8")
    at = text.index(f"{lacking} = " if lacking == "family" else f"[{lacking}]")
    path.write_text(text[:at], encoding="utf-8")
    with pytest.raises(WorkspaceError, match=rf"recipe\.toml is damaged \(no '{lacking}'\): put it back from a copy"):
        read_all(run)


def test_a_document_that_is_gone_is_named(run: Run) -> None:
    (run.folder / "vocabulary.json").unlink()
    with pytest.raises(WorkspaceError, match=r"vocabulary\.json is damaged \(it is not there\)"):
        read_all(run)


@pytest.mark.parametrize(("name", "change"), [("best.json", {"step": 57}), ("result.json", {"finished": False})])
def test_one_changed_value_of_what_steers_is_damage(run: Run, name: str, change: dict[str, object]) -> None:
    run.write_best({"step": 5, "score": 0.5}, metric="mel")
    run.finish(steps=10, stopped=None)
    assert run.fault == "" and run.best is not None and run.best["step"] == 5 and run.finished
    path = run.folder / name
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **change}), encoding="utf-8")
    assert f"{name} is damaged (its digest differs): delete it" in run.fault


@pytest.mark.parametrize("name", ["recipe.toml", "facts.json", "result.json", "best.json"])
def test_a_list_of_runs_asks_for_the_fault_instead_of_failing(run: Run, name: str) -> None:
    assert run.fault == ""
    path = run.folder / name
    path.write_bytes(b"{")
    assert run.fault.startswith(f"{path} is damaged (") and "\n" not in run.fault
    path.unlink()
    path.mkdir()  # no file at all
    assert run.fault.startswith(f"{path} cannot be read (Is a directory): put it back from a copy")


def test_two_trainings_that_begin_together_get_a_run_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = tmp_path / "ws" / "runs"
    other: list[Run] = []

    def meanwhile(recipe: Recipe) -> str:
        if not other:
            other.append(Run(runs))  # once
            other[0] = Run.create(runs, Recipe(seed=7), facts=FACTS, documents=DOCUMENTS)
        return recipe_toml(recipe)

    monkeypatch.setattr("olu.train.run.recipe_toml", meanwhile)
    mine = Run.create(runs, Recipe(), facts=FACTS, documents=DOCUMENTS)
    assert (other[0].name, mine.name) == ("vits-001", "vits-002")
    assert (other[0].recipe.seed, mine.recipe.seed) == (7, 1)
    assert not list(runs.glob(".*"))


def test_a_recipe_is_read_once_and_again_when_its_file_is_another(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    read, asked = read_recipe, list[Path | None]()
    monkeypatch.setattr("olu.train.run.read_recipe", lambda path, over: (asked.append(path), read(path, over))[1])
    assert run.recipe == run.recipe == Recipe() and len(asked) == 1
    path = run.folder / "recipe.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("seed = 1", "seed = 22"), encoding="utf-8")
    assert run.recipe.seed == 22 and len(asked) == 2
    path.unlink()
    with pytest.raises((WorkspaceError, OSError)):
        _ = run.recipe

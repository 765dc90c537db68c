"""The documentation and the tool agree."""

from __future__ import annotations

import ast
import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from olu.cli.main import app
from olu.core.config import check
from olu.families import family
from olu.train.recipe import read_recipe

from .cli.conftest import fine

ROOT = Path(__file__).parents[1]
SOAK = os.environ.get("OLU_SOAK") == "1"
PAGES = sorted(
    page
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "dev").rglob("*.md"))
    if page.is_file()
)
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]

# Commands of the README and of docs/start.md that are not run here, and why.
NOT_RUN = {
    "pip install": "changes this environment",
    "olu studio": "a server, which tests/studio start",
    "olu new my-voice": "CODE, FOLDER and NAME stand for the reader's own",
    "olu import my-voice": "CODE, FOLDER and NAME stand for the reader's own",
    "olu audit my-voice": "CODE, FOLDER and NAME stand for the reader's own",
    "olu train my-voice": "CODE, FOLDER and NAME stand for the reader's own",
}

# What makes these smaller, but for `make soak`, which runs them as they stand.
SMALLER = {
    "olu sample recordings": ("--clips", "20"),
    "olu train amharic": ("--set", "plan.steps=2"),
}


def _options(verb: str) -> set[str]:
    """The long and short names of a verb's options, as its help shows them."""
    return {name for one in COMMANDS[verb].params for name in one.opts if name.startswith("-")} - {"--help"}


def _sections() -> dict[str, str]:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    parts = re.split(r"^## olu (\S+)$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_cli_page_has_every_verb_and_no_other():
    assert sorted(_sections()) == sorted(COMMANDS)


@pytest.mark.parametrize("verb", COMMANDS)
def test_cli_page_has_every_option_and_no_other(verb: str):
    section = _sections()[verb]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    rows += [line for line in section.splitlines() if line.startswith("Also: ")]
    listed = {name for row in rows for name in re.findall(r"`(-[^`]+)`", row)}
    assert listed == _options(verb)
    own = re.sub(r"'olu [^']*'", "", section)  # what other verbs take is looked at below
    described = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", own)) | listed
    assert described <= _options(verb) | ({"--language"} if verb in ("g2p", "read") else set())
    (example,) = re.findall(r"```\n(olu .*)\n```", section)
    assert shlex.split(example)[1] == verb


def test_cli_page_is_what_the_declarations_make_of_it():
    page = ROOT / "docs" / "cli.md"
    written = page.read_text(encoding="utf-8")
    made = runpy.run_path(str(ROOT / "dev" / "declared.py"))["rewritten"](written, COMMANDS)
    assert made == written, "run 'python dev/declared.py'"


def _commands(page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, flags=re.M | re.S)
    joined = [block.replace("\\\n", " ") for block in blocks]
    return [line.strip() for block in joined for line in block.splitlines() if line.strip() and line[0] != "#"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_on_a_page_is_one_of_ours(page: Path):
    for command in (part for line in _commands(page) for part in re.split(r"\s\|\s", line)):
        words = shlex.split(command)
        if words[0] != "olu":
            continue
        assert words[1] in COMMANDS, command
        unknown = {word.split("=")[0] for word in words[2:] if re.match(r"--?[a-z]", word)} - _options(words[1])
        assert not unknown, command


def _strings(source: str) -> list[str]:
    """The texts in a program, with WS where something is put in."""
    found, inside = [], set[ast.AST]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            inside.update(node.values)
            found.append("".join(str(getattr(part, "value", "WS")) if _is_text(part) else "WS" for part in node.values))
        elif _is_text(node) and node not in inside:
            found.append(node.value)  # type: ignore[attr-defined]
    return found


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _unknown(text: str) -> list[str]:
    """Commands that a text tells people to run and that do not exist, up to the first sign that may end one."""
    wrong = []
    for match in re.finditer(r"(?:^|(?<=[\s'\"`(:$]))olu ([a-z0-9_]+(?:-[a-z0-9_]+)*)([^'\"`;,()|\n]*)", text):
        options = set(re.findall(r"(?<=\s)--?[a-z][a-z-]*", match[2]))
        is_quoted = text[match.start() - 1 : match.start()] in ("'", "`")
        is_wrong = options - _options(match[1]) - {"--help"} if match[1] in COMMANDS else options or is_quoted
        wrong += [match[0]] if is_wrong else []
    return wrong


def test_messages_and_cards_name_commands_that_exist():
    wrong = [
        f"{path.relative_to(ROOT)}: {one}"
        for path in sorted((ROOT / "src" / "olu").rglob("*.py"))
        if re.search(r"\bolu [a-z]", source := path.read_text(encoding="utf-8"))
        for text in _strings(source)
        for one in _unknown(text)
    ]
    wrong += [f"{page.name}: {one}" for page in PAGES for one in _unknown(page.read_text(encoding="utf-8"))]
    assert not wrong, wrong
    assert _unknown("see `olu reed`, 'olu read --text' and olu train X --resume -q") == [
        "olu reed",
        "olu read --text",
        "olu train X --resume -q",
    ]


def _remedies(source: str) -> list[tuple[str, list[str]]]:
    """Verb and options of each remedy that a program writes out."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Remedy" and _is_text(node.args[0]):
            given = [*node.args[2:3], *(k.value for k in node.keywords if k.arg == "options")]
            keys = [key.value for one in given if isinstance(one, ast.Dict) for key in one.keys]  # type: ignore[union-attr]
            found.append((node.args[0].value, keys))  # type: ignore[attr-defined]
    return found


def test_remedies_name_verbs_and_options_that_exist():
    found = [
        (path.name, verb, [f"--{key.replace('_', '-')}" for key in keys])
        for path in sorted((ROOT / "src" / "olu").rglob("*.py"))
        for verb, keys in _remedies(path.read_text(encoding="utf-8"))
    ]
    assert len(found) > 20  # else this test looks at nothing
    assert not [one for one in found if one[1] not in COMMANDS or not set(one[2]) <= _options(one[1])]


def test_the_commands_of_the_readme_and_of_the_start_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran, skipped, smaller = [], set[str](), set[str]()
    for command in (*_commands(ROOT / "README.md"), *_commands(ROOT / "docs" / "start.md")):
        if why := next((start for start in NOT_RUN if command.startswith(start)), None):
            skipped.add(why)
            continue
        words = shlex.split(command)
        if not SOAK and (known := next((start for start in SMALLER if command.startswith(start)), None)):
            words += SMALLER[known]
            smaller.add(known)
        assert words[0] == "olu", f"run {command!r} here, or say in NOT_RUN why not"
        fine(*words[1:])
        ran.append(words[1])
    assert skipped == set(NOT_RUN), "NOT_RUN names commands that neither page has"
    assert SOAK or smaller == set(SMALLER), "SMALLER names commands that neither page has"
    assert {"sample", "new", "import", "audit", "read", "train", "export", "speak", "status"} <= set(ran)
    assert (tmp_path / "hello.wav").stat().st_size > 1000
    script = Path(sys.executable).with_name("olu")
    said = subprocess.run([script, "status", "amharic"], capture_output=True, text=True, check=True).stdout
    assert said == fine("status", "amharic").out


@pytest.mark.skipif(not SOAK, reason="half a minute: make soak")
def test_the_python_of_the_readme_runs(tmp_path: Path):
    (program,) = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.M | re.S
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"OMP_NUM_THREADS": "1", **os.environ},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("20 clips") and (tmp_path / "hello.wav").stat().st_size > 1000


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_relative_link_leads_somewhere(page: Path):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"!?\[[^\]]*\]\(([^)\s]+)\)", text):
        if "://" not in target and not target.startswith(("#", "mailto:")):
            assert (page.parent / target.partition("#")[0]).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("path", sorted((ROOT / "recipes").glob("*.toml")), ids=lambda path: path.name)
def test_every_recipe_loads_and_its_model_fits(path: Path):
    recipe = read_recipe(path, [])
    chosen = family(recipe.family)
    config = check(chosen.config, recipe.model, where=f"{path.name} [model]")
    assert chosen.data.rate(config) > 0
    assert path.read_text(encoding="utf-8").startswith("#"), "say in the first line what it is for"


def test_there_are_recipes():
    assert {path.stem for path in (ROOT / "recipes").glob("*.toml")} >= {"speaker", "small", "mms"}

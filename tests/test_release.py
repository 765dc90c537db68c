"""What a release hands to strangers: versions, addresses, containers, workflows."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer.main

from olu.cli.main import app

yaml = pytest.importorskip("yaml", reason="PyYAML reads the workflows")

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PLACE = PROJECT["tool"]["olu"]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.*")])
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
CONTAINERS = ROOT / "containers"


def _yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _flags(words: list[str]) -> set[str]:
    return {word for word in words if word.startswith("--")}


def _entry(name: str) -> list[str]:
    text = (CONTAINERS / name / "Containerfile").read_text(encoding="utf-8")
    (found,) = re.findall(r"^ENTRYPOINT (\[.*\])$", text, flags=re.M)
    words: list[str] = yaml.safe_load(found)
    return words


def test_the_version_is_the_same_everywhere() -> None:
    release = runpy.run_path(str(ROOT / "dev" / "release.py"))
    assert release["version"]() in release["check_version"](ROOT)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_document_invents_an_address(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    letters = [
        one
        for one in re.findall(r"[\w.+-]+@[\w-]+\.[a-z]{2,}", text)
        if not one.endswith(("example.org", "example.com"))
    ]
    homes = re.findall(r"(?:github|gitlab|codeberg)\.(?:com|org)/[\w.-]+/olu\b", text)
    assert set(letters) <= {PLACE["contact"]} and all(home in PLACE["repository"] for home in homes)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_document_installs_from_the_index_before_that_works(page: Path) -> None:
    found = re.findall(
        r"^.*pip install (?:-\S+ )*[\"']?olu(?:\[[\w,-]+\])?[\"']?(?:\s|$|`).*$",
        page.read_text(encoding="utf-8"),
        flags=re.M,
    )
    assert PLACE["published"] or all("really works" in line for line in found), found


@pytest.mark.parametrize("name", ["serve", "studio"])
def test_a_container_runs_a_verb_as_nobody_of_importance(name: str) -> None:
    text = (CONTAINERS / name / "Containerfile").read_text(encoding="utf-8")
    entry = _entry(name)
    options = {flag for one in COMMANDS[name].params for flag in one.opts}
    assert entry[:2] == ["olu", name] and _flags(entry) <= options
    assert re.search(r"^USER 10001$", text, flags=re.M) and "HEALTHCHECK" in text
    (extras,) = re.findall(r'"\.\[([\w,-]+)\]"', text)
    assert set(extras.split(",")) <= set(PROJECT["project"]["optional-dependencies"])
    assert all(
        (ROOT / file).exists()
        for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, flags=re.M)
        for file in line.split()
    )


def test_compose_names_what_there_is() -> None:
    made = _yaml(CONTAINERS / "compose.yaml")
    proxy = made["services"]["proxy"]["networks"]["olu"]["ipv4_address"]
    caddy = (CONTAINERS / "Caddyfile").read_text(encoding="utf-8")
    for name in ("serve", "studio"):
        service = made["services"][name]
        assert (CONTAINERS / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
        words = service["command"]
        assert _flags(words) <= {flag for one in COMMANDS[name].params for flag in one.opts}
        assert words[-1] == proxy
        (port,) = re.findall(
            r"^EXPOSE (\d+)$", (CONTAINERS / name / "Containerfile").read_text(encoding="utf-8"), flags=re.M
        )
        assert f"reverse_proxy {name}:{port}" in caddy
    assert set(re.findall(r"\{\$(\w+)\}", caddy)) == set(made["services"]["proxy"]["environment"])


def test_every_dependency_was_looked_at_in_the_version_that_is_pinned() -> None:
    def plain(name: str) -> str:
        return name.lower().replace("_", "-")

    extras = PROJECT["project"]["optional-dependencies"].values()
    asked = [*PROJECT["project"]["dependencies"], *(one for extra in extras for one in extra)]
    names = {plain(re.split(r"[<>=\[]", one)[0]) for one in asked} - {"olu"}
    pinned = dict(
        line.split("==") for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines() if "==" in line
    )
    pins = {plain(name): version for name, version in pinned.items()}
    page = (ROOT / "dev" / "dependencies.md").read_text(encoding="utf-8").split("## Who keeps them")[1]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")]
    rows = {plain(row[0]): row for row in cells if len(row) == 6}
    assert names <= set(rows), f"look at {sorted(names - set(rows))} and add a row to dev/dependencies.md"
    wrong = [row for name, row in rows.items() if name in pins and row[3] != pins[name]]
    assert not wrong and all(all(row) for row in rows.values()), wrong


def test_what_an_index_tells_goes_into_the_table() -> None:
    asked = runpy.run_path(str(ROOT / "dev" / "known_faults.py"))
    page = "x\n## Who keeps them\n| package | a | b | pinned | newest | released |\n|---|---|---|---|---|---|\n"
    page += "| Some_thing | MIT | Ann | 1.0 | the same | ? |\n| other | MIT | Bo | 2.0, not pinned | 1.9 | ? |\n"
    told = [
        asked["Known"](name, "1.0", newest, "2026-01-02", yanked=False, faults=())
        for name, newest in (("some-thing", "1.1"), ("other", "2.0"))
    ]
    rows = asked["rewritten"](page, told).splitlines()[-2:]
    assert rows == [
        "| Some_thing | MIT | Ann | 1.0 | 1.1 | 2026-01-02 |",
        "| other | MIT | Bo | 2.0, not pinned | the same | 2026-01-02 |",
    ]
    assert asked["pins"]()["torch"] == "2.13.0"


def test_the_workflows_test_three_systems_and_publish_without_a_password() -> None:
    tests, publish = (_yaml(ROOT / ".github" / "workflows" / name) for name in ("tests.yml", "publish.yml"))
    matrix = tests["jobs"]["systems"]["strategy"]["matrix"]
    assert {one.split("-")[0] for one in matrix["os"]} == {"ubuntu", "windows", "macos"}
    assert matrix["python"] == ["3.11", "3.12", "3.13"]
    assert any(step.get("run") == "make test" for step in tests["jobs"]["linux"]["steps"])
    assert publish["jobs"]["publish"]["permissions"] == {"id-token": "write"}
    assert "secrets" not in (ROOT / ".github" / "workflows" / "publish.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "form", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda form: form.stem
)
def test_a_form_for_issues_is_whole(form: Path) -> None:
    made = _yaml(form)
    assert made["name"] and made["description"]
    asked = [part for part in made["body"] if part["type"] != "markdown"]
    assert len({part["id"] for part in asked}) == len(asked) and all(part["attributes"]["label"] for part in asked)

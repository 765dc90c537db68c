from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import typer
from typer.testing import CliRunner

from olu.cli.build import register
from olu.core.files import Workspace
from olu.core.job import finish
from olu.stages import import_
from olu.stages.read import read_corpus
from olu.stages.status import status
from olu.stages.verbs import VERBS

from .conftest import silence, speech

Make = Callable[..., Workspace]
app = typer.Typer()
app.callback()(lambda: None)  # keeps the verb a verb though it is alone
register(app, VERBS["audit"])


@pytest.fixture
def mixed(make: Make) -> Workspace:
    ws = make({"good": (speech(3), "Otu okwu ọma"), "[/mute]".replace("/", ""): (silence(2), "Okwu [/b] ọzọ")})
    import_.STAGE.stamp(ws, {}, {})
    return ws


def run(*words: str):
    return CliRunner().invoke(app, ["audit", *words])


def test_a_person_sees_counts_names_report_and_what_comes_next(mixed: Workspace):
    done = run(str(mixed.root))
    assert done.exit_code == 0, done.output
    assert "Silence inside" in done.stdout
    assert "[mute]: nothing is heard" in done.stdout
    assert str(mixed.audit_folder / "report.html") in done.stdout
    assert f"olu read {mixed.root}" in done.stdout


def test_what_comes_next_is_what_the_workspace_lacks(mixed: Workspace):
    run(str(mixed.root))
    finish(read_corpus(mixed))
    said = run(str(mixed.root)).stdout.splitlines()[-1]
    assert said == f"Next: {status(mixed).next}" == f"Next: olu train {mixed.root} --base embedded"


def test_json_is_one_object_and_nothing_else(mixed: Workspace):
    for _ in range(2):
        done = run(str(mixed.root), "--json")
        assert done.exit_code == 0
        assert done.stderr == ""
        assert done.stdout.count("\n") == 1
        found = json.loads(done.stdout)
        assert (found["clips"], found["clips_with_errors"]) == (2, 1)
        assert found["report"] == str(mixed.audit_folder / "report.html")


def test_strict_exits_with_two_and_one_line(mixed: Workspace):
    done = run(str(mixed.root), "--strict", "--json")
    assert done.exit_code == 2
    assert json.loads(done.stdout)["clips_with_errors"] == 1
    assert done.stderr.count("\n") == 1
    assert "1 of 2 clips has errors" in done.stderr
    assert (mixed.audit_folder / "report.html").exists()


def test_strict_is_content_with_good_clips(make: Make):
    ws = make({"good": (speech(3), "Otu okwu ọma")})
    assert run(str(ws.root), "--strict").exit_code == 0


def test_a_fix_does_not_tell_the_whole_audit_again(mixed: Workspace):
    first = run(str(mixed.root)).stdout
    assert "Silence inside" in first and "checks found nothing more." in first
    assert not [line for line in first.splitlines() if line.count(" - ") == 3]  # rows without a finding
    again = run(str(mixed.root), "--fix").stdout
    assert "Silence inside" not in again and "of usable speech" not in again
    assert "Before: 2 clips" in again and len(again.splitlines()) < 15


def test_a_fix_that_comes_first_tells_the_audit(mixed: Workspace):
    assert "Silence inside" in run(str(mixed.root), "--fix").stdout

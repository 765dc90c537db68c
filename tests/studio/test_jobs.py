"""Jobs of the studio: the verb itself in a process of its own, told by files."""

from __future__ import annotations

from pathlib import Path

from olu.core.files import Workspace

from ..helpers.studio import StudioClient


def test_a_job_is_the_verb_and_its_result_is_its_json(tmp_path: Path) -> None:
    Workspace.create(tmp_path / "habari", language="swa")
    client = StudioClient.of(tmp_path)
    told = client.job("habari", "status")
    assert told["state"] == "done" and told["result"]["language"] == "swa"
    assert told["command"].startswith("olu status")
    assert (tmp_path / "habari/jobs/0001/ask.json").is_file()

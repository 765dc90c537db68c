"""What an import leaves out is summed up by reason, and the last line says when it is much."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from olu.cli.build import register
from olu.core.files import Workspace, read_jsonl
from olu.core.job import finish
from olu.stages.import_ import import_source
from olu.stages.verbs import VERBS

from .test_layouts import CORPORA, LAYOUTS, lay, wav


def told(ws: Path, source: Path, *options: str) -> list[str]:
    app = typer.Typer()
    register(app, VERBS["import"])
    app.command("other")(lambda: None)
    done = CliRunner().invoke(app, ["import", str(ws), str(source), *options], catch_exceptions=False)
    assert done.exit_code == 0
    return done.output.splitlines()


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws", language="swa")


def stamp(seconds: float) -> str:
    return f"00:{int(seconds // 60):02d}:{seconds % 60:06.3f}".replace(".", ",")


def test_reasons_of_subtitles(ws: Workspace, tmp_path: Path) -> None:
    """Before: the first five of all, which were all of one kind."""
    cues = [(n + 0.1, n + 0.8) for n in range(10)]
    cues += [(n + 0.5, n + 0.2) for n in range(10, 16)] + [(40.0, 41.0)]
    blocks = (f"{n}\n{stamp(a)} --> {stamp(b)}\nHabari {n}.\n" for n, (a, b) in enumerate(cues))
    lay(tmp_path / "in", {"a.wav": wav(1, seconds=16.0), "a.srt": "\n".join(blocks).encode()})
    lines = told(ws.root, tmp_path / "in")
    assert "Skipped: 6 end before they start, 1 lies past the end of the sound." in lines
    at = lines.index("Skipped: 6 end before they start, 1 lies past the end of the sound.")
    assert sum("before it starts" in line for line in lines[at + 1 : at + 6]) == 4
    assert sum("and a.wav has 16.000 s" in line for line in lines[at + 1 : at + 6]) == 1
    assert lines[at + 6] == f"  ... and 2 more, see {ws.corpus / 'problems.jsonl'}"
    assert lines[-2].startswith("Much is lost: 7 of 17 rows (41 %), 0.0 of 0.")
    assert lines[-1].startswith("Next: olu audit")


def test_a_few_lost_rows_are_not_much(ws: Workspace, tmp_path: Path) -> None:
    rows = "".join(f"{n}|text {n}\n" for n in range(10))
    source = lay(tmp_path / "in", {f"{n}.wav": wav(n) for n in range(10)} | {"metadata.csv": f"{rows}x|y\n".encode()})
    lines = told(ws.root, source)
    assert "Skipped: 1 names no recording that is there." in lines
    assert not any("Much is lost" in line for line in lines)


def test_much_by_minutes_alone(ws: Workspace, tmp_path: Path) -> None:
    rows = [{"audio": "a.wav", "offset": n / 10, "duration": 0.1, "text": f"t {n}"} for n in range(19)]
    rows.append({"audio": "a.wav", "offset": 1.9, "duration": 60, "text": "beyond"})
    lines_in = "".join(json.dumps(row) + "\n" for row in rows).encode()
    lines = told(ws.root, lay(tmp_path / "in", {"a.wav": wav(1, seconds=2.0), "m.jsonl": lines_in}))
    assert lines[-2].startswith("Much is lost: 1 of 20 rows (5 %), 1.0 of 1.0 minutes by their times")


@pytest.mark.parametrize("layout", [one for one in CORPORA if one != "parts"])  # which takes all or nothing
def test_every_reader_gives_reasons(ws: Workspace, tmp_path: Path, layout: str) -> None:
    """By code, not by their words; nothing that a layout leaves out is without one."""
    summary = finish(import_source(ws, lay(tmp_path / "in", CORPORA[layout])))
    assert summary.skipped and sum(summary.reasons.values()) == len(summary.skipped)
    assert "other" not in summary.reasons
    assert [row["why"] for row in read_jsonl(ws.corpus / "problems.jsonl")]
    assert layout in LAYOUTS


def test_cues_are_counted_as_cues(ws: Workspace, tmp_path: Path) -> None:
    """Before: cues that were left out were held against clips, which hold several cues, and of two that overlap one
    was counted; what ends before it starts lost no minutes."""
    cues = [(0.5 * n, 0.5 * n + 0.49) for n in range(40)]  # parts of sentences, joined
    cues += [(30.0, 36.0), (31.0, 37.0), (42.0, 40.5)]
    text = [f"sehemu {n}" + ("." if n % 4 == 3 else "") for n in range(40)] + ["Moja.", "Mbili.", "Tatu."]
    blocks = (f"{n}\n{stamp(a)} --> {stamp(b)}\n{text[n]}\n" for n, (a, b) in enumerate(cues))
    lay(tmp_path / "in", {"a.wav": wav(1, seconds=50.0), "a.srt": "\n".join(blocks).encode()})
    found = finish(import_source(ws, tmp_path / "in"))
    assert found.added <= 10
    assert found.reasons == {"overlap": 2, "backwards": 1}
    assert found.lost.startswith("3 of 43 rows (7 %), 0.1 of 0.5 minutes"), found.lost

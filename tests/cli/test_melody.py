"""`olu speak` with lengths and pitch as files."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
import soundfile
from typer.testing import CliRunner

from olu.align.textgrid import parse
from olu.cli.main import app
from olu.core.errors import OluError

from ..helpers.melodic import HOP, melodic

TEXT = "Ọkọ́ rí ilé. Ọjà dára."


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("melody")
    melodic(folder / "ade.voice")
    return folder


def speak(place: Path, *given: str, output: str = "x.wav") -> tuple[int, str]:
    """The exit code, 2 for an error that is told, and what was told."""
    given = (*given, "--voice", str(place / "ade.voice"), "-o", str(place / output))
    found = CliRunner().invoke(app, ["speak", *given])
    if isinstance(found.exception, OluError):
        return 2, str(found.exception)
    return found.exit_code, found.output


def test_a_melody_goes_out_and_in(place: Path) -> None:
    names = [str(place / f"m.{ending}") for ending in ("json", "TextGrid", "svg")]
    code, told = speak(place, TEXT, "--seed", "3", *(part for name in names for part in ("--melody-out", name)))
    assert code == 0 and "ọkọ́: the step from M to H is 0.6 semitones up, 1 is wanted" in " ".join(told.split())
    assert speak(place, "--melody", names[0], "--seed", "3", output="again.wav")[0] == 0
    assert (place / "again.wav").read_bytes() == (place / "x.wav").read_bytes()
    row = json.loads((place / "m.json").read_text(encoding="utf-8"))
    row["sentences"][0]["tokens"][1]["frames"] += 10
    (place / "edited.json").write_text(json.dumps(row), encoding="utf-8")
    assert speak(place, TEXT, "--melody", str(place / "edited.json"), output="longer.wav")[0] == 0
    frames = [soundfile.info(str(place / f"{name}.wav")).frames for name in ("x", "longer")]
    assert frames[1] - frames[0] == 10 * HOP

    grid = parse((place / "m.TextGrid").read_text(encoding="utf-8"), where="m")
    assert [tier.name for tier in grid.tiers] == ["words", "phones", "tones"]
    labels = [[span.label for span in tier.intervals if span.label] for tier in grid.tiers]
    assert labels[0] == ["ọkọ́", "rí", "ilé", "ọjà", "dára"]
    assert labels[2] == ["M", "H", "H", "M", "H", "M", "L", "H", "M"]
    assert grid.end == pytest.approx(frames[0] / 16000, abs=0.001)
    picture = ElementTree.parse(place / "m.svg").getroot()
    knots = sum(len(token["knots"]) for one in row["sentences"] for token in one["tokens"][:-1] if token["frames"])
    assert len(picture.findall(".//{*}circle")) == knots
    assert "ọjà" in {one.text for one in picture.findall(".//{*}text")}


def test_strict_tones_are_counted(place: Path) -> None:
    code, told = speak(place, "Ọkọ́.", "--tones", "strict")
    assert code == 0 and "written tone steps pushed apart: 1 of 1" in told


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["Ọjà", "--melody", "{}/m.json"], "the melody is of another text"),
        (["--melody", "{}/none.json"], "none.json cannot be read"),
        (["Ọjà", "--melody-out", "{}/m.png"], "a melody is written as .json, .TextGrid or .svg"),
        (["Ọjà", "--tones", "loose"], "tones 'loose' are not known: choose learnt or strict"),
        (["--batch", "{}/lines.txt", "--melody", "{}/m.json"], "a melody is of one"),
    ],
)
def test_what_cannot_be_is_one_sentence(place: Path, given: list[str], says: str) -> None:
    (place / "lines.txt").write_text("Ọjà\n", encoding="utf-8")
    if not (place / "m.json").exists():
        assert speak(place, TEXT, "--melody-out", str(place / "m.json"))[0] == 0
    code, told = speak(place, *(part.format(place) for part in given), output="no.wav")
    assert code == 2 and says in told


def test_the_page_runs(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command of docs/melody.md, one after the other."""
    page = (Path(__file__).parents[2] / "docs" / "melody.md").read_text(encoding="utf-8")
    lines = [line for block in re.findall(r"^```sh\n(.*?)^```", page, flags=re.M | re.S) for line in block.splitlines()]
    assert len(lines) == 7
    for name in ("yoruba", "igbo"):
        shutil.copytree(place / "ade.voice", tmp_path / f"{name}.voice")
    monkeypatch.chdir(tmp_path)
    for line in lines:
        found = CliRunner().invoke(app, shlex.split(line)[1:])
        assert found.exit_code == 0, f"{line}: {found.output} {found.exception!r}"
    assert (tmp_path / "hoe.wav").read_bytes() == (tmp_path / "hoe2.wav").read_bytes()
    told = re.search(r"^```\n(ọkọ́: .*)\n```", page, flags=re.M)
    assert told and told[1] in " ".join(CliRunner().invoke(app, shlex.split(lines[0])[1:]).output.split())

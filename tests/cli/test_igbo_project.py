"""docs/igbo-project.md is run on a made copy of the Igbo project's folder, and its TextGrids become true durations."""

from __future__ import annotations

import re
import shlex
import shutil
import tarfile
from pathlib import Path

import pytest

from olu.align.textgrid import TextGrid, Tier, parse, render
from olu.align.textgrid_files import read_all
from olu.core.files import Workspace, read_jsonl
from olu.corpus.manifest import Corpus
from olu.speak.voice import Voice

from ..helpers import igbo_project as project
from .conftest import fine, olu

PAGE = Path(__file__).parents[2] / "docs" / "igbo-project.md"
TINY = ("--set", "model.size=tiny", "--set", "plan.steps=4", "--set", "plan.batch_clips=4")


def commands() -> list[list[str]]:
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.M | re.S)
    return [shlex.split(line)[1:] for block in blocks for line in block.splitlines()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = project.make_project(tmp_path / "igbotts", (*project.TEXTS, *project.MARKED), unknown=("Ọ́kụ́",))
    monkeypatch.chdir(made)
    return made


def test_the_page_from_its_folder_to_a_voice(folder: Path):
    """Every command of it, with tiny networks; the voice then has the tones that a text writes, and no others."""
    for words in commands():
        fine(*words, *(TINY if words[0] == "train" else ()))
    assert (folder / "nnoo.wav").stat().st_size > 10_000
    planned = Voice.open(Path("igbo.voice")).plan("Ọ́kụ́ nà akwa.").sentences[0].tokens
    assert [token.tone for token in planned if token.tone] == ["H", "H", "L", "?", "?"]
    assert all(token.knots and min(token.knots) > 60 for token in planned if token.tone)


def test_durations_are_those_of_the_grids_and_sum_to_the_sound(folder: Path):
    """Silence is kept: in the project 93 of 435 frames were left."""
    fine("new", "igbo", "--language", "ibo")
    fine("import", "igbo", "data/waxal_igbo")
    done = fine("align", "igbo", "--from", "textgrids.tar.gz", "--durations", "frames.jsonl")
    assert "3 of their 29 phones are not ours and were mapped: dʒ r tʃ" in " ".join(done.out.split())
    assert "did not know 'ọ́kụ́' and wrote spn over it" in " ".join(done.err.split())
    clips = {clip.id: clip for clip in Corpus.open(Workspace.open(Path("igbo")))}
    grids = read_all(folder / "textgrids.tar.gz")
    rows = list(read_jsonl(Path("frames.jsonl")))
    assert len(rows) == len(clips) - 1  # but the one with spn
    for row in rows:
        clip = clips[row["id"]]
        assert sum(row["frames"]) == round(clip.seconds * 16000) // 256
        grid = parse(grids[f"TextGrid/{Path(clip.audio).stem}.TextGrid"].decode(), where="")
        phones = next(tier.intervals for tier in grid.tiers if tier.name == "phones")
        assert len(row["frames"]) == len(phones)  # gaps among them: nothing was split, nothing merged
        assert [token.startswith("<s") for token in row["tokens"]] == [not span.label for span in phones]
        for frames, span in zip(row["frames"], phones, strict=True):
            assert abs(frames - (span.end - span.start) * 16000 / 256) <= 1.5, (clip.id, span)


def test_a_grid_that_lacks_a_word_is_refused_by_name(folder: Path):
    """The time of its neighbours is not split until the counts agree."""
    with tarfile.open("textgrids.tar.gz") as packed:
        packed.extractall("grids", filter="data")
    file = Path("grids/TextGrid/igbo_000004.TextGrid")  # Ọ bịara ụlọ anyị.
    grid = parse(file.read_text(encoding="utf-8"), where="")
    words, phones = (tier.intervals for tier in grid.tiers)
    gone = next(span for span in words if span.label == "ụlọ")
    left = (
        Tier("words", tuple(span for span in words if span is not gone)),
        Tier("phones", tuple(span for span in phones if not gone.start <= span.start < gone.end)),
    )
    file.write_text(render(TextGrid(grid.start, grid.end, left)), encoding="utf-8")
    fine("new", "igbo", "--language", "ibo")
    fine("import", "igbo", "data/waxal_igbo")
    done = fine("align", "igbo", "--from", "grids")
    assert re.search(r"clip igbo_000004-\w+: its TextGrid has no phone of the word 'ụlọ'", " ".join(done.err.split()))


def test_the_folder_above_the_recordings_is_answered_with_the_right_one(folder: Path, tmp_path: Path):
    """A .txt lies beside each recording only where the project's aligner has run; the archive is no recording."""
    data, ws = folder / "data" / "waxal_igbo", tmp_path / "igbo"
    shutil.copy(folder / "textgrids.tar.gz", data)
    for text in data.glob("wavs/*.txt"):
        text.unlink()
    fine("new", ws, "--language", "ibo")
    refused = olu("import", ws, folder)
    assert refused.code == 2 and refused.err.rstrip().endswith(f"name {data}")
    fine("import", ws, data)
    assert "Made by textgrids.tar.gz" in fine("align", ws, "--from", "textgrids.tar.gz").out


def test_an_archive_without_grids_of_these_clips_is_refused(folder: Path):
    fine("new", "igbo", "--language", "ibo")
    fine("import", "igbo", "data/waxal_igbo")
    with tarfile.open("others.tar.gz", "w:gz") as packed:
        with tarfile.open("textgrids.tar.gz") as known:
            known.extract("TextGrid/igbo_000000.TextGrid", "other", filter="data")
        packed.add("other/TextGrid/igbo_000000.TextGrid", "TextGrid/nobody.TextGrid")
    done = olu("align", "igbo", "--from", "others.tar.gz")
    assert done.code == 2 and "none of the 1 TextGrids has the name of a clip" in done.err

"""Recordings that lie elsewhere now: noticed, found again by the command that is told, and nothing is stale then."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

from .conftest import TINY, fine, make_recordings, next_command, olu, states


@pytest.fixture
def place(recordings: Path, tmp_path: Path) -> Path:
    """A folder with recordings and a workspace beside them, audited once."""
    home = tmp_path / "home" / "project"
    shutil.copytree(recordings, home / "rec")
    fine("new", home / "ws", "--language", "sw")
    fine("import", home / "ws", home / "rec", "--speaker", "Ana Maria", "--licence", "CC-BY-4.0")
    fine("audit", home / "ws")
    return home


def told(ws: Path) -> list[str]:
    """The words of the next command, after the name of the tool."""
    return shlex.split(next_command(ws))[1:]


def sources(ws: Path) -> dict[str, str]:
    return {row["name"]: row["root"] for row in json.loads((ws / "corpus" / "sources.json").read_text("utf-8"))}


def all_works(ws: Path, out: Path) -> None:
    for verb in ("prepare", "audit", "read"):
        fine(verb, ws)
    fine("audit", ws, "--force")
    fine("train", ws, *TINY)
    fine("pack", ws, "-o", out / "ws.tar")


@pytest.mark.parametrize("how", ["renamed", "parent", "together"])
def test_a_moved_folder_is_noticed_and_found_again(place: Path, how: str, tmp_path: Path) -> None:
    fine("train", place / "ws", *TINY)
    ws, clips = place / "ws", (place / "ws" / "corpus" / "clips.jsonl").read_bytes()
    before = states(ws)
    if how == "renamed":
        new = (place / "rec").rename(place / "recordings of 1990")
    elif how == "parent":
        new = (place / "rec").rename(place / "held")
        inner = place / "disk" / "a"
        inner.mkdir(parents=True)
        new = new.rename(inner / "rec")
        fine("import", ws, new)
        new = (place / "disk" / "a").rename(place / "disk" / "b") / "rec"
    else:
        place = place.rename(tmp_path / "elsewhere")
        ws, new = place / "ws", place / "rec"
    refused = olu("audit", ws, "--force")
    assert refused.code == 2 and str(new) in refused.err and refused.err.count("\n") == 1
    shown = fine("status", ws)
    assert "are not at" in shown.out and str(new) in shown.out
    words = told(ws)
    assert words[:3] == ["import", str(ws), str(new)]
    assert states(ws)["import"] == "moved"
    done = fine(*words)
    assert "had moved from" in done.out and "Added 0 clips, 10 were there already" in done.out
    assert sources(ws) == {"s1": str(new)}
    assert (ws / "corpus" / "clips.jsonl").read_bytes() == clips, "ids, sides and texts are the same"
    assert states(ws) == before, "nothing is stale"
    assert json.loads((ws / "corpus" / "rights.json").read_text("utf-8"))["s1"]["licence"] == "CC-BY-4.0"
    all_works(ws, tmp_path)


def test_the_command_names_the_options_of_the_import(recordings: Path, tmp_path: Path) -> None:
    old = Path(shutil.copytree(recordings, tmp_path / "old"))
    fine("new", tmp_path / "ws", "--language", "sw")
    fine("import", tmp_path / "ws", old, "--speaker", "Ana Maria", "--layout", "ljspeech")
    new = old.rename(tmp_path / "new")
    words = told(tmp_path / "ws")
    assert words == ["import", str(tmp_path / "ws"), str(new), "--layout=ljspeech", "--speaker=Ana Maria"]
    fine(*words)
    assert next_command(tmp_path / "ws").startswith("olu audit")


def test_a_place_that_nobody_knows_is_asked_for(place: Path, tmp_path: Path) -> None:
    far = tmp_path / "far" / "away" / "on" / "a" / "disk"
    far.parent.mkdir(parents=True)
    (place / "rec").rename(far)
    assert told(place / "ws") == ["import", str(place / "ws"), "NEWPLACE"]
    assert "NEWPLACE" in olu("prepare", place / "ws").err
    fine("import", place / "ws", far)
    assert sources(place / "ws") == {"s1": str(far)}


def test_a_folder_that_moved_into_another_that_holds_it_under_another_name(place: Path, tmp_path: Path) -> None:
    """Clips go one by one where the paths inside differ; the source that gave all of them away is asked for no more."""
    inside = place / "all" / "wavs"
    inside.mkdir(parents=True)
    for wav in (place / "rec" / "wavs").iterdir():
        wav.rename(inside / wav.name)
    (place / "rec" / "metadata.csv").rename(place / "all" / "wavs" / "metadata.csv")
    shutil.rmtree(place / "rec")
    fine("import", place / "ws", inside)
    assert list(sources(place / "ws").values()) == [str(inside)]
    held = json.loads((place / "ws" / "corpus" / "rights.json").read_text("utf-8"))
    assert {held[name]["licence"] for name in sources(place / "ws")} == {"CC-BY-4.0"}, "what was said goes with them"
    all_works(place / "ws", tmp_path)


@pytest.mark.parametrize("moved", [2, 8])
def test_a_part_that_moved_is_found_and_the_rest_told_of(place: Path, moved: int, tmp_path: Path) -> None:
    """Of ten recordings some lie elsewhere and the others are lost, with the folder."""
    ws, new = place / "ws", place / "new"
    rows = (place / "rec" / "metadata.csv").read_text("utf-8").splitlines(keepends=True)
    (new / "wavs").mkdir(parents=True)
    for wav in sorted((place / "rec" / "wavs").iterdir())[:moved]:
        wav.rename(new / "wavs" / wav.name)
    (new / "metadata.csv").write_text("".join(rows[:moved]), "utf-8")
    shutil.rmtree(place / "rec")
    fine("import", ws, new)
    shown = fine("status", ws).out
    assert f"{10 - moved} clips" in shown and "olu drop" in shown
    assert fine("clips", ws, "--json").json()["total"] == 10, "none is thrown away"
    lost = [row["id"] for row in fine("clips", ws, "--json").json()["clips"]][moved:]
    fine("drop", ws, *lost)
    assert "not at" not in fine("status", ws).out and "not in" not in fine("status", ws).out
    fine("audit", ws)
    fine("prepare", ws)
    fine("pack", ws, "-o", tmp_path / "ws.tar")


def test_some_files_that_are_gone_do_not_stop_the_others(place: Path) -> None:
    ws = place / "ws"
    next(iter(sorted((place / "rec" / "wavs").iterdir()))).unlink()
    shown = fine("status", ws).out
    assert "1 recording is not in" in shown and "olu drop" in shown
    assert next_command(ws) == f"olu audit {ws}"
    fine("audit", ws)


def test_two_sources_that_moved_are_found_one_after_the_other(place: Path, tmp_path: Path) -> None:
    ws = place / "ws"
    more = make_recordings(place / "more", clips=14)
    for wav in sorted((more / "wavs").iterdir())[:10]:
        wav.unlink()
    fine("import", ws, more)
    before = sources(ws)
    assert list(before) == ["s1", "s2"]
    (place / "rec").rename(place / "rec 2")
    (place / "more").rename(place / "more 2")
    for _ in before:
        assert states(ws)["import"] == "moved"
        fine(*told(ws))
    assert sources(ws) == {"s1": str(place / "rec 2"), "s2": str(place / "more 2")}
    all_works(ws, tmp_path)


def test_a_source_without_clips_is_asked_for_by_nobody(place: Path, tmp_path: Path) -> None:
    """As older imports left it behind."""
    path = place / "ws" / "corpus" / "sources.json"
    rows = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps([*rows, {"name": "s9", "root": "/not/there", "layout": "folder"}]), "utf-8")
    all_works(place / "ws", tmp_path)


def test_another_corpus_is_not_taken_for_the_one_whose_disk_is_away(place: Path, tmp_path: Path) -> None:
    ws = place / "ws"
    away = (place / "rec").rename(tmp_path / "away")
    other = make_recordings(place / "other", clips=14)
    for wav in sorted((other / "wavs").iterdir())[1:10]:
        shutil.copyfile(other / "wavs" / "swa_0012.wav", wav)  # other sound under the old names
    fine("import", ws, other)
    assert sources(ws)["s1"] == str(place / "rec")
    away.rename(place / "rec")
    fine("audit", ws)
    assert fine("clips", ws, "--json").json()["total"] >= 11


def test_a_changed_recording_names_the_folder_to_import(place: Path) -> None:
    ws, wavs = place / "ws", sorted((place / "rec" / "wavs").iterdir())
    shutil.copyfile(wavs[1], wavs[0])
    assert told(ws)[:3] == ["import", str(ws), str(place / "rec")]

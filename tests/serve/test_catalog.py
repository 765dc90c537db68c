"""Which voices there are: found in folders, coming and going, damaged ones beside good ones."""

from __future__ import annotations

import os
import shutil
import tracemalloc
from pathlib import Path

import pytest

from olu.core.errors import VoiceError
from olu.serve.catalog import WAY_OUT, VoiceCatalog

from ..helpers import packages as made
from ..helpers import serve_voices as voices


@pytest.fixture
def folder(package: Path, tmp_path: Path) -> Path:
    voices.copy(package, tmp_path / "in" / "ada.voice", name="ada")
    return tmp_path / "in"


def names(shelf: VoiceCatalog) -> list[str]:
    return [entry.name for entry in shelf.entries if not entry.fault]


def faults(shelf: VoiceCatalog) -> list[str]:
    return [entry.fault for entry in shelf.entries if entry.fault]


def test_a_voice_is_known_by_its_own_name(package: Path, tmp_path: Path) -> None:
    elsewhere = shutil.copytree(package, tmp_path / "another name.voice")
    (entry,) = VoiceCatalog([Path(elsewhere)]).entries
    assert (entry.name, entry.info.language, entry.info.rate, entry.info.speakers) == (
        "test",
        "ibo",
        16000,
        ("ada", "obi"),
    )
    assert entry.info.size == sum(file.stat().st_size for file in Path(elsewhere).rglob("*") if file.is_file())


def test_folders_zips_and_workspaces_hold_voices(package: Path, folder: Path, tmp_path: Path) -> None:
    obi = voices.copy(package, tmp_path / "obi.voice", name="obi")
    made.zipped(obi, folder / "obi.zip")
    (folder / "notes.txt").write_text("no voice")
    (folder / "pictures").mkdir()
    shutil.copytree(package, folder / ".copying.partial.voice")
    workspace = tmp_path / "ws"
    voices.copy(package, workspace / "voices" / "ngozi.voice", name="ngozi")
    (workspace / "olu.toml").write_text("")
    shelf = VoiceCatalog([folder, package, workspace])
    assert names(shelf) == ["ada", "ngozi", "obi", "test"]
    assert not faults(shelf)


def test_names_are_the_only_way_to_a_voice(folder: Path) -> None:
    shelf = VoiceCatalog([folder])
    for trick in ("ada.voice", "./ada", "../in/ada", str(folder / "ada.voice"), "ADA", "ada\0", "", "."):
        assert shelf.find(trick) is None, trick


def test_voices_may_be_called_by_where_they_lie(package: Path, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    voices.copy(package, other / "ada.voice", name="ada")
    shelf = VoiceCatalog([folder], called=lambda path: f"{path.parent.name}/{path.name}")
    assert names(shelf) == ["in/ada.voice"] and not shelf.find("ada")
    shelf.put([folder, other])
    assert names(shelf) == ["in/ada.voice", "other/ada.voice"], "one name may be in two places"
    shelf.put([other])
    assert names(shelf) == ["other/ada.voice"]


def test_a_place_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(VoiceError, match="nothing is not there"):
        VoiceCatalog([tmp_path / "nothing"])
    with pytest.raises(VoiceError, match="name voices"):
        VoiceCatalog([])
    assert not VoiceCatalog([tmp_path]).entries, "a folder may be filled later"
    (tmp_path / "decoder.onnx").write_bytes(b"part of a voice")
    with pytest.raises(VoiceError, match=r"decoder\.onnx is neither a voice nor a folder"):
        VoiceCatalog([tmp_path, tmp_path / "decoder.onnx"])


def test_two_of_one_name_are_an_error_at_the_start(folder: Path, package: Path) -> None:
    voices.copy(package, folder / "other.voice", name="ada")
    with pytest.raises(VoiceError, match=r"ada.voice and .*other.voice are both named 'ada': .*olu.toml"):
        VoiceCatalog([folder])
    assert names(VoiceCatalog([folder / "ada.voice", folder / "ada.voice"])) == ["ada"], (
        "the same place twice is no clash"
    )


def test_who_comes_later_with_a_taken_name_waits(folder: Path, package: Path) -> None:
    shelf = VoiceCatalog([folder], every=0)
    voices.copy(package, folder / "aaa.voice", name="ada")
    shelf.look()
    assert names(shelf) == ["ada"]
    assert faults(shelf) == [f"aaa.voice: the name 'ada' is taken by ada.voice: {WAY_OUT}"]
    found = shelf.find("ada")
    assert found is not None and found.path == folder / "ada.voice" and not found.fault
    shutil.rmtree(folder / "ada.voice")
    shelf.look()
    found = shelf.find("ada")
    assert found is not None and found.path == folder / "aaa.voice" and not found.fault


def test_voices_come_go_and_change(folder: Path, package: Path) -> None:
    shelf = VoiceCatalog([folder], every=0)
    first = shelf.find("ada")
    voices.copy(package, folder / "obi.voice", name="obi")
    shelf.look()
    assert names(shelf) == ["ada", "obi"]
    assert shelf.find("ada") is first, "what did not change is not read again"
    made.edit(folder / "ada.voice" / "voice.json", lambda facts: {**facts, "speakers": ["ada", "ngozi"]})
    made.seal(folder / "ada.voice")
    shelf.look()
    changed = shelf.find("ada")
    assert first is not None and changed is not None
    assert changed.key != first.key and changed.info.speakers == ("ada", "ngozi")
    shutil.rmtree(folder / "obi.voice")
    shelf.look()
    assert names(shelf) == ["ada"]
    shutil.rmtree(folder)
    shelf.look()
    assert not shelf.entries


def test_the_disk_is_left_alone_in_between(folder: Path, package: Path) -> None:
    shelf = VoiceCatalog([folder], every=1000)
    voices.copy(package, folder / "obi.voice", name="obi")
    shelf.look()
    assert names(shelf) == ["ada"]


def test_a_damaged_voice_harms_no_other(folder: Path, package: Path) -> None:
    bad = voices.copy(package, folder / "bad.voice", name="bad")
    voices.spoil(bad)
    (folder / "half.voice").mkdir()
    (folder / "junk.zip").write_bytes(b"PK\x03\x04junk")
    shelf = VoiceCatalog([folder], every=0)
    assert names(shelf) == ["ada"]
    assert len(faults(shelf)) == 3
    assert "bad.voice: decoder.onnx is damaged: export the voice again" in faults(shelf)
    assert not any(str(folder) in fault for fault in faults(shelf)), "faults are shown to strangers"
    voices.spoil(bad)  # the same bits back
    shelf.look()
    assert names(shelf) == ["ada", "bad"]


def test_a_voice_that_becomes_damaged_keeps_its_name(folder: Path) -> None:
    shelf = VoiceCatalog([folder], every=0)
    voices.spoil(folder / "ada.voice")
    for _ in range(2):
        shelf.look()
        found = shelf.find("ada")
        assert found is not None and "decoder.onnx is damaged" in found.fault
        (folder / "ada.voice" / "voice.json").touch()


def test_what_cannot_be_read_is_not_waited_for_and_harms_no_other(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(folder / "pipe.zip")
    (folder / "dead.voice").symlink_to(folder / "nothing")
    (folder / "closed").mkdir()
    (folder / "closed.voice").mkdir()
    stat = os.stat

    def guarded(path: object, **more: bool) -> os.stat_result:
        if "closed" in Path(str(path)).parent.name:  # as for anybody but root
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, **more)  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr(os, "stat", guarded)
    shelf = VoiceCatalog([folder], every=0)
    shelf.look()
    assert names(shelf) == ["ada"]
    assert sorted(entry.name for entry in shelf.entries if entry.fault) == ["closed.voice", "dead.voice"]
    assert not any(str(folder) in fault for fault in faults(shelf))
    assert "closed.voice cannot be read (Permission denied): check the disk and who may read it" in faults(shelf)


def test_what_shows_only_when_it_is_opened_is_kept_in_mind(folder: Path, package: Path) -> None:
    voices.copy(package, folder / "obi.voice", name="obi")
    shelf = VoiceCatalog([folder], every=0)
    entry = shelf.find("obi")
    assert entry is not None
    shelf.spoil(entry.key, "its network is none")
    shelf.spoil("nobody's", "gone in the meantime")
    shelf.look()
    assert names(shelf) == ["ada"] and faults(shelf) == ["its network is none"]
    (folder / "obi.voice" / "voice.json").touch()
    shelf.look()
    assert names(shelf) == ["ada", "obi"], "changed files deserve another try"


def test_only_damaged_voices_are_an_error_at_the_start(folder: Path) -> None:
    voices.spoil(folder / "ada.voice")
    with pytest.raises(VoiceError, match=r"no voice that can speak: ada\.voice: decoder\.onnx is damaged"):
        VoiceCatalog([folder / "ada.voice"])
    assert len(faults(VoiceCatalog([folder]))) == 1, "in a folder others may come"


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 201, 7, None])
def test_a_name_must_be_one(folder: Path, name: object) -> None:
    made.edit(folder / "ada.voice" / "voice.json", lambda facts: {**facts, "name": name})
    made.seal(folder / "ada.voice")
    shelf = VoiceCatalog([folder])
    assert not names(shelf)
    assert shelf.entries[0].name == "ada.voice"


@pytest.mark.parametrize("zipped", [False, True])
def test_a_large_voice_is_gone_through_without_being_held(package: Path, tmp_path: Path, zipped: bool) -> None:
    large = voices.copy(package, tmp_path / "large.voice", name="large")
    with (large / "encoder.onnx").open("ab") as file:
        file.write(os.urandom(1024) * 64 * 1024)
    made.seal(large)
    place = made.zipped(large, tmp_path / "large.zip") if zipped else large
    tracemalloc.start()
    try:
        (entry,) = VoiceCatalog([place]).entries
        assert tracemalloc.get_traced_memory()[1] < 24e6
    finally:
        tracemalloc.stop()
    assert entry.name == "large" and not entry.fault and entry.info.sample == made.TEXT
    voices.spoil(large)
    assert "decoder.onnx is damaged" in VoiceCatalog([tmp_path / "large.voice", package]).entries[0].fault

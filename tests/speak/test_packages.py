"""Voice packages: what opening one proves, and what is refused in one sentence before anything of it runs."""

from __future__ import annotations

import json
import os
import random
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olu.core.errors import VoiceError
from olu.core.files import embedded_voice
from olu.speak import package as package_module
from olu.speak import voice as voice_module
from olu.speak.voice import Voice
from olu.stages.speak import find_voice

from ..helpers.packages import TEXT, edit, pack, seal, zipped

DAMAGED = 200 if os.environ.get("OLU_SOAK") == "1" else 20


def test_folder_and_zip_sound_the_same(tmp_path: Path, voice: Voice) -> None:
    other = pack(tmp_path / "two.zip", speakers=["ada", "obi"])
    assert [path.name for path in tmp_path.iterdir()] == ["two.zip"]
    np.testing.assert_array_equal(other.speak(TEXT, seed=4).samples, voice.speak(TEXT, seed=4).samples)
    assert find_voice(tmp_path / "two.zip").speakers == ["ada", "obi"]


def test_the_package_keeps_its_check(folder: Path, voice: Voice) -> None:
    rows = json.loads((folder / "check.json").read_text(encoding="utf-8"))["sentences"]
    assert [row["text"] for row in rows] == [TEXT, "Nnọọ."], "a sentence without known letters is left out"
    for row in rows:
        assert row["ids"] == voice.vocabulary.encode(voice.frontend.read(row["text"]))
        assert row["samples"] == len(voice.speak(row["text"]).samples)
        assert row["durations"] == voice.engine.proof(row["ids"])["durations"]
    assert (folder / "language" / "language.toml").is_file()


def _json_change(name: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    return lambda folder: edit(folder / name, change)


def _write(name: str, data: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(data) and None


def _cut(name: str) -> Callable[[Path], None]:
    def cut(folder: Path) -> None:
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[: len(data) // 2])

    return cut


def _without(key: str) -> Callable[[Any], Any]:
    return lambda value: {name: held for name, held in value.items() if name != key}


def _swapped(value: dict[str, Any]) -> dict[str, Any]:
    symbols = value["symbols"]
    a, b = symbols.index("k"), symbols.index("d")
    symbols[a], symbols[b] = symbols[b], symbols[a]
    return value


DAMAGE: dict[str, Callable[[Path], None]] = {
    **{
        f"no {name}": (lambda folder, name=name: (folder / name).unlink())  # type: ignore[misc]
        for name in package_module.FILES
    },
    "encoder cut": _cut("encoder.onnx"),
    "decoder cut": _cut("decoder.onnx"),
    "decoder empty": _write("decoder.onnx", b""),
    "encoder garbage": _write("encoder.onnx", b"\x00\xff" * 999),
    "voice.json garbage": _write("voice.json", b"{nonsense"),
    "voice.json not utf-8": _write("voice.json", b'{"schema": "\xff"}'),
    "voice.json a list": _write("voice.json", b"[1]"),
    "voice.json nested": _write("voice.json", b"[" * 100_000),
    "voice.json endless number": _write("voice.json", b'{"schema": ' + b"1" * 10_000 + b"}"),
    "vocabulary garbage": _write("vocabulary.json", b"\x00"),
    "frontend garbage": _write("language/frontend.json", b"}"),
    "check garbage": _write("check.json", b'"x"'),
    "newer schema": _json_change("voice.json", lambda value: {**value, "schema": 4}),
    "schema true": _json_change("voice.json", lambda value: {**value, "schema": True}),
    "no schema": _json_change("voice.json", _without("schema")),
    "no rate": _json_change("voice.json", _without("rate")),
    "rate a word": _json_change("voice.json", lambda value: {**value, "rate": "fast"}),
    "no sampling": _json_change("voice.json", lambda value: {**value, "sampling": {}}),
    "sampling a list": _json_change("voice.json", lambda value: {**value, "sampling": [1]}),
    "ends a number": _json_change("voice.json", lambda value: {**value, "sentence_ends": 3}),
    "no symbols": _json_change("vocabulary.json", _without("symbols")),
    "symbols a number": _json_change("vocabulary.json", lambda value: {**value, "symbols": 5}),
    "symbols twice": _json_change("vocabulary.json", lambda value: {**value, "symbols": ["_", "a", "a"]}),
    "symbols swapped": _json_change("vocabulary.json", _swapped),
    "a symbol gone": _json_change("vocabulary.json", lambda v: {**v, "symbols": [s for s in v["symbols"] if s != "k"]}),
    "no blanks between": _json_change("vocabulary.json", lambda value: {**value, "interleave": False}),
    "unknown frontend": _json_change("language/frontend.json", lambda value: {**value, "kind": "telepathy"}),
    "frontend without lower": _json_change("language/frontend.json", _without("lower")),
    "inventory of numbers": _json_change("language/frontend.json", lambda value: {**value, "inventory": [1]}),
    "inventory shrunk": _json_change("language/frontend.json", lambda value: {**value, "inventory": ["k", "e"]}),
    "check without ids": _json_change("check.json", lambda value: {**value, "sentences": [{"text": "a"}]}),
    "check a number": _json_change("check.json", lambda value: {**value, "sentences": 7}),
    "rate endless": _json_change("voice.json", lambda value: {**value, "rate": 10**9}),
    "rate a truth": _json_change("voice.json", lambda value: {**value, "rate": True}),
    "no context": _json_change("voice.json", _without("context")),
    "scale not a number": _json_change(
        "voice.json", lambda value: {**value, "sampling": {**value["sampling"], "length_scale": float("nan")}}
    ),
    "speakers of numbers": _json_change("voice.json", lambda value: {**value, "speakers": [1, 2]}),
    "loudness a word": _json_change("voice.json", lambda value: {**value, "loudness": "loud"}),
}


@pytest.mark.parametrize("form", ["folder", "zip", "sealed"])
@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_one_sentence(
    kind: str, form: str, copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a folder, as a zip, and with the digests made anew, so that only the contents can give it away."""
    DAMAGE[kind](copied)
    if form == "sealed" and "check" not in kind:
        seal(copied)
    path = copied if form != "zip" else zipped(copied, copied.with_suffix(".zip"))
    before = sorted(tmp_path.rglob("*"))
    if form != "sealed" and kind not in ("check without ids", "check a number"):
        monkeypatch.setattr(voice_module, "OnnxGraph", lambda *_, **__: pytest.fail("a damaged voice was started"))
    assert_refused(path)
    assert sorted(tmp_path.rglob("*")) == before


def assert_refused(path: Path) -> None:
    with pytest.raises(VoiceError) as raised:
        Voice.open(path)
    said = str(raised.value)
    assert str(path) in said
    assert "\n" not in said
    assert len(said) < len(str(path)) + 200
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


def test_other_lengths_are_found(copied: Path) -> None:
    """The ids are as they were, but the network gives other durations."""
    edit(
        copied / "check.json",
        lambda value: {
            **value,
            "sentences": [{**row, "durations": [d + 2 for d in row["durations"]]} for row in value["sentences"]],
        },
    )
    with pytest.raises(VoiceError, match="other lengths than at its export"):
        Voice.open(copied)
    edit(
        copied / "check.json",
        lambda value: {
            **value,
            "sentences": [
                {**row, "durations": [d - 2 - (n == 3) for n, d in enumerate(row["durations"])]}
                for row in value["sentences"]
            ],
        },
    )
    Voice.open(copied)  # one frame of one sound: another processor's rounding


def test_a_file_more_in_the_language_is_refused(copied: Path) -> None:
    (copied / "language" / "more.tsv").write_text("a\tb\n")
    with pytest.raises(VoiceError, match=r"more\.tsv was not exported"):
        Voice.open(copied)


def test_a_package_of_the_second_schema_still_speaks(copied: Path, voice: Voice) -> None:
    """Without engine, graphs, arrays and knobs: it is one of VITS."""
    new = ("engine", "graphs", "arrays", "knobs")
    edit(copied / "voice.json", lambda v: {**{k: h for k, h in v.items() if k not in new}, "schema": 2})
    seal(copied)
    opened = Voice.open(copied, threads=1)
    np.testing.assert_array_equal(opened.speak(TEXT, seed=3).samples, voice.speak(TEXT, seed=3).samples)
    assert {name: knob.default for name, knob in opened.knobs.items()} == {
        name: knob.default for name, knob in voice.knobs.items()
    }


def test_knobs_that_are_not_its_sampling_are_refused(copied: Path) -> None:
    edit(copied / "voice.json", lambda v: {**v, "sampling": {**v["sampling"], "noise_scale": 0.1}})
    seal(copied)
    with pytest.raises(VoiceError, match="its knobs are not what its sampling says"):
        Voice.open(copied)


def test_a_package_of_the_first_schema_still_speaks(copied: Path, voice: Voice) -> None:
    """Without digests, context and loudness, and with the graphs that were then written."""
    edit(
        copied / "voice.json",
        lambda v: {**{k: h for k, h in v.items() if k not in ("context", "loudness")}, "schema": 1},
    )
    edit(
        copied / "check.json",
        lambda v: {"sentences": [{k: h for k, h in row.items() if k != "durations"} for row in v["sentences"]]},
    )
    opened = Voice.open(copied, threads=1)
    one, other = opened.speak(TEXT, seed=3), voice.speak(TEXT, seed=3)
    np.testing.assert_allclose(one.samples, other.samples, atol=1e-5)
    assert sum(1 for _ in opened.stream("ọ dị mma " * 20)) == 1, "without a context a sentence is not cut"
    assert len(opened.speak(TEXT, seed=3, loudness=-23.0).samples) == len(other.samples)


def test_a_sound_network_of_another_voice_is_one_sentence(copied: Path, tmp_path: Path) -> None:
    """Graphs that load but do not fit: ids the network has no row for."""
    extra = [chr(0x4E00 + number) for number in range(50)]
    edit(copied / "vocabulary.json", lambda value: {**value, "symbols": value["symbols"] + extra})
    edit(copied / "language" / "frontend.json", lambda value: {**value, "inventory": [*value["inventory"], *extra]})
    edit(copied / "check.json", lambda value: {**value, "sentences": []})
    seal(copied)
    with pytest.raises(VoiceError, match="network failed") as raised:
        Voice.open(copied).speak(extra[-1])
    assert "\n" not in str(raised.value)


def test_a_broken_zip_is_one_sentence(folder: Path, tmp_path: Path) -> None:
    path = zipped(folder, tmp_path / "x.zip")
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        starts = [info.header_offset + 60 for info in archive.infolist() if info.filename in package_module.FILES]
    broken = {f"flip {at}": data[:at] + bytes(b ^ 0x5A for b in data[at : at + 40]) + data[at + 40 :] for at in starts}
    broken |= {"cut": data[: len(data) // 2], "empty": b"", "not a zip": b"PK\x03\x04 nothing"}
    for name, damaged in broken.items():
        path.write_bytes(damaged)
        with pytest.raises(VoiceError) as raised:
            Voice.open(path)
        assert str(path) in str(raised.value), name
        assert "\n" not in str(raised.value), name


def test_a_zip_cannot_reach_out(folder: Path, tmp_path: Path) -> None:
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    only = inside / "only.zip"
    with zipfile.ZipFile(only, "w") as archive:
        for name in package_module.FILES:
            archive.writestr(f"../{name}", (folder / name).read_bytes())
    assert_refused(only)
    for name in ("../../escaped", "/escaped", "..\\escaped", "C:\\escaped", "language/../../escaped"):
        more = zipped(folder, inside / "more.zip")
        with zipfile.ZipFile(more, "a") as archive:
            archive.writestr(name, b"x")
        with pytest.raises(VoiceError, match="points outside"):
            Voice.open(more)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b", "more.zip", "only.zip"]


def test_links_bombs_and_doubles_in_a_zip(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    zipped(folder, path)
    with zipfile.ZipFile(path, "a") as archive:
        link = zipfile.ZipInfo("language/link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(VoiceError, match="points outside"):
        Voice.open(path)
    zipped(folder, path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("language/bomb", bytes(2**26))
    with pytest.raises(VoiceError, match="unpacks to far more"):
        Voice.open(path)
    zipped(folder, path)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("voice.json", b"{}")
    with pytest.raises(VoiceError, match="one twice"):
        Voice.open(path)


def test_devices_and_huge_files_are_not_read(copied: Path) -> None:
    (copied / "vocabulary.json").unlink()
    (copied / "vocabulary.json").symlink_to("/dev/zero")
    assert_refused(copied)
    (copied / "vocabulary.json").unlink()
    with (copied / "vocabulary.json").open("wb") as sparse:
        sparse.truncate(2**33)
    with pytest.raises(VoiceError, match="too large"):
        Voice.open(copied)


def test_packages_damaged_at_random_are_refused(folder: Path, tmp_path: Path) -> None:
    """Bits turned over, ends cut off, files missing, renamed, swapped, of another type; as folders and as zips."""
    rng = random.Random(8)
    names = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
    plain = zipped(folder, tmp_path / "plain.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "plain.zip") as archive:
        held = {i.filename: (i.header_offset + 30 + len(i.filename), i.compress_size) for i in archive.infolist()}
    for number in range(DAMAGED):
        way = number % 8
        name = rng.choice(names)
        if way < 2:  # a zip: a bit of a file's contents, or the end of the whole
            path = tmp_path / "x.zip"
            start, size = held[name]
            at = start + rng.randrange(max(1, size))
            flipped = plain[:at] + bytes([plain[at] ^ (1 << rng.randrange(8))]) + plain[at + 1 :]
            path.write_bytes(flipped if way == 0 else plain[: rng.randrange(len(plain) - 1)])
        else:
            path = tmp_path / "x.voice"
            shutil.rmtree(path, ignore_errors=True)
            shutil.copytree(folder, path)
            _spoil(path, name, names, way, rng)
        try:
            assert_refused(path)
        except BaseException as missed:
            missed.add_note(f"damage {number}, way {way}, {name}")
            raise


def _spoil(path: Path, name: str, names: list[str], way: int, rng: random.Random) -> None:
    file = path / name
    data = file.read_bytes()
    if way == 2:
        at = rng.randrange(len(data))
        file.write_bytes(data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :])
        if name == "check.json" and json_equal(data, file.read_bytes()):  # white space: nothing is damaged
            file.write_bytes(data[:-9])
    elif way == 3:
        file.write_bytes(data[: rng.randrange(len(data) - 1)])
    elif way == 4:
        file.unlink()
    elif way == 5:
        file.rename(file.with_name(f"{file.name}.bak"))
    elif way == 6:
        other = rng.choice([one for one in names if (path / one).read_bytes() != data])
        file.write_bytes((path / other).read_bytes())
    else:
        file.unlink()
        file.mkdir()


def json_equal(one: bytes, other: bytes) -> bool:
    try:
        return bool(json.loads(one) == json.loads(other))
    except ValueError:
        return False


def test_foreign_zips_are_refused(tmp_path: Path) -> None:
    for number, files in enumerate(({"a.txt": b"x"}, {"voice.json": b"{}"}, {"[Content_Types].xml": b"<x/>"}, {})):
        with zipfile.ZipFile(tmp_path / f"{number}.zip", "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        assert_refused(tmp_path / f"{number}.zip")
    (tmp_path / "pickle.voice").write_bytes(b"\x80\x04\x95cposix\nsystem\n")
    assert_refused(tmp_path / "pickle.voice")


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(VoiceError, match="is not there"):
        Voice.open(tmp_path / "none.voice")


def test_many_small_files_cannot_swell_either(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = zipped(folder, tmp_path / "x.zip")
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        for number in range(300):
            archive.writestr(f"language/{number}", bytes(2**20))
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: pytest.fail("it was read"))
    with pytest.raises(VoiceError, match="its language is too large"):
        Voice.open(path)


def test_long_sentences_of_a_package_are_not_read(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are the package's own choice: one of four megabytes took ten seconds to open."""
    read: list[int] = []
    plain = voice_module.Voice._check_ids
    monkeypatch.setattr(
        voice_module.Voice, "_check_ids", lambda self, text: read.append(len(text)) or plain(self, text)
    )
    long = {"text": "Kedu " * 1_000_000, "ids": [], "durations": None}
    edit(copied / "check.json", lambda value: {**value, "sentences": [long, *value["sentences"], *([long] * 3)]})
    assert Voice.open(copied).speakers
    assert 0 < sum(read) <= voice_module.CHECKED_CHARACTERS


def test_a_language_whose_patterns_never_end_is_refused(tmp_path: Path) -> None:
    """1990 and sixty times the same letter took for ever."""
    own = embedded_voice()
    assert own is not None
    package = Path(shutil.copytree(own, tmp_path / "own.voice"))
    style = package / "language" / "normalise.toml"
    hostile = "[[context]]\nset = 'cardinal'\nafter = '(?:(?:ሀ+)+)+ለ'\n"
    style.write_text(
        style.read_text(encoding="utf-8").replace("[[context]]", f"{hostile}\n[[context]]", 1), encoding="utf-8"
    )
    seal(package)
    with pytest.raises(VoiceError, match=r"its language folder is damaged .*context.*after"):
        Voice.open(package)


@pytest.mark.parametrize("name", ["language/letters.tsv", "language", "vocabulary.json"])
def test_a_folder_whose_files_lie_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    """A package of a stranger must not read this machine's files, nor name what stands in them."""
    package = Path(shutil.copytree(embedded_voice(), tmp_path / "x.voice"))  # type: ignore[arg-type]
    outside = tmp_path / "outside"
    (package / name).rename(outside)
    (package / name).symlink_to(outside)
    with pytest.raises(VoiceError, match="points outside of it"):
        Voice.open(package)
    (package / name).unlink()
    outside.rename(package / "own")
    (package / name).symlink_to(package / "own")
    Voice.open(package)  # a link that stays inside is no harm


@pytest.mark.parametrize("name", ["units.tsv", "phones.tsv"])
def test_a_short_row_of_a_table_is_one_sentence(tmp_path: Path, name: str) -> None:
    package = Path(shutil.copytree(embedded_voice(), tmp_path / "x.voice"))  # type: ignore[arg-type]
    (package / "language" / name).write_text("oneword\n", encoding="utf-8")
    seal(package)
    with pytest.raises(VoiceError, match=f"{name} line 1: 2 cells"):
        Voice.open(package)

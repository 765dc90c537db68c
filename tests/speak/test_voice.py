"""A voice package made here: it speaks without torch, repeats itself by seed, and says what is wrong with it."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from olu.audio import io
from olu.errors import AudioError, ExportError, OluError, TextError, VoiceError
from olu.export.package import Contents, write_package
from olu.families import family
from olu.files import Workspace
from olu.speak import voice as voice_module
from olu.speak.voice import PAUSE_SECONDS, Voice
from olu.stages.speak import find_voice, speak_to
from olu.text.characters import CharacterFrontend
from olu.text.languages import load
from olu.text.markup import has_markup
from olu.text.vocabulary import SymbolVocabulary
from olu.types import Audio

LETTERS = "abdeghiịklmnṅoọprstuụwyz .,?!'\u0301\u0300"
TEXT = "Kedu ka ị mere? Ọ dị mma."


def learner(*, speakers: int) -> torch.nn.Module:
    vits = family("vits")
    torch.manual_seed(3)
    made = vits.learner(vits.config(size="tiny"), vocab_size=len(LETTERS) + 1, num_speakers=speakers)
    with torch.no_grad():
        for name, value in made.named_parameters():
            value.add_(torch.randn_like(value) * 0.05)
            if name.startswith("gen.decoder.") and name.endswith("original0"):
                value.copy_(torch.full_like(value, 2.0))
        made.gen.duration_predictor.flows[0].translate.sub_(1.0)  # a few frames a token
        made.gen.decoder.conv_post.weight.mul_(0.1)
    return made


def contents(*, speakers: list[str], name: str = "test") -> Contents:
    return Contents(
        name=name,
        family="vits",
        language=load("ibo"),
        frontend=CharacterFrontend("ibo", inventory=LETTERS),
        vocabulary=SymbolVocabulary.of(LETTERS),
        speakers=speakers,
        sentences=[TEXT, "漢字", "Nnọọ."],
        scores={},
        facts={"run": "none"},
    )


def pack(path: Path, *, speakers: list[str]) -> Voice:
    made = learner(speakers=len(speakers))
    export = family("vits").export
    return write_package(path, contents(speakers=speakers), graphs=lambda folder: export(made, folder=folder))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("voices") / "two.voice"
    pack(path, speakers=["ada", "obi"])
    return path


@pytest.fixture(scope="module")
def voice(folder: Path) -> Voice:
    return Voice.open(folder, threads=1)


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "in" / "copy.voice"))


def zipped(folder: Path, path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(p for p in folder.rglob("*") if p.is_file()):
            archive.write(file, file.relative_to(folder).as_posix())
    return path


def edit(path: Path, change: Callable[[Any], Any]) -> None:
    value = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(change(value)), encoding="utf-8")


# ---------------------------------------------------------------- speaking


def test_it_speaks(voice: Voice) -> None:
    audio = voice.speak(TEXT)
    assert audio.rate == voice.rate == 16000
    assert audio.samples.dtype == np.float32
    assert np.isfinite(audio.samples).all()
    assert audio.samples.std() > 0.01


SPEAK = """
import sys, hashlib
import olu.speak.voice
assert "torch" not in sys.modules, "importing the voice imports torch"
audio = olu.speak.voice.Voice.open(sys.argv[1], threads=1).speak(sys.argv[2], seed=int(sys.argv[3]))
heavy = {"torch", "transformers", "numba", "onnx", "safetensors"} & set(sys.modules)
assert not heavy, heavy
print(hashlib.sha256(audio.samples.tobytes()).hexdigest())
"""


def test_two_processes_agree_without_torch(folder: Path, voice: Voice) -> None:
    said = [
        subprocess.run(
            [sys.executable, "-c", SPEAK, str(folder), TEXT, seed], capture_output=True, text=True, check=False
        )
        for seed in ("5", "5", "6")
    ]
    assert [run.stderr for run in said] == ["", "", ""]
    one, two, other = (run.stdout.strip() for run in said)
    assert one == two != other
    assert one == hashlib.sha256(voice.speak(TEXT, seed=5).samples.tobytes()).hexdigest()


def test_the_seed_acts(voice: Voice) -> None:
    first, again, other = (voice.speak(TEXT, seed=seed).samples for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert first.shape != other.shape or not np.allclose(first, other, atol=1e-3)
    with pytest.raises(VoiceError, match="seed -1"):
        voice.speak(TEXT, seed=-1)


@pytest.mark.parametrize("speed", [0.25, 0.5, 2.0, 4.0])
def test_speed_scales_durations(voice: Voice, speed: float) -> None:
    usual, changed = (list(voice.stream(TEXT, speed=s)) for s in (1.0, speed))
    for before, after in zip(usual, changed, strict=True):
        assert len(after.audio.samples) == 256 * sum(after.durations)
        for was, now in zip(before.durations, after.durations, strict=True):
            assert np.ceil((was - 1) / speed) <= now <= np.ceil(was / speed)
    frames = [sum(sum(spoken.durations) for spoken in said) for said in (usual, changed)]
    assert frames[0] != frames[1]


@pytest.mark.parametrize("speed", [0.0, -1.0, 0.2, 4.1, float("nan"), float("inf")])
def test_a_speed_out_of_reach(voice: Voice, speed: float) -> None:
    with pytest.raises(VoiceError, match=r"choose 0\.25 to 4"):
        voice.speak(TEXT, speed=speed)


def test_speakers(voice: Voice) -> None:
    ada, default, obi = (voice.speak(TEXT, speaker=name).samples for name in ("ada", None, "obi"))
    np.testing.assert_array_equal(ada, default)
    assert ada.shape != obi.shape or not np.allclose(ada, obi, atol=1e-3)
    with pytest.raises(VoiceError, match=r"no speaker 'eze'.*ada, obi"):
        voice.speak(TEXT, speaker="eze")


def test_sentences_are_joined_by_a_pause(voice: Voice) -> None:
    parts = [spoken.audio.samples for spoken in voice.stream(TEXT)]
    assert len(parts) == 2
    whole = voice.speak(TEXT).samples
    pause = round(PAUSE_SECONDS * voice.rate)
    assert len(whole) == sum(map(len, parts)) + pause
    np.testing.assert_array_equal(whole[: len(parts[0])], parts[0])
    assert not whole[len(parts[0]) : len(parts[0]) + pause].any()
    np.testing.assert_array_equal(whole[-len(parts[1]) :], parts[1])


def test_tones_and_spellings(voice: Voice) -> None:
    high, low = (voice.vocabulary.encode(voice.frontend.read(word)) for word in ("ọ́kụ́", "ọ̀kụ̀"))
    assert high != low
    same = [voice.speak(text).samples for text in ("Ọ́kụ́", "O\u0323\u0301ku\u0323\u0301")]
    np.testing.assert_array_equal(*same)


def test_unknown_characters_are_reported(voice: Voice, tmp_path: Path) -> None:
    (spoken,) = voice.stream("Ka漢漢 ọ x\u200b")
    assert spoken.dropped == {"漢": 2, "x": 1, "\u200b": 1}
    said = speak_to(tmp_path / "out.wav", voice, "Ka漢 ọ", speed=1.0, seed=0, speaker=None)
    assert said.dropped == {"漢": 1}
    assert io.header(tmp_path / "out.wav").frames == round(said.seconds * said.rate)


@pytest.mark.parametrize("text", ["", " \n\t", "漢字", "...", "?!", "\x00", "\u200b", "🎉", "_"])
def test_nothing_sayable_is_a_text_error(voice: Voice, text: str) -> None:
    with pytest.raises(TextError, match="nothing in the text") as raised:
        voice.speak(text)
    assert "\n" not in str(raised.value)


def test_arguments_are_checked_before_the_first_sentence(voice: Voice) -> None:
    for wrong in ({"speed": 9.0}, {"speaker": "eze"}, {"seed": -3}):
        with pytest.raises(VoiceError):
            voice.stream(TEXT, **wrong)  # type: ignore[arg-type]
    with pytest.raises(TextError):
        voice.stream("漢字")


def test_very_long_text(voice: Voice) -> None:
    """One sentence without an end is spoken in pieces; a hundred thousand letters start at once."""
    audio = voice.speak("ọ dị mma " * 300, speed=4.0)
    assert np.isfinite(audio.samples).all()
    first = next(voice.stream("k" * 100_000, speed=4.0))
    assert 0 < len(first.durations) <= 2 * 500 + 1


WILD = st.text(
    st.one_of(
        st.sampled_from("kaọ\u0301 .?!\n\x00\x1b\u200b\u200f\u202e\ufeffשלוםمرحبا🎉👩\u200d_☺\ud800"), st.characters()
    ),
    max_size=30,
)


@given(WILD)
@example("\x00" * 5 + "ka")
@example("\ud800ka")
@example("\u202eka\u202c 👩‍👩‍👧")
def test_any_text_is_sound_or_one_sentence(voice: Voice, text: str) -> None:
    try:
        audio = voice.speak(text, speed=4.0)
    except OluError as said:
        assert isinstance(said, TextError)
        assert "\n" not in str(said)
        if not has_markup(text):
            assert not voice.frontend.read(text).words
    else:
        assert np.isfinite(audio.samples).all()
        assert len(audio.samples) >= 256


# ---------------------------------------------------------------- packages


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
        for name in voice_module.FILES
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
    "newer schema": _json_change("voice.json", lambda value: {**value, "schema": 2}),
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
    "check without ids": _json_change("check.json", lambda value: {"sentences": [{"text": "a"}]}),
    "check a number": _json_change("check.json", lambda value: {"sentences": 7}),
}


@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_one_sentence(
    kind: str, form: str, copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    DAMAGE[kind](copied)
    path = copied if form == "folder" else zipped(copied, copied.with_suffix(".zip"))
    before = sorted(tmp_path.rglob("*"))
    if "encoder" not in kind and "decoder" not in kind:
        monkeypatch.setattr(voice_module, "_session", lambda *_: pytest.fail("a damaged voice was started"))
    with pytest.raises(VoiceError) as raised:
        Voice.open(path)
    said = str(raised.value)
    assert str(path) in said
    assert "\n" not in said
    assert len(said) < len(str(path)) + 200
    assert raised.value.__suppress_context__ or raised.value.__context__ is None
    assert sorted(tmp_path.rglob("*")) == before


def test_a_sound_network_of_another_voice_is_one_sentence(copied: Path, tmp_path: Path) -> None:
    """Graphs that load but do not fit: ids the network has no row for."""
    extra = [chr(0x4E00 + number) for number in range(50)]
    edit(copied / "vocabulary.json", lambda value: {**value, "symbols": value["symbols"] + extra})
    edit(copied / "language" / "frontend.json", lambda value: {**value, "inventory": [*value["inventory"], *extra]})
    edit(copied / "check.json", lambda value: {"sentences": []})
    with pytest.raises(VoiceError, match="network failed") as raised:
        Voice.open(copied).speak(extra[-1])
    assert "\n" not in str(raised.value)


def test_a_broken_zip_is_one_sentence(folder: Path, tmp_path: Path) -> None:
    path = zipped(folder, tmp_path / "x.zip")
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        starts = [info.header_offset + 60 for info in archive.infolist() if info.filename in voice_module.FILES]
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
        for name in voice_module.FILES:
            archive.writestr(f"../{name}", (folder / name).read_bytes())
    with pytest.raises(VoiceError, match="is not a voice package"):
        Voice.open(only)
    more = zipped(folder, inside / "more.zip")
    with zipfile.ZipFile(more, "a") as archive:
        archive.writestr("../../escaped", b"x")
        archive.writestr("/escaped", b"x")
    Voice.open(more)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b", "more.zip", "only.zip"]


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(VoiceError, match="is not there"):
        Voice.open(tmp_path / "none.voice")


# ---------------------------------------------------------------- writing


def _never(folder: Path) -> dict[str, Any]:
    pytest.fail("graphs were written although the place is taken")


@pytest.mark.parametrize("name", ["x.voice", "x.zip"])
def test_what_is_no_voice_is_never_overwritten(tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    place.mkdir()
    (place / "thesis.txt").write_text("years of work")
    with pytest.raises(ExportError, match="is no voice"):
        write_package(place, contents(speakers=["a"]), graphs=_never)
    assert (place / "thesis.txt").read_text() == "years of work"
    shutil.rmtree(place)
    place.write_bytes(b"a file")
    with pytest.raises(ExportError, match="is no voice"):
        write_package(place, contents(speakers=["a"]), graphs=_never)
    assert place.read_bytes() == b"a file"
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_zip_of_other_things_is_never_overwritten(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "corpus.zip", "w") as archive:
        archive.writestr("wavs/1.wav", b"sound")
    before = (tmp_path / "corpus.zip").read_bytes()
    with pytest.raises(ExportError, match="is no voice"):
        write_package(tmp_path / "corpus.zip", contents(speakers=["a"]), graphs=_never)
    assert (tmp_path / "corpus.zip").read_bytes() == before


@pytest.mark.parametrize("name", ["x.voice", "x.zip"])
def test_an_old_voice_is_replaced_whole_or_not_at_all(folder: Path, tmp_path: Path, name: str) -> None:
    place = tmp_path / name

    def graphs(into: Path) -> dict[str, Any]:
        for graph in ("encoder.onnx", "decoder.onnx"):
            shutil.copy(folder / graph, into / graph)
        facts = json.loads((folder / "voice.json").read_text(encoding="utf-8"))
        return {key: facts[key] for key in ("rate", "hop", "channels", "sampling", "parameters")}

    def broken(into: Path) -> dict[str, Any]:
        graphs(into)
        raise MemoryError

    assert write_package(place, contents(speakers=["a", "b"], name="old"), graphs=graphs).name == "old"
    with pytest.raises(MemoryError):
        write_package(place, contents(speakers=["a", "b"], name="half"), graphs=broken)
    assert Voice.open(place).name == "old"
    assert write_package(place, contents(speakers=["a", "b"], name="new"), graphs=graphs).name == "new"
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_workspace_speaks_with_its_newest_voice(folder: Path, tmp_path: Path) -> None:
    ws = Workspace.create(tmp_path / "ws", language="ibo")
    with pytest.raises(VoiceError, match="has no voice yet"):
        find_voice(ws.root)
    (ws.voices / "half.voice").mkdir(parents=True)
    with pytest.raises(VoiceError, match="has no voice yet"):
        find_voice(ws.root)
    shutil.copytree(folder, ws.voices / "a.voice")
    assert find_voice(ws.root).name == "test"


@pytest.mark.parametrize("suffix", io.SUFFIXES)
def test_every_format_reads_back(voice: Voice, tmp_path: Path, suffix: str) -> None:
    audio = voice.speak(TEXT)
    path = tmp_path / f"out{suffix}"
    io.write(path, audio)
    again = io.read(path)
    lossless = suffix in (".wav", ".flac")
    assert again.rate == audio.rate
    assert abs(len(again.samples) - len(audio.samples)) <= (0 if lossless else 2 * 1152)
    if lossless:
        np.testing.assert_allclose(again.samples, audio.samples, atol=1.0 / 32768)
    else:
        assert 0.5 < again.samples.std() / audio.samples.std() < 2.0


def test_an_unknown_format_is_named_before_speaking(voice: Voice, tmp_path: Path) -> None:
    with pytest.raises(AudioError, match=r"'\.wave'"):
        speak_to(tmp_path / "out.wave", voice, TEXT, speed=1.0, seed=0, speaker=None)
    with pytest.raises(AudioError):
        io.write(tmp_path / "out", Audio(np.zeros(10, np.float32), 16000))
    assert list(tmp_path.iterdir()) == []

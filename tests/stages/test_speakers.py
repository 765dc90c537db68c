"""Who speaks: listed, renamed, joined, parted by how they sound, taken back; and every stage sees it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olu.api import run
from olu.audio import io
from olu.audit.check import MeasuredClip
from olu.audit.voices import read_voices, save_voices, voices_path
from olu.core.errors import OluError
from olu.core.files import Workspace
from olu.core.types import Audio
from olu.corpus import speakers
from olu.corpus.manifest import Corpus
from olu.networks.models import Deep
from olu.stages.audit import STAGE as AUDIT
from olu.stages.read import STAGE as READ

RATE = 16000
SECONDS = 0.6


def recordings(folder: Path, names: list[str], *, first: int = 0) -> Path:
    (folder / "wavs").mkdir(parents=True, exist_ok=True)
    time = np.arange(round(SECONDS * RATE)) / RATE
    rows = ["id|text|speaker"]
    for n, name in enumerate(names, first):
        wave = sum(np.sin(2 * np.pi * (100 + n) * k * time) / k for k in range(1, 9)) / 20
        io.write(folder / "wavs" / f"c{n:03d}.wav", Audio(np.asarray(wave, dtype=np.float32), RATE))
        rows.append(f"c{n:03d}|Sentensi ya namba {n}.|{name}")
    (folder / "metadata.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


def made(root: Path, names: list[str], *, first: int = 0) -> Workspace:
    run("new", ws=root / "ws", language="swa")
    run("import", ws=root / "ws", source=recordings(root / "source", names, first=first))
    return Workspace.open(root / "ws")


def spoken(ws: Workspace) -> dict[str, str]:
    """The beginning of each clip's id, which is its file's name -> its speaker."""
    return {clip.id[:4]: clip.speaker for clip in Corpus.open(ws)}


def hear(ws: Workspace, voices: dict[str, np.ndarray[Any, Any]], pitch: float = 200.0) -> None:
    """As a deep audit would leave it: a voice for each speaker as it was imported, with some noise."""
    rng, corpus = np.random.default_rng(1), Corpus.open(ws)
    heard = []
    for number, clip in enumerate(corpus):
        voice = voices[corpus.as_imported(clip).text[-2]] + 0.02 * rng.normal(size=256)
        voice /= np.linalg.norm(voice)
        deep = Deep(voiced=1.0, snr=30.0, quality=3.0, voice=tuple(voice.tolist()))
        heard.append(MeasuredClip(clip=clip, facts=None, deep=deep, pitch=pitch + number))
    save_voices(ws, heard)


def two_voices() -> dict[str, np.ndarray[Any, Any]]:
    """Sentences whose number ends in 0 to 2 are of another person than the rest."""
    rng = np.random.default_rng(0)
    one, other = np.abs(rng.normal(size=(2, 256)))
    other[:128] = 0
    return {str(digit): (other if digit < 3 else one) / 16 for digit in range(10)}


def change(ws: Workspace, **asked: Any) -> Any:
    return run("speakers", ws=ws.root, **asked)


def test_a_name_is_changed_for_good_and_taken_back(tmp_path: Path) -> None:
    ws = made(tmp_path, ["default"] * 12)
    before = (ws.corpus / "clips.jsonl").read_bytes()
    run("audit", ws=ws.root)
    run("read", what=str(ws.root))
    assert AUDIT.state(ws) == READ.state(ws) == "fresh"
    done = change(ws, rename=("default=Amina Juma",), by="kim")
    assert set(spoken(ws).values()) == {"Amina Juma"} and len(done.ids) == 12
    assert (ws.corpus / "clips.jsonl").read_bytes() == before, "the manifest keeps the source's name"
    assert AUDIT.state(ws) == "stale" and READ.state(ws) == "fresh", "only what hangs on speakers"
    assert {row["speaker"] for row in run("clips", ws=ws.root).rows} == {"Amina Juma"}
    run("import", ws=ws.root, source=recordings(tmp_path / "more", ["default"] * 3, first=50))
    assert set(spoken(ws).values()) == {"Amina Juma"} and len(spoken(ws)) == 15, "more clips of hers"
    change(ws, undo=True)
    assert set(spoken(ws).values()) == {"default"}
    assert not speakers.hash_speakers(ws)
    assert "Nothing to take back" in change(ws, undo=True).changed[0]


def test_stale_stamps_come_right(tmp_path: Path) -> None:
    ws = made(tmp_path, ["a", "b"] * 4)
    run("audit", ws=ws.root)
    change(ws, rename=("a=c",))
    assert AUDIT.state(ws) == "stale"
    change(ws, undo=True)
    assert AUDIT.state(ws) == "fresh"


def test_names_may_change_places_and_two_become_one(tmp_path: Path) -> None:
    ws = made(tmp_path, ["a", "b", "c"] * 4)
    start = spoken(ws)
    change(ws, rename=("a=x", "b=a", "x=b"))
    assert spoken(ws) == {id: {"a": "b", "b": "a", "c": "c"}[name] for id, name in start.items()}
    change(ws, join=("c", "a"))
    assert spoken(ws) == {id: {"a": "b", "b": "c", "c": "c"}[name] for id, name in start.items()}
    done = change(ws, ids=(next(iter(Corpus.open(ws))).id,), to="d")
    assert "1 clip given to d" in done.changed[0] and spoken(ws)["c000"] == "d"
    change(ws, rename=("d=e",))
    assert spoken(ws)["c000"] == "e", "a clip that was given away follows its name"
    for _ in range(4):
        change(ws, undo=True)
    assert spoken(ws) == start


def test_a_speaker_is_parted_by_how_clips_sound(tmp_path: Path) -> None:
    ws = made(tmp_path, ["default"] * 40)
    with pytest.raises(OluError, match="nobody has listened"):
        change(ws, split="default")
    hear(ws, two_voices())
    dry = change(ws, split="default", dry_run=True)
    assert len(dry.ids) == 12 and set(spoken(ws).values()) == {"default"} and not speakers.path(ws).exists()
    done = change(ws, split="default", to="juma")
    assert done.ids == dry.ids and "12 of the 40 clips of default" in done.changed[0]
    texts = {clip.text[-2] for clip in Corpus.open(ws) if clip.speaker == "juma"}
    assert texts == {"0", "1", "2"}
    facts = {one.name: one for one in done.speakers}
    assert facts["default"].clips == 28 and facts["juma"].imported == ("default",)
    likeness = facts["juma"].likeness
    assert likeness is not None and likeness > 0.9 and (facts["juma"].nearest_likeness or 1) < 0.8
    assert facts["juma"].low < facts["juma"].pitch < facts["juma"].high  # type: ignore[operator]
    with pytest.raises(OluError, match="are of one person"):
        change(ws, split="default")
    change(ws, undo=True)
    assert set(spoken(ws).values()) == {"default"}


def test_sides_follow_who_speaks(tmp_path: Path) -> None:
    """A speaker with enough clips has some on every side, also one who was parted from another."""
    ws = made(tmp_path, ["default"] * 120)
    hear(ws, two_voices())
    change(ws, split="default", to="juma")
    run("split", ws=ws.root)
    corpus = Corpus.open(ws)
    sides = {corpus.split(clip) for clip in corpus if clip.speaker == "juma"}
    assert sides == {"train", "valid", "test"}


def test_a_damaged_file_and_a_line_cut_off_are_told(tmp_path: Path) -> None:
    ws = made(tmp_path, ["a"] * 3)
    change(ws, rename=("a=b",))
    with speakers.path(ws).open("a", encoding="utf-8") as journal:
        journal.write('{"speaker": "b", "to": "')
    assert set(spoken(ws).values()) == {"b"}
    assert any("speakers.jsonl" in one for one in run("status", ws=ws.root).torn)
    speakers.path(ws).write_text('{"speaker": "b"}\n', encoding="utf-8")
    with pytest.raises(OluError, match=r"speakers\.jsonl.*line 1"):
        Corpus.open(ws)
    speakers.path(ws).unlink()
    ws.audit_folder.mkdir(exist_ok=True)
    voices_path(ws).write_bytes(b"no zip")
    with pytest.raises(OluError, match=r"voices\.npz"):
        read_voices(ws)


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("no speaker 'amin'; did you mean 'amina'", {"rename": ("amin=x",)}),
    ("is not OLD=NEW", {"rename": ("amina",)}),
    ("there is a speaker 'juma' already", {"rename": ("amina=juma",)}),
    ("is no name for a speaker", {"rename": ("amina= ",)}),
    ("is no name for a speaker", {"rename": ("amina=a/b",)}),
    ("two names or more", {"join": ("amina", "amina")}),
    ("no speaker 'x'", {"join": ("amina", "x")}),
    ("two commands", {"join": ("amina", "juma"), "undo": True}),
    ("no speaker 'x'", {"split": "x"}),
    ("--to NAME needs the clips", {"to": "x"}),
    ("with --to NAME", {"ids": ("c000",)}),
    ("no clip 'c999'", {"ids": ("c999",), "to": "x"}),
    ("--to has no effect with --rename", {"rename": ("amina=x",), "to": "y"}),
    ("--dry-run is for --split", {"dry_run": True}),
]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return made(tmp_path_factory.mktemp("two"), ["amina", "juma"] * 2)


@pytest.mark.parametrize(("words", "asked"), WRONG, ids=[f"{words} {asked}" for words, asked in WRONG])
def test_what_cannot_be_is_one_sentence(two: Workspace, words: str, asked: dict[str, Any]) -> None:
    with pytest.raises(OluError, match=words) as bad:
        change(two, **asked)
    assert "\n" not in str(bad.value) and not speakers.path(two).exists()


def test_a_second_merge_brings_new_names_along(tmp_path: Path) -> None:
    host = made(tmp_path / "host", ["default"] * 3)
    guest = made(tmp_path / "guest", ["default"] * 4, first=20)
    run("merge", ws=host.root, others=(guest.root,))
    assert spoken(host)["c020"] == "ws-default", "a name that is taken is somebody else's"
    change(guest, rename=("default=amina",))
    again = run("merge", ws=host.root, others=(guest.root,))
    assert again.moved == 4 and again.speakers == ("amina", "default")
    assert [spoken(host)[id] for id in ("c000", "c020", "c023")] == ["default", "amina", "amina"]
    run("import", ws=guest.root, source=recordings(tmp_path / "guest" / "more", ["default"], first=60))
    third = run("merge", ws=host.root, others=(guest.root,))
    assert third.moved == 0 and spoken(host)["c060"] == "amina", "more of hers, and nothing twice"
    change(guest, rename=("amina=Amina",))
    assert run("merge", ws=host.root, others=(guest.root,)).moved == 5
    change(host, rename=("Amina=Amina J",))
    change(guest, undo=True)
    assert run("merge", ws=host.root, others=(guest.root,)).moved == 0, "what people here said stays"
    assert spoken(host)["c020"] == spoken(host)["c060"] == "Amina J"


def test_a_second_merge_may_say_that_it_is_the_same_person(tmp_path: Path) -> None:
    host = made(tmp_path / "host", ["default"] * 3)
    guest = made(tmp_path / "guest", ["default"] * 4, first=20)
    run("merge", ws=host.root, others=(guest.root,))
    done = run("merge", ws=host.root, others=(guest.root,), same_speakers=True)
    assert done.moved == 4 and done.speakers == ("default",) and set(spoken(host).values()) == {"default"}
    change(host, undo=True)
    assert spoken(host)["c020"] == "ws-default"


def test_pieces_of_a_clip_have_its_speaker(tmp_path: Path) -> None:
    """Whoever writes new clips asks this: the rule for their source's name might give them another one."""
    ws = made(tmp_path, ["a", "b"])
    change(ws, rename=("a=x", "b=a"))
    one = next(clip for clip in Corpus.open(ws) if clip.speaker == "a")
    piece = Corpus.open(ws).as_imported(one)
    assert piece.speaker == "b"
    speakers.keep_names(ws, [piece], {piece.id: "a"})
    assert len(speakers.load(ws)) == 2, "the rule gives it its name"
    speakers.keep_names(ws, [piece], {piece.id: "z"})
    assert {clip.speaker for clip in Corpus.open(ws)} == {"x", "z"}
    change(ws, undo=True)
    assert "z" in {clip.speaker for clip in Corpus.open(ws)}, "a person's last change is taken back, not this"

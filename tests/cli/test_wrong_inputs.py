"""Whatever is wrong with what was given: one sentence, exit code 2, no traceback, and nothing lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from .conftest import TINY, Done, Mount, begin_training, contents, fill, fine, next_command, olu

SOAK = os.environ.get("OLU_SOAK") == "1"


def refused(done: Done, *, said: str, quiet: bool = True) -> None:
    """`quiet`: the sentence is all there is; else notes of the work before it may stand above."""
    lines = done.err.splitlines()
    assert done.code == 2, done
    assert done.out == ""
    assert "Traceback" not in done.err
    assert [line for line in lines if line.startswith("olu: ")] == lines[-1:], done.err
    assert len(lines) == 1 or not quiet, done.err
    assert said in lines[-1], done.err


def sound(path: Path, seconds: float = 2.0, *, rate: int = 16000, loud: float = 0.1) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(0).normal(0, loud, round(seconds * rate)).astype(np.float32)
    soundfile.write(str(path), noise, rate)
    return path


def source(folder: Path, metadata: bytes, **sounds: bytes | float) -> Path:
    """A folder in LJSpeech's layout; a number is so many seconds of noise."""
    (folder / "wavs").mkdir(parents=True)
    (folder / "metadata.csv").write_bytes(metadata)
    for name, what in sounds.items():
        path = folder / "wavs" / f"{name}.wav"
        if isinstance(what, bytes):
            path.write_bytes(what)
        else:
            sound(path, what)
    return folder


# ---------------------------------------------------------------- recordings


def _empty(at: Path) -> Path:
    at.mkdir()
    return at


def _words_in(at: Path) -> Path:
    (at / "words.csv").write_text("Habari.", encoding="utf-8")
    return at


BAD_SOURCES = {
    "an empty folder": (_empty, "is empty"),
    "metadata without audio": (lambda at: source(at, b"a|Habari.\nb|Nzuri.\n"), "no audio for any"),
    "audio without metadata": (lambda at: _words_in(sound(at / "a.wav").parent), "no metadata.csv and no .txt"),
    "a text named wav": (lambda at: source(at, b"a|Habari.\n", a=b"only words"), "not a readable sound file"),
    "an empty wav": (lambda at: source(at, b"a|Habari.\n", a=b""), "is empty (0 bytes)"),
    "no utf-8": (lambda at: source(at, b"a|Habar\x81\x8d\n", a=2.0), "not valid UTF-8"),
    "utf-16": (lambda at: source(at, "a|Habari\n".encode("utf-16")[:-1], a=2.0), "is no UTF-16"),
    "no texts": (lambda at: source(at, b"a|\n", a=2.0), "has no text"),
    "a folder that is not there": (lambda at: at, "is not there"),
    "a file": (lambda at: _words_in(_empty(at)) / "words.csv", "is a file"),
}


@pytest.mark.parametrize("kind", BAD_SOURCES)
def test_a_source_that_cannot_be_used_changes_nothing(kind: str, ws: Path, tmp_path: Path):
    build, said = BAD_SOURCES[kind]
    place = build(tmp_path / "source")
    before = contents(ws)
    refused(olu("import", ws, place), said=said)
    assert contents(ws) == before


def test_a_clip_of_half_an_hour_is_imported_marked_and_left_out_by_name(ws: Path, tmp_path: Path):
    folder = source(tmp_path / "long", b"lecture|Habari ya leo.\n")
    soundfile.write(str(folder / "wavs" / "lecture.wav"), np.zeros(1800 * 8000, np.int16), 8000)
    added = fine("import", ws, folder, "--json").json()
    assert added["added"] == 1
    assert "1 clip (30.0 minutes) is longer than 20 s" in added["notes"][0]
    fine("audit", ws, "--json").json()
    marks = [json.loads(line) for line in (ws / "audit" / "audit.jsonl").read_text(encoding="utf-8").splitlines()]
    long = {mark["check"] for mark in marks if mark["id"].startswith("lecture-") and mark["severity"] == "error"}
    assert "duration" in long
    trained = fine("train", ws, *TINY)
    assert "1 of 11 clips left out: lecture-" in trained.err
    left_out = json.loads((ws / "runs" / "vits-001" / "left_out.json").read_text(encoding="utf-8"))
    assert [name.partition("-")[0] for name in left_out] == ["lecture"]


def test_a_text_over_several_lines_survives_and_is_read_as_one(tmp_path: Path):
    folder = source(tmp_path / "s", b'a|"Habari\nya\r\n\nleo."\nb|Nzuri sana.\n', a=2.0, b=2.0)
    ws = tmp_path / "ws"
    fine("new", ws, "--language", "sw")
    fine("import", ws, folder)
    clips = [
        json.loads(line) for line in (ws / "corpus" / "clips.jsonl").read_text(encoding="utf-8").split("\n") if line
    ]
    assert "\n" in clips[0]["text"]
    fine("read", ws)
    rows = (ws / "readings" / "readings.jsonl").read_text(encoding="utf-8").split("\n")
    assert json.loads(rows[0])["normal"] == "habari ya leo."
    assert len([row for row in rows if row]) == 2


# ---------------------------------------------------------------- words


def test_a_workspace_that_is_none(tmp_path: Path):
    file = tmp_path / "file"
    file.write_text("x", encoding="utf-8")
    for verb in ("status", "audit", "read", "prepare", "train", "export", "clean"):
        refused(olu(verb, tmp_path / "nowhere"), said="is not a workspace")
        refused(olu(verb, file), said="is no file of weights" if verb == "export" else "is a file")
        refused(olu(verb, tmp_path), said="is not a workspace")
    refused(olu("import", tmp_path / "nowhere", tmp_path), said="is not a workspace")
    refused(olu("new", file, "--language", "sw"), said="is a file")
    refused(olu("new", tmp_path, "--language", "sw"), said="is not empty")


def test_a_workspace_without_clips(tmp_path: Path):
    ws = tmp_path / "ws"
    fine("new", ws, "--language", "sw")
    before = contents(ws)
    for words in (("audit", ws), ("read", ws), ("prepare", ws), ("train", ws, *TINY)):
        refused(olu(*words), said="olu import")
    refused(olu("export", ws), said="olu train")
    refused(olu("speak", "Habari", "--voice", ws, "-o", tmp_path / "a.wav"), said="olu export")
    refused(olu("train", ws, "--resume"), said="no unfinished run")
    assert contents(ws) == before


def test_a_workspace_of_a_newer_schema(ws: Path):
    (ws / "olu.toml").write_text('schema = 99\nname = "ws"\nlanguage = "swa"\n', encoding="utf-8")
    before = contents(ws)
    for verb in ("status", "audit", "read", "prepare", "train", "export", "clean"):
        refused(olu(verb, ws), said="upgrade Olu")
    assert contents(ws) == before


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("schema = [", "cannot be read"),
        ('language = "swa"\n', "no schema number"),
        ("schema = 1\n", "names no language"),
        ('schema = 1\nlanguage = "swa"\ncolour = 1\n', "unknown key 'colour'"),
    ],
)
def test_a_damaged_olu_toml(ws: Path, toml: str, said: str):
    (ws / "olu.toml").write_text(toml, encoding="utf-8")
    refused(olu("status", ws), said=said)


@pytest.mark.parametrize("file", ["corpus/clips.jsonl", "corpus/sources.json"])
def test_a_damaged_manifest_names_the_file(ws: Path, file: str):
    (ws / file).write_text('{"id": ', encoding="utf-8")
    refused(olu("audit", ws), said=Path(file).name)


WRONG_WORDS = [
    (("import", "WS", "."), "--layout ljspech", "did you mean 'ljspeech'?"),
    (("new", "NEW"), "--language klingonish", "no language 'klingonish'"),
    (("new", "NEW"), "--language swahilli", "did you mean 'swahili'?"),
    (("new", "NEW"), "", "Missing option '--language'"),
    (("sample", "NEW"), "--language ig", "speaks Amharic (amh) only"),
    (("sample", "NEW"), "--language am --clips 99", "give 1 to 60"),
    (("sample", "WS"), "", "is not empty"),
    (("train", "WS"), "--set family=vitz", "did you mean 'vits'?"),
    (("train", "WS"), "--set plan.step=3", "unknown key 'plan.step'; did you mean 'steps'?"),
    (("train", "WS"), "--set model.sise=tiny", "did you mean 'size'?"),
    (("train", "WS"), "--set model.size=huge", "model"),
    (("train", "WS"), "--set plan.steps", "is not key=value"),
    (("train", "WS"), "--set =5", "is not key=value"),
    (("train", "WS"), "--set plan.steps=many", "plan.steps"),
    (("train", "WS"), "--set plan.final_rate=0.5", "has no effect"),
    (("train", "WS"), "--set seed=-1", "seed"),
    (("train", "WS"), "--recipe nowhere.toml", "is not there"),
    (("train", "WS"), "--recipe .", "is a folder"),
    (("train", "WS"), "--recipe WS/corpus/clips.jsonl", "is not valid TOML"),
    (("train", "WS"), "--base nowhere", "is not there"),
    (("train", "WS"), "--device gpu", "use cpu, cuda, cuda:0"),
    (("train", "WS"), "--from-run vits-009", "no run 'vits-009'"),
    (("train", "WS"), "--from-run vits-001@7", "no checkpoint at step '7'"),
    (("train", "WS"), "--bogus", "No such option"),
    (("prepare", "WS"), "--jobs 0", "give 1 or more"),
    (("prepare", "WS"), "--recipe WS/olu.toml", "unknown key"),
    (("export", "WS"), "--run vits-009", "there are: vits-001"),
    (("export", "WS"), "--step 7", "has no step 7; it has: 0, 2"),
    (("export", "WS"), "--to mp3", "cannot export to 'mp3'"),
    (("export", "WS"), "-o WS", "is no voice"),
    (("speak", "Habari"), "--voice nowhere -o NEW.wav", "is not there"),
    (("speak", "Habari"), "--voice WS/corpus -o NEW.wav", "is not a voice package"),
    (("speak", "Habari"), "--voice WS/olu.toml -o NEW.wav", "is not a voice package"),
    (("speak", "Habari"), "--voice WS -o NEW.aiff", "no format for the ending '.aiff'"),
    (("speak", "Habari"), "--voice WS -o NEW", "no format for the ending ''"),
    (("speak", "Habari"), "--voice WS -o NEW.wav --speed 9", "0.25 to 4"),
    (("speak", "Habari"), "--voice WS -o NEW.wav --speed 0", "0.25 to 4"),
    (("speak", "Habari"), "--voice WS -o NEW.wav --speed nan", "0.25 to 4"),
    (("speak", "Habari"), "--voice WS -o NEW.wav --seed -1", "negative"),
    (("speak", "Habari"), "--voice WS -o NEW.wav --seed x", "--seed"),
    (("speak", "Habari"), "--voice WS -o NEW.wav --speaker bob", "it has: default"),
    (("speak", ""), "--voice WS -o NEW.wav", "nothing in the text can be said"),
    (("speak", "ሰላም"), "--voice WS -o NEW.wav", "nothing in the text can be said"),
    (("speak",), "--batch WS/olu.toml", "name a folder for them with -o"),
    (("g2p",), "--language sw --lines nowhere.txt", "is not there"),
    (("g2p",), "--language sw --lines .", "is a folder"),
    (("g2p", "Habari"), "--language sw --lines WS/olu.toml", "either a text or --lines"),
    (("read",), "", "name a workspace"),
    (("make", "WS", "."), "--language es", "is a workspace for swa, not spa"),
    (("import",), "", "Missing argument 'WS'"),
    (("spaek",), "", "No such command 'spaek'"),
]


@pytest.mark.parametrize(("words", "options", "said"), WRONG_WORDS, ids=[" ".join((*w, o)) for w, o, _ in WRONG_WORDS])
def test_wrong_words(words: tuple[str, ...], options: str, said: str, walked: Path, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = contents(walked)
    place = [word.replace("WS", str(walked)) for word in (*words, *options.split())]
    refused(olu(*(word.replace("NEW", str(tmp_path / "new")) for word in place)), said=said)
    assert contents(walked) == before
    assert list(tmp_path.iterdir()) == []


def test_cuda_where_there_is_none(walked: Path):
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a CUDA device")
    before = contents(walked)
    refused(olu("train", walked, *TINY, "--device", "cuda"), said="no CUDA device here: use --device cpu")
    assert contents(walked) == before


def test_lines_that_are_no_utf_8(tmp_path: Path):
    path = tmp_path / "texts.txt"
    path.write_bytes(b"Habar\xff\n")
    refused(olu("g2p", "--language", "sw", "--lines", path), said="is not UTF-8")


@pytest.mark.parametrize("file", ["voice.json", "vocabulary.json", "encoder.onnx", "decoder.onnx"])
def test_a_damaged_voice_names_the_file(voiced: Path, tmp_path: Path, file: str):
    path = voiced / "voices" / "ws.voice" / file
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    refused(olu("speak", "Habari", "--voice", voiced, "-o", tmp_path / "a.wav"), said=file)
    assert not (tmp_path / "a.wav").exists()


# ---------------------------------------------------------------- disks


def test_a_full_disk_at_import_keeps_what_was_there(recordings: Path, small_disk: Mount, tmp_path: Path):
    disk = small_disk(1024)
    ws = disk / "ws"
    fine("new", ws, "--language", "sw")
    first = source(tmp_path / "first", b"a|Habari.\n", a=2.0)
    fine("import", ws, first)
    before = contents(ws)
    plug = fill(disk)
    refused(olu("import", ws, recordings), said="the disk is full")
    assert contents(ws) == before
    refused(olu("import", ws, recordings, "--copy"), said="the disk is full")
    assert [name for name in contents(ws) if name.endswith(".partial")] == []
    assert fine("status", ws, "--json").json()["clips"] == 1
    plug.unlink()
    fine("import", ws, recordings)
    assert fine("status", ws, "--json").json()["clips"] == 11


def test_a_full_disk_at_audit_read_and_prepare(ws: Path, small_disk: Mount):
    disk = small_disk(2048)
    there = Path(shutil.copytree(ws, disk / "ws"))
    before = contents(there)
    plug = fill(disk, leave_kib=4)
    for verb in ("audit", "read", "prepare"):
        done = olu(verb, there)
        refused(done, said="the disk is full")
        assert done.err.startswith(f"olu: {there}/"), done.err  # which file
        after = contents(there)
        assert {name: after[name] for name in before} == before
        assert not any(name.endswith(f"{verb}.json") or ".partial" in name for name in after)
    plug.unlink()
    for verb in ("audit", "read", "prepare"):
        fine(verb, there)


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (10240, 10240))
sys.argv = ["olu", *sys.argv[1:]]
from olu.cli.main import main
main()
"""


@pytest.mark.parametrize("verb", ["pack", "prepare"])
def test_a_file_larger_than_is_allowed_is_one_sentence(ws: Path, tmp_path: Path, verb: str):
    pytest.importorskip("resource")
    words = ["pack", str(ws), "-o", str(tmp_path / "ws.tar")] if verb == "pack" else ["prepare", str(ws)]
    ran = subprocess.run([sys.executable, "-c", LIMITED, *words], capture_output=True, text=True)
    name = str(tmp_path / "ws.tar") if verb == "pack" else f"{ws}/features/wave-"
    refused(Done(ran.returncode, ran.stdout, ran.stderr), said="larger than is allowed here: raise the limit")
    assert ran.stderr.startswith(f"olu: {name}"), ran.stderr
    assert not (tmp_path / "ws.tar").exists()


def test_any_other_trouble_with_a_path_is_one_sentence(ws: Path, monkeypatch: pytest.MonkeyPatch):
    def lost(*given: object, **more: object) -> None:
        raise FileNotFoundError(2, "No such file or directory", "/far/away")

    monkeypatch.setattr("olu.stages.status.status", lost)
    refused(olu("status", ws), said="olu: /far/away: no such file or directory: check the path")


def test_a_full_disk_in_the_middle_of_a_training(ws: Path, small_disk: Mount):
    fine("prepare", ws)
    fine("audit", ws)
    fine("read", ws)
    disk = small_disk(12 * 1024)
    there = Path(shutil.copytree(ws, disk / "ws"))
    often = ("--set", "plan.save_every=1", "--set", "plan.keep=9", "--set", "plan.steps=5")
    plug = fill(disk, leave_kib=1700)
    refused(olu("train", there, *TINY, *often), said="not enough for two", quiet=False)  # before the first step
    plug.unlink()
    plug = fill(disk, leave_kib=2600)
    refused(olu("train", there, *TINY, *often), said="--resume", quiet=False)
    assert [name for name in contents(there) if ".partial" in name] == []
    saved = sorted(path.name for path in (there / "runs" / "vits-001" / "checkpoints").iterdir())
    assert "step-0" in saved
    assert "step-5" not in saved
    assert next_command(there) == f"olu train {there} --resume"
    plug.unlink()
    fine("train", there, "--resume")
    assert fine("export", there, "--json").json()["run"] == "vits-001"


def test_a_full_disk_at_export_and_speak(walked: Path, small_disk: Mount):
    disk = small_disk(12 * 1024)
    there = Path(shutil.copytree(walked, disk / "ws"))
    before = contents(there)
    plug = fill(disk, leave_kib=40)
    refused(olu("export", there, "--run", "vits-001"), said="disk", quiet=False)
    assert contents(there) == before
    plug.unlink()
    fill(disk)
    refused(olu("speak", "Habari", "--voice", there, "-o", disk / "a.wav"), said="a.wav")
    assert not (disk / "a.wav").exists()
    assert contents(there) == before


def test_a_read_only_workspace(walked: Path, recordings: Path, small_disk: Mount, tmp_path: Path):
    disk = small_disk(12 * 1024)
    there = Path(shutil.copytree(walked, disk / "ws"))
    more = source(tmp_path / "more", b"a|Habari.\n", a=2.0)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    before = contents(there)
    for words in (
        ("import", there, more),
        ("import", there, more, "--copy"),
        ("audit", there, "--force"),
        ("export", there, "--run", "vits-001"),
        ("clean", there),
        ("new", disk / "other", "--language", "sw"),
        ("sample", disk / "other", "--clips", "1"),
    ):
        refused(olu(*words), said="this place is read-only")
    refused(olu("train", there, "--new", *TINY), said="this place is read-only", quiet=False)
    refused(olu("speak", "Habari", "--voice", there, "-o", disk / "a.wav"), said="a.wav")
    fine("status", there)
    fine("speak", "Habari", "--voice", there, "-o", tmp_path / "a.wav")
    assert contents(there) == before


# ---------------------------------------------------------------- kills

KILLER = """
import os, shutil, signal, sys
from pathlib import Path
import olu.cli.main, olu.stages.import_, olu.stages.audit, olu.stages.prepare
from olu.corpus.manifest import Corpus
from olu.core.files import Workspace

start, place, limit, words = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]

def child(at):
    '''The verb in a process of its own, killed at its flush number `at`.'''
    pid = os.fork()
    if pid == 0:
        seen, fsync = [0], os.fsync
        def flush(handle):
            seen[0] += 1
            if seen[0] == at:
                os.kill(os.getpid(), signal.SIGKILL)
            fsync(handle)
        os.fsync = flush
        sys.argv = ["olu", *words]
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            olu.cli.main.main()
        except SystemExit as left:
            os._exit(left.code or 0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def state(ws):
    kept = (p for p in sorted(ws.rglob("*")) if p.is_file() and not any(x.endswith(".partial") for x in p.parts))
    return {str(p.relative_to(ws)): p.read_bytes() for p in kept if "stamps" not in p.parts}

shutil.copytree(start, place)
assert child(0) == 0
whole = state(place)
kills = 0
for at in range(1, limit + 1):
    shutil.rmtree(place)
    shutil.copytree(start, place)
    if child(at) == 0:
        break
    kills += 1
    assert len(Corpus.open(Workspace.open(place))) > 0
    assert child(0) == 0, f"killed at {at}: a second run fails"
    assert state(place) == whole, f"killed at {at}: a second run does not complete it"
print(kills)
"""


def parquet(recordings: Path, folder: Path) -> Path:
    """The recordings and some words, as a dataset."""
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra hub")
    from pyarrow.parquet import write_table

    sounds = sorted(recordings.rglob("*.wav"))[:4]
    rows = [{"audio": {"bytes": path.read_bytes(), "path": path.name}, "text": path.stem} for path in sounds]
    folder.mkdir()
    write_table(pyarrow.Table.from_pylist(rows), folder / "train.parquet")
    return folder


@pytest.mark.skipif(os.name == "nt", reason="there is no fork and no kill -9")
@pytest.mark.parametrize("verb", ["import", "import --copy", "import parquet", "merge", "audit", "prepare"])
def test_killed_at_any_write_it_opens_and_a_second_run_completes_it(
    verb: str, ws: Path, recordings: Path, tmp_path: Path
):
    start = ws
    place = tmp_path / "place"
    words = [verb, str(place)]
    if verb.startswith(("import", "merge")):
        first = source(tmp_path / "first", b"a|Habari.\n", a=2.0)
        start = tmp_path / "start"
        fine("new", start, "--language", "sw")
        fine("import", start, first)
        words = ["import", str(place), str(recordings), *verb.split()[1:]]
    if verb == "import parquet":
        words = ["import", str(place), str(parquet(recordings, tmp_path / "parquet"))]
    elif verb == "merge":
        other = tmp_path / "other"
        fine("new", other, "--language", "sw")
        fine("import", other, recordings)
        words = ["merge", str(place), str(other)]
    limit = 99 if SOAK else 6
    command = [sys.executable, "-c", KILLER, str(start), str(place), str(limit), *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 4
    shutil.rmtree(place)


def test_a_training_left_in_the_middle_goes_on(ws: Path):
    begin_training(ws, steps=2)
    (ws / "runs" / "vits-001" / "checkpoints" / ".step-2.1.partial").mkdir()
    with (ws / "runs" / "vits-001" / "metrics.jsonl").open("a", encoding="utf-8") as log:
        log.write('{"step": 2, "cut')
    fine("status", ws)
    fine("train", ws, "--resume")
    rows = (ws / "runs" / "vits-001" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(row)["step"] for row in rows] == [1, 2]

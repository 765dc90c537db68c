from __future__ import annotations

import io
import json
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import typer
from typer.testing import CliRunner

pa = pytest.importorskip("pyarrow", reason="needs the extra hub")
import pyarrow.parquet as pq  # noqa: E402

from olu.cli.build import register  # noqa: E402
from olu.core.errors import CorpusError, MissingExtra  # noqa: E402
from olu.core.files import Workspace  # noqa: E402
from olu.core.job import finish  # noqa: E402
from olu.corpus.manifest import Corpus  # noqa: E402
from olu.corpus.readers import detect, shards  # noqa: E402
from olu.corpus.readers import huggingface as hub  # noqa: E402
from olu.corpus.readers.huggingface import hub_id, split_of  # noqa: E402
from olu.corpus.readers.rows import Problem  # noqa: E402
from olu.stages.import_ import STAGE, ImportSummary, import_source  # noqa: E402
from olu.stages.verbs import VERBS  # noqa: E402

RATE = 8000


def sound(number: int, *, seconds: float = 0.1, form: str = "WAV") -> bytes:
    data = io.BytesIO()
    wave = np.random.default_rng(number).normal(0, 0.1, int(RATE * seconds))
    soundfile.write(data, wave, RATE, format=form)
    return data.getvalue()


def example(number: int, **other: Any) -> dict[str, Any]:
    audio = {"bytes": sound(number), "path": f"c{number}.wav"}
    return {"audio": audio, "text": f"text {number}", "speaker_id": number % 2, **other}


def parquet(path: Path, rows: list[dict[str, Any]], **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path, **options)
    return path


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws", language="ibo")


def bring(ws: Workspace, source: Path | str, **options: Any) -> ImportSummary:
    return finish(import_source(ws, Path(source), **options))


def texts(ws: Workspace) -> list[str]:
    return [clip.text for clip in Corpus.open(ws)]


def snapshot(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_parquet_with_two_splits_and_two_speakers(ws: Workspace, tmp_path: Path) -> None:
    source = tmp_path / "in"
    parquet(source / "data" / "train-00000-of-00002.parquet", [example(0), example(1, text="two\nlines\r\n")])
    parquet(source / "data" / "train-00001-of-00002.parquet", [example(2)])
    parquet(source / "data" / "test-00000-of-00001.parquet", [example(3)])
    summary = bring(ws, source)
    assert (summary.layout, summary.added, summary.skipped) == ("huggingface", 4, ())
    assert summary.why == "data/test-00000-of-00001.parquet is a parquet file (4 of them)".replace("4", "3")
    assert summary.speakers == ("0", "1")
    corpus = Corpus.open(ws)
    assert sorted(texts(ws)) == ["text 0", "text 2", "text 3", "two\nlines\r\n"]
    assert {clip.audio for clip in corpus} == {f"s1/train/c{n}.wav" for n in range(3)} | {"s1/test/c3.wav"}
    for clip in corpus:
        number = int(clip.audio.split("/")[-1][1])
        assert corpus.locate(clip).read_bytes() == sound(number)
        assert (clip.seconds, clip.rate) == (0.1, RATE)
    before = snapshot(ws.root)
    again = bring(ws, source)
    assert (again.added, again.already) == (0, 4)
    assert snapshot(ws.root) == before


def test_command(ws: Workspace, tmp_path: Path) -> None:
    source = configs(tmp_path / "in")
    app = typer.Typer()
    app.callback()(lambda: None)
    register(app, VERBS["import"])
    words = ["import", str(ws.root), str(source), "--config", "ibo", "--split", "test", "--layout", "huggingface"]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.stdout.startswith("Layout huggingface: asked for with --layout.\nAdded 1 clip.\n")
    assert texts(ws) == ["text 1"]


def test_one_split_then_all(ws: Workspace, tmp_path: Path) -> None:
    source = tmp_path / "in"
    parquet(source / "train.parquet", [example(0)])
    parquet(source / "dev.parquet", [example(1)])
    assert bring(ws, source, split="validation").added == 1
    assert texts(ws) == ["text 1"]
    summary = bring(ws, source)
    assert (summary.added, summary.already) == (1, 1)
    with pytest.raises(CorpusError, match=r"has no split 'tset'; it has train, validation"):
        bring(ws, source, split="tset")


README = """---
configs:
- config_name: ibo_tts
  data_files:
  - {split: train, path: "data/TTS/ibo/ibo-train-*"}
  - {split: test, path: ["data/TTS/ibo/ibo-test-*"]}
- config_name: yor_tts
  data_files: "**/yor-*.parquet"
---
# A dataset
"""


def configs(source: Path) -> Path:
    for language, first in (("ibo", 0), ("yor", 4)):
        for at, split in enumerate(("train", "test")):
            name = f"data/TTS/{language}/{language}-{split}-00000-of-00001.parquet"
            parquet(source / name, [example(first + at)])
    return source


@pytest.mark.parametrize("readme", [True, False])
def test_configs(ws: Workspace, tmp_path: Path, readme: bool) -> None:
    source = configs(tmp_path / "in")
    one, other = ("ibo_tts", "yor_tts") if readme else ("ibo", "yor")
    if readme:
        (source / "README.md").write_text(README, encoding="utf-8")
        with pytest.raises(CorpusError, match=r"several configs: name one with --config: ibo_tts, yor_tts"):
            bring(ws, source)
    assert bring(ws, source, config=one).added == 2
    assert {clip.audio for clip in Corpus.open(ws)} == {f"s1/{one}/train/c0.wav", f"s1/{one}/test/c1.wav"}
    assert bring(ws, source, config=other, split="test").added == 1
    assert texts(ws)[-1] == "text 5"
    with pytest.raises(CorpusError, match=r"has no config 'ibo_asr'; it has .*" + one):
        bring(ws, source, config="ibo_asr")


@pytest.mark.parametrize("both", [True, False])
def test_arrow_as_the_library_saves_it(ws: Workspace, tmp_path: Path, both: bool) -> None:
    datasets = pytest.importorskip("datasets", reason="needs the extra hub")
    train = datasets.Dataset.from_list([example(0), example(1)]).cast_column("audio", datasets.Audio(decode=False))
    held = datasets.Dataset.from_list([example(2)]).cast_column("audio", datasets.Audio(decode=False))
    source = tmp_path / "in"
    (datasets.DatasetDict({"train": train, "held-out": held}) if both else train).save_to_disk(str(source))
    (source / ("train" if both else "") / "cache-12.arrow").write_bytes(b"not for us")
    summary = bring(ws, source)
    assert (summary.layout, summary.why) == ("huggingface", "it was saved by the datasets library")
    assert (summary.added, summary.skipped) == (3 if both else 2, ())
    if both:
        assert Corpus.open(ws).clips[0].audio == "s1/held-out/c2.wav"
        assert bring(ws, source, split="held-out").already == 1
    assert bring(ws, source).added == 0


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_audiofolder_stays_where_it_lies(ws: Workspace, tmp_path: Path, form: str) -> None:
    source = tmp_path / "in"
    for split, numbers in (("train", (0, 1)), ("test", (2,))):
        folder = source / split
        folder.mkdir(parents=True)
        rows = []
        for number in numbers:
            (folder / f"c{number}.wav").write_bytes(sound(number))
            rows.append({"file_name": f"c{number}.wav", "transcription": f"two\nlines {number}", "speaker": "Ada"})
        if form == "csv":
            lines = ["file_name,transcription,speaker", *(f'{r["file_name"]},"{r["transcription"]}",Ada' for r in rows)]
        else:
            lines = [json.dumps(row) for row in rows]
        (folder / f"metadata.{form}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    summary = bring(ws, source, layout="huggingface", split="test")
    assert (summary.layout, summary.added, summary.speakers) == ("huggingface", 1, ("Ada",))
    assert not (ws.corpus / "audio").exists()
    assert bring(ws, source).added == 2
    assert texts(ws) == ["two\nlines 2", "two\nlines 0", "two\nlines 1"]
    with pytest.raises(CorpusError, match="no configs"):
        bring(ws, source, config="x")
    with pytest.raises(CorpusError, match="has no split 'x'; it has test, train"):
        bring(ws, source, split="x")


def test_the_same_recording_has_the_same_id_in_a_folder_and_in_parquet(ws: Workspace, tmp_path: Path) -> None:
    parquet(tmp_path / "in" / "train.parquet", [example(0)])
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "c0.wav").write_bytes(sound(0))
    (tmp_path / "plain" / "c0.txt").write_text("text 0\n", encoding="utf-8")
    bring(ws, tmp_path / "plain")
    summary = bring(ws, tmp_path / "in")
    assert (summary.added, summary.already, summary.clips) == (0, 1, 1)
    assert not (ws.corpus / "audio").exists(), "nothing that is there already is copied"


def test_bad_rows_are_listed_and_the_import_goes_on(ws: Workspace, tmp_path: Path) -> None:
    source = tmp_path / "in"
    rows = [
        example(0),
        example(1, audio={"bytes": None, "path": None}),
        example(2, audio={"bytes": b"RIFFnonsense", "path": "b.wav"}),
        example(3, text=None),
        example(4, text="  "),
        example(5, audio={"bytes": None, "path": "../../outside.wav"}),
        example(6, audio=None),
        example(7),
    ]
    (tmp_path / "outside.wav").write_bytes(sound(9))
    parquet(source / "a" / "train-00000-of-00002.parquet", rows)
    (source / "a" / "train-00001-of-00002.parquet").write_bytes(b"PAR1 torn off")
    summary = bring(ws, source)
    assert texts(ws) == ["text 0", "text 7"]
    said = "\n".join(summary.skipped)
    assert len(summary.skipped) == 7
    for words in (
        "row 2: has no sound",
        "row 3: b.wav is not a readable sound file",
        "row 4: has no text in the column 'text'",
        "row 5: train/c4.wav has no text",
        "row 6: has no sound",
        "row 7: has no sound",
        "train-00001-of-00002.parquet: breaks off at its start",
    ):
        assert words in said
    before = snapshot(ws.root)
    bring(ws, source)
    assert snapshot(ws.root) == before


def test_names_that_clash_or_are_none(ws: Workspace, tmp_path: Path) -> None:
    rows = [
        example(0, audio={"bytes": sound(0), "path": "audio.wav"}),
        example(1, audio={"bytes": sound(1), "path": "audio.wav"}),
        example(2, audio={"bytes": sound(2), "path": None}),
        example(3, audio={"bytes": sound(3, form="FLAC"), "path": "../..\\x\\..flac"}),
        example(4, audio={"bytes": sound(0), "path": "audio.wav"}, text="text 0"),  # the first once more
        example(5, audio={"bytes": sound(1), "path": "audio.wav"}, text="other words"),
    ]
    summary = bring(ws, parquet(tmp_path / "in" / "train.parquet", rows).parent)
    corpus = Corpus.open(ws)
    assert texts(ws) == [f"text {n}" for n in range(4)]
    assert [corpus.locate(clip).read_bytes() for clip in corpus][:3] == [sound(n) for n in range(3)]
    assert all(corpus.locate(clip).resolve().is_relative_to(ws.corpus.resolve()) for clip in corpus)
    assert corpus.clips[3].audio.endswith(".flac")
    assert len(summary.skipped) == 1
    assert "came before with another text" in summary.skipped[0]
    before = snapshot(ws.root)
    assert bring(ws, tmp_path / "in").already == 4
    assert snapshot(ws.root) == before


def test_ids_name_what_has_no_file_name(ws: Workspace, tmp_path: Path) -> None:
    rows = [example(0, audio={"bytes": sound(0), "path": None}, id="ibo_0001")]
    bring(ws, parquet(tmp_path / "in" / "x.parquet", rows).parent)
    (clip,) = Corpus.open(ws)
    assert clip.id.startswith("ibo_0001-")
    assert clip.audio == "s1/train/ibo_0001.wav"


@pytest.mark.parametrize("form", ["FLAC", "OGG", "MP3"])
def test_formats_are_kept_as_they_are(ws: Workspace, tmp_path: Path, form: str) -> None:
    data = sound(0, seconds=1.0, form=form)
    bring(ws, parquet(tmp_path / "in" / "x.parquet", [example(0, audio={"bytes": data, "path": None})]).parent)
    corpus = Corpus.open(ws)
    (clip,) = corpus
    assert corpus.locate(clip).read_bytes() == data
    assert clip.audio.endswith(form.lower())
    assert clip.seconds == pytest.approx(corpus.audio(clip).seconds)


def test_columns(ws: Workspace, tmp_path: Path) -> None:
    rows = [{"speech": example(0)["audio"], "words": "hi", "who": "Ada", "language": "yo", "n": 1}]
    source = parquet(tmp_path / "in" / "x.parquet", rows).parent
    with pytest.raises(
        CorpusError, match=r"no column for the audio and the text; it has speech, words, who, .*text=NAME"
    ):
        bring(ws, source)
    with pytest.raises(CorpusError, match=r"--columns text=word: .* no column 'word'; did you mean 'words'"):
        bring(ws, source, columns="text=word")
    summary = bring(ws, source, columns="text=words,speaker=who")  # one column of sound needs no name
    assert summary.speakers == ("Ada",)
    assert summary.notes == (
        "the source says its language is 'yo', this workspace is for 'ibo': check that it is the right one",
    )
    assert bring(ws, source, columns="audio=speech,text=words").already == 1


def test_a_zip_of_parquet(ws: Workspace, tmp_path: Path) -> None:
    import shutil

    parquet(tmp_path / "in" / "train.parquet", [example(0)])
    packed = shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path / "in")
    assert bring(ws, packed).added == 1
    assert bring(ws, packed).already == 1
    corpus = Corpus.open(ws)
    assert [path.name for path in sorted((ws.corpus / "audio").iterdir())] == ["origins.json", "s1"]
    assert corpus.locate(corpus.clips[0]).is_file()


def test_options_that_would_not_act_are_refused(ws: Workspace, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.wav").write_bytes(sound(0))
    (tmp_path / "plain" / "a.txt").write_text("a", encoding="utf-8")
    with pytest.raises(CorpusError, match="--config is for Hugging Face datasets"):
        bring(ws, tmp_path / "plain", config="x")
    with pytest.raises(CorpusError, match="'folder' has no use for --split, which is for huggingface"):
        bring(ws, tmp_path / "plain", layout="folder", split="train")
    with pytest.raises(CorpusError, match="'huggingface' has no use for --root"):
        bring(ws, "hf:a/b", root=tmp_path)
    empty = parquet(tmp_path / "in" / "train.parquet", [example(0)]).parent
    pq.write_table(pq.read_table(empty / "train.parquet").slice(0, 0), empty / "train.parquet")
    with pytest.raises(CorpusError, match="has no rows"):
        bring(ws, empty)
    assert sorted(path.name for path in ws.root.iterdir()) == ["olu.toml"]


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_memory_does_not_grow_with_the_dataset(tmp_path: Path, form: str) -> None:
    """160 recordings of 250 kB: at no moment more than a few are held."""
    rows = [{"audio": {"bytes": os.urandom(250_000), "path": f"{n}.wav"}, "text": str(n)} for n in range(160)]
    whole = pa.Table.from_pylist(rows)
    source = tmp_path / "in"
    source.mkdir()
    if form == "parquet":
        pq.write_table(whole, source / "x.parquet", row_group_size=8)
    else:
        with pa.ipc.new_stream(source / "x.arrow", whole.schema) as out:
            out.write_table(whole)
    del rows, whole
    before, most, number = pa.total_allocated_bytes(), 0, 0
    for number, one in enumerate(shards.examples(source), 1):  # noqa: B007
        assert not isinstance(one, Problem)
        most = max(most, pa.total_allocated_bytes() - before)
    assert number == 160
    assert most < 12e6, f"{most / 1e6:.0f} MB of 40"


def test_each_example_is_written_before_the_next_is_read(
    ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = parquet(tmp_path / "in" / "train.parquet", [example(n) for n in range(20)]).parent
    read, real = 0, shards.examples

    def counted(*words: Any, **options: Any) -> Iterator[Any]:
        nonlocal read
        for one in real(*words, **options):
            assert len(list((ws.corpus / "audio").rglob("*.wav"))) == read
            read += 1
            yield one

    monkeypatch.setattr(shards, "examples", counted)
    assert bring(ws, source).added == 20
    assert read == 20


def test_stopped_at_any_write_it_is_completed_and_nothing_is_written_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stop at the nth rename, for every n."""
    source = parquet(tmp_path / "in" / "train.parquet", [example(n) for n in range(4)]).parent
    rename, finished = Path.replace, False
    for stop in range(1, 30):
        ws = Workspace.create(tmp_path / f"ws{stop}", language="ibo")
        left, written = stop, list[str]()

        def replace(path: Path, target: Path, written: list[str] = written) -> Path:
            nonlocal left
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
            written.append(target.name)
            return rename(path, target)

        monkeypatch.setattr(Path, "replace", replace)
        try:
            bring(ws, source)
            finished = True
        except KeyboardInterrupt:
            pass
        if not (ws.corpus / "clips.jsonl").exists():
            with pytest.raises(ValueError, match="has no clips yet"):
                Corpus.open(Workspace.open(ws.root))
        bring(ws, source)
        monkeypatch.setattr(Path, "replace", rename)
        assert texts(ws) == [f"text {n}" for n in range(4)]
        assert all(written.count(f"c{n}.wav") == 1 for n in range(4)), "sound is written once"
        assert STAGE.state(ws) == "fresh"
        if finished:
            break
    assert finished
    assert stop > 8


KILLED = """
import os, signal, sys
from pathlib import Path
from olu.core.files import Workspace
from olu.stages.import_ import import_source

for tick in import_source(Workspace.open(Path(sys.argv[1])), Path(sys.argv[2])):
    if tick.done == 3:
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name == "nt", reason="there is no kill -9")
def test_killed_in_the_middle(ws: Workspace, tmp_path: Path) -> None:
    source = parquet(tmp_path / "in" / "train.parquet", [example(n) for n in range(6)]).parent
    done = subprocess.run([sys.executable, "-c", KILLED, str(ws.root), str(source)])
    assert done.returncode == -signal.SIGKILL
    assert len(list(ws.corpus.rglob("c*.wav"))) == 3
    assert bring(Workspace.open(ws.root), source).added == 6
    assert [path.name for path in (ws.corpus / "audio").iterdir() if path.is_dir()] == ["s1"]
    assert texts(ws) == [f"text {n}" for n in range(6)]


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_damaged_files_end_in_problems(tmp_path: Path, form: str) -> None:
    """Bytes changed, lost and added, most of them where the structure lies."""
    table = pa.Table.from_pylist([example(n) for n in range(4)])
    file = tmp_path / "in" / f"train.{form}"
    file.parent.mkdir()
    if form == "parquet":
        pq.write_table(table, file)
    else:
        with pa.ipc.new_stream(file, table.schema) as out:
            out.write_table(table)
    whole, damaged = file.read_bytes(), 0
    for seed in range(5000 if os.environ.get("OLU_SOAK") else 100):
        chance = random.Random(seed)
        data = bytearray(whole)
        for _ in range(chance.choice((1, 2, 8, 40))):
            at = chance.choice((chance.randrange(len(data)), chance.randrange(1000), -1 - chance.randrange(1000)))
            how = chance.random()
            if how < 0.6:
                data[at] = chance.randrange(256)
            elif how < 0.8:
                del data[at : at + chance.randrange(1, 50)]
            else:
                data[at:at] = chance.randbytes(chance.randrange(1, 20))
        file.write_bytes(data)
        try:
            damaged += any(isinstance(one, Problem) for one in shards.examples(file.parent))
            shards.count(file.parent)
        except CorpusError as bad:
            assert "\n" not in str(bad)
            damaged += 1
    assert damaged > 50


def test_an_arrow_file_with_random_access(ws: Workspace, tmp_path: Path) -> None:
    table = pa.Table.from_pylist([example(n) for n in range(3)])
    (tmp_path / "in").mkdir()
    with pa.ipc.new_file(tmp_path / "in" / "x.arrow", table.schema) as out:
        out.write_table(table, max_chunksize=2)
    assert bring(ws, tmp_path / "in").added == 3


def test_a_text_that_is_no_utf8_is_a_problem_of_its_row(ws: Workspace, tmp_path: Path) -> None:
    rows = [example(n, text=f"text{n}") for n in range(3)]
    file = parquet(tmp_path / "in" / "train.parquet", rows, compression="none", use_dictionary=False)
    file.write_bytes(file.read_bytes().replace(b"text1", b"te\xff\xff1"))
    summary = bring(ws, file.parent)
    assert texts(ws) == ["text0", "text2"]
    assert "row 2: cannot be read" in summary.skipped[0]


# ---------------------------------------------------------------- the hub


def test_what_is_an_id_and_what_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert hub_id("hf:google/WaxalNLP", layout="auto") == "google/WaxalNLP"
    assert hub_id(Path("google/WaxalNLP"), layout="huggingface") == "google/WaxalNLP"
    assert hub_id(Path("google/WaxalNLP"), layout="auto") is None
    (tmp_path / "google" / "WaxalNLP").mkdir(parents=True)
    assert hub_id(Path("google/WaxalNLP"), layout="huggingface") is None
    with pytest.raises(CorpusError, match="write hf:OWNER/NAME"):
        hub_id(Path("hf:WaxalNLP"), layout="auto")


FEATURES = {
    "audio": {"_type": "Audio"},
    "text": {"dtype": "string", "_type": "Value"},
    "speaker_id": {"dtype": "int64", "_type": "Value"},
    "language": {"dtype": "string", "_type": "Value"},
}


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub with two configs of two splits: the library streams files of this machine as it streams those."""
    datasets = pytest.importorskip("datasets", reason="needs the extra hub")
    real = datasets.load_dataset
    told = json.dumps({"info": {"features": FEATURES}})

    def load(id: str, config: str | None, *, streaming: bool) -> Any:
        assert (id, streaming) == ("google/WaxalNLP", True)
        first = {"ibo_tts": 0, "yor_tts": 10}[config or ""]
        files = {}
        for split, numbers in (("train", range(first, first + 3)), ("validation", [first + 3])):
            table = pa.Table.from_pylist([example(n, text=f"text\n{n}", language="ig") for n in numbers])
            files[split] = str(tmp_path / f"{config}-{split}.parquet")
            pq.write_table(table.replace_schema_metadata({"huggingface": told}), files[split])
        return real("parquet", data_files=files, streaming=True, cache_dir=str(tmp_path / "cache"))

    monkeypatch.setattr(datasets, "load_dataset", load)
    monkeypatch.setattr(datasets, "get_dataset_config_names", lambda id: ["ibo_tts", "yor_tts"])
    monkeypatch.setattr(hub, "_look_up", lambda endpoint: None)


class Stream:
    """As the library's streams, with a count of what was read, and a line that can be cut."""

    def __init__(self, numbers: list[int], cut_at: int | None) -> None:
        from datasets import Audio, Value

        self.features = {"audio": Audio(), "text": Value("string"), "video": Value("binary")}
        self.numbers, self.cut_at, self.read = numbers, cut_at, 0
        self.told: list[Any] = []

    def select_columns(self, names: list[str]) -> Stream:
        self.told.append(names)
        return self

    def cast_column(self, name: str, kind: Any) -> Stream:
        self.told.append((name, kind.decode))
        return self

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for number in self.numbers:
            if number == self.cut_at:
                raise ConnectionError("the line is cut")
            self.read += 1
            yield example(number)


def serve(monkeypatch: pytest.MonkeyPatch, *, cut_at: int | None = None) -> Stream:
    datasets = pytest.importorskip("datasets", reason="needs the extra hub")
    stream = Stream([0, 1, 2, 3], cut_at)
    monkeypatch.setattr(datasets, "load_dataset", lambda *words, **options: {"train": stream})
    monkeypatch.setattr(datasets, "get_dataset_config_names", lambda id: ["default"])
    monkeypatch.setattr(hub, "_look_up", lambda endpoint: None)
    return stream


@pytest.mark.usefixtures("mirror")
def test_hub(ws: Workspace) -> None:
    with pytest.raises(CorpusError, match="several configs: name one with --config: ibo_tts, yor_tts"):
        bring(ws, "hf:google/WaxalNLP")
    with pytest.raises(CorpusError, match="no config 'ibo'; it has ibo_tts, yor_tts"):
        bring(ws, "hf:google/WaxalNLP", config="ibo")
    with pytest.raises(CorpusError, match="no split 'test'; it has train, validation"):
        bring(ws, "hf:google/WaxalNLP", config="ibo_tts", split="test")
    assert not ws.corpus.exists()
    summary = bring(ws, "hf:google/WaxalNLP", config="ibo_tts", split="dev")
    assert (summary.added, summary.why) == (1, "google/WaxalNLP is a dataset on the hub")
    summary = bring(ws, "google/WaxalNLP", config="ibo_tts", layout="huggingface")
    assert (summary.added, summary.already, summary.notes) == (3, 1, ())
    assert (summary.speakers, summary.skipped) == (("0", "1"), ())
    corpus = Corpus.open(ws)
    assert texts(ws) == ["text\n3", "text\n0", "text\n1", "text\n2"]
    assert corpus.locate(corpus.clips[1]) == ws.corpus / "audio" / "s1" / "ibo_tts" / "train" / "c0.wav"
    assert corpus.locate(corpus.clips[1]).read_bytes() == sound(0)
    before = snapshot(ws.root)
    assert bring(ws, "hf:google/WaxalNLP", config="ibo_tts").added == 0
    assert snapshot(ws.root) == before
    assert bring(ws, "hf:google/WaxalNLP", config="yor_tts").added == 4
    assert set(corpus.sources) == {"s1"}


def test_the_first_clips_of_a_look_at_the_hub_can_be_heard(
    ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch)
    folder = tmp_path / "first"
    with pytest.raises(CorpusError, match="add --dry-run"):
        bring(ws, "hf:a/b", hear=folder)
    summary = bring(ws, "hf:a/b", dry_run=True, hear=folder)
    assert not ws.corpus.exists() and summary.preview is not None and len(summary.preview.first) == 4
    for number, row in enumerate(summary.preview.first):  # each is the sound that its text stands beside
        heard, rate = soundfile.read(folder / f"{number:02}.flac", dtype="int16")
        meant, _ = soundfile.read(io.BytesIO(sound(int(row["text"].split()[1]))), dtype="int16")
        assert rate == RATE and np.array_equal(heard, meant)
    assert bring(ws, "hf:a/b").added == 4
    assert bring(ws, "hf:a/b", dry_run=True, hear=tmp_path / "none").added == 0
    assert not list((tmp_path / "none").iterdir())


def test_the_first_clips_of_parquet_files_can_be_heard(ws: Workspace, tmp_path: Path) -> None:
    parquet(tmp_path / "in/train.parquet", [example(number) for number in range(25)])
    bring(ws, tmp_path / "in", dry_run=True, hear=tmp_path / "first")
    assert len(list((tmp_path / "first").iterdir())) == 20


def test_hub_is_read_one_example_at_a_time(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = serve(monkeypatch)
    work = import_source(ws, Path("hf:a/b"))
    for done in range(1, 4):
        assert next(work).done == done
        assert stream.read == done
        assert len(list(ws.corpus.rglob("c*.wav"))) == done
    work.close()
    assert stream.told == [["audio", "text"], ("audio", False)], "other columns are never fetched, nothing is decoded"
    assert bring(ws, "hf:a/b").added == 4


def test_a_hub_that_breaks_off_leaves_what_came_and_a_second_import_gets_the_rest(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, cut_at=2)
    summary = bring(ws, "hf:a/b")
    assert summary.added == 2
    (said,) = summary.skipped
    assert said == "a/b train: breaks off after 2 rows (the line is cut): run the import again to get the rest"
    serve(monkeypatch)
    summary = bring(ws, "hf:a/b")
    assert (summary.added, summary.already, summary.skipped) == (2, 2, ())


def test_no_network_is_one_clear_error(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datasets", reason="needs the extra hub")

    def nobody(*words: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(hub.socket, "getaddrinfo", nobody)
    monkeypatch.setattr(hub, "getproxies", dict)
    with pytest.raises(
        CorpusError, match=r"google/WaxalNLP cannot be opened \(.*not known.*check its name and the netw"
    ):
        bring(ws, "hf:google/WaxalNLP")
    assert not ws.corpus.exists()


def test_without_the_extra(ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = parquet(tmp_path / "in" / "train.parquet", [example(0)]).parent
    monkeypatch.setattr(hub, "find_spec", lambda name: None)
    monkeypatch.setattr(shards, "find_spec", lambda name: None)
    for words in (source, "hf:a/b"):
        with pytest.raises(MissingExtra, match=r"pip install -c .*constraints.txt -e .*\[hub\]'"):
            bring(ws, words)


def test_the_hub_may_not_point_at_this_machine(tmp_path: Path) -> None:
    (tmp_path / "secret.wav").write_bytes(sound(0))
    for path in (
        str(tmp_path / "secret.wav"),
        f"file://{tmp_path}/secret.wav",
        f"file://{tmp_path}/s::hf://datasets/a/b",
    ):
        assert hub._sound({"bytes": None, "path": path}) is None


@pytest.mark.parametrize(
    ("file", "split"),
    [
        ("train-00000-of-00001.parquet", "train"),
        ("data/dev-00000-of-00001.parquet", "validation"),
        ("test/0000.parquet", "test"),
        ("ibo/unlabeled-00000-of-00003.parquet", "unlabeled"),
        ("0000.parquet", "train"),
        ("latest/contest.parquet", "train"),
    ],
)
def test_split_of(file: str, split: str) -> None:
    assert split_of(file) == split


def test_auto_says_what_it_saw(tmp_path: Path) -> None:
    source = parquet(tmp_path / "in" / "x.parquet", [example(0)]).parent
    assert detect(source) == ("huggingface", "x.parquet is a parquet file (one)")


def test_parquet_with_what_phones_record(ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("av", reason="the extra media is not installed")
    from olu.audio import media

    from ..helpers.phone_recordings import record

    cells = [
        {"bytes": record(tmp_path / "c0.m4a").read_bytes(), "path": "c0.m4a"},
        {"bytes": record(tmp_path / "c1.amr").read_bytes(), "path": "c1.amr"},
        {"bytes": b"RIFF but no sound", "path": "c2.wav"},
    ]
    parquet(tmp_path / "in" / "x.parquet", [example(n, audio=cell) for n, cell in enumerate(cells)])
    with monkeypatch.context() as without:
        without.setattr(media, "find_spec", lambda name: None)
        with pytest.raises(CorpusError, match="needs the package 'av'"):
            bring(ws, tmp_path / "in")
    summary = bring(ws, tmp_path / "in")
    assert summary.added == 2 and "c2.wav is not a readable sound file" in summary.skipped[0]
    assert sorted(clip.audio for clip in Corpus.open(ws)) == ["s1/train/c0.flac", "s1/train/c1.flac"]
    assert bring(ws, tmp_path / "in").already == 2

"""Every layout: seen and named, read with its speakers, and no input that ends in anything but rows or a sentence."""

from __future__ import annotations

import io
import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from olu.cli.build import register
from olu.core.errors import CorpusError, OluError
from olu.core.files import Workspace
from olu.core.job import finish
from olu.corpus.intake.merge import Merge
from olu.corpus.intake.probe import RecordingFacts, probe, sift
from olu.corpus.manifest import Corpus
from olu.corpus.readers import LAYOUTS, Options, SourceFolder, choose, detect
from olu.corpus.readers.rows import Problem, Row
from olu.stages.import_ import ImportSummary, import_source
from olu.stages.verbs import VERBS
from olu.stages.verbs.corpus import LAYOUTS as SHOWN_LAYOUTS

Files = dict[str, bytes]


def wav(seed: int, *, seconds: float = 0.1) -> bytes:
    samples = np.random.default_rng(seed).uniform(-0.1, 0.1, round(seconds * 8000)).astype(np.float32)
    out = io.BytesIO()
    soundfile.write(out, samples, 8000, format="WAV", subtype="PCM_16")
    return out.getvalue()


A, B, C, LONG = wav(1), wav(2), wav(3), wav(4, seconds=1.0)


def jsonl(*rows: dict[str, Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


# Layout -> a small corpus of two speakers (where the layout knows speakers) and one broken row.
CORPORA: dict[str, Files] = {
    "ljspeech": {
        "wavs/a.wav": A,
        "wavs/b.wav": B,
        "metadata.csv": "id|text|speaker\na|Ọ̀rọ̀ one|Ada\nb|two|Obi\nnone|lost|Obi\n".encode(),
    },
    "mailabs": {
        "by_book/female/Ada/one/metadata.csv": b"a|Ada one|ada one\nnone|lost|lost\n",
        "by_book/female/Ada/one/wavs/a.wav": A,
        "by_book/female/Ada/two/metadata.csv": b"c|Ada two|ada two\n",
        "by_book/female/Ada/two/wavs/c.wav": C,
        "by_book/male/Obi/three/metadata.csv": b"b|Obi one|obi one\n",
        "by_book/male/Obi/three/wavs/b.wav": B,
    },
    "libritts": {
        "84/121/84_121_000_000.wav": A,
        "84/121/84_121_000_000.normalized.txt": b"mister one\n",
        "84/121/84_121_000_000.original.txt": b"Mr. 1\n",
        "19/7/19_7_000_001.wav": B,
        "19/7/19_7_000_001.original.txt": b"two\r\n",
        "19/7/19_7_000_002.wav": C,
    },
    "coqui": {
        "wavs/a.wav": A,
        "wavs/b.wav": B,
        "metadata_train.csv": b"audio_file|text|speaker_name\nwavs/a.wav|one|Ada\nwavs/none.wav|lost|Ada\n",
        "metadata_eval.csv": b'\xef\xbb\xbfaudio_file|text|speaker_name\r\nwavs/b.wav|"say ""two"""|Obi\r\n',
        "lang.txt": b"en\n",
    },
    "filelist": {
        "DATA/a.wav": A,
        "DATA/b.wav": B,
        "filelists/train.txt": b"DATA/a.wav|0|one\nDATA/a.wav\n",
        "filelists/val.txt": b"DUMMY/DATA/b.wav|1|two\n",
    },
    "jsonl": {
        "audio/a.wav": A,
        "audio/long.wav": LONG,
        "manifest.json": jsonl(
            {"audio_filepath": "audio/a.wav", "duration": 0.1, "text": "one", "speaker": "Ada"},
            {"audio_filepath": "audio/long.wav", "offset": 0.25, "duration": 0.5, "text": "two", "speaker": 7},
            {"audio_filepath": "audio/long.wav", "offset": 0.8, "duration": 0.5, "text": "beyond", "speaker": 7},
        ),
    },
    "huggingface": {
        "train/a.wav": A,
        "train/metadata.csv": b"file_name,transcription,speaker\na.wav,one,Ada\nnone.wav,lost,Obi\n",
        "test/b.wav": B,
        "test/metadata.jsonl": b'{"file_name": "b.wav", "transcription": "two", "speaker": "Obi"}\n',
    },
    "table": {
        "sound/a.wav": A,
        "sound/b.wav": B,
        "data.csv": b"Filename,Transcript,speaker_id\n"
        b'sound/a.wav,"one,\n""two""",Ada\nsound/b.wav,three,Obi\nbroken,x\n',
    },
    "kaldi": {
        "data/train/wav.scp": b"rec1 sound/a.wav\nrec2 sound/long.wav\nrec3 touch pwned; sox x.sph -t wav - |\n",
        "data/train/text": b"u1 one\nu2 two words\nu3 run me\nu4 beyond\n",
        "data/train/utt2spk": b"u1 Ada\nu2 Obi\nu3 Obi\n",
        "data/train/segments": b"u1 rec1 0 -1\nu2 rec2 0.25 0.75\nu3 rec3 0 1\nu4 rec2 0.5 2\n",
        "sound/a.wav": A,
        "sound/long.wav": LONG,
    },
    "festvox": {
        "cmu_us_slt_arctic/etc/txt.done.data": b'( a "one \\"1\\"" )\nbroken line\n',
        "cmu_us_slt_arctic/wav/a.wav": A,
        "obi/etc/txt.done.data": b'( a "two" )\r\n',
        "obi/wav/a.wav": B,
    },
    "commonvoice": {
        "validated.tsv": (
            b'client_id\tpath\tsentence\tup_votes\nAda\ta.wav\t"Quotes" stay\t2\nObi\tb.wav\ttwo\t2\nObi\tb.wav\n'
        ),
        "train.tsv": b"client_id\tpath\tsentence\tup_votes\nAda\ta.wav\tother\t2\n",
        "clips/a.wav": A,
        "clips/b.wav": B,
    },
    "folder": {"x/a.wav": A, "x/a.txt": b"one\n", "b.wav": B, "b.lab": b"two\r\n", "c.wav": C},
    "parts": {"p10.wav": B, "p2.wav": A, "book.txt": b"one two three four five six seven eight nine\n"},
    "subtitles": {
        "a.wav": LONG,
        "a.en.vtt": "WEBVTT\n\n00:00.100 --> 00:00.300\n<v Ada>Ọ̀rọ̀ <i>one</i>\n\n"
        "00:00.500 --> 00:00.800\n<v Obi>two [music]\n\n00:09.000 --> 00:09.500\nlost\n".encode(),
    },
    "recordings": {"a.wav": A, "x/long.wav": LONG, "c.wav": b"no sound"},
}

# Layout -> speaker and text of each clip, what is said of the broken rows, and why it is that layout.
READ: dict[str, tuple[list[tuple[str, str]], list[str], str]] = {
    "ljspeech": (
        [("Ada", "Ọ̀rọ̀ one"), ("Obi", "two")],
        ["metadata.csv line 4: no audio for 'none'"],
        "metadata.csv has id|text lines",
    ),
    "mailabs": (
        [("Ada", "Ada one"), ("Ada", "Ada two"), ("Obi", "Obi one")],
        ["by_book/female/Ada/one/metadata.csv line 2: no audio for 'none'"],
        "3 books with metadata.csv and wavs/ under by_book/<gender>/<speaker>",
    ),
    "libritts": (
        [("19", "two"), ("84", "mister one")],
        ["19/7/19_7_000_002.wav: no 19_7_000_002.normalized.txt beside it"],
        "2 of 3 audio files have a .normalized.txt or .original.txt beside them",
    ),
    "coqui": (
        [("Ada", "one"), ("Obi", 'say "two"')],
        ["metadata_train.csv line 3: no audio for 'wavs/none.wav'"],
        "metadata_train.csv and metadata_eval.csv have an audio_file|text header",
    ),
    "huggingface": (
        [("Ada", "one"), ("Obi", "two")],
        ["train/metadata.csv line 3: no audio for 'none.wav'"],
        "train/metadata.csv names its sound in file_name, as an audiofolder does",
    ),
    "filelist": (
        [("0", "one"), ("1", "two")],
        ["filelists/train.txt line 2: 1 column: write path|text"],
        "filelists/train.txt and 1 more have path|text lines",
    ),
    "jsonl": (
        [("7", "two"), ("Ada", "one")],
        ["manifest.json line 3: the span from 0.800 to 1.300 s goes beyond the recording, which has 1.000 s"],
        "manifest.json has JSON lines with audio=audio_filepath, text=text, speaker=speaker",
    ),
    "table": (
        [("Ada", 'one,\n"two"'), ("Obi", "three")],
        ["data.csv line 5: 2 columns where the header has 3"],
        "data.csv has a header with audio=Filename, text=Transcript, speaker=speaker_id",
    ),
    "kaldi": (
        [("Ada", "one"), ("Obi", "two words")],
        [
            "data/train/wav.scp line 3: is a command (a '|'), and commands are never run",
            "data/train/text line 4: the span from 0.500 to 2.000 s goes beyond",
        ],
        "wav.scp and text are in data/train",
    ),
    "festvox": (
        [("obi", "two"), ("slt", 'one "1"')],
        ["cmu_us_slt_arctic/etc/txt.done.data line 2: is not of the form"],
        'cmu_us_slt_arctic/etc/txt.done.data and obi/etc/txt.done.data have ( id "text" ) lines',
    ),
    "commonvoice": (
        [("Ada", '"Quotes" stay'), ("Obi", "two")],
        ["validated.tsv line 4: 2 columns where the header has 4"],
        "validated.tsv has client_id, path and sentence",
    ),
    "folder": (
        [("default", "one"), ("default", "two")],
        ["c.wav: no c.txt or c.lab beside it"],
        "2 of 3 audio files have a .txt or .lab beside them",
    ),
    "parts": (
        [("default", "one two three four five six seven eight nine")],
        [],
        "book.txt is the one text for 2 recordings, joined in the order of their names",
    ),
    "subtitles": (
        [("Ada", "Ọ̀rọ̀ one"), ("Obi", "two")],
        ["a.en.vtt line 9: it ends at 9.500 s, and a.wav has 1.000 s"],
        "a.en.vtt lies beside a.wav",
    ),
    "recordings": (
        [("default", ""), ("default", "")],
        ["c.wav: is not a readable sound file"],
        "3 recordings and no text: cut at silences, and trained on only when they have a text",
    ),
}


def lay(root: Path, files: Files) -> Path:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws", language="swa")


def bring(ws: Workspace, source: Path, **options: Any) -> ImportSummary:
    return finish(import_source(ws, source, **options))


def said(ws: Workspace) -> list[tuple[str, str]]:
    return sorted((clip.speaker, clip.text) for clip in Corpus.open(ws))


def test_every_layout_has_a_corpus_here_and_a_line_of_help() -> None:
    assert set(CORPORA) == set(READ) == set(LAYOUTS)
    assert ", ".join(LAYOUTS) == SHOWN_LAYOUTS


@pytest.mark.parametrize("layout", CORPORA)
def test_layout(ws: Workspace, tmp_path: Path, layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = lay(tmp_path / "in", CORPORA[layout])
    clips, problems, why = READ[layout]
    summary = bring(ws, source)
    assert (summary.layout, summary.why) == (layout, why)
    assert said(ws) == clips
    assert len(summary.skipped) == len(problems), summary.skipped
    for expected, found in zip(problems, summary.skipped, strict=True):
        assert found.startswith(expected)
    again = bring(ws, source, layout=layout)
    assert (again.added, again.already, again.why) == (0, len(clips), "asked for with --layout")
    corpus = Corpus.open(ws)
    assert all(corpus.audio(clip).seconds == pytest.approx(clip.seconds, abs=0.001) for clip in corpus)
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.parametrize("layout", CORPORA)
def test_speaker_wins(ws: Workspace, tmp_path: Path, layout: str) -> None:
    assert bring(ws, lay(tmp_path / "in", CORPORA[layout]), speaker="Eze").speakers == ("Eze",)


@pytest.mark.parametrize("layout", CORPORA)
def test_bom_and_crlf(ws: Workspace, tmp_path: Path, layout: str) -> None:
    def windows(name: str, data: bytes) -> bytes:
        if name.endswith(".wav"):
            return data
        return b"\xef\xbb\xbf" + data.removeprefix(b"\xef\xbb\xbf").replace(b"\r", b"").replace(b"\n", b"\r\n")

    source = lay(tmp_path / "in", {name: windows(name, data) for name, data in CORPORA[layout].items()})
    assert bring(ws, source).layout == layout
    assert said(ws) == READ[layout][0]


@pytest.mark.parametrize("layout", [name for name in CORPORA if name not in ("subtitles", "recordings")])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_utf16_is_read_and_told(ws: Workspace, tmp_path: Path, layout: str, encoding: str) -> None:
    """Before, every layout refused it; the same rows come out of it now."""
    wide = {
        name: data if name.endswith(".wav") else data.decode("utf-8-sig").encode(encoding)
        for name, data in CORPORA[layout].items()
    }
    summary = bring(ws, lay(tmp_path / "in", wide))
    assert said(ws) == READ[layout][0] and summary.layout == layout
    assert any("read as UTF-16" in note for note in summary.notes)


def test_spans(ws: Workspace, tmp_path: Path) -> None:
    rows = [
        {"audio": "a.wav", "text": "first", "offset": 0.0, "duration": 0.4},
        {"audio": "a.wav", "text": "longer", "offset": 0, "duration": 0.6},
        {"audio": "a.wav", "text": "rest", "offset": 0.5},
        {"audio": "a.wav", "text": "whole", "duration": 1.04},
        {"audio": "a.wav", "text": "first again", "offset": 0.0, "duration": 0.4},
        *({"audio": "a.wav", "text": "bad", "offset": off} for off in (-1, 1.5, "x", True, float("nan"))),
        *({"audio": "a.wav", "text": "bad", "duration": length} for length in (0, -1, 2, float("inf"), [1], 1e-7)),
    ]
    source = lay(tmp_path / "in", {"a.wav": LONG, "rows.jsonl": jsonl(*rows)})
    summary = bring(ws, source)
    spans = {clip.text: (clip.start, clip.seconds) for clip in Corpus.open(ws)}
    assert spans == {"first": (0.0, 0.4), "longer": (0.0, 0.6), "rest": (0.5, 0.5), "whole": (0.0, 1.0)}
    assert len(summary.skipped) == 12
    assert any("line 5: a.wav has another text in rows.jsonl line 1" in text for text in summary.skipped)
    ids = [clip.id for clip in Corpus.open(ws)]
    assert len(set(ids)) == 4
    with (source / "rows.jsonl").open("ab") as out:
        out.write(jsonl({"audio": "a.wav", "text": "new", "offset": 0.1, "duration": 0.1}))
    again = bring(ws, source)
    assert (again.added, again.clips, again.notes) == (1, 5, ())
    assert [clip.id for clip in Corpus.open(ws)][:4] == ids
    lay(source, {"a.wav": wav(9, seconds=1.0)})
    changed = bring(ws, source)
    assert (changed.added, changed.clips) == (5, 5)
    assert changed.notes == ("a.wav has changed since it was imported: its 5 clips were replaced",)


def test_a_whole_recording_has_one_id_whatever_the_layout_says(ws: Workspace, tmp_path: Path) -> None:
    bring(ws, lay(tmp_path / "one", {"a.wav": A, "a.txt": b"one"}))
    manifest = jsonl({"audio": "a.wav", "text": "one", "offset": 0, "duration": 0.1})
    again = bring(ws, lay(tmp_path / "two", {"a.wav": A, "m.jsonl": manifest}))
    assert (again.added, again.already) == (0, 1)


def test_language_of_coqui(tmp_path: Path) -> None:
    source = lay(tmp_path / "in", CORPORA["coqui"])
    other = bring(Workspace.create(tmp_path / "swa", language="swa"), source)
    assert other.notes[0].startswith("the source says its language is 'en', this workspace is for 'swa'")
    assert bring(Workspace.create(tmp_path / "eng", language="eng"), source).notes == ()


def test_columns(ws: Workspace, tmp_path: Path) -> None:
    data = b"nr;words;where;who\n1;one;a.wav;Ada\n2;two;b.wav;Obi\n"
    source = lay(tmp_path / "in", {"sheet.csv": data, "a.wav": A, "b.wav": B})
    with pytest.raises(CorpusError, match="with --columns audio=where,text=words"):
        bring(ws, source)
    summary = bring(ws, source, columns="audio=where, text=Words,speaker=who")
    assert summary.why == "sheet.csv has a header with audio=where, text=words, speaker=who"
    assert said(ws) == [("Ada", "one"), ("Obi", "two")]
    other = lay(tmp_path / "lines", {"c.wav": C, "m.jsonl": jsonl({"f": "c.wav", "text": "no", "said": "three"})})
    bring(ws, other, columns="audio=f,text=said")
    assert ("default", "three") in said(ws)


@pytest.mark.parametrize(
    ("layout", "columns", "words"),
    [
        ("table", "audoi=x", "unknown kind 'audoi'; did you mean 'audio'?"),
        ("table", "zzz=x", "unknown kind 'zzz'; known: audio, text, speaker"),
        ("table", "audio", "is not KIND=NAME"),
        ("table", "", "is not KIND=NAME"),
        ("table", "audio=a,audio=b", "names 'audio' twice"),
        ("table", "text=Transcrpt", "data.csv has no column 'Transcrpt'; did you mean 'Transcript'?"),
        ("table", "text=q", "data.csv has no column 'q'; it has Filename, Transcript, speaker_id"),
        ("jsonl", "text=txt", "manifest.json has no column 'txt'; did you mean 'text'?"),
        ("folder", "text=a", "has no table with a header"),
    ],
)
def test_wrong_columns(ws: Workspace, tmp_path: Path, layout: str, columns: str, words: str) -> None:
    with pytest.raises(CorpusError, match=re.escape(words)):
        bring(ws, lay(tmp_path / "in", CORPORA[layout]), columns=columns)


def test_options_that_would_do_nothing_are_errors(ws: Workspace, tmp_path: Path) -> None:
    source = lay(tmp_path / "in", CORPORA["folder"])
    with pytest.raises(CorpusError, match="'folder' has no use for --columns, which is for huggingface, jsonl, table"):
        bring(ws, source, layout="folder", columns="text=a")
    with pytest.raises(CorpusError, match="--root is for the layouts kaldi, "):
        bring(ws, source, root=tmp_path)
    with pytest.raises(CorpusError, match="is not a folder"):
        bring(ws, source, root=tmp_path / "none")


def test_command(ws: Workspace, tmp_path: Path) -> None:
    store = lay(tmp_path / "store", {"a.wav": A})
    source = lay(tmp_path / "in", {"t.csv": f"f,words\n{store / 'a.wav'},one\n".encode()})
    app = typer.Typer()
    app.callback()(lambda: None)
    register(app, VERBS["import"])
    words = ["import", str(ws.root), str(source), "--columns", "audio=f,text=words", "--root", str(store)]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.stdout.startswith("Layout table: t.csv has a header with audio=f, text=words.\nAdded 1 clip.\n")


def absolute(layout: str, paths: list[Path]) -> Files:
    if layout == "kaldi":
        return {
            "wav.scp": "".join(f"u{n} {path}\n" for n, path in enumerate(paths)).encode(),
            "text": "".join(f"u{n} text {n}\n" for n in range(len(paths))).encode(),
        }
    if layout == "jsonl":
        return {"m.jsonl": jsonl(*({"audio": str(path), "text": f"text {n}"} for n, path in enumerate(paths)))}
    lines = {"coqui": "{}|text {}|x\n", "table": "{},text {}\n", "filelist": "{}|text {}\n"}[layout]
    head, name = {
        "coqui": ("audio_file|text|speaker_name\n", "metadata_train.csv"),
        "table": ("path,text\n", "t.csv"),
        "filelist": ("", "train.txt"),
    }[layout]
    return {name: (head + "".join(lines.format(path, n) for n, path in enumerate(paths))).encode()}


@pytest.mark.parametrize("layout", [name for name, layout in LAYOUTS.items() if "root" in layout.takes])
def test_root(ws: Workspace, tmp_path: Path, layout: str) -> None:
    store = lay(tmp_path / "store", {"deep/a.wav": A, "b.wav": B})
    outside = lay(tmp_path / "outside", {"c.wav": C}) / "c.wav"
    (store / "link.wav").symlink_to(outside)
    paths = [store / "deep" / "a.wav", Path("b.wav"), outside, store / ".." / "outside" / "c.wav", store / "link.wav"]
    source = lay(tmp_path / "in", absolute(layout, [*paths, store / "none.wav"]))
    with pytest.raises(CorpusError, match="--root DIR"):
        bring(ws, source)
    summary = bring(ws, source, root=store)
    assert (summary.layout, summary.added, len(summary.skipped)) == (layout, 2, 4)
    corpus = Corpus.open(ws)
    assert [clip.audio for clip in corpus] == ["s1/deep/a.wav", "s1/b.wav"]
    assert corpus.sources["s1"].root == str(store.resolve())


@pytest.mark.parametrize("command", ["touch pwned |", "| touch pwned", "$(touch pwned) |", "a.wav | touch pwned"])
def test_commands_never_run(ws: Workspace, tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = {"a.wav": A, "wav.scp": f"a a.wav\nb {command}\n".encode(), "text": b"a one\nb two\n"}
    summary = bring(ws, lay(tmp_path / "in", files))
    assert summary.added == 1
    assert summary.skipped[0].startswith("wav.scp line 2: is a command")
    assert not list(tmp_path.rglob("pwned"))


def test_tables_and_lists_of_other_shapes(tmp_path: Path) -> None:
    def rows(name: str, files: Files) -> list[tuple[str, str, str | None]]:
        source = lay(tmp_path / name, {**files, "a.wav": A, "b.wav": B})
        layout, _ = choose(source, layout="auto")
        return [(r.audio, r.text, r.speaker) for r in layout.read(SourceFolder(source)) if isinstance(r, Row)]

    three = rows("three", {"train.txt": b"a.wav|Two words|two words\nb.wav|x|x\n"})
    assert three == [("a.wav", "Two words", None), ("b.wav", "x", None)]
    headless = rows("ac", {"metadata_train.csv": b"a.wav|one\n", "metadata_val.csv": b"b.wav|two\n"})
    assert [text for _, text, _ in headless] == ["one", "two"]
    bars = rows("bars", {"metadata.csv": b"file_name,text\na.wav,one | two\n"})
    assert bars == [("a.wav", "one | two", None)]
    tabs = rows("tabs", {"x.tsv": b'path\ttext\na.wav\t"Hi," he said\nb.wav\t"""Hi,"" he said"\n'})
    assert [text for _, text, _ in tabs] == ['"Hi," he said', '"Hi," he said']
    unclosed = rows("unclosed", {"x.csv": b'path,text\na.wav,"never\nb.wav,two\n'})
    assert unclosed == [("b.wav", "two", None)]
    parts = {name: data for name, data in CORPORA["commonvoice"].items() if name != "validated.tsv"}
    assert ("clips/a.wav", "other", "Ada") in rows("parts", parts)


def test_half_a_character_is_a_problem(ws: Workspace, tmp_path: Path) -> None:
    lines = b'{"audio": "a.wav", "text": "\\ud800"}\n{"audio": "a.wav", "text": "one", "speaker": "\\udfff"}\n'
    good = jsonl({"audio": "b.wav", "text": "two"})
    summary = bring(ws, lay(tmp_path / "in", {"a.wav": A, "b.wav": B, "m.jsonl": lines + good}))
    assert (summary.added, len(summary.skipped)) == (1, 2)
    assert all("lone surrogate" in text for text in summary.skipped)


OUT = [b"../" * depth + b"outside/secret.wav" for depth in (1, 2, 3, 5)]
NASTY = [
    *(b"../", b"/etc/passwd", b"/", b"\\", b"|", b"touch pwned |", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"'"),
    *(b"\r", b"\n", b"\t", b",", b";", b"{", b"}", b"[" * 3000, b"(", b")", b"1e999", b"-1", b"NaN", b"9" * 5000),
    *(b"\\ud800", b"\xe2\x80\xa8", b"\xcc\x81", b"linked/secret.wav", b".wav", b"=", b"null", *OUT),
]


@st.composite
def mutated(draw: st.DrawFn, files: Files) -> Files:
    """A corpus in which bytes were cut, doubled, changed, or mixed with what parsers stumble over."""
    files = dict(files)
    for _ in range(draw(st.integers(1, 4))):
        name = draw(st.sampled_from(sorted(files)))
        data = files[name]
        at = draw(st.integers(0, len(data)))
        end = draw(st.integers(at, min(len(data), at + 40)))
        what = draw(st.sampled_from(["word", "word", "cut", "double", "insert", "nasty", "truncate", "swap", "drop"]))
        if what == "word" and (words := [] if name.endswith(".wav") else list(re.finditer(rb"[\w./]+", data))):
            word = draw(st.sampled_from(words))
            files[name] = data[: word.start()] + draw(st.sampled_from(NASTY)) + data[word.end() :]
        elif what == "cut":
            files[name] = data[:at] + data[end:]
        elif what == "double":
            files[name] = data[:end] + data[at:]
        elif what == "insert":
            files[name] = data[:at] + draw(st.binary(max_size=8)) + data[at:]
        elif what == "nasty":
            files[name] = data[:at] + draw(st.sampled_from(NASTY)) + data[end:]
        elif what == "truncate":
            files[name] = data[:at]
        elif what == "swap":
            other = draw(st.sampled_from(sorted(files)))
            files[name], files[other] = files[other], data
        elif len(files) > 1:
            del files[name]
    return files


def absorb(source: Path, options: Options = Options()) -> None:  # noqa: B008
    """What the importer does with a source, short of writing; everything it keeps must lie inside."""
    root = source.resolve()
    name, why = detect(source, options=options)
    assert why
    rows, problems = sift(LAYOUTS[name].read(SourceFolder(root, options)), root=root)
    merge = Merge((), places={})
    for row in rows:
        assert (root / row.audio).resolve().is_relative_to(root)
        facts = probe(root, row)
        if isinstance(facts, RecordingFacts):
            merge.take(row, facts, source="s1", language="swa", speaker=None)
    for clip in merge.clips.values():
        json.dumps([clip.text, clip.speaker, clip.id], ensure_ascii=False).encode()
        assert 0 <= clip.start < clip.start + clip.seconds < 10
    for problem in (*problems, *merge.problems):
        assert isinstance(problem, Problem)
        str(problem).encode()


def fuzz(layout: str) -> None:
    @given(files=mutated(CORPORA[layout]))
    def try_one(files: Files) -> None:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            source = lay(place / "in", files)
            lay(place / "outside", {"secret.wav": C, "secret.txt": b"secret"})
            (source / "linked").symlink_to(place / "outside")
            before = sorted(place.rglob("*"))
            try:
                absorb(source)
            except OluError as bad:
                assert "\n" not in str(bad)
                str(bad).encode()
            assert sorted(place.rglob("*")) == before

    try_one()


@pytest.mark.parametrize("layout", CORPORA)
def test_fuzz(layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fuzz(layout)
    assert not list(tmp_path.iterdir())


def test_fuzz_import() -> None:
    """The same to the end: what is written opens again, and every sentence is one line."""

    @given(
        files=st.sampled_from(sorted(CORPORA)).flatmap(lambda layout: mutated(CORPORA[layout])), zipped=st.booleans()
    )
    def try_one(files: Files, zipped: bool) -> None:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            source = lay(place / "in", files)
            if zipped:
                shutil.make_archive(str(place / "in"), "zip", source)
                source = place / "in.zip"
            ws = Workspace.create(place / "ws", language="swa")
            try:
                summary = bring(ws, source)
            except OluError as bad:
                assert "\n" not in str(bad)
                assert not ws.corpus.exists()
                return
            corpus = Corpus.open(ws)
            assert len(corpus) == summary.clips > 0
            assert not any("\n" in line for line in (*summary.skipped, *summary.notes))
            joined = summary.layout == "parts" and any(".flac" in clip.audio for clip in corpus)
            inside = ws.root if zipped or joined else source
            assert all(corpus.locate(clip).resolve().is_relative_to(inside.resolve()) for clip in corpus)
            assert sorted(path.name for path in place.iterdir() if path.name != "in.zip") == ["in", "ws"]

    try_one()

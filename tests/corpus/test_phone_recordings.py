"""What phones record, with a text: every layout takes it, and no message denies a file that is there."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest

av = pytest.importorskip("av", reason="the extra media is not installed")

from olu.audio import media  # noqa: E402
from olu.audio.io import header  # noqa: E402
from olu.core.errors import CorpusError, MissingExtra  # noqa: E402
from olu.core.files import Workspace  # noqa: E402
from olu.core.job import finish  # noqa: E402
from olu.corpus.manifest import Corpus  # noqa: E402
from olu.export.subject import source_names  # noqa: E402
from olu.stages.audit import audit  # noqa: E402
from olu.stages.import_ import ImportSummary, import_source  # noqa: E402

from ..helpers.phone_recordings import KINDS, RATE, record  # noqa: E402


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws", language="wol")


def bring(ws: Workspace, source: Path, **options: object) -> ImportSummary:
    return finish(import_source(ws, source, **options))  # type: ignore[arg-type]


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


# Layout -> the folder that its two recordings lie in, and its texts.
LAYOUTS: dict[str, tuple[str, dict[str, str]]] = {
    "ljspeech": ("wavs", {"metadata.csv": "a|one\nb|two\n"}),
    "mailabs": ("by_book/mix/book/wavs", {"by_book/mix/book/metadata.csv": "a|one|one\nb|two|two\n"}),
    "libritts": ("84/1", {"84/1/a.normalized.txt": "one", "84/1/b.normalized.txt": "two"}),
    "coqui": ("wavs", {"metadata_train.csv": "audio_file|text\nwavs/a.m4a|one\nwavs/b|two\n"}),
    "filelist": ("s", {"train.txt": "s/a.m4a|one\ns/b.m4a|two\n"}),
    "jsonl": ("s", {"m.jsonl": '{"audio": "s/a.m4a", "text": "one"}\n{"audio": "s/b", "text": "two"}\n'}),
    "huggingface": ("", {"metadata.csv": "file_name,text\na.m4a,one\nb.m4a,two\n"}),
    "table": ("s", {"t.csv": "file;sentence\ns/a.m4a;one\ns/b.m4a;two\n"}),
    "kaldi": ("s", {"data/wav.scp": "u1 s/a.m4a\nu2 s/b.m4a\n", "data/text": "u1 one\nu2 two\n"}),
    "festvox": ("wav", {"etc/txt.done.data": '( a "one" )\n( b "two" )\n'}),
    "commonvoice": ("clips", {"validated.tsv": "client_id\tpath\tsentence\nx\ta.m4a\tone\nx\tb.m4a\ttwo\n"}),
    "folder": ("x", {"x/a.txt": "one", "x/b.txt": "two"}),
}


@pytest.fixture(scope="module")
def sounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sounds")
    record(folder / "a.m4a", 1)
    record(folder / "b.m4a", 2)
    return folder


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "tar"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_m4a_with_a_text_in_every_layout(
    ws: Workspace, tmp_path: Path, sounds: Path, layout: str, packed: bool
) -> None:
    """Before: 'no audio for ...', or 'holds no audio', though the files were there."""
    root = tmp_path / "in"
    folder, texts = LAYOUTS[layout]
    for name, text in texts.items():
        write(root, name, text)
    (root / folder).mkdir(parents=True, exist_ok=True)
    for sound in sounds.iterdir():
        shutil.copy(sound, root / folder)
    source = root
    if packed:
        source = tmp_path / "in.tar"
        with tarfile.open(source, "w") as out:
            out.add(root, arcname="in")
    bring(ws, source, dry_run=True, hear=tmp_path / "first")
    assert not ws.corpus.exists() and [header(one).rate for one in (tmp_path / "first").iterdir()] == [RATE, RATE]
    summary = bring(ws, source)
    assert (summary.layout, summary.added, summary.skipped) == (layout, 2, ())
    corpus = Corpus.open(ws)
    assert sorted(clip.text for clip in corpus) == ["one", "two"]
    assert [corpus.audio(clip).rate for clip in corpus] == [RATE, RATE]
    again = bring(ws, source)
    assert (again.added, again.already, again.skipped) == (0, 2, ())


@pytest.mark.parametrize("ending", KINDS)
def test_every_kind_is_heard_by_every_stage(ws: Workspace, tmp_path: Path, ending: str) -> None:
    try:
        record(tmp_path / "in" / f"a{ending}")
    except (ValueError, av.FFmpegError) as bad:
        pytest.skip(f"this ffmpeg cannot write {ending} ({bad})")
    write(tmp_path / "in", "a.txt", "one")
    assert bring(ws, tmp_path / "in").added == 1
    (clip,) = Corpus.open(ws)
    assert clip.text == "one" and clip.audio.endswith("a.flac")
    assert clip.seconds == pytest.approx(0.5, abs=0.09)  # adts and amr know no delay of their encoder
    shutil.rmtree(tmp_path / "in")  # the workspace has all it needs
    assert finish(audit(ws)).clips == 1


def test_the_length_of_m4a_is_exact(ws: Workspace, tmp_path: Path) -> None:
    """The encoder puts samples before and after the sound: neither is heard."""
    record(tmp_path / "in" / "a.m4a", seconds=0.7)
    write(tmp_path / "in", "a.txt", "one")
    bring(ws, tmp_path / "in")
    corpus = Corpus.open(ws)
    (clip,) = corpus
    samples = corpus.audio(clip).samples
    assert len(samples) == round(0.7 * RATE) == round(clip.seconds * RATE)
    assert abs(samples[200:-200]).max() < 0.4 and abs(samples[:200]).max() > 0.2 and abs(samples[-200:]).max() > 0.2


def test_mixed_with_wav_and_of_the_same_name(ws: Workspace, tmp_path: Path) -> None:
    root = tmp_path / "in"
    for number, name in enumerate(("a.m4a", "a.mka", "b.m4a")):
        record(root / name, number)
    finish(media.decode(root / "b.m4a", into=root / "a.flac"))
    write(root, "t.csv", "file,text\na.m4a,one\na.mka,two\na.flac,three\n")
    summary = bring(ws, root)
    assert (summary.added, summary.skipped) == (3, ())
    assert "2 of 3 rows have sound that must be decoded (m4a and the like): all 3 were copied into the workspace" in (
        summary.notes
    )
    names = {clip.text: clip.audio for clip in Corpus.open(ws)}
    assert names == {"one": "s1/a.m4a.flac", "two": "s1/a.mka.flac", "three": "s1/a.flac"}


def test_broken_sound_is_named_and_the_rest_taken(ws: Workspace, tmp_path: Path) -> None:
    record(tmp_path / "in" / "a.m4a")
    (tmp_path / "in" / "b.m4a").write_bytes(b"no sound at all")
    write(tmp_path / "in", "metadata.csv", "a|one\nb|two\n")
    summary = bring(ws, tmp_path / "in")
    assert summary.added == 1 and len(summary.skipped) == 1
    assert summary.skipped[0].startswith("metadata.csv line 2: b.m4a is no film or recording that can be read")
    assert summary.reasons == {"sound": 1}


def test_without_av_the_files_are_named(ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(5):
        record(tmp_path / "in" / f"{n}.m4a", n)
        write(tmp_path / "in", f"{n}.txt", "one")
    monkeypatch.setattr(media, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"decoding 5 recordings \(0.m4a, 1.m4a, 2.m4a ...\) needs the package 'av'"):
        bring(ws, tmp_path / "in")
    assert not (ws.corpus / "clips.jsonl").exists()


def test_messages_count_what_is_there(ws: Workspace, tmp_path: Path, sounds: Path) -> None:
    root = tmp_path / "in"
    shutil.copytree(sounds, root)
    write(root, "notes.rtf", "x")
    with pytest.raises(CorpusError, match="has 2 audio files but no metadata"):
        bring(ws, root)
    write(root, "metadata.csv", "c|one\n")
    with pytest.raises(CorpusError, match=r"no audio for any \(it has 2 sound files, of other names\): the first, 'c'"):
        bring(ws, root)
    write(root, "metadata.csv", "a.wav|one\nB|two\n")
    with pytest.raises(CorpusError, match=r"no audio for 'a.wav' in .* but there is a.m4a: write that name"):
        bring(ws, root)
    (root / "c.rec").write_bytes((root / "a.m4a").read_bytes())
    write(root, "metadata.csv", "a|one\nc.rec|two\n")
    assert bring(ws, root).skipped == (
        "metadata.csv line 2: c.rec is there, but its ending is not one of a sound file that is known: rename it",
    )


def test_sound_under_an_unknown_ending_is_counted(ws: Workspace, tmp_path: Path, sounds: Path) -> None:
    for n in range(4):
        (tmp_path / "in").mkdir(exist_ok=True)
        shutil.copy(sounds / "a.m4a", tmp_path / "in" / f"{n}.rec")
    with pytest.raises(
        CorpusError, match=r"has 4 files \(0.rec, 1.rec, 2.rec ...\) that look like sound under an ending"
    ):
        bring(ws, tmp_path / "in")


def test_a_film_with_subtitles_and_a_paper_stays_a_film(ws: Workspace, tmp_path: Path) -> None:
    record(tmp_path / "in" / "a.mp4", seconds=2.0)
    write(tmp_path / "in", "a.srt", "1\n00:00:00,200 --> 00:00:01,800\nHabari\n")
    write(tmp_path / "in", "a.txt", "who made it")
    summary = bring(ws, tmp_path / "in")
    assert summary.layout == "subtitles"
    assert header(ws.corpus / "audio" / "s1" / "a.flac").rate == RATE


def test_messages_name_what_the_user_has(ws: Workspace, tmp_path: Path, sounds: Path) -> None:
    """Before: 'a.flac has another text', and the recordings were those of 's1'."""
    folder = tmp_path / "simu"
    record(folder / "a.m4a")
    write(folder, "a.txt", "habari moja")
    bring(ws, folder)
    write(folder, "a.txt", "habari mbili")
    assert "a.m4a has another text than before: the new one was taken" in bring(ws, folder).notes
    assert source_names(Corpus.open(ws)) == {"s1": "simu"}

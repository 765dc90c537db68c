from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from olu.core.errors import CorpusError
from olu.corpus.readers import SourceFolder, choose, detect, ljspeech
from olu.corpus.readers.beside import FOLDER
from olu.corpus.readers.rows import Problem, Row


def lj(root: Path, data: str | bytes, *, audio: tuple[str, ...] = ("wavs/a.wav", "wavs/b.wav", "wavs/c.wav")) -> Path:
    """A source whose audio is only names: readers never open it."""
    for name in audio:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"")
    (root / "metadata.csv").write_bytes(data if isinstance(data, bytes) else data.encode())
    return root


def texts(source: Path) -> dict[str, str]:
    found = list(ljspeech.rows(SourceFolder(source)))
    assert all(isinstance(row, Row) for row in found), found
    return {row.audio: row.text for row in found if isinstance(row, Row)}


def problems(source: Path) -> list[Problem]:
    return [row for row in ljspeech.rows(SourceFolder(source)) if isinstance(row, Problem)]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("header", ["", "id|text\n", "file|transcript\n", "audio_file|text|normalised\n"])
def test_ljspeech_lines(tmp_path: Path, header: str, bom: str, newline: str) -> None:
    data = (bom + header + "a|Ẹ kú àárọ̀ |x\nb.wav| two\n\nwavs/c||3 read\n").replace("\n", newline)
    source = lj(tmp_path, data)
    assert texts(source) == {"wavs/a.wav": "Ẹ kú àárọ̀ ", "wavs/b.wav": " two", "wavs/c.wav": "3 read"}
    assert detect(source) == ("ljspeech", "metadata.csv has id|text lines")


def test_a_header_is_only_one_when_it_names_no_audio(tmp_path: Path) -> None:
    assert texts(lj(tmp_path, "id|text\na|one\n", audio=("wavs/id.wav", "wavs/a.wav")))["wavs/id.wav"] == "text"


def test_a_first_row_without_audio_is_no_header(tmp_path: Path) -> None:
    (problem,) = problems(lj(tmp_path, "audio_1|hello\na|one\n"))
    assert problem.missing == "audio_1"


def test_speaker_column_of_a_header(tmp_path: Path) -> None:
    rows = list(ljspeech.rows(SourceFolder(lj(tmp_path, "audio_file|text|speaker_name\na|one|Ada\nb||Obi\n"))))
    assert [(row.text, row.speaker) for row in rows if isinstance(row, Row)] == [("one", "Ada"), ("", "Obi")]


@pytest.mark.parametrize("place", ["wavs/", "audio/", "clips/", ""])
@pytest.mark.parametrize("ending", [".wav", ".flac", ".ogg", ".opus", ".mp3", ".WAV"])
def test_where_audio_may_lie(tmp_path: Path, place: str, ending: str) -> None:
    assert texts(lj(tmp_path, "x.1|one\n", audio=(f"{place}x.1{ending}",))) == {f"{place}x.1{ending}": "one"}


def test_metadata_txt(tmp_path: Path) -> None:
    lj(tmp_path, "a|one\n").joinpath("metadata.csv").rename(tmp_path / "metadata.txt")
    assert texts(tmp_path) == {"wavs/a.wav": "one"}


def test_names_match_composed_or_not(tmp_path: Path) -> None:
    name = unicodedata.normalize("NFD", "ọ̀rọ̀_é")
    source = lj(tmp_path, unicodedata.normalize("NFC", name) + "|one\n", audio=(f"wavs/{name}.wav",))
    assert texts(source) == {f"wavs/{name}.wav": "one"}


def test_backslashes_from_windows(tmp_path: Path) -> None:
    assert texts(lj(tmp_path, "wavs\\a.wav|one\n")) == {"wavs/a.wav": "one"}


@pytest.mark.parametrize(
    "line",
    [
        '"Hello," he said',
        '"Hello"',
        '"" empty',
        'he said "no',
        '"it opens here and closes in the next clip',
        "'single'",
        '"a" and "b"',
        "U+2028 \u2028 and \x0b and \x85 end no line",
    ],
)
def test_quotes_stay(tmp_path: Path, line: str) -> None:
    found = texts(lj(tmp_path, f'a|{line}\nb|and closes" there\nc|last "one"\n'))
    assert found == {"wavs/a.wav": line, "wavs/b.wav": 'and closes" there', "wavs/c.wav": 'last "one"'}


def test_newline_in_quotes(tmp_path: Path) -> None:
    found = texts(lj(tmp_path, 'a|"line one\nline ""two"""\nb|"one\n\ntwo | three"|normal\nc|"x\r\ny"\r\n'))
    assert found == {"wavs/a.wav": 'line one\nline "two"', "wavs/b.wav": "one\n\ntwo | three", "wavs/c.wav": "x\ny"}


def test_newline_without_quotes(tmp_path: Path) -> None:
    found = texts(lj(tmp_path, 'a|line one\nline two\n\nline four\n\nb|"Hi," he said,\n"and bye"\nc|x\n\n'))
    assert found["wavs/a.wav"] == "line one\nline two\n\nline four"
    assert found["wavs/b.wav"] == '"Hi," he said,\n"and bye"'
    assert found["wavs/c.wav"] == "x"


def test_not_utf8(tmp_path: Path) -> None:
    source = lj(tmp_path, b"a|one\nb|caf\xe9\nits second line\nc|dr\xc3\xa9i\n")
    (problem,) = problems(source)
    assert problem.where == "metadata.csv line 2"
    assert "not valid UTF-8 (byte 0xe9 at position 6)" in problem.message
    assert [row.text for row in ljspeech.rows(SourceFolder(source)) if isinstance(row, Row)] == ["one", "dréi"]


def test_not_utf8_in_a_second_line_takes_the_row_with_it(tmp_path: Path) -> None:
    source = lj(tmp_path, b"a|one\ncaf\xe9\nb|dou\xc3\xa9\n")
    assert [problem.where for problem in problems(source)] == ["metadata.csv line 2"]
    assert [row.text for row in ljspeech.rows(SourceFolder(source)) if isinstance(row, Row)] == ["doué"]


def test_missing_audio_and_lines_without_bar(tmp_path: Path) -> None:
    long = "x" * 300
    found = problems(lj(tmp_path, f"no bar\na|one\nz|two\n{long}|three\nnul\0|four\n"))
    assert [p.where for p in found] == [f"metadata.csv line {n}" for n in (1, 3, 4, 5)]
    assert "no '|'" in found[0].message
    assert "'z' in wavs/, audio/, clips/ and the folder itself" in found[1].message


def tree(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return root


def test_folder(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.wav": "",
        "a.txt": "one\n",
        "x/y/b.mp3": "",
        "x/y/b.lab": "two\nlines\n\n",
        "c.ogg": "",
        "c.TXT": "3\r\n",
    }
    source = tree(tmp_path, {**files, "README.txt": "about", ".DS_Store": "", "x/._b.mp3": ""})
    rows = list(FOLDER.rows(SourceFolder(source)))
    assert [(r.audio, r.text, r.speaker) for r in rows if isinstance(r, Row)] == [
        ("a.wav", "one", None),
        ("c.ogg", "3", None),
        ("x/y/b.mp3", "two\nlines\n", None),
    ]
    assert len(rows) == 3
    assert detect(source) == ("folder", "3 of 3 audio files have a .txt or .lab beside them")


def test_folder_problems(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.wav": "",
        "a.txt": "\ufeffone",
        "a.flac": "",
        "b.wav": "",
        "c.wav": "",
        "c.txt": b"\xff",
        "d.txt": "lost",
    }
    source = tree(tmp_path / "in", {**files, "e.wav": "", "e.txt": "txt", "e.lab": "lab"})
    (source / "linked").symlink_to(tmp_path)
    found = {row.where: row.message for row in FOLDER.rows(SourceFolder(source)) if isinstance(row, Problem)}
    assert list(found) == ["linked", "a.flac", "b.wav", "c.txt", "d.txt"]
    assert "link to a folder" in found["linked"]
    assert "a.wav" in found["a.flac"]
    assert "no b.txt or b.lab" in found["b.wav"]
    assert "not valid UTF-8" in found["c.txt"]
    assert [row.text for row in FOLDER.rows(SourceFolder(source)) if isinstance(row, Row)] == ["one", "txt"]


@pytest.mark.parametrize(
    ("files", "layout", "words"),
    [
        ({}, "auto", "is empty"),
        ({"notes.md": ""}, "auto", "holds no audio"),
        (
            {"a.wav": "", "b.wav": "", "c.csv": ""},
            "auto",
            "2 audio files but no metadata.csv and no .txt beside them: write",
        ),
        ({"a.wav": "", "b.txt": ""}, "folder", "1 audio file but no metadata.csv"),
        ({"a.wav": ""}, "folder", "has the layout 'recordings', not 'folder'"),
        ({"a.wav": "", "metadata.csv": "a,one"}, "auto", "metadata.csv is a table without a header: write one"),
        ({"a.wav": "", "a.txt": "one"}, "ljspeech", "has the layout 'folder', not 'ljspeech'"),
        ({"a.wav": ""}, "ljspech", "unknown layout 'ljspech'; did you mean 'ljspeech'?"),
        ({"a.wav": ""}, "zzz", "unknown layout 'zzz'; known: auto, kaldi, .*, ljspeech, .*, folder"),
    ],
)
def test_no_layout(tmp_path: Path, files: dict[str, str], layout: str, words: str) -> None:
    with pytest.raises(CorpusError, match=words):
        choose(tree(tmp_path, dict(files)), layout=layout)


def test_a_layout_asked_for_wins(tmp_path: Path) -> None:
    source = tree(tmp_path, {"a.wav": "", "a.txt": "one", "metadata.csv": "a|two"})
    assert choose(source, layout="auto")[0].name == "ljspeech"
    assert choose(source, layout="folder")[0].name == "folder"


def test_source_that_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="is not there"):
        choose(tmp_path / "none", layout="auto")
    with pytest.raises(CorpusError, match="is a file"):
        choose(lj(tmp_path, "a|b") / "metadata.csv", layout="auto")


SAID = {"wavs/a.wav": ("one", "Ada"), "wavs/b.wav": ("two", "Obi")}


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("file|speaker|text", "{file}|{who}|{text}"),
        ("speaker|file|text", "{who}|{file}|{text}"),
        ("text|file|speaker_id", "{text}|{file}|{who}"),
        ("Text|Speaker Name|Audio File", "{text}|{who}|{file}"),
        ("id|duration|speaker|normalised|transcription", "{id}|1.5|{who}|wrong|{text}"),
        ("speaker|path|sentence|normalized_text", "{who}|{file}||{text}"),
        ("name|file|text|speaker", "nobody|{file}|{text}|{who}"),
        ("file|speaker|what is said", "{file}|{who}|{text}"),
    ],
)
def test_the_header_decides_what_the_columns_are(tmp_path: Path, header: str, row: str) -> None:
    told = [("a", "Ada", "one"), ("b", "Obi", "two")]
    lines = [row.format(id=id, file=f"wavs/{id}.wav", who=who, text=text) for id, who, text in told]
    rows = list(ljspeech.rows(SourceFolder(lj(tmp_path, "\n".join([header, *lines])))))
    assert {row.audio: (row.text, row.speaker) for row in rows if isinstance(row, Row)} == SAID and len(rows) == 2


def test_a_text_in_a_later_column_goes_on_over_lines(tmp_path: Path) -> None:
    data = 'file|speaker|text\na|Ada|line one\nline two\nb|Obi|"x | y\nz ""w"""\nc|Ada\n'
    rows = list(ljspeech.rows(SourceFolder(lj(tmp_path, data))))
    found = {row.audio: row.text for row in rows if isinstance(row, Row)}
    assert found == {"wavs/a.wav": "line one\nline two", "wavs/b.wav": 'x | y\nz "w"'}
    (problem,) = [row for row in rows if isinstance(row, Problem)]
    assert str(problem) == "metadata.csv line 6: 2 columns where the header has 3: write id|speaker|text"


@pytest.mark.parametrize("header", ["file|speaker", "speaker|text"])
def test_a_header_without_a_text_or_a_recording(tmp_path: Path, header: str) -> None:
    with pytest.raises(CorpusError, match=r"the header .* has no column for the (text|recordings): call it"):
        list(ljspeech.rows(SourceFolder(lj(tmp_path, f"{header}\na|Ada\n"))))


@pytest.mark.parametrize("line", ["b\ttwo", "b", "b.wav two", "wavs/b.wav", "b;two", "b,two", "b two"])
def test_a_row_without_a_bar_is_not_put_to_the_text_before(tmp_path: Path, line: str) -> None:
    source = lj(tmp_path, f"a|one\ngoes on\n{line}\nits second line\nc|three\n")
    (problem,) = problems(source)
    assert problem.where == "metadata.csv line 3" and "has no '|': write" in problem.message
    found = [row.text for row in ljspeech.rows(SourceFolder(source)) if isinstance(row, Row)]
    assert found == ["one\ngoes on", "three"]


def test_words_that_are_names_too_may_go_on_with_a_text(tmp_path: Path) -> None:
    """Every recording has its row here, so none of these lines can be one; only a tab says so all the same."""
    found = texts(lj(tmp_path, "a|one\nb is said\nbut\n/x\n.. and so on\nb|two\na\nc|three"))
    assert found["wavs/a.wav"] == "one\nb is said\nbut\n/x\n.. and so on"
    assert found["wavs/b.wav"] == "two\na"
    (problem,) = problems(lj(tmp_path, "a|one\nb\ttwo\nb|two\n"))
    assert problem.where == "metadata.csv line 2"


@pytest.mark.parametrize("text", ["An enormous thing.", "this is normalized", "normal", "Norman came"])
def test_a_sentence_is_no_header(tmp_path: Path, text: str) -> None:
    (problem,) = problems(lj(tmp_path, f"gone|{text}|x\na|one\n"))
    assert problem.where == "metadata.csv line 1" and "no audio for 'gone'" in problem.message


def test_a_return_inside_a_text_is_no_end_of_a_line(tmp_path: Path) -> None:
    assert texts(lj(tmp_path, "a|one\rtwo|\nb|three\r\n"))["wavs/a.wav"] == "one\rtwo"

"""Texts that people corrected: laid over what was imported, by whom and when, and never lost to an import."""

from __future__ import annotations

import getpass
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

import olu
from olu.core.errors import ConfigError, CorpusError
from olu.core.files import Workspace, read_jsonl
from olu.core.job import finish
from olu.core.types import Alignment
from olu.corpus import corrections
from olu.corpus.intake.merge import Merge
from olu.corpus.intake.probe import RecordingFacts
from olu.corpus.manifest import Corpus, fingerprint, imported, read_sides
from olu.corpus.readers.rows import Row
from olu.corpus.sources import read_clips
from olu.stages import audit, cut, prepare, read, train
from olu.stages.clips import ClipTable, clips
from olu.stages.correct import correct_clip, correct_file, undo_corrections
from olu.stages.decide import decide
from olu.stages.import_ import STAGE as IMPORT
from olu.stages.import_ import import_source
from olu.stages.merge import merge
from olu.stages.pack import pack
from olu.stages.split import split_corpus
from olu.stages.unpack import unpack


def made(source: Path, texts: dict[int, str]) -> Path:
    (source / "wavs").mkdir(parents=True, exist_ok=True)
    for number in texts:
        wave = np.random.default_rng(number).normal(0, 0.1, 16000)
        soundfile.write(source / "wavs" / f"c{number}.wav", wave, 16000)
    lines = "".join(f"c{number}|{text}\n" for number, text in texts.items())
    (source / "metadata.csv").write_text(lines, encoding="utf-8")
    return source


TEXTS = {number: f"Habari namba {word}." for number, word in enumerate(["moja", "mbili", "tatu", "nne", "tano"], 1)}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return made(tmp_path / "in", TEXTS)


@pytest.fixture
def ws(tmp_path: Path, source: Path) -> Workspace:
    ws = Workspace.create(tmp_path / "ws", language="swa")
    finish(import_source(ws, source))
    return ws


def texts(ws: Workspace) -> list[str]:
    return [clip.text for clip in Corpus.open(ws)]


def test_a_corrected_text_is_what_a_corpus_has_and_the_source_s_stays(ws: Workspace) -> None:
    first, second, *_ = Corpus.open(ws)
    before = (ws.corpus / "clips.jsonl").read_bytes()
    done = correct_clip(ws, first.id, "  Habari ya\nasubuhi. ", by="amina")
    assert (done.ids, done.by, done.first, done.unchanged) == ((first.id,), "amina", 0, 0)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", done.at)
    corpus = Corpus.open(ws)
    assert corpus.clips[0] == replace(first, text="Habari ya asubuhi.") and corpus.clips[1] == second
    held = corpus.correction(corpus.clips[0])
    assert held is not None and (held.by, held.imported) == ("amina", first.text)
    assert corpus.as_imported(corpus.clips[0]) == first and corpus.correction(second) is None
    assert corpus.where(lambda clip: True).correction(corpus.clips[0]) == held
    assert (ws.corpus / "clips.jsonl").read_bytes() == before
    row = clips(ws, expression='corrected == "amina"').rows[0]
    assert (row["text"], row["imported"]) == ("Habari ya asubuhi.", first.text)
    assert correct_clip(ws, first.id, "Habari  ya asubuhi.").unchanged == 1


def test_later_ones_win_and_are_taken_back_batch_by_batch(ws: Workspace) -> None:
    a, b, *_ = (clip.id for clip in Corpus.open(ws))
    rows = f"{a}|moja\n{b}|mbili\n".encode()
    correct_file(ws, rows, name="x.txt", by="amina")
    correct_clip(ws, a, "moja tena", by="juma")
    assert texts(ws)[:2] == ["moja tena", "mbili"]
    back = undo_corrections(ws)
    assert (back.ids, back.by) == ((a,), ("juma",)) and texts(ws)[:2] == ["moja", "mbili"]
    correct_clip(ws, b, "mbili tena", by="juma")
    assert undo_corrections(ws, by="amina").ids == (a, b) and texts(ws)[:2] == [TEXTS[1], "mbili tena"]
    correct_clip(ws, b, "mbili na tena", by="amina")
    back = undo_corrections(ws, clip=b)
    assert back.by == ("amina", "juma") and texts(ws) == list(TEXTS.values())
    assert undo_corrections(ws).ids == () and undo_corrections(ws, clip=a).ids == ()
    with pytest.raises(CorpusError, match="no clip 'nobody'"):
        undo_corrections(ws, clip="nobody")
    rows_ = list(read_jsonl(corrections.path(ws)))
    assert [row["by"] for row in rows_ if "undo" not in row] == ["amina", "amina", "juma", "juma", "amina"]


def test_who_is_the_one_who_is_logged_in_or_named(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    id = Corpus.open(ws).clips[0].id
    monkeypatch.setenv("LOGNAME", "juma")
    assert correct_clip(ws, id, "moja").by == "juma"
    with pytest.raises(ConfigError, match="--by ' ' is no name"):
        correct_clip(ws, id, "mbili", by=" ")

    def nobody() -> str:
        raise KeyError("uid")

    monkeypatch.setattr(getpass, "getuser", nobody)
    with pytest.raises(ConfigError, match="add --by NAME"):
        correct_clip(ws, id, "mbili")


FORMS = {
    "csv": 'id,speaker,text\n{a},x,"Moja, mbili"\n{b},x,Habari namba mbili.\n',
    "csv of another country": "\ufeffid;text;seconds\n{a};Moja, mbili;2,5\n{b};Habari namba mbili.;1\n",
    "csv with a newline in a cell": 'seconds,text,id\n1,"Moja,\r\n mbili",{a}\n1,Habari namba mbili.,{b}\n',
    "tsv": "text\tid\r\nMoja, mbili\t{a}\r\nHabari namba mbili.\t{b}\r\n",
    "table with bars": "id|text|other\n{a}|Moja, mbili|\n{b}|Habari namba mbili.|y\n",
    "lines": "{a}|Moja, mbili\n\n{b}|Habari namba mbili.\n",
    "lines with tabs": "{a}\tMoja, mbili\n{b}\tHabari namba mbili.",
    "json lines": '{{"id": "{a}", "text": "Moja,\\nmbili"}}\n{{"clip": "{b}", "transcript": "Habari namba mbili."}}\n',
    "clips --json": '{{"total": 5, "clips": [{{"id": "{a}", "text": "Moja, mbili"}}, '
    '{{"id": "{b}", "text": "Habari namba mbili."}}]}}',
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_the_form_of_a_file_is_found(ws: Workspace, form: str, encoding: str) -> None:
    a, b, *_ = (clip.id for clip in Corpus.open(ws))
    data = FORMS[form].format(a=a, b=b)
    data = data.removeprefix("\ufeff") if encoding == "utf-16" else data
    done = correct_file(ws, data.encode(encoding), name="x", by="amina")
    assert (done.ids, done.unchanged, done.unknown, done.refused) == ((a,), 1, (), ())
    assert texts(ws)[:2] == ["Moja, mbili", TEXTS[2]]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"\n \n", "x.csv is empty"),
        (b"hello world\n", "begins with 'hello world', which names no clip and text"),
        (b"audio,sentence\na,b\n", "begins with 'audio,sentence'"),
        (b"id,text\n{a},one,two\n", "x.csv line 2: 3 columns where the header has 2"),
        (b'id,text\n{a},"one\n', r"x.csv line 2: its quotes cannot be read"),
        (b"id,text\n{a},\xcf\xf0\xe8\xe2\xe5\xf2\n", "x.csv line 2 is not UTF-8"),
        (b'{"id": 3}\n', "x.csv line 1 has no id and text"),
        (b'{"id": "x", \n', "x.csv line 1 is no JSON"),
        (b"{a}|one\n{a}|two\n", r"x.csv line 2: clip \S+ has another text in x.csv line 1: remove one of the two"),
        (b"{a}|one\nonly\n", "x.csv line 2 has no '|' between id and text"),
        (b"nobody|one\n", "x.csv names no clip of .*; the first is 'nobody'"),
    ],
)
def test_a_file_that_cannot_be_understood_changes_nothing(ws: Workspace, data: bytes, told: str) -> None:
    id = Corpus.open(ws).clips[0].id.encode()
    with pytest.raises(CorpusError, match=told.replace("|", r"\|")):
        correct_file(ws, data.replace(b"{a}", id), name="x.csv")
    assert texts(ws) == list(TEXTS.values())


def test_a_table_in_the_encoding_of_spreadsheets_is_read_and_told(ws: Workspace) -> None:
    a = Corpus.open(ws).clips[0].id
    told = correct_file(ws, f"id;text\n{a};Déjà vu, où êtes-vous\n".encode("cp1252"), name="x.csv").notes
    assert told == ("x.csv was read as Windows-1252: look at a few of its texts",)
    assert texts(ws)[0] == "Déjà vu, où êtes-vous"


def test_rows_that_cannot_be_taken_are_named_and_the_others_taken(ws: Workspace) -> None:
    a, b, c, *_ = (clip.id for clip in Corpus.open(ws))
    rows = [(a, "moja"), (b, " "), ("nobody", "x"), (c, "half \ud800")]
    data = "\n".join(json.dumps({"id": id, "text": text}) for id, text in rows).encode()
    done = correct_file(ws, data, name="x.jsonl")
    assert done.ids == (a,) and done.unknown == ("x.jsonl line 3: nobody",)
    empty, half = done.refused
    assert empty.startswith(f"x.jsonl line 2: clip {b} has no text there") and f"olu drop {ws.root} {b}" in empty
    assert f"clip {c}" in half and texts(ws) == ["moja", *list(TEXTS.values())[1:]]
    for text, told in (("", "olu drop"), ("\ud800", "no whole characters")):
        with pytest.raises(CorpusError, match=told):
            correct_clip(ws, b, text)
    with pytest.raises(CorpusError, match="did you mean"):
        correct_clip(ws, b[:-1], "x")


def test_what_olu_clips_writes_comes_back_unchanged(ws: Workspace, tmp_path: Path) -> None:
    from olu.stages.clips import write_csv

    first, second, *_ = (clip.id for clip in Corpus.open(ws))
    correct_clip(ws, first, '- "x", y;\tz', by="amina")
    correct_clip(ws, second, "=1+1", by="amina")
    write_csv(clips(ws).rows, tmp_path / "all.csv")
    done = correct_file(ws, (tmp_path / "all.csv").read_bytes(), name="all.csv")
    assert (done.ids, done.unchanged) == ((), 5)
    escaped = f"id,text\n{first},'- ndiyo\n{second},'=1+1\n"  # as a cell is written that no program shall run
    assert correct_file(ws, escaped.encode(), name="x").ids == (first,)
    assert texts(ws)[:2] == ["- ndiyo", "=1+1"]


def test_sides_stay_whatever_is_written(tmp_path: Path) -> None:
    ws = Workspace.create(tmp_path / "ws", language="swa")
    many = {number: f"sentence number {number}" for number in range(60)}
    source = made(tmp_path / "in", many)
    finish(import_source(ws, source))
    split_corpus(ws, valid=0.2, test=0.2)
    before = {clip.id: Corpus.open(ws).split(clip) for clip in Corpus.open(ws)}
    assert len(set(before.values())) == 3
    data = "".join(f"{id}|altogether other words {number}\n" for number, id in enumerate(before)).encode()
    correct_file(ws, data, name="x")
    corpus = Corpus.open(ws)
    assert {clip.id: corpus.split(clip) for clip in corpus} == before
    assert split_corpus(ws).moved == 0  # chosen anew, by the texts as imported
    finish(import_source(ws, made(tmp_path / "in", many | {60: "one more"})))
    assert {clip.id: Corpus.open(ws).split(clip) for clip in Corpus.open(ws).clips[:60]} == before


def test_only_what_depends_on_texts_goes_stale(ws: Workspace) -> None:
    finish(audit.audit(ws))
    finish(read.read_corpus(ws))
    finish(prepare.prepare(ws, rate=16000))
    train.STAGE.stamp(ws, {}, {})
    (ws.root / "runs").mkdir()
    stages = {"import": IMPORT, "audit": audit.STAGE, "read": read.STAGE, "prepare": prepare.STAGE}
    stages["train"] = train.STAGE

    def states() -> dict[str, str]:
        return {name: stage.state(ws) for name, stage in stages.items()}

    assert set(states().values()) == {"fresh"}
    before, whole = fingerprint(ws), Corpus.open(ws).fingerprint
    assert before == imported(ws)  # stamps of before there were corrections still hold
    id = Corpus.open(ws).clips[0].id
    correct_clip(ws, id, "Habari gani", by="amina")
    assert states() == {"import": "fresh", "audit": "stale", "read": "stale", "prepare": "fresh", "train": "stale"}
    after = fingerprint(ws)
    assert after != before and Corpus.open(ws).fingerprint != whole
    correct_clip(ws, id, "Habari", by="amina")
    assert fingerprint(ws) != after
    undo_corrections(ws)
    correct_clip(ws, id, "Habari", by="amina")
    correct_clip(ws, id, "Habari gani", by="juma")
    assert fingerprint(ws) == after  # by whom, and when, makes no other voice
    undo_corrections(ws, clip=id)
    assert set(states().values()) == {"fresh"}


def test_reading_and_audit_see_the_corrected_text(ws: Workspace) -> None:
    id = Corpus.open(ws).clips[0].id
    correct_clip(ws, id, "Habari 7 [music]", by="amina")
    finish(read.read_corpus(ws))
    corpus = Corpus.open(ws)
    assert corpus.reading(corpus.clips[0]).text == "Habari 7 [music]"
    finish(audit.audit(ws))
    found = {mark.check for mark in Corpus.open(ws).marks(corpus.clips[0])}
    assert any("note" in check or "digit" in check for check in found), found


def test_an_import_keeps_what_a_person_wrote_and_says_so(ws: Workspace, source: Path) -> None:
    first, second, *_ = (clip.id for clip in Corpus.open(ws))
    correct_clip(ws, first, "moja tu", by="amina")
    correct_clip(ws, second, "mbili tu", by="amina")
    assert finish(import_source(ws, source)).notes == () and texts(ws)[:2] == ["moja tu", "mbili tu"]
    table = (source / "metadata.csv").read_text(encoding="utf-8")
    table = table.replace(TEXTS[1], "moja, mpya").replace(TEXTS[2], "mbili tu").replace(TEXTS[3], "tatu, mpya")
    (source / "metadata.csv").write_text(table, encoding="utf-8")
    notes = finish(import_source(ws, source)).notes
    assert len(notes) == 3
    assert re.search(
        rf"^wavs/c1\.wav has another text than before, and the one that amina wrote .* stays: .*{first}", notes[0]
    )
    assert notes[1].startswith("wavs/c2.wav has the text now that amina wrote")
    assert notes[2] == "wavs/c3.wav has another text than before: the new one was taken"
    assert texts(ws)[:3] == ["moja tu", "mbili tu", "tatu, mpya"]
    assert [clip.text for clip in read_clips(ws)][:2] == ["moja, mpya", "mbili tu"]
    undo_corrections(ws, clip=first)
    assert texts(ws)[0] == "moja, mpya"


def test_pieces_that_are_cut_otherwise_now_do_not_come_where_a_person_wrote_a_text() -> None:
    facts = RecordingFacts(sha256="0" * 64, bytes=1, mtime_ns=1, seconds=60.0, rate=16000)
    first = Merge([], places={})
    for start in (0.0, 10.0):
        row = Row(audio="x.wav", text=None, where="x.wav", start=start, seconds=9.0)
        first.take(row, facts, source="s1", language="swa", speaker=None)
    written, empty = first.clips.values()
    held = corrections.Correction(
        id=written.id, text="moja", imported="", by="amina", at="2026-11-16T10:00:00Z", batch="b"
    )
    again = Merge(first.clips.values(), places={}, corrected={written.id: held})
    for start in (1.0, 11.0):
        row = Row(audio="x.wav", text=None, where="x.wav", start=start, seconds=8.0)
        again.take(row, facts, source="s1", language="swa", speaker=None)
    assert (again.added, again.already) == (1, 1) and {written.id, empty.id} < set(again.clips)


@pytest.mark.parametrize("opus", [False, True])
def test_a_pack_carries_corrections_and_the_source_s_texts(ws: Workspace, tmp_path: Path, opus: bool) -> None:
    id = Corpus.open(ws).clips[0].id
    correct_clip(ws, id, "moja tu", by="amina")
    finish(pack(ws, out=tmp_path / "x.tar", runs="none", opus=opus))
    finish(unpack(tmp_path / "x.tar", into=tmp_path / "there"))
    there = Workspace.open(tmp_path / "there")
    assert texts(there)[0] == "moja tu" and read_clips(there)[0].text == TEXTS[1]
    assert undo_corrections(there).ids == (id,) and texts(there) == list(TEXTS.values())


def test_a_merge_brings_corrections_along_and_ours_stay(ws: Workspace, source: Path, tmp_path: Path) -> None:
    a, b, *_ = (clip.id for clip in Corpus.open(ws))
    other = Workspace.create(tmp_path / "other", language="swa")
    finish(import_source(other, made(tmp_path / "in", TEXTS | {9: "tisa"})))
    theirs = [clip.id for clip in Corpus.open(other)]
    correct_file(other, f"{a}|theirs a\n{b}|theirs b\n{theirs[-1]}|theirs nine\n".encode(), name="x", by="juma")
    correct_clip(ws, a, "ours a", by="amina")
    summary = finish(merge(ws, [other.root]))
    assert summary.corrections == 2
    assert texts(ws) == ["ours a", "theirs b", *list(TEXTS.values())[2:], "theirs nine"]
    assert [clip.text for clip in read_clips(ws)] == [*TEXTS.values(), "tisa"]
    held = corrections.in_force(ws)[b]
    assert held.by == "juma" and finish(merge(ws, [other.root])).corrections == 0


def test_a_cut_divides_the_corrected_text_and_writes_the_source_s(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pieces have parts of the corrected text; the long clip keeps its own."""
    first = Corpus.open(ws).clips[0]
    correct_clip(ws, first.id, "moja mbili", by="amina")
    corpus = Corpus.open(ws)
    parts = tuple(
        replace(corpus.clips[0], id=f"p{n}", text=text, seconds=0.5) for n, text in enumerate(("moja", "mbili"))
    )
    aligned = tuple(Alignment(id=one.id, seconds=0.5, words=(), phones=(), method="ctc") for one in parts)
    cut._write(ws, corpus, [cut._Plan(corpus.clips[0], parts, aligned)])
    assert texts(ws)[:3] == ["moja mbili", "moja", "mbili"] and read_clips(ws)[0].text == TEXTS[1]
    correct_clip(ws, "p1", "mbili tu", by="amina")
    cut.undo_cut(ws)
    assert texts(ws) == ["moja mbili", *list(TEXTS.values())[1:]] and read_clips(ws)[0].text == TEXTS[1]


def test_a_held_table_follows_decisions_and_corrections(ws: Workspace, source: Path) -> None:
    questions = [
        (None, None),
        ('letters > 15 and decision != "drop"', None),
        ("letters > 14", "-letters"),
        (None, "text"),
    ]
    table = ClipTable(ws)

    def follows() -> bool:
        anew = ClipTable(ws)
        return all(
            table.page(expression=expression, sort=sort) == clips(ws, expression=expression, sort=sort)
            and table.facets(expression=expression, sort=sort) == anew.facets(expression=expression, sort=sort)
            for expression, sort in questions
        )

    assert follows()
    a, b, *rest = (row["id"] for row in table.page().rows)
    assert (
        [row["id"] for row in table.page(expression=questions[1][0]).rows]
        == [b]
        == table.ids(expression=questions[1][0])
    )
    assert table.facets()["decision"] == {"": len(rest) + 2} and sum(table.facets()["split"].values()) == len(rest) + 2
    read_once = table._corpus
    decide(ws, [b], decision="drop")
    correct_clip(ws, rest[0], "Habari namba tatu, na mengi zaidi", by="amina")
    assert [row["id"] for row in table.page(expression=questions[1][0]).rows] == [rest[0]] and follows()
    assert table._corpus is not read_once and table._corpus.places is read_once.places  # not read anew
    decide(ws, rest, decision="drop")
    undo_corrections(ws)
    assert follows() and table.page().rows[2]["corrected"] == ""
    correct_clip(ws, a, "x", by="amina")
    corrections.journal(ws).replace([])
    assert follows() and table._corpus.places is read_once.places
    finish(import_source(ws, made(source.parent / "more", {9: "tisa"})))
    assert follows() and table.page(start=4, limit=1).rows == clips(ws).rows[4:5] and table.page().total == 6


def test_an_old_workspace_gives_its_mute_clips_a_side_with_their_first_text(tmp_path: Path) -> None:
    """Once, a clip without a text had none; a text alone must not leave it out for ever."""
    ws = Workspace.create(tmp_path / "ws", language="swa")
    finish(import_source(ws, made(tmp_path / "in", {n: f"text {n}" for n in range(40)})))
    every = [replace(clip, text="") for clip in read_clips(ws)]
    Corpus.save(ws, every, list(Corpus.open(ws).sources.values()), {clip.id: None for clip in every})
    assert {Corpus.open(ws).split(clip) for clip in Corpus.open(ws)} == {None}
    data = "".join(f"{clip.id}|text {number}\n" for number, clip in enumerate(every[:30])).encode()
    done = correct_file(ws, data, name="x")
    corpus = Corpus.open(ws)
    assert done.first == 30 and {corpus.split(clip) for clip in corpus.clips[:30]} >= {"train"}
    assert {corpus.split(clip) for clip in corpus.clips[30:]} == {None} and None not in read_sides(ws).values()


def test_sides_of_first_texts_can_be_chosen_anew_where_none_validates(tmp_path: Path) -> None:
    ws = Workspace.create(tmp_path / "ws", language="swa")
    finish(import_source(ws, made(tmp_path / "in", {n: f"text {n}" for n in range(12)})))
    every = [replace(clip, text="") for clip in read_clips(ws)]
    Corpus.save(ws, every, list(Corpus.open(ws).sources.values()), {clip.id: "train" for clip in every})
    data = "".join(f"{clip.id}|text {number}\n" for number, clip in enumerate(every[:6])).encode()
    (note,) = correct_file(ws, data, name="x").notes
    assert "no clip with a text is on the valid side" in note and f"olu split {ws.root}" in note
    split_corpus(ws)
    corpus = Corpus.open(ws)
    assert "valid" in {corpus.split(clip) for clip in corpus}


AS_IMPORTED = {  # who may read the manifest without what people corrected, and why
    "corpus/sources.py": "reads it",
    "corpus/manifest.py": "lays the corrections over",
    "corpus/intake/held.py": "an import compares with what the source had",
    "stages/decide.py": "only which ids there are",
    "stages/correct.py": "writes the corrections",
    "stages/unpack.py": "only which ids there are",
}
ASIDE = re.compile(r"read_clips|clips_named|check_inside|clips_path")


def test_every_other_reader_of_texts_goes_through_the_corpus() -> None:
    root = Path(olu.__file__).parent
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if ASIDE.search(path.read_text(encoding="utf-8"))
        or re.search(r'read_\w+\([^)]*"clips\.jsonl"', path.read_text(encoding="utf-8"))
    }
    assert found == set(AS_IMPORTED)

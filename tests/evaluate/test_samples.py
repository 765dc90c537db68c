"""Which sentences are spoken, by whom, and what is left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from olu.audio import io
from olu.core.errors import AudioError, ConfigError, TextError, WorkspaceError
from olu.core.files import Workspace, write_jsonl
from olu.core.types import Audio, Clip, Split
from olu.corpus.manifest import Corpus
from olu.corpus.sources import Source
from olu.evaluate.evaluation import Sample, Subject
from olu.evaluate.sentences import PlannedSentence, file_notes, file_takes, lines_for, spoken_takes
from olu.evaluate.subject import Speaker, of_files

from ..helpers.judged import reading, voice

SIDES: dict[str, Split] = {"a1": "train", "a2": "test", "a3": "valid", "b1": "train", "b2": "test", "b3": "valid"}


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    ws = Workspace.create(tmp_path / "ws", language="swa")
    clips = []
    for id in SIDES:
        io.write(tmp_path / "sound" / f"{id}.wav", voice(1.0))
        text = "Habari za asubuhi, rafiki yangu?" if id == "a1" else f"sentensi ya {id}"
        clips.append(
            Clip(id=id, audio=f"s1/{id}.wav", seconds=1.0, rate=16000, text=text, language="swa", speaker=id[0])
        )
    Corpus.save(ws, clips, [Source(name="s1", root=str(tmp_path / "sound"), layout="folder")], SIDES)
    return Corpus.open(ws)


def speaker(*names: str) -> Speaker:
    def say(text: str, who: str) -> Audio:
        if text == "!":
            raise TextError("nothing to say")
        return voice(1.0, hertz=100.0 if who == "a" else 160.0)

    subject = Subject(name="v", kind="voice", path="v", fingerprint="v", language="swa")
    return Speaker(subject, say, names, reading)


def ids(corpus: Corpus | None, by: Speaker, sentences: int = 50) -> list[str]:
    return [line.id for line in lines_for(corpus, by, sentences=sentences, texts=None) if line.domain == "in"]


def test_test_clips_come_before_valid_ones_and_train_clips_never(corpus: Corpus) -> None:
    assert ids(corpus, speaker("default")) == ["a2", "b2", "a3", "b3"]
    assert ids(corpus, speaker("default"), 2) == ["a2", "b2"] and ids(corpus, speaker("default"), 3)[2:] == ["a3"]


def test_a_voice_of_several_people_says_only_what_its_own_people_said(corpus: Corpus) -> None:
    assert ids(corpus, speaker("b", "c")) == ["b2", "b3"]


def test_one_speaker_of_several_says_what_that_person_said_or_what_a_corpus_of_one_has(corpus: Corpus) -> None:
    def named(who: str) -> Speaker:
        held = speaker("a", "b")
        return replace(held, subject=replace(held.subject, speaker=who), speakers=(who,))

    lines = lines_for(corpus, named("b"), sentences=50, texts=None)
    assert [line.id for line in lines if line.domain == "in"] == ["b2", "b3"] and {line.who for line in lines} == {"b"}
    of_one = Corpus(corpus.ws, tuple(clip for clip in corpus if clip.speaker == "a"), corpus.sources)
    other = [line for line in lines_for(of_one, named("zed"), sentences=50, texts=None) if line.domain == "in"]
    assert [(line.id, line.who, line.recorded) for line in other] == [("a2", "zed", "a"), ("a3", "zed", "a")]
    with pytest.raises(ConfigError, match=r"--speaker zed: the recordings in .* are of a, b"):
        lines_for(corpus, named("zed"), sentences=50, texts=None)


def test_sentences_of_the_language_leave_out_those_of_the_corpus(corpus: Corpus) -> None:
    lines = [line for line in lines_for(corpus, speaker("a", "b"), sentences=50, texts=None) if line.domain == "out"]
    assert len(lines) == 25 and "Habari za asubuhi, rafiki yangu?" not in {line.text for line in lines}
    assert [line.who for line in lines[:4]] == ["a", "b", "a", "b"]  # they take turns


def test_what_cannot_be_said_is_named_and_the_rest_goes_on(corpus: Corpus, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("!\nmama anapika\n", encoding="utf-8")
    lines = lines_for(None, speaker("a"), sentences=5, texts=texts)
    found = list(spoken_takes(lines, speaker("a"), folder=tmp_path / "wavs", corpus=None, read=reading))
    assert found[0] == "other-001 could not be said: nothing to say"
    assert isinstance(found[1], Sample) and found[1].natural is None and found[1].spoken().seconds == 1.0
    (tmp_path / "empty.txt").touch()
    with pytest.raises(ConfigError, match=r"empty.txt is empty"):
        lines_for(None, speaker("a"), sentences=5, texts=tmp_path / "empty.txt")


def test_without_a_corpus_and_sentences_the_corpus_is_asked_for(corpus: Corpus) -> None:
    alone = replace(speaker("a"), subject=replace(speaker("a").subject, language="wol"))
    with pytest.raises(WorkspaceError, match=r"nothing for v to say: wol has no sentences of its own; .* --corpus WS"):
        lines_for(None, alone, sentences=5, texts=None)


def test_odd_ids_make_plain_file_names(corpus: Corpus, tmp_path: Path) -> None:
    odd = Clip(id="x/../y z", audio="s1/a2.wav", seconds=1.0, rate=16000, text="mama", language="swa")
    lines = [PlannedSentence(odd.id, "mama", "in", odd)]
    (take,) = spoken_takes(lines, speaker("a"), folder=tmp_path / "w", corpus=corpus, read=reading)
    assert isinstance(take, Sample) and take.wav == "sentence-0001.wav" and (tmp_path / "w" / take.wav).is_file()


def test_files_find_their_clips_by_name_or_by_text(corpus: Corpus, tmp_path: Path) -> None:
    io.write(tmp_path / "mine" / "a2.wav", voice(1.0))
    io.write(tmp_path / "mine" / "unknown.wav", voice(1.0))
    files = of_files(tmp_path / "mine", language="swa")
    (take,) = file_takes(files, corpus, folder=tmp_path / "out", read=reading)
    assert take.id == "a2" and take.natural is not None and (tmp_path / "out" / "a2.wav").is_file()
    table = tmp_path / "table.csv"
    table.write_text("file|text\nmine/a2.wav|sentensi ya b3\nmine/unknown|kitu kipya\n", encoding="utf-8")
    takes = list(file_takes(of_files(table, language="swa"), corpus, folder=tmp_path / "two", read=reading))
    assert [(one.id, one.domain) for one in takes] == [("b3", "in"), ("other-002", "out")]


def test_files_that_do_not_fit_are_said(corpus: Corpus, tmp_path: Path) -> None:
    io.write(tmp_path / "mine" / "unknown.wav", voice(1.0))
    with pytest.raises(WorkspaceError, match="name them by clip id"):
        list(file_takes(of_files(tmp_path / "mine", language="swa"), corpus, folder=tmp_path / "o", read=reading))
    table = tmp_path / "table.csv"
    table.write_text("gone.wav|text\n", encoding="utf-8")
    with pytest.raises(AudioError, match=r"line 1: gone.wav is not beside the table"):
        of_files(table, language="swa")
    table.write_text("mine/unknown.wav\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"line 1 is not file\|text"):
        of_files(table, language="swa")
    (tmp_path / "none").mkdir()
    with pytest.raises(WorkspaceError, match="holds no sound files"):
        of_files(tmp_path / "none", language="swa")


def test_several_files_of_one_text_are_judged_each(corpus: Corpus, tmp_path: Path) -> None:
    io.write(tmp_path / "mine" / "one.wav", voice(1.0))
    io.write(tmp_path / "mine" / "two.wav", voice(2.0))
    (tmp_path / "mine" / "two.txt").write_text("sentensi ya a2", encoding="utf-8")  # no sound, though named alike
    table = tmp_path / "table.csv"
    table.write_text("mine/one.wav|sentensi ya a2\nmine/two|sentensi ya a2\n", encoding="utf-8")
    takes = list(file_takes(of_files(table, language="swa"), corpus, folder=tmp_path / "out", read=reading))
    assert [take.spoken().seconds for take in takes] == [1.0, 2.0] and len({take.id for take in takes}) == 2
    assert all(take.domain == "in" and take.natural is not None for take in takes)


def test_samples_that_are_no_numbers_are_still_none_when_judged(corpus: Corpus, tmp_path: Path) -> None:
    broken = voice(1.0).samples.copy()
    broken[500:600] = np.nan
    (tmp_path / "mine").mkdir()
    soundfile.write(tmp_path / "mine" / "a2.wav", broken, 16000, subtype="FLOAT")
    files = of_files(tmp_path / "mine", language="swa")
    (take,) = file_takes(files, corpus, folder=tmp_path / "out", read=reading)
    assert int(np.isnan(take.spoken().samples).sum()) == 100


def test_files_that_are_not_judged_or_were_learnt_from_are_named(corpus: Corpus, tmp_path: Path) -> None:
    for name in ("a1", "a2", "strange"):
        io.write(tmp_path / "mine" / f"{name}.wav", voice(1.0))
    notes = file_notes(of_files(tmp_path / "mine", language="swa"), corpus)
    assert "1 files have the name of no clip and were not judged, such as strange.wav" in notes[0]
    assert "1 files are of clips of the train side" in notes[1] and len(notes) == 2


def test_clips_whose_recording_changed_are_left_out_and_named(corpus: Corpus, tmp_path: Path) -> None:
    sounds = tmp_path / "sound"
    states = {id: (sounds / f"{id}.wav").stat() for id in SIDES}
    write_jsonl(
        corpus.ws.corpus / "files.jsonl",
        [
            {"audio": f"s1/{id}.wav", "sha256": "", "bytes": state.st_size, "mtime_ns": state.st_mtime_ns}
            for id, state in states.items()
        ],
    )
    for name in ("a2", "a3", "b2"):
        io.write(tmp_path / "mine" / f"{name}.wav", voice(1.0))
    io.write(sounds / "a2.wav", voice(2.0))
    assert ids(corpus, speaker("default")) == ["b2", "a3", "b3"]
    files = of_files(tmp_path / "mine", language="swa")
    takes = list(file_takes(files, corpus, folder=tmp_path / "out", read=reading))
    assert sorted(take.id for take in takes) == ["a3", "b2"] and all(take.natural and take.natural() for take in takes)
    assert any("1 recording changed since it was imported" in note for note in file_notes(files, corpus))
    line = PlannedSentence("a2", "sentensi ya a2", "in", next(clip for clip in corpus if clip.id == "a2"))
    (take,) = spoken_takes([line], speaker("a"), folder=tmp_path / "wavs", corpus=corpus, read=reading)
    assert isinstance(take, Sample) and take.natural is None  # nothing to hold it against


def test_text_that_is_not_utf_8_is_said(corpus: Corpus, tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_bytes("caf\xe9\n".encode("latin-1"))
    with pytest.raises(ConfigError, match=r"bad.txt is not text in UTF-8"):
        lines_for(corpus, speaker("a"), sentences=5, texts=bad)
    with pytest.raises(ConfigError, match=r"bad.txt is not text in UTF-8"):
        of_files(bad, language="swa")

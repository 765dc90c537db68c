from __future__ import annotations

import numpy as np
import pytest

from olu.audio import io
from olu.core.errors import CorpusError
from olu.core.files import Workspace
from olu.core.job import finish
from olu.core.types import Audio
from olu.corpus.manifest import Corpus
from olu.corpus.readers.parts import natural
from olu.stages.import_ import import_source

RATE = 8000
TEXT = "Hapo zamani za kale palikuwa na sungura.\n\nSungura huyo aliishi msituni.\n"


def tone(number: int, seconds: float, rate: int = RATE) -> Audio:
    time = np.arange(round(seconds * rate)) / rate
    return Audio((0.2 * np.sin(2 * np.pi * (200 + 50 * number) * time)).astype(np.float32), rate)


@pytest.fixture
def book(tmp_path):
    folder = tmp_path / "book"
    folder.mkdir()
    for number, ending in ((1, "wav"), (2, "flac"), (10, "wav")):
        io.write(folder / f"part {number}.{ending}", tone(number, number))
    (folder / "kitabu.txt").write_text(TEXT, encoding="utf-8")
    return folder


@pytest.fixture
def ws(tmp_path):
    return Workspace.create(tmp_path / "ws", language="swa")


def test_names_are_sorted_as_people_count():
    names = ["Part 10.mp3", "part 2.mp3", "part 1b.mp3", "part 1.mp3", "intro.mp3"]
    assert sorted(names, key=natural) == ["intro.mp3", "part 1.mp3", "part 1b.mp3", "part 2.mp3", "Part 10.mp3"]


def test_one_text_belongs_to_all_parts_joined_in_their_order(book, ws):
    summary = finish(import_source(ws, book))
    assert summary.layout == "parts" and "one text for 3 recordings" in summary.why
    assert any("in this order: part 1.wav, part 2.flac, part 10.wav" in note for note in summary.notes)
    (clip,) = Corpus.open(ws)
    assert clip.text == TEXT.removesuffix("\n") and clip.seconds == pytest.approx(13.0)
    heard = Corpus.open(ws).audio(clip)
    for start, number in ((0.2, 1), (1.5, 2), (5.0, 10)):
        piece = heard.samples[round(start * RATE) : round((start + 0.5) * RATE)]
        peak = np.abs(np.fft.rfft(piece)).argmax() * RATE / len(piece)
        assert peak == pytest.approx(200 + 50 * number, abs=5)


def test_the_same_parts_again_add_nothing_and_a_dry_run_writes_nothing(book, ws, tmp_path):
    dry = Workspace.create(tmp_path / "dry", language="swa")
    assert finish(import_source(dry, book, dry_run=True)).added == 1
    assert not (dry.corpus / "clips.jsonl").exists()
    assert finish(import_source(ws, book)).added == 1
    again = finish(import_source(ws, book))
    assert (again.added, again.already) == (0, 1)


def test_parts_of_another_rate_are_resampled(book, ws):
    io.write(book / "part 11.wav", tone(1, 1.0, rate=16000))
    finish(import_source(ws, book))
    assert Corpus.open(ws).clips[0].seconds == pytest.approx(14.0, abs=0.01)


def test_a_part_that_cannot_be_read_is_named_and_the_others_are_joined(book, ws):
    (book / "part 3.wav").write_bytes(b"RIFF nothing")
    summary = finish(import_source(ws, book))
    assert summary.added == 1 and any("part 3.wav" in said for said in summary.skipped)


def test_one_recording_and_one_text_belong_together_whatever_their_names(tmp_path, ws):
    folder = tmp_path / "radio"
    folder.mkdir()
    io.write(folder / "2024-01-01.wav", tone(1, 2.0))
    (folder / "habari.text").write_text(TEXT, encoding="utf-8")
    summary = finish(import_source(ws, folder))
    assert "the one text beside 2024-01-01.wav" in summary.why
    assert Corpus.open(ws).clips[0].audio.endswith("2024-01-01.wav")


def test_two_texts_of_other_names_are_one_sentence(book, ws):
    (book / "other.txt").write_text(TEXT, encoding="utf-8")
    with pytest.raises(CorpusError, match=r"3 recordings and 2 texts \(kitabu.txt, other.txt\) of other names"):
        finish(import_source(ws, book))


def test_a_list_of_recordings_is_no_text_of_all(book, ws):
    (book / "kitabu.txt").write_text("part 1.wav habari\npart 2.flac sana\npart 10.wav leo\n", encoding="utf-8")
    with pytest.raises(CorpusError):
        finish(import_source(ws, book))

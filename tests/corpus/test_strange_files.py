"""Single files that are strange: headers that lie, line ends of old programs, texts in UTF-16."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile

from olu.audit import measure as hear
from olu.audit.checks import recording
from olu.audit.sound import SoundFacts, measure
from olu.audit.thresholds import Thresholds
from olu.core.errors import AudioError
from olu.core.files import Workspace, read_jsonl
from olu.core.job import finish
from olu.core.types import Audio
from olu.corpus.intake.stream import facts_of
from olu.corpus.manifest import Corpus
from olu.stages.fix import fix
from olu.stages.import_ import ImportSummary, import_source


def wav(path: Path, *, rate: int | None = None, seed: int = 0) -> Path:
    """Noise; `rate`: what its header says instead of the truth."""
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(str(path), np.random.default_rng(seed).uniform(-0.1, 0.1, 8000), 16000, subtype="PCM_16")
    if rate is not None:
        data = bytearray(path.read_bytes())
        data[24:28] = struct.pack("<I", rate)
        path.write_bytes(data)
    return path


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws", language="swa")


def bring(ws: Workspace, source: Path) -> ImportSummary:
    return finish(import_source(ws, source))


def lj(folder: Path, metadata: bytes, *, clips: int = 4) -> Path:
    for n in range(clips):
        wav(folder / "wavs" / f"c{n}.wav", seed=n)
    (folder / "metadata.csv").write_bytes(metadata)
    return folder


LINES = [f"c{n}|habari ya {'ko' * (n + 1)}" for n in range(4)]
TEXTS = [line.partition("|")[2] for line in LINES]


@pytest.mark.parametrize("rate", [1, 100, 999, 768_001, 2**31 - 1])
def test_a_header_with_a_rate_that_cannot_be_costs_its_row_alone(ws: Workspace, tmp_path: Path, rate: int) -> None:
    source = lj(tmp_path / "in", "\n".join(LINES).encode())
    wav(source / "wavs" / "c2.wav", rate=rate)
    summary = bring(ws, source)
    assert summary.added == 3
    (problem,) = read_jsonl(ws.corpus / "problems.jsonl")
    assert problem["where"] == "metadata.csv line 3"
    assert problem["problem"] == f"wavs/c2.wav cannot be right, its header says {rate} Hz: export it again"
    assert f"its header says {rate} Hz" in facts_of((source / "wavs" / "c2.wav").read_bytes())


@pytest.mark.parametrize("rate", [1000, 768_000])
def test_the_outermost_rates_are_heard(rate: int) -> None:
    for count in (1, 10, rate):
        assert measure(Audio(np.full(count, 0.1, np.float32), rate)).rate == rate
    sound = io.BytesIO()
    soundfile.write(sound, np.zeros(10), rate, format="WAV")
    assert not isinstance(facts_of(sound.getvalue()), str)


def test_a_clip_that_cannot_be_measured_stops_no_audit(
    ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(ws, lj(tmp_path / "in", "\n".join(LINES).encode()))

    def strange(audio: Audio) -> SoundFacts:
        if np.array_equal(audio.samples, bad.samples):
            raise ZeroDivisionError("division by zero")
        return measure(audio)

    corpus = Corpus.open(ws)
    bad = corpus.audio(corpus.clips[1])
    monkeypatch.setattr(hear, "measure", strange)
    decided = finish(fix(ws)).decisions
    found = [row for row in read_jsonl(ws.audit_folder / "audit.jsonl") if row["check"] == "unreadable"]
    assert [(row["id"], row["severity"]) for row in found] == [(corpus.clips[1].id, "warn")]
    assert corpus.clips[1].id not in {one.id for one in decided}  # whose fault it is, is not known
    assert "c1.wav cannot be measured (ZeroDivisionError: division by zero)" in found[0]["message"]


def test_a_strange_fault_of_a_decoder_is_the_files_and_want_of_memory_is_not(
    ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(ws, lj(tmp_path / "in", "\n".join(LINES).encode()))
    corpus = Corpus.open(ws)

    def fails_with(fault: Exception) -> None:
        def fail(*args: object, **options: object) -> None:
            raise fault

        monkeypatch.setattr(Corpus, "audio", fail)

    fails_with(ValueError("odd"))
    heard = hear.hear(corpus, corpus.clips[0])
    mark = recording._judge_unreadable(heard, Thresholds())
    assert mark and mark.severity == "error" and "cannot be decoded (ValueError: odd)" in mark.message
    fails_with(MemoryError())
    with pytest.raises(MemoryError):
        list(hear.hear_all(corpus, workers=2))


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n", "\r\r\n"])
def test_any_line_end_ends_a_line(ws: Workspace, tmp_path: Path, end: str) -> None:
    summary = bring(ws, lj(tmp_path / "in", (end.join(LINES) + end).encode()))
    assert (summary.layout, summary.added, summary.skipped) == ("ljspeech", 4, ())
    assert [clip.text for clip in Corpus.open(ws)] == TEXTS


def test_tables_with_returns_alone_are_read_too(ws: Workspace, tmp_path: Path) -> None:
    source = lj(tmp_path / "in", b"")
    (source / "metadata.csv").unlink()
    rows = ["path,sentence", *(line.replace("|", ".wav,") for line in LINES)]
    (source / "table.csv").write_bytes("\r".join(rows).encode())
    summary = bring(ws, source)
    assert (summary.added, summary.skipped) == (4, ())
    assert [clip.text for clip in Corpus.open(ws)] == TEXTS


def test_a_text_beside_its_sound_keeps_no_return(ws: Workspace, tmp_path: Path) -> None:
    wav(tmp_path / "in" / "a.wav")
    (tmp_path / "in" / "a.txt").write_bytes(b"habari\r")
    bring(ws, tmp_path / "in")
    assert [clip.text for clip in Corpus.open(ws)] == ["habari"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16"])
@pytest.mark.parametrize("text", ["habari ya leo", "ሰላም ለዓለም ሁሉ ይሁን ዛሬ"])
def test_utf16_is_read_with_its_mark_and_without(ws: Workspace, tmp_path: Path, encoding: str, text: str) -> None:
    summary = bring(ws, lj(tmp_path / "in", "\n".join(f"c{n}|{text}" for n in range(4)).encode(encoding)))
    assert (summary.added, summary.skipped) == (4, ())
    assert {clip.text for clip in Corpus.open(ws)} == {text}
    assert any("metadata.csv is not UTF-8 and was read as UTF-16" in note for note in summary.notes)


def test_a_wrong_rate_is_no_sound_for_an_old_workspace_either(tmp_path: Path) -> None:
    from olu.audio.io import read

    with pytest.raises(AudioError, match="its header says 1 Hz: export it again"):
        read(wav(tmp_path / "a.wav", rate=1))

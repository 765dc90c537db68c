"""olu align with a made recogniser: it hears tones, each phone its own."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partialmethod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

import olu.align.aligner
import olu.core.stage
import olu.stages.align_listen
import olu.stages.listener
from olu.align.aligner import train_frames
from olu.align.state import alignment_path, fold_of, words_of
from olu.align.text_match import Match, read_match, write_match
from olu.audio import io
from olu.audio.io import resample
from olu.cli.main import app
from olu.core.errors import AlignError, ConfigError, CorpusError, MissingExtra
from olu.core.files import Workspace, read_json, read_jsonl, write_jsonl
from olu.core.job import Tick, finish
from olu.core.types import Alignment, Audio
from olu.corpus.hand_bounds import read_alignments
from olu.corpus.manifest import Corpus
from olu.evaluate.evaluation import References
from olu.stages.align import STAGE, align
from olu.stages.align_listen import halves_path, part_path
from olu.stages.audit import audit
from olu.stages.bounds import set_bounds
from olu.stages.correct import correct_clip, undo_corrections
from olu.stages.cut import cut
from olu.stages.import_ import import_source
from olu.stages.listener import _aligner
from olu.stages.long_path import FROM_CLIPS
from olu.stages.read import read_corpus
from olu.stages.status import status

from ..helpers.aligned_workspaces import PHONE_SECONDS, RATE, TEXTS, tone, workspace
from ..helpers.made_radio import MadeRadio, radio


@dataclass
class ToneEars:
    """Meets what `recogniser_for` gives."""

    symbols: tuple[str, ...]
    rate: int = RATE
    frame_seconds: float = 0.02
    version: str = "made-001"
    device: str = "cpu"
    natural_cer: float = 0.02
    calls: int = 0

    def ids(self, symbols: Sequence[str]) -> list[int]:
        known = {symbol: number for number, symbol in enumerate(self.symbols)}
        return [known[symbol] for symbol in symbols if symbol in known]

    def log_probs(self, audio: Audio) -> NDArray[np.float32]:
        self.calls += 1
        samples = resample(audio, self.rate).samples
        size = round(self.frame_seconds * self.rate)
        frames = samples[: len(samples) // size * size].reshape(-1, size)
        heard = np.abs(np.fft.rfft(frames * np.hanning(size), n=1024))
        prints = [
            np.abs(np.fft.rfft(tone(s, PHONE_SECONDS)[size : 2 * size] * np.hanning(size), n=1024))
            for s in self.symbols[1:]
        ]
        prints = [one / np.linalg.norm(one) for one in prints]
        likeness = heard @ np.array(prints).T / (np.linalg.norm(heard, axis=1, keepdims=True) + 1e-6)
        loud = np.sqrt((frames**2).mean(axis=1)) > 0.02
        scores = np.concatenate([np.where(loud, 0.0, 1.2)[:, None], np.where(loud[:, None], likeness, 0.0)], axis=1)
        scores = scores * 8
        found = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return found.astype(np.float32)


Ears = list[tuple[Path, dict[str, Any], set[str]]]


@pytest.fixture
def ears(monkeypatch: pytest.MonkeyPatch) -> Ears:
    """Every recogniser that was asked for: which workspace, how, and the clips it may learn from."""
    asked: Ears = []

    def made(ws: Workspace, **how: Any) -> Generator[Tick, None, ToneEars]:
        yield from audit(ws)
        yield from read_corpus(ws)
        corpus = Corpus.open(ws)
        assert corpus.audio(corpus.clips[0]).seconds > 0
        asked.append((ws.root, how, {clip.id for clip in corpus if corpus.is_wanted(clip)}))
        phones = {phone for clip in corpus for _, word in words_of(corpus.reading(clip)) for phone in word}
        return ToneEars(("_", *sorted(phones)))

    monkeypatch.setattr(olu.stages.listener, "recogniser_for", made)
    return asked


def texts(count: int) -> list[str]:
    """Sentences of two of the made ones each, all different."""
    return [f"{TEXTS[n % 12]} {TEXTS[(n * 5 + n // 12 + 1) % 12].lower()}" for n in range(count)]


def errors(found: Alignment, truth: Alignment) -> list[float]:
    pairs = zip([p for p in found.phones if p.label], [p for p in truth.phones if p.label], strict=True)
    return [abs(a.start - b.start) for a, b in pairs]


def test_without_the_extra_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    ws, _ = workspace(tmp_path)
    monkeypatch.setattr(olu.core.stage, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="olu align needs the package 'torch'"):
        finish(align(ws))


def test_words_and_phones_are_found_where_they_are(tmp_path: Path, ears: Ears):
    ws, truth = workspace(tmp_path)
    summary = finish(align(ws, ctc_only=True))
    assert (summary.method, summary.problems) == ("ctc", [])
    assert ears == [
        (ws.root, {"units": "symbols", "device": None, "everything": True, "force": False, "base": None}, set(truth)),
    ]
    assert summary.spread.words == sum(len(one.words) for one in truth.values())
    corpus = Corpus.open(ws)
    off = []
    for clip in corpus:
        found = corpus.alignment(clip)
        assert found is not None and found.score is not None
        assert [p.label for p in found.phones if p.label] == [p.label for p in truth[clip.id].phones if p.label]
        assert found.phones[0].start == 0 and found.phones[-1].end == pytest.approx(clip.seconds, abs=1e-3)
        off += errors(found, truth[clip.id])
    assert np.median(off) < 0.03


def test_it_runs_once_goes_on_where_it_was_killed_and_again_when_asked(tmp_path: Path, ears: Ears):
    ws, _ = workspace(tmp_path)
    work = align(ws, ctc_only=True)
    for tick in work:
        if isinstance(tick, Tick) and tick.what.startswith("clip05"):
            break
    work.close()
    assert not alignment_path(ws).exists() and STAGE.state(ws) != "fresh"
    with part_path(ws).open("a", encoding="utf-8") as broken:
        broken.write('{"key": "x", "ro')
    kept = len(part_path(ws).read_text(encoding="utf-8").splitlines()) - 1
    assert kept >= 4
    finish(align(ws, ctc_only=True))
    assert len(list(read_jsonl(alignment_path(ws)))) == len(TEXTS) and not part_path(ws).exists()
    before = alignment_path(ws).read_bytes()
    asked = len(ears)
    finish(align(ws, ctc_only=True))
    assert len(ears) == asked
    finish(align(ws, ctc_only=True, force=True))
    assert len(ears) == asked + 1 and alignment_path(ws).read_bytes() == before


def test_the_second_pass_finds_them_too_and_its_model_is_kept(
    tmp_path: Path, ears: Ears, monkeypatch: pytest.MonkeyPatch
):
    ws, truth = workspace(tmp_path, TEXTS[:3])
    trained = []

    def quickly(*items: Any, **how: Any) -> Any:
        trained.append(len(items[0]))
        return train_frames(*items, **how, rounds=1, gauss_rounds=2)

    monkeypatch.setattr(olu.align.aligner, "train_frames", quickly)
    assert finish(align(ws)).method == "frames"
    corpus = Corpus.open(ws)
    for clip in corpus:  # a taste of a training: how sharp it gets is tested with the model itself
        found = corpus.alignment(clip)
        assert found is not None
        assert [p.label for p in found.phones if p.label] == [p.label for p in truth[clip.id].phones if p.label]
    before = alignment_path(ws).read_bytes()
    ws.stamp_path("align").unlink()
    finish(align(ws))
    assert trained == [3] and alignment_path(ws).read_bytes() == before


def swap(ws: Workspace, pairs: Sequence[tuple[int, int]]) -> set[str]:
    """Exchange texts in the manifest, as a list with wrong lines would have; the ids that are wrong now."""
    rows = list(read_jsonl(ws.corpus / "clips.jsonl"))
    for a, b in pairs:
        rows[a]["text"], rows[b]["text"] = rows[b]["text"], rows[a]["text"]
    write_jsonl(ws.corpus / "clips.jsonl", rows)
    return {rows[at]["id"] for pair in pairs for at in pair}


def test_the_audit_finds_swapped_texts_and_no_others(tmp_path: Path, ears: Ears):
    ws, _ = workspace(tmp_path, texts(24))
    assert "mismatch" not in finish(audit(ws)).counts
    wrong = swap(ws, [(3, 17), (5, 20)])
    finish(align(ws, ctc_only=True))
    summary = finish(audit(ws))
    corpus = Corpus.open(ws)
    marked = {c.id for c in corpus for m in corpus.marks(c) if m.check == "mismatch" and m.severity == "error"}
    assert marked == wrong
    assert "Text of other speech" in summary.report.read_text(encoding="utf-8")
    assert "Not looked at before olu align" not in summary.report.read_text(encoding="utf-8")
    assert finish(audit(ws)).counts["mismatch"]["error"] == 4


def test_a_word_that_is_cut_off_is_marked(tmp_path: Path, ears: Ears):
    ws, truth = workspace(tmp_path, texts(24))
    rows = list(read_jsonl(ws.corpus / "clips.jsonl"))
    half = truth[rows[7]["id"]].words[-1]
    rows[7]["seconds"] = round(half.start + 0.3 * (half.end - half.start), 3)
    late = truth[rows[9]["id"]].phones[1]
    rows[9]["start"], rows[9]["seconds"] = late.start + 0.03, rows[9]["seconds"] - late.start - 0.03
    write_jsonl(ws.corpus / "clips.jsonl", rows)
    finish(align(ws, ctc_only=True))
    finish(audit(ws))
    corpus = Corpus.open(ws)
    marks = {c.id: m for c in corpus for m in corpus.marks(c) if m.check == "cut_off"}
    assert set(marks) == {rows[7]["id"], rows[9]["id"]}
    assert marks[rows[7]["id"]].severity == "warn" and half.label in marks[rows[7]["id"]].message
    assert "very start" in marks[rows[9]["id"]].message


def test_crossed_scores_come_from_recognisers_of_the_other_half(tmp_path: Path, ears: Ears):
    ws, truth = workspace(tmp_path, texts(24))
    summary = finish(align(ws, ctc_only=True, cross=True))
    assert [where.name for where, _, _ in ears] == ["ws", "1", "2"]
    assert summary.notes == []
    for fold, (_, _, learnt) in enumerate(ears[1:]):
        assert 0 < len(learnt) < 24 and learnt == {id for id in truth if fold_of(id) != fold}
    assert not halves_path(ws).exists()
    found = read_match(ws)
    assert len(found) == 24 and all(len(one.chance) == 4 and one.first for one in found.values())
    assert all(one.score is not None and one.score > max(one.chance) for one in found.values())
    asked = len(ears)
    finish(align(ws, ctc_only=True))  # a crossed one also stands for a plain one
    assert len(ears) == asked


def test_the_command_line(tmp_path: Path, ears: Ears):
    ws, truth = workspace(tmp_path)
    run = CliRunner().invoke
    done = run(app, ["align", str(ws.root), "--ctc-only", "--textgrid", str(tmp_path / "out.tar.gz"), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["textgrids"] == len(truth)
    words = run(app, ["align", str(ws.root), "--durations", str(tmp_path / "d.jsonl")])
    assert words.exit_code == 0 and "12 clips with their frames" in words.stdout and "mean score" in words.stdout
    back = run(app, ["align", str(ws.root), "--from", str(tmp_path / "out.tar.gz"), "--json"])
    assert json.loads(back.stdout)["method"] == "textgrid" and json.loads(back.stdout)["problems"] == []
    cut = run(app, ["cut", str(ws.root), "--longest", "2", "--json"])
    assert cut.exit_code == 0 and len(json.loads(cut.stdout)["cut"]) > 0
    undo = run(app, ["cut", str(ws.root), "--undo"])
    assert "are whole again" in undo.stdout
    for wrong in (["--frames", "all"], ["--hop", "200"], ["--rate", "24000"], ["--from", str(tmp_path), "--ctc-only"]):
        assert run(app, ["align", str(ws.root), *wrong]).exit_code != 0
    assert read_json(ws.stamp_path("align"))["summary"]["method"] == "textgrid"


def test_a_recogniser_that_hears_nothing_aligns_nothing(tmp_path: Path, ears: Ears, monkeypatch: pytest.MonkeyPatch):
    ws, truth = workspace(tmp_path)
    monkeypatch.setattr(ToneEars, "__init__", partialmethod(ToneEars.__init__, natural_cer=1.0))
    run, grids = CliRunner().invoke, tmp_path / "out"
    words = ["align", str(ws.root), "--ctc-only", "--textgrid", str(grids)]
    refused = run(app, words)
    assert isinstance(refused.exception, AlignError) and not grids.exists() and not alignment_path(ws).exists()
    assert "hears 100% of the texts otherwise, in clips it has learnt from" in str(refused.exception)
    assert "--force" in str(refused.exception)
    taken = run(app, [*words, "--force"])
    assert taken.exit_code == 0 and len(list(grids.iterdir())) == len(truth)
    for said in (taken, run(app, words)):  # the second time nothing is done, and it is said again
        assert "Do not trust this alignment" in " ".join(said.output.split())


def test_texts_that_nobody_can_judge_are_named_before_training(tmp_path: Path, ears: Ears):
    ws, _ = workspace(tmp_path, texts(40))
    corpus = Corpus.open(ws)
    ids = [clip.id for clip in corpus]
    write_match(ws, [(id, Match(score=-1.0, chance=(-1.0, -0.9, -1.1, -1.0), cer=0.9)) for id in ids])
    finish(audit(ws, force=True))
    found = status(ws)
    assert any("cannot tell right texts from wrong ones" in doubt for doubt in found.doubts)
    report = ws.audit_folder / "report.html"
    assert found.next.startswith(f"listen to clips in {report}; if their texts are right, olu train ")
    shown = " ".join(CliRunner().invoke(app, ["audit", str(ws.root)]).output.split())
    assert f"Next: {found.next}" in shown


def test_a_clip_with_too_much_text_is_named_and_the_others_are_aligned(tmp_path: Path, ears: Ears):
    ws, _ = workspace(tmp_path)
    rows = list(read_jsonl(ws.corpus / "clips.jsonl"))
    rows[2]["text"] = " ".join(TEXTS * 3)
    write_jsonl(ws.corpus / "clips.jsonl", rows)
    summary = finish(align(ws, ctc_only=True))
    assert summary.spread.clips == len(TEXTS) - 1
    (why,) = summary.problems
    assert rows[2]["id"] in why
    assert STAGE.state(ws) == "fresh"


def test_a_long_recording_is_aligned_in_pieces_and_cut(tmp_path: Path, ears: Ears, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(olu.stages.align_listen, "LONG_SECONDS", 30.0)
    monkeypatch.setattr(olu.stages.align_listen, "CHUNK_SECONDS", 7.0)
    text = ". ".join(texts(24))
    ws, truth = workspace(tmp_path, [text, *TEXTS], pauses=(0.3, 0.15))
    finish(align(ws, ctc_only=True))
    corpus = Corpus.open(ws)
    long = max(corpus, key=lambda clip: clip.seconds)
    found = corpus.alignment(long)
    assert long.seconds > 60 and found is not None
    assert np.median(errors(found, truth[long.id])) < 0.05
    done = finish(cut(ws))
    pieces = [clip for clip in Corpus.open(ws) if clip.id in done.cut[long.id]]
    assert " ".join(clip.text for clip in pieces).split() == text.split()
    words = truth[long.id].words
    for piece in pieces:
        edges = (piece.start, piece.start + piece.seconds)
        assert piece.seconds <= 20 and not any(w.start + 0.02 < at < w.end - 0.02 for w in words for at in edges)


def test_a_cut_while_aligning_keeps_the_rows_of_its_pieces(tmp_path: Path, ears: Ears):
    ws, _ = workspace(tmp_path, texts(12), pauses=(0.3, 0.15))
    finish(align(ws, ctc_only=True))
    longest = max(clip.seconds for clip in Corpus.open(ws)) - 0.5
    again = align(ws, ctc_only=True, force=True)
    while not part_path(ws).exists():
        next(again)
    pieces = {id for ids in finish(cut(ws, longest=longest)).cut.values() for id in ids}
    cut_then = {id: one for id, one in read_alignments(ws).items() if id in pieces}
    assert pieces == set(cut_then)
    finish(again)
    assert {id: one for id, one in read_alignments(ws).items() if id in pieces} == cut_then
    assert STAGE.state(ws) == "stale", "clips came while it was made"


def test_words_said_otherwise_are_named_in_pieces_too(tmp_path: Path, ears: Ears):
    ws, _ = workspace(tmp_path, texts(24))
    finish(align(ws, ctc_only=True))
    assert finish(audit(ws)).counts["unheard"]["warn"] == 0
    rows = list(read_jsonl(alignment_path(ws)))
    for word in rows[3]["words"][-2:]:
        word[3] = -30.0
    names = " ".join(word[0] for word in rows[3]["words"][-2:])
    write_jsonl(alignment_path(ws), rows)
    (ws.root / "thresholds.toml").write_text("unheard_share = 0.5\n", encoding="utf-8")
    assert finish(audit(ws)).counts["unheard"]["warn"] == 0  # of the whole clip they are few
    longest = rows[3]["seconds"] - 0.8
    pieces = finish(cut(ws, longest=longest)).cut[rows[3]["id"]]
    (ws.root / "thresholds.toml").write_text("", encoding="utf-8")
    finish(audit(ws))
    corpus = Corpus.open(ws)
    marks = {c.id: m for c in corpus for m in corpus.marks(c) if m.check == "unheard"}
    (found,) = set(marks) & set(pieces)
    assert rows[3]["id"] not in marks and marks[found].severity == "warn" and f": {names} at " in marks[found].message


def test_boundaries_set_by_hand_survive_and_another_text_drops_them(tmp_path: Path, ears: Ears):
    ws, _ = workspace(tmp_path, TEXTS[:4])
    finish(align(ws, ctc_only=True))
    before = alignment_path(ws).read_bytes()
    first, second = Corpus.open(ws).clips[:2]
    moved = {}
    for clip in (first, second):
        base = read_alignments(ws)[clip.id]
        phones = [[one.label, one.start, one.end] for one in base.phones]
        phones[1][2] = phones[2][1] = phones[1][2] + 0.015
        set_bounds(ws, base, [tuple(one) for one in phones], by="amina")  # type: ignore[misc]
        moved[clip.id] = phones[1][2]
    for force in (False, True):
        told = finish(align(ws, ctc_only=True, force=force))
        assert alignment_path(ws).read_bytes() == before  # what the aligner found stays on record
        for clip in (first, second):
            found = Corpus.open(ws).alignment(clip)
            assert found is not None and found.method == "hand" and found.score is None
            assert found.phones[1].end == pytest.approx(moved[clip.id], abs=1e-4)
            assert all(a.end == b.start for a, b in zip(found.phones, found.phones[1:], strict=False))
    assert "2 clips keep the boundaries set by hand" in told.notes
    correct_clip(ws, first.id, TEXTS[7], by="amina")
    told = finish(align(ws, ctc_only=True))
    assert f"text is read otherwise now: {first.id};" in " ".join(told.notes)
    corpus = Corpus.open(ws)
    assert corpus.alignment(first).method == "ctc" and corpus.alignment(second).method == "hand"  # type: ignore[union-attr]
    assert STAGE.state(ws) == "fresh"
    undo_corrections(ws, clip=first.id)
    finish(align(ws, ctc_only=True))
    assert Corpus.open(ws).alignment(first).method == "hand"  # type: ignore[union-attr]


def test_pieces_of_a_clip_with_boundaries_set_by_hand_have_them_too(tmp_path: Path, ears: Ears):
    ws, _ = workspace(tmp_path, [". ".join(texts(12)), *TEXTS[:3]], pauses=(0.3, 0.15))
    finish(align(ws, ctc_only=True))
    long = max(Corpus.open(ws), key=lambda clip: clip.seconds)
    base = read_alignments(ws)[long.id]
    phones = [[one.label, one.start, one.end] for one in base.phones]
    phones[1][2] = phones[2][1] = phones[1][2] + 0.02
    set_bounds(ws, base, [tuple(one) for one in phones], by="amina")  # type: ignore[misc]
    done = finish(cut(ws))
    finish(align(ws, ctc_only=True, force=True))
    corpus = Corpus.open(ws)
    piece = next(clip for clip in corpus if clip.id == done.cut[long.id][0])
    found = corpus.alignment(piece)
    assert found is not None and found.method == "hand"
    assert found.phones[1].end + piece.start - long.start == pytest.approx(phones[1][2], abs=2e-3)


def spoken_clips(folder: Path, count: int) -> tuple[Workspace, list[MadeRadio]]:
    """Made speech as short clips, whose sounds are like their signs."""
    source = folder / "spoken"
    source.mkdir()
    made = [radio(seed, sentences=2) for seed in range(count)]
    for number, one in enumerate(made):
        io.write(source / f"c{number:02}.wav", one.audio)
        (source / f"c{number:02}.txt").write_text(one.text, encoding="utf-8")
    ws = Workspace.create(folder / "ws", language="swa")
    finish(import_source(ws, source))
    return ws, made


def test_short_clips_are_aligned_without_a_recogniser(tmp_path: Path, ears: Ears):
    ws, made = spoken_clips(tmp_path, 6)
    found = finish(align(ws, flat=True, force=True))
    assert not ears and found.made_by == FROM_CLIPS and found.method == "frames" and not found.problems
    aligned = read_alignments(ws)
    times = {clip.id: made[int(Path(clip.audio).stem[1:])].times for clip in Corpus.open(ws)}
    far = [
        abs(word.start - time[0])
        for id, one in aligned.items()
        for word, time in zip(one.words, times[id], strict=True)
    ]
    assert np.median(far) < 0.02 and np.mean(far) < 0.04
    matches = read_match(ws).values()
    right = [one.score for one in matches if one.score is not None]
    assert len(right) == len(made) and min(right) > max(score for one in matches for score in one.chance)
    assert finish(align(ws, flat=True)).fresh and finish(align(ws, keep=True)).fresh
    absent: dict[str, tuple[str, str]] = {}
    known = _aligner(ws, References(language="swa"), absent, device="cpu")
    assert known.aligner == FROM_CLIPS and not absent
    clip = next(iter(Corpus.open(ws)))
    reading = Corpus.open(ws).reading(clip)
    again = known.aligns(clip.id, Corpus.open(ws).audio(clip), reading)  # type: ignore[misc]
    assert again is not None and [word.row() for word in again.words] == [word.row() for word in aligned[clip.id].words]
    finish(align(ws, ctc_only=True, force=True))
    assert ears and STAGE.state(ws) == "fresh"


def test_a_clip_too_short_for_its_text_is_named_and_one_word_is_found(tmp_path: Path):
    ws, _ = spoken_clips(tmp_path, 4)
    extra = tmp_path / "more"
    extra.mkdir()
    said = radio(9, sentences=1)
    io.write(extra / "hurried.wav", Audio(said.audio.samples[:800], said.audio.rate))
    io.write(extra / "word.wav", said.audio)
    (extra / "hurried.txt").write_text(" ".join(["kama sasa moto"] * 5), encoding="utf-8")
    (extra / "word.txt").write_text("kama", encoding="utf-8")
    finish(import_source(ws, extra))
    found = finish(align(ws, flat=True, force=True))
    assert [problem.partition("-")[0] for problem in found.problems] == ["hurried"] and "60 sounds" in found.problems[0]
    assert {len(one.words) for id, one in read_alignments(ws).items() if id.startswith("word")} == {1}


def test_flat_refuses_too_little_speech_and_what_asks_for_a_recogniser(tmp_path: Path, ears: Ears):
    ws, _ = workspace(tmp_path, TEXTS[:4])
    with pytest.raises(CorpusError, match="--flat needs 10: import more"):
        finish(align(ws, flat=True))
    for option in ("--ctc-only", "--cross"):
        told = CliRunner().invoke(app, ["align", str(ws.root), "--flat", option])
        assert isinstance(told.exception, ConfigError) and f"leave {option} out" in str(told.exception)
    assert not ears

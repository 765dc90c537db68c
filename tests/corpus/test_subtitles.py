"""Films with subtitles: whole sentences, no neighbour's word, whatever the music between; offsets only said."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from olu.audio.activity import file_levels, frame_dbfs, frame_rate
from olu.audio.io import header, read, resample
from olu.core.errors import AudioError, CorpusError
from olu.core.files import Workspace
from olu.core.job import finish
from olu.core.types import Audio
from olu.corpus.manifest import Corpus
from olu.corpus.readers.subtitles.cues import parse
from olu.corpus.readers.subtitles.sentences import find_edges, limits
from olu.corpus.readers.subtitles.sync import measure
from olu.stages.import_ import ImportSummary, import_source

from ..helpers import films as made

SOAK = os.environ.get("OLU_SOAK") == "1"
SEEDS = range(20) if SOAK else (0, 7)
SHARED = Path(os.environ.get("OLU_SHARED", Path(__file__).parents[3] / "shared")) / "corpora"


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws", language="swa")


def bring(ws: Workspace, source: Path, **options: Any) -> ImportSummary:
    return finish(import_source(ws, source, **options))


def made_film(seed: int, *, clips: int = 60) -> made.Film:
    waves = [made.voice(1000 * seed + n, 1.0 + n % 6) for n in range(clips)]
    return made.make(waves, [f"sentensi nambari {n}." for n in range(clips)], seed=seed)


def real_film(seed: int, *, clips: int = 30) -> made.Film:
    rng = np.random.default_rng(seed)
    waves, texts = [], []
    for language in ("amh", "swa"):
        rows = (SHARED / language / "metadata.csv").read_text(encoding="utf-8").splitlines()
        taken = 0
        for number in rng.permutation(len(rows)):
            id, _, text = rows[number].partition("|")
            path = SHARED / language / "audio" / f"{id}.ogg"
            spoken = text.strip() and not set("[(#") & set(text)  # in subtitles these are notes, not words
            if taken < clips and spoken and header(path).seconds <= 12:
                waves.append(resample(read(path), made.RATE).samples)
                texts.append(text)
                taken += 1
    return made.make(waves, texts, seed=seed)


def lay(folder: Path, film: made.Film, *, name: str = "film.wav", shift: float = 0.0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    soundfile.write(folder / name, film.samples, made.RATE)
    moved = made.Film(film.samples, film.speech, [(a - shift, b - shift) for a, b in film.cues], film.texts)
    (folder / name).with_suffix(".srt").write_text(made.srt(moved), encoding="utf-8")
    return folder


def judge(film: made.Film, corpus: Corpus) -> tuple[int, int]:
    """Clips that hold a neighbour's speech, and clips that hold all of their own."""
    clips = sorted(corpus, key=lambda clip: clip.start)
    assert len(clips) == len(film.speech)
    foreign = own = 0
    for number, clip in enumerate(clips):
        end = clip.start + clip.seconds
        for other, (first, last) in enumerate(film.speech):
            foreign += other != number and clip.start < last and end > first
        first, last = film.speech[number]
        own += clip.start <= first + 1e-6 and end >= last - 1e-6
    return foreign, own


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["made", "real"])
def test_the_film(ws: Workspace, tmp_path: Path, kind: str, seed: int) -> None:
    if kind == "real" and not all((SHARED / language).is_dir() for language in ("amh", "swa")):
        pytest.skip(f"no amh and swa in {SHARED}: set OLU_SHARED")
    film = real_film(seed) if kind == "real" else made_film(seed)
    summary = bring(ws, lay(tmp_path / "in", film))
    assert (summary.layout, summary.skipped) == ("subtitles", ())
    assert summary.doubts == ()
    corpus = Corpus.open(ws)
    foreign, own = judge(film, corpus)
    assert foreign == 0
    assert own >= 0.98 * len(film.speech)
    slack = corpus.seconds - sum(last - first for first, last in film.speech)
    assert slack / len(film.speech) < 2.0  # never more than the reach on each side


def test_silence_is_cut_off_and_music_is_not() -> None:
    rng = np.random.default_rng(0)
    voice = made.voice(3, 4.0)
    first, end = made.own_speech(voice)
    voice = voice[first:end]
    hiss = np.asarray(rng.normal(size=6 * made.RATE) * 1e-3, dtype=np.float32)
    music = made.music(rng, 6.0, level=0.1)
    samples = np.concatenate([hiss, voice, hiss + music])
    speech = (6.0, 6.0 + len(voice) / made.RATE)
    cue = (speech[0] - 0.6, speech[1] + 0.4)
    levels = frame_dbfs(Audio(samples, made.RATE))
    ((start, stop),) = find_edges(
        [cue], busy=[cue], levels=levels, frames_per_second=frame_rate(made.RATE), seconds=len(samples) / made.RATE
    )
    assert speech[0] - 0.4 < start <= speech[0]
    assert stop == pytest.approx(cue[1] + 1.0)


def test_edges_meet_in_the_middle() -> None:
    spans = [(1.0, 2.0), (2.0, 3.0), (3.4, 4.0), (9.0, 9.9)]
    assert limits(spans, busy=spans, seconds=10.0, reach=1.0) == [
        (0.0, 2.0),
        (2.0, pytest.approx(3.2)),
        (pytest.approx(3.2), 5.0),
        (8.0, 10.0),
    ]
    rounded = [(1.0, 2.02), (2.0, 3.0)]
    (_, high), (low, _) = limits(rounded, busy=rounded, seconds=9.0, reach=1.0)
    assert high == low == pytest.approx(2.01)
    busy = [*spans, (4.2, 5.0)]  # a cue that made no clip holds words all the same
    assert limits(spans, busy=busy, seconds=10.0, reach=1.0)[2][1] == pytest.approx(4.1)


def test_adjoining_cues_share_one_boundary(ws: Workspace, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    soundfile.write(tmp_path / "in" / "a.wav", made.voice(1, 8.0)[: 8 * made.RATE], made.RATE)
    times = [
        "00:00:01,000 --> 00:00:03,000\nMoja.",
        "00:00:03,000 --> 00:00:05,000\nMbili.",
        "00:00:05,200 --> 00:00:07,000\nTatu.",
    ]
    (tmp_path / "in" / "a.srt").write_text("\n\n".join(times), encoding="utf-8")
    bring(ws, tmp_path / "in")
    one, two, three = Corpus.open(ws)
    assert 2.5 < one.start + one.seconds <= two.start < 3.5
    assert 4.5 < two.start + two.seconds <= three.start < 5.7


def fail(path: Path, *, into: Path) -> None:
    if path.name != "broken.mp4":
        raise AssertionError("decoded again")
    raise AudioError(f"{path} is broken")


def test_a_film_is_decoded_once_into_the_workspace(
    ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    av = pytest.importorskip("av", reason="the extra media is not installed")
    film = made_film(7, clips=8)
    source = lay(tmp_path / "in", film)
    with av.open(str(source / "film.wav")) as sound, av.open(str(source / "film.mp4"), "w") as out:
        stream = out.add_stream("aac", rate=made.RATE, layout="mono")
        mixer = av.AudioResampler(format="fltp", layout="mono", rate=made.RATE, frame_size=1024)
        for frame in [*sound.decode(audio=0), None]:
            for mixed in mixer.resample(frame):
                out.mux(stream.encode(mixed))
        out.mux(stream.encode(None))
    (source / "film.wav").unlink()
    (source / "film.srt").rename(source / "film.sw.forced.srt")
    (source / "broken.mp4").write_bytes(b"no film")
    (source / "broken.srt").write_text(made.srt(film), encoding="utf-8")
    summary = bring(ws, source)
    assert (summary.layout, summary.added) == ("subtitles", 8)
    assert [line.partition(":")[0] for line in summary.skipped] == ["broken.mp4"]
    corpus = Corpus.open(ws)
    assert {clip.audio for clip in corpus} == {"s1/film.flac"}
    assert corpus.sources["s1"].root == "corpus/audio/s1"
    assert judge(film, corpus) == (0, 8)
    assert all(corpus.audio(clip).seconds == pytest.approx(clip.seconds, abs=0.01) for clip in corpus)
    ids = [clip.id for clip in corpus]
    monkeypatch.setattr("olu.corpus.readers.recordings.decode", fail)
    again = bring(ws, source)
    assert (again.added, again.already) == (0, 8)
    alone = bring(ws, source / "film.mp4", subtitles=source / "broken.srt")
    assert (alone.added, alone.already, [clip.id for clip in Corpus.open(ws)]) == (0, 8, ids)
    assert not list(ws.root.rglob("*.partial"))


def test_shift_moves_and_takes_the_place_of_the_old(ws: Workspace, tmp_path: Path) -> None:
    film = made_film(3)
    source = lay(tmp_path / "in", film, shift=2.4)
    summary = bring(ws, source)
    (doubt,) = summary.doubts
    assert "too early" in doubt and "confidence 0." in doubt and "nothing was moved" in doubt
    shift = float(doubt.rpartition("--shift ")[2])
    assert shift == pytest.approx(2.4, abs=0.4)
    assert summary.mending == f"olu import {ws.root} {source / 'film.wav'} --shift {shift:g}"
    before = {clip.text: clip.start for clip in Corpus.open(ws)}
    mended = bring(ws, source / "film.wav", shift=2.4)
    assert (mended.added, mended.clips) == (60, 60)
    assert any("gave way" in note for note in mended.notes)
    moves = [clip.start - before[clip.text] for clip in Corpus.open(ws) if clip.text in before]
    assert np.median(moves) == pytest.approx(2.4, abs=0.3)  # the first import moved nothing in silence
    assert judge(film, Corpus.open(ws)) == (0, 60)
    (tmp_path / "in" / "film.srt").write_text(made.srt(film), encoding="utf-8")
    assert bring(ws, source).notes[1].endswith("60 cues with words made 60 clips")
    assert mended.doubts == ()


@pytest.fixture(scope="module")
def long_film() -> made.Film:
    return made_film(5, clips=90)


@pytest.mark.parametrize(("shift", "speed"), [(0.0, 1.0), (1.5, 1.0), (-20.0, 1.0), (0.0, 25 / 23.976), (0.0, 1.008)])
def test_measured(long_film: made.Film, shift: float, speed: float) -> None:
    film = long_film
    levels = frame_dbfs(Audio(film.samples, made.RATE))
    cues = [(start / speed - shift, end / speed - shift) for start, end in film.cues]
    cues = [cue for cue in cues if cue[0] >= 0]
    found = measure(cues, levels=levels, frames_per_second=100.0)
    if (shift, speed) == (0.0, 1.0):
        assert found is not None and found.fits
    else:
        assert found is not None and not found.fits
        assert found.speed == pytest.approx(speed, abs=0.003)
        assert found.drift == pytest.approx((speed - 1) * cues[-1][1], abs=2.0)
        if speed == 1.0:
            assert found.shift == pytest.approx(shift, abs=0.3)
    rng = np.random.default_rng(0)
    anywhere = [(start, start + 2.0) for start in np.sort(rng.uniform(0, len(levels) / 100, 80)).tolist()]
    assert measure(anywhere, levels=levels, frames_per_second=100.0) is None


def test_levels_of_a_file_are_those_of_its_samples(tmp_path: Path) -> None:
    wave = made.voice(1, 25.0)
    soundfile.write(tmp_path / "a.wav", np.stack([wave, wave], axis=1), made.RATE, subtype="FLOAT")
    assert np.array_equal(file_levels(tmp_path / "a.wav")[: len(wave) // 160], frame_dbfs(Audio(wave, made.RATE)))


def test_notes_count_what_was_removed(ws: Workspace, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    soundfile.write(tmp_path / "in" / "a.wav", made.voice(1, 30.0), made.RATE)
    text = (
        "1\n00:00:01,000 --> 00:00:02,000\n- <i>Señor</i>\n- two (laughs)\n\n"
        "2\n00:00:05,000 --> 00:00:06,000\n[music]\n\n"
        "3\n00:00:29,000 --> 00:00:29,500\nlast\n\n4\n00:09:00,000 --> 00:09:01,000\nbeyond\n"
    )
    (tmp_path / "in" / "a.srt").write_bytes(text.encode("cp1252"))
    summary = bring(ws, tmp_path / "in")
    assert [clip.text for clip in Corpus.open(ws)] == ["Señor two", "last"]
    assert summary.skipped[0].startswith("a.srt line 15: it ends at 541.000 s, and a.wav has 3")
    assert summary.notes[0].startswith("a.srt is not UTF-8 and was read as Windows-1252 ('Señor'): if words look wrong")
    assert summary.notes[1:] == (
        "a.srt: 2 cues with words made 2 clips",
        "a.srt: removed from the text: 2 tags, 2 speaker dashes, 2 sound notes",
        "a.srt: cues without words, which made no clip: 1",
        "a.srt: cues with the lines of several speakers: 1; drop them if you train one voice",
        "one recording has too few cues to measure whether they come early or late: listen to a clip of each",
    )


def test_names(ws: Workspace, tmp_path: Path) -> None:
    source = tmp_path / "in"
    for stem, seed in (("a", 1), ("b", 2), ("c", 3), ("d", 4)):
        lay(source, made_film(seed, clips=1), name=f"{stem}.wav")
    (source / "b.srt").rename(source / "b.pt-BR.srt")
    (source / "c.srt").rename(source / "c.en.srt")
    (source / "c.fr.srt").write_bytes((source / "c.en.srt").read_bytes())
    (source / "d.srt").rename(source / "other.srt")
    summary = bring(ws, source)
    assert {clip.audio for clip in Corpus.open(ws)} == {"s1/a.wav", "s1/b.wav"}
    assert [line.partition(":")[0] for line in summary.skipped] == ["c.wav", "d.wav", "other.srt"]
    assert "several subtitles (c.en.srt, c.fr.srt)" in summary.skipped[0]
    with pytest.raises(CorpusError, match="several subtitles"):
        bring(ws, source / "c.wav")
    assert bring(ws, source / "c.wav", subtitles=source / "c.fr.srt").added == 1
    with pytest.raises(CorpusError, match="for one film or recording"):
        bring(ws, source, subtitles=source / "c.fr.srt")
    with pytest.raises(CorpusError, match="is not there"):
        bring(ws, source / "c.wav", subtitles=source / "none.srt")
    with pytest.raises(CorpusError, match="no number of seconds"):
        bring(ws, source, shift=float("nan"))
    with pytest.raises(CorpusError, match="'recordings' has no use for --shift"):
        bring(ws, source, shift=1.0, layout="recordings")
    with pytest.raises(CorpusError, match="layout 'folder' needs the folder"):
        bring(ws, source / "c.wav", layout="folder")


def test_out_of_a_zip(ws: Workspace, tmp_path: Path) -> None:
    film = made_film(2, clips=4)
    sound = io.BytesIO()
    soundfile.write(sound, film.samples, made.RATE, format="WAV")
    with zipfile.ZipFile(tmp_path / "films.zip", "w") as out:
        out.writestr("film.wav", sound.getvalue())
        out.writestr("film.vtt", "WEBVTT\n\n" + made.srt(film).replace(",", "."))
    assert bring(ws, tmp_path / "films.zip").added == 4
    assert judge(film, Corpus.open(ws)) == (0, 4)


def test_a_cue_over_one_that_is_out_of_order_is_left_out_too() -> None:
    """The words of the one that was passed over would be in it."""
    cues = [("1", 1.0, 3.0), ("2", 5.0, 7.5), ("3", 10.0, 12.0), ("4", 14.0, 16.0), ("5", 1.5, 2.5)]
    stamp = "00:00:{:06.3f}"
    blocks = [f"{n}\n{stamp.format(a)} --> {stamp.format(b)}\nWords {n}.\n".replace(".", ",", 2) for n, a, b in cues]
    found = parse("\n".join(blocks).encode(), file="a.srt")
    assert [cue.start for cue in found.cues] == [5.0, 10.0, 14.0]
    assert sum("out of order" in problem.message for problem in found.problems) == 2

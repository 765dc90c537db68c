"""`python benchmarks/archive.py --corpus DIR --out DIR`: a corpus joined to long recordings with their whole text.

Where each clip begins in the joined sound is known, so it is known of every word whether it was put into the recording
it came from. `--planted` leaves a share of the sentences out of the text and puts foreign sound between clips.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from olu.align.aligner import Aligner
from olu.align.frames import FrameModel
from olu.align.state import alignment_path, words_of
from olu.audio import io
from olu.core.files import Workspace, read_rows
from olu.core.job import finish
from olu.core.types import Alignment, Clip
from olu.corpus.manifest import Corpus
from olu.stages.align import align
from olu.stages.cut import cut
from olu.stages.import_ import import_source
from olu.stages.read import corpus_frontend
from olu.text.frontend import AnyFrontend, read_clip, read_settings

RATE = 16000
SHARES = (0.09, 0.17, 0.29, 0.45)  # of the sound in each file: 10 to 54 minutes of 119


@dataclass(frozen=True)
class PlacedPart:
    """A stretch of a joined file: a clip of the corpus, or foreign sound."""

    file: str
    start: float
    end: float
    text: str  # as it stands in the file's text; nothing where it is left out
    kind: str  # "clip", "unwritten", "foreign", "jingle", "unspoken"


def read_corpus(
    folder: Path, *, minutes: float | None = None, half: int = 0, shuffled: int = 0
) -> list[tuple[str, Path]]:
    """Texts and recordings: all, or the first or second `half`; in another order where `shuffled` is a seed."""
    rows = [line.partition("|") for line in (folder / "metadata.csv").read_text(encoding="utf-8").splitlines() if line]
    rows = rows[: len(rows) // 2] if half == 1 else rows[len(rows) // 2 :] if half == 2 else rows
    if shuffled:
        rows = [rows[at] for at in np.random.default_rng(shuffled).permutation(len(rows))]
    found, seconds = [], 0.0
    for id, _, text in rows:
        path = folder / "audio" / f"{id}.ogg"
        seconds += soundfile.info(path).duration
        found.append((text.strip(), path))
        if minutes is not None and seconds > 60 * minutes:
            break
    return found


def jingle(seconds: float, random: np.random.Generator) -> NDArray[np.float32]:
    """Chords of decaying tones over a beat."""
    time = np.arange(round(seconds * RATE)) / RATE
    wave = np.zeros(len(time))
    for at in np.arange(0.0, seconds, 0.25):
        root = 220.0 * 2.0 ** (random.integers(0, 13) / 12)
        own = np.maximum(0.0, time - at)
        tone = sum(np.sin(2 * np.pi * root * ratio * own) for ratio in (1.0, 1.25, 1.5, 2.0))
        wave += np.where(time >= at, tone * np.exp(-3.0 * own), 0.0)
        wave += np.where(time >= at, random.standard_normal(len(time)) * np.exp(-40.0 * own), 0.0)
    return (0.1 * wave / max(wave.std(), 1e-9)).astype(np.float32)


def plant(
    clips: Sequence[tuple[str, Path]], foreign: Sequence[Path], *, share: float, unspoken: float, seed: int
) -> list[tuple[str, str, NDArray[np.float32]]]:
    """(kind, text, sound) in order: runs of clips without a text, foreign speech, jingles, texts without sound."""
    random = np.random.default_rng(seed)
    sounds = [io.resample(io.read(path), RATE).samples for _, path in clips]
    total = sum(len(one) for one in sounds) / RATE
    order: list[tuple[str, str, NDArray[np.float32]]] = [
        ("clip", text, sound) for (text, _), sound in zip(clips, sounds, strict=True)
    ]
    quiet = np.zeros(0, dtype=np.float32)
    left = share * total
    while left > 0:  # unwritten: one to three clips in a row
        at, many = int(random.integers(1, len(order) - 4)), int(random.integers(1, 4))
        for place in range(at, at + many):
            if order[place][0] == "clip" and left > 0:
                left -= len(order[place][2]) / RATE
                order[place] = ("unwritten", "", order[place][2])
    pool = list(random.permutation(len(foreign))) if len(foreign) else []
    left = share * total
    while left > 0:
        at, wanted = int(random.integers(0, len(order) + 1)), float(random.uniform(8.0, 40.0))
        if not pool or random.random() < 0.35:
            kind, sound = "jingle", jingle(min(wanted, 20.0), random)
        else:
            parts = []
            while sum(map(len, parts)) < wanted * RATE and pool:
                parts.append(io.resample(io.read(foreign[pool.pop()]), RATE).samples)
            kind, sound = "foreign", np.concatenate(parts)
        left -= len(sound) / RATE
        order.insert(at, (kind, "", sound))
    left = unspoken * sum(len(text) for text, _ in clips)
    while left > 0:
        source = order[int(random.integers(0, len(order)))]
        words = source[1].split()
        if source[0] != "clip" or len(words) < 5:
            continue
        text = " ".join(random.permutation(words).tolist()) + "."
        left -= len(text)
        order.insert(int(random.integers(0, len(order) + 1)), ("unspoken", text, quiet))
    return order


def build(
    folder: Path,
    out: Path,
    *,
    foreign: Sequence[Path] = (),
    share: float = 0.0,
    unspoken: float = 0.0,
    minutes: float | None = None,
    half: int = 0,
    shuffled: int = 0,
    shares: Sequence[float] = SHARES,
    seed: int = 0,
) -> list[PlacedPart]:
    """Joined files with their texts in `out/archive`, and where each part lies in `out/truth.json`."""
    place = out / "archive"
    place.mkdir(parents=True, exist_ok=True)
    clips = read_corpus(folder, minutes=minutes, half=half, shuffled=shuffled)
    order = plant(clips, foreign, share=share, unspoken=unspoken, seed=seed)
    total = sum(len(sound) for _, _, sound in order)
    truth: list[PlacedPart] = []
    edges = (np.cumsum(shares) / sum(shares) * total).tolist()
    groups: list[list[tuple[str, str, NDArray[np.float32]]]] = [[] for _ in shares]
    at = 0
    for one in order:
        at += len(one[2])
        groups[next((n for n, edge in enumerate(edges) if at <= edge + 1), len(edges) - 1)].append(one)
    for number, group in enumerate(groups, 1):
        name, begun = f"part{number}", 0
        for kind, text, sound in group:
            truth.append(PlacedPart(name, begun / RATE, (begun + len(sound)) / RATE, text, kind))
            begun += len(sound)
        soundfile.write(place / f"{name}.flac", np.concatenate([sound for _, _, sound in group]), RATE)
        (place / f"{name}.txt").write_text(" ".join(text for _, text, _ in group if text) + "\n", encoding="utf-8")
    (out / "truth.json").write_text(json.dumps([asdict(one) for one in truth], ensure_ascii=False), encoding="utf-8")
    return truth


def go(out: Path, *, language: str) -> dict[str, float]:
    """The path of a person: import, align, cut; CPU seconds of each."""
    place = out / "ws"  # one that is there was broken off: its alignment goes on
    ws = Workspace.open(place) if place.exists() else Workspace.create(place, language=language)
    taken: dict[str, float] = {}
    for name, job in (
        ("import", lambda: import_source(ws, out / "archive")),
        ("align", lambda: align(ws, device="cpu")),
        ("cut", lambda: cut(ws)),
    ):
        before = time.process_time()
        finish(job())  # type: ignore[no-untyped-call]
        taken[name] = round(time.process_time() - before, 1)
        print(name, taken[name], flush=True)
    return taken


@dataclass(frozen=True)
class ReferenceWord:
    """A word of a part, where it is when its part is aligned alone with its own text, in seconds of the file."""

    part: int
    start: float
    end: float

    @property
    def middle(self) -> float:
        return (self.start + self.end) / 2


def measure(out: Path, truth: Sequence[PlacedPart]) -> dict[str, float]:
    """What the alignment and the clips are, beside where each part lies."""
    ws = Workspace.open(out / "ws")
    corpus = Corpus.open(ws)
    frontend = corpus_frontend(ws, corpus, read_settings(ws))
    model = FrameModel.load(ws.alignment / "frames")
    long = {Path(clip.audio).stem: clip for clip in corpus if clip.start == 0.0 and clip.seconds > 120}
    known = {one.id: one for one in read_rows(alignment_path(ws), Alignment)}
    counts: dict[str, float] = dict.fromkeys(COUNTED, 0.0)
    for file, clip in long.items():
        parts = [part for part in truth if part.file == file]
        reference = _reference(corpus, clip, parts, frontend, model)
        _count_words(known[clip.id], parts, reference, counts)
        pieces = [one for one in corpus if one.audio == clip.audio and one.id != clip.id]
        _count_pieces(pieces, known, parts, reference, counts)
    return counts


COUNTED = (
    *("words", "placed", "right", "unspoken", "unspoken_found", "foreign_seconds", "foreign_named"),
    *("pieces", "pieces_wrong", "kept_seconds", "speech", "speech_kept"),
)
FOREIGN_SECONDS = 0.35  # of the edge of a foreign part that may be in a piece: parts begin and end with silence


def _reference(
    corpus: Corpus, clip: Clip, parts: Sequence[PlacedPart], frontend: AnyFrontend, model: FrameModel
) -> list[ReferenceWord]:
    found = []
    for number, part in enumerate(parts):
        words = words_of(read_clip(frontend, part.text)[0]) if part.text else ()
        if part.kind == "unspoken":
            found += [ReferenceWord(number, part.start, part.start)] * len(words)
        elif words:
            audio = io.read(corpus.locate(clip), start=part.start, seconds=part.end - part.start)
            alignment = Aligner(frames=model).align(f"{part.file} {part.start:.0f} s", audio, words)
            found += [ReferenceWord(number, part.start + one.start, part.start + one.end) for one in alignment.words]
    return found


def _count_words(
    alignment: Alignment, parts: Sequence[PlacedPart], reference: Sequence[ReferenceWord], counts: dict[str, float]
) -> None:
    assert len(alignment.words) == len(reference), "the text is read otherwise as a whole"
    unsaid = {at for first, last in alignment.unspoken for at in range(first, last)}
    for at, (word, truth) in enumerate(zip(alignment.words, reference, strict=True)):
        part = parts[truth.part]
        if part.kind == "unspoken":
            counts["unspoken"] += 1
            counts["unspoken_found"] += at in unsaid
            continue
        counts["words"] += 1
        counts["placed"] += at not in unsaid
        counts["right"] += at not in unsaid and part.start <= (word.start + word.end) / 2 <= part.end
    for part in parts:
        if not part.text:
            counts["foreign_seconds"] += part.end - part.start
            shared = (min(end, part.end) - max(start, part.start) for start, end in alignment.unwritten)
            counts["foreign_named"] += sum(max(0.0, one) for one in shared)


def _count_pieces(
    pieces: Sequence[Clip],
    known: Mapping[str, Alignment],
    parts: Sequence[PlacedPart],
    reference: Sequence[ReferenceWord],
    counts: dict[str, float],
) -> None:
    """A piece is wrong where the words whose middle lies in it are not its words, or foreign sound is in it."""
    said = [one for one in reference if one.end > one.start]
    counts["speech"] += sum(one.end - one.start for one in said)
    for piece in pieces:
        start, end = piece.start, piece.start + piece.seconds
        inside = [one for one in said if start <= one.middle < end]
        strange = sum(max(0.0, min(end, p.end) - max(start, p.start)) for p in parts if not p.text)
        wrong = len(inside) != len(known[piece.id].words) or strange > FOREIGN_SECONDS
        counts["pieces"] += 1
        counts["pieces_wrong"] += wrong
        counts["kept_seconds"] += piece.seconds
        counts["speech_kept"] += sum(one.end - one.start for one in inside)
        if wrong:
            said_there = f"{len(inside)} words, {strange:.1f} s foreign"
            print(f"wrong: {piece.id} {start:.2f} to {end:.2f}: {said_there}: {piece.text}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--language", default="swa")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--planted", type=float, default=0.0, help="share of text left out and of foreign sound")
    parser.add_argument("--unspoken", type=float, default=0.0, help="share of text that nobody says")
    parser.add_argument("--foreign", type=Path, help="corpus that foreign speech is taken from")
    parser.add_argument("--half", type=int, choices=(0, 1, 2), default=0, help="of the corpus: the first or the second")
    parser.add_argument("--shuffled", type=int, default=0, help="a seed: the clips are joined in another order")
    parser.add_argument("--seed", type=int, default=0, help="of what is planted")
    parser.add_argument("--only-build", action="store_true")
    parser.add_argument("--measure", action="store_true", help="count again what is there")
    asked = parser.parse_args()
    foreign = sorted((asked.foreign / "audio").glob("*.ogg")) if asked.foreign else []
    place = asked.out / "truth.json"
    if place.exists():
        truth = [PlacedPart(**row) for row in json.loads(place.read_text(encoding="utf-8"))]
    else:
        truth = build(
            asked.corpus,
            asked.out,
            foreign=foreign,
            share=asked.planted,
            unspoken=asked.unspoken,
            minutes=asked.minutes,
            half=asked.half,
            shuffled=asked.shuffled,
            seed=asked.seed,
        )
    if asked.only_build:
        return
    taken = {} if asked.measure else go(asked.out, language=asked.language)
    print(json.dumps({"cpu_seconds": taken, **measure(asked.out, truth)}, indent=1))


if __name__ == "__main__":
    main()

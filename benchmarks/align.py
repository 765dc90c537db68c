"""`python benchmarks/align.py --corpus DIR`: how far the aligner's boundaries are from a corpus's own labels.

DIR holds recordings and labels.json: {"clips": [{"id", "audio", "text", "words": [[text, [phone, ...]], ...], "labels":
[[label, start, end], ...]}, ...]}, where the label of silence is "pau" or "". The labels are only measured against: an
aligner is trained on the sound and the phones alone, without a recogniser, and from its CTC alignment.
`--prepare VOICE --corpus DIR` makes DIR from the folder of a festvox voice (wav/, lab/, etc/txt.done.data).
`--hour DIR --language swa`: aligns an hour of clips, one behind the other, with their whole text; see align_hour.py.

Which boundaries count: every boundary between two labels of a clip, but not its two ends. Neighbouring silences are
one. Before or after silence, it is compared with where the aligner starts or ends the phone there. Between two phones,
if the aligner put a pause there, the farther of the pause's two edges counts.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from align_festvox import prepare
from align_recogniser import Log, train_recogniser

from olu.align.aligner import Aligner, AlignerClip, train_frames
from olu.align.estimate import GAUSS_ROUNDS
from olu.align.frames import FrameModel
from olu.audio.io import read
from olu.core.errors import AlignError
from olu.core.files import write_json, write_text
from olu.core.job import finish
from olu.core.types import Alignment, Recogniser, Span

RESULTS = Path(__file__).parent / "results"
BEST = "the better of both starts, Gaussians, network (olu align)"
FLAT = "even start and signs of sounds, Gaussians, network (olu align --flat)"
WITHIN = (10, 25, 50, 100)
TRUST = """
How far the labels can be trusted. They are not by hand. Every boundary lies on a grid of 10 ms, no phone is shorter
than 30 ms, 12 % of the 50,526 phones last exactly that, and the voice's folder holds the state names of festvox's own
labeller (three states a phone, Gaussians). So they are the output of another automatic aligner, good enough to build
that voice from, and what is measured is how far two aligners agree. The grid alone makes 2.5 ms of the mean, and a bias
of one frame (ours are 8 ms later) cannot be told from a habit of that labeller. Beside pauses the labels can be held
against the level: in 120 clips it crosses the threshold of speech 8 ms after the label of a beginning and 12 ms before
that of an end (medians), so the labels' pauses are 20 ms shorter. Differences of less than about 10 ms say nothing. On
made speech, whose boundaries are known to the sample (tests/align), the frame model is 4 to 6 ms off in the median.

Words are not in the labels: the letters of the text were laid over the phones (align_festvox.py). All of the 3,846
pauses but one then lie between two words or at an end.
"""
PUBLISHED = """
Published figures of others, on other corpora and against labels by hand, so not to be compared to a millisecond (the
table of MFA's benchmark gives no unit; milliseconds are assumed):

| aligner | mean boundary error, ms | of |
|---|---|---|
| MFA 3.0 | 21.0 TIMIT, 26.9 Buckeye | words |
| MFA 1.0, ARPA | 25.2 TIMIT, 28.8 Buckeye | words |
| wav2vec2 CTC (torchaudio) | 37.0 TIMIT, 47.6 Buckeye | words |
| WhisperX | 46.2 TIMIT, 58.7 Buckeye | words |
| NeMo CTC | 77.1 TIMIT, 95.5 Buckeye | words |
| MFA 3.0, four benchmarks | under 15 | phones |
"""


@dataclass(frozen=True)
class Labelled:
    item: AlignerClip
    labels: tuple[Span, ...]


@dataclass(frozen=True)
class Errors:
    """Signed errors in ms, and which of them lie beside silence or at a word's edge."""

    signed: np.ndarray
    beside_silence: np.ndarray
    at_word: np.ndarray
    aligned: int
    clips: int

    def row(self, name: str, minutes: float) -> dict[str, object]:
        size = np.abs(self.signed)
        return {
            "aligner": name,
            "median": round(float(np.median(size)), 1),
            "mean": round(float(size.mean()), 1),
            **{f"within_{ms}": round(100 * float((size <= ms + 1e-6).mean()), 1) for ms in WITHIN},
            "bias": round(float(np.median(self.signed)), 1),
            "silence_mean": round(float(size[self.beside_silence].mean()), 1),
            "word_mean": round(float(size[self.at_word].mean()), 1),
            "boundaries": len(size),
            "clips": f"{self.aligned}/{self.clips}",
            "minutes": round(minutes, 2),
        }


def main() -> None:
    asked = _asked()
    if asked.prepare:
        prepare(asked.prepare, asked.corpus)
        return
    asked.out.mkdir(parents=True, exist_ok=True)
    if asked.hour:
        from align_hour import hour

        hour(asked)
        return
    log = Log(asked.out / "log.txt")
    clips = corpus(asked.corpus, asked.clips)
    seconds = sum(clip.labels[-1].end for clip in clips)
    log(f"{len(clips)} clips, {seconds / 60:.1f} minutes, {asked.device}")
    rows = []
    for name, recogniser, rounds, gauss in plan(asked, clips, log):
        began = time.monotonic()
        frames: FrameModel | None = None
        if rounds or gauss:
            items = [clip.item for clip in clips]
            even = recogniser is None or name == BEST
            work = train_frames(items, recogniser, rounds=rounds, gauss_rounds=gauss, even=even, device=asked.device)
            frames = finish(work)
        minutes = (time.monotonic() - began) / 60
        rows.append(measure(clips, Aligner(recogniser, frames)).row(name, minutes))
        log(json.dumps(rows[-1]))
    write_json(asked.out / "result.json", {"rows": rows, "seconds": seconds})
    table = markdown(rows, len(clips), seconds, asked.device)
    log(table)
    if asked.write:
        where = f"{platform.machine()}-{os.cpu_count()}core" if asked.device == "cpu" else "h200"
        write_text(RESULTS / f"align_{where}_{time.strftime('%Y%m')}.md", table)


def plan(
    asked: argparse.Namespace, clips: Sequence[Labelled], log: Log
) -> Iterator[tuple[str, Recogniser | None, int, int]]:
    """Name, recogniser, rounds of the network and of Gaussians."""
    if not asked.no_even:
        yield FLAT, None, asked.rounds, GAUSS_ROUNDS
    if asked.no_ctc:
        return
    began = time.monotonic()
    recogniser = train_recogniser([clip.item for clip in clips], asked, log)
    log(f"recogniser: {(time.monotonic() - began) / 60:.1f} minutes with everything, {recogniser.version}")
    yield f"CTC alone ({1000 * recogniser.frame_seconds:.0f} ms frames)", recogniser, 0, 0
    yield "CTC start, network", recogniser, asked.rounds, 0
    yield "CTC start, Gaussians, network", recogniser, asked.rounds, GAUSS_ROUNDS
    if asked.both:
        yield BEST, recogniser, asked.rounds, GAUSS_ROUNDS


def corpus(folder: Path, most: int | None) -> list[Labelled]:
    """The clips; of `most` an even sample."""
    rows = json.loads((folder / "labels.json").read_text(encoding="utf-8"))["clips"]
    if most is not None and most < len(rows):
        rows = [rows[round(at)] for at in np.linspace(0, len(rows) - 1, most)]
    clips = []
    for row in rows:
        words = tuple((text, tuple(phones)) for text, phones in row["words"])
        item = AlignerClip(row["id"], words, lambda path=folder / row["audio"]: read(path))
        clips.append(Labelled(item, tuple(_joined(row["labels"]))))
    return clips


def _joined(labels: Sequence[tuple[str, float, float]]) -> list[Span]:
    spans: list[Span] = []
    for label, start, end in labels:
        name = "" if label == "pau" else label
        if spans and name == "" == spans[-1].label:
            spans[-1] = Span("", spans[-1].start, end)
        else:
            spans.append(Span(name, start, end))
    return spans


def measure(clips: Sequence[Labelled], aligner: Aligner) -> Errors:
    """Every boundary of every clip that the aligner could align."""
    found: list[tuple[float, bool, bool]] = []
    aligned = 0
    for clip in clips:
        try:
            alignment = aligner.align(clip.item.id, clip.item.audio(), clip.item.words)
        except AlignError as bad:
            print(bad, file=sys.stderr)
            continue
        aligned += 1
        found += errors(clip, alignment)
    table = np.array(found)
    return Errors(1000 * table[:, 0], table[:, 1] > 0, table[:, 2] > 0, aligned, len(clips))


def errors(clip: Labelled, alignment: Alignment) -> list[tuple[float, bool, bool]]:
    """Seconds too late, whether silence is beside it, whether a word begins or ends there."""
    phones = [span for span in alignment.phones if span.label]
    wanted = [span.label for span in clip.labels if span.label]
    assert [span.label for span in phones] == wanted, clip.item.id
    starts = set(np.cumsum([0, *(len(phones) for _, phones in clip.item.words)]).tolist())
    found = []
    place = 0  # of the next phone
    for left, right in zip(clip.labels[:-1], clip.labels[1:], strict=True):
        place += bool(left.label)
        ways = [phones[place - 1].end] if left.label else []
        ways += [phones[place].start] if right.label else []
        error = max((way - left.end for way in ways), key=abs)
        found.append((error, not (left.label and right.label), place in starts))
    return found


def markdown(rows: Sequence[dict[str, object]], clips: int, seconds: float, device: str) -> str:
    head = ["aligner", "median", "mean", *(f"within {ms} ms, %" for ms in WITHIN), "bias", "beside silence, mean"]
    head += ["words, mean", "boundaries", "clips", "training, min"]
    lines = [
        "# Alignment",
        "",
        f"{clips} clips, {seconds / 60:.0f} minutes of festvox-ru (Debian), {device}, torch {torch.__version__}, "
        f"{platform.machine()}, {os.cpu_count()} cores, {time.strftime('%Y-%m-%d')}. Milliseconds. Trained "
        "without labels on all clips, measured on all.",
        "",
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(str(value) for value in row.values()) + " |" for row in rows),
    ]
    rule = [line for line in (__doc__ or "").split("\n\n")[-1].splitlines() if line]
    return "\n".join(lines) + "\n\n" + " ".join(rule) + "\n" + TRUST + PUBLISHED


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", type=Path, help="recordings and labels.json")
    parser.add_argument("--prepare", type=Path, metavar="VOICE", help="make --corpus from a festvox voice, and stop")
    parser.add_argument("--clips", type=int, help="so many of them, evenly spread")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=3, help="of the network")
    parser.add_argument("--no-ctc", action="store_true", help="no recogniser is trained")
    parser.add_argument("--no-even", action="store_true", help="the starts from CTC only")
    parser.add_argument("--both", action="store_true", help="also from both starts, as 'olu align' does")
    parser.add_argument("--steps", type=int, default=3000, help="of training the recogniser")
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="KEY=VALUE", help="of its recipe")
    parser.add_argument(
        "--hour", type=Path, metavar="DIR", help="a corpus (metadata.csv and recordings) to align as one"
    )
    parser.add_argument("--language", default="swa", help="of --hour")
    parser.add_argument(
        "--weights", type=Path, help="of --hour: what benchmarks/recogniser.py wrote, instead of training"
    )
    parser.add_argument("--seconds", type=float, default=3600.0, help="of --hour")
    parser.add_argument("--out", type=Path, default=Path("align-benchmark"))
    parser.add_argument("--write", action="store_true", help="write the table to benchmarks/results/")
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""`python benchmarks/align.py --hour DIR`: clips one behind the other, with their texts as one, aligned in one go.

Where each clip begins is known, so it is also known which words came to lie outside their own clip. Reported are the
memory of the whole process and the time of aligning; training the recogniser is another process.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from align_recogniser import Log, from_weights, opened, train_on

from olu.align.long import align_long
from olu.core.files import Workspace, write_json
from olu.core.types import Alignment, Audio, Clip
from olu.corpus.manifest import Corpus
from olu.families.recogniser.recognise import Trained, load
from olu.train.run import Run

GAP_SECONDS = 0.3  # of nothing between two clips
CHUNK_SECONDS = 10.0


@dataclass(frozen=True)
class Piece:
    clip: Clip
    start: float
    words: tuple[tuple[str, tuple[str, ...]], ...]


def hour(asked: argparse.Namespace) -> None:
    log = Log(asked.out / "log.txt")
    if asked.weights is None:
        train_on(asked.hour, asked, log, language=asked.language, units="letters")
    else:
        opened(asked.out / "ws", asked.hour, language=asked.language)
    queue: Any = multiprocessing.get_context("spawn").Queue()
    worker = multiprocessing.get_context("spawn").Process(
        target=_measure, args=(asked.out / "ws", asked.weights, asked.seconds, asked.device, queue)
    )
    worker.start()
    result = queue.get()
    worker.join()
    write_json(asked.out / "hour.json", result)
    log(json.dumps(result))


def _measure(root: Path, weights: Path | None, seconds: float, device: str, queue: Any) -> None:
    ws = Workspace.open(root)
    if weights is None:
        run = [run for run in Run.all(ws.runs_folder) if run.finished][-1]
        recogniser = load(run, language=ws.language, device=device)
    else:
        recogniser = from_weights(weights, language=ws.language, device=device)
    corpus = Corpus.open(ws)
    pieces = _pieces(corpus, recogniser, seconds)
    words = [word for piece in pieces for word in piece.words]
    before = _megabytes()
    began, cpu = time.monotonic(), time.process_time()
    found = align_long(_sound(corpus, pieces), words, recogniser, id="hour")
    queue.put(
        {
            "seconds": round(found.seconds, 1),
            "words": len(words),
            "phones": sum(len(phones) for _, phones in words),
            "frame_ms": 1000 * recogniser.frame_seconds,
            "wall_seconds": round(time.monotonic() - began, 1),
            "cpu_seconds": round(time.process_time() - cpu, 1),
            "times_real_time": round(found.seconds / (time.monotonic() - began), 1),
            "peak_megabytes": _megabytes(),
            "megabytes_before": before,
            "score": found.score,
            "recogniser": recogniser.version,
            **_judged(found, pieces),
        }
    )


def _megabytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _pieces(corpus: Corpus, recogniser: Trained, seconds: float) -> list[Piece]:
    """Clips until the time is full, each word as its letters; a corpus that is shorter comes round again."""
    clips = [clip for clip in corpus if clip.transcribed]
    pieces, at, number = [], 0.0, 0
    while at < seconds:
        clip = clips[number % len(clips)]
        words = "".join(recogniser.target(corpus.reading(clip))).split()
        pieces.append(Piece(clip, at, tuple((word, tuple(word)) for word in words)))
        at += clip.seconds + GAP_SECONDS
        number += 1
    return pieces


def _sound(corpus: Corpus, pieces: list[Piece]) -> Iterator[Audio]:
    for piece in pieces:
        audio = corpus.audio(piece.clip)
        gap = np.zeros(round(GAP_SECONDS * audio.rate), dtype=np.float32)
        samples = np.concatenate([audio.samples, gap])
        size = round(CHUNK_SECONDS * audio.rate)
        for start in range(0, len(samples), size):
            yield Audio(samples[start : start + size], audio.rate)


def _judged(found: Alignment, pieces: list[Piece]) -> dict[str, Any]:
    """Words whose middle lies in another clip than their own."""
    at = outside = 0
    for piece in pieces:
        end = piece.start + piece.clip.seconds + GAP_SECONDS
        for span in found.words[at : at + len(piece.words)]:
            outside += not piece.start <= 0.5 * (span.start + span.end) <= end
        at += len(piece.words)
    return {
        "clips": len(pieces),
        "words_outside_their_clip": outside,
        "words_inside_percent": round(100 - 100 * outside / at, 2),
    }

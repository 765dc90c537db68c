"""A small workspace whose phones are tones of their own, so that where each one lies is known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from olu.align.state import words_of
from olu.align.textgrid import filled
from olu.audio import io
from olu.core.files import Workspace
from olu.core.job import finish
from olu.core.types import Alignment, Audio, Span
from olu.corpus.manifest import Corpus
from olu.stages.import_ import import_source
from olu.stages.read import read_corpus

RATE = 16000
PHONE_SECONDS = 0.1
EDGE_SECONDS = 0.3
TEXTS = (
    "Habari ya leo", "Watu wengi wamekuja", "Mtoto anasoma kitabu", "Chai ni moto sana", "Simba na tembo",
    "Ninapenda ndizi", "Mvua inanyesha leo", "Baba anapika ugali", "Gari jipya la bluu", "Rafiki yangu mzuri",
    "Tutaonana kesho asubuhi", "Maji ya baridi",
)  # fmt: skip


def tone(phone: str, seconds: float) -> NDArray[np.float32]:
    """By the letters of a phone, so that it is always the same."""
    pitch = 200.0 + 97.0 * (sum(map(ord, phone)) % 61)
    time = np.arange(round(seconds * RATE)) / RATE
    edges = np.minimum(1, 40 * np.minimum(time, time[::-1] + 1e-3))
    return (0.3 * np.sin(2 * np.pi * pitch * time) * edges).astype(np.float32)


def workspace(
    tmp_path: Path, texts: Sequence[str] = TEXTS, *, pauses: Sequence[float] = (0.2,), language: str = "swa"
) -> tuple[Workspace, dict[str, Alignment]]:
    """Clips of these texts, read; and where their words and phones truly are."""
    sounds = tmp_path / "sounds"
    sounds.mkdir()
    for number, text in enumerate(texts):  # something to import: the true sound follows, once it has been read
        io.write(sounds / f"clip{number:02}.wav", Audio(tone(str(number), 0.5), RATE))
        (sounds / f"clip{number:02}.txt").write_text(text, encoding="utf-8")
    draft = Workspace.create(tmp_path / "draft", language=language)
    finish(import_source(draft, sounds))
    finish(read_corpus(draft))
    corpus = Corpus.open(draft)
    truth = {}
    rng = np.random.default_rng(3)
    for clip in corpus:
        stem = Path(clip.audio).stem
        samples, alignment = _spoken(words_of(corpus.reading(clip)), pauses, rng)
        truth[stem] = alignment
        io.write(sounds / f"{stem}.wav", Audio(samples, RATE))
    ws = Workspace.create(tmp_path / "ws", language=language)
    finish(import_source(ws, sounds))
    finish(read_corpus(ws))
    by_id = {}
    for clip in Corpus.open(ws):
        one = truth[Path(clip.audio).stem]
        by_id[clip.id] = Alignment(id=clip.id, seconds=clip.seconds, words=one.words, phones=one.phones)
    return ws, by_id


def _spoken(
    words: Sequence[tuple[str, tuple[str, ...]]], pauses: Sequence[float], rng: np.random.Generator
) -> tuple[NDArray[np.float32], Alignment]:
    parts, spans, said, at = [np.zeros(round(EDGE_SECONDS * RATE), np.float32)], [], [], EDGE_SECONDS
    for number, (text, phones) in enumerate(words):
        start = at
        for phone in phones:
            parts.append(tone(phone, PHONE_SECONDS))
            spans.append(Span(phone, at, at + PHONE_SECONDS))
            at += PHONE_SECONDS
        said.append(Span(text, start, at))
        pause = pauses[number % len(pauses)] if number + 1 < len(words) else EDGE_SECONDS
        parts.append(np.zeros(round(pause * RATE), np.float32))
        at += pause
    samples = np.concatenate(parts)
    samples += rng.normal(0, 0.0005, len(samples)).astype(np.float32)
    seconds = len(samples) / RATE
    return samples, Alignment(id="", seconds=seconds, words=tuple(said), phones=filled(spans, end=seconds))


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

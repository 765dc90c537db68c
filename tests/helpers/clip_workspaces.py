"""Workspaces of clips to look at: a few with sound, or very many without."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from olu.audio import io
from olu.core.files import Workspace, write_json, write_jsonl
from olu.core.types import Audio, Clip
from olu.corpus.manifest import Corpus
from olu.corpus.sources import Source
from olu.text.vocabulary import SymbolVocabulary

RATE = 16000
HOSTILE = "<script>failures.push('ran')</script><img src=x onerror=\"failures.push('ran')\">"
TEXTS = ("Habari ya asubuhi", "Watu 12 wamefika", f"Hatari {HOSTILE}", "Mti mkubwa", "Maji safi", "")
SPEAKERS = ("amina", "obi", f"{HOSTILE}&\"'")


def wave(number: int, seconds: float = 1.2) -> Audio:
    """A hum of its own pitch, loud in the middle."""
    time = np.arange(round(seconds * RATE)) / RATE
    shape = np.sin(np.pi * time / seconds) * 0.8
    return Audio((shape * np.sin(2 * np.pi * (150 + 30 * number) * time)).astype(np.float32), RATE)


def clip_workspace(
    root: Path, name: str = "swa", *, texts: Sequence[str] = TEXTS, language: str = "swa", sound: bool = True
) -> Workspace:
    """One clip a text; speakers in turn; every second clip has a mark, the first an error."""
    ws = Workspace.create(root / name, language=language)
    source = root / f"{name}-sound"
    source.mkdir()
    clips = []
    for number, text in enumerate(texts):
        if sound:
            io.write(source / f"c{number}.wav", wave(number))
        facts: dict[str, Any] = {"audio": f"s1/c{number}.wav", "seconds": 1.2, "rate": RATE, "language": language}
        clips.append(Clip(id=f"c{number}", text=text, speaker=SPEAKERS[number % len(SPEAKERS)], **facts))
    sides: Any = {clip.id: ("train", "train", "valid", "test")[at % 4] for at, clip in enumerate(clips)}
    Corpus.save(ws, clips, [Source(name="s1", root=str(source), layout="folder")], sides)
    write_jsonl(
        ws.audit_folder / "audit.jsonl",
        (
            {
                "id": clip.id,
                "check": "clipping" if at else "silence",
                "severity": "warn" if at else "error",
                "value": 1.0,
                "message": f"{HOSTILE} at full scale" if at == 2 else "12 samples at full scale",
            }
            for at, clip in enumerate(clips)
            if at % 2 == 0
        ),
    )
    return ws


def large_workspace(
    root: Path, count: int, *, name: str = "large", sounds: int = 0, readings: bool = False
) -> Workspace:
    """Very many made clips, a fifth of them marked; sound for the first `sounds`, and made readings if asked for."""
    random = np.random.default_rng(count)
    lengths, words = random.uniform(2, 12, count), random.integers(0, 5000, (count, 12))
    ws = Workspace.create(root / name, language="swa")
    source = root / f"{name}-sound"
    source.mkdir()
    clips = []
    for number in range(count):
        if number < sounds:
            io.write(source / f"{number:06}.flac", wave(number % 12, 3.0))
        clips.append(
            Clip(
                id=f"recording-{number:06}-{number:08x}",
                audio=f"s1/{number:06}.flac",
                seconds=3.0 if number < sounds else round(float(lengths[number]), 6),
                rate=RATE if number < sounds else 44100,
                text=" ".join(f"neno{word}" for word in words[number]),
                language="swa",
                speaker=f"speaker{number % 20}",
            )
        )
    sides: Any = {clip.id: ("valid", "test")[at % 2] if at % 25 == 0 else "train" for at, clip in enumerate(clips)}
    Corpus.save(ws, clips, [Source(name="s1", root=str(source), layout="folder")], sides)
    if readings:
        _made_readings(ws, clips)
    checks = ("noise", "clipping", "silence", "duration")
    write_jsonl(
        ws.audit_folder / "audit.jsonl",
        (
            {
                "id": clip.id,
                "check": checks[at % 4],
                "severity": "error" if at % 40 == 0 else "warn",
                "value": 1.0,
                "message": "x",
            }
            for at, clip in enumerate(clips[::5])
        ),
    )
    return ws


def _made_readings(ws: Workspace, clips: Sequence[Clip]) -> None:
    """As `olu read` would leave them, in less time."""
    phones = ["n", "e", "n", "o", "a"]
    word = {"phones": phones, "tones": [], "bearers": [], "stress": 1}
    write_jsonl(
        ws.readings / "readings.jsonl",
        (
            {
                "id": clip.id,
                "text": clip.text,
                "normal": clip.text,
                "words": [{"text": one, **word} for one in clip.text.split()],
                "breaks": ["", *[" "] * 11, ""],
                "dropped": {},
            }
            for clip in clips
        ),
    )
    symbols = sorted({" ", *phones})
    write_json(ws.readings / "vocabulary.json", SymbolVocabulary.of(symbols).state())

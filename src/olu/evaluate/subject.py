"""What is evaluated: a voice that speaks, or sound files of any system."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from glob import escape
from pathlib import Path
from typing import Any

from olu.audio.io import SUFFIXES
from olu.audio.media import is_recording
from olu.core.errors import AudioError, ConfigError, WorkspaceError
from olu.core.files import hash_file, hash_value
from olu.core.types import Audio, Reading
from olu.evaluate.evaluation import Subject
from olu.speak.package import NOISE, graph_files, voice_json
from olu.speak.stream import TONES
from olu.speak.voice import Voice

TABLES = ("metadata.csv", "metadata.tsv", "table.csv", "table.tsv")
SAMPLING = ("noise_scale", "duration_noise_scale", "length_scale")


@dataclass(frozen=True)
class Speaker:
    """What is evaluated, as a function from a text and a speaker's name to sound."""

    subject: Subject
    say: Callable[[str, str], Audio]  # text, speaker's name
    speakers: tuple[str, ...]
    read: Callable[[str], Reading] | None = None  # its own reading of a text
    strict: Callable[[str, str], Audio] | None = None  # as `say`, with written tones pushed apart
    voice: Voice | None = None  # that says them, where it is one whose pitch stands open
    draws: Voice | None = None  # the same, where takes of one text differ in what is said
    resample: float = 1.0  # what the recordings it is held against are resampled by, as those it learnt from were
    raised: float = 1.0  # what those it learnt from were resampled by, also where it is held against others


def of_voice(
    path: Path,
    *,
    seed: int,
    noise: float | None = None,
    run: str | None = None,
    step: int | None = None,
    corpus: str | None = None,
    speaker: str | None = None,
) -> Speaker:
    """`corpus`: the fingerprint of the recordings it is held against; a run is held against those it learnt from.

    `speaker`: the one of its speakers that is judged; the recordings are then of that person, wherever they lie.
    Without `noise` it speaks with its own.
    """
    voice = Voice.open(path)
    if speaker is not None and speaker not in voice.speakers:
        raise ConfigError(f"--speaker {speaker}: {voice.name} has {', '.join(voice.speakers)}: name one of them")
    facts: dict[str, Any] = voice.facts.get("facts") or {}
    own_recordings = run is not None or (corpus is not None and (speaker or corpus == facts.get("corpus")))
    factor = voice.resample if own_recordings else 1.0
    run = run or facts.get("run")
    step = step if step is not None else facts.get("step")
    own = voice.knobs["noise"].default if "noise" in voice.knobs else None
    spoken = own if noise is None else noise
    subject = Subject(
        name=voice.name,
        kind="voice",
        path=str(path),
        fingerprint=_of_speaker(fingerprint_of(path, noise=spoken), speaker),
        language=voice.language,
        run=run if isinstance(run, str) else None,
        step=step if isinstance(step, int) else None,
        noise=spoken,
        usual_noise=_usual(facts, own),
        speaker=speaker,
    )

    def say(text: str, who: str, tones: str = TONES[0]) -> Audio:
        by = who if who in voice.speakers else speaker
        return voice.speak(
            text, seed=seed, noise=noise, speaker=by, tones=tones, speed=factor
        )  # the tempo of what it learnt from

    more: dict[str, Any] = {"strict": partial(say, tones=TONES[1]), "voice": voice} if voice.engine.plans else {}
    more |= {"draws": voice} if voice.engine.draws else {}
    names = (speaker,) if speaker else tuple(voice.speakers)
    return Speaker(subject, say, names, voice.frontend.read, resample=factor, raised=voice.resample, **more)


def _of_speaker(fingerprint: str, speaker: str | None) -> str:
    return hash_value([fingerprint, speaker]) if speaker else fingerprint


def _usual(facts: dict[str, Any], own: float | None) -> float | None:
    """The noise a voice was trained to be used with, where its export gave it another."""
    given = facts.get(NOISE)
    before = given.get("instead_of") if isinstance(given, dict) else None
    return float(before) if isinstance(before, int | float) else own


def fingerprint_of(path: Path, *, noise: float | None = None) -> str:
    """The same for the same networks in a folder that speak in the same way; a zip has one of its own.

    `noise` is what it speaks with, where that is not its own.
    """
    sampling = _sampling(path)
    sampling |= {"noise_scale": float(noise)} if noise is not None else {}
    if path.is_file():
        return hash_value([hash_file(path), sampling])
    names = [*graph_files(voice_json(path)), "vocabulary.json"]
    return hash_value([*(hash_file(path / name) if (path / name).exists() else "" for name in names), sampling])


def _sampling(path: Path) -> dict[str, float]:
    """What a voice package says of how it speaks, or the defaults of its knobs; nothing where it says none."""
    facts = voice_json(path)
    held, knobs = facts.get("sampling"), facts.get("knobs")
    if isinstance(held, dict):
        return {name: float(held[name]) for name in SAMPLING if name in held}
    return {name: float(row["default"]) for name, row in knobs.items()} if isinstance(knobs, dict) else {}


# ------------------------------------------------------------ sound files of any system


@dataclass(frozen=True)
class Files:
    """Sound files: by the id of a clip, or with a text of their own."""

    subject: Subject
    by_id: dict[str, Path]
    texts: tuple[tuple[Path, str], ...]


def _convertible(place: Path) -> str:
    """What a folder without sound files has of other recordings, told."""
    others = sorted(path.name for path in place.iterdir() if is_recording(path.name)) if place.is_dir() else []
    return f", but {len(others)} to be converted first ({', '.join(others[:3])})" if others else ""


def of_files(place: Path, *, language: str) -> Files:
    """A folder of files named by clip id, or a table of file|text."""
    table = place if place.is_file() else next((place / name for name in TABLES if (place / name).is_file()), None)
    if table is not None:
        texts = tuple(_rows(table))
        paths = [path for path, _ in texts]
        by_id: dict[str, Path] = {}
    elif place.is_dir():
        paths = sorted(path for path in place.iterdir() if path.suffix.lower() in SUFFIXES)
        by_id, texts = {path.stem: path for path in paths}, ()
    else:
        raise WorkspaceError(f"{place} is not there: name a folder of sound files, or a table of file|text")
    if not paths:
        raise WorkspaceError(f"{place} holds no sound files ({', '.join(SUFFIXES)}){_convertible(place)}")
    subject = Subject(
        name=place.resolve().stem if place.is_file() else place.resolve().name,
        kind="wavs",
        path=str(place),
        fingerprint=hash_value([[path.name, hash_file(path)] for path in paths]),
        language=language,
    )
    return Files(subject, by_id, texts)


def text_of(path: Path) -> str:
    """A file of text, or one sentence that it is none."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not text in UTF-8: save it as UTF-8") from None


def _rows(table: Path) -> Iterator[tuple[Path, str]]:
    lines = text_of(table).split("\n")
    mark = "\t" if table.suffix.lower() == ".tsv" or "\t" in lines[0] else "|"
    for number, row in enumerate(csv.reader(lines, delimiter=mark, quoting=csv.QUOTE_NONE), 1):
        if not any(cell.strip() for cell in row) or [cell.strip().lower() for cell in row[:2]] == ["file", "text"]:
            continue
        if len(row) < 2 or not row[1].strip():
            raise ConfigError(f"{table} line {number} is not file{mark}text")
        path = table.parent / row[0].strip()
        beside = sorted(file for file in path.parent.glob(f"{escape(path.name)}.*") if file.suffix.lower() in SUFFIXES)
        found = [path] if path.is_file() else beside
        if not found:
            raise AudioError(f"{table} line {number}: {row[0].strip()} is not beside the table")
        yield found[0], row[1].strip()

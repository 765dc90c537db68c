"""An evaluation's folder: its name, its items, its page."""

from __future__ import annotations

import platform
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import olu
from olu.core.errors import AudioError, MissingExtra, WorkspaceError
from olu.core.files import Workspace
from olu.core.types import Audio
from olu.corpus.manifest import Corpus
from olu.evaluate.evaluation import FILE, WAVS, Evaluation, Sample, SentenceResult, Subject, load
from olu.evaluate.metric_groups import Transcript
from olu.evaluate.metrics import f0
from olu.evaluate.metrics.sanity import FAULTS
from olu.evaluate.report import ShownSounds, render
from olu.pages.charts import PitchCurve


def folder_for(ws: Workspace | None, subject: Subject, out: Path | None) -> Path:
    """The folder an evaluation goes to: never another voice's; the same voice's is made anew."""
    if out is not None:
        if out.exists() and (not out.is_dir() or any(out.iterdir())) and not _is_of(out, subject):
            raise WorkspaceError(
                f"{out} is there already and is not an evaluation of this voice: choose another folder"
            )
        return out
    base = ws.evaluations if ws else Path()
    name = _plain(_name(subject) if ws else f"{subject.name}-evaluation{_noise(subject)}{_speaker(subject)}")
    number = 1
    while (place := base / (name if number == 1 else f"{name}-{number}")).exists() and not _is_of(place, subject):
        number += 1
    return place


def _name(subject: Subject) -> str:
    if subject.run and subject.step is not None:
        return f"{subject.run}-step-{subject.step}{_noise(subject)}{_speaker(subject)}"
    return f"{subject.name}-{subject.fingerprint[:8]}"


def _speaker(subject: Subject) -> str:
    return f"-{subject.speaker}" if subject.speaker else ""


def _noise(subject: Subject) -> str:
    """The noise in a folder's name, where it is not the usual one, to keep evaluations of a voice apart."""
    return "" if subject.noise == subject.usual_noise else f"-noise-{subject.noise:g}"


def _plain(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "voice"


def _is_of(folder: Path, subject: Subject) -> bool:
    if not (folder / FILE).is_file():
        return False
    try:
        return load(folder).subject.fingerprint == subject.fingerprint
    except WorkspaceError:
        return False


def items(takes: Sequence[Sample], results: Mapping[str, Sequence[Any]]) -> tuple[SentenceResult, ...]:
    """Every sentence, with what the recogniser heard and what is wrong with the sound."""
    heard = results.get("cer") or results.get("whisper") or [None] * len(takes)
    sane = results.get("sanity") or [None] * len(takes)
    return tuple(_item(*row) for row in zip(takes, heard, sane, strict=True))


def _item(take: Sample, heard: Transcript | None, sane: Any) -> SentenceResult:
    spoken = take.spoken()
    return SentenceResult(
        id=take.id,
        text=take.text,
        domain=take.domain,
        wav=f"{WAVS}/{take.wav}",
        seconds=round(spoken.seconds, 3),
        speaker=take.speaker,
        natural_seconds=round(take.natural().seconds, 3) if take.natural else None,
        heard=heard.spoken if heard else None,
        heard_natural=heard.natural if heard else None,
        expected=heard.expected if heard else None,
        faults=tuple(f"{fault}: {FAULTS[fault]}" for fault in sane[0].faults) if sane else (),
    )


def facts_of(corpus: Corpus | None, *, notes: Sequence[str], asked: Mapping[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "olu": olu.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "made": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
        **asked,
    }
    if corpus is not None:
        facts |= {"workspace": corpus.ws.name, "corpus": corpus.fingerprint}
    return {**facts, "notes": list(notes)} if notes else facts


def page(evaluation: Evaluation, takes: Sequence[Sample]) -> str:
    by_id = {(take.domain, take.id): take for take in takes}

    def hear(item: SentenceResult) -> ShownSounds | None:
        take = by_id[item.domain, item.id]
        try:
            spoken = take.spoken()
            natural = take.natural() if take.natural else None
        except AudioError:
            return None
        return ShownSounds(spoken, natural, _melody(spoken), _melody(natural))

    return render(evaluation, hear=hear)


def _melody(audio: Audio | None) -> PitchCurve | None:
    if audio is None:
        return None
    try:
        pitch = f0.track(audio)
    except MissingExtra:
        return None
    return PitchCurve(pitch.times, pitch.hertz)

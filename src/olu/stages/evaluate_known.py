"""What the corpus tells the judges: a recogniser, what is usual, each speaker's pitch and voice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from olu.audio.io import resample
from olu.core.errors import AlignError, AudioError, MissingExtra, OluError
from olu.core.files import Workspace, read_json
from olu.core.job import Job, Tick
from olu.core.machine import this_machine
from olu.core.types import Alignment, Audio, Clip, Reading
from olu.corpus.manifest import Corpus
from olu.evaluate.evaluation import References, Transcriber, spread_evenly
from olu.evaluate.judge import INSTALL
from olu.evaluate.metrics import f0, sanity, speaker
from olu.families.runs import ready
from olu.stages.listener import recogniser_for, second_recogniser

MOST_USUAL, MOST_OF_SPEAKER = 40, 20
NEED_PITCH = {"mcd", "f0"}


def known_of(corpus: Corpus, *, groups: Sequence[str], speakers: Iterable[str], device: str | None) -> Job[References]:
    """Only what the groups ask for; what fails is written down and the rest goes on."""
    absent: dict[str, tuple[str, str]] = {}
    known = References(language=corpus.ws.language)
    if {"cer", "collusion"} & set(groups):
        known = yield from _recogniser(corpus.ws, known, absent, device=device, groups=groups)
    known = replace(known, hears=_undone(known.hears, corpus.factor), second=_undone(known.second, corpus.factor))
    if {"tones", "duration"} & set(groups):
        known = _aligner(corpus.ws, known, absent, device=device)
    train = [clip for clip in corpus if corpus.split(clip) == "train" and corpus.why_not(clip) is None]
    yield Tick(0, 3, "listening to the corpus")
    if "sanity" in groups:
        known = replace(known, usual=_tried(lambda: sanity.usual(_lettered(corpus, train)), absent, "sanity"))
    bounds: dict[str, tuple[float, float]] = {}
    voices: dict[str, Any] = {}
    for name in dict.fromkeys(speakers):
        own = [clip for clip in train if clip.speaker == name]
        if NEED_PITCH & set(groups) and own:
            found = _tried(lambda own=own: f0.bounds(_sounds(corpus, own)), absent, "f0")  # type: ignore[misc]
            bounds |= {name: found} if found else {}
        if "speaker" in groups and own:
            middle = _tried(lambda own=own: speaker.centroid(_sounds(corpus, own)), absent, "speaker")  # type: ignore[misc]
            voices |= {name: middle} if middle is not None else {}
    yield Tick(3, 3, "listening to the corpus")
    return replace(known, bounds=bounds, voices=voices, absent=absent)


@dataclass(frozen=True)
class _Undone:
    """A recogniser for sound that was resampled: it learnt from recordings as they are."""

    hears: Transcriber
    factor: float

    @property
    def version(self) -> str:
        return self.hears.version

    def target(self, reading: Reading) -> list[str]:
        return self.hears.target(reading)

    def transcribe(self, audio: Audio) -> str:
        return self.hears.transcribe(resample(audio, audio.rate, factor=1 / self.factor))


def _undone(hears: Transcriber | None, factor: float) -> Transcriber | None:
    return hears if hears is None or factor == 1.0 else _Undone(hears, factor)


def _recogniser(
    ws: Workspace, known: References, absent: dict[str, tuple[str, str]], *, device: str | None, groups: Sequence[str]
) -> Job[References]:
    for group in ("cer", "collusion"):
        if group not in groups:
            continue
        try:
            if group == "cer":
                known = replace(known, hears=(yield from recogniser_for(ws, units="letters", device=device)))
            else:
                known = replace(known, second=(yield from second_recogniser(ws, device=device)))
        except OluError as failed:
            absent[group] = (f"no {'' if group == 'cer' else 'second '}recogniser: {failed}", "")
    return known


def _aligner(ws: Workspace, known: References, absent: dict[str, tuple[str, str]], *, device: str | None) -> References:
    """By the recogniser that `olu align` trained, where there is one; none is trained for this."""
    run = ready(ws, units="symbols", everything=True)
    if run is None:
        absent["tones"] = (
            "the corpus was not aligned, so there is nothing to find the syllables with",
            f"olu align {ws.root}",
        )
        return known
    from olu.align.aligner import Aligner
    from olu.align.frames import FrameModel
    from olu.families.recogniser.recognise import load

    trained = load(run, language=ws.language, device=this_machine(device).device)
    told, frames = ws.alignment / "frames.json", None
    if told.is_file() and (ws.alignment / "frames").is_dir() and read_json(told)["recogniser"] == trained.version:
        frames = FrameModel.load(ws.alignment / "frames", device=trained.device)
    aligner = Aligner(recogniser=trained, frames=frames)

    def align(id: str, audio: Audio, reading: Reading) -> Alignment | None:
        try:
            return aligner.align(id, audio, [(word.text, word.phones) for word in reading.words])
        except AlignError:  # a voice that swallows sounds cannot be aligned: its other figures say so
            return None

    return replace(known, aligns=align, aligner=f"{'frames' if frames else 'CTC'} of {trained.version}")


def _tried(work: Callable[[], Any], absent: dict[str, tuple[str, str]], group: str) -> Any:
    try:
        return work()
    except MissingExtra as missing:
        absent[group] = (str(missing).partition(": ")[0], INSTALL)
        return None


def _sounds(corpus: Corpus, clips: Sequence[Clip]) -> Iterable[Audio]:
    known = {clip.id: clip for clip in clips}
    for id in spread_evenly(list(known), MOST_OF_SPEAKER):
        try:
            yield corpus.audio(corpus.taken(known[id]))
        except AudioError:  # the audit names it
            continue


def _lettered(corpus: Corpus, clips: Sequence[Clip]) -> Iterable[tuple[Audio, int]]:
    known = {clip.id: clip for clip in clips}
    for id in spread_evenly(list(known), MOST_USUAL):
        try:
            letters = sum(len(word.text) for word in corpus.reading(known[id]).words)
            yield corpus.audio(corpus.taken(known[id])), letters
        except AudioError:
            continue

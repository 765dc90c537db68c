"""The recogniser of a workspace: the newest that fits its corpus, or a new one, trained as any run is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from olu.audio.io import resample
from olu.core.errors import AlignError, AudioError, CorpusError, MissingExtra, OluError, TrainError
from olu.core.files import Workspace, read_json
from olu.core.job import Job, Note, Report, Tick
from olu.core.machine import this_machine
from olu.core.stage import need_training
from olu.core.threads import use_threads
from olu.core.types import Alignment, Audio, Clip, Reading
from olu.core.words import length, minutes
from olu.corpus.manifest import Corpus
from olu.evaluate.evaluation import References, Transcriber, spread_evenly
from olu.evaluate.metrics import f0, sanity, speaker
from olu.families.runs import RECOGNISER, SECOND_HALF, Units, aligner_of, fitting, is_second, runs_of
from olu.networks.models import INSTALL
from olu.stages.audit import audit
from olu.stages.long_path import FROM_CLIPS, LEAST_MINUTES
from olu.stages.plan import forecast
from olu.stages.read import read_corpus
from olu.stages.train import TrainSummary, train
from olu.train.run import Run

if TYPE_CHECKING:
    from olu.align.aligner import Aligner
    from olu.families.recogniser.recognise import Trained

ENOUGH_TO_JUDGE = 60.0  # minutes of speech: see docs/recogniser.md


def recogniser_for(
    ws: Workspace,
    *,
    units: Units,
    device: str | None = None,
    everything: bool = False,
    force: bool = False,
    base: Run | None = None,
    settings: Sequence[str] = (),
    judges: bool = True,
) -> Job[Trained]:
    """One that hears `units`; `everything`: learnt from all clips (to align), else from the train side (to judge).

    A finished run whose corpus, readings and settings fit is used again, an unfinished one is gone on with. `force`
    trains even on a corpus that is too small to align with. One that is trained begins with `base`, where that is
    given, and has these `settings` (KEY=VALUE). `judges`: it is to judge voices.
    """
    need_training("a recogniser")
    use_threads()
    yield from audit(ws)
    yield from read_corpus(ws)
    where = this_machine(device).device
    known = fitting(ws, units=units, everything=everything)
    if everything and not force and not any(run.finished for run in known):
        _check_enough(ws)

    def changes() -> Job[list[str]]:
        asked = [f"family={RECOGNISER}", f"model.units={units}", f"data.everything={str(everything).lower()}"]
        asked += ["data.hold_back=0.0"] if everything else []
        asked += [f"base={base.folder}"] if base else []
        asked += settings
        steps, hours = yield from forecast(ws, overrides=asked, device=where)
        yield Note(_ahead(ws, steps=steps, hours=hours, judges=judges and not everything))
        return asked

    return (yield from _newest(ws, known, changes, device=where, what="training the recogniser"))


def second_recogniser(ws: Workspace, *, device: str | None = None) -> Job[Trained]:
    """One from half of the training side: where it agrees with the first, neither has learnt a fault by heart."""
    corpus = Corpus.open(ws).fingerprint
    second = [run for run in runs_of(ws, "listener") if is_second(run)]
    known = [run for run in second if run.document("facts.json").get("corpus") == corpus]

    def changes() -> Job[list[str]]:
        return [f"family={RECOGNISER}", "model.units=letters", f"data.hold_back={SECOND_HALF}"]
        yield  # makes this a generator like its brother

    where = this_machine(device).device
    return (yield from _newest(ws, known, changes, device=where, what="second recogniser"))


def _newest(
    ws: Workspace, known: list[Run], changes: Callable[[], Job[list[str]]], *, device: str, what: str
) -> Job[Trained]:
    """The newest finished one of the known; an unfinished one is gone on with, else one with `changes` is trained."""
    from olu.families.recogniser.recognise import load

    if done := [run for run in known if run.finished]:
        return load(done[-1], language=ws.language, device=device)
    if open_ := [run for run in known if run.result is None and run.checkpoints().steps() and not run.is_locked()]:
        work = train(ws, resume=True, resumed=open_[-1].name, device=device)
    else:
        work = train(ws, overrides=(yield from changes()), new=True, device=device)
    summary = yield from as_ticks(work, what)
    if summary.stopped:
        raise TrainError(f"{summary.run} stopped at step {summary.steps}: {summary.stopped}")
    return load(Run.named(ws.runs_folder, summary.run), language=ws.language, device=device)


def _ahead(ws: Workspace, *, steps: int, hours: float | None, judges: bool) -> str:
    """A sentence before a recogniser is trained: how long it takes, and whether it will hear enough."""
    time = "" if hours is None else f", {length(3600 * hours)} or so here"
    said = f"a recogniser is trained first ({steps:,} steps{time}); it is kept and used again"
    heard = speech_minutes(ws)
    if judges and heard < ENOUGH_TO_JUDGE:
        said += (
            f". From {minutes(60 * heard)} of speech it will hear too badly to judge a voice, for which it needs about"
            f" {ENOUGH_TO_JUDGE:.0f}: --only with other metrics leaves it out"
        )
    return said


def speech_minutes(ws: Workspace) -> float:
    """Minutes of speech in a workspace that can be learnt from."""
    corpus = Corpus.open(ws)
    return sum(corpus.taken(clip).seconds for clip in corpus if corpus.why_not(clip) is None) / 60


def _check_enough(ws: Workspace) -> None:
    minutes = speech_minutes(ws)
    if minutes < LEAST_MINUTES:
        raise CorpusError(
            f"{ws.root} has {minutes:.1f} minutes of speech to learn from, and an aligner of its own needs"
            f" {LEAST_MINUTES:.0f}: with less it finds boundaries no better than spreading the sounds evenly."
            " Record more, import TextGrids of another aligner, or try it all the same with --force"
        )


def as_ticks(work: Job[TrainSummary], what: str) -> Job[TrainSummary]:
    """A training whose reports are told as ticks, named `what`."""
    while True:
        try:
            seen = next(work)
        except StopIteration as end:
            summary: TrainSummary = end.value
            return summary
        if isinstance(seen, Tick):
            yield seen
        elif isinstance(seen, Report):
            yield Tick(seen.step, seen.steps, what)


# ---- what the corpus tells the judges: a recogniser, what is usual, each speaker's pitch and voice


MOST_USUAL, MOST_OF_SPEAKER = 40, 20
NEED_PITCH = {"mcd", "f0"}


def known_of(corpus: Corpus, *, groups: Sequence[str], speakers: Iterable[str], device: str | None) -> Job[References]:
    """What the metrics compare with, gathered from the corpus; what fails is kept in `absent`."""
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
    bounds: dict[str, Any] = {}
    voices: dict[str, Any] = {}
    for name in dict.fromkeys(speakers):
        own = [clip for clip in train if clip.speaker == name]
        if NEED_PITCH & set(groups) and own:
            bounds[name] = _tried(lambda own=own: f0.bounds(_sounds(corpus, own)), absent, "f0")  # type: ignore[misc]
        if "speaker" in groups and own:
            voices[name] = _tried(lambda own=own: speaker.centroid(_sounds(corpus, own)), absent, "speaker")  # type: ignore[misc]
    yield Tick(3, 3, "listening to the corpus")
    return replace(known, bounds=_found(bounds), voices=_found(voices), absent=absent)


def _found(by_speaker: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in by_speaker.items() if value is not None}


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
    """The references with an aligner, where `olu align` has trained one; none is trained for this."""
    found = _learnt_aligner(ws, device=this_machine(device).device)
    if found is None:
        absent["tones"] = (
            "the corpus was not aligned, so there is nothing to find the syllables with",
            f"olu align {ws.root}",
        )
        return known
    aligner, name = found

    def align(id: str, audio: Audio, reading: Reading) -> Alignment | None:
        try:
            return aligner.align(id, audio, [(word.text, word.phones) for word in reading.words])
        except AlignError:  # a voice that swallows sounds cannot be aligned: its other figures say so
            return None

    return replace(known, aligns=align, aligner=name)


def _learnt_aligner(ws: Workspace, *, device: str) -> tuple[Aligner, str] | None:
    """What the last alignment of short clips left, and its name: frames with a recogniser, one of the two, or none."""
    from olu.align.aligner import Aligner
    from olu.align.frames import FrameModel

    run, told, folder = aligner_of(ws), ws.alignment / "frames.json", ws.alignment / "frames"
    made_by = read_json(told)["recogniser"] if told.is_file() and folder.is_dir() else ""
    if made_by == FROM_CLIPS:
        return Aligner(frames=FrameModel.load(folder, device=device)), made_by
    if run is None:
        return None
    from olu.families.recogniser.recognise import load

    trained = load(run, language=ws.language, device=device)
    frames = FrameModel.load(folder, device=device) if made_by == trained.version else None
    return Aligner(recogniser=trained, frames=frames), f"{'frames' if frames else 'CTC'} of {trained.version}"


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

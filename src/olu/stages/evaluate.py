"""Speak held-out sentences, hold them against the recordings, and write down how good the voice is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from olu.core.errors import ConfigError, MissingExtra, WorkspaceError
from olu.core.files import Workspace, whole, write_text
from olu.core.job import Job, Note, Tick, finish
from olu.core.stage import EVALUATE
from olu.core.threads import settle
from olu.core.told import Caution, Remedy, TextTable, Told
from olu.corpus.manifest import Corpus
from olu.evaluate.estimates import Estimate
from olu.evaluate.evaluation import PAGE, WAVS, CheckpointMeans, Domain, Evaluation, Missing, References, Sample
from olu.evaluate.sentences import (
    PlannedSentence,
    Read,
    file_notes,
    file_takes,
    lines_for,
    moved_words,
    no_others,
    reader_of,
    spoken_takes,
)
from olu.evaluate.subject import Files, Speaker, of_files, of_voice
from olu.families.runs import kind_of, passed_over, voice_named
from olu.speak.package import voice_place
from olu.speak.stream import Manner
from olu.speak.voice import Voice
from olu.stages.evaluate_copies import CopySummary, evaluate_copies
from olu.stages.export import export
from olu.stages.read import read_corpus
from olu.stages.verbs.voices import EvaluateOptions
from olu.train.run import Run

CURVE_SENTENCES = 12
CURVE = ("cer", "hard_failures", "faults", "duration_ratio", "speaker", "mcd", "f0_error", "dnsmos")
COLLUSION = "collusion"  # only where asked for: it trains a second recogniser
COPY = "copy"  # of recordings, not of the voice alone, so no group of the judge
OF_RUNS = ("run", "step", "checkpoints")
EVERY_FILE = ", and every file is judged"
OF_SPEAKING = {
    "text": "",
    "noise": "",
    "speaker": "",
    "sentences": EVERY_FILE,
    "seed": EVERY_FILE,
}  # refused with --wavs


@dataclass(frozen=True)
class EvaluateSummary:
    folder: Path
    evaluation: Evaluation

    @property
    def page(self) -> Path:
        return self.folder / PAGE

    def row(self, options: EvaluateOptions) -> dict[str, Any]:
        return {"folder": str(self.folder), "report": str(self.page), **self.evaluation.row()}

    def sentences(self, options: object) -> Iterator[Told]:
        from olu.evaluate.report import table_of

        evaluation = self.evaluation
        yield TextTable(*table_of(evaluation))
        for gate in evaluation.gates:
            yield f"{gate.level:7} {gate.said}"
        for one in evaluation.missing:
            how = f": {one.command}" if one.command else ""
            yield Caution(f"not measured: {one.metric}: {one.why}{how}")
        for note in evaluation.facts.get("notes", []):
            yield Caution(str(note))
        if evaluation.subject.noise is not None:
            yield f"Spoken with noise {evaluation.subject.noise:g}."
        yield evaluation.verdict[0]
        yield f"Report: {self.page}"
        yield f"To compare it with another: {Remedy('compare', (self.folder, 'OTHER'))}"

    def failure(self, options: EvaluateOptions) -> str | None:
        failed = options.strict and self.evaluation.level == "fail"
        return f"the voice fails: see {self.page}" if failed else None


@dataclass(frozen=True)
class Bench:
    """What is judged, what it is held against, and by which metrics."""

    wish: EvaluateOptions
    groups: tuple[str, ...]
    ws: Workspace | None
    corpus: Corpus | None
    speaker: Speaker | None
    files: Files | None
    read: Read


def run(options: EvaluateOptions) -> Job[EvaluateSummary | CopySummary]:
    """`olu evaluate`"""
    yield from map(Note, settle(options.threads))
    if (vocoder := _vocoder(options)) is not None:
        return (yield from evaluate_copies(Workspace.open(options.place), vocoder, options))
    return (yield from evaluate(options))


def _vocoder(options: EvaluateOptions) -> Run | None:
    """The run that is named, where it is a vocoder's: it is judged by its copies."""
    if options.run is None or not (options.place / "olu.toml").is_file():
        return None
    run = Run.named(Workspace.open(options.place).runs_folder, options.run)
    return run if kind_of(run) == "vocoder" else None


def evaluate(wish: EvaluateOptions) -> Job[EvaluateSummary]:
    """The voice of a workspace or a package, or sound files, judged; its report is written."""
    place = voice_place(wish.place)
    bench = yield from _bench(place, wish)
    from olu.evaluate.folder import folder_for, page

    subject = bench.speaker.subject if bench.speaker else bench.files.subject  # type: ignore[union-attr]
    folder = folder_for(bench.ws, subject, wish.output)
    with whole(folder) as partial:
        (partial / WAVS).mkdir(parents=True)
        takes, notes = yield from _takes(bench, partial / WAVS)
        known = yield from _known(bench, takes, subject.language)
        evaluation = yield from _judged(bench, takes, known, notes)
        if COPY in bench.groups and wish.wavs is None:
            evaluation = yield from _with_copies(bench, evaluation, takes, known)
        if wish.checkpoints:
            evaluation = replace(evaluation, curve=(yield from _curve(bench, evaluation, takes, known)))
        yield Tick(len(takes), len(takes), "writing the report")
        evaluation.save(partial)
        write_text(partial / PAGE, page(evaluation, takes))
    return EvaluateSummary(folder, evaluation)


def _bench(place: Path, wish: EvaluateOptions) -> Job[Bench]:
    for package in EVALUATE:
        if find_spec(package) is None:
            raise MissingExtra("olu evaluate", extra="eval", package=package)
    groups = _groups(wish)
    _check(place, wish, groups)
    own = (place / "olu.toml").is_file()
    at = place if own else wish.corpus
    ws = Workspace.open(at) if at else None
    corpus = None
    if ws is not None:
        corpus = Corpus.open(ws)
        corpus.check_sources()
        yield from read_corpus(ws)
    files = speaker = None
    if wish.wavs is not None:
        assert ws
        files = of_files(wish.wavs, language=ws.language)
    elif own:
        assert ws
        speaker = yield from of_workspace(
            ws, run=wish.run, step=wish.step, seed=wish.seed, noise=wish.noise, speaker=wish.speaker
        )
    else:
        held = corpus.fingerprint if corpus else None
        speaker = of_voice(place, seed=wish.seed, noise=wish.noise, corpus=held, speaker=wish.speaker)
    if corpus is not None and speaker is not None:
        corpus = corpus.resampled(speaker.resample)
    return Bench(wish, groups, ws, corpus, speaker, files, reader_of(corpus, speaker))


def _groups(wish: EvaluateOptions) -> tuple[str, ...]:
    """The metric groups that --metrics and --collusion ask for."""
    from olu.evaluate.judge import chosen

    named = [group.name for group in chosen([name for name in wish.metrics if name != COPY])]
    groups = tuple(name for name in named if name != COLLUSION) if wish.metrics != (COPY,) else ()
    groups += (COLLUSION,) if wish.collusion or COLLUSION in wish.metrics else ()
    return groups + ((COPY,) if COPY in wish.metrics or not wish.metrics else ())


def _check(place: Path, wish: EvaluateOptions, groups: Sequence[str]) -> None:
    """Refuses options that would be ignored for what lies at `place`."""
    own = (place / "olu.toml").is_file()
    asked = [f"--{name}" for name in OF_RUNS if getattr(wish, name) is not None]
    if own and wish.corpus is not None:
        raise ConfigError(f"--corpus has no effect: {place} is a workspace with a corpus of its own")
    if not own and wish.wavs is not None:
        raise ConfigError(f"--wavs is held against the recordings of a workspace, and {place} is none")
    if asked and (not own or wish.wavs is not None):
        raise ConfigError(f"{asked[0]} is of a workspace's own runs: it has no effect here")
    _check_values(wish)
    if COLLUSION in groups and not (own or wish.corpus):
        raise ConfigError("--collusion trains a second recogniser: it needs --corpus WS")


def _check_values(wish: EvaluateOptions) -> None:
    wanted = wish.checkpoints or "all"
    if wanted != "all" and (not wanted.isdigit() or int(wanted) < 2):
        raise ConfigError(f"--checkpoints {wanted}: give 'all' or a number from 2 on")
    spoken = [name for name in OF_SPEAKING if getattr(wish, name) != getattr(EvaluateOptions, name)]
    if wish.wavs is not None and spoken:
        raise ConfigError(f"--{spoken[0]} has no effect with --wavs: nothing is spoken{OF_SPEAKING[spoken[0]]}")
    Manner.of(None, noise=wish.noise)  # it says what is out of reach, before anything is made


def _takes(bench: Bench, folder: Path) -> Job[tuple[list[Sample], list[str]]]:
    if bench.files is not None:
        assert bench.corpus
        takes = []
        for take in file_takes(bench.files, bench.corpus, folder=folder, read=bench.read):
            takes.append(take)
            yield Tick(len(takes), len(bench.files.by_id) + len(bench.files.texts), "reading the files")
        return takes, file_notes(bench.files, bench.corpus)
    assert bench.speaker
    wish = bench.wish
    lines = lines_for(bench.corpus, bench.speaker, sentences=wish.sentences, texts=wish.text)
    takes, notes = yield from _spoken(bench, lines, bench.speaker, folder, what="speaking")
    changed = bench.corpus.changed() if bench.corpus else []
    return takes, [*notes, *changed, *_moved(bench), *_since(bench)]


def _moved(bench: Bench) -> list[str]:
    """A sentence where the voice learnt from resampled recordings: it is compared with such."""
    factor = bench.speaker.resample if bench.speaker else 1.0
    raised = bench.speaker.raised if bench.speaker else 1.0
    if factor == 1.0 and raised != 1.0 and bench.corpus is not None:
        return [
            f"The voice learnt from recordings resampled by {raised:g} (data.resample), and these are not known to be"
            " theirs: it is judged as it sounds, which costs it letters. --speaker NAME says whose they are"
        ]
    if factor == 1.0:
        return []
    return [
        f"The voice learnt from recordings resampled by {factor:g} (data.resample): it is held against recordings"
        " resampled by it too, in their tempo. The recogniser hears both with it undone"
    ]


def _since(bench: Bench) -> list[str]:
    """Sentences on the run: a newer one is damaged; it may have learnt from what is held out today."""
    run = bench.speaker.subject.run if bench.speaker else None
    if bench.ws is None or bench.corpus is None or bench.wish.corpus is not None or run is None:
        return []
    voice = voice_named(bench.ws, run)
    damaged = passed_over(bench.ws, voice, kind="voice") if bench.wish.run is None else []
    trained_on = voice.document("facts.json").get("corpus")
    if trained_on in (None, bench.corpus.fingerprint):
        return damaged
    return [
        *damaged,
        f"The corpus or its split has changed since {run} was trained: it may have learnt from sentences judged here",
    ]


def _spoken(
    bench: Bench, lines: Sequence[PlannedSentence], speaker: Speaker, folder: Path, *, what: str
) -> Job[tuple[list[Sample], list[str]]]:
    takes: list[Sample] = []
    notes: list[str] = []
    for number, one in enumerate(spoken_takes(lines, speaker, folder=folder, corpus=bench.corpus, read=bench.read), 1):
        if isinstance(one, Sample):
            takes.append(one)
        else:
            notes.append(one)
        yield Tick(number, len(lines), what)
    if not takes:
        raise WorkspaceError(f"no sentence could be said: {notes[0] if notes else 'there was none'}")
    return takes, notes


def _known(bench: Bench, takes: Sequence[Sample], language: str) -> Job[References]:
    if bench.corpus is None:
        return References(language=language)
    from olu.stages.listener import known_of

    return (
        yield from known_of(
            bench.corpus,
            groups=bench.groups,
            speakers=[take.speaker for take in takes if take.speaker] or bench.corpus.speakers,
            device=bench.wish.device,
        )
    )


def _judged(bench: Bench, takes: Sequence[Sample], known: References, notes: Sequence[str]) -> Job[Evaluation]:
    from olu.evaluate.folder import facts_of, items
    from olu.evaluate.judge import judge
    from olu.evaluate.words import gates, verdict_of

    judged = yield from judge(takes, known, only=_metrics(bench))
    figures = dict(judged.figures)
    if "tones" in judged.results and bench.speaker:
        from olu.evaluate.sentences import pairs_said

        said = yield from pairs_said(bench.speaker, known, read=bench.read)
        figures |= {"in": (*figures.get("in", ()), *said)} if said else {}
    if "f0" in bench.groups and bench.speaker:
        side: Domain = "in" if "in" in figures else "out"
        moved = yield from moved_words(bench.speaker, [take.text for take in takes], seed=bench.wish.seed)
        figures |= {side: (*figures.get(side, ()), *moved)} if moved else {}
    if "sanity" in judged.results and bench.speaker and bench.speaker.draws:
        figures |= yield from _drawn_again(
            bench.speaker.draws, takes, figures, seed=bench.wish.seed, speaker=bench.wish.speaker
        )
    held = gates(figures.get("in") or figures.get("out") or ())
    level, verdict = verdict_of(held)
    subject = bench.speaker.subject if bench.speaker else bench.files.subject  # type: ignore[union-attr]
    asked = {"seed": bench.wish.seed, "metrics": list(bench.groups), "language": subject.language}
    return Evaluation(
        subject=subject,
        level=level,
        verdict=verdict,
        figures=figures,
        gates=held,
        items=items(takes, judged.results),
        missing=(*judged.missing, *(no_others(takes, subject.language) if bench.files is None else ())),
        facts=facts_of(bench.corpus, notes=notes, asked=asked),
    )


def _drawn_again(
    voice: Voice,
    takes: Sequence[Sample],
    figures: Mapping[Domain, tuple[Estimate, ...]],
    *,
    seed: int,
    speaker: str | None,
) -> Job[dict[Domain, tuple[Estimate, ...]]]:
    """Figures with those of several seeds, of some sentences of the first side that was said."""
    from olu.evaluate.metrics import takes as drawn

    side: Domain = "in" if "in" in figures else "out"
    own = [take for take in takes if take.domain == side][: drawn.SENTENCES]
    found = []
    for one in drawn.takes_of(voice, [(take.text, speaker or take.speaker) for take in own], seed=seed):
        found.append(one)
        yield Tick(len(found), len(own), "speaking with other seeds")
    natural = [take.natural().seconds if take.natural else None for take in own]
    made = drawn.summarise(found, natural=natural, drawn=drawn.settings(voice))
    return {side: (*figures.get(side, ()), *made)}


def _metrics(bench: Bench) -> list[str]:
    return [name for name in bench.groups if name != COPY] or ["sanity"]


def _with_copies(bench: Bench, evaluation: Evaluation, takes: Sequence[Sample], known: References) -> Job[Evaluation]:
    """What natural recordings come to when the voice's own decoder says them: what it loses of them."""
    from olu.evaluate.judge import copies

    subject = evaluation.subject
    if bench.ws is None or bench.wish.corpus is not None or subject.run is None or subject.step is None:
        why = Missing(metric=COPY, why="a voice package has no encoder of sound: evaluate the workspace of its run")
        return replace(evaluation, missing=(*evaluation.missing, why))
    made, lacks = yield from copies(bench.ws, subject.run, subject.step, takes, known, groups=bench.groups)
    figures = {**evaluation.figures, "in": (*evaluation.figures.get("in", ()), *made)} if made else evaluation.figures
    return replace(evaluation, figures=figures, missing=(*evaluation.missing, *((lacks,) if lacks else ())))


def _curve(
    bench: Bench, evaluation: Evaluation, takes: Sequence[Sample], known: References
) -> Job[tuple[CheckpointMeans, ...]]:
    """The main figures of each checkpoint, on a few of the same sentences."""
    from olu.evaluate.judge import judge

    assert bench.ws and bench.corpus and bench.wish.checkpoints and evaluation.subject.run
    run = evaluation.subject.run
    clips = {clip.id: clip for clip in bench.corpus}
    domain: Domain = "in" if any(take.domain == "in" for take in takes) else "out"  # a corpus may have no held-out side
    chosen = [take for take in takes if take.domain == domain][:CURVE_SENTENCES]
    said_by = bench.wish.speaker
    lines = [
        PlannedSentence(take.id, take.text, domain, clips.get(take.id), said_by or take.speaker) for take in chosen
    ]
    steps = checkpoints(bench.ws, run, bench.wish.checkpoints)
    points = []
    for step, speaker in at_steps(bench.ws, run, steps, seed=bench.wish.seed, noise=bench.wish.noise):
        with TemporaryDirectory(prefix="olu-") as folder:
            spoken, _ = yield from _spoken(bench, lines, speaker, Path(folder), what=f"step {step}")
            judged = yield from judge(spoken, known, only=_metrics(bench), what=f"step {step}")
        means = {
            one.name: one.mean for one in judged.figures.get(domain, ()) if one.name in CURVE and one.mean is not None
        }
        points.append(CheckpointMeans(step=step, means=means))
    return tuple(points)


def of_workspace(
    ws: Workspace, *, run: str | None, step: int | None, seed: int, noise: float | None, speaker: str | None = None
) -> Job[Speaker]:
    """The voice of a run, exported as `olu export` does it; the newest finished run where none is named.

    A voice that is there keeps the noise that its export was given.
    """
    made = yield from export(ws.root, run=run, step=step, keep=True)
    own = of_voice(Path(made.voice), seed=seed, noise=noise, run=made.run, step=made.step, speaker=speaker)
    return replace(own, subject=replace(own.subject, name=f"{ws.name} {made.run} step {made.step}"))


def checkpoints(ws: Workspace, run: str, wanted: str) -> list[int]:
    """Steps of a run: all that are kept, or so many of them from the first to the last."""
    steps = voice_named(ws, run).checkpoints().steps()
    steps = [step for step in steps if step > 0] or steps
    if wanted == "all":
        return steps
    count = min(int(wanted), len(steps))
    return sorted({steps[round(place * (len(steps) - 1) / max(1, count - 1))] for place in range(count)})


def at_steps(
    ws: Workspace, run: str, steps: list[int], *, seed: int, noise: float | None = None
) -> Iterator[tuple[int, Speaker]]:
    """The voice of each step, exported beside everything else and gone afterwards."""
    for step in steps:
        with TemporaryDirectory(prefix="olu-") as folder:
            made = finish(export(ws.root, run=run, step=step, output=Path(folder) / "step.voice"))
            yield step, of_voice(Path(made.voice), seed=seed, noise=noise, run=run, step=step)

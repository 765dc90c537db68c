"""Where a workspace stands: each stage, its disk use, and the one command to run next."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from olu.audit.checks.heard import UNTOLD
from olu.audit.fix import without_aside
from olu.audit.summary import to_cut
from olu.core.files import Workspace, disk_bytes
from olu.core.stage import Stage
from olu.core.told import Remedy, TextTable, Told, write_texts
from olu.core.words import length, many, size
from olu.corpus import corrections, decisions, hand_bounds, speakers
from olu.corpus.changed_files import Lost, import_again, place_now
from olu.corpus.doubts import in_doubt, standing
from olu.corpus.manifest import Corpus
from olu.families.runs import kind_of
from olu.stages.audit import long_clips, most_seconds
from olu.stages.import_ import STAGE as IMPORT
from olu.stages.long_path import long_next
from olu.stages.plan import training_advice, training_command
from olu.stages.prepare import LISTENING, VOCODING
from olu.stages.verbs.machine import StatusOptions
from olu.train.run import Run
from olu.train.view.history import run_state

STAGES = ("import_", "audit", "read", "align", "prepare", "train", "export")  # in the order of the data
MOVED = "moved"  # no recording of a source is where it was
OPTIONAL = ("align", "prepare")  # not every voice needs one; training makes its features itself


@dataclass(frozen=True)
class StageStatus:
    name: str
    state: str
    bytes: int
    command: str


@dataclass(frozen=True)
class Status:
    workspace: str
    language: str
    clips: int
    seconds: float
    aside: int  # long clips beside these, whose pieces are counted instead
    doubts: list[str]  # sentences on texts that may be at wrong times
    lost: list[str]  # sentences on recordings that are not where they were
    torn: list[str]  # sentences on files whose last line breaks off
    corrected: int  # clips with a text that a person wrote
    decisions: dict[str, int]  # decision -> clips
    untranscribed: int  # clips without a text
    long: str  # a sentence on clips that are too long to train, with the commands that cut them
    seconds_left: float  # that train, after the audit's errors and the decisions
    stages: list[StageStatus]
    runs: list[dict[str, Any]]
    bytes: int
    next: str
    features: str  # a sentence on features that are there though the stage is not done
    advice: str  # what to begin with, where that is next and the speech too little to train from scratch
    remedy: Remedy  # what is next, as data

    def row(self, options: StatusOptions) -> dict[str, Any]:
        return {**asdict(self), "remedy": self.remedy.row()}

    def sentences(self, options: StatusOptions) -> Iterator[Told]:
        ws = options.ws
        yield f"{self.workspace}: {self.language}, {many(self.clips, 'clip')}, {length(self.seconds)}"
        yield from self._clips(ws)
        yield from (sentence[:1].upper() + sentence[1:] for sentence in (*self.lost, *self.torn))
        if self.decisions:
            kinds = ", ".join(f"{number} {kind}" for kind, number in self.decisions.items())
            yield f"Decided: {kinds}; {length(self.seconds_left)} are left to train on"
        yield from in_doubt(self.doubts)
        rows = [[s.name, s.state, size(s.bytes) if s.bytes else "-", s.command] for s in self.stages]
        yield TextTable(["stage", "state", "disk", "command"], rows)
        if self.features:
            yield self.features
        for run in self.runs:
            if run["aside"]:
                names, cleaned = ", ".join(map(str, run["aside"])), Remedy("clean", (ws,), {"damaged": True})
                yield f"{run['run']}: damaged and put aside: {names} ('{cleaned}' removes it)"
            yield f"{run['run']}: {run['says']}"
        if self.advice:
            yield self.advice
        yield f"Next: {self.next}"

    def _clips(self, ws: Path) -> Iterator[str]:
        if self.aside:
            lie = "lies aside, cut" if self.aside == 1 else "lie aside, cut"
            yield f"{many(self.aside, 'long clip')} {lie} into shorter ones, which are counted instead"
        if self.untranscribed:
            have = "has no text and is" if self.untranscribed == 1 else "have no text and are"
            yield f"{self.untranscribed} of the clips {have} never trained on. To change that: {write_texts(ws)}"
        if self.long:
            yield self.long
        if self.corrected:
            listed = Remedy("clips", (ws,), {"where": 'corrected != ""'})
            yield f"{many(self.corrected, 'text')} corrected: {listed}"


def run(options: StatusOptions) -> Status:
    """`olu status`"""
    return status(Workspace.open(options.ws))


def _after_listening(ws: Workspace, following: Remedy) -> Remedy:
    """A training without another reason waits until a person has listened to some clips."""
    if following.verb != "train" or following.why:
        return following
    report = shlex.quote(str(ws.audit_folder / "report.html"))
    return replace(following, why=f"listen to clips in {report}; if their texts are right,")


def status(ws: Workspace) -> Status:
    found = without_aside(Corpus.open(ws)) if (ws.corpus / "clips.jsonl").exists() else None
    corpus, aside = found or (None, ())
    places = _lost(corpus) if corpus else []
    runs = _runs(ws)
    stages = _stages(ws, corpus, places, runs)
    doubtful = standing(ws, corpus) if corpus else []
    untold = _untold(ws, stages)
    following = _next(ws, stages, runs, mending=next(filter(None, (one.mending(ws) for one in doubtful)), ""))
    advice = training_advice(ws) if following.verb == "train" and "base" in following.options else None
    if untold:
        following = _after_listening(ws, following)
    return Status(
        workspace=str(ws.root),
        language=ws.language,
        aside=len(aside),
        **_counts(corpus),
        doubts=list(filter(None, (*(one.sentence(ws) for one in doubtful), untold))),
        lost=[one.sentence(place) for one, place in places],
        torn=list(
            filter(None, (kept.journal(ws).cut_off() for kept in (decisions, corrections, speakers, hand_bounds)))
        ),
        long=_long(ws, corpus, cut=bool(aside)) if corpus else "",
        stages=stages,
        runs=runs,
        bytes=disk_bytes(ws.root),
        features=_features(ws, stages),
        next=following.told(),
        remedy=following,
        advice=advice.sentence() if advice else "",
    )


def _stages(
    ws: Workspace, corpus: Corpus | None, places: list[tuple[Lost, Path | None]], runs: list[dict[str, Any]]
) -> list[StageStatus]:
    """Every stage as it stands; a training that runs now is said to."""
    stages = [_status(ws, _stage(name)) for name in STAGES]
    stages[0] = _imported(ws, stages[0], corpus, places)
    if any(run["state"] == "running" and run["speaks"] for run in runs):
        stages = [replace(stage, state="running") if stage.name == "train" else stage for stage in stages]
    return stages


def _long(ws: Workspace, corpus: Corpus, *, cut: bool) -> str:
    return to_cut(long_clips(corpus), most=most_seconds(), cut=cut, place=str(ws.root))


def _lost(corpus: Corpus) -> list[tuple[Lost, Path | None]]:
    """Recordings that are not there, by source, and where they seem to lie now."""
    found = corpus.lost()
    return [(one, place_now(one, corpus.sizes) if one.whole else None) for one in found]


def _imported(
    ws: Workspace, stage: StageStatus, corpus: Corpus | None, places: list[tuple[Lost, Path | None]]
) -> StageStatus:
    """The import with its exact command, where its recordings have moved or changed."""
    for one, place in places:
        if one.whole:
            return replace(stage, state=MOVED, command=one.command(place))
    if corpus is None or stage.state != "stale":
        return stage
    roots = corpus.roots_of(corpus.changed_clips())
    return replace(stage, command=import_again(ws, roots[0])) if roots else stage


def _features(ws: Workspace, stages: list[StageStatus]) -> str:
    """A sentence on why there are features while their stage is missing; else nothing."""
    if not any(stage.name == "prepare" and stage.state == "missing" and stage.bytes for stage in stages):
        return ""
    place = shlex.quote(str(ws.root))
    if ws.stamped(LISTENING.name):
        return "The features are those a recogniser was trained on; a voice's are made when it is trained."
    if ws.stamped(VOCODING.name):
        return "The features are those a vocoder was trained on; a voice's are made when it is trained."
    return (
        f"The features are left from before, and are made anew by the next training; 'olu clean {place}' removes them."
    )


def _untold(ws: Workspace, stages: list[StageStatus]) -> str:
    """What the audit says where it could not tell right texts from wrong ones, as long as it is so."""
    stamp = ws.stamped("audit")
    fresh = any(stage.name == "audit" and stage.state == "fresh" for stage in stages)
    return UNTOLD if fresh and stamp is not None and UNTOLD in stamp["summary"].get("notes", ()) else ""


def _counts(corpus: Corpus | None) -> dict[str, Any]:
    """What is counted of the clips, by its name in `Status`."""
    if corpus is None:
        return {"clips": 0, "seconds": 0.0, "corrected": 0, "decisions": {}, "untranscribed": 0, "seconds_left": 0.0}
    held = Counter(one.decision for clip in corpus if (one := corpus.decision(clip)) is not None)
    left = sum(corpus.taken(clip).seconds for clip in corpus if corpus.why_not(clip) is None)
    return {
        "clips": len(corpus),
        "seconds": corpus.seconds,
        "corrected": sum(corpus.correction(clip) is not None for clip in corpus),
        "decisions": dict(sorted(held.items())),
        "untranscribed": sum(not clip.transcribed for clip in corpus),
        "seconds_left": round(left, 3),
    }


def _stage(name: str) -> Stage:
    stage: Stage = import_module(f"olu.stages.{name}").STAGE
    return stage


def _status(ws: Workspace, stage: Stage) -> StageStatus:
    folder = ws.root / stage.folder
    used = disk_bytes(folder) if folder.exists() else 0
    state = stage.state(ws)
    stamp = ws.stamped(stage.name)
    if stage.name == "train" and stamp and Run(folder / str(stamp["summary"].get("run"))).fault:
        state = "missing"  # its run was removed by hand, or is damaged
    return StageStatus(stage.name, state, used, stage.command.format(ws=shlex.quote(str(ws.root))))


def _runs(ws: Workspace) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for run in Run.all(ws.runs_folder):
        stands = run_state(run)
        row: dict[str, Any] = {"run": run.name, **asdict(stands), "says": stands.sentence()}
        row["aside"] = [path.name for path in run.checkpoints().damaged()]
        whole = not stands.fault
        rows.append({**row, "best": run.best if whole else None, "speaks": kind_of(run) == "voice" if whole else None})
    return rows


def _next(ws: Workspace, stages: list[StageStatus], runs: list[dict[str, Any]], *, mending: str) -> Remedy:
    """The command to run next. `mending`: an import that would bring texts to where they are said."""
    first, *others = stages
    again = first.state == "stale" and IMPORT.did_all(ws)  # the same import would change nothing
    if first.state != "fresh" and not again:
        return Remedy.parse(first.command)
    if mending:
        return Remedy.parse(mending)
    aligned = any(stage.name == "align" and stage.state == "fresh" for stage in others)
    if long := long_next(ws, aligned=aligned):
        return long
    for stage in others:
        if stage.name == "train" and (held := _of_runs(ws, runs, trained=stage.state == "fresh")):
            return held
        if stage.name not in OPTIONAL and stage.state != "fresh":
            return training_command(ws) if stage.name == "train" else Remedy.parse(stage.command)
    return Remedy("speak", ("...",), {"voice": ws.root, "output": "out.wav"})


def _of_runs(ws: Workspace, runs: list[dict[str, Any]], *, trained: bool) -> Remedy | None:
    """What the runs ask for: to be looked at, to be gone on with, to be mended."""
    voices = [run for run in runs if run["speaks"]]
    if running := [run["run"] for run in voices if run["state"] == "running"]:
        return Remedy("runs", (ws.root, running[-1]))  # it tells how far it is
    if voices and voices[-1]["state"] == "unfinished":
        return Remedy("train", (ws.root,), {"resume": True})
    if runs and runs[-1]["fault"] and not trained:
        return Remedy("train", (ws.root,), {"new": True}, why=f"mend {runs[-1]['run']} as said above, or")
    return None

"""Turn a run, or a foreign checkpoint, into a voice that speaks anywhere."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from olu.core.errors import CLONE, ExportError, how_to_install
from olu.core.files import (
    Workspace,
    disk_bytes,
    hash_file,
    hash_value,
    is_embedded,
    whole,
    write_json,
    write_text,
)
from olu.core.job import Job, Note, Tick
from olu.core.stage import Stage, need_training
from olu.core.told import Remedy
from olu.core.words import large, size
from olu.export.accent import spoken_with_accent
from olu.export.card import evaluation_of
from olu.export.formats import VOICE, WEB, format_named
from olu.export.package import STEPS, Contents, declared, lexicon_told, write_package
from olu.export.rights import check_publishing
from olu.export.subject import ExportSubject, from_foreign, from_run, is_foreign
from olu.export.web import runtime_folder, write_web
from olu.families.runs import kind_of, passed_over, runs_of, voice_named, voices
from olu.networks.session import load_model
from olu.speak.package import NOISE, Package, package_place, read_package, voice_json
from olu.speak.stream import Manner
from olu.stages.plan import training_command
from olu.stages.read import STAGE as READ
from olu.stages.refining import without_worse_refining
from olu.stages.verbs.voices import ExportOptions
from olu.text.frontend import has_other_lexicon, read_settings, with_words
from olu.text.language_data import load_lexicon
from olu.text.languages import load, resolve
from olu.text.several import LanguagesFrontend, parts_of
from olu.train.family import Format
from olu.train.run import Run

CHECK_SENTENCES = 3
PACKAGE = "This package holds all it needs to speak: networks, reading, check."
MARKED = (
    "All it says carries a watermark that people do not hear (Perth, by Resemble AI):"
    " 'olu doctor --watermark FILE' finds it."
)
UNMARKED = "It was exported without a watermark: what it says cannot be told from a recording by one."
HEARS = "It was exported to speak like a recording too, with the consent of whose voice that is ('olu speak --like')."
USE = "\n" + Path(__file__).with_name("use_voice.txt").read_text(encoding="utf-8")


def _inputs(ws: Workspace, options: dict[str, Any]) -> str:
    weights = ws.runs_folder / str(options.get("run")) / "checkpoints" / f"step-{options.get('step')}" / "state.json"
    newest = [run.name for run in voices(ws) if run.finished][-1:]
    newest += [f"{run.name}@{run.best}" for run in runs_of(ws, "vocoder") if run.finished][-1:]
    rights = [ws.root / "olu.toml", ws.corpus / "rights.json"]
    return hash_value([hash_file(path) if path.exists() else "" for path in (weights, *rights)] + newest)


STAGE = Stage(name="export", command="olu export {ws} --to voice", folder="voices", inputs=_inputs)


@dataclass(frozen=True)
class ExportSummary:
    voice: str
    run: str
    step: int
    bytes: int
    parameters: int
    language: str
    speakers: list[str]
    notes: list[str]  # what loading a foreign checkpoint left open, and what another format has no place for
    to: str = VOICE
    fresh: bool = False  # nothing was done: this voice exists
    licence: str = ""
    pushed: str = ""  # the address on the hub

    def sentences(self, options: ExportOptions) -> Iterator[str]:
        again = " (there already: nothing was done again)" if self.fresh else ""
        yield f"{self.voice}: {large(self.parameters)} parameters, {size(self.bytes)}{again}"
        if self.pushed:
            yield f"On the hub: {self.pushed}"
        if self.to == WEB:
            yield f"Next: python3 -m http.server 8000 --directory {shlex.quote(self.voice)}, then open http://localhost:8000"
        if self.to == VOICE:
            yield f"Next: {Remedy('speak', ('...',), {'voice': Path(self.voice), 'output': 'out.wav'})}"


def run(options: ExportOptions) -> Job[ExportSummary]:
    """`olu export`"""
    made = yield from _export(options)
    yield from map(Note, made.notes)
    return made


def export(source: Path, **asked: Any) -> Job[ExportSummary]:
    """`source` is a workspace, or a foreign checkpoint: a folder, a file, or an id on the hub."""
    return _export(ExportOptions(source=source, **asked))


def _export(wish: ExportOptions) -> Job[ExportSummary]:
    if wish.to == WEB:
        return (yield from _export_web(wish))
    if wish.runtime is not None:
        raise ExportError(f"--runtime is for '--to {WEB}': {wish.to!r} has no place for it")
    to = None if wish.to == VOICE else format_named(wish.to)
    _check(wish, to)
    need_training("olu export")
    if not is_foreign(wish.source):
        return (yield from _export_run(Workspace.open(wish.source), wish, to))
    if wish.run or wish.step is not None or wish.vocoder or wish.language or wish.accent:
        raise ExportError(
            f"--run, --step, --vocoder, --language and --accent are for a workspace: {wish.source} holds one voice only"
        )
    yield Tick(0, STEPS, f"reading {wish.source}")
    subject = _with_lexicon(from_foreign(wish.source, **_rights(wish), noise=wish.noise), wish.lexicon)
    path = wish.output or Path(_file_name(subject.name, to))
    return (yield from _written(subject, wish, to, path=path, given=True))


def voice_at(ws: Workspace, run: Run, step: int, path: Path) -> Job[ExportSummary]:
    """The voice of a step, for a run that need not be among the workspace's own."""
    subject = from_run(ws, run, step, name=run.name, licence="", override="")
    subject = without_worse_refining(ws, _with_tones(subject, ws))
    return (yield from _written(subject, ExportOptions(source=ws.root), None, path=path, given=True))


OF_A_RUN = (
    "run",
    "step",
    "vocoder",
    "language",
    "accent",
    "with_training",
    "noise",
    "bits",
    "cloning",
    "lexicon",
    "licence",
    "push",
    "public",
)


def _export_web(wish: ExportOptions) -> Job[ExportSummary]:
    """Of a voice package, or of a workspace's newest: what is chosen of a run is chosen when that is made."""
    if given := next((name for name in OF_A_RUN if getattr(wish, name)), None):
        option = f"--{given.replace('_', '-')}"
        raise ExportError(
            f"{option} is for the voice that a page is made of: 'olu export ... --to voice {option} ...' first"
        )
    runtime = runtime_folder(wish.runtime)
    place = package_place(wish.source)
    package = read_package(place)
    path = wish.output or place.with_name(f"{_web_name(package, wish.source)}-{WEB}")
    if wish.output is None and is_embedded(wish.source.as_posix()):
        path = Path(path.name)
    if path.exists() and wish.output is not None and (path.is_file() or any(path.iterdir())):
        raise ExportError(f"{path} is there already: choose another name with -o")
    yield Tick(0, STEPS, f"reading {wish.source}")
    with whole(path) as partial:
        partial.mkdir()
        notes = write_web(package, partial, runtime=runtime)
    facts = package.facts
    return ExportSummary(
        voice=str(path),
        run="",
        step=0,
        bytes=disk_bytes(path),
        parameters=int(facts.get("parameters") or 0),
        language=str(facts["language"]),
        speakers=list(facts["speakers"]),
        notes=[f"not kept: {note}" for note in notes],
        to=WEB,
        licence=str(facts.get("licence") or ""),
    )


def _web_name(package: Package, source: Path) -> str:
    return str(package.facts["name"]) if is_embedded(source.as_posix()) else source.name.removesuffix(".voice")


def _rights(wish: ExportOptions) -> dict[str, str]:
    return {"licence": wish.licence.strip(), "override": wish.override_licence.strip()}


def _stamp_options(wish: ExportOptions) -> dict[str, Any]:
    """What was asked for that changes the voice. Without a noise of its own it has the stamp it always had."""
    noise = {"noise": wish.noise} if wish.noise is not None else {}
    vocoder = {"vocoder": wish.vocoder} if wish.vocoder else {}
    words = {"lexicon": hash_file(wish.lexicon)} if wish.lexicon is not None and wish.lexicon.is_file() else {}
    language = {"language": wish.language} if wish.language else {}
    language |= {"accent": wish.accent} if wish.accent else {}
    large = {"bits": wish.bits} if wish.bits else {}
    large |= {"watermark": False} if wish.no_watermark else {}
    large |= {"cloning": True} if wish.cloning else {}
    return {**_rights(wish), "training": wish.with_training, **noise, **vocoder, **words, **language, **large}


def _file_name(name: str, to: Format | None) -> str:
    return f"{name}.voice" if to is None else f"{name}-{to.name}"


def _export_run(ws: Workspace, wish: ExportOptions, to: Format | None) -> Job[ExportSummary]:
    if wish.run and kind_of(Run.named(ws.runs_folder, wish.run)) == "vocoder":
        return (yield from _export_vocoder(ws, Run.named(ws.runs_folder, wish.run), wish, to))
    run = voice_named(ws, wish.run) if wish.run else _newest_finished(ws)
    aside = [] if wish.run else passed_over(ws, run, kind="voice")
    if has_other_lexicon(ws, run.document("frontend.json")):
        aside.append(
            "the voice reads with the lexicon of its run, and the workspace has another one now: for its words write"
            f" [[phones]] in a text, or train again ('{training_command(ws)} --new') and export"
        )
    at = _step(run, wish.step)
    accent = _accent(ws, run, wish)
    code = accent or _language(ws, run, wish.language)
    name = f"{ws.name}-{run.name}" if wish.run or wish.step is not None else ws.name
    name = f"{name}-{resolve(wish.language)}" if wish.language else name
    if wish.keep:
        wish = replace(wish, **_given(ws.voices / _file_name(name, None), run.name, at))
    path = wish.output or ws.voices / _file_name(name, to)
    measured = hash_value(evaluation_of(ws, run.name, at, noise=wish.noise))  # the card has its numbers
    options = {"run": run.name, "step": at, "name": name, "measured": measured, **_stamp_options(wish)}
    stamped = to is None and wish.output is None  # the workspace's own voice
    earlier = STAGE.done(ws, options) if stamped and not wish.push else None
    if earlier and (path / "voice.json").exists():
        return _told(ExportSummary(**{**earlier, "voice": str(path), "fresh": True}), aside)
    yield Tick(0, STEPS, f"reading step {at} of {run.name}")
    subject = from_run(ws, run, at, name=name, noise=wish.noise, vocoder=wish.vocoder, language=code, **_rights(wish))
    subject = without_worse_refining(ws, _with_tones(subject, ws))
    subject = spoken_with_accent(subject, run, load(resolve(wish.language))) if accent else subject
    subject = _with_lexicon(subject, wish.lexicon)
    summary = yield from _written(subject, wish, to, path=path, given=wish.output is not None)
    if stamped:
        STAGE.stamp(ws, options, asdict(summary))
    return _told(summary, aside)


def _with_tones(subject: ExportSubject, ws: Workspace) -> ExportSubject:
    """The voice with what is known of its tones, where some were restored: its card and its facts tell it."""
    earlier = READ.done(ws, read_settings(ws).asked()) or {}
    if not (tones := earlier.get("tones")):
        return subject
    told = f"Tones of the transcripts: {', '.join(f'{count:,} {name}' for name, count in tones.items())}"
    return replace(subject, data=(*subject.data, told), facts={**subject.facts, "tones": tones})


def _with_lexicon(subject: ExportSubject, path: Path | None) -> ExportSubject:
    """The voice with a person's words, which its card tells of."""
    if path is None:
        return subject
    words = load_lexicon(path)
    told = lexicon_told(words)
    return replace(
        subject,
        frontend=with_words(subject.frontend, words),
        data=(*subject.data, told),
        facts={**subject.facts, "lexicon": list(words)},
    )


def _learnt(ws: Workspace, run: Run) -> list[str]:
    held = run.document("frontend.json")
    return sorted(parts_of(held)) if held.get("kind") == LanguagesFrontend.kind else [ws.language]


def _language(ws: Workspace, run: Run, asked: str) -> str:
    """What a voice is to speak: one of the languages that its run has learnt."""
    known = _learnt(ws, run)
    code = resolve(asked) if asked else ws.language
    if code not in known:
        raise ExportError(
            f"--language {asked}: {run.name} has learnt {', '.join(known)}: choose one of them, or add --accent"
            f" {known[0]} to read {code} with the sounds of one"
        )
    return code


def _accent(ws: Workspace, run: Run, wish: ExportOptions) -> str:
    """The language whose sounds a voice lends to another one; nothing where none is asked for."""
    if not wish.accent:
        return ""
    if not wish.language:
        raise ExportError("--accent says with whose sounds --language is read: name that language too")
    if wish.to != VOICE:
        raise ExportError(f"--accent is for '--to {VOICE}': {wish.to!r} has no place for replaced sounds")
    accent = _language(ws, run, wish.accent)
    if resolve(wish.language) in _learnt(ws, run):
        raise ExportError(f"--accent {wish.accent}: {run.name} has learnt {wish.language} itself: leave --accent out")
    return accent


def _export_vocoder(ws: Workspace, run: Run, wish: ExportOptions, to: Format | None) -> Job[ExportSummary]:
    """A package of the vocoder alone, x.vocoder: voices hold a copy of it, and vocoders start from it."""
    if to is not None or wish.noise is not None or wish.vocoder or wish.push:
        raise ExportError(
            f"{run.name} is a vocoder: it is exported as a package of its own, x.vocoder, and no other way"
        )
    from olu.export.vocoder import write_vocoder

    at = _step(run, wish.step)
    path = wish.output or ws.voices / f"{ws.name}-{run.name}.vocoder"
    yield Tick(0, STEPS, f"reading step {at} of {run.name}")
    facts = write_vocoder(ws, run, at, path, with_training=wish.with_training, **_rights(wish))
    return ExportSummary(
        voice=str(path),
        run=run.name,
        step=at,
        bytes=disk_bytes(path),
        parameters=int(facts["parameters"]),
        language=ws.language,
        speakers=run.document("speakers.json"),
        notes=facts["notes"],
        to="vocoder",
        licence=facts["licence"] or "",
    )


def _check(wish: ExportOptions, to: Format | None) -> None:
    """Refuse options that would be ignored. `to`: the format; None is the voice package."""
    if wish.push and wish.output is not None and wish.output.suffix == ".zip":
        raise ExportError("--push puts a folder on the hub: leave .zip out of the name after -o")
    if wish.push:
        from olu.export.formats import check_repo  # a network library, and few exports need it

        check_repo(wish.push)
    if wish.public and not wish.push:
        raise ExportError("--public has no effect without --push REPO")
    Manner.of(None, noise=wish.noise)  # it says what is out of reach
    if wish.noise is not None and to is not None and to.noiseless:
        raise ExportError(f"--noise: the files of {wish.to!r} have no place for it: {to.noiseless}")
    if wish.bits and to is not None:
        raise ExportError(f"--bits is for '--to voice': {wish.to!r} has one precision")
    if wish.no_watermark and to is not None:
        raise ExportError(f"--no-watermark is for '--to voice': the files of {wish.to!r} put none into their sound")
    if wish.cloning and to is not None:
        raise ExportError(f"--cloning is for '--to voice': {wish.to!r} hears others by its own program, or not at all")
    if wish.with_training and to is not None:
        raise ExportError(f"--with-training is for '--to voice': {wish.to!r} has no place for it")


def _told(summary: ExportSummary, aside: list[str]) -> ExportSummary:
    """The summary with notes that are not stamped: they may no longer hold next time."""
    return replace(summary, notes=[*summary.notes, *aside])


def _given(voice: Path, run: str, step: int) -> dict[str, Any]:
    """What the export of a voice was given, where it is still of this run and step."""
    facts = voice_json(voice).get("facts")
    if not isinstance(facts, dict) or (facts.get("run"), facts.get("step")) != (run, step):
        return {}
    noise = facts[NOISE].get("given") if isinstance(facts.get(NOISE), dict) else None
    return {
        "noise": float(noise) if isinstance(noise, int | float) else None,
        "with_training": (voice / "training").is_dir(),
    }


def _newest_finished(ws: Workspace) -> Run:
    runs = voices(ws)
    if finished := [run for run in runs if run.finished]:
        return finished[-1]
    if runs and runs[-1].result is None:
        raise ExportError(f"{runs[-1].name} is not finished: 'olu train {ws.root} --resume', or export it with --run")
    if runs:
        raise ExportError(
            f"{runs[-1].name} was stopped by a guard: train anew, or export it with --run {runs[-1].name}"
        )
    if damaged := passed_over(ws, kind="voice"):
        raise ExportError(f"{ws.root} has no run that is whole. {'. '.join(damaged)}")
    raise ExportError(f"{ws.root} has no run yet: train one with 'olu train {ws.root}'")


def _step(run: Run, step: int | None) -> int:
    """The step asked for, or the best one."""
    steps, best = run.checkpoints().steps(), run.best_step()
    if best is None:
        raise ExportError(f"{run.name} has no checkpoint yet")
    if step is not None and step not in steps:
        raise ExportError(f"{run.name} has no step {step}; it has: {', '.join(map(str, steps))}")
    return best if step is None else step


def _written(
    subject: ExportSubject, wish: ExportOptions, to: Format | None, *, path: Path, given: bool
) -> Job[ExportSummary]:
    if wish.push:
        check_publishing(subject.rights)
    kept: list[str] = []
    if to is not None and subject.resample != 1.0:
        kept = _at_tempo(subject, to)
    if to is None:
        lost, parameters = yield from _package(subject, path, wish)
    else:
        yield Tick(1, STEPS, f"writing {to.name} files")
        lost = _folder(subject, to, path, given=given)
        parameters = _size(subject, to, path)
    pushed = ""
    if wish.push:
        from olu.export.formats import push  # a network library, and few exports need it

        yield Tick(STEPS - 1, STEPS, f"putting it on the hub as {wish.push}")
        pushed = push(path, wish.push, public=wish.public)
    return ExportSummary(
        voice=str(path),
        run=subject.run,
        step=subject.step,
        bytes=disk_bytes(path),
        parameters=parameters,
        language=subject.language.code,
        speakers=subject.speakers,
        notes=[*subject.notes, *kept, *lost, *subject.rights.notes()],
        to=to.name if to else VOICE,
        licence=subject.rights.licence,
        pushed=pushed,
    )


def _at_tempo(subject: ExportSubject, to: Format) -> list[str]:
    """What is trained on keeps the tempo it learnt; what only speaks gets that of the recordings back."""
    if not to.trains:
        restore_tempo(subject)
        return []
    return [
        f"it learnt from recordings resampled by {subject.resample:g}, and this format keeps their tempo: speak with it"
        f" {subject.resample:g} times slower for that of the speaker"
    ]


def restore_tempo(subject: ExportSubject) -> None:
    """Resampled recordings are faster or slower: speed 1 of the voice is their tempo before that."""
    speaks = subject.family.speaks
    if speaks is None or speaks.with_tempo is None:
        raise ExportError(f"data.resample: the family {subject.family.name} has no tempo to restore")
    subject.learner.config = speaks.with_tempo(subject.learner.config, subject.resample)


def _size(subject: ExportSubject, to: Format, folder: Path) -> int:
    """How many parameters were written, not how many training had."""
    if graphs := sorted(folder.glob("*.onnx")):
        import onnx  # a large library

        kinds = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16)
        return sum(math.prod(one.dims) for one in load_model(graphs[0]).graph.initializer if one.data_type in kinds)
    parts = subject.learner.parts()  # type: ignore[operator]
    taken = parts if to.trains and "discriminator" not in subject.lacks else {"": parts[subject.family.figures.learns]}
    gone = tuple(f"{part}." for part in subject.lacks)
    rows = [row for part in taken.values() for row in part.module.named_parameters()]
    return sum(value.numel() for name, value in rows if not name.startswith(gone))


def _folder(subject: ExportSubject, to: Format, path: Path, *, given: bool) -> list[str]:
    if given and path.exists() and (path.is_file() or any(path.iterdir())):
        raise ExportError(f"{path} is there already: choose another name with -o")
    with whole(path) as partial:
        partial.mkdir()
        return format_named(to.name, of=subject.family).write(subject, partial)


def _chosen(subject: ExportSubject, wish: ExportOptions) -> dict[str, Any]:
    """What a family's export is told beside; what it has no use for is refused."""
    speaks, name = subject.speaks, subject.family.name
    if wish.bits and not speaks.bits:
        raise ExportError(f"--bits: voices of the family {name} have one precision: leave it out")
    if wish.bits and wish.bits not in speaks.bits:
        known = ", ".join(map(str, speaks.bits))
        raise ExportError(f"--bits {wish.bits}: voices of the family {name} have {known}: choose one of them")
    if wish.no_watermark and not speaks.marks:
        raise ExportError(f"--no-watermark: voices of the family {name} have none: leave it out")
    if wish.cloning and not speaks.clones:
        raise ExportError(f"--cloning: voices of the family {name} cannot hear others: leave it out")
    asked = {"bits": wish.bits} if wish.bits else {}
    asked |= {"watermark": False} if wish.no_watermark else {}
    return {**asked, **({"cloning": True} if wish.cloning else {})}


def _use(subject: ExportSubject, path: Path) -> str:
    path_shown = shlex.quote(path.name)
    return USE.format(clone=CLONE, install=how_to_install(here=False), text=subject.quoted_example, path=path_shown)


def _package(subject: ExportSubject, path: Path, wish: ExportOptions) -> Job[tuple[list[str], int]]:
    chosen = _chosen(subject, wish)
    contents = Contents(
        name=subject.name,
        family=subject.family.name,
        language=subject.language,
        frontend=subject.frontend,
        vocabulary=subject.vocabulary,
        speakers=subject.speakers,
        sentences=list(subject.held_out or subject.texts)[:CHECK_SENTENCES],
        scores=subject.scores,
        facts=subject.facts,
        rights=subject.rights.facts(),
    )

    def graphs(folder: Path) -> dict[str, Any]:
        write_text(folder / "README.md", subject.readme(what=PACKAGE, use=_use(subject, path), library="olu"))
        if wish.with_training:
            (folder / "training").mkdir()
            if subject.speaks.training is None:
                raise ExportError(f"--with-training: voices of the family {subject.family.name} hold no such part")
            subject.speaks.training(subject.learner, folder=folder / "training", card=subject.card)
            write_json(folder / "training" / "frontend.json", subject.frontend.state())
        facts: dict[str, Any] = {}
        if subject.resample != 1.0:
            restore_tempo(subject)  # after the training part: what is fine-tuned on other recordings has their tempo
            facts = {"resample": subject.resample}
        made = subject.speaks.export(subject.learner, folder=folder, **subject.needed, **chosen)
        if subject.speaks.marks or wish.cloning:
            marked = (MARKED if made.get("watermark") else UNMARKED) if subject.speaks.marks else ""
            what = " ".join(one for one in (PACKAGE, marked, HEARS if wish.cloning else "") if one)
            write_text(folder / "README.md", subject.readme(what=what, use=_use(subject, path), library="olu"))
        return {**declared(subject.speaks, subject.learner.config), **made, **facts}

    voice = yield from write_package(path, contents, graphs=graphs)
    return [], int(voice.facts["parameters"])

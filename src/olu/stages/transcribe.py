"""Drafts for clips without a text, by the workspace's own recogniser or a published one; and a list to work from.

Nothing learns from a draft. One that is taken, by a person or above the confidence that a person set, is a correction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from olu.align.ctc_words import HeardText
from olu.core.errors import AudioError, ConfigError, CorpusError
from olu.core.files import Workspace
from olu.core.job import Job, Note, Tick
from olu.core.machine import this_machine
from olu.core.stage import need_training
from olu.core.told import Remedy, TextTable, Told
from olu.core.types import Audio, Clip
from olu.core.words import length, many, minutes
from olu.corpus import drafts
from olu.corpus.correction_file import GivenText
from olu.corpus.drafts import TextDraft
from olu.corpus.manifest import Corpus
from olu.corpus.split import place
from olu.evaluate.metrics import whisper
from olu.families.runs import is_second, runs_of
from olu.stages.correct import correct
from olu.stages.listener import recogniser_for, speech_minutes
from olu.stages.read import corpus_frontend
from olu.stages.transcribe_list import write_list
from olu.stages.verbs.corpus import LISTENERS, ORDERS, TranscribeOptions
from olu.text.frontend import read_settings
from olu.text.words import edits
from olu.train.run import Run

if TYPE_CHECKING:
    from olu.families.recogniser.recognise import Trained

LEVELS = (0.5, 0.7, 0.8, 0.9, 0.95)
LEAST_MINUTES = 10.0  # of speech with texts: from less, a network has not begun to hear
MINUTES = 10.0  # of a list
OWN = "own"
TAKER = "olu transcribe --accept"

Listener = Callable[[Audio], HeardText]


@dataclass(frozen=True)
class Worth:
    """What a confidence is worth: of clips whose text is known and that the recogniser has not learnt from."""

    level: float
    share: float  # of their drafts at or above it
    right: float | None  # of these, right to the letter
    letters: float | None  # of these, letters wrong


@dataclass(frozen=True, kw_only=True)
class TranscribeSummary:
    by: str  # which recogniser
    drafted: int
    seconds: float
    left: int  # clips without a text that have no draft
    worth: list[Worth] = field(default_factory=list)
    known: int = 0  # clips that this was measured on
    notes: list[str] = field(default_factory=list)

    def sentences(self, options: TranscribeOptions) -> Iterator[Told]:
        if not self.drafted and not self.left:
            yield "Every clip has a text: there is nothing to draft."
            return
        yield f"{many(self.drafted, 'draft')}, {length(self.seconds)} of speech, by {self.by}."
        if self.left:
            yield f"{many(self.left, 'clip')} without a text got no draft: nothing was heard in them."
        if self.worth:
            names = ("confidence", "drafts", "right to the letter", "letters wrong")
            title = f"What a confidence is worth, by {many(self.known, 'clip')} that were held back"
            yield TextTable(names, [_cells(one) for one in self.worth], title=title)
        yield f"Next: {Remedy('transcribe', (options.ws,), {'list': 'todo'})}"


def _cells(one: Worth) -> list[str]:
    shares = ["-" if value is None else f"{100 * value:.1f} %" for value in (one.share, one.right, one.letters)]
    return [f"{one.level:g} and more", *shares]


@dataclass(frozen=True, kw_only=True)
class ListSummary:
    folder: str
    clips: int
    seconds: float
    drafted: int

    def sentences(self, options: TranscribeOptions) -> Iterator[str]:
        kind = f", {self.drafted} with a draft" if self.drafted else ""
        yield f"{self.folder}: {many(self.clips, 'clip')}{kind}, {length(self.seconds)}."
        yield f"Open {Path(self.folder) / 'page.html'}, or fill in texts.csv beside the sounds."
        yield f"Then: {Remedy('correct', (options.ws, Path(self.folder) / 'texts.csv'))}"


@dataclass(frozen=True, kw_only=True)
class AcceptSummary:
    confidence: float
    ids: tuple[str, ...]
    left: int  # drafts below it
    notes: tuple[str, ...]

    def sentences(self, options: TranscribeOptions) -> Iterator[str]:
        yield f"{many(len(self.ids), 'draft')} of {self.confidence:g} and more taken as texts; {self.left} are not."
        yield from (f"Note: {note}." for note in self.notes)
        if self.ids:
            yield f"Back again: {Remedy('correct', (options.ws,), {'undo': True})}"


def run(options: TranscribeOptions) -> Job[TranscribeSummary | ListSummary | AcceptSummary]:
    """`olu transcribe`"""
    _check(options)
    ws = Workspace.open(options.ws)
    if options.accept is not None:
        return accept(ws, confidence=options.accept)
    if options.list is not None:
        return make_list(ws, options.list, seconds=60 * minutes_of(options), most=options.order == "surest")
    made = yield from transcribe(ws, options)
    yield from map(Note, made.notes)
    return made


def _check(options: TranscribeOptions) -> None:
    for name, given, known in (("with", options.listener, LISTENERS), ("order", options.order or ORDERS[0], ORDERS)):
        if given not in known:
            raise ConfigError(f"--{name} {given!r}: choose {', '.join(known[:-1])} or {known[-1]}")
    if options.accept is not None and options.list is not None:
        raise ConfigError("--accept and --list are two commands: give one at a time")
    if options.accept is not None and not 0 < options.accept <= 1:
        raise ConfigError(f"--accept {options.accept:g}: give a confidence above 0 and up to 1, such as 0.9")
    if not minutes_of(options) > 0:
        raise ConfigError(f"--minutes {options.minutes:g}: give more than 0")
    if options.list is None and (options.minutes is not None or options.order is not None):
        raise ConfigError("--minutes and --order are for --list FOLDER: leave them out")
    listens = options.listener != OWN or options.model or options.base or options.changes or options.force
    if listens and (options.list is not None or options.accept is not None):
        raise ConfigError("--list and --accept use the drafts that are there: leave out what is for making them")
    own = options.listener == OWN
    if options.model and own:
        raise ConfigError("--model is for --with whisper and --with mms: leave it out, or name one of them")
    if not own and (options.changes or options.base):
        raise ConfigError(f"--set and --base are for the workspace's own recogniser: {options.listener} learns nothing")


def minutes_of(options: TranscribeOptions) -> float:
    return MINUTES if options.minutes is None else options.minutes


# ---- drafts


def transcribe(ws: Workspace, options: TranscribeOptions) -> Job[TranscribeSummary]:
    """A draft for every clip without a text; earlier drafts give way."""
    bare = _bare(ws)
    if not bare:
        return TranscribeSummary(by="", drafted=0, seconds=0.0, left=0)
    trained: Trained | None = None
    listener: Listener
    if options.listener == OWN:
        trained = yield from _own(ws, options)
        listener, by = trained.draft, trained.version
    else:
        yield Tick(0, len(bare), f"opening {options.listener}")
        listener, by = _published(ws, options)
    corpus, notes = Corpus.open(ws), list[str]()
    made: list[TextDraft] = []
    for done, clip in enumerate(bare, 1):
        yield Tick(done, len(bare), clip.id)
        try:
            found = listener(corpus.audio(corpus.taken(clip)))
        except AudioError as bad:
            notes.append(str(bad))
            continue
        if found.words:
            sure = round(found.confidence, 4)
            made.append(TextDraft(id=clip.id, text=found.text, sure=found.sure, confidence=sure, by=by))
    drafts.save(ws, made)
    drafted = {one.id for one in made}
    known = _held_back(corpus, trained) if trained else []
    return TranscribeSummary(
        by=by,
        drafted=len(made),
        seconds=round(sum(clip.seconds for clip in bare if clip.id in drafted), 3),
        left=len(bare) - len(made),
        worth=worth_of(corpus, trained, known) if trained and known else [],
        known=len(known),
        notes=notes,
    )


def _published(ws: Workspace, options: TranscribeOptions) -> tuple[Listener, str]:
    """A recogniser of others; for English, where none is named, the Whisper that 'olu doctor --install-eval' brings."""
    if options.listener == "whisper" and not options.model and ws.language == "eng" and whisper.there():
        return whisper.draft, whisper.instrument()
    from olu.align.published import listener_named  # a large library, and few ask for it

    device = this_machine(options.device).device
    return listener_named(options.listener, options.model, language=ws.language, device=device)


def _bare(ws: Workspace) -> list[Clip]:
    """Clips without a text whose recording is there, and that nobody left out."""
    corpus = Corpus.open(ws)
    return [clip for clip in corpus.unchanged() if not clip.text.strip() and not corpus.is_dropped(clip)]


def _own(ws: Workspace, options: TranscribeOptions) -> Job[Trained]:
    """The workspace's recogniser of letters: trained on what has texts, from the one of the round before."""
    need_training("olu transcribe")
    heard = speech_minutes(ws)
    if heard < LEAST_MINUTES and not options.force:
        texts = Remedy("transcribe", (ws.root,), {"list": "todo"})
        raise CorpusError(
            f"{ws.root} has {minutes(60 * heard)} of speech with texts, and a recogniser that drafts needs"
            f" {LEAST_MINUTES:.0f}: write more of them ({texts}), begin with a recogniser of another language (--base),"
            " ask a published one (--with whisper, --with mms), or try it all the same with --force"
        )
    base = Run(options.base) if options.base else next(iter(reversed(_before(ws))), None)
    if base is not None and not base.checkpoints().steps():
        raise ConfigError(f"--base {base.folder} holds no recogniser: name the folder of a finished run")
    return (
        yield from recogniser_for(
            ws, units="letters", device=options.device, base=base, settings=options.changes, judges=False
        )
    )


def _before(ws: Workspace) -> list[Run]:
    """Recognisers of letters that have not heard all clips: what is held back must tell how good the next one is."""
    return [
        run
        for run in runs_of(ws, "listener")
        if run.finished
        and run.recipe.model.get("units") == "letters"
        and not run.recipe.data.everything
        and not is_second(run)
    ]


def _held_back(corpus: Corpus, trained: Trained) -> list[Clip]:
    """Clips with texts that the recogniser has not learnt from: those that tell how well it hears."""
    share = Run.named(corpus.ws.runs_folder, trained.run).recipe.data.hold_back
    texted = [clip for clip in corpus if corpus.split(clip) == "train" and corpus.why_not(clip) is None]
    return [clip for clip in texted if place(clip.id) < share]


def worth_of(corpus: Corpus, trained: Trained, clips: Sequence[Clip]) -> list[Worth]:
    """How many drafts of clips with known texts reach each confidence, and how right these are."""
    frontend = corpus_frontend(corpus.ws, corpus, read_settings(corpus.ws))
    rows: list[tuple[float, int, int]] = []  # confidence, letters wrong, letters
    for clip in clips:
        said = trained.target(frontend.read(clip.text))
        found = trained.draft(corpus.audio(corpus.taken(clip)))
        rows.append((found.confidence, edits(said, list(found.text)), len(said)))
    worth = []
    for level in LEVELS:
        over = [row for row in rows if row[0] >= level]
        right = sum(wrong == 0 for _, wrong, _ in over) / len(over) if over else None
        letters = sum(row[1] for row in over) / max(1, sum(row[2] for row in over)) if over else None
        worth.append(Worth(level, len(over) / len(rows), right, letters))
    return worth


# ---- what becomes of them


def accept(ws: Workspace, *, confidence: float) -> AcceptSummary:
    """Drafts of this confidence and more become texts, as corrections do, and can be taken back as these."""
    bare = {clip.id for clip in _bare(ws)}
    held = [one for one in drafts.load(ws).values() if one.id in bare]
    if not held:
        raise CorpusError(f"{ws.root} has no drafts of clips without a text: {Remedy('transcribe', (ws.root,))} first")
    taken = [one for one in held if one.confidence >= confidence]
    notes: tuple[str, ...] = ()
    if taken:
        by = f"{TAKER} {confidence:g}"
        notes = correct(ws, [GivenText(one.id, one.text, "drafts.jsonl") for one in taken], by=by).notes
    ids = tuple(one.id for one in taken)
    return AcceptSummary(confidence=confidence, ids=ids, left=len(held) - len(ids), notes=notes)


def make_list(ws: Workspace, folder: Path, *, seconds: float, most: bool) -> ListSummary:
    """So many seconds of clips without a text, those of least confidence first; without drafts as they come."""
    known = drafts.load(ws)
    bare = _bare(ws)
    if not bare:
        raise CorpusError(f"every clip of {ws.root} has a text: there is nothing to write down")
    bare.sort(key=lambda clip: known[clip.id].confidence if clip.id in known else 0.0, reverse=most)
    chosen, total = list[Clip](), 0.0
    for clip in bare:
        if chosen and total >= seconds:
            break
        chosen.append(clip)
        total += clip.seconds
    write_list(Corpus.open(ws), chosen, known, folder)
    drafted = sum(clip.id in known for clip in chosen)
    return ListSummary(folder=str(folder), clips=len(chosen), seconds=round(total, 3), drafted=drafted)

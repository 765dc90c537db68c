"""Two voices side by side, and a page to choose between them without knowing which is which."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from olu.audio import io
from olu.core.errors import AudioError, ConfigError, OluError, WorkspaceError
from olu.core.files import Workspace, whole, write_json, write_text
from olu.core.job import Job, Note, Tick
from olu.core.threads import settle
from olu.core.told import Caution, Remedy, TextTable, Told
from olu.core.types import Audio
from olu.corpus.manifest import Corpus
from olu.evaluate.blind import KEY_FILE, Counted, Trial, blind_key, count, say
from olu.evaluate.blind import render as render_blind
from olu.evaluate.compare import Comparison, pairs
from olu.evaluate.compare import compare as compare_two
from olu.evaluate.compare import render as render_table
from olu.evaluate.evaluation import DOMAINS, FILE, Evaluation, SentenceResult, load
from olu.evaluate.listening_results import result_of
from olu.evaluate.subject import fingerprint_of
from olu.speak.package import voice_place
from olu.stages.evaluate import evaluate
from olu.stages.listening import ListeningShown
from olu.stages.verbs.voices import CompareOptions, EvaluateOptions

PAGE, LISTEN, FACTS = "compare.html", "listen.html", "comparison.json"


@dataclass(frozen=True)
class CompareSummary:
    folder: Path
    comparison: Comparison
    trials: int  # on the blind page

    @property
    def page(self) -> Path:
        return self.folder / PAGE

    @property
    def listen(self) -> Path:
        return self.folder / LISTEN

    def row(self, options: CompareOptions) -> dict[str, Any]:
        pages = {"page": str(self.page), "listen": str(self.listen) if self.trials else None}
        return {"folder": str(self.folder), **pages, **self.comparison.row()}

    def sentences(self, options: CompareOptions) -> Iterator[Told]:
        from olu.evaluate.compare import table_of_two

        one, two = self.comparison.first.subject.name, self.comparison.second.subject.name
        yield f"First: {one}. Second: {two}. Sentences both have: {self.comparison.shared}."
        yield TextTable(*table_of_two(self.comparison))
        yield from map(Caution, self.comparison.notes)
        yield f"Page: {self.page}"
        if self.trials:
            yield f"To choose blindly between {self.trials} pairs: {self.listen}"
            yield f"Which is which stays here: {self.folder / KEY_FILE}"
            yield f"Then: {Remedy('compare', (), {'choices': 'choices.json'})}"


@dataclass(frozen=True)
class ChoicesSummary:
    """What listeners chose."""

    counted: Counted

    def row(self, options: CompareOptions) -> dict[str, Any]:
        return self.counted.row()

    def sentences(self, options: CompareOptions) -> Iterator[Told]:
        yield from say(self.counted)
        if len(self.counted.listeners) > 1:
            rows = [[name, str(one.first), str(one.second), str(one.equal)] for name, one in self.counted.listeners]
            yield TextTable(["listener", self.counted.first, self.counted.second, "no difference"], rows)


def run(options: CompareOptions) -> Job[CompareSummary | ChoicesSummary | ListeningShown]:
    """`olu compare`"""
    if options.choices:
        if options.first or options.second:
            raise ConfigError("--choices counts what was chosen: it takes no A and B")
        if any(path.is_dir() for path in options.choices):
            return _listened(options.choices)
        return ChoicesSummary(count(list(options.choices), key=options.key))
    if options.key is not None:
        raise ConfigError("--key belongs to --choices: it says which was which on their page")
    yield from map(Note, settle(options.threads))
    return (yield from compare(options))


def _listened(choices: Sequence[Path]) -> ChoicesSummary | ListeningShown:
    """A listening test of the studio; of two voices of which one was chosen, as files of the page are counted."""
    if len(choices) > 1:
        raise ConfigError("--choices takes one listening test, or files of the listening page")
    result = result_of(choices[0])
    if len(result.pairs) == 1:
        return ChoicesSummary(result.pairs[0].counted)
    return ListeningShown(result)


def compare(options: CompareOptions) -> Job[CompareSummary]:
    """Evaluations, voices or workspaces; what has no evaluation yet is evaluated first."""
    first, second, trials, seed, out = options.first, options.second, options.trials, options.seed, options.output
    if first is None or second is None:
        raise ConfigError("Invalid value: Missing argument 'A B': see 'olu compare --help'")
    if trials < 1:
        raise ConfigError(f"--trials {trials}: give a number from 1 on")
    one = yield from _evaluated(first, options)
    two = yield from _evaluated(second, options)
    if one[0].resolve() == two[0].resolve():
        raise ConfigError(f"{first} and {second} are the same evaluation: name two")
    one, two = _apart(one, two)
    comparison = compare_two(one[1], two[1])
    names = one[1].subject.name, two[1].subject.name
    folder = out or Path(f"{_plain(names[0])}-and-{_plain(names[1])}")
    if folder.exists() and any(folder.iterdir()) and not (folder / FACTS).is_file():
        raise WorkspaceError(f"{folder} is there already and is no comparison: choose another with -o")
    made = list(_trials(one, two, most=trials))
    yield Tick(1, 2, "writing the pages")
    with whole(folder) as partial:
        partial.mkdir()
        hear = _Hear(one[0], two[0])
        write_text(
            partial / PAGE, render_table(comparison, hear=hear, listen=LISTEN if made else None, natural=hear.natural)
        )
        if made:
            key = blind_key(made, first=names[0], second=names[1], seed=seed)
            write_text(partial / LISTEN, render_blind(made, key, language=one[1].subject.language))
            write_json(partial / KEY_FILE, key)
        write_json(partial / FACTS, {**comparison.row(), "seed": seed, "trials": len(made)})
    return CompareSummary(folder, comparison, len(made))


Held = tuple[Path, Evaluation]


def _evaluated(place: Path, options: CompareOptions) -> Job[Held]:
    place = voice_place(place)
    wish = EvaluateOptions(place=place, sentences=options.sentences, only=options.only, device=options.device)
    if (place / FILE).is_file():
        return place, load(place)
    if (place / "olu.toml").is_file():
        ws = Workspace.open(place)
        found = sorted(ws.evaluations.glob(f"*/{FILE}"), key=lambda path: path.stat().st_mtime)
        if found:
            return found[-1].parent, load(found[-1].parent)
        summary = yield from evaluate(wish)
        return summary.folder, summary.evaluation
    if not place.exists():
        raise WorkspaceError(f"{place} is not there: name an evaluation, a voice or a workspace")
    if options.corpus is not None and (held := _before(place, Workspace.open(options.corpus))):
        return held
    summary = yield from evaluate(replace(wish, corpus=options.corpus, text=options.text))
    return summary.folder, summary.evaluation


def _before(place: Path, ws: Workspace) -> Held | None:
    """The newest evaluation of this voice in the workspace: evaluating again would write over it."""
    own = fingerprint_of(place)
    for path in sorted(ws.evaluations.glob(f"*/{FILE}"), key=lambda path: path.stat().st_mtime, reverse=True):
        try:
            found = load(path.parent)
        except WorkspaceError:  # of another version, or damaged
            continue
        if found.subject.kind == "voice" and found.subject.fingerprint == own:
            return path.parent, found
    return None


def _apart(one: Held, two: Held) -> tuple[Held, Held]:
    """Under names that tell them apart: with the noise where these are the same, else the folders, else the order."""
    subjects = one[1].subject, two[1].subject
    names = [subject.name for subject in subjects]
    if names[0] == names[1]:
        noises = ["its own noise" if side.noise is None else f"noise {side.noise:g}" for side in subjects]
        folders = [held[0].resolve().name for held in (one, two)]
        marks = next((both for both in (noises, folders) if both[0] != both[1]), ["first", "second"])
        names = [f"{name} ({mark})" for name, mark in zip(names, marks, strict=True)]
    first, second = (
        (folder, replace(held, subject=replace(held.subject, name=name)))
        for (folder, held), name in zip((one, two), names, strict=True)
    )
    return first, second


def _plain(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "voice"


class _Hear:
    """Both sides of a sentence from the folders of the evaluations; its recording from the workspace these lie in."""

    def __init__(self, first: Path, second: Path) -> None:
        self.first, self.second = first, second
        self.corpus = next((found for place in (first, second) if (found := _corpus_of(place)) is not None), None)
        self.clips = {clip.id: clip for clip in self.corpus or ()}

    def natural(self, one: SentenceResult) -> Audio | None:
        clip = self.clips.get(one.id)
        if self.corpus is None or clip is None or clip.text.strip() != one.text.strip():
            return None
        try:
            return self.corpus.audio(self.corpus.taken(clip))
        except OluError:  # moved or damaged: the two voices can be heard all the same
            return None

    def __call__(self, one: SentenceResult, two: SentenceResult) -> tuple[Audio, Audio] | None:
        try:
            return io.read(self.first / one.wav), io.read(self.second / two.wav)
        except AudioError:
            return None


def _corpus_of(evaluation: Path) -> Corpus | None:
    root = evaluation.resolve().parent.parent
    if not (root / "olu.toml").is_file() or not (root / "corpus" / "clips.jsonl").is_file():
        return None
    return Corpus.open(Workspace.open(root))


def _trials(one: Held, two: Held, *, most: int) -> list[Trial]:
    hear = _Hear(one[0], two[0])
    found: list[Trial] = []
    for domain in DOMAINS:
        for first, second in pairs(one[1], two[1], domain):
            if len(found) < most and (sounds := hear(first, second)) is not None:
                found.append(Trial(first.id, first.text, *sounds))
    return found

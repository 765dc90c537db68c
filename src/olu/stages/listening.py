"""Listening tests of a workspace: made from evaluations, voices and checkpoints, listed, and what came out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from olu.audio import io
from olu.core.errors import AudioError, ConfigError, CorpusError, WorkspaceError
from olu.core.files import Workspace, read_jsonl
from olu.core.job import Job, Note, Tick
from olu.core.threads import settle
from olu.core.told import Remedy, TextTable, Told
from olu.core.types import Audio
from olu.core.words import many
from olu.corpus.corrections import now, who_is
from olu.corpus.manifest import Corpus
from olu.evaluate.evaluation import DOMAINS, FILE, load, spread_evenly
from olu.evaluate.listening import (
    KINDS,
    HeardSentence,
    Kind,
    ListeningTest,
    all_tests,
    answer_row,
    check_name,
    journal,
    load_test,
    place_of,
    save_test,
)
from olu.evaluate.listening_results import ListeningResult, result_of
from olu.evaluate.metrics.cer import edits
from olu.evaluate.subject import Speaker, of_voice, text_of
from olu.speak.package import voice_place
from olu.stages.evaluate import of_workspace
from olu.stages.verbs.voices import ListeningOptions

NATURAL = "recordings"
MOST_VOICES = 8
ROW = {"listener": str, "n": int, "answer": int | str}
Say = Callable[[str], Audio | None]  # text -> sound, where there is one


@dataclass(frozen=True)
class HeardVoice:
    """Something that says sentences: a voice, a checkpoint, an evaluation's sounds, or the recordings."""

    name: str
    say: Say
    texts: tuple[str, ...] | None = None  # all it can say; None: any
    chooses: bool = True  # whether its sentences are those of the test
    machine: dict[str, float] = field(default_factory=dict)  # text -> letters that a recogniser heard wrong, a share


@dataclass(frozen=True)
class ListeningMade:
    """A listening test that was made."""

    folder: Path
    test: ListeningTest

    def row(self, options: ListeningOptions) -> dict[str, Any]:
        held = self.test
        return {"folder": str(self.folder), "test": held.name, "kind": held.kind, "sentences": len(held.sentences)}

    def sentences(self, options: ListeningOptions) -> Iterator[Told]:
        held = self.test
        size = f"{many(len(held.sentences), 'sentence')}, {many(len(held.voices), 'voice')}"
        yield f"Listening test {held.name}: {KINDS[held.kind]}; {size}."
        yield f"To give out links and to listen: {Remedy('studio', (options.ws,))}"
        yield f"What came out: {Remedy('listening', (options.ws, held.name))}"


@dataclass(frozen=True)
class ListeningList:
    tests: tuple[dict[str, Any], ...]

    def sentences(self, options: ListeningOptions) -> Iterator[Told]:
        if not self.tests:
            yield "There is no listening test yet: name one, and what is heard, with --of, --run or --natural."
            return
        rows = [
            [one["test"], one["kind"], str(one["sentences"]), str(one["answers"]), one["made"]] for one in self.tests
        ]
        yield TextTable(["test", "kind", "sentences", "answers", "made"], rows)


@dataclass(frozen=True)
class ListeningShown:
    result: ListeningResult
    added: int = 0

    def row(self, options: Any) -> dict[str, Any]:
        return self.result.row()

    def sentences(self, options: Any) -> Iterator[Told]:
        if self.added:
            yield f"{many(self.added, 'answer')} taken in."
        yield from self.result.told()


def run(options: ListeningOptions) -> Job[ListeningMade | ListeningList | ListeningShown]:
    """`olu listening`"""
    ws = Workspace.open(options.ws)
    sources = bool(options.of or options.run or options.natural)
    if options.name is None:
        if sources or options.add is not None:
            raise ConfigError("a test has a NAME: olu listening WS evening-1 --of ...")
        return ListeningList(tuple(_listed(path) for path in all_tests(ws)))
    folder = place_of(ws, options.name)
    if not sources:
        added = take_answers(ws, options.name, options.add) if options.add is not None else 0
        return ListeningShown(result_of(folder), added)
    if options.add is not None:
        raise ConfigError("--add takes answers into a test that is there: leave --of, --run and --natural out")
    yield from map(Note, settle(options.threads))
    return (yield from _make(ws, options.name, options))


def _listed(folder: Path) -> dict[str, Any]:
    test, result = load_test(folder), result_of(folder)
    return {
        "test": test.name,
        "kind": test.kind,
        "sentences": len(test.sentences),
        "voices": list(test.voices),
        "answers": result.answers,
        "listeners": len(result.listeners),
        "made": test.made,
        "by": test.by,
    }


def _make(ws: Workspace, name: str, options: ListeningOptions) -> Job[ListeningMade]:
    voices = yield from _voices(ws, options)
    check_name(name, [one.name for one in voices])
    if place_of(ws, name).exists():
        raise WorkspaceError(f"there is a listening test {name!r} already: choose another name")
    kind = cast(Kind, options.kind)
    texts = _texts(ws, voices, options)
    if kind == "words":
        texts = [text for text in texts if not any(letter.isdigit() for letter in text)]
    chosen = spread_evenly(texts, options.sentences)
    sounds: list[list[Audio]] = []
    kept: list[HeardSentence] = []
    for done, text in enumerate(chosen, 1):
        yield Tick(done, len(chosen), "speaking")
        said = [one.say(text) for one in voices]
        row = [one for one in said if one is not None]
        if len(row) == len(voices):
            machine = tuple(one.machine.get(text) for one in voices)
            kept.append(HeardSentence(id=f"{len(kept) + 1}", text=text, machine=machine))
            sounds.append(row)
    if not kept:
        raise CorpusError(
            "no sentence is said by all of these: name evaluations of the same sentences, or give voices --text FILE"
        )
    test = save_test(
        ws,
        name=name,
        kind=kind,
        language=ws.language,
        made=now(),
        by=who_is(options.by),
        seed=options.seed,
        voices=[one.name for one in voices],
        sentences=kept,
        sounds=sounds,
    )
    return ListeningMade(place_of(ws, name), test)


def _texts(ws: Workspace, voices: Sequence[HeardVoice], options: ListeningOptions) -> list[str]:
    """What all can say: the lines of a file, the sentences of evaluations, else texts held back from training."""
    if options.text is not None:
        lines = [" ".join(line.split()) for line in text_of(options.text).splitlines()]
        given = list(dict.fromkeys(line for line in lines if line))
        if not given:
            raise ConfigError(f"{options.text} holds no sentence: write one on each line")
        return given
    bound = [set(one.texts) for one in voices if one.texts is not None]
    chosen = next((one.texts for one in voices if one.texts is not None and one.chooses), None)
    return [text for text in chosen or _held_back(ws) if all(text in other for other in bound)]


def _held_back(ws: Workspace) -> list[str]:
    corpus = Corpus.open(ws)
    found = {clip.text.strip(): None for clip in corpus if corpus.split(clip) == "test" and corpus.is_wanted(clip)}
    return [text for text in found if text]


def _voices(ws: Workspace, options: ListeningOptions) -> Job[list[HeardVoice]]:
    found: list[HeardVoice] = []
    for place in options.of:
        found.append(_given(ws, place))
    for named in options.run:
        run, _, step = named.partition("@")
        if step and not step.isdecimal():
            raise ConfigError(f"--run {named!r}: write RUN or RUN@STEP, such as vits-001@2000")
        speaker = yield from of_workspace(ws, run=run or None, step=int(step) if step else None, seed=0, noise=None)
        found.append(_speaks(speaker, speaker.subject.name))
    if options.natural:
        found.append(_recordings(ws))
    if not (1 if options.kind != "ab" else 2) <= len(found) <= MOST_VOICES:
        raise ConfigError(f"a listening test has two or more of --of, --run and --natural, and {MOST_VOICES} at most")
    names = [one.name for one in found]
    if len(set(names)) < len(names):
        again = next(name for name in names if names.count(name) > 1)
        raise ConfigError(f"{again!r} is named twice: name each once")
    return found


def _given(ws: Workspace, place: Path) -> HeardVoice:
    here = ws.evaluations / place
    folder = here if (here / FILE).is_file() else place
    if (folder / FILE).is_file():
        return _evaluated(folder)
    voice = ws.root / "voices" / place if (ws.root / "voices" / place).exists() else voice_place(place)
    if not voice.exists():
        raise WorkspaceError(f"{place} is not there: name an evaluation or a voice package")
    speaker = of_voice(voice, seed=0)
    return _speaks(speaker, voice.name.removesuffix(".voice"))


def _speaks(speaker: Speaker, name: str) -> HeardVoice:
    who = speaker.speakers[0] if speaker.speakers else ""
    return HeardVoice(name, lambda text: speaker.say(text, who))


def _evaluated(folder: Path) -> HeardVoice:
    """The sounds of an evaluation, with what its recogniser heard."""
    held = load(folder)
    items = {one.text.strip(): one for domain in DOMAINS for one in held.items if one.domain == domain}

    def say(text: str) -> Audio | None:
        path = (folder / items[text].wav).resolve() if text in items else None
        if path is None or not path.is_relative_to(folder.resolve()):
            return None
        try:
            return io.read(path)
        except AudioError:
            return None

    machine = {
        text: edits(list(one.expected), list(one.heard)).rate
        for text, one in items.items()
        if one.expected and one.heard is not None
    }
    return HeardVoice(folder.resolve().name, say, tuple(items), machine=machine)


def _recordings(ws: Workspace) -> HeardVoice:
    corpus = Corpus.open(ws)
    clips = {clip.text.strip(): clip for clip in corpus if clip.text.strip() and not corpus.is_dropped(clip)}

    def say(text: str) -> Audio | None:
        try:
            return corpus.audio(corpus.taken(clips[text])) if text in clips else None
        except AudioError:
            return None

    return HeardVoice(NATURAL, say, tuple(clips), chooses=False)


# ---- answers


def take_answers(ws: Workspace, name: str, file: Path) -> int:
    """Answers that were gathered elsewhere: JSON lines of listener, n and answer."""
    test = load_test(place_of(ws, name))
    if not file.is_file():
        raise CorpusError(f"{file} is not there: name JSON lines of listener, n and answer")
    lost: list[WorkspaceError] = []
    rows = list(read_jsonl(file, shape=ROW, lost=lost))
    if lost:
        said = str(lost[0]).partition(": delete it")[0]
        raise CorpusError(f'{said}: a line is {{"listener": "amina", "n": 0, "answer": 1}}')
    at = now()
    kept = [
        answer_row(test, listener=row["listener"], name=row["listener"], n=row["n"], answer=row["answer"], at=at)
        for row in rows
    ]
    journal(ws, name).append(kept)
    return len(kept)

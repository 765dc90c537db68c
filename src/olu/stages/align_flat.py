"""Align long recordings with nothing else given: a flat start, kept round by round, so that a kill loses one round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from olu.align.cut import places
from olu.align.runs import otherwise_named, unspoken_named, unwritten_named
from olu.align.state import Listened, Words, phones_of, to_align
from olu.align.text_match import Match
from olu.audio import io
from olu.core.errors import AlignError, AudioError, CorpusError
from olu.core.files import Workspace, hash_value, read_json, whole, write_json
from olu.core.job import Job, Note
from olu.core.machine import this_machine
from olu.core.stage import need_training
from olu.core.threads import use_threads
from olu.core.types import Alignment, Audio, Clip
from olu.core.words import many
from olu.corpus.manifest import Corpus, recordings
from olu.stages.align_base import base_ear
from olu.stages.long_path import LEAST_MINUTES, MADE_BY
from olu.stages.read import read_corpus

if TYPE_CHECKING:
    from olu.align.flat import FlatStart
    from olu.align.recording import FoundFrames, LongText

FLAT_VERSION = 4  # raise it when the same sound and text would be aligned otherwise
CHUNK_SECONDS = 240.0
MOST_UNSAID = 0.5  # of the words of a recording: with more its text is another's
DENSEST, THINNEST = 45.0, 1.5  # sounds of a text for a second of its recording: people say 8 to 16


class _KeptRounds:
    """What each round found, in alignment/flat."""

    def __init__(self, ws: Workspace, key: str) -> None:
        self.folder, self.key = ws.alignment / "flat", key

    def load(self) -> tuple[int, dict[str, FoundFrames]]:
        from olu.align.recording import FoundFrames

        told = self.folder / "round.json"
        if not told.exists() or (state := read_json(told))["key"] != self.key:
            return 0, {}
        with np.load(self.folder / "frames.npz") as held:
            each = [FoundFrames(held[f"owner{at}"], held[f"labels{at}"]) for at in range(len(state["clips"]))]
        return state["done"], dict(zip(state["clips"], each, strict=True))

    def save(self, done: int, found: dict[str, FoundFrames]) -> None:
        arrays: dict[str, Any] = {f"owner{at}": one.owner_F for at, one in enumerate(found.values())}
        arrays |= {f"labels{at}": one.labels_F for at, one in enumerate(found.values())}
        with whole(self.folder) as folder:
            folder.mkdir()
            np.savez(folder / "frames.npz", **arrays)
            write_json(folder / "round.json", {"key": self.key, "done": done, "clips": list(found)})


def listen_flat(ws: Workspace, *, device: str | None, force: bool, base: Path | None = None) -> Job[Listened]:
    """Every clip that is wanted with its alignment, learnt from nothing but sound and text.

    `base`: an aligned workspace of another language, by whose sounds the first look hears.
    """
    from olu.align.borrowed import by_signs
    from olu.align.flat import flat_start

    need_training("an alignment")
    use_threads()
    where = this_machine(device).device
    ear = None if base is None else base_ear(base, device=where)
    yield from read_corpus(ws)
    corpus = Corpus.open(ws)
    readable = to_align(ws, corpus)
    if not readable:
        raise CorpusError(
            f"no text of {ws.root} has a word that can be read as {ws.language}: is it in another script or language?"
        )
    todo, problems = _fitting(corpus, readable)
    minutes = sum(clip.seconds for clip, _ in todo.values()) / 60
    if minutes < LEAST_MINUTES and not force:
        first = f"; {problems[0]}" if problems else ""
        raise CorpusError(
            f"{ws.root} has {minutes:.1f} minutes with a text to learn from, and an aligner of its own needs"
            f" {LEAST_MINUTES:.0f}: import more, or try it all the same with --force{first}"
        )
    first = "what sounds are like" if ear is None else f"what {ear.name} hears"
    yield Note(
        f"{many(len(todo), 'recording')}, {minutes:.0f} minutes, and no short clips to learn from: a flat start, by"
        f" {first}, then by what it learns itself"
    )
    words = {id: own for id, (_, own) in todo.items()}
    store = _KeptRounds(ws, hash_value([FLAT_VERSION, recordings(ws), words, *([ear.name] if ear else [])]))
    texts = [_text(corpus, clip, own) for clip, own in todo.values()]
    start = yield from flat_start(texts, ear=ear or by_signs, store=store, device=where)
    start.model.save(ws.alignment / "frames")
    write_json(ws.alignment / "frames.json", {"key": store.key, "recogniser": MADE_BY})
    made_by = MADE_BY if ear is None else f"{MADE_BY}, begun by what {ear.name} hears"
    return _listened(todo, start, problems, made_by=made_by)


def _fitting(corpus: Corpus, todo: Mapping[str, tuple[Clip, Words]]) -> tuple[dict[str, tuple[Clip, Words]], list[str]]:
    """The recordings whose sound can be read and whose text has about the length of it; the others in sentences."""
    kept, problems = {}, []
    for id, (clip, words) in todo.items():
        pace = len(phones_of(words)) / max(0.1, clip.seconds)
        try:
            corpus.check_same(clip)
            if not corpus.locate(clip).is_file():
                raise AudioError(f"{corpus.locate(clip)} is not there")
        except (AudioError, CorpusError) as bad:
            problems.append(f"clip {id}: {bad}")
            continue
        if pace > DENSEST:
            said = f"a text of {len(words):,} words cannot be said in its {clip.seconds / 60:.1f} minutes"
            problems.append(f"clip {id}: {said}: give it the part of the text that is read in it")
        elif pace < THINNEST:
            said = f"its text of {many(len(words), 'word')} is next to nothing for {clip.seconds / 60:.1f} minutes"
            problems.append(f"clip {id}: {said}: give it its whole text")
        else:
            kept[id] = (clip, words)
    return kept, problems


def _text(corpus: Corpus, clip: Clip, words: Words) -> LongText:
    from olu.align.recording import LongText

    found = places(clip.text, [text for text, _ in words])
    sentences = frozenset(at for at, place in found.items() if place.sentence)
    return LongText(clip.id, tuple(own for _, own in words), sentences, partial(_chunks, corpus, clip))


def _chunks(corpus: Corpus, clip: Clip) -> Iterator[Audio]:
    """The sound of a clip, never all of it at once."""
    path, at = corpus.locate(clip), 0.0
    while clip.seconds - at > 1e-4:
        size = min(CHUNK_SECONDS, clip.seconds - at)
        yield io.read(path, start=clip.start + at, seconds=size)
        at += size


def _listened(
    todo: Mapping[str, tuple[Clip, Words]], start: FlatStart, problems: list[str], *, made_by: str
) -> Listened:
    from olu.align.holes import long_alignment

    found: list[Alignment] = []
    holes: list[str] = []
    matches: list[tuple[str, Match]] = []
    for id, (clip, words) in todo.items():
        one = long_alignment(id, start.paths[id], words, seconds=clip.seconds)
        unsaid = sum(last - first for first, last in one.unspoken)
        if unsaid > MOST_UNSAID * len(words):
            share = f"{unsaid / len(words):.0%} of its text is heard nowhere in it"
            problems.append(f"clip {id}: {share}: is it another's, or in another language?")
            continue
        right, asked = start.trust[id]
        if right < asked / 2:
            said = f"what was learnt elsewhere fits its words in {right} of {asked} half minutes"
            problems.append(f"clip {id}: {said}: is the text another's, or in another language?")
            continue
        found.append(one)
        matches.append((id, Match(score=one.score, first=one.words[0], last=one.words[-1])))
        told = (*unwritten_named(one), *unspoken_named(one), *otherwise_named(one))
        holes += [f"{id} {said}" for said in told]
    if todo and not found:
        raise AlignError(f"nothing was aligned: {problems[0]}")
    return Listened(found=found, matches=matches, problems=problems, notes=[], made_by=made_by, holes=holes)

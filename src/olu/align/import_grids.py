"""TextGrids of another aligner as the alignment of a workspace."""

from __future__ import annotations

import shlex
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path

from olu.align.phonemap import apply, learn
from olu.align.state import Words, to_align, tones_of
from olu.align.textgrid import decode, parse, to_alignment, tones_in
from olu.align.textgrids import match, read_all
from olu.core.errors import CorpusError
from olu.core.files import Workspace
from olu.core.types import Alignment, Clip, Tick
from olu.core.words import many
from olu.corpus.manifest import Corpus
from olu.text.words import edits

FEW = 3

Taken = tuple[list[Alignment], list[str], list[str]]


def read_grids(source: Path) -> dict[str, bytes]:
    if not source.exists():
        raise CorpusError(f"--from {source} is not there: name a folder, a .tar.gz or a .zip of TextGrids")
    return read_all(source)


def no_grid(id: str) -> str:
    return f"clip {id}: no TextGrid has its name"


def take_grids(ws: Workspace, corpus: Corpus, grids: Mapping[str, bytes]) -> Generator[Tick, None, Taken]:
    """Alignments with our phones, what was wrong with which clip, and what else to know."""
    wanted = to_align(ws, corpus)
    files, strangers = match(grids, [clip for clip, _ in wanted.values()])
    if not files:
        raise CorpusError(
            f"none of the {len(grids)} TextGrids has the name of a clip or of its recording: the first is {min(grids)}"
        )
    foreign: dict[str, tuple[Alignment, Words]] = {}
    problems: list[str] = []
    told: dict[str, list[str]] = {}
    for done, (id, file) in enumerate(files.items(), 1):
        clip, words = wanted[id]
        try:
            grid = parse(decode(grids[file], where=file), where=file)
            told[id] = tones_in(grid)
            foreign[id] = (to_alignment(grid, id=id, seconds=clip.seconds, where=file), words)
        except CorpusError as bad:
            problems.append(f"clip {id}: {bad}")
        yield Tick(done, len(files), "reading")
    learned = learn(foreign.values())
    found = []
    for done, (id, (alignment, words)) in enumerate(foreign.items(), 1):
        try:
            found.append(apply(learned, alignment, words))
        except CorpusError as bad:
            problems.append(str(bad))
        yield Tick(done, len(foreign), f"phones of {id}")
    missing = [id for id in wanted if id not in files]
    problems += [no_grid(id) for id in missing]
    notes = [f"{len(strangers)} TextGrids belong to no clip, such as {', '.join(strangers[:FEW])}"] if strangers else []
    theirs = {span.label for alignment, _ in foreign.values() for span in alignment.phones if span.label}
    ours = {phone for _, words in wanted.values() for _, phones in words for phone in phones}
    if other := sorted(theirs - ours):
        notes.append(f"{len(other)} of their {len(theirs)} phones are not ours and were mapped: {' '.join(other[:12])}")
    notes += _other_tones(corpus, [(wanted[one.id][0], told[one.id]) for one in found])
    return found, problems, notes


def _other_tones(corpus: Corpus, told: Sequence[tuple[Clip, list[str]]]) -> list[str]:
    """A sentence where tiers of tones say something else than the texts, which alone decide."""
    counts = {}
    for clip, theirs in told:
        ours = [tone for tone in tones_of(corpus.reading(clip)) if tone]
        if theirs and ours and (number := edits(ours, theirs)):
            counts[clip.id] = number
    if not counts:
        return []
    some = ", ".join(f"{number} in {id}" for id, number in list(counts.items())[:FEW])
    more = f" and {many(len(counts) - FEW, 'more clip')}" if len(counts) > FEW else ""
    differ = "tone differs" if sum(counts.values()) == 1 else "tones differ"
    return [
        f"tones come from the text, and {sum(counts.values())} {differ} in the TextGrids, which changes nothing: {some}"
        f"{more}; write them in the text, by 'olu correct {shlex.quote(str(corpus.ws.root))}'"
    ]

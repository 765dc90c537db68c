"""An alignment as files for other programs: TextGrids, and durations in frames."""

from __future__ import annotations

import io
import shlex
import tarfile
import tempfile
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from olu.align.phonemap import apply, learn
from olu.align.state import Words, phones_of, to_align, tones_of
from olu.align.textgrid import TextGrid, decode, from_alignment, parse, render, to_alignment, tones_in, unknown_words
from olu.core.errors import ConfigError, CorpusError
from olu.core.files import Workspace, whole, write_jsonl, write_text
from olu.core.job import Job, Tick, finish
from olu.core.types import Alignment, Clip, Span
from olu.core.words import many
from olu.corpus.manifest import Corpus
from olu.corpus.readers import archive
from olu.corpus.readers.rows import look
from olu.text.words import edits

# ---- many TextGrids at once: a folder of them, or a tar or zip, read and written


Grids = Iterable[tuple[str, TextGrid]]  # clip id and grid

ENDING = ".textgrid"
NO_TONES: Mapping[str, Sequence[str]] = {}
TARS = {".tar.gz": "w:gz", ".tgz": "w:gz", ".tar": "w", ".tar.bz2": "w:bz2", ".tar.xz": "w:xz"}


def read_all(source: Path) -> dict[str, bytes]:
    """Path inside, with forward slashes -> what the file holds. Nothing of an archive is written outside."""
    if source.is_dir():
        found = {file: (source / file).read_bytes() for file in look(source).files if file.lower().endswith(ENDING)}
    elif archive.is_archive(source):
        with tempfile.TemporaryDirectory() as folder:
            finish(archive.unpack(source, into=Path(folder) / "grids"))
            return read_all(Path(folder) / "grids")
    elif source.is_file() and source.name.lower().endswith(ENDING):
        found = {source.name: source.read_bytes()}
    else:
        raise CorpusError(f"{source} is neither a folder nor a tar or zip of TextGrids: check the path")
    if not found:
        raise CorpusError(f"{source} holds no file that ends in .TextGrid: check the path")
    return found


def match(files: Iterable[str], clips: Iterable[Clip]) -> tuple[dict[str, str], list[str]]:
    """Clip id -> file, by the clip's id or by its recording's name; and the files that belong to no clip."""
    ids, stems, homes = {}, dict[str, list[Clip]](), dict[str, list[Clip]]()
    for clip in clips:
        ids[_same_form(clip.id)] = clip
        path = PurePosixPath(_same_form(clip.audio))
        stems.setdefault(path.stem, []).append(clip)
        homes.setdefault(f"{path.parent.name}/{path.stem}", []).append(clip)
        homes.setdefault(f"{clip.speaker}/{path.stem}", []).append(clip)
    found, left = dict[str, str](), list[str]()
    for file in files:
        path = PurePosixPath(_same_form(file))
        stem = path.name[: -len(ENDING)]
        named = [ids[stem]] if stem in ids else stems.get(stem, [])
        if len(named) > 1:  # the same name in several folders
            named = [clip for clip in homes.get(f"{path.parent.name}/{stem}", []) if clip in named]
        one = named[0] if len({clip.id for clip in named}) == 1 else None
        if one is None or one.id in found:
            left.append(file)
        else:
            found[one.id] = file
    return found, left


def write_all(target: Path, alignments: Iterable[Alignment], *, tones: Mapping[str, Sequence[str]] = NO_TONES) -> int:
    """One .TextGrid per clip into a folder, or into a tar or zip by the target's ending; returns how many.

    `tones`: by clip, of each of its phones.
    """
    grids = ((one.id, from_alignment(one, tones=tones.get(one.id, ()))) for one in alignments)
    name = target.name.lower()
    mode = next((mode for ending, mode in TARS.items() if name.endswith(ending)), None)
    if mode is None and not name.endswith(".zip"):
        return _into_folder(target, grids)
    if target.is_dir():
        raise CorpusError(f"{target} is a folder: name a file, or a folder without that ending")
    with whole(target) as partial:
        return _into_tar(partial, mode, grids) if mode else _into_zip(partial, grids)


def _into_folder(target: Path, grids: Grids) -> int:
    if target.is_file():
        raise CorpusError(f"{target} is a file: name a folder, or a file that ends in .tar.gz")
    files = dict(_rendered(grids))
    for file, data in files.items():
        write_text(target / file, data.decode())
    return len(files)


def _into_tar(partial: Path, mode: str, grids: Grids) -> int:
    with tarfile.open(str(partial), mode) as packed:  # type: ignore[call-overload]
        for file, data in _rendered(grids):
            info = tarfile.TarInfo(file)
            info.size = len(data)
            packed.addfile(info, io.BytesIO(data))
        return len(packed.getmembers())


def _into_zip(partial: Path, grids: Grids) -> int:
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as packed:
        for file, data in _rendered(grids):
            packed.writestr(zipfile.ZipInfo(file), data, zipfile.ZIP_DEFLATED)
        return len(packed.namelist())


def _rendered(grids: Grids) -> Iterator[tuple[str, bytes]]:
    for id, grid in grids:
        yield f"{id}.TextGrid", render(grid).encode()


def _same_form(name: str) -> str:
    return unicodedata.normalize("NFC", name)


Frames = Literal["floor", "centre"]


def write_grids(ws: Workspace, target: Path) -> int:
    """One TextGrid per aligned clip; returns how many."""
    corpus = Corpus.open(ws)
    tones = {clip.id: _tones(corpus, clip, one) for clip, one in _aligned(corpus)}
    return write_all(target, (_exact(one, clip) for clip, one in _aligned(corpus)), tones=tones)


def _tones(corpus: Corpus, clip: Clip, alignment: Alignment) -> list[str]:
    """The tone of each phone; none where the language has none, or the text is read otherwise by now."""
    found = tones_of(corpus.reading(clip))
    return found if len(found) == sum(bool(span.label) for span in alignment.phones) else []


def write_durations(ws: Workspace, target: Path, *, hop: int, rate: int, frames: Frames) -> tuple[int, list[str]]:
    """A row per clip that trains: tokens, silence among them, and their frames, which sum to the clip's.

    Returns how many rows, and the clips that have too few frames for their sounds.
    """
    if hop < 1 or rate < 1:
        raise ConfigError(f"--hop {hop} and --rate {rate}: give whole numbers above 0")
    if target.is_dir():
        raise ConfigError(f"--durations {target} is a folder: name a file")
    problems: list[str] = []
    rows = list(_rows(ws, hop=hop, rate=rate, frames=frames, problems=problems))
    write_jsonl(target, rows)
    return len(rows), problems


def _rows(ws: Workspace, *, hop: int, rate: int, frames: Frames, problems: list[str]) -> Iterator[dict[str, Any]]:
    from olu.align.durations import SILENCES, durations

    corpus = Corpus.open(ws)
    for clip, alignment in _aligned(corpus):
        if corpus.why_not(clip) is not None:
            continue
        taken = corpus.taken(clip)
        samples = (2 * round(taken.seconds * clip.rate) * rate + clip.rate) // (2 * clip.rate)  # as soxr rounds
        try:
            part = within(_exact(alignment, clip), start=taken.start - clip.start, seconds=taken.seconds)
            labels, counts = durations(part, samples=samples, rate=rate, hop=hop, frames=frames)
        except (CorpusError, ValueError) as bad:
            problems.append(f"clip {clip.id}: {str(bad).removeprefix(f'{clip.id}: ')}")
            continue
        total = samples // hop + (frames == "centre")
        if sum(counts) != total:
            raise AssertionError(f"clip {clip.id}: {sum(counts)} frames counted, {total} there")
        row = {"id": clip.id, "rate": rate, "hop": hop, "tokens": list(labels), "frames": [int(n) for n in counts]}
        tones = _tones(corpus, clip, alignment)
        if any(tones):
            coming = iter(tones)
            row["tones"] = ["" if label in SILENCES else next(coming) for label in labels]
        yield row


def within(alignment: Alignment, *, start: float, seconds: float) -> Alignment:
    """The part of an alignment that a stretch of its clip has; half a sound or more must be in it."""
    end = start + seconds

    def moved(spans: tuple[Span, ...]) -> Iterator[Span]:
        for span in spans:
            low, high = max(span.start, start), min(span.end, end)
            if span.label and high - low < (span.end - span.start) / 2:
                raise CorpusError(f"the stretch that trains leaves out {span.label!r} at {span.start:.2f} s")
            if high > low:
                yield span._replace(start=low - start, end=high - start)

    phones = tuple(moved(alignment.phones))
    if phones:
        phones = (*phones[:-1], phones[-1]._replace(end=seconds))
    return replace(alignment, seconds=seconds, words=tuple(moved(alignment.words)), phones=phones)


def _exact(alignment: Alignment, clip: Clip) -> Alignment:
    """The alignment with its end where the clip ends: the file rounds its times."""
    phones = alignment.phones
    return replace(
        alignment, seconds=clip.seconds, phones=(*phones[:-1], phones[-1]._replace(end=clip.seconds)) if phones else ()
    )


def _aligned(corpus: Corpus) -> Iterator[tuple[Clip, Alignment]]:
    for clip in corpus:
        found = corpus.alignment(clip)
        if found is not None:
            yield clip, found


# ---- textGrids of another aligner as the alignment of a workspace


FEW = 3

Taken = tuple[list[Alignment], list[str], list[str]]


def read_grids(source: Path) -> dict[str, bytes]:
    if not source.exists():
        raise CorpusError(f"--from {source} is not there: name a folder, a .tar.gz or a .zip of TextGrids")
    return read_all(source)


def no_grid(id: str) -> str:
    return f"clip {id}: no TextGrid has its name"


def take_grids(ws: Workspace, corpus: Corpus, grids: Mapping[str, bytes]) -> Job[Taken]:
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
            if unknown := unknown_words(grid):
                raise CorpusError(
                    f"its aligner did not know {unknown[0]!r} and wrote spn over it: add the word to the aligner's"
                    " dictionary and align again, or leave the clip out"
                )
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
    problems += [no_grid(id) for id in wanted if id not in files]
    notes = [f"{len(strangers)} TextGrids belong to no clip, such as {', '.join(strangers[:FEW])}"] if strangers else []
    notes += _other_phones([one for one, _ in foreign.values()], [words for _, words in wanted.values()])
    notes += _other_tones(corpus, [(wanted[one.id][0], told[one.id]) for one in found])
    return found, problems, notes


def _other_phones(alignments: Iterable[Alignment], texts: Iterable[Words]) -> list[str]:
    """A sentence where their phones are not those of our texts."""
    theirs = {span.label for alignment in alignments for span in alignment.phones if span.label}
    other = sorted(theirs - {phone for words in texts for phone in phones_of(words)})
    said = f"{len(other)} of their {len(theirs)} phones are not ours and were mapped: {' '.join(other[:12])}"
    return [said] if other else []


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

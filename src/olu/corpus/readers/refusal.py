"""Why nothing in a source can be imported, and what was guessed of it, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from olu.audio.io import SUFFIXES
from olu.audio.media import PHONE_SUFFIXES, begins_as_sound
from olu.core.errors import CorpusError
from olu.core.inside import Refused, read_inside
from olu.core.words import many
from olu.corpus.readers import ljspeech, subtitles, unnamed
from olu.corpus.readers.audio_index import LOOKED_IN
from olu.corpus.readers.rows import Guessed, Problem, Tree, look

SHEETS = (".xlsx", ".xls", ".ods", ".numbers")
SHOWN = 3
MOST_KINDS = 6
ENDINGS = f"{', '.join(SUFFIXES + PHONE_SUFFIXES[:6])} and others, films too"
MOST_OPENED = 1000  # files whose beginning is looked at for sound


def looks_like_sound(source: Path, file: str) -> bool:
    """Whether a file with an ending nobody knows begins as sound does."""
    try:
        head = read_inside(source, file, most=16, cut=True)
    except Refused:
        return False
    return begins_as_sound(head)


def refusal(source: Path, tree: Tree | None = None, *, encoding: str | None = None) -> CorpusError:
    """Why nothing in a source can be imported, in one sentence."""
    tree = tree or look(source)
    chosen = next((bad for bad in subtitles.pairs(tree)[1] if subtitles.SEVERAL in bad.message), None)
    if chosen is not None:
        return CorpusError(f"{source / chosen.where} {chosen.message}")
    if tree.refused:
        return CorpusError(f"{source / tree.refused[0].where} {tree.refused[0].message}")
    if not tree.files:
        why = f"; {tree.problems[0]}" if tree.problems else ""
        return CorpusError(f"{source} is empty: name the folder that holds the recordings{why}")
    if not tree.audio:
        return CorpusError(f"{source} {_no_audio(source, tree)}")
    there = f"{source} has {_counted(tree.audio)}"
    if tables := unnamed.tables(source, tree, encoding=encoding):
        return CorpusError(f"{there}; {tables[0].told()}")
    if (found := ljspeech.metadata(source)) is not None:
        return CorpusError(f"{found} has no line of the form id|text: write one for every recording")
    sheet = next((file for file in tree.files if file.lower().endswith(SHEETS)), None)
    if sheet is not None:
        return CorpusError(f"{there}; {sheet} is a spreadsheet: save it as 'CSV UTF-8' beside the recordings")
    return CorpusError(
        f"{there} but no metadata.csv and no .txt beside them: write metadata.csv with id|text lines,"
        f" or a .txt with the words beside each recording; --layout recordings takes them without any text"
    )


def _no_audio(source: Path, tree: Tree) -> str:
    unknown = [file for file in tree.files[:MOST_OPENED] if looks_like_sound(source, file)]
    if unknown:
        some = _some(unknown)
        return f"has {some} that look like sound under an ending that is not known: rename them ({ENDINGS})"
    return f"holds no audio ({ENDINGS}) but {_kinds(tree.files)}: name the folder that holds the recordings"


def _some(files: Sequence[str]) -> str:
    shown = ", ".join(files[:SHOWN]) + (" ..." if len(files) > SHOWN else "")
    return f"{len(files)} file{'s' if len(files) > 1 else ''} ({shown})"


def _counted(audio: Sequence[str]) -> str:
    """How many sound files, and of which kinds."""
    number, kinds = f"{len(audio)} audio file{'s' if len(audio) > 1 else ''}", _kinds(audio)
    return f"{number} ({kinds})" if "," in kinds else number


def _kinds(files: Sequence[str]) -> str:
    found = Counter(PurePosixPath(file).suffix.lower() or "without an ending" for file in files)
    return ", ".join(f"{count} {kind}" for kind, count in found.most_common(MOST_KINDS))


def unusable(source: Path, problems: Sequence[Problem]) -> CorpusError:
    """One sentence on why a source gave no clip."""
    missing = [problem for problem in problems if problem.missing]
    if not problems:
        return refusal(source)
    if len(missing) == len(problems):
        number = f"{len(missing)} recordings" if len(missing) > 1 else "one recording"
        there = len(look(source).audio)
        other = f" (it has {many(there, 'sound file')}, of other names)" if there else ""
        return CorpusError(
            f"{source} has metadata for {number} but no audio for any{other}: the first, {missing[0].missing!r}"
            f" ({missing[0].where}), is not in {LOOKED_IN}; put the audio there"
        )
    number = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
    return CorpusError(f"nothing in {source} can be used ({number}); the first is {problems[0]}")


def guesses(found: Sequence[Guessed]) -> Iterator[str]:
    """One sentence for each encoding that was guessed."""
    for encoding in dict.fromkeys(one.encoding for one in found):
        these = [one for one in found if one.encoding == encoding]
        words = list(dict.fromkeys(word for one in these for word in one.words))[:SHOWN]
        one = f"{these[0].file} is not UTF-8 and was"
        which = one if len(these) == 1 else f"{len(these)} texts ({these[0].file} ...) are not UTF-8 and were"
        seen = f" ({', '.join(map(repr, words))})" if words else ""
        yield (
            f"{which} read as {encoding}{seen}: if words look wrong, name the right encoding with"
            " --encoding, or save as UTF-8 (in Excel: Save As, 'CSV UTF-8') and import again"
        )

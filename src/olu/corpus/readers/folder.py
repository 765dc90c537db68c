"""A tree of recordings, each with a .txt or .lab of the same name beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from olu.audio.media import RECORDINGS, is_media
from olu.corpus.readers.rows import Problem, Read, Tree, Why, look, without_ending
from olu.corpus.readers.texts import row_beside

ENDINGS = (".txt", ".lab")
# Texts that lie beside recordings without being what was said in one.
PAPERS = {"readme", "license", "licence", "copying", "notice", "authors", "changelog", "metadata", "speakers"}


def seen(source: Path, tree: Tree, *, encoding: str | None = None) -> str:
    """Why this is such a tree, or nothing. A film with subtitles has its words there, whatever lies beside it."""
    texts = _texts(tree)
    pairs = sum(
        without_ending(audio) in texts and not (is_media(audio) and _has_subtitles(tree, audio)) for audio in tree.audio
    )
    return f"{pairs} of {len(tree.audio)} audio files have a .txt or .lab beside them" if pairs else ""


def rows(source: Path, *, encoding: str | None = None) -> Iterator[Read]:
    tree = look(source)
    texts = _texts(tree)
    yield from tree.problems
    taken: dict[str, str] = {}
    for audio in sorted(tree.audio, key=_rank):
        stem = without_ending(audio)
        if stem not in texts:
            name = PurePosixPath(audio).stem
            message = f"no {name}.txt or {name}.lab beside it: write what is said in it there"
            yield Problem(where=audio, message=message, why=Why.NO_TEXT)
        elif stem in taken:
            message = f"has the name of {taken[stem]}, which was taken: rename or remove one"
            yield Problem(where=audio, message=message, why=Why.TWICE)
        else:
            taken[stem] = audio
            yield from row_beside(source, audio=audio, text=texts[stem], encoding=encoding)
    yield from _orphans(texts, taken)


def _rank(audio: str) -> tuple[str, int]:
    return without_ending(audio), RECORDINGS.index(PurePosixPath(audio).suffix.lower())


def _has_subtitles(tree: Tree, audio: str) -> bool:
    stem = without_ending(audio)
    return any(file.lower().endswith((".srt", ".vtt")) and file.startswith(stem) for file in tree.files)


def _texts(tree: Tree) -> dict[str, str]:
    """Name without ending -> text file; a .txt goes before a .lab."""
    found = {}
    for ending in reversed(ENDINGS):
        found.update({without_ending(file): file for file in tree.files if file.lower().endswith(ending)})
    return found


def _orphans(texts: dict[str, str], taken: dict[str, str]) -> Iterator[Problem]:
    folders = {PurePosixPath(stem).parent for stem in taken}
    for stem, text in texts.items():
        path = PurePosixPath(stem)
        if stem not in taken and path.parent in folders and path.name.lower() not in PAPERS:
            message = "no audio of that name beside it: add it, or ignore this if it is no text"
            yield Problem(where=text, message=message, why=Why.NO_SOUND)

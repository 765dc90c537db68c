"""Recordings with a text of the same name beside each: the layouts folder and libritts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from olu.audio.media import RECORDINGS, is_media
from olu.corpus.readers.rows import Problem, Read, Tree, Why, folder_of, name_of, without_ending
from olu.corpus.readers.source import SourceFolder

# Texts that lie beside recordings without being what was said in one.
PAPERS = {"readme", "license", "licence", "copying", "notice", "authors", "changelog", "metadata", "speakers"}
LIBRITTS_ID = re.compile(r"(\d+)_\d+_\d+_\d+")


def _by_kind(audio: str) -> tuple[str, int]:
    return without_ending(audio), RECORDINGS.index(PurePosixPath(audio).suffix.lower())


def _speaker(audio: str) -> str | None:
    """The speaker by LibriTTS's names: the number an id begins with, or the folder above the chapter's."""
    if found := LIBRITTS_ID.match(name_of(audio)):
        return found[1]
    folders = audio.split("/")[:-1]
    return folders[-2] if len(folders) > 1 else None


def _is_film(tree: Tree, audio: str) -> bool:
    """Whether a recording is a film with subtitles: its words are there, whatever lies beside it."""
    stem = without_ending(audio)
    return is_media(audio) and any(
        file.lower().endswith((".srt", ".vtt")) and file.startswith(stem) for file in tree.files
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBeside:
    """How the texts are called, and what is said where one is missing."""

    endings: tuple[str, ...]  # the first that is there counts
    missing: str  # {} is the recording's name
    orphan: str
    papers: bool  # other texts may lie beside them
    order: Callable[[str], object]
    speaker: Callable[[str], str | None] = lambda audio: None

    def seen(self, folder: SourceFolder) -> str:
        tree, texts = folder.tree, self._texts(folder.tree)
        pairs = sum(without_ending(one) in texts and not (self.papers and _is_film(tree, one)) for one in tree.audio)
        told = " or ".join(self.endings)
        return f"{pairs} of {len(tree.audio)} audio files have a {told} beside them" if pairs else ""

    def rows(self, folder: SourceFolder) -> Iterator[Read]:
        tree, texts = folder.tree, self._texts(folder.tree)
        yield from tree.problems
        taken: dict[str, str] = {}
        for audio in sorted(tree.audio, key=self.order):  # type: ignore[arg-type]
            stem = without_ending(audio)
            if stem not in texts:
                missing = self.missing.format(PurePosixPath(audio).stem)
                yield Problem(audio, f"no {missing} beside it: write what is said in it there", Why.NO_TEXT)
            elif stem in taken:
                yield Problem(audio, f"has the name of {taken[stem]}, which was taken: rename or remove one", Why.TWICE)
            else:
                taken[stem] = audio
                yield from folder.row_beside(audio, texts[stem], speaker=self.speaker(audio))
        near = {folder_of(stem) for stem in taken}
        for stem, text in texts.items():
            is_paper = folder_of(stem) not in near or name_of(stem).lower() in PAPERS
            if stem not in taken and not (self.papers and is_paper):
                yield Problem(text, f"no audio of that name beside it: {self.orphan}", Why.NO_SOUND)

    def _texts(self, tree: Tree) -> dict[str, str]:
        """Name without ending -> text file."""
        found = {}
        for ending in reversed(self.endings):
            for file in tree.files:
                if (file.lower() if self.papers else file).endswith(ending):
                    found[without_ending(f"{file[: -len(ending)]}.wav")] = file
        return found


FOLDER = TextBeside(
    endings=(".txt", ".lab"),
    missing="{0}.txt or {0}.lab",
    orphan="add it, or ignore this if it is no text",
    papers=True,
    order=_by_kind,
)
LIBRITTS = TextBeside(
    endings=(".normalized.txt", ".original.txt"),
    missing="{}.normalized.txt",
    orphan="add it or remove the text",
    papers=False,
    order=str,
    speaker=_speaker,
)

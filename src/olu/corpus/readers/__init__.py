"""The layouts a source of recordings may have, found by looking; and why nothing in a source can be imported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from olu.audio.io import SUFFIXES
from olu.audio.media import PHONE_SUFFIXES, begins_as_sound
from olu.core.config import did_you_mean
from olu.core.errors import CorpusError
from olu.core.files import Refused, read_inside
from olu.core.words import first_names, many
from olu.corpus.readers import columns, huggingface, lists, ljspeech, parts, recordings, subtitles, tables
from olu.corpus.readers.beside import FOLDER, LIBRITTS
from olu.corpus.readers.rows import Doubt, Guessed, Problem, Read, Row, SourceNote, Timing
from olu.corpus.readers.source import LOOKED_IN, PLAIN, Options, SourceFolder

__all__ = ("LAYOUTS", "Layout", "Options", "SourceFolder", "check", "check_use", "choose", "detect", "unusable")

SHEETS = (".xlsx", ".xls", ".ods", ".numbers")
SHOWN = 3
MOST_KINDS = 6
ENDINGS = f"{', '.join(SUFFIXES + PHONE_SUFFIXES[:6])} and others, films too"
MOST_OPENED = 1000  # files whose beginning is looked at for sound


@dataclass(frozen=True, slots=True)
class Layout:
    """How to know a layout (a reason in words, or nothing) and how to read it."""

    name: str
    seen: Callable[[SourceFolder], str]
    rows: Callable[
        [SourceFolder], Iterator[Read] | Iterator[Read | Doubt | Timing] | Iterator[Row | Problem | SourceNote]
    ]
    takes: tuple[str, ...] = ()  # the options that act
    language: Callable[[SourceFolder], str | None] = lambda folder: None
    asked: Callable[[SourceFolder], str] | None = None  # like `seen`, where somebody asked for this layout
    films: Callable[[SourceFolder], list[str]] | None = None  # to take along, where one must be decoded first
    joins: Callable[[SourceFolder], tuple[list[str], str]] | None = None  # recordings that become one, and its name
    complete: bool = False  # what is read of a recording is all of it: earlier clips with other times are replaced

    def why(self, folder: SourceFolder, *, asked: bool = False) -> str:
        """The reason this is the layout; none where it has no use for an option that was given."""
        seen = self.asked if asked and self.asked else self.seen
        return seen(folder) if folder.options.given().keys() <= set(self.takes) else ""

    def to_decode(self, folder: SourceFolder) -> list[str]:
        return self.films(folder) if self.films else []

    def to_join(self, folder: SourceFolder) -> tuple[list[str], str]:
        return self.joins(folder) if self.joins else ([], "")

    def read(
        self, folder: SourceFolder, *, notes: list[str] | None = None, doubts: list[Doubt | Timing] | None = None
    ) -> Iterator[Row | Problem]:
        """What the source holds; what else a person should know goes to `notes` and `doubts`, with the times used."""
        told: list[str] = []
        guessed: list[Guessed] = []
        yield from folder.tree.refused
        for one in self.rows(folder):
            if isinstance(one, SourceNote):
                told.append(one.text)
            elif isinstance(one, Guessed):
                guessed.append(one)
            elif isinstance(one, (Doubt, Timing)):
                if doubts is not None:
                    doubts.append(one)
            else:
                yield one
        if notes is not None:
            notes += [*_guesses(guessed), *told]


_TIMES = ("film", "subtitles", "shift", "stretch", "in_sync", "remembered", "sounds", "encoding")
# From the most particular to the most general: the first that is seen counts.
LAYOUTS = {
    layout.name: layout
    for layout in (
        Layout("kaldi", lists.kaldi_seen, lists.kaldi_rows, ("root", "encoding")),
        Layout("festvox", lists.festvox_seen, lists.festvox_rows, ("encoding",)),
        Layout("coqui", tables.coqui_seen, tables.coqui_rows, ("root", "encoding"), tables.coqui_language),
        Layout("commonvoice", tables.commonvoice_seen, tables.commonvoice_rows, ("encoding",)),
        Layout("ljspeech", ljspeech.seen, ljspeech.rows, ("encoding",)),
        Layout("mailabs", ljspeech.mailabs_seen, ljspeech.mailabs_rows, ("encoding",)),
        Layout("libritts", LIBRITTS.seen, LIBRITTS.rows, ("encoding",)),
        Layout("huggingface", huggingface.seen, huggingface.rows, ("columns", "config", "split", "encoding")),
        Layout("jsonl", tables.jsonl_seen, tables.jsonl_rows, ("columns", "root", "encoding")),
        Layout(
            "table", tables.table_seen, tables.table_rows, ("columns", "root", "encoding"), asked=tables.table_asked
        ),
        Layout("filelist", lists.filelist_seen, lists.filelist_rows, ("root", "encoding")),
        Layout("folder", FOLDER.seen, FOLDER.rows, ("encoding",)),
        Layout("parts", parts.seen, parts.rows, ("encoding",), joins=parts.to_join),
        Layout("subtitles", subtitles.seen, subtitles.rows, _TIMES, films=subtitles.to_decode, complete=True),
        Layout(
            "recordings",
            recordings.seen,
            recordings.rows,
            ("film", "sounds"),
            asked=recordings.asked,
            films=recordings.to_decode,
        ),
    )
}


def detect(source: Path, *, options: Options = PLAIN) -> tuple[str, str]:
    """The layout of a source, and why it is that."""
    return _detect(SourceFolder(source, options))


def _detect(folder: SourceFolder) -> tuple[str, str]:
    for layout in LAYOUTS.values():
        if why := layout.why(folder):
            return layout.name, why
    if why := LAYOUTS["table"].why(folder, asked=True):  # by its contents, where nothing else is known
        return "table", why
    raise _unseen(folder)


def _unseen(folder: SourceFolder) -> CorpusError:
    """Why a source has no layout: options that do not fit it, or what it holds."""
    source, options = folder.path, folder.options
    if options.columns:
        headers = {**tables.jsonl_headers(folder), **tables.table_headers(folder)}
        return columns.refuse(options.columns, headers, source=source)
    if options.root is not None:
        detect(source)  # says what is wrong without --root, if anything is
        return CorpusError(f"{source}: --root is for the layouts {_takers('root')}: leave it out")
    if options.subtitles or options.shift or options.stretch or options.in_sync or options.film:
        return subtitles.refusal(folder)
    if options.encoding:
        name, why = detect(source, options=replace(options, encoding=None))
        if "encoding" not in LAYOUTS[name].takes:
            return CorpusError(f"{source} has the layout {name!r}, which has no texts: leave --encoding out")
        return CorpusError(f"{source} makes no sense as {options.encoding}; without --encoding {why}: name another")
    if given := next((name for name in ("config", "split") if getattr(options, name)), None):
        return CorpusError(f"{source}: --{given} is for Hugging Face datasets: leave it out")
    return refusal(folder)


def _takers(option: str) -> str:
    return ", ".join(layout.name for layout in LAYOUTS.values() if option in layout.takes)


def check(layout: str) -> None:
    known = ("auto", *LAYOUTS)
    if layout not in known:
        hint = did_you_mean(layout, known) or f"; known: {', '.join(known)}"
        raise CorpusError(f"unknown layout {layout!r}{hint}")


def check_use(layout: str, options: Options) -> None:
    """Refuse an option that would have no effect with this layout."""
    useless = next((name for name in options.given() if name not in LAYOUTS[layout].takes), None)
    if useless:
        raise CorpusError(
            f"the layout {layout!r} has no use for --{useless.replace('_', '-')}, which is for {_takers(useless)}"
        )


def choose(source: Path, *, layout: str, options: Options = PLAIN) -> tuple[Layout, str]:
    """The layout that was asked for or seen, and why."""
    check(layout)
    if not source.exists():
        raise CorpusError(f"{source} is not there: check the path to the recordings")
    if not source.is_dir():
        raise CorpusError(f"{source} is a file: name the folder that holds the recordings, or a .zip or .tar of it")
    folder = SourceFolder(source, options)
    if layout != "auto":
        check_use(layout, options)
        if LAYOUTS[layout].why(folder, asked=True):
            return LAYOUTS[layout], "asked for with --layout"
    name, why = _detect(folder)
    if layout not in ("auto", name):
        raise CorpusError(f"{source} has the layout {name!r}, not {layout!r} ({why}): leave --layout out")
    return LAYOUTS[name], why


def _counted(audio: Sequence[str]) -> str:
    kinds = _kinds(audio)
    return many(len(audio), "audio file") + (f" ({kinds})" if "," in kinds else "")


def _home_inside(folder: SourceFolder) -> Path | None:
    """A folder inside that has the LJSpeech layout by itself."""
    below = (PurePosixPath(file) for file in folder.tree.files if PurePosixPath(file).name in ljspeech.METADATA)
    homes = (folder.path / file.parent for file in below if file.parent.parts)
    return next((home for home in homes if ljspeech.seen(SourceFolder(home, folder.options))), None)


def refusal(folder: SourceFolder) -> CorpusError:
    """Why nothing in a source can be imported, in one sentence."""
    source, tree = folder.path, folder.tree
    chosen = next((bad for bad in subtitles.pairs(folder)[1] if subtitles.SEVERAL in bad.message), None)
    if chosen is not None:
        return CorpusError(f"{source / chosen.where} {chosen.message}")
    if tree.refused:
        return CorpusError(f"{source / tree.refused[0].where} {tree.refused[0].message}")
    if not tree.files:
        why = f"; {tree.problems[0]}" if tree.problems else ""
        return CorpusError(f"{source} is empty: name the folder that holds the recordings{why}")
    if not tree.audio:
        return CorpusError(f"{source} {_no_audio(folder)}")
    there = f"{source} has {_counted(tree.audio)}"
    if home := _home_inside(folder):
        return CorpusError(f"{there}, and texts for them in a folder inside: name {home}")
    if found := tables.unnamed_tables(folder):
        return CorpusError(f"{there}; {found[0].told()}")
    if said := parts.several(folder):
        return CorpusError(f"{source} {said}")
    if (path := ljspeech.metadata(folder)) is not None:
        return CorpusError(f"{path} has no line of the form id|text: write one for every recording")
    sheet = next((file for file in tree.files if file.lower().endswith(SHEETS)), None)
    if sheet is not None:
        return CorpusError(f"{there}; {sheet} is a spreadsheet: save it as 'CSV UTF-8' beside the recordings")
    return CorpusError(
        f"{there} but no metadata.csv and no .txt beside them: write metadata.csv with id|text lines,"
        f" or a .txt with the words beside each recording; --layout recordings takes them without any text"
    )


def _no_audio(folder: SourceFolder) -> str:
    """What a source has instead: files that begin as sound does under an ending nobody knows, or other kinds."""
    unknown = []
    for file in folder.tree.files[:MOST_OPENED]:
        with suppress(Refused):
            unknown += [file] if begins_as_sound(read_inside(folder.path, file, most=16, cut=True)) else []
    if not unknown:
        kinds = _kinds(folder.tree.files)
        return f"holds no audio ({ENDINGS}) but {kinds}: name the folder that holds the recordings"
    shown = first_names(unknown, SHOWN)
    files = f"{many(len(unknown), 'file')} ({shown})"
    return f"has {files} that look like sound under an ending that is not known: rename them ({ENDINGS})"


def _kinds(files: Sequence[str]) -> str:
    found = Counter(PurePosixPath(file).suffix.lower() or "without an ending" for file in files)
    return ", ".join(f"{count} {kind}" for kind, count in found.most_common(MOST_KINDS))


def unusable(source: Path, problems: Sequence[Problem]) -> CorpusError:
    """One sentence on why a source gave no clip."""
    missing = [problem for problem in problems if problem.missing]
    if not problems:
        return refusal(SourceFolder(source))
    if len(missing) == len(problems):
        number = f"{len(missing)} recordings" if len(missing) > 1 else "one recording"
        there = len(SourceFolder(source).tree.audio)
        other = f" (it has {many(there, 'sound file')}, of other names)" if there else ""
        return CorpusError(
            f"{source} has metadata for {number} but no audio for any{other}: the first, {missing[0].missing!r}"
            f" ({missing[0].where}), is not in {LOOKED_IN}; put the audio there"
        )
    number = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
    return CorpusError(f"nothing in {source} can be used ({number}); the first is {problems[0]}")


def _guesses(found: Sequence[Guessed]) -> Iterator[str]:
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

"""The layouts a source of recordings may have: one file each, found by looking."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from olu.core.config import did_you_mean
from olu.core.errors import CorpusError
from olu.corpus.readers import (
    columns,
    commonvoice,
    coqui,
    festvox,
    filelist,
    folder,
    huggingface,
    jsonl,
    kaldi,
    libritts,
    ljspeech,
    mailabs,
    recordings,
    subtitles,
    table,
)
from olu.corpus.readers.refusal import guesses, refusal
from olu.corpus.readers.rows import Doubt, Guessed, Problem, Read, Row, SourceNote, Timing, Tree, look


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What somebody says of a source beside its layout."""

    columns: Mapping[str, str] = field(default_factory=dict)  # kind -> the name it has in a header
    root: Path | None = None  # resolved: the one folder that absolute paths may lead into
    config: str | None = None  # of a Hugging Face dataset
    split: str | None = None
    film: str | None = None  # the one recording of the source that was named
    subtitles: Path | None = None  # resolved
    shift: float | None = None  # seconds to add to the times of subtitles
    stretch: float | None = None  # what they are multiplied with before
    in_sync: bool = False  # a person says that they fit
    remembered: Mapping[str, Timing] = field(default_factory=dict)  # hash of a recording -> what was said of it before
    sounds: Path | None = None  # where the sound of films was written
    encoding: str | None = None  # of tables, texts and subtitles

    def given(self) -> dict[str, Any]:
        named: tuple[str, ...] = ("columns", "root", "config", "split", "encoding", "film", "subtitles", "sounds")
        named += ("shift", "stretch", "in_sync", "remembered")
        return {name: value for name in named if (value := getattr(self, name))}


LOOKED_AT = ("columns", "film", "subtitles", "encoding")  # options that a look at a source needs


@dataclass(frozen=True, slots=True)
class Layout:
    """How to know a layout (a reason in words, or nothing) and how to read it."""

    name: str
    seen: Callable[..., str]  # (source, tree) and columns, where it takes them
    rows: Callable[
        ..., Iterator[Read] | Iterator[Read | Doubt | Timing] | Iterator[Row | Problem | SourceNote]
    ]  # (source) and the options it takes
    takes: tuple[str, ...] = ()
    language: Callable[[Path], str | None] = lambda source: None
    asked: Callable[..., str] | None = None  # like `seen`, where somebody asked for this layout
    films: Callable[..., list[str]] | None = None  # recordings to take along, where one must be decoded first
    complete: bool = False  # what is read of a recording is all of it: earlier clips with other times are replaced

    def why(self, source: Path, tree: Tree, options: Options, *, asked: bool = False) -> str:
        """The reason this is the layout; none where it has no use for an option that was given."""
        seen = self.asked if asked and self.asked else self.seen
        given = options.given()
        if not given.keys() <= set(self.takes):
            return ""
        return seen(source, tree, **{name: given[name] for name in LOOKED_AT if name in given})

    def to_decode(self, source: Path, options: Options) -> list[str]:
        given = options.given()
        looked = {name: given[name] for name in LOOKED_AT if name in given}
        return self.films(source, look(source), **looked) if self.films else []

    def read(
        self,
        source: Path,
        options: Options,
        *,
        notes: list[str] | None = None,
        doubts: list[Doubt | Timing] | None = None,
    ) -> Iterator[Row | Problem]:
        """What the source holds; what else a person should know goes to `notes` and `doubts`, with the times used."""
        told: list[str] = []
        guessed: list[Guessed] = []
        yield from look(source).refused
        for one in self.rows(source, **options.given()):
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
            notes += [*guesses(guessed), *told]


# From the most particular to the most general: the first that is seen counts.
LAYOUTS = {
    layout.name: layout
    for layout in (
        Layout("kaldi", kaldi.seen, kaldi.rows, ("root", "encoding")),
        Layout("festvox", festvox.seen, festvox.rows, ("encoding",)),
        Layout("coqui", coqui.seen, coqui.rows, ("root", "encoding"), coqui.language),
        Layout("commonvoice", commonvoice.seen, commonvoice.rows, ("encoding",)),
        Layout("ljspeech", ljspeech.seen, ljspeech.rows, ("encoding",)),
        Layout("mailabs", mailabs.seen, mailabs.rows, ("encoding",)),
        Layout("libritts", libritts.seen, libritts.rows, ("encoding",)),
        Layout("huggingface", huggingface.seen, huggingface.rows, ("columns", "config", "split", "encoding")),
        Layout("jsonl", jsonl.seen, jsonl.rows, ("columns", "root", "encoding")),
        Layout("table", table.seen, table.rows, ("columns", "root", "encoding"), asked=table.asked),
        Layout("filelist", filelist.seen, filelist.rows, ("root", "encoding")),
        Layout("folder", folder.seen, folder.rows, ("encoding",)),
        Layout(
            "subtitles",
            subtitles.seen,
            subtitles.rows,
            ("film", "subtitles", "shift", "stretch", "in_sync", "remembered", "sounds", "encoding"),
            films=subtitles.films,
            complete=True,
        ),
        Layout(
            "recordings",
            recordings.seen,
            recordings.rows,
            ("film", "sounds"),
            asked=recordings.asked,
            films=recordings.films,
        ),
    )
}
PLAIN = Options()


def detect(source: Path, *, options: Options = PLAIN) -> tuple[str, str]:
    """The layout of a source, and why it is that."""
    tree = look(source)
    for layout in LAYOUTS.values():
        if why := layout.why(source, tree, options):
            return layout.name, why
    if why := LAYOUTS["table"].why(source, tree, options, asked=True):  # by its contents, where nothing else is known
        return "table", why
    if options.columns:
        encoding = options.encoding
        headers = {**jsonl.headers(source, tree, encoding=encoding), **table.headers(source, tree, encoding=encoding)}
        raise columns.refuse(options.columns, headers, source=source)
    if options.root is not None:
        detect(source)  # says what is wrong without --root, if anything is
        raise CorpusError(f"{source}: --root is for the layouts {_takers('root')}: leave it out")
    if options.subtitles or options.shift or options.stretch or options.in_sync or options.film:
        raise subtitles.refusal(source, film=options.film, subtitles=options.subtitles)
    if options.encoding:
        name, why = detect(source, options=replace(options, encoding=None))
        if "encoding" not in LAYOUTS[name].takes:
            raise CorpusError(f"{source} has the layout {name!r}, which has no texts: leave --encoding out")
        raise CorpusError(f"{source} makes no sense as {options.encoding}; without --encoding {why}: name another")
    if given := next((name for name in ("config", "split") if getattr(options, name)), None):
        raise CorpusError(f"{source}: --{given} is for Hugging Face datasets: leave it out")
    raise refusal(source, tree, encoding=options.encoding)


def _takers(option: str) -> str:
    return ", ".join(layout.name for layout in LAYOUTS.values() if option in layout.takes)


def check(layout: str) -> None:
    known = ("auto", *LAYOUTS)
    if layout not in known:
        hint = did_you_mean(layout, known) or f"; known: {', '.join(known)}"
        raise CorpusError(f"unknown layout {layout!r}{hint}")


def check_use(layout: str, options: Options) -> None:
    """Every option that was given must act."""
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
    if layout != "auto":
        check_use(layout, options)
        if LAYOUTS[layout].why(source, look(source), options, asked=True):
            return LAYOUTS[layout], "asked for with --layout"
    name, why = detect(source, options=options)
    if layout not in ("auto", name):
        raise CorpusError(f"{source} has the layout {name!r}, not {layout!r} ({why}): leave --layout out")
    return LAYOUTS[name], why

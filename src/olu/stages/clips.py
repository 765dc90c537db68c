"""The clips of a workspace as a table: chosen, sorted, counted, written out."""

from __future__ import annotations

import csv
import io
import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from olu.core.errors import ConfigError
from olu.core.files import Workspace, whole
from olu.core.told import TextTable, Told, Verbatim, quoted
from olu.core.types import Clip, Reading
from olu.core.words import length, many
from olu.corpus import corrections, decisions, drafts
from olu.corpus.correction_file import FORMULA
from olu.corpus.journal import Journal
from olu.corpus.manifest import Corpus
from olu.stages.audit import THRESHOLDS, read_thresholds
from olu.stages.clip_columns import columns_of
from olu.stages.clip_tokens import TokenLengths
from olu.stages.clip_view import COLUMNS, ClipView, Row
from olu.stages.verbs.corpus import SHOWN, ClipsOptions

CORRECTED = "* "  # before a text that is not the source's
DRAFT = "? "  # before a draft
MEASURED = ("seconds", "letters", "seconds_per_letter", "tokens", "frames")
POINTS = (0, 1, 5, 25, 50, 75, 95, 99, 100)  # per cent
VIEWS = 8  # questions whose answers are kept
JOURNALS: dict[str, Callable[[Workspace], Journal[Any]]] = {
    "decisions.jsonl": decisions.journal,
    "texts.jsonl": corrections.journal,
}
State = tuple[int, int, int] | None  # of a file: inode, size and date


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipList:
    rows: tuple[Row, ...]
    found: int  # before the limit
    seconds: float  # of those found
    total: int  # clips in the workspace

    def row(self, options: ClipsOptions) -> dict[str, Any]:
        return {**self._facts(options), "clips": list(self.rows)}

    def _facts(self, options: ClipsOptions) -> dict[str, Any]:
        return {"workspace": str(options.ws), "total": self.total, "found": self.found, "seconds": self.seconds}

    def sentences(self, options: ClipsOptions) -> Iterator[Told]:
        if options.csv is not None and str(options.csv) == "-":
            out = io.StringIO()
            print_csv(self.rows, out)
            yield Verbatim(out.getvalue())
        elif options.csv is not None:
            yield f"Wrote {many(len(self.rows), 'clip')} to {options.csv}."
        elif options.ids:
            yield from (row["id"] for row in self.rows)
        else:
            yield from self._listed(options)

    def _listed(self, options: ClipsOptions) -> Iterator[Told]:
        measures = ("id", "speaker", "split", "seconds", "rate", "letters", "s/letter", "tokens", "frames")
        shown = self.rows[:SHOWN] if options.limit is None else self.rows
        rows = [_shown(row) for row in shown]
        yield TextTable([*measures, "marks", "decision", "text"], rows, plain=True, right=range(3, len(measures)))
        yield self.counted()
        if number := sum(bool(row["corrected"]) for row in shown):
            yield f"{CORRECTED.strip()} {many(number, 'text')} corrected; --json and --csv have the source's as well"
        if number := sum(bool(row["draft"]) for row in shown):
            yield f"{DRAFT.strip()} {many(number, 'draft')}, with its confidence: no text until somebody takes it"
        if len(shown) < self.found:
            asked = [f"--where {shlex.quote(options.where)}"] if options.where is not None else []
            asked += [f"--sort={shlex.quote(options.sort)}"] if options.sort is not None else []
            everything = " ".join(["olu clips", quoted(options.ws), *asked, "--csv clips.csv"])
            yield f"{len(shown)} {'is' if len(shown) == 1 else 'are'} shown; all of them: {everything}"

    def counted(self) -> str:
        of_all = "" if self.found == self.total else f"{self.found} of "
        return f"{of_all}{many(self.total, 'clip')}, {length(self.seconds)}"


def _shown(row: Row) -> list[str]:
    """The cells of a clip on a screen."""
    text = " ".join(row["text"].split())
    cells = [row["id"], row["speaker"], row["split"] or "-", f"{row['seconds']:.2f}", row["rate"], row["letters"]]
    cells += ["-" if row[name] is None else f"{row[name]:g}" for name in ("seconds_per_letter", "tokens")]
    cells += [row["frames"], f"{row['worst']}: {', '.join(row['marks'])}" if row["marks"] else "-"]
    drafted = f"{DRAFT}{row['draft']} ({row['confidence']:.2f})" if row["draft"] else ""
    return [*map(str, cells), row["decision"] or "-", f"{CORRECTED}{text}" if row["corrected"] else text or drafted]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipSpread:
    """How the clips found are spread."""

    clips: ClipList
    quantiles: dict[str, dict[str, float]]  # column -> per cent -> value

    def row(self, options: ClipsOptions) -> dict[str, Any]:
        return {**self.clips._facts(options), "quantiles": self.quantiles}

    def sentences(self, options: ClipsOptions) -> Iterator[str]:
        points = next((list(points) for points in self.quantiles.values() if points), [])
        titles = {"0%": "least", "50%": "middle", "100%": "most"}
        lines = [["", *(titles.get(point, point) for point in points)]]
        for name, values in self.quantiles.items():
            if values:
                short = {"seconds_per_letter": "s/letter"}.get(name, name)
                lines.append([short, *(f"{value:.4g}" for value in values.values())])
        for line in lines:
            yield f"{line[0]:8}" + "".join(cell.rjust(8) for cell in line[1:])
        yield self.clips.counted()


def run(options: ClipsOptions) -> ClipList | ClipSpread:
    """`olu clips`"""
    wanted = {"--csv": options.csv is not None, "--ids": options.ids, "--summary": options.summary}
    chosen = [name for name, is_wanted in {**wanted, "--json": options.as_json}.items() if is_wanted]
    if len(chosen) > 1 and set(chosen) != {"--summary", "--json"}:
        raise ConfigError(f"{' and '.join(chosen)} are different outputs: choose one")
    if options.summary and (options.sort is not None or options.limit is not None):
        raise ConfigError("--summary counts all the clips found: leave --sort and --limit out")
    ws = Workspace.open(options.ws)
    if options.summary:
        found, spread = quantiles(ws, expression=options.where)
        return ClipSpread(clips=found, quantiles=spread)
    found = clips(ws, expression=options.where, sort=options.sort, limit=options.limit)
    if options.csv is not None and str(options.csv) != "-":
        write_csv(found.rows, options.csv)
    return found


def clips(
    ws: Workspace, *, expression: str | None = None, sort: str | None = None, limit: int | None = None
) -> ClipList:
    """The rows that fit the expression, in the order asked for or that of the corpus."""
    return ClipTable(ws).page(expression=expression, sort=sort, limit=limit)


def quantiles(ws: Workspace, *, expression: str | None = None) -> tuple[ClipList, dict[str, dict[str, float]]]:
    """How the rows that fit are spread: column -> per cent -> value."""
    found = clips(ws, expression=expression)
    return found, {name: _quantiles([r[name] for r in found.rows if r[name] is not None]) for name in MEASURED}


class ClipTable:
    """The table of a workspace, held in memory: the first page reads everything, the next only what has changed.

    What was decided or corrected since is brought up to date clip by clip; after an import, an audit, a reading or a
    split all is read again.
    """

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self._corpus: Corpus
        self._columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}  # a dict a row takes four times as much
        self._counted = bytearray()  # row by row, whether its tokens were looked up
        self._files: list[State] = []
        self._journals: dict[str, State] = {}
        self._ends: dict[str, int] = {}  # how far each journal was read
        self._views: dict[tuple[str | None, str | None], ClipView] = {}  # the one asked for last stands last

    def page(
        self, *, expression: str | None = None, sort: str | None = None, start: int = 0, limit: int | None = None
    ) -> ClipList:
        if limit is not None and limit < 0:
            raise ConfigError(f"--limit {limit}: give 0 or more")
        view = self._view(expression, sort)
        end = None if limit is None else start + limit
        return ClipList(
            rows=tuple(self._whole(view.found[start:end])),
            found=len(view.found),
            seconds=view.seconds,
            total=len(self._counted),
        )

    def facets(self, *, expression: str | None = None, sort: str | None = None) -> dict[str, dict[str, int]]:
        """How many of the clips found have each check, speaker, side and decision; the most frequent first."""
        found = self._view(expression, sort).count(self._columns)
        return {name: {value: n for value, n in counts.most_common() if n > 0} for name, counts in found.items()}

    def ids(self, *, expression: str | None = None) -> list[str]:
        found = self._view(expression, None).found  # first: it reads the columns anew where files have changed
        return [self._columns["id"][at] for at in found]

    @property
    def held(self) -> Corpus:
        """The corpus as it was at the last look."""
        return self._corpus

    @property
    def corpus(self) -> Corpus:
        """The corpus as it is now."""
        self._refresh()
        return self._corpus

    def row(self, id: str) -> Row | None:
        """The row of one clip as it is now."""
        self._refresh()
        at = self._corpus.places.get(id)
        return None if at is None else self._whole([at])[0]

    def reading(self, id: str) -> Reading | None:
        """How one clip was read last."""
        self._refresh()
        at = self._corpus.places.get(id)
        return None if at is None else self._tokens.reading(at)

    def column(self, name: str) -> Sequence[Any]:
        """A value of every clip, in the order of the corpus; tokens are perhaps not looked up."""
        self._refresh()
        return self._columns[name]

    def place_of(self, id: str, *, expression: str | None = None, sort: str | None = None) -> int | None:
        """Which clip of a list this is, from 0 on."""
        view, at = self._view(expression, sort), self._corpus.places.get(id)
        return view.found.index(at) if at is not None and at in view.found else None

    def state(self) -> list[State]:
        """Changes when a row may have changed; it costs a look at the files' dates."""
        return [_state(path) for path in (*_read_by(self.ws), *(self.ws.corpus / name for name in JOURNALS))]

    def _view(self, expression: str | None, sort: str | None) -> ClipView:
        view = self._views.get((expression, sort)) or ClipView(expression, sort)
        self._refresh()
        self._views.pop((expression, sort), None)
        if len(self._views) >= VIEWS:
            del self._views[next(iter(self._views))]
        self._views[expression, sort] = view
        if "tokens" in f"{expression} {sort}" and 0 in self._counted:
            self._look_up(range(len(self._counted)))
        view.look(self._columns)
        return view

    def _whole(self, places: Iterable[int]) -> list[Row]:
        wanted = list(places)
        self._look_up(wanted)
        return [self._row(at) for at in wanted]

    def _row(self, at: int) -> dict[str, Any]:
        return {name: column[at] for name, column in self._columns.items()}

    def _look_up(self, places: Iterable[int]) -> None:
        """The tokens of these rows, of those that lack them still."""
        wanted = ((at, self._corpus.clips[at]) for at in places if not self._counted[at])
        for at, number in self._tokens.of(wanted):
            self._columns["tokens"][at], self._counted[at] = number, 1

    def _refresh(self) -> None:
        files = [_state(path) for path in _read_by(self.ws)]
        journals = {name: _state(self.ws.corpus / name) for name in JOURNALS}
        if files != self._files:
            self._read_all()
        elif ids := self._touched(journals):
            self._corpus = self._corpus.renewed(ids)
            self._renew([at for id in ids if (at := self._corpus.places.get(id)) is not None])
        self._files, self._journals = files, journals

    def _read_all(self) -> None:
        self._ends = {name: journal(self.ws).end() for name, journal in JOURNALS.items()}
        self._corpus = Corpus.open(self.ws)
        self._tokens = TokenLengths(self.ws, self._corpus.places)
        self._drafts = drafts.load(self.ws)
        self._per_second = read_thresholds(self.ws).frames_per_second
        self._columns = self._made(self._corpus.clips)
        self._counted = bytearray(len(self._corpus))
        for view in self._views.values():
            view.forget()

    def _made(self, clips: Sequence[Clip]) -> dict[str, list[Any]]:
        return columns_of(self._corpus, clips, drafts=self._drafts, per_second=self._per_second)

    def _renew(self, places: list[int]) -> None:
        """Rows of clips that changed."""
        for at in places:
            old = self._row(at)
            for view in self._views.values():
                view.changed(at, old)
            self._counted[at] = 0
        new = self._made([self._corpus.clips[at] for at in places])
        for name, column in self._columns.items():
            for at, value in zip(places, new[name], strict=True):
                column[at] = value

    def _touched(self, journals: Mapping[str, State]) -> set[str]:
        """Clips that something was decided or corrected of since the last look."""
        ids: set[str] = set()
        for name, journal in JOURNALS.items():
            old, new = self._journals[name], journals[name]
            if new == old:
                continue
            grown = old is not None and new is not None and new[0] == old[0] and new[1] > old[1]
            rows, self._ends[name] = journal(self.ws).rows_since(self._ends[name] if grown else 0)
            ids |= {row.id for row in rows}
            if not grown:  # written anew: what it no longer holds was taken back
                ids |= set(self._corpus.decisions) | set(self._corpus.corrected)
        return ids


def _read_by(ws: Workspace) -> list[Path]:
    """What a table is made of, beside decisions and corrections."""
    names = ("clips.jsonl", "sources.json", "splits.jsonl", "speakers.jsonl", "drafts.jsonl")
    corpus = [ws.corpus / name for name in names]
    beside = [ws.audit_folder / "audit.jsonl", ws.readings / "readings.jsonl", ws.readings / "vocabulary.json"]
    return [*corpus, *beside, ws.root / THRESHOLDS]


def _state(path: Path) -> State:
    try:
        state = path.stat()
    except FileNotFoundError:
        return None
    return state.st_ino, state.st_size, state.st_mtime_ns


def _quantiles(values: list[float]) -> dict[str, float]:
    """The nearest value that occurs, so that whole numbers stay whole."""
    ordered = sorted(values)
    return {f"{point}%": ordered[round(point / 100 * (len(ordered) - 1))] for point in POINTS} if ordered else {}


def write_csv(rows: Sequence[Row], path: Path) -> None:
    if path.is_dir():
        raise ConfigError(f"--csv {path} is a folder: name a file")
    with whole(path) as partial, partial.open("w", encoding="utf-8", newline="") as out:
        print_csv(rows, out)


def print_csv(rows: Sequence[Row], out: TextIO) -> None:
    """As spreadsheets and every CSV reader take it; a list is written with spaces.

    A text that a spreadsheet would take for a formula, and run, begins with an apostrophe: there it is not shown.
    """
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([_cell(row[name]) for name in COLUMNS])


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return json.dumps(value)
    text = " ".join(value) if isinstance(value, list) else "" if value is None else value
    return f"'{text}" if isinstance(text, str) and text.startswith(FORMULA) else text

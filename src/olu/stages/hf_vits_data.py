"""The dataset a finetune-hf-vits config names, imported: one of Hugging Face, or any recordings that import knows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from olu.core.errors import ConfigError, CorpusError
from olu.core.files import Workspace
from olu.core.job import Job, Note
from olu.core.types import Split
from olu.core.words import many
from olu.core.workspace_lock import writing
from olu.corpus.intake.place import Workbench
from olu.corpus.manifest import Corpus
from olu.corpus.readers import LAYOUTS, Options, SourceFolder, archive, choose, columns, detect
from olu.corpus.readers.columns import parse
from olu.corpus.readers.huggingface import HUB, HUB_ID, split_name, split_of
from olu.corpus.readers.tables import jsonl_headers, table_headers
from olu.corpus.split import fold
from olu.families.vits.hf_config.settings import get, splits
from olu.stages.import_ import import_source

DATASET = "huggingface"
TABLES = ("jsonl", "table")
PARTICULAR = list(LAYOUTS)[: list(LAYOUTS).index(DATASET)]  # known by more than the names of columns
ONE_SPEAKER = "default"
COLUMNS = {"audio": "audio_column_name", "text": "text_column_name", "speaker": "speaker_id_column_name"}
KEYS = {"--columns": "the column names", "--split": "train_split_name", "--config": "dataset_config_name"}
MUST = "it must be a folder or an archive of recordings with their texts, or an OWNER/NAME on the hub"
YOURSELF = "import it with 'olu import' into a workspace of your own, and leave dataset_name out"
LAYOUT = re.compile(r"; --layout recordings takes them without any text|: leave --layout out")


@dataclass(frozen=True, slots=True)
class DatasetImport:
    """How a dataset is imported."""

    layout: str
    columns: str | None = None
    why: str = ""

    @property
    def plain(self) -> bool:
        """A folder that knows no splits and no configs."""
        return self.layout != DATASET


def imported(ws: Workspace, values: Mapping[str, Any], *, config: Path) -> Job[None]:
    name = values.get("dataset_name")
    if not name:
        yield Note("dataset_name is not set: the clips of the workspace are used as they are")
        return
    head = f"{config}: dataset_name = {json.dumps(name, ensure_ascii=False)} cannot be imported"
    given = {kind: found for kind, key in COLUMNS.items() if (found := values.get(key))}
    if not (here := Path(name).exists()) and not HUB_ID.fullmatch(name):
        raise ConfigError(
            f"{config}: dataset_name: {name} is neither a folder here nor an OWNER/NAME on the hub: {MUST}"
        )
    source = Path(name) if here else Path(f"{HUB}{name.removeprefix(HUB)}")
    try:
        way = (yield from _way(ws, source, given)) if here else DatasetImport(DATASET, written(given))
    except CorpusError as bad:
        raise ConfigError(f"{head}: {told(str(bad))}; {MUST}") from None
    train_split, eval_split = ("", "") if way.plain else splits(values)
    apart = bool(get(values, "do_eval")) and eval_split != train_split
    if way.plain:
        yield Note(
            f"{name} is a plain {'archive' if archive.is_archive(source) else 'folder'} ({way.layout}: {way.why}):"
            " all of it is imported; it has no splits and configs,"
            " so those of the config do nothing, and 4 % of the clips are held back to validate"
        )
    for split in dict.fromkeys([*_parts(train_split), *(_parts(eval_split) if apart and train_split else [])]):
        try:
            done = yield from import_source(
                ws,
                source,
                layout=way.layout,
                columns=way.columns,
                config=None if way.plain else config_of(values),
                split=split or None,
                speaker=None if "speaker" in given else ONE_SPEAKER,
            )
        except CorpusError as bad:
            raise ConfigError(f"{head}: {told(str(bad))}") from None
        skipped = f", {len(done.skipped)} skipped, see {ws.corpus / 'problems.jsonl'}" if done.skipped else ""
        part = f"split {split}" if split else "all of it"
        yield Note(f"{name}, {part}: {many(done.added, 'clip')} imported, {done.already} there already{skipped}")
    if apart:
        yield from _keep_apart(ws, _parts(eval_split))


def config_of(values: Mapping[str, Any]) -> str | None:
    """The library there calls a dataset without configs "default"; here a folder may simply have none."""
    name = values.get("dataset_config_name")
    return None if name == "default" and Path(values["dataset_name"]).exists() else name or None


def _way(ws: Workspace, source: Path, given: Mapping[str, str]) -> Job[DatasetImport]:
    """An archive is unpacked to look: what its files hold decides how it is imported."""
    if not archive.is_archive(source):
        return way_in(source, given)
    with Workbench(ws) as bench:
        bench.claim()
        unpacked = bench.folder("unpacked")
        yield from archive.unpack(source, into=unpacked)
        files = archive.inner(unpacked)
        try:
            return way_in(files, given)
        except CorpusError as bad:
            raise CorpusError(str(bad).replace(str(files), str(source))) from None


def way_in(source: Path, given: Mapping[str, str]) -> DatasetImport:
    """A dataset of Hugging Face where it is one; else the layout the folder has, with columns where that has some."""
    tries = [given]
    if given.get("audio") == "audio":  # what the library there calls the sound, whatever a header calls it
        tries.append({kind: name for kind, name in given.items() if kind != "audio"})
    if way := _by_columns(source, tries, (DATASET,)):
        return way
    try:
        chosen, why = choose(source, layout="auto")
    except CorpusError:
        if source.is_dir() and (way := _by_columns(source, tries, TABLES)):
            return way
        if source.is_dir() and given and _has_header(source):
            detect(source, options=_options(given))  # says which column is not there
        raise
    if chosen.name in PARTICULAR:
        return DatasetImport(chosen.name, why=why)
    if way := _by_columns(source, tries, TABLES):
        return way
    if "columns" in chosen.takes:
        detect(source, options=_options(given))
    if chosen.name == "recordings":
        raise CorpusError(f"{source} has {why.partition(':')[0]}")
    return DatasetImport(chosen.name, why=why)


def _by_columns(source: Path, tries: list[Mapping[str, str]], layouts: tuple[str, ...]) -> DatasetImport | None:
    for names in tries:
        folder = SourceFolder(source, _options(names))
        for layout in layouts:
            if why := LAYOUTS[layout].why(folder):
                return DatasetImport(layout, written(names), why)
    return None


def _options(names: Mapping[str, str]) -> Options:
    return Options(columns=parse(written(names)))


def _has_header(source: Path) -> bool:
    folder = SourceFolder(source)
    return bool({**jsonl_headers(folder), **table_headers(folder)})


def written(names: Mapping[str, str]) -> str | None:
    """As the import takes them."""
    return columns.written(names) or None


def told(message: str) -> str:
    """What an import says, with the keys of the config for the options that somebody else would have given."""

    def keys(found: re.Match[str]) -> str:
        return " and ".join(
            f"{COLUMNS.get(kind, kind)} = {name}"
            for kind, _, name in (one.partition("=") for one in found[1].split(","))
        )

    said = re.sub(r"--columns (\w+=[^\s:]+)", keys, LAYOUT.sub("", message))
    for option, key in KEYS.items():
        said = said.replace(option, key)
    return f"{said}; or {YOURSELF}" if re.search(r"(?<!\S)--\w", said) else said


def _parts(split: str) -> list[str]:
    if "[" in split:
        raise ConfigError(f"split {split!r}: parts of a split cannot be imported; use max_train_samples instead")
    return split.split("+")


def _keep_apart(ws: Workspace, held: list[str]) -> Job[None]:
    """The dataset's own sides: its evaluation split validates, all else trains."""
    with writing(ws):
        corpus, names = Corpus.open(ws), {split_name(split) for split in held}
        sides: dict[str, Split | None] = {}
        placed = {clip.id for clip in corpus if names & set(map(split_name, PurePosixPath(clip.audio).parts[1:-1]))}
        placed = placed or {clip.id for clip in corpus if split_of(clip.audio.partition("/")[2]) in names}
        for clip in corpus:
            sides[clip.id] = ("valid" if clip.id in placed else "train") if clip.transcribed else None
        count = sum(side == "valid" for side in sides.values())
        if not count:
            raise ConfigError(
                f"eval_split_name: no clip is of the split {'+'.join(held)}: name another, or null to hold back 4 %"
            )
        if any(corpus.split(clip) != sides[clip.id] for clip in corpus):
            Corpus.save_splits(ws, corpus.clips, sides)
    trained = {fold(clip.text) for clip in corpus if sides[clip.id] == "train"}
    both = sum(side == "valid" and fold(clip.text) in trained for clip in corpus for side in [sides[clip.id]])
    yield Note(
        f"{count} clips of the split {'+'.join(held)} validate"
        + (f"; {both} have texts that train too" if both else "")
    )

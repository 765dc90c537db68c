"""The parquet and arrow files of a dataset on this machine; never more in memory than a row group of one file."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from olu.core.errors import CorpusError, MissingExtra
from olu.core.files import Refused, is_inside, read_inside
from olu.core.parse import BadData, from_json
from olu.corpus.readers.huggingface import (
    ENDINGS,
    Columns,
    DatasetRow,
    choose_config,
    choose_split,
    no_such,
    reason,
    safe,
    sound_in,
    split_name,
    split_of,
)
from olu.corpus.readers.rows import Problem, Why, folder_of, look, name_of

MOST_PAPER = 2**26  # bytes of what describes a dataset
ROWS = 8  # decoded at a time: sound is large
PATTERN = re.compile(r"\*\*/|\*|\?|[^*?]+")
TRANSLATED = {"**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
RAISED = (OSError, ValueError, RuntimeError, NotImplementedError, KeyError)  # by pyarrow, over a damaged file


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    file: str  # from the source's root
    config: str
    split: str

    @property
    def folder(self) -> str:
        return "/".join(safe(part) for part in (self.config, self.split) if part)


def need_arrow() -> None:
    if find_spec("pyarrow") is None:
        raise MissingExtra("importing parquet and arrow files", extra="hub", package="pyarrow")


def shards(source: Path, *, config: str | None = None, split: str | None = None) -> list[Shard]:
    """The files of one config (the only one, the default or the one asked for) and of one split or all."""
    files = [file for file in look(source).files if file.lower().endswith(ENDINGS) and _is_data(source, file)]
    found = _configs(source, files)
    config = choose_config(config, found, source=source)
    if config is not None and config not in found:
        found = _by_folder(files) if "" in found else found
        if config not in found:
            raise no_such("config", config, found or {"none"}, source=source)
    chosen = found[config or next(iter(found))]
    if split is None:
        return chosen
    choose_split(split, {shard.split for shard in chosen}, source=source)
    return [shard for shard in chosen if shard.split in (split, split_name(split))]


def _by_folder(files: list[str]) -> dict[str, list[Shard]]:
    """Each folder as a config, where nothing else says what the configs are."""
    parts = {file: folder_of(file).split("/") for file in files}
    return {
        part: [Shard(file=file, config=part, split=split_of(file)) for file in files if part in parts[file]]
        for part in sorted({part for names in parts.values() for part in names if part})
    }


def examples(
    source: Path, *, columns: Mapping[str, str] | None = None, config: str | None = None, split: str | None = None
) -> Iterator[DatasetRow | Problem]:
    """Every row of a dataset; what cannot be read is a problem of its row, or of its file."""
    need_arrow()
    for shard in shards(source, config=config, split=split):
        number = 0
        try:
            for one in _examples(source, shard, columns):
                yield one
                number += 1
        except CorpusError:
            raise
        except RAISED as bad:
            rest = f"after {number} rows, which are used" if number else "at its start"
            yield Problem(shard.file, f"breaks off {rest} ({reason(bad)}): copy it again", Why.FORM)


def count(source: Path, *, config: str | None = None, split: str | None = None) -> int:
    """How many rows there are, where the files say so without being read."""
    need_arrow()
    import pyarrow.parquet as pq

    total = 0
    for shard in shards(source, config=config, split=split):
        if shard.file.lower().endswith(".parquet"):
            try:
                total += pq.read_metadata(source / shard.file).num_rows
            except RAISED:
                continue
    return total


def _examples(source: Path, shard: Shard, asked: Mapping[str, str] | None) -> Iterator[DatasetRow | Problem]:
    chosen, number = None, 0
    for batch in _batches(source / shard.file):
        if chosen is None:
            names, sounds = list(batch.schema.names), [f.name for f in batch.schema if _may_be_sound(f.type)]
            chosen = Columns.of(names, sounds, asked=asked, where=shard.file)
        batch = batch.select(chosen.names())
        for at in range(batch.num_rows):
            number += 1
            where = f"{shard.file} row {number}"
            try:
                row = {name: batch.column(name)[at].as_py() for name in chosen.names()}
            except ValueError as bad:  # letters that are not UTF-8
                yield Problem(where, f"cannot be read ({bad}): it is left out", Why.LETTERS)
                continue
            sound = _sound(row[chosen.audio], source, near=folder_of(shard.file))
            yield chosen.example(row, sound, folder=shard.folder, where=where)


class _Clamped(io.FileIO):
    """A file that never makes room for more than it holds, whatever size a damaged page claims to have."""

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(0, os.fstat(self.fileno()).st_size - self.tell())
        return super().read(left if size is None or size < 0 else min(size, left)) or b""


def _batches(path: Path) -> Iterator[Any]:
    """Record batches, small for parquet; an arrow file is mapped, so that only what is looked at is read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.name.lower().endswith(".parquet"):
        with _Clamped(path) as data, pq.ParquetFile(data, pre_buffer=False) as parquet:
            yield from parquet.iter_batches(batch_size=ROWS, use_threads=False)
        return
    with pa.memory_map(str(path)) as data:
        for batch in _arrow(data):
            batch.validate(full=True)  # what is damaged would end the process, not raise
            yield batch


def _arrow(data: Any) -> Iterator[Any]:
    import pyarrow as pa

    try:
        yield from pa.ipc.open_stream(data)
    except pa.ArrowInvalid:
        data.seek(0)
        opened = pa.ipc.open_file(data)
        yield from (opened.get_batch(at) for at in range(opened.num_record_batches))


def _may_be_sound(kind: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return bool(kind.get_field_index("bytes") >= 0)
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _sound(cell: Any, source: Path, *, near: str) -> bytes | None:
    """The bytes in a cell, or those of the file it names inside the source."""
    found = sound_in(cell)
    if isinstance(found, bytes):
        return found
    for folder in (source / near, source) if found else ():
        try:
            file = (folder / found).resolve()
            if is_inside(source, file) and file.is_file():
                return file.read_bytes()
        except (OSError, ValueError, RuntimeError):
            continue
    return None


def _is_data(source: Path, file: str) -> bool:
    """Whether a file is data, and not what the datasets library keeps for itself."""
    if file.lower().endswith(".parquet"):
        return True
    state = _json(source, f"{folder_of(file)}/state.json")
    listed = [one.get("filename") for one in state.get("_data_files", []) if isinstance(one, dict)]
    return name_of(file) in listed if listed else not name_of(file).startswith(("cache-", "tmp"))


def _configs(source: Path, files: list[str]) -> dict[str, list[Shard]]:
    """Config -> its files, as the dataset's README says; else everything is one config without a name."""
    found: dict[str, list[Shard]] = {}
    for entry in _readme(source):
        name = str(entry.get("config_name", "default"))
        for split, pattern in _patterns(entry):
            parts = PATTERN.findall(pattern)
            fits = re.compile("".join(TRANSLATED.get(part) or re.escape(part) for part in parts))
            for file in files:
                if fits.fullmatch(file):
                    shard = Shard(file=file, config=name, split=split or split_of(file))
                    found.setdefault(name, []).append(shard)
    return found or {"": [Shard(file=file, config="", split=_split(source, file)) for file in files]}


def _split(source: Path, file: str) -> str:
    """The split of a file: the folder that the datasets library saved it in, else by its name."""
    above = folder_of(folder_of(file))
    saved = _json(source, f"{above}/dataset_dict.json").get("splits")
    if isinstance(saved, list) and name_of(folder_of(file)) in saved:
        return name_of(folder_of(file))
    named = _json(source, f"{folder_of(file)}/state.json").get("_split")
    return named if isinstance(named, str) and named else split_of(file)


def _readme(source: Path) -> list[dict[str, Any]]:
    """The configs in the head of README.md."""
    if find_spec("yaml") is None:
        return []
    import yaml

    try:
        parts = read_inside(source, "README.md", most=MOST_PAPER).decode("utf-8").split("---\n", 2)
        head = yaml.safe_load(parts[1]) if len(parts) == 3 and not parts[0].strip("\ufeff\n ") else None
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return []
    configs = head.get("configs") if isinstance(head, dict) else None
    return [entry for entry in configs if isinstance(entry, dict)] if isinstance(configs, list) else []


def _patterns(entry: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(split, pattern) of one config; no split where the pattern alone says it."""
    given = entry.get("data_files", [])
    for one in given if isinstance(given, list) else [given]:
        split, paths = (str(one.get("split", "")), one.get("path", [])) if isinstance(one, dict) else ("", one)
        for path in paths if isinstance(paths, list) else [paths]:
            yield split, str(path).removeprefix("./")


def _json(source: Path, file: str) -> dict[str, Any]:
    try:
        value = from_json(read_inside(source, file.lstrip("/"), most=MOST_PAPER))
    except (Refused, BadData):
        return {}
    return value if isinstance(value, dict) else {}

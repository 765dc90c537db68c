"""How the dataset that a finetune-hf-vits config names is imported: one of Hugging Face, or any recordings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olu.core.errors import ConfigError, CorpusError
from olu.corpus.readers import LAYOUTS, Options, SourceFolder, choose, columns, detect
from olu.corpus.readers.columns import parse
from olu.corpus.readers.tables import jsonl_headers, table_headers

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


def config_of(values: Mapping[str, Any]) -> str | None:
    """The library there calls a dataset without configs "default"; here a folder may simply have none."""
    name = values.get("dataset_config_name")
    return None if name == "default" and Path(values["dataset_name"]).exists() else name or None


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


def split_parts(split: str) -> list[str]:
    if "[" in split:
        raise ConfigError(f"split {split!r}: parts of a split cannot be imported; use max_train_samples instead")
    return split.split("+")

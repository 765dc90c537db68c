"""Hugging Face datasets: parquet and arrow files, a folder of sound with metadata, or an id on the hub.

One on the hub comes example by example: it never has to fit in memory or on the disk twice.
"""

from __future__ import annotations

import re
import socket
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from olu.core.errors import CorpusError, MissingExtra
from olu.corpus.readers import columns as by_name
from olu.corpus.readers.rows import Guessed, Problem, Read, Row, SourceNote, Tree, Why, folder_of, name_of, speaker_name
from olu.corpus.readers.source import SourceFolder
from olu.corpus.readers.tables import jsonl_headers, jsonl_rows, table_headers, table_rows

HUB = "hf:"
HUB_ID = re.compile(r"(?:hf:)?([\w.-]+/[\w.-]+)")
ENDINGS = (".parquet", ".arrow")
METADATA = ("metadata.csv", "metadata.jsonl")
LANGUAGES = ("language", "lang", "locale", "language_code")
IDS = ("id", "utterance_id", "segment_id", "utt_id")
SPLITS = {"train": ("train", "training"), "validation": ("validation", "valid", "val", "dev"), "test": ("test", "eval")}
KNOWN = {word: split for split, words in SPLITS.items() for word in words}
SHARD = re.compile(r"-\d+-of-\d+$")
WORDS = re.compile(r"[^a-z0-9]+")
OWN = "hf://datasets/"  # where a row may point to: the hub itself, never this machine or another server
PACKED = ("zip://", "tar://", "gzip://")


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetRow:
    """One row of a dataset with its sound, held only as long as somebody looks at it."""

    sound: bytes
    name: str  # of the recording, as the dataset gives it; may be empty
    folder: str  # config and split: where it lies in the workspace
    text: str
    where: str
    speaker: str | None = None
    language: str | None = None


def hub_id(source: Path | str, *, layout: str) -> str | None:
    """The OWNER/NAME that `source` means; none where it is a place on this machine."""
    said = Path(source).as_posix()
    found = HUB_ID.fullmatch(said)
    if said.startswith(HUB):
        if not found:
            raise CorpusError(f"{said} is no dataset on the hub: write hf:OWNER/NAME")
        return found[1]
    return found[1] if found and layout == "huggingface" and not Path(source).exists() else None


def seen(folder: SourceFolder) -> str:
    """Why a folder is a dataset of the datasets library; nothing where it is none."""
    files = folder.tree.files
    if "dataset_dict.json" in files or {"state.json", "dataset_info.json"} <= set(files):
        return "it was saved by the datasets library"
    if shards := [file for file in files if file.lower().endswith(ENDINGS)]:
        number = f"{len(shards)} of them" if len(shards) > 1 else "one"
        return f"{shards[0]} is a {PurePosixPath(shards[0]).suffix[1:]} file ({number})"
    for file, names in {**table_headers(folder), **jsonl_headers(folder)}.items():
        if name_of(file) in METADATA and "file_name" in names and by_name.pick(names, folder.options.columns):
            return f"{file} names its sound in file_name, as an audiofolder does"
    return ""


def is_streamed(tree: Tree) -> bool:
    """Whether the sound lies inside other files and has to be taken out of them."""
    return any(file.lower().endswith(ENDINGS) for file in tree.files)


def rows(folder: SourceFolder) -> Iterator[Read]:
    """The rows of an audiofolder, whose sound stays where it lies."""
    split = folder.options.split
    if folder.options.config is not None:
        raise CorpusError(f"{folder.path} is a folder of sound, which has no configs: leave --config out")
    wanted, there = split_name(split) if split else None, set[str]()
    for row in (*table_rows(folder), *jsonl_rows(folder)):
        if isinstance(row, SourceNote | Guessed):
            yield row
            continue
        place = split_of(row.audio if isinstance(row, Row) else row.where)
        there.add(place)
        if wanted in (None, place):
            yield row
    if wanted is not None and wanted not in there:
        raise no_such("split", split or "", there, source=folder.path)


def split_name(given: str) -> str:
    """One name for what people call the same: dev and valid are validation."""
    return KNOWN.get(given.casefold(), given)


def split_of(file: str) -> str:
    """The split a file belongs to by its name or its folders: data/train-00000-of-00002.parquet -> train."""
    stem = PurePosixPath(file).stem
    for part in (stem, *reversed(folder_of(file).split("/"))):
        for word in WORDS.split(part.casefold()):
            if word in KNOWN:
                return KNOWN[word]
    named = SHARD.sub("", stem)
    return named if named not in (stem, "data") else "train"


def choose_config(asked: str | None, there: Collection[str], *, source: Path | str) -> str | None:
    """The config asked for, else the default; None where there is only one."""
    if asked is not None or len(there) < 2:
        return asked
    if "default" not in there:
        raise CorpusError(f"{source} has several configs: name one with --config: {', '.join(sorted(there))}")
    return "default"


def choose_split(asked: str, there: Iterable[str], *, source: Path | str) -> str:
    """The split of this name, or of one that means the same."""
    there = list(there)
    name = next((name for name in (asked, split_name(asked)) if name in there), None)
    if name is None:
        raise no_such("split", asked, there, source=source)
    return name


def no_such(kind: str, asked: str, there: Iterable[str], *, source: Path | str) -> CorpusError:
    return CorpusError(f"{source} has no {kind} {asked!r}; it has {', '.join(sorted(there))}")


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns hold what."""

    audio: str
    text: str
    speaker: str | None
    language: str | None
    id: str | None

    @staticmethod
    def of(names: list[str], sounds: list[str], *, asked: Mapping[str, str] | None, where: Path | str) -> Columns:
        """The columns by their names; `sounds` can hold sound, for one with a name nobody knows."""
        asked = dict(asked or {})
        chosen = by_name.pick(names, asked)
        if not chosen and "audio" not in asked and len(sounds) == 1:
            chosen = by_name.pick(names, {**asked, "audio": sounds[0]})
        if not chosen and asked:
            raise by_name.refuse(asked, {str(where): names}, source=Path(where))
        if not chosen:
            kinds = [kind for kind in ("audio", "text") if not set(map(str.casefold, names)) & set(by_name.NAMES[kind])]
            raise CorpusError(
                f"{where} has no column for the {' and the '.join(kinds)}; it has {', '.join(names)}:"
                f" name it with --columns {','.join(f'{kind}=NAME' for kind in kinds)}"
            )
        language = next((name for name in names if name.casefold() in LANGUAGES), None)
        id = next((name for name in names if name.casefold() in IDS), None)
        return Columns(chosen["audio"], chosen["text"], chosen.get("speaker"), language, id)

    def names(self) -> list[str]:
        given = (self.audio, self.text, self.speaker, self.language, self.id)
        return list(dict.fromkeys(name for name in given if name is not None))

    def example(self, row: Mapping[str, Any], sound: bytes | None, *, folder: str, where: str) -> DatasetRow | Problem:
        """A row whose sound was fetched already."""
        if not sound:
            return Problem(where, "has no sound: it is left out", Why.MISSING)
        text = row[self.text]
        if text is None or not isinstance(text, str):
            return Problem(where, f"has no text in the column {self.text!r}: it is left out", Why.NO_TEXT)
        speaker = row[self.speaker] if self.speaker else None
        language = row[self.language] if self.language else None
        return DatasetRow(
            sound=sound,
            name=self._name(row),
            folder=folder,
            text=text,
            where=where,
            speaker=speaker_name(str(speaker)) if isinstance(speaker, str | int) else None,
            language=language if isinstance(language, str) else None,
        )

    def _name(self, row: Mapping[str, Any]) -> str:
        """A name for the recording: never the row's number, which changes when a dataset grows."""
        cell = row[self.audio]
        path = cell.get("path") if isinstance(cell, Mapping) else cell
        if isinstance(path, str) and path:
            return PurePosixPath(path.split("::")[0].replace("\\", "/")).name
        id = row[self.id] if self.id else None
        return str(id).replace("/", "-") if isinstance(id, str | int) and str(id).strip() else ""


def safe(name: str) -> str:
    """A part of a path that is one file name on every system."""
    kept = "".join(c if c in "._-" or unicodedata.category(c)[0] in "LMN" else "-" for c in name)
    return unicodedata.normalize("NFC", kept).lstrip(".").encode("utf-8")[:150].decode("utf-8", "ignore")


def hub_examples(
    id: str, *, columns: Mapping[str, str] | None = None, config: str | None = None, split: str | None = None
) -> Iterator[DatasetRow | Problem]:
    """Every example of a config, split after split; a stream that breaks off is a problem, not the end."""
    splits, config = _open(id, config=config, split=split)
    for name, stream in splits.items():
        folder = "/".join(safe(part) for part in (config, name) if part)
        label, number = f"{id} {name}", 0
        try:
            stream, chosen = _prepared(stream, columns, where=label)
            for number, row in enumerate(stream, 1):
                where = f"{label} row {number}"
                yield chosen.example(row, _sound(row[chosen.audio]), folder=folder, where=where)
        except CorpusError:
            raise
        except Exception as bad:  # a stream over the network can end in anything
            message = f"breaks off after {number} rows ({reason(bad)}): run the import again to get the rest"
            yield Problem(label, message)


def _open(id: str, *, config: str | None, split: str | None) -> tuple[dict[str, Any], str]:
    """Split -> its stream, and the config's name."""
    if find_spec("datasets") is None:
        raise MissingExtra("importing from the hub", extra="hub", package="datasets")
    import datasets
    from huggingface_hub.utils import logging as hub_logging

    for logging in (datasets.logging, hub_logging):  # it would tell of every retry; one sentence at the end is enough
        logging.set_verbosity(logging.CRITICAL)
    try:
        _look_up(datasets.config.HF_ENDPOINT)
        configs = datasets.get_dataset_config_names(id)
        choose_config(config, configs, source=id)
        if config is not None and config not in configs:
            raise no_such("config", config, configs, source=id)
        opened = dict(datasets.load_dataset(id, config, streaming=True))
    except CorpusError:
        raise
    except Exception as bad:  # ConnectionError, DatasetNotFoundError, errors of the HTTP library: all mean the same
        raise CorpusError(
            f"the dataset {id} cannot be opened ({reason(bad)}): check its name and the network,"
            " or download it and name its folder"
        ) from None
    opened = {str(name): stream for name, stream in opened.items()}
    if split is not None:
        name = choose_split(split, opened, source=id)
        opened = {name: opened[name]}
    named = config or (configs[0] if len(configs) == 1 else "default")
    return opened, "" if named == "default" else named


def _look_up(endpoint: str) -> None:
    """Fail at once without a network: the library would try again for half a minute."""
    if not getproxies():
        socket.getaddrinfo(urlsplit(endpoint).hostname, 443)


def _prepared(stream: Any, columns: Mapping[str, str] | None, *, where: str) -> tuple[Any, Columns]:
    """The stream with only the columns that matter, its sound as bytes; and which columns they are."""
    from datasets import Audio

    features = stream.features or stream._resolve_features().features
    pairs = {name: isinstance(kind, Mapping) and "bytes" in kind for name, kind in features.items()}
    sounds = [name for name, kind in features.items() if isinstance(kind, Audio) or pairs[name]]
    chosen = Columns.of(list(features), sounds, asked=columns, where=where)
    stream = stream.select_columns(chosen.names())
    if isinstance(features[chosen.audio], Audio):
        stream = stream.cast_column(chosen.audio, Audio(decode=False))
    return stream, chosen


def sound_in(cell: Any) -> bytes | str:
    """The sound of a cell, or the path that it names in its place; nothing where it has neither."""
    if isinstance(cell, Mapping):
        cell = cell.get("bytes") if isinstance(cell.get("bytes"), bytes) else cell.get("path")
    return cell if isinstance(cell, bytes | str) else ""


def _sound(cell: Any) -> bytes | None:
    """The bytes in a cell, or those of the file on the hub that it names."""
    found = sound_in(cell)
    if isinstance(found, bytes):
        return found
    *inside, place = found.split("::")
    if not place.startswith(OWN) or not all(part.startswith(PACKED) for part in inside):
        return None
    import fsspec

    with fsspec.open(found, "rb") as data:
        return bytes(data.read())


def reason(bad: Exception) -> str:
    """The first line of what a library says."""
    return (str(bad).strip().splitlines() or [type(bad).__name__])[0].rstrip(".")[:200]

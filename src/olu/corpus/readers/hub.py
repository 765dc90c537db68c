"""A dataset on the Hugging Face hub, example by example: it never has to fit in memory or on the disk twice."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from olu.core.errors import CorpusError, MissingExtra
from olu.corpus.readers.huggingface import Columns, DatasetRow, no_such, safe, split_name
from olu.corpus.readers.rows import Problem

OWN = "hf://datasets/"  # where a row may point to: the hub itself, never this machine or another server
PACKED = ("zip://", "tar://", "gzip://")


def need_datasets() -> None:
    if find_spec("datasets") is None:
        raise MissingExtra("importing from the hub", extra="hub", package="datasets")


def examples(
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
            message = f"breaks off after {number} rows ({_reason(bad)}): run the import again to get the rest"
            yield Problem(where=label, message=message)


def _open(id: str, *, config: str | None, split: str | None) -> tuple[dict[str, Any], str]:
    """Split -> its stream, and the config's name."""
    need_datasets()
    import datasets
    from huggingface_hub.utils import logging as hub_logging

    for logging in (datasets.logging, hub_logging):  # it would tell of every retry; one sentence at the end is enough
        logging.set_verbosity(logging.CRITICAL)
    try:
        _look_up(datasets.config.HF_ENDPOINT)
        configs = datasets.get_dataset_config_names(id)
        if config is None and len(configs) > 1 and "default" not in configs:
            names = ", ".join(sorted(configs))
            raise CorpusError(f"{id} has several configs: name one with --config: {names}")
        if config is not None and config not in configs:
            raise no_such("config", config, configs, source=id)
        opened = dict(datasets.load_dataset(id, config, streaming=True))
    except CorpusError:
        raise
    except Exception as bad:  # ConnectionError, DatasetNotFoundError, errors of the HTTP library: all mean the same
        raise CorpusError(
            f"the dataset {id} cannot be opened ({_reason(bad)}): check its name and the network,"
            " or download it and name its folder"
        ) from None
    if split is not None:
        name = next((name for name in (split, split_name(split)) if name in opened), None)
        if name is None:
            raise no_such("split", split, map(str, opened), source=id)
        opened = {name: opened[name]}
    named = config or (configs[0] if len(configs) == 1 else "default")
    return {str(name): stream for name, stream in opened.items()}, "" if named == "default" else named


def _look_up(endpoint: str) -> None:
    """Without a network the library tries again for half a minute; a name that is not found says so at once."""
    if not getproxies():
        socket.getaddrinfo(urlsplit(endpoint).hostname, 443)


def _prepared(stream: Any, columns: Mapping[str, str] | None, *, where: str) -> tuple[Any, Columns]:
    """Only the columns that matter, with the sound as bytes."""
    from datasets import Audio

    features = stream.features or stream._resolve_features().features
    sounds = [name for name, kind in features.items() if isinstance(kind, Audio) or "bytes" in _parts(kind)]
    chosen = Columns.of(list(features), sounds, asked=columns, where=where)
    stream = stream.select_columns(chosen.names())
    if isinstance(features[chosen.audio], Audio):
        stream = stream.cast_column(chosen.audio, Audio(decode=False))
    return stream, chosen


def _parts(kind: Any) -> Mapping[str, Any]:
    return kind if isinstance(kind, Mapping) else {}


def _sound(cell: Any) -> bytes | None:
    if isinstance(cell, bytes):
        return cell
    sound, path = (cell.get("bytes"), cell.get("path")) if isinstance(cell, Mapping) else (None, cell)
    if isinstance(sound, bytes):
        return sound
    *inside, place = path.split("::") if isinstance(path, str) else ("",)
    if not place.startswith(OWN) or not all(part.startswith(PACKED) for part in inside):
        return None
    import fsspec

    with fsspec.open(str(path), "rb") as data:
        return bytes(data.read())


def _reason(bad: Exception) -> str:
    return (str(bad).strip().splitlines() or [type(bad).__name__])[0].rstrip(".")[:200]

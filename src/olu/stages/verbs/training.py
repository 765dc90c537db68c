"""What the verbs take that train, and what several of them take alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from olu.core.options import Verb, argument, flag, option, options
from olu.stages.verbs.corpus import language_option


def recipe_option() -> Any:
    return option("Training settings in TOML.", metavar="FILE", role="input")


def set_option(help: str = "Change a setting: plan.steps=500") -> Any:
    return option(help, "--set", default=(), metavar="KEY=VALUE")


def base_option(help: str = "Fine-tune this: a folder, a file or a hub id.") -> Any:
    return option(help, role="input")


def from_scratch_option() -> Any:
    return flag("Without a base, though there is too little speech for that.")


def device_option(help: str = "cpu, cuda, cuda:1 or mps; default: the best there is") -> Any:
    return option(help)


def threads_option() -> Any:
    said = "Threads of torch; default: as many as cores are free."
    return option(said, metavar="N", least=1, checked=True)


@options
class MakeOptions:
    ws: Path = argument("WS", "The workspace to make or go on with.", role="workspace")
    source: Path = argument("SOURCE", "A folder of recordings and their texts.", role="input")
    language: str = language_option()
    recipe: Path | None = recipe_option()
    changes: tuple[str, ...] = set_option()
    base: Path | None = base_option("Fine-tune this: a folder, a file, a hub id, or embedded.")
    from_scratch: bool = from_scratch_option()
    device: str | None = device_option()
    threads: int | None = threads_option()


VERBS = (
    Verb(
        "make",
        "Everything in one go: new, import, audit, read, prepare, train, export.",
        MakeOptions,
        "olu.stages.make:run",
        label="",
        job=True,
    ),
)

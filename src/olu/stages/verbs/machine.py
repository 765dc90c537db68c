"""What the verbs take that are about this machine and what came with Olu, and those that look after a workspace."""

from __future__ import annotations

from pathlib import Path

from olu.core.options import Verb, argument, flag, option, options, workspace


@options
class StatusOptions:
    ws: Path = workspace(here=True)


@options
class DoctorOptions:
    install_eval: bool = flag("Install what 'olu audit --deep' and 'olu evaluate' listen with.")
    base: str | None = option("Fetch this base and load it: a path, or an id on the hub.")


@options
class InspectOptions:
    path: Path = argument("PATH", "A file or a folder.", role="input")
    language: str | None = option("Compare the symbols of a checkpoint with this language's.", metavar="CODE")


@options
class LanguagesOptions:
    code: str | None = argument("[CODE]", "All about one of them.", default=None)


@options
class FamiliesOptions:
    pass


@options
class BasesOptions:
    language: str | None = option("What there is for a language.", metavar="CODE")


@options
class CleanOptions:
    ws: Path = workspace(here=True)
    damaged: bool = flag("Remove damaged checkpoints that were put aside, too.")


VERBS = (
    Verb("status", "Say which stage is stale, how much disk each uses, and what to run next.", StatusOptions),
    Verb("doctor", "Say what this machine has and what it can do.", DoctorOptions, job=True),
    Verb(
        "inspect",
        "Say what a file or folder is, what is wrong with it and what to do with it.",
        InspectOptions,
    ),
    Verb(
        "languages",
        "List the languages that come with a folder of their own, and what each can do.",
        LanguagesOptions,
        "olu.stages.lists:run_languages",
    ),
    Verb(
        "families", "List the families of voices and their settings.", FamiliesOptions, "olu.stages.lists:run_families"
    ),
    Verb("bases", "List published checkpoints to fine-tune, from a table that comes with Olu.", BasesOptions),
    Verb("clean", "Remove what can be made again: features and leftovers of killed commands.", CleanOptions),
)

"""What the verbs take that are about this machine and what came with Olu, and those that look after a workspace."""

from __future__ import annotations

from pathlib import Path

from olu.core.options import Verb, flag, option, options, workspace


@options
class CleanOptions:
    ws: Path = workspace(here=True)
    damaged: bool = flag("Remove damaged checkpoints that were put aside, too.")


@options
class DoctorOptions:
    install_eval: bool = flag("Install what 'olu audit --deep' and 'olu evaluate' listen with.")
    base: str | None = option("Fetch this base and load it: a path, or an id on the hub.")


VERBS = (
    Verb("doctor", "Say what this machine has and what it can do.", DoctorOptions, "olu.stages.doctor:run", job=True),
    Verb(
        "clean",
        "Remove what can be made again: features and leftovers of killed commands.",
        CleanOptions,
        "olu.stages.clean:run",
    ),
)

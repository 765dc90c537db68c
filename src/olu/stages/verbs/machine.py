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
    base: str | None = option("Fetch this base and load it: a path, or an id on the hub.", role="input", hub=True)
    watermark: Path | None = option("Look for a voice's watermark in this sound.", metavar="FILE", role="input")


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


@options
class JobsOptions:
    place: Path | None = argument(
        "[WS]",
        "A workspace, or a folder of workspaces; without it, the one you are in.",
        default=None,
        role="workspace",
    )
    job: int | None = option("Show this one and the end of its log.", "--show", metavar="N", least=1)
    stop: int | None = option("Ask this one to end: a training saves.", metavar="N", least=1)
    at_once: bool = flag("With --stop: end it at once; what was not saved is lost.")


@options
class StudioOptions:
    folders: tuple[Path, ...] = argument(
        "[FOLDER...]",
        "Where workspaces and recordings lie; without it, the folder you are in.",
        default=(),
        role="folder",
    )
    host: str = option(
        "The address to listen on; another than this machine's needs https or a proxy.", default="127.0.0.1"
    )
    port: int = option("0: any that is free.", default=8420, least=0, most=65_535)
    https: bool = flag("With a certificate of its own making (needs the extra studio-https).")
    certificate: Path | None = option("https with this certificate (PEM).", metavar="FILE", role="input")
    certificate_key: Path | None = option("The key of --certificate (PEM).", metavar="FILE", role="input")
    behind_proxy: str = option("The address of a proxy that speaks https for it.", default="", metavar="ADDRESS")
    new_key: bool = flag("Make a new key: addresses, cookies and the passphrase of before no longer open it.")
    passphrase: bool = flag("Ask for a passphrase, which opens it in place of the key from now on.")
    no_browser: bool = flag("Do not open a browser.")
    most_upload: float = option("Of one uploaded file.", default=64.0, metavar="GB", least=0.001)
    check: bool = flag("Look at folders, settings and port, and end.")


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
    Verb(
        "jobs", "List what the studio runs, has run and will run; stop it.", JobsOptions, "olu.studio.jobs_command:run"
    ),
    Verb(
        "studio",
        "Open Olu Studio: the same verbs as pages in a browser.",
        StudioOptions,
        "olu.studio.start:run",
        job=True,
        server=True,
    ),
)

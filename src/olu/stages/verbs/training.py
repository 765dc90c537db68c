"""What the verbs take that train, and what several of them take alike."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from olu.core.options import Verb, argument, flag, option, options, workspace
from olu.stages.verbs.corpus import language_option


def recipe_option(help: str = "Training settings in TOML.") -> Any:
    return option(help, metavar="FILE", role="input")


def set_option(help: str = "Change a setting: plan.steps=500") -> Any:
    return option(help, "--set", default=(), metavar="KEY=VALUE")


def base_option(help: str = "Fine-tune this: a folder, a file or a hub id.") -> Any:
    return option(help, role="input", hub=True)


from_scratch_option = partial(flag, "Without a base, though there is too little speech for that.")


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


@options
class AlignOptions:
    ws: Path = workspace()
    source: Path | None = option(
        "Take TextGrids instead: a folder, a .tar.gz or a .zip of them.", "--from", metavar="PATH", role="input"
    )
    textgrid: Path | None = option(
        "Also write TextGrids, or an archive if it ends in .tar.gz or .zip.", metavar="DIR", role="output"
    )
    durations: Path | None = option(
        "Also write tokens and their frames, one clip a line.", metavar="FILE", role="output"
    )
    hop: int = option("With --durations: samples from frame to frame.", default=256, metavar="N")
    rate: int = option("With --durations: the voice's sampling rate.", default=16000, metavar="HZ")
    frames: str = option(
        "With --durations: floor (VITS) or centre (STFT).", default="floor", choices=("floor", "centre")
    )
    ctc_only: bool = flag("Skip the second, exact pass over the boundaries.")
    cross: bool = flag("Score texts by recognisers that did not learn from them.")
    flat: bool = flag("Train no recogniser: minutes on a CPU; texts are judged less closely.")
    base: Path | None = option(
        "Begin with what another language's recogniser hears: its workspace.", metavar="WS|RUN", role="input"
    )
    device: str | None = device_option("cpu, cuda, cuda:1 or mps; default: what is there.")
    threads: int | None = threads_option()
    force: bool = flag("Align again, also where there is little to learn from.")


@options
class CutOptions:
    ws: Path = workspace()
    longest: float = option("What is longer is cut.", default=20.0, metavar="SECONDS", least=2)
    dry_run: bool = flag("Show it, write nothing.")
    undo: bool = flag("Take all cuts back: the long clips train again.")


@options
class PrepareOptions:
    ws: Path = workspace(here=True)
    jobs: int | None = option("Threads; default: one per core.", least=1)
    recipe: Path | None = option("The recipe whose rate and data.resample are meant.", role="input")


@options
class PlanOptions:
    ws: Path = workspace(here=True)
    base: Path | None = base_option()
    from_scratch: bool = from_scratch_option()
    changes: tuple[str, ...] = set_option("Plan around this: plan.steps=5000")
    device: str | None = device_option()
    measure: bool = flag("Time a step here instead of predicting it.")
    only_print: bool = flag("Print the recipe and write nothing.", "--print")
    force: bool = flag("Write over a recipe that was edited by hand.")


@options
class TrainOptions:
    ws: Path | None = argument("WS", "The workspace.", default=None, role="workspace")
    recipe: Path | None = recipe_option("Settings in TOML.")
    changes: tuple[str, ...] = set_option()
    resume: bool = flag("Go on with the newest unfinished run, exactly.")
    resumed: str | None = option("With --resume: go on with this run.", "--run", metavar="RUN")
    from_run: str | None = option("Start from its weights.", metavar="RUN[@STEP]")
    match: str | None = option("A vocoder: learn an acoustic model's own mels.", metavar="RUN[@STEP]")
    base: Path | None = base_option()
    from_scratch: bool = from_scratch_option()
    from_hf_vits: Path | None = option(
        "Run a config of finetune-hf-vits; WS may be left out.", metavar="FILE", role="input"
    )
    new: bool = flag("Start a new run even if one is unfinished or equal.")
    dry_run: bool = flag("Resolve everything, make one update, write no run.")
    find_lr: bool = flag("Look for a learning rate; trains in memory only.")
    evaluate: bool = flag("Afterwards: speak held-out sentences, judge them.")
    device: str | None = device_option()
    threads: int | None = threads_option()
    profile: int = option("Profile N steps of the run.", default=0, metavar="N", least=0, checked=True)
    compares: bool = False  # beside an unfinished run: refuse only once it is known whether both have the same settings


@options
class TuneOptions:
    ws: Path = workspace()
    over: tuple[str, ...] = option(
        "What is tried; several multiply: model.learning_rate=1e-4,2e-4", default=(), metavar="KEY=A,B"
    )
    minutes: float | None = option("Of training, of all runs together; default: 5.", metavar="N")
    steps: int | None = option("Instead: so many steps for each run.", metavar="N", least=4, checked=True)
    by: str = option(
        "heard (a recogniser on held-out sentences) or loss (the validation loss).",
        default="heard",
        choices=("heard", "loss"),
    )
    sentences: int = option("Held-out sentences to judge by, at most.", default=24, metavar="N", least=2, checked=True)
    recipe: Path | None = recipe_option("The recipe whose settings are tried.")
    changes: tuple[str, ...] = set_option("Another setting, the same in all runs: model.size=tiny")
    base: Path | None = base_option()
    device: str | None = device_option()
    threads: int | None = threads_option()
    output: Path | None = option(
        "Where the recipe of the best is written.", "--output", "-o", metavar="FILE", role="output"
    )
    new: bool = flag("Try again what was tried with equal settings.")


@options
class RunsOptions:
    ws: Path = workspace(here=True)
    run: str | None = argument("[RUN]", "Show this one.", default=None)
    remove: str | None = option("Remove this one, after a question.", metavar="RUN")
    yes: bool = flag("With --remove: do not ask.")


VERBS = (
    Verb(
        "make",
        "Everything in one go: new, import, audit, read, prepare, train, export.",
        MakeOptions,
        label="",
        job=True,
    ),
    Verb(
        "align",
        "Find every word and sound in its clip; read and write TextGrids.",
        AlignOptions,
        label="aligning",
        job=True,
    ),
    Verb(
        "cut",
        "Cut long clips at pauses between words, text and sound together. Needs an alignment.",
        CutOptions,
        label="cutting",
        job=True,
    ),
    Verb(
        "prepare",
        "Make the features ahead of training (training makes them itself if they are missing).",
        PrepareOptions,
        label="preparing",
        job=True,
    ),
    Verb(
        "plan",
        "Write a recipe that suits corpus and machine, with the reason for every setting.",
        PlanOptions,
        job=True,
    ),
    Verb("train", "Train a voice.", TrainOptions, "olu.stages.training:run", label="", job=True),
    Verb(
        "tune", "Try settings in short runs, and write the recipe of the one that is heard best.", TuneOptions, job=True
    ),
    Verb("runs", "Compare the runs of a workspace, or show one.", RunsOptions),
)

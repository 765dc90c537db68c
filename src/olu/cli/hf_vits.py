"""olu train --from-hf-vits"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from olu.cli.show import many, say
from olu.core.errors import TrainError

if TYPE_CHECKING:
    from olu.core.job import Job
    from olu.stages.train import TrainSummary


def work_of(
    config: Path,
    root: Path,
    *,
    recipe: Path | None,
    changes: list[str],
    base: Path | None,
    resume: bool,
    new: bool,
    from_run: str | None,
    dry: bool,
    device: str,
    profile: int,
) -> Job[TrainSummary]:
    """The stage with what was asked for; a config is a whole recipe, so some options cannot stand beside it."""
    from olu.stages.hf_vits import train_hf_vits

    if recipe or from_run:
        other = "--recipe" if recipe else "--from-run"
        raise TrainError(
            f"--from-hf-vits is a whole recipe: leave {other} out, or train with the hf-vits.toml it writes"
        )
    if base:
        changes = [*changes, f"base={base.resolve()}"]
    return train_hf_vits(
        config, root=root, overrides=changes, resume=resume, new=new, dry=dry, device=device, profile=profile
    )


def tell_prepared(summary: TrainSummary) -> None:
    ready = summary.dry["prepared"]
    say(f"{many(ready, 'clip')} {'is' if ready == 1 else 'are'} ready, at {summary.dry['sampling_rate']} Hz.")
    say("Next: set preprocessing_only to false and do_train to true, and run the same command again.")

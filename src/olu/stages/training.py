"""`olu train`: which kind of training is asked for, and what it comes to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.core.errors import ConfigError, TrainError
from olu.core.files import Workspace
from olu.core.job import Job, Note, phase
from olu.core.machine import best_device
from olu.core.threads import ask_for
from olu.core.told import Caution, Remedy, Told
from olu.core.words import length, many
from olu.corpus.doubts import in_doubt
from olu.stages.find_lr import RateSummary, find_lr
from olu.stages.hf_vits import root_of, train_hf_vits
from olu.stages.import_ import doubts_of
from olu.stages.train import TrainSummary, train
from olu.stages.verbs.training import TrainOptions

if TYPE_CHECKING:
    from olu.stages.evaluate import EvaluateSummary

BYTES = ("memory_predicted", "memory_before", "memory_measured")


@dataclass(frozen=True)
class TrainOutcome:
    """A training, and the evaluation after it where one was asked for."""

    ws: Path
    trained: TrainSummary
    judged: EvaluateSummary | None = None

    @property
    def is_silent(self) -> bool:
        """Whether another of several processes prints what came out."""
        return not self.trained.leads

    def row(self, options: TrainOptions) -> dict[str, Any]:
        judged = {"evaluation": self.judged.evaluation.row()} if self.judged else {}
        return {**asdict(self.trained), **judged}

    def sentences(self, options: TrainOptions) -> Iterator[Told]:
        yield from self._training_sentences()
        if self.judged:
            yield from self.judged.sentences(options)

    def _training_sentences(self) -> Iterator[Told]:
        done = self.trained
        if "prepared" in done.dry:
            ready = done.dry["prepared"]
            yield f"{many(ready, 'clip')} {'is' if ready == 1 else 'are'} ready, at {done.dry['sampling_rate']} Hz."
            yield "Next: set preprocessing_only to false and do_train to true, and run the same command again."
            return
        if done.dry:
            yield from dry_sentences(done.dry)
            return
        if done.fresh:
            yield (
                f"{done.run} was trained with these settings on this corpus already: nothing to do (--new trains again)"
            )
        elif done.best and not done.stopped:
            best = f"best at step {done.best['step']} ({done.best['metric']} {done.best['score']:.4g})"
            yield f"{done.run}: {many(done.steps, 'step')}, {best}"
        if done.stopped:
            yield Caution(f"see {self.ws}/runs/{done.run}/events.jsonl")
        else:
            nexts = {
                "voice": Remedy("export", (self.ws,), {"to": "voice"}),
                "listener": Remedy("align", (self.ws,)),
                "vocoder": Remedy("evaluate", (self.ws,), {"run": done.run}),
            }
            yield f"Next: {nexts['voice' if done.speaks else done.kind]}"

    def failure(self, options: TrainOptions) -> str | None:
        if not self.trained.stopped:
            return None
        done = self.trained
        return "" if self.is_silent else f"{done.run} stopped at step {done.steps}: {done.stopped}"


def dry_sentences(dry: dict[str, Any]) -> Iterator[str]:
    """What `--dry-run` found, a line each."""
    for key, value in dry.items():
        name = key.replace("_", " ")
        if key in BYTES:
            yield f"{name}: {'not known here' if value is None else f'{value / 1e9:.2f} GB'}"
        elif key == "hours_expected":
            yield f"time expected: {length(3600 * value)}"
        elif isinstance(value, dict):
            yield f"{name}: {', '.join(f'{k} {_figure(v)}' for k, v in value.items()) or 'nothing'}"
        elif isinstance(value, list):
            yield f"{name}: {'; '.join(value) or 'nothing'}"
        else:
            yield f"{name}: {_figure(value)}"


def _figure(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def run(options: TrainOptions) -> Job[TrainOutcome | RateSummary]:
    """`olu train`"""
    ask_for(options.threads)
    root = options.ws or (root_of(options.from_hf_vits) if options.from_hf_vits else None)
    if root is None:
        raise ConfigError("Invalid value: Missing argument 'WS': see 'olu train --help'")
    _refuse(options)
    if options.find_lr:
        asked: dict[str, Any] = {"recipe": options.recipe, "base": options.base, "device": options.device}
        return (yield from find_lr(Workspace.open(root), overrides=list(options.changes), **asked))
    device = options.device or best_device()
    if not options.from_hf_vits or (root / "olu.toml").is_file():  # its first run makes the workspace
        yield from map(Note, in_doubt(doubts_of(Workspace.open(root))))
    done = yield from _from_config(options, root, device) if options.from_hf_vits else _plainly(options, root, device)
    if not options.evaluate or not done.leads or done.stopped or done.dry:
        return TrainOutcome(root, done)
    from olu.stages.evaluate_choice import evaluate_after  # its metrics need what training may do without

    judging = evaluate_after(Workspace.open(root), done.run, device=device)
    return TrainOutcome(root, done, (yield from phase("evaluating", judging)))


def _refuse(options: TrainOptions) -> None:
    """Refuse options that would be ignored."""
    if options.resumed and not options.resume:
        raise TrainError(
            "--run says which run --resume goes on with: add --resume, or --from-run for its weights alone"
        )
    if options.resumed and options.from_hf_vits:
        raise TrainError("--run has no effect with --from-hf-vits: its own run is gone on with")
    starts = (options.from_run, options.resume, options.from_hf_vits)
    if options.find_lr and any((*starts, options.new, options.dry_run, options.profile, options.evaluate)):
        raise TrainError("--find-lr starts from fresh weights or --base: it takes no run and no other mode")
    if options.from_scratch and not options.find_lr and any((options.base, *starts)):
        raise TrainError("--from-scratch is a start without weights: leave it out, or the option that names some")
    if options.evaluate and options.dry_run:
        raise TrainError("--evaluate has no effect with --dry-run: nothing is trained")
    if options.from_hf_vits and (options.recipe or options.from_run):
        other = "--recipe" if options.recipe else "--from-run"
        raise TrainError(
            f"--from-hf-vits is a whole recipe: leave {other} out, or train with the hf-vits.toml it writes"
        )


def _plainly(options: TrainOptions, root: Path, device: str) -> Job[TrainSummary]:
    return train(
        Workspace.open(root),
        overrides=options.changes,
        dry=options.dry_run,
        device=device,
        scratch=options.from_scratch,
        recipe=options.recipe,
        base=options.base,
        resume=options.resume,
        resumed=options.resumed,
        new=options.new,
        from_run=options.from_run,
        profile=options.profile,
    )


def _from_config(options: TrainOptions, root: Path, device: str) -> Job[TrainSummary]:
    assert options.from_hf_vits
    return train_hf_vits(
        options.from_hf_vits,
        root=root,
        overrides=[*options.changes, *([f"base={options.base.resolve()}"] if options.base else [])],
        resume=options.resume,
        new=options.new,
        dry=options.dry_run,
        device=device,
        profile=options.profile,
    )

"""What each kind of augmentation is worth to a recogniser: equal steps with and without it, on the same held-out clips.

    python benchmarks/augment.py WS --steps 600 --arms plain,speed,noise [--small] [--bare]

WS is a read workspace with a validation side. Every arm begins from the same drawn weights; finished arms are kept in
WS/tune, and one that was broken off goes on.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from olu.core.files import Workspace
from olu.core.job import finish
from olu.corpus.manifest import Corpus
from olu.evaluate.estimates import interval, paired
from olu.evaluate.metrics.cer import edits
from olu.families.recogniser.recognise import load
from olu.stages.train_setup import prepare_run, set_up
from olu.train.recipe import read_recipe
from olu.train.run import Recorder, Run

ARMS = {
    "plain": [],
    "speed": ["data.augment_speed=0.15"],
    "pitch": ["data.augment_pitch=2.0"],
    "formants": ["data.augment_formants=2.0"],
    "room": ["data.augment_room=0.5"],
    "noise": ["data.augment_noise=0.5"],
    "codec": ["data.augment_codec=0.5"],
}


SMALL = ("model.size=tiny", "model.width=96", "model.blocks=3", "model.channels=8", "model.subsample=4")


def settings(steps: int, clips: int, *, masks: bool, small: bool) -> list[str]:
    made = [
        "family=recogniser",
        *(SMALL if small else ("model.size=cpu",)),
        "data.hold_back=0.0",
        "data.max_seconds=15",
        "data.valid_clips=64",
        f"data.train_clips={clips}",
        "plan.batch_clips=8",
        "plan.batch_seconds=90",
        f"plan.steps={steps}",
        "plan.schedule=cosine",
        f"plan.warmup_steps={steps // 10}",
        f"plan.validate_every={steps // 4}",
        f"plan.save_every={steps // 4}",
        "plan.keep=1",
    ]
    return made if masks else [*made, "model.speed=0.0", "model.noise=0.0"]


def trained(ws: Workspace, name: str, changes: list[str]) -> tuple[Run, float]:
    """The run of an arm, and the CPU seconds of its steps in this process."""
    recipe = read_recipe(None, changes)
    folder = ws.root / "tune" / f"arm-{name}"
    finish(prepare_run(ws, recipe))
    held = Run.all(folder)
    run = held[-1] if held else None
    job = set_up(ws, recipe if run is None else run.recipe, device="cpu", run=run)
    run = run or Run.create(folder, job.recipe, facts=job.facts, documents=job.documents)
    engine = job.engine(run)
    if engine.checkpoints.steps():
        engine.resume()
    before = time.process_time()
    with Recorder(run) as recorder:
        for report in engine.train():
            recorder.record(report, best=engine.best, metric=job.metric)
            if report.scores:
                print(f"{name} step {report.step}: {report.scores}", flush=True)
    return run, time.process_time() - before


def heard(ws: Workspace, run: Run) -> dict[str, tuple[float, float]]:
    """Of each validation clip the share of wrong letters, and how many there are."""
    corpus, ears = Corpus.open(ws), load(run, language=ws.language)
    found = {}
    for clip in corpus:
        if corpus.split(clip) == "valid" and corpus.why_not(clip) is None and clip.seconds <= 15:
            one = edits(ears.target(corpus.reading(clip)), ears.heard(corpus.audio(clip)))
            found[clip.id] = (one.rate, float(one.length))
    return found


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("ws", type=Path)
    asked.add_argument("--steps", type=int, default=600)
    asked.add_argument("--clips", type=int, default=112)
    asked.add_argument("--arms", default=",".join(ARMS))
    asked.add_argument("--bare", action="store_true", help="without the recogniser's own changes of speed and noise")
    asked.add_argument("--small", action="store_true", help="a network of 0.2 M weights, for a look within minutes")
    given = asked.parse_args()
    ws, results = Workspace.open(given.ws), dict[str, dict[str, tuple[float, float]]]()
    for name in given.arms.split(","):
        known = f"{name}{'-bare' if given.bare else ''}{'-small' if given.small else ''}-{given.steps}"
        path = ws.root / "tune" / f"{known}.json"
        if path.exists():
            results[name] = json.loads(path.read_text())["clips"]
        else:
            chosen = settings(given.steps, given.clips, masks=not given.bare, small=given.small)
            run, seconds = trained(ws, known, chosen + ARMS[name])
            results[name] = heard(ws, run)
            path.write_text(json.dumps({"clips": results[name], "cpu_seconds": round(seconds, 1)}))
        ids = list(results[name])
        rates, weights = [results[name][id][0] for id in ids], [results[name][id][1] for id in ids]
        own = interval(rates, weights=weights)
        line = f"| {name} | {own.middle:.1%} ({own.low:.1%} to {own.high:.1%}) |"
        if name != "plain" and "plain" in results:
            off = paired([results["plain"][id][0] for id in ids], rates, weights=weights)
            line += f" {off.middle:+.1%} ({off.low:+.1%} to {off.high:+.1%}) |"
        print(f"{line} {json.loads(path.read_text())['cpu_seconds']:.0f} |", flush=True)


if __name__ == "__main__":
    main()

"""`python benchmarks/recogniser.py --corpus DIR --language swa`: how much a recogniser trained here gets wrong.

DIR holds metadata.csv and recordings. A tenth of the train side is held back by hash; the figures are of it. All goes
to --out: the workspace, log.txt, result.json, transcripts.jsonl and the weights (fp16). Without --steps the pace is
measured first, so that training ends after --minutes.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from olu.core.config import check, with_overrides
from olu.core.files import Workspace, write_json, write_jsonl, write_text
from olu.core.job import finish
from olu.core.machine import this_machine
from olu.core.types import Audio
from olu.corpus.manifest import Corpus
from olu.families import family
from olu.families.recogniser.recognise import Trained, load
from olu.stages.import_ import import_source
from olu.stages.prepare import prepare
from olu.stages.read import read_corpus
from olu.stages.train_setup import set_up
from olu.text.frontend import from_state
from olu.text.words import edits
from olu.train.plan.case import material_of
from olu.train.plan.facts import Case
from olu.train.plan.planner import make_plan
from olu.train.recipe import DataSettings, Recipe
from olu.train.run import Recorder, Run
from olu.train.setup.job import TrainingJob

RESULTS = Path(__file__).parent / "results"
WARM, TIMED = 20, 150  # steps
VALIDATIONS = 20
SAVING = 1.0  # seconds of each
LATE = 1.3  # times the minutes, and training is ended


def main() -> None:
    asked = _asked()
    out: Path = asked.out or Path(f"recogniser-{asked.language}-{asked.units}")
    out.mkdir(parents=True, exist_ok=True)
    log = Log(out / "log.txt")
    log(f"{asked.corpus} {asked.language} {asked.units} {asked.changes}")
    ws = workspace(out / "ws", corpus=asked.corpus, language=asked.language)
    setup = set_up(ws, planned(ws, asked), device=asked.device)
    for note in [setup.describe(), *setup.notes]:
        log(note)
    time.sleep(max(0.0, asked.begin - time.time()))
    started = time.monotonic()
    if asked.steps is None:
        pace, each = measured(setup, log)
        left = 60 * asked.minutes - (time.monotonic() - started) - VALIDATIONS * (each + SAVING)
        setup = with_steps(setup, max(200, int(left / pace)), most=LATE * asked.minutes)
    run = Run.create(ws.runs_folder, setup.recipe, facts=setup.facts, documents=setup.documents)
    trained(setup, run, log)
    minutes = (time.monotonic() - started) / 60
    voice = load(run, language=ws.language, device=asked.device)
    rows = heard(ws, setup, voice)
    result = summary(asked, setup, run, rows, minutes=minutes)
    write_json(out / "result.json", result)
    write_jsonl(out / "transcripts.jsonl", rows)
    halves = {name: t.half().contiguous().cpu() for name, t in voice.learner.net.state_dict().items()}
    facts = {"config": setup.config.model_dump_json(), "symbols": json.dumps(voice.symbols, ensure_ascii=False)}
    save_file(halves, out / "weights.safetensors", metadata=facts)
    table = markdown(result)
    log(table)
    if asked.write:
        write_text(RESULTS / f"recogniser-{asked.language}-{asked.units}_{time.strftime('%Y%m')}.md", table)


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--language", required=True)
    parser.add_argument("--units", choices=("letters", "symbols"), default="letters")
    parser.add_argument("--minutes", type=float, default=6.0)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--begin", type=float, default=0.0, help="wait until this time (date +%%s), beside others")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--write", action="store_true", help="write the table to benchmarks/results/")
    return parser.parse_args()


class Log:
    def __init__(self, path: Path) -> None:
        self.file, self.began = path.open("a", encoding="utf-8"), time.monotonic()

    def __call__(self, text: str) -> None:
        line = f"{time.monotonic() - self.began:7.1f} {text}"
        print(line, flush=True)
        self.file.write(line + "\n")
        self.file.flush()


def workspace(root: Path, *, corpus: Path, language: str) -> Workspace:
    """Imported, read and resampled; not audited, so every clip counts."""
    if (root / "olu.toml").exists():
        ws = Workspace.open(root)
    else:
        ws = Workspace.create(root, language=language)
        finish(import_source(ws, corpus.resolve()))
    finish(read_corpus(ws))
    finish(prepare(ws, rate=16000))
    return ws


def planned(ws: Workspace, asked: argparse.Namespace) -> Recipe:
    """What `olu train --set family=recogniser` would take, and what was asked for here."""
    chosen = family("recogniser")
    changes = [f"family={chosen.name}", f"model.units={asked.units}", *asked.changes]
    changes += [f"plan.steps={asked.steps}"] if asked.steps is not None else []
    material = material_of(Corpus.open(ws), DataSettings(), chosen, verdict="")
    case = Case(material=material, machine=this_machine(asked.device), given=with_overrides({}, changes))
    values = make_plan(case, chosen).values()
    return check(Recipe, with_overrides(values, changes), where="recipe")


def with_steps(setup: TrainingJob, steps: int, *, most: float) -> TrainingJob:
    """The same run, as long as there is time for."""
    every = max(1, steps // VALIDATIONS)
    changes: dict[str, Any] = {"steps": steps, "warmup_steps": min(1000, steps // 10), "max_hours": most / 60}
    changes |= {"validate_every": every, "save_every": every}
    return replace(setup, recipe=setup.recipe.model_copy(update={"plan": setup.recipe.plan.model_copy(update=changes)}))


def measured(setup: TrainingJob, log: Log) -> tuple[float, float]:
    """Seconds of a step and of a validation; the weights are put back."""
    from tempfile import TemporaryDirectory

    before = {name: t.clone() for name, t in setup.learner.state_dict().items()}
    with TemporaryDirectory() as folder:
        run = Run(Path(folder))
        run.checkpoints_folder.mkdir()
        engine = setup.engine(run)
        engine.plan = engine.plan.model_copy(update={"steps": 10**6, "validate_every": 10**6, "save_every": 10**6})
        for _ in range(WARM):
            engine.advance()
        began = time.monotonic()
        for _ in range(TIMED):
            engine.advance()
        pace = (time.monotonic() - began) / TIMED
        began = time.monotonic()
        engine._validate()
        each = time.monotonic() - began
    setup.learner.load_state_dict(before)
    log(f"{1000 * pace:.1f} ms a step, {each:.1f} s a validation")
    return pace, each


def trained(setup: TrainingJob, run: Run, log: Log) -> None:
    engine = setup.engine(run)
    with Recorder(run) as recorder:
        for report in engine.train():
            recorder.record(report, best=engine.best, metric=setup.metric)
            for event in report.events:
                log(f"step {report.step}: {event.guard}: {event.message}")
            if report.scores or report.step % 100 == 0 or report.step < 3:
                losses = {name: round(v, 4) for seen in report.seen for name, v in seen.losses.items()}
                norm = [round(seen.grad_norm, 2) for seen in report.seen]
                scores = {name: round(v, 4) for name, v in report.scores.items()}
                log(f"step {report.step}/{report.steps} epoch {report.epoch} {losses} norm {norm} {scores}")
    run.finish(steps=engine.step, stopped=None)


def heard(ws: Workspace, setup: TrainingJob, recogniser: Trained) -> list[dict[str, Any]]:
    """What it hears in every clip that was held back, beside what was said."""
    corpus, frontend = Corpus.open(ws), from_state(setup.frontend_state)
    by_id = {clip.id: clip for clip in corpus}
    rows = []
    for id in setup.valid:
        reading = frontend.read(by_id[id].text)
        audio = Audio(setup.store[id].astype("float32") / 32768.0, setup.rate)
        said, got = recogniser.target(reading), recogniser.heard(audio)
        row: dict[str, Any] = {"id": id, "said": said, "heard": got, "edits": edits(said, got)}
        if recogniser.units == "letters":
            close = [[letter for letter in one if letter != " "] for one in (said, got)]
            phones = [[p for word in frontend.read("".join(one)).words for p in word.phones] for one in (said, got)]
            words = ["".join(one).split() for one in (said, got)]
            row |= {
                "letters": len(said),
                "close": [len(close[0]), edits(*close)],
                "phones": [len(phones[0]), edits(*phones)],
                "words": [len(words[0]), edits(*words)],
                "said": "".join(said),
                "heard": "".join(got),
            }
        else:
            row |= {"letters": len(said), "said": " ".join(said), "heard": " ".join(got)}
        rows.append(row)
    return rows


def summary(
    asked: argparse.Namespace, setup: TrainingJob, run: Run, rows: list[dict[str, Any]], *, minutes: float
) -> dict[str, Any]:
    def share(key: str) -> float | None:
        pairs = [row[key] for row in rows if key in row]
        return sum(pair[1] for pair in pairs) / max(1, sum(pair[0] for pair in pairs)) if pairs else None

    seconds = sum(setup.seconds[clip] for clip in setup.train)
    return {
        "language": asked.language,
        "units": asked.units,
        "cer": sum(row["edits"] for row in rows) / max(1, sum(row["letters"] for row in rows)),
        "cer_without_spaces": share("close"),
        "phone_error": share("phones"),
        "word_error": share("words"),
        "best": run.best,
        "train_clips": len(setup.train),
        "train_minutes": round(seconds / 60, 1),
        "held_back": len(rows),
        "minutes": round(minutes, 2),
        "steps": setup.recipe.plan.steps,
        "parameters": sum(p.numel() for p in setup.learner.parameters()),
        "symbols": len(setup.vocabulary.symbols),
        "device": setup.facts["device"],
        "torch": torch.__version__,
        "python": platform.python_version(),
        "changes": asked.changes,
        "recipe": setup.recipe.model_dump(mode="json"),
    }


def markdown(result: dict[str, Any]) -> str:
    def percent(key: str) -> str:
        return "-" if result[key] is None else f"{100 * result[key]:.1f} %"

    head = "| language | units | CER | without spaces | phones | words | train | held back | minutes | steps | device |"
    row = [result["language"], result["units"], percent("cer"), percent("cer_without_spaces"), percent("phone_error")]
    row += [percent("word_error"), f"{result['train_clips']} clips, {result['train_minutes']} min"]
    row += [f"{result['held_back']} clips", result["minutes"], result["steps"], result["device"]]
    return f"{head}\n|{'---|' * 11}\n| {' | '.join(map(str, row))} |\n"


if __name__ == "__main__":
    main()

"""`python benchmarks/transcribe.py --corpus DIR --language swa --out DIR`: drafts that get better round by round.

DIR holds metadata.csv and recordings with all their texts. --transcribed minutes keep theirs; the other clips are bare,
but for what a round corrects: the --each minutes whose drafts are least certain, against as many chosen by chance. Both
begin with the same recogniser, and each round goes on from the one before. The figures are of --held minutes that
nobody corrects, and so are the same clips in every row. result.json has all of them, and is written after each round.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from olu.align.ctc_words import HeardText
from olu.core.files import Workspace
from olu.core.job import finish
from olu.core.types import Clip
from olu.corpus.correction_file import GivenText
from olu.corpus.manifest import Corpus
from olu.corpus.split import choose_sides
from olu.families.recogniser.recognise import Trained
from olu.stages.correct import correct
from olu.stages.import_ import import_source
from olu.stages.listener import recogniser_for
from olu.stages.read import corpus_frontend
from olu.text.frontend import read_settings
from olu.text.words import edits
from olu.train.run import Run

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
ARMS = ("least certain", "by chance")


@dataclass(frozen=True)
class Task:
    """Who has a text, who may get one, and who only tells how good the drafts are."""

    truth: dict[str, str]
    bare: tuple[str, ...]
    held: tuple[str, ...]


@dataclass
class Arm:
    """One way to choose what is corrected: its own workspace, from the same start."""

    ws: Workspace
    recogniser: Trained
    left: list[str]  # bare clips

    @staticmethod
    def begun(ws: Workspace, folder: Path, first: Trained, task: Task) -> Arm:
        shutil.copytree(ws.root, folder)
        return Arm(Workspace.open(folder), first, list(task.bare))


def main() -> None:
    asked = arguments()
    asked.out.mkdir(parents=True)
    ws, task = begun(asked)
    rows: list[dict[str, Any]] = []
    first = heard_by(ws, None, asked.steps, asked.changes)
    rows.append(measured(ws, task, first, round=0, arm="both"))
    tell(asked, rows)
    arms = {arm: Arm.begun(ws, asked.out / arm.replace(" ", "-"), first, task) for arm in ARMS}
    for number in range(1, asked.rounds + 1):
        for name, arm in arms.items():
            chosen = choose(arm, seconds=60 * asked.each, by_chance=name != ARMS[0], seed=number)
            arm.left = [id for id in arm.left if id not in chosen]
            correct(arm.ws, [GivenText(id, task.truth[id], "benchmark") for id in chosen], by="benchmark")
            base = Run.named(arm.ws.runs_folder, arm.recogniser.run)
            arm.recogniser = heard_by(arm.ws, base, asked.more_steps, asked.changes)
            rows.append(measured(arm.ws, task, arm.recogniser, round=number, arm=name))
            tell(asked, rows)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--language", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--transcribed", type=float, default=20.0, help="minutes")
    parser.add_argument("--each", type=float, default=10.0, help="minutes that a round corrects")
    parser.add_argument("--held", type=float, default=20.0, help="minutes that tell how good the drafts are")
    parser.add_argument("--bare", type=float, default=1e9, help="at most so many minutes that may be corrected")
    parser.add_argument("--longest", type=float, default=1e9, help="seconds of a clip")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=0, help="of the first training; 0: as planned")
    parser.add_argument("--more-steps", type=int, default=0, help="of the others; 0: as planned")
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def begun(asked: argparse.Namespace) -> tuple[Workspace, Task]:
    """A workspace of which only some clips have a text."""
    ws = Workspace.create(asked.out / "first", language=asked.language)
    finish(import_source(ws, asked.corpus))
    corpus = Corpus.open(ws)
    clips = [clip for clip in corpus if clip.seconds <= asked.longest and clip.text.strip()]
    random.Random(asked.seed).shuffle(clips)
    held, clips = taken(clips, 60 * asked.held)
    written, clips = taken(clips, 60 * asked.transcribed)
    bare, _ = taken(clips, 60 * asked.bare)
    kept = {clip.id for clip in (*held, *written, *bare)}
    known = {clip.id for clip in written}
    manifest = [replace(c, text=c.text if c.id in known else "") for c in corpus if c.id in kept]
    Corpus.save(ws, manifest, list(corpus.sources.values()), choose_sides(ws, manifest))
    sides = Corpus.open(ws).sides
    train = [
        clip.id for clip in bare if sides[clip.id] == "train"
    ]  # what a person writes for a test clip trains nothing
    return ws, Task({clip.id: clip.text for clip in corpus}, tuple(train), tuple(clip.id for clip in held))


def taken(clips: list[Clip], seconds: float) -> tuple[list[Clip], list[Clip]]:
    """The first clips that fill so many seconds, and the others."""
    total, number = 0.0, 0
    while number < len(clips) and total < seconds:
        total += clips[number].seconds
        number += 1
    return clips[:number], clips[number:]


def heard_by(ws: Workspace, base: Run | None, steps: int, changes: Sequence[str]) -> Trained:
    settings = [*([f"plan.steps={steps}"] if steps else []), *changes]
    return finish(recogniser_for(ws, units="letters", base=base, settings=settings, judges=False))


def drafts(ws: Workspace, recogniser: Trained, ids: Sequence[str]) -> dict[str, HeardText]:
    corpus = Corpus.open(ws)
    return {clip.id: recogniser.draft(corpus.audio(clip)) for clip in corpus if clip.id in set(ids)}


def choose(arm: Arm, *, seconds: float, by_chance: bool, seed: int) -> list[str]:
    """So many minutes of clips to correct."""
    clips = [clip for clip in Corpus.open(arm.ws) if clip.id in set(arm.left)]
    if by_chance:
        order = random.Random(seed).sample(clips, len(clips))
    else:
        sure = {id: one.confidence for id, one in drafts(arm.ws, arm.recogniser, arm.left).items()}
        order = sorted(clips, key=lambda clip: sure[clip.id])
    return [clip.id for clip in taken(order, seconds)[0]]


def measured(ws: Workspace, task: Task, recogniser: Trained, *, round: int, arm: str) -> dict[str, Any]:
    """Letters wrong in the drafts of clips that nobody corrects, and what a confidence is worth."""
    corpus = Corpus.open(ws)
    frontend = corpus_frontend(ws, corpus, read_settings(ws))
    found = drafts(ws, recogniser, task.held)
    wrong = letters = 0
    right: list[tuple[float, bool]] = []
    words: list[tuple[float, bool]] = []
    for id, one in found.items():
        said = recogniser.target(frontend.read(task.truth[id]))
        wrong, letters = wrong + edits(said, list(one.text)), letters + len(said)
        right.append((one.confidence, "".join(said) == one.text))
        words += [(sure, good) for sure, good in zip(one.sure, rightly("".join(said).split(), one.words), strict=True)]
    spoken = [corpus.taken(c).seconds for c in corpus if corpus.split(c) == "train" and corpus.why_not(c) is None]
    return {
        "round": round,
        "arm": arm,
        "texts_minutes": sum(spoken) / 60,
        "run": recogniser.run,
        "held_back_cer": recogniser.natural_cer,
        "cer": wrong / letters,
        "letters": letters,
        "drafts": len(right),
        "right": sum(good for _, good in right) / len(right),
        "words_right": sum(good for _, good in words) / max(1, len(words)),
        "above": {str(level): above(right, level) for level in LEVELS},
        "words_above": {str(level): above(words, level) for level in LEVELS},
        "cpu_seconds": time.process_time(),
    }


def rightly(said: Sequence[str], heard: Sequence[str]) -> list[bool]:
    """Which words that were heard were said, in their order."""
    good = [False] * len(heard)
    for block in SequenceMatcher(None, said, list(heard), autojunk=False).get_matching_blocks():
        good[block.b : block.b + block.size] = [True] * block.size
    return good


def above(pairs: Sequence[tuple[float, bool]], level: float) -> dict[str, float]:
    over = [good for sure, good in pairs if sure >= level]
    return {"share": len(over) / max(1, len(pairs)), "right": sum(over) / len(over) if over else float("nan")}


def tell(asked: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    (asked.out / "result.json").write_text(json.dumps({"asked": vars(asked), "rows": rows}, default=str, indent=1))
    lines = [
        "| round | corrected | texts (min) | letters wrong | words right | drafts right | CPU s |",
        "|" + "---|" * 7,
    ]
    for row in rows:
        lines.append(
            f"| {row['round']} | {row['arm']} | {row['texts_minutes']:.1f} | {100 * row['cer']:.1f} % |"
            f" {100 * row['words_right']:.1f} % | {100 * row['right']:.1f} % | {row['cpu_seconds']:.0f} |"
        )
    for what in ("above", "words_above"):
        lines += ["", f"{what}: share, right", ""]
        for row in rows:
            cells = (f"{100 * one['share']:.0f} %, {100 * one['right']:.0f} %" for one in row[what].values())
            lines.append(f"| {row['round']} {row['arm']} | " + " | ".join(cells) + " |")
    (asked.out / "result.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main()

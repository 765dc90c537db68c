"""Prompts by coverage against a random choice: `python benchmarks/prompts.py [SHARED FOLDER [OUT.md]]`.

Of each text so many sentences are chosen, and as often at random, as many sentences or as many phones. Counted is what
is covered: different pairs of phones, and those that occur five times at least.
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from olu.audit.prompts import Candidate, Kind, choose, covered
from olu.core.files import Workspace
from olu.stages.prompts import _candidate, prompt_reader, rules_of
from olu.text.languages import load
from olu.text.words import split_sentences

SHARED = Path(__file__).parents[2] / "shared"
TRIES = 20
COUNTS = (50, 100, 300)


def texts(shared: Path) -> dict[str, tuple[str, list[str]]]:
    """Name -> language and lines."""
    gold, corpora = shared / "gold", shared / "corpora"

    def lines(path: Path) -> list[str]:
        return [line.lstrip("0123456789 ") for line in path.read_text(encoding="utf-8").split("\n")]

    def spoken(code: str) -> list[str]:
        rows = (corpora / code / "metadata.csv").read_text(encoding="utf-8").split("\n")
        return [row.split("|")[-1] for row in rows if "|" in row]

    return {
        "Yoruba, sentences with tones": ("yor", lines(gold / "yoruba_toned_sentences.txt")),
        "Igbo, New Testament": ("ibo", lines(gold / "igbo_text_newtestament.txt")),
        "Igbo, fiction": ("ibo", lines(gold / "igbo_text_fiction.txt")),
        "Swahili, transcripts": ("swa", spoken("swa")),
        "Amharic, transcripts": ("amh", spoken("amh")),
    }


def candidates(code: str, lines: Sequence[str]) -> list[Candidate]:
    with tempfile.TemporaryDirectory() as folder:
        frontend = prompt_reader(Workspace.create(Path(folder) / "ws", language=code))
        found = [one for line in lines for one in split_sentences(line, load(code).sentence_ends, plain=True)]
        rules = rules_of(frontend, found, longest=120)
        seen: set[str] = set()
        made = (_candidate(text, frontend, rules, seen=seen, recorded=()) for text in found)
        return [one for one in made if isinstance(one, Candidate)]


def random_by_count(pool: Sequence[Candidate], count: int, rng: random.Random) -> list[Candidate]:
    return rng.sample(list(pool), count)


def random_by_phones(pool: Sequence[Candidate], phones: int, rng: random.Random) -> list[Candidate]:
    """As many phones, however many sentences that takes."""
    chosen, held = [], 0
    for one in rng.sample(list(pool), len(pool)):
        if held >= phones:
            break
        chosen.append(one)
        held += one.phones
    return chosen


def middle(make: Callable[[random.Random], list[Candidate]], kind: Kind, times: int) -> float:
    return statistics.median(
        covered((one.units for one in make(random.Random(seed))), kind, times=times) for seed in range(TRIES)
    )


def rows(shared: Path) -> list[str]:
    told = [
        "| text | sentences | chosen | phones a sentence | CPU s | pairs | random, as many sentences | as many phones "
        "| pairs 5 times | random, as many sentences | as many phones | pairs there are |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, (code, lines) in texts(shared).items():
        pool = candidates(code, lines)
        there = covered((one.units for one in pool), "pair")
        for count in COUNTS:
            if count * 2 > len(pool):
                continue
            begun = time.process_time()
            best = [one.candidate for one in choose(pool, count=count)]
            spent = time.process_time() - begun
            phones = sum(one.phones for one in best)
            cells = [name, f"{len(pool):,}", f"{count}", f"{phones / count:.0f}", f"{spent:.2f}"]
            for times in (1, 5):
                cells += [
                    f"**{covered((one.units for one in best), 'pair', times=times)}**",
                    f"{middle(lambda rng: random_by_count(pool, count, rng), 'pair', times):.0f}",  # noqa: B023
                    f"{middle(lambda rng: random_by_phones(pool, phones, rng), 'pair', times):.0f}",  # noqa: B023
                ]
            told.append(f"| {' | '.join([*cells, str(there)])} |")
    return told


if __name__ == "__main__":
    shared = Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    table = "\n".join(rows(shared))
    print(table)
    if len(sys.argv) > 2:
        head = "# Prompts by coverage, beside a random choice\n\n"
        head += f"`benchmarks/prompts.py`, x86_64, two shared cores, at {found.stdout.strip()}. Random: the middle of "
        head += f"{TRIES} choices. Pairs: different pairs of phones, pauses among them.\n\n"
        Path(sys.argv[2]).write_text(head + table + "\n", encoding="utf-8")

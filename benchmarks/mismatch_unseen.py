"""Wrong texts found among clips that a recogniser has not learnt from, with texts swapped anew many times.

    python benchmarks/mismatch_unseen.py CORPUS --language amh --weights FILE --held-back transcripts.jsonl

FILE and transcripts.jsonl are what benchmarks/recogniser.py wrote. Unseen are the clips it held back, and the valid and
test sides. The limit is the audit's own, found anew for every draw from wrong pairs of the same clips.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from statistics import mean

from align_recogniser import from_weights
from mismatch import LONGEST, judged, watched

from olu.align.state import to_align
from olu.core.files import Workspace, read_jsonl
from olu.core.job import finish
from olu.core.rows import from_row
from olu.core.types import Reading
from olu.corpus.manifest import Corpus
from olu.stages.align_listen import Texts
from olu.stages.audit import audit
from olu.stages.import_ import import_source
from olu.stages.read import read_corpus


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("corpus", type=Path)
    asked.add_argument("--language", required=True)
    asked.add_argument("--weights", type=Path, required=True)
    asked.add_argument("--held-back", type=Path, required=True)
    asked.add_argument("--work", type=Path, required=True)
    asked.add_argument("--share", type=float, default=0.05)
    asked.add_argument("--draws", type=int, default=40)
    given = asked.parse_args()
    fresh = not (given.work / "olu.toml").exists()
    ws = Workspace.create(given.work, language=given.language) if fresh else Workspace.open(given.work)
    finish(import_source(ws, given.corpus))
    watched(audit(ws), "audit")
    watched(read_corpus(ws), "reading")
    corpus = Corpus.open(ws)
    trained = from_weights(given.weights, language=given.language, device="cpu")
    held_back = {row["id"] for row in read_jsonl(given.held_back)}
    todo = {
        id: pair
        for id, pair in to_align(ws, corpus).items()
        if (id in held_back or corpus.split(pair[0]) != "train") and pair[0].seconds <= LONGEST
    }
    readings = {row["id"]: from_row(row, Reading) for row in read_jsonl(ws.readings / "readings.jsonl")}
    ids = {id: trained.ids(trained.target(readings[id])) for id in todo}
    heard = {id: trained.log_probs(corpus.audio(clip)) for id, (clip, _) in todo.items()}
    draws = []
    for seed in range(given.draws):
        found, changed = _draw(ids, heard, share=given.share, seed=seed)
        draws.append(judged(found, todo, changed))
    wrong, right = sum(one["wrong"] for one in draws), sum(one["clips"] - one["wrong"] for one in draws)
    print(
        json.dumps(
            {
                "clips": len(todo),
                "draws": len(draws),
                "wrong": wrong,
                "found_share": round(sum(one["found"] for one in draws) / wrong, 4),
                "false_alarm_share": round(sum(one["false_alarms"] for one in draws) / right, 4),
                "limit": round(mean(one["limit"] for one in draws), 3),
                "auc": round(mean(one["auc_score"] for one in draws), 5),
            },
            indent=1,
        )
    )


def _draw(ids: dict, heard: dict, *, share: float, seed: int) -> tuple:  # type: ignore[type-arg]
    rng = random.Random(seed)
    chosen = rng.sample(sorted(ids), max(2, round(share * len(ids))))
    moved = {at: ids[to] for at, to in zip(chosen, chosen[1:] + chosen[:1], strict=True) if ids[at] != ids[to]}
    texts = Texts({**ids, **moved})
    return {id: texts.match(id, heard[id]) for id in ids}, set(moved)


if __name__ == "__main__":
    main()

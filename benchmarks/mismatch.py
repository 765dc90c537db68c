"""Wrong texts found: swap some transcripts of a corpus, train on the swapped corpus as a user would, and count.

    PYTHONPATH=src python benchmarks/mismatch.py ../shared/corpora/amh --language amh --device cuda --json out.json

Two ways are compared. `all`: one recogniser that learns from every clip, wrong texts among them, as `olu align` does.
`cross`: two recognisers, each asked about the half that it did not learn from, as `olu align --cross` does.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from olu.align.state import Words, to_align
from olu.align.text_match import Match
from olu.audit.check import DEFINED, MeasuredClip
from olu.audit.checks import heard as mismatch
from olu.audit.thresholds import Thresholds
from olu.core.files import Workspace
from olu.core.job import Job, Tick, finish
from olu.core.types import Clip
from olu.corpus.manifest import Corpus
from olu.stages.align_listen import Texts, cross_match
from olu.stages.audit import audit
from olu.stages.import_ import import_source
from olu.stages.listener import recogniser_for
from olu.stages.read import read_corpus

LONGEST = 60.0


def swapped(source: Path, into: Path, *, share: float, seed: int) -> set[str]:
    """A copy of an LJSpeech folder with some texts exchanged; the names whose text is now another's."""
    rows = [line.split("|", 1) for line in (source / "metadata.csv").read_text(encoding="utf-8").splitlines() if line]
    rng = random.Random(seed)
    chosen = rng.sample(range(len(rows)), max(2, round(share * len(rows))))
    moved = chosen[1:] + chosen[:1]
    texts = [text for _, text in rows]
    changed = {at: texts[to] for at, to in zip(chosen, moved, strict=True) if texts[at] != texts[to]}
    shutil.copytree(source / "audio", into / "audio", dirs_exist_ok=True)
    lines = (f"{name}|{changed.get(at, text)}\n" for at, (name, text) in enumerate(rows))
    (into / "metadata.csv").write_text("".join(lines), encoding="utf-8")
    return {rows[at][0] for at in changed}


def watched(work: Job[object], label: str) -> object:
    """A line now and then, so that a long run is seen to live."""
    last = 0.0
    while True:
        try:
            tick: Tick = next(work)
        except StopIteration as end:
            return end.value
        if time.time() - last > 15:
            last = time.time()
            print(f"  {label}: {tick.done}/{tick.total} {tick.what}", file=sys.stderr, flush=True)


def by_all(ws: Workspace, todo: dict[str, tuple[Clip, Words]], device: str) -> tuple[dict[str, Match], str]:
    trained = watched(recogniser_for(ws, units="symbols", device=device, everything=True), "training")
    corpus, texts = Corpus.open(ws), Texts.of(trained, todo, longest=LONGEST)
    clips = [clip for clip, _ in todo.values() if clip.seconds <= LONGEST]
    return {clip.id: texts.match(clip.id, trained.log_probs(corpus.audio(clip))) for clip in clips}, trained.version


def judged(found: dict[str, Match], todo: dict[str, tuple[Clip, Words]], wrong: set[str]) -> dict[str, object]:
    """By the audit's own check, beside what the scores could tell at best."""
    heard = [MeasuredClip(clip=todo[id][0], facts=None, match=match) for id, match in found.items()]
    marks = {one.id for one in DEFINED["mismatch"].look(heard, Thresholds()) if one.mark.severity == "error"}
    right = [id for id in found if id not in wrong]
    bad = [id for id in found if id in wrong]
    scores = {id: match.score or 0.0 for id, match in found.items()}
    apart = {id: scores[id] - float(np.mean(match.chance)) for id, match in found.items() if match.chance}
    limits = mismatch.limits_of(heard, Thresholds())
    return {
        "clips": len(found),
        "wrong": len(bad),
        "found": sum(id in marks for id in bad),
        "found_share": round(sum(id in marks for id in bad) / max(1, len(bad)), 4),
        "false_alarms": sum(id in marks for id in right),
        "false_alarm_share": round(sum(id in marks for id in right) / max(1, len(right)), 4),
        "limit": None if limits is None else round(limits.under, 4),
        "trusted": limits is not None and limits.trusted,
        "median_right": round(float(np.median([scores[id] for id in right])), 4),
        "median_wrong": round(float(np.median([scores[id] for id in bad])), 4),
        "median_cer_right": round(float(np.median([found[id].cer or 0.0 for id in right])), 4),
        "median_cer_wrong": round(float(np.median([found[id].cer or 0.0 for id in bad])), 4),
        "auc_score": round(_auc([scores[id] for id in right], [scores[id] for id in bad]), 5),
        "auc_apart": round(_auc([apart[id] for id in right], [apart[id] for id in bad]), 5),
        "found_at_2_percent": round(_found_at(scores, right, bad, 0.02), 4),
        "found_apart_at_2_percent": round(_found_at(apart, right, bad, 0.02), 4),
        "missed": sorted(id for id in bad if id not in marks),
        "alarms": sorted(id for id in right if id in marks),
    }


def _auc(right: list[float], wrong: list[float]) -> float:
    return float(np.mean([[(r > w) + 0.5 * (r == w) for w in wrong] for r in right]))


def _found_at(scores: dict[str, float], right: list[str], bad: list[str], alarms: float) -> float:
    limit = float(np.quantile([scores[id] for id in right], alarms))
    return float(np.mean([scores[id] < limit for id in bad]))


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("corpus", type=Path)
    asked.add_argument("--language", required=True)
    asked.add_argument("--share", type=float, default=0.05)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--device", default="cuda")
    asked.add_argument("--ways", default="all,cross")
    asked.add_argument("--json", type=Path)
    asked.add_argument("--work", type=Path, help="keep the workspace here")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = given.work or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        names = swapped(given.corpus, place / "source", share=given.share, seed=given.seed)
        if (place / "ws" / "olu.toml").exists():  # go on where an earlier call was ended
            ws = Workspace.open(place / "ws")
        else:
            ws = Workspace.create(place / "ws", language=given.language)
        finish(import_source(ws, place / "source"))
        results: dict[str, object] = {"corpus": given.corpus.name, "share": given.share, "seed": given.seed}
        watched(audit(ws), "audit")
        watched(read_corpus(ws), "reading")
        todo = to_align(ws, Corpus.open(ws))
        for way in given.ways.split(","):
            start = time.time()
            if way == "all":
                found, version = by_all(ws, todo, given.device)
            else:
                found = watched(cross_match(ws, todo, device=given.device, longest=LONGEST), "cross")
                version = "two halves"
            wrong = {id for id, (clip, _) in todo.items() if Path(clip.audio).stem in names}
            results[way] = {"recogniser": version, "minutes": round((time.time() - start) / 60, 2)}
            results[way] |= judged(found, todo, wrong)
            shown = {key: value for key, value in results[way].items() if key not in ("missed", "alarms")}
            print(json.dumps({way: shown}, ensure_ascii=False, indent=1), flush=True)
            if given.json:
                given.json.parent.mkdir(parents=True, exist_ok=True)
                given.json.write_text(json.dumps(results, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""How takes of `xtts_small.py` are understood: letters that the recogniser of each language gets wrong, by kind.

    python benchmarks/xtts_small_heard.py OUT/takes-1.zip WS --ears amh=WS swa=WS [--output FILE]

WS is the workspace that the takes are of; an ear is a workspace with a recogniser of its own that has not learnt from
its held-out side. Intervals are 95 %, by drawing clips anew.
"""

from __future__ import annotations

import argparse
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from olu.core.files import Workspace
from olu.core.types import Audio
from olu.corpus.manifest import Corpus
from olu.evaluate.metrics.cer import compare
from olu.families.recogniser.recognise import Trained, load
from olu.families.runs import ready

NOT_UNDERSTOOD = 0.5  # of the letters wrong
DRAWS = 2000


def ears_of(places: list[str], *, device: str) -> dict[str, Trained]:
    found = {}
    for code, _, place in (one.partition("=") for one in places):
        ws = Workspace.open(Path(place))
        run = ready(ws, units="letters", everything=False)
        if run is None:
            raise SystemExit(f"{place} has no recogniser of letters: olu train {place} --set family=recogniser")
        found[code] = load(run, language=ws.language, device=device)
    return found


def judged(archive: zipfile.ZipFile, ws: Workspace, ears: dict[str, Trained]) -> list[dict[str, Any]]:
    corpus = Corpus.open(ws)
    clips = {clip.id: clip for clip in corpus}
    rows = []
    for row in json.loads(archive.read("index.json")):
        listener = ears.get(row["language"])
        if listener is None:
            continue
        samples, rate = soundfile.read(io.BytesIO(archive.read(row["file"])), dtype="float32")
        expected = "".join(listener.target(corpus.reading(clips[row["clip"]])))
        heard = listener.transcribe(Audio(samples, rate))
        rows.append({**row, "cer": min(1.0, compare(expected, spoken=heard).letters.rate), "expected": expected})
    return rows


def figures(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Of the takes of one kind: a mean over clips, with what it may be for other clips."""
    by_clip: dict[str, list[float]] = {}
    for row in rows:
        by_clip.setdefault(row["clip"], []).append(row["cer"])
    means = np.array([np.mean(one) for one in by_clip.values()])
    drawn = np.random.default_rng(1).choice(means, (DRAWS, len(means))).mean(1)
    found = {
        "takes": float(len(rows)),
        "cer": means.mean(),
        "low": np.quantile(drawn, 0.025),
        "high": np.quantile(drawn, 0.975),
        "not understood": np.mean([row["cer"] > NOT_UNDERSTOOD for row in rows]),
    }
    if "stopped" in rows[0]:
        lengths = [row["length"] for row in rows]
        found["stop failures"] = np.mean([not row["stopped"] for row in rows])
        found["length"] = np.mean(lengths)
        found["length off by a fifth"] = np.mean([abs(one - 1) > 0.2 for one in lengths])
    return {name: round(float(value), 4) for name, value in found.items()}


def main() -> None:
    wish = argparse.ArgumentParser()
    wish.add_argument("takes", type=Path)
    wish.add_argument("workspace", type=Path)
    wish.add_argument("--ears", nargs="+", required=True, metavar="CODE=WS")
    wish.add_argument("--device", default="cpu")
    wish.add_argument("--output", type=Path)
    asked = wish.parse_args()
    ears = ears_of(asked.ears, device=asked.device)
    with zipfile.ZipFile(asked.takes) as archive:
        rows = judged(archive, Workspace.open(asked.workspace), ears)
    found: dict[str, Any] = {}
    for code in sorted(ears):
        kinds = list(dict.fromkeys(row["kind"] for row in rows if row["language"] == code))
        for kind in kinds:
            one = figures([row for row in rows if row["language"] == code and row["kind"] == kind])
            found.setdefault(code, {})[kind] = one
            print(f"{code} {kind:28}", "  ".join(f"{name} {value:g}" for name, value in one.items()), flush=True)
    if asked.output:
        made = {"natural cer of the ears": {code: one.natural_cer for code, one in ears.items()}, **found}
        asked.output.write_text(json.dumps({**made, "takes": rows}, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()

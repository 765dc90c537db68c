"""`python benchmarks/studio_people.py`: what reviewers and phoneticians wait for, with 100,000 clips, all aligned.

As benchmarks/studio.py measures: wall time at the client, CPU time of the server's process.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.studio import CLIPS, HOW, SOUNDS, TURNS, Server, machine, measured, results, start  # noqa: E402
from tests.helpers.clip_workspaces import large_workspace  # noqa: E402

from olu.core.files import Workspace, write_jsonl  # noqa: E402
from olu.corpus.manifest import Corpus  # noqa: E402

PHONES = 40  # of each clip
IDS = [f"recording-{number:06}-{number:08x}" for number in range(SOUNDS)]


def align(ws: Workspace) -> None:
    """An alignment for every clip, as long as real ones are."""
    rows = []
    for clip in Corpus.open(ws):
        step = clip.seconds / PHONES
        phones = [[chr(97 + at % 26), round(at * step, 4), round((at + 1) * step, 4)] for at in range(PHONES)]
        words = [[f"w{at}", phones[4 * at][1], phones[4 * at + 3][2]] for at in range(PHONES // 4)]
        row = {"id": clip.id, "seconds": round(clip.seconds, 4), "score": -0.1, "method": "ctc", "words": words}
        rows.append({**row, "phones": phones})
    write_jsonl(ws.alignment / "alignment.jsonl", rows)


def figures(here: Server) -> list[Sequence[str]]:
    ws, page = "/api/w/large", "/w/large"
    rows: list[Sequence[str]] = []

    def add(what: str, goal: str, work: Callable[[int], object], turns: int = TURNS) -> None:
        p95, spent = measured(here, work, turns)
        rows.append((what, goal, f"p95 {p95:.0f} ms", f"{spent:.1f} ms"))

    def save(n: int) -> None:
        phones = shown[n]["phones"]
        phones[3][2] = phones[4][1] = round(phones[3][2] + 0.005, 4)
        here.ask("POST", f"{ws}/bounds", {"id": IDS[n], "phones": phones, "expect": "", "by": "amina"})

    here.ask("GET", f"{page}/clips")
    add("alignments found in their file, once", "", lambda n: here.ask("GET", f"{page}/align"), 1)
    add("a page of 50 alignments", "p95 50 ms", lambda n: here.ask("GET", f"{page}/align?at={50 * n}"))
    add("a clip to set boundaries in, its numbers", "", lambda n: here.ask("GET", f"{ws}/bounds?id={IDS[n]}"))
    shown = [json.loads(here.ask("GET", f"{ws}/bounds?id={id}")) for id in IDS[:TURNS]]
    add("boundaries, flushed to disk", "p95 80 ms", save)
    add(
        "a text, flushed to disk, with its row back",
        "p95 80 ms",
        lambda n: here.ask("POST", f"{ws}/texts", {"id": IDS[n], "text": f"neno {n}"}),
    )
    add("a clip into one's hands", "", lambda n: here.ask("POST", f"{ws}/hands", {"id": IDS[n], "tab": "a-tab-here"}))
    add("where somebody stopped", "", lambda n: here.ask("POST", f"{ws}/stopped", {"id": IDS[n]}))
    add("a page of clips, with where to go on", "p95 50 ms", lambda n: here.ask("GET", f"{page}/clips"))
    texts = [f"habari za leo {n}" for n in range(TURNS)]
    here.ask("POST", "/api/read", {"ws": "large", "text": "habari"})
    add("live reading", "p95 30 ms", lambda n: here.ask("POST", "/api/read", {"ws": "large", "text": texts[n]}))
    add("fine peaks of a clip of 3 s", "p95 20 ms", lambda n: here.ask("GET", f"{ws}/clips/{IDS[n]}/fine"))
    add("wide spectrogram of a clip of 3 s", "p95 30 ms", lambda n: here.ask("GET", f"{ws}/clips/{IDS[n]}/wide"))
    rows.append(
        ("memory with all this held; at most", "300 MB", f"{here.memory():.0f} MB; {here.memory('VmHWM'):.0f} MB", "")
    )
    return rows


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        align(large_workspace(folder, CLIPS, sounds=SOUNDS, readings=True))
        here, _, _ = start(folder)
        try:
            rows = figures(here)
        finally:
            here.process.terminate()
            here.process.wait(20)
    lines = ["# The studio: review and alignment", "", *machine(f"{HOW}; {PHONES} phones each"), ""]
    lines += ["| what | goal | wall | CPU of the server |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    target = results()
    target.with_name(target.name.replace("studio_", "studio_people_")).write_text("\n".join(lines) + "\n", "utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

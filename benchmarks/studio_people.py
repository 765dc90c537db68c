"""`python benchmarks/studio_people.py`: what reviewers, phoneticians, speakers and listeners wait for.

100,000 clips, all aligned; 300 sentences to read; a listening test of 100 trials.
As benchmarks/studio.py measures: wall time at the client, CPU time of the server's process.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import secrets
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import soundfile

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.studio import CLIPS, HOW, SOUNDS, TURNS, Server, machine, measured, results, start  # noqa: E402
from tests.helpers.clip_workspaces import large_workspace  # noqa: E402

from olu.core.files import Workspace, write_jsonl  # noqa: E402
from olu.core.types import Audio  # noqa: E402
from olu.corpus.manifest import Corpus  # noqa: E402
from olu.corpus.prompts import RecordingPrompt, prompt_id, write_prompts  # noqa: E402
from olu.evaluate.listening import HeardSentence, save_test  # noqa: E402

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


def gather(ws: Workspace) -> None:
    """Sentences to read, and a test to listen to."""
    texts = [f"Sentensi ya {n} ya kusoma leo asubuhi" for n in range(300)]
    write_prompts(ws, [RecordingPrompt(id=prompt_id(text), text=text) for text in texts], ())
    sentences = [HeardSentence(id=f"s{n}", text=f"habari {n}") for n in range(100)]
    rng = np.random.default_rng(1)
    heard = [[Audio(rng.normal(0, 0.1, 48000).astype(np.float32), 24000) for _ in "ab"] for _ in sentences]
    facts = {"kind": "ab", "language": "swa", "made": "", "by": "", "seed": "1"}
    save_test(ws, name="evening", voices=("a", "b"), sentences=sentences, sounds=heard, **facts)  # type: ignore[arg-type]


def take(number: int, seconds: float = 4.0, rate: int = 48000) -> bytes:
    """A take as a phone sends it: noise in syllables, in a quiet room."""
    rng = np.random.default_rng(number)
    at = np.arange(round(seconds * rate)) / rate
    loud = np.clip(np.sin(2 * np.pi * 3 * at), 0, 1) * (at > 0.5) * (at < seconds - 0.5)
    out = io.BytesIO()
    soundfile.write(
        out, 0.1 * loud * rng.normal(size=len(at)) + 2e-4 * rng.normal(size=len(at)), rate, "PCM_16", format="WAV"
    )
    return out.getvalue()


def packed_size(here: Server, page: str) -> str:
    """What a browser is sent for a page, its parts and no font, packed."""
    html = here.ask("GET", page)
    names, sent = set(re.findall(rb"/parts/([\w./-]+)", html)), len(gzip.compress(html))
    known: set[bytes] = set()
    while new := names - known:
        for name in new:
            body = here.ask("GET", f"/parts/{name.decode()}")
            sent += len(gzip.compress(body))
            if name.endswith(b".js"):
                names |= set(re.findall(rb'from "\./([\w./-]+)"', body))
        known |= new
    return f"{sent / 1000:.0f} kB"


def people(here: Server) -> list[Sequence[str]]:
    """Speakers and listeners."""
    ws = "/api/w/large"
    rows: list[Sequence[str]] = []

    def add(what: str, goal: str, work: Callable[[int], object], turns: int = TURNS) -> None:
        p95, spent = measured(here, work, turns)
        rows.append((what, goal, f"p95 {p95:.0f} ms", f"{spent:.1f} ms"))

    made = json.loads(here.ask("POST", "/api/links", {"role": "speaker", "name": "Amina", "ws": "large"}))
    link = made["address"].rpartition("/")[2]
    recorder = f"/api/r/{link}"
    told = json.loads(here.ask("GET", recorder))
    rows.append(("the recorder's page with its parts, packed", "50 kB", packed_size(here, f"/r/{link}"), ""))
    rows.append(("the home page with its parts, packed", "60 kB", packed_size(here, "/"), ""))
    rows.append(("a listener's page with its parts, packed", "60 kB", packed_size(here, "/w/large/listen/evening"), ""))
    here.ask("POST", f"{recorder}/consent", {"name": "Amina", "agreed": True, "sha256": told["consent"]["sha256"]})
    add("the recorder's page", "p95 50 ms", lambda n: here.ask("GET", f"/r/{link}"))
    add("300 sentences and how far the speaker is", "p95 50 ms", lambda n: here.ask("GET", recorder))
    takes = [take(n) for n in range(TURNS)]

    def send(n: int) -> None:
        name, digest = secrets.token_hex(16), hashlib.sha256(takes[n]).hexdigest()
        query = f"prompt={told['prompts'][n]['id']}&sha256={digest}&number={n}"
        here.ask("PUT", f"{recorder}/takes/{name}?{query}", data=takes[n], kind="audio/wav")

    add("a take of 4 s: kept, flushed to disk, judged by the audit's checks", "p95 80 ms", send)
    add("300 sentences, 60 of them read", "p95 50 ms", lambda n: here.ask("GET", recorder))
    test = f"{ws}/listen/evening"
    add("a listener's page", "p95 50 ms", lambda n: here.ask("GET", "/w/large/listen/evening"))
    add("the next trial", "p95 50 ms", lambda n: here.ask("GET", f"{test}/trial"))
    add(
        "an answer, flushed to disk",
        "p95 80 ms",
        lambda n: here.ask("POST", f"{test}/answers", {"n": n, "answer": n % 3}),
    )
    heard = [json.loads(here.ask("GET", f"{test}/trial?n={n}"))["sounds"][0] for n in range(TURNS)]
    add("a sound of 2 s", "p95 60 ms", lambda n: here.ask("GET", f"{test}/sounds/{heard[n]}"))
    return rows


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
        ws = large_workspace(folder, CLIPS, sounds=SOUNDS, readings=True)
        align(ws)
        gather(ws)
        here, _, _ = start(folder)
        try:
            rows = [*people(here), *figures(here)]
        finally:
            here.process.terminate()
            here.process.wait(20)
    lines = [
        "# The studio: recorder, listening, review and alignment",
        "",
        *machine(f"{HOW}; {PHONES} phones each"),
        "",
    ]
    lines += ["| what | goal | wall | CPU of the server |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    target = results()
    target.with_name(target.name.replace("studio_", "studio_people_")).write_text("\n".join(lines) + "\n", "utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

"""`python benchmarks/corpus.py [SRC]`: what import, resampling, opening, splitting, merging and deciding cost.

All figures are CPU time of this process, so that a busy machine changes little. Prints a table and writes it to
benchmarks/results/. SRC is the `src` of another checkout: its figures of deciding stand beside ours.
"""

from __future__ import annotations

import io
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import soundfile

import olu
from olu.core.files import Workspace, write_jsonl
from olu.core.job import finish
from olu.core.types import Clip
from olu.corpus.decisions import Decision, save
from olu.corpus.manifest import Corpus, Source
from olu.stages.import_ import import_source
from olu.stages.merge import merge
from olu.stages.prepare import prepare
from olu.stages.split import choose_sides

RESULTS = Path(__file__).parent / "results"
MINUTES = 30  # of made sound, 44.1 kHz WAV
COUNTS = (1_000, 10_000, 100_000)
FILES = (1_000, 10_000)  # with sound of 50 ms
STREAMED = (500, 2_000)
REPEATS = 5

OPEN = """
import json, re, sys, time
from pathlib import Path
from olu.corpus.manifest import Corpus
from olu.core.files import Workspace

def peak():  # getrusage would count the parent's too
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024

bare = peak()
wall, cpu = time.perf_counter(), time.process_time()
corpus = Corpus.open(Workspace.open(Path(sys.argv[1])))
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
sides = {corpus.split(clip) for clip in corpus}
print(json.dumps([len(corpus), cpu, wall, peak(), bare]))
"""


STREAM = """
import json, re, sys, time
from pathlib import Path
from olu.core.files import Workspace
from olu.stages.import_ import import_source
from olu.core.job import finish
cpu = time.process_time()
summary = finish(import_source(Workspace.open(Path(sys.argv[1])), Path(sys.argv[2])))
cpu = time.process_time() - cpu
peak = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
print(json.dumps([summary.added, cpu, peak]))
"""


# Of older code too, which has no corrections and no table to hold.
DECIDE = """
import json, statistics, sys, time
from pathlib import Path
from olu.core.files import Workspace
from olu.stages.clips import clips
from olu.stages.decide import decide, undo

def cost(work, *, of=range(9)):
    def one(number):
        before = time.process_time()
        work(number)
        return 1000 * (time.process_time() - before)
    return statistics.median(one(number) for number in of)

ws = Workspace.open(Path(sys.argv[1]))
every = [json.loads(line)["id"] for line in (ws.corpus / "clips.jsonl").open(encoding="utf-8")]
ids = every[3 :: len(every) // 9]
found = {
    "a drop": cost(lambda n: decide(ws, [ids[n]], decision="drop")),
    "its undo": cost(lambda n: undo(ws, [ids[n]], decision="drop")),
    "a page of 50 rows, read anew": cost(lambda n: clips(ws, limit=50), of=range(3)),
}
try:
    from olu.stages.clips import ClipTable
    from olu.stages.correct import correct_clip, undo_corrections
except ImportError:
    print(json.dumps(found))
    raise SystemExit
found["a correction"] = cost(lambda n: correct_clip(ws, ids[n], f"another text {n}", by="amina"))
found["its undo, by clip"] = cost(lambda n: undo_corrections(ws, clip=ids[n]))
table = ClipTable(ws)
table.page()
asked = {"expression": "seconds > 3 and speaker != 'speaker7'"}
sort = {**asked, "sort": "-seconds"}
found["a page of 50 rows of a held table"] = cost(lambda n: table.page(start=50 * n, limit=50))
found["with a filter, the first time"] = cost(lambda n: table.page(**asked, limit=50), of=[0])
found["with a filter and a sort, the first time"] = cost(lambda n: table.page(**sort, limit=50), of=[0])
found["again"] = cost(lambda n: table.page(**sort, start=50 * n, limit=50))
for name, question in (("after a correction", {}), ("with a filter", asked), ("with a filter and a sort", sort)):
    times = []
    for id in ids:
        correct_clip(ws, id, f"text of {name}", by="amina")
        times.append(cost(lambda n: table.page(**question, limit=50), of=[0]))
    found[f"a page of 50 rows {name}" + (" after a correction" if question else "")] = statistics.median(times)
print(json.dumps(found))
"""


def main() -> None:
    rows: list[tuple[str, str]] = []
    older = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        rows += resampling(place)
        for count in FILES:
            rows += importing(place / f"files-{count}", count)
        for count in STREAMED:
            rows += streaming(place / f"parquet-{count}", count)
        for count in COUNTS:
            rows += opening(place / f"rows-{count}", count)
        rows += deciding(place, older)
    lines = ["# The corpus", "", *machine(older), "", "| what | figure |", "|---|---|"]
    lines += [f"| {what} | {figure} |" for what, figure in rows]
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"corpus_{platform.machine()}-{os.cpu_count()}core_{time.strftime('%Y%m')}.md"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


def streaming(place: Path, count: int) -> list[tuple[str, str]]:
    """A dataset of five-second clips in parquet, a hundred to a row group, as the hub keeps them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(count)
    place.mkdir()
    (place / "in").mkdir()
    kind = pa.schema({"audio": pa.struct({"bytes": pa.binary(), "path": pa.string()}), "text": pa.string()})
    with pq.ParquetWriter(place / "in" / "train.parquet", kind) as out:
        for first in range(0, count, 100):
            rows = []
            for number in range(first, first + 100):
                data = io.BytesIO()
                soundfile.write(data, random.integers(-3000, 3000, 80_000, dtype=np.int16), 16000, format="WAV")
                rows.append({"audio": {"bytes": data.getvalue(), "path": f"{number}.wav"}, "text": f"text {number}"})
            out.write_table(pa.Table.from_pylist(rows, kind))
    size = (place / "in" / "train.parquet").stat().st_size / 2**20
    ws = Workspace.create(place / "ws", language="eng")
    found = json.loads(subprocess.check_output([sys.executable, "-c", STREAM, str(ws.root), str(place / "in")]))
    assert found[0] == count
    return [
        (f"import of {size:.0f} MB of parquet, hours of audio per CPU-minute", f"{count / 720 * 60 / found[1]:.0f}"),
        ("its peak memory, MB", f"{found[2]:.0f}"),
    ]


def commit_of(place: Path) -> str:
    asked = ["git", "-C", str(place), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True).stdout.strip()


def machine(older: Path | None) -> list[str]:
    commit = commit_of(Path(__file__).parent) + (f" (before: {commit_of(older)})" if older else "")
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    cpu = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    return [
        f"{cpu}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}",
        f"commit {commit}, {time.strftime('%Y-%m-%d')}; CPU time of the process; opening: medians of {REPEATS};"
        f" load of the machine at the end: {os.getloadavg()[0]:.1f}",
    ]


def cpu_of(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def resampling(place: Path) -> list[tuple[str, str]]:
    """From WAV files at 44.1 kHz to the store of 16 kHz samples that training reads."""
    random = np.random.default_rng(0)
    source = place / "long"
    (source / "wavs").mkdir(parents=True)
    clips = MINUTES * 12  # of five seconds
    for number in range(clips):
        shape = np.repeat(random.uniform(0, 0.3, 50), 4410)
        soundfile.write(source / "wavs" / f"{number}.wav", shape * random.standard_normal(len(shape)), 44100)
    _metadata(source, clips)
    ws = Workspace.create(place / "long-ws", language="eng")
    taken = cpu_of(lambda: finish(import_source(ws, source)))
    resampled = cpu_of(lambda: finish(prepare(ws, rate=16000)))
    hours = MINUTES / 60
    return [
        (
            "import and resampling of 44.1 kHz WAV, hours of audio per CPU-minute",
            f"{hours * 60 / (taken + resampled):.1f}",
        ),
        ("the import alone", f"{hours * 60 / taken:.0f}"),
        ("the resampling alone", f"{hours * 60 / resampled:.1f}"),
    ]


def importing(place: Path, count: int) -> list[tuple[str, str]]:
    source = place / "source"
    (source / "wavs").mkdir(parents=True)
    wave = np.random.default_rng(0).integers(-3000, 3000, 800 + count, dtype=np.int16)
    for number in range(count):
        soundfile.write(source / "wavs" / f"{number}.wav", wave[number : number + 800], 16000)
    _metadata(source, count)
    ws = Workspace.create(place / "ws", language="eng")
    first = cpu_of(lambda: finish(import_source(ws, source)))
    again = cpu_of(lambda: finish(import_source(ws, source)))
    return [(f"import of {count:,} short files, CPU seconds; a second time", f"{first:.2f}; {again:.2f}")]


def opening(place: Path, count: int) -> list[tuple[str, str]]:
    """A manifest of made rows; no sound is needed."""
    ws, other = (_made(place / name, count) for name in ("one", "two"))
    opened = [json.loads(subprocess.check_output([sys.executable, "-c", OPEN, str(ws.root)])) for _ in range(REPEATS)]
    assert all(found[0] == count for found in opened)
    cpu, wall, most, bare = (statistics.median(found[at] for found in opened) for at in range(1, 5))
    clips = Corpus.open(ws).clips
    split = cpu_of(lambda: choose_sides(ws, clips))
    merged = cpu_of(lambda: finish(merge(ws, [other.root])))
    return [
        (f"opening {count:,} clips, CPU seconds; wall seconds", f"{cpu:.2f}; {wall:.2f}"),
        (f"memory with {count:,} clips open and split, MB; before", f"{most:.0f}; {bare:.0f}"),
        (f"splitting {count:,} clips, CPU seconds", f"{split:.2f}"),
        (f"merging {count:,} clips into {count:,}, split and all, CPU seconds", f"{merged:.2f}"),
    ]


def deciding(place: Path, before: Path | None) -> list[tuple[str, str]]:
    """One change, and one page of clips, at 100,000 clips with 20,000 marks and 5,000 decisions of a fix."""
    count = COUNTS[-1]

    def figures(name: str, src: Path) -> dict[str, float]:
        ws = _made(place / name, count)
        ids = [clip.id for clip in Corpus.open(ws)]
        marks = ({"id": id, "check": "noise", "severity": "warn", "value": 1.0, "message": "x"} for id in ids[::5])
        write_jsonl(ws.audit_folder / "audit.jsonl", marks)
        save(ws, [Decision(id=id, decision="trim", by="fix", start=0.2, seconds=1.5) for id in ids[::20]])
        environment = {**os.environ, "PYTHONPATH": str(src)}
        told = subprocess.check_output([sys.executable, "-c", DECIDE, str(ws.root)], env=environment)
        return dict(json.loads(told))

    now = figures("now", Path(olu.__file__).parents[1])
    then = figures("then", before) if before else {}
    old = {name: f"; before {then[name]:.0f}" if name in then else "" for name in now}
    return [(f"{name}, {count:,} clips, CPU ms", f"{value:.1f}{old[name]}") for name, value in now.items()]


def _made(place: Path, count: int) -> Workspace:
    random = np.random.default_rng(count + len(place.name))
    lengths, words = random.uniform(2, 12, count), random.integers(0, 5000, (count, 12))
    sound = place / "sound"
    sound.mkdir(parents=True)
    ws = Workspace.create(place / "ws", language="eng")
    clips = [
        Clip(
            id=f"{place.name}-recording-{number:06}-{number:08x}",
            audio=f"s1/wavs/speaker{number % 20}/recording-{number:06}.wav",
            seconds=round(float(lengths[number]), 6),
            rate=44100,
            text=" ".join(f"word{word}" for word in words[number]),
            language="eng",
            speaker=f"speaker{number % 20}",
        )
        for number in range(count)
    ]
    files = ({"audio": c.audio, "sha256": f"{c.id:>064}", "bytes": 100_000, "mtime_ns": 10**18} for c in clips)
    write_jsonl(ws.corpus / "files.jsonl", files)
    first = sound / clips[0].audio.removeprefix("s1/")  # without any recording the source would be a lost one
    first.parent.mkdir(parents=True)
    first.write_bytes(bytes(100_000))
    os.utime(first, ns=(10**18, 10**18))
    Corpus.save(ws, clips, [Source(name="s1", root=str(sound), layout="ljspeech")], choose_sides(ws, clips))
    return ws


def _metadata(source: Path, clips: int) -> None:
    text = "\n".join(f"{number}|this is sentence number {number} of a made corpus" for number in range(clips))
    (source / "metadata.csv").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

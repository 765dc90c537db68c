"""Speaking on a CPU: Olu's voice package, transformers and piper-tts with the same weights, as ratios within one run.

    python benchmarks/speak.py [--base ../shared/base/amh-mms-20min] [--repeats 7]

`--base` is a VITS checkpoint of transformers with examples.json (texts and ids). Without it, only what an acoustic
model with its vocoder costs beside VITS `small`, both on one thread. Writes benchmarks/results/.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.helpers.packages import random_acoustic

RESULTS = Path(__file__).parent / "results"
LETTERS = "abcdefghijklmnopqrstuvwxyz .,?!'"
PARAGRAPH = (
    "habari ya asubuhi, karibu sana nyumbani kwetu, tunafurahi kukuona tena baada ya siku nyingi. "
    "leo tutazungumza kuhusu lugha zetu na jinsi zinavyoandikwa. kila lugha ina sauti zake. "
) * 3
AMHARIC = "እንኳን ደህና መጣችሁ። ሰላም ነው እንዴት ናችሁ ሁላችሁም።"  # for the voice inside Olu, which is VITS `small`
Row = tuple[str, str, str]

COLD = {
    "Olu": """
import sys
from olu.speak.voice import Voice
next(Voice.open(sys.argv[1]).stream(sys.argv[2]))
""",
    "Olu, whole sentence": """
import sys
from olu.speak.voice import Voice
Voice.open(sys.argv[1]).speak(sys.argv[2])
""",
    "transformers": """
import sys, json, torch
from transformers import VitsModel
model = VitsModel.from_pretrained(sys.argv[1]).eval()
with torch.no_grad():
    model(torch.tensor([json.loads(sys.argv[2])]))
""",
    "piper": """
import sys, json
from piper import PiperVoice
PiperVoice.load(sys.argv[1]).phoneme_ids_to_audio(json.loads(sys.argv[2]))
""",
}
MEMORY = """
import re, sys
from olu.speak.voice import Voice
voice = Voice.open(sys.argv[1])
for _ in range(3):
    voice.speak(sys.argv[2])
    list(voice.stream(sys.argv[2]))
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024)  # maxrss counts the parent's
"""
SAME = """
import sys, hashlib
from olu.speak.voice import Voice
print(hashlib.sha256(Voice.open(sys.argv[1], threads=int(sys.argv[3])).speak(sys.argv[2], seed=7).samples).hexdigest())
"""


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--base", type=Path)
    options.add_argument("--repeats", type=int, default=7)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as place:
        rows = acoustic_rows(Path(place), given.repeats)
        if given.base:
            made = make(Path(place), given.base)
            rows += [
                *speed(made, given.repeats),
                *first_audio(made, given.repeats),
                *cold(made, given.repeats),
                *rest(made),
            ]
    lines = ["# Speaking", "", *machine(given.repeats), "", "| what | goal | found |", "|---|---|---|"]
    lines += [f"| {what} | {goal} | {found} |" for what, goal, found in rows]
    RESULTS.mkdir(exist_ok=True)
    kind = "speaking" if given.base else "speaking_acoustic"
    path = RESULTS / f"{kind}_{platform.machine()}-{os.cpu_count()}core_{time.strftime('%Y%m')}.md"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


# ---------------------------------------------------------------- what is compared


def make(place: Path, base: Path) -> dict[str, Any]:
    """The same weights as a voice package, for transformers and for piper; and a random voice of size `small`."""
    from olu.core.config import check
    from olu.core.job import finish
    from olu.families import family
    from olu.families.vits.export import one_graph
    from olu.stages.export import export

    examples = json.loads((base / "examples.json").read_text(encoding="utf-8"))
    examples.sort(key=lambda row: len(row["ids"]))
    finish(export(base, to="voice", output=place / "voice.voice"))
    vits = family("vits")
    assert vits.bases is not None
    read = vits.bases.read(base)
    learner = vits.learner(
        check(vits.config, read.settings, where=str(base)), vocab_size=len(read.symbols), num_speakers=1
    )
    read.load(learner)
    one_graph(learner, path=place / "piper.onnx")
    finish(export(base, to="piper", output=place / "piper"))
    shutil.copy(next((place / "piper").glob("*.onnx.json")), place / "piper.onnx.json")
    small(place / "small.voice")
    return {
        "voice": place / "voice.voice",
        "small": place / "small.voice",
        "hf": base,
        "piper": place / "piper.onnx",
        "short": examples[0],
        "all": examples,
    }


def small(path: Path) -> None:
    """Random weights, durations like speech: what speaking costs does not depend on what is said."""
    import torch

    from olu.core.job import finish
    from olu.export.package import Contents, write_package
    from olu.families import family
    from olu.text.characters import CharacterFrontend
    from olu.text.languages import load
    from olu.text.vocabulary import SymbolVocabulary

    vits = family("vits")
    torch.manual_seed(3)
    learner = vits.learner(vits.config(size="small"), vocab_size=len(LETTERS) + 1, num_speakers=1)
    with torch.no_grad():
        learner.gen.duration_predictor.proj.bias.add_(0.9)
    contents = Contents(
        name="small",
        family="vits",
        language=load("swa"),
        frontend=CharacterFrontend("swa", inventory=LETTERS),
        vocabulary=SymbolVocabulary.of(LETTERS),
        speakers=["default"],
        sentences=["habari ya asubuhi."],
        scores={},
        facts={},
    )
    finish(write_package(path, contents, graphs=lambda folder: vits.speaks.export(learner, folder=folder)))


# ---------------------------------------------------------------- measures


def acoustic_rows(place: Path, repeats: int) -> list[Row]:
    """CPU-seconds a second of speech on one thread, and until the first sound of six seconds; in turns with VITS."""
    from olu.speak.voice import Voice

    random_acoustic(place / "acoustic.voice")
    mel, vits = Voice.open(place / "acoustic.voice", threads=1), Voice.open("embedded", threads=1)
    text = PARAGRAPH.partition(".")[0].replace(",", "")
    speed, steps = mel.speak(text).seconds / 6.0, {"steps": 4}
    pitched = mel.plan(text, speed=speed)  # six seconds

    def first(voice: Voice, text: str, **wishes: Any) -> float:
        stream = voice.stream(text, **wishes)
        next(stream)
        stream.close()
        return 1.0

    ways: dict[str, Callable[[], float]] = {
        "acoustic, 4 steps": lambda: mel.speak(text, melody=pitched, knobs=steps).seconds,
        "acoustic, its mean": lambda: mel.speak(text, melody=pitched, knobs={"steps": 0}).seconds,
        "VITS small": lambda: vits.speak(AMHARIC).seconds,
        "first sound": lambda: first(mel, text, melody=pitched, knobs=steps),
        "first sound of VITS small": lambda: first(vits, AMHARIC),
        "opening": lambda: float(Voice.open(place / "acoustic.voice", threads=1).rate > 0),
    }
    costs = {name: statistics.median(found) for name, found in in_turns(ways, repeats, clock=time.process_time).items()}
    size = sum(file.stat().st_size for file in (place / "acoustic.voice").rglob("*") if file.is_file()) / 1e6
    goals = {"acoustic, 4 steps": "<= 0.035", "first sound": "<= 0.15"}
    rows = [(f"CPU-seconds: {name}", goals.get(name, ""), f"{cost:.4f}") for name, cost in costs.items()]
    return [*rows, ("the package of an acoustic model and its vocoder, MB", "<= 20", f"{size:.1f}")]


def speed(made: dict[str, Any], repeats: int) -> list[Row]:
    """Seconds of work per second of speech, one after the other in turns."""
    import onnxruntime
    import torch
    from piper import PiperVoice
    from piper.config import PiperConfig
    from transformers import VitsModel

    from olu.speak.voice import Voice

    row = ten_seconds(made)
    ids, rows = row["ids"], list[Row]()
    model = VitsModel.from_pretrained(made["hf"]).eval()
    rate = model.config.sampling_rate
    config = PiperConfig.from_dict(json.loads(Path(f"{made['piper']}.json").read_text(encoding="utf-8")))

    def transformers() -> float:
        with torch.no_grad():
            return model(torch.tensor([ids])).waveform.shape[1] / rate

    for threads, goal in ((1, 1.3), (2, 1.1)):
        torch.set_num_threads(threads)
        voice = Voice.open(made["voice"], threads=threads)
        session = onnxruntime.SessionOptions()
        session.intra_op_num_threads = threads
        piper = PiperVoice(onnxruntime.InferenceSession(str(made["piper"]), session), config)
        ways: dict[str, Callable[[], float]] = {
            "olu": lambda voice=voice: voice.speak(row["text"]).seconds,
            "transformers": transformers,
            "piper": lambda piper=piper: len(piper.phoneme_ids_to_audio(ids)) / rate,
        }
        costs = in_turns(ways, repeats)
        ratio = {name: statistics.median(np.divide(costs[name], costs["olu"])) for name in costs}
        shown = ", ".join(f"{name} {statistics.median(cost):.3f}" for name, cost in costs.items())
        per = f"seconds a second of speech: {shown}"
        rows.append(
            (f"{threads} thread(s), transformers' time / ours", f">= {goal}", f"{ratio['transformers']:.2f} ({per})")
        )
        rows.append((f"{threads} thread(s), our time / piper's", "<= 1.05", f"{1 / ratio['piper']:.2f}"))
    return rows


def ten_seconds(made: dict[str, Any]) -> dict[str, Any]:
    """The example whose speech is closest to ten seconds."""
    from olu.speak.voice import Voice

    voice = Voice.open(made["voice"])
    return min(made["all"], key=lambda row: abs(voice.speak(row["text"]).seconds - 10))


def in_turns(
    ways: dict[str, Callable[[], float]], repeats: int, *, clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    costs: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        way()
    for _ in range(repeats):
        for name, way in ways.items():
            started = clock()
            spoken = way()
            costs[name].append((clock() - started) / spoken)
    return costs


def first_audio(made: dict[str, Any], repeats: int) -> list[Row]:
    from olu.speak.voice import Voice

    rows = []
    long = " ".join(row["text"] for row in sorted(made["all"], key=lambda row: -len(row["ids"])))
    for size, text in (("voice", long), ("small", PARAGRAPH)):
        voice = Voice.open(made[size])
        sentence = next(voice.stream(text)).sentence.text
        starts, wholes = list[float](), list[float]()
        for _ in range(repeats + 1):
            started = time.perf_counter()
            stream = voice.stream(text)
            next(stream)
            starts.append(time.perf_counter() - started)
            stream.close()
            started = time.perf_counter()
            voice.speak(sentence)
            wholes.append(time.perf_counter() - started)
        share = statistics.median(np.divide(starts[1:], wholes[1:]))
        what = "mms" if size == "voice" else "small"
        rows.append((f"first audio of a paragraph / its whole first sentence, {what}", "<= 0.15", f"{share:.3f}"))
        rows.append(
            (
                f"first audio of a paragraph, {what}, ms",
                "<= 150" if what == "small" else "",
                f"{millis(starts)} (whole sentence {millis(wholes)})",
            )
        )
    return rows


def millis(times: list[float]) -> str:
    return f"{1000 * statistics.median(times[1:]):.0f}"


def cold(made: dict[str, Any], repeats: int) -> list[Row]:
    """From the start of a process to the first sample; a short sentence, one that is not streamed by the others."""
    ids, text = json.dumps(made["short"]["ids"]), made["short"]["text"]
    given = {
        "Olu": (made["voice"], text),
        "Olu, whole sentence": (made["voice"], text),
        "transformers": (made["hf"], ids),
        "piper": (made["piper"], ids),
    }
    wall: dict[str, list[float]] = {name: [] for name in COLD}
    cpu: dict[str, list[float]] = {name: [] for name in COLD}
    for turn in range(repeats + 1):
        for name, code in COLD.items():
            before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run([sys.executable, "-c", code, *map(str, given[name])], check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if turn:  # the first one fills the disk's cache
                wall[name].append(time.perf_counter() - started)
                cpu[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    rows = []
    for what, times in (("wall", wall), ("CPU", cpu)):
        shown = ", ".join(f"{name} {statistics.median(found):.2f}" for name, found in times.items())
        for other, goal in (("transformers", "<= 0.5"), ("piper", "<= 1.0")):
            ratio = statistics.median(np.divide(times["Olu"], times[other]))
            rows.append((f"cold start, {what} seconds, ours / {other}", goal, f"{ratio:.2f} ({shown})"))
    return rows


def rest(made: dict[str, Any]) -> list[Row]:
    def run(code: str, *arguments: object) -> str:
        return subprocess.run(
            [sys.executable, "-c", code, *map(str, arguments)], check=True, capture_output=True, text=True
        ).stdout.strip()

    heard = {run(SAME, made["voice"], made["short"]["text"], threads) for threads in (1, 1, 2)}
    size = sum(file.stat().st_size for file in made["small"].rglob("*") if file.is_file()) / 2**20
    return [
        ("peak memory, small, a paragraph three times, MiB", "<= 400", run(MEMORY, made["small"], PARAGRAPH)),
        (
            "the same text and seed in three processes, 1, 1 and 2 threads",
            "equal",
            "equal" if len(heard) == 1 else "NOT equal",
        ),
        ("the package of size small, MiB", "", f"{size:.1f}"),
    ]


def machine(repeats: int) -> list[str]:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    path = Path("/proc/cpuinfo")
    names = (
        [line.split(":")[1].strip() for line in path.read_text().splitlines() if line.startswith("model name")]
        if path.exists()
        else []
    )
    return [
        f"{(names or [platform.machine()])[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end",
        f"commit {commit}, {time.strftime('%Y-%m-%d')}; medians of {repeats}; transformers eager; piper-tts with fp32",
    ]


if __name__ == "__main__":
    main()

"""`make bench`: what the walking path costs on this machine, as ratios within one run. Writes benchmarks/results/."""

from __future__ import annotations

import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
import soundfile
import torch
from transformers import VitsConfig as TheirConfig
from transformers import VitsModel

from olu.core.files import Workspace
from olu.core.job import finish
from olu.families import family
from olu.families.vits.config import VitsConfig
from olu.families.vits.export import export
from olu.families.vits.weights import fold, load_plain
from olu.stages.audit import audit
from olu.stages.import_ import import_source
from olu.stages.prepare import prepare
from olu.train.family import Clock, Example

RESULTS = Path(__file__).parent / "results"
REPEATS = 7
FRAMES = 313  # five seconds of speech
MINUTES = 20  # of made sound, 44.1 kHz WAV


def main() -> None:
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as place:
        rows = [*start_up(), *corpus(Path(place)), *training(), *speaking(Path(place))]
    lines = ["# The walking path", "", *machine(), "", "| what | figure |", "|---|---|"]
    lines += [f"| {what} | {figure} |" for what, figure in rows]
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"walking-path_{platform.machine()}-{os.cpu_count()}core_{time.strftime('%Y%m')}.md"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


def machine() -> list[str]:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    cpu = next(
        (line.split(":")[1].strip() for line in _cpu_lines() if line.startswith("model name")), platform.machine()
    )
    return [
        f"{cpu}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}",
        f"commit {commit}, {time.strftime('%Y-%m-%d')}; torch {torch.__version__}; medians of {REPEATS} where repeated",
    ]


def _cpu_lines() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def cpu_of(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def median_seconds(work: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def start_up() -> list[tuple[str, str]]:
    times = []
    for _ in range(REPEATS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "olu", "--help"], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return [("`olu --help`, CPU seconds", f"{statistics.median(times):.2f}")]


def corpus(place: Path) -> list[tuple[str, str]]:
    random = np.random.default_rng(0)
    source = place / "source"
    (source / "wavs").mkdir(parents=True)
    clips = MINUTES * 12
    for number in range(clips):  # five seconds each
        shape = np.repeat(random.uniform(0, 0.3, 50), 4410)
        wave = shape * random.standard_normal(len(shape))
        soundfile.write(source / "wavs" / f"{number}.wav", wave, 44100)
    text = "\n".join(f"{number}|this is sentence number {number} of a made corpus" for number in range(clips))
    (source / "metadata.csv").write_text(text, encoding="utf-8")
    ws = Workspace.create(place / "ws", language="eng")
    hours = MINUTES / 60
    rows = []
    for name, work in (
        ("import", lambda: finish(import_source(ws, source))),
        ("audit", lambda: finish(audit(ws))),
        ("prepare (44.1 to 16 kHz)", lambda: finish(prepare(ws, rate=16000))),
    ):
        rows.append((f"{name}, hours of audio per CPU-minute", f"{hours / (cpu_of(work) / 60):.0f}"))
    return rows


def training() -> list[tuple[str, str]]:
    sizes = ("tiny", "small")
    return [(f"training step, size {size}, 4 clips of 3 s, seconds", f"{step_seconds(size):.2f}") for size in sizes]


def step_seconds(size: str) -> float:
    learner = family("vits").learner(VitsConfig(size=size), vocab_size=40, num_speakers=1).train()
    random = np.random.default_rng(0)
    waves = random.integers(-3000, 3000, (4, 48000)).astype(np.int16)
    batch = learner.collate([Example(str(n), tuple(random.integers(0, 40, 81)), waves[n], 0) for n in range(4)])
    parts = learner.parts()
    optimisers = {name: torch.optim.AdamW(part.module.parameters(), lr=1e-4) for name, part in parts.items()}

    def step() -> None:
        for update in learner.step(batch, Clock(0, 1)):
            total = sum(loss.sum * loss.weight / batch.counts[loss.over] for loss in update.losses.values())
            total.backward(inputs=list(parts[update.part].module.parameters()))
            optimisers[update.part].step()
            optimisers[update.part].zero_grad()

    step()
    return median_seconds(step)


def speaking(place: Path) -> list[tuple[str, str]]:
    theirs = VitsModel(TheirConfig(vocab_size=40, use_stochastic_duration_prediction=False)).eval()
    mms, small = decoder_seconds(place, "mms", theirs), decoder_seconds(place, "small", None)
    latents = torch.randn(1, 192, FRAMES)
    with torch.no_grad():
        eager = median_seconds(lambda: theirs.decoder(latents))
    return [
        ("decoder, mms size: ONNX Runtime against transformers, times as fast", f"{eager / mms:.2f}"),
        ("decoder: size small against mms, times as fast", f"{mms / small:.1f}"),
        ("decoder, size small, seconds per second of speech", f"{small / (FRAMES * 256 / 16000):.3f}"),
    ]


def decoder_seconds(place: Path, size: str, weights: VitsModel | None) -> float:
    config = VitsConfig(size=size, use_stochastic_duration_prediction=False)
    learner = family("vits").learner(config, vocab_size=40, num_speakers=1)
    if weights is not None:
        load_plain(learner.gen, fold(weights.state_dict()))
    folder = place / size
    folder.mkdir()
    export(learner, folder=folder)
    decoder = onnxruntime.InferenceSession(str(folder / "decoder.onnx"), providers=["CPUExecutionProvider"])
    latents = np.random.default_rng(0).standard_normal((1, config.flow_size, FRAMES), np.float32)
    return median_seconds(lambda: decoder.run(None, {"latents": latents}))


if __name__ == "__main__":
    main()

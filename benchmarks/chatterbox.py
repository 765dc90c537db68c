"""Chatterbox at its full size with drawn weights: what speaking costs, when the first sound comes, what opening takes.

    python benchmarks/chatterbox.py [--voices multilingual-8 nano-8] [--codes 75] [--output results/chatterbox_....md]

A voice is a size of T3 and the bits of its weights; the decoder is the mean flow of two steps, unless `-ten` is put
behind, and the reference has 4 seconds. CPU seconds of one thread, not wall clock, so that a busy machine changes
little. Weights are drawn: nothing here is about how it sounds. About 5 GB of memory and 1.5 GB of disk.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

LETTERS = "abcdefghijklmnopqrstuvwxyz .,?!'-"
TEXT = "habari ya asubuhi, karibu sana nyumbani kwetu, tunafurahi."
REFERENCE_CODES = 100  # 4 s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--voices", nargs="+", default=["multilingual-8", "nano-8"])
    parser.add_argument("--codes", type=int, default=75)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--measure", type=Path)
    asked = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if asked.measure:
        measure(asked.measure, codes=asked.codes)
        return
    rows = [_heading(asked)]
    for name in asked.voices:
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "x.voice"
            made = make(path, *name.split("-"))
            gc.collect()
            command = [sys.executable, __file__, "--measure", str(path), "--codes", str(asked.codes)]
            told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            rows += [f"\n## {name}\n", "| what | figure |\n|---|---|", *made, told.strip()]
            print("\n".join(rows[-3:]), flush=True)
    if asked.output:
        asked.output.write_text("\n".join(rows) + "\n", encoding="utf-8")


def _heading(asked: argparse.Namespace) -> str:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    import onnxruntime

    return (
        f"# Chatterbox with drawn weights: speaking\n\n{platform.machine()}, {os.cpu_count()} cores, one thread,"
        f" onnxruntime {onnxruntime.__version__}, commit {commit.strip()}, load {os.getloadavg()[0]:.1f};"
        f" {asked.codes} codes, a reference of 4 s. CPU seconds. By benchmarks/chatterbox.py."
    )


# ---------------------------------------------------------------- a voice of the full size


def make(path: Path, size: str, bits: str, steps: str = "two") -> list[str]:
    import torch

    from olu.core.job import finish
    from olu.export.package import Contents, write_package
    from olu.families.chatterbox.codec.flow import S3Flow
    from olu.families.chatterbox.codec.hift import HiFT
    from olu.families.chatterbox.codec.sizes import S3GenSizes
    from olu.families.chatterbox.config import ChatterboxConfig
    from olu.families.chatterbox.export import VoiceReference, write_voice
    from olu.families.chatterbox.model import T3
    from olu.families.chatterbox.voice import knobs
    from olu.speak.engines import knob_row
    from olu.text.characters import CharacterFrontend
    from olu.text.languages import load
    from olu.text.pieces import PieceVocabulary

    config = ChatterboxConfig(size=size, meanflow=steps == "two")  # type: ignore[arg-type]
    torch.manual_seed(0)
    t3 = T3(config, vocab_size=2454 if config.backbone == "llama" else 50_276).eval()
    sizes = S3GenSizes.of(config)
    flow, hift = S3Flow(sizes).eval(), HiFT(sizes).eval()
    with torch.no_grad():
        t3.speech_head.weight[config.stop_code] = 0.0  # it goes on for as long as it may
        if t3.speech_head.bias is not None:
            t3.speech_head.bias[config.stop_code] = -30.0
        hift.f0_predictor.classifier.bias.fill_(150.0)
        prompt = torch.randint(0, config.codes, (1, config.prompt_codes))
        rows = t3.condition(torch.rand(1, config.voice_width), prompt)[0]
        speaker = flow.speaker(torch.randn(1, sizes.vector))[0]
    codes, mel = torch.randint(0, config.codes, (REFERENCE_CODES,)), torch.randn(2 * REFERENCE_CODES, 80)

    def graphs(folder: Path) -> dict[str, Any]:
        rules = {"least": 0.0, "most": 1.0, "usual": 1.0}
        references = [VoiceReference(rows, codes, mel, speaker)]
        facts = write_voice(t3, flow, hift, folder, references=references, bits=int(bits), rules=rules)
        return {**facts, "engine": "flow", "knobs": {one.name: knob_row(one) for one in knobs(config)}}

    held = Contents(
        name=size,
        family="chatterbox",
        language=load("swa"),
        frontend=CharacterFrontend("swa", inventory=LETTERS),
        vocabulary=PieceVocabulary.learn([LETTERS], tag="sw"),
        speakers=["one"],
        sentences=["a."],
        scores={},
        facts={"run": "none"},
    )
    with taken() as spent:
        finish(write_package(path, held, graphs=graphs))
    files = {file.name: file.stat().st_size for file in path.iterdir() if file.is_file()}
    return [
        f"| package | {sum(files.values()) / 1e9:.2f} GB (step.onnx {files['step.onnx'] / 1e9:.2f},"
        f" flow_step.onnx {files['flow_step.onnx'] / 1e9:.2f}) |",
        f"| writing it | {spent():.1f} s; memory at its highest {_memory('VmHWM'):.1f} GB |",
    ]


# ---------------------------------------------------------------- measuring, in a process of its own


def measure(path: Path, *, codes: int) -> None:
    from olu.speak.engines.flow import FlowMaking, SoundJob
    from olu.speak.engines.sampling import Sampler
    from olu.speak.voice import Voice

    with taken() as spent:
        voice = Voice.open(path, threads=1)
    rows = [f"| opening, its digests remembered | {spent():.2f} s; {_memory('VmRSS'):.2f} GB then |"]
    engine: Any = voice.engine
    ids = voice.vocabulary.encode(voice.frontend.read(TEXT))
    knobs = {name: knob.default for name, knob in voice.knobs.items()}
    sampler = Sampler.of(knobs, np.random.default_rng(0))
    told = {"guidance": knobs.get("guidance", 0.0)}
    with taken() as spent:
        run = engine.writer.begun(ids, 0, sampler, engine.writer.rules, **told)
    rows.append(f"| prefix of {run.length} rows{', twice' if run.rows == 2 else ''} | {spent():.2f} s |")
    begun = spent()
    with taken() as spent:
        while len(run.codes) < codes and not run.over:
            engine.writer.advance([run])
    seconds = len(run.codes) * engine.writer.code_seconds
    total = spent() + begun
    rows.append(f"| T3, a second of speech ({len(run.codes)} codes) | {spent() / seconds:.2f} |")
    some = [engine.writer.begun(ids, 0, sampler, engine.writer.rules, **told) for _ in range(4)]
    with taken() as spent:
        engine.writer.advance(some)
    each = sum(len(one.codes) for one in some) * engine.writer.code_seconds
    rows.append(f"| the same for four sentences together | {spent() / each:.2f} |")
    sound = engine._begun_sound(_making(engine, FlowMaking), _manner())
    with taken() as spent:
        mel = engine._mel(SoundJob(sound, tuple(run.codes), True))
    total += spent()
    rows.append(f"| the flow, a second of speech | {spent() / seconds:.2f} |")
    engine._mel = lambda job: mel
    with taken() as spent:
        engine._sound(SoundJob(sound, tuple(run.codes), True))
    del engine._mel
    total += spent()
    rows.append(f"| pitch, source and vocoder | {spent() / seconds:.2f} |")
    rows.append(f"| **all of it, a second of speech** | **{total / seconds:.2f}** |")
    with taken() as spent:
        piece = next(voice.stream(TEXT, seed=1))
    rows.append(f"| first sound ({len(piece.audio.samples) / 24000:.2f} s of it) after | {spent():.2f} s |")
    rows.append(f"| memory at its highest | {_memory('VmHWM'):.2f} GB |")
    print("\n".join(rows))


def _making(engine: Any, kind: Any) -> Any:
    from olu.speak.engines import ChunkPlan, LineJob
    from olu.speak.stream import ReadLine

    plan = ChunkPlan.of(0.02, context=16, quick=False)
    job = LineJob(ReadLine("a", None), 0, 0.0, 0, plan)
    return kind(job, engine.writer.rules, (), 1.0, None, None, None, [], 1)


def _manner() -> Any:
    from olu.speak.stream import Manner

    return Manner()


def _memory(name: str) -> float:
    """Of this process alone: what getrusage says begins with its parent's."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(name)) / 1e6


@contextmanager
def taken() -> Iterator[Callable[[], float]]:
    """CPU seconds of what stands inside."""
    begin, ended = time.process_time(), list[float]()
    yield lambda: (ended[0] if ended else time.process_time()) - begin
    ended.append(time.process_time())


if __name__ == "__main__":
    main()

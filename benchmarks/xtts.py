"""XTTS v2 at its full size with drawn weights: what speaking costs, when the first sound comes, what opening takes.

    python benchmarks/xtts.py [--bits 8 16] [--layers 30] [--codes 150] [--output results/xtts_....md]

CPU seconds, not wall clock, so that a busy machine changes little. Weights are drawn: nothing here is about how it
sounds. About 5 GB of memory and 1.5 GB of disk.
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
TEXT = "habari ya asubuhi, karibu sana nyumbani kwetu, tunafurahi kukuona tena baada ya siku nyingi."
CODE_SECONDS = 1024 / 22050


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bits", type=int, nargs="+", default=[8, 16], choices=(8, 16, 32))
    parser.add_argument("--layers", type=int, default=30)
    parser.add_argument("--codes", type=int, default=150)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--measure", type=Path)
    asked = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if asked.measure:
        measure(asked.measure, codes=asked.codes)
        return
    rows = [_heading(asked)]
    with tempfile.TemporaryDirectory() as place:
        for bits in asked.bits:
            path = Path(place) / f"{bits}.voice"
            made = make(path, bits=bits, layers=asked.layers)
            gc.collect()
            command = [sys.executable, __file__, "--measure", str(path), "--codes", str(asked.codes)]
            told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            rows += [f"\n## {bits} bits\n", "| what | figure |\n|---|---|", *made, told.strip()]
            print("\n".join(rows[-3:]), flush=True)
    if asked.output:
        asked.output.write_text("\n".join(rows) + "\n", encoding="utf-8")


def _heading(asked: argparse.Namespace) -> str:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    import onnxruntime

    return (
        f"# XTTS v2 with drawn weights: speaking\n\n{platform.machine()}, {os.cpu_count()} cores, one thread,"
        f" onnxruntime {onnxruntime.__version__}, commit {commit.strip()}, load {os.getloadavg()[0]:.1f};"
        f" {asked.layers} blocks, {asked.codes} codes. CPU seconds."
    )


# ---------------------------------------------------------------- a voice of the full size


def make(path: Path, *, bits: int, layers: int) -> list[str]:
    import torch

    from olu.core.job import finish
    from olu.export.package import Contents, write_package
    from olu.families.xtts.config import XttsConfig
    from olu.families.xtts.export import write_voice
    from olu.families.xtts.model import Gpt, SoundMaker
    from olu.families.xtts.voice import knobs
    from olu.speak.engines import knob_row
    from olu.text.characters import CharacterFrontend
    from olu.text.languages import load
    from olu.text.pieces import PieceVocabulary

    vocabulary = PieceVocabulary.learn([LETTERS], tag="sw")
    config = XttsConfig(size="v2", layers=layers, text_start=3)
    torch.manual_seed(0)
    gpt, sound = Gpt(config, vocab_size=6681), SoundMaker(config)
    with torch.no_grad():
        for value in gpt.parameters():
            value.add_(0.01 * torch.randn_like(value))
        gpt.mel_head.bias[config.stop_code] = -30.0  # it goes on for as long as it may
    gpt.eval()

    def graphs(folder: Path) -> dict[str, Any]:
        given = {"prompts_SKD": torch.randn(1, 32, 1024), "speakers_SG": torch.randn(1, 512)}
        rules = {"least": 0.0, "most": 1.7, "usual": 1.0}
        decoder = sound.waveform_decoder
        facts = write_voice(gpt, decoder, folder, **given, bits=bits, rules=rules)
        return {**facts, "engine": "tokens", "knobs": {one.name: knob_row(one) for one in knobs(config)}}

    held = Contents(
        name="v2",
        family="xtts",
        language=load("swa"),
        frontend=CharacterFrontend("swa", inventory=LETTERS),
        vocabulary=vocabulary,
        speakers=["one"],
        sentences=["habari ya asubuhi."],
        scores={},
        facts={"run": "none"},
    )
    with taken() as spent:
        finish(write_package(path, held, graphs=graphs))
    sizes = {file.name: file.stat().st_size for file in path.iterdir() if file.is_file()}
    rows = [
        f"| package | {sum(sizes.values()) / 1e9:.2f} GB (step.onnx {sizes['step.onnx'] / 1e9:.2f},"
        f" decoder.onnx {sizes['decoder.onnx'] / 1e9:.3f}) |",
        f"| writing it | {spent()} |",
    ]
    if bits == 8:
        rows.append(f"| likeliest code as in 32 bits, of 100 | {_same(path, gpt)} |")
    return rows


def _same(path: Path, gpt: Any) -> str:
    """How often 8 bits and torch in 32 bits find the same code the likeliest, after the same codes."""
    import torch

    from olu.nn.causal import Cache
    from olu.speak.voice import Voice

    engine: Any = Voice.open(path, threads=1).engine
    torch.manual_seed(1)
    codes = torch.randint(0, 1024, (1, 100))
    rows = torch.randn(1, 60, 1024) * 0.3
    stepper, cache, same, apart = engine.writer.step.cache(200), Cache(), 0, 0.0
    length = 0
    with torch.no_grad():
        for at in range(100):
            if at:
                rows = gpt.code_rows(codes[:, at : at + 1], first=at)
            length += rows.shape[1]
            made = stepper.run(rows.numpy(), [length])["logits"].reshape(-1)
            wanted = gpt.mel_head(gpt.latents(rows, cache=cache)[0, -1]).numpy()
            same += int(made.argmax()) == int(wanted.argmax())
            apart = max(apart, float(np.abs(made - wanted).max() / np.abs(wanted[:1024]).max()))
    return f"{same} (logits at most {apart:.1%} of the largest apart)"


# ---------------------------------------------------------------- measuring, in a process of its own


def measure(path: Path, *, codes: int) -> None:
    from olu.speak.engines.sampling import Sampler
    from olu.speak.voice import Voice

    with taken() as spent:
        voice = Voice.open(path, threads=1)
    rows = [
        f"| opening, its digests remembered | {spent()} |",
        f"| memory then, and at its highest till then | {_memory('VmRSS'):.2f} GB, {_memory('VmHWM'):.2f} GB |",
    ]
    engine: Any = voice.engine
    ids = voice.vocabulary.encode(voice.frontend.read(TEXT))
    knobs = {name: knob.default for name, knob in voice.knobs.items()}
    sampler = Sampler.of(knobs, np.random.default_rng(0))
    with taken() as spent:
        run = engine.writer.begun(ids, 0, sampler, engine.writer.rules)
    rows.append(f"| prefix of {run.length} rows | {spent()} |")
    begin = time.process_time()
    while len(run.codes) < codes and not run.over:
        engine.writer.advance([run])
    made = len(run.codes)
    per = (time.process_time() - begin) / (made * CODE_SECONDS)
    rows.append(f"| the transformer, per second of speech ({made} codes) | {per:.2f} |")
    some = [engine.writer.begun(ids, 0, sampler, engine.writer.rules) for _ in range(4)]
    begin = time.process_time()
    while len(some[0].codes) < codes // 2:
        engine.writer.advance(some)
    made = sum(len(one.codes) for one in some)
    rows.append(
        f"| the same for four sentences together | {(time.process_time() - begin) / (made * CODE_SECONDS):.2f} |"
    )
    frames = engine._steps.frames(run.hidden, 0, engine._steps.count(len(run.hidden)))[None]
    with taken() as spent:
        engine.decoder.graph.run({"hidden": frames, "speaker": np.zeros(1, np.int64)})
    seconds = frames.shape[2] * 256 / 24000
    rows.append(f"| the decoder, per second of speech, whole | {float(spent().split()[0]) / seconds:.2f} |")
    begin, wall = time.process_time(), time.perf_counter()
    stream = voice.stream(TEXT, seed=1)
    piece = next(stream)
    cpu, wall = time.process_time() - begin, time.perf_counter() - wall
    length = len(piece.audio.samples) / 24000
    rows.append(
        f"| first sound ({length:.2f} s of it) after | {cpu:.2f} s CPU, {wall:.2f} s on this machine as it was |"
    )
    begin = time.process_time()
    rest = sum(len(one.audio.samples) for one in stream) / 24000
    rows.append(
        f"| the rest of the stream, per second of speech | {(time.process_time() - begin) / max(rest, 1e-9):.2f} |"
    )
    rows.append(f"| memory at its highest | {_memory('VmHWM'):.2f} GB |")
    print("\n".join(rows))


def _memory(name: str) -> float:
    """Of this process alone: what getrusage says begins with its parent's."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(name)) / 1e6


@contextmanager
def taken() -> Iterator[Callable[[], str]]:
    begin = time.process_time()
    end = [begin]
    yield lambda: f"{end[0] - begin:.2f} s"
    end[0] = time.process_time()


if __name__ == "__main__":
    main()

"""The notebooks' training as a T4 would plan and hold it, on a larger GPU: `python benchmarks/t4.py SAMPLE`.

Clips of a made corpus are joined into an hour of longer ones, and the cells of a notebook run. Their `olu plan` and
`olu train` are told of a T4 (its memory, no bf16), and the memory they may take is held to less than a T4 has.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
MEMORY = 15_843_721_216  # bytes that torch tells of a T4
CAP = 14.5e9  # bytes the allocator may take: 15 GB without what a driver keeps
LONGEST, SHORTEST = 15.0, 6.0  # seconds
COMPUTES = ("plan", "train")


def as_t4(words: list[str], told: Path) -> None:
    """A verb of Olu on a GPU that is held to a T4's memory; what it took at most goes to the file `told`.

    Only Olu's own question for the machine is answered with a T4: kernels are compiled for the GPU that is there.
    """
    import torch

    from olu.core import machine

    real = machine.this_machine

    def pretended(device: str | None = None) -> machine.Machine:
        found = real(device)
        t4 = replace(found, name="Tesla T4", memory=float(MEMORY), bf16=False)
        return t4 if found.device == "cuda" else found

    machine.this_machine = pretended  # before anything that asks it is imported
    if torch.cuda.is_available():
        torch.cuda.set_per_process_memory_fraction(CAP / torch.cuda.get_device_properties(0).total_memory)
    from olu.cli.main import main

    try:
        sys.argv = ["olu", *words]
        main()
    finally:
        if torch.cuda.is_available():
            most = {"allocated": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved()}
            with told.open("a") as file:
                file.write(json.dumps({"verb": words[0], **most}) + "\n")


def join(sample: Path, folder: Path, minutes: float) -> None:
    """Recordings of 6 to 15 seconds, each of some clips of the made corpus one after the other."""
    import soundfile

    rows = [line.split("|") for line in (sample / "metadata.csv").read_text(encoding="utf-8").splitlines()]
    clips = {name: soundfile.read(sample / "wavs" / f"{name}.wav", dtype="int16") for name, _ in rows}
    chance, total, lines = random.Random(1), 0.0, []
    (folder / "wavs").mkdir(parents=True)
    while total < 60 * minutes:
        wanted, texts, parts, seconds = chance.uniform(SHORTEST, LONGEST - 1), [], [], 0.0
        for name, text in chance.sample(rows, len(rows)):
            samples, rate = clips[name]
            if seconds + len(samples) / rate <= LONGEST:
                texts, parts, seconds = [*texts, text], [*parts, samples], seconds + len(samples) / rate
            if seconds >= wanted:
                break
        name = f"long-{len(lines):04d}"
        soundfile.write(folder / "wavs" / f"{name}.wav", np.concatenate(parts), rate)
        lines.append(f"{name}|{' '.join(texts)}")
        total += seconds
    (folder / "metadata.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} clips, {total / 60:.0f} minutes", flush=True)


def cells(name: str) -> str:
    """The code of a notebook up to its training."""
    whole = json.loads((ROOT / "notebooks" / name).read_text(encoding="utf-8"))
    code = ["".join(cell["source"]) for cell in whole["cells"] if cell["cell_type"] == "code"]
    last = next(place for place, text in enumerate(code) if 'olu("train"' in text)
    return "\n\n".join(code[: last + 1])


def run_cells(name: str, home: Path, *, audit: bool) -> None:
    os.environ |= {"OLU_HOME": str(home), "OLU_CLONE": str(ROOT), "OLU_INSTALLED": "1"}
    plain, find = subprocess.run, shutil.which
    if on_gpu():  # the cells ask for nvidia-smi, which a container may lack
        shutil.which = lambda name, **more: find(name, **more) or (name if name == "nvidia-smi" else None)

    def run(words: list[str], **more: Any) -> Any:
        verb, began = words[3], time.monotonic()
        if verb == "doctor" or (verb == "audit" and not audit):
            return None
        if verb in COMPUTES:
            words = [sys.executable, str(Path(__file__)), "--as-t4", str(home / "most.jsonl"), *words[3:]]
        done = plain(words, **more)
        print(f"[{verb}: {time.monotonic() - began:.0f} s]", flush=True)
        return done

    subprocess.run = run  # type: ignore[assignment]
    exec(compile(cells(name), name, "exec"), {"__name__": "notebook"})
    subprocess.run, shutil.which = plain, find


def on_gpu() -> bool:
    import torch

    return bool(torch.cuda.is_available())


def figures(home: Path) -> dict[str, Any]:
    runs = home / "voice" / "runs"
    run = max(runs.iterdir(), key=lambda path: path.stat().st_mtime)
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    file = home / "most.jsonl"  # not written without a GPU
    most = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    return {"run": run.name, "recipe": (run / "recipe.toml").read_text(encoding="utf-8"), "most": most, "rows": rows}


def main() -> None:
    if sys.argv[1:2] == ["--as-t4"]:
        as_t4(sys.argv[3:], Path(sys.argv[2]))
        return
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("sample", type=Path, help="a folder that 'olu sample' made")
    ask.add_argument("--notebook", default="colab-voice.ipynb")
    ask.add_argument("--home", type=Path, default=Path("build/t4"), help="a new folder to work in")
    ask.add_argument("--minutes", type=float, default=66.0, help="of joined sound")
    ask.add_argument("--audit", action="store_true", help="the audit too; it says nothing of memory and takes its time")
    ask.add_argument("--json", type=Path)
    given = ask.parse_args()
    home = given.home.resolve()
    home.mkdir(parents=True)
    join(given.sample, home / "recordings", given.minutes)
    run_cells(given.notebook, home, audit=given.audit)
    found = figures(home)
    losses = [row["gen"]["losses"]["mel"] for row in found["rows"] if "gen" in row]
    for most in found["most"]:
        gb = {name: most[name] / 1e9 for name in ("allocated", "reserved")}
        print(f"{most['verb']}: {gb['allocated']:.2f} GB at most, {gb['reserved']:.2f} with what the allocator keeps")
    print(f"{len(losses)} steps, mel {losses[0]:.3f} -> {losses[-1]:.3f}, held to {CAP / 1e9:.1f} GB")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

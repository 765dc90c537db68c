"""`make demo`: a made corpus in Swahili, from sample to speech, and a check that it went well."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import mean

import numpy as np
import soundfile

ROOT = Path(__file__).resolve().parents[1]
DEMO = Path("demo")
TEXT = "Habari ya asubuhi. Leo tunajifunza kusema."
EDGE = 20  # steps averaged at each end to see whether a loss fell


def olu(*words: str) -> None:
    sys.stderr.write(f"\n$ olu {shlex.join(words)}\n")
    sys.stderr.flush()
    subprocess.run([sys.executable, "-m", "olu", *words], check=True)


def main() -> None:
    started = time.monotonic()
    shutil.rmtree(DEMO, ignore_errors=True)
    DEMO.mkdir()
    sample, ws, wav = str(DEMO / "recordings"), str(DEMO / "swahili"), str(DEMO / "hello.wav")
    olu("sample", sample, "--language", "swa")
    olu("new", ws, "--language", "swa")
    olu("import", ws, sample)
    olu("audit", ws)
    olu("read", ws)
    olu("train", ws, "--recipe", str(ROOT / "recipes" / "demo.toml"))
    olu("export", ws, "--to", "voice")
    olu("speak", TEXT, "--voice", ws, "-o", wav)
    said = check_losses(Path(ws)) + check_sound(Path(wav))
    sys.stdout.write("\n" + "\n".join(said))
    command = Path(sys.executable).with_name("olu")
    command = command.relative_to(Path.cwd()) if command.is_relative_to(Path.cwd()) else command
    sys.stdout.write(
        f"""

Done in {(time.monotonic() - started) / 60:.1f} minutes. Open:
  {wav}
      the voice; after a few hundred steps it murmurs with the rhythm of speech, not yet in words
  {ws}/audit/report.html
      what the audit found
  {ws}/runs/
      the run: its recipe, losses and samples on the way
Try next:
  {command} speak "Jina langu ni Olu." --voice {ws} -o out.wav --speed 0.8
  {command} train {ws} --from-run vits-001 --set plan.steps=5000
      goes on from here; best on a GPU, with --device cuda
  {command} make my-voice FOLDER --language CODE
      your own recordings
"""
    )


def check_losses(ws: Path) -> list[str]:
    (run,) = (ws / "runs").iterdir()
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    said = []
    for name in ("mel", "kl"):
        values = [row["gen"]["losses"][name] for row in rows if "gen" in row]
        first, last = mean(values[:EDGE]), mean(values[-EDGE:])
        expect(last < 0.8 * first, f"the {name} loss did not fall: {first:.3g} -> {last:.3g}")
        said.append(f"{name} loss: {first:.3g} -> {last:.3g}")
    return said


def check_sound(path: Path) -> list[str]:
    samples, rate = soundfile.read(path, dtype="float32")
    seconds, level = len(samples) / rate, 20 * np.log10(np.sqrt(np.mean(samples**2)) + 1e-9)
    clipped = float(np.mean(np.abs(samples) >= 0.999))
    expect(bool(np.isfinite(samples).all()), "the speech holds numbers that are not finite")
    expect(1.0 < seconds < 20.0, f"{seconds:.1f} s is no sane length for {TEXT!r}")
    expect(level > -45, f"the speech is silent ({level:.0f} dBFS)")
    expect(clipped < 0.001, f"{clipped:.1%} of the speech is clipped")
    return [f"speech: {seconds:.1f} s, {level:.0f} dBFS, {clipped:.2%} clipped"]


def expect(good: bool, problem: str) -> None:
    if not good:
        sys.exit(f"demo: {problem}")


if __name__ == "__main__":
    main()

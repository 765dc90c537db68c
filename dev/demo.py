"""`make demo`: the voice inside Olu speaks, makes recordings of a new speaker, and is moved to it, with a check."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import numpy as np
import soundfile

from olu.core.errors import MissingExtra
from olu.core.files import Workspace, embedded_voice
from olu.core.types import Audio
from olu.corpus.manifest import Corpus
from olu.evaluate.metrics import f0, speaker
from olu.speak.voice import Voice

ROOT = Path(__file__).resolve().parents[1]
DEMO = Path("demo")
TEXT = "እንኳን ደህና መጣችሁ። ስሜ ኦሉ ነው።"  # welcome, my name is Olu
EDGE = 20  # steps averaged at each end to see whether a loss fell
JOINED = 3
TRIED = 10  # sentences that are spoken to hear who speaks


def olu(*words: str) -> None:
    sys.stderr.write(f"\n$ olu {shlex.join(words)}\n")
    sys.stderr.flush()
    subprocess.run([sys.executable, "-m", "olu", *words], check=True)


def main() -> None:
    started = time.monotonic()
    own = embedded_voice()
    if own is None:
        sys.exit("demo: this Olu has no voice of its own yet: 'python dev/embed.py X.voice NAME' puts one in")
    shutil.rmtree(DEMO, ignore_errors=True)
    DEMO.mkdir()
    before, after = DEMO / "before.wav", DEMO / "after.wav"
    sample, ws = str(DEMO / "recordings"), str(DEMO / "amharic")
    olu("speak", TEXT, "-o", str(before))
    olu("sample", sample)
    olu("new", ws, "--language", "amh", "--licence", "CC0-1.0", "--consent", "made by a machine")
    olu("import", ws, sample)
    olu("audit", ws, "--fix")
    olu("read", ws)
    olu("train", ws, "--recipe", str(ROOT / "recipes" / "speaker.toml"))
    olu("evaluate", ws, "--only", "sanity,duration,f0,speaker", "--sentences", str(TRIED))
    olu("export", ws, "--to", "voice")
    olu("speak", TEXT, "--voice", ws, "-o", str(after))
    said = [*check_losses(Path(ws)), *check_sound(after), *check_speaker(Path(ws), own)]
    minutes = (time.monotonic() - started) / 60
    sys.stdout.write("\n" + "\n".join(said) + ending(ws, minutes, before, after))


def ending(ws: str, minutes: float, before: Path, after: Path) -> str:
    command = Path(sys.executable).with_name("olu")
    command = command.relative_to(Path.cwd()) if command.is_relative_to(Path.cwd()) else command
    return f"""

Done in {minutes:.1f} minutes. Open:
  {before} and {after}
      the voice that comes with Olu, and the same sentences after it has moved to the new speaker
  {DEMO}/recordings/wavs/
      the new speaker: that voice spoken slower and played faster
  {ws}/audit/report.html, {ws}/evaluations/
      what the audit found, and how the new voice was judged
Try next:
  {command} speak "ሰላም ለሁላችሁ።" --voice {ws} -o out.wav --speed 0.8
  {command} align {ws} --force
      where each sound is; not needed here, and it takes some minutes
  {command} train {ws} --from-run vits-001 --set plan.steps=2000
      goes on from here; best on a GPU, with --device cuda
  {command} make my-voice FOLDER --language CODE
      your own recordings
"""


# ---------------------------------------------------------------- did it go well?


@dataclass(frozen=True)
class Heard:
    """Who speaks, in two numbers."""

    likeness: float | None  # cosine to the middle of the recordings
    hertz: float  # median pitch


def check_speaker(ws: Path, own: Path) -> list[str]:
    """By likeness and by pitch the new voice must be closer to the new speaker than the old one was."""
    corpus = Corpus.open(Workspace.open(ws))
    learnt = [corpus.audio(clip) for clip in corpus if corpus.split(clip) == "train"]
    texts = [clip.text for clip in corpus if corpus.split(clip) != "train"][:TRIED]
    middle = middle_of(learnt)
    wanted = pitch(learnt[: 2 * TRIED])
    (path,) = (ws / "voices").glob("*.voice")
    old, new = (heard(Voice.open(one), texts, middle) for one in (own, path))
    far = {name: abs(12 * np.log2(one.hertz / wanted)) for name, one in (("old", old), ("new", new))}
    lines = [
        f"median pitch: {old.hertz:.0f} Hz -> {new.hertz:.0f} Hz; the new speaker {wanted:.0f} Hz:"
        f" {far['old']:.1f} -> {far['new']:.1f} semitones away ({len(texts)} sentences that were not learnt)"
    ]
    expect(far["new"] < far["old"], f"the voice is no closer to the new speaker: {lines[0]}")
    if old.likeness is None or new.likeness is None:
        return [
            *lines,
            "likeness to the new speaker: not measured (no voice is heard, or 'olu doctor --install-eval' is due)",
        ]
    lines.append(f"likeness to the new speaker (Resemblyzer): {old.likeness:.3f} -> {new.likeness:.3f}")
    expect(new.likeness > old.likeness, f"the voice is no closer to the new speaker: {lines[1]}")
    return lines


def middle_of(recordings: list[Audio]) -> speaker.Voice | None:
    try:
        return speaker.centroid(joined(recordings))
    except MissingExtra:
        return None


def heard(voice: Voice, texts: list[str], middle: speaker.Voice | None) -> Heard:
    sounds = [voice.speak(text, seed=number) for number, text in enumerate(texts)]
    found = [] if middle is None else [speaker.likeness(sound, middle) for sound in joined(sounds)]
    known = [one for one in found if one is not None]
    return Heard(mean(known) if known else None, pitch(sounds))


def joined(sounds: list[Audio]) -> list[Audio]:
    """A few at a time: of a short sentence alone the network cannot tell much."""
    groups = [sounds[at : at + JOINED] for at in range(0, len(sounds), JOINED)]
    return [Audio(np.concatenate([one.samples for one in group]), group[0].rate) for group in groups]


def pitch(sounds: list[Audio]) -> float:
    tracks = [f0.track(sound).hertz for sound in sounds]
    return float(np.median(np.concatenate([track[track > 0] for track in tracks])))


def check_losses(ws: Path) -> list[str]:
    run = next(path for path in sorted((ws / "runs").iterdir()) if path.name.startswith("vits"))
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    values = [row["gen"]["losses"]["mel"] for row in rows if "gen" in row]
    first, last = mean(values[:EDGE]), mean(values[-EDGE:])
    expect(last < first, f"the mel loss did not fall: {first:.3g} -> {last:.3g}")
    return [f"mel loss: {first:.3g} -> {last:.3g}"]


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

"""`python benchmarks/strangers.py CORPORA [--corpus amh] [--voice X.voice] [RESULT.md]`: is a resampled voice nobody's?

Likeness (cosine, Resemblyzer) to the middle of 20 recordings of one speaker: of other recordings of the same speaker,
of these resampled by a factor, of speech of a voice trained on resampled recordings, and of strangers, who are the
speakers of the other corpora and, in amh, the second recorder id. With the median pitch of each.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "2")

import numpy as np
from numpy.typing import NDArray

from olu.audio import io
from olu.core.types import Audio
from olu.evaluate.metrics import f0, speaker
from olu.speak.voice import Voice
from olu.text.languages import load

MIDDLE, TRIED = 20, 30  # recordings
FACTORS = (1.0, 1.05, 1.1, 1.15, 1.2, 0.95, 0.9, 0.85)
SECONDS = 8.0  # of a recording that are heard
TWO_IDS = {"amh": ("_57b_", "_1b9_")}  # recorders, perhaps two people


@dataclass(frozen=True)
class Heard:
    what: str
    likeness: NDArray[np.float64]
    hertz: float


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("corpora", type=Path)
    asked.add_argument("--corpus", default="amh")
    asked.add_argument("--voice", type=Path)
    asked.add_argument("result", nargs="?", type=Path)
    given = asked.parse_args()
    groups = dict(speakers(given.corpora))
    own = next(name for name in groups if name.split()[0] == given.corpus)
    files = groups.pop(own)
    middle = speaker.centroid(map(recording, files[:MIDDLE]))
    assert middle is not None
    others = files[MIDDLE : MIDDLE + TRIED]
    rows = [heard(f"the same, resampled by {factor:g}", (moved(path, factor) for path in others), middle)
            for factor in FACTORS]  # fmt: skip
    rows[0] = Heard("the same speaker", rows[0].likeness, rows[0].hertz)
    rows += [heard(f"a stranger: {name}", map(recording, paths[:TRIED]), middle) for name, paths in groups.items()]
    if given.voice:
        rows += [heard(*row, middle) for row in spoken(given.voice)]
    text = report(rows, own, strangers=[row for row in rows if row.what.startswith("a stranger")])
    print(text)
    if given.result:
        given.result.write_text(text, encoding="utf-8")


def speakers(corpora: Path) -> Iterator[tuple[str, list[Path]]]:
    for corpus in sorted(path for path in corpora.iterdir() if (path / "metadata.csv").is_file()):
        files = sorted((corpus / "audio").iterdir())
        for mark in TWO_IDS.get(corpus.name, ("",)):
            found = [path for path in files if mark in path.name]
            step = max(1, len(found) // (MIDDLE + TRIED))
            yield f"{corpus.name} {mark.strip('_')}".strip(), found[::step]


def recording(path: Path) -> Audio:
    audio = io.read(path)
    return Audio(audio.samples[: round(SECONDS * audio.rate)], audio.rate)


def moved(path: Path, factor: float) -> Audio:
    audio = recording(path)
    return io.resample(audio, audio.rate, factor=factor)


def spoken(path: Path) -> Iterator[tuple[str, Iterable[Audio]]]:
    voice = Voice.open(path)
    texts = load(voice.language).sentences()[:TRIED]
    long = [f"{one} {two}" for one, two in zip(texts, texts[1:] + texts[:1], strict=True)]
    yield f"speech of {voice.name} (data.resample {voice.resample:g})", (voice.speak(text) for text in long)


def heard(what: str, sounds: Iterable[Audio], middle: NDArray[np.float64]) -> Heard:
    likeness, hertz = [], []
    for audio in sounds:
        if (one := speaker.likeness(audio, middle)) is not None:
            likeness.append(one)
        pitch = f0.track(audio).hertz
        hertz.extend(pitch[pitch > 0])
    return Heard(what, np.asarray(likeness), float(np.median(hertz)))


def report(rows: list[Heard], own: str, *, strangers: list[Heard]) -> str:
    """A voice is taken for the speaker where its likeness is above the even mark: as many strangers are taken for the
    speaker there as recordings of the speaker are not."""
    mark = even_mark(rows[0].likeness, np.concatenate([row.likeness for row in strangers]))
    machine = (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}"
    )
    lines = [
        f"# Likeness to the speaker {own}",
        "",
        f"{machine}; {speaker.instrument()}; pitch by SwiftF0.",
        "",
        " ".join((__doc__ or "").split("\n\n")[1].split()),
        "",
        f"Above {mark:.3f} sound is taken for the speaker: as many strangers are there as own recordings are not.",
        "",
        "| sound | n | likeness, mean | 5 to 95 % | taken for the speaker | pitch, Hz |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        low, high = np.percentile(row.likeness, [5, 95])
        share = float((row.likeness >= mark).mean())
        lines.append(
            f"| {row.what} | {len(row.likeness)} | {row.likeness.mean():.3f} | {low:.3f} to {high:.3f} | {share:.0%} |"
            f" {row.hertz:.0f} |"
        )
    return "\n".join(lines) + "\n"


def even_mark(same: NDArray[np.float64], strange: NDArray[np.float64]) -> float:
    marks = np.sort(np.concatenate([same, strange]))
    apart: Callable[[float], float] = lambda mark: abs(float((same < mark).mean()) - float((strange >= mark).mean()))  # noqa: E731
    return float(min(marks, key=apart))


if __name__ == "__main__":
    main()

"""A vocoder judged by its copies: held-out recordings, taken apart to mel and pitch and put together again.

A copy lies on its recording frame by frame, so nothing is warped. Beside each figure stands its floor: the recording
against itself 8 ms later, which is what the instruments alone make of no difference at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.audio.io import to_int16
from olu.core.errors import MissingExtra, OluError, WorkspaceError
from olu.core.files import Workspace, whole, write_json
from olu.core.job import Job, Tick
from olu.core.stage import need_training
from olu.core.told import Caution, TextTable, Told
from olu.core.types import Audio, Clip
from olu.corpus.manifest import Corpus
from olu.evaluate.estimates import Estimate, figure, mean
from olu.evaluate.evaluation import spread_evenly
from olu.evaluate.metrics import cer, dnsmos, f0, speaker
from olu.families.runs import learner_of, ready
from olu.features.pitch import VOICED, at_centres, bounds, instrument, voiced
from olu.features.store import WaveFeature
from olu.stages.read import read_corpus
from olu.stages.verbs.voices import EvaluateOptions
from olu.train.family import Example
from olu.train.run import Run

FILE, WAVS = "copies.json", "wavs"
LATER = 128  # samples that the floor is moved by: 8 ms
LEAST_VOICED = 10  # frames
REASON = "held-out recordings through the vocoder, frame by frame"
WORDS = {
    "f0_rms": "pitch, RMS (semitones)",
    "f0_median": "pitch, median (semitones)",
    "f0_gross": "pitch off by a fifth (%)",
    "voicing": "voicing wrong (%)",
    "mel": "mel distance",
    "dnsmos": "DNSMOS",
    "dnsmos_difference": "DNSMOS less the recording's",
    "speaker": "likeness",
    "cer": "wrong letters (%)",
}
FLOORED = ("f0_rms", "f0_median", "f0_gross", "voicing", "mel")


@dataclass(frozen=True)
class CopySummary:
    """Figures by name, each with the floor's or the recordings' own beside it."""

    folder: Path
    run: str
    step: int
    clips: int
    figures: tuple[Estimate, ...]
    missing: list[str] = field(default_factory=list)

    def row(self, options: EvaluateOptions) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "run": self.run,
            "step": self.step,
            "clips": self.clips,
            "figures": [one.row() for one in self.figures],
            "missing": self.missing,
        }

    def sentences(self, options: object) -> Iterator[Told]:
        rows = [
            [WORDS[one.name], *(_shown(value) for value in (one.mean, one.low, one.high, one.natural))]
            for one in self.figures
        ]
        yield TextTable(["figure", "copies", "from", "to", "floor or recordings"], rows)
        yield from (Caution(f"not measured: {one}") for one in self.missing)
        yield f"{self.clips} held-out recordings copied by {self.run}, step {self.step}: {self.folder}"

    def failure(self, options: EvaluateOptions) -> str | None:
        return None


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


@dataclass(frozen=True)
class CopiedClip:
    clip: Clip
    natural: NDArray[np.int16]
    copy: NDArray[np.float32]

    @property
    def recording(self) -> Audio:
        return Audio((self.natural / np.float32(32768)).astype(np.float32), 16000)

    @property
    def sound(self) -> Audio:
        return Audio(self.copy, 16000)


def evaluate_copies(ws: Workspace, run: Run, wish: EvaluateOptions) -> Job[CopySummary]:
    """Copy held-out clips with a vocoder's run and measure what that loses."""
    need_training("olu evaluate")
    corpus = Corpus.open(ws)
    corpus.check_sources()
    if any(clip.text.strip() for clip in corpus):
        yield from read_corpus(ws)
    step = run.best_step() if wish.step is None else wish.step
    if step is None or step not in run.checkpoints().steps():
        raise WorkspaceError(f"{run.name} has no checkpoint at step {wish.step or 'any'}")
    folder = wish.output or ws.evaluations / f"{run.name}-step-{step}"
    copied = yield from _copied(corpus, run, step, number=wish.sentences, seed=wish.seed)
    missing: list[str] = []
    figures = yield from _figures(ws, corpus, copied, missing, device=wish.device)
    summary = CopySummary(folder, run.name, step, len(copied), figures, missing)
    with whole(folder) as partial:
        (partial / WAVS).mkdir(parents=True)
        for one in copied:
            one.sound.save(partial / WAVS / f"{one.clip.id}.wav")
        write_json(partial / FILE, summary.row(wish))
    return summary


def _copied(corpus: Corpus, run: Run, step: int, *, number: int, seed: int) -> Job[list[CopiedClip]]:
    import torch

    held = {
        clip.id: clip
        for clip in corpus
        if corpus.split(clip, texts=False) in ("valid", "test") and corpus.why_not(clip, texts=False) is None
    }
    if not held:
        raise WorkspaceError(f"{corpus.ws.root} holds no clip back: 'olu split {corpus.ws.root}' does")
    learner: Any = learner_of(run, step)
    data = run.recipe.data
    sound = WaveFeature(16000, data.resample, data.edges, data.loudness, texts=False)
    chosen, found = spread_evenly(sorted(held), number), list[CopiedClip]()
    torch.manual_seed(seed)
    for place, id in enumerate(chosen, 1):
        samples = sound.compute(corpus.audio(corpus.taken(held[id])))
        samples = samples[: len(samples) // 256 * 256]
        if len(samples):
            batch = learner.collate([Example(id, (), samples, 0, {"pitch": at_centres(samples)})])
            (made,) = learner.demo(batch)
            found.append(CopiedClip(held[id], samples, made.audio.samples))
        yield Tick(place, len(chosen), "copying")
    return found


def _figures(
    ws: Workspace, corpus: Corpus, copied: Sequence[CopiedClip], missing: list[str], *, device: str | None
) -> Job[tuple[Estimate, ...]]:
    ranges = _ranges(copied)
    rows, floors = list[dict[str, float]](), list[dict[str, float]]()
    for place, one in enumerate(copied, 1):
        later = np.concatenate([one.natural[LATER:], np.zeros(LATER, np.int16)])
        limits = ranges[one.clip.speaker]
        rows.append(apart(one.natural, to_int16(one.sound), limits))
        floors.append(apart(one.natural, later, limits))
        yield Tick(place, len(copied), "comparing")
    said: dict[str, Any] = {"instrument": instrument(), "trust": "high", "reason": REASON}
    found = [
        figure(name, [row.get(name) for row in rows], unit="", natural=_mean(floors, name), **said) for name in FLOORED
    ]
    for name, measure in (("DNSMOS", _opinions), ("likeness", _likenesses)):
        try:
            found += measure(corpus, copied)
        except MissingExtra as absent:
            missing.append(f"{name}: {absent}")
    yield Tick(len(copied), len(copied), "listening")
    found += _letters(ws, corpus, copied, missing, device=device)
    return tuple(found)


def apart(natural: NDArray[np.int16], other: NDArray[np.int16], limits: tuple[float, float]) -> dict[str, float]:
    """How far another sound of the same length is from a recording, frame by frame."""
    import torch

    from olu.features.mel import MelSpec

    both = [at_centres(one) for one in (natural, other)]
    heard = [voiced(one[:, 0], one[:, 1], limits) for one in both]
    row = {"voicing": 100 * float(np.mean(heard[0] != heard[1]))}
    together = heard[0] & heard[1]
    if int(together.sum()) >= LEAST_VOICED:
        ratio = both[1][together, 0] / both[0][together, 0]
        off = 12 * np.log2(ratio)
        row |= {
            "f0_rms": float(np.sqrt(np.mean(off**2))),
            "f0_median": float(np.median(np.abs(off))),
            "f0_gross": 100 * float(np.mean(np.abs(ratio - 1) > f0.GROSS)),
        }
    mels = [MelSpec().of(torch.from_numpy(one.astype(np.float32) / 32768)[None]) for one in (natural, other)]
    return row | {"mel": float((mels[0] - mels[1]).abs().mean())}


def _ranges(copied: Sequence[CopiedClip]) -> dict[str, tuple[float, float]]:
    """Between which pitches each speaker is looked for."""
    heard: dict[str, list[NDArray[np.float32]]] = {}
    for one in copied:
        frames = at_centres(one.natural)
        heard.setdefault(one.clip.speaker, []).append(frames[frames[:, 1] >= VOICED, 0])
    return {name: bounds(np.concatenate(found)) for name, found in heard.items()}


def _mean(rows: Sequence[dict[str, float]], name: str) -> float | None:
    found = [row[name] for row in rows if name in row]
    return float(np.mean(found)) if found else None


def _opinions(corpus: Corpus, copied: Sequence[CopiedClip]) -> list[Estimate]:
    made, natural = ([dnsmos.opinion(sound) for sound in sounds] for sounds in _both(copied))
    wanted = ("dnsmos", "dnsmos_difference")
    return [one for one in dnsmos.summarise(made, natural=natural) if one.name in wanted]


def _likenesses(corpus: Corpus, copied: Sequence[CopiedClip]) -> list[Estimate]:
    """To the middle of what the speaker says on the training side."""
    middles: dict[str, Any] = {}
    for name in {one.clip.speaker for one in copied}:
        own = [clip for clip in corpus if clip.speaker == name and corpus.split(clip, texts=False) == "train"]
        middles[name] = speaker.centroid(corpus.audio(corpus.taken(clip)) for clip in own)
    known = [one for one in copied if middles[one.clip.speaker] is not None]

    def like(sound: Callable[[CopiedClip], Audio]) -> list[float | None]:
        return [speaker.likeness(sound(one), middles[one.clip.speaker]) for one in known]

    return list(speaker.summarise(like(lambda one: one.sound), natural=like(lambda one: one.recording)))[:1]


def _both(copied: Sequence[CopiedClip]) -> tuple[list[Audio], list[Audio]]:
    return [one.sound for one in copied], [one.recording for one in copied]


def _letters(
    ws: Workspace, corpus: Corpus, copied: Sequence[CopiedClip], missing: list[str], *, device: str | None
) -> list[Estimate]:
    """Wrong letters by the workspace's own recogniser, of copies and of recordings; none is trained for this."""
    texted = [one for one in copied if one.clip.text.strip()]
    run = ready(ws, units="letters", everything=False) if texted else None
    if run is None:
        why = f"{ws.root} has no recogniser that fits its corpus" if texted else "no clip that was copied has a text"
        missing.append(f"wrong letters: {why}")
        return []
    from olu.core.machine import this_machine
    from olu.families.recogniser.recognise import load

    ears = load(run, language=ws.language, device=this_machine(device).device)
    try:
        targets = ["".join(ears.target(corpus.reading(one.clip))) for one in texted]
    except OluError as bad:
        missing.append(f"wrong letters: {bad}")
        return []

    def rates(sounds: Sequence[Audio]) -> list[float | None]:
        heard = [ears.transcribe(sound) for sound in sounds]
        return [
            100 * cer.compare(wanted, spoken=said).letters.rate for wanted, said in zip(targets, heard, strict=True)
        ]

    made, natural = (rates(sounds) for sounds in _both(texted))
    weights = [float(len(target)) for target in targets]
    return [
        figure(
            "cer",
            made,
            unit="",
            natural=mean(natural, weights=weights),
            instrument=ears.version,
            trust="medium",
            reason=REASON,
            weights=weights,
        )
    ]

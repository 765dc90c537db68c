"""An acoustic model and a vocoder: tokens, then durations and pitch as plain numbers, then a mel, then sound.

text:    ids, tones, stress, gaps [1, T], speaker [1] -> hidden [1, C, T], log_frames [1, T];
         pause [1, T]: logits, of gaps alone; knots [1, T, K]: log2 of hertz
mean:    hidden, frames [1, T] (whole numbers), contour [1, F], speaker -> mel [1, M, F]; states, voicing [1, F]
step:    x [1, M, F], mel, states, time [1], speaker -> velocity [1, M, F]; where there is one, it refines the mel;
         ended [1, M, F], the mel if the flow goes straight on: for a flow whose x has another scale than its mel
decoder: mel [B, M, F], contour, voicing [B, F], source, noise [B, W, F], speaker [B] -> wave [B, S]

Every network takes of these what it asks for. Durations and pitch stand between text and mel, where they can be edited.

voice.json may say beside: `voiced` (share of voiced frames) and `longest` (frames) by symbol; `pauses.threshold`, from
which probability on a gap is heard; `pitch.speakers`, the lowest, median and highest hertz of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from olu.core.errors import VoiceError
from olu.core.words import many
from olu.speak.contour import line_through, offsets, push_apart, tone_steps, whole_frames
from olu.speak.engines import (
    MOST_CONTEXT,
    MOST_HOP,
    MOST_RATE,
    FrameCutter,
    GraphSpec,
    LineJob,
    SoundDecoder,
    SpeechEngine,
    alike,
    count,
    knobs_of,
    number,
    word_spans,
    word_tokens,
)
from olu.speak.graphs import OnnxGraph
from olu.speak.melody import HIGHEST, LOWEST, MelodySentence, MelodyToken, MelodyWord
from olu.speak.source import framed, pulses
from olu.speak.stream import FASTEST, SLOWEST, Chunk, LineMaking, Manner, SpokenSentence, SpokenWave, Wave
from olu.text.vocabulary import BLANK
from olu.text.words import PAUSES

if TYPE_CHECKING:
    from olu.core.types import Reading
    from olu.speak.package import Package
    from olu.text.vocabulary import SymbolVocabulary

KNOBS = ("pitch", "steps", "temperature")  # semitones; refining steps; how much they draw
MOST_LOG_FRAMES = 6.0  # of a token: 400 frames; a package may ask for more than fits into the memory
CHECKED_TOKENS = 41  # of a check sentence, so that opening stays quick
PITCH_APART = 0.02  # octaves that another processor's rounding may make
VOICED = 0.5  # from this probability on a frame is voiced
RARELY = 0.3  # a symbol with a smaller share of voiced frames has no pitch of its own
BEYOND = 6.0  # semitones that a pitch may leave the speaker's range by
PIECE_SECONDS, PAUSE_SECONDS = 8.0, 0.15  # a longer sentence is refined in pieces, cut at pauses as long as this

Floats = NDArray[np.float64]
Frames = NDArray[np.int64]


@dataclass(frozen=True)
class LinePlan:
    """A sentence between text and mel."""

    hidden: NDArray[Any]  # [1, C, T]
    frames: Frames  # [T]
    knots: Floats  # hertz [T, K]; K is 0 where a voice has no pitch of its own
    heard: NDArray[np.bool_]  # [T]: tokens through whose knots the contour goes
    contour: NDArray[np.float32]  # log2 of hertz [1, F]
    notes: tuple[str, ...] = ()


class MelEngine:
    GRAPHS: Mapping[str, GraphSpec] = {
        "text": GraphSpec(("ids", "tones", "stress", "gaps", "speaker"), optimised=True),
        "mean": GraphSpec(("hidden", "frames", "contour", "speaker"), optimised=True),
        "step": GraphSpec(("x", "mel", "states", "time", "speaker"), optional=True, optimised=True),
        "decoder": GraphSpec(("mel", "contour", "voicing", "source", "noise", "speaker"), outputs=1, threads=None),
    }

    most_tokens: int | None = None
    draws = False
    join_words = 0
    plans = False  # known once the networks are connected

    def __init__(self, package: Package, vocabulary: SymbolVocabulary) -> None:
        facts = package.facts
        _check_contract(facts, where=package.where)
        self._vocabulary = vocabulary
        self.rate, self._hop = count(facts["rate"], MOST_RATE), count(facts["hop"], MOST_HOP)
        self.context: int | None = count(facts["context"], MOST_CONTEXT, least=0)
        self.frame_seconds = self._hop / self.rate
        self.knobs = knobs_of(package, KNOBS)
        self._cutter = FrameCutter(self._hop, self.rate)
        symbols = vocabulary.symbols
        self._gaps = np.array([symbol == BLANK or symbol in PAUSES for symbol in symbols])
        self._heard = _by_symbol(facts.get("voiced"), symbols, most=1.0, usual=1.0) >= RARELY
        self._longest = _by_symbol(facts.get("longest"), symbols, most=1e6, usual=float(np.exp(MOST_LOG_FRAMES)))
        self._threshold = number(_table(facts, "pauses").get("threshold", 0.5), 0.0, 1.0)
        self._ranges = _ranges(_table(facts, "pitch"), list(facts["speakers"]))

    def connect(self, graphs: Mapping[str, OnnxGraph]) -> None:
        self._text, self._mean, self._step = graphs["text"], graphs["mean"], graphs.get("step")
        self.decoder = SoundDecoder(graphs["decoder"], main="mel", hop=self._hop)
        wanted = {"text": ("hidden", "log_frames"), "mean": ("mel",), "step": ("velocity",)}
        if any(not set(wanted[name]) <= set(graphs[name].outputs) for name in wanted if name in graphs):
            raise ValueError("outputs")
        noise = graphs["decoder"].shapes.get("noise")
        self._noise_rows = count(noise[1], MOST_HOP) if noise is not None else 0
        self.plans = "knots" in self._text.outputs
        if "pitch" in self.knobs and not self.plans:
            raise ValueError("pitch")

    # ---------------------------------------------------------------- lengths and pitch

    def plan(self, job: LineJob, manner: Manner) -> MelodySentence:
        line, made = job.line, self._planned(job, manner)
        assert line.reading is not None
        tones = self._tones(line.reading, len(line.ids))
        tokens = [
            MelodyToken(self._vocabulary.symbols[id], int(size), tuple(map(float, row)), tone)
            for id, size, row, tone in zip(line.ids, made.frames, made.knots, tones, strict=True)
        ]
        words = [MelodyWord(*word) for word in word_tokens(line.reading, self._vocabulary, len(line.ids))]
        return MelodySentence(line.text, tuple(words), tuple(tokens), round(job.start, 4), made.notes)

    def _planned(self, job: LineJob, manner: Manner) -> LinePlan:
        """Lengths and pitch of a line: given, or the networks' own, and what is wished for them."""
        line, given = job.line, job.melody
        assert line.reading is not None
        read = self._read(line.ids, speaker=job.speaker, streams=self._vocabulary.streams(line.reading))
        words = [(first, last) for _, first, last in word_tokens(line.reading, self._vocabulary, len(line.ids))]
        asked = [] if given else [(words[one][0], words[two - 1][1], wish) for one, two, wish in line.prosody]
        if given is None:
            wanted, least = self._lengths(line.ids, read)
        else:
            wanted, least = given.frames.astype(np.float64), np.minimum(given.frames, 1)
        pace = np.full(len(line.ids), float(manner.speed))
        for first, last, wish in asked:
            pace[first:last] *= wish.rate
        frames, heard = whole_frames(wanted / np.clip(pace, SLOWEST, FASTEST), least), self._heard[list(line.ids)]
        if not self.plans:
            flat = np.zeros((1, int(frames.sum())), np.float32)
            return LinePlan(read["hidden"], frames, np.zeros((len(frames), 0)), heard, flat)
        knots = 12 * (np.log2(given.knots) if given else read["knots"][0].astype(np.float64))
        if knots.shape != read["knots"].shape[1:]:
            raise VoiceError(f"the melody does not have {read['knots'].shape[2]} knots for every sound: plan it again")
        knots = knots + manner.knobs.get("pitch", 0.0)
        for first, last, wish in asked:
            knots = knots + offsets(wish.contour, frames, first, last, knots.shape[1])
        notes, used = list[str](), heard & (frames > 0)
        if manner.tones == "strict":
            steps = tone_steps(words, self._tones(line.reading, len(line.ids)))
            knots, pushed = push_apart(knots, steps, words, used)
            notes += [f"written tone steps pushed apart: {pushed} of {len(steps)}"] if steps else []
        hertz, cut = self._within(knots, job.speaker, used)
        contour = np.asarray(line_through(np.log2(hertz), frames, heard), np.float32)[None]
        return LinePlan(read["hidden"], frames, hertz, heard, contour, (*notes, *cut))

    def _read(
        self, ids: Sequence[int], *, speaker: int, streams: Mapping[str, Sequence[int]] | None = None
    ) -> dict[str, Any]:
        """What the text side makes of tokens; `streams`: tones and stress."""
        beside = {"tones": [0] * len(ids), "stress": [0] * len(ids), "gaps": self._gaps[list(ids)]}
        feeds = {name: np.array([row], np.int64) for name, row in {"ids": ids, **beside, **(streams or {})}.items()}
        read = self._text.named({**feeds, "speaker": np.array([speaker], np.int64)})
        if read["log_frames"].shape != (1, len(ids)) or read["hidden"].shape[::2] != (1, len(ids)):
            raise VoiceError("the networks of the voice do not fit each other: export the voice again")
        return read

    def _lengths(self, ids: Sequence[int], read: Mapping[str, Any]) -> tuple[Floats, Frames]:
        """The frames that each token should have, and the least it may: a gap without a pause has none."""
        logs = np.minimum(read["log_frames"][0].astype(np.float64), MOST_LOG_FRAMES)
        wanted = np.minimum(np.exp(np.nan_to_num(logs)), self._longest[list(ids)])
        if "pause" not in read:
            return wanted, np.ones(len(ids), np.int64)
        gaps = self._gaps[list(ids)]
        silent = gaps & (1 / (1 + np.exp(-read["pause"][0].astype(np.float64))) < self._threshold)
        return np.where(silent, 0.0, wanted), (~gaps).astype(np.int64)

    def _tones(self, reading: Reading, size: int) -> list[str]:
        """What is written on each token, where tokens are phones."""
        found = [""] * size
        for word, (_, first, last) in zip(reading.words, word_tokens(reading, self._vocabulary, size), strict=True):
            if last - first == len(word.phones):
                for bearer, tone in zip(word.bearers, word.tones, strict=True):
                    found[first + bearer] = tone
        return found

    def _within(self, semitones: Floats, speaker: int, used: NDArray[np.bool_]) -> tuple[Floats, list[str]]:
        """Hertz as a melody holds them, kept near what the speaker's voice can do; a sentence where they were cut."""
        low, high = self._ranges[speaker]
        wanted = np.exp2(np.clip(np.nan_to_num(semitones), 0.0, 240.0) / 12)
        hertz = np.round(np.clip(wanted, low, high), 2)
        cut = int(((np.abs(np.log2(wanted / hertz)) > 0.01).any(axis=1) & used).sum())
        within = f"kept within {low:.0f} to {high:.0f} Hz, {BEYOND:g} semitones around the speaker's range"
        return hertz, [f"the pitch of {many(cut, 'sound')} was {within}"] if cut else []

    # ---------------------------------------------------------------- sound

    def begin(self, job: LineJob, manner: Manner) -> LineMaking:
        line, made = job.line, self._planned(job, manner)
        assert line.reading is not None
        durations = tuple(int(one) for one in made.frames)
        total, random = sum(durations), job.random(manner)
        sentence = SpokenSentence(
            number=job.number,
            text=line.text,
            start=job.start,
            end=job.start + total * self.frame_seconds,
            words=word_spans(
                line.reading, self._vocabulary, durations, frame_seconds=self.frame_seconds, start=job.start
            ),
            durations=durations,
            dropped=line.reading.dropped,
            notes=made.notes,
        )
        feeds, refining = self._mel(made, self._pieces(line.ids, made.frames), job.speaker, manner, random)
        if self._noise_rows:
            feeds["noise"] = random.standard_normal((1, self._noise_rows, total), np.float32)
        feeds = {name: array for name, array in feeds.items() if name in self.decoder.graph.shapes}
        ready, context = 0, job.plan.context or 0
        for start, end in job.plan.spans(total):
            while ready < min(total, end + context):
                ready = next(refining)
            wave = yield self._cutter.chunk(feeds, start, end, frames=total, context=context, speaker=job.speaker)
            yield SpokenWave(wave, sentence, end == total)

    def run(self, chunks: Sequence[Chunk]) -> list[Wave]:
        return self.decoder.run(chunks)

    def _mel(
        self, made: LinePlan, ends: Sequence[int], speaker: int, manner: Manner, random: np.random.Generator
    ) -> tuple[dict[str, NDArray[Any]], Iterator[int]]:
        """What the decoder is fed, and what refines the mel in it piece by piece, telling up to which frame it is."""
        who = {"speaker": np.array([speaker], np.int64)}
        given = {"hidden": made.hidden, "frames": made.frames[None], "contour": made.contour, **who}
        found = dict[str, NDArray[Any]](self._mean.named(given))
        if found["mel"].ndim != 3 or found["mel"].shape[2] != made.contour.shape[1]:
            raise VoiceError("the networks of the voice do not fit each other: export the voice again")
        steps, refining = round(manner.knobs.get("steps", 0)), iter(ends)
        feeds = {**found, "contour": made.contour, **self._voiced(made, found.get("voicing"))}
        if self._step is not None and steps:
            scale = np.float32(manner.knobs.get("temperature", 1.0))
            x = feeds["mel"] = random.standard_normal(found["mel"].shape, np.float32) * scale
            refine = partial(self._refine, self._step, {**found, **who}, steps=steps)
            refining = (refine(x, start, end) for start, end in zip([0, *ends], ends, strict=False))
        return feeds, refining

    def _voiced(self, made: LinePlan, voicing: NDArray[Any] | None) -> dict[str, NDArray[Any]]:
        """Which frames are voiced, 0 or 1, and the pulses of those, where the decoder asks for them."""
        if voicing is None:
            voicing = np.repeat(made.heard, made.frames)[None]
        voiced = (voicing >= VOICED).astype(np.float32)
        if "source" not in self.decoder.graph.shapes:
            return {"voicing": voiced}
        wave = pulses(made.contour[0], voiced[0], hop=self._hop, rate=self.rate)
        return {"voicing": voiced, "source": framed(wave, self._hop)}

    @staticmethod
    def _refine(step: OnnxGraph, feeds: Mapping[str, Any], x: NDArray[Any], start: int, end: int, *, steps: int) -> int:
        """Frames start to end of the noise become a mel, in their place; gives the end."""
        here = {name: np.ascontiguousarray(a[..., start:end]) for name, a in feeds.items() if name in ("mel", "states")}
        piece = np.ascontiguousarray(x[..., start:end])
        for at in range(steps):
            time = np.array([at / steps], np.float32)
            made = step.named({**feeds, **here, "x": piece, "time": time})
            piece = piece + made["velocity"] / np.float32(steps)
        x[..., start:end] = made.get("ended", piece)
        return end

    def _pieces(self, ids: Sequence[int], frames: Frames) -> list[int]:
        """Where the pieces end that a sentence is refined in: a long one in the middle of its pauses."""
        total, most = int(frames.sum()), round(PIECE_SECONDS / self.frame_seconds)
        pauses = self._gaps[list(ids)] & (frames * self.frame_seconds >= PAUSE_SECONDS)
        cuts = [int(cut) for cut in (np.cumsum(frames) - frames // 2)[pauses] if 0 < cut < total]
        found, start = list[int](), 0
        for cut, following in pairwise([*cuts, total]):
            if following - start > most:
                found.append(cut)
                start = cut
        return [*found, total]

    # ---------------------------------------------------------------- what is certain

    def proof(self, ids: Sequence[int]) -> dict[str, Any]:
        """Frames and pitch per token at the start of a sentence, of the first speaker at speed 1."""
        ids = ids[:CHECKED_TOKENS]
        read = self._read(ids, speaker=0)
        told = {"frames": [int(one) for one in whole_frames(*self._lengths(ids, read))]}
        return {**told, "knots": [round(float(one), 3) for one in read["knots"][0].ravel()]} if self.plans else told

    def told(self) -> dict[str, Any]:
        """What a program without Python must know of its numbers; lists are by id."""
        return {
            "gaps": [int(one) for one in self._gaps],
            "heard": [bool(one) for one in self._heard],
            "longest": [float(one) for one in self._longest],
            "threshold": self._threshold,
            "ranges": [list(row) for row in self._ranges],
            "noise_rows": self._noise_rows,
            "plans": self.plans,
        }

    def differs(self, ids: Sequence[int], row: Mapping[str, Any]) -> str:
        found = self.proof(ids)
        if not alike(found["frames"], row.get("frames")):
            return "speaks with other lengths than at its export"
        kept = row.get("knots", [])
        apart = [abs(a - b) for a, b in zip(found.get("knots", []), kept, strict=False)]
        same = len(found.get("knots", [])) == len(kept) and max(apart, default=0.0) <= PITCH_APART
        return "" if same else "speaks with another melody than at its export"


def _check_contract(facts: Mapping[str, Any], *, where: str) -> None:
    """The mels that the acoustic model makes are those that the vocoder reads, where the package tells of both."""
    made, read = facts.get("made_for"), _table(facts, "mel").get("hash")
    if made is not None and made != read:
        raise VoiceError(
            f"{where}: its acoustic model makes another mel spectrogram ({made!r:.20}) than its vocoder reads"
            f" ({read!r:.20}): export the voice again"
        )


def _table(facts: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    held = facts.get(name) or {}
    if not isinstance(held, dict):
        raise TypeError(f"its {name} are no table")
    return held


def _by_symbol(held: Any, symbols: Sequence[str], *, most: float, usual: float) -> Floats:
    """A number for each id, of a table by symbol."""
    if held is not None and not isinstance(held, dict):
        raise TypeError("what it says of its symbols is no table")
    return np.array([number((held or {}).get(symbol, usual), 0.0, most) for symbol in symbols], np.float64)


def _ranges(pitch: Mapping[str, Any], speakers: Sequence[str]) -> list[tuple[float, float]]:
    """The lowest and highest hertz that each speaker is asked for: any where the package does not say."""
    held, wide = _table(pitch, "speakers"), 2 ** (BEYOND / 12)
    rows = [[number(one, LOWEST, HIGHEST) for one in held.get(name, (LOWEST, LOWEST, HIGHEST))] for name in speakers]
    return [(max(LOWEST, low / wide), min(HIGHEST, high * wide)) for low, _, high in rows]


ENGINE: type[SpeechEngine] = MelEngine

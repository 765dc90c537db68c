"""An aligner: a recording and its words in, where each word and each sound of it is out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from olu.align.chain import best_way, chain, classes
from olu.align.ctc import Path, force
from olu.align.estimate import GAUSS_ROUNDS, ROUNDS, TrainingClip, estimate, flat, steady
from olu.align.frames import FRAME_SECONDS, FrameModel, log_mels, thirds
from olu.align.kinds import first_scores, ranks
from olu.align.spans import Edges, Loudness, from_peaks, lay, phone_spans, word_spans
from olu.audio.activity import frame_dbfs, sounds
from olu.core.errors import AlignError
from olu.core.job import Job, Tick
from olu.core.types import Alignment, Audio, Recogniser

PAD_SECONDS = 0.2  # of quiet put before and after a clip: speech at the very edge aligns badly
LONGEST_MINUTES = 180.0  # of speech that a frame model learns from: more makes it no sharper and costs memory
QUIETEST_SHARE = 5  # percent of the frames are at a clip's own floor
SOUND_COST = 2.0  # of calling a frame with sound silence, before anything is learnt
SPACE = " "

Words = Sequence[tuple[str, Sequence[str]]]  # the text of each word and its phones


@dataclass(frozen=True, slots=True)
class AlignerClip:
    """A clip to learn from; its sound is read when it is needed."""

    id: str
    words: Words
    audio: Callable[[], Audio]


@dataclass(frozen=True)
class Aligner:
    """Aligns clips by a CTC recogniser, by a frame model, or by both; the frame model has the sharper edges."""

    recogniser: Recogniser | None = None
    frames: FrameModel | None = None

    def align(self, id: str, audio: Audio, words: Words) -> Alignment:
        """Where the words and phones of one clip are. Phones that the clip cannot hold are an error that names it."""
        if self.recogniser is None and self.frames is None:
            raise AlignError("an aligner needs a recogniser or a frame model: train one first")
        try:
            return self._align(id, audio, words)
        except AlignError as bad:
            raise AlignError(f"{id}: {bad}") from None

    def _align(self, id: str, audio: Audio, words: Words) -> Alignment:
        seconds = audio.seconds
        phones = [phone for _, phones in words for phone in phones]
        if not phones:
            return Alignment(id=id, seconds=seconds, words=(), phones=phone_spans((), [], (), seconds))
        quiet = padded(audio)
        score = None
        if self.recogniser is not None:
            heard = self.recogniser.log_probs(quiet)
            symbols = SymbolMap(self.recogniser, words, strict=self.frames is None)
            path = symbols.path(heard)
            score = (path.total - float(heard.max(axis=1).sum(dtype=np.float64))) / path.frames
        if self.frames is not None:
            edges, scores = self.frames.align(log_mels(quiet), [phones for _, phones in words])
        else:
            edges, scores = symbols.edges(path, Loudness.of(quiet))
        edges = lay(edges, seconds, shift=-PAD_SECONDS)
        return Alignment(
            id=id,
            seconds=seconds,
            words=word_spans(words, edges, scores),
            phones=phone_spans(phones, edges, scores, seconds),
            score=score,
            method="ctc" if self.frames is None else "frames",
        )


class SymbolMap:
    """The phones of a clip as a recogniser's symbols: a phone may be several, and a space may stand between words."""

    def __init__(self, recogniser: Recogniser, words: Words, *, strict: bool = True) -> None:
        self.frame_seconds = recogniser.frame_seconds
        known = {symbol: number for number, symbol in enumerate(recogniser.symbols)}
        spell = getattr(recogniser, "ids", None)  # what knows how it spells a phone says so
        self.ids: list[int] = []
        self.owners: list[int] = []  # the phone of each symbol, -1 for a space
        self.starts_word: list[bool] = []
        self.before_word: list[int] = []  # how many symbols come before each word, and all of them
        for _, phones in words:
            if phones and self.ids and SPACE in known:
                self._add([known[SPACE]], -1)
            self.before_word.append(len(self.ids))
            for place, phone in enumerate(phones):
                found = list(spell([phone])) if spell else [known[phone]] if phone in known else []
                if not found and strict:
                    raise AlignError(f"the recogniser never learnt {phone!r}: train it on the clips it is to align")
                self._add(found, len(self.starts_word))
                self.starts_word.append(place == 0)

        self.before_word.append(len(self.ids))

    def _add(self, ids: list[int], owner: int) -> None:
        self.ids += ids
        self.owners += [owner] * len(ids)

    def path(self, heard: NDArray[np.float32], *, stars: Sequence[int] = ()) -> Path:
        return force(heard, self.ids, stars=stars)

    def peaks(self, path: Path) -> tuple[Edges, list[float]]:
        """When CTC heard each phone, in seconds, and how sure it was."""
        owner = np.array(self.owners)
        mine = owner >= 0
        count = len(self.starts_word)
        start, end = np.full(count, path.frames), np.zeros(count, dtype=np.int64)
        np.minimum.at(start, owner[mine], np.array(path.first)[mine])
        np.maximum.at(end, owner[mine], np.array(path.last)[mine])
        many = np.bincount(owner[mine], minlength=count)
        sums = np.bincount(owner[mine], weights=np.array(path.scores)[mine], minlength=count)
        times = zip((start * self.frame_seconds).tolist(), (end * self.frame_seconds).tolist(), strict=True)
        return list(times), (sums / np.maximum(many, 1)).tolist()

    def edges(self, path: Path, loudness: Loudness) -> tuple[Edges, list[float]]:
        """Where each phone lies by CTC alone, and its score."""
        peaks, scores = self.peaks(path)
        return from_peaks(peaks, self.starts_word, loudness), scores


def padded(audio: Audio) -> Audio:
    """The clip with faint noise at both ends, as loud as its own floor: zeros would be a sound of their own."""
    floor = 10.0 ** (float(np.percentile(frame_dbfs(audio), QUIETEST_SHARE)) / 20.0)
    size = round(PAD_SECONDS * audio.rate)
    noise = np.random.default_rng(0).standard_normal(2 * size).astype(np.float32) * np.float32(floor)
    return Audio(np.concatenate([noise[:size], audio.samples, noise[size:]]), audio.rate)


def train_frames(
    items: Iterable[AlignerClip],
    recogniser: Recogniser | None = None,
    *,
    rounds: int = ROUNDS,
    gauss_rounds: int = GAUSS_ROUNDS,
    even: bool = True,
    device: str = "cpu",
    seed: int = 0,
) -> Job[FrameModel]:
    """A frame model of these clips, from a recogniser's alignment of them or from an even start, whichever fits better.

    `even=False` trusts the recogniser; without a recogniser what sounds are like by their signs takes its place.
    """
    wanted = list(items)
    phones = tuple(sorted({phone for item in wanted for _, word in item.words for phone in word}))
    if not phones:
        raise AlignError("no clip has a text to align: run 'olu read' first")
    clips: list[TrainingClip] = []
    minutes = 0.0
    for number, item in enumerate(_spread(wanted)):
        yield Tick(number, len(wanted), "hearing the clips")
        if minutes >= LONGEST_MINUTES:
            break
        clip = _heard(item, phones, recogniser, even=even)
        if clip is not None:
            clips.append(clip)
            minutes += item_minutes(clip)
    if not clips:
        raise AlignError("no clip is long enough for its text: check the texts with 'olu audit'")
    return (yield from estimate(clips, phones, rounds=rounds, gauss_rounds=gauss_rounds, device=device, seed=seed))


def item_minutes(clip: TrainingClip) -> float:
    return len(clip.mels) / 6000.0


def _spread(items: list[AlignerClip]) -> list[AlignerClip]:
    """The clips shuffled, always in the same way: the first of them are a fair sample of all."""
    order = np.random.default_rng(0).permutation(len(items))
    return [items[number] for number in order]


def _heard(
    item: AlignerClip, phones: tuple[str, ...], recogniser: Recogniser | None, *, even: bool
) -> TrainingClip | None:
    """The clip for training; none where its text does not fit."""
    number = {phone: at for at, phone in enumerate(phones)}
    words = tuple(tuple(number[phone] for phone in word) for _, word in item.words if word)
    quiet = padded(item.audio())
    mels = log_mels(quiet)
    spoken = [phone for word in words for phone in word]
    if not spoken or len(mels) < 2 * len(spoken):
        return None
    loudness = Loudness.of(quiet)
    sound = _sound(loudness, len(mels))
    spread = flat(words, sound)
    if recogniser is None:
        return TrainingClip(mels, words, (_by_signs(mels, sound, words, phones), spread))
    try:
        symbols = SymbolMap(recogniser, item.words)
        edges, _ = symbols.edges(symbols.path(recogniser.log_probs(quiet)), loudness)
    except AlignError:
        return None
    guess = thirds(edges, spoken, len(mels))
    return TrainingClip(mels, words, (guess, spread) if even else (guess,))


def _by_signs(
    mels_FM: NDArray[np.float32], sound_F: NDArray[np.bool_], words: Sequence[Sequence[int]], phones: tuple[str, ...]
) -> NDArray[np.int32]:
    """[F] the phones' states where loudness, brightness and colour fit them best."""
    scores = first_scores(ranks(mels_FM, sound_F), phones)
    scores[:, 0] -= SOUND_COST * sound_F
    states = chain(words, frames=len(mels_FM))
    each = float(sound_F.sum()) / max(1, sum(len(word) for word in words))
    way = best_way(states, scores, *steady(classes(len(phones)), each))
    return states.emits[way.states_F]


def _sound(loudness: Loudness, frames: int) -> NDArray[np.bool_]:
    found = np.zeros(frames, dtype=np.bool_)
    scale = 1.0 / (loudness.per_second * FRAME_SECONDS)
    for start, end in zip(*sounds(loudness.levels), strict=True):
        found[round(start * scale) : round(end * scale)] = True
    return found

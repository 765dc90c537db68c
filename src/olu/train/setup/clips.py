"""Which clips of a corpus a run learns from and is validated with, of which speakers, and why not the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from olu.align.state import said_of as said_of_pauses
from olu.core.config import did_you_mean
from olu.core.errors import TrainError
from olu.core.types import Clip, Reading, Split
from olu.corpus.manifest import Corpus
from olu.corpus.split import place
from olu.features.store import ClipArrays, Store
from olu.text.vocabulary import symbol_name
from olu.train.recipe import DataSettings, Recipe
from olu.train.run import Run
from olu.train.setup.start import TrainingStart
from olu.train.setup.symbols import TrainingTexts

NAMED = 8  # speakers that a sentence lists


@dataclass(frozen=True)
class ClipChoice:
    train: list[Clip]
    valid: list[Clip]
    kept: list[Clip]  # all that could be learnt from
    left_out: dict[str, str]  # clip -> why
    speakers: list[str]  # in the order of their rows
    notes: list[str]

    @property
    def both(self) -> list[Clip]:
        return self.train + self.valid


def wanted_clips(corpus: Corpus, recipe: Recipe) -> list[Clip]:
    """The clips that nobody dropped, of the speakers that are asked for."""
    check_speakers(corpus, recipe)
    return [clip for clip in corpus if corpus.is_wanted(clip) and is_asked_for(clip, recipe)]


def choose_clips(
    start: TrainingStart, corpus: Corpus, store: Store, texts: TrainingTexts, features: Mapping[str, Store | ClipArrays]
) -> ClipChoice:
    """The clips of both sides, their speakers, and what a person should know of the choice."""
    kept, left_out = select(start, corpus, store, texts, features)
    needs_text = "text" in start.family.data.needs
    train, valid, notes = sides(corpus, start.recipe, kept, left_out, texts.readings, needs_text=needs_text)
    if least := start.recipe.data.pauses:
        inside = [clip.id for clip in train + valid]
        marks = {id: texts.pauses[id] for id in inside if id in texts.pauses}
        notes.append(said_of_pauses(marks, len(inside), least=least))
    speakers, met = choose_speakers(start, {clip.speaker for clip in train})
    notes += [*met, *strangers(valid, speakers)]
    valid = [clip for clip in valid if clip.speaker in speakers]
    return ClipChoice(train, valid, kept, left_out, speakers, notes)


def choose_speakers(start: TrainingStart, heard: set[str]) -> tuple[list[str], list[str]]:
    """The speakers in the order of their rows, and what is said of them. A run keeps its own."""
    if start.kept:
        if unknown := sorted(heard - set(start.kept.speakers)):
            raise TrainError(f"speaker {unknown[0]!r} is not in {start.kept.run}: start a new run")
        return start.kept.speakers, []
    return speakers_from(start.before, heard) if start.before else (sorted(heard), [])


def speakers_from(start: Run, heard: set[str]) -> tuple[list[str], list[str]]:
    """The speakers of the run before, the new ones after them; and what is said of it."""
    held: list[str] = start.document("speakers.json")
    new = sorted(heard - set(held))
    if not new:
        return held, []
    names = f"{', '.join(new[:NAMED])}{f' and {len(new) - NAMED} more' if len(new) > NAMED else ''}"
    if len(held) == 1 and len(heard) == 1:
        return new, [f"{start.name} has the speaker {held[0]}: {names} begins with that voice and takes its place"]
    if len(held) == 1:
        return held + new, [f"{start.name} has one speaker: more are added ({names}), who all begin with its voice"]
    return held + new, [f"{start.name} has {len(held)} speakers, and not {names}: they begin near the mean of its own"]


def check_speakers(corpus: Corpus, recipe: Recipe) -> None:
    known = sorted({clip.speaker for clip in corpus})
    for name in recipe.data.speakers:
        if name not in known:
            hint = did_you_mean(name, known) or f"; it has: {', '.join(known[:8])}"
            raise TrainError(f"recipe: data.speakers: no speaker {name!r} in the corpus{hint}")


def is_asked_for(clip: Clip, recipe: Recipe) -> bool:
    return not recipe.data.speakers or clip.speaker in recipe.data.speakers


def select(
    start: TrainingStart, corpus: Corpus, store: Store, texts: TrainingTexts, features: Mapping[str, Store | ClipArrays]
) -> tuple[list[Clip], dict[str, str]]:
    """Clips to learn from, and why each other one is left out. Nothing is cut to fit."""
    recipe, data, needs_text = start.recipe, start.family.data, "text" in start.family.data.needs
    kept, left_out = [], {}
    for clip in corpus:
        why = _why_not(corpus, clip, recipe, store, texts=needs_text)
        tokens = len(texts.ids.get(clip.id, ()))
        if why is None and not tokens and needs_text:
            why = "its transcript holds nothing to say"
        if why is None and 0 < recipe.data.max_tokens < tokens:
            why = f"{tokens} tokens, and data.max_tokens is {recipe.data.max_tokens}"
        if why is None:
            why = (
                texts.unfit.get(clip.id)
                or _lacks(clip.id, features)
                or data.refuses(start.config, samples=store.length(clip.id), tokens=tokens)
            )
        if why is None:
            kept.append(clip)
        else:
            left_out[clip.id] = why
    return kept, left_out


def _lacks(clip: str, features: Mapping[str, Store | ClipArrays]) -> str | None:
    """Which feature could not be made of a clip, and why."""
    for name, store in features.items():
        if clip not in store:
            said = f"clip {clip}: "
            why = next((one.removeprefix(said) for one in store.problems if one.startswith(said)), "not made")
            return f"it has no {name}: {why}"
    return None


def _parted(kept: list[Clip], side: Mapping[str, Split | None], data: DataSettings) -> tuple[list[Clip], list[Clip]]:
    """Training and validation: by each clip's side, or by a share of the training clips that is held back."""
    train = [clip for clip in kept if data.everything or side[clip.id] == "train"]
    if share := data.hold_back:
        return [clip for clip in train if place(clip.id) >= share], [c for c in train if place(c.id) < share]
    return train, [clip for clip in kept if side[clip.id] == "valid"]


def sides(
    corpus: Corpus,
    recipe: Recipe,
    kept: list[Clip],
    left_out: dict[str, str],
    readings: dict[str, Reading],
    *,
    needs_text: bool = True,
) -> tuple[list[Clip], list[Clip], list[str]]:
    """Clips for training, clips for validation, and what a person should know of the choice."""
    side = {clip.id: corpus.split(clip, texts=needs_text) for clip in kept}
    train, valid = _parted(kept, side, recipe.data)
    valid = valid[: recipe.data.valid_clips]
    if not train:
        first = next(iter(left_out.items()), ("", ""))
        raise TrainError(f"no clip is left to train on; the first left out is {first[0]}: {first[1]}")
    notes = [f"{len(left_out)} of {len(corpus)} clips left out: {_few(left_out)}"] if left_out else []
    notes += corpus.changed()
    if 0 < (most := recipe.data.train_clips) < len(train):
        notes.append(f"data.train_clips: the first {most} of {len(train)} clips train")
        train = train[:most]
    notes += _unread(kept, readings)
    if not any(clip.speaker in {one.speaker for one in train} for clip in valid):
        valid = train[: min(4, recipe.data.valid_clips)]
        notes.append("no clip is left for validation: its figures come from training clips")
    return train, valid, notes


def strangers(valid: list[Clip], speakers: list[str]) -> list[str]:
    """Validation clips of people the voice does not learn: they are left out, never taken for somebody else."""
    unknown = Counter(clip.speaker for clip in valid if clip.speaker not in speakers)
    named_ = ", ".join(f"{name} x{count}" for name, count in unknown.most_common(8))
    return [f"validation clips left out, because their speaker has no training clip: {named_}"] if unknown else []


def _unread(kept: list[Clip], readings: dict[str, Reading]) -> list[str]:
    """What no symbol stands for, how often, and a clip that has it."""
    counts: Counter[str] = Counter()
    first: dict[str, str] = {}
    for clip in kept if readings else ():
        counts.update(readings[clip.id].dropped)
        for symbol in readings[clip.id].dropped:
            first.setdefault(symbol, clip.id)
    listed = ", ".join(f"{symbol_name(one)} x{count} (in {first[one]})" for one, count in counts.most_common(8))
    return [f"characters that are not read: {listed}"] if listed else []


def _why_not(corpus: Corpus, clip: Clip, recipe: Recipe, store: Store, *, texts: bool) -> str | None:
    data = recipe.data
    if not is_asked_for(clip, recipe):
        return f"its speaker is {clip.speaker}, and data.speakers is {', '.join(data.speakers)}"
    why = corpus.why_not(clip, errors=data.leave_out_errors, texts=texts)
    if clip.id not in store:
        return why or ("it changed since it was imported" if corpus.has_changed(clip) else "it cannot be decoded")
    seconds = corpus.taken(clip).seconds / data.resample  # as it is heard
    if why is None and not data.min_seconds <= seconds <= data.max_seconds:
        return f"{seconds:.1f} s, and data.min_seconds to max_seconds is {data.min_seconds:g} to {data.max_seconds:g}"
    return why


def _few(left_out: dict[str, str]) -> str:
    shown = [f"{clip} ({why})" for clip, why in list(left_out.items())[:3]]
    return "; ".join(shown) + (" ..." if len(left_out) > 3 else "")

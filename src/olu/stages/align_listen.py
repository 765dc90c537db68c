"""Align by listening: a recogniser, then frames of 10 ms, clip by clip; a kill loses only the clip under way."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from olu.align.cut import places
from olu.align.state import Listened, Words, fold_of, phones_of, to_align
from olu.align.text_match import Match
from olu.audio import io
from olu.core.errors import AlignError, AudioError, CorpusError
from olu.core.files import Workspace, hash_value, read_json, write_json
from olu.core.job import Job, Tick
from olu.core.parse import BadData, from_json
from olu.core.rows import from_row
from olu.core.types import Alignment, Audio, Clip
from olu.corpus.decisions import Decision, load, save
from olu.corpus.manifest import Corpus, recordings
from olu.stages.align_base import base_run
from olu.text.frontend import lexicon_path, read_settings

if TYPE_CHECKING:
    from olu.align.aligner import Aligner, AlignerClip
    from olu.align.frames import FrameModel
    from olu.families.recogniser.recognise import Trained

# ---- how well texts fit their sound: scores of each clip with its own text and with others', by one recogniser or two


CHANCE = 4  # texts of other clips that each clip is compared with
LOWEST = -20.0  # a text that has no room in its clip
COPIED = ("corpus", "audit")  # of a workspace: what half of it shares with the whole
FOLDS = 2


@dataclass(frozen=True)
class Texts:
    """What each clip should sound like, as ids of one recogniser's symbols."""

    ids: Mapping[str, Sequence[int]]

    @staticmethod
    def of(trained: Trained, todo: Mapping[str, tuple[Clip, Words]], *, longest: float) -> Texts:
        short = {id: words for id, (clip, words) in todo.items() if clip.seconds <= longest}
        return Texts({id: trained.ids(phones_of(words)) for id, words in short.items()})

    def others(self, id: str) -> list[Sequence[int]]:
        """Texts of other clips, to compare with by chance: the same ones each time."""
        return [self.ids[other] for other in others_of(id, self.ids)]

    def match(self, id: str, heard: NDArray[np.float32]) -> Match:
        """How well a clip's text fits `heard`, the log probabilities of its frames."""
        from olu.families.recogniser.text import collapsed
        from olu.text.words import edits

        own = self.ids[id]
        if not len(heard) or not own:
            return Match()
        freely = collapsed(heard.argmax(axis=1).tolist())
        wrong = edits([str(one) for one in own], [str(one) for one in freely])
        return Match(
            score=_score(heard, own),
            chance=tuple(_score(heard, other) for other in self.others(id) if other),
            cer=min(1.0, wrong / len(own)),
        )


def others_of(id: str, ids: Iterable[str]) -> list[str]:
    """Clips whose texts a clip is compared with: the same ones each time."""
    rest = [other for other in ids if other != id]
    return random.Random(id).sample(rest, min(CHANCE, len(rest)))


def _score(heard: NDArray[np.float32], ids: Sequence[int]) -> float:
    from olu.align.ctc import match_score

    try:
        return max(LOWEST, float(match_score(heard, ids)))
    except AlignError:
        return LOWEST  # no room


def cross_match(
    ws: Workspace, todo: Mapping[str, tuple[Clip, Words]], *, device: str | None, longest: float
) -> Job[dict[str, Match]]:
    """Two recognisers, each trained on half of the clips, and each asked about the other half.

    One that has learnt from a wrong text may know it by heart, and would not be surprised by it.
    """
    from olu.stages import listener as makers

    found: dict[str, Match] = {}
    corpus = Corpus.open(ws)
    for fold in range(FOLDS):
        half = _half(ws, fold)
        trained = yield from makers.recogniser_for(half, units="symbols", device=device, everything=True, force=True)
        texts = Texts.of(trained, todo, longest=longest)
        asked = [clip for clip, _ in todo.values() if fold_of(clip.id, folds=FOLDS) == fold and clip.seconds <= longest]
        for done, clip in enumerate(asked, 1):
            yield Tick(done, len(asked), f"scoring part {fold + 1} of {FOLDS}")
            try:
                found[clip.id] = texts.match(clip.id, trained.log_probs(corpus.audio(clip)))
            except AudioError:
                continue  # the alignment says so
        shutil.rmtree(half.features, ignore_errors=True)
    return found


def halves_path(ws: Workspace) -> Path:
    return ws.alignment / "halves"


def _half(ws: Workspace, fold: int) -> Workspace:
    """A workspace with the same clips, those of one part left out. Its recordings stay where they lie."""
    root = halves_path(ws) / f"{fold + 1}"
    whole = Corpus.open(ws)
    if not (root / "olu.toml").exists():
        shutil.rmtree(root, ignore_errors=True)
        Workspace.create(root, language=ws.language, name=f"{ws.name} part {fold + 1}")
    half = Workspace.open(root)
    for name in COPIED:
        shutil.copytree(
            ws.root / name, root / name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("audio", "*.html")
        )
    files = [ws.root / file for file in ("thresholds.toml", "reading.toml", "stamps/audit.json", "audit/report.html")]
    words = lexicon_path(ws, read_settings(ws))
    files += [words] if words is not None and words.is_relative_to(ws.root) else []
    for file in filter(Path.is_file, files):
        target = root / file.relative_to(ws.root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    sources = [replace(one, root=str((ws.root / one.root).resolve())) for one in whole.sources.values()]
    write_json(half.corpus / "sources.json", [asdict(one) for one in sources])
    save(half, _with_drops(load(ws), [clip.id for clip in whole if fold_of(clip.id, folds=FOLDS) == fold]))
    return half


def _with_drops(known: Sequence[Decision], ids: Sequence[str]) -> list[Decision]:
    """What is decided, with these clips dropped by a person, whose other word on them is forgotten."""
    drops = {id: Decision(id=id, decision="drop", by="person", reason="the other part") for id in ids}
    mine = {one.id: one for one in known if one.by == "person"}
    return [*(one for one in known if one.by != "person"), *(mine | drops).values()]


WEAK, WORTHLESS = 0.5, 0.8  # share of the texts that a recogniser hears otherwise in clips it has learnt from
LONG_SECONDS = 60.0  # from here on a clip is aligned in pieces, in bounded memory
CHUNK_SECONDS = 30.0


class CachedRecogniser:
    """A recogniser that remembers what it heard last, so that nothing is heard twice."""

    def __init__(self, trained: Trained) -> None:
        self.trained = trained
        self.last: NDArray[np.float32] = np.zeros((0, 1), np.float32)

    @property
    def rate(self) -> int:
        return self.trained.rate

    @property
    def frame_seconds(self) -> float:
        return self.trained.frame_seconds

    @property
    def symbols(self) -> tuple[str, ...]:
        return self.trained.symbols

    def ids(self, symbols: Sequence[str]) -> list[int]:
        return self.trained.ids(symbols)

    def log_probs(self, audio: Audio) -> NDArray[np.float32]:
        self.last = self.trained.log_probs(audio)
        return self.last


def listen(
    ws: Workspace, *, ctc_only: bool, cross: bool, device: str | None, force: bool, base: Path | None = None
) -> Job[Listened]:
    """Every clip that is wanted, with its alignment and how well its text fits. `base`: a recogniser to begin with."""
    from olu.align.aligner import Aligner
    from olu.stages import listener as makers

    start = None if base is None else base_run(base)
    trained = yield from makers.recogniser_for(
        ws, units="symbols", device=device, everything=True, force=force, base=start
    )
    doubt = weakness(trained.natural_cer)
    if doubt and trained.natural_cer >= WORTHLESS and not force:
        raise AlignError(f"nothing was aligned: {doubt}, or take the alignment all the same with --force")
    corpus = Corpus.open(ws)
    todo = to_align(ws, corpus)
    ear = CachedRecogniser(trained)
    key = hash_value([trained.version, ctc_only, recordings(ws), {id: words for id, (_, words) in todo.items()}])
    frames = None
    if not ctc_only:
        items = list(clips_to_learn(corpus, todo))
        frames = yield from frames_for(
            ws, items, ear, key=key, made_by=trained.version, device=trained.device, again=force
        )
    aligner = Aligner(ear, frames)
    texts = Texts.of(trained, todo, longest=LONG_SECONDS)

    def one(corpus: Corpus, clip: Clip, words: Words) -> tuple[Alignment, Match]:
        return _one(corpus, clip, words, aligner, ear, texts)

    found, matches, problems = yield from aligned_clips(ws, corpus, todo, one, key=key)
    if cross:
        heard = yield from cross_match(ws, todo, device=device, longest=LONG_SECONDS)
        for id in heard.keys() & matches:
            matches[id] = replace(matches[id], score=heard[id].score, chance=heard[id].chance, cer=heard[id].cer)
        shutil.rmtree(halves_path(ws), ignore_errors=True)  # their scores are what was wanted of them
    notes = [] if cross else ["Texts were scored by a recogniser that learnt from them; --cross scores them by others."]
    made_by = f"{trained.version}{'' if ctc_only else ', and frames of 10 ms'}"
    return Listened(
        found=found, matches=list(matches.items()), problems=problems, notes=notes, made_by=made_by, doubt=doubt
    )


def aligned_clips(
    ws: Workspace,
    corpus: Corpus,
    todo: Mapping[str, tuple[Clip, Words]],
    one: Callable[[Corpus, Clip, Words], tuple[Alignment, Match]],
    *,
    key: str,
) -> Job[tuple[list[Alignment], dict[str, Match], list[str]]]:
    """Each clip by `one`, its match, and those that could not be; what was done before a kill is kept under `key`."""
    known = _kept(part_path(ws), key)
    found: list[Alignment] = []
    matches: dict[str, Match] = {}
    problems: list[str] = []
    part_path(ws).parent.mkdir(parents=True, exist_ok=True)
    with part_path(ws).open("a", encoding="utf-8", newline="\n") as part:
        for done, (clip, words) in enumerate(todo.values(), 1):
            yield Tick(done, len(todo), clip.id)
            if clip.id not in known:
                try:
                    known[clip.id] = one(corpus, clip, words)
                except (AlignError, AudioError, CorpusError) as bad:
                    problems.append(str(bad) if clip.id in str(bad) else f"clip {clip.id}: {bad}")
                    continue
                alignment, match = known[clip.id]
                part.write(json.dumps({"key": key, "row": alignment.row(), "match": match.row(clip.id)}) + "\n")
                part.flush()
            alignment, match = known[clip.id]
            found.append(alignment)
            matches[clip.id] = match
    return found, matches, problems


def weakness(wrong: float) -> str:
    """A sentence where an aligner hears so much of its own clips wrong; nothing where it hears well."""
    if not wrong >= WEAK:  # a recogniser that nobody has measured has no number
        return ""
    worth = "worth nothing" if wrong >= WORTHLESS else "worth little"
    return (
        f"the recogniser hears {wrong:.0%} of the texts otherwise, in clips it has learnt from, so its times are"
        f" {worth}: listen whether the texts are what is said, correct or drop those that are not, record more"
    )


def part_path(ws: Workspace) -> Path:
    return ws.alignment / "part.jsonl"


def _kept(path: Path, key: str) -> dict[str, tuple[Alignment, Match]]:
    """What an alignment that was killed had finished; a last line that broke off is done again."""
    found: dict[str, tuple[Alignment, Match]] = {}
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for line in lines:
        try:
            row: dict[str, Any] = from_json(line)
        except BadData:
            continue
        if row["key"] == key:
            alignment = from_row(row["row"], Alignment)
            found[alignment.id] = (alignment, from_row(row["match"], Match))
    return found


def clips_to_learn(corpus: Corpus, todo: Mapping[str, tuple[Clip, Words]]) -> Iterator[AlignerClip]:
    """What the frame model learns from: clips without an error that are not endless."""
    from olu.align.aligner import AlignerClip

    for clip, words in todo.values():
        if clip.seconds <= LONG_SECONDS and corpus.why_not(clip) is None and not corpus.has_changed(clip):
            yield AlignerClip(clip.id, words, partial(corpus.audio, clip))


def frames_for(
    ws: Workspace,
    items: list[AlignerClip],
    ear: CachedRecogniser | None = None,
    *,
    key: str,
    made_by: str,
    device: str,
    again: bool,
) -> Job[FrameModel]:
    """The frame model of these clips; one that an alignment before this had finished is used again.

    `ear`: by what the first guess is made; without one by what sounds are like.
    """
    from olu.align.aligner import train_frames
    from olu.align.frames import FrameModel

    folder, told = ws.alignment / "frames", ws.alignment / "frames.json"
    if not again and told.exists() and folder.is_dir() and read_json(told)["key"] == key:
        return FrameModel.load(folder, device=device)
    model = yield from train_frames(items, ear, device=device)
    model.save(folder)
    write_json(told, {"key": key, "recogniser": made_by})
    return model


def _one(
    corpus: Corpus, clip: Clip, words: Words, aligner: Aligner, ear: CachedRecogniser, texts: Texts
) -> tuple[Alignment, Match]:
    if clip.seconds > LONG_SECONDS:
        from olu.align.long import align_long

        sentences = [at for at, place in places(clip.text, [text for text, _ in words]).items() if place.sentence]
        stars = (0, *sorted(sentences), len(words))
        found = align_long(_chunks(corpus, clip), words, ear, id=clip.id, stars=stars)
        match = Match(score=found.score)
    else:
        found = aligner.align(clip.id, corpus.audio(clip), words)
        match = texts.match(clip.id, ear.last)
    first, last = (found.words[0], found.words[-1]) if found.words else (None, None)
    return found, replace(match, first=first, last=last)


def _chunks(corpus: Corpus, clip: Clip) -> Iterator[Audio]:
    """The sound of a clip, never all of it at once."""
    corpus.check_same(clip)
    path, at = corpus.locate(clip), 0.0
    while clip.seconds - at > 1e-4:
        size = min(CHUNK_SECONDS, clip.seconds - at)
        yield io.read(path, start=clip.start + at, seconds=size)
        at += size

"""How well texts fit their sound: scores of each clip with its own text and with others', by one recogniser or two."""

from __future__ import annotations

import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from olu.align.state import Words, fold_of, phones_of
from olu.align.text_match import Match
from olu.core.errors import AlignError, AudioError
from olu.core.files import Workspace, write_json
from olu.core.job import Job, Tick
from olu.core.types import Clip
from olu.corpus.decisions import Decision, load, save
from olu.corpus.manifest import Corpus
from olu.text.frontend import lexicon_path, read_settings

if TYPE_CHECKING:
    from olu.families.recogniser.recognise import Trained

CHANCE = 4  # texts of other clips that each clip is compared with
LOWEST = -20.0  # a text that has no room in its clip
COPIED = ("corpus", "audit")  # of a workspace: what half of it shares with the whole
FOLDS = 2


@dataclass(frozen=True)
class Texts:
    """What each clip should sound like, as ids of one recogniser."""

    ids: Mapping[str, Sequence[int]]

    @staticmethod
    def of(trained: Trained, todo: Mapping[str, tuple[Clip, Words]], *, longest: float) -> Texts:
        short = {id: words for id, (clip, words) in todo.items() if clip.seconds <= longest}
        return Texts({id: trained.ids(phones_of(words)) for id, words in short.items()})

    def others(self, id: str) -> list[Sequence[int]]:
        """Of other clips: the same ones each time."""
        rest = [other for other in self.ids if other != id]
        return [self.ids[other] for other in random.Random(id).sample(rest, min(CHANCE, len(rest)))]

    def match(self, id: str, heard: NDArray[np.float32]) -> Match:
        """`heard` are the log probabilities of its frames."""
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
    for file in ("thresholds.toml", "reading.toml", "stamps/audit.json", "audit/report.html"):
        if (ws.root / file).exists():
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ws.root / file, root / file)
    words = lexicon_path(ws, read_settings(ws))
    if words is not None and words.is_file() and words.is_relative_to(ws.root):
        target = root / words.relative_to(ws.root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(words, target)
    sources = [replace(one, root=str((ws.root / one.root).resolve())) for one in whole.sources.values()]
    write_json(half.corpus / "sources.json", [asdict(one) for one in sources])
    out = [clip.id for clip in whole if fold_of(clip.id, folds=FOLDS) == fold]
    mine = {one.id: one for one in load(ws) if one.by == "person"}
    drops = [Decision(id=id, decision="drop", by="person", reason="the other part") for id in out]
    save(half, [*(one for one in load(ws) if one.by != "person"), *(mine | {one.id: one for one in drops}).values()])
    return half

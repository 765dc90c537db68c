"""`olu align --flat`: short clips aligned by what their own sounds teach, without a recogniser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from olu.align.state import Listened, Words, to_align
from olu.align.text_match import Match
from olu.core.errors import AlignError, CorpusError
from olu.core.files import Workspace, hash_value
from olu.core.job import Job
from olu.core.machine import this_machine
from olu.core.stage import need_training
from olu.core.threads import use_threads
from olu.core.types import Alignment, Clip
from olu.corpus.manifest import Corpus, recordings
from olu.stages.align_listen import LOWEST, aligned_clips, clips_to_learn, frames_for, others_of
from olu.stages.long_path import FROM_CLIPS, LEAST_MINUTES
from olu.stages.read import read_corpus

if TYPE_CHECKING:
    from olu.align.frames import FrameModel

SHORT_VERSION = 1  # raise it when the same sound and text would be aligned otherwise
LONGEST_SECONDS = 120.0  # the search keeps every frame of every state of a clip


def listen_short(ws: Workspace, *, device: str | None, force: bool) -> Job[Listened]:
    """Every clip that is wanted with its alignment, learnt from the clips' sound and texts alone."""
    need_training("an alignment")
    use_threads()
    where = this_machine(device).device
    yield from read_corpus(ws)
    corpus = Corpus.open(ws)
    todo = to_align(ws, corpus)
    if not todo:
        raise CorpusError(
            f"no text of {ws.root} has a word that can be read as {ws.language}: is it in another script or language?"
        )
    items = list(clips_to_learn(corpus, todo))
    minutes = sum(todo[item.id][0].seconds for item in items) / 60
    if minutes < LEAST_MINUTES and not force:
        raise CorpusError(
            f"{ws.root} has {minutes:.1f} minutes of short clips to learn from, and --flat needs"
            f" {LEAST_MINUTES:.0f}: import more, or try it all the same with --force"
        )
    words = {id: own for id, (_, own) in todo.items()}
    key = hash_value([FROM_CLIPS, SHORT_VERSION, recordings(ws), words])
    model = yield from frames_for(ws, items, key=key, made_by=FROM_CLIPS, device=where, again=force)
    ear = _FrameEar(model, todo)
    found, matches, problems = yield from aligned_clips(ws, corpus, todo, ear.one, key=key)
    note = "Texts were judged by frames of 10 ms alone: olu align without --flat judges them by a recogniser."
    return Listened(found=found, matches=list(matches.items()), problems=problems, notes=[note], made_by=FROM_CLIPS)


@dataclass(frozen=True)
class _FrameEar:
    """Aligns a clip by the frame model, and scores its text and a few of other clips by it."""

    model: FrameModel
    todo: Mapping[str, tuple[Clip, Words]]

    def one(self, corpus: Corpus, clip: Clip, words: Words) -> tuple[Alignment, Match]:
        from olu.align.aligner import Aligner, padded
        from olu.align.frames import log_mels

        if clip.seconds > LONGEST_SECONDS:
            raise AlignError(
                f"{clip.id}: it lasts {clip.seconds:.0f} s and --flat takes clips of up to {LONGEST_SECONDS:.0f}:"
                " align without --flat"
            )
        audio = corpus.audio(clip)
        found = Aligner(frames=self.model).align(clip.id, audio, words)
        chances = self.model.posteriors(log_mels(padded(audio)))
        own, *chance = (self._score(chances, self.todo[id][1]) for id in (clip.id, *others_of(clip.id, self.todo)))
        return replace(found, score=own), Match(
            score=own, chance=tuple(chance), first=found.words[0], last=found.words[-1]
        )

    def _score(self, chances_FC: NDArray[np.float32], words: Words) -> float:
        """The mean log chance of a text's frames, against the likeliest class of each."""
        try:
            return max(LOWEST, self.model.fit(chances_FC, [phones for _, phones in words]))
        except AlignError:
            return LOWEST  # no room, or a sound that nobody says here

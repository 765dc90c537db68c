"""What a run knows of its corpus beside ids and sound: frames of tokens by the alignment, and a family's figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from olu.align.durations import gap_durations, heard_part
from olu.align.state import alignment_path
from olu.core.errors import AlignError, TrainError
from olu.core.types import Alignment, Clip
from olu.corpus.manifest import Corpus
from olu.features.store import Store
from olu.train.setup.start import TrainingStart
from olu.train.setup.symbols import TrainingTexts

if TYPE_CHECKING:
    from olu.train.run import Run
    from olu.train.setup.job import TrainingJob

OBSERVED = "observed.json"
FRAMES = "frames"
DOUBTED = 0.05  # share of the alignments, by their score, that a family which searches does not take


def with_frames(start: TrainingStart, corpus: Corpus, store: Store, texts: TrainingTexts) -> TrainingTexts:
    """The texts with frames for each token of every clip whose alignment fits; why not, for the others."""
    data = start.family.data
    wanted = data.token_frames(start.config) if data.token_frames else None
    if wanted is None:
        return texts
    if wanted.all and not alignment_path(start.ws).is_file():
        raise TrainError(
            f"{start.ws.root} is not aligned, and {start.family.name} learns durations from an alignment:"
            f" run 'olu align {start.ws.root}'"
        )
    streams, unfit = dict(texts.streams), dict[str, str]()
    least = None if wanted.all else _least_score(corpus)
    for clip in corpus:
        if clip.id not in store or not texts.ids.get(clip.id):
            continue
        try:
            score = None if (held := corpus.alignment(clip)) is None else held.score
            if least is not None and score is not None and score < least:
                raise AlignError("its alignment is among the worst")
            counts = token_frames(start, corpus, store, texts, clip, samples=store.length(clip.id))
        except AlignError as bad:
            unfit[clip.id] = str(bad).removeprefix(f"{clip.id}: ")
            counts = [0] * len(texts.ids[clip.id])
        streams[clip.id] = {**streams[clip.id], FRAMES: counts}
    return replace(texts, streams=streams, unfit=unfit if wanted.all else {})


def token_frames(
    start: TrainingStart,
    corpus: Corpus,
    store: Store,
    texts: TrainingTexts,
    clip: Clip,
    *,
    samples: int,
    speed: float = 1.0,
) -> list[int]:
    """How many frames of these samples each token of a clip lasts. `speed`: they are so much faster than prepared."""
    alignment, data = corpus.alignment(clip), start.family.data
    wanted = data.token_frames(start.config) if data.token_frames else None
    if alignment is None or wanted is None:
        raise AlignError("it has no alignment")
    rate = data.rate(start.config)
    begins = corpus.taken(clip).start - clip.start + store.begins.get(clip.id, 0.0)
    factor = start.recipe.data.resample * speed
    here = heard_part(alignment, start=begins, samples=samples, rate=rate, factor=factor)
    symbols = [texts.vocabulary.symbols[id] for id in texts.ids[clip.id]]
    gaps = texts.streams[clip.id]["gaps"]
    counts = gap_durations(here, tokens=symbols, gaps=gaps, samples=samples, rate=rate, hop=wanted.hop)
    if sum(counts) != samples // wanted.hop:
        raise AlignError(f"its tokens have {sum(counts)} frames and its sound {samples // wanted.hop}")
    return list(counts)


def _least_score(corpus: Corpus) -> float | None:
    scores = sorted(one.score for one in _alignments(corpus) if one.score is not None)
    return scores[int(DOUBTED * len(scores))] if scores else None


def _alignments(corpus: Corpus) -> list[Alignment]:
    return [found for clip in corpus if (found := corpus.alignment(clip)) is not None]


def observed(job: TrainingJob, *, run: Run | None, before: Mapping[str, Any] | None) -> TrainingJob:
    """The job with what its family observes of the corpus; a run that goes on keeps what it knew.

    `before`: what was observed for the weights that it begins with.
    """
    observe = job.family.data.observe
    if observe is None:
        return job
    document: dict[str, Any] | None = held_by(run)
    if document is None:
        document = observe(
            train=map(job.example, job.train),
            valid=map(job.example, job.valid),
            symbols=job.vocabulary.symbols,
            speakers=job.speakers,
            before=before,
            config=job.config,
        )
    job.learner.observe(document)  # type: ignore[operator]
    if hasattr(job.learner, "meet"):
        for number, name in enumerate(job.speakers):
            clips = [clip for clip in document.get("references", {}).get(name, ()) if clip in job.store]
            job.learner.meet(number, [job.store[clip] for clip in clips])  # type: ignore[operator]
    notes = [] if run else list(document.get("notes", ()))
    return replace(job, documents={**job.documents, OBSERVED: document}, notes=[*job.notes, *notes])


def held_by(run: Run | None) -> dict[str, Any] | None:
    """What a run observed; none where it has not begun to train."""
    if run is None or not (run.folder / OBSERVED).is_file():
        return None
    found: dict[str, Any] = run.document(OBSERVED)
    return found

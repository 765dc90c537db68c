"""Decode each clip once and keep only the facts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from olu.audio.io import resample
from olu.audio.repair import cut_off
from olu.audit.check import MeasuredClip
from olu.audit.sound import measure
from olu.core.errors import AudioError, CorpusError
from olu.core.types import Clip
from olu.corpus.manifest import Corpus
from olu.features.pitch import RATE, middle

if TYPE_CHECKING:
    from olu.networks.models import Models


def hear(corpus: Corpus, clip: Clip, models: Models | None = None) -> MeasuredClip:
    decision = corpus.decision(clip)
    word = decision.decision if decision and decision.by != "fix" else ""
    return replace(_hear(corpus, clip, models), dropped=word == "drop", kept=word == "keep")


def _hear(corpus: Corpus, clip: Clip, models: Models | None) -> MeasuredClip:
    split = corpus.split(clip)
    faults: list[str] = []
    try:
        audio = corpus.audio(clip, faults=faults)
    except (AudioError, CorpusError) as bad:
        return MeasuredClip(clip=clip, facts=None, trouble=str(bad), split=split)
    except MemoryError:  # of all threads together: no file is to blame
        raise
    except Exception as bad:  # one strange file must not keep the others from being heard
        trouble = f"{corpus.locate(clip)} cannot be decoded ({_why(bad)}): export or copy it again"
        return MeasuredClip(clip=clip, facts=None, trouble=trouble, split=split)
    try:
        facts = measure(audio) if np.isfinite(np.dot(audio.samples, audio.samples)) else None
        missing = "" if clip.start else cut_off(corpus.locate(clip))
    except MemoryError:
        raise
    except Exception as bad:
        fault = f"{corpus.locate(clip)} cannot be measured ({_why(bad)}), though it can be decoded"
        trouble = f"{fault}: listen to it, and leave it out with 'olu drop' if it is not right"
        return MeasuredClip(clip=clip, facts=None, trouble=trouble, split=split, measured=False)
    if facts is None:  # one number that is none makes the sum none
        trouble = f"{corpus.locate(clip)} holds samples that are not numbers: export or copy it again"
        return MeasuredClip(clip=clip, facts=None, trouble=trouble, split=split)
    trouble = f"the file breaks off, {missing}: copy it again from the original" if missing else ""
    deep = models.listen(audio) if models else None
    pitch = middle(resample(audio, RATE).samples) if models else None
    damage = f"parts of {corpus.locate(clip).name} are damaged and were left out ({faults[0]})" if faults else ""
    return MeasuredClip(clip=clip, facts=facts, trouble=trouble, split=split, deep=deep, pitch=pitch, damage=damage)


def _why(bad: Exception) -> str:
    return f"{type(bad).__name__}: {bad}".splitlines()[0]


def hear_all(corpus: Corpus, *, workers: int, models: Models | None = None) -> Iterator[MeasuredClip]:
    """Every clip in corpus order; at most a few per worker are under way, and no sound outlives its facts."""
    pool = ThreadPoolExecutor(workers, thread_name_prefix="audit")
    waiting: deque[Future[MeasuredClip]] = deque()
    try:
        for clip in corpus:
            waiting.append(pool.submit(hear, corpus, clip, models))
            if len(waiting) > 4 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)

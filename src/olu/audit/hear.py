"""Decode each clip once and keep only the facts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from olu.audit.check import Heard
from olu.audit.sound import measure
from olu.corpus.manifest import Corpus
from olu.errors import AudioError, CorpusError
from olu.types import Clip


def hear(corpus: Corpus, clip: Clip) -> Heard:
    try:
        audio = corpus.audio(clip)
    except (AudioError, CorpusError) as bad:
        return Heard(clip=clip, facts=None, trouble=str(bad))
    if not np.isfinite(audio.samples).all():
        trouble = f"{corpus.locate(clip)} holds samples that are not numbers: export or copy it again"
        return Heard(clip=clip, facts=None, trouble=trouble)
    return Heard(clip=clip, facts=measure(audio))


def hear_all(corpus: Corpus, *, workers: int) -> Iterator[Heard]:
    """Every clip in corpus order; at most a few per worker are under way, and no sound outlives its facts."""
    pool = ThreadPoolExecutor(workers, thread_name_prefix="audit")
    waiting: deque[Future[Heard]] = deque()
    try:
        for clip in corpus:
            waiting.append(pool.submit(hear, corpus, clip))
            if len(waiting) > 4 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)

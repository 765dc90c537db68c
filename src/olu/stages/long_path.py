"""The path of a workspace of long recordings: align, cut, and only then what every corpus does."""

from __future__ import annotations

from olu.align.state import alignment_path
from olu.audit.fix import without_aside
from olu.core.files import Workspace, read_rows
from olu.core.told import Remedy
from olu.core.types import Alignment
from olu.corpus.manifest import Corpus
from olu.train.recipe import Recipe

LEAST_MINUTES = 10.0  # of speech: with less, boundaries are no better than spreading the sounds evenly
MADE_BY = "a flat start on these recordings"
FROM_CLIPS = "a flat start on these clips, and frames of 10 ms"


def is_cold(corpus: Corpus) -> bool:
    """Whether there is speech with texts, and next to none of it in clips short enough to learn from."""
    wanted = [corpus.taken(clip).seconds for clip in corpus if corpus.is_wanted(clip)]
    most = Recipe().data.max_seconds
    short = sum(seconds for seconds in wanted if seconds <= most)
    return short < 60 * LEAST_MINUTES and any(seconds > most for seconds in wanted) and short < sum(wanted) / 2


def long_next(ws: Workspace, *, aligned: bool) -> Remedy | None:
    """What a workspace of long recordings needs next; nothing where it is an ordinary one."""
    corpus, aside = without_aside(Corpus.open(ws))
    if aside or not is_cold(corpus):
        return None
    return Remedy("cut", (ws.root,)) if aligned and is_cuttable(ws) else Remedy("align", (ws.root,))


def is_cuttable(ws: Workspace) -> bool:
    """Whether an aligned clip is too long to train and no cut was made yet: another would leave it long."""
    corpus, aside = without_aside(Corpus.open(ws))
    if aside:
        return False
    most = Recipe().data.max_seconds
    long = {clip.id for clip in corpus if corpus.is_wanted(clip) and clip.seconds > most}
    return any(one.id in long for one in read_rows(alignment_path(ws), Alignment))

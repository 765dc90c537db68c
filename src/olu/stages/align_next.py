"""What to do after an alignment: cut what is too long, else whatever the workspace lacks next."""

from __future__ import annotations

from shlex import quote

from olu.align.state import alignment_path
from olu.audit.fix import without_aside
from olu.core.files import Workspace, read_rows
from olu.core.types import Alignment
from olu.corpus.manifest import Corpus
from olu.stages import audit
from olu.stages.status import status


def after_align(ws: Workspace) -> str:
    """The one command to run next."""
    place = quote(str(ws.root))
    if _cuttable(ws):
        return f"olu cut {place}"
    if audit.STAGE.state(ws) != "fresh":
        return f"olu audit {place}"
    return status(ws).next


def _cuttable(ws: Workspace) -> bool:
    """Whether an aligned clip is too long to train; what a cut has left long, another one would too."""
    corpus, aside = without_aside(Corpus.open(ws))
    if aside:
        return False
    wanted = {clip.id for clip in audit.long_clips(corpus)}
    return any(one.id in wanted for one in read_rows(alignment_path(ws), Alignment))

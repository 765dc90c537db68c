"""What is doubtful of a corpus' texts, said wherever the next step would train on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from olu.cli import show

SHOWN = 5


def show_doubts(sentences: Sequence[str], *, say: Callable[[str], None] = show.say) -> None:
    if not sentences:
        return
    say("Texts in doubt:")
    for sentence in sentences[:SHOWN]:
        say(f"  {sentence}")
    if len(sentences) > SHOWN:
        say(f"  ... and {len(sentences) - SHOWN} more, see corpus/doubts.jsonl in the workspace")


def show_standing(ws: Path, *, say: Callable[[str], None] = show.say) -> None:
    """Those that a workspace has kept."""
    from olu.core.files import Workspace
    from olu.stages.import_ import doubts_of

    show_doubts(doubts_of(Workspace.open(ws)), say=say)

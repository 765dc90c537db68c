"""What every stage shares: when it is done, when it is stale, and the command that runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from olu.core.files import Workspace

State = Literal["fresh", "stale", "missing"]


@dataclass(frozen=True)
class Stage:
    name: str
    command: str  # with {ws}: what a person types to run it
    folder: str  # where its results lie in the workspace
    inputs: Callable[[Workspace, dict[str, Any]], str]  # a hash of what it reads, given its options
    makes: tuple[str, ...] = ()  # files in its folder without which it is not done

    def state(self, ws: Workspace) -> State:
        """Fresh when the stamp's hash equals the hash of the inputs as they are now."""
        stamp = ws.stamped(self.name)
        folder = ws.root / self.folder
        if stamp is None or not folder.exists() or not all((folder / name).exists() for name in self.makes):
            return "missing"
        return "fresh" if stamp["inputs"] == self.inputs(ws, stamp["options"]) else "stale"

    def done(self, ws: Workspace, options: dict[str, Any]) -> dict[str, Any] | None:
        """The earlier summary when nothing has changed since, options included."""
        stamp = ws.stamped(self.name)
        if stamp is None or stamp["options"] != options or self.state(ws) != "fresh":
            return None
        summary: dict[str, Any] = stamp["summary"]
        return summary

    def stamp(
        self, ws: Workspace, options: dict[str, Any], summary: dict[str, Any], *, inputs: str | None = None
    ) -> None:
        """`inputs`: the hash from before the work, for another command may have changed them since."""
        ws.stamp(self.name, inputs=inputs or self.inputs(ws, options), options=options, summary=summary)

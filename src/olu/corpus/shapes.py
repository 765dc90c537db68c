"""What the rows of a corpus' files must hold to be used."""

from __future__ import annotations

from olu.core.damage import Shape

NUMBER = (int, float)
CLIP: Shape = {"id": str, "audio": str, "seconds": NUMBER, "rate": int, "text": str, "language": str}
CORRECTION: Shape = {"id": str, "by": str, "at": str}
CUT: Shape = {"id": str, "clips": list}
DECISION: Shape = {"id": str, "decision": str, "by": str}
DUPLICATE: Shape = {"workspace": str, "id": str}
FILE: Shape = {"audio": str, "sha256": str, "bytes": int, "mtime_ns": int}
MARK: Shape = {"id": str, "check": str, "severity": str, "message": str}
ROW: Shape = {"id": str}
SOURCE: Shape = {"name": str, "root": str, "layout": str}
SPLIT: Shape = {"id": str, "split": (str, type(None))}

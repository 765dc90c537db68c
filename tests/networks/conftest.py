from __future__ import annotations

from ..speak.conftest import copied, folder, voice

__all__ = ["copied", "folder", "voice"]

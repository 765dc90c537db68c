from __future__ import annotations

from ..audit.conftest import make
from ..export.conftest import letters, letters_voice, one_thread, phones, phones_voice, real

__all__ = ["letters", "letters_voice", "make", "one_thread", "phones", "phones_voice", "real"]

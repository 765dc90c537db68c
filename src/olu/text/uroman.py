"""Any script in Latin letters, for voices that were made so. One table serves the process: it takes seconds to load."""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Iterable
from typing import Any

from olu.core.errors import LanguageError, MissingExtra
from olu.text.languages import load

_lock = threading.Lock()
_loaded: list[Any] = []


def romanise(text: str, *, language: str) -> str:
    """`text` in ASCII letters, as the voices of the MMS project were trained. Plain ASCII stays as it is."""
    return text if text.isascii() else str(_uroman().romanize_string(text, lcode=language))


def check_wanted(language: str, symbols: Iterable[str] | None) -> None:
    """Refuse where romanising would lose what the writing tells apart: ụ and u, ñ and n, à and á."""
    own = next((s for s in symbols or () if not s.isascii() and unicodedata.category(s[0])[0] == "L"), None)
    if own is not None:
        raise LanguageError(f"this vocabulary has letters of its own ({own}), and uroman would lose them: leave it out")
    if symbols is None and load(language).script == "Latn":
        raise LanguageError(f"{language} has Latin letters, and uroman would lose their marks: leave it out")


def _uroman() -> Any:
    with _lock:
        if not _loaded:
            try:
                from uroman import Uroman
            except ImportError:
                raise MissingExtra("romanising a text", extra="text", package="uroman") from None
            _loaded.append(Uroman())
        return _loaded[0]

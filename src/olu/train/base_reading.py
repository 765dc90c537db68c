"""How a checkpoint reads that says nothing of it: by letters, as other programs do, or by the phones of a language."""

from __future__ import annotations

from collections.abc import Iterable

from olu.core.errors import TextError
from olu.core.types import Reading
from olu.text.characters import CharacterFrontend
from olu.text.frontend import AnyFrontend
from olu.text.phones import PhoneFrontend
from olu.text.vocabulary import SymbolVocabulary
from olu.train.family import Base

ENOUGH = 0.9  # of the phones of some texts must be symbols of it: of a to z alone three quarters are


def is_by_phones(base: Base, phones: AnyFrontend, texts: Iterable[str], *, language: str) -> bool:
    """Whether its symbols are phones: by its own word, or because they fit the phones of texts better than letters."""
    if base.via is not None or not isinstance(phones, PhoneFrontend):
        return False
    if base.phones:
        return True
    sayable = SymbolVocabulary(base.symbols, interleave=base.interleave).sayable()
    known = set(sayable)
    letters = CharacterFrontend(language, lower=base.lower, inventory=sayable)
    heard, written = [0, 0], [0, 0]  # found, of all
    for text in texts:
        if (said := _read(phones, text)) is None or (spelled := _read(letters, text)) is None:
            continue
        symbols = [symbol for symbol in said.symbols(phones.marks) if symbol.strip()]
        heard = [heard[0] + sum(symbol in known for symbol in symbols), heard[1] + len(symbols)]
        kept = sum(len(word.text) for word in spelled.words)
        written = [written[0] + kept, written[1] + kept + sum(spelled.dropped.values())]
    share = heard[0] / max(1, heard[1])
    return share >= ENOUGH and share > written[0] / max(1, written[1])


def _read(frontend: AnyFrontend, text: str) -> Reading | None:
    try:
        return frontend.read(text)
    except TextError:
        return None

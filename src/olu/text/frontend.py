"""Frontends by kind: from a language, or from the state a voice package holds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from olu.errors import VoiceError
from olu.text.characters import CharacterFrontend

if TYPE_CHECKING:
    from olu.text.languages import Language
    from olu.types import Frontend

KINDS = {CharacterFrontend.kind: CharacterFrontend}


def for_language(language: Language, *, inventory: Iterable[str] | None = None) -> Frontend:
    return CharacterFrontend(language.code, lower=language.lower, inventory=inventory)


def from_state(state: dict[str, Any]) -> Frontend:
    kind = KINDS.get(state.get("kind", ""))
    if kind is None:
        raise VoiceError(f"unknown frontend {state.get('kind')!r}: this voice needs a newer Olu")
    return kind.from_state(state)

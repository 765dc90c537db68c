"""A workspace of several languages: each text is read by the frontend of its own language, into one set of symbols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from olu.core.errors import LanguageError, VoiceError
from olu.core.types import Marks, Reading

if TYPE_CHECKING:
    from olu.text.characters import CharacterFrontend
    from olu.text.language_data import Pack
    from olu.text.phones import PhoneFrontend


class LanguagesFrontend:
    """Frontends by language; `language` is the one that a text of unknown language is read in."""

    kind = "languages"

    def __init__(self, language: str, by: Mapping[str, CharacterFrontend | PhoneFrontend]) -> None:
        self.language, self.by = language, dict(by)

    @property
    def main(self) -> CharacterFrontend | PhoneFrontend:
        return self.by[self.language]

    @property
    def marks(self) -> Marks:
        return getattr(self.main, "marks", "vowel")

    @property
    def pack(self) -> Pack | None:
        return self.main.pack

    @property
    def inventory(self) -> list[str] | None:
        return self.main.inventory

    def of(self, language: str) -> CharacterFrontend | PhoneFrontend:
        if language not in self.by:
            raise LanguageError(f"no text of {language} was read here; languages: {', '.join(sorted(self.by))}")
        return self.by[language]

    def read(self, text: str, *, plain: bool = False) -> Reading:
        return self.main.read(text, plain=plain)

    def state(self) -> dict[str, Any]:
        """The symbols are those of all languages: `inventory` of this state limits each of them."""
        return {
            "kind": self.kind,
            "language": self.language,
            "inventory": self.inventory,
            "by": {code: {**one.state(), "inventory": None} for code, one in self.by.items()},
        }


def parts_of(state: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The states of the languages in a state, each with the symbols that are known."""
    held = state.get("by")
    if not isinstance(held, dict) or state.get("language") not in held:
        raise VoiceError("the reading of several languages is damaged: read the corpus again")
    return {code: {**one, "inventory": state["inventory"]} for code, one in held.items()}

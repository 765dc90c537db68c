"""Which language a base speaks, as far as its files or its name tell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from olu.core.errors import LanguageError
from olu.core.parse import BadData, load_json
from olu.text.languages import Language, load

MMS = re.compile(r"mms-tts(?:-|/full_models/)([a-z]{3})(?![a-z])")
BY_NAME = re.compile(r"([a-z]{3})\b")


class BaseLanguage(NamedTuple):
    language: Language | None
    by: Literal["", "files", "mms", "name"]  # what told it; a name that begins with three letters is a guess


def language_of(place: Path, *, frontend: Mapping[str, Any] | None = None, origin: str = "") -> BaseLanguage:
    """`frontend`: the state of a voice of Olu's; `origin`: its id on the hub, whose copy here has no such name."""
    folder = place.parent if place.is_file() else place
    name = origin.partition("@")[0] or folder.resolve().name
    told = (frontend or {}).get("language") or _tokenizer(folder).get("language")
    if isinstance(told, str) and (found := _load(told)):
        return BaseLanguage(found, "files")
    if (match := MMS.search(name)) and (found := _load(match[1])):
        return BaseLanguage(found, "mms")
    if (match := BY_NAME.match(Path(name).name)) and (found := _load(match[1])):
        return BaseLanguage(found, "name")
    return BaseLanguage(None, "")


def _load(code: str) -> Language | None:
    try:
        return load(code)
    except LanguageError:
        return None


def _tokenizer(folder: Path) -> dict[str, Any]:
    """One that is not there or damaged says nothing."""
    try:
        held = load_json(folder / "tokenizer_config.json")
    except (BadData, OSError):
        return {}
    return held if isinstance(held, dict) else {}

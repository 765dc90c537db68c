"""Frontends by kind: from a language and what was chosen for it, or from the state a voice package holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from olu.core.config import Strict, check, read_toml
from olu.core.errors import LanguageError, TextError, VoiceError
from olu.core.files import Workspace, read_json, write_text
from olu.core.rows import Shape, corrupt_file, schema_error
from olu.core.types import Frontend, Marks, Reading
from olu.text.characters import CharacterFrontend
from olu.text.language_data import Pack, load_lexicon
from olu.text.languages import load
from olu.text.phones import PhoneFrontend

if TYPE_CHECKING:
    from olu.text.languages import Language

AnyFrontend = CharacterFrontend | PhoneFrontend
KINDS: dict[str, Callable[[dict[str, Any]], AnyFrontend]] = {
    CharacterFrontend.kind: CharacterFrontend.from_state,
    PhoneFrontend.kind: PhoneFrontend.from_state,
}


FRONTEND: Shape = {"kind": str, "inventory": list[Any] | None}  # what its file must hold, and each kind beside it
BESIDE: dict[str, Shape] = {
    CharacterFrontend.kind: {"language": str, "lower": bool},
    PhoneFrontend.kind: {"pack": dict, "marks": str},
}


class ReadingSettings(Strict):
    """What a person chooses about reading: reading.toml of a workspace, or options of `olu read`."""

    symbols: Literal["auto", "phones", "characters"] = "auto"
    dialect: str | None = None
    marks: Marks = "vowel"  # tones and stress: on their vowel, as symbols of their own, or left off
    lexicon: str | None = None  # a .tsv of a person's own words
    options: dict[str, str] = Field(default_factory=dict)


DEFAULT = ReadingSettings()


def for_language(
    language: Language,
    *,
    settings: ReadingSettings = DEFAULT,
    inventory: Iterable[str] | None = None,
    lexicon: Mapping[str, str] | None = None,
) -> AnyFrontend:
    """Phones where the language's folder can, else characters."""
    if language.folder is None:
        if settings.symbols == "phones" or settings.dialect or settings.options or lexicon:
            asked = "phones" if settings.symbols == "phones" else "a dialect, options or a lexicon"
            raise LanguageError(f"{language.code} has no folder of its own, so there is no {asked}: leave it out")
        return CharacterFrontend(language.code, lower=language.lower, inventory=inventory)
    where = str(language.folder)
    pack = Pack.of(language.files(), dialect=settings.dialect, options=settings.options, lexicon=lexicon, where=where)
    speaks = language.reading.pronounce is not None
    if settings.symbols == "phones" and not speaks:
        raise LanguageError(f'{language.name} has no rules for phones yet: choose symbols = "characters"')
    if speaks and settings.symbols != "characters":
        return PhoneFrontend(pack, marks=settings.marks, inventory=inventory)
    if lexicon:
        raise LanguageError('a lexicon gives phones, and these are characters: choose symbols = "phones"')
    return CharacterFrontend(language.code, lower=language.lower, inventory=inventory, pack=pack)


def fault_of(state: Any) -> str:
    """What keeps a state from being one of a frontend; nothing when it is one."""
    return schema_error(state, FRONTEND) or schema_error(state, BESIDE.get(state["kind"], {}))


def read_state(path: Path) -> dict[str, Any]:
    """The state that a file of a workspace holds."""
    state = read_json(path)
    if fault := fault_of(state):
        raise corrupt_file(path, fault)
    return dict(state)


def from_state(state: dict[str, Any]) -> AnyFrontend:
    kind = KINDS.get(state.get("kind", ""))
    if kind is None:
        raise VoiceError(f"unknown frontend {state.get('kind')!r}: this voice needs a newer Olu")
    return kind(state)


# ---- how a workspace is read: WS/reading.toml, which people may edit and `olu read WS` writes for them


FILE = "reading.toml"


def read_settings(ws: Workspace) -> ReadingSettings:
    path = ws.root / FILE
    return check(ReadingSettings, read_toml(path), where=str(path)) if path.exists() else ReadingSettings()


def write_settings(ws: Workspace, settings: ReadingSettings) -> None:
    """Write reading.toml: only what differs from the defaults."""
    plain = settings.model_dump(exclude_defaults=True, exclude={"options"})
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in plain.items()]
    if settings.options:
        lines += ["", "[options]"]
        lines += [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in settings.options.items()]
    write_text(ws.root / FILE, "\n".join(lines) + "\n")


def change_settings(ws: Workspace, chosen: dict[str, Any]) -> None:
    """Lay what was chosen over what the workspace has, and try it before it is written."""
    before = read_settings(ws)
    if "lexicon" in chosen:
        chosen = {**chosen, "lexicon": str(Path(chosen["lexicon"]).resolve())}
    options = {**before.options, **chosen.get("options", {})}
    laid = check(ReadingSettings, {**before.model_dump(), **chosen, "options": options}, where="the command line")
    words = load_lexicon(Path(laid.lexicon)) if laid.lexicon else None
    for_language(load(ws.language), settings=laid, lexicon=words)
    if laid != before:
        write_settings(ws, laid)


def has_other_lexicon(ws: Workspace, held: Mapping[str, Any]) -> bool:
    """Whether the words of a workspace are no longer those that a run was trained with (`held`, its state)."""
    own = lexicon_path(ws, read_settings(ws))
    try:
        now = dict(load_lexicon(own)) if own is not None else {}
    except LanguageError:  # `olu read` says what is wrong with it
        return False
    pack = held.get("pack")
    return isinstance(pack, dict) and dict(pack.get("lexicon") or {}) != now


def lexicon_path(ws: Workspace, settings: ReadingSettings) -> Path | None:
    """Relative to the workspace, so that it may move with it."""
    return None if settings.lexicon is None else ws.root / settings.lexicon


def read_clip(frontend: Frontend, text: str) -> tuple[Reading, str]:
    """A transcript's reading; one whose markup is malformed has none, and why."""
    try:
        return frontend.read(text), ""
    except TextError as bad:
        return Reading(text=text, normal="", words=(), breaks=("",), dropped={}), str(bad)

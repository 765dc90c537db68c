"""How a workspace is read: WS/reading.toml, which people may edit and `olu read WS` writes for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from olu.core.config import check, read_toml
from olu.core.errors import LanguageError
from olu.core.files import Workspace, write_text
from olu.text.frontend import ReadingSettings, for_language
from olu.text.language_data import load_lexicon
from olu.text.languages import load

FILE = "reading.toml"


def read_settings(ws: Workspace) -> ReadingSettings:
    path = ws.root / FILE
    return check(ReadingSettings, read_toml(path), where=str(path)) if path.exists() else ReadingSettings()


def write_settings(ws: Workspace, settings: ReadingSettings) -> None:
    """Only what differs from the defaults: the file stays short."""
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

"""Read any text in a language, without a workspace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from olu.core.config import check
from olu.core.errors import TextError
from olu.core.types import Reading
from olu.text.algorithms import detected
from olu.text.frontend import DEFAULT, AnyFrontend, ReadingSettings, for_language
from olu.text.language_data import ReadingTrace, load_lexicon
from olu.text.languages import load
from olu.text.phones import PhoneFrontend

CLEAR = ("unmarked_high", "welmers")  # conventions that only many lines together can show


def chosen_settings(given: dict[str, Any]) -> ReadingSettings:
    return check(ReadingSettings, given, where="the command line")


def open_frontend(language: str, *, settings: ReadingSettings = DEFAULT) -> AnyFrontend:
    words = load_lexicon(Path(settings.lexicon)) if settings.lexicon else None
    found = load(language)
    named = next((one for one in found.dialects if one.casefold() == language.casefold().replace("_", "-")), None)
    if settings.dialect is None and named:  # es-AR says both
        settings = settings.model_copy(update={"dialect": named})
    return for_language(found, settings=settings, lexicon=words)


def read_text(text: str, *, language: str, settings: ReadingSettings = DEFAULT) -> Reading:
    """A text as phones, by the rules of its language, or as letters where it has none."""
    return open_frontend(language, settings=settings).read(text)


def explain_text(text: str, *, language: str, settings: ReadingSettings = DEFAULT) -> tuple[Reading, ReadingTrace]:
    return open_frontend(language, settings=settings).explain(text)


def read_lines(path: Path, *, language: str, settings: ReadingSettings = DEFAULT) -> Iterator[Reading]:
    """One reading per line. What the whole file shows, such as unmarked high tones, holds for each of its lines."""
    frontend = open_frontend(language, settings=settings)
    try:
        if shown := _shown(frontend, path):
            options = {**shown, **settings.options}
            frontend = open_frontend(language, settings=settings.model_copy(update={"options": options}))
        with path.open(encoding="utf-8-sig", newline="\n") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield frontend.read(line.rstrip("\r\n"))
                except TextError as bad:
                    raise TextError(f"{path} line {number}: {bad}") from None
    except FileNotFoundError:
        raise TextError(f"{path} is not there: check the path") from None
    except UnicodeDecodeError:
        raise TextError(f"{path} is not UTF-8: save it as UTF-8") from None


def _shown(frontend: AnyFrontend, path: Path) -> dict[str, str]:
    """Options that a file's texts decide beyond doubt; where they do not, each line is judged by itself."""
    if not isinstance(frontend, PhoneFrontend):
        return {}
    with path.open(encoding="utf-8-sig", newline="\n") as lines:
        found = detected(frontend.pack, lines)
    return {name: value for name, value in found.items() if value in CLEAR}

"""Read any text in a language, without a workspace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from olu.errors import TextError
from olu.text.frontend import for_language
from olu.text.languages import load
from olu.types import Reading


def read_text(text: str, *, language: str) -> Reading:
    return for_language(load(language)).read(text)


def read_lines(path: Path, *, language: str) -> Iterator[Reading]:
    """One reading per line, as the file is read."""
    frontend = for_language(load(language))
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for line in lines:
                yield frontend.read(line.rstrip("\r\n"))
    except FileNotFoundError:
        raise TextError(f"{path} is not there: check the path") from None
    except UnicodeDecodeError:
        raise TextError(f"{path} is not UTF-8: save it as UTF-8") from None

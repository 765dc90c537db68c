"""What the verbs take that read texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from olu.core.options import Verb, argument, flag, option, options
from olu.stages.verbs.corpus import language_option

AS_JSON = "Print JSON: one object, or one per line with --lines."


def lines_option() -> Any:
    return option("Read every line of a file.", metavar="FILE", role="input")


def dialect_option() -> Any:
    return option("One of the language's dialects, such as es-ES.")


def symbols_option() -> Any:
    return option("phones or characters; auto takes phones where the language has them.")


def marks_option() -> Any:
    return option("Tones and stress as symbols: vowel (on their vowel), separate or none.")


def language_settings() -> Any:
    return option("An option of the language ('olu languages CODE').", "--option", default=(), metavar="NAME=VALUE")


def lexicon_option() -> Any:
    return option("Your own words: a .tsv of spelling, tab, phones.", metavar="FILE", role="input")


def explain_option() -> Any:
    return flag("Show what each step did and which rule fired.")


@options
class ReadOptions:
    what: str | None = argument("[WS|TEXT]", "A workspace, or with --language a text.", default=None)
    language: str | None = option("Read a text in this language instead of a workspace.", "--language", "-l")
    lines: Path | None = lines_option()
    dialect: str | None = dialect_option()
    symbols: str | None = symbols_option()
    marks: str | None = marks_option()
    language_options: tuple[str, ...] = language_settings()
    lexicon: Path | None = lexicon_option()
    explain: bool = explain_option()


@options
class G2pOptions:
    text: str | None = argument(None, "The text.", default=None)
    language: str = language_option()
    lines: Path | None = lines_option()
    dialect: str | None = dialect_option()
    symbols: str | None = symbols_option()
    marks: str | None = marks_option()
    language_options: tuple[str, ...] = language_settings()
    lexicon: Path | None = lexicon_option()
    explain: bool = explain_option()


VERBS = (
    Verb(
        "read",
        "Turn text into the symbols that will be spoken: a workspace's transcripts, or any text.",
        ReadOptions,
        "olu.stages.g2p:run_read",
        about="what",
        job=True,
        label="reading",
        json=AS_JSON,
    ),
    Verb(
        "g2p",
        "Turn a text into the symbols that will be spoken (the same as read --language).",
        G2pOptions,
        "olu.stages.g2p:run_g2p",
        json=AS_JSON,
    ),
)

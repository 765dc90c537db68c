"""What the verbs take that read texts."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from olu.core.options import Verb, argument, flag, option, options
from olu.stages.verbs.corpus import language_option

AS_JSON = "Print JSON: one object, or one per line with --lines."


lines_option = partial(option, "Read every line of a file.", metavar="FILE", role="input")
dialect_option = partial(option, "One of the language's dialects, such as es-ES.")
symbols_option = partial(option, "phones or characters; auto takes phones where the language has them.")
marks_option = partial(option, "Tones and stress as symbols: vowel (on their vowel), separate or none.")
language_settings = partial(
    option, "An option of the language ('olu languages CODE').", "--option", default=(), metavar="NAME=VALUE"
)
lexicon_option = partial(option, "Your own words: a .tsv of spelling, tab, phones.", metavar="FILE", role="input")
explain_option = partial(flag, "Show what each step did and which rule fired.")


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

"""Read any text in a language, without a workspace; and the verbs that read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from olu.core.config import check
from olu.core.errors import ConfigError, TextError
from olu.core.files import Workspace
from olu.core.job import Job
from olu.core.rows import as_row
from olu.core.told import TextTable, Told
from olu.core.types import Reading
from olu.stages.marks import LearntReader, learn_reader
from olu.stages.plan import training_advice, training_command
from olu.stages.read import ReadSummary, counts, read_corpus
from olu.stages.verbs.corpus import G2pOptions, ReadOptions
from olu.text.algorithms import clear_conventions, detected
from olu.text.frontend import DEFAULT, AnyFrontend, ReadingSettings, change_settings, for_language
from olu.text.language_data import ReadingTrace, load_lexicon
from olu.text.languages import load
from olu.text.phones import PhoneFrontend

NOTHING = "(nothing to say)"


@dataclass(frozen=True)
class ReadTexts:
    """The readings of some texts, read as they are asked for."""

    readings: Iterator[Reading]
    settings: ReadingSettings

    def json_rows(self, options: ReadOptions | G2pOptions) -> Iterator[dict[str, Any]]:
        for reading in self.readings:
            yield {**as_row(reading), "symbols": reading.symbols(self.settings.marks)}

    def sentences(self, options: ReadOptions | G2pOptions) -> Iterator[str]:
        for reading in self.readings:
            yield " ".join(reading.symbols(self.settings.marks)) if reading.words else NOTHING
            if reading.dropped:
                yield f"  not read: {counts(reading.dropped)}"
            if reading.restored:
                yield from _restored(reading)
            if reading.read_by:
                yield f"  read by {', '.join(f'{name}: {count}' for name, count in reading.read_by.items())}"


def _restored(reading: Reading) -> Iterator[str]:
    """The text with its marks, and the words whose tones stay unknown."""
    yield f"  restored: {reading.normal}"
    unsure = [reading.words[at].text for at in reading.restored if "?" in reading.words[at].tones]
    if unsure:
        yield f"  unsure of: {', '.join(unsure)}"


@dataclass(frozen=True)
class ReadingExplained:
    """A reading, and what each step did."""

    reading: Reading
    trace: ReadingTrace

    def row(self, options: ReadOptions | G2pOptions) -> dict[str, Any]:
        steps = [asdict(step) for step in self.trace.steps]
        return {**as_row(self.reading), "symbols": self.reading.symbols(), "steps": steps}

    def sentences(self, options: ReadOptions | G2pOptions) -> Iterator[Told]:
        reading = self.reading
        yield f"text     {reading.text}"
        for stage in dict.fromkeys(step.stage for step in self.trace.steps):
            steps = [[s.rule, s.before, s.after] for s in self.trace.steps if s.stage == stage]
            yield TextTable(["rule", "before", "after"], steps, title=stage)
        yield f"normal   {reading.normal}"
        rows = [
            [w.text, " ".join(w.phones), " ".join(w.tones), "" if w.stress is None else w.phones[w.stress]]
            for w in reading.words
        ]
        yield TextTable(["word", "phones", "tones", "stress"], rows, title="words")
        yield f"symbols  {' '.join(reading.symbols()) if reading.words else NOTHING}"
        if reading.dropped:
            yield f"not read {counts(reading.dropped)}"


def run_read(options: ReadOptions) -> Job[ReadSummary] | ReadTexts | ReadingExplained:
    """`olu read`"""
    given = _given(options)
    if options.language is not None:
        return _read_texts(options, options.language, options.what, given)
    if options.what is None or options.lines is not None or options.explain:
        raise ConfigError("name a workspace, or give --language CODE and a text")
    return _read_workspace(Workspace.open(Path(options.what)), given)


def _read_workspace(ws: Workspace, given: dict[str, Any]) -> Job[ReadSummary]:
    if given:
        change_settings(ws, given)
    summary = yield from read_corpus(ws)
    command = training_command(ws)
    advice = training_advice(ws) if "base" in command.options else None
    return replace(summary, following=(*([advice.sentence()] if advice else []), f"Next: {command}"))


def run_g2p(options: G2pOptions) -> ReadTexts | ReadingExplained | LearntReader:
    """`olu g2p`"""
    if options.words is not None:
        if options.text != "learn":
            raise ConfigError("one text at a time: put it into quotes, or say 'olu g2p learn LIST --language CODE'")
        return learn_reader(options)
    if options.output is not None:
        raise ConfigError("-o is for 'olu g2p learn LIST': leave it out")
    return _read_texts(options, options.language, options.text, _given(options))


def _given(options: ReadOptions | G2pOptions) -> dict[str, Any]:
    """The options that were given, under the names that reading.toml has."""
    own = {}
    for item in options.language_options:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise ConfigError(f"--option {item!r} is not NAME=VALUE: write for example --option tone_convention=full")
        own[name.strip()] = value.strip()
    given: dict[str, Any] = {name: getattr(options, name) for name in ("dialect", "symbols", "marks")}
    given |= {"options": own or None, "chain": options.chain}
    given |= {name: str(path) for name in ("lexicon", "restorer", "reader") if (path := getattr(options, name))}
    given |= {"restore": "" if options.restore == "none" else options.restore}
    return {name: value for name, value in given.items() if value is not None}


def _read_texts(
    options: ReadOptions | G2pOptions, language: str, text: str | None, given: dict[str, Any]
) -> ReadTexts | ReadingExplained:
    if (text is None) == (options.lines is None):
        raise ConfigError("give either a text or --lines FILE")
    if options.explain and options.lines is not None:
        raise ConfigError("--explain is for one text: leave --lines out")
    settings = chosen_settings(given)
    if options.explain:
        return ReadingExplained(*explain_text(text or "", language=language, settings=settings))
    if options.lines:
        return ReadTexts(read_lines(options.lines, language=language, settings=settings), settings)
    return ReadTexts(iter([read_text(text or "", language=language, settings=settings)]), settings)


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
    """The options that a file's texts settle, such as how tones are marked; the rest is judged by line."""
    if not isinstance(frontend, PhoneFrontend):
        return {}
    with path.open(encoding="utf-8-sig", newline="\n") as lines:
        found = detected(frontend.pack, lines)
    return {name: value for name, value in found.items() if value in clear_conventions(frontend.pack)}

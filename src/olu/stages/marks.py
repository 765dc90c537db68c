"""Learn from what people have written down: marks from texts and lists that have them, phones from a list of words."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from olu.core.errors import ConfigError, LanguageError
from olu.core.files import write_bytes
from olu.core.words import size
from olu.stages.verbs.corpus import G2pOptions, MarksOptions
from olu.text import algorithms
from olu.text.language_data import Pack, ReadingTrace
from olu.text.languages import Language, load
from olu.text.letters import Symbols
from olu.text.restore.learn import MarkReport, learn
from olu.text.restore.marks import in_capitals, is_mark
from olu.text.restore.phones import PhoneReport, learn_phones


@dataclass(frozen=True)
class LearntMarks:
    """What `olu marks learn` wrote, and how right it is in lines that it did not learn from."""

    file: str
    bytes: int
    language: str
    convention: str
    restores: str  # tones or geminates
    report: MarkReport

    def row(self, options: MarksOptions) -> dict[str, Any]:
        own = {name: value for name, value in asdict(self).items() if name != "report"}
        return {**own, **{name: round(value, 4) for name, value in asdict(self.report).items()}}

    def sentences(self, options: MarksOptions) -> Iterator[str]:
        told = self.report
        tones = self.restores == "tones"
        yield f"{self.file}: {told.words:,} words, {told.ambiguous:,} of them with several forms, {size(self.bytes)}"
        if told.judged > told.new:
            marks = f", dots in {told.dots:.1%}, tones on {told.tones:.1%} of the letters" if tones else ""
            sure = f"sure of {told.sure:.0%}" + (f", of which {told.sure_right:.1%} right" if told.sure else "")
            yield f"In lines held back ({told.judged:,} words): {told.right:.1%} of the words right{marks}; {sure}"
        if told.new:
            marks = f", tones on {told.new_tones:.1%} of the letters" if tones else ""
            yield f"Words it had not seen ({told.new:,}): {told.new_right:.1%} right{marks}"
        yield f"Next: olu read --language {self.language} --restore {self.restores} --restorer {self.file} TEXT"


@dataclass(frozen=True)
class LearntReader:
    """What `olu g2p learn` wrote, and how it reads words that it did not learn from."""

    file: str
    bytes: int
    language: str
    report: PhoneReport

    def row(self, options: G2pOptions) -> dict[str, Any]:
        own = {"file": self.file, "bytes": self.bytes, "language": self.language}
        return {**own, **{name: round(value, 4) for name, value in asdict(self.report).items()}}

    def sentences(self, options: G2pOptions) -> Iterator[str]:
        told = self.report
        yield f"{self.file}: {told.words:,} words, {size(self.bytes)}"
        yield (
            f"Half learnt and half judged ({told.held:,} words): {told.word_errors:.1%} of the words and"
            f" {told.phone_errors:.1%} of the phones wrong; by letters as they stand {told.letter_word_errors:.1%} and"
            f" {told.letter_phone_errors:.1%}"
        )
        yield f"Next: olu read --language {self.language} --reader {self.file} TEXT"


def run(options: MarksOptions) -> LearntMarks:
    """`olu marks`"""
    if options.what != "learn":
        raise ConfigError(f"olu marks {options.what}: there is only 'olu marks learn TEXTS... --language CODE'")
    language = load(options.language)
    lines, words = _taught(options.texts, language)
    if not lines:
        raise LanguageError(f"{', '.join(path.name for path in options.texts)}: nothing is written there: give texts")
    pack = Pack.of(language.files()) if language.folder else None
    convention = _convention(pack, lines, options.texts) if pack else ""
    model, report = learn(lines, language=language.code, convention=convention, words=words)
    data = model.to_bytes()
    target = options.output or Path(f"{language.code}.marks.npz")
    write_bytes(target, data)
    restores = "geminates" if model.is_length else "tones"
    return LearntMarks(str(target), len(data), language.code, convention, restores, report)


def _taught(paths: Sequence[Path], language: Language) -> tuple[list[str], list[str]]:
    """Lines to learn from, and words of lists beside them: a list tells a word's forms, not how often each is meant."""
    found = [(path.suffix == ".tsv", marked_lines(path, language)) for path in paths]
    texts = [line for is_list, lines in found if not is_list for line in lines]
    lists = [line for is_list, lines in found if is_list for line in lines]
    return (texts, lists) if texts else (lists, [])


def marked_lines(path: Path, language: Language) -> list[str]:
    """The lines of a text, or the words of a list: of its columns the one with the most marks, or word and phones."""
    rows = [line for line in _read(path).split("\n") if line.strip()]
    pack = Pack.of(language.files()) if language.folder else None
    tidy = algorithms.canonical(pack) if pack else None
    if path.suffix == ".tsv":
        rows = _column([row.rstrip("\r").split("\t") for row in rows], pack)
    typed = [unicodedata.normalize("NFC", row) for row in rows]
    return [in_capitals(tidy(row, ReadingTrace()), like=row) if tidy else row for row in typed]


def _column(rows: Sequence[Sequence[str]], pack: Pack | None) -> list[str]:
    width = min(map(len, rows), default=0)
    marked = [
        sum(is_mark(char) for row in rows for char in unicodedata.normalize("NFD", row[at])) for at in range(width)
    ]
    by_phones = algorithms.marked_speller(pack) if pack else None
    if by_phones is not None and width > 1:  # a list of words and phones: the marks are heard, not written
        return [word for row in rows if (word := by_phones(row[0], row[-1])) is not None]
    best = max(range(width), key=lambda at: (marked[at], -at)) if width else 0
    return [row[best] for row in rows]


def _convention(pack: Pack, lines: Sequence[str], paths: Sequence[Path]) -> str:
    """What an unmarked letter means in these texts; texts that mark only some of their tones teach nothing."""
    if "tone_convention" not in pack.facts.options:
        return ""
    found = algorithms.detected(pack, lines).get("tone_convention", "sparse")
    if found == "sparse":
        names = ", ".join(path.name for path in paths)
        raise LanguageError(
            f"{names}: these texts mark only some of their tones, so what an unmarked one means is unknown:"
            " give texts of one convention, with all their marks written"
        )
    return found


def learn_reader(options: G2pOptions) -> LearntReader:
    """`olu g2p learn`"""
    path = options.words or Path()
    language = load(options.language)
    words: dict[str, Symbols] = {}
    for number, line in enumerate(_read(path).split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        word, tab, phones = line.rstrip("\r").partition("\t")
        if not tab or not phones.strip() or "\t" in phones:
            raise LanguageError(
                f"{path} line {number}: write a word, a tab and its phones with spaces between: {line!r}"
            )
        spelled = unicodedata.normalize("NFC", word.strip().lower())
        words.setdefault(spelled, tuple(unicodedata.normalize("NFC", phones).split()))
    model, report = learn_phones(words, language=language.code)
    data = model.to_bytes()
    target = options.output or Path(f"{language.code}.g2p.npz")
    write_bytes(target, data)
    return LearntReader(str(target), len(data), language.code, report)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise LanguageError(f"{path} is not there: check the path") from None
    except (OSError, UnicodeDecodeError) as bad:
        raise LanguageError(f"{path} cannot be read ({bad}): save it as UTF-8") from None

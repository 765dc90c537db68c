"""Read the corpus: every transcript as symbols, the alphabet it needs, and what could not be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from olu.core.errors import LanguageError
from olu.core.files import Workspace, hash_file, hash_value, write_json, write_jsonl
from olu.core.job import Job, Tick
from olu.core.rows import as_row
from olu.core.stage import Stage
from olu.core.told import TextTable, Told
from olu.core.types import Clip, Reading
from olu.core.words import many
from olu.corpus.decisions import hash_dropped
from olu.corpus.doubts import in_doubt, standing
from olu.corpus.manifest import Corpus, fingerprint
from olu.corpus.sources import other_languages
from olu.families.runs import voices
from olu.stages.verbs.corpus import ReadOptions
from olu.text.algorithms import detected
from olu.text.characters import CharacterFrontend
from olu.text.derive import derive
from olu.text.fallback import bare
from olu.text.frontend import (
    FILE,
    AnyFrontend,
    CorpusFrontend,
    ReadingSettings,
    for_language,
    has_other_lexicon,
    lexicon_path,
    read_clip,
    read_settings,
)
from olu.text.language_data import load_lexicon
from olu.text.languages import folder_hash, load
from olu.text.phones import PhoneFrontend
from olu.text.several import LanguagesFrontend
from olu.text.vocabulary import SymbolVocabulary, symbol_name

READ_VERSION = 2
FEW = 5  # clips named for each thing that could not be read
RARE = 5  # symbols seen fewer times than this are hard to learn


def _inputs(ws: Workspace, options: dict[str, Any]) -> str:
    language = load(ws.language)
    others = [folder_hash(load(code)) for code in other_languages(ws)]
    own = lexicon_path(ws, read_settings(ws))
    words = hash_file(own) if own is not None and own.is_file() else ""
    corpus = [fingerprint(ws), hash_dropped(ws)]
    learnt = [ws.root / options[name] for name in ("restorer", "reader") if options.get(name)]
    models = [hash_file(path) for path in learnt if path.is_file()]
    return hash_value([READ_VERSION, *corpus, language.code, folder_hash(language), options, words, *models, *others])


FILES = ("readings.jsonl", "vocabulary.json", "frontend.json")
STAGE = Stage(name="read", command="olu read {ws}", folder="readings", inputs=_inputs, makes=FILES)


@dataclass(frozen=True)
class ReadSummary:
    clips: int
    kind: str  # phones or characters
    options: dict[str, str]  # in force, those the corpus decided among them
    symbols: dict[str, int]  # symbol -> times seen
    rare: dict[str, int]
    dropped: dict[str, int]  # what could not be read, named and counted
    dropped_in: dict[str, list[str]]  # the first clips of each
    empty: list[str]  # clips with nothing to say
    broken: list[str]  # clips whose markup is malformed, and how
    tones: dict[str, int] = field(default_factory=dict)  # written, restored, unknown, where tones are restored
    read_by: dict[str, int] = field(default_factory=dict)  # of a chain of readings: words that each has read
    fresh: bool = False  # read before, and nothing has changed since
    following: tuple[str, ...] = ()  # what to do next, where a verb says so

    def row(self, options: Any = None) -> dict[str, Any]:
        row = {name: value for name, value in asdict(self).items() if name not in ("fresh", "following")}
        return {name: value for name, value in row.items() if value or name not in ("tones", "read_by")}

    def sentences(self, options: ReadOptions) -> Iterator[Told]:
        ws = Workspace.open(Path(options.what or ""))
        own = "".join(f", {name} = {value}" for name, value in self.options.items())
        yield f"{many(self.clips, 'transcript')}, {many(len(self.symbols), 'symbol')} ({self.kind}{own})"
        most = [[symbol, str(count)] for symbol, count in list(self.symbols.items())[:12]]
        yield TextTable(["symbol", "times"], most, title="most frequent")
        if self.tones:
            yield f"tones: {', '.join(f'{count} {name}' for name, count in self.tones.items())}"
        if self.read_by:
            yield f"words read by {', '.join(f'{name}: {count}' for name, count in self.read_by.items())}"
        if self.rare:
            yield f"rare, hard to learn: {counts(self.rare)}"
        if self.dropped:
            yield f"not read: {counts(self.dropped)}"
            first, clips = next(iter(self.dropped_in.items()))
            yield f"  {first!r} stands for example in {', '.join(clips)}"
        if self.empty:
            yield f"nothing to say in {many(len(self.empty), 'clip')}: {', '.join(self.empty[:5])}"
        for wrong in self.broken[:5]:
            yield f"malformed markup in {wrong}"
        if self.fresh:
            yield "The corpus has not changed since it was read: nothing was done again."
        yield from kept_lexicons(ws)
        yield from in_doubt([one.sentence(ws) for one in standing(ws)])
        yield from self.following


def counts(found: dict[str, int]) -> str:
    return ", ".join(f"{symbol!r} x{count}" for symbol, count in list(found.items())[:20])


@dataclass
class _ReadTally:
    """What was met while clips were read, summed up."""

    dropped: Counter[str] = field(default_factory=Counter)
    dropped_in: dict[str, list[str]] = field(default_factory=dict)  # symbol -> its clips
    tones: Counter[str] = field(default_factory=Counter)
    read_by: Counter[str] = field(default_factory=Counter)
    empty: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def take(self, clip: Clip, reading: Reading, wrong: str) -> None:
        self.dropped.update(reading.dropped)
        self.tones.update(reading.tone_sources())
        self.read_by.update(reading.read_by)
        for symbol in reading.dropped:
            self.dropped_in.setdefault(symbol_name(symbol), []).append(clip.id)
        if wrong:
            self.broken.append(f"{clip.id}: {wrong}")
        if not reading.words and clip.text:
            self.empty.append(clip.id)


def read_corpus(ws: Workspace) -> Job[ReadSummary]:
    """Read every transcript of a workspace; an earlier reading holds while nothing has changed."""
    settings = read_settings(ws)
    asked = settings.asked()
    if earlier := STAGE.done(ws, asked):
        return ReadSummary(**earlier, fresh=True)
    begun = STAGE.inputs(ws, asked)
    corpus = Corpus.open(ws)
    frontend = corpus_frontend(ws, corpus, settings)
    seen, tally, rows = Counter[str](), _ReadTally(), []
    for number, clip in enumerate(corpus, 1):
        reading, wrong = read_clip(frontend, clip.text, clip.language)
        if corpus.why_not(clip, errors=False) is None:  # what never trains must not shape the alphabet
            seen.update(reading.symbols(settings.marks))
        tally.take(clip, reading, wrong)
        rows.append({"id": clip.id, **as_row(replace(reading, language=""))})  # the clip has its language
        if number % 100 == 0 or number == len(corpus):
            yield Tick(number, len(corpus), "transcripts")
    symbols = set(seen) if isinstance(frontend, CharacterFrontend) else {*seen, *map(bare, seen)}
    write_jsonl(ws.readings / "readings.jsonl", rows)
    write_json(ws.readings / "vocabulary.json", SymbolVocabulary.of(symbols, marks=settings.marks).state())
    write_json(ws.readings / "frontend.json", {**frontend.state(), "inventory": sorted(symbols)})
    summary = ReadSummary(
        clips=len(corpus),
        kind=frontend.kind,
        options=dict(frontend.pack.options) if frontend.pack else {},
        symbols=dict(seen.most_common()),
        rare={symbol: count for symbol, count in seen.items() if count < RARE},
        dropped={symbol_name(symbol): count for symbol, count in tally.dropped.most_common()},
        dropped_in={symbol: clips[:FEW] for symbol, clips in tally.dropped_in.items()},
        empty=tally.empty,
        broken=tally.broken,
        tones=dict(tally.tones) if settings.restore else {},
        read_by=dict(tally.read_by),
    )
    STAGE.stamp(ws, asked, summary.row(), inputs=begun)
    return summary


def kept_lexicons(ws: Workspace) -> list[str]:
    """A sentence where runs were trained with other words than the workspace has now: no reading reaches them."""
    runs = [run for run in voices(ws) if has_other_lexicon(ws, run.document("frontend.json"))]
    if not runs:
        return []
    names = ", ".join(run.name for run in runs)
    return [f"{names} was trained with another lexicon and keeps it: train again to have these words said."]


def corpus_frontend(ws: Workspace, corpus: Corpus, settings: ReadingSettings) -> CorpusFrontend:
    """The frontend of a workspace: of its language, or of each language that its clips have."""
    others = sorted({clip.language for clip in corpus} - {ws.language})
    if unused := next((code for code in settings.languages if code not in others), None):
        raise LanguageError(
            f"{ws.root / FILE}: [languages.{unused}] has no effect: no clip is in {unused}, leave it out"
        )
    if not others:
        return _frontend_of(ws, corpus, settings, ws.language)
    usual = ReadingSettings(marks=settings.marks)
    chosen = {ws.language: settings} | {code: settings.languages.get(code, usual) for code in others}
    if other := next((code for code, one in chosen.items() if one.marks != settings.marks), None):
        raise LanguageError(
            f"{ws.root / FILE}: [languages.{other}] marks tones as {chosen[other].marks!r}, and {ws.language} as"
            f" {settings.marks!r}: symbols that are shared are marked in one way"
        )
    return LanguagesFrontend(ws.language, {code: _frontend_of(ws, corpus, one, code) for code, one in chosen.items()})


def _frontend_of(ws: Workspace, corpus: Corpus, settings: ReadingSettings, code: str) -> AnyFrontend:
    """Of one language. What its texts decide, such as how tones are written, is decided here, once."""
    language, corpus = load(code), corpus.where(lambda clip: clip.language == code)
    own = lexicon_path(ws, settings)
    words = load_lexicon(own) if own is not None else None
    here = {name: str(ws.root / path) for name in ("restorer", "reader") if (path := getattr(settings, name))}
    settings = settings.model_copy(update=here)
    frontend = for_language(language, settings=settings, lexicon=words)
    if not isinstance(frontend, PhoneFrontend):
        return _limited(frontend, corpus)
    found = detected(frontend.pack, (clip.text for clip in corpus))
    if not found:
        return frontend
    decided = settings.model_copy(update={"options": {**found, **settings.options}})
    return for_language(language, settings=decided, lexicon=words)


def _limited(frontend: CharacterFrontend, corpus: Corpus) -> CharacterFrontend:
    """The frontend with letters that are frequent enough; a rare one is read as its nearest relative."""
    wanted = [clip for clip in corpus if corpus.is_wanted(clip)]
    found = derive({clip.id: read_clip(frontend, clip.text)[0].normal for clip in wanted})
    return frontend.with_alphabet(found.symbols, found.folds)

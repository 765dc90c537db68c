"""Read the corpus: every transcript as symbols, the alphabet it needs, and what could not be read."""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from olu.corpus.manifest import Corpus, fingerprint
from olu.files import Workspace, hash_value, write_json, write_jsonl
from olu.stages.stage import Stage
from olu.text.frontend import for_language
from olu.text.languages import load
from olu.text.vocabulary import SymbolVocabulary
from olu.types import Tick, Work

READ_VERSION = 1
RARE = 5  # symbols seen fewer times than this are hard to learn


def _inputs(ws: Workspace, options: dict[str, Any]) -> str:
    language = load(ws.language)
    return hash_value([READ_VERSION, fingerprint(ws), language.code, language.lower, options])


STAGE = Stage(name="read", command="olu read {ws}", folder="readings", inputs=_inputs)


@dataclass(frozen=True)
class ReadSummary:
    clips: int
    symbols: dict[str, int]  # symbol -> times seen
    rare: dict[str, int]
    dropped: dict[str, int]  # what could not be read, named and counted
    empty: list[str]  # clips with nothing to say


def read_corpus(ws: Workspace) -> Work[ReadSummary]:
    if earlier := STAGE.done(ws, {}):
        return ReadSummary(**earlier)
    corpus = Corpus.open(ws)
    frontend = for_language(load(ws.language))
    seen: Counter[str] = Counter()
    dropped: Counter[str] = Counter()
    empty, rows = [], []
    for number, clip in enumerate(corpus, 1):
        reading = frontend.read(clip.text)
        seen.update(reading.symbols())
        dropped.update(reading.dropped)
        if not reading.words:
            empty.append(clip.id)
        rows.append({"id": clip.id, **reading.row()})
        if number % 100 == 0 or number == len(corpus):
            yield Tick(number, len(corpus), "transcripts")
    write_jsonl(ws.readings / "readings.jsonl", rows)
    write_json(ws.readings / "vocabulary.json", SymbolVocabulary.of(seen).state())
    write_json(ws.readings / "frontend.json", for_language(load(ws.language), inventory=seen).state())
    summary = ReadSummary(
        clips=len(corpus),
        symbols=dict(seen.most_common()),
        rare={symbol: count for symbol, count in seen.items() if count < RARE},
        dropped={named(symbol): count for symbol, count in dropped.most_common()},
        empty=empty,
    )
    STAGE.stamp(ws, {}, asdict(summary))
    return summary


def named(symbol: str) -> str:
    """A symbol people can recognise even when it cannot be seen."""
    codes = "+".join(f"U+{ord(character):04X}" for character in symbol)
    name = unicodedata.name(symbol[0], "") if len(symbol) == 1 else ""
    return f"{codes} {name}".strip() if not symbol.isprintable() else symbol

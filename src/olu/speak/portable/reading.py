"""The reading of a voice in JavaScript: `reading.js`, which runs without Olu, and `reading.json`, what it reads by.

Both are made of the Python code and the objects of the voice, so that the same ids come out.
"""

from __future__ import annotations

import bisect
import builtins
import collections
import html
import itertools
import json
import math
import operator
import re
import unicodedata
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import import_module
from importlib.resources import files
from typing import Any

import numpy as np

from olu.core.config import did_you_mean
from olu.core.errors import ExportError
from olu.speak.engines import word_tokens
from olu.speak.lines import LineReader
from olu.speak.portable.program import Program
from olu.speak.portable.unicode import unicode_tables
from olu.text import algorithms, words
from olu.text.characters import CharacterFrontend
from olu.text.frontend import from_state
from olu.text.normalise import written_numbers
from olu.text.restore import engine, marks, traits
from olu.text.vocabulary import StreamVocabulary, SymbolVocabulary

FORMAT = "olu-reading/1"
dots: Any = import_module(algorithms._modules()["dots"])  # its sums are numpy's
OWN = [
    "len",
    "str",
    "bool",
    "int",
    "float",
    "list",
    "tuple",
    "dict",
    "set",
    "frozenset",
    "sorted",
    "reversed",
    "max",
    "min",
    "sum",
    "any",
    "all",
    "zip",
    "map",
    "filter",
    "enumerate",
    "range",
    "iter",
    "next",
    "ord",
    "chr",
    "abs",
    "round",
    "divmod",
    "isinstance",
    "repr",
]
OF_RE = ["sub", "match", "search", "fullmatch", "findall", "finditer", "split", "compile"]
NATIVE: dict[Any, str] = {
    **{getattr(builtins, name): f"$.py.{name}" for name in OWN},
    **{
        getattr(re, name): f"$.re.{name}"
        for name in ["sub", "match", "search", "fullmatch", "findall", "finditer", "split", "compile"]
    },
    **{getattr(math, name): f"$.math.{name}" for name in ["exp", "log", "log1p", "log2", "ceil", "floor"]},
    **{
        getattr(unicodedata, name): f"$.{name}" for name in ["normalize", "category", "combining", "decimal", "numeric"]
    },
    collections.Counter: "$.Counter_",
    collections.defaultdict: "$.defaultdict",
    dict.fromkeys: "$.dict_fromkeys",
    itertools.chain: "$.chain",
    itertools.chain.from_iterable: "$.chain_from",
    itertools.pairwise: "$.pairwise",
    itertools.accumulate: "$.accumulate",
    bisect.bisect_left: "$.bisect_left",
    bisect.bisect_right: "$.bisect_right",
    replace: "$.replace",
    operator.mul: "$.mul_",
    html.unescape: "$.unescape",
    zlib.crc32: "$.crc32",
    Fraction: "$.Fraction",
    did_you_mean: "$.no_hint",
    np.array: "$.rows",
    np.uint64: "null",
    # numpy's work on models of marks, written by hand
    dots.Restorer._best: "$.best_dots",
    marks.MarkRestorer._best: "$.best_marks",
    traits.features: "$.mark_features",
    engine.LetterModel.guess: "$.letter_guess",
    engine.LetterModel.likelihood: "$.letter_likelihood",
}
BESIDE: dict[str, Any] = {
    "dot_looks": dots.LOOKS,
    "mark_looks": traits.ALL_LOOKS,
    "mark_near": traits.NEAR,
    "mark_names": traits.NAMES,
    "mark_edge": traits.EDGE,
    "mark_show": marks.show,
    "mark_likeliest": engine.likeliest,
    "chain_features": engine.chain_features,
}
ASKED = ("read", "ids", "symbols")
# what the runtime's own functions ask of objects
HELD = [
    "model",
    "words",
    "forms",
    "traits",
    "hashed",
    "dotted",
    "scale",
    "table",
    "binary",
    "labels",
    "allowed",
    "vowels",
    "dots",
    "features",
]


@dataclass(frozen=True)
class PortableReading:
    """What another program asks of a reading; Python answers the same."""

    lines: LineReader
    join: int = 0

    def read(self, text: str, *, plain: bool = False) -> Iterator[dict[str, Any]]:
        """The lines of a text: what is said, the pause before it, its ids, and the tokens of each word."""
        for line in self.lines.lines(text, plain=plain, join=self.join):
            row: dict[str, Any] = {"text": line.text, "pause": line.pause, "ids": line.ids, "unsaid": line.unsaid}
            if line.reading is not None:
                row["words"] = word_tokens(line.reading, self.lines.vocabulary, len(line.ids))
                row["dropped"] = line.reading.dropped
                row["prosody"] = [(first, last, wish.contour, wish.rate) for first, last, wish in line.prosody]
                row["streams"] = self.lines.vocabulary.streams(line.reading)
            yield row

    def ids(self, text: str, *, plain: bool = False) -> list[int]:
        """The ids of one line, not cut into sentences."""
        return self.lines.vocabulary.encode(self.lines.frontend.read(text, plain=plain))

    def symbols(self, text: str, *, plain: bool = False) -> list[str]:
        """Its symbols: what the ids stand for, the blanks between them left out."""
        return self.lines.frontend.read(text, plain=plain).symbols(self.lines.vocabulary.marks)


def reading_files(reading: PortableReading) -> dict[str, bytes]:
    """reading.js and reading.json."""
    frontend, vocabulary = reading.lines.frontend, reading.lines.vocabulary
    if isinstance(frontend, CharacterFrontend) and frontend.via:
        raise ExportError(
            f"the voice reads by {frontend.via}, which runs nowhere but beside Python: train one by letters"
        )
    if type(vocabulary) not in (SymbolVocabulary, StreamVocabulary):
        raise ExportError(
            "the voice reads pieces of words, which only Olu's own engine speaks: export a voice of symbols"
        )
    if not isinstance(frontend, CharacterFrontend) and "espeak" in frontend.pack.chain:
        raise ExportError(
            "the voice reads by espeak-ng, which runs nowhere but beside Python: take it out of the chain"
        )
    fresh = replace(reading.lines, frontend=from_state(frontend.state()))  # without the words it has read so far
    ends = tuple(reading.lines.ends)
    tabulated: dict[Any, list[tuple[Any, ...]]] = {
        written_numbers._class: [(0, written_numbers.PLANE), (written_numbers.PLANE, written_numbers.LAST)],
        words.sentence_ends: [(ends, True), (ends, False)],
    }
    program = Program(NATIVE, tabulated=tabulated)
    made = program.build(replace(reading, lines=fresh), (*ASKED, *HELD), beside=BESIDE)
    runtime = files("olu.speak.portable").joinpath("runtime.js").read_text(encoding="utf-8")
    door = files("olu.speak.portable").joinpath("door.js").read_text(encoding="utf-8")
    state = {
        "format": FORMAT,
        "language": reading.lines.frontend.language,
        "symbols": list(vocabulary.symbols),
        "interleave": vocabulary.interleave,
        "marks": vocabulary.marks,
        "refused": program.refused,
        "unicode": unicode_tables(),
        "program": made["heap"],
    }
    code = f"(() => {{\n{runtime}\n{made['code']}\n{door}}})();\n"
    data = json.dumps(state, ensure_ascii=False, separators=(",", ":"))
    return {"reading.js": code.encode(), "reading.json": data.encode()}

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from olu.audit.check import Check, Finding, MeasuredClip
from olu.audit.coverage import count_letters
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark, Severity

NAME = "other_language"
WORD = re.compile(r"[^\W\d_][\w\u0300-\u036f]*")
UNSEEN = 0.5  # what a pair that never occurs counts
LEAST_SPREAD = 0.1  # of the mean log likelihood: lists of nearly equal texts have almost none


def look(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    """Pairs of neighbouring letters are common or rare by language: a text of rare pairs is in another one."""
    languages: dict[str, list[MeasuredClip]] = {}
    for one in heard:
        if count_letters(one.clip.text) >= limits.language_least_letters:
            languages.setdefault(one.clip.language, []).append(one)
    for clips in languages.values():
        if len(clips) < limits.language_least_clips:
            continue
        own = [_pairs(one.clip.text) for one in clips]
        every: Counter[str] = Counter()
        for pairs in own:
            every.update(pairs)
        total = every.total() + UNSEEN * len(every)
        scores = [_score(pairs, every, total) for pairs in own]
        low, high = (float(edge) for edge in np.percentile(scores, (25, 75)))
        for one, score in zip(clips, scores, strict=True):
            beyond = (low - score) / max(high - low, LEAST_SPREAD)
            if beyond > limits.language_warn_iqr:
                message = "its letters follow each other as in another language or in names"
                severity: Severity = "error" if beyond > limits.language_error_iqr else "warn"
                mark = Mark(check=NAME, severity=severity, value=beyond, message=message)
                yield Finding(id=one.clip.id, mark=mark, badness=beyond)


def _pairs(text: str) -> Counter[str]:
    pairs: Counter[str] = Counter()
    for word in WORD.findall(unicodedata.normalize("NFC", text.casefold())):
        edged = f" {word} "
        pairs.update(edged[place : place + 2] for place in range(len(edged) - 1))
    return pairs


def _score(pairs: Counter[str], every: Counter[str], total: float) -> float:
    """Mean log likelihood of the text's pairs in all the other texts."""
    count = pairs.total()
    return sum(n * math.log((every[pair] - n + UNSEEN) / total) for pair, n in pairs.items()) / max(1, count)


CHECK = Check(
    name=NAME,
    title="Another language",
    rule=lambda t: (
        f"Pairs of letters that are rare in the rest of the corpus: warning beyond {t.language_warn_iqr:g}, "
        f"error beyond {t.language_error_iqr:g} times the width of the middle half. Judged for "
        f"texts of {t.language_least_letters} letters or more, where there are {t.language_least_clips} of them."
    ),
    reason="A text in another language is read by the wrong rules, or belongs to another recording.",
    fix="Listen. Leave out what is not in the language; names and loan words may stay.",
    look=look,
)

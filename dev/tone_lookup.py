"""How far a dictionary's tones go for words out of context: `python dev/tone_lookup.py LEXICON.tsv WORDS.tsv`.

LEXICON has the columns orth_repaired and tones, WORDS orth and tones. Nothing of either is shipped.
"""

from __future__ import annotations

import csv
import sys
import unicodedata
from collections import Counter, defaultdict
from pathlib import Path

from olu.text.tones import MARKS


def rows(path: str) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def toneless(word: str) -> str:
    flat = unicodedata.normalize("NFD", word.lower())
    return unicodedata.normalize("NFC", "".join(char for char in flat if char not in MARKS))


def main() -> None:
    lexicon, words = sys.argv[1:]
    known: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows(lexicon):
        known[toneless(row["orth_repaired"])][row["tones"]] += 1
    facts = sorted({(toneless(row["orth"]), row["tones"]) for row in rows(words)})
    found = [(word, tones) for word, tones in facts if word in known]
    single = [(word, tones) for word, tones in found if len(known[word]) == 1]
    several = [(word, tones) for word, tones in found if len(known[word]) > 1]
    units = sum(len(tones) for _, tones in facts)
    out = sys.stdout.write
    out(f"{len(known)} spellings, {sum(len(one) > 1 for one in known.values())} of them with several tone patterns\n")
    out(f"{len(facts)} word and tone facts, {len(found)} with a headword in the same spelling\n")
    out(f"one pattern: {sum(tones in known[word] for word, tones in single)} of {len(single)} agree\n")
    out(f"several: in {sum(tones in known[word] for word, tones in several)} of {len(several)} it is one of them\n")
    first = sum(known[word].most_common(1)[0][0] == tones for word, tones in found)
    out(f"the most listed pattern: {first} of {len(found)} words\n")
    out(f"all high: {sum(tones.count('H') for _, tones in facts)} of {units} syllables\n")


if __name__ == "__main__":
    main()

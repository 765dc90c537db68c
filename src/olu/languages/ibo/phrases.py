"""Igbo tones in a phrase: a noun behind another noun, or behind the verb whose object it is, lowers its last high tone.

It is the change of grammatical tone that the shape of words can show: nouns begin with a vowel or a syllabic nasal,
verbs with a consonant. What needs more than that (tenses, relative clauses) stays as it is.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace

from olu.core.types import Word
from olu.text.language_data import Pack, ReadingTrace

LEXICAL, PHRASE = "lexical", "phrase"
TONES = dict.fromkeys(map(ord, "\u0300\u0301\u0304\u0302\u030c\ua71c"))
VOWELS, NASALS = "aeiouịọụ", "mnṅ"
# Words that look like nouns or verbs and are neither, so that no noun is theirs.
PRONOUNS = frozenset(("m", "mụ", "i", "ị", "gị", "ya", "o", "ọ", "a", "e", "anyị", "unu", "ha"))
COUNTING = frozenset(
    (
        "efu",
        "otu",
        "abụọ",
        "atọ",
        "anọ",
        "ise",
        "isii",
        "asaa",
        "asatọ",
        "itoolu",
        "iri",
        "narị",
        "puku",
        "nde",
        "ijeri",
    )
)
DESCRIBING = frozenset(("ọma", "ọjọọ", "ukwu", "ọcha", "oji", "ọhụrụ", "ochie", "ọzọ", "niile", "ahụ"))
SMALL = frozenset(
    (
        "na",
        "ma",
        "maka",
        "ka",
        "kama",
        "mana",
        "tupu",
        "gbasara",
        "banyere",
        "bụ",
        "dị",
        "nke",
        "kwa",
        "naanị",
        "ruo",
        "si",
    )
)
NO_NOUN = PRONOUNS | COUNTING | DESCRIBING
Change = Callable[[Sequence[Word], Sequence[str], ReadingTrace], list[Word]]


def _plain(word: Word) -> str:
    flat = unicodedata.normalize("NFD", word.text.lower()).translate(TONES)
    return unicodedata.normalize("NFC", flat)


def _is_noun(word: Word) -> bool:
    plain = _plain(word)
    begins = plain[:1] in VOWELS or (plain[:1] in NASALS and word.bearers[:1] == (0,))
    return begins and len(word.tones) > 1 and plain not in NO_NOUN


def _is_verb(word: Word) -> bool:
    plain = _plain(word)
    starts = plain[:1].isalpha() and plain[:1] not in VOWELS and word.bearers[:1] != (0,)
    return starts and bool(word.tones) and plain not in PRONOUNS | COUNTING | SMALL


def _toned(word: Word) -> str:
    return f"{word.text} {' '.join(word.tones)}"


def lowered(said: Sequence[Word], breaks: Sequence[str], notes: ReadingTrace) -> list[Word]:
    """The words of a reading; `breaks` has what stands before each. The last high tone becomes a downstep."""
    found = list(said)
    for place in range(1, len(said)):
        before, word = said[place - 1], said[place]
        rule = "object" if _is_verb(before) else "associative" if _is_noun(before) else ""
        if rule and not breaks[place].strip() and _is_noun(word) and word.tones[-2:] in (("H", "H"), ("D", "H")):
            found[place] = replace(word, tones=(*word.tones[:-1], "D"))
            told = f"{rule}: the last high tone of a noun behind {before.text} is lowered"
            notes.add("phrase", told, _toned(word), _toned(found[place]))
    return found


def phrase_change(pack: Pack) -> Change | None:
    return lowered if pack.options.get("phrase_tones", LEXICAL) == PHRASE else None

"""Words as they are written and as our frontend reads them: what reading by letters is learnt and judged from."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from olu.core.errors import TextError
from olu.text.frontend import AnyFrontend
from olu.text.letters import EDGE, LetterTable, Symbols, error_rate, learn
from olu.text.vocabulary import SymbolVocabulary

MOST_WORDS = 3000  # that are learnt from, the most frequent first
Form = Literal["NFC", "NFD"]
MARKS = ".,!?;:-…()\"'«»“”‘’–—"


@dataclass(frozen=True)
class Measure:
    """How far ids of another reading are from ours, over sentences that were not learnt from where there are any."""

    rate: float  # edits for each of our symbols
    same: float  # share of sentences without any
    sentences: int
    held_out: bool
    wordy: float | None = None  # the rate in sentences without figures, where others have some

    @staticmethod
    def of(rows: Sequence[tuple[str, list[str], list[str]]], *, held_out: bool) -> Measure:
        """The measure from rows of a text, our symbols and theirs."""
        pairs = [(ours, theirs) for _, ours, theirs in rows]
        words = [(ours, theirs) for text, ours, theirs in rows if not any(c.isdigit() for c in text)]
        rate, same = error_rate(pairs)
        wordy = error_rate(words)[0] if 0 < len(words) < len(pairs) else None
        return Measure(rate=rate, same=same, sentences=len(pairs), held_out=held_out, wordy=wordy)

    def sentence(self, who: str) -> str:
        if not self.sentences:
            return f"how far the ids of {who} are from Olu's was not measured: there are no sentences"
        kind = "held-out sentence" if self.held_out else "sentence it was learnt from"
        kind = kind.replace("sentence", "sentences") if self.sentences > 1 else kind
        wordy = "" if self.wordy is None else f", in those without figures by {self.wordy:.1%}"
        return (
            f"the ids of {who} differ from Olu's by {self.rate:.1%} (edits a symbol, {self.sentences} {kind}){wordy};"
            f" {self.same:.0%} of the sentences are read the same"
        )


def symbols_of(frontend: AnyFrontend, vocabulary: SymbolVocabulary, text: str) -> Symbols | None:
    """The symbols of a text; nothing where it cannot be read or holds what the voice does not know."""
    try:
        reading = frontend.read(text)
    except TextError:
        return None
    symbols = reading.symbols(vocabulary.marks)
    return tuple(symbols) if reading.words and set(symbols) <= set(vocabulary.symbols) else None


def words_of(
    frontend: AnyFrontend, vocabulary: SymbolVocabulary, texts: Iterable[str], *, most: int | None = MOST_WORDS
) -> tuple[dict[str, Symbols], Counter[str]]:
    """Words without figures and what they are read as most often, and how often each stands there."""
    seen: Counter[str] = Counter()
    said: dict[str, Counter[Symbols]] = {}
    for text in texts:
        words = [_bare(token) for token in text.split()]
        seen.update(word for word in words if word)
        for word, symbols in _in_text(frontend, vocabulary, text, words):
            said.setdefault(word, Counter())[symbols] += 1
    found: dict[str, Symbols] = {}
    known = set(vocabulary.symbols)
    for word, _ in seen.most_common(most):
        read = said[word].most_common(1)[0][0] if word in said else symbols_of(frontend, vocabulary, word)
        if read is not None and EDGE not in read and known.issuperset(read):
            found[word] = read
    return found, seen


def _in_text(
    frontend: AnyFrontend, vocabulary: SymbolVocabulary, text: str, words: list[str]
) -> list[tuple[str, Symbols]]:
    """Words as they are read beside each other, where the reading has as many as the text."""
    try:
        read = frontend.read(text).words
    except TextError:
        return []
    if len(read) != len([token for token in text.split() if any(c.isalnum() for c in token)]):
        return []
    spelled = [word for token, word in zip(text.split(), words, strict=True) if any(c.isalnum() for c in token)]
    pairs = zip(spelled, read, strict=True)
    return [(word, tuple(one.symbols(vocabulary.marks))) for word, one in pairs if word]


def _bare(token: str) -> str:
    """A word without the marks around it; nothing where it holds figures."""
    token = unicodedata.normalize("NFC", token)
    inside = [at for at, c in enumerate(token) if unicodedata.category(c)[0] in "LM"]
    word = token[inside[0] : inside[-1] + 1] if inside else ""
    return "" if any(unicodedata.category(c)[0] == "N" for c in word) else word


def letters_of(
    frontend: AnyFrontend, vocabulary: SymbolVocabulary, texts: Sequence[str], *, forms: tuple[Form, ...]
) -> LetterTable:
    """Reading by letters as near to the frontend's as it can be learnt from these texts. `forms` are of Unicode."""
    words, counts = words_of(frontend, vocabulary, [*texts, *_listed(frontend)])
    spelled: dict[str, Symbols] = {}
    times: dict[str, int] = {}
    for word, symbols in words.items():
        same = _same(frontend, vocabulary, word)
        if not same and word.isupper():
            continue  # said letter by letter, by their names: nothing to learn about letters in words
        for form in forms:
            shaped = unicodedata.normalize(form, word.lower() if same else word)
            spelled[shaped] = symbols
            times[shaped] = times.get(shaped, 0) + counts[word]
    own = "".join(_alphabet(frontend))
    letters = {*"".join(spelled), *(c for form in forms for c in unicodedata.normalize(form, own))}
    learnt = learn(spelled, solo=_solo(frontend, vocabulary, letters), counts=times)
    between = _breaks(frontend, vocabulary, texts, word=next(iter(words), ""))
    told = {letter for key in learnt.rows for letter in key[:4]}  # what neighbours are told by stays
    alone = {**{c: symbols for c, symbols in learnt.alone.items() if symbols or c in told}, **between}
    capitals = _capitals(frontend, vocabulary, alone, spelled)
    return replace(learnt, alone=alone, breaks=frozenset(between), aliases=capitals)


def _solo(frontend: AnyFrontend, vocabulary: SymbolVocabulary, letters: Iterable[str]) -> dict[str, Symbols]:
    """Each letter and each symbol of one character -> what it is read as where it stands alone."""
    alphabet = {*letters, *(symbol for symbol in vocabulary.sayable() if len(symbol) == 1)}
    solo = {c: symbols_of(frontend, vocabulary, c) or () for c in sorted(alphabet)}
    solo |= {c: (c,) for c in alphabet if not solo[c] and c in vocabulary.symbols}
    return {c: symbols[:3] for c, symbols in solo.items()}


def _capitals(
    frontend: AnyFrontend, vocabulary: SymbolVocabulary, alone: Iterable[str], words: Iterable[str]
) -> dict[str, str]:
    """Capital -> its small letter, where it is read the same at the beginning of a word."""
    rests = {word[0]: word[1:] for word in reversed(list(words)) if word[2:]}  # of the first word with that letter
    known = set(alone)
    pairs = [(c.upper(), c) for c in alone if c.upper() != c and len(c.upper()) == 1 and c.upper() not in known]
    return {big: small for big, small in pairs if _same(frontend, vocabulary, big + rests.get(small, ""))}


def _listed(frontend: AnyFrontend) -> list[str]:
    """Words that the language's own files hold."""
    rows = [*frontend.pack.rows("lexicon.tsv"), *frontend.pack.rows("golden.tsv")] if frontend.pack else []
    return [row[0] for row in rows if not row[0].startswith("@")]


def _alphabet(frontend: AnyFrontend) -> list[str]:
    return [row[0].strip() for row in frontend.pack.rows("letters.tsv")] if frontend.pack else []


def _same(frontend: AnyFrontend, vocabulary: SymbolVocabulary, word: str) -> bool:
    """Whether a word is read the same in small letters."""
    here, there = (symbols_of(frontend, vocabulary, one) for one in (word, word.lower()))
    return here == there


def _breaks(
    frontend: AnyFrontend, vocabulary: SymbolVocabulary, texts: Iterable[str], *, word: str
) -> dict[str, Symbols]:
    """Spaces and marks between words, and the pause each is heard as."""
    found: dict[str, Symbols] = {EDGE: (EDGE,)} if EDGE in vocabulary.symbols else {}
    if not word:
        marks = [mark for mark in MARKS if mark in vocabulary.symbols]
        return found | {mark: (mark,) for mark in marks}
    candidates = {c for text in texts for c in text if unicodedata.category(c)[0] in "PS"} | set(MARKS)
    plain = symbols_of(frontend, vocabulary, f"{word} {word}") or ()
    heard = {mark: symbols_of(frontend, vocabulary, f"{word}{mark} {word}") for mark in sorted(candidates)}
    return found | {mark: pause for mark, symbols in heard.items() if (pause := _pause(symbols, plain))}


def _pause(heard: Symbols | None, plain: Symbols) -> Symbols:
    """What `heard` has in its middle, where all else is as in `plain`, two words without a mark; else nothing."""
    half = len(plain) // 2
    if heard is None or heard[:half] != plain[:half]:
        return ()
    pause = tuple(one for one in heard[half : len(heard) - half] if one != EDGE)
    return pause if len(heard) == len(plain) + len(pause) else ()


def measured(
    letters: LetterTable,
    frontend: AnyFrontend,
    vocabulary: SymbolVocabulary,
    sentences: Sequence[str],
    *,
    form: Form,
    held_out: bool,
) -> Measure:
    rows = []
    for text in sentences:
        ours = symbols_of(frontend, vocabulary, text)
        if ours is not None:
            rows.append((text, list(ours), letters.read(unicodedata.normalize(form, text))))
    return Measure.of(rows, held_out=held_out)

"""Reading by letters: learnt from words, the same in Python and in a graph, and measured against our own reading."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from functools import cache

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from olu.families.vits.formats.reader import LetterReader
from olu.families.vits.formats.sherpa import lexicon_ids, sentences_of, words_cut
from olu.text.frontend import for_language
from olu.text.languages import load
from olu.text.letters import LetterTable, distance, error_rate, learn
from olu.text.spelled import letters_of, measured, symbols_of
from olu.text.vocabulary import SymbolVocabulary

WORDS = {"chata": "tʃ ˈa t a", "cota": "k ˈo t a", "hat": "h ˈa t", "cha": "tʃ ˈa", "co": "k ˈo", "catho": "k ˈa t o"}
WORDS |= {"tachata": "t a tʃ ˈa t a", "tochata": "t o tʃ ˈa t a", "chatoco": "tʃ a t ˈo k o", "hatata": "h a t ˈa t a"}


@cache
def table() -> tuple[LetterTable, SymbolVocabulary]:
    words = {word: tuple(phones.split()) for word, phones in WORDS.items()}
    symbols = {one for said in words.values() for one in said}
    solo = {"c": ("k",), "h": ("h",), "a": ("a",), "t": ("t",), "o": ("o",)}
    learnt = learn(words, solo=solo, counts={})
    between = {" ": (" ",), ",": (",",), "፣": (",",)}
    aliases = {"C": "c", "H": "h"}
    made = replace(learnt, alone={**learnt.alone, **between}, breaks=frozenset(between), aliases=aliases)
    return made, SymbolVocabulary.of([*symbols, " ", ","])


def test_neighbours_tell_what_a_letter_is() -> None:
    letters, _ = table()
    assert letters.rows, "c before h is another sound"
    assert letters.peaks == {"a", "o"}, "stress is on the last but one"
    for word, phones in WORDS.items():
        assert letters.read(word) == phones.split(), word
    assert letters.read("Cha co") == ["tʃ", "ˈa", " ", "k", "ˈo"]
    assert letters.read("  cha  ፣ co ") == ["tʃ", "ˈa", ",", " ", "k", "ˈo"], "spaces as our reading has them"
    assert " ".join(letters.read("tatatata cotota")) == "t a t a t ˈa t a   k o t ˈo t a", "words it never saw"
    assert letters.read("5 %") == []


@given(st.text(alphabet="chatoCH ,፣5x", max_size=30))
def test_the_graph_reads_as_the_table_does(text: str) -> None:
    letters, vocabulary = table()
    reader = LetterReader(letters, vocabulary)
    numbers = [reader.numbers[one] for c in text if (one := letters.aliases.get(c, c)) in reader.numbers]
    if not numbers:
        return
    padded = torch.tensor([[*numbers, reader.numbers["a"]]])  # one more than counts
    ids, lengths = reader(padded, torch.tensor([len(numbers)]))
    expected = [vocabulary.symbols.index(symbol) for symbol in letters.read(text)]
    assert ids[0].tolist() == [0, *(n for id in expected for n in (id, 0))]
    assert lengths.tolist() == [ids.shape[1]]


@pytest.mark.parametrize(("code", "limit"), [("amh", 0.08), ("spa", 0.12), ("swa", 0.12)])
def test_real_languages_are_learnt_from_their_sentences(code: str, limit: float) -> None:
    language = load(code)
    assert language.folder is not None
    texts = (language.folder / "sentences.txt").read_text(encoding="utf-8").split("\n")
    texts = [text for text in texts if text.strip() and not text.startswith("#")]
    frontend = for_language(language)
    symbols = {symbol for text in texts for symbol in frontend.read(text).symbols()}
    vocabulary = SymbolVocabulary.of(symbols)
    held, train = texts[::5], [text for at, text in enumerate(texts) if at % 5]
    letters = letters_of(frontend, vocabulary, train, forms=("NFD",))
    found = measured(letters, frontend, vocabulary, held, form="NFD", held_out=True)
    assert 0 < found.rate < limit and found.sentences == len(held)
    own = measured(letters, frontend, vocabulary, train, form="NFD", held_out=False)
    assert own.rate < found.rate, "what it was learnt from is easier"
    bare = measured(
        LetterTable(alone=letters.alone, breaks=letters.breaks, aliases=letters.aliases),
        frontend,
        vocabulary,
        held,
        form="NFD",
        held_out=True,
    )
    assert bare.rate > found.rate, "without neighbours it is worse"
    assert "held-out sentences" in found.sentence("x")


def test_marks_apart_from_their_letter_come_together_again() -> None:
    """Yoruba: piper takes ọ́ apart into o, a dot and an accent."""
    frontend = for_language(load("yor"))
    texts = ["ọjọ́ ọ̀rọ̀ ọmọ", "ẹ̀kọ́ owó ẹsẹ̀", "ṣé ó dára", "ọmọ náà lọ"]
    vocabulary = SymbolVocabulary.of({s for text in texts for s in frontend.read(text).symbols()})
    letters = letters_of(frontend, vocabulary, texts, forms=("NFD",))
    found = measured(letters, frontend, vocabulary, texts, form="NFD", held_out=False)
    assert found.rate < 0.1 and found.sentences == 4, found
    one = letters.read(unicodedata.normalize("NFD", "ọjọ́ ọ̀rọ̀"))
    assert one == list(symbols_of(frontend, vocabulary, "ọjọ́ ọ̀rọ̀") or ())


def test_edits_are_counted() -> None:
    assert distance(list("kitten"), list("sitting")) == 3
    assert error_rate([(list("abc"), list("abc")), (list("abcd"), list("abd"))]) == (1 / 7, 0.5)
    assert error_rate([]) == (0.0, 0.0)


def test_the_rules_of_sherpa() -> None:
    assert words_cut("d’où viens-tu ọmọ?") == ["d’où", "viens", "-", "tu", "ọ", "m", "ọ", "?"]
    assert sentences_of("Ab. cd! ef") == ["ab.", " cd!", " ef"]
    lexicon = {"hello": ("h", "e"), "you": ("j",)}
    known = frozenset({".", ",", " ", "h", "e", "j"})
    assert lexicon_ids("Hello, strange you. You", lexicon, known) == ["h", "e", " ", ",", "j", " ", ".", " ", "j"]

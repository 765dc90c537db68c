"""Amharic: punctuation, syllables, the few ɨ, long consonants, and words of other scripts inside it."""

from __future__ import annotations

import os
import random
import time
import unicodedata
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olu.core.errors import LanguageError
from olu.languages.amh.code import Amharic, FidelUnit, Filler, canonical, make
from olu.text.fidel import fold
from olu.text.frontend import for_language
from olu.text.language_data import Pack, ReadingTrace
from olu.text.languages import load

SHARED = Path(os.environ.get("OLU_SHARED", Path(__file__).parents[3] / "shared"))
LETTERS = [chr(p) for p in range(0x1200, 0x135B) if unicodedata.name(chr(p), "")]
MARKS = "\u135d\u135f"
VOWELS = frozenset("əuiaeɨo")


@cache
def reader(gemination: str = "grammar", glottal: str = "keep") -> Amharic:
    return make(Pack.of(load("amh").files(), options={"gemination": gemination, "glottal": glottal}))


def say(word: str, **options: str) -> str:
    return " ".join(reader(**options).say(word).phones)


def tidy(text: str) -> str:
    return canonical(text, ReadingTrace())


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ሰላም፡ለሁሉ።", "ሰላም ለሁሉ."),
        ("አለ፡፡ ሄደ::", "አለ. ሄደ."),
        ("አንድ፣ሁለት፥ሦስት፤ እንዲህ፦", "አንድ,ሁለት,ሦስት; እንዲህ:"),
        ("ማን ነው፧ ፨", "ማን ነው? ."),
        ("«ና» ‹ሂድ› “እሺ”", '"ና" "ሂድ" "እሺ"'),
        ("2፡30 ሰዓት፣ ማቴዎስ 3፥16", "2:30 ሰዓት, ማቴዎስ 3, 16"),
        ("2፥30 ሰዓት", "2:30 ሰዓት"),
        ("1፣2፣3", "1, 2, 3"),
        ("  ሀ\u200bሁ \n\t ሂ ", "ሀሁ ሂ"),
        ("ሃ ሐ ኀ ኸ ሠ ዐ ፀ", "ሃ ሐ ኀ ኸ ሠ ዐ ፀ"),  # the letters stay as written
        ("٣ ፲፰፻፹፯", "3 ፲፰፻፹፯"),
    ],
)
def test_punctuation_becomes_plain(text: str, wanted: str) -> None:
    assert tidy(text) == wanted


def test_what_is_left_out_is_counted() -> None:
    notes = ReadingTrace()
    assert canonical("ሀ\u200b\u200bሁ\ue000", notes) == "ሀሁ"
    assert notes.dropped == {"\u200b": 2, "\ue000": 1}


def test_letters_of_one_sound_fold_for_looking_up() -> None:
    assert fold("ሠላም ሰላም") == "ሰላም ሰላም"
    assert fold("ፀሐይ") == fold("ጸሀይ") == fold("ፀሃይ") == fold("ጸኀይ")
    assert fold("ዓመት") == fold("ዐመት") == fold("ኣመት") == "አመት"
    assert fold("ውዉ") == "ውዉ"
    assert fold(fold("ሗኂዃ")) == fold("ሗኂዃ")


@pytest.mark.parametrize(
    ("word", "phones"),
    [
        ("መንግሥት", "m ə n ɡ ɨ s t"),
        ("ትምህርት", "t ɨ m h ɨ r t"),
        ("አፍንጫ", "a f ɨ n t͡ʃʼ a"),
        ("እግር", "ɨ ɡ ɨ r"),
        ("ሕዝብ", "h ɨ z b"),
        ("ክረምት", "k ɨ r ə m t"),
        ("ልጅ", "l ɨ d͡ʒ"),
        ("ስ", "s ɨ"),
        ("እ", "ɨ"),
        ("ስምንት", "s ɨ m ɨ n t"),
        ("ስምንተኛ", "s ɨ m ɨ n t ə ɲː a"),
    ],
)
def test_as_few_vowels_as_can_be(word: str, phones: str) -> None:
    assert say(word) == phones


def test_the_first_order_of_h_and_of_the_catch_is_a() -> None:
    assert [say(letter) for letter in "ሀሐኀኸአዐኧ"] == ["h a"] * 3 + ["h ə"] + ["a"] * 2 + ["ə"]


def test_rounded_consonants_are_one_phone_only_where_the_language_has_them() -> None:
    assert say("ቋኋኳጓ") == "kʼʷ a hʷ a kʷ a ɡʷ a"
    assert say("ሟሏፏ") == "m w a l w a f w a"
    assert say("ፘፙፚ") == "r j a m j a f j a"
    assert say("ቈኈኰጐ") == "kʼʷ ə hʷ ə kʷ ə ɡʷ ə"
    assert say("ቍ") == "kʼʷ ɨ"


def test_every_ethiopic_syllable_is_read() -> None:
    points = (*range(0x1200, 0x135B), *range(0x1380, 0x1390), *range(0x2D80, 0x2DE0), *range(0xAB00, 0xAB30))
    for letter in (chr(p) for p in points if "SYLLABLE" in unicodedata.name(chr(p), "")):
        said = reader().say(letter)
        assert said.phones, letter
        assert not said.dropped, letter


def test_long_consonants() -> None:
    assert say("አለ\u135f") == say("አለ\u135d") == "a lː ə"
    assert say("አለ\u135f", gemination="none") == say("አለ") == "a l ə"
    assert "gemination=none" in " ".join(reader("none").say("አለ\u135f").rules)
    assert say("ስድ\u135fስት") == "s ɨ dː ɨ s t"
    assert say("አል\u135fፎ") == "a lː ɨ f o"  # no room for a third consonant
    assert say("ለ\u135f") == "l ə"  # no word begins with one
    assert say("አሟ\u135f") == "a mː w a"
    assert say("አኳ\u135f") == "a kʷː a"
    assert say("ሁለት") == "h u l ə t"
    assert say("ሁለት", gemination="lexicon") == "h u l ə tː"
    assert say("የትኛው") == "j ə t ɨ ɲː a w"
    assert say("የትኛው", gemination="none") == "j ə t ɨ ɲ a w"


def test_verbs_of_the_perfective_have_a_long_consonant() -> None:
    assert say("ፈለገ") == "f ə lː ə ɡ ə"
    assert say("ተከፈተ") == "t ə k ə fː ə t ə"
    assert say("ፈለገ", gemination="marks") == "f ə l ə ɡ ə"
    assert say("ተሰጠ") == "t ə s ə tʼ ə"  # two consonants of its own: which is long the shape does not tell
    assert say("ለእናንተ") == "l ə ʔ ɨ n a n t ə"


def test_a_persons_lexicon_goes_first_and_finds_every_spelling() -> None:
    own = make(Pack.of(load("amh").files(), lexicon={"ፀሐይ": "sʼ ə h a jː"}))
    assert own.say("ጸሃይ").phones == ("sʼ", "ə", "h", "a", "jː")
    with pytest.raises(LanguageError, match="'q', which is no phone"):
        make(Pack.of(load("amh").files(), lexicon={"ቀ": "q ə"}))


def test_the_catch_is_kept_inside_and_never_begins_a_word() -> None:
    assert say("ሰዓት") == "s ə ʔ a t"
    assert say("ሰዓት", glottal="drop") == "s ə a t"
    assert say("ዓለም") == "a l ə m"
    assert say("በእርግጥ") == "b ə ʔ ɨ r ɡ ɨ tʼ"


@pytest.mark.parametrize(
    ("word", "phones"),
    [
        ("BBC", "b i b i s i"),
        ("UNESCO", "u n e s k o"),
        ("A", "e"),
        ("Café", "k a f e"),
        ("naïve", "n a i v"),
        ("aŋø", "a n ɡ o"),
        ("ከMark", "k ə m a r k"),
        ("አዲስ-አበባ", "a d i s a b ə b a"),
    ],
)
def test_other_scripts(word: str, phones: str) -> None:
    assert say(word) == phones


def test_what_cannot_be_read_is_said() -> None:
    assert reader().say("ሀ7Ωم").dropped == ("7", "ω", "م")
    assert reader().say("ሀ\u135e").dropped == ("\u135e",)


def test_a_long_word_takes_no_longer_than_its_length() -> None:
    def seconds(count: int) -> float:
        before = time.process_time()
        reader().say("ብርትስ" * count)
        return time.process_time() - before

    seconds(500)
    long = min(seconds(8_000) for _ in range(3))  # a slow moment of the machine is no slow reading
    assert long < 40 * max(seconds(800), 0.001)  # ten times the work


ANY_WORD = st.text(st.sampled_from([*LETTERS, *MARKS]), max_size=14)


@given(text=st.text(max_size=40))
def test_canonical_is_its_own_canonical_form(text: str) -> None:
    once = tidy(text)
    assert tidy(once) == once
    assert tidy(unicodedata.normalize("NFD", text)) == once


@given(text=st.text(st.sampled_from([*"፡።፣፤፥፦፧፨፠:. 19٣«»'`-\n", "ሀ", "\u0301", "\u135f", "\u200b"]), max_size=20))
def test_so_is_a_row_of_marks(text: str) -> None:
    once = tidy(text)
    assert tidy(once) == once
    assert not set(once) & set("፡።፣፤፥፦፧፨፠«»")


@given(word=ANY_WORD)
def test_syllables_of_any_word_obey(word: str) -> None:
    for gemination in ("none", "marks", "grammar", "lexicon"):
        said = reader(gemination).say(word)
        assert set(said.phones) <= reader().inventory
        assert not said.dropped
        assert bool(said.phones) == any(letter in LETTERS for letter in word)
        assert _obeys(list(said.phones)), (word, said.phones)


def _obeys(phones: list[str]) -> bool:
    """At most one consonant first, two between vowels, two last. The glide of a rounded consonant is part of it."""
    size = 0
    seen_vowel = False
    for at, phone in enumerate(phones):
        if phone in VOWELS:
            if size > (2 if seen_vowel else 1):
                return False
            seen_vowel, size = True, 0
        elif not (phone in "wj" and at and phones[at - 1] not in VOWELS and _next_is_vowel(phones, at)):
            size += 2 if phone.endswith("ː") else 1
    return size <= 2


def _next_is_vowel(phones: list[str], at: int) -> bool:
    return at + 1 < len(phones) and phones[at + 1] in VOWELS


@given(word=st.text(max_size=30))
def test_any_string_is_said(word: str) -> None:
    said = reader().say(word)
    assert set(said.phones) <= reader().inventory
    letters = [c for c in word if unicodedata.category(c)[0] == "L"]
    assert not letters or said.phones or said.dropped


@given(word=ANY_WORD)
def test_no_other_choice_needs_fewer_vowels(word: str) -> None:
    """Against trying everything, on words short enough for that."""
    filler = Filler("ɨ", reader().sonority)
    units = [
        FidelUnit(c, v) for c, v in zip(word, random.Random(word).choices(["", "", "a"], k=len(word)), strict=True)
    ]
    units = [FidelUnit("nsktrwm"[ord(unit.consonant) % 7], unit.vowel) for unit in units][:9]
    if not units:
        return
    open_places = [at for at, unit in enumerate(units) if not unit.vowel]
    least = min(
        bin(choice).count("1")
        for choice in range(2 ** len(open_places))
        if _sayable(units, {at for bit, at in enumerate(open_places) if choice >> bit & 1})
    )
    filler.fill(units)
    assert sum(unit.vowel == "ɨ" for unit in units) == least
    assert _sayable(units, set())


def _sayable(units: list[FidelUnit], added: set[int]) -> bool:
    nuclei = [at for at, unit in enumerate(units) if unit.vowel or at in added]
    if not nuclei or nuclei[0] != 0:
        return False
    if any(b - a > 2 for a, b in pairwise(nuclei)):
        return False
    rest = [reader().sonority[unit.consonant] for unit in units[nuclei[-1] + 1 :]]
    return len(rest) < 2 or (len(rest) == 2 and (rest[0] >= rest[1] or max(rest) < 3))


@pytest.mark.skipif(not (SHARED / "corpora/amh/metadata.csv").is_file(), reason="the shared corpora are not here")
def test_every_line_of_the_corpus_is_read() -> None:
    read = for_language(load("amh")).read
    lost: dict[str, int] = {}
    for line in (SHARED / "corpora/amh/metadata.csv").read_text(encoding="utf-8").split("\n"):
        reading = read(line.partition("|")[2])
        assert not any(letter.isnumeric() for letter in reading.normal), reading.normal
        lost |= reading.dropped
    assert set(lost) <= {"\u200b", "@"}, lost


@pytest.mark.skipif(not (SHARED / "gold/amharic_wikipron.tsv").is_file(), reason="the shared gold data is not here")
def test_wikipron_stays_as_good_as_it_was() -> None:
    known: dict[str, list[str]] = {}
    for row in (SHARED / "gold/amharic_wikipron.tsv").read_text(encoding="utf-8").split("\n")[1:]:
        if row.strip():
            known.setdefault(row.split("\t")[0], []).append(row.split("\t")[2])
    for long, most in ((False, 0.06), (True, 0.29)):
        wrong = 0
        for word, golds in known.items():
            phones = " ".join(say(part) for part in tidy(word).split()).replace("ʔ ", "")
            bare = [one if long else one.replace("ː", "") for one in (phones, *golds)]
            wrong += bare[0] not in bare[1:]
        assert wrong / len(known) <= most

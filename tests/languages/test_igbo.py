"""Igbo: canonical text, letters to phones, tones by convention, and English words inside it."""

from __future__ import annotations

import csv
import os
import re
import time
import unicodedata
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olu.languages.ibo.code import Igbo, canonical, detect, make, shaped, syllables
from olu.text import tones
from olu.text.frontend import ReadingSettings, for_language
from olu.text.language_data import Pack, Pronunciation, ReadingTrace
from olu.text.languages import load
from olu.text.rules.engine import Rules

GOLD = Path(os.environ.get("OLU_SHARED", Path(__file__).parents[3] / "shared")) / "gold"
SOAK = os.environ.get("OLU_SOAK") == "1"
TEXTS = ("igbo_text_newtestament.txt", "igbo_text_fiction.txt")
ENGLISH_ONLY = 18  # the last rows of phones.tsv
WILD = st.text(
    st.one_of(
        st.characters(), st.sampled_from("abchknmwyiouIOUNịọụṅñ ̣́̀̄̂̌̇̃̈'’`´- –-\u0331\u0329\u0328ɔɩŋʋıꜜ\uf024\u200b٣１")
    ),
    max_size=30,
)


@cache
def igbo(**options: str) -> Igbo:
    return make(Pack.of(load("ibo").files(), options=options))


def say(word: str, **options: str) -> Pronunciation:
    speaker = igbo(**options)
    word = canonical(word, ReadingTrace())
    return speaker.say(word, mode=speaker.mode([word]))


def phones(word: str, **options: str) -> str:
    return " ".join(say(word, **options).phones)


def heard(word: str, **options: str) -> str:
    return " ".join(say(word, **options).tones)


def gold(name: str) -> Path:
    if not (GOLD / name).is_file():
        pytest.skip(f"{name} is not here")
    return GOLD / name


def rows(name: str) -> list[dict[str, str]]:
    with gold(name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def points(codes: str) -> str:
    return "".join(chr(int(code, 16)) for code in codes.split())


def test_every_unicode_vector() -> None:
    for row in rows("igbo_unicode_vectors.tsv"):
        assert canonical(points(row["input_codepoints"]), ReadingTrace()) == points(row["expected_codepoints"]), row


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("u\u0301\u0323", "ụ\u0301"),
        ("o\u0308 i\u0331 u\u0332 o\u0328", "ọ ị ụ ọ"),
        ("Ɔ ɩ ʋ ɛ ŋ Ŋ ı", "Ọ ị ụ e ṅ Ṅ i"),
        ("ẹ ṣ", "e s"),
        ("n\u0304a n\u0304", "ṅa ṅ"),
        ("n\u0304dị", "n\u0304dị"),
        ("n’ ụzọ N` ụlọ", "n'ụzọ N'ụlọ"),
        ("n' to", "n' to"),
        ("n\u2032ụlọ n\u02b9ụlọ n\ua78cụlọ n\u02bbụlọ", "n'ụlọ n'ụlọ n'ụlọ n'ụlọ"),
        ("na–aga 1990–1995", "na-aga 1990–1995"),
        ("١٢３", "123"),
        ("a\u200bb\ufeff", "ab"),
        ("č ç â ě", "c c â ě"),
    ],
)
def test_canonical(typed: str, meant: str) -> None:
    assert canonical(typed, ReadingTrace()) == unicodedata.normalize("NFC", meant)


def test_what_is_dropped_is_counted() -> None:
    notes = ReadingTrace()
    assert canonical("ẹgo\uf024 ç", notes) == "ego c"
    assert dict(notes.dropped) == {"\u0323": 1, "\uf024": 1, "\u0327": 1}


@given(text=WILD)
def test_canonical_is_idempotent_and_blind_to_the_form(text: str) -> None:
    once = canonical(text, ReadingTrace())
    again = ReadingTrace()
    assert canonical(once, again) == once
    assert not again.dropped
    for form in ("NFC", "NFD"):
        assert canonical(unicodedata.normalize(form, text), ReadingTrace()) == once
    assert unicodedata.normalize("NFC", once) == once


@given(word=WILD)
def test_any_word_is_said(word: str) -> None:
    for options in ({}, {"codeswitch": "keep"}, {"tone_convention": "welmers"}):
        said = igbo(**options).say(word)
        assert set(said.phones) <= set(igbo().kinds)
        assert len(said.tones) == len(said.bearers)


def test_wikipedia() -> None:
    """Rows whose source contradicts itself carry a flag; r is written ɹ here."""
    for row in rows("igbo_ipa_wikipedia.tsv"):
        if row["flag"]:
            continue
        flat = unicodedata.normalize("NFD", row["ipa"].replace("r", "ɹ"))
        marks = re.findall("[\u0301\u0300]|ꜜ", flat)
        said = say(row["orth_toned"])
        assert unicodedata.normalize("NFD", "".join(said.phones)) == re.sub("[\u0301\u0300]|ꜜ", "", flat), row
        assert [{"\u0301": "H", "\u0300": "L", "ꜜ": "D"}[mark] for mark in marks] == list(said.tones), row


@pytest.mark.parametrize(
    ("word", "sounds"),
    [
        ("nwa", "ŋʷ a"),
        ("nyocha", "ɲ o t͡ʃ a"),
        ("mwute", "m̩ w u t e"),
        ("mmanụ", "m̩ m a n ʊ"),
        ("nnu", "n̩ n u"),
        ("nkwụ", "ŋ̍ kʷ ʊ"),
        ("ngwugwu", "ŋ̍ ɡʷ u ɡʷ u"),
        ("nghọta", "ŋ̍ ɣ ɔ t a"),
        ("ndị", "n̩ d ɪ"),
        ("ḿmá", "m̩ m a"),
        ("ńa", "n̩ a"),
        ("ǹkà", "ŋ̍ k a"),
        ("n’ ụzọ", "n ʊ z ɔ"),
        ("n'Naịjirịa", "n̩ n a ɪ d͡ʒ i ɹ ɪ a"),
        ("na-aga", "n a a ɡ a"),
        ("ÙMÙAHIA", "u m u a h i a"),
    ],
)
def test_letters(word: str, sounds: str) -> None:
    assert phones(word) == sounds


def test_words_that_differ_in_tone_alone_differ() -> None:
    assert phones("ọ́kụ́") == phones("ọ̀kụ̀")
    assert (heard("ọ́kụ́"), heard("ọ̀kụ̀")) == ("H H", "L L")


@pytest.mark.parametrize(
    ("word", "convention", "read"),
    [
        ("akwa", "auto", "? ?"),
        ("ákwà", "auto", "H L"),
        ("akwà", "auto", "? L"),
        ("mbè", "auto", "? L"),
        ("égō", "auto", "H D"),
        ("égꜜó", "auto", "H D"),
        ("ākwā", "full", "H D"),
        ("àgā", "full", "L H"),
        ("akwà", "full", "? L"),
        ("akwà", "sparse", "? L"),
        ("akwà", "unmarked_high", "H L"),
        ("mbè", "unmarked_high", "H L"),
        ("óche", "welmers", "H H"),
        ("égó", "welmers", "H D"),
        ("ákwà", "welmers", "H L"),
        ("àkwa", "welmers", "L L"),
        ("àkwá", "welmers", "L H"),
        ("ákwúkwó", "welmers", "H D D"),
        ("akwá", "welmers", "? H"),
        ("lâ", "full", "HL"),
        ("gá-ēme", "full", "H D ?"),
        ("nà-ēme", "full", "L H ?"),
        ("ná-eme", "welmers", "H H H"),
        ("lǎ", "unmarked_high", "LH"),
        ("âgā", "full", "HL H"),
    ],
)
def test_conventions(word: str, convention: str, read: str) -> None:
    assert heard(word, tone_convention=convention) == read


@given(marks=st.lists(st.sampled_from(["", *tones.MARKS]), max_size=8), convention=st.sampled_from(tones.CONVENTIONS))
def test_a_downstep_never_begins_a_word_or_follows_a_low_tone(marks: list[str], convention: str) -> None:
    read = tones.read(marks, convention=convention)
    assert len(read) == len(marks)
    assert all(before[-1] != "L" for before, tone in pairwise(read) if tone == "D")
    assert read[:1] != ("D",)


def test_step_notation_goes_on_from_the_word_before() -> None:
    assert tones.read(["", tones.ACUTE], convention="welmers", before="H") == ("H", "D")


@pytest.mark.parametrize(
    ("texts", "convention", "sure"),
    [
        ([], "sparse", True),
        (["ọ bụ ihe ọma"] * 5, "sparse", True),
        (["ọ bụ ihe ọma ka anyị na-eme n'ụlọ akwụkwọ", "ọ bụ́ ihe"] * 9, "sparse", True),
        (["ọ̀kụ̀ àkwa ụlọ̀ òkwutē"], "unmarked_high", True),
        (["akwà", "ụlọ"], "sparse", False),
        (["ọ́kụ́ àkwá ụ́lọ̀ òkwútē"], "full", True),
        (["óce égó àkwa ákwà ákwukwo óce"], "welmers", True),
        (["akwá océ ákwukwo ulò okwuté akwukwó"], "sparse", False),
    ],
)
def test_detection(texts: list[str], convention: str, sure: bool) -> None:
    found = igbo().detect(texts)
    assert (found.convention, found.sure) == (convention, sure)


def test_a_corpus_decides_only_where_nobody_did() -> None:
    files, texts = load("ibo").files(), ["akwà ụlọ̀ ọ̀kụ"]
    assert detect(Pack.of(files), texts) == {"tone_convention": "unmarked_high"}
    assert detect(Pack.of(files, options={"tone_convention": "full"}), texts) == {}


def test_tones_of_known_words() -> None:
    """Lexical tones written the Williamson way give those tones back."""
    signs = {"H": "", "L": tones.GRAVE, "D": tones.MACRON}
    for row in rows("igbo_tone_words.tsv"):
        speaker = igbo(tone_convention="unmarked_high")
        plain = speaker.say(row["orth"])
        assert len(plain.bearers) == len(row["tones"]), row
        marks = [signs[tone] for tone in row["tones"]]
        assert tones.read(marks, convention="unmarked_high") == tuple(row["tones"]), row


def test_igbo_shapes() -> None:
    assert all(map(shaped, ("akwụkwọ", "mma", "ndị", "isii", "nkwa", "ṅụọ", "kọmputa")))
    assert not any(map(shaped, ("computer", "the", "kraịst", "tebụl", "school", "", "nw", "b")))


@pytest.mark.parametrize(
    ("word", "sounds"),
    [
        ("school", "s u k u l ɪ"),
        ("station", "s e t e ʃ a n̩"),
        ("bank", "b a ŋ̍ k ɪ"),
        ("queen", "kʷ i n̩"),
        ("think", "t ɪ ŋ̍ k ɪ"),
        ("box", "b ɔ k ɪ s ɪ"),
        ("lamp", "l a m̩ p ʊ"),
        ("pdf", "p i d i f i"),
        ("nature", "n e t͡ʃ a"),
        ("one", "o n e"),
        ("n'University", "n̩ j u n ɪ v a s ɪ t i"),
        ("Kraịst", "k a ɹ a ɪ s ɪ t ɪ"),
        ("Hezrọn", "h e z ɔ ɹ ɔ n̩"),
    ],
)
def test_foreign_words(word: str, sounds: str) -> None:
    assert phones(word) == sounds


def test_english_keeps_its_phones_and_stress_where_asked() -> None:
    said = say("station", codeswitch="keep")
    assert " ".join(said.phones) == "s t eɪ ʃ ə n"
    assert (said.stress, said.tones) == (2, ())
    assert phones("akwụkwọ", codeswitch="keep") == "a kʷ ʊ kʷ ɔ"


def test_loans_have_a_high_tone_on_their_stress() -> None:
    assert heard("station", tone_convention="full") == "L H L L"
    assert heard("tebụl", tone_convention="full") == "H L L"
    assert heard("station") == "? ? ? ?"


@given(word=st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=14))
def test_any_latin_word_becomes_open_syllables(word: str) -> None:
    speaker = igbo()
    said = speaker.say(word)
    assert not said.dropped
    assert said.phones
    own = list(speaker.kinds)[:-ENGLISH_ONLY]
    for syllable in syllables(said.phones, said.bearers):
        kinds = [speaker.kinds[phone] for phone in syllable if phone in own]
        assert kinds in (["vowel"], ["consonant", "vowel"], ["syllabic"]), (word, said.phones)


def test_every_english_phone_has_an_igbo_one() -> None:
    english = igbo().english
    pack = Pack.of(load("ibo").files())
    told = [phone for row in pack.rows("english_letters.tsv") for phone in row[1].split() if phone != "0"]
    told += [phone for row in pack.rows("english_words.tsv") for phone in row[1].split()]
    rules = Rules.parse(pack.text("english_rules.txt"), where="english")
    told += [phone for rule in rules.letters for phone in rule.result]
    assert set(told) <= set(english.kinds) <= set(igbo().kinds)
    own = set(list(igbo().kinds)[:-ENGLISH_ONLY])
    assert {phone for fitted in english.fitted.values() for phone in fitted} <= own


def test_a_long_word_takes_no_longer_than_its_length() -> None:
    frontend = for_language(load("ibo"))
    frontend.read("mma")
    begun = time.perf_counter()
    for sign in ("m", "ñ", "n'", "BBC ", "XIV "):
        frontend.read((sign * 20_000)[:20_000])
    assert time.perf_counter() - begun < 5  # 30 s where the work grew with the square


def test_running_text_is_read_whole() -> None:
    """Every tenth line, every line in a soak: phones of the inventory, and nothing lost but junk."""
    speaker = igbo()
    lost: set[str] = set()
    own = set(list(speaker.kinds)[:-ENGLISH_ONLY])
    for name in TEXTS:
        for line in gold(name).read_text(encoding="utf-8").split("\n")[:: 1 if SOAK else 10]:
            notes = ReadingTrace()
            for word in re.findall(r"[^\W\d_][^\W\d_'\u0300-\u036f-]*", canonical(line, notes)):
                said = speaker.say(word, mode="sparse")
                assert said.phones, word
                assert set(said.phones) <= own, word
                lost.update(said.dropped)
            lost.update(notes.dropped)
    assert all("\uf000" <= char <= "\uf0ff" for char in lost), lost


@pytest.mark.parametrize(
    ("text", "tones"),
    [
        ("ísí éwú", ["H H", "H D"]),  # a goat's head: the second of two nouns
        ("rírí ńrí", ["H H", "H D"]),  # ate food: a verb's object, nri HH -> HD
        ("ísí ákwà", ["H H", "H L"]),  # nothing high at its end
        ("ísí àkwá", ["H H", "L H"]),  # no downstep after a low tone
        ("ísí, éwú", ["H H", "H H"]),  # a pause parts them
        ("ísí ányị́", ["H H", "H H"]),  # a pronoun
        ("ísí ánọ́", ["H H", "H H"]),  # a number
        ("éwú", ["H H"]),
    ],
)
def test_tones_in_a_phrase(text: str, tones: list[str]) -> None:
    chosen = ReadingSettings(options={"tone_convention": "full", "phrase_tones": "phrase"})
    reading, notes = for_language(load("ibo"), settings=chosen).explain(text)
    assert [" ".join(word.tones) for word in reading.words] == tones
    assert [step.stage for step in notes.steps].count("phrase") == sum(tone.endswith("D") for tone in tones)
    alone = for_language(load("ibo"), settings=ReadingSettings(options={"tone_convention": "full"})).read(text)
    assert not any("D" in word.tones for word in alone.words)  # off unless it is asked for

"""One test over every language that is read as phones, and over the folder people copy to add one."""

from __future__ import annotations

import json
import os
import random
import re
import unicodedata
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from olu.core.errors import TextError
from olu.core.rows import as_row, from_row
from olu.core.types import Reading
from olu.text import algorithms, words
from olu.text.frontend import AnyFrontend, ReadingSettings, for_language, from_state
from olu.text.language_data import ReadingTrace
from olu.text.languages import FOLDERS, Language, available, load
from olu.text.phones import PhoneFrontend
from olu.text.rules.engine import Rules
from olu.text.vocabulary import SymbolVocabulary

SPOKEN = [one.code for one in available() if one.reading.pronounce]
ALL = [*SPOKEN, "_template"]
SOAK = os.environ.get("OLU_SOAK") == "1"
NUMBERS = 99_999
DATES = ("14/11/2026", "2026-11-14", "1.5.1999", "3:45", "15:30", "12%", "3.5", "1,250", "-7", "½", "1/4", "10-15")
KINDS = ("vowel", "consonant", "syllabic")
LEAST_GOLDEN = {"begun": 5, "finished": 30}
FINISHED = {"amh", "ibo", "spa", "swa", "yor"}


def language(code: str) -> Language:
    return load(FOLDERS / code) if code.startswith(("_", "/")) else load(code)


def stage(code: str) -> str:
    """A language that claims an accuracy is finished: more is asked of it."""
    return "finished" if language(code).accuracy else "begun"


def test_what_was_finished_stays_so() -> None:
    assert {code for code in SPOKEN if stage(code) == "finished"} >= FINISHED


@cache
def frontend(code: str, dialect: str | None = None, options: tuple[tuple[str, str], ...] = ()) -> PhoneFrontend:
    chosen = ReadingSettings(symbols="phones", dialect=dialect, options=dict(options))
    made = for_language(language(code), settings=chosen)
    assert isinstance(made, PhoneFrontend)
    return made


def variants(code: str) -> list[AnyFrontend]:
    """The language as it is by default, in each dialect, and with each other choice of each option."""
    one = language(code)
    made = [frontend(code), *(frontend(code, dialect) for dialect in one.dialects)]
    for name, option in one.options.items():
        made += [frontend(code, None, ((name, choice),)) for choice in option.choices if choice != option.default]
    return list(made)


def golden(code: str) -> list[tuple[str, str, str, PhoneFrontend]]:
    """Text, phones, tones, and the frontend the row is for: a text may begin with @dialect or @option=value."""
    found = []
    for row in frontend(code).pack.rows("golden.tsv"):
        text, phones, tones = row[0], row[1], row[2] if len(row) > 2 else ""
        tags = re.match(r"((?:@\S+ )*)(.*)", text)
        assert tags is not None
        asked = [tag.removeprefix("@") for tag in tags[1].split()]
        dialect = next((tag for tag in asked if "=" not in tag), None)
        options = tuple((tag.split("=")[0], tag.split("=")[1]) for tag in asked if "=" in tag)
        found.append((tags[2], phones, tones, frontend(code, dialect, options)))
    return found


def spelled(reading: Reading) -> str:
    return " | ".join(" ".join(word.phones) for word in reading.words)


@pytest.mark.parametrize("code", ALL)
def test_golden_holds(code: str) -> None:
    rows, least = golden(code), LEAST_GOLDEN[stage(code)]
    why = " since language.toml claims an [[accuracy]]" if stage(code) == "finished" else ""
    assert len(rows) >= least, (
        f"{code}/golden.tsv has {len(rows)} rows, and {least} are needed{why}: add words whose sounds you are sure of"
    )
    wrong = []
    for text, phones, tones, reads in rows:
        reading = reads.read(text)
        if spelled(reading) != unicodedata.normalize("NFC", phones).strip():
            wrong.append(f"{text}: {spelled(reading)}, not {phones}")
        heard = " | ".join(" ".join(word.tones) for word in reading.words)
        if tones.strip() and heard != tones.strip():
            wrong.append(f"{text}: tones {heard}, not {tones}")
    assert not wrong, f"{code}/golden.tsv is read otherwise; mend the rules or the rows: {'; '.join(wrong)}"


@pytest.mark.parametrize("code", ALL)
def test_the_inventory_is_closed(code: str) -> None:
    reads = frontend(code)
    pack = reads.pack
    listed = [row[0] for row in pack.rows("phones.tsv")]
    twice = {phone for phone in listed if listed.count(phone) > 1}
    assert not twice, f"{code}/phones.tsv lists these twice: {twice}"
    kinds = {row[0]: row[1:2] for row in pack.rows("phones.tsv") if row[1:2] == [] or row[1] not in KINDS}
    assert not kinds, f"{code}/phones.tsv: the kind must be one of {', '.join(KINDS)}: {kinds}"
    assert all(unicodedata.normalize("NFC", phone) == phone for phone in listed)
    told = {phone for row in pack.rows("lexicon.tsv") for phone in row[1].split()}
    assert told <= set(listed), f"{code}/lexicon.tsv has sounds that phones.tsv does not list: {told - set(listed)}"
    for one in variants(code):
        for text in texts(code):
            used = {phone for word in one.read(text).words for phone in word.phones}
            assert used <= set(listed), f"{text!r} has sounds that {code}/phones.tsv lacks: {used - set(listed)}"


def texts(code: str) -> list[str]:
    rows = [text for text, *_ in golden(code)]
    return rows + frontend(code).pack.text("sentences.txt").split("\n")


@pytest.mark.parametrize("code", ALL)
def test_every_letter_is_read(code: str) -> None:
    for text in texts(code):
        dropped = frontend(code).read(text).dropped
        assert dropped == {}, f"{code}: these signs of {text!r} are not read: {dropped}; add them to letters.tsv"
    rows = [row for row in frontend(code).pack.rows("letters.tsv") if len(row) > 1 and row[1].strip() != "0"]
    beside = next((row[0] for row in rows if row[0].isalpha()), "")
    for letter, phones, *_ in rows:
        # a sign that is no letter elsewhere, as ' for a catch in the throat, is read inside a word
        text = letter if any(sign.isalpha() for sign in letter) else f"{beside}{letter}{beside}"
        said = [word.phones for word in frontend(code).read(text).words]
        assert said, f"{code}/letters.tsv: the letter {letter!r} gives no word: {text!r} is read as nothing"
        assert text == letter or len(said) == 1, f"{code}/letters.tsv: {letter!r} ({phones}) is not read in {text!r}"


@pytest.mark.parametrize("code", SPOKEN)
def test_nothing_of_the_template_is_left(code: str) -> None:
    own, copied = language(code).files(), language("_template").files()
    left = [name for name, data in own.items() if copied.get(name) == data]
    assert not left, f"{code}: these files are still the template's: {', '.join(left)}; write your own or take them out"


@pytest.mark.parametrize("code", ALL)
def test_every_rule_fires(code: str) -> None:
    """Over golden and sentences, in every dialect and option: a rule that nothing shows is one nobody checked."""
    if not frontend(code).pack.text("rules.txt"):
        pytest.skip("this language has no rules.txt")
    parsed = Rules.parse(frontend(code).pack.text("rules.txt"), where=code)
    fired: set[str] = set()
    for one in variants(code):
        for text in texts(code):
            canonical = algorithms.canonical(one.pack)(text, ReadingTrace())  # type: ignore[arg-type]
            found, _ = words.split(canonical)
            speaker = one._pronouncer  # type: ignore[union-attr]
            for word in found:
                fired.update(speaker.say(word, mode=speaker.mode(found)).rules)
    silent = [rule.line for rule in (*parsed.letters, *parsed.phones) if rule.line not in fired]
    assert not silent, (
        f"{code}/rules.txt has rules that nothing shows: {silent}; add a word for each to golden.tsv, or take out those"
        " that no word can have"
    )


@pytest.mark.parametrize("code", ALL)
def test_composed_and_decomposed_read_alike_and_nothing_is_printed(
    code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in texts(code):
        composed, decomposed = (frontend(code).read(unicodedata.normalize(form, text)) for form in ("NFC", "NFD"))
        assert (composed.words, composed.breaks) == (decomposed.words, decomposed.breaks), text
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("code", ALL)
def test_numbers_and_dates_become_words(code: str) -> None:
    """A language that is begun may come without numbers.toml: then digits are listed as not read."""
    reads = frontend(code)
    if "numbers.toml" not in reads.pack.files:
        assert stage(code) == "begun", (
            f"{code} has no numbers.toml, and claims an [[accuracy]] in language.toml: add it"
        )
        assert {*"137"} <= reads.read("137").dropped.keys()
        return
    some = random.Random(3)
    numbers = range(NUMBERS + 1) if SOAK else [*range(120), *some.sample(range(NUMBERS), 600)]
    beyond = [some.randrange(NUMBERS, 10 ** some.randint(6, 15)) for _ in range(100_000 if SOAK else 300)]
    for number in [*map(str, numbers), *map(str, beyond), *DATES]:
        reading = reads.read(number)
        said = f"{number} is read as {reading.normal!r}: mend {code}/numbers.toml or normalise.toml"
        assert reading.words, said
        assert not any(letter.isdigit() for letter in reading.normal), said
        assert reading.dropped == {}, f"{said} (not read: {reading.dropped})"


@pytest.mark.parametrize("code", ALL)
def test_the_canonical_form_is_its_own(code: str) -> None:
    change = algorithms.canonical(frontend(code).pack)
    for text in texts(code):
        once = change(text, ReadingTrace())
        assert change(once, ReadingTrace()) == once, text


@pytest.mark.parametrize("code", ALL)
def test_the_state_is_data_and_gives_the_same_ids(code: str) -> None:
    reads = frontend(code)
    seen = {symbol for text in texts(code) for symbol in reads.read(text).symbols()}
    vocabulary = SymbolVocabulary.of(seen)
    again = from_state(json.loads(json.dumps(reads.state())))
    kept = SymbolVocabulary.from_state(json.loads(json.dumps(vocabulary.state())))
    for text in texts(code):
        assert kept.encode(again.read(text)) == vocabulary.encode(reads.read(text)), text
    reached = {symbol for text in texts(code) for symbol in again.read(text).symbols()}
    assert reached == set(vocabulary.sayable()), "every symbol is reachable"


WILD = st.text(
    st.one_of(st.characters(), st.sampled_from("abgnmọụịẹṣ'’-́̀̄̃ሀለመሥ።፡0123456789.,/%₦$€½²\n\t\u200d[]<>&{}")), max_size=40
)


@pytest.mark.parametrize("code", ALL)
@given(text=WILD)
@example(text="ʻ")  # typed for an apostrophe, and a letter to Unicode
@settings(max_examples=2_000 if SOAK else 60, deadline=None)
def test_any_text_is_read_or_refused_in_words(code: str, text: str) -> None:
    reads = frontend(code)
    try:
        reading = reads.read(text)
    except TextError:
        return
    assert from_row(json.loads(json.dumps(as_row(reading))), Reading) == reading
    assert len(reading.breaks) == len(reading.words) + 1
    known = {row[0] for row in reads.pack.rows("phones.tsv")}
    assert all(word.phones and set(word.phones) <= known for word in reading.words)
    assert all(len(word.tones) == len(word.bearers) for word in reading.words)
    assert all(mark in words.PAUSES for between in reading.breaks for mark in between)
    assert lost_in_silence(text, reading) == ""


def lost_in_silence(text: str, reading: Reading) -> str:
    """Letters of a text that gave neither a word nor an entry in what was dropped."""
    letters = [c for c in unicodedata.normalize("NFC", text) if c.isalpha() and c not in words.SILENT]
    return "".join(letters) if letters and not reading.words and not reading.dropped else ""

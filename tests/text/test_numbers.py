"""Numbers as words: the grammar itself, and those of five languages."""

from __future__ import annotations

import csv
import os
import random
from pathlib import Path

import pytest

from olu.core.errors import OluError
from olu.text.language_data import Pack, ReadingTrace
from olu.text.languages import load
from olu.text.normalise.numbers import NumberGrammar
from olu.text.normalise.steps import Normaliser
from olu.text.normalise.written_numbers import ethiopic, fold, has_number

SOAK = os.environ.get("OLU_SOAK") == "1"
GOLD = Path(os.environ.get("OLU_SHARED", Path(__file__).parents[3] / "shared")) / "gold"
LANGUAGES = ("ibo", "amh", "spa", "yor", "swa")
ALL = 100_000
BEYOND = 100_000 if SOAK else 1_000


def numbers(code: str) -> NumberGrammar:
    return NumberGrammar(Pack.of(load(code).files()).toml("numbers.toml"), where=code)


def small() -> list[int]:
    """Every number below 100,000 in a soak; otherwise the first thousand and a sample."""
    if SOAK:
        return list(range(ALL))
    return [*range(1_100), *random.Random(4).sample(range(1_100, ALL), 1_500)]


def large() -> list[int]:
    rng = random.Random(5)
    return [rng.randrange(10 ** rng.randrange(5, 19)) + ALL for _ in range(BEYOND)]


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_number_has_words_of_its_own(code: str) -> None:
    """No two numbers below 100,000 sound alike: a comma keeps apart what only a pause does (swa 10,005 and 15,000)."""
    grammar = numbers(code)
    said: dict[str, int] = {}
    for number in small():
        words = grammar.say(number)
        assert words == words.strip()
        assert "  " not in words
        assert not has_number(words)
        assert said.setdefault(words, number) == number
    for number in large():
        assert not has_number(grammar.say(number))


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_normaliser_leaves_no_digit(code: str) -> None:
    normaliser, grammar = Normaliser(Pack.of(load(code).files())), numbers(code)
    for number in [*small()[:: 1 if SOAK else 5], *large()[:: 20 if SOAK else 5]]:
        assert normaliser.normalise(str(number), ReadingTrace()) == grammar.say(number).lower()


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_set_says_every_number_it_can_be_asked(code: str) -> None:
    grammar = numbers(code)
    parts = {"yor": {"tens", "from", "more", "less"}}.get(code, set())  # only ever asked for round numbers
    for name in sorted(grammar.sets - parts):
        for number in [*range(1_250), 1_999, 2_000, 99_999, 10**6, 10**9 + 1, 10**12, 10**15, 10**18, 10**30]:
            assert not has_number(grammar.say(number, name, "x")), (name, number)


def test_amharic_gold() -> None:
    normaliser = Normaliser(Pack.of(load("amh").files()))
    for row in _gold("amharic_numbers.tsv"):
        assert normaliser.normalise(row["number"], ReadingTrace()) == row["cardinal"]
        assert normaliser.normalise(f"{row['number']}ኛ", ReadingTrace()) == row["ordinal"]


def test_ethiopic_gold() -> None:
    for row in _gold("ethiopic_numerals.tsv"):
        assert ethiopic(row["ethiopic"]) == int(row["value"])


def test_igbo_gold() -> None:
    """Whether or not the rules were written with it in view: they were (linguistics.md 1.6)."""
    normaliser = Normaliser(Pack.of(load("ibo").files()))
    rows = [row for row in _gold("igbo_numbers_attested.tsv") if row["status"] == "match"]
    assert len(rows) > 20
    for row in rows:
        assert normaliser.normalise(row["number"], ReadingTrace()) == row["words_in_text"]


@pytest.mark.parametrize(
    ("numeral", "value"),
    [("፩", 1), ("፲፩", 11), ("፻", 100), ("፪፻", 200), ("፲፰፻፹፯", 1887), ("፼", 10_000), ("፻፼", 10**6), ("፼፼", 10**8)],
)
def test_ethiopic(numeral: str, value: int) -> None:
    assert ethiopic(numeral) == value


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("١٢٣", "123"),
        ("１２", "12"),
        ("2½", "2 1/2"),
        ("⅔", "2/3"),
        ("Ⅳ", "4"),
        ("⑫", "12"),
        ("፲፭ ቀን", "15 ቀን"),
        ("m²", "m²"),
    ],
)
def test_fold(text: str, folded: str) -> None:
    assert fold(text) == folded


def grammar(**rules: object) -> NumberGrammar:
    digits = {"at": 0, "words": "nil one two three four five six seven eight nine"}
    return NumberGrammar({"cardinal": {"rules": [digits, *rules.pop("more", [])]}, **rules})  # type: ignore[misc]


def test_a_grammar_of_ones_own() -> None:
    tens = [
        {"at": 10, "by": 10, "left": "0", "say": "{q}ty"},
        {"at": 10, "by": 10, "left": "1-4", "say": "{q}ty", "rest": " and {r}"},
        {"at": 10, "by": 10, "say": "{d} less than {t}"},
        {"at": 100, "by": 100, "say": "{q} hundred", "rest": {"1-9": " and {r}", "else": " {r}"}},
    ]
    ours = grammar(more=tens, ordinal={"of": "cardinal", "endings": [["one", "first"], ["", "th"]]})
    assert ours.say(20) == "twoty"
    assert ours.say(23) == "twoty and three"
    assert ours.say(27) == "three less than threety"
    assert ours.say(105) == "one hundred and five"
    assert ours.say(120) == "one hundred twoty"
    assert ours.say(101, "ordinal") == "one hundred and first"
    assert ours.say(120, "ordinal") == "one hundred twotyth"
    assert ours.digits("072") == "nil seven two"


def test_like_gives_only_what_differs() -> None:
    ours = grammar(
        more=[{"at": 10, "by": 10, "say": "{q}ty", "rest": " {r}"}],
        she={"like": "cardinal", "rules": [{"at": 1, "say": "una"}]},
    )
    assert ours.say(31, "she") == "threety una"
    assert ours.say(32, "she") == "threety two"


def test_above_the_limit_digits_are_read() -> None:
    ours = NumberGrammar({"cardinal": {"limit": 10, "rules": [{"at": 0, "words": "o i ii iii iv v vi vii viii ix"}]}})
    assert ours.say(10) == "i o"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({}, "no [cardinal]"),
        ({"cardinal": {"rules": [{"at": 0, "say": "{x}"}]}}, "{x} is unknown"),
        (
            {"cardinal": {"rules": [{"at": 0, "say": "{n:ordinl}"}]}, "ordinal": {"of": "cardinal"}},
            "did you mean 'ordinal'",
        ),
        ({"cardinal": {"rules": [{"at": 0, "by": 10, "say": "a", "left": "one"}]}}, "'one' is no list of numbers"),
        ({"cardinal": {"rules": [{"at": 0}]}}, "either words or say"),
        ({"cardinal": {"rules": [{"at": 0, "say": "a", "rest": "b"}]}}, "need by"),
        ({"cardinal": {"rules": [{"at": 0, "sya": "a"}]}}, "unknown key"),
        ({"cardinal": {}}, "has no rules"),
        ({"cardinal": {"like": "cardinal", "rules": [{"at": 0, "say": "a"}]}}, "is no other set"),
        ({"cardinal": {"rules": [{"at": 0, "say": "a"}]}, "b": {"of": "cardinal", "limit": 5}}, "limit belongs to"),
    ],
)
def test_a_mistake_in_the_file_is_explained(data: dict[str, object], says: str) -> None:
    with pytest.raises(OluError) as told:
        NumberGrammar(data)
    assert says in str(told.value)


def test_a_number_no_rule_says() -> None:
    with pytest.raises(OluError, match="no rule says 10"):
        grammar().say(10)
    with pytest.raises(OluError, match="circles"):
        grammar(more=[{"at": 10, "say": "{n}"}]).say(10)


def _gold(name: str) -> list[dict[str, str]]:
    if not (GOLD / name).is_file():
        pytest.skip(f"the gold set {name} is not here")
    with (GOLD / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))

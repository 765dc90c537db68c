from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cmp_to_key, partial
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from olu.core.errors import ConfigError
from olu.corpus.query import Kind, comparer, sorter, where

COLUMNS: dict[str, Kind] = {
    "id": "text",
    "speaker": "text",
    "seconds": "number",
    "letters": "number",
    "tokens": "number",
    "marks": "names",
    "trains": "yes or no",
    "text": "text",
}
ROWS = [
    {"id": "a", "speaker": "ana", "seconds": 25.0, "letters": 50, "tokens": 9, "marks": ["clipping", "rate"]},
    {"id": "b", "speaker": "ben", "seconds": 5.0, "letters": 0, "tokens": None, "marks": []},
    {"id": "c", "speaker": "ana", "seconds": 12.5, "letters": 100, "tokens": 3, "marks": ["clipping"]},
]
ROWS = [{"text": f"Sọ́rọ̀ {row['id']}", "trains": not row["marks"], **row} for row in ROWS]


def table(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def found(expression: str) -> str:
    fits = where(expression, COLUMNS)
    return "".join(str(row["id"]) for row, fit in zip(ROWS, fits(table(ROWS)), strict=True) if fit)


@pytest.mark.parametrize(
    ("expression", "ids"),
    [
        ('seconds > 20 and speaker == "ana" and "clipping" in marks', "a"),
        ("seconds >= 12.5", "ac"),
        ("10 < seconds <= 25", "ac"),
        ("seconds < 6 or seconds > 20", "ab"),
        ("not trains", "ac"),
        ("trains == True", "b"),
        ('trains == "yes"', "b"),
        ('"no" == trains', "ac"),
        ('trains != "no" and seconds < 20', "b"),
        ('speaker == "yes"', ""),
        ('"clipping" not in marks', "b"),
        ('"clip" in marks', ""),
        ('speaker in ["ben", "eva"]', "b"),
        ('speaker not in ("ben",)', "ac"),
        ("seconds in [5, 25]", "ab"),
        ('"c" in text', "c"),
        ("seconds / letters > 0.2", "a"),
        ("seconds / letters < 1000", "ac"),
        ("tokens > 0", "ac"),
        ("tokens < 1", ""),
        ("-seconds < -10", "ac"),
        ("letters * 2 - 100 == 0 and seconds + 1 > 2", "a"),
        ("  seconds > 20  ", "a"),
        ("(seconds > 20)\nor (speaker != 'ana')", "ab"),
        ("1 == 1", "abc"),
        ("seconds in []", ""),
        ("seconds not in ()", "abc"),
        ("not tokens > 4", "bc"),
        ("tokens in [9, letters]", "a"),
    ],
)
def test_what_is_found(expression: str, ids: str) -> None:
    assert found(expression) == ids


def test_letters_in_one_piece_and_in_two_are_the_same() -> None:
    for form in ("NFC", "NFD"):
        assert found(f'"{unicodedata.normalize(form, "sọ́rọ̀")[1:]}" in text') == "abc"


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("", "cannot be read"),
        ("seconds >", "cannot be read"),
        ("secnds > 3", "no column 'secnds' (did you mean 'seconds'?)"),
        ("speaker == ana", "no column 'ana'"),
        ("speaker == ana", "the columns are id, speaker, seconds"),
        ('seconds > "20"', "cannot be compared"),
        ("speaker > 3", "cannot be compared"),
        ("seconds", "it is a number, not a comparison"),
        ('marks == "clipping"', "cannot be compared"),
        ("marks == marks", '"NAME" in marks'),
        ("3 in marks", "'in' looks for a text"),
        ('"a" in seconds', "'in' looks for a text"),
        ("seconds in ['a']", "'a'"),
        ("seconds and trains", "'seconds' is number"),
        ("not seconds", "'seconds' is number"),
        ("trains < trains", "write == or !="),
        ("trains is True", "'is' does not compare"),
        ("speaker + 'a' == 'b'", "'speaker' is text"),
        ("seconds ** 9 > 1", "'seconds ** 9' is not possible"),
        ("len(text) > 3", "'len(text)' is not possible"),
        ("__import__('os').system('true')", "is not possible"),
        ("text.__class__ == 1", "'text.__class__' is not possible"),
        ("[s for s in marks] == 1", "is not possible"),
        ("(lambda: 1)() == 1", "is not possible"),
        ("f'{text}' == 'a'", "is not possible"),
        ("text[0] == 'a'", "is not possible"),
        ("seconds > 1j", "neither a number"),
        ("tokens == None", "neither a number"),
        ("(" * 300 + "1" + ")" * 300, "cannot be read"),
        ("not " * 60 + "trains", "too deeply nested"),
        ("f(" * 1000 + ")" * 1000, ""),
        ("1 == " * 900, ""),
        ("x" * 5000, "longer than"),
        ("a\x00b", "cannot be read"),
    ],
)
def test_what_is_not_understood_is_said_in_one_line(expression: str, words: str) -> None:
    with pytest.raises(ConfigError) as told:
        where(expression, COLUMNS)
    assert words in str(told.value) and str(told.value).startswith("--where") and "\n" not in str(told.value)


SIGNS = "and or not in is == < >= != ( ) [ ] , - + * / ** lambda: if else . { } := ~ await None True 1 0 1e308"
WORDS = st.sampled_from([*COLUMNS, *SIGNS.split(), '"a"', "9" * 200])


@settings(max_examples=5000 if os.environ.get("OLU_SOAK") else 200, deadline=None)
@given(st.one_of(st.lists(WORDS, max_size=25).map(" ".join), st.text(max_size=60)))
@example("1e308 * 1e308 - 1e308 * 1e308 > 0")
@example(f"{'9' * 200} * {'9' * 200} / 1 > 0")
def test_anything_written_is_answered_or_refused(expression: str) -> None:
    try:
        fits = where(expression, COLUMNS)
    except ConfigError:
        return
    assert [one for row in ROWS for one in fits(table([row]))] == list(fits(table(ROWS)))  # alone and beside others
    assert len(list(fits(table(ROWS * 5000)))) == len(ROWS * 5000)


def test_sorting() -> None:
    def ids(order: str) -> str:
        return "".join(str(ROWS[at]["id"]) for at in sorter(order, COLUMNS)(table(ROWS), range(len(ROWS))))

    assert ids("seconds") == "bca" and ids("-seconds") == "acb"
    assert ids("speaker,-seconds") == "acb" and ids("-speaker, seconds") == "bca"
    assert ids("tokens") == "cab" and ids("-tokens") == "acb"  # what is not known comes last
    assert ids("marks") == "bca"
    with pytest.raises(ConfigError, match="did you mean 'seconds'"):
        sorter("-second", COLUMNS)


@given(st.lists(st.tuples(st.none() | st.integers(0, 3), st.sampled_from("ab")), max_size=12))
def test_two_rows_compare_as_they_are_sorted(values: list[tuple[int | None, str]]) -> None:
    columns: dict[str, Kind] = {"n": "number", "t": "text"}
    rows = {"n": [number for number, _ in values], "t": [text for _, text in values]}
    places = range(len(values))
    for order in ("n", "-n", "t,-n", "-t,n"):
        compare = partial(comparer(order, columns), rows)
        assert sorted(places, key=cmp_to_key(compare)) == sorter(order, columns)(rows, places)

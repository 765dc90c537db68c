"""olu listening: tests that give nothing away, orders that are fair, answers that count, and what they come to."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from olu.audio import io
from olu.cli.main import app
from olu.core.errors import OluError
from olu.core.files import Workspace
from olu.evaluate.blind import preference
from olu.evaluate.listening import answers, give_answer, load_test, place_of, trials
from olu.evaluate.listening_results import result_of

from ..helpers.listened import SENTENCES, VOICES, evaluated_workspace, made_test


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return evaluated_workspace(tmp_path)


def test_sounds_have_one_level_one_rate_and_names_by_chance(ws: Workspace) -> None:
    test = made_test(ws)
    folder = place_of(ws, "evening-1")
    assert (folder / "key.json").is_file() and load_test(folder) == test
    assert "alpha" not in (folder / "test.json").read_text() and "sounds" not in (folder / "test.json").read_text()
    files = sorted((folder / "sounds").iterdir())
    assert {path.stem for path in files} == test.files and len(files) == 2 * len(SENTENCES)
    sounds = [io.read(path) for path in files]
    assert len({one.rate for one in sounds}) == 1
    levels = [20 * np.log10(np.sqrt(np.mean(one.samples**2))) for one in sounds]
    assert max(levels) - min(levels) < 0.3  # the voices were 14 dB apart


@pytest.mark.parametrize("kind", ["mos", "ab", "words"])
def test_every_listener_has_an_order_of_her_own_that_is_fair(ws: Workspace, kind: str) -> None:
    test = made_test(ws, kind=kind)
    orders = {name: trials(test, name) for name in ("a", "b", "c", "d")}
    assert trials(test, "a") == orders["a"] and len({str(one) for one in orders.values()}) == 4
    for order in orders.values():
        heard = Counter(voice for one in order for voice in one.voices)
        assert heard[0] == heard[1]
        sentences = Counter(one.sentence for one in order)
        assert set(sentences) == set(range(len(SENTENCES)))
        assert set(sentences.values()) == ({2} if kind == "mos" else {1})
        if kind == "ab":
            assert sum(one.voices == (1, 0) for one in order) == len(SENTENCES) // 2


def test_preferences_are_counted_as_compare_counts_them(ws: Workspace) -> None:
    test = made_test(ws)
    for listener in ("amina", "juma"):
        for n, one in enumerate(trials(test, listener)):
            better = one.voices.index(1) + 1  # the second voice is always the better one, but once
            give_answer(ws, test, listener=listener, name=listener, n=n, answer=0 if n == 3 else better)
    give_answer(ws, test, listener="amina", name="amina", n=3, answer=0)  # again: it counts once
    (pair,) = result_of(place_of(ws, "evening-1")).pairs
    assert (pair.counted.first, pair.counted.second) == VOICES
    assert pair.counted.preference == preference(0, 10, equal=2)
    assert pair.share.middle == 1 and pair.share.low is not None and 0.6 < pair.share.low < 0.8
    told = CliRunner().invoke(app, ["compare", "--choices", str(place_of(ws, "evening-1")), "--json"])
    assert told.exit_code == 0 and json.loads(told.stdout) == pair.counted.row()
    shown = CliRunner().invoke(app, ["listening", str(ws.root), "evening-1"])
    assert "beta-8000 is preferred" in shown.stdout and "12 answers of 2 listeners" in shown.stdout


def test_opinions_have_an_interval_over_people_and_sentences(ws: Workspace) -> None:
    test = made_test(ws, kind="mos")
    for listener, kind in (("amina", 0), ("juma", 1), ("rahel", 0)):
        for n, one in enumerate(trials(test, listener)):
            give_answer(ws, test, listener=listener, name=listener, n=n, answer=2 + 2 * one.voices[0] + kind - (n % 2))
    alpha, beta = result_of(place_of(ws, "evening-1")).voices
    assert alpha.opinion is not None and beta.opinion is not None
    assert alpha.opinion.n == beta.opinion.n == 18
    assert beta.opinion.middle - alpha.opinion.middle == pytest.approx(2, abs=0.5)  # type: ignore[operator]
    for held in (alpha.opinion, beta.opinion):
        assert held.low < held.middle < held.high  # type: ignore[operator]
    shown = CliRunner().invoke(app, ["compare", "--choices", str(place_of(ws, "evening-1"))])
    assert "opinion, 1 to 5" in shown.stdout and "alpha-2000" in shown.stdout


def test_words_that_people_hear_stand_beside_the_recognisers(ws: Workspace) -> None:
    test = made_test(ws, kind="words")
    for n, one in enumerate(trials(test, "amina")):
        text = test.sentences[one.sentence].text
        give_answer(
            ws, test, listener="amina", name="amina", n=n, answer=f"{text.upper()}!" if one.voices == (0,) else text[1:]
        )
    alpha, beta = result_of(place_of(ws, "evening-1")).voices
    assert alpha.letters is not None and alpha.letters.middle == 0 and alpha.machine == 0  # case and marks do not count
    assert beta.letters is not None and beta.words is not None and beta.machine is not None
    lengths = {text: len(text.replace(" ", "")) for text in SENTENCES}
    own = [test.sentences[one.sentence].text for one in trials(test, "amina") if one.voices == (1,)]
    assert beta.letters.middle == pytest.approx(np.mean([1 / lengths[text] for text in own]))
    assert 0 < beta.machine < 0.3 and beta.words.middle == pytest.approx(
        np.mean([1 / len(text.split()) for text in own])
    )


def test_answers_gathered_elsewhere_are_taken_in(ws: Workspace, tmp_path: Path) -> None:
    made_test(ws, kind="mos")
    rows = [{"listener": "amina", "n": n, "answer": 4} for n in range(12)]
    (tmp_path / "more.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = CliRunner().invoke(app, ["listening", str(ws.root), "evening-1", "--add", str(tmp_path / "more.jsonl")])
    assert ran.exit_code == 0 and "12 answers taken in." in ran.stdout
    assert len(answers(place_of(ws, "evening-1"))) == 12
    assert "evening-1" in CliRunner().invoke(app, ["listening", str(ws.root)]).stdout


def test_bad_input_is_one_sentence(ws: Workspace, tmp_path: Path) -> None:
    made_test(ws)
    both = ["--of", VOICES[0], "--of", VOICES[1]]
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "wrong.jsonl").write_text('{"listener": "a"}\n')
    (tmp_path / "six.jsonl").write_text('{"listener": "a", "n": 0, "answer": 6}\n')
    for words, said in (
        (["evening-1", *both], "there is a listening test 'evening-1' already"),
        (["Alpha-2000-x", *both], "tells listeners of 'alpha-2000'"),
        (["a/b", *both], "is no name for a test"),
        (["x", "--of", VOICES[0]], "two or more"),
        (["x", "--of", VOICES[0], "--of", VOICES[0]], "is named twice"),
        (["x", "--of", VOICES[0], "--of", "nobody"], "is not there"),
        (["x", "--run", "a@b", "--run", "c"], "write RUN or RUN@STEP"),
        (["x", *both, "--text", str(tmp_path / "empty.txt")], "holds no sentence"),
        (["nowhere"], "holds no listening test"),
        (["evening-1", "--add", str(tmp_path / "wrong.jsonl")], "a line is"),
        (["evening-1", "--add", str(tmp_path / "six.jsonl")], "the answer is 1, 2 or 0"),
        (both, "a test has a NAME"),
    ):
        ran = CliRunner().invoke(app, ["listening", str(ws.root), *words])
        assert isinstance(ran.exception, OluError) and said in str(ran.exception), (words, ran.exception, ran.output)
    assert answers(place_of(ws, "evening-1")) == []

"""Phones by espeak-ng: words and whole texts, several voices and threads at once."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olu.core.errors import LanguageError, MissingExtra
from olu.text import espeak
from olu.text.characters import CharacterFrontend
from olu.text.espeak import make, phonemize, voice_for

espeakng_loader = pytest.importorskip("espeakng_loader", reason="espeakng-loader is not installed (olu[espeak])")

# Reads a word with the data of the folder that is named last; in a process of its own, as espeak-ng loads data once.
ELSEWHERE = (
    sys.executable,
    "-c",
    "import sys, espeakng_loader as e; e.get_data_path = lambda: sys.argv[1]\n"
    "from olu.text.espeak import make; sys.stdout.write(' '.join(make('spa').say('casa').phones))",
)


def test_a_word_is_phones_with_its_stress_beside() -> None:
    said = make("eng").say("hello")
    assert said.phones == ("h", "ə", "l", "oʊ")
    assert said.stress == 3
    assert make("eng").say("judge").phones == ("d͡ʒ", "ʌ", "d͡ʒ")
    assert make("spa").say("muchacho").phones == ("m", "u", "t͡ʃ", "a", "t͡ʃ", "o")
    assert make("spa").say("muchacho").stress == 3


def test_a_text_keeps_its_punctuation() -> None:
    text = phonemize("Hello, world!  The (quick) fox.", voice="en-US")
    assert text == "həlˈoʊ, wˈɜːld! ðə (kwˈɪk) fˈɑːks."
    assert phonemize("", voice="en-US") == ""
    assert phonemize("...", voice="en-US") == "..."


def test_a_voice_that_was_trained_on_these_phones() -> None:
    symbols = '_;:,.!?¡¿—…"«»“” ' + "abcdefghijklmnopqrstuvwxyzɑæəɜɪʊʌɹðθŋʃʒˈˌː"
    read = CharacterFrontend("eng", inventory=symbols[1:], via="espeak").read("Hello, World!")
    assert "".join(read.symbols()) == "həlˈoʊ, wˈɜːld!"
    assert read.dropped == {}


def test_voices_are_found_by_code() -> None:
    found = {code: voice_for(code) for code in ("eng", "en-gb", "es-419", "spa", "amh", "am", "swa", "deu", "zho")}
    assert found == {
        "eng": "en-US",
        "en-gb": "en",
        "es-419": "es-419",
        "spa": "es",
        "amh": "am",
        "am": "am",
        "swa": "sw",
        "deu": "de",
        "zho": "cmn",
    }
    with pytest.raises(LanguageError, match="no voice for 'ibo'"):
        make("ibo")


@pytest.mark.parametrize("voice", ["zz", "es-zz", "esx", "roa", "", "Spanish", "../lang/roa/es"])  # roa is a folder
def test_an_unknown_voice_is_refused(voice: str) -> None:
    with pytest.raises(LanguageError, match=f"no voice '{voice}'"):
        phonemize("a", voice=voice)
    assert phonemize("sí", voice="es") == "sˈi"  # a refused voice leaves the next one alone


def test_threads_do_not_hear_each_other() -> None:
    words = {"eng": "judge", "spa": "jueves", "deu": "jung", "swa": "jina"}
    alone = {code: make(code).say(word) for code, word in words.items()}
    with ThreadPoolExecutor(4) as pool:
        jobs = [(code, pool.submit(make(code).say, word)) for _ in range(25) for code, word in words.items()]
        assert all(job.result() == alone[code] for code, job in jobs)


@given(word=st.text(max_size=20))
def test_any_string_is_said_or_listed(word: str) -> None:
    said = make("eng").say(word)
    assert not any(mark in phone for phone in said.phones for mark in "ˈˌ_ ()")
    assert said.stress is None or said.stress < len(said.phones)
    assert said.phones or said.dropped or not any(letter.isalpha() for letter in word)


def test_a_long_path_to_its_data(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d" * 50] * 4)
    deep.mkdir(parents=True)
    (deep / "data").symlink_to(espeakng_loader.get_data_path())
    command = [*ELSEWHERE, str(deep / "data")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "k a s a"
    ended = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "TMPDIR": str(deep)}
    )
    assert "LanguageError" in ended.stderr and "set TMPDIR to a folder with a short path" in ended.stderr


def test_data_that_is_not_there(tmp_path: Path) -> None:
    ended = subprocess.run([*ELSEWHERE, str(tmp_path / "no")], capture_output=True, text=True, check=False)
    assert "LanguageError: espeak-ng cannot open its data in" in ended.stderr


def test_without_it_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "espeakng_loader", None)
    monkeypatch.setattr(espeak, "ENGINE", espeak.Espeak())
    with pytest.raises(MissingExtra, match=r"\[espeak\]"):
        make("eng")

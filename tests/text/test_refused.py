"""Words that must not be said, in a list and in a text."""

from __future__ import annotations

from pathlib import Path

import pytest

from olu.core.errors import ConfigError, TextError
from olu.core.job import finish
from olu.stages.speak import run
from olu.stages.verbs.voices import SpeakOptions
from olu.text.refused import MOST_WORDS, NO_WORDS, RefusedWords, WordRefused

LIST = RefusedWords.of(["mjinga", "nyumba ya siri", "ọ̀ṣì", "don't", "666", "ክፉ"])


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Wewe ni mjinga.", "mjinga"),
        ("MJINGA!", "mjinga"),
        ("mjin\u200bga, mji\u00adnga", "mjinga"),
        ("\uff4d\uff4a\uff49\uff4e\uff47\uff41", "mjinga"),
        ("Nyumba\n  ya -- Siri", "nyumba ya siri"),
        ("o\u0323\u0300s\u0323i\u0300", "ọ̀ṣì"),
        ("\u1ecd\u0300\u1e63\u00ec", "ọ̀ṣì"),
        ("I DON\u2019T", "don t"),
        ("no. 666", "666"),
        ("ክፉ።", "ክፉ"),
        ("mji<break/>nga", "mjinga"),
        ("&#109;jinga", "mjinga"),
        ('<sub alias="mjinga">x</sub>', "mjinga"),
    ],
)
def test_a_word_is_found_however_it_is_written(text: str, named: str):
    with pytest.raises(WordRefused, match=f"'{named}'"):
        LIST.check(text)


@pytest.mark.parametrize("text", ["", "mjingani", "nyumba siri ya", "oṣi", "6666", "don", "[[m j i]]", "ክፉው"])
def test_only_whole_words_with_their_marks_are_meant(text: str):
    LIST.check(text)
    NO_WORDS.check(text)


def test_a_file_has_one_a_line(tmp_path: Path):
    file = tmp_path / "words.txt"
    file.write_bytes("\ufeff# a note\r\nmjinga\r\n\r\n  Nyumba ya siri \r\n".encode())
    assert RefusedWords.load(file) == RefusedWords.of(["mjinga", "nyumba ya siri"])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "holds no word"),
        (b"# only a note\n", "holds no word"),
        (b"good\n---\n", "line 2: '---' has no letter"),
        (b"\xff\xfeo", "not UTF-8"),
        (b"a\n" * (MOST_WORDS + 1), "make the list shorter"),
        (None, "check --refuse-words"),
    ],
)
def test_a_wrong_file_is_one_sentence(tmp_path: Path, data: bytes | None, words: str):
    file = tmp_path / "words.txt"
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(ConfigError, match=words):
        RefusedWords.load(file)


def test_speak_says_no_text_with_such_a_word(tmp_path: Path):
    words, lines = tmp_path / "words.txt", tmp_path / "lines.txt"
    words.write_text("ክፉ ቃል\n", encoding="utf-8")
    lines.write_text("good|ሰላም።\nbad|ክፉ ቃል።\n", encoding="utf-8")
    with pytest.raises(WordRefused, match="'ክፉ ቃል'"):
        finish(run(SpeakOptions(text="ይህ ክፉ, ቃል ነው።", refuse_words=words, output=tmp_path / "a.wav")))
    with pytest.raises(TextError, match=r"1 of 2 lines .*bad: the text has 'ክፉ ቃል'"):
        finish(run(SpeakOptions(batch=lines, refuse_words=words, output=tmp_path / "out", threads=1)))
    assert not (tmp_path / "a.wav").exists()
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["good.wav"]

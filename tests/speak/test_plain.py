"""Texts with brackets: markup that is long stays whole, and a plain text has none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from olu.cli.main import app
from olu.core.errors import TextError
from olu.core.files import embedded_voice
from olu.speak.sentences import lines
from olu.speak.voice import Voice
from olu.text.frontend import for_language
from olu.text.languages import load
from olu.text.words import LONGEST, split_sentences

ENDS = (".", "?", "!")
LONG = {
    "say-as": f'<say-as interpret-as="characters">{"9" * 600}</say-as>',
    "capitals": f'<SAY-AS interpret-as="characters">{"9" * 600}</SAY-AS>',
    "phones": f"[[{'a ' * 400}]]",
    "sub": f'<sub alias="{"kedu " * 200}">x</sub>',
    "sub with a sign": f'<sub alias="{"a > b " * 200}">x</sub>',
    "phoneme": f'<phoneme ph="{"a " * 400}">x</phoneme>',
}
PLAIN = (
    "Read <id> here.",
    "See <https://x.org/a>.",
    "A [[x]] b.",
    "if a < b & c > d",
    "<b>kedu</b>",
    "]] ka [[",
    "ka</s>",
)


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("around", ["{}", "Kedu {} ka.", "{}. Kedu ka ị mere?", "ka " * 300 + "{}" + " mma" * 300])
def test_long_markup_stays_whole(name: str, around: str) -> None:
    text = around.format(LONG[name])
    said = [line.text for line in lines(text, ENDS)]
    assert sum(LONG[name] in line for line in said) == 1
    assert "".join("".join(said).split()) == "".join(text.split())
    for line in said:
        list(lines(line, ENDS))  # each is well formed
        assert len(line) <= LONGEST + len(LONG[name])


def test_long_markup_is_spoken(voice: Voice) -> None:
    text = '<say-as interpret-as="characters">' + "a" * 600 + "</say-as>"
    assert len(voice.speak(text, speed=4.0).samples) > 1000


@pytest.mark.parametrize("text", PLAIN)
def test_a_plain_text_is_read_as_it_stands(voice: Voice, text: str) -> None:
    said = [piece for piece in voice.stream(text, speed=4.0, plain=True) if piece.last]
    assert [piece.sentence.text for piece in said] == split_sentences(text, voice._ends, plain=True)
    assert sum(len(piece.audio.samples) for piece in said) > 500


@pytest.mark.parametrize("text", [text for text in PLAIN if "&" not in text])
def test_the_error_names_the_way_out(voice: Voice, text: str) -> None:
    with pytest.raises(TextError, match="--plain, plain=True in Python"):
        voice.speak(text)


def test_plain_reads_the_words_in_the_brackets() -> None:
    frontend = for_language(load("ibo"))
    assert [word.text for word in frontend.read("kedu <ka> [[mma]]", plain=True).words] == ["kedụ", "ka", "mma"]
    assert frontend.read("kedu <ka>", plain=True).words == frontend.read("kedu (ka)").words
    assert frontend.read("kedu", plain=True) == frontend.read("kedu")


def test_without_markup_plain_changes_nothing(voice: Voice) -> None:
    text = "Kedu ka ị mere? Ọ dị mma."
    np.testing.assert_array_equal(voice.speak(text, plain=True).samples, voice.speak(text).samples)


def test_on_the_command_line(tmp_path: Path) -> None:
    own, out = str(embedded_voice()), tmp_path / "x.wav"
    words = ["speak", "ሰላም <ነው> [[ነው]]", "--voice", own, "-o", str(out)]
    assert isinstance(CliRunner().invoke(app, words).exception, TextError)
    assert not out.exists()
    assert CliRunner().invoke(app, [*words, "--plain"]).exit_code == 0
    assert out.is_file()

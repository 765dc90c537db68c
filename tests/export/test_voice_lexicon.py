"""Words of a finished voice changed without training: the same networks, digests made anew, and said in its card."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import olu
from olu.core.errors import ConfigError, LanguageError, VoiceError
from olu.core.job import finish
from olu.export.package import change_lexicon
from olu.speak.voice import Voice
from olu.stages.serve import serve
from olu.stages.verbs.voices import VoiceOptions
from olu.stages.voice import run

EMBEDDED = Path(olu.__file__).parent / "voices" / "amh.voice"


def lexicon(folder: Path, rows: str) -> Path:
    path = folder / "words.tsv"
    path.write_text(rows, encoding="utf-8")
    return path


def test_a_word_is_said_in_another_way(tmp_path: Path) -> None:
    package = Path(shutil.copytree(EMBEDDED, tmp_path / "a.voice"))
    graphs = (package / "encoder.onnx").read_bytes()
    run(VoiceOptions(voice=package, lexicon=lexicon(tmp_path, "ሰላም\th u l u\n")))
    voice = Voice.open(package, threads=1)  # every file fits its digest, and the sentences of the check are read anew
    assert voice.frontend.read("ሰላም").words[0].phones == ("h", "u", "l", "u")
    assert (package / "encoder.onnx").read_bytes() == graphs
    assert json.loads((package / "voice.json").read_text(encoding="utf-8"))["facts"]["lexicon"] == ["ሰላም"]
    assert "1 word read as a person's lexicon says: ሰላም" in (package / "README.md").read_text(encoding="utf-8")
    change_lexicon(package, {"ቤት": "b e t"})
    again = Voice.open(package, threads=1)
    assert again.frontend.read("ሰላም ቤት").words[0].phones == ("h", "u", "l", "u")
    assert (package / "README.md").read_text(encoding="utf-8").count("## Words of its own") == 1


def test_a_lexicon_for_one_time(tmp_path: Path) -> None:
    voice = Voice.open(EMBEDDED, threads=1)
    voice.use_lexicon(lexicon(tmp_path, "ሰላም\th u l u\n"))
    assert voice.frontend.read("ሰላም").words[0].phones == ("h", "u", "l", "u")


def test_wrong_phones_are_named_with_their_line(tmp_path: Path) -> None:
    voice = Voice.open(EMBEDDED, threads=1)
    with pytest.raises(LanguageError, match=r"words.tsv line 2: 'ቤት': 'q' is not a phone of Amharic"):
        voice.use_lexicon(lexicon(tmp_path, "ሰላም\th u l u\nቤት\tb q t\n"))


def test_no_server_begins_with_words_that_a_voice_cannot_say(tmp_path: Path) -> None:
    package = Path(shutil.copytree(EMBEDDED, tmp_path / "amh.voice"))
    words = lexicon(tmp_path, "ሰላም\th u l u\nቤት\tb q t\n")
    with pytest.raises(ConfigError, match=r"voice '.*': .*words.tsv line 2: 'ቤት': 'q' is not a phone"):
        finish(serve([package], lexicon=words, only_check=True, port=0))
    checked = finish(serve([package], lexicon=lexicon(tmp_path, "ሰላም\th u l u\n"), only_check=True, port=0))
    assert len(checked.voices) == 1 and not checked.damaged


def test_the_voice_inside_olu_stays(tmp_path: Path) -> None:
    with pytest.raises(VoiceError, match="stays as it is"):
        run(VoiceOptions(voice=Path("embedded"), lexicon=lexicon(tmp_path, "ሰላም\th u l u\n")))

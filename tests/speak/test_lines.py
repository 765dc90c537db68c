"""`olu speak --lines`: the voice held open, each line said as it comes."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from olu.audio.sink import _pcm
from olu.core.errors import VoiceError
from olu.core.files import EMBEDDED
from olu.core.job import finish
from olu.speak.voice import Voice
from olu.stages.speak import run
from olu.stages.verbs.voices import SpeakOptions

LINES = ("ሰላም።", "እንደምን አደራችሁ?")


def test_a_line_is_said_before_the_next_one_comes(tmp_path: Path):
    words = tmp_path / "words.txt"
    words.write_text("ክፉ\n", encoding="utf-8")
    script = Path(sys.executable).with_name("olu")
    told = [script, "speak", "--lines", "--voice", EMBEDDED, "-o", "-", "--format", "pcm", "--refuse-words", words]
    voice = Voice.open(EMBEDDED, threads=1)
    with subprocess.Popen(
        [*map(str, told), "--threads", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        for line in ("", LINES[0], "ክፉ", "<nobody>", LINES[1]):
            process.stdin.write(f"{line}\n".encode())
            process.stdin.flush()
            if line not in LINES:
                continue
            expected = b"".join(_pcm(piece.audio.samples) for piece in voice.stream(line, quick=True))
            assert heard(process.stdout.fileno(), len(expected)) == expected
        process.stdin.close()
        assert process.stdout.read() == b""
        errors = process.stderr.read().decode()
    assert process.returncode == 0
    assert "line 3: the text has 'ክፉ'" in errors and "line 4: " in errors


def heard(pipe: int, size: int) -> bytes:
    got = b""
    while len(got) < size and select.select([pipe], [], [], 60)[0]:
        got += os.read(pipe, size - len(got))
    return got


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "-o -"),
        ({"output": Path("-"), "text": "one"}, "leave TEXT"),
        ({"output": Path("-"), "file": Path("x")}, "leave TEXT"),
        ({"output": Path("-"), "times": "srt"}, "leave --melody"),
        ({"output": Path("x"), "batch": Path("x")}, "choose one of the two"),
    ],
)
def test_what_does_not_go_together_is_one_sentence(options: dict[str, Path], words: str):
    with pytest.raises(VoiceError, match=words):
        finish(run(SpeakOptions(lines=True, **options)))  # type: ignore[arg-type]

"""A lexicon that changes after a training: what is said of the voices that are there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from .conftest import fine


def test_a_voice_keeps_the_lexicon_of_its_run(voiced: Path, tmp_path: Path) -> None:
    assert "lexicon" not in fine("export", voiced, "--to", "voice").err
    words = tmp_path / "words.tsv"
    words.write_text("Habari\th a b a\n", encoding="utf-8")
    read = fine("read", voiced, "--lexicon", words)
    assert "was trained with another lexicon and keeps it" in " ".join(read.out.split())
    exported = fine("export", voiced, "--to", "voice")
    assert "nothing was done again" in exported.out
    told = " ".join(exported.err.split())
    assert "the voice reads with the lexicon of its run" in told
    again = re.findall(r"'(olu (?:plan|train) .*?)'", told)
    assert "[[phones]]" in told and again[-1].endswith("--new")
    assert "--base embedded" in again[0], "from scratch is refused where speech is little"
    for command in again:
        short = ["--dry-run"] if command.startswith("olu train") else []
        fine(*shlex.split(command)[1:], *short)
    assert "lexicon of its run" in " ".join(fine("export", voiced, "--to", "onnx").err.split())

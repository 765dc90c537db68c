"""A lexicon that changes after a training: what is said of the voices that are there."""

from __future__ import annotations

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
    assert "[[phones]]" in told and "--new" in told
    assert "lexicon of its run" in " ".join(fine("export", voiced, "--to", "onnx").err.split())

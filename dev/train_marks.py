"""Trains the restorer of Yoruba's tones and dots: `python dev/train_marks.py GOLD --dotted METADATA.CSV -o marks.npz`.

GOLD is the folder with yoruba_toned_sentences.txt, yoruba_toned_news.txt and wikipron_yor_latn_broad.tsv. The figures
are of the lines of the first two, each judged by a model that has not learnt from it: a line and its copies, marks
aside, are in one fold of five. The words of WikiPron teach letters, and those that the texts do not have get the form
that WikiPron has. METADATA.CSV has rows `id|text` of texts that have dots and only some of their tones (the transcripts
of yoruba_speech_project): they teach dots. The same texts give the same file.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import unicodedata
from dataclasses import asdict
from pathlib import Path

from olu.languages.yor.code import canonical, marked_speller
from olu.text.language_data import Pack, ReadingTrace
from olu.text.languages import load
from olu.text.restore.learn import learn
from olu.text.restore.marks import in_capitals

NOISE = re.compile(r"\[\w+\]")  # what the speakers' recordings are marked with, not said


def lines(path: Path) -> list[str]:
    """The lines of a text, each once, in their capitals."""
    rows = (NOISE.sub("", row).strip() for row in path.read_text(encoding="utf-8").split("\n"))
    found = {canonical(row, ReadingTrace()): row for row in rows if row}
    return [in_capitals(line, like=unicodedata.normalize("NFC", row)) for line, row in found.items()]


def listed_words(gold: Path) -> list[str]:
    """The words of WikiPron with the tones of their phones written onto them."""
    spell = marked_speller(Pack.of(load("yor").files()))
    text = (gold / "wikipron_yor_latn_broad.tsv").read_text(encoding="utf-8")
    spelled = (spell(*row.split("\t")[:2]) for row in text.split("\n") if row)
    return [word for word in spelled if word]


def dotted_lines(path: Path) -> list[str]:
    """The texts of a metadata.csv."""
    rows = path.read_text(encoding="utf-8").split("\n")
    return [canonical(row.partition("|")[2], ReadingTrace()) for row in rows if row]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gold", type=Path)
    parser.add_argument("--dotted", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    chosen = parser.parse_args()
    own = [line for name in ("sentences", "news") for line in lines(chosen.gold / f"yoruba_toned_{name}.txt")]
    words, dotted = listed_words(chosen.gold), dotted_lines(chosen.dotted)
    model, report = learn(own, language="yor", convention="full", words=words, dotted=dotted)
    data = model.to_bytes()
    chosen.output.write_bytes(data)
    sys.stdout.write(
        json.dumps({"bytes": len(data), "threshold": round(model.sure, 4), **asdict(report)}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()

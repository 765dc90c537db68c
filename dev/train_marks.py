"""Trains the restorer of Yoruba's tones and dots: `python dev/train_marks.py GOLD -o marks.npz`.

GOLD is the folder with yoruba_toned_sentences.txt, yoruba_toned_news.txt and wikipron_yor_latn_broad.tsv. The figures
are of the lines of the first two, each judged by a model that has not learnt from it: a line and its copies, marks
aside, are in one fold of five. The words of WikiPron teach letters, and those that the texts do not have get the form
that WikiPron has. The same texts give the same file.
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
from olu.text.restore.marks import in_capitals, split_marks

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
    return [word for word in spelled if word and split_marks(word)[0].isalpha()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gold", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    chosen = parser.parse_args()
    own = [line for name in ("sentences", "news") for line in lines(chosen.gold / f"yoruba_toned_{name}.txt")]
    model, report = learn(own, language="yor", convention="full", words=listed_words(chosen.gold))
    data = model.to_bytes()
    chosen.output.write_bytes(data)
    sys.stdout.write(
        json.dumps({"bytes": len(data), "threshold": round(model.sure, 4), **asdict(report)}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()

"""Marks restored and readings learnt: `python benchmarks/marks.py [GOLD FOLDER [METADATA.CSV [OUT.md]]]`.

Every word is judged by a model that has not learnt from it: lines and words are parted by a hash of their letters, so
that a line and its copy are on one side. The rows of Yoruba take minutes.
"""

from __future__ import annotations

import hashlib
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "dev"))

import train_marks

from olu.stages.g2p import open_frontend
from olu.stages.marks import marked_lines
from olu.text.algorithms import marked_speller, pronouncer
from olu.text.frontend import ReadingSettings
from olu.text.language_data import Pack, ReadingTrace
from olu.text.languages import MARKS, load
from olu.text.letters import Symbols, error_rate
from olu.text.restore.confidence import threshold
from olu.text.restore.learn import FOLDS, fit, judge, learn, part, tone_share, trusted
from olu.text.restore.marks import MarkModel, MarkRestorer, split_marks, with_marks
from olu.text.restore.phones import learn_phones

GOLD = Path(__file__).parents[2] / "shared" / "gold"
MANY_FOLDS = 15
Row = tuple[str, str, str]  # what, of how many, the figure


def rows(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def yoruba(gold: Path, dotted_file: Path) -> Iterable[Row]:
    own = [line for name in ("sentences", "news") for line in train_marks.lines(gold / f"yoruba_toned_{name}.txt")]
    words = train_marks.listed_words(gold)
    dotted = train_marks.dotted_lines(dotted_file)
    told = learn(own, language="yor", convention="full", words=words, dotted=dotted)[1]
    of = f"{told.judged:,} words"
    yield "Yoruba, all marks taken off: words exactly right", of, f"{told.right:.1%}"
    yield "words with all dots right", of, f"{told.dots:.1%}"
    yield "tones of syllables right", of, f"{told.tones:.1%}"
    yield "words it is sure of", of, f"{told.sure:.1%}"
    yield "of these right", of, f"{told.sure_right:.1%}"
    yield "words it had not seen right", f"{told.new:,} words", f"{told.new_right:.1%}"
    for name, key in (("copies of a line together", _bare), ("lines at random", str)):
        yield from _nearly_all(own, words, dotted, name, key)


def _bare(line: str) -> str:
    return re.sub(r"\W", "", split_marks(line)[0])


def _nearly_all(
    lines: Sequence[str], words: Sequence[str], dotted: Sequence[str], name: str, key: Callable[[str], str]
) -> Iterable[Row]:
    """Every fourth of fifteen folds, by models of fourteen fifteenths of the texts: nearly the one that ships."""
    side = {line: int(hashlib.sha256(key(line).encode("utf-8")).hexdigest(), 16) // 7 % MANY_FOLDS for line in lines}
    folds = []
    for fold in range(0, MANY_FOLDS, 4):
        model = fit([one for one in lines if side[one] != fold], "yor", "full", words, dotted)
        folds.append(list(judge([one for one in lines if side[one] == fold], MarkRestorer(model))))
    judged = list(trusted(folds))
    cut = threshold([(one.trusted, one.right) for one in judged])
    sure = [one for one in judged if one.trusted >= cut]
    total = len(judged)
    figures = [sum(one.right for one in judged) / total, sum(one.dots for one in judged) / total, tone_share(judged)]
    figures += [len(sure) / total, sum(one.right for one in sure) / len(sure)]
    yield (
        f"Fifteen folds, {name}: words, dots, tones; sure of, right of these",
        f"{total:,} words",
        ", ".join(f"{one:.1%}" for one in figures),
    )


def igbo(gold: Path) -> Iterable[Row]:
    """Learnt from the list; syllables of words that are not in the part learnt from."""
    language = load("ibo")
    lines = list(dict.fromkeys(marked_lines(gold / "igbo_tone_lexicon_igboapi.tsv", language)[1:]))
    say = pronouncer(Pack.of(language.files(), options={"tone_convention": "unmarked_high"}))
    whole = learn(lines, language="ibo", convention="unmarked_high")[0]
    right = high = total = sure = sure_right = sure_total = words = 0
    for fold in range(FOLDS):
        kept = [one for one in lines if part(one) != fold]
        model = replace(fit(kept, "ibo", "unmarked_high"), trust=whole.trust, sure=whole.sure)
        restorer = MarkRestorer(model)
        for line in (one for one in lines if part(one) == fold and split_marks(one)[0].isalpha()):
            plain = split_marks(line)[0]
            if plain in model.forms:
                continue
            choice = restorer.choose([_dotted(line)], firm=[True])[0]
            guess = with_marks(plain, model.marks(choice.signs)) if choice.signs else plain
            truth, told = (say.say(word, mode="unmarked_high").tones for word in (line, guess))
            hits = sum(a == b for a, b in zip(truth, told, strict=False))
            words, total, right, high = words + 1, total + len(truth), right + hits, high + truth.count("H")
            if choice.sure:
                sure, sure_total, sure_right = sure + 1, sure_total + len(truth), sure_right + hits
    restorer = MarkRestorer(whole)
    listed = [split_marks(line)[0] for line in lines if split_marks(line)[0].isalpha()]
    found = sum(restorer.choose([plain])[0].signs in whole.forms[plain] for plain in listed)
    of = f"{total:,} syllables"
    yield (
        "Igbo, words of the list: one of their listed patterns",
        f"{len(listed):,} words",
        f"{found / len(listed):.1%}",
    )
    yield "Igbo, words not in the list, dots written: tones of syllables right", of, f"{right / total:.1%}"
    yield "all high instead", of, f"{high / total:.1%}"
    yield "words it is sure of, the rest unknown", f"{words:,} words", f"{sure / words:.1%}"
    yield "of these tones of syllables right", f"{sure_total:,} syllables", f"{sure_right / max(sure_total, 1):.1%}"


def _dotted(word: str) -> str:
    """Without its tones."""
    plain, marks = split_marks(word)
    return "".join(a + "".join(one for one in b if one in "\u0323\u0307") for a, b in zip(plain, marks, strict=True))


def hausa(gold: Path) -> Iterable[Row]:
    """Half learnt, half judged; with tones, and without tones and length, which the writing does not have."""
    words: dict[str, Symbols] = {}
    for row in rows(gold / "wikipron_hau_latn_broad.tsv"):
        words.setdefault(row[0].lower(), tuple(row[1].split()))
    told = learn_phones(words, language="hau")[1]
    of = f"{told.held:,} words"
    yield "Hausa, half learnt: words wrong, phones wrong", of, f"{told.word_errors:.1%}, {told.phone_errors:.1%}"
    yield "by letters as they stand", of, f"{told.letter_word_errors:.1%}, {told.letter_phone_errors:.1%}"
    plain = {word: tuple(_plain(one) for one in phones) for word, phones in words.items()}
    told = learn_phones(plain, language="hau")[1]
    yield "tones and length left off: words wrong, phones wrong", of, f"{told.word_errors:.1%}, {told.phone_errors:.1%}"
    yield "by letters as they stand", of, f"{told.letter_word_errors:.1%}, {told.letter_phone_errors:.1%}"


def _plain(phone: str) -> str:
    return "".join(char for char in split_marks(phone)[0] if char != "ː") or phone


def amharic(gold: Path) -> Iterable[Row]:
    """Geminates from a list, each word judged by the other half."""
    language = load("amh")
    spell = marked_speller(Pack.of(language.files()))
    held = [row for row in rows(gold / "amharic_wikipron.tsv")[1:] if len(row) > 2]
    bare, given = [], []
    frontend = open_frontend("amh")
    for side in (0, 1):
        learnt = [word for row in held if _half(row[0]) != side and spell and (word := spell(row[0], row[2]))]
        restorer = MarkRestorer(learn(learnt, language="amh")[0])
        for row in (row for row in held if _half(row[0]) == side):
            right = _folded(row[2].split())
            marked = restorer(row[0], ReadingTrace())
            bare.append((right, _folded(list(frontend.read(row[0]).words[0].phones))))
            given.append((right, _folded(list(frontend.read(marked).words[0].phones))))
    of = f"{len(bare)} words"
    yield "Amharic, geminates counted, rules alone: words wrong", of, f"{1 - error_rate(bare)[1]:.1%}"
    yield "with geminates from the other half of the list, where sure", of, f"{1 - error_rate(given)[1]:.1%}"


def _half(word: str) -> int:
    return hashlib.sha256(word.encode("utf-8")).digest()[0] % 2


def _folded(phones: list[str]) -> list[str]:
    return [phone.replace("ɾ", "r") for phone in phones if phone != "ʔ"]


def speed(gold: Path) -> Iterable[Row]:
    """The shipped restorer alone, and a whole reading, one core, words it has not met before."""
    lines = [split_marks(line)[0] for line in train_marks.lines(gold / "yoruba_toned_news.txt")]
    count = sum(len(line.split()) for line in lines)
    data = (Path(str(load("yor").folder)) / MARKS).read_bytes()
    restorer = MarkRestorer(MarkModel.from_bytes(data))
    frontend = open_frontend("yor", settings=ReadingSettings(restore="tones"))
    for name, work in (
        ("restoring alone", lambda line: restorer(line, ReadingTrace())),
        ("a whole reading", frontend.read),
    ):
        yield f"Yoruba, {name}: words a second", f"{count:,} words", f"{count / _seconds(work, lines):,.0f}"


def _seconds(work: Callable[[str], object], lines: Iterable[str]) -> float:
    begun = time.process_time()
    for line in lines:
        work(line)
    return time.process_time() - begun


def main() -> None:
    gold = Path(sys.argv[1]) if len(sys.argv) > 1 else GOLD
    dotted = Path(sys.argv[2]) if len(sys.argv) > 2 else gold.parent / "corpora" / "yor" / "metadata.csv"
    made = [*speed(gold), *hausa(gold), *amharic(gold), *igbo(gold), *yoruba(gold, dotted)]
    text = "| what | of | figure |\n|---|---|---|\n" + "".join(f"| {' | '.join(row)} |\n" for row in made)
    sys.stdout.write(text)
    if len(sys.argv) > 3:
        Path(sys.argv[3]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

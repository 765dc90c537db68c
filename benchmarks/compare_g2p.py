"""Words that Olu's rules read right where others do not: `python benchmarks/compare_g2p.py [FOLDER WITH EPITRAN]`.

Prints the tables of benchmarks/results/side-by-side_202611.md and of docs/languages.md.
espeak-ng comes with espeakng-loader. epitran is no dependency: install it into a
folder of its own (`pip install --target FOLDER epitran`) and name that folder; without it its column is empty.
Each system's notation is folded before it is judged: none is called wrong for writing the same sound another way.
"""

from __future__ import annotations

import re
import sys
import unicodedata
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import reading

from olu.text.espeak import EspeakPronouncer
from olu.text.frontend import AnyFrontend, ReadingSettings, for_language
from olu.text.languages import load

WIKTIONARY, WIKIPEDIA = "Wiktionary (WikiPron)", "Wikipedia, Help:IPA/Igbo"
ABSENT = "no such language"
MARKS = {"H": "\u0301", "L": "\u0300", "M": "\u0304", "D": "\ua71c"}


@dataclass(frozen=True, slots=True)
class Entry:
    code: str
    word: str
    right: str  # as the source writes it, phones separated by spaces
    source: str
    dialect: str | None = None


@dataclass(frozen=True, slots=True)
class Others:
    """How the other systems name a language, and how phones of it are compared."""

    espeak: str | None
    epitran: str | None
    fold: Callable[[Sequence[str]], list[str]]


def words() -> list[Entry]:
    amharic = {
        "ሕዝብ": "h ɨ z b",
        "ሦስት": "s o s t",
        "ሥድሳ": "s ɨ d s a",
        "ክንፍ": "k ɨ n f",
        "ዝንብ": "z ɨ n b",
        "ብርቱካን": "b ɨ r t u k a n",
        "ድንጋይ": "d ɨ n ɡ a j",
        "ወንበር": "w ə n b ə ɾ",
        "እንጀራ": "ʔ ɨ n d ʒ ə r a",
        "አርባ": "ʔ a ɾ b a",
    }
    here = {
        "influenciado": "i n f l w e n s j a d o",
        "estriación": "e s t ɾ j a s j o n",
        "repliegue": "r e p l j e ɡ e",
    }
    spain = {
        "menstruación": "m e n s t ɾ w a θ j o n",
        "ruejo": "r w e x o",
        "zaragüelles": "θ a ɾ a ɡ w e ʝ e s",
    }
    yoruba = {
        "emi": "ē m ĩ̄",
        "nla": "ŋ́ l á",
        "omii": "ò m ĩ́ ĩ̀",
        "Ẹnugu": "ɛ̄ n ṹ ɡ ū",
        "eekanna": "è é k ã́ n ã́",
        "tanganran": "t ã́ ɡ ã̄ ɾ ã̄",
        "panakata": "k͡p ā n ã̄ k à t á",
        "eighọ": "è ì ɣ ɔ̀",
    }
    swahili = {"ng'ombe": "ŋ ɔᵐ b ɛ", "ng'amba": "ŋ ɑᵐ b a", "nywa": "ɲ w ɑ"}
    igbo = {"gbàá": "ɡ͡b à á", "kpọ́": "k͡p ɔ́", "kwé": "kʷ é", "ghé": "ɣ é", "gwú": "ɡʷ ú"}
    return [
        *(Entry("amh", word, right, WIKTIONARY) for word, right in amharic.items()),
        *(Entry("spa", word, right, WIKTIONARY, "es-419") for word, right in here.items()),
        *(Entry("spa", word, right, WIKTIONARY, "es-ES") for word, right in spain.items()),
        *(Entry("yor", word, right, WIKTIONARY) for word, right in yoruba.items()),
        *(Entry("swa", word, right, WIKTIONARY) for word, right in swahili.items()),
        *(Entry("ibo", word, right, WIKIPEDIA) for word, right in igbo.items()),
    ]


def fold_amharic(phones: Sequence[str]) -> list[str]:
    """Also espeak-ng's signs: t` is an ejective, and b between vowels is written soft."""
    plain = [phone.replace("`", "ʼ").replace("β", "b") for phone in phones]
    return reading.fold_amharic(plain, long=False).replace("d ʒ", "d͡ʒ").split()  # one row leaves the tie out


SOFT = {"ɛ": "e", "ɔ": "o", "β": "b", "ð": "d", "ɣ": "ɡ", "ʎ": "ʝ", "ɪ": "i", "ʊ": "u"}


def fold_spanish(phones: Sequence[str]) -> list[str]:
    """Also soft b d g, diphthongs in one sign, and ll said as ʝ, ʎ or a doubled j: all these are the same here."""
    letters = re.sub("([aeoɔ])([ɪʊ])", r"\1 \2", " ".join(phones).replace("ː", "")).replace("j j", "ʝ")
    return reading.fold_spanish([SOFT.get(phone, phone) for phone in letters.split()])


def fold_swahili(phones: Sequence[str]) -> list[str]:
    """Also ɟ, which stands for the same sound as d͡ʒ, and a nasal said at the place of the next stop."""
    folded = " ".join(reading.fold_swahili(phones))
    return folded.replace("ɲ ɟ", "n ɟ").replace("ɟ", "d͡ʒ").replace("n ɡ", "ŋ ɡ").split()


def fold_yoruba(phones: Sequence[str]) -> list[str]:
    """Also r, which stands for the same sound as ɾ. Tones are left out: the spellings here have none."""
    return ["ɾ" if phone == "r" else phone for phone in reading.fold_yoruba(phones)]


def fold_igbo(phones: Sequence[str]) -> list[str]:
    """As they stand, tones and all."""
    return [unicodedata.normalize("NFC", phone) for phone in phones]


OTHERS = {
    "amh": Others("am", "amh-Ethi", fold_amharic),
    "spa": Others("es", "spa-Latn-eu", fold_spanish),
    "spa es-419": Others("es-419", "spa-Latn", fold_spanish),
    "yor": Others(None, "yor-Latn", fold_yoruba),
    "swa": Others("sw", "swa-Latn", fold_swahili),
    "ibo": Others(None, None, fold_igbo),
}


def others(entry: Entry) -> Others:
    return OTHERS.get(f"{entry.code} {entry.dialect}") or OTHERS[entry.code]


@cache
def frontend(code: str, dialect: str | None) -> AnyFrontend:
    options = {"dots": "keep", "tone_convention": "full"} if code == "ibo" else {}
    return for_language(load(code), settings=ReadingSettings(symbols="phones", dialect=dialect, options=options))


def by_olu(entry: Entry) -> list[str]:
    """Phones, with tones as marks where the text has them."""
    said: list[str] = []
    for word in frontend(entry.code, entry.dialect).read(entry.word).words:
        tones = dict(zip(word.bearers, word.tones, strict=True))
        marks = ("".join(MARKS.get(tone, "") for tone in tones.get(at, "")) for at in range(len(word.phones)))
        said += [phone + mark for phone, mark in zip(word.phones, marks, strict=True)]
    return said


def by_espeak(entry: Entry) -> list[str] | None:
    voice = others(entry).espeak
    return None if voice is None else list(EspeakPronouncer(voice).say(entry.word.lower()).phones)


def by_epitran(entry: Entry) -> list[str] | None:
    name = others(entry).epitran
    if name is None:
        return None
    # a mark that it leaves standing alone is no sound
    return [phone for phone in _epitran(name).trans_list(entry.word.lower()) if not unicodedata.combining(phone[0])]


@cache
def _epitran(name: str) -> Any:
    import epitran  # type: ignore[import-not-found]

    return epitran.Epitran(name)


def cell(phones: list[str] | None, entry: Entry) -> str:
    if phones is None:
        return ABSENT
    fold = others(entry).fold
    right = fold(phones) == fold(entry.right.split())
    return f"{' '.join(phones).replace('`', 'ʼ')} {'✓' if right else '✗'}"


def lists() -> list[tuple[str, list[Entry]]]:
    """Whole word lists, since the words above were chosen."""
    gold = reading.GOLD
    spanish = {"es-419": "spanish_wikipron_la_sample.tsv", "es-ES": "spanish_wikipron_ca_sample.tsv"}
    made = [
        ("amh", [Entry("amh", row[0], row[2], "") for row in reading.rows(gold / "amharic_wikipron.tsv", header=True)]),
        ("swa", [Entry("swa", *row, "") for row in reading.rows(gold / "wikipron_swa_latn_broad.tsv")]),
        ("yor", [Entry("yor", *row, "") for row in reading.rows(gold / "wikipron_yor_latn_broad.tsv")]),
    ]
    for dialect, name in spanish.items():
        listed = reading.rows(gold / name, header=True)
        made.append((f"spa {dialect}", [Entry("spa", word, right, "", dialect) for word, right in listed]))
    return made


def word_error(entries: Sequence[Entry], by: Callable[[Entry], list[str] | None]) -> str:
    """Percent of the words; a word the list has in several ways is right in any of them."""
    ways: dict[str, list[list[str]]] = {}
    for entry in entries:
        ways.setdefault(entry.word, []).extend(others(entry).fold(way.split()) for way in entry.right.split("|"))
    wrong = 0
    for entry in {entry.word: entry for entry in entries}.values():
        said = by(entry)
        if said is None:
            return ABSENT
        wrong += others(entry).fold(said) not in ways[entry.word]
    return f"{100 * wrong / len(ways):.1f} %"


def main(arguments: Sequence[str]) -> int:
    if arguments:
        sys.path.append(arguments[0])
    warnings.simplefilter("ignore")
    say = sys.stdout.write
    say("| language | word | right | Olu | espeak-ng | epitran | who says what is right |\n")
    say("|---|---|---|---|---|---|---|\n")
    for entry in words():
        cells = [cell(by_olu(entry), entry), cell(by_espeak(entry), entry)]
        cells.append(cell(by_epitran(entry), entry) if arguments else "")
        name = f"{entry.code} {entry.dialect}" if entry.dialect else entry.code
        say(f"| {name} | {entry.word} | {entry.right} | {' | '.join(cells)} | {entry.source} |\n")
    if not reading.GOLD.is_dir():
        return 0
    say("\n| whole list | words | Olu | espeak-ng | epitran |\n|---|---|---|---|---|\n")
    for name, entries in lists():
        count = len({entry.word for entry in entries})
        scores = [word_error(entries, by_olu), word_error(entries, by_espeak)]
        scores.append(word_error(entries, by_epitran) if arguments else "")
        say(f"| {name} | {count} | {' | '.join(scores)} |\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

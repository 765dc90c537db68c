"""How well the rules read: `python benchmarks/reading.py [GOLD FOLDER [OUT.md]]` scores the languages with gold data.

Each language folds what its gold writes in another way than Olu does; the reason stands beside each fold.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from olu.text.algorithms import canonical, pronouncer
from olu.text.language_data import Pack, ReadingTrace
from olu.text.languages import load

GOLD = Path(__file__).parents[2] / "shared" / "gold"
TONES = "\u0301\u0300\u0304\u0302\u030c"
DOWNSTEP = "ꜜ"


@dataclass(frozen=True, slots=True)
class Score:
    set: str
    rows: int
    measure: str
    value: float  # percent
    seen: bool = True  # whether the rules were written with the set in view


def rows(path: Path, *, header: bool = False) -> list[list[str]]:
    lines = path.read_text(encoding="utf-8").split("\n")[1 if header else 0 :]
    return [line.split("\t") for line in lines if line.strip()]


def reader(
    code: str, *, dialect: str | None = None, options: dict[str, str] | None = None
) -> Callable[[str], list[str]]:
    """From a text to phones."""
    pack = Pack.of(load(code).files(), dialect=dialect, options=options)
    tidy, voice = canonical(pack), pronouncer(pack)

    def read(text: str) -> list[str]:
        words = tidy(text, ReadingTrace()).split()
        mode = voice.mode(words)
        return [phone for word in words for phone in voice.say(word, mode=mode).phones]

    return read


def distance(a: Sequence[str], b: Sequence[str]) -> int:
    """The fewest phones to put in, take out or exchange."""
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (left != right))
    return row[-1]


def phone_error(pairs: Iterable[tuple[list[str], list[str]]]) -> float:
    """Percent of the gold phones, over (gold, read) pairs."""
    wrong = total = 0
    for gold, read in pairs:
        wrong += distance(gold, read)
        total += len(gold)
    return 100 * wrong / total


# Spanish

NASALS = frozenset("mnɲŋɱ")
VOICED = {"p": "b", "t": "d", "k": "ɡ"}
ONSET_BEFORE = frozenset("aeiou") | {"j", "w", "l", "ɾ", "r"}


def fold_spanish(phones: Sequence[str]) -> list[str]:
    """Wiktionary writes a stop that ends a syllable as voiced (k o n e ɡ t a ɾ) and a nasal at the place of the next
    consonant (i m b i e r n o); Olu writes the sounds that underlie these."""
    folded = []
    for at, phone in enumerate(phones):
        after = phones[at + 1] if at + 1 < len(phones) else ""
        if phone in VOICED and after not in ONSET_BEFORE:
            phone = VOICED[phone]
        if phone in NASALS and after and after not in frozenset("aeiou") | {"j", "w"}:
            phone = "n"
        folded.append(phone)
    return folded


def spanish(gold: Path) -> list[Score]:
    scores = []
    for name, dialect in (("la", "es-419"), ("ca", "es-ES")):
        read = reader("spa", dialect=dialect)
        known = rows(gold / f"spanish_wikipron_{name}_sample.tsv", header=True)
        wrong = sum(
            fold_spanish(read(word)) not in [fold_spanish(one.split()) for one in phones.split("|")]
            for word, phones in known
        )
        scores.append(Score(f"WikiPron Spanish {name}, {dialect}", len(known), "word error", 100 * wrong / len(known)))
    return scores


# Swahili

SWAHILI = {
    # one vowel each, whose exact quality the list writes in two ways (ɑ and a, ɛ and e)
    "ɑ": "a",
    "ɛ": "e",
    "ɔ": "o",
    # voiced stops are implosive for many speakers; the list is divided (ɗ and d)
    "ɓ": "b",
    "ɗ": "d",
    "ɠ": "ɡ",
    "ʄ": "d͡ʒ",
    # breath after stops tells kaa from kaa in some dialects and is not spelled
    "kʰ": "k",
    "pʰ": "p",
    # the list has tap and trill for one letter
    "r": "ɾ",
    # it marks a syllabic m in two words of five that have one
    "m̩": "m",
    "n̩": "n",
}
PRENASAL = {"ᵐ": "m", "ⁿ": "n", "ᵑ": "ŋ"}  # written as a small letter on either side, or as a nasal of its own


def fold_swahili(phones: Sequence[str]) -> list[str]:
    folded: list[str] = []
    for phone in phones:
        before = [PRENASAL[phone[0]]] if phone[0] in PRENASAL else []
        after = [PRENASAL[phone[-1]]] if phone[-1] in PRENASAL else []
        bare = phone.strip("".join(PRENASAL))
        long = bare.endswith("ː")  # two vowels in two syllables: ka.a
        bare = SWAHILI.get(bare.removesuffix("ː"), bare.removesuffix("ː"))
        folded += [*before, bare, *([bare] if long else []), *after]
    return " ".join(folded).replace("t ʃ", "t͡ʃ").split()  # one row leaves the tie out


def swahili(gold: Path) -> list[Score]:
    read = reader("swa")
    known = rows(gold / "wikipron_swa_latn_broad.tsv")
    error = phone_error((fold_swahili(phones.split()), fold_swahili(read(word))) for word, phones in known)
    return [Score("WikiPron Swahili", len(known), "phone error", error)]


# Yoruba


def fold_yoruba(phones: Sequence[str]) -> list[str]:
    """Tones off; a nasal is not marked as a syllable, since the list marks that only on letter names."""
    bare = ("".join(c for c in unicodedata.normalize("NFD", one) if c not in TONES + DOWNSTEP) for one in phones)
    return [one.replace("\u0329", "").replace("\u030d", "") for one in bare if one]


def yoruba(gold: Path) -> list[Score]:
    read = reader("yor")
    known = rows(gold / "wikipron_yor_latn_broad.tsv")
    error = phone_error((fold_yoruba(phones.split()), fold_yoruba(read(word))) for word, phones in known)
    return [
        Score("WikiPron Yoruba, tones off", len(known), "phone error", error),
        _yoruba_tones(known, mode="full"),
        _yoruba_tones(known, mode=""),
    ]


TONE = {"\u0301": "H", "\u0300": "L", "\u0304": "M", "\u0302": "HL", "\u030c": "LH"}
SPELLED = {"H": "\u0301", "L": "\u0300", "M": "", "HL": "\u0302", "LH": "\u030c"}


def _yoruba_tones(known: list[list[str]], *, mode: str) -> Score:
    """The list's spellings have no tone marks. So its tones are put onto the spelling, where the sounds agree, mid
    tones unmarked as the spelling rules ask, and read back. Without a mode each word alone must show that it is
    fully marked."""
    pack = Pack.of(load("yor").files())
    tidy, voice = canonical(pack), pronouncer(pack)
    wrong = total = 0
    for word, phones in known:
        spelled = tidy(word, ReadingTrace())
        said = voice.say(spelled, mode="")
        sounds = phones.split()
        if any(tone != "?" for tone in said.tones):
            continue  # a few letter names have their mark already
        if fold_yoruba(sounds) != fold_yoruba(said.phones) or DOWNSTEP in phones or not said.bearers:
            continue
        want = [_tone(sounds[at]) for at in said.bearers]
        found = voice.letters.spell(spelled)  # type: ignore[attr-defined]
        if found.phones != said.phones or "" in want:
            continue
        letters = list(spelled)
        for at, tone in zip(said.bearers, want, strict=True):
            letters[found.places[at]] += SPELLED[tone]
        marked = tidy("".join(letters), ReadingTrace())
        heard = voice.say(marked, mode=mode or voice.mode([marked])).tones
        total += len(want)
        wrong += sum(a != b for a, b in zip(heard, want, strict=False)) + abs(len(heard) - len(want))
    name = "WikiPron Yoruba tones, written onto the spelling" + ("" if mode else ", words alone")
    return Score(name, total, "tone error", 100 * wrong / max(total, 1))


def _tone(phone: str) -> str:
    return "".join(TONE[c] for c in unicodedata.normalize("NFD", phone) if c in TONE)


# Amharic


def fold_amharic(phones: Iterable[str], *, long: bool) -> str:
    """The list writes r and ɾ, t͡sʼ and sʼ for one sound each, and the glottal stop in some of its places only."""
    bare = " ".join(phone for phone in phones if phone != "ʔ").replace("ɾ", "r").replace("t͡sʼ", "sʼ")
    return bare if long else bare.replace("ː", "")


def amharic(gold: Path) -> list[Score]:
    known: dict[str, list[list[str]]] = {}  # rows of one word are alternatives
    for word, _, phones in rows(gold / "amharic_wikipron.tsv", header=True):
        known.setdefault(word, []).append(phones.split())
    scores = []
    for choice in ("marks", "lexicon"):
        read = reader("amh", options={"gemination": choice})
        for long in (False, True):
            wrong = sum(
                fold_amharic(read(word), long=long) not in [fold_amharic(one, long=long) for one in alternatives]
                for word, alternatives in known.items()
            )
            name = f"WikiPron Amharic, gemination {'counted' if long else 'ignored'}, option {choice}"
            scores.append(Score(name, len(known), "word error", 100 * wrong / len(known)))
    return scores


LANGUAGES: dict[str, Callable[[Path], list[Score]]] = {"amh": amharic, "spa": spanish, "swa": swahili, "yor": yoruba}


def main(arguments: Sequence[str]) -> int:
    gold = Path(arguments[0]) if arguments else GOLD
    if not gold.is_dir():
        sys.stderr.write(f"{gold} is no folder: give the folder with the gold data\n")
        return 2
    lines = ["| language | set | rows | measure | value | rules written with it in view |", "|---|---|---|---|---|---|"]
    for code, score in LANGUAGES.items():
        for one in score(gold):
            seen = "yes" if one.seen else "no"
            lines.append(f"| {code} | {one.set} | {one.rows} | {one.measure} | {one.value:.2f} % | {seen} |")
    sys.stdout.write("\n".join(lines) + "\n")
    if len(arguments) > 1:
        Path(arguments[1]).write_text("# Reading\n\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

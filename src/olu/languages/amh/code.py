"""Amharic: its punctuation, and its syllables as phones with as few ɨ as can be."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from olu.core.errors import LanguageError
from olu.text.characters import UNSAYABLE
from olu.text.fidel import fold
from olu.text.language_data import Pack, Pronunciation, ReadingTrace, place_of
from olu.text.rules.engine import LetterRules

# ---- where a word says a vowel that its writing leaves open: as seldom as its syllables allow
# A syllable ends in one consonant inside a word and in at most two at its end; a long consonant counts as two. Of all
# ways to reach that with the fewest vowels, the one with the smoothest contacts between syllables is taken, then one
# that leaves together what belongs together, then the latest.


SONORITY = {"glide": 5, "liquid": 4, "nasal": 3, "fricative": 2, "affricate": 1, "stop": 1, "ejective": 1}
SONORANT = 3  # from here on a consonant is no obstruent
MOST = 2  # consonants between two vowels, and after the last one
Cost = tuple[int, int, int, int]  # vowels added, steps up in sonority between syllables, pairs parted, minus places


@dataclass(slots=True)
class FidelUnit:
    """A consonant and the vowel after it. No vowel: the writing leaves it open. No consonant: a vowel alone."""

    consonant: str
    vowel: str = ""
    length: str = ""  # the mark of a long consonant

    @property
    def size(self) -> int:
        return (2 if self.length else 1) if self.consonant else 0


@dataclass(frozen=True, slots=True)
class Filler:
    """Fills the vowels that the writing leaves open: which one, and by which rules."""

    vowel: str
    sonority: Mapping[str, int]
    pairs: frozenset[tuple[str, str]] = frozenset()  # consonants that would rather not be parted
    endings: frozenset[str] = frozenset()  # last consonants that would rather stay with the one before

    def fill(self, units: Sequence[FidelUnit]) -> None:
        """Give the vowel to as few of the open units as make the word sayable."""
        start, count = 0, len(units)
        for end in range(count + 1):
            if end < count and not units[end].vowel:
                continue
            if end - start == 1 and start > 0:  # nearly always: one consonant between vowels, or at the end
                if end < count and units[start].size + units[end].size > MOST and units[end].consonant:
                    units[start].vowel = self.vowel
            elif end > start:
                for place in self._best(units, start, end):
                    units[place].vowel = self.vowel
            start = end + 1

    def _best(self, units: Sequence[FidelUnit], start: int, end: int) -> list[int]:
        """Where to add vowels among the open units start..end-1, between two vowels or the word's edges.

        A path goes from vowel to vowel with at most two consonants between, so the work grows with the run only.
        """
        is_initial, is_final = start == 0, end == len(units)
        best: dict[int, tuple[Cost, int]] = {start - 1: ((0, 0, 0, 0), start - 1)}
        for place in range(start, end if is_final else end + 1):
            added = int(place < end)
            cut = int(added and self._parts(units, place))
            found = []
            for before in range(place - 1, max(start - 2, place - MOST - 2), -1):
                step: int | None = 0
                if before not in best:
                    continue
                if not is_initial or before >= start:
                    step = self._contact(units, before + 1, place + 1)
                elif place != start:  # no word begins with two consonants
                    continue
                if step is not None:
                    count, steps, cuts, places = best[before][0]
                    found.append(((count + added, steps + step, cuts + cut, places - place * added), before))
            if found:
                best[place] = min(found)
        place = self._last(units, start, end, best) if is_final else best[end][1]
        chosen = []
        while place >= start:
            chosen.append(place)
            place = best[place][1]
        return chosen

    def _last(self, units: Sequence[FidelUnit], start: int, end: int, best: Mapping[int, tuple[Cost, int]]) -> int:
        """The last vowel before the word's end."""
        places = range(max(start - 1, end - MOST - 1, 0), end)
        return min((best[place][0], place) for place in places if place in best and self._may_end(units, place, end))[1]

    def _parts(self, units: Sequence[FidelUnit], place: int) -> bool:
        """Whether a vowel after this unit would part what belongs together."""
        if place + 1 == len(units):
            return False
        one, two = units[place].consonant, units[place + 1].consonant
        return (one, two) in self.pairs or (place + 2 == len(units) and two in self.endings)

    def _contact(self, units: Sequence[FidelUnit], first: int, end: int) -> int | None:
        """What the consonants between two vowels cost; none when they are too many."""
        group = [unit for unit in units[first:end] if unit.consonant]
        if len(group) < 2:
            return 0
        if sum(unit.size for unit in group) > MOST:
            return None
        coda, onset = (self.sonority[unit.consonant] for unit in group)
        return max(0, onset - coda)

    def _may_end(self, units: Sequence[FidelUnit], place: int, end: int) -> bool:
        """Whether a word may end in the consonants after this vowel."""
        group = units[place + 1 : end]
        if len(group) < 2:
            return True
        if len(group) > MOST or any(unit.length for unit in group):
            return False
        one, two = (self.sonority[unit.consonant] for unit in group)
        return one >= two or (one < SONORANT and two < SONORANT)


LONG = "ː"
GEMINATE = "\u135f"  # the mark that says so in writing
BY_GRAMMAR = "ˑ"  # long without a mark: it counts even where nobody wants to hear long consonants
BEGINS = "+"  # a word inside a word
ALGORITHM = "ethiopic"
GLOTTAL = "ʔ"
PAIRS = frozenset({("s", "t")})  # ክርስቲያን is kɨ.rɨs.ti.jan
ENDINGS = frozenset("t")  # አንስት is a.nɨst
ROUNDED = {"ʷ": "w", "ʲ": "j"}  # as a consonant of its own where the inventory has no such consonant
OPEN_VOWEL = "ɨ"
ROOT, PASSIVE = 3, "t"  # consonants of most verbs, and what ተ begins with
NAMED = 3  # capitals up to this many are letters, more are a word: BBC, but UNESCO

MARKS = str.maketrans(
    {"፠": " ", "፡": " ", "።": ".", "፣": ",", "፥": ",", "፤": ";", "፧": "?", "፨": "."}
    | dict.fromkeys("«»‹›“”„‟", '"')
    | dict.fromkeys("‘’‚‛ʼ´`", "'")
    | dict.fromkeys("‐‑", "-")
)
STOPS = re.compile(r"፡\s?፡|::+")  # a full stop typed as two word spaces, or with colons
BETWEEN_DIGITS = re.compile(r"(?<=\d)(?:፡(?=\d)|፥(?=\d\d\s?ሰ[ዓአ]ት))")  # a clock time
LISTED_DIGITS = re.compile(r"(?<=\d)[፣።፥](?=\d)")  # a row of numbers, a verse
NATIVE_DIGIT = re.compile(r"[^\D0-9]")
SPACES = re.compile(r"\s+")
ETHIOPIC = r"\u1200-\u139f\u2d80-\u2ddf\uab00-\uab2f"
OTHER = re.compile(rf"[^\W\d_{ETHIOPIC}]+")  # letters of other scripts
UNUSED = dict.fromkeys(map(ord, "ˈ˥˧˩ꜜ"))  # stress and tones mean nothing here
SPOKEN = frozenset("aeiouyAEIOUY")


def canonical(text: str, notes: ReadingTrace) -> str:
    """NFC, Ethiopic punctuation and quotes as in Latin script, one space between words. The letters stay."""
    text = unicodedata.normalize("NFC", text)
    if not text.isprintable():
        text = "".join(_sayable(text, notes))
    written = NATIVE_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)
    written = STOPS.sub("።", written.replace("፦", ":"))
    written = LISTED_DIGITS.sub(r"\g<0> ", BETWEEN_DIGITS.sub(":", written)).translate(MARKS)
    notes.add("canonical", "punctuation", text, written)
    return unicodedata.normalize("NFC", SPACES.sub(" ", written).strip())


def _sayable(text: str, notes: ReadingTrace) -> Iterator[str]:
    for character in text:
        if character.isspace():
            yield " "
        elif unicodedata.category(character) in UNSAYABLE:
            notes.dropped[character] += 1
        else:
            yield character


def make(pack: Pack) -> Amharic:
    return Amharic(pack)


def marked_speller(pack: Pack) -> Callable[[str, str], str | None]:
    """Words with a mark above each letter whose consonant is long in their phones; nothing where they do not fit."""
    letters = LetterRules.of(pack).letters
    vowels = frozenset(row[0] for row in pack.rows("phones.tsv", cells=2) if row[1] == "vowel")

    def spell(word: str, phones: str) -> str | None:
        plain = unicodedata.normalize("NFC", word.strip())
        places = [at for at, char in enumerate(plain) if letters.get(char, (GLOTTAL,))[0] not in (GLOTTAL, *vowels)]
        heard = [phone for phone in phones.split() if phone.removesuffix(LONG) not in (GLOTTAL, *vowels)]
        if len(places) != len(heard) or not heard:
            return None
        marked = list(plain)
        for place, phone in zip(places, heard, strict=True):
            marked[place] += GEMINATE if phone.endswith(LONG) else ""
        return "".join(marked)

    return spell


class Amharic:
    """Reads one word. A person's lexicon goes before the pack's, and both before the rules."""

    def __init__(self, pack: Pack) -> None:
        rows = pack.rows("phones.tsv", cells=2)
        self.inventory = frozenset(row[0] for row in rows)
        self.vowels = frozenset(row[0] for row in rows if row[1] == "vowel")
        self.gemination = pack.options.get("gemination", "marks")
        self.knows_verbs = self.gemination in ("grammar", "lexicon")
        self.keeps_glottal = pack.options.get("glottal", "keep") == "keep"
        self.letters = LetterRules.of(pack)
        self.sonority = {row[0]: SONORITY[row[3]] for row in rows if row[1] == "consonant"}
        for letter, symbols in self.letters.letters.items():
            for symbol in set(symbols) - self.inventory - {LONG}:
                if symbol[:-1] not in self.sonority or symbol[-1] not in ROUNDED:
                    raise LanguageError(f"{pack.code}/letters.tsv: {letter} has {symbol!r}, which phones.tsv has not")
                self.sonority[symbol] = self.sonority[symbol[:-1]]
        self.filler = Filler(OPEN_VOWEL, self.sonority, pairs=PAIRS, endings=ENDINGS)
        self.lexicon: dict[str, tuple[str, ...]] = {}
        if self.gemination == "lexicon":
            self._learn({row[0]: row[1] for row in pack.rows("lexicon.tsv", cells=2)}, where=f"{pack.code}/lexicon.tsv")
        self._learn(pack.lexicon)

    def mode(self, words: Sequence[str]) -> str:
        return ""

    def say(self, word: str, *, mode: str = "") -> Pronunciation:
        if phones := self.lexicon.get(fold(word)):
            return Pronunciation(phones, rules=("lexicon",))
        if "-" in word:
            parts = [self.say(part) for part in word.split("-")]
            return Pronunciation(
                tuple(phone for part in parts for phone in part.phones),
                rules=tuple(rule for part in parts for rule in part.rules),
                dropped=tuple(character for part in parts for character in part.dropped),
            )
        said = self.letters.say(self._latin(word) if OTHER.search(word) else word)
        units: list[FidelUnit] = []
        for part in _split(said.phones):
            units += self._filled(part, first=not units)
        return Pronunciation(tuple(self._phones(units)), rules=said.rules, dropped=said.dropped)

    def _learn(self, words: Mapping[str, str], *, where: str = "") -> None:
        for word, phones in words.items():
            symbols = tuple(phones.translate(UNUSED).split())
            if alien := [symbol for symbol in symbols if symbol not in self.inventory]:
                place = where or place_of(words, word)
                raise LanguageError(f"{place}: {word} has {alien[0]!r}, which is no phone of Amharic: see phones.tsv")
            self.lexicon[fold(unicodedata.normalize("NFC", word))] = symbols

    def _latin(self, word: str) -> str:
        """Letters of other scripts without the accents that letters.tsv does not know."""
        known = self.letters.letters
        plain = (c if c.lower() in known else unicodedata.normalize("NFD", c)[0] for c in word)
        return OTHER.sub(_word_or_names, "".join(plain))

    def _filled(self, symbols: Sequence[str], *, first: bool) -> list[FidelUnit]:
        units: list[FidelUnit] = []
        for symbol in symbols:
            if symbol in (LONG, BY_GRAMMAR):
                begins = first and len(units) < 2  # no word begins with a long consonant
                if units and not begins and units[-1].consonant not in ("", GLOTTAL):
                    units[-1].length = symbol
            elif symbol not in self.vowels:
                units.append(FidelUnit(symbol))
            elif units and not units[-1].vowel:
                units[-1].vowel = symbol
            else:
                units.append(FidelUnit("", symbol))
        if self.knows_verbs and _is_perfective(units):
            units[-2].length = units[-2].length or BY_GRAMMAR
        self.filler.fill(units)
        return units

    def _phones(self, units: Sequence[FidelUnit]) -> Iterator[str]:
        for place, unit in enumerate(units):
            consonant, glide = unit.consonant, ""
            if consonant and consonant not in self.inventory:
                consonant, glide = consonant[:-1], ROUNDED[consonant[-1]]
            if consonant and (consonant != GLOTTAL or (place and self.keeps_glottal)):
                yield consonant + LONG if self._is_heard(unit.length) else consonant
            if glide:
                yield glide
            if unit.vowel:
                yield unit.vowel

    def _is_heard(self, length: str) -> bool:
        return bool(length) and self.gemination != "none"


def _is_perfective(units: Sequence[FidelUnit]) -> bool:
    """Whether it is a verb of the perfective, such as ፈለገ: its last three vowels are ə (or a), ə, ə.

    Its last consonant but one is long. ተሰጠ has two consonants of its own, of which the last is long: left alone.
    """
    doubled = units[-2].consonant if len(units) >= ROOT else ""
    if not doubled or doubled == GLOTTAL or doubled[-1] in ROUNDED:
        return False
    is_short = len(units) == ROOT and units[0].consonant == PASSIVE
    return not is_short and [unit.vowel for unit in units[-2:]] == ["ə", "ə"] and units[-3].vowel in ("ə", "a")


def _split(symbols: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    while BEGINS in symbols:
        at = symbols.index(BEGINS)
        yield symbols[:at]
        symbols = symbols[at + 1 :]
    yield symbols


def _word_or_names(found: re.Match[str]) -> str:
    """Words of other scripts: small letters when it is a word, capitals when its letters are named one by one."""
    letters = found[0]
    is_named = len(letters) == 1 or not SPOKEN & set(letters) or (letters.isupper() and len(letters) <= NAMED)
    return letters.upper() if is_named and letters.isascii() else letters.lower()

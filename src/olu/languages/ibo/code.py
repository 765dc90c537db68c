"""Igbo: one spelling for every way of typing it, then letters to phones, syllables and tones."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from olu.languages.ibo.phrases import Change, phrase_change
from olu.text import tones
from olu.text.english import English, certain, repair
from olu.text.language_data import Pack, Pronunciation, ReadingTrace
from olu.text.rules.engine import LetterRules

ALGORITHM = "igbo"
CLEAR = ("unmarked_high", "welmers")  # conventions that only many lines together can show
DOT, OVER, SYLLABIC = "\u0323", "\u0307", "\u0329"
BELOW = "\u0323\u0331\u0329\u0332\u0328"  # ways of typing the dot below
COMBINING = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
STEP = "\ua71c"  # the raised arrow that some write before a downstepped syllable

UNSEEN = re.compile("[\ufeff\u200b-\u200f\u2060\u00ad]")
PRIVATE = re.compile("[\uf000-\uf0ff]")
OTHER_LETTERS = str.maketrans("ɔƆɩƖʋƲɛƐıŋŊ", "ọỌịỊụỤeEiṅṄ")
SIGNS = str.maketrans({**dict.fromkeys("’‘ʼ´`＇′ʹʻꞌ", "'"), "\u2011": "-", "\u2010": "-"})
CLUSTER = re.compile(f"([A-Za-z])([{COMBINING}]+)")
DASH = re.compile(f"(?<=[^\\W\\d_]|[{COMBINING}])–(?=[^\\W\\d_])")
DIGIT = re.compile(r"(?![0-9])\d")
ELIDED = re.compile(f"(?<![\\w'{COMBINING}])([nN]')[ \u00a0]+(?=[aeiouAEIOU])")

MARKED = re.compile(f"[{''.join(tones.MARKS)}]")
CACHED = 200_000

VOWELS = "aeiouịọụ"
_C = "ch|gb|gh|gw|kp|kw|nw|ny|sh|[bdfghjklmnṅprstvwyz]"
SHAPE = re.compile(f"(?:n(?![{VOWELS}]|[wy][{VOWELS}])|[mṅ](?![{VOWELS}])|(?:{_C})?[{VOWELS}])+")
PIECES = re.compile(r"([^-']+)([-']*)")


def canonical(text: str, notes: ReadingTrace) -> str:
    """One code point sequence for every way of typing a text; case, digits and punctuation stay."""
    if text.isascii() and "`" not in text and "n' " not in text and "N' " not in text:
        return text
    kept = PRIVATE.sub(lambda found: _drop(found.group(), notes), UNSEEN.sub("", text))
    flat = unicodedata.normalize("NFD", kept).translate(OTHER_LETTERS)
    # letters that were translated bring marks of their own: put all marks in their order again
    flat = unicodedata.normalize("NFD", flat).translate(SIGNS)
    flat = CLUSTER.sub(lambda found: _cluster(found, notes), flat)
    flat = DASH.sub("-", flat)
    flat = ELIDED.sub(r"\1", flat)
    flat = DIGIT.sub(_digit, flat)
    return unicodedata.normalize("NFC", flat)


def _drop(char: str, notes: ReadingTrace) -> str:
    notes.dropped[char] += 1
    return ""


def _digit(found: re.Match[str]) -> str:
    return str(unicodedata.decimal(found.group()))


def _cluster(found: re.Match[str], notes: ReadingTrace) -> str:
    """A letter with its dot and at most one tone; marks that mean nothing in Igbo are dropped and counted."""
    base, run = found.groups()
    low = base.lower()
    dot = tone = ""
    for mark in run:
        if low in "iou" and (mark in BELOW or mark == "\u0308"):
            dot = DOT
        elif low == "n" and (mark in (OVER, "\u0303") or (mark == tones.MACRON and _is_eng(found))):
            dot = OVER
        elif low in "aeioumn" and mark in tones.MARKS and not tone:
            tone = mark
        else:
            _drop(mark, notes)
    return base + dot + tone


def _is_eng(found: re.Match[str]) -> bool:
    """n with a macron is ṅ before a vowel and at the end of a word; before a consonant it is a tone."""
    after = found.string[found.end() : found.end() + 1]
    return not after.isalpha() or after.lower() in VOWELS


def shaped(word: str) -> bool:
    """Whether small letters without tone marks can be an Igbo word: V, CV and syllabic nasals only."""
    return SHAPE.fullmatch(word) is not None


@dataclass(frozen=True, slots=True)
class TonedSpelling:
    """A word's letters without its tones, and the mark of each."""

    letters: tuple[str, ...]
    marks: tuple[str, ...]
    dropped: tuple[str, ...]

    @staticmethod
    def of(word: str) -> TonedSpelling:
        letters: list[str] = []
        marks: list[str] = []
        dropped: list[str] = []
        step = False
        for char in unicodedata.normalize("NFD", word.lower()):
            if char == STEP:
                step = True
            elif char in tones.MARKS and letters and not marks[-1]:
                marks[-1] = char
            elif char == tones.ACUTE and letters and marks[-1] == tones.MACRON:
                pass  # an arrow before a high tone says all
            elif char in (DOT, OVER) and letters:
                letters[-1] = unicodedata.normalize("NFC", letters[-1] + char)
            elif unicodedata.combining(char):
                dropped.append(char)
            else:
                falls = step and char in "aeiou"
                letters.append(char)
                marks.append(tones.MACRON if falls else "")
                step = step and not falls
        return TonedSpelling(tuple(letters), tuple(marks), (*dropped, *([STEP] if step else ())))

    @property
    def plain(self) -> str:
        return "".join(self.letters)

    @property
    def marked(self) -> str:
        """The letters, with a line below each nasal that its tone makes a syllable."""
        pairs = zip(self.letters, self.marks, strict=True)
        spelled = "".join(char + SYLLABIC if mark and char in "mnṅ" else char for char, mark in pairs)
        return unicodedata.normalize("NFC", spelled)


def syllables(phones: Sequence[str], bearers: Iterable[int]) -> list[tuple[str, ...]]:
    """The phones cut after each one that bears a tone; what has no nucleus joins the last."""
    ends = [at + 1 for at in bearers]
    cuts = [0, *ends[:-1], len(phones)] if ends else [0, len(phones)]
    return [tuple(phones[a:b]) for a, b in pairwise(cuts) if b > a]


class Igbo:
    """Words to phones and tones, with the language's folder as data."""

    def __init__(self, pack: Pack) -> None:
        where = pack.code
        self.letters = LetterRules(pack.text("letters.tsv"), pack.text("rules.txt"), only=pack.force, where=where)
        self.kinds = {row[0]: row[1] for row in pack.rows("phones.tsv", cells=2)}
        self.english = English(pack, kinds=self.kinds)
        self.certain = certain(pack)
        self._known: dict[str, list[str]] = {}
        self.convention = pack.options.get("tone_convention", "auto")
        self.keep = pack.options.get("codeswitch", "adapt") == "keep"
        self.lexicon = {row[0]: (tuple(row[1].split()), tuple(row[2].split() if len(row) > 2 else ())) for row in
                        pack.rows("lexicon.tsv", cells=2)}  # fmt: skip

    def mode(self, words: Sequence[str]) -> str:
        """The tone convention in force for a text."""
        return self.detect(words).convention if self.convention == "auto" else self.convention

    def detect(self, texts: Iterable[str]) -> tones.Found:
        """How these texts mark their tones."""
        whole = " ".join(texts)
        if whole.isascii() or not MARKED.search(unicodedata.normalize("NFD", whole)):
            return tones.detect([])
        return tones.detect(map(self._marks, whole.split()))

    def _marks(self, word: str) -> Sequence[str]:
        known = self._known.get(word)
        if known is None:
            spelled = TonedSpelling.of(word)
            phones = self.letters.say(spelled.marked).phones
            known = self._align(phones, self._bearers(phones), spelled)
            if len(self._known) < CACHED:
                self._known[word] = known
        return known

    def say(self, word: str, *, mode: str = "") -> Pronunciation:
        mode = mode or self.mode([word])
        folded = _folded(word)
        if listed := self.lexicon.get(folded):
            return self._listed(listed, mode)
        pieces = PIECES.findall(folded) or [(folded, "")]
        parts: list[Pronunciation] = []
        for at, (piece, _) in enumerate(pieces):
            hyphen = at > 0 and pieces[at - 1][1].startswith("-")
            parts.append(self._part(piece, mode, before=next(iter(parts[-1].tones[-1:]), "") if hyphen else ""))
        for at, (piece, sign) in enumerate(pieces[:-1]):
            if sign.startswith("'") and self.kinds.get(next(iter(parts[at + 1].phones), "")) == "vowel":
                parts[at] = self._elided(piece) or parts[at]
        return _joined(parts)

    def _elided(self, piece: str) -> Pronunciation | None:
        """`n'` before a vowel: a consonant that begins the next syllable."""
        said = self.letters.say(f"{piece}a")
        if self._bearers(said.phones) != (1,) or len(said.phones) != 2:
            return None
        return Pronunciation(said.phones[:1], rules=("elision",), dropped=said.dropped)

    def _part(self, piece: str, mode: str, *, before: str) -> Pronunciation:
        spelled = TonedSpelling.of(piece)
        if listed := self.lexicon.get(spelled.plain) if not any(spelled.marks) else None:
            return self._listed(listed, mode)
        own = shaped(spelled.plain) and spelled.plain not in self.certain
        if not own and spelled.plain.isascii() and spelled.plain.isalpha() and not any(spelled.marks):
            said = self.english.say(spelled.plain, keep=self.keep)
            return said if self.keep or mode != "sparse" else _toneless(said)
        said = self.letters.say(spelled.marked)
        bearers = self._bearers(said.phones)
        stepped = piece.startswith(STEP) and not before  # the word before has the high tone that it follows
        marks = self._align(said.phones, bearers, spelled)
        read = tones.read(marks, convention=mode, before="H" if stepped else before)
        phones, fired = said.phones, said.rules
        if not own:
            phones, bearers, read = repair(
                phones, bearers, read, kinds=self.kinds, blank="?" if mode == "sparse" else "L"
            )
            fired = (*fired, "loan: syllables repaired") if phones != said.phones else fired
        return Pronunciation(phones, read, bearers, rules=fired, dropped=(*spelled.dropped, *said.dropped))

    def _listed(self, listed: tuple[tuple[str, ...], tuple[str, ...]], mode: str) -> Pronunciation:
        phones, read = listed
        bearers = self._bearers(phones)
        known = len(read) == len(bearers) and mode != "sparse"
        return Pronunciation(phones, read if known else ("?",) * len(bearers), bearers, rules=("lexicon",))

    def _bearers(self, phones: Sequence[str]) -> tuple[int, ...]:
        return tuple(at for at, phone in enumerate(phones) if self.kinds.get(phone) in ("vowel", "syllabic"))

    def _align(self, phones: Sequence[str], bearers: Sequence[int], spelled: TonedSpelling) -> list[str]:
        """The mark of each bearer: vowels and nasals stand in the same order as their letters."""
        found: list[str] = []
        at = 0
        for bearer in bearers:
            wanted = VOWELS if self.kinds[phones[bearer]] == "vowel" else "mnṅ"
            while at < len(spelled.letters) and spelled.letters[at] not in wanted:
                at += 1
            found.append(spelled.marks[at] if at < len(spelled.letters) else "")
            at += 1
        return found


def _folded(word: str) -> str:
    return unicodedata.normalize("NFC", word.lower())


def _toneless(said: Pronunciation) -> Pronunciation:
    return Pronunciation(said.phones, ("?",) * len(said.bearers), said.bearers, rules=said.rules, dropped=said.dropped)


def _joined(parts: Sequence[Pronunciation]) -> Pronunciation:
    """The pieces of one word, one after the other."""
    if len(parts) == 1:
        return parts[0]
    bearers: list[int] = []
    stress, shift = None, 0
    for part in parts:
        bearers += (at + shift for at in part.bearers)
        if part.stress is not None and stress is None:
            stress = part.stress + shift
        shift += len(part.phones)
    return Pronunciation(
        tuple(phone for part in parts for phone in part.phones),
        tuple(tone for part in parts for tone in part.tones),
        tuple(bearers),
        stress,
        tuple(rule for part in parts for rule in part.rules),
        tuple(char for part in parts for char in part.dropped),
    )


def make(pack: Pack) -> Igbo:
    """The pronouncer that language.toml calls `igbo`."""
    return Igbo(pack)


def phrase(pack: Pack) -> Change | None:
    """What words do to the tones of their neighbours, where that is asked for."""
    return phrase_change(pack)


def detect(pack: Pack, texts: Iterable[str]) -> dict[str, str]:
    """The tone convention of a whole corpus, where nobody chose one; marks that fit none count where they stand."""
    if pack.options.get("tone_convention") != "auto":
        return {}
    return {"tone_convention": Igbo(pack).detect(texts).convention}

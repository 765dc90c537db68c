"""Percentages, units, ranges, fractions, ordinals, telephone numbers, and what is left: plain numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from olu.text.language_data import Pack
from olu.text.normalise.number_phrases import PhraseRule, Wording, any_of
from olu.text.normalise.settings import Currency, Money
from olu.text.normalise.spelling import CONSONANTS
from olu.text.normalise.written_numbers import LETTER

DASH = r"(?:\s[-–—]\s|[-–—])"
START = r"(?=[0-9])(?<![0-9])(?<![0-9][.,])"
MINUS = r"(?=−?[0-9])(?P<minus>−(?=[0-9]))?"  # figures.signed has found them
PHONE_DIGITS = 7
LOOK_BACK = 40
# what a telephone number looks like and is none: dates, years
DATED = re.compile(
    r"[0-3]?[0-9]([ -])[01]?[0-9]\1[12][0-9]{3}|[12][0-9]{3}([ -])[01]?[0-9]\2[0-3]?[0-9]"
    r"|\(?[12][0-9]{3}(?:\s?[–-]\s?[12][0-9]{3})+"
)
ROUND = re.compile(rf"[1-9][0-9]*0000(?=\s?{LETTER})")  # 2500000 españoles
EITHER = "lx"  # units of one letter that are also written as a capital; 5G is no weight


@dataclass(frozen=True, slots=True)
class MeasureUnit:
    one: str
    many: str
    set: str


class Measures:
    """The rules for numbers that are counted or measured."""

    def __init__(self, wording: Wording, pack: Pack) -> None:
        self.wording, self.figures = wording, wording.style.figures
        money = wording.style.money
        cue = self.figures.phone
        self.cue = re.compile(rf"(?<!\w)(?:{cue})[\s:(]{{0,3}}\Z", re.IGNORECASE) if cue else None
        names = [name for one in (money.units.values() if money else ()) for name in (one.one, one.many) if name]
        amounts = any_of((*names, *(money.signs if money else ()), "%"))
        self.amount = re.compile(rf"\s?(?:{amounts})(?!{LETTER})", re.IGNORECASE)
        self.units = {row[0].casefold(): _unit(row, self.figures.unit_set) for row in pack.rows("units.tsv", cells=2)}
        for unit in self.units.values():
            wording.check_set(unit.set)
        self.lone = [row[0] for row in pack.rows("units.tsv") if row[0].islower() and CONSONANTS.fullmatch(row[0])]
        self.symbols = frozenset([*self.units, *(sign.casefold() for sign in (money.signs if money else ()))])

    def first(self) -> list[PhraseRule]:
        """Rules that must come before dates and money: telephone numbers."""
        return [self.wording.rule("telephone", r"(?<![\w+.,:/])\+?\(?[0-9][0-9 ()−–-]{5,}[0-9](?![0-9])", self._phone)]

    def rules(self) -> list[PhraseRule]:
        number, make = self.wording.figure, self.wording.rule
        several = rf"{MINUS}{START}(?:(?P<a>{number}){DASH})?(?P<n>{number})"
        found = [
            make("percent", rf"{several}\s?(?P<sign>[%‰٪])", self._percent, hint=("%", "‰", "٪")),
            make("degrees", rf"{several}\s?°(?!\s?[cfk](?!{LETTER}))", self._degrees, hint=("°",)),
        ]
        if times := self._times():
            found.append(times)
        if self.units:
            found += [make("unit", pattern, self._unit) for pattern in self._unit_patterns(several)]
        if self.wording.style.glue.ordinals:
            endings = any_of(self.wording.style.glue.ordinals)
            rest = any_of(self.wording.style.glue.ordinal_rest)
            pattern = rf"{START}(?P<n>[0-9]+)[-.]?(?P<end>{endings})(?P<rest>{rest})?(?!{LETTER})"
            found.append(make("ordinal", pattern, self._ordinal))
        fraction = r"(?P<a>[0-9]{1,3})/(?P<b>[0-9]{1,3})(?![0-9]|[/.,][0-9])"
        row = r"(?<![0-9.,])[0-9]+(?P<sign>[.,])[0-9]+(?:(?P=sign)[0-9]+)+(?![0-9]|[.,][0-9])"
        found.append(make("sequence", row, self._sequence))
        found.append(
            make("fraction", rf"{MINUS}(?<![0-9])(?<![0-9][/.,])(?:(?P<n>[0-9]+)\s)?{fraction}", self._fraction)
        )
        found.append(make("range", rf"{MINUS}{START}(?P<a>{number}){DASH}(?P<b>{number})(?![0-9]|-[0-9])", self._range))
        return found

    def last(self) -> list[PhraseRule]:
        """Rules for every number that is left."""
        endings = any_of(self.wording.style.glue.endings)
        joined = rf"(?:(?<={LETTER})[-‐‑–](?=[0-9]))?"
        end = rf"(?:(?P<end>{endings})(?!{LETTER})|[-‐‑](?={LETTER}))?"
        pattern = rf"(?=[-−‐‑–]?[0-9]){joined}{MINUS}(?P<n>{self.wording.figure}){end}"
        return [
            self.wording.rule("number", pattern, self._number),
            *self._lone_units(),
            self.wording.rule("number", "(?P<n>[²³])", lambda found: self.wording.whole("  ²³".index(found[0]))),
        ]

    def _lone_units(self) -> list[PhraseRule]:
        """Units with no number before them: los km que faltan."""
        pattern = rf"(?<![\w\u0300-\u036f'’/-])(?P<unit>{any_of(self.lone)})(?![\w\u0300-\u036f'’/-])"
        return [
            self.wording.rule("unit", pattern, lambda found: self.units[found["unit"].casefold()].many, digits=False)
        ]

    def _unit_patterns(self, several: str) -> list[str]:
        long = [name for name in self.units if len(name) > 1]
        short = [name for name in self.units if len(name) == 1]
        gap = r"\s?" if self.figures.spaced_letters else ""
        end = r"(?![^\W_]|[²³])"
        return [rf"{several}\s?(?P<unit>{any_of(long)}){end}", rf"{several}{gap}(?P<unit>{any_of(short)}){end}"]

    def _times(self) -> PhraseRule | None:
        """x between two numbers is the sign ×: 4x4, 10 x 15."""
        spelling = self.wording.style.spelling
        word = spelling.signs.get("×") if spelling else None
        pattern = r"(?<=[0-9])\s?[x×]\s?(?=[0-9])"
        return self.wording.rule("times", pattern, lambda _: word) if word else None

    def _several(self, found: re.Match[str], name: str = "cardinal") -> str:
        said = self.wording.number(found["n"], name)
        if found["a"]:
            said = self.wording.fill(self.figures.range, a=self.wording.number(found["a"], name), b=said)
        return self._minus(found, said)

    def _minus(self, found: re.Match[str], said: str) -> str:
        return f"{self.figures.minus} {said}" if found["minus"] else said

    def _percent(self, found: re.Match[str]) -> str:
        template = self.figures.permille if found["sign"] == "‰" else self.figures.percent
        return self.wording.fill(template, n=self._several(found))

    def _degrees(self, found: re.Match[str]) -> str:
        return self.wording.fill(self.figures.degrees, n=self._several(found))

    def _unit(self, found: re.Match[str]) -> str | None:
        if len(found["unit"]) == 1 and found["unit"].isupper() and found["unit"].lower() not in EITHER:
            return None
        unit = self.units[found["unit"].casefold()]
        figure = self.wording.reader.read(found["n"])
        one = figure.whole == "1" and not figure.part and not found["a"]
        counted = "counted" if "counted" in self.wording.numbers.sets and unit.set == "counted" else ""
        if counted and not found["a"] and not found["minus"] and not figure.part and not figure.is_code:
            return self.wording.whole(figure.value, counted, unit=unit.one)
        said = self._several(found, "cardinal" if counted else unit.set)
        return self.wording.fill(self.figures.units, n=said, unit=unit.one if one else unit.many)

    def _ordinal(self, found: re.Match[str]) -> str:
        ordinals = {end.casefold(): name for end, name in self.wording.style.glue.ordinals.items()}
        said = self.wording.number(found["n"], ordinals[found["end"].casefold()])
        return said + (found["rest"] or "")

    def _sequence(self, found: re.Match[str]) -> str | None:
        """1,2,3 and version 3.2.1; not 1,234,567."""
        if self.wording.reader.is_one(found[0]):
            return None
        word = self.figures.marks.get(".", "")
        between = f" {word} " if found["sign"] == "." and word else ", "
        return between.join(self.wording.number(part) for part in found[0].split(found["sign"]))

    def _fraction(self, found: re.Match[str]) -> str:
        return self._minus(found, self._part(found))

    def _part(self, found: re.Match[str]) -> str:
        over, under = int(found["a"]), int(found["b"])
        known = self.figures.fractions.get(f"{over}/{under}")
        if known is None and over < under <= self.figures.largest_part and over > 0:
            one = self.figures.fraction_one if over == 1 else None
            known = self.wording.fill(one or self.figures.fraction_many, a=over, b=under)
        if known is None:
            return " ".join(self.wording.number(found[name]) for name in ("n", "a", "b") if found[name])
        if not found["n"]:
            return known
        template = self.figures.mixed_as.get(f"{over}/{under}", self.figures.mixed)
        return self.wording.fill(template, n=self.wording.number(found["n"]), f=known)

    def _range(self, found: re.Match[str]) -> str:
        figures = [self.wording.reader.read(found[name]) for name in ("a", "b")]
        names = [self.wording.set_at(figure, found.string, found.start(), found.end()) for figure in figures]
        said = [self.wording.say(figure, name) for figure, name in zip(figures, names, strict=True)]
        rising = not any(figure.is_code for figure in figures) and figures[0].exact < figures[1].exact
        text = self.wording.fill(self.figures.range, a=said[0], b=said[1]) if rising else " ".join(said)
        return self._minus(found, text)

    def _phone(self, found: re.Match[str]) -> str | None:
        written = found[0]
        digits = re.sub("[^0-9]", "", written)
        if len(digits) < PHONE_DIGITS or DATED.fullmatch(written):
            return None
        if not (written[0] == "+" or digits[0] == "0" or self._called(found)):
            return None
        opened = "(" if written[0] == "(" and ")" not in written else ""
        return opened + ", ".join(self.wording.numbers.digits(group) for group in re.findall("[0-9]+", written))

    def _called(self, found: re.Match[str]) -> bool:
        text, start, end = found.string, found.start(), found.end()
        if self.cue is None or not self.cue.search(text[max(0, start - LOOK_BACK) : start]):
            return False
        return not (self.amount.match(text, end) or ROUND.match(text, start))

    def _number(self, found: re.Match[str]) -> str:
        figure = self.wording.reader.read(found["n"])
        said = self.wording.say(figure, self.wording.set_at(figure, found.string, found.start(), found.end()))
        return self._joined(self._minus(found, said), found["end"] or "")

    def _joined(self, said: str, ending: str) -> str:
        for old, new in self.wording.style.glue.joins:
            seam = len(old) - len(ending)
            if old.endswith(ending) and ending and seam > 0 and said.endswith(old[:seam]):
                return said[:-seam] + new
        return said + ending


def _unit(row: list[str], default: str) -> MeasureUnit:
    one = row[1]
    return MeasureUnit(one, row[2] if len(row) > 2 and row[2] else one, row[3] if len(row) > 3 else default)


# ---- amounts of money: the sign before or behind the number, cents, and words such as million between them


CENTS = 100
CENT_DIGITS = 2


def rules(wording: Wording) -> list[PhraseRule]:
    money = wording.style.money
    if money is None:
        return []
    said = MoneyPhrase(wording, money)
    number = rf"(?P<n>{wording.figure})(?:\s?(?P<scale>{any_of(money.scales)})(?![^\W_]))?(?:/[=-])?"
    minus = "(?P<minus>−)?"
    free = r"(?<![^\W\d_])(?<![\u0300-\u036f])"
    patterns = [
        rf"{minus}{free}(?<![0-9])(?<![0-9]\s)(?P<sign>{any_of(money.signs)})\s?(?P<inner>[-−])?{number}",
        rf"(?=−?[0-9]){minus}(?<![0-9])(?<![0-9][.,]){number}\s?(?P<sign>{any_of(money.signs)})(?![^\W_])",
    ]
    if money.prefixes:
        patterns.insert(1, rf"{minus}{free}(?P<sign>{any_of(money.prefixes)})(?={wording.figure}){number}")
    return [wording.rule("money", pattern, said) for pattern in patterns]


class MoneyPhrase:
    def __init__(self, wording: Wording, money: Money) -> None:
        self.wording, self.money = wording, money
        signs = money.signs | money.prefixes
        self.unit = {sign.casefold(): money.units[name] for sign, name in signs.items()}
        self.scales = {word.casefold(): value for word, value in money.scales.items()}

    def __call__(self, found: re.Match[str]) -> str:
        given = found.groupdict()
        unit = self.unit[given["sign"].casefold()]
        figure = self.wording.reader.read(given["n"])
        minus = f"{self.wording.style.figures.minus} " if given.get("minus") or given.get("inner") else ""
        if figure.is_code or (len(figure.part) > CENT_DIGITS and not given["scale"]):
            return f"{minus}{self._with_unit(self.wording.say(figure), unit, one=False)}"
        cents = figure.exact * self.scales.get((given["scale"] or "").casefold(), 1) * CENTS
        whole, part = divmod(int(cents), CENTS)
        if not part or not whole:
            return minus + (self._cents(part, unit) if part else self._whole(whole, unit))
        said = {"whole": self._whole(whole, unit), "part": self._cents(part, unit)}
        return minus + self.wording.fill(self.money.joined, **said)

    def _whole(self, amount: int, unit: Currency) -> str:
        if self.money.grammar is not None:
            return self.wording.whole(amount, self.money.grammar, unit=unit.one)
        return self._with_unit(self.wording.whole(amount, unit.set), unit, one=amount == 1)

    def _with_unit(self, number: str, unit: Currency, *, one: bool) -> str:
        name = unit.one if one or unit.many is None else unit.many
        of = next((word for ending, word in self.money.of if number.endswith(ending)), "")
        return self.wording.fill(self.money.whole, n=number, unit=f"{of} {name}".strip())

    def _cents(self, amount: int, unit: Currency) -> str:
        name = unit.cent if amount == 1 or unit.cents is None else unit.cents
        return self.wording.fill(self.money.whole, n=self.wording.whole(amount, unit.cent_set), unit=name)

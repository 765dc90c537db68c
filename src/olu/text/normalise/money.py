"""Amounts of money: the sign before or behind the number, cents, and words such as million between them."""

from __future__ import annotations

import re

from olu.text.normalise.number_phrases import PhraseRule, Wording, any_of
from olu.text.normalise.settings import Currency, Money

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

"""A small language to choose rows by: `seconds > 20 and speaker == "ana" and "clipping" in marks`. Nothing is run."""

from __future__ import annotations

import ast
import operator
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from olu.core.config import did_you_mean
from olu.core.errors import ConfigError

Kind = Literal["number", "text", "names", "yes or no"]
Table = Mapping[str, Sequence[Any]]  # column -> a value of each row, all of one length
LONGEST = 4000  # characters
DEEPEST = 50
STRETCH = 8192  # rows asked at once: so many make no large lists
EXAMPLE = """write for example seconds > 20 and "clipping" in marks"""

COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
RECKON: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: a / b if b else None,
}
ANSWERS = {"yes": True, "no": False}
SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


Values = Callable[[Table, range], Sequence[Any]]  # one value of each of these rows; an unknown one is None


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of an expression: what kind of value it has, and how to get it from a table."""

    kind: Kind
    values: Values


def where(expression: str, columns: Mapping[str, Kind]) -> Callable[[Table], Iterator[bool]]:
    """A test of rows. A comparison with a value that is not known, such as tokens before reading, is never true."""
    part = _Reader(expression, columns).read()

    def fits(table: Table) -> Iterator[bool]:
        size = len(next(iter(table.values())))
        for begin in range(0, size, STRETCH):
            yield from map(bool, part.values(table, range(begin, min(begin + STRETCH, size))))

    return fits


def sorter(order: str, columns: Mapping[str, Kind]) -> Callable[[Table, Iterable[int]], list[int]]:
    """Sorts places by "column", "-column" (the largest first), or several with commas. What is not known comes last."""
    keys = _sort_keys(order, columns)

    def ordered(table: Table, places: Iterable[int]) -> list[int]:
        result = list(places)
        for name, down in reversed(keys):
            values = table[name]
            unknown = [at for at in result if values[at] is None] if None in values else []
            known = [at for at in result if values[at] is not None] if unknown else result
            result = sorted(known, key=values.__getitem__, reverse=down) + unknown
        return result

    return ordered


def comparer(order: str, columns: Mapping[str, Kind]) -> Callable[[Table, int, int], int]:
    """Which of two rows `sorter` puts first: -1 the first one, 1 the second, 0 neither."""
    keys = _sort_keys(order, columns)

    def compared(table: Table, first: int, second: int) -> int:
        for name, down in keys:
            a, b = table[name][first], table[name][second]
            if a != b:
                if a is None or b is None:
                    return 1 if a is None else -1
                return -1 if (a < b) != down else 1
        return 0

    return compared


def _sort_keys(order: str, columns: Mapping[str, Kind]) -> list[tuple[str, bool]]:
    """Each column and whether its largest comes first."""
    keys = []
    for item in order.split(","):
        name = item.strip()
        down = name.startswith("-")
        name = name.removeprefix("-")
        if name not in columns:
            raise ConfigError(f"--sort {order!r}: {_unknown(name, columns)}")
        keys.append((name, down))
    return keys


def _unknown(name: str, columns: Mapping[str, Kind]) -> str:
    hint = did_you_mean(name, columns).removeprefix("; ")
    return f"no column {name!r}{f' ({hint})' if hint else ''}; the columns are {', '.join(columns)}"


class _Reader:
    def __init__(self, expression: str, columns: Mapping[str, Kind]) -> None:
        self.expression, self.columns = " ".join(expression.splitlines()).strip(), columns

    def wrong(self, what: str) -> ConfigError:
        shown = " ".join(self.expression[:200].split())
        return ConfigError(f"--where '{shown}': {what}")

    def shown(self, node: ast.expr) -> str:
        return (ast.get_source_segment(self.expression, node) or "this")[:60]

    def read(self) -> _Part:
        if len(self.expression) > LONGEST:
            raise self.wrong(f"longer than {LONGEST} characters: give the ids in a file instead")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # python warns of such things as 1 in 2
                tree = ast.parse(self.expression, mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise self.wrong(f"cannot be read: {EXAMPLE}") from None
        part = self.part(tree.body, 0)
        if part.kind != "yes or no":
            raise self.wrong(f"it is a {part.kind}, not a comparison: {EXAMPLE}")
        return part

    def part(self, node: ast.expr, depth: int) -> _Part:
        if depth > DEEPEST:
            raise self.wrong("too deeply nested: make it simpler")
        match node:
            case ast.Constant(value=value):
                return self.constant(value)
            case ast.Name(id=name):
                return self.column(name)
            case ast.BoolOp(op=op, values=values):
                parts = [self.truth(value, depth) for value in values]
                whole = all if isinstance(op, ast.And) else any
                return _Part("yes or no", _joined(whole, [part.values for part in parts]))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                denied = self.truth(operand, depth)
                return _Part("yes or no", lambda table, rows: list(map(operator.not_, denied.values(table, rows))))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _Part("number", _negative(self.number(operand, depth)))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in RECKON:
                first, second = self.number(left, depth), self.number(right, depth)
                return _Part("number", _both(RECKON[type(op)], first, second))
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return self.comparison([left, *comparators], ops, depth)
        raise self.wrong(f"{self.shown(node)!r} is not possible here: {EXAMPLE}")

    def constant(self, value: Any) -> _Part:
        if isinstance(value, bool):
            return _Part("yes or no", _same(value))
        if isinstance(value, (int, float)) and abs(value) < 1e300:
            return _Part("number", _same(float(value)))  # whole numbers without an end could be made of others
        if isinstance(value, str):
            return _Part("text", _same(_one_form(value)))
        raise self.wrong(f"{str(value)[:60]!r} is neither a number nor a text in quotes")

    def column(self, name: str) -> _Part:
        if name not in self.columns:
            raise self.wrong(f"{_unknown(name, self.columns)}; texts stand in quotes")
        kind = self.columns[name]
        if kind == "text":
            return _Part(kind, lambda table, rows: list(map(_one_form, table[name][rows.start : rows.stop])))
        return _Part(kind, lambda table, rows: table[name][rows.start : rows.stop])

    def truth(self, node: ast.expr, depth: int) -> _Part:
        return self.of_kind(node, "yes or no", depth)

    def number(self, node: ast.expr, depth: int) -> _Part:
        return self.of_kind(node, "number", depth)

    def of_kind(self, node: ast.expr, kind: Kind, depth: int) -> _Part:
        part = self.part(node, depth + 1)
        if part.kind != kind:
            raise self.wrong(f"{self.shown(node)!r} is {part.kind}, where {kind} is needed")
        return part

    def comparison(self, nodes: list[ast.expr], ops: list[ast.cmpop], depth: int) -> _Part:
        """A chain of comparisons: `a < b < c` is a < b and b < c."""
        links = []
        for left, op, right in zip(nodes, ops, nodes[1:], strict=False):
            if type(op) not in COMPARE:
                raise self.wrong("'is' does not compare here: write == or !=")
            if isinstance(op, (ast.In, ast.NotIn)):
                first, second = self.part(left, depth + 1), self.holder(left, right, depth)
            else:
                a, b = self.part(left, depth + 1), self.part(right, depth + 1)
                first, second = _answer(left, a, b), _answer(right, b, a)
                self.comparable(op, (left, first), (right, second))
            links.append(_both(COMPARE[type(op)], first, second))
        return _Part("yes or no", _joined(all, links))

    def comparable(self, op: ast.cmpop, left: tuple[ast.expr, _Part], right: tuple[ast.expr, _Part]) -> None:
        (a, first), (b, second) = left, right
        if first.kind != second.kind:
            told = f"{self.shown(a)!r} is {first.kind}, {self.shown(b)!r} is {second.kind}"
            raise self.wrong(f"{told}: they cannot be compared")
        if first.kind == "names" or (first.kind == "yes or no" and not isinstance(op, (ast.Eq, ast.NotEq))):
            hint = f'write "NAME" in {self.shown(a)}' if first.kind == "names" else "write == or !="
            raise self.wrong(f"{first.kind} has no {SIGNS.get(type(op), 'such comparison')!r}: {hint}")

    def holder(self, left: ast.expr, right: ast.expr, depth: int) -> _Part:
        """What `in` looks into: a text, a column of names, or a list written out."""
        wanted = self.part(left, depth + 1)
        if isinstance(right, (ast.List, ast.Tuple, ast.Set)):
            items = [self.of_kind(item, wanted.kind, depth) for item in right.elts]
            return _Part("names", _joined(tuple, [item.values for item in items]) if items else _same(()))
        inside = self.part(right, depth + 1)
        if wanted.kind != "text" or inside.kind not in ("text", "names"):
            told = f"{self.shown(left)!r} is {wanted.kind}, {self.shown(right)!r} is {inside.kind}"
            raise self.wrong(f"{told}: 'in' looks for a text in a text or in marks, or for anything in a list")
        return inside


def _answer(node: ast.expr, part: _Part, beside: _Part) -> _Part:
    """The part, or a yes or no where the text "yes" or "no" stands beside one."""
    said = ANSWERS.get(str(node.value)) if isinstance(node, ast.Constant) and beside.kind == "yes or no" else None
    return part if said is None else _Part("yes or no", _same(said))


def _one_form(text: str) -> str:
    """The text in NFC, so that a letter typed in one piece finds one written in two."""
    return unicodedata.normalize("NFC", text)


def _same(value: Any) -> Values:
    return lambda table, rows: [value] * len(rows)


def _negative(part: _Part) -> Values:
    return lambda table, rows: [None if one is None else -one for one in part.values(table, rows)]


def _joined(whole: Callable[[Iterable[Any]], Any], parts: list[Values]) -> Values:
    return lambda table, rows: list(map(whole, zip(*(values(table, rows) for values in parts), strict=True)))


def _both(act: Callable[[Any, Any], Any], first: _Part, second: _Part) -> Values:
    def values(table: Table, rows: range) -> list[Any]:
        a, b = first.values(table, rows), second.values(table, rows)
        if None in a or None in b:
            return [None if x is None or y is None else act(x, y) for x, y in zip(a, b, strict=True)]
        return list(map(act, a, b))

    return values

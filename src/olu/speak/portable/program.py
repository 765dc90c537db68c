"""A voice's reading as a program: the functions it can reach, translated, and the objects they work on, as JSON.

It starts at one object and the methods that are asked of it. Every function that these can reach is translated; of
every object only the attributes that some function names are kept. So the program follows the Python code by itself.
"""

from __future__ import annotations

import ast
import base64
import builtins
import dataclasses
import functools
import inspect
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from types import FunctionType, MethodDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

from olu.core.errors import ExportError, OluError
from olu.speak.portable.patterns import portable
from olu.speak.portable.translate import NotPortable, Translator, literal

DUNDERS = ("__call__", "__iter__", "__len__", "__getitem__", "__contains__")
SPECIAL = ("__init__", "__post_init__")
CacheWrapper = type(functools.lru_cache(lambda: None))


class Program:
    """`natives`: functions of Python that the runtime has by hand, by id; `tabulated`: the arguments of cached ones."""

    def __init__(
        self,
        natives: Mapping[Any, str],
        *,
        tabulated: Mapping[Any, Iterable[tuple[Any, ...]]],
        left_out: Iterable[str] = (),
    ) -> None:
        self._natives = dict(natives)
        self._tabulated = {id(function): (function, list(rows)) for function, rows in tabulated.items()}
        self._left_out = frozenset(left_out)
        self.attributes: set[str] = set()  # every name that stands behind a point in a function
        self.functions: dict[str, str] = {}  # by their name in JavaScript
        self.classes: dict[str, type] = {}
        self.refused: dict[str, str] = {}  # functions that cannot be translated, and why
        self._methods: dict[tuple[str, str], str] = {}
        self._patterns: dict[tuple[str, int], int] = {}
        self._written_patterns: list[dict[str, Any]] = []
        self._globals: dict[str, Any] = {}
        self._nodes: dict[str, Any] = {}
        self._heap: list[Any] = []
        self._seen: dict[int, int] = {}
        self._alive: list[Any] = []

    def build(self, root: Any, methods: Iterable[str], *, beside: Mapping[str, Any]) -> dict[str, Any]:
        """The program's parts: `code` and `heap`. `beside`: what the runtime's own functions ask for, by name."""
        self.attributes |= set(methods)
        self._globals.update(beside)
        while True:
            before = (
                len(self.attributes),
                len(self.functions),
                len(self.classes),
                len(self._globals),
                len(self._methods),
            )
            self._heap, self._seen, self._alive = [], {}, []
            top = self._value(root)
            held = {name: self._value(value) for name, value in list(self._globals.items())}
            for cls in list(self.classes.values()):
                self._class_methods(cls)
            after = (
                len(self.attributes),
                len(self.functions),
                len(self.classes),
                len(self._globals),
                len(self._methods),
            )
            if after == before:
                break
        return {
            "code": self._code(),
            "heap": {"root": top, "globals": held, "objects": self._heap, "patterns": self._written_patterns},
        }

    # ---- objects

    def _value(self, value: Any) -> Any:
        if value is None or (isinstance(value, bool | str | float) and type(value) in (bool, str, float, type(None))):
            return value
        if isinstance(value, str):
            return str(value)
        if isinstance(value, int | np.integer):
            number = int(value)
            return number if abs(number) < 2**53 else {"i": str(number)}
        if isinstance(value, float | np.floating):
            return float(value)
        if isinstance(value, tuple) and not hasattr(value, "_fields"):
            return {"t": [self._value(one) for one in value]}
        if isinstance(value, re.Pattern):
            return {"p": self.pattern(value)}
        if isinstance(value, bytes):
            return {"x": "bytes"}
        known = self._seen.get(id(value))
        if known is None:
            known = self._seen[id(value)] = len(self._heap)
            self._alive.append(value)
            self._heap.append(None)
            self._heap[known] = self._object(value)
        return {"r": known}

    def _object(self, value: Any) -> Any:
        if isinstance(value, list):
            return {"l": [self._value(one) for one in value]}
        if isinstance(value, Counter):
            return {"c": [[self._value(key), self._value(one)] for key, one in value.items()]}
        if isinstance(value, Mapping):
            return {"d": [[self._value(key), self._value(one)] for key, one in value.items()]}
        if isinstance(value, set | frozenset):
            return {"s": [self._value(one) for one in sorted(value, key=repr)]}
        if isinstance(value, range):
            return {"l": list(value)}
        if isinstance(value, np.ndarray):
            return {
                "a": str(value.dtype),
                "n": list(value.shape),
                "b": base64.b64encode(value.tobytes()).decode("ascii"),
            }
        if isinstance(value, Fraction):
            raise ExportError("a reading holds a fraction as a constant, which cannot be written down yet")
        if isinstance(value, CacheWrapper):
            return self._function(value)
        if isinstance(value, MethodType):
            self.attributes.add(value.__name__)
            return {"m": [self._value(value.__self__), value.__name__]}
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, type):
            return {"k": self._class(value)}
        return self._instance(value)

    def _function(self, function: Any) -> Any:
        if function in self._natives:
            return {"f": self._natives[function]}
        if isinstance(function, CacheWrapper) and isinstance(function.__wrapped__, MethodType):
            return self._object(function.__wrapped__)
        plain = inspect.unwrap(function)
        if plain.__closure__:
            name = self._add_function(plain)
            cells = zip(plain.__code__.co_freevars, plain.__closure__, strict=True)
            return {"f": name, "x": {free: self._value(cell.cell_contents) for free, cell in cells}}
        return {"f": self._add_function(plain)}

    def _instance(self, value: Any) -> Any:
        cls = type(value)
        if cls.__module__.split(".")[0] != "olu":
            return {"x": f"{cls.__module__}.{cls.__qualname__}"}
        name = self._class(cls)
        own = set(getattr(value, "__dict__", ())) | {
            one for base in cls.__mro__ for one in getattr(base, "__slots__", ())
        }
        held = {one: self._value(getattr(value, one)) for one in sorted(own & self.attributes) if hasattr(value, one)}
        return {"o": name, "f": held}

    def pattern(self, pattern: re.Pattern[str]) -> int:
        key = (pattern.pattern, pattern.flags)
        if key not in self._patterns:
            self._patterns[key] = len(self._written_patterns)
            self._written_patterns.append(portable(pattern))
        return self._patterns[key]

    # ---- functions and classes

    def _named(self, thing: Any, line: int = 0) -> str:
        name = f"{thing.__module__.removeprefix('olu.')}.{thing.__qualname__}"
        return re.sub(r"\W+", "_", name.replace("<locals>", "in").replace("<lambda>", f"lambda{line}"))

    def _add_function(self, function: FunctionType) -> str:
        code = function.__code__
        place = code.co_firstlineno if function.__name__ == "<lambda>" else 0
        column = _column(code) if place else 0
        name = self._named(function, place * 1000 + column if place else 0)
        if name in self.functions:
            return name
        self.functions[name] = ""  # it may call itself
        node = self._node(function)
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        home = cells.pop("__class__", None)  # of a method that calls super()
        free = tuple(cells)
        try:
            made = self._translator(function.__globals__, free)
            made.home = f"C.{self._class(home.cell_contents)}" if home else ""
            text = made.function(node, name=name)
        except NotPortable as what:
            self.refused[name] = str(what)
            told = f"{function.__module__}.{function.__qualname__}"
            text = f"function {name}() {{ $.missing({literal(told)}, {literal(str(what))}); }}"
        if free:
            text = f"({', '.join(free)}) => ({text})"
        self.functions[name] = text
        return name

    def _translator(self, names: Mapping[str, Any], free: Iterable[str]) -> Translator:
        def pattern(node: ast.Call) -> str:
            return f"$.pattern({self.pattern(_constant_pattern(node, names))})"

        return Translator(lambda node: self._resolve(node, names), pattern, free)

    def _node(self, function: FunctionType) -> ast.FunctionDef | ast.Lambda:
        code = function.__code__
        if code.co_filename not in self._nodes:
            source = Path(code.co_filename).read_text(encoding="utf-8")
            self._nodes[code.co_filename] = list(ast.walk(ast.parse(source)))
        found = [node for node in self._nodes[code.co_filename] if _begins(node, function)]
        if len(found) > 1:
            found = [node for node in found if isinstance(node, ast.Lambda) and node.body.col_offset == _column(code)]
        if len(found) == 1:
            self._names_in(found[0])
            (node,) = found
            assert isinstance(node, ast.FunctionDef | ast.Lambda)
            return node
        raise ExportError(
            f"the source of {function.__module__}.{function.__qualname__} is not there: it is needed here"
        )

    def _names_in(self, node: ast.AST) -> None:
        self.attributes |= {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}

    def _class(self, cls: type) -> str:
        name = self._named(cls)
        if name not in self.classes:
            self.classes[name] = cls
            for base in cls.__mro__[1:]:
                if base.__module__.split(".")[0] == "olu" and not issubclass(base, Exception):
                    self._class(base)
        return name

    def _class_methods(self, cls: type) -> None:
        name = self._named(cls)
        wanted = {*self.attributes, *DUNDERS}
        if not dataclasses.is_dataclass(cls):
            wanted |= {"__init__"} if name in self._made_classes else set()
        for attribute, found in list(vars(cls).items()):
            if attribute not in wanted or (name, attribute) in self._methods:
                continue
            if isinstance(found, staticmethod | classmethod):
                self._methods[name, attribute] = f"static {self._add_function(inspect.unwrap(found.__func__))}"
            elif isinstance(found, property):
                assert isinstance(found.fget, FunctionType)
                self._methods[name, attribute] = f"get {self._add_function(found.fget)}"
            elif (isinstance(found, FunctionType) and not attribute.startswith("__")) or (
                attribute in wanted and isinstance(found, FunctionType)
            ):
                native = self._natives.get(found)
                self._methods[name, attribute] = f"method {native or self._add_function(found)}"

    _made_classes: frozenset[str] = frozenset()

    # ---- names that a function takes from outside

    def _resolve(self, node: ast.expr, names: Mapping[str, Any]) -> str | None:
        path: list[str] = []
        inner = node
        while isinstance(inner, ast.Attribute):
            path.insert(0, inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name):
            return None
        if inner.id in names:
            found = names[inner.id]
        elif hasattr(builtins, inner.id):
            found = getattr(builtins, inner.id)
        else:
            return None
        home = inner.id
        for one in path:
            if not isinstance(found, ModuleType | type):
                return None  # an attribute of an object: found when it runs
            if not hasattr(found, one):
                return None
            home = f"{getattr(found, '__name__', home)}.{one}"
            found = getattr(found, one)
        return self._outside(found, home, names)

    def _outside(self, found: Any, home: str, names: Mapping[str, Any]) -> str | None:
        if callable(found) and found in self._natives:
            return str(self._natives[found])
        if isinstance(found, MethodDescriptorType):
            return f"$.method({literal(found.__name__)})"
        if isinstance(found, ModuleType):
            return None
        if found is None or (isinstance(found, str | bool | int | float) and type(found) in (str, bool, int, float)):
            return literal(found) if not isinstance(found, int) or abs(found) < 2**53 else f"{found}n"
        if id(found) in self._tabulated:
            return self._table(found)
        if isinstance(found, CacheWrapper) and not inspect.signature(found).parameters:
            return f"(() => {self._global(self._named(found.__wrapped__), found())})"
        if isinstance(found, CacheWrapper | FunctionType):
            plain = inspect.unwrap(found)
            if plain.__module__.split(".")[0] != "olu" or plain.__name__ in self._left_out:
                raise NotPortable(f"{plain.__module__}.{plain.__qualname__}")
            return self._add_function(plain)
        if isinstance(found, type):
            if issubclass(found, BaseException):
                return f"$.exception({literal(found.__name__)}, {literal(issubclass(found, OluError))})"
            if found.__module__.split(".")[0] != "olu":
                raise NotPortable(f"{found.__module__}.{found.__qualname__}")
            return f"C.{self._class(found)}"
        module = names.get("__name__", "")
        return self._global(re.sub(r"\W+", "_", f"{module}_{home}".removeprefix("olu.")), found)

    def _global(self, name: str, value: Any) -> str:
        self._globals[name] = value
        return f"G.{name}"

    def _table(self, function: Any) -> str:
        """A cached function whose arguments are all known: its results, by them."""
        _, rows = self._tabulated[id(function)]
        name = self._named(inspect.unwrap(function))
        return f"$.table({literal(name)}, {self._global(name, {row: function(*row) for row in rows})})"

    # ---- the text of the program

    def _code(self) -> str:
        lines = []
        for name, cls in sorted(self.classes.items(), key=lambda one: len(one[1].__mro__)):
            bases = [self._named(b) for b in cls.__mro__[1:] if self._named(b) in self.classes]
            fields = _fields(cls, self) if dataclasses.is_dataclass(cls) else "null"
            plain = {
                key: value
                for key, value in vars(cls).items()
                if key in self.attributes and isinstance(value, str | int | float | bool)
            }
            lines.append(
                f"C.{name} = $.cls({literal(cls.__name__)}, {'C.' + bases[0] if bases else 'null'}, {fields});"
            )
            lines += [f"C.{name}.prototype.{key} = {literal(value)};" for key, value in plain.items()]
        for name, text in self.functions.items():
            lines.append(text if text.startswith("function") else f"const {name} = {text};")
        for (name, attribute), how in self._methods.items():
            kind, _, function = how.partition(" ")
            verb = {"static": "static_", "get": "getter", "method": "methodOn"}[kind]
            lines.append(f"$.{verb}(C.{name}, {literal(attribute)}, {function});")
        natives = {name for name in self._natives.values() if "re." not in name}
        listed = ", ".join(f"{literal(name)}: {name}" for name in (*self.functions, *sorted(natives)))
        lines.append(f"Object.assign(F, {{{listed}}});")
        return "\n".join(lines)


def _begins(node: ast.AST, function: FunctionType) -> bool:
    line = function.__code__.co_firstlineno
    if isinstance(node, ast.Lambda):
        return function.__name__ == "<lambda>" and node.lineno == line
    if not isinstance(node, ast.FunctionDef) or node.name != function.__name__:
        return False
    return min([node.lineno, *(one.lineno for one in node.decorator_list)]) == line


def _constant_pattern(node: ast.Call, names: Mapping[str, Any]) -> re.Pattern[str]:
    """The pattern of a call such as re.sub(r"\\s+", " ", text): written there, or made of constants of its module."""
    flags = [one.value for one in node.keywords if one.arg == "flags"]
    place = {"sub": 4}.get(getattr(node.func, "attr", ""), 2)
    if getattr(node.func, "attr", "") == "compile":
        place = 1
    flags += node.args[place : place + 1]
    try:
        source = eval(ast.unparse(node.args[0]), dict(names))
        chosen = eval(ast.unparse(flags[0]), dict(names)) if flags else 0
    except NameError:
        raise NotPortable("a pattern that is made while it reads") from None
    return re.compile(source, chosen)


def _column(code: Any) -> int:
    """Where the body of a lambda begins on its line."""
    lines = [(line, column) for line, _, column, _ in code.co_positions() if line is not None and column is not None]
    real = [column for line, column in lines if line == code.co_firstlineno and column > 0]
    return min(real, default=0)


def _tuple(value: tuple[Any, ...]) -> str:
    inner = ", ".join(_tuple(one) if isinstance(one, tuple) else literal(one) for one in value)
    return f"$.tuple([{inner}])"


def _fields(cls: type, program: Program) -> str:
    """The fields of a dataclass with their defaults, for its constructor."""
    rows = []
    factories: dict[Any, str] = {
        list: "[]",
        dict: "new $.Dict()",
        Counter: "new $.Counter()",
        set: "$.py.set()",
        frozenset: "$.py.set()",
    }
    for one in dataclasses.fields(cls):
        if one.default_factory is not dataclasses.MISSING:
            made = factories.get(one.default_factory)
            default = f"() => {made}" if made else "null"
        elif one.default is not dataclasses.MISSING:
            plain = one.default
            if isinstance(plain, tuple):
                default = f"() => {_tuple(plain)}"
            elif isinstance(plain, frozenset) and not plain:
                default = "() => $.py.set()"
            else:
                default = f"() => {literal(plain)}"
        else:
            default = "null"
        rows.append(f"[{literal(one.name)}, {default}, {literal(bool(one.kw_only))}]")
    return f"[{', '.join(rows)}]"

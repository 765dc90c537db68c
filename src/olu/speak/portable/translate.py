"""Functions of Python as functions of JavaScript: the part of the language that our reading is written in.

What Python means is kept by calls into `runtime.js` (`$`): code points, whole numbers of any size, truth, equality, and
order. A construct that is not here becomes a refusal by name where it would be reached, never another meaning.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable, Sequence

COMPARED = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
OPERATORS = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.BitOr: "bitor",
    ast.BitAnd: "bitand",
    ast.BitXor: "bitxor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
}
RESERVED = frozenset(
    [
        "arguments",
        "await",
        "case",
        "catch",
        "class",
        "const",
        "debugger",
        "default",
        "delete",
        "do",
        "enum",
        "eval",
        "export",
        "extends",
        "false",
        "function",
        "import",
        "instanceof",
        "interface",
        "let",
        "new",
        "null",
        "package",
        "private",
        "protected",
        "public",
        "static",
        "super",
        "switch",
        "this",
        "throw",
        "true",
        "typeof",
        "var",
        "void",
        "with",
        "yield",
    ]
)
Resolve = Callable[[ast.expr], str | None]  # what a name outside the function is called in JavaScript


class NotPortable(Exception):
    """What cannot be said in JavaScript, in a few words."""


def literal(value: str | float | bool | None) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def name_of(name: str) -> str:
    return f"{name}_" if name in RESERVED else name


class _Scope:
    """The names of one function: its own, and those it was made with."""

    def __init__(self, own: set[str]) -> None:
        self.own, self.temporary = own, 0
        self.declared: list[str] = []

    def fresh(self) -> str:
        self.temporary += 1
        self.declared.append(f"t{self.temporary}$")
        return self.declared[-1]


def bound_names(node: ast.AST) -> set[str]:
    """Names that a function assigns, inner functions left out; comprehensions have names of their own."""
    found: set[str] = set()

    def visit(one: ast.AST, inside: bool) -> None:
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store | ast.Del) and not inside:
            found.add(one.id)
        elif isinstance(one, ast.NamedExpr):
            found.add(one.target.id)
            visit(one.value, inside)
            return
        elif isinstance(one, ast.FunctionDef) and one is not node:
            found.add(one.name)
            return
        elif isinstance(one, ast.Lambda) and one is not node:
            return
        elif isinstance(one, ast.ExceptHandler) and one.name:
            found.add(one.name)
        inner = inside or isinstance(one, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp)
        for child in ast.iter_child_nodes(one):
            visit(child, inner)

    visit(node, False)
    return found


def parameters(node: ast.FunctionDef | ast.Lambda) -> list[str]:
    args = node.args
    named = [one.arg for one in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    return named + [one.arg for one in (args.vararg, args.kwarg) if one]


class Translator:
    """One function. `resolve` says what names and attributes from outside are called."""

    def __init__(self, resolve: Resolve, pattern: Callable[[ast.Call], str], free: Iterable[str] = ()) -> None:
        self._resolve, self._pattern = resolve, pattern
        self.home = ""  # the class that a method which calls super() stands in
        self._scopes: list[_Scope] = [_Scope(set(free))]

    def function(self, node: ast.FunctionDef | ast.Lambda, *, name: str = "") -> str:
        """The function as an expression of JavaScript."""
        names = parameters(node)
        scope = _Scope(bound_names(node) | set(names))
        inner = len(self._scopes) > 1  # defaults of an inner function are of the moment it is made
        defaults = self._defaults(node)
        self._scopes.append(scope)
        head = self._head(node, [(one, f"d{at}$" if inner else value) for at, (one, value) in enumerate(defaults)])
        is_lambda = isinstance(node, ast.Lambda)
        body = f"return {self.value(node.body)};" if is_lambda else self.block(node.body)  # type: ignore[arg-type]
        self._scopes.pop()
        local = sorted(name_of(one) for one in scope.own - set(names))
        declared = [*local, *scope.declared]
        let = f"let {', '.join(declared)};\n" if declared else ""
        star = "*" if isinstance(node, ast.FunctionDef) and _yields(node) else ""
        listed = ", ".join(map(name_of, names))
        made = f"function{star} {name}({listed}) {{\n{let}{head}{body}\n}}"
        if not defaults or not inner:
            return made
        kept = ", ".join(f"d{at}$" for at in range(len(defaults)))
        return f"(({kept}) => {made})({', '.join(value for _, value in defaults)})"

    def _defaults(self, node: ast.FunctionDef | ast.Lambda) -> list[tuple[str, str]]:
        args = node.args
        positional = [*args.posonlyargs, *args.args]
        pairs: list[tuple[ast.arg, ast.expr | None]] = []
        if args.defaults:
            pairs += zip(positional[-len(args.defaults) :], args.defaults, strict=True)
        pairs += zip(args.kwonlyargs, args.kw_defaults, strict=True)
        return [(arg.arg, self.value(value)) for arg, value in pairs if value is not None]

    def _head(self, node: ast.FunctionDef | ast.Lambda, defaults: Sequence[tuple[str, str]]) -> str:
        """Arguments by name are taken out of the last one."""
        args = node.args
        named = [one.arg for one in (*args.posonlyargs, *args.args)]
        only = [one.arg for one in args.kwonlyargs]
        if not (args.vararg or args.kwarg or only or defaults or len(named) > 1 or isinstance(node, ast.FunctionDef)):
            return ""
        every = [*named, *only]
        more = [name_of(one.arg) if one else "null" for one in (args.vararg, args.kwarg)]
        if args.vararg or args.kwarg:
            targets = [*map(name_of, every), *(one for one in more if one != "null")]
            flags = f"{literal(len(named))}, {literal(bool(args.vararg))}, {literal(bool(args.kwarg))}"
            text = f"[{', '.join(targets)}] = $.bind(arguments, {json.dumps(every)}, {flags});\n"
        elif every:
            listed = ", ".join(map(name_of, every))
            bound = f"$.bind(arguments, {json.dumps(every)}, {len(named)}, false, false)"
            text = f"if ($.named(arguments)) [{listed}] = {bound};\n"
        else:
            text = ""
        for one, value in defaults:
            text += f"if ({name_of(one)} === undefined) {name_of(one)} = {value};\n"
        return text

    # ---- statements

    def block(self, body: Sequence[ast.stmt]) -> str:
        return "\n".join(self.statement(one) for one in body)

    def statement(self, node: ast.stmt) -> str:
        made = getattr(self, f"_do_{type(node).__name__}", None)
        if made is None:
            raise NotPortable(f"a statement {type(node).__name__}")
        return str(made(node))

    def _do_Expr(self, node: ast.Expr) -> str:
        if isinstance(node.value, ast.Constant):
            return ""
        return f"{self.value(node.value)};"

    def _do_Pass(self, node: ast.Pass) -> str:
        return ";"

    def _do_Break(self, node: ast.Break) -> str:
        return "break;"

    def _do_Continue(self, node: ast.Continue) -> str:
        return "continue;"

    def _do_Return(self, node: ast.Return) -> str:
        return f"return {self.value(node.value) if node.value else 'null'};"

    def _do_Assert(self, node: ast.Assert) -> str:
        return f"if (!{self.test(node.test)}) $.fail('AssertionError', '');"

    def _do_Assign(self, node: ast.Assign) -> str:
        value = self.value(node.value)
        if len(node.targets) == 1:
            return self.assign(node.targets[0], value)
        kept = self._scopes[-1].fresh()
        return f"{kept} = {value};\n" + "\n".join(self.assign(one, kept) for one in node.targets)

    def _do_AnnAssign(self, node: ast.AnnAssign) -> str:
        return self.assign(node.target, self.value(node.value)) if node.value is not None else ""

    def _do_AugAssign(self, node: ast.AugAssign) -> str:
        name = OPERATORS.get(type(node.op))
        if name is None:
            raise NotPortable(f"the operator {type(node.op).__name__}")
        value = self.value(node.value)
        name = f"i{name}" if name in ("add", "bitor", "sub", "bitand") else name
        if isinstance(node.target, ast.Subscript):
            held, at = self._scopes[-1].fresh(), self._scopes[-1].fresh()
            first = f"{held} = {self.value(node.target.value)}; {at} = {self.value(node.target.slice)};\n"
            return f"{first}$.set({held}, {at}, $.{name}($.get({held}, {at}), {value}));"
        before = self.value(_loaded(node.target))
        return self.assign(node.target, f"$.{name}({before}, {value})")

    def assign(self, target: ast.expr, value: str) -> str:
        if isinstance(target, ast.Name):
            return f"{name_of(target.id)} = {value};"
        if isinstance(target, ast.Attribute):
            return f"{self.value(target.value)}.{target.attr} = {value};"
        if isinstance(target, ast.Subscript):
            return f"$.set({self.value(target.value)}, {self.index(target.slice)}, {value});"
        if isinstance(target, ast.Tuple | ast.List):
            kept = self._scopes[-1].fresh()
            star = next((at for at, one in enumerate(target.elts) if isinstance(one, ast.Starred)), -1)
            lines = [f"{kept} = $.unpack({value}, {len(target.elts)}, {star});"]
            for at, one in enumerate(target.elts):
                inner = one.value if isinstance(one, ast.Starred) else one
                lines.append(self.assign(inner, f"{kept}[{at}]"))
            return "\n".join(lines)
        raise NotPortable(f"an assignment to {type(target).__name__}")

    def _do_Delete(self, node: ast.Delete) -> str:
        lines = []
        for one in node.targets:
            if not isinstance(one, ast.Subscript):
                raise NotPortable("del of a name")
            lines.append(f"$.del({self.value(one.value)}, {self.index(one.slice)});")
        return "\n".join(lines)

    def _do_If(self, node: ast.If) -> str:
        text = f"if ({self.test(node.test)}) {{\n{self.block(node.body)}\n}}"
        return f"{text} else {{\n{self.block(node.orelse)}\n}}" if node.orelse else text

    def _do_While(self, node: ast.While) -> str:
        if node.orelse:
            raise NotPortable("while with else")
        return f"while ({self.test(node.test)}) {{\n{self.block(node.body)}\n}}"

    def _do_For(self, node: ast.For) -> str:
        if node.orelse:
            raise NotPortable("for with else")
        item = self._scopes[-1].fresh()
        given = self.assign(node.target, item)
        return f"for ({item} of {self.value(node.iter)}) {{\n{given}\n{self.block(node.body)}\n}}"

    def _do_Raise(self, node: ast.Raise) -> str:
        if node.exc is None:
            return "throw error$;"
        return f"$.raise({self.value(node.exc)});"

    def _do_Try(self, node: ast.Try) -> str:
        if node.orelse:
            raise NotPortable("try with else")
        text = f"try {{\n{self.block(node.body)}\n}}"
        if node.handlers:
            ways = ""
            for one in node.handlers:
                kinds = _exception_names(one.type)
                given = f"{name_of(one.name)} = error$;\n" if one.name else ""
                ways += f"if ($.caught(error$, {json.dumps(kinds)})) {{\n{given}{self.block(one.body)}\n}} else "
            text += f" catch (error$) {{\n{ways}throw error$;\n}}"
        return f"{text} finally {{\n{self.block(node.finalbody)}\n}}" if node.finalbody else text

    def _do_FunctionDef(self, node: ast.FunctionDef) -> str:
        return f"{name_of(node.name)} = {self.function(node)};"

    # ---- values

    def value(self, node: ast.expr) -> str:
        made = getattr(self, f"_get_{type(node).__name__}", None)
        if made is None:
            raise NotPortable(f"an expression {type(node).__name__}")
        return str(made(node))

    def _get_Constant(self, node: ast.Constant) -> str:
        if node.value is None or isinstance(node.value, bool | str | float):
            return literal(node.value)
        if isinstance(node.value, int):
            return str(node.value) if abs(node.value) < 2**53 else f"{node.value}n"
        raise NotPortable(f"the constant {node.value!r:.40}")

    def _get_Name(self, node: ast.Name) -> str:
        if any(node.id in scope.own for scope in self._scopes):
            return name_of(node.id)
        found = self._resolve(node)
        if found is None:
            raise NotPortable(f"the name {node.id}")
        return found

    def _is_local(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and any(node.id in scope.own for scope in self._scopes)

    def _get_Attribute(self, node: ast.Attribute) -> str:
        if not self._is_local(node.value) and (found := self._resolve(node)) is not None:
            return found
        return f"$.attr({self.value(node.value)}, {literal(node.attr)})"

    def _get_Subscript(self, node: ast.Subscript) -> str:
        if isinstance(node.slice, ast.Slice):
            parts = (node.slice.lower, node.slice.upper, node.slice.step)
            listed = ", ".join("null" if one is None else self.value(one) for one in parts)
            return f"$.slice({self.value(node.value)}, {listed})"
        if isinstance(node.value, ast.Name) and node.value.id == "list" and not self._is_local(node.value):
            return self.value(node.value)  # list[str]()
        if isinstance(node.value, ast.Name) and node.value.id == "Counter" and not self._is_local(node.value):
            return self.value(node.value)
        return f"$.get({self.value(node.value)}, {self.index(node.slice)})"

    def index(self, node: ast.expr) -> str:
        if isinstance(node, ast.Slice):
            parts = (node.lower, node.upper, node.step)
            return f"new $.Slice({', '.join('null' if one is None else self.value(one) for one in parts)})"
        return self.value(node)

    def _items(self, nodes: Sequence[ast.expr]) -> str:
        return ", ".join(f"...{self.value(n.value)}" if isinstance(n, ast.Starred) else self.value(n) for n in nodes)

    def _get_Tuple(self, node: ast.Tuple) -> str:
        return f"$.tuple([{self._items(node.elts)}])"

    def _get_List(self, node: ast.List) -> str:
        return f"[{self._items(node.elts)}]"

    def _get_Set(self, node: ast.Set) -> str:
        return f"$.py.set([{self._items(node.elts)}])"

    def _get_Dict(self, node: ast.Dict) -> str:
        rows = []
        for key, value in zip(node.keys, node.values, strict=True):
            rows.append(
                f"...$.items({self.value(value)})" if key is None else f"[{self.value(key)}, {self.value(value)}]"
            )
        return f"new $.Dict([{', '.join(rows)}])"

    def _get_JoinedStr(self, node: ast.JoinedStr) -> str:
        parts = [self.value(one) for one in node.values]
        return f"({' + '.join(parts)})" if parts else '""'

    def _get_FormattedValue(self, node: ast.FormattedValue) -> str:
        value = self.value(node.value)
        spec = self.value(node.format_spec) if node.format_spec else '""'
        if node.conversion == -1 and not node.format_spec:
            return f"$.str({value})"
        return f"$.format({value}, {literal(chr(node.conversion) if node.conversion != -1 else '')}, {spec})"

    def _get_NamedExpr(self, node: ast.NamedExpr) -> str:
        return f"({name_of(node.target.id)} = {self.value(node.value)})"

    def _get_IfExp(self, node: ast.IfExp) -> str:
        return f"({self.test(node.test)} ? {self.value(node.body)} : {self.value(node.orelse)})"

    def _get_Lambda(self, node: ast.Lambda) -> str:
        return f"({self.function(node)})"

    def _get_UnaryOp(self, node: ast.UnaryOp) -> str:
        if isinstance(node.op, ast.Not):
            return f"!{self.test(node.operand)}"
        if isinstance(node.op, ast.USub):
            return f"$.neg({self.value(node.operand)})"
        raise NotPortable(f"the operator {type(node.op).__name__}")

    def _get_BinOp(self, node: ast.BinOp) -> str:
        name = OPERATORS.get(type(node.op))
        if name is None:
            raise NotPortable(f"the operator {type(node.op).__name__}")
        return f"$.{name}({self.value(node.left)}, {self.value(node.right)})"

    def _get_BoolOp(self, node: ast.BoolOp) -> str:
        made = self.value(node.values[-1])
        for one in reversed(node.values[:-1]):
            kept = self._scopes[-1].fresh()
            test = f"$.t({kept} = {self.value(one)})"
            made = f"({test} ? {kept} : {made})" if isinstance(node.op, ast.Or) else f"({test} ? {made} : {kept})"
        return made

    def test(self, node: ast.expr) -> str:
        """As a boolean of JavaScript."""
        if isinstance(node, ast.BoolOp):
            sign = " || " if isinstance(node.op, ast.Or) else " && "
            return f"({sign.join(self.test(one) for one in node.values)})"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"!{self.test(node.operand)}"
        if isinstance(node, ast.Compare):
            return self.value(node)
        return f"$.t({self.value(node)})"

    def _get_Compare(self, node: ast.Compare) -> str:
        if len(node.ops) == 1:
            return self._compared(node.ops[0], self.value(node.left), self.value(node.comparators[0]), node)
        parts, left = [], self.value(node.left)
        for at, (sign, one) in enumerate(zip(node.ops, node.comparators, strict=True)):
            right = self.value(one)
            if at + 1 < len(node.ops):
                kept = self._scopes[-1].fresh()
                parts.append(self._compared(sign, left, f"({kept} = {right})", node))
                left = kept
            else:
                parts.append(self._compared(sign, left, right, node))
        return f"({' && '.join(parts)})"

    def _compared(self, sign: ast.cmpop, left: str, right: str, node: ast.Compare) -> str:
        if isinstance(sign, ast.Is):
            return f"({left} === {right})"
        if isinstance(sign, ast.IsNot):
            return f"({left} !== {right})"
        if isinstance(sign, ast.Eq):
            return f"$.eq({left}, {right})"
        if isinstance(sign, ast.NotEq):
            return f"!$.eq({left}, {right})"
        if isinstance(sign, ast.In):
            return f"$.has({right}, {left})"
        if isinstance(sign, ast.NotIn):
            return f"!$.has({right}, {left})"
        return f"$.{COMPARED[type(sign)]}({left}, {right})"

    def _get_Call(self, node: ast.Call) -> str:
        given = [f"...{self.value(n.value)}" if isinstance(n, ast.Starred) else self.value(n) for n in node.args]
        if node.keywords:
            rows = [
                f"...$.named_items({self.value(one.value)})"
                if one.arg is None
                else f"{one.arg}: {self.value(one.value)}"
                for one in node.keywords
            ]
            given.append(f"new $.Named({{{', '.join(rows)}}})")
        listed = ", ".join(given)
        called = node.func
        if isinstance(called, ast.Attribute):
            if _is_super(called.value):
                return f"$.above({self.home}, {literal(called.attr)}).call(self{', ' + listed if listed else ''})"
            found = None if self._is_local(called.value) else self._resolve(called)
            if found is not None and found.startswith("$.re."):  # by a pattern that is known before anything is read
                rest = "".join(f", {self.value(one)}" for one in node.args[1 : 3 if found == "$.re.sub" else 2])
                held = self._pattern(node)
                return held if found == "$.re.compile" else f'$.call({held}, "{found[5:]}"{rest})'
            if found is not None:
                return f"$.invoke({found}, {listed})" if found.startswith("G.") else f"{found}({listed})"
            more = f", {listed}" if listed else ""
            return f"$.call({self.value(called.value)}, {literal(called.attr)}{more})"
        made = self.value(called)
        more = f", {listed}" if listed else ""
        direct = (
            isinstance(called, ast.Name | ast.Subscript)
            and not self._is_local(called)
            and not made.startswith(("G.", "$.get"))
        )
        return f"{made}({listed})" if direct else f"$.invoke({made}{more})"

    def _get_Yield(self, node: ast.Yield) -> str:
        return f"(yield {self.value(node.value) if node.value else 'null'})"

    def _get_YieldFrom(self, node: ast.YieldFrom) -> str:
        return f"(yield* {self.value(node.value)})"

    def _get_Starred(self, node: ast.Starred) -> str:
        raise NotPortable("a star here")

    # ---- comprehensions

    def _get_GeneratorExp(self, node: ast.GeneratorExp) -> str:
        return self._comprehension(node.generators, lambda: f"yield {self.value(node.elt)};")

    def _get_ListComp(self, node: ast.ListComp) -> str:
        return f"[...{self._comprehension(node.generators, lambda: f'yield {self.value(node.elt)};')}]"

    def _get_SetComp(self, node: ast.SetComp) -> str:
        return f"$.py.set({self._comprehension(node.generators, lambda: f'yield {self.value(node.elt)};')})"

    def _get_DictComp(self, node: ast.DictComp) -> str:
        made = self._comprehension(
            node.generators, lambda: f"yield [{self.value(node.key)}, {self.value(node.value)}];"
        )
        return f"new $.Dict({made})"

    def _comprehension(self, generators: Sequence[ast.comprehension], last: Callable[[], str]) -> str:
        first = self.value(generators[0].iter)
        own = {one.id for g in generators for one in ast.walk(g.target) if isinstance(one, ast.Name)}
        scope = _Scope(own)
        self._scopes.append(scope)
        text, closing = "", ""
        for at, one in enumerate(generators):
            item = scope.fresh()
            source = "it$" if at == 0 else self.value(one.iter)
            text += f"for ({item} of {source}) {{ {self.assign(one.target, item)} "
            for test in one.ifs:
                text += f"if (!{self.test(test)}) continue; "
            closing += "}"
        text += last() + closing
        self._scopes.pop()
        declared = [*sorted(map(name_of, own)), *scope.declared]
        return f"(function* (it$) {{ let {', '.join(declared)}; {text} }})({first})"


def _loaded(node: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(node), mode="eval").body


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _yields(node: ast.FunctionDef) -> bool:
    def visit(one: ast.AST) -> bool:
        if isinstance(one, ast.Yield | ast.YieldFrom):
            return True
        if isinstance(one, ast.FunctionDef | ast.Lambda | ast.GeneratorExp | ast.ListComp) and one is not node:
            return False
        return any(map(visit, ast.iter_child_nodes(one)))

    return visit(node)


def _exception_names(node: ast.expr | None) -> list[str]:
    if node is None:
        return ["Exception"]
    if isinstance(node, ast.Tuple):
        return [name for one in node.elts for name in _exception_names(one)]
    return [node.id] if isinstance(node, ast.Name) else [node.attr] if isinstance(node, ast.Attribute) else ["?"]

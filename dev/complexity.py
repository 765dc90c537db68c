"""`python dev/complexity.py`: functions that branch too often. Part of `make lint`.

Counted are branches, loops, handlers, boolean operators, conditional expressions, comprehensions and their conditions,
each once. A function inside another counts by itself.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1] / "src" / "olu"
MOST = 25
KNOWN: dict[str, int] = {  # still above it: none of them may grow, and whoever cuts one takes it off this list
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BRANCHES = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.comprehension, ast.match_case)


def complexity(function: ast.AST) -> int:
    total, todo = 1, list(ast.iter_child_nodes(function))
    while todo:
        node = todo.pop()
        if isinstance(node, FUNCTIONS):
            continue
        total += isinstance(node, BRANCHES)
        total += len(node.values) - 1 if isinstance(node, ast.BoolOp) else 0
        total += len(node.ifs) if isinstance(node, ast.comprehension) else 0
        todo += ast.iter_child_nodes(node)
    return total


def functions(node: ast.AST, inside: str = "") -> Iterator[tuple[str, int]]:
    for child in ast.iter_child_nodes(node):
        name = f"{inside}.{child.name}".strip(".") if isinstance(child, (*FUNCTIONS, ast.ClassDef)) else inside
        if isinstance(child, FUNCTIONS):
            yield name, complexity(child)
        yield from functions(child, name)


def main() -> int:
    counted = {
        f"{path.relative_to(ROOT).as_posix()}:{name}": count
        for path in sorted(ROOT.rglob("*.py"))
        for name, count in functions(ast.parse(path.read_text(encoding="utf-8")))
    }
    wrong = [
        f"{name} has a complexity of {count}, at most {max(MOST, KNOWN.get(name, 0))}: split it"
        for name, count in counted.items()
        if count > max(MOST, KNOWN.get(name, 0))
    ]
    wrong += [
        f"{name} is down to {counted.get(name, 0)}: change it in KNOWN"
        for name, most in KNOWN.items()
        if counted.get(name, 0) < most
    ]
    if "--all" in sys.argv:
        sys.stdout.write(
            "".join(f"{count} {name}\n" for name, count in sorted(counted.items(), key=lambda x: -x[1]) if count >= 15)
        )
    sys.stderr.write("".join(f"{line}\n" for line in wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

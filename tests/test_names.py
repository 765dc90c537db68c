"""One class name, one meaning in the whole tree."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import olu

ROOT = Path(olu.__file__).parent


def test_a_class_name_stands_for_one_thing() -> None:
    homes = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(path.relative_to(ROOT).as_posix())
    assert len(homes) > 400  # else this test looks at nothing
    assert not {name: files for name, files in homes.items() if len(files) > 1}

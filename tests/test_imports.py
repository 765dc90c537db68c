"""Which way imports point: the rules of docs/architecture.md, read off the code itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import get_args

import olu
from olu.train.family import Kind

ROOT = Path(olu.__file__).parent

# The data's path, top to bottom. A package imports from its own line and from those before it.
ORDER = (
    ("core",),
    ("audio", "pages", "web"),
    ("networks",),
    ("corpus",),
    ("text", "languages"),
    ("speak",),
    ("features",),
    ("nn",),
    ("align",),
    ("audit",),
    ("train",),
    ("families",),
    ("evaluate",),
    ("export",),
    ("serve",),
    ("stages",),
    ("studio",),
    ("cli",),
)
LEVEL = {name: level for level, names in enumerate(ORDER) for name in names}
TOP = ("__init__", "__main__", "api")  # the public names, imported on use, and the script

# Designed exceptions: (file, module) -> the reason.
DOWNWARD = {
    ("export/package.py", "olu.speak.voice"): "a package is heard before it is handed out",
    ("core/types.py", "olu.audio.sink"): "a sound can be saved by whoever holds it; imported on use",
}
LEAVES = {
    ("cli/progress.py", "olu.train.view.history"): "how fast a run goes, from the reports its stage yields",
}
CLI_MAY = ("cli", "stages", "core", "text")
SPEAK_MAY_NOT = ("train", "corpus")
TORCH_AT_THE_TOP = ("train/", "align/", "export/", "features/mel.py", "nn/", "stages/train")


@dataclass(frozen=True)
class Import:
    file: str  # from the package's root, with forward slashes
    line: int
    module: str  # "olu.audio.io", "torch"
    at_top: bool  # runs when the file is imported

    @property
    def package(self) -> str:
        return self.file.split("/")[0].removesuffix(".py")

    @property
    def target(self) -> str:
        """The package of ours that is imported, or nothing."""
        parts = self.module.split(".")
        return parts[1] if parts[0] == "olu" and len(parts) > 1 else ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.module}"


def _nodes(tree: ast.AST, *, at_top: bool = True) -> Iterator[tuple[ast.stmt, bool]]:
    """Every import and whether it runs at import time; what stands under TYPE_CHECKING does not count."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for other in node.orelse:
                yield from _nodes(ast.Module([other], []), at_top=at_top)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield node, at_top
        else:
            inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _nodes(node, at_top=at_top and not inside)


def _modules(node: ast.stmt, file: str) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    assert isinstance(node, ast.ImportFrom)
    assert node.level == 0, f"{file}:{node.lineno}: write imports in full"
    module = str(node.module)
    if module.split(".")[0] != "olu":
        return [module]
    inside = [f"{module}.{alias.name}" for alias in node.names]  # from olu.stages import audit
    return list(dict.fromkeys(one if _file_of(one) or _is_folder(one) else module for one in inside))


@cache
def _is_folder(module: str) -> bool:
    return ROOT.joinpath(*module.split(".")[1:]).is_dir()


@cache
def _file_of(module: str) -> str:
    """The file of a module of ours, from the package's root; nothing where it has none."""
    path = ROOT.joinpath(*module.split(".")[1:])
    found = next((one for one in (path.with_suffix(".py"), path / "__init__.py") if one.is_file()), None)
    return found.relative_to(ROOT).as_posix() if found else ""


@cache
def imports() -> list[Import]:
    """Every import of ours; looked for when a test asks, since every worker opens this file."""
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        for node, at_top in _nodes(ast.parse(path.read_text(encoding="utf-8"))):
            found += [Import(file, node.lineno, module, at_top) for module in _modules(node, file)]
    return found


def test_every_package_has_its_place():
    there = {path.name.removesuffix(".py") for path in ROOT.iterdir() if path.suffix == ".py" or path.is_dir()}
    unknown = there - set(LEVEL) - set(TOP) - {"py.typed", "__pycache__", "voices"}  # data
    assert not unknown, f"add {sorted(unknown)} to ORDER, here and in docs/architecture.md"
    assert len(imports()) > 200  # else this test looks at nothing


def test_imports_point_up_only():
    wrong = [
        str(one)
        for one in imports()
        if one.target in LEVEL
        and one.package in LEVEL
        and LEVEL[one.target] > LEVEL[one.package]
        and (one.file, one.module) not in DOWNWARD
    ]
    assert not wrong, wrong


def test_the_core_imports_itself_alone():
    wrong = [
        str(one)
        for one in imports()
        if one.package in ORDER[0]
        and one.target
        and one.target not in ORDER[0]
        and (one.at_top or (one.file, one.module) not in DOWNWARD)
    ]
    assert not wrong, wrong


def test_the_engine_names_no_family_and_families_do_not_know_each_other():
    families = [path.name for path in (ROOT / "families").iterdir() if (path / "__init__.py").exists()]
    assert families
    wrong = [str(one) for one in imports() if one.package == "train" and one.target == "families"]
    for one in imports():
        home, to = one.file.split("/"), one.module.split(".")
        if home[0] == "families" and len(home) > 2 and to[:2] == ["olu", "families"] and to[2:3] != [home[1]]:
            wrong.append(str(one))
    assert not wrong, wrong
    for path in (ROOT / "train").rglob("*.py"):
        named = {node.value for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if _is_word(node)}
        allowed = {"vits"} if path.name == "recipe.py" else set()  # the default a person may leave out
        allowed |= set(get_args(Kind))  # a kind of family may have the name of one
        assert not named & set(families) - allowed, f"{path} names a family"


def _is_word(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_speaking_needs_no_training_no_corpus_and_no_torch():
    wrong = [
        str(one)
        for one in imports()
        if one.package in ("speak", "serve") and (one.target in SPEAK_MAY_NOT or one.module.split(".")[0] == "torch")
    ]
    assert not wrong, wrong
    # nor through what it imports
    seen, todo = set(), ["speak/voice.py"]
    while todo:
        file = todo.pop()
        seen.add(file)
        for one in imports():
            if one.file == file and one.at_top:
                assert one.module.split(".")[0] != "torch", one
                assert one.target not in SPEAK_MAY_NOT, one
                next_file = one.module.removeprefix("olu.").replace(".", "/") + ".py"
                todo += [next_file] if one.target and (ROOT / next_file).exists() and next_file not in seen else []
    assert len(seen) > 4


def test_the_command_line_is_a_leaf_over_the_stages():
    wrong = [
        str(one)
        for one in imports()
        if one.package == "cli" and one.target and one.target not in CLI_MAY and (one.file, one.module) not in LEAVES
    ]
    assert not wrong, wrong
    above = [str(one) for one in imports() if one.target == "cli" and one.package not in ("cli", *TOP)]
    assert not above, above


def test_torch_is_imported_on_use():
    wrong = [
        str(one)
        for one in imports()
        if one.at_top and one.module.split(".")[0] == "torch" and not one.file.startswith(TORCH_AT_THE_TOP)
        if not _inside_a_family(one.file)
    ]
    assert not wrong, wrong


def _inside_a_family(file: str) -> bool:
    home, *inside = file.split("/")
    return home == "families" and len(inside) > 1 and inside[-1] not in ("__init__.py", "core/config.py")


def test_a_language_is_named_in_its_own_folder_alone():
    """Adding one touches that folder: what others ask of it stands in its language.toml and traits.toml."""
    codes = {path.parent.name for path in (ROOT / "languages").glob("[a-z]*/language.toml")}
    assert len(codes) >= 5
    named = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted(ROOT.rglob("*.py"))
        if path.relative_to(ROOT).parts[0] != "languages"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in codes
    ]
    imported = [str(one) for one in imports() if one.target == "languages" and one.package != "languages"]
    assert not named + imported


def test_no_exception_outlives_its_cause():
    there = {(one.file, one.module) for one in imports()}
    gone = [key for key in (*DOWNWARD, *LEAVES) if key not in there]
    assert not gone, f"these exceptions are not needed any more: {gone}"


def _cycles(reached: dict[str, set[str]]) -> list[list[str]]:
    """The groups of files that reach each other (strongly connected components, after Tarjan)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(file: str) -> None:
        number[file] = lowest[file] = len(number)
        stack.append(file)
        for other in sorted(reached.get(file, ())):
            if other not in number:
                visit(other)
            if other in stack:
                lowest[file] = min(lowest[file], lowest[other])
        if lowest[file] == number[file]:
            group = stack[stack.index(file) :]
            del stack[stack.index(file) :]
            if len(group) > 1 or file in reached.get(file, ()):
                found.append(sorted(group))

    for file in sorted(reached):
        if file not in number:
            visit(file)
    return found


def test_cycles_are_found() -> None:
    assert _cycles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": set()}) == [["a", "b", "c"]]
    assert _cycles({"a": {"b", "c"}, "b": {"c"}}) == []


def test_no_module_imports_itself_by_way_of_others_not_even_inside_a_function() -> None:
    """Families and languages that are imported by name are not seen, nor are the designed exceptions."""
    reached: dict[str, set[str]] = {}
    for one in imports():
        file = _file_of(one.module) if one.target and (one.file, one.module) not in DOWNWARD else ""
        if file and "__init__.py" not in (one.file, file):
            reached.setdefault(one.file, set()).add(file)
    assert sum(map(len, reached.values())) > 1000  # else this test looks at nothing
    assert not _cycles(reached)


def _packages(file: str) -> list[str]:
    """The __init__.py of every folder above a file: they run before it does."""
    return [f"{folder}/__init__.py" for folder in Path(file).parents if str(folder) != "."]


def test_every_module_can_be_imported_first() -> None:
    """What runs when it is imported, the packages above it included, never comes back to it unfinished."""
    reached: dict[str, set[str]] = {}
    for one in imports():
        file = _file_of(one.module) if one.target and one.at_top else ""
        begun = {one.file, *_packages(one.file)}  # run before the import does
        reached.setdefault(one.file, set()).update({file, *_packages(file)} - begun if file else ())
    assert not _cycles(reached)

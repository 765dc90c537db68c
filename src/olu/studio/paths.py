"""Every path that a job is given, and those in files it reads: real, links followed, inside the roots or refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from olu.core.errors import ConfigError, OluError, WorkspaceError
from olu.core.files import EMBEDDED, Workspace
from olu.core.options import Parameter, Verb
from olu.core.parse import BadData, load_json, load_toml
from olu.core.places import ID
from olu.studio.roots import Roots
from olu.studio.verbs import known_parameters
from olu.studio.words import t

HUB = "hf:"
READING = "reading.toml"
OUTSIDE = (
    "{name} uses {path}, which lies outside the folders of this studio: if that is right,"
    " start it as 'olu studio {more}'"
)
LIES_IN = ("lexicon", "restorer", "reader")  # of reading.toml


def checked(verb: Verb, options: Mapping[str, Any], *, roots: Roots, ws: Workspace | None) -> dict[str, Any]:
    """The options of a job with every path whole. A workspace's own place is filled in."""
    given = {name: value for name, value in options.items() if value not in (None, "")}
    known = known_parameters(verb)
    if verb.workspace and ws is not None and verb.workspace not in given:
        given[verb.workspace] = str(ws.root)
    for name, value in given.items():
        one = known.get(name)
        if one is None:
            continue
        if _is_path(one):
            given[name] = _each(value, lambda text, one=one: _path(one, text, roots, ws))
        elif name == "language" and isinstance(value, str) and ("/" in value or "\\" in value):
            given[name] = str(roots.inside(value))  # a language may be a folder
    if verb.name == "read" and "language" not in given and "what" in given:
        given["what"] = str(roots.inside(str(given["what"])))
    if verb.name == "pack" and "output" not in given and ws is not None:
        given["output"] = str(_pack_place(roots, ws))
    if ws is not None:
        check_workspace(ws, roots)
    for name in ("recipe", "from_hf_vits"):
        if name in given:
            check_file(Path(given[name]), roots)
    return given


def _is_path(one: Parameter) -> bool:
    return one.said.role is not None


def _each(value: Any, make: Any) -> Any:
    return [make(one) for one in value] if isinstance(value, list | tuple) else make(value)


def _path(one: Parameter, text: Any, roots: Roots, ws: Workspace | None) -> Any:
    if not isinstance(text, str):
        return text  # which the declaration refuses, in its own words
    if text == "-":
        raise ConfigError(t("the option {name}: name a file; nothing can be piped here", name=repr(one.name)))
    if one.said.hub and (text == EMBEDDED or text.startswith(HUB)):
        return text
    if one.said.role == "output" and not Path(text).is_absolute():
        if ".." in Path(text).parts:
            raise WorkspaceError(t("{text} leads out of the job's folder: name a file in it", text=text[:200]))
        return text  # into the job's own folder, from where it can be fetched
    beside = ws.root if ws is not None and (ws.root / text).exists() else roots.folders[0]
    if one.said.hub and not (beside / text).exists() and ID.fullmatch(text) and ".." not in text:
        return text
    return str(roots.inside(beside / text))


def _pack_place(roots: Roots, ws: Workspace) -> Path:
    """A pack must lie outside of its workspace."""
    folder = roots.own / "packs"
    folder.mkdir(parents=True, exist_ok=True)
    names = (f"{ws.name}{'' if number == 1 else f'-{number}'}.tar" for number in range(1, 10_000))
    return next(folder / name for name in names if not (folder / name).exists())


def check_workspace(ws: Workspace, roots: Roots) -> None:
    """Where the files of a workspace say that something lies: its recordings, its lexicon."""
    for path in _places(ws):
        try:
            roots.inside(path)
        except OluError:
            more = " ".join(map(str, (*roots.folders, path if path.is_dir() else path.parent)))
            raise WorkspaceError(t(OUTSIDE, name=ws.name, path=path, more=more)) from None


def _places(ws: Workspace) -> Iterator[Path]:
    for row in _read(load_json, ws.corpus / "sources.json") or ():
        if isinstance(row, dict) and isinstance(row.get("root"), str) and not row["root"].startswith(HUB):
            yield ws.root / row["root"]
    held = _read(load_toml, ws.root / READING)
    for name in LIES_IN:
        if isinstance(held, dict) and isinstance(held.get(name), str):
            yield ws.root / held[name]


def check_file(path: Path, roots: Roots) -> None:
    """A recipe or a config of finetune-hf-vits: no value of it is a path that leads out."""
    held = _read(load_json if path.suffix == ".json" else load_toml, path)
    for text in _strings(held):
        if "/" in text and "\0" not in text and len(text) < 4096:
            place = path.parent / text
            if _is_there(place):
                roots.inside(place)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _read(load: Any, path: Path) -> Any:
    try:
        return load(path)
    except (BadData, OSError):
        return None  # what is wrong with it the verb says

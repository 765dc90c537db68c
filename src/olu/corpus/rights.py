"""Whose recordings these are: licence, credits, and whether people's own words on a consent come to a yes."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from olu.core.config import did_you_mean, read_toml
from olu.core.errors import WorkspaceError
from olu.core.files import Workspace, read_json, write_json, write_text
from olu.core.parse import from_toml, load_toml
from olu.core.rows import corrupt_file, schema_error
from olu.core.workspace_lock import writing

NOT_STATED = "not stated"
Answer = Literal["yes", "no", "unclear", ""]  # nothing: nothing was said

# What people write of a consent, in many languages.
_WORDS = load_toml(Path(__file__).with_name("consent.toml"))


def _pattern(*words: str) -> str:
    joined = "|".join(words).replace("\n", "")
    return joined.replace("{refusal}", _WORDS["refusal"]).replace("{nobody}", _WORDS["nobody"])


ALONE = re.compile(rf"\W*({_pattern(_WORDS['alone'])})\W*")
NO_REFUSAL = re.compile(rf"(?<!\w)({_pattern(_WORDS['no_refusal'])})(?!\w)")
NO = re.compile(rf"(?<!\w)({_pattern(*_WORDS['no'].values())})(?!\w)")
YES = re.compile(rf"(?<!\w)({_pattern(_WORDS['yes'])})(?!\w)")
DOUBT = re.compile(rf"(?<!\w)({_pattern(_WORDS['doubt'])})")
YEAR = re.compile(r"(?<!\d)(1[0-9]|20)\d\d(?!\d)")  # who and when: the question it answers is who agreed


@dataclass(frozen=True)
class Rights:
    """What people said of recordings; nothing where they did not."""

    licence: str = ""  # SPDX, such as CC-BY-4.0, or a text
    consent: str = ""  # who agreed, when, to what
    agreed: str = ""  # yes or no; nothing: the words of the consent tell
    credits: str = ""
    source: str = ""  # where the recordings come from

    def over(self, other: Rights) -> Rights:
        """These rights, with the other's where nothing was said; a yes or no goes with its own words."""
        open_ = {name: value for name, value in asdict(other).items() if not getattr(self, name)}
        if self.consent:
            open_.pop("agreed", None)
        return replace(self, **open_)

    @property
    def answer(self) -> Answer:
        """Whether the speakers agreed."""
        said: dict[str, Answer] = {"yes": "yes", "no": "no"}
        return said.get(self.agreed) or answer(self.consent)

    @staticmethod
    def of(values: Mapping[str, Any], *, where: str) -> Rights:
        known = [field.name for field in fields(Rights)]
        for key, value in values.items():
            if key not in known:
                raise WorkspaceError(
                    f"{where}: unknown key {key!r}{did_you_mean(key, known)}; known: {', '.join(known)}"
                )
            if key == "agreed" and value not in (True, False, "yes", "no", "", NOT_STATED):
                raise WorkspaceError(f"{where}: agreed must be true or false (got {value!r})")
            if not isinstance(value, str) and key != "agreed":
                raise WorkspaceError(f"{where}: {key} must be a text (got {value!r})")
        words = {True: "yes", False: "no"}
        values = {key: words[value] if isinstance(value, bool) else value for key, value in values.items()}
        given = {key: "" if value.strip().lower() == NOT_STATED else value.strip() for key, value in values.items()}
        return Rights(**given)


def of_workspace(ws: Workspace) -> Rights:
    """[rights] of olu.toml."""
    path = ws.root / "olu.toml"
    table = read_toml(path).get("rights", {})
    if not isinstance(table, dict):
        raise WorkspaceError(f"{path}: rights must be a table: begin it with a line [rights]")
    return Rights.of(table, where=f"{path} [rights]")


def by_source(ws: Workspace) -> dict[str, Rights]:
    """What was said of each source when it was imported."""
    path = ws.corpus / "rights.json"
    held = read_json(path, shape={}) if path.exists() else {}
    for name, row in held.items():
        if fault := schema_error(row, {}):
            raise corrupt_file(path, f"{name}: {fault}")
    return {name: Rights.of(row, where=f"{path} {name}") for name, row in held.items()}


def of_sources(ws: Workspace, names: list[str]) -> dict[str, Rights]:
    """Every source with what holds for it: its own words, else the workspace's."""
    whole, own = of_workspace(ws), by_source(ws)
    return {name: own.get(name, Rights()).over(whole) for name in names}


def moved_rights(ws: Workspace, names: Iterable[str]) -> Rights:
    """What was said of sources whose recordings lie together elsewhere now: all of it holds."""
    held = by_source(ws)
    own = [held[name] for name in sorted(names) if name in held]
    said = {
        field.name: dict.fromkeys(filter(None, (getattr(one, field.name) for one in own))) for field in fields(Rights)
    }
    return Rights(**{name: (" AND " if name == "licence" else "; ").join(values) for name, values in said.items()})


def save_source(ws: Workspace, name: str, rights: Rights) -> None:
    """Write what was said of a source; what is not said again stays, as do other sources."""
    if rights == Rights():
        return
    with writing(ws):
        held = by_source(ws)
        made = rights.over(held.get(name, Rights()))
        if made != held.get(name):
            write_json(ws.corpus / "rights.json", {key: asdict(one) for key, one in {**held, name: made}.items()})


def save_workspace(ws: Workspace, rights: Rights) -> None:
    """A [rights] table at the end of olu.toml, of a workspace that has none."""
    path = ws.root / "olu.toml"
    said = {name: value for name, value in asdict(rights).items() if value or name != "agreed"}
    lines = [f"{name} = {json.dumps(value or NOT_STATED, ensure_ascii=False)}" for name, value in said.items()]
    write_text(path, path.read_text(encoding="utf-8") + "\n[rights]\n" + "\n".join(lines) + "\n")


def change_workspace(ws: Workspace, rights: Rights) -> None:
    """Other words in [rights] of olu.toml, in the place of those that stand there; the rest of it stays as it is."""
    path = ws.root / "olu.toml"
    with writing(ws):
        before = path.read_text(encoding="utf-8")
        kept, inside = list[str](), False
        for line in before.splitlines(keepends=True):
            if line.lstrip().startswith("["):
                inside = line.split("#")[0].strip() == "[rights]"
            kept += [] if inside else [line]
        rest = "".join(kept).rstrip("\n") + "\n"
        if from_toml(rest) != {name: value for name, value in from_toml(before).items() if name != "rights"}:
            raise WorkspaceError(
                f"{path} is written in a way that its [rights] cannot be changed here: edit it by hand"
            )
        write_text(path, rest)
        try:
            save_workspace(ws, rights)
            of_workspace(ws)
        except BaseException:
            write_text(path, before)
            raise


def answer(words: str) -> Answer:
    """Yes, no or unclear from a person's words: a no is never taken for a yes."""
    plain = _plain(words)
    if not plain:
        return ""
    rest, unrefused = NO_REFUSAL.subn(" ", plain)
    if ALONE.fullmatch(plain) or NO.search(rest):
        return "no"
    if unrefused or DOUBT.search(plain):
        return "unclear"
    return "yes" if YES.search(plain) or YEAR.search(plain) else "unclear"


def _plain(words: str) -> str:
    """Small letters without their marks, straight apostrophes, single spaces."""
    apart = unicodedata.normalize("NFKD", words.casefold().replace("’", "'"))
    return " ".join("".join(letter for letter in apart if not unicodedata.combining(letter)).split())

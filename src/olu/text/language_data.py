"""A language's folder as data: its files, its dialect and its options. What travels in a voice package."""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from olu.core.config import check, did_you_mean, parse_toml
from olu.core.errors import LanguageError
from olu.text.languages import LanguageFile

RETIRED = ("sample",)  # keys of language.toml that voices made earlier carry, and that mean nothing any more


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """The files by name, and what was chosen among the options that language.toml offers."""

    code: str
    files: Mapping[str, bytes]
    facts: LanguageFile
    dialect: str | None
    options: Mapping[str, str] = field(default_factory=dict)
    lexicon: Mapping[str, str] = field(default_factory=dict)  # a person's own words: spelling -> phones with spaces

    @staticmethod
    def of(
        files: Mapping[str, bytes],
        *,
        dialect: str | None = None,
        options: Mapping[str, str] | None = None,
        lexicon: Mapping[str, str] | None = None,
        where: str = "this language",
        retired: Collection[str] = (),
    ) -> Pack:
        written = parse_toml(files["language.toml"].decode("utf-8"))
        facts = check(LanguageFile, _without(written, retired), where=f"{where}/language.toml")
        chosen = {name: offered.default for name, offered in facts.options.items()}
        for name, value in (options or {}).items():
            if name not in facts.options:
                hint = did_you_mean(name, facts.options) or f"; it has {', '.join(facts.options) or 'none'}"
                raise LanguageError(f"{facts.name} has no option {name!r}{hint}")
            if value not in facts.options[name].choices:
                choices = ", ".join(facts.options[name].choices)
                raise LanguageError(f"{name} = {value!r} is not one of {choices}: choose one of these")
            chosen[name] = value
        if dialect is not None and dialect not in facts.dialects:
            known = ", ".join(facts.dialects) or "none"
            raise LanguageError(f"{facts.name} has no dialect {dialect!r}: it has {known}")
        spoken = dialect or (facts.dialects[0] if facts.dialects else None)
        return Pack(code=facts.code, files=files, facts=facts, dialect=spoken, options=chosen, lexicon=lexicon or {})

    def text(self, name: str) -> str:
        """A file's text; nothing where the folder has no such file."""
        return self.files.get(name, b"").decode("utf-8").removeprefix("\ufeff")

    def rows(self, name: str, *, cells: int = 1) -> list[list[str]]:
        """The rows of a .tsv, without comments and empty lines; each has `cells` cells or more."""
        found = []
        for number, line in enumerate(self.text(name).split("\n"), 1):
            if line.strip() and not line.startswith("#"):
                found.append(line.rstrip("\r").split("\t"))
                if len(found[-1]) < cells:
                    raise LanguageError(f"{self.code}/{name} line {number}: {cells} cells with tabs between are needed")
        return found

    def toml(self, name: str) -> dict[str, Any]:
        return parse_toml(self.text(name))

    @property
    def force(self) -> frozenset[str]:
        """What `@name` in the rules may say: the dialect, and options as name=value."""
        chosen = {f"{name}={value}" for name, value in self.options.items()}
        return frozenset(chosen | ({self.dialect} if self.dialect else set()))

    def state(self) -> dict[str, Any]:
        files = {}
        for name, data in self.files.items():
            try:
                files[name] = data.decode("utf-8")
            except UnicodeDecodeError:
                files[name] = {"base64": base64.b64encode(data).decode("ascii")}  # type: ignore[assignment]
        return {
            "files": files,
            "dialect": self.dialect,
            "options": dict(self.options),
            "lexicon": dict(self.lexicon),
        }

    @staticmethod
    def from_state(state: dict[str, Any]) -> Pack:
        files = {name: _bytes(data) for name, data in state["files"].items()}
        chosen = {name: state[name] for name in ("dialect", "options", "lexicon")}
        return Pack.of(files, **chosen, retired=RETIRED)


def _without(written: Mapping[str, Any], retired: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in written.items() if name not in retired}


def _bytes(data: Any) -> bytes:
    if isinstance(data, bytes):
        return data
    return base64.b64decode(data["base64"]) if isinstance(data, dict) else str(data).encode("utf-8")

"""What comes with Olu: languages and families."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from olu.core.told import Remedy, TextTable, Told
from olu.families import FAMILIES, family
from olu.stages.verbs.machine import FamiliesOptions, LanguagesOptions
from olu.text.languages import Language, available, load
from olu.train.family import Family

UNKNOWN_SCRIPT = "Zyyy"  # ISO 15924: no script is known of the language
OTHERS = "Any other language works too, by its ISO 639-3 code: its text is read character by character."


@dataclass(frozen=True)
class LanguageList:
    languages: list[Language]

    def row(self, options: LanguagesOptions) -> dict[str, Any]:
        return {"languages": [_row(one) for one in self.languages], "others": OTHERS}

    def sentences(self, options: LanguagesOptions) -> Iterator[Told]:
        columns = ["code", "name", "native", "reads", "dialects", "measured"]
        yield TextTable(columns, [_cells(one) for one in self.languages])
        yield OTHERS
        yield f"More on one of them: {Remedy('languages', ('CODE',))}"


@dataclass(frozen=True)
class LanguageFacts:
    language: Language

    def row(self, options: LanguagesOptions) -> dict[str, Any]:
        return _row(self.language)

    def sentences(self, options: LanguagesOptions) -> Iterator[Told]:
        one = self.language
        script = f", script {one.script}" if one.script != UNKNOWN_SCRIPT else ""
        yield f"{one.code}  {one.name} ({one.native}){script}, read as {_row(one)['reads']}"
        if one.dialects:
            yield f"dialects: {', '.join(one.dialects)} (the first is taken unless --dialect says otherwise)"
        if one.options:
            cells = [[name, o.default, ", ".join(o.choices), o.help] for name, o in one.options.items()]
            yield TextTable(
                ["name", "default", "choices", "what it does"], cells, title="options (--option NAME=VALUE)"
            )
        if one.accuracy:
            said = {True: "yes", False: "no"}
            rows = [[a.set, str(a.rows), _what(a.measure), f"{a.value:g} %", said[a.seen]] for a in one.accuracy]
            yield TextTable(
                ["set", "rows", "measure", "value", "rules written with it in view"], rows, title="measured"
            )
        if one.folder is None:
            yield OTHERS


def run_languages(options: LanguagesOptions) -> LanguageList | LanguageFacts:
    """`olu languages`"""
    return LanguageList(list(available())) if options.code is None else LanguageFacts(load(options.code))


def _cells(one: Language) -> list[str]:
    best = one.accuracy[0] if one.accuracy else None
    measured = f"{_what(best.measure)} {best.value:g} % ({best.set})" if best else "-"
    return [one.code, one.name, one.native, _row(one)["reads"], " ".join(one.dialects) or "-", measured]


def _what(measure: str) -> str:
    """What was measured, in words; its unit stands behind the value."""
    return measure.removesuffix(", %")


def _row(one: Language) -> dict[str, Any]:
    folder = one.folder
    return {
        "code": one.code,
        "name": one.name,
        "native": one.native,
        "script": one.script,
        "reads": "phones" if one.reading.pronounce else "characters",
        "numbers": bool(folder and (folder / "numbers.toml").is_file()),
        "dialects": list(one.dialects),
        "options": {name: option.model_dump() for name, option in one.options.items()},
        "accuracy": [row.model_dump() for row in one.accuracy],
    }


@dataclass(frozen=True)
class FamilyList:
    families: list[Family]

    def row(self, options: FamiliesOptions) -> dict[str, Any]:
        return {
            one.name: {"summary": one.summary, "settings": one.config().model_dump(mode="json")}
            for one in self.families
        }

    def sentences(self, options: FamiliesOptions) -> Iterator[Told]:
        yield TextTable(["family", "what it is"], [[one.name, one.summary] for one in self.families])


def run_families(options: FamiliesOptions) -> FamilyList:
    """`olu families`"""
    return FamilyList([family(name) for name in FAMILIES])

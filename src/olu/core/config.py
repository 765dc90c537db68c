"""Settings people write: strict models, TOML files, --set, and "did you mean"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path
from typing import Any, ClassVar, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator, model_validator

from olu.core.errors import ConfigError
from olu.core.parse import BadData, from_toml, load_toml


class Strict(BaseModel):
    """A group of settings: an unknown key is an error, and values never change after they are checked."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _true_is_no_number(cls, value: Any, info: ValidationInfo) -> Any:
        kinds = _kinds(cls.model_fields[info.field_name or ""].annotation)
        if not kinds.isdisjoint((int, float)) and bool not in kinds and _has_bool(value):
            raise ValueError("true and false are no numbers: write a number")
        return value


class Sized(Strict):
    """Settings of a network whose `size` chooses the defaults of the others; what a size leaves open is as declared."""

    sizes: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    size: str

    @model_validator(mode="before")
    @classmethod
    def _size_defaults(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        return {**cls.sizes.get(values.get("size", cls.model_fields["size"].default), {}), **values}

    def usual(self, name: str) -> Any:
        """The default of a setting in this size."""
        return self.sizes[self.size].get(name, type(self).model_fields[name].default)


def _kinds(annotation: Any) -> set[Any]:
    """Every type that an annotation names, inside and out."""
    inner = get_args(annotation)
    return set[Any]().union(*map(_kinds, inner)) if inner else {annotation}


def _has_bool(value: Any) -> bool:
    if isinstance(value, list | tuple | dict):
        return any(map(_has_bool, value.values() if isinstance(value, dict) else value))
    return isinstance(value, bool)


Settings = TypeVar("Settings", bound=Strict)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question with the known word that is nearest to `word`; nothing where none is near."""
    nearest = max(known, key=lambda one: SequenceMatcher(None, one, word).ratio(), default=None)
    if nearest is None or not get_close_matches(word, [nearest], cutoff=0.6):
        return ""
    return f"; did you mean {nearest!r}?"


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return load_toml(path)
    except FileNotFoundError:
        raise ConfigError(f"{path} is not there: check the path") from None
    except BadData as bad:
        raise ConfigError(f"{path} is not valid TOML: {bad}") from None


def parse_toml(text: str, *, where: str = "this file") -> dict[str, Any]:
    try:
        return from_toml(text)
    except BadData as bad:
        raise ConfigError(f"{where} is not valid TOML: {bad}") from None


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings under dotted names."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {prefix + key: value}
    return found


def with_overrides(values: dict[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """`values` with every "section.key=value" laid over it; values are TOML, bare words are strings."""
    result = _copy(values)
    for item in overrides:
        dotted, equals, raw = item.partition("=")
        if not equals or not dotted:
            raise ConfigError(f"--set {item!r} is not key=value: write for example --set plan.steps=500")
        *sections, key = dotted.strip().split(".")
        here = result
        for section in sections:
            here = here.setdefault(section, {})
            if not isinstance(here, dict):
                raise ConfigError(f"--set {item!r}: {section!r} is a value, not a section")
        here[key] = _value(raw.strip())
    return result


def _copy(values: dict[str, Any]) -> dict[str, Any]:
    return {key: _copy(value) if isinstance(value, dict) else value for key, value in values.items()}


def _value(raw: str) -> Any:
    try:
        return from_toml(f"value = {raw}")["value"]
    except BadData:
        return raw


def check(model: type[Settings], values: dict[str, Any], *, where: str) -> Settings:
    """`values` as settings, or one sentence that names the key and what to do."""
    try:
        return model.model_validate(values)
    except ValidationError as bad:
        raise ConfigError(_sentence(model, bad, where)) from None


def _sentence(model: type[BaseModel], bad: ValidationError, where: str) -> str:
    found = bad.errors()
    first = next((error for error in found if error["type"] == "extra_forbidden"), found[0])  # a typo explains the rest
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known = _fields(model, first["loc"][:-1])
        hint = did_you_mean(str(first["loc"][-1]), known) or f"; known here: {', '.join(sorted(known))}"
        return f"{where}: unknown key {key!r}{hint}"
    reason = first["msg"].removeprefix("Value error, ")
    got = (
        "" if isinstance(first["input"], dict) else f" (got {first['input']!r:.200})"
    )  # of a whole section it says little
    return f"{where}: {key}: {reason}{got}" if key else f"{where}: {reason}"


def _fields(model: type[BaseModel], path: Iterable[int | str]) -> list[str]:
    for part in path:
        field = model.model_fields.get(str(part))
        inner = field.annotation if field else None
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return []
        model = inner
    return list(model.model_fields)

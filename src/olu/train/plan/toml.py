"""A plan as TOML that people read and edit: above every setting the reason for it."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from typing import Any

from olu.train.plan.facts import Plan, Setting

WIDTH = 116
SECTIONS = ("data", "model", "plan", "guards")


def plan_toml(plan: Plan, *, head: Sequence[str]) -> str:
    lines = [line for text in head for line in _comment(text)]
    section = ""
    top = [one for one in plan.settings if "." not in one.key]
    inside = [one for one in plan.settings if "." in one.key]
    for one in [*top, *sorted(inside, key=lambda one: SECTIONS.index(one.key.partition(".")[0]))]:
        if (own := one.key.rpartition(".")[0]) != section:
            section = own
            lines += ["", f"[{own}]"]
        lines += _lines(one)
    return "\n".join(lines) + "\n"


def _lines(one: Setting) -> list[str]:
    return [*_comment(one.reason), f"{one.key.rpartition('.')[2]} = {_value(one.value)}"]


def _comment(text: str) -> list[str]:
    clean = "".join(letter if letter.isprintable() else " " for letter in text)
    return [f"# {line}" for line in textwrap.wrap(clean, WIDTH, break_long_words=False, break_on_hyphens=False)]


def _value(value: Any) -> str:
    if isinstance(value, dict):
        held = ", ".join(f"{json.dumps(key)} = {_value(inner)}" for key, inner in value.items())
        return f"{{ {held} }}" if held else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)

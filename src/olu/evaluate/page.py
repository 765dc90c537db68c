"""The frame of every page of an evaluation, and the pieces several of them have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from html import escape
from typing import Any

from olu.evaluate.style import POLICY, SCRIPT
from olu.evaluate.style import STYLE as OWN
from olu.pages.style import STYLE

LEVELS = {
    "pass": ("Good", "pass"),
    "warn": ("With faults", "warn"),
    "fail": ("Not good enough", "fail"),
    "unknown": ("Cannot tell", "unknown"),
}


def page(title: str, body: str, *, script: str = SCRIPT, style: str = "") -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}{OWN}{style}</style></head><body><main>{body}</main><script>{script}</script></body></html>\n"
    )


def cards(rows: Sequence[tuple[str, str]]) -> str:
    shown = "".join(
        f'<div class="card"><b>{escape(value)}</b><span>{escape(what)}</span></div>' for value, what in rows
    )
    return f'<div class="cards">{shown}</div>' if rows else ""


def tag(level: str) -> str:
    word, colour = LEVELS[level]
    return f'<span class="tag {colour}">{word}</span>'


def facts_table(facts: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><th>{escape(str(key))}</th><td>{escape(_plain(value))}</td></tr>" for key, value in facts.items()
    )
    return f'<div class="scroll"><table>{rows}</table></div>'


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_plain(inner)}" for key, inner in value.items())
    return ", ".join(map(_plain, value)) if isinstance(value, list | tuple) else str(value)


def differing(expected: str, heard: str) -> str:
    """What was heard, with what differs from the text marked; what is missing is shown as a bar."""
    parts = []
    for kind, _, _, first, last in SequenceMatcher(None, expected, heard, autojunk=False).get_opcodes():
        piece = escape(heard[first:last])
        if kind == "equal":
            parts.append(piece)
        else:
            parts.append(f"<mark>{piece or '|'}</mark>")
    return "".join(parts)

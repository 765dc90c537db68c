"""olu train --dry-run, as people see it."""

from __future__ import annotations

from typing import Any

from olu.cli.show import length, say

BYTES = ("memory_predicted", "memory_before", "memory_measured")


def tell_dry(dry: dict[str, Any]) -> None:
    for key, value in dry.items():
        name = key.replace("_", " ")
        if key in BYTES:
            say(f"{name}: {'not known here' if value is None else f'{value / 1e9:.2f} GB'}")
        elif key == "hours_expected":
            say(f"time expected: {length(3600 * value)}")
        elif isinstance(value, dict):
            say(f"{name}: {', '.join(f'{k} {_figure(v)}' for k, v in value.items()) or 'nothing'}")
        elif isinstance(value, list):
            say(f"{name}: {'; '.join(value) or 'nothing'}")
        else:
            say(f"{name}: {_figure(value)}")


def _figure(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)

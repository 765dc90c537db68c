"""Two toy voices that are no VITS: `toytokens` (a language model of codes) and `toyacoustic` with its `toyvocoder`.

They are registered through the list of families and touch nothing else of Olu.
"""

from __future__ import annotations

import pytest

from olu.families import FAMILIES

TOYS = {
    "toytokens": f"{__name__}.tokens",
    "toyvocoder": f"{__name__}.vocoder",
    "toyacoustic": f"{__name__}.acoustic",
}


def register(patch: pytest.MonkeyPatch | None = None) -> None:
    """For the rest of a test, or of a process."""
    for name, module in TOYS.items():
        if patch:
            patch.setitem(FAMILIES, name, module)
        else:
            FAMILIES[name] = module

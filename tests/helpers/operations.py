"""The operations of an OpenAPI document, each as a test: by its own way schemathesis runs one in a worker of xdist.

It is imported by the test that asks: that takes a second, and every worker opens every file of tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

if TYPE_CHECKING:
    import schemathesis

Document = dict[str, Any]
LOADED: dict[int, dict[str, Any]] = {}


def operations(document: Document) -> Any:
    """A test for each: `operation` is its name, such as GET /health."""
    found = [f"{way.upper()} {path}" for path, ways in document["paths"].items() for way in ways]
    return pytest.mark.parametrize("operation", found)


def loaded(document: Document) -> dict[str, Any]:
    import schemathesis

    if id(document) not in LOADED:
        found = (one.ok() for one in schemathesis.openapi.from_dict(document).get_all_operations())
        LOADED[id(document)] = {one.label: one for one in found}
    return LOADED[id(document)]


def ask(document: Document, operation: str, made_up: Any, answered: Callable[[schemathesis.Case], Any]) -> None:
    """Made-up requests to one of them, as many as the settings say."""

    @made_up
    @given(case=loaded(document)[operation].as_strategy())
    def asked(case: schemathesis.Case) -> None:
        answered(case)

    asked()

"""The operations of an OpenAPI document, each as a test: by its own way schemathesis runs one in a worker of xdist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import schemathesis
from hypothesis import given


def operations(schema: Any) -> Any:
    found = [one.ok() for one in schema.get_all_operations()]
    return pytest.mark.parametrize("operation", found, ids=lambda one: one.label)


def ask(operation: Any, made_up: Any, answered: Callable[[schemathesis.Case], Any]) -> None:
    """Made-up requests to one of them, as many as the settings say."""

    @made_up
    @given(case=operation.as_strategy())
    def asked(case: schemathesis.Case) -> None:
        answered(case)

    asked()

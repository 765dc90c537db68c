"""Every writing route says which verb does the same, so that nothing can be done here alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Route = TypeVar("Route", bound=Callable[..., Any])
MARK = "__olu_verb__"


def same_as(*verbs: str) -> Callable[[Route], Route]:
    """Mark a writing route with the verbs that do the same; `same_as("")` where it changes nothing of a workspace."""

    def marked(route: Route) -> Route:
        setattr(route, MARK, verbs)
        return route

    return marked

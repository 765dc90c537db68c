"""Pages from the templates beside this file: every text is escaped, and a page is one file that loads nothing."""

from __future__ import annotations

import json
import shlex
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from olu.core.words import many

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


@cache
def environment() -> Environment:
    """Jinja2 with autoescape; a name that a template asks for and nobody gave is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("olu.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {
        "fmt": format,
        "many": many,
        "quoted": shlex.quote,
        "json": partial(json.dumps, ensure_ascii=False),
    }
    return made


def render(template: str, **facts: Any) -> str:
    """A whole page."""
    return environment().get_template(template).render(**facts)


def fragment(template: str, **facts: Any) -> Markup:
    """A piece that a template may hold as it is: what came from people is escaped already."""
    from markupsafe import Markup

    return Markup(render(template, **facts))


def style_sheet() -> str:
    """The one style sheet, for what is served beside its page."""
    return render("style.css")

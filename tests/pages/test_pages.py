"""Templates and charts: what people wrote is escaped, nothing is loaded from elsewhere, a missing fact is an error."""

from __future__ import annotations

import re
from importlib.resources import files

import numpy as np
import pytest
from jinja2 import UndefinedError

from olu.pages.charts import Band, Curve, PitchCurve, chart, histogram, melodies, rate_chart
from olu.pages.render import environment, render, style_sheet

EVIL = "<script>alert('x')</script> & \"quoted\""
TEMPLATES = sorted(path.name for path in files("olu.pages").joinpath("templates").iterdir())


def test_every_template_is_found_where_the_package_lies() -> None:
    assert environment().list_templates() == TEMPLATES and {"base.html", "style.css", "run.html"} <= set(TEMPLATES)


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_compiles_loads_nothing_and_lets_nothing_through(name: str) -> None:
    environment().get_template(name)
    text = files("olu.pages").joinpath("templates", name).read_text(encoding="utf-8")
    assert not re.search(r"https?:|(?:src|href)=\"//|@import|\burl\(", text)
    assert not re.search(r"\|\s*safe\b|autoescape|innerHTML|\bon[a-z]+=\"", text), "it would not be escaped"


@pytest.mark.parametrize("name", [name for name in TEMPLATES if name.endswith(".html") and name != "base.html"])
def test_a_page_is_made_from_the_one_base(name: str) -> None:
    text = files("olu.pages").joinpath("templates", name).read_text(encoding="utf-8")
    assert '{% extends "base.html" %}' in text or name in (
        "chart.html",
        "figures.html",
        "no_figures.html",
        "parts.html",
    )
    assert "<style" not in text and "<!doctype" not in text


def test_a_fact_that_nobody_gave_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        render("run.html")


def test_the_style_sheet_has_a_dark_half_that_knows_every_colour() -> None:
    light, dark = style_sheet().split("@media (prefers-color-scheme: dark)", 1)
    named = [set(re.findall(r"--([\w-]+): #", half.split("} }", 1)[0])) for half in (light, dark)]
    assert named[0] == named[1] and len(named[0]) > 12


def test_names_in_a_chart_are_escaped() -> None:
    flat = Band([(0, 0.0, 1.0), (9, 0.0, 1.0)])
    drawn = [
        chart([Curve(EVIL, [(1, 1.0), (2, 2.0)])], label=EVIL, band=flat, marks=[(1, EVIL)]),
        rate_chart([(1e-3, 1.0), (1e-2, 2.0)], [], label=EVIL, ends=(1e-4, 1e-1), marks=[(1e-2, EVIL)]),
        histogram([1.0, 2.0], unit=EVIL),
    ]
    for one in drawn:
        assert "<script" not in one and "&lt;script&gt;" in one and 'label="' in one


def test_charts_without_figures_say_so() -> None:
    silent = PitchCurve(np.zeros(3), np.zeros(3))
    assert "No pitch was found." in melodies(None, silent, end=1.0)
    assert "No figures" in chart([], label="x") and "No figures." in rate_chart(
        [], [], label="x", ends=(1, 2), marks=[]
    )
    assert "No clip to count." in histogram([], unit="seconds")

"""What docs/serving.md names exists."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import pytest

from olu.serve.openai import SpeechRequest
from olu.serve.settings import ServeSettings

from ..helpers.servers import running

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "serving.md").read_text(encoding="utf-8")
FILES = ["../containers/serve/Containerfile", "serving/olu.service", "serving/nginx.conf"]


@pytest.mark.parametrize("name", FILES)
def test_the_page_names_the_file(name: str) -> None:
    assert f"]({name})" in PAGE and (DOCS / name).is_file()


def test_every_field_of_a_request_is_told() -> None:
    table = PAGE.split("| field | meaning |", 1)[1].split("\n\n", 1)[0]
    first = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    assert {name for row in first for name in re.findall(r"`(\w+)`", row)} == set(SpeechRequest.model_fields)


def test_every_number_and_every_address_is_there() -> None:
    with running() as here:
        shown = here.site.desk.metrics.page().decode()
        named = set(re.findall(r"`(olu_(?!pool)\w+)`", PAGE))
        assert len(named) > 6 and all(name in shown for name in named)
        known = {*here.site.schema()["paths"], "/docs", "/openapi.json", "/"}
    addresses = set(re.findall(r"http://127.0.0.1:8080(/[\w/]*)", PAGE)) - {"/v1"}
    table = PAGE.split("| address | gives |", 1)[1].split("\n\n", 1)[0]
    listed = set(re.findall(r"`(/[\w/.]*)`", table))
    assert addresses <= known and listed | {"/v1/audio/speech", "/v1/models/{model}"} == known


def test_the_unit_waits_longer_than_the_server() -> None:
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DOCS / "serving" / "olu.service")
    service = unit["Service"]
    assert float(service["TimeoutStopSec"]) > ServeSettings.model_fields["grace"].default
    assert service["KillMode"] == "mixed" and service["DynamicUser"] == "yes"

"""Requests made up from the OpenAPI document itself: nothing is a 5xx, and every answer is one that it promises."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from hypothesis import HealthCheck, settings

from olu.serve.app import build
from olu.serve.settings import ServeSettings

from ..helpers import servers as running
from ..helpers.operations import ask, operations

if TYPE_CHECKING:
    import schemathesis

SOAK = os.environ.get("OLU_SOAK") == "1"
document = build(running.Tones(), settings=ServeSettings()).schema()


def pointed() -> dict[str, Any]:
    """With a voice and a model that are there, else made-up names would never be spoken with."""
    made = copy.deepcopy(document)
    fields = made["components"]["schemas"]["SpeechRequest"]["properties"]
    fields["voice"] = {"enum": ["ada"]}
    fields["model"] = {"enum": ["olu", "tts-1"]}
    fields["speaker"] = {"enum": ["obi", None]}
    return made


fitting = pointed()
fitting["paths"] = {path: ways for path, ways in fitting["paths"].items() if path == "/v1/audio/speech"}
made_up = settings(
    max_examples=2000 if SOAK else 8, deadline=None, suppress_health_check=list(HealthCheck), database=None
)


@pytest.fixture(scope="module")
def here() -> Iterator[running.Running]:
    with running.running() as made:
        yield made


def validated(case: schemathesis.Case, here: running.Running) -> None:
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    case.call_and_validate(base_url=here.base, excluded_checks=[positive_data_acceptance])


@operations(document)
def test_the_document_holds(operation: str, here: running.Running):
    """A request may fit the document and still name a voice that is not there, so that check is left out."""
    ask(document, operation, made_up, lambda case: validated(case, here))


@operations(fitting)
def test_what_fits_is_spoken(operation: str, here: running.Running):
    """Left out too: `timings` without events fits the document and is refused."""
    ask(fitting, operation, made_up, lambda case: validated(case, here))


def test_some_of_it_was_spoken_and_nothing_was_a_fault(here: running.Running):
    page = httpx2.get(f"{here.base}/metrics").text
    rows = [row for row in page.splitlines() if row.startswith("olu_requests_total{")]
    assert any('path="/v1/audio/speech",status="200"' in row for row in rows)
    assert not any('status="5' in row for row in rows)


def test_the_document_says_what_may_happen():
    speech = document["paths"]["/v1/audio/speech"]["post"]
    assert {"200", "400", "401", "403", "404", "408", "413", "429", "503", "504"} == set(speech["responses"])
    assert "audio/mpeg" in speech["responses"]["200"]["content"]
    for ways in document["paths"].values():
        for way in ways.values():
            assert way["description"]

"""Any input to the studio's own routes is answered: a page, or one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.routing import APIRoute
from hypothesis import given, settings
from hypothesis import strategies as st

from olu.core.files import Workspace
from olu.stages.verbs import VERBS
from olu.studio import job_files

from ..helpers.studio import StudioClient

OWN = ("home", "imports", "jobs", "options", "settings")
ROUTES = [
    (route.path, method)
    for name in OWN
    for route in import_module(f"olu.studio.pages.{name}").router.routes
    if isinstance(route, APIRoute)
    for method in sorted(route.methods)
    if route.path != "/api/events"  # which streams
]
WORDS = st.one_of(
    st.sampled_from(
        ["habari", "-", "1", "0", "99999999999999999999", "..", "%00", "status", "import", "nothing", "true", "[]"]
    ),
    st.text(max_size=12),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=3)),
    max_leaves=6,
)
FIELDS = ("verb", "ws", "options", "name", "language", "root", "files", "bytes", "at_once", "agreed", "other")
QUERY = ("at", "command", "again", "door", "from", "offset", "total", "key2")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioClient]:
    root: Path = tmp_path_factory.mktemp("root")
    Workspace.create(root / "habari", language="swa")
    made = StudioClient.of(root, most_upload=1000)
    made.job("habari", "status")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job_files, "begin", lambda job, device=None: None)  # nothing is run
        yield made


@settings(max_examples=settings().max_examples * 4)
@given(data=st.data())
def test_any_input_is_answered(client: StudioClient, data: st.DataObject) -> None:
    path, method = data.draw(st.sampled_from(ROUTES))
    while "{" in path:
        before, _, rest = path.partition("{")
        _, _, after = rest.partition("}")
        path = before + quote(data.draw(WORDS).replace("/", "") or "x", safe="") + after
    asked = data.draw(st.dictionaries(st.sampled_from(QUERY), WORDS, max_size=3))
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in asked.items())
    body = data.draw(
        st.dictionaries(st.sampled_from(FIELDS), st.one_of(VALUES, st.sampled_from(list(VERBS))), max_size=5)
    )
    url = f"{path}?{query}"
    if method == "POST":
        answer = client.post(url, body)
    else:
        answer = client.ask(method, url, b"x" if method == "PUT" else b"", {"x-olu-studio": "1"})
    assert answer.status in (200, 303, 400, 404, 405, 409, 422), (method, url, answer.status)
    if answer.status >= 400 and path.startswith("/api/"):
        assert isinstance(answer.json["error"], str) and answer.json["error"]

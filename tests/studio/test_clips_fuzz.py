"""Whatever is asked of clips, audit and reading, the answer is never a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ..helpers.clip_workspaces import clip_workspace
from ..helpers.studio import StudioClient

WORDS = st.sampled_from(
    [
        "seconds",
        "marks",
        "text",
        "speaker",
        "==",
        ">",
        "in",
        "and",
        "not",
        "(",
        ")",
        '"x"',
        "3",
        "-",
        "[",
        "]",
        "\0",
        "#",
    ]
)
ANY = st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=8).map(" ".join))
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=5,
)
FIELDS = st.dictionaries(
    st.sampled_from(
        ["ids", "decision", "reason", "by", "query", "expect", "id", "text", "batch", "ws", "word", "phones"]
    ),
    st.one_of(JSON, ANY, st.sampled_from(["drop", "swa", "c1", ["c1"]])),
    max_size=5,
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioClient]:
    root = tmp_path_factory.mktemp("fuzz")
    clip_workspace(root)
    yield StudioClient.of(root)


def fine(answer: Any) -> None:
    assert answer.status < 500, answer.text
    if answer.status >= 400 and answer.headers.get("content-type") == "application/json":
        assert answer.json["error"]


@given(where=ANY, sort=ANY, at=st.one_of(ANY, st.integers()), chips=st.lists(ANY, max_size=3))
def test_any_question(client: StudioClient, where: str, sort: str, at: Any, chips: list[str]) -> None:
    asked = [("where", where), ("sort", sort), ("at", at), *zip(("check", "side", "decision"), chips, strict=False)]
    query = urlencode(asked, errors="surrogatepass")
    for url in (f"/api/w/swa/clips?{query}", f"/w/swa/clips?{query}"):
        fine(client.get(url))


@given(id=ANY, kind=st.sampled_from(["", "/sound", "/peaks", "/picture"]), part=ANY)
def test_any_clip(client: StudioClient, id: str, kind: str, part: str) -> None:
    name = quote(id, safe="", errors="surrogatepass")
    fine(client.get(f"/api/w/swa/clips/{name}{kind}"))
    fine(client.get(f"/w/swa/clips/row?id={name}"))
    header = part.encode("ascii", "ignore").decode().replace("\n", "").replace("\r", "").replace("\0", "")
    fine(client.ask("GET", "/api/w/swa/clips/c1/sound", headers={"range": f"bytes={header}"}))


@given(
    url=st.sampled_from(
        [
            "w/swa/decisions",
            "w/swa/undo",
            "w/swa/texts",
            "read",
            "w/swa/lexicon",
            "w/swa/lexicon/look",
            "w/swa/lexicon/remove",
        ]
    ),
    body=st.one_of(FIELDS, JSON),
)
def test_any_change(client: StudioClient, url: str, body: Any) -> None:
    fine(client.post(f"/api/{url}", body))

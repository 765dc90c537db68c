"""Everything a verb takes can be given in a form, and nothing can be done here that no verb does."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest
import typer.main
from fastapi.routing import APIRoute
from hypothesis import given as drawn
from hypothesis import strategies as st

from olu.cli.main import app as terminal
from olu.core.errors import ConfigError
from olu.core.options import Parameter, Verb, from_json, to_json
from olu.stages.verbs import VERBS
from olu.studio.forms import form, groups
from olu.studio.parity import MARK
from olu.studio.verbs import NO_FIELDS, NO_FORMS, argv, fields, given, shown_command

from ..helpers.studio import StudioClient

RUNNABLE = [verb for verb in VERBS.values() if verb.name not in NO_FORMS]
COMMANDS = typer.main.get_command(terminal).commands  # type: ignore[attr-defined]
TEXTS = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), min_size=1, max_size=20)


def values(one: Parameter) -> st.SearchStrategy[Any]:
    """Values that a form may send for an option."""
    if one.said.choices:
        each: st.SearchStrategy[Any] = st.sampled_from(one.said.choices)
    elif one.kind is bool:
        each = st.booleans()
    elif one.kind in (int, float):
        low = one.said.least if one.said.least is not None else -1000
        high = one.said.most if one.said.most is not None else low + 100_000
        whole = one.kind is int
        each = st.integers(int(low), int(high)) if whole else st.floats(low, high, allow_nan=False)
    elif one.kind is Path:
        each = TEXTS.map(lambda text: str(Path(text)))
    else:
        each = TEXTS
    return st.lists(each, min_size=1, max_size=3) if one.several else each


def options(verb: Verb) -> st.SearchStrategy[dict[str, Any]]:
    needed = {one.name: values(one) for one in fields(verb) if one.required or not one.said.names}
    others = {one.name: values(one) for one in fields(verb) if one.name not in needed}
    return st.fixed_dictionaries(needed, optional=others)


@drawn(st.data())
def test_options_to_words_and_back_is_the_identity(data: st.DataObject) -> None:
    verb = data.draw(st.sampled_from(RUNNABLE))
    asked = data.draw(options(verb))
    words = argv(verb, asked)
    assert words[0] == verb.name and all(isinstance(word, str) for word in words)
    back = given(verb, words[1:])
    assert back == to_json(from_json(verb.options, asked))
    assert argv(verb, {name: value for name, value in back.items() if name not in NO_FIELDS}) == words


@drawn(st.data())
def test_the_terminal_reads_the_same_words_as_the_same_options(data: st.DataObject) -> None:
    verb = data.draw(st.sampled_from(RUNNABLE))
    asked = data.draw(options(verb))
    command = COMMANDS[verb.name]
    context = command.make_context(verb.name, argv(verb, asked)[1:], resilient_parsing=False)
    wanted = to_json(from_json(verb.options, asked))
    for one in fields(verb):
        value = context.params[one.name]
        read = [str(each) if isinstance(each, Path) else each for each in value or ()] if one.several else value
        assert (str(read) if isinstance(read, Path) else read) == wanted[one.name], one.name


@pytest.mark.parametrize("verb", RUNNABLE, ids=lambda verb: verb.name)
def test_every_option_is_in_the_form_and_in_the_api(verb: Verb, client: StudioClient) -> None:
    page = client.get(f"/options/{verb.name}")
    assert page.status == 200
    names = set(re.findall(r'name="([a-z_0-9]+)"', page.text)) - {"viewport", "color-scheme"}
    assert names == {one.name for one in fields(verb)}
    for one in fields(verb):
        assert html.escape(one.said.help, quote=True).replace("&#x27;", "&#39;") in page.text.replace("&#34;", "&quot;")
    schema = next(one for one in client.get("/api/verbs").json["verbs"] if one["name"] == verb.name)["schema"]
    assert set(schema["properties"]) == {one.name for one in verb.parameters}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> StudioClient:
    return StudioClient.of(tmp_path_factory.mktemp("root"))


def test_what_is_left_out_is_left_out_by_name() -> None:
    assert set(NO_FORMS) == {"serve", "studio"} and set(NO_FIELDS) == {"as_json"}
    shown = {verb.name for _, held in groups() for verb in held}
    assert shown == {verb.name for verb in RUNNABLE}
    for verb in RUNNABLE:
        assert {one.name for one in form(verb)} == {one.name for one in verb.parameters} - set(NO_FIELDS)


def test_every_writing_route_names_the_verb_that_does_the_same(client: StudioClient) -> None:
    from importlib import import_module

    from olu.studio.app import PAGES

    writing = [
        route
        for name in PAGES
        for route in import_module(f"olu.studio.pages.{name}").router.routes
        if isinstance(route, APIRoute) and route.methods - {"GET", "HEAD"}
    ]
    assert len(writing) >= 6
    for route in writing:
        verbs = getattr(route.endpoint, MARK, None)
        assert verbs is not None, f"{route.path} says no verb: mark it with same_as"
        assert all(verb in ("*", "") or verb in VERBS for verb in verbs), (route.path, verbs)


def test_only_writing_methods_write(client: StudioClient) -> None:
    for method in ("PATCH", "OPTIONS", "TRACE"):
        assert client.ask(method, "/api/jobs", b"{}", {"x-olu-studio": "1"}).status in (403, 404, 405, 413)


def test_a_command_is_shown_as_it_would_be_typed() -> None:
    assert shown_command(["drop", "--reason=a b", "--", "ws", "x"]) == "olu drop ws x '--reason=a b'"
    assert shown_command(["drop", "--", "ws", "-x"]) == "olu drop -- ws -x"


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("olu train ws --resume", {"ws": "ws", "resume": True}),
        ("olu export ws -o x.zip --to sherpa", {"source": "ws", "output": "x.zip", "to": "sherpa"}),
        ("olu clips ws --where 'seconds > 20'", {"ws": "ws", "where": "seconds > 20"}),
        ("olu drop ws a b --reason=noise", {"ws": "ws", "ids": ["a", "b"], "reason": "noise"}),
    ],
)
def test_commands_of_sentences_are_read(command: str, wanted: dict[str, Any]) -> None:
    import shlex

    verb, *words = shlex.split(command)[1:]
    found = given(VERBS[verb], words)
    assert {name: found[name] for name in wanted} == wanted


@pytest.mark.parametrize("words", [["--nothing"], ["a", "b", "--where"], ["a", "b"], ["--limit=x"]])
def test_words_that_do_not_fit_are_refused(words: list[str]) -> None:
    with pytest.raises(ConfigError):
        given(VERBS["clips"], words)

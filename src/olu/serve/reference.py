"""The OpenAPI document as a plain page: no script, nothing loaded from elsewhere."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from html import escape
from typing import Any

from olu.pages.style import STYLE as LOOK

STYLE = LOOK + "\npre { overflow-x: auto; padding: .7rem .9rem; }\n"
GREETING = "Habari ya asubuhi."


@dataclass(frozen=True)
class SampleCall:
    """What the examples ask: of this server, as whoever reads the page reached it, and of a voice that is here."""

    base: str
    voice: str = "NAME"
    text: str = GREETING

    def curl(self) -> str:
        wish = {"input": self.text, "voice": self.voice, "response_format": "wav"}
        return (
            f"curl {shlex.quote(f'{self.base}/v1/audio/speech')} \\\n"
            '  -H "Content-Type: application/json" \\\n'
            f"  -d {shlex.quote(json.dumps(wish, ensure_ascii=False))} -o hello.wav"
        )

    def client(self) -> str:
        voice, text = (json.dumps(word, ensure_ascii=False) for word in (self.voice, self.text))
        return f"""from openai import OpenAI

client = OpenAI(base_url={json.dumps(f"{self.base}/v1")}, api_key="KEY")
wish = {{"model": "olu", "voice": {voice}, "input": {text}}}
with client.audio.speech.with_streaming_response.create(**wish) as said:
    said.stream_to_file("hello.mp3")"""


def page(document: dict[str, Any], example: SampleCall) -> str:
    schemas = document["components"]["schemas"]
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        "<title>Olu over HTTP</title><link rel='stylesheet' href='docs.css'></head><body><main>",
        "<h1>Olu over HTTP</h1>",
        "<p class='lead'>Speech as OpenAI's clients ask for it. The same as a file for programs: "
        "<a href='openapi.json'>openapi.json</a>. To try it by hand: <a href='./'>the page</a>.</p>",
        f"<pre class='card'>{escape(example.curl())}</pre><pre class='card'>{escape(example.client())}</pre>",
        "<p>Where the server has a key, send it as <code>Authorization: Bearer KEY</code>. "
        'Errors have OpenAI\'s shape: <code>{"error": {"message", "type", "param", "code"}}</code>.</p>',
    ]
    for address, ways in document["paths"].items():
        for method, way in ways.items():
            parts.append(_way(method, address, way, schemas))
    return "".join([*parts, "</main></body></html>"])


def _way(method: str, address: str, way: dict[str, Any], schemas: dict[str, Any]) -> str:
    told = (
        f"<h2><code>{escape(method.upper())} {escape(address)}</code></h2><p>{escape(way.get('description', ''))}</p>"
    )
    for body in way.get("requestBody", {}).get("content", {}).values():
        name = body["schema"]["$ref"].rpartition("/")[2]
        told += _table(["field", "what", "meaning"], _fields(schemas[name]))
    rows = [
        [status, answer.get("description", ""), ", ".join(answer.get("content", {}))]
        for status, answer in sorted(way["responses"].items())
    ]
    return told + _table(["answer", "means", "as"], rows)


def _fields(schema: dict[str, Any]) -> list[list[str]]:
    needed = schema.get("required", [])
    rows = []
    for name, field in schema["properties"].items():
        rows.append([name, f"{_kind(field)}; {_default(field, needed=name in needed)}", field.get("description", "")])
    return rows


def _default(field: dict[str, Any], *, needed: bool) -> str:
    if needed:
        return "needed"
    given = field.get("default")
    return "may be left out" if given in (None, "") else f"default {json.dumps(given)}"


def _kind(field: dict[str, Any]) -> str:
    if "enum" in field:
        return " | ".join(map(str, field["enum"]))
    if "anyOf" in field:
        return " or ".join(_kind(one) for one in field["anyOf"] if one.get("type") != "null")
    if "$ref" in field:
        return '{"id": string}' if field["$ref"].endswith("VoiceId") else "object"
    low, high = field.get("minimum"), field.get("maximum", field.get("maxLength"))
    kind = str(field.get("type", ""))
    if field.get("type") == "string":
        return f"{kind}, at most {high} characters" if high else kind
    if low is None or high is None:
        return kind
    return f"{kind}, {low:g} to {high:g}" if high < 2**53 else f"{kind}, {low:g} or more"


def _table(heads: list[str], rows: list[list[str]]) -> str:
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<div class='scroll'><table><tr>{top}</tr>{lines}</table></div>"

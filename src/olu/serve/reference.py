"""The OpenAPI document as a plain page: no script, nothing loaded from elsewhere."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Any

from olu.pages.render import render

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

    def fields(body: dict[str, Any]) -> list[list[str]]:
        """Each field of a request, what it holds, what it means."""
        schema = schemas[body["schema"]["$ref"].rpartition("/")[2]]
        needed = schema.get("required", [])
        return [
            [name, f"{_kind(field)}; {_default(field, needed=name in needed)}", field.get("description", "")]
            for name, field in schema["properties"].items()
        ]

    return render("reference.html", document=document, example=example, fields=fields, answers=_answers)


def _answers(way: dict[str, Any]) -> list[list[str]]:
    return [
        [status, answer.get("description", ""), ", ".join(answer.get("content", {}))]
        for status, answer in sorted(way["responses"].items())
    ]


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

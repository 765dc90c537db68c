"""What the answers look like, for the OpenAPI document."""

from __future__ import annotations

from typing import Any

from olu.serve.encode import KINDS

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
SAYS = {
    400: "The request is wrong; the message says where",
    401: "The key is missing or wrong",
    403: "This name of the server is not one of this machine",
    404: "There is nothing of this name",
    405: "This address takes another method",
    408: "The body came too slowly",
    413: "The body is too large",
    429: "Too many requests; Retry-After says when to come again",
    503: "Not ready, or the process that spoke has ended; come again",
    504: "The answer took longer than one may",
}
EVERYWHERE = (400, 401, 403, 408, 413, 429)


def _object(**fields: Schema) -> Schema:
    return {"type": "object", "properties": fields, "required": list(fields)}


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


_OR_NOTHING: Schema = {"anyOf": [TEXT, {"type": "null"}]}
_MODEL = _object(id=TEXT, object=TEXT, created=COUNT, owned_by=TEXT)
_VOICE = _object(
    id=TEXT,
    object=TEXT,
    name=TEXT,
    language=TEXT,
    language_name=TEXT,
    rate=COUNT,
    speakers=_list(TEXT),
    size=COUNT,
    loaded=FLAG,
    fault=TEXT,
    aliases=_list(TEXT),
    sample=TEXT,
)
_LIMITS = _object(characters=COUNT, tokens=COUNT, seconds=NUMBER)
_POOL: Schema = {"type": "object", "additionalProperties": NUMBER}
SCHEMAS: dict[str, Schema] = {
    "Error": _object(error=_object(message=TEXT, type=TEXT, param=_OR_NOTHING, code=TEXT)),
    "Model": _MODEL,
    "Models": _object(object=TEXT, data=_list(_MODEL)),
    "Voices": _object(object=TEXT, data=_list(_VOICE), limits=_LIMITS),
    "Health": _object(status=TEXT, ready=FLAG, version=TEXT, workers=COUNT, voices=COUNT, damaged=COUNT, pool=_POOL),
}
Responses = dict[int | str, dict[str, Any]]


def _says(status: int, schema: str = "Error") -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    return {"description": SAYS.get(status, "As asked for"), "content": content}


def answers(schema: str, *refused: int) -> Responses:
    shown: Responses = {200: _says(200, schema)}
    for status in (*EVERYWHERE, *refused):
        shown[status] = _says(status, schema if (schema, status) == ("Health", 503) else "Error")
    return shown


_EVENT = _object(data={"type": "string", "contentMediaType": "application/json"})  # each of them
_SOUND: Schema = {"schema": {"type": "string", "format": "binary"}}
SPEECH: Responses = {
    200: {
        "description": "The sound as it is made, or events with it",
        "headers": {
            "X-Olu-Unsaid": {
                "description": "What the voice has no letter for, and how often, as JSON; absent where all is said",
                "schema": TEXT,
            },
            "X-Olu-Unsaid-Count": {"description": "All of it together", "schema": COUNT},
        },
        "content": {kind.media: _SOUND for kind in KINDS.values()} | {"text/event-stream": {"schema": _EVENT}},
    },
    **{status: _says(status) for status in (*EVERYWHERE, 404, 503, 504)},
}
METRICS: Responses = {
    200: {"description": "Prometheus's text format", "content": {"text/plain": {"schema": TEXT}}},
    **{status: _says(status) for status in EVERYWHERE},
}

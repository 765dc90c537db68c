"""What goes wrong, as OpenAI's clients know it: one shape, a status, a sentence for people."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response

from olu.core.config import did_you_mean
from olu.core.errors import OluError, TextError
from olu.serve.protocol import Busy, Gone, Late, NoRoom, Stuck, TooLong
from olu.speak.voice import TooManyTokens
from olu.text.refused import WordRefused

INVALID = "invalid_request_error"
CLOSE = {"Connection": "close"}
SHOWN = 60  # characters of a name that are said back


@dataclass(eq=False)  # not frozen: Python itself writes into exceptions
class Refusal(Exception):
    """An answer that is no sound."""

    status: int
    message: str
    code: str
    type: str = INVALID
    param: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        return {"error": {"message": self.message, "type": self.type, "param": self.param, "code": self.code}}

    def response(self) -> Response:
        return json_response(self.body(), status=self.status, headers=self.headers)


def json_response(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """In ASCII: a lone surrogate that came in must not break what goes out."""
    return Response(dumps(value), status, dict(headers or {}), media_type="application/json")


def dumps(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()


def no_voice(name: str, known: Iterable[str], *, foreign: bool = False) -> Refusal:
    """`foreign`: a name of OpenAI's, for which several voices could stand."""
    names = sorted(known)
    hint = did_you_mean(name, names) or (f"; there are: {', '.join(names[:10])}" if names else "; none is here yet")
    if foreign and len(names) > 1:
        hint += " (--default-voice says which of them answers to OpenAI's names)"
    message = f"there is no voice {name[:SHOWN]!r}{hint}"
    return Refusal(404, message, "voice_not_found", param="voice")


def bad_voice(name: str) -> Refusal:
    message = f"the voice {name[:SHOWN]!r} cannot be used: it is damaged or was taken away; choose another"
    return Refusal(404, message, "voice_unusable", param="voice")


def no_model(name: str, known: Sequence[str]) -> Refusal:
    message = f"there is no model {name[:SHOWN]!r}; there are: {', '.join(known)}"
    return Refusal(404, message, "model_not_found", param="model")


def no_key(given: bool) -> Refusal:
    message = "this key is not known here" if given else "this server wants a key: send 'Authorization: Bearer KEY'"
    code = "invalid_api_key" if given else "missing_api_key"
    return Refusal(401, message, code, "authentication_error", headers={"WWW-Authenticate": "Bearer"})


def no_host(name: str) -> Refusal:
    """Refuse a foreign host name: a page elsewhere could give its name this machine's address."""
    message = (
        f"this server speaks to its own machine only, and not under the name {name[:SHOWN]!r}: "
        "set a key, or name the proxy with --trust-proxy"
    )
    return Refusal(403, message, "host_not_allowed", "permission_error")


def two_lengths() -> Refusal:
    message = "the body has a length and comes in chunks: send one of the two headers"
    return Refusal(400, message, "malformed", headers=CLOSE)


def too_often(seconds: float) -> Refusal:
    message = f"too many requests from your address: try again in {_whole(seconds)} s"
    return Refusal(429, message, "rate_limit_exceeded", "rate_limit_error", headers=_after(seconds))


def too_many(most: int) -> Refusal:
    message = f"{most} of your requests are being answered already: wait for one of them to end"
    return Refusal(429, message, "too_many_at_once", "rate_limit_error", headers=_after(1))


def of(wrong: Exception, *, voice: str) -> Refusal:
    """What the pool raised, in HTTP's words. Paths of this machine stay here: a voice's own words go to the log."""
    match wrong:
        case Refusal():
            return wrong
        case Busy(ending=True):
            return Refusal(503, "the server is ending: try again soon", "ending", "server_error", headers=_after(1))
        case Busy():
            message = f"too many requests are waiting: try again in {_whole(wrong.retry_after)} s"
            return Refusal(429, message, "server_busy", "rate_limit_error", headers=_after(wrong.retry_after))
        case Gone():
            message = "the process that spoke this has ended; another one is starting: try again"
            return Refusal(503, message, "worker_gone", "server_error", headers=_after(1))
        case TooLong():
            message = f"{wrong}: send the text in parts"
            return Refusal(400, message, "sound_too_long", param="input")
        case TooManyTokens():
            return Refusal(400, str(wrong), "too_many_tokens", param="input")
        case WordRefused():
            return Refusal(400, str(wrong), "word_refused", param="input")
        case TextError():
            return Refusal(400, str(wrong), "text_unusable", param="input")
        case Late():
            return Refusal(504, f"{wrong}: send the text in parts", "deadline_exceeded", "server_error")
        case Stuck():
            message = f"the voice {voice[:SHOWN]!r} came to no end with this text and was ended: choose another voice"
            return Refusal(503, message, "voice_stuck", "server_error")
        case NoRoom():
            message = (
                f"the voice {voice[:SHOWN]!r} needs more memory for this text than it may have here: send less at once"
            )
            return Refusal(503, message, "out_of_memory", "server_error")
        case OluError():
            return bad_voice(voice)
    return Refusal(500, "the server met an error of its own; it was written to its log", "internal", "server_error")


def of_fields(errors: Sequence[Any], known: Iterable[str]) -> Refusal:
    """The first thing that is wrong with a body, by the name of its field."""
    first = next((error for error in errors if error["type"] == "extra_forbidden"), errors[0])
    where = ".".join(str(part) for part in first["loc"][1:] if part not in VARIANTS)[:SHOWN]
    reason = str(first["msg"]).removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        reason = f"nothing of this name is known{did_you_mean(where, known)}"
    if not where or first["type"] == "json_invalid":
        where, reason = "", "the body must be one JSON object, sent as application/json"
    return Refusal(400, f"{where}: {reason}" if where else reason, "invalid_request", param=where or None)


VARIANTS = ("str", "constrained-str", "VoiceId")  # how pydantic names the two forms of a voice


def _after(seconds: float) -> dict[str, str]:
    return {"Retry-After": str(_whole(seconds))}


def _whole(seconds: float) -> int:
    """Seconds rounded up, 1 at least: who waits for so long has waited long enough."""
    return max(1, math.ceil(seconds))

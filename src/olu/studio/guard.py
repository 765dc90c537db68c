"""What stands before every page: the key or a link, the name this machine was called by, where a request comes from."""

from __future__ import annotations

import hashlib
import hmac
import json
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from olu.studio.people import OWNER, Links, Person
from olu.studio.settings import StudioSettings
from olu.studio.words import interface, t
from olu.web.headers import SECURITY, is_local, named
from olu.web.limits import RateLimit

READS = ("GET", "HEAD")
HEADER = "x-olu-studio"  # a page elsewhere cannot send it without being asked first
ENTRY = "/l/"  # a link that leaves a cookie
LEAVE = "/leave"
SPEAKERS = ("/r/", "/api/r/")  # the secret of a link follows
OWNERS_ALONE = ("/openapi.json",)  # what no router of ours answers
ENTER = "/enter"  # asks for the passphrase, where there is one
OPEN = ("/parts/", ENTER)  # scripts and style, the same for everybody
WRONG_KEYS = 5  # a minute and client
WRONG_LINKS = 30
MOST_BODY = 4 * 2**20  # bytes of a request that is no upload
NO_KEY = "this studio is opened by the address that 'olu studio' printed, with its key: open that one"
ENTERED = """<!doctype html><html lang="{lang}" dir="{direction}"><meta charset="utf-8"><title>Olu Studio</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="/parts/style.css">
<link rel="stylesheet" href="/parts/look.css"><link rel="stylesheet" href="/parts/fonts.css">
<meta http-equiv="refresh" content="0;url={home}">
<main><h1>Olu Studio</h1><p class="lead">{hello}</p>
<p><a class="button main" href="{home}">{go_on}</a></p></main></html>"""
CLOSED = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Olu Studio</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="/parts/style.css">
<main><h1>Olu Studio</h1><p class="lead">{sentence}</p></main></html>"""


class StudioGuard:
    def __init__(self, app: ASGIApp, *, settings: StudioSettings, links: Links) -> None:
        self._app, self._settings, self._links = app, settings, links
        self._wrong, self._wrong_links = RateLimit(WRONG_KEYS), RateLimit(WRONG_LINKS)
        self.cookie, self._token = _cookie(settings)
        self.link_cookie = f"olu-link-{settings.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        answer = self._answer(scope)
        if answer is not None and answer.status_code == 401 and self._asks(scope):
            answer = RedirectResponse(ENTER, 303)
        if answer is not None:
            await answer(scope, receive, told)
        else:
            await self._app(scope, receive, told)

    def _asks(self, scope: Scope) -> bool:
        """Whether somebody who may not pass is asked for the passphrase: a person, at the door."""
        page = scope["method"] in READS and not scope["path"].startswith(("/api/", ENTRY, *SPEAKERS))
        return page and b"key=" not in scope.get("query_string", b"") and self._settings.passphrase

    def _answer(self, scope: Scope) -> Response | None:
        """What is answered in place of the app; nothing where the request may pass."""
        headers, path = Headers(scope=scope), scope["path"]
        host = headers.get("host", "")
        if self._settings.behind_proxy and not self._passed_on(scope):
            return _refuse(scope, 403, t("this studio speaks to its proxy only"))
        if not self._is_ours(host):
            return _refuse(scope, 403, t("this studio does not answer to the name {name}", name=repr(named(host)[:60])))
        given = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1"))).get("key", "")
        if given:
            return self._enter(scope, given)
        if path == LEAVE:
            return self._leave()
        if path.startswith(ENTRY):
            return self._enter_by_link(scope, path.removeprefix(ENTRY))
        if not path.startswith(OPEN):
            person = self._who(scope, headers)
            if isinstance(person, Response):
                return person
            scope["olu_person"] = person
        if scope["method"] not in READS and not self._from_here(headers, host):
            return _refuse(scope, 403, t("a change is taken from the studio's own pages only"))
        if scope["method"] not in (*READS, "PUT"):  # uploads have limits of their own
            return self._too_large(scope, headers)
        return None

    def _too_large(self, scope: Scope, headers: Headers) -> Response | None:
        length = headers.get("content-length")
        if length is None and "transfer-encoding" in headers:
            return _refuse(scope, 411, t("a request says how long it is"))
        if length is not None and not (length.isdecimal() and int(length) <= MOST_BODY):
            return _refuse(scope, 413, t("a request has {n} MiB at most", n=MOST_BODY // 2**20))
        return None

    def _is_ours(self, host: str) -> bool:
        name = named(host).lower()
        if self._settings.behind_proxy:
            return True  # the proxy says which names it passes on
        return is_local(name) or name == self._settings.host.lower() or self._settings.secure

    def _passed_on(self, scope: Scope) -> bool:
        """Whether a request comes from the proxy, or from this machine."""
        peer = str((scope.get("client") or ("",))[0])
        return peer == self._settings.behind_proxy or is_local(peer)

    def _enter(self, scope: Scope, given: str) -> Response:
        """The key becomes a cookie and leaves the address."""
        client = (scope.get("client") or ("",))[0]
        if self._wrong.take(client, cost=0):
            return _refuse(scope, 429, t("too many wrong keys: wait a minute"))
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self._settings.key.encode()):
            self._wrong.take(client)
            return _refuse(scope, 401, t("this key is not the one that 'olu studio' printed"))
        query = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        rest = urlencode([(name, value) for name, value in query if name != "key"])
        answer = let_in(self._settings, RedirectResponse(f"{_quoted(scope)}{'?' if rest else ''}{rest}", 303))
        if self.link_cookie in Headers(scope=scope).get("cookie", ""):
            answer.delete_cookie(self.link_cookie, path="/")
        return answer

    def _who(self, scope: Scope, headers: Headers) -> Person | Response:
        """Who asks: by the link in a recorder's address, by the cookie that a link left, or by the key's.

        A link comes before the key: who opens one in the owner's browser works under the link's name.
        """
        path = scope["path"]
        if start := next((one for one in SPEAKERS if path.startswith(one)), ""):
            return self._by_link(scope, path.removeprefix(start).partition("/")[0])
        held = dict(part.strip().partition("=")[::2] for part in headers.get("cookie", "").split(";"))
        has_key = hmac.compare_digest(held.get(self.cookie, "").encode("utf-8", "replace"), self._token.encode())
        secret = held.get(self.link_cookie, "")
        if has_key and (not secret or self._links.person(secret) is None):
            return OWNER
        if not secret:
            return _refuse(scope, 401, t(NO_KEY))
        person = self._by_link(scope, secret)
        if isinstance(person, Person) and person.role != "owner" and path in OWNERS_ALONE:
            return _refuse(scope, 403, t("this link is not for this page: ask whoever gave it to you"))
        return person

    def _by_link(self, scope: Scope, secret: str) -> Person | Response:
        client = (scope.get("client") or ("",))[0]
        if self._wrong_links.take(client, cost=0):
            return _refuse(scope, 429, t("too many wrong links: wait a minute"))
        person = self._links.person(secret)
        if person is None:
            self._wrong_links.take(client)
            return _refuse(scope, 401, t("this link is unknown, has ended or was taken back: ask for a new one"))
        return person

    def _enter_by_link(self, scope: Scope, secret: str) -> Response:
        """The link becomes a cookie. No redirect: a browser that comes from a message would not send it along."""
        person = self._by_link(scope, secret)
        if isinstance(person, Response):
            return person
        if person.role == "speaker":
            return RedirectResponse(f"{SPEAKERS[0]}{secret}", 303)
        from markupsafe import escape

        hello = t("Hello {name}. You come in as {role}.", name=person.name, role=t(person.role))
        chrome = {"lang": interface().code, "direction": interface().direction, "go_on": escape(t("Go on"))}
        answer = HTMLResponse(ENTERED.format(hello=escape(hello), home=escape(person.home), **chrome))
        answer.set_cookie(
            self.link_cookie, secret, httponly=True, samesite="strict", secure=self._settings.secure, path="/"
        )
        return answer

    def _leave(self) -> Response:
        """Out of a link; whoever has the key in this browser too is the owner again."""
        answer = RedirectResponse("/", 303)
        answer.delete_cookie(self.link_cookie, path="/")
        return answer

    def _from_here(self, headers: Headers, host: str) -> bool:
        """Whether one of our own pages sends this: browsers say so, and add our header only there."""
        site = headers.get("sec-fetch-site")
        origin = headers.get("origin")
        if site is not None and site != "same-origin":
            return False
        hosts = [host, *([headers.get("x-forwarded-host", "")] if self._settings.behind_proxy else [])]
        if origin is not None and urlsplit(origin).netloc not in hosts:
            return False
        return HEADER in headers or headers.get("content-type", "").partition(";")[0].strip() == "application/json"


def _cookie(settings: StudioSettings) -> tuple[str, str]:
    """Its name, by port, and what it holds."""
    return f"olu-studio-{settings.port}", hashlib.sha256(f"olu studio {settings.key}".encode()).hexdigest()


def let_in(settings: StudioSettings, answer: Response) -> Response:
    """An answer that leaves the cookie which opens the studio from now on."""
    name, token = _cookie(settings)
    answer.set_cookie(name, token, httponly=True, samesite="strict", secure=settings.secure, path="/")
    return answer


def _quoted(scope: Scope) -> str:
    path = str(scope.get("raw_path", b"/").decode("latin-1")).partition("?")[0]
    return "/" + path.lstrip("/")  # two slashes would name another host


def _refuse(scope: Scope, status: int, sentence: str) -> Response:
    if scope["path"].startswith("/api/"):
        return Response(json.dumps({"error": sentence}), status, media_type="application/json")
    from markupsafe import escape

    return HTMLResponse(CLOSED.format(sentence=escape(sentence[:1].upper() + sentence[1:] + ".")), status)

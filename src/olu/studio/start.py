"""`olu studio`: look at what was asked for, take the port and the roots, make the key, run the server."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import secrets
import shlex
import signal
import webbrowser
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from olu.core.errors import ConfigError, MissingExtra
from olu.core.job import Job, Note, Tick
from olu.core.words import many
from olu.core.workspace_lock import LockHeld, locked
from olu.stages.verbs.machine import StudioOptions
from olu.studio.roots import OWN, Roots
from olu.studio.settings import StudioSettings
from olu.web.headers import is_local
from olu.web.signals import ended_by_signals
from olu.web.sockets import address, listen

if TYPE_CHECKING:
    import socket
    from types import FrameType

PACKAGES = ("fastapi", "uvicorn", "segno")
KEY = "key"
KEY_BYTES = 18
GB = 10**9
HEAD_BYTES = 32 * 1024


@dataclass(frozen=True)
class StudioClosed:
    """What is told when a studio has ended."""

    address: str
    folders: list[str]
    workspaces: int
    running: int  # jobs that go on

    def sentences(self, options: StudioOptions) -> Iterator[str]:
        yield f"{self.address}: {many(self.workspaces, 'workspace')} in {', '.join(self.folders)}."
        if self.running:
            go = "goes" if self.running == 1 else "go"
            place = shlex.quote(self.folders[0])
            yield f"{many(self.running, 'job')} {go} on without it: 'olu jobs {place}' shows them."


def run(options: StudioOptions) -> Job[StudioClosed]:
    """`olu studio`"""
    for package in PACKAGES:
        if find_spec(package) is None:
            raise MissingExtra("olu studio", extra="studio", package=package)
    from olu.studio.passphrase import is_kept  # FastAPI comes with it

    _check(options)
    folders = [_folder(path) for path in options.folders or (Path(),)]
    roots = Roots(folders)
    with contextlib.ExitStack() as held:
        sock = held.enter_context(listen(options.host, options.port))
        for root in roots.folders:
            held.enter_context(_alone(root))
        key = _key(roots.own, anew=options.new_key or options.passphrase)
        _passphrase(roots.own, options)
        secure = bool(options.https or options.certificate or options.behind_proxy)
        settings = StudioSettings(
            roots=roots.folders,
            key=key,
            host=options.host,
            port=int(sock.getsockname()[1]),
            behind_proxy=options.behind_proxy,
            secure=secure,
            passphrase=is_kept(roots.own),
            most_upload=round(options.most_upload * GB),
        )
        where = _where(options, sock)
        shown = "" if settings.passphrase else f"?key={key}"
        opened = f"{where}/{shown}"
        certificate = _certificate(options, roots.own)
        yield Tick(0, 1, opened)
        if not options.check:
            for sentence in (*_told(options), *_for_phones(settings, shown)):
                yield Note(sentence)
            _serve(settings, sock, certificate, opened=None if options.no_browser else opened)
    from olu.studio.jobs import Jobs

    live = [job for job in Jobs(roots).all() if job.state in ("running", "stopping")]
    yield Tick(1, 1, where)
    return StudioClosed(where, list(map(str, roots.folders)), len(roots.places()), len(live))


def _check(options: StudioOptions) -> None:
    if (options.certificate is None) != (options.certificate_key is None):
        raise ConfigError("--certificate and --certificate-key are given together")
    if options.https and options.certificate:
        raise ConfigError("--https makes a certificate of its own: leave it out where --certificate is given")
    if options.behind_proxy:
        try:
            ipaddress.ip_address(options.behind_proxy)
        except ValueError:
            raise ConfigError("--behind-proxy is the address of the proxy, such as 10.0.0.2") from None
    secure = options.https or options.certificate or options.behind_proxy
    if not is_local(options.host) and options.host != "localhost" and not secure:
        raise ConfigError(
            f"--host {options.host} opens the studio to the network: "
            "add --https, or --certificate and --certificate-key, or --behind-proxy ADDRESS"
        )


def _folder(path: Path) -> Path:
    """The folder, made where it is new and only its name is: a slip in a longer path is told."""
    if not path.exists() and path.parent.is_dir():
        path.mkdir()
    if not path.is_dir():
        raise ConfigError(f"{path} is no folder: name one that holds workspaces, or is to hold them")
    return path


@contextlib.contextmanager
def _alone(root: Path) -> Iterator[None]:
    """One studio for a folder: two would begin the same waiting jobs."""
    place = root / OWN
    place.mkdir(exist_ok=True)
    try:
        with locked(place / "lock"):
            yield
    except LockHeld as other:
        raise ConfigError(f"another studio has {root}{other}: open that one, or end it first") from None


def _key(own: Path, *, anew: bool) -> str:
    """The key of these roots, which stays from start to start, so that open pages go on. Only its owner can read it."""
    path = own / KEY
    if not anew:
        with contextlib.suppress(OSError, UnicodeDecodeError):
            held = path.read_text(encoding="ascii").strip()
            if len(held) >= KEY_BYTES and (os.name == "nt" or not path.stat().st_mode & 0o077):
                return held
    made = secrets.token_urlsafe(KEY_BYTES)
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(made + "\n")
    return made


def _where(options: StudioOptions, sock: socket.socket) -> str:
    where = address(sock)
    return where.replace("http://", "https://", 1) if options.https or options.certificate else where


def _told(options: StudioOptions) -> Iterator[str]:
    if options.https:
        yield "The certificate is of its own making: a browser warns of it once."
    if options.behind_proxy:
        yield f"Requests are taken from the proxy at {options.behind_proxy} and from this machine only."


def _passphrase(own: Path, options: StudioOptions) -> None:
    from olu.studio import passphrase

    if options.passphrase:
        passphrase.keep(own, passphrase.ask())
    elif options.new_key:
        passphrase.remove(own)


def _for_phones(settings: StudioSettings, shown: str) -> Iterator[str]:
    """The address in the local network, to be read by a camera."""
    from olu.studio import qr

    reached = qr.reached_at(settings)
    if reached:
        address = f"{reached}/{shown}"
        yield "\n".join([f"On a phone in the same network: {address}", *qr.lines(address)])


def _certificate(options: StudioOptions, own: Path) -> tuple[str, str] | None:
    """The files of certificate and key; nothing for plain http."""
    if options.certificate and options.certificate_key:
        for path in (options.certificate, options.certificate_key):
            if not path.is_file():
                raise ConfigError(f"{path} is not there: name the certificate and its key")
        return str(options.certificate), str(options.certificate_key)
    if not options.https:
        return None
    if find_spec("trustme") is None:
        raise MissingExtra("olu studio --https", extra="studio-https", package="trustme")
    from olu.studio.certificate import own_certificate

    return own_certificate(own, host=options.host)


def _serve(
    settings: StudioSettings, sock: socket.socket, certificate: tuple[str, str] | None, *, opened: str | None
) -> None:
    import uvicorn

    from olu.studio.app import create_app

    app = create_app(settings, late=True)

    class StudioServer(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            app.state.studio.pulse.over = True
            super().handle_exit(sig, frame)

        def capture_signals(self) -> contextlib.AbstractContextManager[None]:  # type: ignore[override]
            return ended_by_signals(self.handle_exit)

    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # of a script's '&': jobs would inherit it, and not stop
        signal.signal(signal.SIGINT, lambda *_: None)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        proxy_headers=False,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=HEAD_BYTES,
        ssl_certfile=certificate[0] if certificate else None,
        ssl_keyfile=certificate[1] if certificate else None,
    )
    server = StudioServer(config)
    if opened is not None:
        with contextlib.suppress(Exception):  # a machine without a browser: the address is printed
            webbrowser.open(opened)
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[sock])

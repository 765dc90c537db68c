"""The socket a server listens on."""

from __future__ import annotations

import socket

from olu.core.errors import ConfigError

BACKLOG = 1024


def listen(host: str, port: int, *, options: tuple[str, ...] = ("--port", "--host")) -> socket.socket:
    """A socket of our own, so that a port that is taken is said before anything is loaded.

    `options`: what a person changes to have another.
    """
    where = f"{host}:{port}"
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        held = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError):
        raise ConfigError(f"{host!r} is no address of this machine: check {options[-1]}") from None
    try:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(address)
        held.listen(BACKLOG)  # only this makes it ours: two that have not yet begun to listen can both hold a port
    except OSError as bad:
        held.close()
        raise ConfigError(f"{where} cannot be had ({bad.strerror}): choose another {' or '.join(options)}") from None
    return held


def address(held: socket.socket) -> str:
    host, port = held.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

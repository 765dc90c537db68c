"""A certificate of our own making, for https in a local network. A browser warns of it once."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import trustme

NAMES = "certificate.pem", "certificate-key.pem"


def own_certificate(own: Path, *, host: str) -> tuple[str, str]:
    """The files of certificate and key, made once; another host asks for another one."""
    folder = own / "https"
    folder.mkdir(parents=True, exist_ok=True)
    held, key = (folder / name for name in NAMES)
    mark = folder / "host"
    if not (held.is_file() and key.is_file() and mark.is_file() and mark.read_text(encoding="utf-8") == host):
        names = [name for name in dict.fromkeys((host, socket.gethostname(), "localhost", "127.0.0.1")) if name]
        made = trustme.CA().issue_cert(*(name for name in names if name not in ("0.0.0.0", "::")))
        held.write_bytes(b"".join(part.bytes() for part in made.cert_chain_pems))
        key.unlink(missing_ok=True)
        with os.fdopen(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(made.private_key_pem.bytes())
        mark.write_text(host, encoding="utf-8")
    return str(held), str(key)

"""QR codes: an address that a phone reads with its camera. Black on white in every theme, as cameras want it."""

from __future__ import annotations

import io
import ipaddress
import socket

import segno
from markupsafe import Markup

from olu.studio.settings import StudioSettings

QUIET = 4  # modules of white around a code, as its norm asks
ELSEWHERE = "192.0.2.1"  # an address of documentation: nothing is sent to it


def svg(text: str, *, label: str) -> Markup:
    """A code as a picture within a page, with words for who does not see it."""
    out = io.BytesIO()
    code = segno.make_qr(text)
    colours = {"dark": "#000", "light": "#fff", "svgclass": "qr", "lineclass": None}
    code.save(out, "svg", border=QUIET, omitsize=True, xmldecl=False, svgns=False, nl=False, title=label, **colours)
    return Markup(out.getvalue().decode().replace("<svg ", '<svg role="img" ', 1))  # segno escapes the label


def lines(text: str) -> list[str]:
    """A code in the characters of a terminal, light on dark."""
    out = io.StringIO()
    segno.make_qr(text).terminal(out, border=2, compact=True)
    return out.getvalue().splitlines()


def reached_at(settings: StudioSettings) -> str:
    """The address of this studio for a phone in the same network; empty where it listens to this machine alone."""
    host = settings.host
    if settings.behind_proxy or host == "localhost":
        return ""
    try:
        listens = ipaddress.ip_address(host)
    except ValueError:  # a name
        return f"https://{host}:{settings.port}" if settings.secure else ""
    if listens.is_loopback or not settings.secure:
        return ""
    if listens.is_unspecified:
        host = own_address()
    if not host:
        return ""
    return f"https://{f'[{host}]' if ':' in host else host}:{settings.port}"


def own_address() -> str:
    """The address that this machine has in its network; empty without one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect((ELSEWHERE, 9))
        except OSError:
            return ""
        found = str(sock.getsockname()[0])
    return "" if ipaddress.ip_address(found).is_loopback else found

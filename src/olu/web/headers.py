"""Headers that every answer carries, and whose machine a Host header means."""

from __future__ import annotations

import ipaddress

POLICY = (
    "default-src 'self'; media-src 'self' blob:; img-src 'self' data:; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
SECURITY = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def named(host: str) -> str:
    """A host without its port."""
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


def is_local(host: str, *, or_bare: bool = False) -> bool:
    """Whether only this machine is meant. `or_bare`: any address or name without dots will do, as nobody's domain."""
    if f".{host.lower()}".rstrip(".").endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback or or_bare
    except ValueError:
        return or_bare and "." not in host

"""`olu studio`: what is refused before anything listens; its key; https of its own making."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

import pytest

from olu.core.errors import ConfigError
from olu.core.job import finish
from olu.stages.verbs.machine import StudioOptions
from olu.studio import start


def studio(*folders: Path, **options: object) -> start.StudioClosed:
    asked = StudioOptions(folders=folders, port=0, no_browser=True, check=True, **options)  # type: ignore[arg-type]
    return finish(start.run(asked))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"host": "0.0.0.0"}, "opens the studio to the network"),
        ({"host": "192.168.1.7"}, "opens the studio to the network"),
        ({"behind_proxy": "proxy.example"}, "address of the proxy"),
        ({"certificate": Path("a.pem")}, "given together"),
        ({"https": True, "certificate": Path("a"), "certificate_key": Path("b")}, "of its own"),
        ({"certificate": Path("a.pem"), "certificate_key": Path("b.pem")}, "is not there"),
    ],
)
def test_what_is_refused(tmp_path: Path, options: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        studio(tmp_path, **options)


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for wrong in (tmp_path / "none" / "voices", tmp_path / "file"):
        with pytest.raises(ConfigError, match="is no folder"):
            studio(wrong)
    assert not (tmp_path / "none").exists()


def test_the_key_stays_and_is_its_owners_alone(tmp_path: Path) -> None:
    assert studio(tmp_path).address.startswith("http://127.0.0.1:")
    path = tmp_path / ".olu-studio/key"
    first = path.read_text()
    assert os.name == "nt" or path.stat().st_mode & 0o777 == 0o600
    studio(tmp_path)
    assert path.read_text() == first
    studio(tmp_path, new_key=True)
    second = path.read_text()
    assert second != first and len(second.strip()) >= 24
    path.chmod(0o644)  # others may have read it
    studio(tmp_path)
    assert os.name == "nt" or path.read_text() != second


def test_behind_a_proxy_another_host_is_allowed(tmp_path: Path) -> None:
    assert studio(tmp_path, host="0.0.0.0", behind_proxy="10.0.0.2").address.startswith("http://0.0.0.0:")


def test_https_of_its_own_making(tmp_path: Path) -> None:
    pytest.importorskip("trustme")
    assert studio(tmp_path, host="0.0.0.0", https=True).address.startswith("https://0.0.0.0:")
    folder = tmp_path / ".olu-studio/https"
    held, key = folder / "certificate.pem", folder / "certificate-key.pem"
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(held, key)
    assert os.name == "nt" or key.stat().st_mode & 0o777 == 0o600
    before = held.read_bytes()
    studio(tmp_path, host="0.0.0.0", https=True)
    assert held.read_bytes() == before  # a browser warns once

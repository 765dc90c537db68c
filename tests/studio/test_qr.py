"""QR codes: a picture that parses and carries its words, and the address that a phone is given."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from olu.studio import qr
from olu.studio.settings import StudioSettings

ADDRESS = "https://192.168.1.7:8420/?key=abc&x=<1>"


def test_a_picture_is_black_on_white_and_has_its_words() -> None:
    root = ElementTree.fromstring(str(qr.svg(ADDRESS, label='Opens "this" <studio>')))
    assert root.get("role") == "img" and root.get("class") == "qr"
    assert root.findtext("title") == 'Opens "this" <studio>'
    white, black = root.findall("path")
    assert white.get("fill") == "#fff" and black.get("stroke") == "#000"
    assert "style" not in {name for part in root.iter() for name in part.attrib}  # the policy forbids it
    _, _, wide, high = map(int, str(root.get("viewBox")).split())
    assert wide == high and (wide - 2 * qr.QUIET - 17) % 4 == 0  # a size of the norm, and its quiet zone


def test_in_a_terminal_it_is_a_square() -> None:
    rows = qr.lines(ADDRESS)
    assert {len(row) for row in rows} == {len(rows[0])} and abs(2 * len(rows) - len(rows[0])) <= 1
    assert qr.lines(ADDRESS) != qr.lines(ADDRESS + "!")


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, ""),
        ({"secure": True}, ""),
        ({"host": "localhost", "secure": True}, ""),
        ({"host": "192.168.1.7"}, ""),
        ({"host": "192.168.1.7", "secure": True}, "https://192.168.1.7:8420"),
        ({"host": "fd00::7", "secure": True}, "https://[fd00::7]:8420"),
        ({"host": "studio.home", "secure": True}, "https://studio.home:8420"),
        ({"host": "0.0.0.0", "secure": True, "behind_proxy": "10.0.0.2"}, ""),
    ],
)
def test_the_address_of_a_phone(given: dict[str, object], found: str) -> None:
    assert qr.reached_at(StudioSettings(roots=(Path(),), key="k", **given)) == found  # type: ignore[arg-type]


def test_the_address_of_all_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = StudioSettings(roots=(Path(),), key="k", host="0.0.0.0", secure=True)
    monkeypatch.setattr(qr, "own_address", lambda: "10.0.0.4")
    assert qr.reached_at(settings) == "https://10.0.0.4:8420"
    monkeypatch.setattr(qr, "own_address", lambda: "")
    assert qr.reached_at(settings) == ""

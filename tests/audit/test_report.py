from __future__ import annotations

import base64
import io as memory
import re
import struct
import zlib
from collections.abc import Callable
from html.parser import HTMLParser

import numpy as np
import pytest
import soundfile

import olu.audit.report
from olu.core.files import Workspace
from olu.core.job import finish
from olu.pages.charts import histogram, nice
from olu.pages.media import HEIGHT, WIDTH
from olu.stages.audit import audit

from .conftest import silence, speech

Make = Callable[..., Workspace]
EVIL = '<script>alert("x")</script> & "quoted" </main>'


@pytest.fixture
def page(make: Make) -> str:
    ws = make(
        {
            "evil": (np.concatenate([silence(1), speech(2)]), EVIL),
            "long": (speech(22, seed=1), "Ogologọ " * 12),
            "junk": (b"junk", "Nke a mebiri emebi"),
        },
        name="<b>bold</b>".replace("/", ""),
    )
    return finish(audit(ws)).report.read_text(encoding="utf-8")


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for key, value in attrs if key in ("src", "href", "srcset", "action", "poster")]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_loads_nothing(page: str):
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert tags.links
    assert all(link.startswith(("data:audio/ogg;base64,", "data:image/png;base64,", "#")) for link in tags.links)
    assert not re.search(r"https?://|@import|url\(", page)


def test_what_people_wrote_is_escaped(page: str):
    assert page.count("<script>") == 1
    assert "alert(&#34;x&#34;)" in page
    assert "<b>bold" not in page


def test_players_hold_short_sound_and_unreadable_clips_have_none(page: str):
    sounds = [base64.b64decode(found) for found in re.findall(r"audio/ogg;base64,([^\"]+)", page)]
    seconds = [soundfile.info(memory.BytesIO(sound)).duration for sound in sounds]
    assert sorted(seconds) == pytest.approx([3.0, 3.0, 15.0], abs=0.1)  # evil has silence before it and tags in it
    assert "The first 15 of 22.0 s." in page
    assert page.count("This clip cannot be played.") == 1


def test_every_player_has_its_spectrogram_as_a_whole_png(page: str):
    pictures = [base64.b64decode(found) for found in re.findall(r"image/png;base64,([^\"]+)", page)]
    assert len(pictures) == page.count("<audio") == 3
    for picture in pictures:
        assert picture.startswith(b"\x89PNG\r\n\x1a\n") and picture.endswith(b"IEND\xaeB`\x82")
        start = picture.index(b"IDAT")
        (size,) = struct.unpack(">I", picture[start - 4 : start])
        rows = zlib.decompress(picture[start + 4 : start + 4 + size])
        assert len(rows) == HEIGHT * (WIDTH + 1)
        assert len(set(rows)) > 5


def test_the_page_says_for_what_it_is_enough_and_counts_the_phones(page: str):
    assert "rules of thumb" in page
    assert "--base embedded is the Amharic voice that comes with Olu (MIT)" in page
    assert "<h2>Phones</h2>" in page
    assert '<span class="letter warn"><b><bdi>ɔ</bdi></b> 12</span>' in page


def test_a_full_page_embeds_no_more(make: Make, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(olu.audit.report, "PAGE_BYTES", 1000)
    ws = make({"edge": (np.concatenate([silence(1), speech(2)]), "Otu okwu")})
    page = finish(audit(ws)).report.read_text(encoding="utf-8")
    assert "<audio" not in page
    assert "Not embedded" in page


def test_a_clean_corpus_has_a_page_too(make: Make):
    page = finish(audit(make({"a": (speech(3), "Otu okwu ọma")}))).report.read_text(encoding="utf-8")
    assert "No clip has to be left out" in page
    assert "Listen to the worst" not in page


def test_every_value_is_in_a_bar():
    values = [0.1, 0.2, 5.0, 5.1, 80.0]
    drawn = histogram(values, unit="seconds")
    assert sum(int(count) for count in re.findall(r": (\d+) clips?\b", drawn)) == len(values)
    assert ": 1 clips" not in drawn
    assert "No clip" in histogram([], unit="seconds")
    assert "<svg" in histogram([0.0], unit="seconds")


@pytest.mark.parametrize(("value", "expected"), [(0.9, 1), (1.0, 1), (1.1, 2), (3, 5), (7, 10), (0.03, 0.05)])
def test_nice_steps(value: float, expected: float):
    assert nice(value) == pytest.approx(expected)


def test_minutes_and_clips_on_the_page_count_the_same(make: Make):
    """A clip without a text trains as little as one with an error, and stands in both counts or in none."""
    ws = make(
        {
            "good": (speech(6), "Otu okwu ọma nke abụọ"),
            "bare": (speech(6, seed=1), ""),
            "mute": (silence(6), "Otu okwu"),
        }
    )
    summary = finish(audit(ws))
    assert (summary.clips, summary.clips_left, round(summary.seconds_left)) == (3, 1, 6)
    page = summary.report.read_text(encoding="utf-8")
    assert "2 clips of 3 would be left out of training: 1 for an error, 1 without a text" in page
    assert "1 clip remains, 6.0 seconds of 18.0 seconds." in page
    assert '<span class="n">6.0 seconds · 1 clip</span>' in page

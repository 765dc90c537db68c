"""The recorder in a real Chromium with a made microphone: what arrives is what was heard, nothing is lost or double."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from olu.core.files import Workspace
from olu.corpus.prompts import RecordingPrompt, prompt_id, write_prompts
from olu.studio.people import Links
from olu.studio.roots import Roots

from ..helpers.browser import BROWSER, Screen, Tab, chromium
from ..helpers.studio import running

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not BROWSER or os.environ.get("OLU_SOAK") != "1", reason="make soak: a browser is slow"),
]
PHONE, NARROW = Screen(390, 844, phone=True), Screen(320, 640, phone=True, dark=True)
RATE = 44100  # of Chromium's made microphone, whatever the file has
ONLINE = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}


def spoken(seconds: float = 20.0) -> NDArray[np.int16]:
    """Something like speech with pauses, in which no stretch is like another."""
    rng = np.random.default_rng(5)
    at = np.arange(round(RATE * seconds)) / RATE
    loud = np.clip(np.sin(2 * np.pi * 0.5 * at) * 2, 0, 1) * (0.6 + 0.4 * np.sin(2 * np.pi * 5 * at))
    return np.round(32767 * (0.1 * loud * rng.normal(size=len(at)) + 3e-4 * rng.normal(size=len(at)))).astype(np.int16)


def place(root: Path, *, prompts: int = 5) -> tuple[Workspace, str]:
    """A workspace with prompts, and the secret of a speaker's link."""
    ws = Workspace.create(root / "habari", language="swa")
    texts = [f"Sentensi ya namba {'moja ' * (number % 7)}{chr(97 + number % 26)}{number}." for number in range(prompts)]
    write_prompts(ws, [RecordingPrompt(id=prompt_id(text), text=text) for text in texts], ())
    (root / ".olu-studio").mkdir(exist_ok=True)
    _, secret = Links(Roots([root])).make(role="speaker", name="Amina", ws=ws)
    return ws, secret


def link_id(root: Path) -> str:
    return str(json.loads((root / ".olu-studio/links.json").read_text())[-1]["id"])


@contextmanager
def phone(folder: Path, sound: Path | None = None) -> Iterator[Tab]:
    flags = ["--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream"]
    flags += [f"--use-file-for-fake-audio-capture={sound}"] if sound else []
    with chromium(folder, flags=[*flags, "--autoplay-policy=no-user-gesture-required"]) as tab:
        yield tab


def agree(tab: Tab) -> None:
    tab.until("!document.querySelector('#consent').hidden")
    tab.press("#agree")
    tab.until("!document.querySelector('#room').hidden")


def to_the_desk(tab: Tab) -> None:
    tab.until("!document.querySelector('#room').hidden")
    tab.press("#listen")
    tab.until("!document.querySelector('#desk').hidden")


def record(tab: Tab, seconds: float) -> None:
    tab.press("#record")
    tab.until("document.querySelector('#record').getAttribute('aria-pressed') === 'true'")
    time.sleep(seconds)
    tab.press("#record")
    tab.until("document.querySelector('#record').getAttribute('aria-pressed') === null")


def wavs(ws: Workspace) -> list[Path]:
    return sorted((ws.root / "takes").rglob("*.wav"))


def test_the_file_on_the_server_is_the_sound(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    ws, secret = place(root)
    source = spoken()
    soundfile.write(tmp_path / "voice.wav", source, RATE, subtype="PCM_16")
    with phone(tmp_path / "profile", tmp_path / "voice.wav") as tab, running(root) as address:
        base = address.partition("/?")[0]
        tab.show(f"{base}/r/{secret}", PHONE)
        agree(tab)
        to_the_desk(tab)
        for _ in range(3):
            record(tab, 2.5)
            tab.until("/./.test(document.querySelector('#verdict b')?.textContent ?? '')")
            tab.press("#next")
        tab.until("document.querySelector('#net').textContent === 'all saved'")
        assert tab.eval("window.failures") == []
        asked = {one.split("/")[2] for one in tab.asked if one.startswith("http")}
        assert asked == {base.split("/")[2]}
    found = wavs(ws)
    assert len(found) == 3
    whole = 0
    for path in found:
        samples, rate = soundfile.read(path, dtype="int16")
        assert rate == RATE and len(samples) > 1.5 * RATE
        stretches, other = parts(samples, np.concatenate([source, source]))
        whole += len(stretches) == 1 and other == 0
        # A busy machine makes Chromium's device skip: what is there is the file's all the same.
        assert other <= 0.01 * len(samples), (stretches, other, len(samples))
    assert whole >= 1


def parts(samples: NDArray[np.int16], source: NDArray[np.int16]) -> tuple[list[int], int]:
    """A take as stretches of the source, sample for sample: how long each is, and how many samples are in none."""
    stretches, other, at = list[int](), 0, 0
    while at < len(samples):
        probe = samples[at : at + 256]
        starts = np.flatnonzero(source[: len(source) - len(probe)] == probe[0])
        same = [int(start) for start in starts if np.array_equal(source[start : start + len(probe)], probe)]
        if not same:
            at, other = at + 1, other + 1
            continue
        rest = min(len(samples) - at, len(source) - same[0])
        differs = np.flatnonzero(samples[at : at + rest] != source[same[0] : same[0] + rest])
        length = int(differs[0]) if len(differs) else rest
        stretches.append(length)
        at += length
    return stretches, other

"""The recorder in a real Chromium with a made microphone: what arrives is what was heard, nothing is lost or double."""

from __future__ import annotations

import hashlib
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
from ..helpers.studio import running, server

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


def port_of(base: str) -> int:
    return int(base.rpartition(":")[2])


def test_twenty_takes_offline_and_a_closed_tab(tmp_path: Path) -> None:
    """Network off, twenty takes, tab closed, studio gone, page opened without it, one more; then all arrive, once."""
    root = tmp_path / "root"
    root.mkdir()
    ws, secret = place(root, prompts=30)
    soundfile.write(tmp_path / "voice.wav", spoken(), RATE, subtype="PCM_16")
    with phone(tmp_path / "profile", tmp_path / "voice.wav") as tab:
        with running(root) as address:
            base = address.partition("/?")[0]
            tab.show(f"{base}/r/{secret}", PHONE)
            agree(tab)
            tab.until("navigator.serviceWorker.ready.then(() => true)")
            to_the_desk(tab)
            tab.call("Network.emulateNetworkConditions", offline=True, **ONLINE)
            for number in range(20):
                record(tab, 1.0)
                tab.until(f"document.querySelector('#net').textContent.startsWith('{number + 1} wait')")
                tab.press("#next")
            assert tab.eval("document.querySelector('#place').textContent") == "Sentence 21 of 30, 20 read"
            assert not wavs(ws)
            tab.call("Page.navigate", url="about:blank")
        tab.call("Network.emulateNetworkConditions", offline=False, **ONLINE)
        tab.show(f"{base}/r/{secret}", PHONE)  # nobody is there: the device has the page and the sentences
        to_the_desk(tab)
        assert tab.eval("document.querySelector('#place').textContent") == "Sentence 21 of 30, 20 read"
        record(tab, 1.0)
        tab.until("document.querySelector('#net').textContent.startsWith('21 wait')")
        with running(root, at=port_of(base)):
            tab.until("document.querySelector('#net').textContent === 'all saved'", seconds=90)
            tab.press("#finish")
            tab.until("!document.querySelector('#over').hidden")
            assert "21 sentences" in tab.eval("document.querySelector('#over-said').textContent")
            assert tab.eval("window.failures") == []
            time.sleep(5)  # the import runs
    rows = [json.loads(path.read_text()) for path in (ws.root / "takes").rglob("records/*.json")]
    assert len(rows) == len(wavs(ws)) == 21
    assert len({row["prompt"] for row in rows}) == len({row["sha256"] for row in rows}) == 21


FEED = """(async (from, count, link, prompts) => {
  const { Outbox } = await import("/parts/outbox.js");
  const { wav } = await import("/parts/microphone.js");
  window.box ??= new Outbox(link);
  const made = [];
  for (let n = from; n < from + count; n++) {
    const wave = (_, at) => 0.2 * Math.sin((at + 1) * (0.01 + n * 1e-5)) * Math.sin(at / 3000);
    const sound = Float32Array.from({ length: 24000 }, wave);
    made.push(await box.add({ prompt: prompts[n], bytes: wav([sound], 48000) }));
  }
  return made;
})"""


def test_300_takes_with_the_network_cut_ten_times_and_the_server_killed_three_times(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    ws, secret = place(root, prompts=300)
    ids = [json.loads(line)["id"] for line in (ws.root / "prompts/prompts.jsonl").read_text().splitlines()]
    sent: list[str] = []
    cuts = kills = 0
    with phone(tmp_path / "profile") as tab:
        held = server(root)
        process, address = held.__enter__()
        base = address.partition("/?")[0]
        tab.show(f"{base}/r/{secret}", PHONE)
        agree(tab)
        tab.until("navigator.serviceWorker.ready.then(() => true)")
        for turn in range(30):
            off = turn % 3 == 1  # ten times
            if off:
                tab.call("Network.emulateNetworkConditions", offline=True, **ONLINE)
                cuts += 1
            feed = f"{FEED}({turn * 10}, 10, {secret!r}, {json.dumps(ids)})"
            sent += tab.eval(feed)
            if turn in (6, 15, 24):
                time.sleep(0.3)  # in the middle of sending
                process.kill()
                process.wait()
                kills += 1
                sent_before = len(wavs(ws))
                held.__exit__(None, None, None)
                held = server(root, at=port_of(base))
                process, _ = held.__enter__()
                assert len(wavs(ws)) >= sent_before
            if turn == 20:  # the page is opened anew, with takes that wait
                tab.show(f"{base}/r/{secret}", PHONE)
            if off:
                time.sleep(0.2)
                tab.call("Network.emulateNetworkConditions", offline=False, **ONLINE)
                tab.eval("dispatchEvent(new Event('online'))")
        tab.show(f"{base}/r/{secret}", PHONE)
        tab.until("document.querySelector('#net').textContent === 'all saved'", seconds=240)
        left = tab.eval(
            "new Promise((done) => { indexedDB.open('olu-recorder').onsuccess = ({ target }) => { target.result"
            ".transaction('takes').objectStore('takes').count().onsuccess = ({ target }) => done(target.result); }; })"
        )
        held.__exit__(None, None, None)
    rows = [json.loads(path.read_text()) for path in (ws.root / "takes").rglob("records/*.json")]
    assert (cuts, kills, left, len(sent)) == (10, 3, 0, 300)
    assert sorted(row["take"] for row in rows) == sorted(sent)  # none lost, none double
    assert {row["prompt"] for row in rows} == set(ids)
    assert len(wavs(ws)) == 300
    for row in rows:
        path = next((ws.root / "takes").rglob(f"{row['take']}.wav"))
        assert hashlib.sha256(path.read_bytes()).hexdigest() == row["sha256"]


STICKS_OUT = """[...document.querySelectorAll('body *')].filter((one) =>
  one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('.scroll, .tabs, .hidden, .skip'))
  .map((one) => `${one.tagName}#${one.id}.${one.className}`)"""
TOO_SMALL = """[...document.querySelectorAll('button, input, summary')].filter((one) => one.offsetParent
  && one.getBoundingClientRect().height < 44).map((one) => one.id || one.textContent)"""
SCREENS = {
    "phone": Screen(390, 844, phone=True),
    "narrow and dark": Screen(320, 640, phone=True, dark=True),
    "200 %": Screen(195, 422, phone=True),
}
AXE = Path(os.environ.get("OLU_AXE", "axe.min.js"))  # of the package axe-core


def faults(tab: Tab) -> list[str]:
    """Serious faults of accessibility, by axe-core where it is at hand."""
    if not AXE.is_file():
        return []
    tab.call("Runtime.evaluate", expression=AXE.read_text(encoding="utf-8"))
    found = tab.eval("axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)")
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in found if one["impact"] in ("serious", "critical")]


def resized(tab: Tab, screen: Screen) -> None:
    tab.call(
        "Emulation.setDeviceMetricsOverride",
        width=screen.width,
        height=screen.height,
        deviceScaleFactor=1,
        mobile=screen.phone,
    )
    colours = {"name": "prefers-color-scheme", "value": "dark" if screen.dark else "light"}
    tab.call("Emulation.setEmulatedMedia", features=[colours])


def looked_at(tab: Tab, what: str, *, small: bool = True) -> None:
    for name, screen in SCREENS.items():
        resized(tab, screen)
        assert tab.eval(STICKS_OUT) == [], (what, name)
        assert not small or tab.eval(TOO_SMALL) == [], (what, name)
        assert faults(tab) == [], (what, name)
    resized(tab, PHONE)
    assert tab.eval("window.failures") == [], what


def test_every_page_fits_phones_and_screen_readers(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    _, secret = place(root, prompts=12)
    soundfile.write(tmp_path / "voice.wav", spoken(), RATE, subtype="PCM_16")
    with phone(tmp_path / "profile", tmp_path / "voice.wav") as tab, running(root) as address:
        base = address.partition("/?")[0]
        tab.show(f"{base}/r/{secret}", PHONE)
        tab.until("!document.querySelector('#consent').hidden")
        looked_at(tab, "consent")
        agree(tab)
        looked_at(tab, "room")
        to_the_desk(tab)
        record(tab, 1.5)
        tab.until("/./.test(document.querySelector('#verdict b')?.textContent ?? '')")
        looked_at(tab, "desk")
        spoken_by = tab.call("Accessibility.getFullAXTree")["nodes"]
        names = {(one["role"]["value"], one.get("name", {}).get("value", "")) for one in spoken_by if "role" in one}
        assert ("button", "Record again") in names and ("meter", "How loud it is") in names
        assert any(role == "status" for role, _ in names)  # the verdict is spoken when it comes
        tab.press("#open-list")
        looked_at(tab, "list")
        tab.press("#close-list")
        tab.press("#finish")
        tab.until("!document.querySelector('#over').hidden")
        looked_at(tab, "over")
        tab.show(address, PHONE)
        for page in ("/w/habari/record", "/settings"):
            tab.show(f"{base}{page}", PHONE)
            looked_at(tab, page, small=False)
        tab.write("#link-name", "Bola")
        tab.press("#link-form button")
        tab.until("!document.querySelector('#link-made').hidden")
        looked_at(tab, "a link", small=False)
        made = tab.eval("document.querySelector('#link-made code').textContent")
        tab.show(made, PHONE)
        tab.until("location.pathname === '/w/habari/clips'", seconds=20)

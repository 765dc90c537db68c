"""The page in a real Chromium: a text is typed, the button pressed, and what reaches the loudspeakers is measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
import wave
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from olu.serve.protocol import SoundPiece, SpeechJob, VoiceInfo

from ..helpers import serve_voices as voices
from ..helpers.browser import BROWSER, Screen, Tab, chromium
from ..helpers.servers import Running, Tones, running, until

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(os.environ.get("OLU_SOAK") != "1", reason="the browser is started by make soak: OLU_SOAK=1"),
    pytest.mark.skipif(BROWSER is None, reason="no chromium here"),
]

DESK, PHONE = Screen(1100, 900), Screen(390, 844, phone=True)
SCREENS = {
    "desk": DESK,
    "phone": PHONE,
    "phone-dark": replace(PHONE, dark=True),
    "small-phone": replace(PHONE, width=320),
}
RATE = 24_000
TRIES = (
    3  # a machine that is busy with other things may begin a piece too late: some thousandths of a second go missing
)
TEXT = "Ututu oma enyi m. Kedu ka i mere taa. Nke a bu ahiriokwu nke ato"
FINISHED = "document.querySelector('#status').textContent === 'Finished.'"
TROUBLE = "document.querySelector('#trouble').hidden ? '' : document.querySelector('#trouble').textContent"


@dataclass
class Timed(Tones):
    """Tones whose words follow each other."""

    async def _pieces(self, ask: SpeechJob) -> AsyncIterator[SoundPiece]:
        async for piece in super()._pieces(ask):
            said = piece.text.strip(" ؟።").split()
            step = (piece.ends - piece.begins) / len(said)
            words = tuple((w, piece.begins + i * step, piece.begins + (i + 1) * step) for i, w in enumerate(said))
            yield replace(piece, words=words if piece.words else ())


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with chromium(tmp_path_factory.mktemp("browser") / "profile") as opened:
        yield opened


def _open(tab: Tab, here: Running, screen: Screen = DESK) -> None:
    tab.asked.clear()
    tab.show(here.base + "/", screen)
    tab.until("document.querySelector('#voice').value || !document.querySelector('#trouble').hidden")


def _asked(here: Running, **wish: Any) -> bytes:
    body = {"voice": "ada", "input": TEXT, "response_format": "pcm", **wish}
    request = urllib.request.Request(here.base + "/v1/audio/speech", json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=60) as answer:
        return bytes(answer.read())


def _healthy(here: Running) -> bool:
    try:
        with urllib.request.urlopen(here.base + "/health", timeout=20) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _sounding(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """Without zeros: the sound may have waited for more of it."""
    return samples[np.abs(samples) > 1e-6]


def _follow(tab: Tab) -> list[str]:
    """Press the button and give the words that lit up until the end, in their order."""
    tab.press("#speak")
    tab.until("!!document.querySelector('#said .now')")
    assert tab.eval("document.querySelector('#clock').textContent").endswith("…"), "it plays before all is made"
    seen = [""]
    while not tab.eval(FINISHED):
        now = tab.eval("document.querySelector('#said .now')?.textContent ?? ''")
        seen += [now] if now not in ("", seen[-1]) else []
    return seen[1:]


@pytest.mark.parametrize("screen", SCREENS.values(), ids=SCREENS)
def test_what_is_typed_is_heard_sample_for_sample(tab: Tab, screen: Screen) -> None:
    with running(Timed(slow=0.1)) as here:
        _open(tab, here, screen)
        tab.write("#text", TEXT)
        expected = np.frombuffer(_asked(here), "<i2").astype(np.float32) / 32768
        for _ in range(TRIES):
            seen = _follow(tab)
            heard, rate = tab.heard()
            if np.array_equal(_sounding(heard), _sounding(expected)):
                break
        assert rate == RATE and len(expected) == 3 * RATE
        assert np.array_equal(_sounding(heard), _sounding(expected)), "every sample, in order, none twice"
        assert len(heard) / rate < 3.0 + 2.0, "it did not wait for long"
        level = 20 * np.log10(np.sqrt(np.mean(_sounding(heard) ** 2)))
        assert abs(level - 20 * np.log10(8000 / 32768 / np.sqrt(2))) < 0.5
        spectrum = np.abs(np.fft.rfft(heard[:RATE] * np.hanning(RATE)))
        assert abs(int(spectrum.argmax()) - 440) <= 1
        said = TEXT.replace(".", "").split()
        assert seen == [word for word in said if word in seen], "words light up in their order"
        assert len(seen) > len(said) / 2
        listed = tab.eval(
            "[...document.querySelectorAll('#rows tr')].map((row) => [...row.cells].map((c) => c.textContent))"
        )
        assert [row[0] for row in listed] == said and listed[0][1:] == ["0.00", "0.25"]
        assert tab.eval("failures") == [] and not tab.eval(TROUBLE)
        assert tab.eval("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
        assert {address.startswith(here.base + "/") for address in tab.asked} == {True}


@pytest.mark.parametrize("screen", [DESK, PHONE], ids=["desk", "phone"])
def test_a_real_voice_is_heard(tab: Tab, package: Path, screen: Screen) -> None:
    words = [sys.executable, "-m", "olu", "serve", str(package), "--port", "0", "--workers", "1"]
    quiet = {"stderr": subprocess.DEVNULL, "env": {**os.environ, "OMP_NUM_THREADS": "1"}}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **quiet) as server:
        try:
            assert server.stdout is not None
            here = Running(None, None, server.stdout.readline().split()[0], None, None)  # type: ignore[arg-type]
            until(lambda: _healthy(here), seconds=60)
            _open(tab, here, screen)
            tab.write("#text", voices.LONG)
            expected = np.frombuffer(_asked(here, voice="test", input=voices.LONG), "<i2").astype(np.float32) / 32768
            for _ in range(TRIES):
                tab.press("#speak")
                tab.until("document.querySelector('#status').textContent === 'Speaking…'")
                tab.until(FINISHED, seconds=300)
                heard, rate = tab.heard()
                if len(_sounding(heard)) == len(_sounding(expected)):
                    break
        finally:
            server.terminate()
            server.communicate(timeout=60)
    assert rate == RATE and len(expected) > 5 * RATE
    assert len(_sounding(heard)) == len(_sounding(expected))
    assert np.abs(_sounding(heard) - _sounding(expected)).max() < 1e-3
    assert np.sqrt(np.mean(heard**2)) > 1e-3 and tab.eval("failures") == []
    spoken = tab.eval("[...document.querySelectorAll('#rows tr')].map((row) => row.cells[0].textContent).join(' ')")
    assert spoken.split()[:3] == ["ọ", "dị", "mma"] and server.returncode == 0


def test_buttons_are_large_enough_for_fingers(tab: Tab) -> None:
    with running() as here:
        _open(tab, here, PHONE)
        sizes = tab.eval(
            "[...document.querySelectorAll('form button, form select, form input, form textarea')].map((one) =>"
            " [one.id, one.getBoundingClientRect().height, parseFloat(getComputedStyle(one).fontSize)])"
        )
        shown = [(name, high, letters) for name, high, letters in sizes if high]
        assert len(shown) >= 8 and all(high >= 44 and letters >= 16 for _, high, letters in shown), shown


def test_speed_and_speaker_are_asked_for_and_a_damaged_voice_cannot_be_chosen(tab: Tab) -> None:
    with running(Timed()) as here:
        _open(tab, here)
        assert tab.eval("[...document.querySelectorAll('#voice option')].map((one) => [one.value, one.disabled])") == [
            ["ada", False],
            ["broken", True],
        ]
        assert tab.eval("[...document.querySelectorAll('#voice optgroup')].map((one) => one.label)")[0] == "Igbo (ibo)"
        tab.write("#text", "ututu oma")
        change = "(id, value) => { const one = document.getElementById(id); one.value = value;"
        change += " for (const kind of ['input', 'change']) one.dispatchEvent(new Event(kind)); }"
        tab.eval(f"({change})('speed', '2'), ({change})('speaker', 'obi')")
        tab.press("#speak")
        tab.until(FINISHED)
        heard, rate = tab.heard()
        assert here.pool.asked[-1].manner.speed == 2.0 and here.pool.asked[-1].manner.speaker == "obi"
        assert abs(len(heard) / rate - 0.5) < 0.05
        tab.eval(f"({change})('speed', '1')")


def test_stop_ends_the_sound_and_the_work(tab: Tab) -> None:
    with running(Timed(slow=0.2)) as here:
        _open(tab, here, PHONE)
        tab.write("#text", ". ".join(["ututu oma enyi m"] * 20))
        tab.press("#speak")
        tab.until("document.querySelector('#clock').textContent.startsWith('0:01')")
        tab.press("#stop")
        until(lambda: here.pool.closed_early == 1 and here.pool.open == 0)
        assert tab.eval("document.querySelector('#status').textContent") == "Stopped."
        heard, rate = tab.heard()
        assert 1 <= len(heard) / rate < 10 and tab.eval("failures") == []


def test_pause_holds_the_sound_and_a_word_plays_from_there(tab: Tab) -> None:
    with running(Timed()) as here:
        _open(tab, here)
        tab.write("#text", TEXT)
        tab.press("#speak")
        tab.until("!!document.querySelector('#said .now')")
        tab.press("#pause")
        tab.until("document.querySelector('#status').textContent === 'Paused.' && context.state === 'suspended'")
        tab.press("#pause")
        tab.until("document.querySelector('#clock').textContent === '0:02 / 0:03'")
        assert tab.eval("document.querySelector('#download').disabled") is False, "all of it is made"
        tab.until(FINISHED)
        assert abs(len(_sounding(tab.heard()[0])) / RATE - 3) < 0.05
        tab.press("#said p:last-child span:last-child")
        tab.until(FINISHED)
        # what was still on its way of the sound before may come first
        assert abs(len(_sounding(tab.heard()[0])) / RATE - 1 / 6) < 0.05, "the last word of six in a second"
        assert len(here.pool.asked) == 1 and tab.eval("failures") == []


@pytest.mark.parametrize("kind", ["wav", "mp3", "opus"])
def test_a_file_is_saved(tab: Tab, tmp_path: Path, kind: str) -> None:
    with running(Timed()) as here:
        _open(tab, here)
        tab.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
        tab.write("#text", TEXT)
        tab.eval(f"document.querySelector('#format').value = '{kind}'")
        tab.press("#download")
        tab.until("document.querySelector('#status').textContent === 'The file is saved.'")
        until(lambda: [path for path in tmp_path.iterdir() if path.suffix in (".wav", ".mp3", ".ogg")])
        (saved,) = tmp_path.iterdir()
        assert saved.stem == "ututu-oma-enyi-m-kedu-ka"
        samples, rate = soundfile.read(saved)
        assert abs(len(samples) / rate - 3) < 0.1 and np.sqrt(np.mean(samples**2)) > 0.1
        if kind == "wav":  # strict readers go by the length in the header
            with wave.open(str(saved)) as strict:
                assert strict.getnframes() == len(samples) == (saved.stat().st_size - 44) // 2


def test_trouble_is_told_in_plain_words(tab: Tab) -> None:
    with running(Timed()) as here:
        _open(tab, here)
        for text, said in {
            " ": "Please write a text first.",
            "busy": "The server has too much to do. Please try again in 7 seconds.",
            "gone": "The process that spoke this has ended; another one is starting: try again.",
            "unsayable": "Nothing in the text can be said by the voice ada: check text and language.",
            "bug": "The server met an error of its own; it was written to its log.",
            "a" * 5000: "The text has 5000 characters; this server takes 4096 at once.",
        }.items():
            tab.write("#text", text)
            tab.press("#speak")
            tab.until(f"({TROUBLE}) === {said!r}", seconds=20)
        tab.write("#text", "late gone na-abia")
        tab.press("#speak")
        tab.until("document.querySelector('#status').textContent === 'Ended early.'")
        assert tab.eval(TROUBLE).startswith("The process that spoke this has ended")
        assert abs(len(_sounding(tab.heard()[0])) / RATE - 0.5) < 0.02, "what came before is heard"
    tab.write("#text", TEXT)
    tab.press("#speak")
    tab.until(f"({TROUBLE}).startsWith('The server does not answer.')")
    assert tab.eval("failures") == []


def test_a_key_is_asked_for_only_where_there_is_one(tab: Tab) -> None:
    hidden = "document.querySelector('#key-field').hidden"
    enter = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
    with running(Timed()) as here:
        _open(tab, here)
        assert tab.eval(hidden) is True
    with running(Timed(), keys=(b"a-key-for-tests",)) as here:
        _open(tab, here)
        assert tab.eval(hidden) is False and tab.eval("document.activeElement.id") == "key"
        no = "does not take this key"
        good = ("a-key-for-tests", "")
        for key, shown in (("wrong-key-12345", no), good, ("a\u2013key-for-tests", no), good):
            tab.write("#key", key)
            tab.call("Input.dispatchKeyEvent", type="keyDown", **enter)
            tab.call("Input.dispatchKeyEvent", type="keyUp", **enter)
            tab.until(f"({TROUBLE}).includes({shown!r}) && (({TROUBLE}) === '') === {json.dumps(not shown)}")
        tab.until("document.querySelector('#voice').value === 'ada'")
        tab.write("#text", "ututu oma")
        tab.press("#speak")
        tab.until(FINISHED)
        assert abs(len(tab.heard()[0]) / RATE - 1) < 0.05
        assert tab.eval("Object.values(localStorage).includes('a-key-for-tests')") is False


def test_keys_speak_and_stop(tab: Tab) -> None:
    with running(Timed()) as here:
        _open(tab, here)
        tab.write("#text", TEXT)
        press = {"type": "rawKeyDown", "windowsVirtualKeyCode": 13, "key": "Enter", "code": "Enter", "modifiers": 2}
        tab.call("Input.dispatchKeyEvent", **press)
        tab.until("!!document.querySelector('#said .now')")
        tab.call("Input.dispatchKeyEvent", type="rawKeyDown", key="Escape", code="Escape", windowsVirtualKeyCode=27)
        tab.until("document.querySelector('#status').textContent === 'Stopped.'")
        assert here.pool.asked[-1].text == TEXT


@pytest.mark.parametrize(
    ("language", "text", "direction"),
    [("ara", "صباح الخير يا صديقي. كيف حالك اليوم", "rtl"), ("amh", "ሰላም ለዓለም. ዛሬ ሰዎች መጡ።", "ltr")],
)
def test_other_scripts_are_typed_shown_and_asked_for_as_they_are(
    tab: Tab, language: str, text: str, direction: str
) -> None:
    voices = [VoiceInfo("other", language, 16_000, ("one",), 1000, True)]
    with running(Timed(voices=voices)) as here:
        _open(tab, here, PHONE)
        tab.write("#text", text)
        assert tab.eval("getComputedStyle(document.querySelector('#text')).direction") == direction
        tab.press("#speak")
        tab.until(FINISHED)
        assert here.pool.asked[-1].text == text
        assert tab.eval("getComputedStyle(document.querySelector('#said p')).direction") == direction
        assert tab.eval("[...document.querySelectorAll('#said span')].length") == len(text.split())
        said = tab.eval("document.querySelector('#said').innerText")
        assert "".join(said.split()) == "".join(text.replace(".", " ").split())


def test_a_voice_that_comes_later_appears(tab: Tab) -> None:
    with running(Timed()) as here:
        _open(tab, here)
        here.pool.on_look.append(VoiceInfo("<b>late</b>", "swa", 16_000, ("one",), 1000, False))
        tab.eval("document.dispatchEvent(new Event('visibilitychange'))")
        tab.until("[...document.querySelectorAll('#voice option')].some((one) => one.textContent === '<b>late</b>')")
        assert tab.eval("document.querySelector('#voice').value") == "ada", "the choice stays"


def test_what_is_left_out_is_named_and_struck_out(tab: Tab) -> None:
    with running(Timed()) as here:
        _open(tab, here)
        tab.write("#text", "Ŋana 漢 na ŋ ka. Kedu.")
        tab.press("#speak")
        tab.until(FINISHED)
        note = "Left out, because this voice has no sound for it: ŋ, 漢."
        assert tab.eval("document.querySelector('#unsaid').textContent") == note
        struck = tab.eval("[...document.querySelectorAll('#said s')].map((one) => one.textContent).join()")
        assert struck == "漢", "what stands there in two forms, of which one is said, is named and not struck out"
        tab.write("#text", "Kedu.")
        tab.press("#speak")
        tab.until(FINISHED)
        assert tab.eval("document.querySelector('#unsaid').hidden")
        tab.write("#text", "Kedu 漢.")
        tab.press("#download")
        tab.until("document.querySelector('#status').textContent.startsWith('The file is saved. Left out')")


def test_there_is_a_sentence_to_try_each_voice_with(tab: Tab) -> None:
    pool = Timed()
    pool.voices = [
        VoiceInfo("ada", "ibo", 22_050, ("one",), 1, True, sample="Ọ dị mma."),
        VoiceInfo("selam", "amh", 22_050, ("one",), 1, True, sample="ይኼ ለማንም አይበጅም ።"),
        VoiceInfo("zola", "xho", 22_050, ("one",), 1, True),
    ]
    with running(pool) as here:
        _open(tab, here, PHONE)
        for voice, sample in (("ada", "Ọ dị mma."), ("selam", "ይኼ ለማንም አይበጅም ።")):
            tab.eval(
                f"document.querySelector('#voice').value = '{voice}';"
                "document.querySelector('#voice').dispatchEvent(new Event('change'))"
            )
            tab.press("#example")
            assert tab.eval("document.querySelector('#text').value") == sample
        tab.eval(
            "document.querySelector('#voice').value = 'zola';"
            "document.querySelector('#voice').dispatchEvent(new Event('change'))"
        )
        assert tab.eval("document.querySelector('#example-line').hidden")


def test_after_an_error_there_is_no_empty_card(tab: Tab) -> None:
    with running(Timed()) as here:
        _open(tab, here)
        tab.write("#text", "unsayable")
        tab.press("#speak")
        tab.until(f"Boolean({TROUBLE})")
        assert tab.eval("document.querySelector('#heard').hidden")


def test_plain_text_is_asked_for_with_a_tick(tab: Tab) -> None:
    with running(Timed()) as here:
        _open(tab, here)
        tab.write("#text", "Kedu <id>.")
        tab.press("#plain")
        tab.press("#speak")
        tab.until(FINISHED)
        assert here.pool.asked[-1].manner.plain

"""A real Chromium, driven over its DevTools protocol through a pipe: no port and no package is needed."""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--remote-debugging-pipe",
    "--disable-dev-shm-usage",
)
# Chromium reads commands from file 3 and answers on file 4.
ONTO = "import os, sys; from fcntl import F_DUPFD, fcntl; a, b = (fcntl(int(n), F_DUPFD, 10) for n in sys.argv[1:3]);"
ONTO += "os.dup2(a, 3); os.dup2(b, 4); os.execv(sys.argv[3], sys.argv[3:])"

# What reaches the loudspeakers is also kept in window.heard. The tap comes late, so what it hears is delayed before.
DELAY = 5  # seconds
TAP_FILE = "tap-of-the-test.js"
TAP = f"""
window.failures = [];
window.heard = {{ rate: 0, late: 99, blocks: [] }};
addEventListener("error", (event) => failures.push(String(event.message)), true);
addEventListener("unhandledrejection", (event) => failures.push(String(event.reason)));
addEventListener("securitypolicyviolation", (event) => failures.push("csp " + event.blockedURI));
const plain = AudioNode.prototype.connect;
const delays = new WeakMap();
const delayed = (context) => {{
  const delay = new DelayNode(context, {{ maxDelayTime: {DELAY}, delayTime: {DELAY} }});
  const begun = context.currentTime;
  plain.call(plain.call(delay, new GainNode(context, {{ gain: 0 }})), context.destination); // else it does not run
  window.context = context;
  heard.rate = context.sampleRate;
  context.audioWorklet.addModule("{TAP_FILE}").then(() => {{
    const tap = new AudioWorkletNode(context, "tap");
    tap.port.onmessage = ({{ data }}) => heard.blocks.push(data);
    plain.call(plain.call(delay, tap), context.destination);
    heard.late = context.currentTime - begun;
  }});
  return delay;
}};
AudioNode.prototype.connect = function (to, ...more) {{
  if (to instanceof AudioDestinationNode) {{
    if (!delays.has(to)) delays.set(to, delayed(this.context));
    plain.call(this, delays.get(to));
  }}
  return plain.call(this, to, ...more);
}};
"""
TAP_CODE = """
registerProcessor("tap", class extends AudioWorkletProcessor {
  process([[samples]]) {
    this.port.postMessage(samples ? samples.slice() : new Float32Array(128));
    return true;
  }
});
"""
HEARD = """(async () => {
  const parts = await new Blob(heard.blocks).bytes();
  let text = "";
  for (let i = 0; i < parts.length; i += 8192) text += String.fromCharCode(...parts.subarray(i, i + 8192));
  return btoa(text);
})()"""
PATIENCE = 240  # seconds: on a busy machine everything comes, but late
GIVES_WAY = "navigated", "context", "Object reference chain", "Cannot read properties of null"
# Where an element can be pressed: the page's scripts are there, it is enabled, at rest and under no other.
REACHED = """async (name) => {
  const element = document.querySelector(name);
  if (!element || document.readyState !== "complete" || element.disabled) return null;
  element.scrollIntoView({ block: "center", behavior: "instant" });
  const middle = () => {
    const { x, y, width, height } = element.getBoundingClientRect();
    return [x + width / 2, y + height / 2];
  };
  const before = middle();
  await new Promise((done) => setTimeout(done, 50));
  const [x, y] = middle();
  if (!element.isConnected || x !== before[0] || y !== before[1]) return null;
  const top = document.elementFromPoint(x, y);
  return element.contains(top) || top?.closest("label")?.control === element ? [x, y] : null;
}"""


@dataclass(frozen=True)
class Screen:
    width: int
    height: int
    phone: bool = False
    dark: bool = False


@dataclass
class Tab:
    process: subprocess.Popen[bytes]
    commands: int
    answers: int
    session: str = ""
    asked: list[str] = field(default_factory=list)  # addresses the page asked for
    missed: list[str] = field(default_factory=list)  # those of them that it did not get, with the reason
    _pending: dict[str, str] = field(default_factory=dict)  # addresses by the number of the request
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _held: bytes = b""

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        number = self._send(method, params)
        while True:
            answer = self._next(60)
            if answer is None:
                raise AssertionError(f"the browser does not answer {method}")
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return dict(answer["result"])

    def _send(self, method: str, params: dict[str, Any]) -> int:
        message = {"id": next(self.numbers), "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        return int(message["id"])

    def _next(self, seconds: float) -> dict[str, Any] | None:
        """The next message; requests of the page are noted on the way, and the one for the tap is answered."""
        while b"\0" not in self._held:
            if not select.select([self.answers], [], [], seconds)[0]:
                return None
            more = os.read(self.answers, 1 << 20)
            assert more, "the browser has ended"
            self._held += more
        one, _, self._held = self._held.partition(b"\0")
        message: dict[str, Any] = json.loads(one)
        self._note(message.get("method", ""), message.get("params", {}))
        if message.get("method") == "Fetch.requestPaused":
            headers = [{"name": "Content-Type", "value": "text/javascript"}]
            body = base64.b64encode(TAP_CODE.encode()).decode()
            answer = {"requestId": message["params"]["requestId"], "responseCode": 200, "body": body}
            self._send("Fetch.fulfillRequest", {**answer, "responseHeaders": headers})
        return message

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])  # the tap's own too
            self._pending[params["requestId"]] = params["request"]["url"]
        elif method == "Network.responseReceived" and params["response"]["status"] >= 400:
            self.missed.append(f"{params['response']['url']}: {params['response']['status']}")
        elif method == "Network.loadingFailed" and not params.get("canceled"):
            self.missed.append(f"{self._pending.get(params['requestId'])}: {params['errorText']}")

    def eval(self, code: str) -> Any:
        """The value of an expression in the page, awaited."""
        done = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def until(self, code: str, *, seconds: float = PATIENCE) -> Any:
        """Wait for an expression to become true, also over pages that give way to others."""
        end = time.monotonic() + seconds
        while not (value := self._if_there(code)):
            assert time.monotonic() < end, f"never true: {code}; {self._if_there('document.body.innerText')}"
            time.sleep(0.05)
        return value

    def _if_there(self, code: str) -> Any:
        """The value of an expression; none while one page gives way to another."""
        try:
            return self.eval(code)
        except AssertionError as wrong:
            if not any(word in str(wrong) for word in GIVES_WAY):
                raise
            return None

    def show(self, address: str, screen: Screen) -> None:
        shape = {"width": screen.width, "height": screen.height, "deviceScaleFactor": 1, "mobile": screen.phone}
        self.call("Emulation.setDeviceMetricsOverride", **shape)
        self.call("Emulation.setTouchEmulationEnabled", enabled=screen.phone)
        colours = {"name": "prefers-color-scheme", "value": "dark" if screen.dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[colours])
        self.eval("window.left = true")  # the page that is there can be complete too
        self.call("Page.navigate", url=address)
        self.until("!window.left && document.readyState === 'complete' && location.href !== 'about:blank'")

    def press(self, element: str) -> None:
        """A real press in the middle of an element, once it can be pressed: by mouse, or by finger on a phone."""
        x, y = self.until(f"({REACHED})({element!r})")
        if self.eval("navigator.maxTouchPoints > 0"):
            self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
            self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
            return
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def write(self, element: str, text: str) -> None:
        """Type into a field, as a keyboard or an input method does."""
        self.press(element)
        self.eval(f"document.querySelector({element!r}).select?.()")
        self.call("Input.insertText", text=text)

    def heard(self) -> tuple[NDArray[np.float32], int]:
        """What reached the loudspeakers since the last time, without the silence around it."""
        self.eval("context.resume()")  # what is still in the delay
        end = self.eval("context.currentTime") + DELAY + 1
        assert self.eval("heard.late") < DELAY, "the tap came too late to hear everything: the machine is too busy"
        self.until(f"context.currentTime > {end}")
        samples = np.frombuffer(base64.b64decode(self.eval(HEARD)), np.float32)
        rate = int(self.eval("context.suspend(), heard.blocks = [], heard.rate"))
        loud = np.flatnonzero(np.abs(samples) > 1e-6)
        return (samples[loud[0] : loud[-1] + 1] if len(loud) else samples[:0]), rate

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))


@contextmanager
def chromium(folder: Path, *, under: Sequence[str] = (), flags: Sequence[str] = ()) -> Iterator[Tab]:
    """A tab of a fresh browser, which ends with the block. `under`: a command that starts it, its path whole."""
    (hears, commands), (answers, speaks) = os.pipe(), os.pipe()
    words = [*under, str(BROWSER), *FLAGS, *flags, f"--user-data-dir={folder}", "about:blank"]
    trampoline = [sys.executable, "-c", ONTO, str(hears), str(speaks), *words]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(trampoline, pass_fds=(hears, speaks), start_new_session=True, **quiet)  # type: ignore[call-overload]
    os.close(hears)
    os.close(speaks)
    tab = Tab(process, commands, answers)
    try:
        target = tab.call("Target.createTarget", url="about:blank")["targetId"]
        tab.session = tab.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            tab.call(f"{domain}.enable")
        tab.call("Fetch.enable", patterns=[{"urlPattern": f"*/{TAP_FILE}"}])
        tab.call("Page.addScriptToEvaluateOnNewDocument", source=TAP)
        yield tab
        tab.session = ""
        tab.call("Browser.close")
        process.wait(20)
    finally:
        process.kill()
        process.wait()
        os.close(commands)
        os.close(answers)

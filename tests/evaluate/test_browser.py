"""The pages of an evaluation in a real browser: they show, play, fit a phone, and keep a listener's choices."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from olu.evaluate.blind import KEY_FILE, Trial, blind_key, count, render
from olu.evaluate.report import ShownSounds
from olu.evaluate.report import render as render_report
from olu.pages.charts import PitchCurve

from ..helpers.judged import voice
from .test_judge import made

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(os.environ.get("OLU_SOAK") != "1", reason="the browser is started by make soak: OLU_SOAK=1"),
    pytest.mark.skipif(BROWSER is None, reason="no chromium here"),
]

PROBE = """<script>
window.failures = 0;
window.addEventListener("error", () => { window.failures += 1; }, true);
window.addEventListener("securitypolicyviolation", () => { window.failures += 1; });
window.addEventListener("load", async () => {
  const wait = player => new Promise(done => {
    player.addEventListener("loadedmetadata", () => done(player.duration > 0));
    player.addEventListener("error", () => done(false));
    player.preload = "metadata"; player.load();
  });
  const good = await Promise.all([...document.querySelectorAll("audio")].map(wait));
  const drawn = [...document.images].filter(image => image.complete && image.naturalWidth > 0).length;
  document.title = `played ${good.filter(Boolean).length}/${good.length} drawn ${drawn}/${document.images.length}`
    + ` errors ${window.failures} wide ${document.documentElement.scrollWidth - document.documentElement.clientWidth}`;
});
</script></head>"""

LISTENER = """
<script>
window.addEventListener("load", async () => {
  const key = (name, more) => document.dispatchEvent(new KeyboardEvent("keydown", { key: name, ...more }));
  const choose = digit => key("!", { code: "Digit" + digit, shiftKey: digit !== "0" });
  const heard = [];
  HTMLMediaElement.prototype.play = function () { heard.push(this.id); return Promise.resolve(); };
  const lit = () => document.getElementById("save").classList.contains("on");
  const seen = [];
  let kept = null;
  URL.createObjectURL = blob => { kept = blob; return "#saved"; };
  const again = location.hash === "#again";  // saving goes to another place on the page
  if (!again) for (const digit of ["1", "2", "0", "1"]) choose(digit);
  seen.push(document.getElementById("place").textContent);
  document.getElementById("listener").value = "Ada";
  key("ArrowLeft");
  seen.push(document.getElementById("place").textContent);
  document.getElementById("save").click();
  seen.push(document.getElementById("note").textContent);
  key("1", { code: "Digit1" });
  key("2", { code: "Numpad2" });
  seen.push(heard.join(" ") + ", save is lit: " + lit());
  key("ArrowRight");
  if (again) choose("2");
  seen.push("save is lit: " + lit());
  const text = await kept.text();
  document.body.innerHTML = "<pre id=saved></pre>" + seen.map(line => "<p class=seen>" + line + "</p>").join("");
  document.getElementById("saved").textContent = text;
});
</script></body>"""


def opened(page: Path, folder: Path, *, width: int = 1100, mark: str = "") -> str:
    words = [str(BROWSER), *FLAGS, f"--user-data-dir={folder / 'profile'}", f"--window-size={width},900"]
    words += ["--virtual-time-budget=8000", "--dump-dom", page.as_uri() + mark]
    return subprocess.run(words, capture_output=True, text=True, timeout=120).stdout


@pytest.mark.parametrize("width", [1100, 500])
def test_the_report_shows_plays_and_fits(tmp_path: Path, width: int) -> None:
    from olu.evaluate.metrics import f0

    def melody(hertz: float) -> PitchCurve:
        pitch = f0.track(voice(hertz=hertz))
        return PitchCurve(pitch.times, pitch.hertz)

    sounds = ShownSounds(voice(), voice(seed=1), melody(120), melody(140))
    page = render_report(made(), hear=lambda item: sounds)
    path = tmp_path / "report.html"
    path.write_text(page.replace("</head>", PROBE, 1), encoding="utf-8")
    text = opened(path, tmp_path, width=width)
    said = re.search(r"played (\d+)/(\d+) drawn (\d+)/(\d+) errors (\d+) wide (-?\d+)", text)
    assert said is not None, text[:500]
    played, players, drawn, pictures, errors, wide = map(int, said.groups())
    assert (played, drawn, errors) == (players, pictures, 0) and players == 8 and pictures == 8 and wide <= 0
    assert "<b>0</b>" not in text and text.count("<polyline") > 8


def test_a_listener_chooses_by_keys_and_the_choices_are_kept_and_counted(tmp_path: Path) -> None:
    trials = [Trial(f"s{n}", f"sentensi {n}", voice(0.4), voice(0.5, hertz=160)) for n in range(5)]
    key = blind_key(trials, first="old", second="new", seed=5)
    page = render(trials, key, language="swa")
    (tmp_path / KEY_FILE).write_text(json.dumps(key), encoding="utf-8")
    page = page.replace("</body>", LISTENER, 1)
    path = tmp_path / "listen.html"
    path.write_text(page, encoding="utf-8")
    text = opened(path, tmp_path)
    assert re.findall(r'class="seen">([^<]*)', text) == [
        "Sentence 5 of 5; 4 chosen",
        "Sentence 4 of 5; 4 chosen",
        "4 choices saved as choices.json: give it to whoever asked.",
        "one two, save is lit: false",
        "save is lit: false",
    ]
    found = re.search(r'<pre id="saved">(.*?)</pre>', text, flags=re.S)
    assert found
    file = tmp_path / "choices.json"
    file.write_text(found[1].replace("&amp;", "&").replace("&quot;", '"'), encoding="utf-8")
    counted = count([file])
    assert counted.preference.first + counted.preference.second == 3 and counted.preference.equal == 1
    assert counted.listeners[0][0] == "Ada" and {counted.first, counted.second} == {"old", "new"}
    later = opened(path, tmp_path, mark="#again")  # the browser kept them: it goes on where the listener was
    seen = re.findall(r'class="seen">([^<]*)', later)
    assert seen[0] == "Sentence 5 of 5; 4 chosen" and seen[-1] == "save is lit: true"

"""A page to choose between two voices without knowing which is which, and what became of the choices."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olu.core.errors import ConfigError
from olu.core.files import hash_value
from olu.core.parse import from_json, load_json
from olu.core.types import Audio
from olu.evaluate.page import page
from olu.evaluate.players import flac_uri
from olu.evaluate.stats import Preference, preference

KIND = "olu-choices"
SCHEMA = 1


@dataclass(frozen=True)
class Trial:
    """One sentence said by both."""

    id: str
    text: str
    first: Audio
    second: Audio


def swapped(ids: Sequence[str], *, seed: int) -> list[bool]:
    """Whether the second voice is heard as 1: half of the sentences, by chance."""
    turns = [place % 2 == 0 for place in range(len(ids))]
    random.Random(f"{seed} {' '.join(ids)}").shuffle(turns)
    return turns


def render(trials: Sequence[Trial], *, first: str, second: str, language: str, seed: int) -> str:
    """The key is in the page, packed so that nobody reads it by accident; it leaves with the choices."""
    ids = [trial.id for trial in trials]
    turns = swapped(ids, seed=seed)
    order = list(range(len(trials)))
    random.Random(f"order {seed} {' '.join(ids)}").shuffle(order)
    key = {"first": first, "second": second, "seed": seed, "swapped": dict(zip(ids, turns, strict=True))}
    packed = base64.b64encode(json.dumps(key, ensure_ascii=False).encode()).decode("ascii")
    rows = []
    for place in order:
        trial = trials[place]
        sides = (trial.second, trial.first) if turns[place] else (trial.first, trial.second)
        rows.append({"id": trial.id, "text": trial.text, "sounds": [flac_uri(side) for side in sides]})
    data = _safe(
        {
            "trials": rows,
            "key": packed,
            "language": language,
            "kind": KIND,
            "schema": SCHEMA,
            "id": hash_value(key)[:16],
        }
    )
    return page("Which sounds better?", BODY, script=f"const data = {data};\n{SCRIPT}", style=STYLE)


def _safe(value: Any) -> str:
    """JSON that can stand inside a script: no text can end it."""
    return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@dataclass(frozen=True)
class Counted:
    """Choices of one or more people, with the names put back."""

    first: str
    second: str
    preference: Preference
    listeners: tuple[tuple[str, Preference], ...]
    sentences: dict[str, int]  # id -> how many more preferred the second than the first

    def row(self) -> dict[str, Any]:
        return {
            "first": self.first,
            "second": self.second,
            **_preferred(self.preference),
            "listeners": [{"name": name, **_preferred(held)} for name, held in self.listeners],
            "sentences": self.sentences,
        }


def _preferred(held: Preference) -> dict[str, Any]:
    counts = {"prefer_first": held.first, "prefer_second": held.second, "no_difference": held.equal}
    return {**counts, "share_second": held.share, "chance": held.chance}


def count(files: Sequence[Path]) -> Counted:
    """Add up the choices of several files of the same two voices."""
    names: tuple[str, str] | None = None
    totals: dict[str, list[int]] = {}  # listener -> first, second, equal
    sentences: dict[str, int] = {}
    if len({path.resolve() for path in files}) < len(files):
        raise ConfigError("--choices names one file twice: every listener's choices count once")
    for path in files:
        key, choices, listener = _read(path)
        if names not in (None, (key["first"], key["second"])):
            raise ConfigError(f"{path} compares {key['first']} and {key['second']}, not {' and '.join(names or ())}")
        names = key["first"], key["second"]
        held = totals.setdefault(listener, [0, 0, 0])
        for id, choice in choices.items():
            side = 2 if choice == 0 else (choice - 1) ^ int(key["swapped"][id])
            held[side] += 1
            sentences[id] = sentences.get(id, 0) + (-1, 1, 0)[side]
    assert names
    each = tuple((name, preference(a, b, equal=c)) for name, (a, b, c) in totals.items())
    sums = [sum(held[place] for held in totals.values()) for place in range(3)]
    return Counted(names[0], names[1], preference(sums[0], sums[1], equal=sums[2]), each, sentences)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, int], str]:
    try:
        row = load_json(path)
        if row["kind"] != KIND or row["schema"] != SCHEMA:
            raise KeyError(KIND)
        key = from_json(base64.b64decode(row["key"]))
        choices = {str(id): int(choice) for id, choice in row["choices"].items()}
        if not set(choices.values()) <= {0, 1, 2} or not choices.keys() <= key["swapped"].keys():
            raise KeyError("choices")
        key |= {side: str(key[side]) for side in ("first", "second")}
        return key, choices, str(row.get("listener") or path.stem)
    except FileNotFoundError:
        raise ConfigError(f"{path} is not there: check the path") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ConfigError(f"{path} holds no choices: save them with the button of the listening page") from None


def say(counted: Counted) -> list[str]:
    """What came out, in sentences."""
    held = counted.preference
    lines = [
        f"{counted.first}: preferred {held.first} times. {counted.second}: preferred {held.second} times."
        f" No difference: {held.equal}."
    ]
    if held.chance is None:
        return [*lines, "Nobody preferred either."]
    better = counted.second if held.second > held.first else counted.first
    if held.chance < 0.05:
        lines.append(f"{better} is preferred; chance alone does this in {100 * held.chance:.2g} of 100 cases.")
    else:
        lines.append(f"Not decided: chance alone does this in {100 * held.chance:.0f} of 100 cases. Listen to more.")
    return lines


BODY = """
<h1>Which sounds better?</h1>
<p class="soft">Two voices say the same sentence. Listen to both, then choose. Keys: <kbd>1</kbd> and
<kbd>2</kbd> play them; <kbd>Shift</kbd> with <kbd>1</kbd> or <kbd>2</kbd>: that one is better; <kbd>0</kbd>: no
difference; arrows go back and
forth.</p>
<div class="bar" role="progressbar" aria-label="Progress"><span id="bar"></span></div>
<p class="soft" id="place"></p>
<div class="item" id="trial">
 <p class="said big" id="text" dir="auto"></p>
 <div class="sides"><div><h4>1</h4><audio controls id="one" preload="auto"></audio></div>
 <div><h4>2</h4><audio controls id="two" preload="auto"></audio></div></div>
 <div class="choose"><button type="button" data-choice="1">1 is better</button>
 <button type="button" data-choice="0">No difference</button>
 <button type="button" data-choice="2">2 is better</button></div>
</div>
<p class="moves"><button type="button" id="back">Back</button> <button type="button" id="next">Next</button></p>
<h2>Save</h2>
<p><label>Your name, if you like: <input id="listener" autocomplete="off" maxlength="60"></label></p>
<p><button type="button" id="save">Save my choices</button> <button type="button" id="forget">Start over</button></p>
<p class="soft" id="note">Choices are kept in this browser until you save or start over. Nothing is sent anywhere.</p>
"""

STYLE = """
.big { font-size: 1.25rem; }
.bar { height: .5rem; border-radius: .25rem; background: var(--line); margin: 1rem 0 .3rem; }
.bar span { display: block; height: 100%; width: 0; border-radius: .25rem; background: var(--c0); }
button, input { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line);
  border-radius: .5rem; padding: .6rem 1rem; } button { cursor: pointer; } button:hover { border-color: var(--soft); }
.choose { display: grid; grid-template-columns: repeat(3, 1fr); gap: .5rem; margin-top: .8rem; }
.choose button.on, #save.on { background: var(--c0); border-color: var(--c0); color: #fff; }
kbd { font: .85em ui-monospace, Menlo, Consolas, monospace; border: 1px solid var(--line); border-radius: .25rem;
  padding: 0 .3rem; }
@media (max-width: 30rem) { .choose { grid-template-columns: 1fr; } }
"""

SCRIPT = """
const at = id => document.getElementById(id);
const store = "olu-choices-" + data.id;
let choices = {}, place = 0;
try { choices = JSON.parse(localStorage.getItem(store) || "{}"); } catch { choices = {}; }
const first = data.trials.findIndex(trial => !(trial.id in choices));
place = first < 0 ? 0 : first;
function keep() { try { localStorage.setItem(store, JSON.stringify(choices)); } catch { /* private windows */ } }
function show() {
  const trial = data.trials[place], done = Object.keys(choices).length;
  at("text").textContent = trial.text;
  at("text").lang = data.language;
  for (const [id, sound] of [["one", 0], ["two", 1]])
    if (at(id).dataset.trial !== trial.id) { at(id).src = trial.sounds[sound]; at(id).dataset.trial = trial.id; }
  for (const button of document.querySelectorAll("[data-choice]"))
    button.classList.toggle("on", choices[trial.id] === Number(button.dataset.choice));
  at("place").textContent = `Sentence ${place + 1} of ${data.trials.length}; ${done} chosen`
    + (done === data.trials.length ? ". All done: save your choices below." : "");
  at("save").classList.toggle("on", done === data.trials.length);
  at("bar").style.width = 100 * done / data.trials.length + "%";
  at("back").disabled = place === 0;
  at("next").disabled = place === data.trials.length - 1;
}
function go(step) {
  place = Math.min(Math.max(place + step, 0), data.trials.length - 1);
  for (const player of document.querySelectorAll("audio")) player.pause();
  show();
}
function choose(choice) { choices[data.trials[place].id] = choice; keep(); go(1); }
function play(id) { at(id).currentTime = 0; at(id).play().catch(() => {}); }
function saved() {
  return JSON.stringify({ kind: data.kind, schema: data.schema, listener: at("listener").value.trim(), key: data.key,
    choices, of: data.trials.length, saved: new Date().toISOString() });
}
document.addEventListener("play", event => {
  for (const other of document.querySelectorAll("audio")) if (other !== event.target) other.pause();
}, true);
document.addEventListener("keydown", event => {
  if (event.target === at("listener") || event.ctrlKey || event.metaKey || event.altKey) return;
  const digit = (/^(?:Digit|Numpad)([0-2])$/.exec(event.code) || [])[1];  // the key itself, whatever Shift makes of it
  if (digit === "0") choose(0);
  else if (digit && event.shiftKey) choose(Number(digit));
  else if (digit) play(digit === "1" ? "one" : "two");
  else if (event.key === "ArrowLeft") go(-1);
  else if (event.key === "ArrowRight") go(1);
});
for (const button of document.querySelectorAll("[data-choice]"))
  button.addEventListener("click", () => choose(Number(button.dataset.choice)));
at("back").addEventListener("click", () => go(-1));
at("next").addEventListener("click", () => go(1));
at("save").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([saved()], { type: "application/json" }));
  link.download = "choices.json";
  link.click();
  at("note").textContent = `${Object.keys(choices).length} choices saved as choices.json: give it to whoever asked.`;
});
at("forget").addEventListener("click", () => { choices = {}; keep(); place = 0; show(); });
show();
"""

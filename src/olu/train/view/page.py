"""run.html: one file with everything a person wants to know of a run while it goes, and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from olu.pages.curves import Curve, chart
from olu.pages.style import STYLE
from olu.train.view.bands import Reference, verdict
from olu.train.view.history import History
from olu.train.view.pace import Pace, clock
from olu.train.view.samples import MOST_BYTES, packed, shown

RELOAD_SECONDS = 15
OF_THE_ENGINE = ("grad_norm", "lr", "ratio")  # figures of a part that are no losses
HAPPENED = {
    "NOTE": ("note", "warn"),
    "SKIP": ("batch skipped", "warn"),
    "REWIND": ("went back", "error"),
    "STOP": ("stopped", "error"),
}
MOST_EVENTS = 60
EXPLAINED = {  # figures whose names do not speak for themselves
    "mel": "How far the sound is from the recording, as a mel spectrogram. Lower is better.",
    "kl": "How far what the text foretells is from what the recording holds. Lower is better.",
    "duration": "How well the lengths of the sounds are foretold. Lower is better.",
    "disc": "How well the discriminator tells recordings from the voice: it should neither win nor guess.",
    "heard_faults": "Share of the samples that are silent, clipped, endless or repetitive.",
    "heard_duration": "How far the length of the samples is off, beyond a tenth of the recording's.",
    "heard_cer": "Share of wrong letters that the recogniser hears in the samples.",
    "heard": "The sum of the figures of hearing. Lower is better.",
}


@dataclass
class PageFacts:
    """What the page is drawn from. `state` is running, finished, stopped or left."""

    name: str
    folder: Path
    again: str  # the command that goes on with the run
    settings: Mapping[str, Any]
    metric: str
    steps: int
    step: int
    history: History
    pace: Pace = field(default_factory=Pace)
    reference: Reference = field(default_factory=Reference)
    events: list[dict[str, Any]] = field(default_factory=list)
    best: Mapping[str, Any] | None = None
    state: str = "running"
    why: str = ""
    updated: float = 0.0
    patience: float = 180.0  # seconds without a word after which a running run looks dead
    workspace: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)  # what each sample says, by its name

    @property
    def title(self) -> str:
        return f"{self.workspace}: {self.name}" if self.workspace else self.name


def render(facts: PageFacts) -> str:
    alive = facts.state == "running"
    body = "".join(
        [_head(facts), _normal(facts), _curves(facts), _samples(facts), _events(facts), _settings(facts.settings)]
    )
    refresh = f'<noscript><meta http-equiv="refresh" content="{2 * RELOAD_SECONDS}"></noscript>' if alive else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"{refresh}<title>{escape(facts.title)}</title><style>{STYLE}</style></head>"
        f"<body><main>{body}</main><script>{_script(facts)}</script></body></html>\n"
    )


def _script(facts: PageFacts) -> str:
    """One player at a time; how old this page is; and a fresh one every few seconds, unless something plays."""
    return f"""
const running = {str(facts.state == "running").lower()}, updated = {facts.updated:.0f}, patience = {facts.patience:.0f};
const players = () => [...document.querySelectorAll("audio")];
document.addEventListener("play", event => {{
  for (const other of players()) if (other !== event.target) other.pause();
}}, true);
function age() {{
  const seconds = Math.max(0, Math.round(Date.now() / 1000 - updated));
  const said = seconds < 90 ? seconds + " s" : seconds < 5400 ? Math.round(seconds / 60) + " min"
    : Math.round(seconds / 3600) + " h";
  const place = document.getElementById("age");
  if (running && seconds > patience) {{
    place.className = "tag error";
    place.textContent = "No word for " + said + ": it may have been killed";
    document.getElementById("again").hidden = false;
  }} else place.textContent = (running ? "Running, " : place.dataset.state + ", ") + "last word " + said + " ago";
}}
age(); setInterval(age, 1000);
if (running) setInterval(() => {{
  if (players().every(player => player.paused)) location.reload();
}}, {RELOAD_SECONDS * 1000});
"""


def _head(facts: PageFacts) -> str:
    colour = {"running": "good", "finished": "good", "stopped": "error", "left": "warn"}[facts.state]
    left = f", about {clock(facts.pace.seconds_left)} left" if facts.pace.seconds_per_step else ""
    said = {
        "running": f"Step {facts.step:,} of {facts.steps:,}{left}.",
        "finished": _done(facts),
        "stopped": f"It stopped at step {facts.step:,} of {facts.steps:,}: {facts.why}",
        "left": f"It was left at step {facts.step:,} of {facts.steps:,}.",
    }[facts.state]
    best = facts.best
    cards = [
        (f"{facts.step:,} / {facts.steps:,}", "steps"),
        (f"{best['score']:.4g}" if best else "-", f"best {facts.metric}" + (f", step {best['step']}" if best else "")),
        (clock(facts.history.seconds), "of training"),
    ]
    if facts.pace.seconds_per_step:
        cards += [
            (f"{facts.pace.clips_per_second:.3g}", "clips a second"),
            (f"{facts.pace.waiting:.0%}", "of the time waiting for data"),
        ]
    if facts.pace.memory:
        cards.append((f"{facts.pace.memory / 2**30:.1f} GiB", "of GPU memory at most"))
    if facts.history.rewinds:
        cards.append((str(facts.history.rewinds), "times sent back"))
    shown = "".join(
        f'<div class="card"><b>{escape(value)}</b><span>{escape(what)}</span></div>' for value, what in cards
    )
    hidden = "" if facts.state == "left" else " hidden"
    return (
        f"<h1>{escape(facts.title)}</h1>"
        f'<p><span class="tag {colour}" id="age" data-state="{facts.state.capitalize()}">'
        f"{facts.state.capitalize()}</span></p>"
        f'<p class="lead">{escape(said)}</p>'
        f'<p id="again"{hidden}>Go on with <code>{escape(facts.again)}</code></p><div class="cards">{shown}</div>'
    )


def _done(facts: PageFacts) -> str:
    if facts.step >= facts.steps:
        return f"All {facts.steps:,} steps are done."
    return f"It ended at step {facts.step:,} of {facts.steps:,}: no better step came for long."


def _normal(facts: PageFacts) -> str:
    """The verdict on all curves that have a band, in two sentences."""
    reference = facts.reference
    if not reference.bands:
        return (
            '<h2>Is this normal?</h2><p class="soft">There are no reference runs of this size that began this way,'
            " so nothing here is compared. Listen to the samples: they should turn from noise into a murmur, then"
            " into words.</p>"
        )
    found = [
        (name, *verdict(facts.history.points(name), band, smooth=not name.startswith("valid/")))
        for name, band in sorted(reference.bands.items())
    ]
    judged = [(name, kind, text) for name, kind, text in found if kind]
    odd = [(name, text) for name, kind, text in judged if kind == "warn"]
    if not judged:
        lead = "Too early, or too late, to say: no curve can be compared at this step."
    elif not odd:
        lead = f"Yes: all {len(judged)} curves that can be compared lie where the reference runs had theirs."
    else:
        lead = f"{len(judged) - len(odd)} of {len(judged)} curves lie where the reference runs had theirs."
    listed = "".join(f'<p class="warn">{escape(name)}: {escape(text)}</p>' for name, text in odd)
    return (
        f'<h2>Is this normal?</h2><p class="lead">{escape(lead)}</p>{listed}'
        f'<p class="soft">The grey bands are from {escape(reference.about)}. Other recordings, other batches and other'
        " rates move the curves: outside a band is a reason to listen, not a fault.</p>"
    )


def _curves(facts: PageFacts) -> str:
    names = list(facts.history.series)
    trained = [n for n in names if not n.startswith("valid/") and n.split("/")[1] not in OF_THE_ENGINE]
    figures = [_loss(facts, name) for name in trained]
    alone = [n for n in names if n.startswith("valid/") and not any(t.split("/")[1] == n[6:] for t in trained)]
    figures += [_figure(facts, f"{name[6:]} (validation)", [name]) for name in alone]
    for title, ending, log in (
        ("Learning rate", "lr", False),
        ("Gradient norms", "grad_norm", True),
        ("Movement of the weights per update, as a share of them", "ratio", True),
    ):
        if chosen := [name for name in names if name.endswith(f"/{ending}") and not name.startswith("valid/")]:
            figures.append(_figure(facts, title, chosen, log=log))
    shown = "".join(figures) or '<p class="soft">No step is done yet.</p>'
    return f'<h2>Curves</h2><div class="grid-of">{shown}</div>'


def _loss(facts: PageFacts, name: str) -> str:
    part, _, loss = name.partition("/")
    held = f"valid/{loss}" if f"valid/{loss}" in facts.history.series else ""
    return _figure(facts, f"{loss} ({part})" if loss != part else loss, [name, held] if held else [name])


def _figure(facts: PageFacts, title: str, names: Sequence[str], *, log: bool = False) -> str:
    banded = next((name for name in reversed(names) if name in facts.reference.bands), None)
    lines = []
    for colour, name in enumerate(names):
        noisy = not name.startswith("valid/") and not name.endswith(("/lr", "/ratio"))
        called = "validation" if name.startswith("valid/") else "training" if len(names) < 3 and not log else name
        if name.split("/")[1] in OF_THE_ENGINE:
            called = name.split("/")[0]
        lines.append(Curve(called, facts.history.points(name), colour % 4, smooth=noisy))
    marks = [(e["step"], e["message"]) for e in facts.events if e["guard"] == "rewind"]
    band = facts.reference.bands[banded] if banded else None
    drawn = chart(lines, label=title, band=band, marks=marks, steps=facts.step, log=log)
    said = ""
    if band and banded:
        kind, text = verdict(facts.history.points(banded), band, smooth=not banded.startswith("valid/"))
        whose = "Validation. " if banded.startswith("valid/") and len(names) > 1 else ""
        said = f'<p class="{kind or "soft"}">{whose}{escape(text)}</p>' if text else ""
    about = EXPLAINED.get(names[0].partition("/")[2], "")
    meant = f'<p class="soft">{escape(about)}</p>' if about else ""
    return f"<figure><figcaption>{escape(title)}</figcaption>{drawn}{meant}{said}</figure>"


def _samples(facts: PageFacts) -> str:
    rows, used = list[str](), 0
    for step, sounds in shown(facts.folder, until=facts.step):
        figures = []
        for path in sounds:
            if (held := packed(path)) is None:
                continue
            sound, pictures, seconds = held
            used += len(sound) + sum(len(uri) for _, uri in pictures)
            if used > MOST_BYTES:
                break
            drawn = "".join(f'<img src="{uri}" alt="{escape(name)}" title="{escape(name)}">' for name, uri in pictures)
            named = escape(", ".join(name for name, _ in pictures))
            said = facts.texts.get(path.stem, "")
            figures.append(
                f"<figure><figcaption>{escape(said or path.stem)}</figcaption>"
                f'<audio controls preload="none" src="{sound}"></audio>{drawn}'
                f'<p class="soft">{escape(path.stem)}, {seconds:.1f} s; pictures: {named}</p></figure>'
            )
        rows += [f'<h3>Step {step:,}</h3><div class="grid-of">{"".join(figures)}</div>'] if figures else []
    if not rows:
        return '<h2>Samples</h2><p class="soft">None yet: they come with the first validation.</p>'
    return (
        '<h2>Samples</h2><p class="soft">Texts of validation clips, spoken by the averaged weights. The newest come'
        f" first; the others lie in <code>samples/</code>.</p>{''.join(rows)}"
    )


def _events(facts: PageFacts) -> str:
    if not facts.events:
        return '<h2>Events</h2><p class="soft">Nothing out of the ordinary has happened.</p>'
    rows = []
    for event in reversed(facts.events[-MOST_EVENTS:]):
        word, colour = HAPPENED[event["verdict"]]
        clips = ", ".join(event["clips"][:6]) + (" ..." if len(event["clips"]) > 6 else "")
        named = f'<br><span class="soft">Clips: {escape(clips)}</span>' if clips else ""
        rows.append(
            f'<div class="event"><span class="tag {colour}">step {event["step"]:,}: {word}</span> '
            f'{escape(event["message"])} <span class="soft">({escape(event["guard"])})</span>{named}</div>'
        )
    more = len(facts.events) - MOST_EVENTS
    rest = f'<p class="soft">{more} earlier ones are in <code>events.jsonl</code>.</p>' if more > 0 else ""
    return f"<h2>Events</h2>{''.join(rows)}{rest}"


def _settings(settings: Mapping[str, Any]) -> str:
    rows = "".join(f"<tr><th>{escape(key)}</th><td>{escape(str(value))}</td></tr>" for key, value in settings.items())
    table = f'<div class="scroll"><table>{rows}</table></div>'
    return f"<h2>Settings</h2><details><summary>All {len(settings)}</summary>{table}</details>"

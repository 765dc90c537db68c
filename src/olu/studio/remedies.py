"""Commands in sentences as something to press: `go on with 'olu train ws --resume'` becomes a link to that form."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from olu.core.errors import OluError
from olu.core.files import Workspace
from olu.core.told import ELLIPSIS
from olu.stages.verbs import VERBS
from olu.studio.roots import StudioWorkspace
from olu.studio.verbs import NO_FORMS, given

COMMAND = re.compile(r"'(olu [a-z][^']*(?:''[^']*)*)'|\b(olu [a-z0-9]+ [^;,]*?)(?=$|[;,.]?\s(?:then|and|to)\b|;|$)")
# Where a verb has a page of its own that does more than a form.
PAGES = {
    "import": "import",
    "train": "train",
    "plan": "train",
    "make": "train",
    "export": "export",
    "speak": "speak",
    "evaluate": "evaluate",
    "runs": "runs",
    "clips": "clips",
}
DIRECT = ("audit", "read", "align", "cut", "split", "prepare", "clean")  # which may be started at once
WORDS = {
    "import": "Import recordings",
    "audit": "Audit the recordings",
    "read": "Read the texts",
    "align": "Align",
    "cut": "Cut long clips",
    "train": "Train",
    "plan": "Plan a training",
    "export": "Export the voice",
    "speak": "Speak",
    "evaluate": "Evaluate",
    "runs": "Look at the run",
    "split": "Split again",
}
# For those who do it the first time.
ABOUT = {
    "import": "Bring recordings in, with the text of each. You see what would come in before anything is written.",
    "audit": "Olu listens to every clip and says what is wrong with which. Nothing is changed.",
    "read": "The texts are turned into the sounds that the voice will learn.",
    "align": "Every word and sound is found in its clip.",
    "train": "Olu plans the training from what it knows of the recordings, and says why. You press start.",
    "plan": "Olu plans the training from what it knows of the recordings, and says why. You press start.",
    "export": "The trained voice becomes a package: small, and with all that it needs to speak.",
    "speak": "The voice is ready. Type something and hear it.",
}


@dataclass(frozen=True)
class NextStep:
    """A button: a job to start, or a page to open."""

    words: str
    command: str
    address: str = ""
    verb: str = ""
    options: Mapping[str, Any] | None = None
    about: str = ""


def next_step(ws: StudioWorkspace, command: str) -> NextStep | None:
    """What a command of `olu status` is here; nothing where it is no verb that can be run."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    if len(words) < 2 or words[0] != "olu" or words[1] not in VERBS or words[1] in NO_FORMS:
        return None
    name = words[1]
    told, about = WORDS.get(name, f"olu {name}"), ABOUT.get(name, "")
    try:
        values = given(VERBS[name], words[2:])
    except (OluError, IndexError):
        values = {}
    if name in DIRECT and values and _is_about(values, ws) and ELLIPSIS not in words:
        own = {key: value for key, value in values.items() if value not in (None, False, [], "")}
        own.pop(VERBS[name].workspace, None)
        return NextStep(told, command, verb=name, options=own, about=about)
    if name in PAGES:
        inside = f"/{quote(str(values['run']))}" if name == "runs" and values.get("run") else ""
        return NextStep(told, command, address=f"{ws.address}/{PAGES[name]}{inside}", about=about)
    return NextStep(told, command, address=form_address(ws, command), about=about)


def form_address(ws: StudioWorkspace | None, command: str) -> str:
    """The form of a command, filled with its words."""
    name = shlex.split(command)[1]
    home = ws.address if ws else ""
    return f"{home}/options/{quote(name)}?{urlencode({'command': command})}"


def _is_about(values: Mapping[str, Any], ws: Workspace) -> bool:
    from pathlib import Path

    about = next((values[name] for name in ("ws", "what", "source", "place") if values.get(name)), "")
    try:
        return not about or Path(str(about)).resolve() == ws.root.resolve()
    except OSError:
        return False


def parts(ws: StudioWorkspace | None, sentence: str) -> list[tuple[str, str]]:
    """A sentence in pieces: (text, ""), and for each command (command, address of its form)."""
    found: list[tuple[str, str]] = []
    at = 0
    for match in COMMAND.finditer(sentence):
        command = (match[1] or match[2]).strip()
        try:
            verb = shlex.split(command)[1]
        except (ValueError, IndexError):
            continue
        if verb not in VERBS or verb in NO_FORMS:
            continue
        found += [(sentence[at : match.start()], ""), (command, form_address(ws, command))]
        at = match.end()
    return [piece for piece in [*found, (sentence[at:], "")] if piece[0]]

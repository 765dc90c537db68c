"""A workspace with evaluations of two made voices, to make listening tests of."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from olu.audio import io
from olu.core.files import Workspace
from olu.core.job import finish
from olu.evaluate.listening import ListeningTest
from olu.stages.listening import ListeningMade, run
from olu.stages.verbs.voices import ListeningOptions

from .judged import evaluation, voice

VOICES = ("alpha-2000", "beta-8000")
SENTENCES = (
    "habari ya leo",
    "watu wengi wamekuja",
    "mtoto anasoma kitabu",
    "chai ni moto sana",
    "simba na tembo",
    "maji",
)


def evaluated_workspace(root: Path, *, names: tuple[str, ...] = VOICES) -> Workspace:
    ws = Workspace.create(root / "ws", language="swa")
    for number, name in enumerate(names):
        folder = ws.evaluations / name
        held = evaluation(name, {"cer": [0.1] * len(SENTENCES)}, count=len(SENTENCES))
        items = []
        for place, (one, text) in enumerate(zip(held.items, SENTENCES, strict=True)):
            io.write(folder / one.wav, voice(0.4, hertz=110 + 40 * number, level=0.05 + 0.2 * number, seed=place))
            heard = text[:-1] + "x" if number else text
            items.append(replace(one, text=text, expected=text, heard=heard))
        (folder / "evaluation.json").write_text(json.dumps(replace(held, items=tuple(items)).row()))
    return ws


def made_test(
    ws: Workspace, name: str = "evening-1", *, kind: str = "ab", names: tuple[str, ...] = VOICES
) -> ListeningTest:
    options = ListeningOptions(ws=ws.root, name=name, of=tuple(map(Path, names)), kind=kind, seed="7", by="owner")
    done = finish(run(options))
    assert isinstance(done, ListeningMade)
    return done.test

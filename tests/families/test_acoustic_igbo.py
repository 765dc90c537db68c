"""Igbo tones on their whole way: written, partly written or not at all; read, numbered, and heard by the network."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from olu.core.files import Workspace
from olu.core.job import finish
from olu.corpus.manifest import Corpus
from olu.families.acoustic.learn import AcousticLearner
from olu.families.runs import learner_of
from olu.stages.align import align
from olu.stages.import_ import import_source
from olu.stages.train import train
from olu.stages.train_setup import set_up
from olu.text.vocabulary import TONES, StreamVocabulary
from olu.train.run import Run

from ..helpers import igbo_project as project

WRITTEN = (
    "Ákwà dị́ n'ụ́lọ̀.",
    "Ọ́kụ́ nà ákwá.",
    "Ọ́ bụ̀ àkwà.",
    "Ányị̀ gàrà áhị̀à.",
    "Ńnà ḿ nọ̀ n'ézí.",
    "Ọ̀kụ̀kọ̀ nà-érí ọ́kà.",
)
UNMARKED = tuple(project.bare(text) for text in WRITTEN)
TEXTS = {
    "written": WRITTEN,
    "partly": (WRITTEN[1], UNMARKED[0], *UNMARKED[2:], *project.TEXTS),  # one sentence with marks among many without
    "none": (*UNMARKED, *project.TEXTS),
}
UNKNOWN, HIGH, LOW = (1 + TONES.index(tone) for tone in ("?", "H", "L"))
SETTINGS = ("family=acoustic", "model.size=tiny", "plan.steps=1", "plan.batch_clips=4", "view.tensorboard=false")


def workspace(root: Path, texts: tuple[str, ...]) -> Workspace:
    place = project.make_project(root / "igbotts", texts)
    ws = Workspace.create(root / "ws", language="ibo")
    finish(import_source(ws, place / "data" / "waxal_igbo"))
    finish(align(ws, source=place / "textgrids.tar.gz"))
    return ws


def tones_of(ws: Workspace, text: str) -> dict[str, int]:
    """Of the sounds that bear one, with their places: the number in the stream of tones. Gaps have none."""
    corpus = Corpus.open(ws)
    reading = next(corpus.reading(clip) for clip in corpus if clip.text == text)
    words = StreamVocabulary(sorted({"_", *reading.symbols("none")}))
    ids, streams = words.encode(reading), words.streams(reading)
    assert len(ids) == len(streams["tones"]) == len(streams["gaps"])
    rows = list(zip(ids, streams["tones"], streams["gaps"], strict=True))
    assert not any(tone for _, tone, gap in rows if gap)
    return {f"{words.symbols[id]} {at}": tone for at, (id, tone, _) in enumerate(rows) if tone}


@pytest.mark.parametrize("kind", TEXTS)
def test_tones_from_the_text_to_the_tokens(kind: str, tmp_path: Path):
    ws = workspace(tmp_path, TEXTS[kind])
    if kind == "none":
        assert {tone for text in TEXTS[kind] for tone in tones_of(ws, text).values()} == {UNKNOWN}
        return
    assert tones_of(ws, WRITTEN[1]) == {"ɔ 1": HIGH, "ʊ 3": HIGH, "a 6": LOW, "a 8": HIGH, "a 10": HIGH}
    if kind == "partly":
        others = (text for text in TEXTS[kind] if text != WRITTEN[1])
        assert {tone for text in others for tone in tones_of(ws, text).values()} == {UNKNOWN}
    else:  # dotted vowels keep their tones, and so does a nasal that is a syllable
        assert list(tones_of(ws, WRITTEN[0]).values()) == [HIGH, LOW, HIGH, HIGH, LOW]
        assert next(iter(tones_of(ws, WRITTEN[4]).items())) == ("n̩ 1", HIGH)
        assert UNKNOWN not in {tone for text in WRITTEN for tone in tones_of(ws, text).values()}


def test_the_network_hears_the_tones_of_a_clip(tmp_path: Path):
    """What is learnt from is what was written; another tone on a vowel moves the pitch that is planned for it."""
    ws = workspace(tmp_path, (*WRITTEN, *project.TEXTS[:6]))
    done = finish(train(ws, overrides=list(SETTINGS), new=True))
    run = Run.named(ws.runs_folder, done.run)
    job = set_up(ws, run.recipe, device="cpu", run=run)
    learner, batches, corpus = learner_of(run, 1).eval(), job.batches(), Corpus.open(ws)
    assert isinstance(learner, AcousticLearner)
    for clip in (clip for clip in corpus if clip.text in WRITTEN and clip.id in job.train):
        example, reading = batches.made(clip.id, epoch=0), corpus.reading(clip)
        assert list(example.features["tones"]) == job.vocabulary.streams(reading)["tones"]
        batch = learner.collate([example])
        assert batch.tones_BT[0].tolist() == list(example.features["tones"])
    mask = torch.ones_like(batch.ids_BT).float()[:, None]
    at = int((batch.tones_BT[0] == HIGH).nonzero()[0])
    with torch.no_grad():
        knots = []
        for tone in (HIGH, LOW, UNKNOWN):
            tones = batch.tones_BT.clone()
            tones[0, at] = tone
            knots.append(learner.net.text(batch.ids_BT, tones, batch.stress_BT, mask, batch.speaker_B)[3][0, at])
    assert not torch.equal(knots[0], knots[1]) and not torch.equal(knots[1], knots[2])

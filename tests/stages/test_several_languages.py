"""A workspace of several languages: merged, each text read in its own, a vector for each, voices one by one."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from olu.audio import io
from olu.core.errors import ExportError, LanguageError, WorkspaceError
from olu.core.files import Workspace, read_json
from olu.core.job import finish
from olu.corpus.manifest import Corpus
from olu.speak.voice import Voice
from olu.stages.export import export
from olu.stages.import_ import import_source
from olu.stages.merge import merge
from olu.stages.read import STAGE, read_corpus
from olu.stages.train import train
from olu.text.frontend import read_settings
from olu.train.run import Run

from ..helpers import sounds

SWAHILI = """Habari ya asubuhi. Watoto wanacheza nje. Mama anapika chakula. Jua linawaka sana. Ng'ombe wanne.
Leo ni siku njema. Ninapenda kusoma. Maji ni baridi. Tunakwenda sokoni. Karibu nyumbani."""
YORUBA = """Ẹ káàárọ̀ o. Mo fẹ́ lọ sí ọjà. Omi yìí tutù. Àwọn ọmọ ń ṣeré. Ìyá mi ń se oúnjẹ. Oòrùn ń ràn.
Mo nífẹ̀ẹ́ láti kàwé. Ilé wa ni èyí. Ẹ ṣé púpọ̀. A ti dé."""
TINY = ("family=acoustic", "model.size=tiny", "model.alignment=search", "view.tensorboard=false", "data.loudness=0")
PLAN = ("plan.steps=4", "plan.batch_clips=4", "plan.validate_every=4", "plan.save_every=2", "plan.demo_clips=1")


def recordings(folder: Path, texts: str, *, speaker: str) -> Path:
    folder.mkdir()
    rows = []
    for number, text in enumerate(re.findall(r"[^.]+\.", texts.replace("\n", " "))):
        audio = sounds.speech(len(text) // 2, seed=number, hertz=120.0 if "swa" in speaker else 180.0)
        io.write(folder / f"{speaker}-{number}.wav", audio)
        rows.append(f"{speaker}-{number}.wav|{speaker}|{text}")
    (folder / "metadata.csv").write_text("file|speaker|text\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    root = tmp_path_factory.mktemp("both")
    made = {}
    for code, texts in (("swa", SWAHILI), ("yor", YORUBA)):
        made[code] = Workspace.create(root / code, language=code)
        finish(import_source(made[code], recordings(root / f"{code}-wavs", texts, speaker=f"speaker-{code}")))
    with pytest.raises(WorkspaceError, match="--several-languages"):
        finish(merge(made["swa"], [made["yor"].root]))
    finish(merge(made["swa"], [made["yor"].root], several=True))
    return made["swa"]


def test_each_text_is_read_in_its_language(both: Workspace):
    summary = finish(read_corpus(both))
    assert summary.kind == "languages" and not summary.dropped
    corpus = Corpus.open(both)
    readings = {clip.language: corpus.reading(clip) for clip in corpus}
    assert set(readings) == {"swa", "yor"}
    assert any(word.tones for word in readings["yor"].words) and not any(word.tones for word in readings["swa"].words)
    assert STAGE.state(both) == "fresh"
    (both.root / "reading.toml").write_text('[languages.amh]\nmarks = "vowel"\n', encoding="utf-8")
    with pytest.raises(LanguageError, match="no clip is in amh"):
        finish(read_corpus(both))
    (both.root / "reading.toml").write_text('[languages.yor]\nmarks = "none"\n', encoding="utf-8")
    with pytest.raises(LanguageError, match="marked in one way"):
        finish(read_corpus(both))
    (both.root / "reading.toml").write_text("[languages.yor.options]\n", encoding="utf-8")
    assert "yor" in read_settings(both).languages
    (both.root / "reading.toml").unlink()
    finish(read_corpus(both))


def test_a_model_of_two_languages_is_exported_one_by_one(both: Workspace, tmp_path: Path):
    finish(train(both, overrides=["family=vocoder", "model.size=tiny", "view.tensorboard=false", *PLAN]))
    done = finish(train(both, overrides=[*TINY, *PLAN], new=True))
    run = Run.named(both.runs_folder, done.run)
    symbols = run.document("vocabulary.json")["symbols"]
    assert symbols[-2:] == ["<swa>", "<yor>"]
    weights = run.checkpoints().load(4).weights["learner/net.text.symbols.weight"]
    first = run.checkpoints().load(0).weights["learner/net.text.symbols.weight"]
    moved = (weights - first).abs().sum(1)[-2:]
    assert float(moved.min()) > 0, "the vector of a language learns"
    swahili = Voice.open(finish(export(both.root)).voice)
    yoruba_path = Path(finish(export(both.root, language="yo")).voice)
    yoruba = Voice.open(yoruba_path)
    assert (swahili.language, yoruba.language) == ("swa", "yor") and yoruba_path.name.endswith("-yor.voice")
    assert swahili.speakers == yoruba.speakers == ["speaker-swa", "speaker-yor"]
    plans = [one.plan("omi", speaker="speaker-yor").sentences[0].tokens for one in (swahili, yoruba)]
    knots = [np.array([token.knots for token in tokens]) for tokens in plans]
    assert knots[0].shape == knots[1].shape and not np.allclose(*knots), "the vector of a language acts"
    with pytest.raises(ExportError, match="has learnt swa, yor"):
        finish(export(both.root, language="amh"))
    facts = read_json(yoruba_path / "voice.json")
    assert facts["language"] == "yor"

"""A workspace of several languages: merged, each text read in its own, a vector for each, voices one by one."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from olu.audio import io
from olu.core.errors import ConfigError, ExportError, LanguageError, WorkspaceError
from olu.core.files import Workspace, hash_file, read_json
from olu.core.job import finish
from olu.corpus.manifest import Corpus
from olu.corpus.rights import Rights, save_workspace
from olu.speak.voice import Voice
from olu.stages.export import export
from olu.stages.import_ import import_source
from olu.stages.merge import merge
from olu.stages.read import STAGE, read_corpus
from olu.stages.train import train
from olu.text.frontend import corpus_from_state, read_settings
from olu.train.base_facts import licence_of
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
        save_workspace(made[code], Rights(licence="CC-BY-4.0", consent="Amina agreed on 1 May 2026"))
        finish(import_source(made[code], recordings(root / f"{code}-wavs", texts, speaker=f"speaker-{code}")))
    with pytest.raises(WorkspaceError, match="--several-languages"):
        finish(merge(made["swa"], [made["yor"].root]))
    finish(merge(made["swa"], [made["yor"].root], several=True))
    return made["swa"]


@pytest.fixture(scope="module")
def model(both: Workspace) -> Run:
    """An acoustic model of both languages, beside a vocoder."""
    finish(train(both, overrides=["family=vocoder", "model.size=tiny", "view.tensorboard=false", *PLAN]))
    return Run.named(both.runs_folder, finish(train(both, overrides=[*TINY, *PLAN], new=True)).run)


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


def test_a_model_of_two_languages_is_exported_one_by_one(both: Workspace, model: Run):
    run = model
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


IGBO = """Nnọọ. Kedụ ka ị mere. Chineke dị mma. Nwata na-agụ akwụkwọ. Ọ bịara ụlọ anyị. Mmiri dị oyi. Jide aka m.
Gwa ya. Ákwà dị n'ụ́lọ̀. Ọ́kụ́ na ákwá. Ego adịghị ya."""


def test_a_new_language_starts_from_a_run_or_a_voice_of_others(both: Workspace, model: Run, tmp_path: Path):
    base = model
    voice = Path(finish(export(both.root, output=tmp_path / "base.voice", with_training=True)).voice)
    ws = Workspace.create(tmp_path / "ws", language="ibo")
    finish(import_source(ws, recordings(tmp_path / "wavs", IGBO, speaker="speaker-ibo")))
    for start in (base.folder, voice):
        changes = ["family=acoustic", "model.alignment=search", "view.tensorboard=false", "data.loudness=0", *PLAN]
        run = Run.named(ws.runs_folder, finish(train(ws, base=start, overrides=changes, new=True)).run)
        symbols, old = (one.document("vocabulary.json")["symbols"] for one in (run, base))
        assert symbols[: len(old)] == old and "<ibo>" in symbols[len(old) :]
        rows, before = (one.checkpoints().load(0 if one is run else 4).weights for one in (run, base))
        given = rows["learner/net.text.symbols.weight"][: len(old)]
        tags = [symbol.startswith("<") for symbol in old]
        moved = given - before["average/net/text.symbols.weight"]
        speakers = before["average/net/text.speakers.weight"].mean(0)
        near = {"atol": 2e-3, "rtol": 0}  # a voice keeps them in 16 bits
        assert np.allclose(moved[np.array(tags)], 0, **near), "languages are as they were"
        assert np.allclose(moved[~np.array(tags)], speakers, **near), "the mean of the speakers is in every sound"
        assert run.recipe.model["learning_rate"] == 3e-4
        assert licence_of(start).name == "CC-BY-4.0", "what is made from it takes the licence of its recordings"
        state = corpus_from_state(run.document("frontend.json"))
        assert any(word.tones == ("H", "L") for word in state.read("ákwà").words), "written tones are read"
    with pytest.raises(ConfigError, match="is a run of vocoder"):
        finish(train(ws, base=both.runs_folder / "vocoder-001", overrides=["family=acoustic"], new=True))
    finish(export(both.root, output=voice))
    with pytest.raises(ConfigError, match="export it --with-training"):
        finish(train(ws, base=voice, overrides=["family=acoustic"], new=True))


def test_a_language_nobody_recorded_is_read_with_an_accent(both: Workspace, model: Run, tmp_path: Path):
    for asked, words in (
        ({"language": "ibo"}, "has learnt swa, yor: choose one of them, or add --accent swa"),
        ({"accent": "yor"}, "name that language too"),
        ({"language": "ibo", "accent": "amh"}, "has learnt swa, yor"),
        ({"language": "swa", "accent": "yor"}, "has learnt swa itself"),
        ({"language": "ibo", "accent": "yor", "to": "web"}, "--language is for the voice|--accent is for the voice"),
        ({"language": "deu", "accent": "yor"}, "is read by letters|no rules for phones|no folder"),
    ):
        with pytest.raises(ExportError, match=words):
            finish(export(both.root, **asked))
    done = finish(export(both.root, language="ibo", accent="yor"))
    assert done.language == "ibo" and done.voice.endswith("-ibo.voice")
    assert any("ɹ as ɾ" in note for note in done.notes) and any("never heard Igbo" in note for note in done.notes)
    voice = Voice.open(done.voice)
    card = (Path(done.voice) / "README.md").read_text(encoding="utf-8")
    assert "A voice for Igbo (ibo)" in card and "replaced sounds:" in card and "kʷ as k w" in card
    facts = read_json(Path(done.voice) / "voice.json")["facts"]["accent"]
    assert facts["of"] == "yor" and facts["sounds"]["ɹ"] == "ɾ"
    reading = voice.frontend.read("Chineke kwuru: gbara ọsọ.")
    said = {phone for word in reading.words for phone in word.phones}
    assert said <= set(voice.vocabulary.symbols) and not reading.dropped
    tones = [[token.tone for token in voice.plan(text).sentences[0].tokens if token.tone] for text in ("ákwà", "àkwá")]
    assert tones == [["H", "L"], ["L", "H"]]
    audio = voice.speak("Ákwà dị́ n'ụ́lọ̀.", speaker="speaker-yor")
    strict = voice.speak("Ákwà dị́ n'ụ́lọ̀.", speaker="speaker-yor", tones="strict")
    assert np.isfinite(audio.samples).all() and audio.seconds > 0.2 and len(strict.samples)
    assert voice.facts["loudness"] is not None, "it was heard once"
    networks = {}
    for code in ("yor", "swa"):
        made = finish(export(both.root, language=code, output=tmp_path / f"{code}.voice"))
        networks[code] = hash_file(Path(made.voice) / "text.onnx")
    assert hash_file(Path(done.voice) / "text.onnx") == networks["yor"] != networks["swa"], (
        "with that language's vector"
    )
    assert finish(export(both.root, language="ibo", accent="yor")).fresh

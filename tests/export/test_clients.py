"""Every format, spoken by the program it is for."""

from __future__ import annotations

import json
import os
import unicodedata
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
import transformers
from numpy.typing import NDArray

from olu.core.files import Workspace
from olu.core.job import finish
from olu.export.formats import VOICE, WEB, format_named, formats
from olu.export.subject import ExportSubject, from_foreign
from olu.families.vits.foreign import original as original_format
from olu.speak.voice import Voice
from olu.stages import export as stage
from olu.stages.export import export
from olu.text.letters import error_rate
from olu.text.spelled import symbols_of

from ..helpers import foreign_checkpoints as foreign

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
SOAK = os.environ.get("OLU_SOAK") == "1"
AMHARIC = ("ሰላም ለሁሉም።", "ዛሬ ጥሩ ቀን ነው።")


def heard(samples: NDArray[Any], rate: int, *, low: float, high: float) -> None:
    assert np.isfinite(samples).all()
    assert low < len(samples) / rate < high, len(samples) / rate
    assert np.abs(samples).max() > 0.01, "silence"


def piper(folder: Path) -> Any:
    package = pytest.importorskip("piper", reason="piper-tts is not installed")
    (model,) = folder.glob("*.onnx")
    return package.PiperVoice.load(model)


def sherpa(folder: Path) -> Any:
    package = pytest.importorskip("sherpa_onnx", reason="sherpa-onnx is not installed")
    lexicon = folder / "lexicon.txt"
    vits = package.OfflineTtsVitsModelConfig(
        model=str(folder / "model.onnx"),
        tokens=str(folder / "tokens.txt"),
        lexicon=str(lexicon) if lexicon.exists() else "",
        noise_scale=0.0,
        noise_scale_w=0.0,
    )
    config = package.OfflineTtsConfig(model=package.OfflineTtsModelConfig(vits=vits, num_threads=1))
    assert config.validate()
    return package.OfflineTts(config)


def still(voice: Voice) -> Voice:
    """Without noise, so that two programs can be compared."""
    voice.knobs.update({name: replace(knob, default=0.0) for name, knob in voice.knobs.items()})
    return voice


def same(found: NDArray[Any], expected: NDArray[Any]) -> None:
    """The same sound, but for the ends, which our package fades in and out."""
    assert found.shape == expected.shape
    edge = 200
    assert len(found) > 3 * edge
    np.testing.assert_allclose(found[edge:-edge], expected[edge:-edge], atol=1e-4)


def ids_of(voice: Voice, text: str) -> list[int]:
    return voice.vocabulary.encode(voice.frontend.read(text))


@pytest.fixture(scope="module")
def made(
    phones: Workspace,
    letters: Workspace,
    phones_voice: Path,
    letters_voice: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Path]:
    """Both voices in every format that is compared here."""
    place = tmp_path_factory.mktemp("made")
    found = {"phones-voice": phones_voice, "letters-voice": letters_voice}
    for kind, ws in (("phones", phones), ("letters", letters)):
        for to in ("onnx", "hf", *(("piper", "sherpa") if kind == "letters" else ())):
            out = place / f"{kind}-{to}"
            finish(export(ws.root, to=to, output=out))
            found[f"{kind}-{to}"] = out
    return found


# ---------------------------------------------------------------- one graph


@pytest.mark.parametrize("kind", ["phones", "letters"])
def test_one_graph_sounds_as_the_package_does(kind: str, made: dict[str, Path]) -> None:
    voice = still(Voice.open(made[f"{kind}-voice"]))
    session = onnxruntime.InferenceSession(str(made[f"{kind}-onnx"] / "model.onnx"))
    facts = json.loads((made[f"{kind}-onnx"] / "model.json").read_text(encoding="utf-8"))
    assert tuple(facts["symbols"]) == voice.vocabulary.symbols and facts["rate"] == voice.rate
    for speaker, name in enumerate(voice.speakers):
        for text in ("Habari yangu", "maji na mto") if kind == "phones" else ("the cat sat", "far away"):
            ids = ids_of(voice, text)
            feeds = {
                "input": np.array([ids], np.int64),
                "input_lengths": np.array([len(ids)], np.int64),
                "scales": np.array([0.0, voice.facts["sampling"]["length_scale"], 0.0], np.float32),
                **({"sid": np.array([speaker], np.int64)} if len(voice.speakers) > 1 else {}),
            }
            assert {one.name for one in session.get_inputs()} == set(feeds)
            (wave,) = session.run(None, feeds)
            expected = voice.speak(text, speaker=name).samples
            assert wave.shape == (1, 1, len(expected))
            same(wave[0, 0], expected)
    feeds["scales"] = np.array([0.8, 1.0, 0.8], np.float32)
    first, second = (session.run(None, feeds)[0] for _ in range(2))
    assert first.shape != second.shape or not np.array_equal(first, second), "its own noise"
    feeds["scales"] = np.array([0.0, 2.0, 0.0], np.float32)
    assert session.run(None, feeds)[0].shape[2] > 1.4 * wave.shape[2]
    held = {one.key: one.value for one in onnx.load(str(made[f"{kind}-onnx"] / "model.onnx")).metadata_props}
    assert json.loads(held["symbols"]) == facts["symbols"] and held["made_by"] == "olu"


# ---------------------------------------------------------------- piper


def test_piper_speaks_a_voice_by_letters_with_our_ids(made: dict[str, Path]) -> None:
    ours, theirs = still(Voice.open(made["letters-voice"])), piper(made["letters-piper"])
    package = pytest.importorskip("piper")
    assert theirs.config.num_speakers == 2 and theirs.config.speaker_id_map == {"p0": 0, "p1": 1}
    for text in ("The cat sat on the mat.", "Why did he jump?", "A dog, far away!"):
        (codes,) = theirs.phonemize(text)
        assert theirs.phonemes_to_ids(codes) == ids_of(ours, text), text
        for number, name in enumerate(ours.speakers):
            how = package.SynthesisConfig(noise_scale=0.0, noise_w_scale=0.0, speaker_id=number, normalize_audio=False)
            (chunk,) = theirs.synthesize(text, how)
            same(chunk.audio_float_array, ours.speak(text, speaker=name).samples)


def test_piper_speaks_a_voice_by_phones_and_the_card_says_how_far_off_it_is(
    phones: Workspace, made: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rate in the card is made again here, from what piper itself gives the graph."""
    seen: list[ExportSubject] = []
    real = stage._folder

    def spy(subject: ExportSubject, *rest: Any, **more: Any) -> list[str]:
        seen.append(subject)
        return real(subject, *rest, **more)

    monkeypatch.setattr(stage, "_folder", spy)
    summary = finish(export(phones.root, to="piper", output=tmp_path / "p"))
    (told,) = [note for note in summary.notes if "the ids of piper differ" in note]
    assert "2 held-out sentences" in told
    assert told in (tmp_path / "p" / "README.md").read_text(encoding="utf-8")
    ours, theirs = still(Voice.open(made["phones-voice"])), piper(tmp_path / "p")
    (subject,) = seen
    letters = subject.letters("NFD")
    back = {subject.vocabulary.size + at: letter for at, letter in enumerate(letters.alone)}
    pairs = []
    for text in subject.held_out:
        (codes,) = theirs.phonemize(text)
        given = [back[id] for id in theirs.phonemes_to_ids([c for c in codes if c in theirs.config.phoneme_id_map])]
        read = letters.read("".join(given))
        assert read == letters.read(unicodedata.normalize("NFD", text))
        pairs.append((list(symbols_of(subject.frontend, subject.vocabulary, text) or ()), read))
    assert f"by {error_rate(pairs)[0]:.1%}" in told
    text = "Watoto wanacheza nje."  # words of its own texts are read as by us
    package = pytest.importorskip("piper")
    how = package.SynthesisConfig(noise_scale=0.0, noise_w_scale=0.0, normalize_audio=False)
    (chunk,) = theirs.synthesize(text, how)
    same(chunk.audio_float_array, ours.speak(text).samples)
    heard(chunk.audio_float_array, theirs.config.sample_rate, low=0.05, high=60)


# ---------------------------------------------------------------- sherpa-onnx


def test_sherpa_speaks_letters_with_our_ids(made: dict[str, Path]) -> None:
    ours, theirs = still(Voice.open(made["letters-voice"])), sherpa(made["letters-sherpa"])
    assert theirs.sample_rate == ours.rate and theirs.num_speakers == 2
    for text in ("The cat sat on the mat", "a dog, far"):
        for number, name in enumerate(ours.speakers):
            sound = theirs.generate(text, sid=number, speed=1.0 / ours.facts["sampling"]["length_scale"])
            expected = ours.speak(text, speaker=name).samples
            assert len(sound.samples) == len(expected), "the same ids"


def test_sherpa_speaks_phones_and_says_what_is_lost(phones: Workspace, made: dict[str, Path], tmp_path: Path) -> None:
    summary = finish(export(phones.root, to="sherpa", output=tmp_path / "s"))
    assert any("the ids of sherpa-onnx" in note and "held-out" in note for note in summary.notes)
    assert any("by words" in note and "by letters" in note for note in summary.notes)
    assert "--vits-noise-scale=0.667" in (tmp_path / "s" / "README.md").read_text(encoding="utf-8")
    lines = (tmp_path / "s" / "lexicon.txt").read_text(encoding="utf-8").splitlines()
    assert "maji m ˈa d͡ʒ i" in lines or any(line.startswith("mvua ") for line in lines)
    ours, theirs = still(Voice.open(made["phones-voice"])), sherpa(tmp_path / "s")
    text = "Watoto wanacheza nje"
    sound = theirs.generate(text, sid=0, speed=1.0)
    assert len(sound.samples) == len(ours.speak(text).samples)
    held = {one.key: one.value for one in onnx.load(str(tmp_path / "s" / "model.onnx")).metadata_props}
    assert held["model_type"] == "vits" and held["language"] == "Swahili" and held["licence"] == "CC-BY-SA-4.0"


def test_sherpa_looks_words_up_where_that_is_nearer(phones: Workspace, tmp_path: Path) -> None:
    """Letters that were learnt from nothing lose against a lexicon, which is then what sherpa uses."""
    from olu.families.vits.formats import sherpa as writer
    from olu.text.spelled import Measure

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "_by_letters", lambda *_: Measure(rate=0.9, same=0.0, sentences=2, held_out=True))
        patch.setattr(writer, "_by_words", lambda *_: Measure(rate=0.1, same=0.5, sentences=2, held_out=True))
        summary = finish(export(phones.root, to="sherpa", output=tmp_path / "s"))
    assert any("looked up in lexicon.txt" in note for note in summary.notes)
    theirs = sherpa(tmp_path / "s")
    known, unknown = (theirs.generate(text, sid=0, speed=1.0) for text in ("watoto wanacheza", "watoto xyzzy"))
    assert len(known.samples) > len(unknown.samples) > 0, "a word that is not in it is left out"


# ---------------------------------------------------------------- transformers


def test_transformers_speaks_what_hf_writes(letters: Workspace, made: dict[str, Path]) -> None:
    ours, folder = still(Voice.open(made["letters-voice"])), made["letters-hf"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    text = "The cat sat, far away!"
    assert tokenizer(text)["input_ids"] == ids_of(ours, text)
    speak = transformers.pipeline("text-to-speech", str(folder))
    sound = speak(text, forward_params={"speaker_id": 1})
    heard(np.asarray(sound["audio"]).squeeze(), sound["sampling_rate"], low=0.05, high=60)
    model = transformers.VitsModel.from_pretrained(folder).eval()
    model.noise_scale = model.noise_scale_duration = 0.0
    with torch.no_grad():
        wave = model(**tokenizer(text, return_tensors="pt"), speaker_id=1).waveform[0].numpy()
    same(wave, ours.speak(text, speaker="p1").samples)
    extractor = json.loads((folder / "preprocessor_config.json").read_text())
    assert extractor["sampling_rate"] == ours.rate


def test_transformers_takes_phones_of_a_voice_by_phones(phones: Workspace, made: dict[str, Path]) -> None:
    ours, folder = still(Voice.open(made["phones-voice"])), made["phones-hf"]
    stands = json.loads((folder / "phones.json").read_text(encoding="utf-8"))
    assert all(len(one) == 1 for one in stands.values()) and len(set(stands.values())) == len(stands)
    reading = ours.frontend.read("Gari limesimama njiani!")
    text = "".join(stands[symbol] for symbol in reading.symbols(ours.vocabulary.marks))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert tokenizer(text)["input_ids"] == ours.vocabulary.encode(reading)
    sound = transformers.pipeline("text-to-speech", str(folder))(text)
    heard(np.asarray(sound["audio"]).squeeze(), sound["sampling_rate"], low=0.05, high=60)
    card = (folder / "README.md").read_text(encoding="utf-8")
    for told in ("language: swa", "license: cc-by-sa-4.0", "Amina, 2026-01-02", "phones.json", "mel ", "8 clips"):
        assert told in card, told
    from olu.families.vits.foreign.detect import read_foreign

    assert read_foreign(folder).symbols == ours.vocabulary.symbols, "and Olu reads it back with its phones"


# ---------------------------------------------------------------- a real voice


@pytest.fixture(scope="module")
def amharic(real: Path) -> ExportSubject:
    subject = from_foreign(real, licence="", override="")
    assert any("but its phones" in note for note in subject.notes)
    assert any("posterior_encoder and no discriminator: speaking needs none" in note for note in subject.notes)
    assert not any("fresh" in note for note in subject.notes), "nothing is trained"
    return subject


@pytest.mark.parametrize("to", ["piper", *(["sherpa", "hf", "mms", "onnx"] if SOAK else [])])
def test_a_real_half_trained_voice(to: str, amharic: ExportSubject, real: Path, tmp_path: Path) -> None:
    folder, rows = tmp_path / to, json.loads((real / "examples.json").read_text(encoding="utf-8"))
    folder.mkdir()
    lost = format_named(to).write(amharic, folder)
    assert lost and (folder / "README.md").is_file()
    row = min(rows, key=lambda one: len(one["ids"]))
    frames = 16000 / 256
    low, high = 0.3 * len(row["ids"]) / frames, 12 * len(row["ids"]) / frames
    if to == "piper":
        for text in (row["text"], *AMHARIC):
            (chunk,) = piper(folder).synthesize(text)
            heard(chunk.audio_float_array, 16000, low=0.5, high=high)
    elif to == "sherpa":
        theirs = sherpa(folder)
        for text in (row["text"], *AMHARIC):
            heard(np.array(theirs.generate(text, sid=0, speed=1.0).samples), 16000, low=0.5, high=high)
    elif to == "onnx":
        session = onnxruntime.InferenceSession(str(folder / "model.onnx"))
        feeds = {"input": np.array([row["ids"]]), "input_lengths": np.array([len(row["ids"])])}
        (wave,) = session.run(None, {**feeds, "scales": np.array([0, 1, 0], np.float32)})
        np.testing.assert_allclose(wave[0, 0], _by_transformers(real, row["ids"]), atol=1e-3)
    elif to == "hf":
        stands = json.loads((folder / "phones.json").read_text(encoding="utf-8"))
        text = "".join(" " if phone == "␣" else stands[phone] for phone in row["ph"].split())
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        assert tokenizer(text)["input_ids"] == row["ids"]
        np.testing.assert_allclose(_by_transformers(folder, row["ids"]), _by_transformers(real, row["ids"]), atol=1e-4)
        sound = transformers.pipeline("text-to-speech", str(folder))(text)
        heard(np.asarray(sound["audio"]).squeeze(), 16000, low=low, high=high)
    else:
        assert {path.name for path in folder.iterdir()} == {"G_0.pth", "config.json", "vocab.txt", "README.md"}


def _by_transformers(folder: Path, ids: list[int]) -> NDArray[np.float32]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = transformers.VitsModel.from_pretrained(folder, dtype=torch.float32).eval()
    model.noise_scale = model.noise_scale_duration = 0.0
    with torch.no_grad():
        wave: NDArray[np.float32] = model(input_ids=torch.tensor([ids])).waveform[0].numpy()
    return wave


# ---------------------------------------------------------------- the list


def test_the_command_line_and_the_page_know_every_format() -> None:
    from olu.stages.verbs.voices import FORMATS as SHOWN

    assert SHOWN.split(", ") == [VOICE, *formats(), WEB]
    page = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
    for one in formats().values():
        assert f"`--to {one.name}`" in page, one.name


def test_piper_calls_espeak_for_a_voice_that_reads_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint of piper's own, in Spanish: its phones are espeak-ng's, here and there."""
    pytest.importorskip("espeakng_loader", reason="espeak-ng is not installed")
    for (
        key,
        value,
    ) in foreign.DISCRIMINATOR_SETTINGS.items():  # the discriminator there has a fixed size, too large for a test
        monkeypatch.setitem(original_format.DISCRIMINATOR_SETTINGS, key, value)
    source = foreign.piper(foreign.made(**foreign.SMALL), tmp_path / "spa")
    held = json.loads((source / "config.json").read_text(encoding="utf-8"))
    table = {"_": [0], "^": [1], "$": [2], **{c: [3 + at] for at, c in enumerate(" aeionls.")}}
    (source / "config.json").write_text(json.dumps({**held, "phoneme_id_map": table}), encoding="utf-8")
    summary = finish(export(source, to="piper", output=tmp_path / "p"))
    (told,) = [note for note in summary.notes if "the ids of piper differ" in note]
    theirs = piper(tmp_path / "p")
    assert theirs.config.phoneme_type.value == "espeak" and theirs.config.espeak_voice == "es"
    subject = from_foreign(source, licence="", override="")
    pairs = []
    for text in subject.sentences:
        given = [id for codes in theirs.phonemize(text) for id in theirs.phonemes_to_ids(codes) if id]
        pairs.append((subject.vocabulary.encode(subject.frontend.read(text))[1::2], given))
    found = error_rate([([str(a) for a in ours], [str(b) for b in ids]) for ours, ids in pairs])[0]
    assert found < 0.1, "two versions of espeak-ng"
    (chunk, *_) = theirs.synthesize("la sal en la sala.")
    heard(chunk.audio_float_array, theirs.config.sample_rate, low=0.01, high=60)
    assert "Olu's by" in told

"""docs/igbo.md is run on made recordings: a hub with WAXAL's layout, and workspaces of Swahili and Yoruba."""

from __future__ import annotations

import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from olu.audio.io import resample, write
from olu.core.files import Workspace
from olu.core.types import Audio
from olu.corpus.manifest import Corpus
from olu.corpus.readers import huggingface as hub
from olu.speak.voice import Voice

from ..conftest import SOAK
from ..helpers import igbo_project as project
from ..helpers import sounds
from .conftest import fine, olu

PAGE = Path(__file__).parents[2] / "docs" / "igbo.md"
RATE = 16000
LONG_MINUTES = 29.0
SHORT = ("--set", "model.size=tiny", "--set", "plan.steps=4", "--set", "plan.batch_clips=4", "--device", "cpu")
MORE = {  # so that it takes minutes: the commands stay as they are
    "train": SHORT,
    "align": ("--force", "--device", "cpu"),
    "evaluate": ("--only", "sanity", "--sentences", "2"),
}
FEATURES = {
    "audio": {"_type": "Audio"},
    "text": {"dtype": "string", "_type": "Value"},
    "speaker_id": {"dtype": "int64", "_type": "Value"},
    "language": {"dtype": "string", "_type": "Value"},
}


def commands(title: str) -> list[list[str]]:
    """Of one chapter of the page."""
    text = PAGE.read_text(encoding="utf-8").split(f"## {title}")[1].split("\n## ")[0]
    blocks = re.findall(r"^```sh\n(.*?)^```", text, flags=re.M | re.S)
    return [shlex.split(line)[1:] for block in blocks for line in block.splitlines()]


def row(number: int, text: str, audio: Audio) -> dict[str, Any]:
    held = io.BytesIO()
    soundfile.write(held, audio.samples, audio.rate, format="FLAC", subtype="PCM_16")
    sound = {"bytes": held.getvalue(), "path": f"ibo_{number:04}.flac"}
    return {"audio": sound, "text": text, "speaker_id": 7, "language": "ibo"}


def waxal(long_minutes: float, times: int) -> list[dict[str, Any]]:
    """Clips as the config has them: one speaker, line breaks in texts, and one recording of half an hour."""
    said = [(text, resample(project._spoken(text, n, ())[0], RATE)) for n, text in enumerate(project.TEXTS * times)]
    rows = [row(n, text.replace(", ", ",\n") if n % 3 else f"{text}\n", audio) for n, (text, audio) in enumerate(said)]
    texts, parts, seconds = [], list[Any](), 0.0
    while seconds < 60 * long_minutes:
        for text, audio in said:
            texts.append(text)
            parts += [audio.samples, np.zeros(RATE // 2, np.float32)]
            seconds += audio.seconds + 0.5
    return [*rows, row(len(rows), "\n".join(texts), Audio(np.concatenate(parts), RATE))]


def mirror(folder: Path, patch: pytest.MonkeyPatch, rows: list[dict[str, Any]]) -> None:
    """A hub with the configs of the real one, of which one is asked for."""
    datasets = pytest.importorskip("datasets", reason="needs the extra hub")
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    real = datasets.load_dataset

    def load(id: str, config: str | None, *, streaming: bool) -> Any:
        assert (id, config, streaming) == ("google/WaxalNLP", "ibo_tts", True)
        file = str(folder / "train.parquet")
        told = json.dumps({"info": {"features": FEATURES}})
        pq.write_table(pa.Table.from_pylist(rows).replace_schema_metadata({"huggingface": told}), file)
        return real("parquet", data_files={"train": file}, streaming=True, cache_dir=str(folder / "cache"))

    patch.setattr(datasets, "load_dataset", load)
    patch.setattr(datasets, "get_dataset_config_names", lambda id: ["ibo_asr", "ibo_tts", "yor_tts"])
    patch.setattr(hub, "_look_up", lambda endpoint: None)


def recordings(code: str, texts: list[str]) -> None:
    """A read workspace named as the page names it."""
    folder = Path(f"{code}-wavs")
    folder.mkdir()
    lines = ["file|speaker|text"]
    for number, text in enumerate(texts):
        name = f"{code}-{number}.wav"
        write(folder / name, sounds.speech(len(text) // 2, seed=number, hertz=120.0 if code == "swahili" else 180.0))
        lines.append(f"{name}|{code}|{text}")
    (folder / "metadata.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    fine("new", code, "--language", {"swahili": "swa", "yoruba": "yor"}[code])
    fine("import", code, folder)


def test_a_look_before_and_a_wrong_config_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mirror(tmp_path, monkeypatch, waxal(0.5, 1))
    first, second, *_ = commands("From WAXAL's recordings")
    fine(*first)
    refused = olu(*second[:-2])
    assert refused.code == 2 and "ibo_asr, ibo_tts, yor_tts" in refused.err
    fine(*second)
    corpus = Corpus.open(Workspace.open(Path("igbo")))
    assert len(corpus.clips) == len(project.TEXTS) + 1 and any("\n" in clip.text for clip in corpus)
    fine("read", "igbo")
    reading = Corpus.open(Workspace.open(Path("igbo"))).reading(corpus.clips[1])
    assert not reading.dropped and "\n" not in reading.normal


@pytest.mark.soak
@pytest.mark.skipif(not SOAK, reason="it trains, and half an hour of sound is aligned: make soak")
def test_the_road_from_waxal_to_a_voice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mirror(tmp_path, monkeypatch, waxal(LONG_MINUTES, 4))
    for words in commands("From WAXAL's recordings"):
        fine(*words, *MORE.get(words[0], ()))
    corpus = Corpus.open(Workspace.open(Path("igbo")))
    taken = [corpus.taken(clip).seconds for clip in corpus if corpus.why_not(clip) is None]
    assert len(taken) > 100 and max(taken) <= 20.5
    assert Path("nnoo.wav").stat().st_size > 10_000


@pytest.mark.soak
@pytest.mark.skipif(not SOAK, reason="it trains two networks: make soak")
def test_an_accent_before_there_are_recordings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    recordings(
        "swahili", ["Habari ya asubuhi.", "Watoto wanacheza nje.", "Mama anapika.", "Jua linawaka.", "Leo ni siku."]
    )
    recordings("yoruba", ["Ẹ káàárọ̀ o.", "Mo fẹ́ lọ sí ọjà.", "Omi yìí tutù.", "Àwọn ọmọ ń ṣeré.", "Ilé wa ni èyí."])
    for words in commands("With an accent, before there are recordings"):
        more = MORE.get(words[0], ())
        more += ("--set", "model.alignment=search", "--new") if "family=acoustic" in words else ()
        done = fine(*words, *more)
        if words[0] == "export":
            assert "ɹ as ɾ" in done.err + done.out
    voice = Voice.open(Path("accent.voice"))
    tones = [token.tone for token in voice.plan("Ákwà").sentences[0].tokens if token.tone]
    assert tones == ["H", "L"] and Path("akwa.wav").stat().st_size > 5_000

"""The recogniser of a workspace: trained, used again, gone on with, and out of the way of the voice."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olu.audio import io
from olu.core.errors import ConfigError, CorpusError, ExportError, OluError, TrainError
from olu.core.files import Workspace, hash_file, write_text
from olu.core.job import Tick, finish
from olu.core.types import Audio, Clip
from olu.corpus.manifest import Corpus
from olu.corpus.sources import Source
from olu.families.recogniser.recognise import Trained
from olu.families.runs import runs_of, voices
from olu.features.store import Store
from olu.stages.export import export
from olu.stages.find_lr import find_lr
from olu.stages.listener import _ahead, recogniser_for
from olu.stages.plan import plan
from olu.stages.prepare import prepare, wanted_by
from olu.stages.runs import runs
from olu.stages.status import status
from olu.stages.train import train
from olu.text.words import edits
from olu.train.run import Run

RATE = 16000
LETTERS = "aeioklmnst"
RECIPE = """
family = "recogniser"
[data]
hold_back = 0.2
[model]
size = "tiny"
[plan]
steps = {steps}
batch_clips = 8
warmup_steps = 2
schedule = "cosine"
validate_every = 50
save_every = 50
[guards]
slow_after = 300
"""
VOICE = ("model.size=tiny", "plan.steps=2", "plan.batch_clips=2", "plan.validate_every=2", "plan.save_every=1")


def spoken(text: str, random: np.random.Generator) -> np.ndarray[Any, Any]:
    """Every letter is a chord of its own, every space a silence."""
    parts = [np.zeros(1600)]
    for letter in text:
        time = np.arange(int(RATE * random.uniform(0.07, 0.11))) / RATE
        if letter == " ":
            parts.append(np.zeros(len(time)))
            continue
        low = 250 + 130 * LETTERS.index(letter)
        wave = sum(np.sin(2 * np.pi * pitch * time) for pitch in (low, 2.3 * low, 4.1 * low))
        parts.append(0.1 * wave * np.hanning(len(time)) ** 0.25)
    sound = np.concatenate([*parts, np.zeros(1600)])
    return sound + 0.003 * random.normal(size=len(sound))


def sentence(random: np.random.Generator) -> str:
    return " ".join("".join(random.choice(list(LETTERS), random.integers(3, 6))) for _ in range(3))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Clip], dict[str, Any]]:
    root, random = tmp_path_factory.mktemp("chords"), np.random.default_rng(7)
    clips, sides = [], {}
    for number in range(60):
        text = sentence(random)
        wave = spoken(text, random)
        io.write(root / f"c{number:02}.wav", Audio(wave.astype(np.float32), RATE))
        sound = {"audio": f"s1/c{number:02}.wav", "seconds": len(wave) / RATE, "rate": RATE}
        clips.append(Clip(id=f"c{number:02}", **sound, text=text, language="eng"))
        sides[clips[-1].id] = "train" if number < 50 else "valid" if number < 55 else "test"
    return root, clips, sides


def workspace(root: Path, corpus: tuple[Path, list[Clip], dict[str, Any]], *, steps: int = 4) -> Workspace:
    wavs, clips, sides = corpus
    ws = Workspace.create(root / "ws", language="eng")
    Corpus.save(ws, clips, [Source(name="s1", root=str(wavs), layout="folder")], sides)
    write_text(ws.root / "recipe.toml", RECIPE.format(steps=steps))
    return ws


def made(ws: Workspace, *, said: list[str] | None = None, **more: Any) -> tuple[Trained, list[Tick]]:
    work, ticks = recogniser_for(ws, device="cpu", **{"units": "letters", **more}), []
    while True:
        try:
            seen = next(work)
        except StopIteration as end:
            return end.value, ticks
        if isinstance(seen, Tick):
            ticks.append(seen)
        elif said is not None:
            said.append(seen.text)


def test_it_learns_to_hear_what_it_has_not_heard(tmp_path: Path, corpus: Any) -> None:
    ws = workspace(tmp_path, corpus, steps=150)
    said: list[str] = []
    heard, ticks = made(ws, said=said)
    (first,) = said
    assert first.startswith("a recogniser is trained first (150 steps, ") and first.endswith(
        "--only with other metrics leaves it out"
    )
    assert " of speech it will hear too badly to judge a voice" in first
    assert [tick.done for tick in ticks if tick.what == "training the recogniser"] == list(range(1, 151))
    run = Run.named(ws.runs_folder, "recogniser-001")
    assert run.finished and run.recipe.data.hold_back == 0.2 and not run.recipe.data.everything
    assert [event for event in (run.folder / "events.jsonl").read_text().splitlines() if "NOTE" not in event] == []
    random, wrong, count = np.random.default_rng(99), 0, 0
    for _ in range(10):
        text = sentence(random)
        said = heard.transcribe(Audio(spoken(text, random).astype(np.float32), RATE))
        wrong, count = wrong + edits(text, said), count + len(text)
    assert wrong < 0.1 * count
    assert heard.natural_cer == run.best["score"] < 0.1
    assert heard.version == (
        f"recogniser-001, step {run.best['step']}, {100 * heard.natural_cer:.1f} % wrong of natural speech held back"
        " (20% of train)"
    )
    clip = Corpus.open(ws).clips[0]
    target = heard.target(Corpus.open(ws).reading(clip))
    assert "".join(target) == clip.text
    ids = heard.ids(target)
    assert [heard.symbols[id] for id in ids] == target and heard.symbols[0] == "_" and 0 not in ids
    log_probs = heard.log_probs(Corpus.open(ws).audio(clip))
    assert log_probs.shape == (int(clip.seconds / heard.frame_seconds), len(heard.symbols))
    np.testing.assert_allclose(np.exp(log_probs).sum(1), 1, rtol=1e-4)


def test_one_that_fits_is_used_again(tmp_path: Path, corpus: Any) -> None:
    ws = workspace(tmp_path, corpus)
    first, _ = made(ws)
    again, ticks = made(ws)
    assert again.run == first.run == "recogniser-001" and not [
        tick for tick in ticks if tick.what == "training the recogniser"
    ]
    assert made(ws, units="symbols")[0].run == "recogniser-002"
    _, clips, sides = corpus
    changed = [*clips[:-1], Clip(**{**_row(clips[-1]), "text": "mina"})]
    Corpus.save(ws, changed, list(Corpus.open(ws).sources.values()), sides)
    assert made(ws)[0].run == "recogniser-003"  # another corpus


def test_a_plan_that_holds_back_gives_way_to_everything(tmp_path: Path, corpus: Any) -> None:
    """Without a recipe: what the plan would hold back is its own wish, not the person's."""
    ws = workspace(tmp_path, corpus)
    (ws.root / "recipe.toml").unlink()
    few = ["family=recogniser", "data.everything=true", "model.size=tiny", "plan.steps=1"]
    summary = finish(train(ws, overrides=few))
    recipe = Run.named(ws.runs_folder, summary.run).recipe
    assert recipe.data.everything and recipe.data.hold_back == 0.0
    with pytest.raises(ConfigError, match="data: hold_back and everything exclude each other") as refused:
        finish(train(ws, overrides=[*few, "data.hold_back=0.1"]))
    assert "{" not in str(refused.value)


def _row(clip: Clip) -> dict[str, Any]:
    return {name: getattr(clip, name) for name in Clip.__slots__}


def test_what_aligns_learns_from_all_and_wants_ten_minutes(tmp_path: Path, corpus: Any) -> None:
    ws = workspace(tmp_path, corpus)
    with pytest.raises(CorpusError, match=r"1\.\d minutes of speech to learn from.* needs 10.*--force"):
        made(ws, everything=True)
    assert Run.all(ws.runs_folder) == []
    heard, _ = made(ws, everything=True, force=True, units="symbols")
    recipe = Run.named(ws.runs_folder, heard.run).recipe
    assert recipe.data.everything and recipe.data.hold_back == 0
    assert "of clips it has learnt from" in heard.version
    assert made(ws, everything=True, units="symbols")[0].run == heard.run  # what is there may be used
    assert made(ws, units="symbols")[0].run != heard.run  # but not to judge


def test_an_unfinished_one_is_gone_on_with(tmp_path: Path, corpus: Any) -> None:
    ws = workspace(tmp_path, corpus, steps=6)
    work = recogniser_for(ws, units="letters", device="cpu")
    for tick in work:
        if isinstance(tick, Tick) and tick.what == "training the recogniser" and tick.done == 3:
            break
    work.close()
    assert Run.named(ws.runs_folder, "recogniser-001").result is None
    voice = _voice(ws)  # a voice that came later is not what is gone on with
    heard, _ = made(ws)
    assert (
        heard.run == "recogniser-001" and Run.named(ws.runs_folder, "recogniser-001").finished and voice == "vits-002"
    )


def _voice(ws: Workspace, **more: Any) -> str:
    summary = finish(train(ws, overrides=["family=vits", *VOICE], **more))  # type: ignore[arg-type]
    assert summary.speaks
    return str(summary.run)


def test_a_recogniser_is_out_of_the_way_of_the_voice(tmp_path: Path, corpus: Any) -> None:
    ws = workspace(tmp_path, corpus)
    assert _voice(ws) == "vits-001"
    heard, _ = made(ws)
    assert [run.name for run in voices(ws)] == ["vits-001"] and [run.name for run in runs_of(ws, "listener")] == [
        heard.run
    ]
    assert wanted_by(ws, None)["rate"] == RATE
    assert _voice(ws) == "vits-001"  # nothing to do: the recogniser left its stamp alone
    now = status(ws)
    assert {stage.name: stage.state for stage in now.stages}["train"] == "fresh"
    assert [row["speaks"] for row in now.runs] == [True, False]
    assert [row.run for row in runs(ws)] == ["vits-001", heard.run]
    assert finish(export(ws.root)).run == "vits-001"
    with pytest.raises(OluError, match="recogniser-002 is a recogniser and does not speak"):
        finish(export(ws.root, run=heard.run))
    with pytest.raises(TrainError, match="no unfinished run"):
        finish(train(ws, resume=True))  # type: ignore[arg-type]


def test_with_a_recogniser_alone_there_is_nothing_to_export(tmp_path: Path, corpus: Any) -> None:
    ws = workspace(tmp_path, corpus)
    made(ws)
    with pytest.raises(ExportError, match="has no run yet"):
        finish(export(ws.root))
    with pytest.raises(TrainError, match="is the recipe of the voice, and a recogniser is none"):
        finish(plan(ws, overrides=["family=recogniser"], force=True))
    shown = finish(plan(ws, overrides=["family=recogniser"], write=False))
    assert 'family = "recogniser"' in shown.text and "demo_clips" not in shown.text


def test_sound_at_the_voices_rate_is_kept_beside_its_own(tmp_path: Path, corpus: Any) -> None:
    ws = workspace(tmp_path, corpus)
    at_22k = finish(prepare(ws, rate=22050, jobs=1)).folder
    at_16k = finish(prepare(ws, rate=16000, jobs=1, kind="listener")).folder
    assert sorted(path.name for path in ws.features.glob("wave-*")) == sorted([at_22k, at_16k])
    kept = ws.features / at_22k / "index.json"
    before = kept.stat().st_mtime_ns
    finish(prepare(ws, rate=22050, jobs=1))
    assert kept.stat().st_mtime_ns == before  # made once
    finish(prepare(ws, rate=24000, jobs=1))
    assert sorted(path.name[:10] for path in ws.features.glob("wave-*")) == ["wave-16000", "wave-24000"]


def test_what_was_made_for_one_training_outlives_another_that_begins_beside_it(tmp_path: Path, corpus: Any) -> None:
    """Two families of a voice want other sound: the second must not remove what the first is about to read."""
    ws = workspace(tmp_path, corpus)
    first = finish(prepare(ws, rate=16000, jobs=1)).folder
    work = (
        "import sys, pathlib; from olu.core.files import Workspace; from olu.core.job import finish;"
        " from olu.stages.prepare import prepare;"
        " finish(prepare(Workspace.open(pathlib.Path(sys.argv[1])), rate=22050, jobs=1))"
    )
    subprocess.run([sys.executable, "-c", work, str(ws.root)], check=True)
    assert Store(ws.features / first).index
    finish(prepare(ws, rate=24000, jobs=1))  # this process wants another now
    assert sorted(path.name[:10] for path in ws.features.glob("wave-*")) == ["wave-24000"]


def test_one_of_another_corpus_is_a_start(tmp_path: Path, corpus: Any) -> None:
    """The first steps begin where the other ended, though the symbols stand in another order and some are new."""
    first = workspace(tmp_path / "a", corpus, steps=100)
    made(first)
    before = Run.named(first.runs_folder, "recogniser-001").folder
    wavs, clips, sides = corpus
    renamed = [replace(clip, text=clip.text.replace("a", "z").replace("k", "b")) for clip in clips]
    second = workspace(tmp_path / "b", (wavs, renamed, sides), steps=2)
    said = [str(event) for event in train(second, overrides=[f"base={before}"], new=True, device="cpu")]
    assert any("hears as recogniser-001 did at the start; 2 of 12 symbols are new" in one for one in said)
    run = Run.named(second.runs_folder, "recogniser-001")
    assert run.recipe.model["learning_rate"] == Run(before).recipe.model["learning_rate"]
    assert run.document("facts.json")["base"] and run.best and run.best["score"] < 0.5
    assert run.document("facts.json")["base"] == hash_file(before / "checkpoints" / "step-100" / "weights.safetensors")
    with pytest.raises(OluError, match=r"has .* for blocks\.1\..*, and these settings need nothing"):
        fewer = [f"base={before}", "model.blocks=1", "model.inter_weight=0"]
        finish(train(second, overrides=fewer, new=True, device="cpu"))  # type: ignore[arg-type]
    with pytest.raises(OluError, match="no run of a recogniser"):
        finish(train(second, overrides=["base=other/runs/recogniser-001"], new=True, device="cpu"))  # type: ignore[arg-type]
    with pytest.raises(OluError, match=r"has .* for .*, and these settings need"):
        finish(train(second, overrides=[f"base={before}", "model.width=64"], new=True, device="cpu"))  # type: ignore[arg-type]
    coarse = [f"base={before}", "model.subsample=4"]
    said = [str(event) for event in train(second, overrides=coarse, new=True, device="cpu")]
    assert any("begins anew, for its shape is not the base's: front.second" in one for one in said)
    voice = [*VOICE, "family=vits"]
    finish(train(first, overrides=voice, new=True, device="cpu"))  # type: ignore[arg-type]
    with pytest.raises(OluError, match="is a run of vits"):
        finish(train(second, overrides=[f"base={first.runs_folder / 'vits-002'}"], new=True, device="cpu"))  # type: ignore[arg-type]


def test_a_judge_does_not_start_from_one_that_has_learnt_everything(tmp_path: Path, corpus: Any) -> None:
    ws = workspace(tmp_path, corpus, steps=4)
    made(ws, everything=True, force=True)
    before = Run.named(ws.runs_folder, "recogniser-001").folder
    with pytest.raises(OluError, match="has learnt from all clips of this corpus"):
        finish(train(ws, overrides=[f"base={before}"], new=True, device="cpu"))  # type: ignore[arg-type]
    aligner = [f"base={before}", "data.everything=true", "data.hold_back=0"]
    finish(train(ws, overrides=aligner, new=True, device="cpu"))  # type: ignore[arg-type]


def test_what_only_a_voice_has_is_refused(tmp_path: Path, corpus: Any) -> None:
    ws = workspace(tmp_path, corpus)
    for change, why in (
        ("plan.sentences=['a']", "plan.sentences has no effect: the family 'recogniser' does not speak"),
        ("plan.choose=heard", "plan.choose = 'heard' has no effect"),
        ("base=nowhere", "nowhere is no run of a recogniser"),
    ):
        with pytest.raises(OluError, match=why):
            finish(train(ws, overrides=[change]))  # type: ignore[arg-type]


def test_a_rehearsal_and_the_search_for_a_rate_work(tmp_path: Path, corpus: Any) -> None:
    ws = workspace(tmp_path, corpus)
    dry = finish(train(ws, dry=True)).dry  # type: ignore[arg-type]
    assert dry["parameters"]["net"] > 10_000 and dry["symbols"] == len(LETTERS) + 2
    assert set(dry["losses"]) == {"ctc", "halfway"} and set(dry["valid"]) >= {"cer", "ctc"}
    found = finish(find_lr(ws, steps=25))  # type: ignore[arg-type]
    assert found.loss == "ctc" and len(found.points) >= 20


def test_a_run_can_begin_with_another_ones_weights(tmp_path: Path, corpus: Any) -> None:
    ws = workspace(tmp_path, corpus)
    made(ws)
    summary = finish(train(ws, from_run="recogniser-001", overrides=["plan.steps=3"], new=True))  # type: ignore[arg-type]
    assert summary.run == "recogniser-002" and not summary.speaks
    assert Run.named(ws.runs_folder, "recogniser-002").document("vocabulary.json") == Run.named(
        ws.runs_folder, "recogniser-001"
    ).document("vocabulary.json")


def test_what_lies_ahead_is_said_in_a_unit_that_fits(
    tmp_path: Path, corpus: tuple[Path, list[Clip], dict[str, Any]]
) -> None:
    ws = workspace(tmp_path, corpus)
    said = {hours: _ahead(ws, steps=400, hours=hours, judges=False) for hours in (None, 0.004, 1 / 60, 2.0)}
    assert "(400 steps);" in said[None] and "14.4 seconds or so here" in said[0.004]
    assert "1.0 minutes or so here" in said[1 / 60] and "2.00 hours or so here" in said[2.0]
    assert "From 0 minutes" not in _ahead(ws, steps=400, hours=None, judges=True)

"""What shows a run: TensorBoard files, the page, Weights & Biases, profiles, and the lines on a terminal."""

from __future__ import annotations

import builtins
import contextlib
import errno
import importlib.util
import io
import json
import math
import re
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from olu.cli.progress import Screen
from olu.core.errors import ConfigError, MissingExtra, TrainError
from olu.core.files import Workspace, write_json
from olu.core.types import Audio
from olu.families import family
from olu.pages.charts import Curve, chart
from olu.pages.media import heat_png, shrunk
from olu.train.engine import Engine, StepReport
from olu.train.family import Figures, SpokenSample, Update
from olu.train.guards import Finite, GuardEvent, Observation, Verdict
from olu.train.recipe import Recipe
from olu.train.run import Recorder, Run
from olu.train.view import history
from olu.train.view.history import MOST_POINTS, History, Series
from olu.train.view.page import reference, verdict
from olu.train.view.trackers import PATTERN, ViewSettings, records, watching
from olu.train.view.viewer import PAGE, Profile, Viewer

from ..helpers import toys

FAMILY = replace(family("vits"), figures=Figures(score="match", learns="gen", steady=("mel", "kl", "duration")))


class Shown(toys.Tokens):
    """A toy whose samples can be heard and looked at."""

    def demo(self, batch: toys.ToyBatch) -> Iterator[SpokenSample]:
        for number, clip in enumerate(batch.clips):
            tone = 0.5 * np.sin(np.arange(8000) * 0.1 * (number + 1)).astype(np.float32)
            yield SpokenSample(clip, Audio(tone, 16000), pictures={"alignment": np.eye(6, 40, dtype=np.float32)})


def new_run(folder: Path, **facts: Any) -> Run:
    known = {"started": 7, "recipe": "", "clips": "", "corpus": "", "from": None}
    return Run.create(folder, Recipe(), facts={**known, **facts}, documents={})


def viewer(run: Run, engine: Engine, **settings: Any) -> Viewer:
    return Viewer(
        run,
        family=FAMILY,
        settings=ViewSettings(**settings),
        metric=FAMILY.figures.score,
        step=engine.step,
        rewinds=engine.rewinds,
        steps=engine.plan.steps,
        again="olu train ws --resume",
    )


def go(
    run: Run, learner: toys.Toy, *, until: int | None = None, settings: Mapping[str, Any] | None = None, **plan: Any
) -> Engine:
    """Train, record and show; after `until` reports, as if the process had been killed."""
    engine = toys.engine(learner, run.checkpoints_folder, **plan)
    if engine.checkpoints.steps():
        engine.resume()
    run.rewind_records(engine.step, rewinds=engine.rewinds)
    shown = viewer(run, engine, **(settings or {}))
    with Recorder(run) as recorder:
        for number, report in enumerate(running := engine.train(), 1):
            recorder.record(report, best=engine.best, metric="match")
            shown.show(report, best=engine.best)
            if number == until:
                shown.__exit__()
                running.throw(Killed) if not report.saves else running.close()
                return engine
    shown.finish(stopped=None)
    shown.__exit__()
    return engine


class Killed(Exception):
    pass


def spoilt() -> toys.Toy:
    """One clip is not a number: every batch with it sends the run back."""
    torch.manual_seed(1)
    learner = Shown(dropout=0.2)
    learner.meddle = lambda update, clock: nan(update) if "c05" in learner.heard[-1] else update
    return learner


def nan(update: Update) -> Update:
    return replace(update, losses={n: replace(x, sum=x.sum * math.nan) for n, x in update.losses.items()})


def shown_toy() -> toys.Toy:
    torch.manual_seed(1)
    return Shown()


def raw(run: Run) -> list[tuple[Any, ...]]:
    """Everything in the event file but the time and the speed."""
    from tensorboard.compat.proto.event_pb2 import Event as Record

    (path,) = run.folder.glob(PATTERN)
    found: list[tuple[Any, ...]] = []
    for _, data in records(path):
        event = Record.FromString(data)
        found.append((event.step, "start" if event.HasField("session_log") else event.file_version))
        found += [(event.step, v.SerializeToString()) for v in event.summary.value if not v.tag.startswith("speed/")]
    return found


def accumulated(run: Run) -> Any:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    return EventAccumulator(str(run.folder), size_guidance={"scalars": 0, "images": 0, "audio": 0}).Reload()


# ---------------------------------------------------------------- TensorBoard


def test_event_files_hold_what_the_records_hold(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    go(run, shown_toy(), steps=25, validate_every=10)
    events = accumulated(run)
    rows = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    for name in ("match", "length"):
        got = [(e.step, e.value) for e in events.Scalars(f"body/{name}")]
        assert got == [(r["step"], pytest.approx(r["body"]["losses"][name], rel=1e-6)) for r in rows]
    assert [e.step for e in events.Scalars("valid/match")] == [10, 20, 25]
    tags = events.Tags()
    assert {"body/grad_norm", "body/lr", "speed/clips_per_second", "speed/waiting"} <= set(tags["scalars"])
    (sound, *_), (mel, *_), (path, *_) = (
        events.Audio("samples/c00"),
        events.Images("mel/c00"),
        events.Images("alignment/c00"),
    )
    assert sound.encoded_audio_string[:4] == b"RIFF" and sound.sample_rate == 16000 and sound.length_frames == 8000
    assert mel.encoded_image_string[:8] == path.encoded_image_string[:8] == b"\x89PNG\r\n\x1a\n"
    assert (path.width, path.height) == (40, 6)


def test_a_killed_and_rewound_run_has_the_events_of_one_that_went_through(tmp_path: Path) -> None:
    plan: dict[str, Any] = {"steps": 20, "save_every": 3, "validate_every": 5}
    through = new_run(tmp_path / "through")
    go(through, spoilt(), guards=[Finite(patience=0)], **plan)
    expected = raw(through)
    assert sum(words == "start" for _, words in expected) == 1
    for until in (1, 4, 7, 11):
        run = new_run(tmp_path / str(until))
        for _ in range(2):
            with contextlib.suppress(Killed):
                go(run, spoilt(), until=until, guards=[Finite(patience=0)], **plan)
            (path,) = run.folder.glob(PATTERN)
            with path.open("ab") as torn:
                torn.write(b"\x20\0\0\0\0\0\0\0half")
        go(run, spoilt(), guards=[Finite(patience=0)], **plan)
        assert raw(run) == expected
    steps = [event.step for event in accumulated(through).Scalars("body/lr")]
    assert steps == sorted(set(steps)), "what a rewind undid must not be shown twice"


def test_a_resume_that_cuts_nothing_writes_nothing(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    engine = go(run, shown_toy(), steps=10, save_every=5)
    (path,) = run.folder.glob(PATTERN)
    before = path.stat()
    viewer(run, engine).__exit__()
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


# ---------------------------------------------------------------- settings


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws", language="swa")


def without(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    real = importlib.util.find_spec
    for module in ("olu.train.view.trackers",):
        monkeypatch.setattr(f"{module}.find_spec", lambda wanted: None if wanted == name else real(wanted))


def test_tensorboard_is_on_off_or_missed(ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, off = new_run(tmp_path / "a"), new_run(tmp_path / "b")
    shown = viewer(run, toys.engine(shown_toy(), run.checkpoints_folder))
    assert list(run.folder.glob(PATTERN)) and any("--logdir" in text for text in shown.sentences())
    shown.__exit__()
    shown = viewer(off, toys.engine(shown_toy(), off.checkpoints_folder), tensorboard=False)
    assert not list(off.folder.glob(PATTERN)) and any("no TensorBoard" in text for text in shown.sentences())
    assert shown.sentences() == []
    without(monkeypatch, "tensorboard")
    with pytest.raises(MissingExtra, match=r"needs the package 'tensorboard': pip install -c .*\[watch\]'"):
        watching(ws, ["view.tensorboard=true"], profile=0)
    assert watching(ws, [], profile=0)[0].settings == ViewSettings()


def test_the_workspace_and_the_command_line_say_how_to_watch(ws: Workspace) -> None:
    with (ws.root / "olu.toml").open("a") as file:
        file.write("\n[view]\ntensorboard = false\n")
    ws = Workspace.open(ws.root)
    chosen, rest = watching(ws, ["plan.steps=5"], profile=2)
    assert (chosen.settings.tensorboard, chosen.profile, rest) == (False, 2, ["plan.steps=5"])
    chosen, rest = watching(ws, ["view.tensorboard=true", "plan.steps=5"], profile=0)
    assert (chosen.settings.tensorboard, rest) == (True, ["plan.steps=5"])
    with pytest.raises(ConfigError, match="did you mean 'tensorboard'"):
        watching(ws, ["view.tensorbord=true"], profile=0)
    with pytest.raises(TrainError, match="profile -1"):
        watching(ws, [], profile=-1)


# ---------------------------------------------------------------- Weights & Biases


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module that only remembers."""
    fake = types.ModuleType("wandb")
    fake.__spec__ = importlib.util.spec_from_loader("wandb", loader=None)
    fake.started, fake.rows, fake.fails = [], [], False  # type: ignore[attr-defined]

    class Sent:
        def define_metric(self, *words: Any, **named: Any) -> None: ...

        def log(self, values: dict[str, Any], *, step: int) -> None:
            if fake.fails:  # type: ignore[attr-defined]
                raise ConnectionError("no route")
            fake.rows.append((step, values))  # type: ignore[attr-defined]

        def finish(self) -> None:
            fake.rows.append("finished")  # type: ignore[attr-defined]

    def init(**named: Any) -> Sent:
        fake.started.append(named)  # type: ignore[attr-defined]
        return Sent()

    fake.init, fake.Audio = init, lambda samples, sample_rate: ("audio", len(samples), sample_rate)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wandb", fake)
    return fake


def test_wandb_gets_every_row_once_in_order(wandb: Any, tmp_path: Path) -> None:
    run = new_run(tmp_path)
    plan: dict[str, Any] = {"steps": 12, "save_every": 4, "validate_every": 6, "settings": {"wandb": "voices"}}
    with contextlib.suppress(Killed):
        go(run, shown_toy(), until=7, **plan)
    go(run, shown_toy(), **plan)
    assert [start["id"] for start in wandb.started] == ["vits-001-7"] * 2 and wandb.started[0]["project"] == "voices"
    sent = [row for row in wandb.rows if row != "finished"]
    assert [step for step, _ in sent] == [*range(1, 8), *range(7, 13)]  # 7 again, under its own number
    assert all(step == values["step"] for step, values in sent)
    assert sent[6][1]["body/match"] == sent[7][1]["body/match"] and wandb.rows[-1] == "finished"
    assert sent[5][1]["samples/c00"] == ("audio", 8000, 16000)


def test_a_failing_network_does_not_end_a_training(wandb: Any, tmp_path: Path) -> None:
    run = new_run(tmp_path)
    engine = toys.engine(shown_toy(), run.checkpoints_folder, steps=3)
    wandb.fails = True
    shown, said = viewer(run, engine, wandb="voices"), list[str]()
    for report in engine.train():
        shown.show(report, best=engine.best)
        said += shown.sentences()
    shown.__exit__()
    assert engine.step == 3 and sum("goes on without it" in text for text in said) == 1
    wandb.init = lambda **named: builtins.exec("raise RuntimeError('no key')")
    with pytest.raises(TrainError, match=r"no key.*wandb login"):
        viewer(run, engine, wandb="voices")


# ---------------------------------------------------------------- the page


def page(run: Run) -> str:
    return (run.folder / PAGE).read_text(encoding="utf-8")


def test_the_page_shows_the_run_and_needs_nothing_else(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    go(run, shown_toy(), steps=20, validate_every=10)
    text = page(run)
    assert (
        not re.search(r'(src|href)="(?!data:)', text) and "//" not in text.replace("image/png", "").split("base64")[0]
    )
    assert text.count("<audio") == text.count("data:audio/wav") == 4  # two clips, at steps 10 and 20
    assert text.count("data:image/png") == 8 and text.count("<svg") >= 4
    assert "All 20 steps are done." in text and "plan.batch_clips" in text and 'http-equiv="refresh"' not in text
    assert "Nothing out of the ordinary" in text
    assert sorted(p.name for p in (run.folder / "samples" / "step-20").iterdir())[:2] == [
        "c00.alignment.png",
        "c00.wav",
    ]


def test_the_page_names_the_workspace_the_texts_and_a_row_for_each_step(tmp_path: Path) -> None:
    run = new_run(tmp_path / "wolof" / "runs")
    (run.folder / "sample_texts.json").write_text('{"c00": "na <nga> def"}', encoding="utf-8")
    go(run, shown_toy(), steps=20, validate_every=10, demo_clips=2)
    text = (run.folder / "run.html").read_text(encoding="utf-8")
    assert f"<h1>wolof: {run.name}</h1>" in text and "<figcaption>na &lt;nga&gt; def</figcaption>" in text
    rows = text.partition("<h2>Samples</h2>")[2].partition("<h2>Events</h2>")[0].split("<h3>")[1:]
    assert [row.partition("</h3>")[0] for row in rows] == ["Step 20", "Step 10"]
    assert [row.count("<audio") for row in rows] == [2, 2]
    assert "Share of the samples that are silent, clipped, endless or repetitive." in text


def test_a_flat_curve_has_an_axis_that_can_be_read() -> None:
    for value in (2e-5, 2e-5 * 0.9999):
        drawn = chart([Curve("rate", [(1.0, 2e-5), (100.0, value)], 0)], label="rate")
        labels = re.findall(r'text-anchor="end">([^<]+)<', drawn)
        assert len(labels) > 2 and len(set(labels)) == len(labels), labels


def test_the_page_says_whether_the_run_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = new_run(tmp_path)
    engine = toys.engine(shown_toy(), run.checkpoints_folder, steps=30, validate_every=10)
    with viewer(run, engine) as shown:
        reports = engine.train()
        for _ in range(10):
            shown.show(next(reports), best=engine.best)
        assert "running = true" in page(run) and 'http-equiv="refresh"' in page(run) and "Step 10 of 30" in page(run)
        shown.show(next(reports), best=engine.best)
        assert "Step 10 of 30" in page(run), "not at every step"
        monkeypatch.setattr("olu.train.view.viewer.PAGE_SECONDS", 0.0)
        shown.show(next(reports), best=engine.best)
        assert "Step 12 of 30" in page(run)
    assert "It was left at step 12" in page(run) and "olu train ws --resume" in page(run)
    with viewer(run, engine) as shown:
        shown.finish(stopped="the disk is <full>")
    assert "the disk is &lt;full&gt;" in page(run) and "<full>" not in page(run)


def test_the_page_after_a_rewind_shows_the_event_and_the_path_that_counts(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    go(run, spoilt(), guards=[Finite(patience=0)], steps=20, save_every=3, validate_every=5)
    assert "went back" in page(run) and 'class="mark"' in page(run) and "times sent back" in page(run)
    history = History.load(run.folder / "metrics.jsonl")
    steps = [step for step, _ in history.points("body/lr")]
    assert steps == sorted(set(steps)) and history.rewinds == 1


def test_a_long_run_is_drawn_from_few_points() -> None:
    series = Series()
    for step in range(1, 20001):
        series.add(step, float(step))
    points = series.points
    assert len(points) <= MOST_POINTS and series.width == 32
    assert all(value == pytest.approx(step) for step, value in points)
    series.cut(100)
    assert points[-1][0] > 19000 and series.points[-1][0] <= 132


def test_a_number_that_is_none_is_left_out_of_the_chart_only() -> None:
    drawn = chart([Curve("x", [(1, 1.0), (2, math.nan), (3, math.inf), (4, 2.0)])], label="x")
    assert "nan" not in drawn and "inf" not in drawn and "<polyline" in drawn
    assert "No figures" in chart([Curve("x", [(1, math.nan)])], label="x")
    assert "<circle" in chart([Curve("x", [(1, 0.0)])], label="x")
    assert "<polyline" in chart([Curve("x", [(1, 0.0), (5, 300.0), (9, 1e-3)])], label="x", log=True)


def test_pictures_keep_thin_paths() -> None:
    path = np.zeros((400, 900), dtype=np.float32)
    path[np.arange(400), np.arange(400) * 2] = 1.0
    small = shrunk(path, width=100, height=50)
    assert small.shape == (50, 100) and (small.max(axis=1) == 1).all()
    png = heat_png(np.array([[0.0, math.nan], [2.0, -1.0]]))
    assert png[16:24] == b"\0\0\0\2\0\0\0\2"


def test_a_view_that_cannot_be_written_never_ends_a_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = new_run(tmp_path)
    engine = toys.engine(shown_toy(), run.checkpoints_folder, steps=9, validate_every=3)
    shown, said = viewer(run, engine), list[str]()
    for report in engine.train():
        if report.step == 4:
            for place in ("viewer.write_text", "viewer.keep_pictures", "trackers.EventFile._write"):
                monkeypatch.setattr(f"olu.train.view.{place}", full)
        shown.show(report, best=engine.best)
        said += shown.sentences()
    shown.__exit__()
    assert engine.step == 9 and sum("could not be written (No space left" in text for text in said) == 3
    assert "Step 3 of 9" in page(run)
    assert [event.step for event in accumulated(run).Scalars("body/lr")] == [1, 2, 3]


def full(*words: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


# ---------------------------------------------------------------- is this normal?


def test_bands_are_found_by_kind_and_speak_plainly(tmp_path: Path) -> None:
    path = tmp_path / "reference.json"
    bands = {"valid/mel": [[0, 2.0, 3.0], [100, 1.0, 2.0]]}
    write_json(path, {"kinds": [{"about": "two runs", "scratch": True, "model": {"size": "tiny"}, "bands": bands}]})
    held = reference(path, model={"size": "tiny"}, scratch=True)
    assert held.about == "two runs"
    assert reference(path, model={"size": "mms"}, scratch=True).bands == {}
    assert reference(path, model={"size": "tiny"}, scratch=False).bands == {}
    assert reference(None, model={}, scratch=True).bands == {}
    band = held.bands["valid/mel"]
    assert verdict([(50, 2.0)], band, smooth=False)[0] == "good"
    kind, text = verdict([(50, 4.0)], band, smooth=False)
    assert kind == "warn" and text == "Higher than usual: 4, and the reference runs had 1.5 to 2.5 at this step."
    assert "Lower" in verdict([(50, 0.1)], band, smooth=False)[1]
    assert verdict([(500, 0.1)], band, smooth=False) == (
        "",
        "The reference runs ended at step 100: beyond it there is nothing to compare with.",
    )
    assert verdict([], band, smooth=False) == ("", "")


@pytest.mark.parametrize("size", ["tiny", "small"])
def test_shipped_reference_runs_say_what_they_are(size: str) -> None:
    held = reference(family("vits").figures.reference, model={"size": size}, scratch=True)
    assert "runs" in held.about and {"valid/mel", "gen/mel", "disc/disc"} <= set(held.bands)
    for band in held.bands.values():
        steps = [step for step, _, _ in band.points]
        assert len(steps) > 5 and steps == sorted(steps) and all(low <= high for _, low, high in band.points)


def test_the_page_compares_where_it_can(tmp_path: Path) -> None:
    path = tmp_path / "reference.json"
    bands = {"valid/match": [[0, 0.0, 1e9], [100, 0.0, 1e9]], "body/match": [[0, 1e8, 1e9], [100, 1e8, 1e9]]}
    write_json(path, {"kinds": [{"about": "a test", "scratch": True, "model": {}, "bands": bands}]})
    run = new_run(tmp_path / "runs")
    engine = toys.engine(shown_toy(), run.checkpoints_folder, steps=10, validate_every=5)
    shown = Viewer(
        run,
        family=replace(FAMILY, figures=replace(FAMILY.figures, reference=path)),
        settings=ViewSettings(),
        metric=FAMILY.figures.score,
        step=0,
        rewinds=0,
        steps=10,
        again="",
    )
    with shown:
        for report in engine.train():
            shown.show(report, best=engine.best)
    assert "1 of 2 curves lie where" in page(run) and "body/match: Lower than usual" in page(run)
    assert 'class="band"' in page(run) and "from a test" in page(run)


# ---------------------------------------------------------------- profile, terminal


def test_a_profile_is_written_and_the_run_goes_on(tmp_path: Path) -> None:
    plain = toys.engine(shown_toy(), tmp_path / "plain", steps=8)
    list(plain.train())
    engine = toys.engine(shown_toy(), tmp_path / "profiled", steps=8)
    profile = Profile(tmp_path, steps=3)
    assert [report.step for report in profile.over(engine.train())] == list(range(1, 9))
    assert toys.differing(plain.snapshot().weights, engine.snapshot().weights) == set()
    place = tmp_path / "profile-step-2"
    trace = json.loads((place / "trace.json").read_text())
    assert any("aten::" in event.get("name", "") for event in trace["traceEvents"])
    table = (place / "costliest.txt").read_text()
    assert table.count("aten::") + table.count("Optimizer") + table.count("autograd::") >= 5
    (said,) = profile.sentences()
    assert "steps 2 to 4" in said and profile.sentences() == []


def test_a_profile_longer_than_the_run_or_left_early(tmp_path: Path) -> None:
    profile = Profile(tmp_path, steps=100)
    assert len(list(profile.over(toys.engine(shown_toy(), tmp_path / "a", steps=4).train()))) == 4
    assert "steps 2 to 4" in profile.sentences()[0]
    left = Profile(tmp_path / "b", steps=5)
    running = left.over(toys.engine(shown_toy(), tmp_path / "c", steps=9).train())
    next(running), next(running)
    running.close()  # type: ignore[attr-defined]
    assert left.sentences() == [] and not (tmp_path / "b").exists()


def report(step: int, **more: Any) -> StepReport:
    seen = (Observation(step=step, part="gen", losses={"mel": 1.25}, grad_norm=7.5, lr=2e-4),)
    held = {"seconds": 0.5, "waited": 0.125, "clips": 4, "events": (), "rewinds": 0, "epoch": 0, "steps": 100}
    return StepReport(step=step, tried=step, seen=seen, **{**held, **more})


@pytest.mark.parametrize("terminal", [True, False])
def test_the_terminal_shows_all_figures(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    written, lines = io.StringIO(), io.StringIO()
    monkeypatch.setattr("sys.stderr", lines)
    monkeypatch.setattr("olu.train.view.history.gpu_use", lambda: 93)
    console = Console(file=written, force_terminal=terminal, width=200, legacy_windows=False)
    event = GuardEvent(3, "finite", Verdict.SKIP, "a [bold] loss")
    with Screen(console) as screen:
        for step in (1, 2, 25):
            screen.report(report(step, events=(event,) if step == 2 else (), memory=3 * 2**30))
        screen._live.refresh() if terminal else None
        screen.report(report(50, scores={"mel": 1.5}))
    text = written.getvalue() + lines.getvalue()
    for figure in (
        "mel 1.25",
        "gen 0.0002",
        "gen 7.5",
        "8 clips/s, 25% waiting for data",
        "0:38",
        "3.0 GiB at most, 93% busy",
    ):
        assert figure in text, figure
    assert "step 2: finite: a [bold] loss" in text and "step 50: validation  mel 1.5" in text
    assert ("step 25  mel 1.25" in lines.getvalue()) is not terminal
    assert "step 2  " not in lines.getvalue()


def test_how_busy_a_gpu_is_comes_from_nvml_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = types.ModuleType("pynvml")
    asked: list[Any] = []
    fake.NVMLError = type("NVMLError", (Exception,), {})  # type: ignore[attr-defined]
    fake.nvmlInit = lambda: None  # type: ignore[attr-defined]
    fake.nvmlDeviceGetHandleByUUID = lambda uuid: asked.append(uuid) or "handle"  # type: ignore[attr-defined]
    fake.nvmlDeviceGetUtilizationRates = lambda handle: types.SimpleNamespace(gpu=87)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda: types.SimpleNamespace(uuid="12-ab"))
    history._device.cache_clear()
    assert history.gpu_use() == 87 and asked == [b"GPU-12-ab"]

    def lost(handle: str) -> None:
        raise fake.NVMLError  # type: ignore[attr-defined]

    fake.nvmlDeviceGetUtilizationRates = lost  # type: ignore[attr-defined]
    assert history.gpu_use() is None
    monkeypatch.setitem(sys.modules, "pynvml", None)
    history._device.cache_clear()
    assert history.gpu_use() is None
    history._device.cache_clear()


def test_only_the_first_process_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    console = Console(file=io.StringIO(), force_terminal=True)
    assert Screen(console).drawn
    monkeypatch.setenv("RANK", "1")
    assert not Screen(console).drawn

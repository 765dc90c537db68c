from __future__ import annotations

import errno
import json
import shutil
from pathlib import Path

import pytest
import torch

from olu.core.errors import TrainError
from olu.train import checkpoint as module
from olu.train.checkpoint import (
    OPTIMISER,
    STATE,
    WEIGHTS,
    Checkpoint,
    Checkpoints,
    DamagedError,
    UnreadableError,
    unsealed,
)

from ..helpers import toys


def content(value: float = 1.0) -> Checkpoint:
    return Checkpoint(
        weights={"learner/w": torch.full((3, 4), value), "average/gen/w": torch.full((3, 4), value / 2)},
        optimiser={"gen/w/exp_avg": torch.full((3, 4), value * 3), "gen/w/step": torch.tensor(value)},
        state={"step": int(value), "best": None, "guards": {"Spike": {"history": {"gen": [0.1, 1 / 3]}}}},
    )


def saved(folder: Path, *steps: int, keep: int = 3, best: int | None = None) -> Checkpoints:
    checkpoints = Checkpoints(folder, keep=keep)
    for step in steps:
        checkpoints.save(step, content(step), best=best)
    return checkpoints


def test_what_is_saved_comes_back_bit_for_bit(tmp_path: Path) -> None:
    torch.manual_seed(0)
    checkpoint = content()
    checkpoint.weights["learner/odd"] = torch.randn(5, 7).T  # not contiguous
    checkpoint.weights["learner/count"] = torch.tensor(2**40)
    checkpoints = Checkpoints(tmp_path / "deep" / "checkpoints", keep=1)
    checkpoints.save(7, checkpoint, best=None)
    back = checkpoints.load(7)
    assert back.state == checkpoint.state
    for mine, theirs in ((checkpoint.weights, back.weights), (checkpoint.optimiser, back.optimiser)):
        assert mine.keys() == theirs.keys()
        assert all(torch.equal(mine[name], theirs[name]) and mine[name].dtype == theirs[name].dtype for name in mine)


def test_steps_are_in_order_of_number_not_of_name(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 10000, 2000, 300, keep=9)
    assert checkpoints.steps() == [300, 2000, 10000]
    assert checkpoints.newest()[1] == 10000


def test_pruning_is_by_number(tmp_path: Path) -> None:
    assert saved(tmp_path, 0, 1000, 2000, 10000, 11000, keep=2).steps() == [10000, 11000]
    assert saved(tmp_path, 20000, keep=1).steps() == [20000]


def test_the_best_and_the_newest_are_never_pruned(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 1000, 2000, 3000, 10000, 11000, keep=1, best=2000)
    assert checkpoints.steps() == [2000, 11000]
    assert saved(tmp_path, 12000, keep=1, best=12000).steps() == [12000]


def test_other_things_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    for name in ("step-5.old", ".step-9.123.partial", "step-", "notes"):
        (tmp_path / name).mkdir()
    (tmp_path / "step-77").write_text("a file")
    checkpoints = saved(tmp_path, 1, 2, keep=1)
    assert checkpoints.steps() == [2]
    assert {path.name for path in tmp_path.iterdir()} >= {"step-5.old", "notes", "step-77"}


@pytest.mark.parametrize("moment", ["weights", "optimiser", "checksum", "state"])
def test_a_save_that_breaks_off_leaves_nothing(moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints = saved(tmp_path, 5)
    before = content(5)

    def broken(*args: object, **kwargs: object) -> None:
        raise OSError("No space left on device")

    if moment in ("weights", "optimiser"):
        real, ends = module._write, {"weights": WEIGHTS, "optimiser": OPTIMISER}[moment]
        monkeypatch.setattr(module, "_write", lambda t, path: broken() if path.name == ends else real(t, path))
    else:
        monkeypatch.setattr(module, {"checksum": "hash_file", "state": "write_json"}[moment], broken)
    with pytest.raises(OSError, match="No space"):
        checkpoints.save(10, content(10), best=None)
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["step-5"]
    assert torch.equal(checkpoints.newest()[0].weights["learner/w"], before.weights["learner/w"])


def test_a_save_over_an_older_one_of_the_same_step_replaces_it(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 5)
    checkpoints.save(5, content(6), best=None)
    assert checkpoints.load(5).state["step"] == 6
    assert [path.name for path in tmp_path.iterdir()] == ["step-5"]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-2] ^= 1  # the file still parses: only the checksum knows
    path.write_bytes(bytes(data))


def empty(path: Path) -> None:
    path.write_bytes(b"")


DAMAGES = [(name, hurt) for name in (WEIGHTS, OPTIMISER) for hurt in (cut, flip, empty, Path.unlink)]
DAMAGES += [(STATE, cut), (STATE, empty), (STATE, Path.unlink)]


@pytest.mark.parametrize(("name", "hurt"), DAMAGES)
def test_a_damaged_newest_falls_back_with_a_sentence(name: str, hurt, tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 5, 10, 15)
    hurt(checkpoints.path(15) / name)
    with pytest.raises(DamagedError, match=r"step-15.* is damaged"):
        checkpoints.load(15)
    found, step, passed = checkpoints.newest()
    (sentence,) = passed.values()
    assert step == 10 and found.state["step"] == 10
    assert "step-15" in sentence and "damaged" in sentence and "falling back to the one before it" in sentence


def test_a_state_without_checksums_or_of_another_kind_is_damage(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 5)
    path = checkpoints.path(5) / STATE
    state = json.loads(path.read_text())
    for text in (json.dumps({**state, "sha256": None}), json.dumps([1, 2]), "\xff\xfe", '{"step": 5}'):
        path.write_text(text, encoding="latin-1")
        with pytest.raises(TrainError, match="damaged"):
            checkpoints.load(5)


def test_two_damaged_ones_give_two_sentences_and_are_put_aside(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 5, 10, 15)
    for step in (10, 15):
        flip(checkpoints.path(step) / WEIGHTS)
    _, step, passed = checkpoints.newest()
    assert step == 5 and list(passed) == [15, 10]
    checkpoints.tidy(damaged=passed, best=None)
    assert checkpoints.steps() == [5]
    assert [path.name for path in checkpoints.damaged()] == ["step-10.damaged", "step-15.damaged"]
    assert all({WEIGHTS, OPTIMISER, STATE} == {f.name for f in path.iterdir()} for path in checkpoints.damaged())


def test_those_put_aside_are_never_counted_nor_overwritten(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 5, 10)
    for _ in range(3):
        checkpoints.put_aside([10])
        checkpoints.save(10, content(10), best=None)
    checkpoints.keep = 1
    checkpoints.save(15, content(15), best=None)
    checkpoints.drop_after(5)
    names = ["step-10.damaged", "step-10.damaged-2", "step-10.damaged-3"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names == [p.name for p in checkpoints.damaged()]


def stutter(monkeypatch: pytest.MonkeyPatch, *, times: int, number: int = errno.EIO) -> list[Path]:
    """The disk does not hand out the weights so many times."""
    real, failed = module.hash_file, list[Path]()

    def hash_file(path: Path) -> str:
        if path.name == WEIGHTS and len(failed) < times:
            failed.append(path)
            raise OSError(number, "not today", str(path))
        return real(path)

    monkeypatch.setattr(module, "hash_file", hash_file)
    monkeypatch.setattr(module, "WAITS", (0.0, 0.0, 0.0))
    return failed


def test_a_disk_that_stutters_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints = saved(tmp_path, 5, 10)
    failed = stutter(monkeypatch, times=3)
    assert checkpoints.newest()[1:] == (10, {}) and len(failed) == 3


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.EACCES, errno.ENOMEM])
def test_what_cannot_be_read_stops_a_resume_and_nothing_is_removed(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = toys.engine(toys.made("tokens"), tmp_path, steps=30)
    list(engine.train())
    assert engine.checkpoints.steps() == [10, 20, 30]
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    again = toys.engine(toys.made("tokens"), tmp_path, steps=40)
    with monkeypatch.context() as patched:
        stutter(patched, times=10**6, number=number)
        with pytest.raises(UnreadableError, match=r"step-30 cannot be read \(not today\).*nothing was removed"):
            again.resume()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert again.resume() == [] and again.step == 30


def test_a_folder_that_cannot_be_listed_is_not_an_empty_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints = saved(tmp_path, 5)

    def refuse(path: Path) -> None:
        raise OSError(errno.EIO, "not today", str(path))

    monkeypatch.setattr(module, "WAITS", ())
    monkeypatch.setattr(module.os, "scandir", refuse)
    with pytest.raises(UnreadableError):
        checkpoints.steps()


CHANGES = {  # one value of state.json, still JSON
    "place": lambda state: state["batches"].update(place=state["batches"]["place"] + 1),
    "rate": lambda state: state.update(rate=9.0),
    "step": lambda state: state.update(step=57),
    "updates": lambda state: state["updates"].update(body=3),
    "place below": lambda state: state["batches"].update(place=-3),
    "no number": lambda state: state.update(rate=float("nan")),
    "epoch as text": lambda state: state["batches"].update(epoch="1"),
    "a letter of guards": lambda state: state.update(guardz=state.pop("guards")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_one_changed_value_of_the_state_falls_back_with_a_sentence(change: str, tmp_path: Path) -> None:
    engine = toys.engine(toys.made("tokens"), tmp_path, steps=30)
    list(engine.train())
    path = engine.checkpoints.path(30) / STATE
    state = json.loads(path.read_text())
    CHANGES[change](state)
    path.write_text(json.dumps(state, indent=1))
    again = toys.engine(toys.made("tokens"), tmp_path, steps=40)
    (sentence,) = again.resume()
    assert again.step == 20 and "step-30 is damaged (its digest differs)" in sentence and "step-30.damaged" in sentence
    assert (tmp_path / "step-30.damaged" / STATE).is_file()


def test_a_checkpoint_of_before_there_were_digests_opens(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 5)
    path = checkpoints.path(5) / STATE
    state = json.loads(path.read_text())
    del state["digest"]
    path.write_text(json.dumps(state))
    assert checkpoints.load(5).state == content(5).state
    assert unsealed({"a": 1}) == {"a": 1}


def test_nothing_whole_is_an_error_in_plain_words(tmp_path: Path) -> None:
    with pytest.raises(TrainError, match=r"has no whole checkpoint: start a new run \(it is empty\)"):
        Checkpoints(tmp_path, keep=1).newest()
    checkpoints = saved(tmp_path, 5)
    shutil.rmtree(checkpoints.path(5))
    checkpoints.path(5).mkdir()
    with pytest.raises(TrainError, match=r"no whole checkpoint.*step-5"):
        checkpoints.newest()


def test_taken_up_again_a_run_clears_away_what_a_kill_left(tmp_path: Path) -> None:
    """Killed in a save it leaves a hidden folder; killed before pruning, one checkpoint too many."""
    checkpoints = saved(tmp_path, 5, 10, 15, keep=9)
    (tmp_path / ".step-20.4711.partial").mkdir()
    (tmp_path / ".step-20.4711.partial" / WEIGHTS).write_bytes(b"half")
    (tmp_path / ".step-1.gone.partial").mkdir()
    (tmp_path / "notes").mkdir()
    checkpoints.keep = 1
    checkpoints.tidy(best=5)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes", "step-15", "step-5"]


def test_a_checkpoint_half_removed_no_longer_passes_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints = saved(tmp_path, 5, 10, keep=9)
    checkpoints.keep = 1

    def killed(path: Path, **_: object) -> None:
        if path.exists():
            (path / WEIGHTS).unlink()
            raise KeyboardInterrupt

    monkeypatch.setattr(module.shutil, "rmtree", killed)
    with pytest.raises(KeyboardInterrupt):
        checkpoints.tidy(best=None)
    assert checkpoints.steps() == [10]


def test_the_newest_up_to_a_step(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 5, 10, 15)
    assert [checkpoints.newest(until)[1] for until in (None, 15, 14, 5)] == [15, 15, 10, 5]
    with pytest.raises(TrainError, match="no whole checkpoint"):
        checkpoints.newest(4)

"""Vocabulary surgery: what new symbols start from, how they learn, and what stays as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from olu.core.files import Workspace
from olu.families import family
from olu.train.grow_symbols import APART, Growth, enlarged, enlarged_checkpoint
from olu.train.run import Run

from ..helpers import workspaces
from .test_conformance import VOCABULARY, engine_for, tones
from .test_conformance import made as learner_of

ROWS = "gen.text_encoder.embed_tokens.weight"
LATIN = ["_", *"abcdefghijklmnopqrstuvwxyz", " ", "<unk>"]
PLAIN_TEXT = "ana na bi ihe oma"


def texts(new: str = "ịhe ọma, ịga!", *, count: int = 4) -> list[tuple[str, str, str, str]]:
    first = [(f"p{n}", PLAIN_TEXT, "ada", "train") for n in range(count)]
    return [*first, ("n0", new, "ada", "train"), ("v0", PLAIN_TEXT, "ada", "valid")]


@pytest.fixture(scope="module")
def ws(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return workspaces.workspace(tmp_path_factory.mktemp("vocabulary"), texts())


@pytest.fixture(scope="module")
def latin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workspaces.base(tmp_path_factory.mktemp("bases") / "latin", LATIN)


# ---------------------------------------------------------------- rows


def test_new_rows_start_at_their_relative_or_at_the_mean() -> None:
    torch.manual_seed(0)
    table = 3 + 2 * torch.randn(40, 64)
    grown = enlarged(table, Growth(40, (7, None, 9)))
    assert grown.shape == (43, 64) and torch.equal(grown[:40], table)
    for row, parent in ((40, 7), (42, 9)):
        assert 0 < float((grown[row] - table[parent]).norm()) < 2 * APART * float(table.std(0).norm())
    assert float((grown[41] - table.mean(0)).norm()) == pytest.approx(float(table.std(0).norm()), rel=0.4)
    assert torch.equal(enlarged(table, Growth(40, (7, None, 9))), grown)  # the same again


def test_init_scale_is_how_far_from_there() -> None:
    torch.manual_seed(0)
    table = torch.randn(40, 64)
    one, half, none = (enlarged(table, Growth(40, (7, None), scale))[40:] for scale in (1.0, 0.5, 0.0))
    assert torch.equal(none[0], table[7])
    torch.testing.assert_close(none[1], table.mean(0))
    torch.testing.assert_close(one - none, 2 * (half - none), rtol=1e-3, atol=1e-5)


def _first_step(start: str, seed: int, folder: Path) -> tuple[float, float]:
    """New symbols in the place of every second old one: their gradient and relative move, as shares of the old."""
    fam = family("vits")
    still = dict.fromkeys(("hidden_dropout", "attention_dropout", "activation_dropout"), 0.0)
    config = fam.config(size="tiny", hidden_size=64, weight_decay=0.0, **still)
    fresh = VOCABULARY - 1
    learner = learner_of(fam, config, seed=seed)
    table, random = learner.gen.text_encoder.embed_tokens.weight.detach(), torch.Generator().manual_seed(seed)
    noise = torch.randn(fresh, 64, generator=random)
    rows = {
        "mean": lambda: enlarged(table, Growth(VOCABULARY, (None,) * fresh)),
        "relative": lambda: enlarged(table, Growth(VOCABULARY, tuple(range(1, VOCABULARY)))),
        "1e-4": lambda: torch.cat([table, 1e-4 * noise]),
        "N(0,1)": lambda: torch.cat([table, noise]),
    }[start]()
    larger = fam.learner(config, vocab_size=VOCABULARY + fresh, num_speakers=1)
    larger.load_state_dict({**learner.state_dict(), ROWS: rows})
    clips = [replace(c, ids=tuple(i + fresh if n % 2 else i for n, i in enumerate(c.ids))) for c in tones(4)]
    old, new = ([i for i in sorted({i for c in clips for i in c.ids}) if (i >= VOCABULARY) == x] for x in (False, True))
    engine = engine_for(fam, larger, folder, clips, batch_clips=4)
    gradient: list[Tensor] = []
    larger.get_parameter(ROWS).register_hook(gradient.append)
    engine.advance()
    moved = (larger.get_parameter(ROWS).detach() - rows).norm(dim=1) / rows.norm(dim=1)
    size = gradient[-1].norm(dim=1)
    return float(size[new].mean() / size[old].mean()), float(moved[new].mean() / moved[old].mean())


@pytest.mark.parametrize(
    ("start", "gradient", "move"),
    [
        ("mean", (0.6, 1.6), (0.7, 1.4)),
        ("relative", (0.6, 1.6), (0.7, 1.4)),
        ("1e-4", (1.7, 99.0), (100.0, 1e6)),  # each step throws the row somewhere else: it never grows from a voice
        ("N(0,1)", (0.0, 0.5), (0.0, 0.25)),  # the norm behind it divides the gradient, and a step is nothing to it
    ],
)
def test_new_rows_learn_at_the_pace_of_the_old_and_other_starts_do_not(
    start: str, gradient: tuple[float, float], move: tuple[float, float], tmp_path: Path
) -> None:
    measured = [_first_step(start, seed, tmp_path / str(seed)) for seed in (1, 2, 3)]
    size, moved = (sum(values) / len(values) for values in zip(*measured, strict=True))
    assert gradient[0] < size < gradient[1], f"gradient x {size:.2f}"
    assert move[0] < moved < move[1], f"relative move x {moved:.3g}"


# ---------------------------------------------------------------- a base


def test_new_characters_are_listed_with_counts_examples_and_relatives(ws: Workspace, latin: Path) -> None:
    setup = workspaces.made(ws, base=str(latin))
    note = next(note for note in setup.notes if "new symbols" in note)
    assert note.startswith("4 new symbols: ") and "start from a relative (ị from i" in note and len(note) < 200
    assert setup.documents["new_symbols.json"][0] == {"symbol": "ị", "times": 2, "seen": "'ịhe' in n0", "from": "i"}
    rows = {row["symbol"]: row for row in setup.documents["new_symbols.json"]}
    assert rows["ọ"] == {"symbol": "ọ", "times": 1, "seen": "'ọma' in n0", "from": "o"}
    assert rows["!"] == {"symbol": "!", "times": 1, "seen": "n0", "from": None} and "2 at the mean of all" in note


def test_a_base_grows_by_what_the_corpus_needs_and_no_more(ws: Workspace, latin: Path) -> None:
    """Rows for the symbols and not one more; the blank stays id 0; nothing old moves; every other tensor fits."""
    setup = workspaces.made(ws, base=str(latin))
    symbols = setup.vocabulary.symbols
    assert symbols[: len(LATIN)] == tuple(LATIN) and sorted(symbols[len(LATIN) :]) == sorted("ịọ,!")
    table = setup.learner.get_parameter(ROWS).detach()
    before = load_file(latin / "model.safetensors")["text_encoder.embed_tokens.weight"]
    assert len(table) == len(symbols) and torch.equal(table[: len(LATIN)], before)
    near = {s: int((before - table[symbols.index(s)]).norm(dim=1).argmin()) for s in "ịọ"}
    assert near == {"ị": LATIN.index("i"), "ọ": LATIN.index("o")}
    assert all(len(set(ids)) > 1 and ids[0] == 0 for ids in setup.ids.values())


def test_init_scale_acts_and_says_when_it_cannot(ws: Workspace, latin: Path) -> None:
    one = workspaces.made(ws, base=str(latin))
    two = workspaces.made(ws, base=str(latin), model={"init_scale": 2.0})
    tables = [setup.learner.get_parameter(ROWS).detach() for setup in (one, two)]
    old = len(LATIN)
    assert torch.equal(tables[0][:old], tables[1][:old]) and not torch.equal(tables[0][old:], tables[1][old:])
    said = workspaces.made(ws, model={**workspaces.TINY, "init_scale": 2.0}).notes
    assert "model.init_scale = 2 has no effect: no symbol is new" in said


def test_old_rows_stay_when_they_are_frozen_even_from_weight_decay(ws: Workspace, latin: Path, tmp_path: Path) -> None:
    model = {"weight_decay": 0.5, "learning_rate": 1e-2}
    tables = {}
    for frozen in (True, False):
        setup = workspaces.made(ws, base=str(latin), model=model, plan={"freeze_old_rows": frozen, "steps": 3})
        assert setup.facts["held_rows"] == (len(LATIN) if frozen else 0)
        before = setup.learner.get_parameter(ROWS).detach().clone()
        engine = setup.engine(Run(tmp_path / str(frozen)))
        list(engine.train())
        after = setup.learner.get_parameter(ROWS).detach()
        tables[frozen] = (before, after)
        average = engine.snapshot().weights["average/gen/text_encoder.embed_tokens.weight"]
        assert torch.equal(average[: len(LATIN)], before[: len(LATIN)]) is frozen
    before, after = tables[True]
    assert torch.equal(before[: len(LATIN)], after[: len(LATIN)])
    moved = [s for s, a, b in zip("!,ịọ", before[len(LATIN) :], after[len(LATIN) :], strict=True) if (a != b).any()]
    assert len(moved) == 4
    unused = LATIN.index("z")  # no text has it: without the freezing, weight decay alone would shrink it
    assert torch.equal(before[unused], after[unused])
    assert float(tables[False][1][unused].norm()) < 0.995 * float(before[unused].norm())


# ---------------------------------------------------------------- a run


def test_a_checkpoint_keeps_the_moments_of_old_rows() -> None:
    fam = family("vits")
    from olu.train.checkpoint import Checkpoint

    torch.manual_seed(0)
    name = ROWS.partition(".")[2]
    table, first, second = torch.randn(6, 4), torch.randn(6, 4), torch.rand(6, 4)
    moments = {f"gen/{name}/step": torch.tensor(9.0), f"gen/{name}/exp_avg": first, f"gen/{name}/exp_avg_sq": second}
    weights = {f"learner/{ROWS}": table, f"average/gen/{name}": table + 1, "learner/other": torch.ones(6)}
    grown = enlarged_checkpoint(Checkpoint(weights, moments, {}), fam.bases.symbol_rows, Growth(6, (2, None)))
    for key, held in (*weights.items(), *moments.items()):
        now = {**grown.weights, **grown.optimiser}[key]
        if held.ndim == 2:
            assert now.shape == (8, 4) and torch.equal(now[:6], held)
        else:
            assert torch.equal(now, held)
    assert not grown.optimiser[f"gen/{name}/exp_avg"][6:].any()
    torch.testing.assert_close(grown.optimiser[f"gen/{name}/exp_avg_sq"][6:], second.mean(0).expand(2, -1))
    assert table.shape == (6, 4)  # the one it came from is left alone


def test_a_run_goes_on_with_more_symbols(tmp_path: Path) -> None:
    """--from-run over a corpus that has come to need more: old rows and their moments as they were, then new ones."""
    root = tmp_path / "w"
    ws = workspaces.workspace(root, texts(PLAIN_TEXT))
    workspaces.trained(ws)
    first = Run(ws.runs_folder / "vits-001")
    workspaces.save(ws, root, texts("ịhe ịma ị ị ị ịị"))
    summary, said = workspaces.trained(ws, from_run="vits-001")
    assert summary.run == "vits-002" and summary.stopped is None
    assert any("1 new symbol: 1 starts from a relative (ị from i)" in one for one in said)
    (row,) = Run(ws.runs_folder / "vits-002").document("new_symbols.json")
    assert (row["symbol"], row["times"], row["from"]) == ("ị", 7, "i")
    second = Run(ws.runs_folder / "vits-002")
    old, new = (run.document("vocabulary.json")["symbols"] for run in (first, second))
    assert new == [*old, "ị"] and "ị" in second.document("frontend.json")["inventory"]
    step = int((first.best or {"step": 2})["step"])
    before, after = first.checkpoints().load(step), second.checkpoints().load(0)
    name = ROWS.partition(".")[2]
    for key in (f"learner/{ROWS}", f"average/gen/{name}"):
        assert torch.equal(after.weights[key][: len(old)], before.weights[key])
    for moment in ("exp_avg", "exp_avg_sq"):
        key = f"gen/{name}/{moment}"
        assert before.optimiser[key].any() and torch.equal(after.optimiser[key][: len(old)], before.optimiser[key])
    others = [key for key in before.optimiser if name not in key]
    assert others and all(torch.equal(before.optimiser[key], after.optimiser[key]) for key in others)
    last = second.checkpoints().load(2).weights[f"learner/{ROWS}"]
    assert bool((last[-1] != after.weights[f"learner/{ROWS}"][-1]).any())  # the new row learns


def test_a_run_that_lacks_nothing_keeps_its_alphabet(tmp_path: Path) -> None:
    ws = workspaces.workspace(tmp_path / "w", texts())
    workspaces.trained(ws)
    _, said = workspaces.trained(ws, from_run="vits-001")
    runs = [Run(ws.runs_folder / name) for name in ("vits-001", "vits-002")]
    for document in ("vocabulary.json", "frontend.json", "speakers.json"):
        assert runs[0].document(document) == runs[1].document(document)
    assert not any("new symbol" in sentence for sentence in said)


def test_rows_that_learn_are_the_ones_asked_for(tmp_path: Path) -> None:
    """After growing, freezing holds what the run before had; a run from that one still trains the letters it added."""
    root = tmp_path / "w"
    ws = workspaces.workspace(root, texts(PLAIN_TEXT))
    workspaces.trained(ws)
    old = len(Run(ws.runs_folder / "vits-001").document("vocabulary.json")["symbols"])
    workspaces.save(ws, root, texts("ịhe ịma ị ị ị ịị"))
    workspaces.trained(ws, "plan.freeze_old_rows=true", from_run="vits-001")
    workspaces.trained(ws, from_run="vits-002")
    assert [Run(ws.runs_folder / f"vits-00{n}").document("facts.json")["held_rows"] for n in (1, 2, 3)] == [0, old, old]

"""The chain that makes a training from a recipe and a corpus, step by step: no recording, no audit, no features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from olu.core.errors import TrainError
from olu.core.files import Workspace, write_json
from olu.core.types import Clip
from olu.families import family
from olu.text.characters import CharacterFrontend
from olu.text.vocabulary import SymbolVocabulary
from olu.train.checkpoint import Checkpoint
from olu.train.family import Base, Family
from olu.train.recipe import Recipe
from olu.train.run import Run
from olu.train.setup.clips import ClipChoice, choose_clips, choose_speakers, wanted_clips
from olu.train.setup.job import build_learner, clip_names, collect_facts, documents_of
from olu.train.setup.start import KeptDecisions, TrainingRequest, TrainingStart, resolve_start
from olu.train.setup.symbols import TrainingTexts, build_vocabulary, held_rows, read_texts

LETTERS = CharacterFrontend("eng", lower=True).state()
KEPT = KeptDecisions(
    run="vits-007",
    vocabulary=SymbolVocabulary("_ab"),
    frontend={**LETTERS, "inventory": ["a", "b"]},
    speakers=["ada", "bo"],
    pauses=None,
    held_rows=2,
    started_from="vits-001@40",
    companions={},
)


class Rows(nn.Module):
    """A learner that is no more than a table of symbols."""

    def __init__(self, config: Any, *, vocab_size: int, num_speakers: int) -> None:
        super().__init__()
        self.table = nn.Embedding(vocab_size, 2)
        self.speakers = num_speakers


class Clips:
    """A corpus of three clips; the last is on the validation side."""

    fingerprint, seconds = "corpus", 6.0

    def __init__(self, ws: Workspace, *clips: Clip) -> None:
        self.ws, self.clips = ws, clips or tuple(clip(f"c{at}", who) for at, who in enumerate(("ada", "bo", "ada")))
        self.corrected: dict[str, str] = {}

    def __iter__(self) -> Iterator[Clip]:
        return iter(self.clips)

    def __len__(self) -> int:
        return len(self.clips)

    def is_wanted(self, clip: Clip) -> bool:
        return clip.text != "dropped"

    def why_not(self, clip: Clip, errors: bool = True, texts: bool = True) -> str | None:
        return None if self.is_wanted(clip) else "you dropped it"

    def split(self, clip: Clip, *, texts: bool = True) -> str:
        return "valid" if clip is self.clips[-1] else "train"

    def taken(self, clip: Clip) -> Clip:
        return clip

    def changed(self) -> list[str]:
        return []

    def has_changed(self, clip: Clip) -> bool:
        return False

    def correction(self, clip: Clip) -> Any:
        return SimpleNamespace(text=self.corrected[clip.id]) if clip.id in self.corrected else None


class Sound(dict[str, int]):
    """Features that are lengths only."""

    def length(self, clip: str) -> int:
        return self[clip]


def clip(id: str, speaker: str = "ada", text: str = "ab ba") -> Clip:
    return Clip(id=id, audio=f"s/{id}.wav", seconds=2.0, rate=16000, text=text, language="eng", speaker=speaker)


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws", language="eng")


def chosen(**changes: Any) -> Family:
    """VITS with a table of symbols for its networks."""
    of = family("vits")
    assert of.bases is not None
    return replace(of, **{"learner": Rows, "bases": replace(of.bases, symbol_rows=("table.weight",)), **changes})


def a_base(**changes: Any) -> Base:
    held = {"settings": {"size": "tiny"}, "symbols": ("_", "a"), "interleave": True, "lower": True, "via": "uroman"}
    return Base(**{**held, "num_speakers": 1, "load": lambda learner, growth, speakers: [f"{speakers}"], **changes})


def asked(ws: Workspace, of: Family | None = None, **given: Any) -> TrainingRequest:
    settings = {name: given.pop(name) for name in ("base", "data", "plan") if name in given}
    model = {} if "base" in settings else {"size": "tiny"}
    recipe = Recipe.model_validate({"model": model, **settings})
    return TrainingRequest(ws, of or chosen(), recipe, "cpu", **given)


def begun(ws: Workspace, **changes: Any) -> TrainingStart:
    """A start from nothing, and what is changed in it."""
    return replace(resolve_start(asked(ws), Clips(ws)), **changes)  # type: ignore[arg-type]


def run_of(ws: Workspace, *, steps: tuple[int, ...] = (), **facts: Any) -> Run:
    documents = {
        "vocabulary.json": KEPT.vocabulary.state(),
        "frontend.json": KEPT.frontend,
        "speakers.json": KEPT.speakers,
    }
    recipe = Recipe.model_validate({"model": {"size": "tiny"}, **facts.pop("recipe", {})})
    run = Run.create(ws.runs_folder, recipe, facts={"recipe": "", "held_rows": 2, **facts}, documents=documents)
    for step in steps:
        run.checkpoints().save(
            step, Checkpoint({"learner/table.weight": torch.ones(3, 2)}, {}, {"step": step}), best=None
        )
    return run


# ---------------------------------------------------------------- resolve_start


def test_a_start_from_nothing_has_all_settings_of_the_model_and_cannot_be_changed(ws: Workspace) -> None:
    start = begun(ws)
    assert (start.base, start.weights, start.kept, start.before, start.started_from) == (None,) * 5
    assert start.recipe.model == start.config.model_dump(mode="json") and len(start.recipe.model) > 20
    with pytest.raises(FrozenInstanceError):
        start.device = "cuda"  # type: ignore[misc]


def test_a_base_gives_its_settings_under_those_of_the_recipe(ws: Workspace) -> None:
    held = {"size": "tiny", "hidden_size": 64}
    bases = replace(chosen().bases, read=lambda place: a_base(settings=held))  # type: ignore[type-var]
    start = resolve_start(asked(ws, chosen(bases=bases), base="embedded"), Clips(ws))  # type: ignore[arg-type]
    assert start.base is not None and start.config.hidden_size == 64 and start.weights is None
    assert start.config.learning_rate == 2e-5  # fine-tuning is gentle
    with pytest.raises(TrainError, match="starts from none"):
        resolve_start(asked(ws, chosen(bases=None), base="embedded"), Clips(ws))  # type: ignore[arg-type]


def test_another_run_gives_its_weights(ws: Workspace) -> None:
    run = run_of(ws, steps=(40,))
    start = resolve_start(asked(ws, start=(run, 40)), Clips(ws))  # type: ignore[arg-type]
    assert start.kept is None and start.before is run and start.started_from == f"{run.name}@40"


def test_a_run_that_goes_on_keeps_what_it_decided(ws: Workspace) -> None:
    run = run_of(ws, steps=(5,), **{"from": "vits-009@3"})  # which may be gone by now
    start = resolve_start(asked(ws, run=run), Clips(ws))  # type: ignore[arg-type]
    assert start.weights is None and start.started_from == "vits-009@3"
    assert start.kept is not None and start.kept.run == run.name
    assert (start.kept.speakers, start.kept.held_rows) == (KEPT.speakers, 2)
    assert start.kept.vocabulary.symbols == KEPT.vocabulary.symbols


def test_a_run_that_was_killed_before_its_first_checkpoint_begins_as_it_began(ws: Workspace) -> None:
    before = run_of(ws, steps=(3,))
    run = run_of(ws, **{"from": f"{before.name}@3"})
    start = resolve_start(asked(ws, run=run), Clips(ws))  # type: ignore[arg-type]
    assert start.weights is not None and (start.weights[0].name, start.weights[1]) == (before.name, 3)
    assert start.kept is not None


def test_half_precision_needs_a_cpu_that_has_it(ws: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    facts = tmp_path / "cpuinfo"
    monkeypatch.setattr("olu.core.machine.CPU_FACTS", facts)
    for precision, flags in (("bf16", "fma avx2"), ("fp16", "avx512_bf16"), ("bf16", None)):
        facts.unlink(missing_ok=True)
        if flags is not None:
            facts.write_text(f"flags : {flags}\n", encoding="ascii")
        with pytest.raises(TrainError, match="for GPUs"):
            resolve_start(asked(ws, plan={"precision": precision}), Clips(ws))  # type: ignore[arg-type]
    facts.write_text("flags : fma avx512_bf16\n", encoding="ascii")
    start = resolve_start(asked(ws, plan={"precision": "bf16"}), Clips(ws))  # type: ignore[arg-type]
    assert start.recipe.plan.precision == "bf16"


# ---------------------------------------------------------------- build_vocabulary, read_texts


def read_before(ws: Workspace, symbols: str) -> None:
    """What `olu read` leaves."""
    write_json(ws.readings / "vocabulary.json", SymbolVocabulary.of(symbols).state())
    write_json(ws.readings / "frontend.json", {**LETTERS, "inventory": sorted(symbols)})


def test_the_vocabulary_of_a_new_run_is_the_reading_s(ws: Workspace) -> None:
    read_before(ws, "abc")
    vocabulary, state = build_vocabulary(begun(ws), Clips(ws), [])  # type: ignore[arg-type]
    assert vocabulary.symbols == ("_", "a", "b", "c") and state["inventory"] == ["a", "b", "c"]


def test_pauses_are_a_symbol_of_a_new_run_and_never_added_to_one_that_goes_on(ws: Workspace) -> None:
    read_before(ws, "ab")
    marked = Recipe.model_validate({"data": {"pauses": 0.3}})
    assert "," in build_vocabulary(begun(ws, recipe=marked), Clips(ws), [])[0].symbols  # type: ignore[arg-type]
    kept = build_vocabulary(begun(ws, recipe=marked, kept=KEPT), Clips(ws), [])  # type: ignore[arg-type]
    assert kept == (KEPT.vocabulary, KEPT.frontend)


def test_a_base_keeps_its_symbols_and_gets_what_the_corpus_needs(ws: Workspace) -> None:
    read_before(ws, "ab")
    clips = [clip("c1", text="abc")]
    vocabulary, _ = build_vocabulary(begun(ws, base=a_base(via=None)), Clips(ws, *clips), clips)  # type: ignore[arg-type]
    assert vocabulary.symbols[:2] == ("_", "a") and set(vocabulary.symbols[2:]) == {"b", "c"}


def test_texts_become_ids_and_silence_none(ws: Workspace) -> None:
    clips = [clip("c1", text="ab"), clip("c2", text="!!")]
    texts = read_texts(begun(ws), (SymbolVocabulary("_ab"), {**LETTERS, "inventory": ["a", "b"]}), clips)
    assert texts.ids == {"c1": (0, 1, 0, 2, 0), "c2": ()} and texts.pauses == {}


class Spelling:
    def symbols(self, reading: Any) -> list[str]:
        return list(reading.normal.replace(" ", ""))

    def spell(self, symbols: Any) -> list[str]:
        return list(symbols)


def test_a_family_that_listens_writes_symbols_of_its_own(ws: Workspace) -> None:
    alphabet = (SymbolVocabulary("_"), {**LETTERS, "inventory": None})
    listening = begun(ws, writes=Spelling())
    texts = read_texts(listening, alphabet, [clip("c1", text="ba")])
    assert texts.vocabulary.symbols == ("_", "a", "b") and texts.ids == {"c1": (2, 1)}
    with pytest.raises(TrainError, match="clip c1: vits-007 does not know 'c': start a new run"):
        read_texts(replace(listening, kept=KEPT), alphabet, [clip("c1", text="cab")])


# ---------------------------------------------------------------- choose_clips


def read(ws: Workspace, corpus: Clips, **changes: Any) -> tuple[TrainingStart, TrainingTexts]:
    start = begun(ws, **changes)
    wanted = wanted_clips(corpus, start.recipe)  # type: ignore[arg-type]
    return start, read_texts(start, (SymbolVocabulary("_ab "), {**LETTERS, "inventory": ["a", "b", " "]}), wanted)


def picked(ws: Workspace, corpus: Clips, **changes: Any) -> ClipChoice:
    start, texts = read(ws, corpus, **changes)
    sound = Sound(dict.fromkeys((one.id for one in corpus), 32000))
    return choose_clips(start, corpus, sound, texts, {})  # type: ignore[arg-type]


def test_clips_of_both_sides_and_why_the_others_are_left_out(ws: Workspace) -> None:
    corpus = Clips(ws, clip("c0"), clip("c1", text="dropped"), clip("c2", "bo", text="!!"), clip("c3"))
    found = picked(ws, corpus)
    assert [one.id for one in found.train] == ["c0"] and [one.id for one in found.valid] == ["c3"]
    assert found.left_out == {"c1": "you dropped it", "c2": "its transcript holds nothing to say"}
    assert found.speakers == ["ada"] and "2 of 4 clips left out" in found.notes[0]


def test_where_no_clip_of_a_known_speaker_validates_training_clips_do(ws: Workspace) -> None:
    found = picked(ws, Clips(ws, clip("c0"), clip("c1"), clip("c2"), clip("v", "cy")))
    assert [one.id for one in found.valid] == ["c0", "c1", "c2"]  # its figures come from training clips
    start = begun(ws)
    with pytest.raises(TrainError, match="no clip is left to train on"):
        picked(ws, Clips(ws, clip("c0", text="!!"), clip("v")), recipe=start.recipe)


def test_speakers_of_a_run_stay_in_their_rows(ws: Workspace) -> None:
    assert choose_speakers(begun(ws), {"bo", "ada"}) == (["ada", "bo"], [])
    assert choose_speakers(begun(ws, kept=KEPT), {"bo"}) == (["ada", "bo"], [])
    with pytest.raises(TrainError, match="speaker 'cy' is not in vits-007"):
        choose_speakers(begun(ws, kept=KEPT), {"cy"})
    grown, said = choose_speakers(begun(ws, weights=(run_of(ws), 0)), {"ada", "cy"})
    assert grown == ["ada", "bo", "cy"] and "near the mean" in said[0]


# ---------------------------------------------------------------- build_learner, collect_facts


def test_the_seed_decides_the_first_weights(ws: Workspace) -> None:
    corpus = Clips(ws)
    start, texts = read(ws, corpus)
    clips = picked(ws, corpus)
    first, again = (build_learner(start, texts, clips).module.state_dict() for _ in range(2))
    other = replace(start, recipe=start.recipe.model_copy(update={"seed": 2}))
    assert torch.equal(first["table.weight"], again["table.weight"])
    assert not torch.equal(
        first["table.weight"], build_learner(other, texts, clips).module.state_dict()["table.weight"]
    )


def test_a_base_fills_the_learner_and_new_symbols_are_told(ws: Workspace) -> None:
    corpus, seen = Clips(ws), []

    def load(learner: nn.Module, growth: Any, speakers: list[str]) -> list[str]:
        seen.append((growth.old, len(growth.parents), speakers))
        return ["a part started fresh"]

    start, texts = read(ws, corpus, base=a_base(load=load))
    made = build_learner(start, texts, picked(ws, corpus))
    assert seen == [(2, 2, ["ada", "bo"])] and made.notes[0] == "a part started fresh"
    assert "the new rows of table.weight begin at" in made.notes[1]
    assert {row["symbol"] for row in made.strange} == {"b", " "} and "2 new symbols" in made.notes[-1]


def test_a_single_speaker_leaves_out_what_only_several_can_take_from_a_base(ws: Workspace) -> None:
    corpus = Clips(ws, clip("c0"), clip("c1"))
    start, texts = read(ws, corpus, base=a_base(num_speakers=4, alone={"hidden_size": 16}))
    made = build_learner(start, texts, picked(ws, corpus))
    assert made.config.hidden_size == 16 and made.recipe.model["hidden_size"] == 16


def test_weights_of_another_shape_are_refused(ws: Workspace) -> None:
    corpus = Clips(ws)
    start, texts = read(ws, corpus, weights=(run_of(ws, steps=(4,)), 4))
    wide = replace(start, family=chosen(bases=None))  # without bases no row is added
    with pytest.raises(TrainError, match=r"shape \(3, 2\) for table.weight, these settings need \(4, 2\)"):
        build_learner(wide, texts, picked(ws, corpus))


def test_frozen_rows_need_something_that_was_learnt_before(ws: Workspace) -> None:
    frozen = Recipe.model_validate({"plan": {"freeze_old_rows": True}})
    assert held_rows(begun(ws), None) == 0
    assert held_rows(begun(ws, recipe=frozen), ("_", "a")) == 2
    assert held_rows(begun(ws, recipe=frozen, kept=KEPT), ("_", "a", "b", "c")) == 2  # as when it began
    with pytest.raises(TrainError, match="no symbol is old"):
        held_rows(begun(ws, recipe=frozen), None)


def test_facts_name_what_was_trained_on(ws: Workspace) -> None:
    corpus = Clips(ws)
    start, texts = read(ws, corpus, kept=KEPT)
    clips = picked(ws, corpus)
    learner = build_learner(start, texts, clips)
    seconds = {one.id: 2.0 for one in corpus}

    def facts() -> dict[str, Any]:
        return collect_facts(start, learner, corpus, clips, seconds=seconds)  # type: ignore[arg-type]

    first = facts()
    assert first["from"] == "vits-001@40" and first["corpus"] == "corpus"
    assert first["trained"] == {"clips": 2, "seconds": 4.0, "valid": 1, "of": 3, "of_seconds": 6.0}
    corpus.corrected["c0"] = "ab ab"
    assert facts()["clips"] != first["clips"] and clip_names(corpus, list(corpus))[0] == ["c0", "ab ab"]  # type: ignore[arg-type]
    written = documents_of(start, learner, texts, clips)
    assert written["speakers.json"] == ["ada", "bo"] and written["vocabulary.json"] == texts.vocabulary.state()

"""Prompts: which sentences to record next, what is left out and why, and that it beats a random choice."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from olu.audit.prompts import Candidate, SpokenUnit, _gain, choose, covered
from olu.core.errors import ConfigError
from olu.core.files import Workspace
from olu.core.job import finish
from olu.corpus.prompts import prompt_id, read_prompts
from olu.stages.prompts import PromptsSummary, make_prompts, prompt_reader, record_next, rules_of, run
from olu.stages.verbs.corpus import PromptsOptions

SHARED = Path(os.environ.get("OLU_SHARED", Path(__file__).parents[3] / "shared"))
TEXT = """Habari ya asubuhi.
Watoto wanacheza mpira uwanjani.
habari  ya asubuhi.
Nina miaka 12.
Xavier anakula chakula.
Он говорит по-русски.
...
Mama anapika ugali na samaki wa kupaka kwa ajili ya wageni wote waliofika nyumbani kwetu leo jioni kutoka mjini Dodoma
"""


def made(ws: Workspace, text: str, *, count: int = 300, longest: int = 90) -> PromptsSummary:
    lines = [(f"line {number}", line) for number, line in enumerate(text.split("\n"), 1)]
    return finish(make_prompts(ws, lines, count=count, longest=longest))


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws", language="swa")


def test_what_is_no_prompt_is_left_out_by_name(ws: Workspace) -> None:
    told = made(ws, TEXT)
    texts = {one.text for one in read_prompts(ws)}
    assert texts == {"Habari ya asubuhi.", "Watoto wanacheza mpira uwanjani."}
    left = [json.loads(line) for line in (ws.root / "prompts/left-out.jsonl").read_text().splitlines()]
    why = {one["where"]: one["why"] for one in left}
    assert why["line 3"] == "twice" and why["line 4"] == "digits" and why["line 5"] == "foreign letters"
    assert why["line 6"] == "foreign letters" and why["line 7"] == "nothing to say" and why["line 8"] == "too long"
    assert next(one["what"] for one in left if one["where"] == "line 5") == "x"
    assert told.left_out["foreign letters"] == 2 and told.chosen == 2


def test_the_same_texts_give_the_same_prompts_and_ids(ws: Workspace) -> None:
    text = "\n".join(" ".join(random.Random(seed).sample(TEXT.lower().split()[:9], 5)) for seed in range(60))
    made(ws, text, count=20)
    first = read_prompts(ws)
    made(ws, text, count=20)
    assert read_prompts(ws) == first
    assert len({one.id for one in first}) == 20
    assert first[0].id == prompt_id(f"  {first[0].text} ")
    assert first[0].new and not first[-1].new


def test_what_the_corpus_has_is_not_asked_for_again(ws: Workspace, tmp_path: Path) -> None:
    from olu.stages.import_ import import_source

    folder = tmp_path / "rec"
    folder.mkdir()
    for number, line in enumerate(["Habari ya asubuhi.", "Watoto wanacheza mpira."]):
        soundfile.write(folder / f"{number}.wav", 0.1 * np.random.default_rng(number).normal(size=16000), 16000)
        (folder / f"{number}.txt").write_text(line)
    finish(import_source(ws, folder))
    told = made(ws, "Habari ya asubuhi.\nWatoto wanacheza.\nVyombo vya fedha vinang'aa.", count=1)
    assert told.left_out["recorded already"] == 1 and told.corpus == 2
    assert [one.text for one in read_prompts(ws)] == ["Vyombo vya fedha vinang'aa."]  # v, ny, ng' are new
    assert told.coverage["phone"]["prompts"] > told.coverage["phone"]["corpus"] > 0
    assert record_next(ws) == ["Vyombo vya fedha vinang'aa."]


def test_an_audit_says_what_to_record_next(ws: Workspace, tmp_path: Path) -> None:
    from olu.stages.audit import audit
    from olu.stages.import_ import import_source

    folder = tmp_path / "rec"
    folder.mkdir()
    soundfile.write(folder / "a.wav", 0.1 * np.random.default_rng(1).normal(size=16000), 16000)
    (folder / "a.txt").write_text("Habari ya asubuhi.")
    finish(import_source(ws, folder))
    made(ws, "Watoto wanacheza & mpira.\nHabari ya asubuhi.")
    told = finish(audit(ws))
    assert told.record_next == ["Watoto wanacheza & mpira."]
    page = told.report.read_text()
    assert "Record these next" in page and "wanacheza &amp; mpira" in page


def test_the_languages_own_sentences_are_named_where_nobody_chose_prompts(tmp_path: Path) -> None:
    own = Workspace.create(tmp_path / "amh", language="amh")
    assert len(record_next(own, count=5)) == 5
    assert record_next(Workspace.create(tmp_path / "none", language="deu")) == []


def test_texts_that_cannot_be_are_one_sentence(ws: Workspace, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--from"):
        finish(run(PromptsOptions(ws=ws.root)))
    with pytest.raises(ConfigError, match="is not there"):
        finish(run(PromptsOptions(ws=ws.root, texts=(tmp_path / "no.txt",))))
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="UTF-8"):
        finish(run(PromptsOptions(ws=ws.root, texts=(tmp_path / "bad.txt",))))
    (tmp_path / "digits.txt").write_text("12\n13\n14")
    with pytest.raises(ConfigError, match="digits"):
        finish(run(PromptsOptions(ws=ws.root, texts=(tmp_path / "digits.txt",))))
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(ConfigError, match="no sentence"):
        finish(run(PromptsOptions(ws=ws.root, texts=(tmp_path / "empty.txt",))))
    assert not (ws.root / "prompts").exists()


UNITS = st.dictionaries(
    st.sampled_from([SpokenUnit("pair", name) for name in "abcdefgh"] + [SpokenUnit("phone", "p")]), st.integers(1, 4)
)


@given(st.lists(UNITS, min_size=1, max_size=12), UNITS)
def test_the_lazy_choice_is_the_plain_greedy_one(
    rows: list[dict[SpokenUnit, int]], have: dict[SpokenUnit, int]
) -> None:
    pool = [Candidate(text=str(number), units=Counter(row)) for number, row in enumerate(rows)]
    chosen = [one.candidate.text for one in choose(pool, count=5, have=have)]
    held, left, plain = Counter(have), list(pool), list[str]()
    while left and len(plain) < 5:
        worth = [(-_gain(one, held) / max(1, one.phones) ** 0.5, at) for at, one in enumerate(left)]
        best = left.pop(min(worth)[1])
        held.update(best.units)
        plain.append(best.text)
    assert chosen == plain


@pytest.mark.parametrize(
    ("code", "name"),
    [("yor", "yoruba_toned_sentences.txt"), ("ibo", "igbo_text_fiction.txt"), ("yor", "yoruba_toned_news.txt")],
)
def test_coverage_beats_a_random_choice_of_as_many_sentences_and_of_as_many_phones(
    tmp_path: Path, code: str, name: str
) -> None:
    path = SHARED / "gold" / name
    if not path.is_file():
        pytest.skip("the gold texts are not here")
    from olu.stages.prompts import _candidate
    from olu.text.languages import load
    from olu.text.words import split_sentences

    frontend = prompt_reader(Workspace.create(tmp_path / "ws", language=code))
    lines = path.read_text(encoding="utf-8").split("\n")[:600]
    texts = [one for line in lines for one in split_sentences(line, load(code).sentence_ends, plain=True)]
    rules, seen = rules_of(frontend, texts, longest=120), set[str]()
    found = [_candidate(text, frontend, rules, seen=seen, recorded=()) for text in texts]
    pool = [one for one in found if isinstance(one, Candidate)]
    best = [one.candidate for one in choose(pool, count=60)]
    pairs, phones = covered((one.units for one in best), "pair"), sum(one.phones for one in best)
    for seed in range(5):
        other = random.Random(seed).sample(pool, len(pool))
        many = next(at for at in range(len(other)) if sum(one.phones for one in other[:at]) >= phones)
        assert pairs > 1.15 * covered((one.units for one in other[:60]), "pair")
        assert pairs > 1.05 * covered((one.units for one in other[:many]), "pair")

"""Two evaluations side by side, the blind page, and counting what was chosen."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from olu.audio import io
from olu.core.errors import ConfigError
from olu.core.files import Workspace
from olu.core.job import Job, finish
from olu.core.types import Clip
from olu.corpus.manifest import Corpus, Source
from olu.evaluate.blind import KEY_FILE, Trial, blind_key, coin, count, preference, render, say, swapped
from olu.evaluate.compare import compare, pairs
from olu.evaluate.estimates import figure
from olu.evaluate.evaluation import WAVS
from olu.stages.compare import FACTS, LISTEN, PAGE, CompareSummary
from olu.stages.compare import compare as compare_stage
from olu.stages.verbs.voices import CompareOptions

from ..helpers.judged import evaluation, voice

COUNT = 40


def stage(first: Path, second: Path, **options: Any) -> Job[CompareSummary]:
    return compare_stage(CompareOptions(first=first, second=second, **options))


def spread(middle: float) -> list[float | None]:
    return [middle + 0.01 * (n % 5) for n in range(COUNT)]


def test_differences_are_of_the_same_sentences() -> None:
    one = evaluation("one", {"cer": spread(0.10), "mcd": spread(6.0), "speaker": spread(0.8)}, count=COUNT)
    two = evaluation("two", {"cer": spread(0.30), "mcd": spread(5.0), "speaker": spread(0.8)}, count=COUNT)
    by = {one.name: one for one in compare(one, two).differences}
    assert by["cer"].difference == pytest.approx(0.2) and by["cer"].better == "first" and by["cer"].n == COUNT
    assert by["mcd"].difference == pytest.approx(-1.0) and by["mcd"].better == "second"
    assert by["speaker"].better == "even"


def test_a_pair_needs_the_same_text() -> None:
    one = evaluation("one", {"cer": spread(0.1)}, count=COUNT)
    two = evaluation("two", {"cer": spread(0.1)}, count=COUNT)
    changed = replace(two, items=tuple(replace(item, text=f"x{item.id}") for item in two.items))
    assert len(pairs(one, two, "in")) == COUNT and pairs(one, changed, "in") == []
    found = compare(one, changed)
    assert found.shared == 0 and found.differences[0].n == 0 and found.differences[0].better == "unclear"
    assert "no sentence in common" in found.notes[0]


def test_what_should_be_near_one_is_judged_by_its_distance() -> None:
    one = evaluation("one", {"duration_ratio": [1.4] * COUNT}, count=COUNT)
    two = evaluation("two", {"duration_ratio": [0.95] * COUNT}, count=COUNT)
    (found,) = compare(one, two).differences
    assert found.better == "second"


def test_the_binomial_test_knows_its_textbook() -> None:
    assert coin(5, 5) == 1.0
    assert coin(0, 10) == pytest.approx(2 / 1024)
    assert coin(2, 8) == pytest.approx(2 * (1 + 10 + 45) / 1024)
    assert preference(0, 0, equal=3).chance is None and preference(1, 3).share == 0.75


# ------------------------------------------------------------ the blind page


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r"const data = (.*);\n", page)
    assert found
    value = json.loads(found[1])
    assert isinstance(value, dict)
    return value


Page = tuple[str, dict[str, Any]]  # the page, and its key


def blind(*, seed: int = 3, count: int = 8) -> Page:
    trials = [Trial(f"s{n}", f"</script> & text {n}", voice(0.3), voice(0.4, hertz=150)) for n in range(count)]
    key = blind_key(trials, first="old voice", second="new voice", seed=seed)
    return render(trials, key, language="swa"), key


def test_the_order_is_even_and_the_same_for_a_seed() -> None:
    ids = [f"s{n}" for n in range(20)]
    assert swapped(ids, seed=1) == swapped(ids, seed=1) != swapped(ids, seed=2)
    assert sum(swapped(ids, seed=1)) == 10


def test_the_page_gives_nothing_away() -> None:
    page, key = blind()
    assert "old voice" not in page and "new voice" not in page and "swapped" not in page
    ids = [f"s{n}" for n in range(8)]
    assert list(key["swapped"].values()) != swapped(ids, seed=3) or blind(seed=5)[1]["swapped"] != swapped(ids, seed=5)
    assert set(data_of(page)) == {"trials", "language", "kind", "schema", "id"}
    assert page.count("</script>") == 1 and "https://" not in page
    held = data_of(page)
    assert sorted(trial["id"] for trial in held["trials"]) == [f"s{n}" for n in range(8)]
    assert data_of(blind(seed=4)[0])["id"] != held["id"] == key["test"]


def chosen(path: Path, made: Page, prefer: str, *, listener: str = "", equal: int = 0) -> Path:
    """What a listener who always prefers one of the two would save; the key lies in a folder beside it."""
    held, key = data_of(made[0]), made[1]
    folder = path.parent / f"key-{key['test']}"
    folder.mkdir(exist_ok=True)
    (folder / KEY_FILE).write_text(json.dumps(key), encoding="utf-8")
    first_is = {id: 2 if swap else 1 for id, swap in key["swapped"].items()}
    choices = {id: place if prefer == "first" else 3 - place for id, place in first_is.items()}
    for id in list(choices)[:equal]:
        choices[id] = 0
    row = {"kind": held["kind"], "schema": held["schema"], "listener": listener, "test": held["id"], "choices": choices}
    path.write_text(json.dumps(row), encoding="utf-8")
    return path


def test_choices_are_counted_and_the_names_put_back(tmp_path: Path) -> None:
    page = blind()
    counted = count([chosen(tmp_path / "a.json", page, "second", equal=2)])
    assert (counted.preference.first, counted.preference.second, counted.preference.equal) == (0, 6, 2)
    assert counted.second == "new voice" and counted.preference.chance == pytest.approx(2 / 64)
    assert "new voice is preferred" in say(counted)[1]
    other = count([chosen(tmp_path / "a.json", page, "second"), chosen(tmp_path / "b.json", page, "first")])
    assert other.preference.chance == 1.0 and "Not decided" in say(other)[1]
    assert [name for name, _ in other.listeners] == ["a", "b"] and set(other.sentences.values()) == {0}


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"kind": "olu-choices", "schema": 1, "key": "x", "choices": {}}'])
def test_a_file_that_holds_no_choices_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="holds no choices"):
        count([path])
    with pytest.raises(ConfigError, match="is not there"):
        count([tmp_path / "none.json"])


def test_choices_between_other_voices_are_not_mixed(tmp_path: Path) -> None:
    trials = [Trial("s0", "text", voice(0.3), voice(0.3))]
    key = blind_key(trials, first="x", second="y", seed=0)
    foreign = render(trials, key, language="swa"), key
    files = [chosen(tmp_path / "a.json", blind(), "first"), chosen(tmp_path / "b.json", foreign, "first")]
    with pytest.raises(ConfigError, match="compares x and y, not old voice and new voice"):
        count(files)


def folder_of(place: Path, name: str, middle: float) -> Path:
    one = evaluation(name, {"cer": spread(middle)}, count=COUNT)
    one.save(place)
    for item in one.items[:6]:
        io.write(place / item.wav, voice(0.3, hertz=100 + 400 * middle))
    assert (place / WAVS).is_dir()
    return place


def test_the_stage_writes_both_pages(tmp_path: Path) -> None:
    one, two = folder_of(tmp_path / "a", "one", 0.1), folder_of(tmp_path / "b", "two", 0.2)
    done = finish(stage(one, two, trials=4, output=tmp_path / "both"))
    assert done.trials == 4 and done.comparison.shared == COUNT
    assert {path.name for path in done.folder.iterdir()} == {PAGE, LISTEN, KEY_FILE, FACTS}
    page = done.page.read_text(encoding="utf-8")
    assert "one is better in" in page and page.count("<audio") == 12
    again = finish(stage(one, two, trials=4, output=tmp_path / "both"))  # its own folder may be written over
    assert again.folder == done.folder
    with pytest.raises(ConfigError, match="the same evaluation"):
        finish(stage(one, one))
    assert LISTEN in page
    other = folder_of(tmp_path / "c", "three", 0.2)
    deaf = evaluation("four", {"cer": spread(0.2)}, count=COUNT)
    replace(deaf, items=tuple(replace(item, text=f"x{item.id}") for item in deaf.items)).save(tmp_path / "d")
    alone = finish(stage(other, tmp_path / "d", output=tmp_path / "alone"))
    assert alone.trials == 0 and LISTEN not in alone.page.read_text(encoding="utf-8") and not alone.listen.exists()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    with pytest.raises(ValueError, match="is no comparison"):
        finish(stage(one, two, output=tmp_path / "full"))


def test_the_page_has_plain_facts_and_the_recording_beside_the_two(tmp_path: Path) -> None:
    ws = Workspace.create(tmp_path / "ws", language="swa")
    one, two = folder_of(ws.evaluations / "a", "one", 0.1), folder_of(ws.evaluations / "b", "two", 0.2)
    first = evaluation("one", {"cer": spread(0.1)}, count=COUNT).items[0]
    io.write(tmp_path / "sounds" / "x.wav", voice(0.3, hertz=90))
    clip = Clip(id=first.id, audio="s1/x.wav", seconds=0.3, rate=16000, text=first.text, language="swa")
    sources = [Source(name="s1", root=str(tmp_path / "sounds"), layout="folder")]
    Corpus.save(ws, [clip], sources, {clip.id: "test"})
    page = finish(stage(one, two, trials=4, output=tmp_path / "both")).page.read_text(encoding="utf-8")
    assert page.count("<h4>Recording</h4>") == 1 and page.count("<audio") == 13
    facts = page.partition("<h2>Facts</h2>")[2]
    assert "fingerprint" not in facts and "{" not in facts.partition("</table>")[0] and "name:" not in facts
    assert '<th scope="row">language</th><td>swa</td><td>swa</td>' in facts


def test_one_voice_with_two_noises_has_two_names(tmp_path: Path) -> None:
    base = evaluation("amharic vits-001 step 10", {"cer": spread(0.1)}, count=COUNT)
    for folder, noise in (("a", 0.4), ("b", 0.667), ("c", 0.667), ("x/b", 0.667)):
        replace(base, subject=replace(base.subject, noise=noise)).save(tmp_path / folder)
    for other, marks in (
        ("b", ("noise 0.4", "noise 0.667")),
        ("c", ("b", "c")),
        ("x/b", ("first", "second")),
    ):
        done = finish(stage(tmp_path / ("a" if other == "b" else "b"), tmp_path / other, output=tmp_path / "both"))
        names = [f"amharic vits-001 step 10 ({mark})" for mark in marks]
        assert [done.comparison.first.subject.name, done.comparison.second.subject.name] == names
        facts = json.loads((done.folder / FACTS).read_text(encoding="utf-8"))
        assert [facts["first"]["name"], facts["second"]["name"]] == names
        page = done.page.read_text(encoding="utf-8")
        assert f"<title>{names[0]} and {names[1]}</title>" in page and all(f">{name}</th>" in page for name in names)


def test_two_that_miss_a_target_by_as_much_are_apart_and_neither_is_better() -> None:
    off = [0.01 * (n % 5) for n in range(COUNT)]
    one = evaluation("one", {"duration_ratio": [0.9 + x for x in off]}, count=COUNT)
    two = evaluation("two", {"duration_ratio": [1.06 + x for x in off]}, count=COUNT)
    (found,) = compare(one, two).differences
    assert found.low is not None and found.low > 0 and found.better == "even"


def test_rates_are_over_all_letters_or_words_and_medians_stay_medians() -> None:
    rare = [0.0 if n else 1.0 for n in range(COUNT)]
    names = ("cer", "wer", "second_cer", "hard_failures")
    one = evaluation("one", {name: [0.0] * COUNT for name in names}, count=COUNT)
    two = evaluation("two", dict.fromkeys(names, rare), count=COUNT)
    long = tuple(replace(item, expected="neno " * (100 if item.id == "s0" else 1)) for item in one.items)
    by = {found.name: found.difference for found in compare(replace(one, items=long), two).differences}
    assert by["cer"] == by["second_cer"] == by["wer"] == pytest.approx(100 / (COUNT + 99))
    assert by["hard_failures"] == pytest.approx(1 / COUNT)
    ratios = [figure("duration_ratio", [1.0] * (COUNT - 1) + [last], unit="", instrument="", trust="high", reason="",
                     middle="median") for last in (1.0, 9.0)]  # fmt: skip
    pair = [replace(one, figures={"in": (ratio,)}) for ratio in ratios]
    assert compare(*pair).differences[0].difference == 0.0


def test_choices_without_their_key_say_where_it_lies(tmp_path: Path) -> None:
    made = blind()
    path = chosen(tmp_path / "a.json", made, "first")
    (place,) = tmp_path.glob(f"*/{KEY_FILE}")
    (tmp_path / "elsewhere").mkdir()
    path = path.rename(tmp_path / "elsewhere" / "a.json")
    with pytest.raises(ConfigError, match="name it with --key"):
        count([path])
    assert count([path], key=place).preference.first == count([path], key=place.parent).preference.first == 8
    with pytest.raises(ConfigError, match=r"--key .* is not there"):
        count([path], key=tmp_path / "none.json")


def test_one_file_is_counted_once_and_a_key_that_is_damaged_is_refused(tmp_path: Path) -> None:
    path = chosen(tmp_path / "a.json", blind(), "first")
    with pytest.raises(ConfigError, match="one file twice"):
        count([path, path])
    row = json.loads(path.read_text(encoding="utf-8"))
    for key in ({"first": "x", "swapped": {}}, {"first": "x", "second": "y", "swapped": ["s0"]}):
        row |= {"key": base64.b64encode(json.dumps(key).encode()).decode(), "choices": {}}
        path.write_text(json.dumps(row), encoding="utf-8")
        with pytest.raises(ConfigError, match="holds no choices"):
            count([path])

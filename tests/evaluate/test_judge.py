"""Judging made sentences: every group, what is missing, gates, and the page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from olu.core.errors import ConfigError, MissingExtra, WorkspaceError
from olu.core.job import finish
from olu.core.types import Audio
from olu.evaluate.estimates import figure
from olu.evaluate.evaluation import (
    CheckpointMeans,
    Evaluation,
    Missing,
    References,
    SentenceResult,
    Subject,
    load,
    spread_evenly,
)
from olu.evaluate.judge import INSTALL, Judged, chosen, judge
from olu.evaluate.metrics.f0 import PitchError
from olu.evaluate.report import ShownSounds, render, worst_first
from olu.evaluate.words import gates, verdict_of
from olu.pages.charts import PitchCurve

from ..helpers.judged import Ears, evaluation, take, voice

FAST = ("cer", "sanity")
LITTLE = ("cer", "collusion", "whisper", "sanity", "tones")
TEXTS = ["habari za leo", "mama anapika wali", "mvua inanyesha mjini"]


def judged(spoken: list[Audio], ears: Ears | None, *, only: tuple[str, ...] = FAST) -> Judged:
    takes = [take(f"c{n}", TEXTS[n], sound, voice(seed=n + 10)) for n, sound in enumerate(spoken)]
    return finish(judge(takes, References(language="swa", hears=ears), only=only))


def hears_all(audio: Audio) -> str:
    return TEXTS[0]


def figures(found: Judged) -> dict[str, float | None]:
    return {one.name: one.mean for one in found.figures["in"]}


def test_what_is_heard_right_has_no_errors_and_what_is_not_fails() -> None:
    takes = [take("a", TEXTS[0], voice(), voice(seed=1)), take("b", TEXTS[1], voice(2.0), voice(seed=2))]
    known = References(language="swa", hears=Ears(hears_all))
    found = finish(judge(takes, known, only=["cer"]))
    values = {one.name: one for one in found.figures["in"]}
    assert values["cer"].values[0] == 0.0 and values["cer"].values[1] > 0.5
    assert values["hard_failures"].mean == 0.5
    assert values["cer"].instrument == "ears-001, made for a test"
    heard = found.results["cer"][1]
    assert heard.expected == TEXTS[1] and heard.spoken == TEXTS[0]  # type: ignore[attr-defined]


def test_silence_is_a_fault_of_its_own_file_only() -> None:
    quiet = Audio(np.zeros(RATE_SAMPLES, np.float32), 16000)
    found = judged([voice(), quiet, voice(seed=3)], None, only=("sanity",))
    assert figures(found)["fault_silent"] == pytest.approx(1 / 3)
    assert found.results["sanity"][1][0].faults[0] == "silent"  # type: ignore[index]


RATE_SAMPLES = 24000


def test_without_a_recogniser_the_rest_goes_on_and_the_command_is_named() -> None:
    found = judged([voice(), voice(seed=1), voice(seed=2)], None)
    assert "cer" not in figures(found) and "faults" in figures(found)
    (missing,) = found.missing
    assert missing.metric == "cer" and "--corpus" in missing.command


def test_a_network_that_is_not_installed_costs_its_own_metric_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(audio: Audio) -> None:
        raise MissingExtra("olu evaluate", package="speechmos", install=INSTALL)

    monkeypatch.setattr("olu.evaluate.metrics.dnsmos.opinion", absent)
    found = judged([voice(), voice(seed=1), voice(seed=2)], None, only=("dnsmos", "sanity"))
    assert "faults" in figures(found) and not any(name.startswith("dnsmos") for name in figures(found))
    assert found.missing == (
        Missing(metric="dnsmos", why="olu evaluate needs the package 'speechmos'", command=INSTALL),
    )


def test_a_figure_that_no_sentence_gave_is_missing_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = PitchError(None, None, None, None, voicing=0.75)
    monkeypatch.setattr("olu.evaluate.metric_groups.f0.compare", lambda pair: nothing)
    found = judged([voice(), voice(seed=1), voice(seed=2)], None, only=("f0", "duration"))
    assert figures(found)["f0_error"] is None and figures(found)["voicing_error"] == 0.75
    (missing,) = found.missing
    assert missing.metric == "f0" and "pitch in common" in missing.why


def test_groups_that_are_not_for_a_language_are_not_missed() -> None:
    found = judged([voice(), voice(seed=1), voice(seed=2)], Ears(hears_all), only=LITTLE)
    assert not {"tones", "whisper", "collusion"} & {one.metric for one in found.missing}


def test_english_is_also_heard_by_whisper_with_both_texts_made_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("olu.evaluate.metrics.whisper.transcribe", lambda audio: "Good Morning, world!")
    monkeypatch.setattr("olu.evaluate.metrics.whisper.instrument", lambda: "Whisper of this test")
    takes = [take("a", "Good morning, world.", voice(), voice(seed=1)), take("b", "Something else", voice(), voice())]
    found = finish(judge(takes, References(language="eng"), only=["whisper"]))
    by = {one.name: one for one in found.figures["in"]}
    assert by["whisper_cer"].values[0] == 0.0 and by["whisper_cer"].values[1] > 0.5  # type: ignore[operator]
    assert by["whisper_cer"].instrument == "Whisper of this test"


def test_a_second_recogniser_stands_beside_the_first() -> None:
    takes = [take("a", TEXTS[0], voice(), voice(seed=1)), take("b", TEXTS[0], voice(), voice())]
    known = References(hears=Ears(hears_all), second=Ears(lambda audio: ""))
    found = finish(judge(takes, known, only=["cer", "collusion"]))
    by = {one.name: one.mean for one in found.figures["in"]}
    assert by["cer"] == 0.0 and by["second_cer"] == 1.0


def test_an_unknown_metric_is_refused() -> None:
    with pytest.raises(ConfigError, match="no metric 'cerr'; there are: cer"):
        chosen(["cerr"])
    assert [group.name for group in chosen(["mcd", "cer"])] == ["cer", "mcd"]


def test_sentences_from_elsewhere_stand_beside_those_of_the_corpus() -> None:
    takes = [take("a", TEXTS[0], voice(), voice()), take("b", TEXTS[1], voice(), domain="out")]
    found = finish(judge(takes, References(hears=Ears(hears_all)), only=["cer"]))
    by = {domain: {one.name: one for one in held} for domain, held in found.figures.items()}
    assert by["in"]["cer"].mean == 0.0 and by["out"]["cer"].mean > 0.5  # type: ignore[operator]
    assert by["in"]["cer"].natural == 0.0 and by["out"]["cer"].natural is None


# ------------------------------------------------------------ gates


def held(name: str, mean: float, *, trust: str = "high", natural: float | None = None) -> object:
    made = figure(name, [mean] * 40, unit="share", instrument="", trust="high", reason="", natural=natural)
    return replace(made, trust=trust, reason="the recogniser errs")


@pytest.mark.parametrize(
    ("difference", "level"), [(0.0, "pass"), (0.03, "pass"), (0.05, "warn"), (0.08, "warn"), (0.2, "fail")]
)
def test_the_gate_of_understanding(difference: float, level: str) -> None:
    assert verdict_of(gates([held("cer_difference", difference)]))[0] == level  # type: ignore[list-item]


def test_a_recogniser_that_is_not_trusted_decides_nothing() -> None:
    (gate,) = gates([held("cer_difference", 0.3, trust="low")])  # type: ignore[list-item]
    assert gate.level == "unknown" and "not trustworthy: the recogniser errs" in gate.said
    level, said = verdict_of([gate])
    assert level == "unknown" and "Too little" in said[0]


def test_an_interval_that_fails_as_a_whole_fails_however_wide_it_is() -> None:
    rates = [0.5, 0.9] * 10
    wide = [held("cer_difference", 0.7, trust="low"), held("cer", 0.75, trust="low", natural=0.05)]
    wide[0] = replace(
        figure("cer_difference", rates, unit="share", instrument="", trust="high", reason=""), trust="low"
    )  # type: ignore[call-overload]
    assert verdict_of(gates(wide))[0] == "fail"  # type: ignore[arg-type]
    deaf = [wide[0], held("cer", 0.75, trust="low", natural=0.4)]
    assert verdict_of(gates(deaf))[0] == "unknown"  # type: ignore[arg-type]


def test_without_knowing_whether_it_is_understood_no_voice_passes() -> None:
    level, said = verdict_of(gates([held("faults", 0.0)]))  # type: ignore[list-item]
    assert level == "unknown" and said[1] == "Whether it can be understood was not measured."
    level, said = verdict_of(gates([held("faults", 0.03)]))  # type: ignore[list-item]
    assert level == "unknown" and said[1].startswith("Whether") and "Faulty files: 3.0 %" in said[2], (
        "a voice nobody has heard cannot be said to be of use"
    )
    assert verdict_of(gates([held("faults", 0.5)]))[0] == "fail"  # type: ignore[list-item]
    assert verdict_of(gates([held("faults", 0.5, natural=0.5)]))[0] == "unknown"  # type: ignore[list-item]
    both = gates([held("faults", 0.0), held("cer_difference", 0.0)])  # type: ignore[list-item]
    assert verdict_of(both)[0] == "pass"
    assert verdict_of([])[0] == "unknown"


# ------------------------------------------------------------ the file and the page


def made() -> Evaluation:
    base = evaluation("my voice", {"cer": [0.0, 0.9, 0.1], "mcd": [4.0, 5.0, 9.0]}, count=3)
    items = tuple(
        replace(item, heard="senten", expected="sentence", faults=("loop: the same again",) if n == 2 else ())
        for n, item in enumerate(base.items)
    )
    other = SentenceResult(id="o1", text="elsewhere", domain="out", wav="wavs/o1.wav", seconds=1.0)
    curve = tuple(CheckpointMeans(step=step, means={"cer": 1 / step}) for step in (10, 20, 30))
    missing = (Missing(metric="dnsmos", why="needs speechmos", command=INSTALL),)
    return replace(base, items=(*items, other), curve=curve, missing=missing, facts={"seed": 0})


def test_pictures_and_melodies_of_a_sentence_have_one_scale_of_time() -> None:
    short, long = voice(1.2), voice(2.4)

    def flat(seconds: float) -> PitchCurve:
        return PitchCurve(np.linspace(0, seconds, 25), np.full(25, 120.0))

    sounds = ShownSounds(spoken=short, natural=long, melody=flat(1.2), natural_melody=flat(2.4))
    page = render(made(), hear=lambda item: sounds)
    wide = re.findall(r'alt="Mel spectrogram of the (\w+)" style="width:([\d.]+)%"', page)
    assert wide[:2] == [("recording", "100.0"), ("voice", "50.0")]
    drawn = re.findall(r'points="([^"]+)', page.partition('class="melody"')[2])
    ends = [float(points.split()[-1].split(",")[0]) for points in drawn]
    assert ends[:2] == [900.0, 450.0], "of a width of 900, as the pictures above them"


def test_an_evaluation_comes_back_from_its_file(tmp_path: Path) -> None:
    one = made()
    one.save(tmp_path)
    assert load(tmp_path).row() == one.row()
    with pytest.raises(WorkspaceError, match="is not an evaluation"):
        load(tmp_path / "no")
    (tmp_path / "evaluation.json").write_text('{"schema": 99}', encoding="utf-8")
    with pytest.raises(WorkspaceError, match="schema 99"):
        load(tmp_path)
    row = one.row()
    for wrong in ({"schema": 1}, [], {**row, "gates": 3}, {**row, "items": [{"id": "s0"}]}, {**row, "figures": [3]}):
        (tmp_path / "evaluation.json").write_text(json.dumps(wrong), encoding="utf-8")
        with pytest.raises(WorkspaceError, match=r"^[^\n]*is damaged[^\n]*$"):
            load(tmp_path)


def test_the_page_has_the_worst_first_and_loads_nothing() -> None:
    one = made()
    assert [item.id for item in worst_first(one)] == ["s2", "s1", "s0", "o1"]
    page = render(one, hear=lambda item: ShownSounds(voice(), voice(seed=1)) if item.domain == "in" else None)
    assert page.index("loop: the same again") < page.index('id="s1"') < page.index('id="s0"')
    assert "<b>0</b>" not in page and "sentence &lt;b&gt;0&lt;/b&gt; &amp; more" in page
    assert page.count("<audio") == 6 and "http://" not in page and "https://" not in page
    assert "default-src 'none'" in page and INSTALL in page and "Over the checkpoints" in page
    assert "1 more, without players" in page and "senten<mark>|</mark>" in page


def test_the_page_says_which_noise_was_spoken_with_and_what_copies_are() -> None:
    made = evaluation("v", {"dnsmos": [3.0] * 12, "copy_dnsmos": [2.5] * 12}, count=12)
    page = render(made, hear=lambda item: None)
    assert "ceiling" not in page and "the voice comes to 120 % of that" in page and "noise" not in page
    usual = replace(made, subject=replace(made.subject, noise=0.667, usual_noise=0.667))
    assert "· noise 0.667 ·" in render(usual, hear=lambda item: None)
    low = replace(made, subject=replace(made.subject, noise=0.4, usual_noise=0.667))
    assert "· noise 0.4 instead of 0.667 ·" in render(low, hear=lambda item: None)
    assert low.row()["noise"] == 0.4


def test_a_page_with_nothing_to_hear_still_has_its_figures() -> None:
    empty = replace(made(), figures={}, gates=(), curve=())
    page = render(empty, hear=lambda item: None)
    assert "Nothing could be measured" in page and "4 more, without players" in page


def test_choosing_evenly_takes_from_the_whole_list() -> None:
    assert spread_evenly(list("abcdefghij"), 3) == ["a", "e", "j"]
    assert spread_evenly(list("ab"), 5) == ["a", "b"] and spread_evenly(list("abc"), 1) == ["a"]


def test_a_subject_names_its_run() -> None:
    row = made().row()
    assert row["run"] == "vits-001" and row["step"] == 9 and row["figures"][0]["name"] == "cer"
    assert Subject(**row["subject"]).language == "swa"


def test_a_second_recogniser_that_could_not_be_trained_is_missed() -> None:
    known = References(hears=Ears(hears_all), absent={"collusion": ("no second recogniser: too little speech", "")})
    takes = [take("a", TEXTS[0], voice(), voice(seed=1))]
    found = finish(judge(takes, known, only=["cer", "collusion"]))
    assert [one.metric for one in found.missing] == ["collusion"] and "cer" in figures(found)


def test_a_recogniser_is_never_given_what_is_no_number() -> None:
    broken = voice().samples.copy()
    broken[100:200] = np.nan

    def hears(audio: Audio) -> str:
        assert np.isfinite(audio.samples).all()
        return TEXTS[0]

    takes = [take("a", TEXTS[0], Audio(broken, 16000), voice(seed=1))]
    found = finish(judge(takes, References(hears=Ears(hears)), only=["cer", "sanity"]))
    assert figures(found)["fault_nan"] == 1.0 and figures(found)["cer"] == 0.0


def test_whisper_has_its_own_caveat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("olu.evaluate.metrics.whisper.transcribe", lambda audio: "Good morning")
    monkeypatch.setattr("olu.evaluate.metrics.whisper.instrument", lambda: "Whisper of this test")
    takes = [take(f"c{n}", "Good morning", voice(), voice()) for n in range(40)]
    found = finish(judge(takes, References(language="eng"), only=["whisper"]))
    (one,) = (one for one in found.figures["in"] if one.name == "whisper_cer")
    assert one.trust == "high" and "Whisper guesses" in one.reason and "this speaker" not in one.reason


def test_distortions_of_several_rates_name_all_their_settings() -> None:
    low = Audio(voice(seed=1).samples, 16000)
    high = [Audio(one.samples, 24000) for one in (voice(), low)]
    takes = [take("a", TEXTS[0], voice(), low), take("b", TEXTS[1], *high)]
    found = finish(judge(takes, References(), only=["mcd"]))
    assert "16000 Hz" in found.figures["in"][0].instrument and "24000 Hz" in found.figures["in"][0].instrument

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from olu.audit.check import Finding, Heard
from olu.audit.checks import CHECKS
from olu.audit.sound import Facts
from olu.audit.thresholds import ORDER, Thresholds
from olu.config import check
from olu.errors import ConfigError
from olu.types import Clip

GOOD = Facts(
    seconds=5.0,
    peak=0.5,
    rms_dbfs=-20.0,
    clipped=0.0,
    leading=0.1,
    trailing=0.1,
    pause=0.3,
    speech=0.9,
    pcm="good",
)
TEXT = "Nnọọ, kedụ ka ị mere taa na ụlọ akwụkwọ ahụ? "  # 34 letters


def heard(id: str = "one", *, text: str = TEXT, trouble: str = "", speaker: str = "default", **facts: Any) -> Heard:
    found = replace(GOOD, **{"pcm": id, **facts})
    announced = facts.get("seconds", GOOD.seconds)
    clip = Clip(id=id, audio=f"s/{id}.wav", seconds=announced, rate=16000, text=text, language="ibo", speaker=speaker)
    return Heard(clip=clip, facts=None if trouble else found, trouble=trouble)


def look(name: str, clips: list[Heard], **limits: Any) -> dict[str, Finding]:
    found = next(c for c in CHECKS if c.name == name).look(clips, Thresholds(**limits))
    return {finding.id: finding for finding in found}


def severity(name: str, one: Heard, **limits: Any) -> str | None:
    found = look(name, [one], **limits)
    return found[one.clip.id].mark.severity if found else None


def crowd(count: int = 40) -> list[Heard]:
    """Clips of one speaker whose rates spread a little."""
    return [heard(f"c{n}", text=TEXT + f"{'a' * (n % 8)} {chr(97 + n // 26)}{chr(97 + n % 26)}") for n in range(count)]


def test_a_good_clip_has_no_mark():
    for one in CHECKS:
        assert not list(one.look([heard()], Thresholds())), one.name


@pytest.mark.parametrize(
    ("name", "facts", "expected"),
    [
        ("duration", {"seconds": 0.39}, "error"),
        ("duration", {"seconds": 0.9}, "warn"),
        ("duration", {"seconds": 20.0}, None),
        ("duration", {"seconds": 20.1}, "warn"),
        ("duration", {"seconds": 30.1}, "error"),
        ("silence", {"speech": 0.0}, "error"),
        ("silence", {"speech": 0.1}, "error"),
        ("silence", {"speech": 0.3}, "warn"),
        ("silence", {"pause": 1.4}, None),
        ("silence", {"pause": 1.6}, "warn"),
        ("silence", {"pause": 4.1}, "error"),
        ("edges", {"leading": 0.5}, None),
        ("edges", {"leading": 0.6}, "warn"),
        ("edges", {"trailing": 0.6}, "warn"),
        ("clipping", {"clipped": 0.00005}, "info"),
        ("clipping", {"clipped": 0.0002}, "warn"),
        ("clipping", {"clipped": 0.002}, "error"),
        ("text", {"text": "… 12 !"}, "error"),
        ("text", {"text": "bia\tebe\na"}, "info"),
        ("unreadable", {"trouble": "x.wav breaks off"}, "error"),
        ("rate", {"text": "a" * 250}, "error"),
        ("rate", {"text": "abc"}, "error"),
        ("rate", {"text": "abc 1984"}, None),
    ],
)
def test_verdicts(name: str, facts: dict[str, Any], expected: str | None):
    assert severity(name, heard(**facts)) == expected


def test_length_other_than_announced():
    one = heard()
    short = replace(one, facts=replace(GOOD, seconds=4.94))
    assert severity("unreadable", short) == "error"
    assert severity("unreadable", replace(one, facts=replace(GOOD, seconds=4.96))) is None


def test_rate_outliers_are_found_and_ordinary_clips_are_not():
    clips = [
        *crowd(),
        heard("wordy", text=TEXT * 3),
        heard("quick", text=TEXT + "a" * 24),
        heard("bare", text=TEXT[:19]),
    ]
    found = look("rate", clips)
    assert {id: f.mark.severity for id, f in found.items()} == {"wordy": "error", "quick": "warn", "bare": "error"}
    assert "too fast" in found["wordy"].mark.message
    assert "too slow" in found["bare"].mark.message
    assert found["wordy"].badness > found["quick"].badness


def test_rate_is_judged_against_the_same_speaker():
    slow = [replace(one, clip=replace(one.clip, speaker="elder", id=f"e{one.clip.id}")) for one in crowd()]
    slow = [replace(one, facts=replace(GOOD, seconds=12.0)) for one in slow]
    assert not look("rate", crowd() + slow)


def test_corpora_of_one_rate_are_not_all_outliers():
    even = [heard(f"c{n}", text="a" * 50) for n in range(40)]
    assert not look("rate", [*even, heard("near", text="a" * 55)])
    assert look("rate", [*even, heard("far", text="a" * 80)]).keys() == {"far"}


def test_copies_of_a_sound_name_the_first():
    found = look(
        "duplicate_audio", [heard("a", pcm="x"), heard("b", pcm="y"), heard("c", pcm="x"), heard("d", pcm="x")]
    )
    assert {id: (f.mark.severity, f.mark.message) for id, f in found.items()} == {
        "c": ("error", "the same sound as a"),
        "d": ("error", "the same sound as a"),
    }


def test_copies_of_a_text_are_seen_through_case_spaces_and_encoding():
    clips = [heard("a", text="Ọ bụ  m"), heard("b", text=" ọ bụ\nm "), heard("c", text="Ọ bụ m."), heard("d", text="")]
    found = look("duplicate_text", [*clips, heard("e", text=""), heard("f", text="Ọ bụ m", speaker="other")])
    assert {id: (f.mark.severity, f.mark.message) for id, f in found.items()} == {"b": ("warn", "the same text as a")}


def odd_ones() -> list[Heard]:
    """Clips at which every threshold, moved, gives another verdict."""
    return [
        *crowd(),
        heard("wordy", text=TEXT * 3),
        heard("quick", text=TEXT + "a" * 24),
        heard("short", seconds=0.5),
        heard("tiny", seconds=0.3),
        heard("long", seconds=25.0),
        heard("endless", seconds=35.0),
        heard("edge", leading=0.7),
        heard("pause", pause=2.0),
        heard("gap", pause=5.0),
        heard("thin", speech=0.3),
        heard("empty", speech=0.1),
        heard("flat", clipped=0.00005),
        heard("harsh", clipped=0.0005),
        heard("broken", clipped=0.005),
        replace(heard("cut"), facts=replace(GOOD, seconds=4.9)),
        heard("mute", text="..."),
        heard("again", text=TEXT),
        heard("racing", text="a" * 300, speaker="other"),
        heard("crawling", text="abc"),
    ]


MOVED = {
    "duration_error_under": 0.2,
    "duration_warn_under": 0.45,
    "duration_warn_over": 27.0,
    "duration_error_over": 40.0,
    "rate_warn_iqr": 2.9,
    "rate_error_iqr": 30.0,
    "rate_least_iqr": 5.0,
    "rate_least_clips": 500,
    "rate_least_letters": 50,
    "rate_error_under": 0.1,
    "rate_error_over": 90.0,
    "edge_warn": 1.0,
    "pause_warn": 3.0,
    "pause_error": 6.0,
    "speech_warn": 0.2,
    "speech_error": 0.05,
    "clipped_info": 0.0001,
    "clipped_warn": 0.0008,
    "clipped_error": 0.01,
    "length_differs": 0.05,
    "letters_least": 0,
    "text_copies": 2,
}


@pytest.mark.parametrize("field", list(Thresholds.model_fields))
def test_every_threshold_changes_a_verdict(field: str):
    def verdicts(limits: Thresholds) -> list[tuple[str, str, str]]:
        return [(f.id, f.mark.check, f.mark.severity) for c in CHECKS for f in c.look(odd_ones(), limits)]

    assert verdicts(Thresholds()) != verdicts(Thresholds(**{field: MOVED[field]}))


@pytest.mark.parametrize(("low", "high"), ORDER)
def test_crossed_thresholds_are_refused(low: str, high: str):
    with pytest.raises(ConfigError, match=f"{low} must not be above {high}"):
        check(Thresholds, {low: getattr(Thresholds(), high) * 1.01 if high != "speech_warn" else 0.9}, where="test")


def test_checks_have_names_of_their_own_and_words_for_people():
    assert len({c.name for c in CHECKS}) == len(CHECKS)
    for one in CHECKS:
        assert one.title and one.reason.endswith(".") and one.fix.endswith(".")
        assert one.rule(Thresholds()).endswith(".")

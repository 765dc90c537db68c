from __future__ import annotations

import unicodedata
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from olu.align.text_match import Match
from olu.audit import coverage
from olu.audit.check import Finding, MeasuredClip
from olu.audit.checks import CHECKS, repeats
from olu.audit.fix import plan
from olu.audit.sound import SoundFacts
from olu.audit.summary import DefaultTraining, longest, verdict, wanted
from olu.audit.thresholds import ORDER, Thresholds
from olu.core.config import check
from olu.core.errors import ConfigError
from olu.core.types import Clip, Span, Split
from olu.networks.models import Deep

GOOD = SoundFacts(
    seconds=5.0,
    peak=0.5,
    rms_dbfs=-20.0,
    clipped=0.0,
    leading=0.1,
    trailing=0.1,
    pause=0.3,
    speech=0.9,
    pcm="good",
    rate=16000,
    speech_dbfs=-20.0,
    noise_dbfs=-60.0,
    pauseless=False,
    offset=0.0,
    hum_dbfs=-120.0,
    bandwidth=8000.0,
    prints=(),
    core=4.8,
)
TEXT = "Nnọọ, kedụ ka ị mere taa na ụlọ akwụkwọ ahụ? "  # 34 letters


DEEP = Deep(voiced=0.8, snr=30.0, quality=3.0, voice=())


def heard(
    id: str = "one",
    *,
    text: str = TEXT,
    trouble: str = "",
    speaker: str = "default",
    split: Split = "train",
    deep: dict[str, Any] | None = None,
    **facts: Any,
) -> MeasuredClip:
    found = replace(GOOD, **{"pcm": id, "core": facts.get("seconds", GOOD.seconds) - 0.2, **facts})
    announced = facts.get("seconds", GOOD.seconds)
    clip = Clip(id=id, audio=f"s/{id}.wav", seconds=announced, rate=16000, text=text, language="ibo", speaker=speaker)
    told = replace(DEEP, **deep) if deep is not None else None
    return MeasuredClip(clip=clip, facts=None if trouble else found, trouble=trouble, split=split, deep=told)


def look(name: str, clips: list[MeasuredClip], **limits: Any) -> dict[str, Finding]:
    found = next(c for c in CHECKS if c.name == name).look(clips, Thresholds(**limits))
    return {finding.id: finding for finding in found}


def severity(name: str, one: MeasuredClip, **limits: Any) -> str | None:
    found = look(name, [one], **limits)
    return found[one.clip.id].mark.severity if found else None


def crowd(count: int = 40) -> list[MeasuredClip]:
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
        ("edges", {"leading": 0.6}, "info"),
        ("edges", {"trailing": 0.6}, "info"),
        ("edges", {"trailing": 2.1}, "warn"),
        ("voice", {"deep": {"voiced": 0.04}}, "error"),
        ("voice", {"deep": {"voiced": 0.15}}, "warn"),
        ("voice", {"deep": {"snr": 7.0}}, "warn"),
        ("voice", {"deep": {"snr": None}}, None),
        ("quality", {"deep": {"quality": 2.5}}, "info"),
        ("quality", {"deep": {"quality": 1.2}}, "warn"),
        ("quality", {"deep": {"quality": 1.2}, "rate": 8000}, "info"),
        ("clipping", {"clipped": 0.00005}, "info"),
        ("clipping", {"clipped": 0.0002}, "warn"),
        ("clipping", {"clipped": 0.002}, "error"),
        ("text", {"text": "… 12 !"}, "error"),
        ("text", {"text": "bia\tebe\na"}, "warn"),
        ("text", {"text": "bia\x07 ebe a"}, "warn"),
        ("text", {"text": "b\ufffda ebe a"}, "warn"),
        ("text", {"text": "Nnọọ, kedụ".encode().decode("latin-1")}, "warn"),
        ("text", {"text": "“kedu”".encode().decode("cp1252", "ignore") + " ọ"}, None),
        ("text", {"text": "è buona, señor: 3 < 5 & 7 > 2"}, None),
        ("text", {"text": "می\u200cروم"}, None),
        ("text", {"text": "<i>bia</i> ebe a"}, "warn"),
        ("text", {"text": "bia &amp; ebe a"}, "warn"),
        ("unreadable", {"trouble": "x.wav breaks off"}, "error"),
        ("rate", {"text": "a" * 250}, "error"),
        ("rate", {"text": "abc"}, "error"),
        ("rate", {"text": "abc 1984"}, None),
        ("level", {"speech_dbfs": -41.0}, "warn"),
        ("level", {"speech_dbfs": -9.0}, "warn"),
        ("level", {"speech_dbfs": -120.0, "speech": 0.0}, None),
        ("noise", {"noise_dbfs": -30.0}, "warn"),
        ("noise", {"noise_dbfs": -28.0}, "error"),
        ("noise", {"noise_dbfs": -28.0, "pauseless": True}, "warn"),
        ("noise", {"noise_dbfs": None}, None),
        ("offset", {"offset": -0.02}, "warn"),
        ("hum", {"hum_dbfs": -45.0}, "warn"),
        ("hum", {"hum_dbfs": None}, None),
        ("bandwidth", {"bandwidth": 4000.0}, "error"),
        ("bandwidth", {"bandwidth": 4000.0, "rate": 8000}, None),
        ("bandwidth", {"bandwidth": 8000.0, "rate": 44100}, "info"),
        ("digits", {"text": "abc 1984"}, "info"),
        ("dots", {"text": "o bu ihe oma ka unu bia n'ulo anyi ugbu a obi uto"}, "warn"),
        ("dots", {"text": "o bu ihe oma ka unu bia n'ulo anyi ugbu a obi ụto"}, None),
        ("sound_note", {"text": "[music]"}, "error"),
        ("sound_note", {"text": "(laughs)"}, "error"),
        ("sound_note", {"text": "♪ la la la la la la ♪"}, "error"),
        ("sound_note", {"text": "♪"}, "error"),
        ("sound_note", {"text": "[sees the picture on page ten]"}, "warn"),
        ("sound_note", {"text": "Kedu [music] ka ị mere"}, "warn"),
        ("sound_note", {"text": "(o kwuru ihe a mgbe ọ bịara)"}, None),
        ("frames", {"text": "a" * 155}, None),
        ("frames", {"text": "a" * 157}, "error"),
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
        "a": ("warn", "c is the same sound and is left out: is it the right one of the two?"),
        "c": ("error", "the same sound as a"),
        "d": ("error", "the same sound as a"),
    }


def test_copies_of_a_text_are_seen_through_case_spaces_and_encoding():
    clips = [heard("a", text="Ọ bụ  m"), heard("b", text=" ọ bụ\nm "), heard("c", text="Ọ bụ m."), heard("d", text="")]
    found = look("duplicate_text", [*clips, heard("e", text=""), heard("f", text="Ọ bụ m", speaker="other")])
    assert {id: (f.mark.severity, f.mark.message) for id, f in found.items()} == {"b": ("warn", "the same text as a")}


def test_foreign_letters_are_judged_against_the_corpus():
    clips = [*crowd(), heard("all", text="привет всем"), heard("half", text="bịa приве"), heard("one", text=TEXT + "ж")]
    found = {id: f.mark.severity for id, f in look("script", clips).items()}
    assert found == {"all": "error", "half": "error", "one": "info"}
    assert look("script", clips, script_error=0.9)["half"].mark.severity == "warn"
    mixed = [heard("a", text="привет всем"), heard("b", text="hello all")]
    assert not look("script", mixed)  # a corpus of two scripts has no foreign one


WORDS = (
    "bịa",
    "anyị",
    "ka ọ bụrụ",
    "ihe ọma",
    "n'ụlọ akwụkwọ",
    "nke",
    "ụmụ nwoke",
    "na nwanyị",
    "ebe ahụ",
    "taa",
    "mmiri",
)


def sentences(count: int = 80) -> list[MeasuredClip]:
    random = np.random.default_rng(2)
    return [heard(f"s{n}", text=" ".join(random.choice(WORDS, 9)), speaker="reader") for n in range(count)]


def test_another_language_in_the_same_letters_is_found():
    clips = [*sentences(), heard("english", text="the minister said that the road would be closed")]
    found = {id: f.mark.severity for id, f in look("other_language", clips).items()}
    assert found == {"english": "error"}
    assert not look("other_language", clips[-30:])  # too few to know the language by


def test_forms_are_judged_only_where_they_are_mixed():
    apart = heard("apart", text=unicodedata.normalize("NFD", TEXT))
    assert look("normal_form", [heard(), apart]).keys() == {"apart"}
    assert not look("normal_form", [apart, heard("plain", text="bia ebe a")]), "half of the corpus is a habit"
    plain = [heard(f"plain{n}", text="bia ebe a") for n in range(5)]
    assert look("normal_form", [apart, *plain]).keys() == {"apart"}
    aparts = [replace(apart, clip=replace(apart.clip, id=f"apart{n}")) for n in range(5)]
    assert look("normal_form", [heard(), *aparts]).keys() == {heard().clip.id}, "the rare form is marked"


def test_loudness_is_compared_with_the_same_speaker():
    quiet = [heard(f"q{n}", speech_dbfs=-35.0, speaker="elder") for n in range(5)]
    clips = [*(heard(f"c{n}") for n in range(5)), *quiet]
    assert not look("level", clips)
    assert look("level", [*clips, heard("far", speech_dbfs=-31.0)])["far"].mark.severity == "info"


def test_a_dropped_copy_is_not_the_one_to_keep():
    found = look("duplicate_audio", [replace(heard("a", pcm="x"), dropped=True), heard("b", pcm="x")])
    assert {id: one.mark.severity for id, one in found.items()} == {"a": "error", "b": "warn"}


def prints(seed: int, *, wrong: int = 0) -> tuple[bytes, ...]:
    bits = np.random.default_rng(seed).integers(0, 2, 1024).astype(np.uint8)
    bits[np.random.default_rng(1000 + seed).permutation(1024)[:wrong]] ^= 1
    return (np.packbits(bits).tobytes(),) * 2


@pytest.mark.parametrize(("most", "wrong"), [(repeats.MOST_PAIRS, 280), (0, 100)])
def test_near_copies_are_found_by_comparing_all_and_in_large_corpora_by_keys(
    most: int, wrong: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(repeats, "MOST_PAIRS", most)
    copies = [heard(f"copy{n}", prints=prints(n, wrong=wrong), seconds=5.05) for n in range(0, 200, 10)]
    found = look("near_duplicate", [*(heard(f"c{n}", prints=prints(n)) for n in range(200)), *copies])
    marked = {id for id, one in found.items() if one.mark.severity == "error"}
    assert marked == {one.clip.id for one in copies}


def test_near_copies_are_found_among_strangers_and_exact_ones_left_to_the_other_check():
    clips = [heard(f"c{n}", prints=prints(n)) for n in range(300)]
    clips += [heard("near", prints=prints(7, wrong=150), seconds=5.05)]
    clips += [heard("longer", prints=prints(7, wrong=150), seconds=6.0), heard("same", prints=prints(9), pcm="c9")]
    found = look("near_duplicate", clips)
    assert {id: one.mark.severity for id, one in found.items()} == {"near": "error", "c7": "warn"}
    assert "almost the same sound as c7" in found["near"].mark.message


def list_of_rows(count: int = 60) -> list[MeasuredClip]:
    """Texts of many lengths, each spoken at nearly one rate."""
    random = np.random.default_rng(3)
    letters = random.integers(15, 150, count)
    rows = []
    for place, number in enumerate(letters):
        seconds = 0.2 + float(number) / 12 * float(np.exp(random.normal(0, 0.1)))
        rows.append(heard(f"r{place}", text="a" * int(number), seconds=seconds))
    return rows


def shift(rows: list[MeasuredClip], first: int, size: int) -> list[MeasuredClip]:
    texts = [one.clip.text for one in rows]
    texts[first : first + size] = [*texts[first + 1 : first + size], texts[first]]
    return [replace(one, clip=replace(one.clip, text=text)) for one, text in zip(rows, texts, strict=True)]


def test_a_shifted_block_is_one_finding_with_its_size():
    rows = list_of_rows()
    assert not look("shifted", rows)
    found = look("shifted", shift(rows, 20, 20))
    places = sorted(int(id[1:]) for id in found)
    assert 18 <= places[0] <= 22 and 37 <= places[-1] <= 41
    assert places == list(range(places[0], places[-1] + 1))
    first = found[f"r{places[0]}"].mark
    assert first.message.startswith(f"a block of {len(places)} clips from here on fits the text of the previous clip")
    assert sum("from here on" in f.mark.message for f in found.values()) == 1
    assert {f.mark.severity for f in found.values()} == {"error"}


def voices(people: dict[str, int]) -> list[MeasuredClip]:
    """Clips of several people, all under one name, and one clip that is nobody's."""
    random = np.random.default_rng(4)
    clips = []
    for person, count in people.items():
        middle = random.normal(0, 1, 64)
        for number in range(count):
            voice = middle + random.normal(0, 0.2, 64)
            unit = tuple(float(x) for x in voice / np.linalg.norm(voice))
            clips.append(heard(f"{person}{number}", speaker="choir", deep={"voice": unit}))
    return clips


def matched() -> list[MeasuredClip]:
    """Clips that an aligner has heard: most fit their texts, each in its own way one does not."""
    random = np.random.default_rng(5)
    clips = []
    for number in range(60):
        score, (one, other, third) = float(-0.1 - 0.02 * random.random()), random.normal(-2.0, 0.3, 3).tolist()
        first, last = Span("ka", 0.1, 0.4, -0.3 - 0.002 * number), Span("ahụ", 4.5, 4.9, -0.3)
        match = Match(score=score, chance=(one, other, third), cer=0.1, first=first, last=last)
        words = (first, Span("ị", 1.0, 1.2, -0.2), last)
        clips.append(replace(heard(f"fit{number}", speaker="aligned"), match=match, words=words, aligner="frames"))
    clips[7] = replace(clips[7], words=(*clips[7].words, Span("taa", 4.9, 5.0, -2.0)))
    clips[8] = replace(
        clips[8], words=(*clips[8].words, *(Span("taa", 4 + n / 10, 4.1 + n / 10, -3.0) for n in range(3)))
    )
    clips[3] = replace(clips[3], match=replace(clips[3].match or Match(), score=-1.35))
    clips[4] = replace(clips[4], match=replace(clips[4].match or Match(), cer=0.5))
    low = Span("ka", 0.1, 0.4, -1.5)
    clips[5] = replace(clips[5], match=replace(clips[5].match or Match(), first=low))
    edge = replace(heard("edge word", speaker="aligned", trailing=0.004), match=clips[6].match)
    clips[6] = replace(edge, match=replace(clips[6].match or Match(), last=Span("ahụ", 4.5, 4.99, -0.3)))
    return clips


def odd_ones() -> list[MeasuredClip]:
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
        heard("wait", leading=2.5),
        heard("odd rate", rate=44100, bandwidth=20000.0),
        heard("tested", text="nke a bụ ihe a na-ekwu ebe a"),
        heard("testing", text="Nke a bụ ihe a na-ekwu, ebe a!", split="test", speaker="elder"),
        heard("music", deep={"voiced": 0.04}),
        heard("thin voice", deep={"voiced": 0.15}),
        heard("loud room", deep={"snr": 7.0}),
        heard("echo", deep={"quality": 2.5}),
        heard("din", deep={"quality": 1.2}),
        *voices({"anna": 14, "bea": 6}),
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
        heard("quiet", speech_dbfs=-41.0),
        heard("loud", speech_dbfs=-9.0),
        heard("softer", speech_dbfs=-31.0),
        heard("noisy", noise_dbfs=-32.0),
        heard("noisier", noise_dbfs=-28.0),
        heard("skewed", offset=0.02),
        heard("humming", hum_dbfs=-45.0),
        heard("dull", bandwidth=4000.0),
        heard("dull word", bandwidth=4000.0, seconds=0.45),
        heard("phone", bandwidth=6000.0, rate=44100),
        heard("near", prints=prints(1)),
        heard("nearer", prints=prints(1, wrong=150), seconds=5.04),
        heard("russian", text="привет всем вам"),
        heard("mixed", text="bịa ebe a ж рж"),
        *sentences(),
        heard("english", text="the minister said that the road would be closed"),
        heard("partly", text="bịa anyị the minister said ka ọ bụrụ"),
        heard("numbers", text="afọ 1984 na 85"),
        heard("undotted", text="o bu ihe oma ka unu bia n'ulo anyi ugbu a obi uto"),
        heard("note", text="(ọchị nta)"),
        heard("crowded", text="ab " * 55, speaker="other"),
        *matched(),
        *(
            replace(one, clip=replace(one.clip, language="yor", speaker="list"))
            for one in shift(list_of_rows(), 20, 10)
        ),
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
    "edge_info": 0.8,
    "edge_warn": 3.0,
    "trim_keep": 0.1,
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
    "level_warn_under": -45.0,
    "level_warn_over": -5.0,
    "level_spread": 15.0,
    "offset_warn": 0.03,
    "hum_warn": -40.0,
    "snr_warn": 10.0,
    "snr_error": 5.0,
    "bandwidth_share": 0.4,
    "bandwidth_rate": 24000,
    "bandwidth_least_seconds": 0.1,
    "rates_few": 0.0,
    "near_differs": 0.1,
    "near_length": 0.001,
    "shifted_least": 30,
    "shifted_gain": 500.0,
    "mismatch_pass": 0.3,
    "mismatch_cer": 0.6,
    "mismatch_lowest": 0.3,
    "unheard_share": 0.5,
    "unheard_error": 1.0,
    "unheard_iqr": 50.0,
    "cut_off_iqr": 50.0,
    "cut_off_edge": 0.001,
    "overlap_least": 50,
    "script_main": 1.0,
    "script_warn": 0.4,
    "script_error": 1.0,
    "language_warn_iqr": 0.2,
    "language_error_iqr": 100.0,
    "language_least_letters": 60,
    "language_least_clips": 500,
    "digits_info": 10,
    "dots_least_vowels": 40,
    "note_words": 1,
    "frames_per_second": 100.0,
    "voice_error": 0.0,
    "voice_warn": 0.1,
    "voice_snr_warn": 3.0,
    "quality_info": 2.0,
    "quality_warn": 1.1,
    "speaker_warn": 0.999,
    "speaker_parts": -0.9,
    "pitch_clip": 20.0,
    "pitch_sitting": 5.0,
    "coverage_few": 3,
    "enough_tune": 1.0,
    "enough_scratch": 20.0,
    "enough_good": 70.0,
}


@pytest.fixture(scope="module")
def odd() -> list[MeasuredClip]:
    return [*odd_ones(), *pitched("may", 120, 40), *pitched("july", 94, 25), *pitched("slow", 50, 1)]


@pytest.fixture(scope="module")
def usual(odd: list[MeasuredClip]) -> list[object]:
    return verdicts(odd, Thresholds())


def verdicts(odd: list[MeasuredClip], limits: Thresholds) -> list[object]:
    marks = [(f.id, f.mark.check, f.mark.severity) for c in CHECKS for f in c.look(odd, limits)]
    told = [c.tell(odd, list(c.look(odd, limits)), limits) for c in CHECKS if c.name == "speakers"]
    rare = coverage.rare(
        coverage.CoverageUnits("letters", {"a": 500, "b": 5}), few=limits.coverage_few, scripts={"LATIN"}
    )
    said = [verdict(minutes * 60, speakers=1, limits=limits) for minutes in (5, 30, 100, 300)]
    fixed = plan([one.clip for one in odd], {}, {one.clip.id: one.facts for one in odd if one.facts}, limits)
    stays = [(one.id, str(one.start), str(one.seconds)) for one in fixed]
    return [*marks, *told, tuple(rare), tuple(said), *stays]


@pytest.mark.parametrize("field", list(Thresholds.model_fields))
def test_every_threshold_changes_a_verdict(field: str, odd: list[MeasuredClip], usual: list[object]):
    assert usual != verdicts(odd, Thresholds(**{field: MOVED[field]}))


CROSSED = {"speech_error": 0.9, "level_warn_under": -5.0}


@pytest.mark.parametrize(("low", "high"), ORDER)
def test_crossed_thresholds_are_refused(low: str, high: str):
    with pytest.raises(ConfigError, match=f"{low} must not be above {high}"):
        check(Thresholds, {low: CROSSED.get(low, getattr(Thresholds(), high) * 1.01)}, where="test")


def test_checks_have_names_of_their_own_and_words_for_people():
    assert len({c.name for c in CHECKS}) == len(CHECKS)
    for one in CHECKS:
        assert one.title and one.reason.endswith(".") and one.fix.endswith(".")
        assert one.rule(Thresholds()).endswith(".")


def test_letters_are_counted_with_their_marks_and_the_rare_ones_are_named():
    counts = coverage.count(["Ọ́ ọ a-1", unicodedata.normalize("NFD", "ọ́ ж")])
    assert counts.counts == {"ọ́": 2, "a": 1, "ж": 1, "ọ": 1}
    assert coverage.rare(counts, few=2, scripts={"LATIN"}) == ["a", "ọ"]
    assert "a (1), ọ (1)" in wanted(["a", "ọ"], counts, few=2)
    assert "at least 2 times" in wanted([], counts, few=2)
    assert "no usable text" in wanted([], coverage.CoverageUnits("letters", {}), few=2)


def test_phones_are_counted_where_a_language_is_read_as_phones():
    words = {"ʃa": ("ʃ", "a"), "ba": ("b", "a")}
    found = coverage.count(["ʃa ba", "ba"], spoken=lambda text: [(word, words[word]) for word in text.split()])
    assert found.counts == {"a": 3, "b": 2, "ʃ": 1}
    assert coverage.rare(found, few=2, scripts=set()) == ["ʃ"]
    assert "with the phones that occur fewer than 2 times: ʃ (1, as in ʃa)." in wanted(["ʃ"], found, few=2)


@pytest.mark.parametrize(
    ("minutes", "words"),
    [
        (5, "too little"),
        (30, "too little to train one from scratch"),
        (90, "would be safer"),
        (500, "more still helps"),
    ],
)
def test_the_verdict_says_for_what_it_is_enough_and_that_it_is_a_rule_of_thumb(minutes: float, words: str):
    said = verdict(minutes * 60, speakers=1, limits=Thresholds())
    assert said.startswith(f"{minutes} minutes of usable speech") and words in said and "rules of thumb" in said


def test_speech_that_does_not_reach_a_bound_does_not_read_as_if():
    limits = Thresholds()
    assert verdict(9.7 * 60, speakers=1, limits=limits).startswith("9 minutes of usable speech: too little to train on")
    assert verdict(60.0, speakers=1, limits=limits).startswith("1 minute of usable speech: ")
    assert verdict(24.0, speakers=1, limits=limits).startswith("24.0 seconds of usable speech: ")


def test_a_long_clip_is_named_with_what_it_costs():
    plan = DefaultTraining(
        batch_clips=16, batch_seconds=60, most_seconds=15, memory={"small": lambda n, s, t: 1e8 * n * s}
    )
    clips = [replace(heard(f"c{n}").clip, seconds=seconds) for n, seconds in enumerate((3.0, 12.0, 18.0))]
    said, needed = longest(clips, plan=plan)
    assert needed == {"small": pytest.approx(6e9)}  # five of 12 s are the 60 s of a batch
    assert "12.0 s (c1)" in said and "5 clips" in said and "6.0 GB for size small" in said and "over 15 s" in said
    assert longest([], plan=plan) == ("No clip is usable.", {})


def test_mixed_rates_mark_the_few_and_are_told_once():
    bright = {"rate": 44100, "bandwidth": 15000.0}
    clips = [heard(f"c{n}") for n in range(30)] + [heard("one", **bright), heard("dull", rate=8000)]
    found = look("rates", clips)
    assert {id: f.mark.severity for id, f in found.items()} == {"one": "error", "dull": "error"}
    half = [heard(f"c{n}") for n in range(30)] + [heard(f"h{n}", rate=48000, bandwidth=15000.0) for n in range(20)]
    assert {f.mark.severity for f in look("rates", half).values()} == {"warn"}
    told = told_by("rates", half)
    assert "16,000 Hz: 30 clips" in told and "48,000 Hz: 20 clips" in told
    assert not look("rates", clips[:30]) and told_by("rates", clips[:30]) == ""


def test_rates_that_hold_no_more_sound_are_no_mix():
    usual = [heard(f"c{n}") for n in range(30)]
    assert not look("rates", [*usual, *(heard(f"h{n}", rate=48000) for n in range(20))])  # up to 8 kHz, as the others
    assert not look("rates", [*usual, heard("one", rate=44100)])  # a single one neither
    most = [heard(f"h{n}", rate=48000, bandwidth=7800.0) for n in range(30)]
    assert not look("rates", [*most, *usual[:20]])  # the usual rate is the higher one, and holds nothing more
    mixed = [*usual, heard("same", rate=48000), heard("more", rate=48000, bandwidth=15000.0)]
    assert look("rates", mixed).keys() == {"more"}
    coded = [heard(f"m{n}", rate=44100, bandwidth=8750.0) for n in range(30)]
    assert not look("rates", [*coded, *usual])  # what mp3 leaves above 8 kHz of speech that had 16 kHz
    assert len(look("rates", [*(replace_bandwidth(one, 9500.0) for one in coded), *usual])) == 30


def replace_bandwidth(one: MeasuredClip, hertz: float) -> MeasuredClip:
    assert one.facts is not None
    return replace(one, facts=replace(one.facts, bandwidth=hertz))


def told_by(name: str, clips: list[MeasuredClip]) -> str:
    one = next(c for c in CHECKS if c.name == name)
    return one.tell(clips, list(one.look(clips, Thresholds())), Thresholds())


def test_words_of_the_test_side_in_training_are_errors_of_the_test_side():
    text = "nke a bụ ihe a na-ekwu ebe a"
    clips = [heard("train", text=text), heard("valid", text=text.upper() + ".", split="valid", speaker="other")]
    clips += [heard("new", text="ihe ọzọ ka a na-ekwu taa", split="test"), heard("word", text="bịa", split="test")]
    found = look("overlap", [*clips, heard("word too", text="bịa")])
    assert {id: f.mark.severity for id, f in found.items()} == {"valid": "error"}
    assert "train trains on the same words" in found["valid"].mark.message
    assert "split again" in told_by("overlap", clips)


def test_copies_on_two_sides_say_so():
    found = look("duplicate_audio", [heard("a", pcm="x"), heard("b", pcm="x", split="test")])
    assert "one is in train, the other in test" in found["b"].mark.message


def test_silence_that_most_clips_have_is_told_once():
    assert "90% of the clips" in told_by("edges", [heard("short"), *(heard(f"c{n}", leading=0.7) for n in range(9))])
    assert told_by("edges", [heard("a", leading=0.7), heard("b"), heard("c")]) == ""


def test_little_text_in_a_long_clip_is_warned_of_whatever_its_length():
    found = look("rate", [*crowd(), heard("word", text="bịa", leading=2.0, trailing=2.0)])
    assert {id: f.mark.severity for id, f in found.items()} == {"word": "warn"}
    assert "little text for so long a clip" in found["word"].mark.message


def test_two_voices_under_one_name_are_told_and_a_stranger_is_marked():
    assert "may be two people" in told_by("speakers", voices({"anna": 14, "bea": 6}))
    alone = [*voices({"anna": 20}), voices({"anna": 20, "carl": 1})[-1]]
    found = look("speakers", alone)
    assert {id: f.mark.severity for id, f in found.items()} == {"carl0": "warn"}
    assert told_by("speakers", alone) == ""


def pitched(name: str, hertz: float, count: int, *, spread: float = 0.5) -> list[MeasuredClip]:
    """A sitting: clips whose pitch lies around so many hertz, within so many semitones."""
    heights = np.linspace(-spread, spread, count)
    found = []
    for number, height in enumerate(heights):
        one = heard(f"{name}{number}")
        clip = replace(one.clip, audio=f"s1/{name}_{number}.wav")
        found.append(replace(one, clip=clip, pitch=hertz * 2 ** (height / 12)))
    return found


def test_a_sitting_of_another_pitch_is_marked_whole_and_one_clip_alone():
    usual = [*pitched("may", 110, 40, spread=1.5), *pitched("june", 122, 40, spread=1.5)]
    other = pitched("july", 94, 30)  # 3.6 semitones under the others' middle; single clips of may lie as low
    found = look("pitch", [*usual, *other])
    assert found.keys() == {one.clip.id for one in other}
    assert {f.mark.severity for f in found.values()} == {"warn"}
    assert "the sitting july lies 3.6 semitones below" in found["july0"].mark.message
    assert "july (30 clips)" in told_by("pitch", [*usual, *other])
    assert not look("pitch", usual) and told_by("pitch", usual) == ""  # 1.8 semitones apart: one voice does that
    assert not look("pitch", [*usual, *pitched("few", 94, 12)])  # too few for a middle of their own
    octave = look("pitch", [*usual, *pitched("slow", 58, 1)])
    assert octave.keys() == {"slow0"} and "its pitch is 56 Hz, the middle of" in octave["slow0"].mark.message
    assert not look("pitch", [replace(one, pitch=None) for one in usual])


def test_the_smaller_part_is_the_odd_one():
    found = look("pitch", [*pitched("one", 200, 60), *pitched("two", 150, 25)])
    assert {one[:3] for one in found} == {"two"}


def test_a_file_that_ends_early_is_unreadable_though_it_decodes():
    one = replace(heard(), trouble="the file breaks off, its last page is not whole: copy it again")
    assert severity("unreadable", one) == "error"


def spoken(id: str, scores: list[float], *, aligner: str = "frames") -> MeasuredClip:
    names = ["elfu", "mbili", "na", "kumi", "na", "tisa", "watu", "wengi", "sana", "leo"]
    words = [Span(names[at % len(names)], 0.5 * at, 0.5 * at + 0.4, score) for at, score in enumerate(scores)]
    return replace(heard(id), words=tuple(words), aligner=aligner)


def test_words_that_are_not_heard_as_they_are_read_are_named():
    good = [spoken(f"good{n}", [-0.3, -0.4, -0.5, -0.2, -0.3]) for n in range(30)]
    year = spoken("year", [-4.0, -5.0, -0.3, -6.0, -0.3, -0.3, -0.2, -0.4])
    name = spoken("name", [-4.0, -0.3, -0.2, -0.4, -0.3])  # one in five is no more than a fifth
    short = spoken("short", [-4.0])
    found = look("unheard", [*good, year, name, short])
    assert {id: f.mark.severity for id, f in found.items()} == {"year": "warn", "short": "warn"}
    assert found["year"].mark.message == ("3 of its 8 words are not heard as read: elfu mbili at 0.0 s, kumi at 1.5 s")
    assert "1 of its 1 word is not" in found["short"].mark.message
    assert set(look("unheard", [*good, year, name], unheard_share=0.1)) == {"year", "name"}


def test_a_clip_half_of_which_is_not_heard_is_an_error_however_many_are_such():
    good = [spoken(f"good{n}", [-0.3, -0.4, -0.5, -0.2, -0.3]) for n in range(30)]
    half = [spoken(f"half{n}", [-7.0, -0.3, -8.0, -0.3, -9.0, -7.5]) for n in range(20)]
    few = spoken("few", [-7.0, -8.0])  # both of two words: too few to tell
    found = look("unheard", [*good, *half, few])
    assert {id: f.mark.severity for id, f in found.items()} == {one.clip.id: "error" for one in half} | {"few": "warn"}
    assert {f.mark.severity for f in look("unheard", [*good, *half], unheard_error=0.9).values()} == {"warn"}


def test_each_way_of_aligning_is_measured_by_itself_and_few_words_by_nothing():
    good = [spoken(f"good{n}", [-0.3, -0.4, -0.5, -0.2, -0.3]) for n in range(30)]
    other = [spoken(f"other{n}", [-9.3, -9.4, -9.5, -9.2, -9.3], aligner="ctc") for n in range(30)]
    assert not look("unheard", [*good, *other])
    assert not look("unheard", [*good[:3], spoken("year", [-9.0] * 5)])
    assert not look("unheard", [replace(one, words=tuple(w._replace(score=None) for w in one.words)) for one in good])


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("digits", "afọ 9 gara aga", "1 digit in"),
        ("sound_note", "[music] nke a bụ okwu ọma", "1 sound note inside"),
        ("text", "Ahịrị abụọ\nn'otu", "1 line break or tab in the text, read as a space"),
    ],
)
def test_one_is_not_many(name: str, text: str, said: str):
    (found,) = look(name, [heard("one", text=text)]).values()
    assert found.mark.message.startswith(said)


def test_a_single_clip_is_told_as_one():
    text = "nke a bụ ihe a na-ekwu ebe a"
    clips = [heard("train", text=text), heard("valid", text=text, split="valid", speaker="other")]
    assert told_by("overlap", clips).startswith("1 clip kept for validation or test shares its words")
    assert "16,000 Hz: 1 clip" in told_by(
        "rates", [*(heard(f"c{n}", rate=44100, bandwidth=15000.0) for n in range(3)), heard("one")]
    )

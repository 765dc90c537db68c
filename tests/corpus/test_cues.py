"""Subtitle files: every encoding, every fault named, nothing guessed, and no input that hangs."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olu.corpus.readers.rows import Problem
from olu.corpus.readers.subtitles.cues import Cue, Cues, parse, plain
from olu.corpus.readers.subtitles.sentences import Pauses, at_once, join

SRT = """1
00:00:01,000 --> 00:00:02,500
<i>Habari</i> ya asubuhi.

2
00:00:04,000 --> 00:00:06,000 X1:40 Y1:20
{\\an8}- Nzuri.
- Karibu [door] ♪
"""
VTT = """WEBVTT - a title
Kind: captions

STYLE
::cue { color: red }

NOTE not said
at all

intro
00:01.000 --> 00:02.500 align:start position:0%
<v.loud Amina Ali>Habari &amp; <c.yellow>karibu</c> <00:02.000>sana

01:00:04.000 --> 01:00:06.000
&gt;&gt; (laughs) Nzuri
"""


def texts(found: Cues) -> list[tuple[float, float, str]]:
    return [(cue.start, cue.end, cue.text) for cue in found.cues]


def test_srt() -> None:
    found = parse(SRT.encode(), file="a.srt")
    assert texts(found) == [(1.0, 2.5, "Habari ya asubuhi."), (4.0, 6.0, "Nzuri. Karibu")]
    assert [cue.where for cue in found.cues] == ["a.srt line 2", "a.srt line 6"]
    assert (found.cues[0].turn, found.cues[1].turn) == (False, True)
    assert found.problems == []
    wanted = {"tags": 3, "speaker dashes": 2, "sound notes": 2, "cues of several speakers": 1}
    assert +found.counts == Counter(wanted)


def test_vtt() -> None:
    found = parse(VTT.encode(), file="a.vtt")
    assert texts(found) == [(1.0, 2.5, "Habari & karibu sana"), (3604.0, 3606.0, "Nzuri")]
    assert [cue.speaker for cue in found.cues] == ["Amina Ali", None]
    assert found.problems == []


ROLLING = """WEBVTT
Kind: captions

00:00:00.160 --> 00:00:02.470 align:start position:0%
 
habari<00:00:00.480><c> za</c><00:00:00.799><c> asubuhi</c>

00:00:02.470 --> 00:00:02.480 align:start position:0%
habari za asubuhi
 

00:00:02.480 --> 00:00:04.789 align:start position:0%
habari za asubuhi
karibu<00:00:02.720><c> tena</c>

00:00:04.789 --> 00:00:04.799 align:start position:0%
karibu tena
 

00:00:04.799 --> 00:00:06.900 align:start position:0%
karibu tena
leo<00:00:05.200><c> tuna</c>

00:00:06.900 --> 00:00:06.910 align:start position:0%
leo tuna
 

00:00:06.910 --> 00:00:09.000 align:start position:0%
leo tuna
mgeni<00:00:07.400><c> wetu</c>
"""


def test_lines_that_roll_up_are_taken_once() -> None:
    found = parse(ROLLING.encode(), file="a.vtt")
    assert [(round(start, 3), text) for start, _, text in texts(found)] == [
        (0.16, "habari za asubuhi"),
        (2.48, "karibu tena"),
        (4.799, "leo tuna"),
        (6.91, "mgeni wetu"),
    ]
    assert found.problems == [] and len(found.busy) == 4


def test_a_refrain_is_no_line_that_rolls_up() -> None:
    lines = ["Hapana.", "Hapana.", "Hapana.\nNdiyo.", "Ndiyo.", "Hapana.", "Hapana."]
    blocks = (f"{n}\n00:00:{2 * n:02d},000 --> 00:00:{2 * n + 1:02d},000\n{text}\n" for n, text in enumerate(lines))
    assert [cue.text for cue in parse("\n".join(blocks).encode(), file="a.srt").cues] == [
        line.replace("\n", " ") for line in lines
    ]


def test_names_of_speakers_are_not_read_aloud() -> None:
    lines = ["JUMA: Habari.", "Mama Asha: Nzuri.", "Kumbuka: leo ni siku njema.", "- Mama Asha: Karibu.", "Saa 10:30."]
    lines += ["<i>Mama Asha: Asante.</i>", "BARUA: KESHO: MAPEMA."]
    blocks = (f"{n}\n00:00:{2 * n:02d},000 --> 00:00:{2 * n + 1:02d},000\n{text}\n" for n, text in enumerate(lines))
    found = parse("\n".join(blocks).encode(), file="a.srt")
    said = ["Habari.", "Nzuri.", lines[2], "Karibu.", "Saa 10:30.", "Asante.", "BARUA: KESHO: MAPEMA."]
    assert [cue.text for cue in found.cues] == said
    assert found.counts["speaker names"] == 4 and found.cues[0].turn and not found.cues[2].turn


def test_entities_are_letters_in_both_formats() -> None:
    found = parse(b"1\n00:00:01,000 --> 00:00:02,000\nFish &amp; chips&#39; &lt;3\n", file="a.srt")
    assert [cue.text for cue in found.cues] == ["Fish & chips' <3"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("text", [SRT, VTT])
def test_encodings(encoding: str, ending: str, text: str) -> None:
    text = text.replace("♪", "(…)").replace("Nzuri", "Señor Ünïcode “é”").replace("\n", ending)
    found = parse(text.encode(encoding), file="a")
    assert len(found.cues) == 2
    assert "Señor Ünïcode “é”" in found.cues[1].text
    assert found.problems == []
    known = {"utf-8": [], "utf-8-sig": [], "cp1252": ["Windows-1252"]}
    assert [one.encoding for one in found.guessed] == known.get(encoding, ["UTF-16"])


def test_what_is_no_text_is_a_problem() -> None:
    found = parse(b"1\n00:00:01,000 --> 00:00:02,000\n\x81\x8d\x90\n", file="a.srt")
    assert [str(problem) for problem in found.problems] == [
        "a.srt: is no text in UTF-8, UTF-16 or Windows-1252: save it as UTF-8, or name its encoding with --encoding"
    ]


def cues(*times: str) -> Cues:
    blocks = (f"{n}\n{line}\nword {n}\n" for n, line in enumerate(times, 1))
    return parse("\n".join(blocks).encode(), file="a.srt")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("00:00:05,000 --> 00:00:05,000", "it starts and ends at 5.000 s"),
        ("00:00:06,000 --> 00:00:05,000", "it ends at 5.000 s, before it starts"),
        ("-00:00:01,000 --> 00:00:05,000", "its times lie before 0"),
        ("-00:00:00,000 --> 00:00:05,000", "its times lie before 0"),
        ("00:00:05 --> 00:00:06,000", "its times cannot be read"),
        ("00:61:05,000 --> 00:62:06,000", "its times cannot be read"),
        ("00:00:05,000 -->", "its times cannot be read"),
        ("5 --> 6" + " " * 100_000, "its times cannot be read"),
        ("00:00:00,100 --> 00:00:00,200", "its start, 0.100 s, is out of order"),
    ],
)
def test_faults_are_named_and_left_out(line: str, words: str) -> None:
    found = cues("00:00:01,000 --> 00:00:03,000", line, "00:00:08,000 --> 00:00:09,000")
    assert len(found.problems) == 1
    assert words in found.problems[0].message
    assert found.problems[0].where == "a.srt line 6"
    assert [cue.text for cue in found.cues if cue.text] == ["word 1", "word 3"]


def test_one_wild_time_spoils_only_its_own_cue() -> None:
    lines = [f"00:00:{n:02d},000 --> 00:00:{n:02d},900" for n in range(30)]
    lines[5] = "09:00:00,000 --> 09:00:01,000"
    found = cues(*lines)
    assert [problem.where for problem in found.problems] == ["a.srt line 22"]
    assert len(found.cues) == 29


def test_two_at_once_are_left_out_and_a_rounding_is_not() -> None:
    for times, left in (
        (("00:00:01,000 --> 00:00:02,000", "00:00:01,000 --> 00:00:02,000"), 0),
        (("00:00:01,000 --> 00:00:09,000", "00:00:04,000 --> 00:00:06,000"), 0),
        (("00:00:01,000 --> 00:00:02,000", "00:00:01,960 --> 00:00:03,000"), 2),
    ):
        found = cues(*times)
        problems: list[Problem] = []
        kept = at_once(found.cues, quiet(found.cues), problems)
        assert sum(bool(cue.text) for cue in kept) == left
        assert len(problems) == (0 if left else 2)  # each of the two is a row that is lost
        assert all("overlaps the cue of a.srt line" in problem.message for problem in problems)


def test_lines_that_belong_to_no_cue_are_named_and_lost_blanks_mended() -> None:
    found = parse(
        b"1\n00:00:01,000 --> 00:00:02,000\none\n2\n00:00:03,000 --> 00:00:04,000\ntwo\n\nstray words\n\n3\n", file="a"
    )
    assert [cue.text for cue in found.cues] == ["one", "two"]
    assert [problem.where for problem in found.problems] == ["a line 8"]
    assert "'stray words' belongs to no cue" in found.problems[0].message


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["[music]"], ""),
        (["♪ la la la", "la la ♪"], ""),
        (["# la la #"], ""),
        (["(door slams)", "Habari [laughs] yako?"], "Habari yako?"),
        (["(a note over", "two lines) Ndiyo"], "Ndiyo"),
        (["— Ndiyo"], "Ndiyo"),
        (["nusu-nusu"], "nusu-nusu"),
        (["<b><i>Ndi</i>yo</b>"], "Ndiyo"),
        (["3 < 4 > 2"], "3 < 4 > 2"),
        (["one\\Ntwo"], "one two"),
        (["..."], ""),
        (["(unclosed"], "(unclosed"),
    ],
)
def test_plain(lines: list[str], text: str) -> None:
    assert plain(lines, counts=Counter())[0] == text


def quiet(cues: list[Cue]) -> Pauses:
    """Of a recording in which nothing is heard."""
    seconds = min(60.0, 1.0 + max((one.end for one in cues), default=0.0))
    return Pauses(cues, levels=np.full(round(100 * seconds), -20.0, dtype=np.float32), frames_per_second=100.0)


def cue(start: float, end: float, text: str, *, speaker: str | None = None, turn: bool = False) -> Cue:
    return Cue(start=start, end=end, text=text, where="x", speaker=speaker, turn=turn)


@pytest.mark.parametrize(
    ("second", "joined"),
    [
        (cue(2.1, 3.0, "yako"), True),
        (cue(2.0, 3.0, "yako"), True),
        (cue(2.5, 3.0, "yako"), False),
        (cue(2.1, 30.0, "yako"), False),
        (cue(2.1, 3.0, "yako", turn=True), False),
        (cue(2.1, 3.0, "yako", speaker="Ada"), False),
    ],
)
def test_joining(second: Cue, joined: bool) -> None:
    both = [cue(1.0, 2.0, "habari"), second]
    spans = [(one.start, one.end) for one in both]

    def joined_to(text: str, *, busy: list[tuple[float, float]] = spans) -> list[Cue]:
        cues = [cue(1.0, 2.0, text), second]
        return [one.cue for one in join(cues, quiet(cues), busy=busy)]

    found = joined_to("habari")
    assert len(found) == (1 if joined else 2)
    if joined:
        assert (found[0].start, found[0].end, found[0].text) == (1.0, second.end, "habari yako")
    assert len(joined_to("habari.")) == 2
    assert len(joined_to("habari…")) == (1 if joined else 2)
    assert len(joined_to("ሰላም።")) == 2
    assert len(joined_to("habari", busy=[*spans, (2.04, 2.05)])) == 2 or not joined or second.start == 2.0


@pytest.mark.parametrize("nasty", ["<v " + " " * 99, "(", "[", "♪", "<", "- ", "\\N", "{\\", "-->", "\n", ".", "&"])
def test_no_input_hangs(nasty: str) -> None:
    data = b"WEBVTT\n\n00:01.000 --> 00:02.000\n" + (nasty * 20_000).encode() + b"\n\n" + (nasty * 2_000).encode()
    before = time.perf_counter()
    found = parse(data, file="a.vtt")
    join(found.cues, quiet(found.cues), busy=found.busy)
    assert time.perf_counter() - before < 5.0


PARTS = [
    "\n",
    "\n\n",
    "\r\n",
    "\x00",
    "\ufeff",
    "WEBVTT",
    "NOTE ",
    "1",
    "word",
    "<v Ada>",
    "</i>",
    "{\\an8}",
    "- ",
    "♪",
]
PARTS += [
    "00:00:01,000 --> 00:00:02,000",
    "00:01.5-->00:02.9",
    " --> ",
    "-00:00:01,000",
    "99:59:59,999",
    "[",
    "(",
    "x" * 999,
]


def check(data: bytes) -> None:
    found = parse(data, file="a.srt")
    for problem in found.problems:
        assert isinstance(problem, Problem)
    for one in (sentence.cue for sentence in join(found.cues, quiet(found.cues), busy=found.busy)):
        assert 0 <= one.start < one.end
        assert one.text == " ".join(one.text.split()) != ""
    starts = [one.start for one in found.cues]
    assert starts == sorted(starts)


@given(st.lists(st.sampled_from(PARTS), max_size=60), st.sampled_from(["utf-8", "utf-16", "utf-16-le", "cp1252"]))
def test_fuzz_of_parts(parts: list[str], encoding: str) -> None:
    check("".join(parts).encode(encoding, "replace"))


@given(
    st.binary(max_size=400), st.integers(0, 300), st.sampled_from([SRT.encode(), VTT.encode(), SRT.encode("utf-16")])
)
def test_fuzz_of_bytes(data: bytes, at: int, whole: bytes) -> None:
    check(whole[:at] + data + whole[at:])

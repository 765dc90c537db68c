from __future__ import annotations

import tarfile
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olu.align.textgrid import TextGrid, Tier, decode, filled, from_alignment, parse, render, to_alignment
from olu.align.textgrid_files import match, read_all, write_all
from olu.core.errors import CorpusError
from olu.core.types import Alignment, Clip, Span

MFA = '''File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 2.05
tiers? <exists>
size = 2
item []:
    item [1]:
        class = "IntervalTier"
        name = "amina - words"
        xmin = 0
        xmax = 2.05
        intervals: size = 2
        intervals [1]:
            xmin = 0.3
            xmax = 0.9
            text = "habari"
        intervals [2]:
            xmin = 1.2
            xmax = 1.9
            text = "ya ""leo"""
    item [2]:
        class = "IntervalTier"
        name = "amina - phones"
        xmin = 0
        xmax = 2.05
        intervals: size = 4
        intervals [1]:
            xmin = 0.3
            xmax = 0.6
            text = "h"
        intervals [2]:
            xmin = 0.6
            xmax = 0.9
            text = "a"
        intervals [3]:
            xmin = 0.9
            xmax = 1.1
            text = "spn"
        intervals [4]:
            xmin = 1.2
            xmax = 1.9
            text = "j"
'''
SHORT = """File type = "ooTextFile"
Object class = "TextGrid"

0
2.05
<exists>
2
"IntervalTier"
"MAU"
0
2.05
1
0
2.05
"a"
"TextTier"
"notes"
0
2.05
1
0.5
"a ""point"" of
two lines"
"""


def rows(spans: tuple[Span, ...]) -> list[tuple[str, float, float]]:
    return [(span.label, round(span.start, 6), round(span.end, 6)) for span in spans]


def test_holes_and_both_ends_become_silence_and_the_end_is_the_recordings():
    found = to_alignment(parse(MFA, where="a.TextGrid"), id="a", seconds=2.1, where="a.TextGrid")
    assert rows(found.phones) == [
        ("", 0.0, 0.3), ("h", 0.3, 0.6), ("a", 0.6, 0.9), ("", 0.9, 1.2), ("j", 1.2, 1.9), ("", 1.9, 2.1)
    ]  # fmt: skip
    assert rows(found.words) == [("habari", 0.3, 0.9), ('ya "leo"', 1.2, 1.9)]
    assert found.seconds == 2.1


@pytest.mark.parametrize("label", ["sil", "sp", "spn", "SIL", "<eps>", "<unk>", "", " "])
def test_every_name_of_silence(label: str):
    grid = TextGrid(0, 1, (Tier("phones", (Span(label, 0, 0.4), Span("a", 0.4, 1))),))
    assert rows(to_alignment(grid, id="a", seconds=1, where="a").phones) == [("", 0, 0.4), ("a", 0.4, 1)]


def test_a_word_spelled_like_a_silence_stays_a_word_where_something_is_heard():
    words = Tier("words", (Span("sil", 0, 0.5), Span("sp", 0.5, 1)))
    phones = Tier("phones", (Span("s", 0, 0.2), Span("i", 0.2, 0.5), Span("sp", 0.5, 1)))
    found = to_alignment(TextGrid(0, 1, (words, phones)), id="a", seconds=1, where="a")
    assert rows(found.words) == [("sil", 0, 0.5)]


@pytest.mark.parametrize("name", ["phones", "Phone", "segments", "MAU", "amina - phones"])
def test_the_tier_of_phones_has_many_names(name: str):
    grid = TextGrid(0, 1, (Tier("ORT-MAU", (Span("aa", 0, 1),)), Tier(name, (Span("a", 0, 1),))))
    found = to_alignment(grid, id="a", seconds=1, where="a")
    assert (len(found.words), len(found.phones)) == (1, 1)


def test_the_short_form_with_points_and_utf16():
    for data in (SHORT.encode("utf-16"), b"\xfe\xff" + SHORT.encode("utf-16-be"), SHORT.encode("utf-8-sig")):
        grid = parse(decode(data, where="a"), where="a")
        assert [tier.points for tier in grid.tiers] == [False, True]
        assert rows(to_alignment(grid, id="a", seconds=2.05, where="a").phones) == [("a", 0, 2.05)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a TextGrid"),
        ("id|text", "is not a TextGrid"),
        (MFA.replace('"amina - phones"', '"tones"'), "no tier of phones.*'amina - words', 'tones'"),
        (MFA.replace("size = 4", "size = 5"), "breaks off before the start of interval 5"),
        (MFA.replace("size = 4", "size = 3"), "goes on after its last tier"),
        (MFA.replace("xmin = 0.9", "xmin = 0.5"), "interval 3 .*out of order"),
        (MFA.replace("xmax = 0.6", "xmax = soon"), "the end of interval 1 .* is missing"),
        (MFA.replace("xmax = 2.05", "xmax = 9"), "of another recording"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(text: str, said: str):
    with pytest.raises(CorpusError, match=said):
        to_alignment(parse(text, where="a.TextGrid"), id="a", seconds=2.1, where="a.TextGrid")


def test_other_encodings_and_binary_are_refused():
    for data in (b"ooBinaryFile\x08TextGrid", MFA.encode() + b"\xff\xfe\xfa"):
        with pytest.raises(CorpusError, match="TextGrid"):
            decode(data, where="a.TextGrid")


labels = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp")), max_size=4)


@st.composite
def alignments(draw: st.DrawFn) -> Alignment:
    """Phones and words with holes, on whole milliseconds."""
    steps = draw(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 300), labels), min_size=1, max_size=12))
    at, spans = 0, []
    for gap, length, label in steps:
        spans.append(Span(label if label.casefold() != "" else "a", (at + gap) / 1000, (at + gap + length) / 1000))
        at += gap + length
    seconds = (at + draw(st.integers(0, 50))) / 1000
    keep = draw(st.lists(st.booleans(), min_size=len(spans), max_size=len(spans)))
    words = tuple(span for span, kept in zip(spans, keep, strict=True) if kept)
    return Alignment(id="a", seconds=seconds, words=words, phones=filled(spans, end=seconds))


@given(alignments(), st.booleans())
def test_what_is_written_is_read_back_and_writing_it_again_changes_nothing(one: Alignment, short: bool):
    written = render(from_alignment(one), short=short)
    grid = parse(decode(written.encode(), where="a"), where="a")
    assert [rows(tier.intervals) for tier in grid.tiers] == [rows(t.intervals) for t in from_alignment(one).tiers]
    assert render(grid, short=short) == written
    for tier in grid.tiers:
        assert tier.intervals[0].start == 0
        assert tier.intervals[-1].end == pytest.approx(one.seconds, abs=1e-6)
        assert all(a.end == b.start for a, b in zip(tier.intervals, tier.intervals[1:], strict=False))


@given(alignments())
def test_export_and_import_are_idempotent(one: Alignment):
    grid = from_alignment(one)
    if not any(span.label.casefold() not in ("sil", "sp", "spn", "") for span in one.phones):
        return
    once = to_alignment(grid, id="a", seconds=one.seconds, where="a")
    again = to_alignment(parse(render(from_alignment(once)), where="a"), id="a", seconds=one.seconds, where="a")
    assert rows(again.phones) == rows(once.phones)
    assert rows(again.words) == rows(once.words)


@given(st.data())
def test_damage_ends_in_a_sentence(data: st.DataObject):
    text = bytearray(data.draw(st.sampled_from([MFA, SHORT])).encode())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(text) - 1))
        kind = data.draw(st.sampled_from(["drop", "change", "cut", "double"]))
        if kind == "drop":
            del text[at]
        elif kind == "change":
            text[at] = data.draw(st.integers(0, 255))
        elif kind == "cut":
            del text[at : at + data.draw(st.integers(1, 200))]
        else:
            text[at:at] = text[at : at + 20]
        if not text:
            text.append(48)
    try:
        grid = parse(decode(bytes(text), where="a"), where="a")
        found = to_alignment(grid, id="a", seconds=2.1, where="a")
    except CorpusError:
        return
    assert found.phones[0].start == 0
    assert found.phones[-1].end == 2.1
    assert all(a.end == b.start for a, b in zip(found.phones, found.phones[1:], strict=False))


def test_praatio_reads_what_we_write_and_we_read_what_it_writes(tmp_path: Path):
    textgrid = pytest.importorskip("praatio.textgrid")
    ours = Alignment(
        id="a",
        seconds=1.25,
        words=(Span('ya "leo"', 0.2, 1.0), Span("ቤት", 1.0, 1.1)),
        phones=filled([Span("j", 0.2, 0.5), Span("tʃʼ", 0.5, 1.0), Span("ɨ", 1.0, 1.1)], end=1.25),
    )
    for short in (True, False):
        path = tmp_path / "ours.TextGrid"
        path.write_text(render(from_alignment(ours), short=short), encoding="utf-8")
        theirs = textgrid.openTextgrid(str(path), includeEmptyIntervals=True)
        assert theirs.tierNames == ("words", "phones")
        read = [(entry.label, entry.start, entry.end) for entry in theirs.getTier("phones").entries]
        assert read == rows(ours.phones)
        assert [entry.label for entry in theirs.getTier("words").entries if entry.label] == ['ya "leo"', "ቤት"]
        for form in ("short_textgrid", "long_textgrid"):
            made = tmp_path / f"{form}.TextGrid"
            theirs.save(str(made), format=form, includeBlankSpaces=True)
            back = parse(decode(made.read_bytes(), where="a"), where="a")
            assert rows(to_alignment(back, id="a", seconds=1.25, where="a").phones) == rows(ours.phones)
            assert rows(to_alignment(back, id="a", seconds=1.25, where="a").words) == rows(ours.words)


def clip(id: str, audio: str, speaker: str = "default") -> Clip:
    return Clip(id=id, audio=audio, seconds=1.0, rate=16000, text="a", language="swa", speaker=speaker)


def grids() -> list[Alignment]:
    return [
        Alignment(id=id, seconds=1.0, words=(Span("a", 0, 1),), phones=(Span("a", 0.0, 1.0),)) for id in ("a-1", "b-2")
    ]


@pytest.mark.parametrize("name", ["grids", "grids.tar.gz", "grids.zip", "grids.tgz"])
def test_a_folder_and_archives_of_them(tmp_path: Path, name: str):
    assert write_all(tmp_path / name, grids()) == 2
    found = read_all(tmp_path / name)
    assert sorted(found) == ["a-1.TextGrid", "b-2.TextGrid"]
    assert parse(decode(found["a-1.TextGrid"], where="a"), where="a").end == 1.0


def test_a_tar_cannot_write_outside_and_its_good_files_are_read(tmp_path: Path):
    bad, good = tarfile.TarInfo("../out.TextGrid"), tarfile.TarInfo("in.TextGrid")
    bad.size = good.size = len(SHORT)
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as packed:
        packed.addfile(bad, BytesIO(SHORT.encode()))
        packed.addfile(good, BytesIO(SHORT.encode()))
    assert list(read_all(tmp_path / "x.tar.gz")) == ["in.TextGrid"]
    assert not list(tmp_path.rglob("out.TextGrid"))


def test_nothing_to_read_is_said(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    for name in ("empty", "nowhere"):
        with pytest.raises(CorpusError, match=name):
            read_all(tmp_path / name)


def test_files_are_matched_by_id_by_recording_and_by_folder():
    clips = [
        clip("one-11111111", "s1/amina/one.wav"),
        clip("two-22222222", "s1/amina/two.wav"),
        clip("two-33333333", "s1/juma/two.wav"),
    ]
    files = ["one-11111111.TextGrid", "amina/two.TextGrid", "juma/two.TextGrid", "three.TextGrid", "x/two.TextGrid"]
    found, left = match(files, clips)
    assert found == {
        "one-11111111": "one-11111111.TextGrid",
        "two-22222222": "amina/two.TextGrid",
        "two-33333333": "juma/two.TextGrid",
    }
    assert left == ["three.TextGrid", "x/two.TextGrid"]

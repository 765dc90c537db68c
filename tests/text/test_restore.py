"""Marks restored from texts that have them, readings learnt from lists, and chains of readings."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from olu.cli.main import app
from olu.core.errors import ConfigError, LanguageError
from olu.stages.g2p import chosen_settings, open_frontend, read_lines
from olu.text.frontend import ReadingSettings, for_language, from_state
from olu.text.language_data import ReadingTrace
from olu.text.languages import MARKS, load
from olu.text.restore.confidence import Evidence, confidence, fit_confidence
from olu.text.restore.engine import likeliest, stem_features
from olu.text.restore.learn import learn
from olu.text.restore.marks import MarkModel, MarkRestorer, dots_of, in_capitals, split_marks, with_marks
from olu.text.restore.phones import learn_phones
from olu.text.restore.traits import word_shapes

TONED = [
    "ó fẹ́ lọ sí ọjà",
    "mo fẹ́ ra omi ní ọjà",
    "ilé ni mo wà",
    "bàbá mi ni olùkọ́",
    "ọkọ̀ náà dára púpọ̀",
    "ìyá mi lọ sí ilé ìwé",
    "wọ́n ti dé láti ìlú èkó",
    "ẹ̀kọ́ yìí dára fún àwọn ọmọdé",
]


def stripped(text: str) -> str:
    return split_marks(text)[0]


@cache
def toned_model() -> bytes:
    return learn(TONED * 4, language="yor", convention="full")[0].to_bytes()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "yor.npz"
    path.write_bytes(toned_model())
    return path


def test_marks_come_back_and_the_same_texts_give_the_same_file() -> None:
    restorer = MarkRestorer(MarkModel.from_bytes(toned_model()))
    for line in TONED:
        notes = ReadingTrace()
        assert restorer(stripped(line), notes) == line
        assert [word.text for word in notes.restored] == line.split()
    assert learn(TONED * 4, language="yor", convention="full")[0].to_bytes() == toned_model()


def test_the_context_decides_between_forms() -> None:
    lines = ["ilé ni mo wà", "omi ni mo fẹ́", "mo wà ní ilé", "mo lọ sí ọjà ní ìlú"] * 8 + TONED
    restorer = MarkRestorer(learn(lines, language="yor", convention="full")[0])
    assert restorer("ile ni mo wa", ReadingTrace()) == "ilé ni mo wà"
    assert restorer("mo wa ni ile", ReadingTrace()) == "mo wà ní ilé"


def test_a_model_read_from_its_file_thinks_as_before() -> None:
    """Its weights are whole numbers there: what one of them stands for is kept, however often it is written."""
    lines = ["ilé ni mo wà", "omi ni mo fẹ́", "mo wà ní ilé", "mo lọ sí ọjà ní ìlú"] * 8 + TONED
    model = learn(lines, language="yor", convention="full")[0]
    again = MarkModel.from_bytes(MarkModel.from_bytes(model.to_bytes()).to_bytes())
    words = ["mo", "wa", "ni", "ile"]
    told = [MarkRestorer(one).choose(words)[2] for one in (model, again)]
    assert model.scale == pytest.approx(again.scale) and model.scale < 1
    assert told[0].evidence is not None and told[1].evidence is not None
    assert told[0].evidence.chance == pytest.approx(told[1].evidence.chance)
    assert told[0].confidence == pytest.approx(told[1].confidence)
    with pytest.raises(LanguageError, match="learnt by an older Olu"):
        MarkModel.from_bytes(replace(model, scale=1.0).to_bytes())


def test_lists_and_dotted_texts_beside_texts() -> None:
    """A word that only a list has takes its form from there; a text without tones tells dots."""
    lines = [*TONED, "ilẹ̀ ni mo wà", "mo wà ní ilé"] * 4
    listed, dotted = ["ọ̀dàrà èṣù", "búrẹ́dì"], ["mo ra ilẹ ni ọsan", "mo ra ilẹ"] * 8
    model = MarkModel.from_bytes(
        learn(lines, language="yor", convention="full", words=listed, dotted=dotted)[0].to_bytes()
    )
    restorer = MarkRestorer(model)
    assert restorer("buredi odara", ReadingTrace()) == "búrẹ́dì ọ̀dàrà"
    assert stripped("ọsan") == "osan" and "ọ" in unicodedata.normalize("NFC", restorer("osan", ReadingTrace()))
    assert restorer("mo ra ile", ReadingTrace()).split()[2] == "ilẹ̀"
    bare = MarkRestorer(learn(lines, language="yor", convention="full")[0])
    assert bare.choose(["buredi"])[0].evidence.kind == "new"  # type: ignore[union-attr]
    assert restorer.choose(["buredi"])[0].evidence.kind == "given"  # type: ignore[union-attr]


def test_the_confidence_knows_what_became_of_a_word() -> None:
    past = [Evidence("one", seen=3, word_hits=hits, form_hits=hits) for hits in ((9, 9), (0, 9))] * 100
    weights = fit_confidence([(one, one.word_hits[0] > 0) for one in past])
    assert confidence(past[0], weights) > 0.9 > 0.1 > confidence(past[1], weights)
    model = MarkModel.from_bytes(toned_model())
    assert any(judged for some in model.hits.values() for _, judged in some)
    assert all(right <= judged for some in model.hits.values() for right, judged in some)


def test_forms_with_the_same_dots_speak_together_for_them() -> None:
    assert likeliest([0.4, 0.35, 0.25], ["owo", "ọwọ", "ọwọ"]) == 1
    assert likeliest([0.6, 0.3, 0.1], ["owo", "ọwọ", "ọwọ"]) == 0


def test_what_is_marked_stays() -> None:
    restorer = MarkRestorer(MarkModel.from_bytes(toned_model()))
    for text in (*TONED, "", "12, 3!", "ọmọ mi lọ́ sílé", "ሰላም"):
        assert restorer(text, ReadingTrace()) == text
    assert restorer("ile bàba ni omi mi lo", ReadingTrace()).split()[1] == "bàba"


def test_typed_dots_are_kept() -> None:
    restorer = MarkRestorer(MarkModel.from_bytes(toned_model()))
    after = restorer("mo fẹ ra omi ni ọja, ẹkọ yii", ReadingTrace())
    assert after == "mo fẹ́ ra omi ní ọjà, ẹ̀kọ́ yìí"
    assert stripped(after) == "mo fe ra omi ni oja, eko yii"


def test_capitals_tell_names_from_words() -> None:
    names = ["Kalo", "Mata", "Sika", "Tano", "Wale", "Doro", "Bimo", "Gato", "Lamo", "Rano", "Fako", "Hamo"]
    lines = [*TONED, *(f"mo rí {name} ní ọjà" for name in names)] + [
        f"mo rí {n.lower()}\u0301 ní ọjà" for n in names[:6]
    ]
    restorer = MarkRestorer(learn(lines * 2, language="yor", convention="full")[0])
    assert restorer("mo ri nafo ni oja", ReadingTrace(), cased="Mo ri Nafo ni oja").split()[2] == "nafo"
    assert "".join(word_shapes(["Mo", "rí", "Ade", ",", "UNO", ".", "Ó", "12", "Ó"])) == "scC0A0s0C"
    assert in_capitals("ó rí adé.", like="Ó rí ADÉ.") == "Ó rí ADÉ."


def test_a_letter_before_an_apostrophe_is_no_word() -> None:
    lines = [*TONED, *[f"{word} ḿ" for word in ("ọmọ", "ilé", "omi")] * 3]
    restorer = MarkRestorer(learn(lines, language="yor", convention="full")[0])
    assert restorer("ile m'omi", ReadingTrace()).endswith("m'omi")


def test_marks_are_put_on_letters_in_their_case() -> None:
    assert with_marks("Oja", ["\u0323", "", "\u0300"]) == "Ọjà"


def test_readings_tell_what_was_written_restored_and_unknown(model: Path) -> None:
    settings = ReadingSettings(restore="tones", restorer=str(model))
    frontend = for_language(load("yor"), settings=settings)
    reading = frontend.read("o fe lo si oja, zukulu")
    assert reading.normal.startswith("ó fẹ́ lọ sí ọjà")
    assert reading.words[1].tones in (("H",), ("?",))
    assert set(reading.restored) == set(range(6))
    assert set(reading.words[5].tones) == {"?"}  # a word that it has never seen
    assert sum(reading.tone_sources().values()) == sum(len(word.tones) for word in reading.words)
    assert from_state(frontend.state()).read("o fe lo si oja").normal == "ó fẹ́ lọ sí ọjà"  # as a voice carries it
    assert not for_language(load("yor")).read("o fe lo").restored


def test_a_sure_word_has_its_tones() -> None:
    lines = [f"{a} {b}" for a in ("bàbá", "ìyá", "omi", "ẹja") for b in ("mi", "wọn", "yín", "rẹ̀", "wa")] * 6 + TONED
    model = learn(lines, language="yor", convention="full")[0]
    assert any(choice.sure for choice in MarkRestorer(model).choose(["baba", "mi"]))


def test_an_unknown_word_is_told_by_the_known_words_in_it() -> None:
    stems = {"ile": "012", "omo": "101"}
    told = [set(stem_features("omoile", at, "aeiou", stems)) for at in (2, 3)]
    assert {"sob", "po1"} <= told[0] and {"si0", "pia"} <= told[1]
    assert {"si-", "pi-"} <= set(stem_features("ile", 0, "aeiou", stems))  # a word is no stem of itself


def test_the_model_that_comes_with_yoruba() -> None:
    data = (Path(str(load("yor").folder)) / MARKS).read_bytes()
    assert len(data) < 1_000_000
    assert MarkModel.from_bytes(data).scale < 0.5  # with 1 every chance would be 0 or 1
    assert MARKS not in load("yor").files()  # only a reading that asks for it takes it along
    frontend = open_frontend("yor", settings=ReadingSettings(restore="tones"))
    assert frontend.read("A fe lo ra omi ni oja.").normal == "a fẹ́ lọ ra omi ní ọjà."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "text.txt: nothing is written there"),
        ("fẹ", "fewer than 20 different words with marks"),
        (
            " ".join(f"wọ́rd{chr(97 + n)} plain text without its tones here" for n in range(25)),
            "mark only some of their",
        ),
    ],
)
def test_texts_that_cannot_teach(text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from olu.stages.marks import run
    from olu.stages.verbs.corpus import MarksOptions

    path = tmp_path / "text.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LanguageError, match=said):
        run(MarksOptions(what="learn", texts=(path,), language="yor" if "wọ́rd" in text else "vie"))


def test_models_of_others_are_refused(model: Path, tmp_path: Path) -> None:
    with pytest.raises(LanguageError, match="was learnt from yor, and this is ibo"):
        for_language(load("ibo"), settings=ReadingSettings(restore="tones", restorer=str(model)))
    with pytest.raises(LanguageError, match="does something else"):
        for_language(load("hau"), settings=ReadingSettings(reader=str(model)))
    other = tmp_path / "other.npz"
    other.write_bytes(b"no model")
    with pytest.raises(LanguageError, match="is no model that Olu has learnt"):
        for_language(load("yor"), settings=ReadingSettings(restore="tones", restorer=str(other)))
    for own, named in (("", "the restorer of Yoruba"), (str(model), r"m\S+\.npz")):
        with pytest.raises(LanguageError, match=named + " puts back tones, not geminates: say --restore tones"):
            for_language(load("yor"), settings=ReadingSettings(restore="geminates", restorer=own))
    with pytest.raises(LanguageError, match="no restorer of marks comes with Swahili"):
        for_language(load("swa"), settings=ReadingSettings(restore="tones"))


def test_a_list_gives_its_own_patterns(tmp_path: Path) -> None:
    from olu.stages.marks import run
    from olu.stages.verbs.corpus import MarksOptions

    words = ["àbà", "ákà", "ìsì", "àkwà", "égbè", "òkè", "ìkè", "ụ̀kwụ̀", "ọ̀kụ̀", "ènyì"]
    rows = [f"{word}{tail}\tnoun" for word in words for tail in ("", "la", "rachi")]
    path = tmp_path / "list.tsv"
    path.write_text("\n".join(unicodedata.normalize("NFC", row.replace("á", "a").replace("é", "e")) for row in rows))
    made = run(MarksOptions(what="learn", texts=(path,), language="ibo", output=tmp_path / "ibo.npz"))
    assert made.convention == "unmarked_high"
    frontend = open_frontend("ibo", settings=ReadingSettings(restore="tones", restorer=made.file))
    assert frontend.read("akwa").words[0].tones == ("L", "L")
    assert frontend.read("aka").words[0].tones == ("H", "L")
    assert frontend.read("ukwula").words[0].tones == ("L", "L", "H")
    bare = open_frontend("ibo")  # restores dots, which a list of tones knows less well
    for text in ("Okeosisi kwuru na elu ozugbo", "ha gara ahia tupu chi ojiji"):
        told = frontend.read(text)
        assert told.restored
        assert _dots(told.normal) == _dots(bare.read(text).normal)


def _dots(text: str) -> list[tuple[str, ...]]:
    return [dots_of(split_marks(word)[1]) for word in text.split()]


def test_a_learnt_reading_and_a_chain(tmp_path: Path) -> None:
    syllables = {"ba": "b aː", "ki": "k i", "tsu": "sʼ ú", "sha": "ʃ à", "ne": "n e"}
    words = {a + b + c: tuple(f"{x} {y} {z}".split()) for a, x in syllables.items() for b, y in syllables.items()
             for c, z in syllables.items()}  # fmt: skip
    model, report = learn_phones(words, language="hau")
    assert report.word_errors < 0.05 < report.letter_word_errors
    path = tmp_path / "hau.npz"
    path.write_bytes(model.to_bytes())
    settings = chosen_settings({"reader": str(path), "chain": "lexicon, learnt, letters"})
    frontend = for_language(load("hau"), settings=settings, lexicon={"wow": "w a w"})
    reading = frontend.read("tsusha wow zzz")
    assert reading.words[0].phones == ("sʼ", "u", "ʃ", "a")
    assert reading.words[0].tones == ("H", "L")
    assert reading.words[1].phones == ("w", "a", "w")
    assert reading.words[2].phones == ("z", "z", "z")
    assert reading.read_by == {"learnt": 1, "lexicon": 1, "letters": 1}
    again = from_state(json.loads(json.dumps(frontend.state())))
    assert again.read("tsusha wow zzz") == reading


def test_rules_fall_back_word_by_word() -> None:
    frontend = for_language(load("swa"), settings=chosen_settings({"chain": "rules,letters"}))
    reading = frontend.read("habari здраво")
    assert reading.read_by == {"rules": 1, "letters": 1}
    with pytest.raises(ConfigError, match="at most once"):
        chosen_settings({"chain": "rules,guess"})


def test_a_file_of_marked_yoruba_is_read_as_marked(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("\n".join([*TONED, "ọmọ mi"]), encoding="utf-8")
    assert [word.tones for word in list(read_lines(path, language="yor"))[-1].words] == [("M", "M"), ("M",)]
    assert [word.tones for word in open_frontend("yor").read("ọmọ mi").words] == [("?", "?"), ("?",)]


@pytest.mark.parametrize(
    ("text", "tones", "lost"),
    [
        ("égó ꜜányị́", [("H", "H"), ("D", "H")], 0),
        ("ísì ꜜányị́", [("H", "L"), ("H", "H")], 1),
        ("égó, ꜜányị́", [("H", "H"), ("H", "H")], 1),
        ("égó ꜜ ányị́", [("H", "H"), ("H", "H")], 1),
        ("éꜜgó", [("H", "D")], 0),
    ],
)
def test_a_downstep_before_a_word(text: str, tones: list[tuple[str, ...]], lost: int) -> None:
    reading = open_frontend("ibo", settings=ReadingSettings(options={"tone_convention": "full"})).read(text)
    assert [word.tones for word in reading.words] == tones
    assert reading.dropped.get("ꜜ", 0) == lost


def test_geminates_from_a_list(tmp_path: Path) -> None:
    from olu.stages.marks import run
    from olu.stages.verbs.corpus import MarksOptions

    heads = {"ሁለት": "h u l ə tː", "ሐሳብ": "h a sː a b", "ገና": "ɡ ə nː a", "መቶ": "m ə t o"}
    tails = {"": "", "ን": " n", "ም": " m", "ና": " n a", "ው": " w", "ሽ": " ʃ", "ዋ": " w a", "ቱ": " t u"}
    rows = [f"{a}{b}\t{x}{y}" for a, x in heads.items() for b, y in tails.items()]
    path = tmp_path / "list.tsv"
    path.write_text("\n".join(rows), encoding="utf-8")
    made = run(MarksOptions(what="learn", texts=(path,), language="amh", output=tmp_path / "amh.npz"))
    assert not any(
        "tones" in line for line in made.sentences(MarksOptions(what="learn", texts=(path,), language="amh"))
    )
    with pytest.raises(LanguageError, match="puts back geminates, not tones: say --restore geminates"):
        open_frontend("amh", settings=ReadingSettings(restore="tones", restorer=made.file))
    frontend = open_frontend("amh", settings=ReadingSettings(restore="geminates", restorer=made.file))
    assert frontend.read("ሐሳብ").words[0].phones == ("h", "a", "sː", "a", "b")
    assert frontend.read("ለመሆኑ").words[0].phones == open_frontend("amh").read("ለመሆኑ").words[0].phones


def test_the_command_line(tmp_path: Path, model: Path) -> None:
    from typer.testing import CliRunner

    said = CliRunner().invoke(
        app, ["read", "-l", "yor", "--restore", "tones", "--restorer", str(model), "--json", "o fe lo si oja"]
    )
    assert json.loads(said.output)["normal"] == "ó fẹ́ lọ sí ọjà"
    text = tmp_path / "toned.txt"
    text.write_text("\n".join(TONED * 3), encoding="utf-8")
    said = CliRunner().invoke(app, ["marks", "learn", str(text), "-l", "yor", "-o", str(tmp_path / "m.npz"), "--json"])
    assert json.loads(said.output)["language"] == "yor"

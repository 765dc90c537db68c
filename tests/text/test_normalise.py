"""Dates, money, hours, units and abbreviations as words, in five languages."""

from __future__ import annotations

import os
import random
import unicodedata
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olu.core.errors import OluError
from olu.text.language_data import Pack, ReadingTrace
from olu.text.languages import load
from olu.text.normalise.steps import Normaliser
from olu.text.normalise.written_numbers import has_number

CORPORA = Path(os.environ.get("OLU_SHARED", Path(__file__).parents[3] / "shared")) / "corpora"
TABLES = Path(__file__).parent / "normal"
DIALECTS = {"spa": "es-ES"}
LANGUAGES = ("ibo", "amh", "spa", "yor", "swa")


@cache
def normaliser(code: str, dialect: str | None = None, clock: str | None = None) -> Normaliser:
    options = {"clock": clock} if clock else {}
    return Normaliser(Pack.of(load(code).files(), dialect=dialect, options=options))


def say(text: str, code: str, dialect: str | None = None, clock: str | None = None) -> str:
    return normaliser(code, dialect, clock).normalise(text, ReadingTrace())


@pytest.mark.parametrize("code", LANGUAGES)
def test_table(code: str) -> None:
    lines = (TABLES / f"{code}.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    assert len(rows) >= 40
    wrong = [(text, say(text, code, DIALECTS.get(code)), words) for text, words in rows]
    assert [row for row in wrong if row[1] != row[2]] == []


@pytest.mark.parametrize(
    ("text", "dialect", "words"),
    [
        ("1.281", "es-ES", "mil doscientos ochenta y uno"),
        ("1,281", "es-419", "mil doscientos ochenta y uno"),
        ("1.281", "es-419", "uno punto dos ocho uno"),
        ("3.14", "es-CU", "tres punto catorce"),
        ("3,14", "es-AR", "tres coma catorce"),
        ("1.234.567", "es-419", "un millón doscientos treinta y cuatro mil quinientos sesenta y siete"),
        ("1.234,5", "es-419", "mil doscientos treinta y cuatro coma cinco"),
        ("$1", "es-419", "un dólar"),
        ("$21", "es-AR", "veintiún pesos"),
        ("1 de mayo", "es-ES", "uno de mayo"),
        ("1 de mayo", "es-419", "primero de mayo"),
    ],
)
def test_spanish_dialects(text: str, dialect: str, words: str) -> None:
    assert say(text, "spa", dialect) == words


@pytest.mark.parametrize(
    ("text", "code", "clock", "words"),
    [
        ("7:00", "amh", "printed", "ሰባት ሰዓት"),
        ("7:00", "amh", "ethiopian", "ከጠዋቱ አንድ ሰዓት"),
        ("15:30", "amh", "ethiopian", "ከሰዓት ዘጠኝ ሰዓት ተኩል"),
        ("18:00", "amh", "ethiopian", "ከምሽቱ አሥራ ሁለት ሰዓት"),
        ("7:00", "swa", "printed", "saa saba"),
        ("7:00", "swa", "swahili", "saa moja asubuhi"),
        ("13:15", "swa", "swahili", "saa saba na robo mchana"),
        ("0:30", "swa", "swahili", "saa sita na nusu usiku"),
        ("7:00-13", "swa", "swahili", "saa moja asubuhi hadi saa saba mchana"),
    ],
)
def test_the_hour_as_people_count_it(text: str, code: str, clock: str, words: str) -> None:
    assert say(text, code, clock=clock) == words


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("saa 3:30", "swa", "saa tatu na nusu"),  # saa is not said twice
        ("asilimia 5%", "swa", "asilimia tano"),
        ("a las 3:30", "spa", "a las tres y media"),
        ("COVID19", "swa", "COVID kumi na tisa"),
        ("በ2015", "amh", "በሁለት ሺህ አሥራ አምስት"),
        ("ለ፪ሺህ", "amh", "ለሁለት ሺህ"),
        ("ግንቦት20/2008", "amh", "ግንቦት ሃያ ቀን ሁለት ሺህ ስምንት"),
        ("bei ni tsh 1,500/= tu", "swa", "bei ni shilingi elfu moja mia tano tu"),
        ("1,500/= tu", "swa", "shilingi elfu moja mia tano tu"),
        ("10:30-11:45", "spa", "las diez y media - las once y cuarenta y cinco"),
        ("በ1960ዎቹ", "amh", "በአሥራ ዘጠኝ መቶ ስልሳዎቹ"),
        ("10 a.m.", "ibo", "elekere iri nke ụtụtụ"),
        ("2019reacts", "swa", "elfu mbili na kumi na tisa reacts"),
        ("u.s.a.", "spa", "u.s.a."),  # no sociedad anónima in it
        ("los km que faltan", "spa", "los kilómetros que faltan"),
        ("mz okeke", "ibo", "mazị okeke"),
        ("mee 5 ihe", "ibo", "mee ise ihe"),  # mee is a verb, not May
        ("25.000 personas", "spa", "veinticinco mil personas"),
        ("$1.000", "spa", "mil dólares"),
        ("3.141", "spa", "tres punto uno cuatro uno"),
        ("el 10 -5 %", "spa", "el diez menos cinco por ciento"),
        ("de 5 -10", "spa", "de cinco menos diez"),
        ("Rocky XIV y XV", "spa", "Rocky catorce y quince"),
        ("tipo X y XX-9", "spa", "tipo equis y equis equis nueve"),
        ("cromosoma XXI.", "spa", "cromosoma veintiuno."),
        ("wakaenda nyumbani na. baadaye", "swa", "wakaenda nyumbani na. baadaye"),
    ],
)
def test_what_stands_around_a_number(text: str, code: str, words: str) -> None:
    assert say(text, code) == words


def test_capitals_are_spelled_and_headings_are_not() -> None:
    assert say("aliambia BBC leo", "swa") == "aliambia bii bii si leo"
    assert say("HABARI ZA DRC LEO", "swa") == "HABARI ZA DRC LEO"
    assert say("shirika la UNICEF", "swa") == "shirika la UNICEF"
    assert say("sauti ya drc", "swa") == "sauti ya di ari si"  # no vowel: letters even in small print
    assert say("pagó USD 5", "spa") == "pagó cinco dólares"


def test_the_point_behind_capitals_stays() -> None:
    assert say("hapa Washington DC.", "swa") == "hapa Washington di si."
    assert say("hapa Washington D.C. leo", "swa") == "hapa Washington di si leo"


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("Plan B.", "spa", "Plan be."),
        ("con n de nada", "spa", "con n de nada"),  # small, and nothing calls it a letter
        ("la consonante n", "spa", "la consonante ene"),
        ("Dijo: Y tú", "spa", "Dijo: Y tú"),
        ("LETRA Y MÚSICA", "spa", "LETRA Y MÚSICA"),
        ("Letra Y Música", "spa", "Letra Y Música"),
        ("J. R. Pérez", "spa", "jota erre Pérez"),
        ("5 DIC 2020", "spa", "cinco de diciembre de dos mil veinte"),
        ("a las 8 AM", "spa", "a las ocho de la mañana"),
        ("N'Djamena y X-Men", "spa", "N'Djamena y X-Men"),
        ("HOY hay LUZ", "spa", "HOY hay LUZ"),
        ("saa 8 A.M.", "swa", "saa nane asubuhi"),
        ("Fítámì C", "yor", "Fítámì sí"),
        ("N kò lọ", "yor", "N kò lọ"),
        ("otu X", "ibo", "otu ekisi"),
        ("M na-eri", "ibo", "M na-eri"),
    ],
)
def test_a_letter_alone_has_a_name_where_it_is_no_word(text: str, code: str, words: str) -> None:
    assert say(text, code) == words


def test_every_change_is_noted() -> None:
    notes = ReadingTrace()
    normaliser("spa").normalise("el 3 de mayo pagó $5 al sr. gil a las 7:30, 20 %", notes)
    rules = {step.rule: step for step in notes.steps}
    assert set(rules) == {"date", "money", "abbreviation", "clock", "percent"}
    assert rules["money"].before == "$5"
    assert rules["money"].after == "cinco dólares"
    assert all(step.stage == "normalise" for step in notes.steps)


def test_a_text_with_nothing_to_do_stays_as_it_is() -> None:
    notes = ReadingTrace()
    text = "Habari ya asubuhi, rafiki."
    assert normaliser("swa").normalise(text, notes) == text
    assert notes.steps == []


def bare(**files: str) -> Pack:
    toml = 'code = "xyz"\nname = "X"\nnative = "X"\nscript = "Latn"\nlower = true\nsentence_ends = ["."]\n'
    return Pack.of({"language.toml": toml.encode(), **{name: text.encode() for name, text in files.items()}})


def test_a_language_without_numbers_keeps_its_digits() -> None:
    notes = ReadingTrace()
    assert Normaliser(bare()).normalise("10 dr. ½", notes) == "10 dr. ½"
    assert notes.steps == []
    short = bare(**{"abbreviations.tsv": "dr.\tdoctor\n"})
    assert Normaliser(short).normalise("10 dr. x", ReadingTrace()) == "10 doctor x"


def test_numbers_alone_are_enough() -> None:
    rules = '[cardinal]\nlimit = 10\nrules = [{ at = 0, words = "o i ii iii iv v vi vii viii ix" }]\n'
    ours = Normaliser(bare(**{"numbers.toml": rules}))
    assert ours.normalise("3 x 14, 2.5", ReadingTrace()) == "iii x i iv, ii v"


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("normalise.toml", "[figurs]\n", "unknown key 'figurs'"),
        ("normalise.toml", '[[context]]\nset = "cardinl"\n', "did you mean 'cardinal'"),
        ("normalise.toml", '[[context]]\nset = "cardinal"\nbefore = "("\n', "regular expression"),
        ("normalise.toml", '[money]\nsigns = { "$" = "dolar" }\nunits = {}\n', "none of the units"),
        ("abbreviations.tsv", "dr.\tdoctor\tclosed\n", "perhaps end, number, open"),
        ("units.tsv", "km\tkilo\tkilos\tfeminine\n", "no set 'feminine'"),
    ],
)
def test_a_mistake_in_a_file_is_explained(name: str, text: str, says: str) -> None:
    numbers = '[cardinal]\nrules = [{ at = 0, by = 2, say = "a" }]\n'
    with pytest.raises(OluError) as told:
        Normaliser(bare(**{"numbers.toml": numbers, name: text}))
    assert says in str(told.value)


@pytest.mark.parametrize("code", ["amh", "yor", "swa"])
def test_real_lines_keep_no_digit(code: str) -> None:
    table = CORPORA / code / "metadata.csv"
    if not table.is_file():
        pytest.skip(f"the corpus {code} is not here")
    lines = table.read_text(encoding="utf-8").splitlines()
    assert len(lines) > 200
    for line in lines:
        said = say(line.split("|", 1)[1], code)
        assert not has_number(said), line
        assert say(said, code) == said


MIXED = (
    "0 1 2 3 12 21 100 1985 2015 08 1,234 1.234 3.5 ½ ² ³ ፲ ፻ ኛ በ ከ ን ₦ N # $ € % ° °C km m kg x : / - – . , am pm "
    "12:30 1/2 14/11/2026 may mar mee Novemba enero ዓ.ም ዓ / ም. BBC GOC a.m. http://a.b x@y.z Sr. dr bi. na. "
    "nke ya siglo xx felipe v la las casas ٣ ３ Ⅳ ① ሺ ብር መስከረም ቀን S. A. EE. UU. ( ) +234 803"
)
MADE = st.lists(st.sampled_from([*MIXED.split(), *" \né"]), min_size=1, max_size=8).map("".join)
SETTINGS = [("ibo", None, None), ("amh", None, "ethiopian"), ("spa", "es-ES", None), ("spa", "es-419", None)]
SETTINGS += [("yor", None, None), ("swa", None, "swahili")]


@pytest.mark.parametrize(("code", "dialect", "clock"), SETTINGS)
@given(text=MADE | st.text(max_size=20))
def test_any_text(code: str, dialect: str | None, clock: str | None, text: str) -> None:
    """Never an exception, no digit left that has a value, the same again when said again, NFC as NFD."""
    said = say(text, code, dialect, clock)
    assert say(said, code, dialect, clock) == said
    assert say(unicodedata.normalize("NFD", text), code, dialect, clock) == say(
        unicodedata.normalize("NFC", text), code, dialect, clock
    )
    assert not [char for char in said if unicodedata.category(char) == "Nd"]


@pytest.mark.parametrize("code", LANGUAGES)
def test_long_rows_of_signs(code: str) -> None:
    """Five thousand digits are digits, and nothing takes for ever."""
    rows = ("1", "1,", "1-", "1/", "1:", "1 ", "0(", "፼", "፲፻", "A.", "a@", "www.", "b", ".", "²", "-")
    for row in rows:
        assert not has_number(say(row * 2_000, code))


def test_many_random_dates_sums_and_hours() -> None:
    rng = random.Random(3)
    for _ in range(100):
        date = f"{rng.randrange(1, 29)}/{rng.randrange(1, 13)}/{rng.randrange(1900, 2100)}"
        money = f"{rng.choice('₦$€£')}{rng.randrange(10**9)}.{rng.randrange(100):02d}"
        clock = f"{rng.randrange(24)}:{rng.randrange(60):02d}"
        for code in LANGUAGES:
            said = say(f"{date}; {money}; {clock}; {rng.randrange(1000)}%", code)
            assert not has_number(said)
            assert len([part for part in said.split(";") if part.strip()]) == 4, said

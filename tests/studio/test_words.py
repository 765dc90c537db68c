"""Words of the interface: one file a language, chosen by request, with nothing that the collector does not see."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import olu.studio
from olu.core.errors import ConfigError
from olu.evaluate.listening import KINDS
from olu.evaluate.words import SPLIT
from olu.studio import exports, forms, guard, paths, remedies, words
from olu.studio.pages import align, audit, clips, home, imports
from olu.studio.pages.jobs import _parted
from olu.studio.people import ROLES
from olu.studio.render import MONTHS, TABS

from ..helpers.studio import StudioClient

HOME = Path(olu.studio.__file__).parent
SOURCES = [*sorted(HOME.glob("templates/*.html")), *sorted(HOME.glob("parts/*.js")), *sorted(HOME.rglob("*.py"))]
JINJA = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", re.S)
SILENT = re.compile(r"<(script|style|code|kbd|pre|title)\b.*?</\1>|<[^<>]*>", re.S)
NAMES = {"Olu", "Studio", "TextGrid", "UTC", "CC", "BY", "SA", "NC", "true", "false"}  # names, licences and values
NAMES |= {"wav", "mp", "flac", "opus", "cpu", "cuda", "mps"}
CALL = words.LITERAL
QUOTED = re.compile(r""""((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`""")
SENTENCE = re.compile(r"[A-Za-z]{2,}[,.:;]? [A-Za-z]{2,}|^[A-Z][a-z]+[ .…?]?$|[a-z][.…?]$")
# What looks like a sentence in a template's expressions and in a script, and is none.
CODE = re.compile(
    r"^(Enter|Escape|/api/events\?|[a-z.]+\.|12px system-ui|the device kept nothing|no side|Plans that were tried"
    r"|Running|(button, )?input, textarea.*|tbody tr|\(prefers-.*|\(hover.*|\.check .*|color-mix.*|.*--base embedded.*"
    r"|(soft|card|small|tag|phone) [a-z -]+)$"
)
# Said in a terminal only, or of the words of a command; the sentences of jobs stand in their logs as well.
TERMINAL = ("start.py", "jobs_command.py", "job_files.py", "verbs.py", "words.py")
# The numbers that take the singular, by Unicode's rules (CLDR); Igbo and Yoruba have one form, whatever the number.
ONE = {"am": [0, 1], "es": [1], "fr": [0, 1], "ig": [1], "sw": [1], "yo": [1]}
# What is typed or is a file's name stays as it is.
TYPED = re.compile(r"--[a-z][a-z-]*|'olu [^']*'|\b[\w-]+\.(?:toml|csv|srt|mkv)\b|total=BYTES|[<&]|\[\[", re.ASCII)


@cache
def asked() -> set[str]:
    """Every sentence that a page may ask for: by its words, or by a name from one of these tables."""
    named = {title for _, title in TABS} | {*align.ORDERS.values(), *clips.ORDERS.values(), *KINDS.values(), *ROLES}
    named |= {*clips.GROUPS, "no side", "undecided", "no name"}  # of the chips above the list
    named |= {*remedies.WORDS.values(), *remedies.ABOUT.values(), *audit.WORDS.values(), *audit.TITLES.values()}
    named |= set(MONTHS)
    named |= {title for title, _ in forms.GROUPS} | {said for _, said, _ in home.STAGES}
    named |= {said for door in imports.DOORS for said in door[1:]} | {title for title, _ in _parted([])}
    named |= {
        *SPLIT.values(),
        exports.OWN_PACKAGE,
        exports.VOCODER_PACKAGE,
        guard.NO_KEY,
        paths.OUTSIDE,
        "letters",
        "phones",
    }
    named |= {"fresh", "stale", "missing", "moved", "running", "open", "ended", "taken back"}  # stages and links
    named |= {"train", "valid", "test", "drop", "keep", "trim", "cap"}  # of the chips
    named |= {"Learning rate", "Gradient norms", "Movement of the weights per update, as a share of them"}  # curves
    return named | {one for path in SOURCES for one in words.literals(path.read_text(encoding="utf-8"))}


def bare_words(template: str) -> list[str]:
    """Words that stand in a template outside t()."""
    text = SILENT.sub(" ", JINJA.sub(" ", template))
    return [one for one in re.findall(r"[A-Za-z]{2,}", re.sub(r"&\w+;", " ", text)) if one not in NAMES]


def test_the_collector_sees_every_literal() -> None:
    seen = 0
    for path in SOURCES[: -len(list(HOME.rglob("*.py")))]:
        source = path.read_text(encoding="utf-8")
        calls = re.findall(r"""(?<![\w.$])t\(\s*["'`]""", source)
        assert len(words.LITERAL.findall(source)) == len(calls), path.name  # none in backticks, none broken over lines
        seen += len(calls)
    assert seen > 900
    assert words.literals("""{{ t("a \\"b\\" {n}", n=1) }} t('it') set("no") x.t("no")""") == ['a "b" {n}', "it"]
    assert words.literals("""t("{n} clip", "{n} clips", n=1) t("a", f("b"))""") == ["{n} clip", "{n} clips", "a"]


@cache
def pairs() -> set[tuple[str, str]]:
    """Sentences in two forms, for one and for several."""
    found = (one for path in SOURCES for one in words.LITERAL.finditer(path.read_text(encoding="utf-8")))
    return {(one[1] or one[2], one[3] or one[4]) for one in found if one[3] or one[4]}


@pytest.mark.parametrize("code", sorted(ONE))
def test_a_language_says_all_that_is_asked(code: str) -> None:
    held = words.languages()[code]
    assert not held.checked and held.name and held.direction == "ltr" and list(held.one) == ONE[code]
    assert sorted(asked() - set(held.words)) == [], "these stay English"
    assert sorted(set(held.words) - asked()) == [], "no page asks for these any more"
    for english, said in held.words.items():
        assert said and said.rstrip() == said and "<" not in said.replace("<,", "").replace("<፣", ""), english
        assert Counter(words.VALUE.findall(said)) == Counter(words.VALUE.findall(english)), english
        assert Counter(TYPED.findall(said)) == Counter(TYPED.findall(english)), english
        if english[-1] in ".:;…" and english[-2:] != " :":
            assert said[-1] in ("።፦፤…" if code == "am" else english[-1]), english


def test_every_language_is_held() -> None:
    assert sorted(words.languages()) == sorted(["en", *ONE])
    assert len(pairs()) > 30 and all(("{n}" in one) == ("{n}" in several) for one, several in pairs() if "{n}" in one)


def test_values_that_differ_are_refused() -> None:
    with pytest.raises(ConfigError, match="does not hold the values"):
        words.read_language("xx", 'name = "X"\n[words]\n"You are {name}" = "Tu es {nom}"\n')


@pytest.mark.parametrize("path", sorted(HOME.glob("templates/*.html")), ids=lambda path: path.stem)
def test_pages_hold_no_word_outside(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert bare_words(source) == []
    spoken = re.findall(r"""\b(?:aria-label|alt|title)=["']([^"']*)""", JINJA.sub("", source))
    assert not [one for one in spoken if re.search("[A-Za-z]{2,}", one) and not one.startswith("olu ")]
    inside = [CALL.sub("t(", one) for one in JINJA.findall(source) if not one.startswith("{#")]
    assert unmarked("\n".join(one for one in inside if not re.match(r"{%-? *(extends|import|include)", one))) == []
    assert bare_words("<p>{{ t('In') }} Out <code>not this</code></p>") == ["Out"]


@pytest.mark.parametrize("path", sorted(HOME.glob("parts/*.js")), ids=lambda path: path.stem)
def test_scripts_hold_no_sentence_outside(path: Path) -> None:
    source = re.sub(r"(?m)(^|\s)//.*$", "", path.read_text(encoding="utf-8"))
    assert unmarked(CALL.sub("t(", source)) == []
    assert unmarked("""tell("Not this one."); tell(`Nor ${this} one.`)""") == ["Not this one.", "Nor  one."]


def unmarked(source: str) -> list[str]:
    """Sentences in quotes."""
    found = (re.sub(r"\$\{[^}]*\}", "", next(filter(None, one.groups()), "")) for one in QUOTED.finditer(source))
    return [one for one in found if SENTENCE.search(one) and not CODE.match(one)]


@pytest.mark.parametrize("path", [one for one in SOURCES if one.suffix == ".py" and one.name not in TERMINAL])
def test_refusals_are_said_in_the_language_of_the_page(path: Path) -> None:
    """What is raised with a sentence of its own asks `t` for it."""
    raised = [one.exc for one in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(one, ast.Raise)]
    said = [one.args[0] for one in raised if isinstance(one, ast.Call) and one.args]
    written = [ast.unparse(one) for one in said if isinstance(one, ast.Constant | ast.JoinedStr)]
    known = (
        "the two passphrases",
        "{where}: ",
        "it is no summary",
    )  # a terminal's, pydantic's, a part
    assert [one for one in written if " " in one and not any(part in one for part in known)] == []


@pytest.mark.parametrize(
    ("cookie", "accepted", "code"),
    [
        ("", "", "en"),
        ("", "fr-CA, fr;q=0.9, en;q=0.8", "fr"),
        ("", "de, sw;q=0.4, yo;q=0.7", "yo"),
        ("", "de, it;q=0.5", "en"),
        ("", "en-GB, fr;q=0.9", "en"),
        ("", "am;q=0, ig;q=x, ;;;, es;q=0.1", "es"),
        ("am", "fr", "am"),
        ("../etc", "fr", "fr"),
    ],
)
def test_the_language_is_chosen(cookie: str, accepted: str, code: str) -> None:
    assert words.chosen(cookie, accepted).code == code


def test_a_page_comes_in_the_language_of_its_request(tmp_path: Path) -> None:
    client = StudioClient.of(tmp_path)
    english = client.get("/").text
    assert '<html lang="en" dir="ltr">' in english and "unchecked" not in english and "/parts/words/en" not in english
    french = client.get("/", **{"accept-language": "fr"}).text
    assert '<html lang="fr" dir="ltr">' in french and "Espaces de travail" in french
    assert "n&#39;a encore vérifié" in french and 'src="/parts/words/fr.js"' in french
    assert "Un espace de travail contient" in french and "A workspace holds" not in french
    assert client.get("/").text == english  # nothing stays behind for the next request
    assert "Réglages" in client.get("/parts/words/fr.js").text
    assert 'value="yo" lang="yo"' in client.get("/settings").text


def test_a_page_runs_from_right_to_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arabic = words.read_language("ar", 'name = "العربية"\ndirection = "rtl"\n[words]\n"Settings" = "الإعدادات"\n')
    monkeypatch.setattr(words, "languages", lambda: {"en": words.ENGLISH, "ar": arabic})
    page = StudioClient.of(tmp_path).get("/settings", **{"accept-language": "ar"}).text
    assert '<html lang="ar" dir="rtl">' in page and "<h1>الإعدادات</h1>" in page


@pytest.mark.parametrize("path", [*sorted(HOME.glob("parts/*.css")), HOME.parent / "pages/templates/style.css"])
def test_style_runs_either_way(path: Path) -> None:
    """Left and right only in what runs along time or loudness."""
    found = re.findall(
        r"[^;{}]*\b(?:margin|padding|border|text-align:)[- ]*(?:left|right)\b[^;}]*", path.read_text("utf-8")
    )
    assert not found


def test_one_and_several(monkeypatch: pytest.MonkeyPatch) -> None:
    def said(n: int) -> str:
        return words.t("{n} clip", "{n} clips", n=n)

    assert [said(n) for n in (0, 1, 2, 1200)] == ["0 clips", "1 clip", "2 clips", "1,200 clips"]
    french = words.read_language(
        "fr", 'name = "F"\none = [0, 1]\n[words]\n"{n} clip" = "{n} extrait"\n"{n} clips" = "{n} extraits"\n'
    )
    monkeypatch.setattr(words, "interface", lambda: french)
    assert [said(n) for n in (0, 1, 2)] == ["0 extrait", "1 extrait", "2 extraits"]
    assert words.t("{n} word", "{n} words", n=0) == "0 words"  # what a language lacks is said as English says it
    assert "oluOne = [0, 1]" in french.script

"""Words of the interface: one file a language, chosen by request, with nothing that the collector does not see."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import olu.studio
from olu.core.errors import ConfigError
from olu.evaluate.listening import KINDS
from olu.studio import exports, forms, guard, remedies, words
from olu.studio.pages import align, audit, clips, home, imports
from olu.studio.pages.jobs import _parted
from olu.studio.people import ROLES
from olu.studio.render import MONTHS, TABS

from ..helpers.studio import StudioClient

HOME = Path(olu.studio.__file__).parent
SOURCES = [*sorted(HOME.glob("templates/*.html")), *sorted(HOME.glob("parts/*.js")), *sorted(HOME.rglob("*.py"))]
JINJA = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", re.S)
SILENT = re.compile(r"<(script|style|code|kbd|pre|title)\b.*?</\1>|<[^<>]*>", re.S)
NAMES = {"Olu", "Studio", "TextGrid", "UTC", "wav", "mp3", "flac", "opus", "cpu", "cuda", "mps"}
# What people who are given a link see: all of it goes through t().
PEOPLES = ("recorder", "listen", "clips", "clip_row", "bounds", "align", "enter", "base", "words", "error", "record")
# What every language must have whole: speakers, listeners, reviewers and whoever hands out links read nothing else.
SPOKEN = (
    *("listen.html", "listen.js", "recorder.html", "recorder.js", "enter.html", "words.html"),  # who speaks or listens
    *("base.html", "clips.html", "clip_row.html", "clips.js", "live.js", "wave.js", "error.html"),  # who reviews
    *("align.html", "bounds.html", "bounds.js"),
    *("record.html", "record.js", "people.js"),  # who gives links to speakers
)


def asked() -> set[str]:
    """Every sentence that a page may ask for: by its words, or by a name from one of these tables."""
    named = {title for _, title in TABS} | {*align.ORDERS.values(), *clips.ORDERS.values(), *KINDS.values(), *ROLES}
    named |= {*clips.GROUPS, "no side", "undecided", "no name"}  # of the chips above the list
    named |= {
        *remedies.WORDS.values(),
        *remedies.ABOUT.values(),
        *audit.WORDS.values(),
        *audit.TITLES.values(),
        *MONTHS,
    }
    named |= {title for title, _ in forms.GROUPS} | {said for _, said, _ in home.STAGES}
    named |= {said for _, title, about in imports.DOORS for said in (title, about)} | {
        title for title, _ in _parted([])
    }
    named |= {exports.OWN_PACKAGE, exports.VOCODER_PACKAGE, guard.NO_KEY, "letters", "phones"}
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
    assert seen > 500
    assert words.literals("""{{ t("a \\"b\\" {n}", n=1) }} t('it') set("no") x.t("no")""") == ['a "b" {n}', "it"]
    assert words.literals("""t("{n} clip", "{n} clips", n=1) t("a", f("b"))""") == ["{n} clip", "{n} clips", "a"]


@pytest.mark.parametrize("code", [one for one in words.languages() if one != "en"])
def test_a_language_says_only_what_is_asked_and_lists_what_it_lacks(code: str) -> None:
    held = words.languages()[code]
    assert not held.checked and held.name and held.direction == "ltr"
    unknown = set(held.words) - asked()
    assert not unknown, f"no page asks for these any more: {sorted(unknown)}"
    missing = sorted(asked() - set(held.words))
    sys.stdout.write(f"{code}: {len(held.words)} sentences, {len(missing)} stay English: {missing}\n")  # seen with -rP
    needed = {one for name in SPOKEN for one in words.literals(next(HOME.rglob(name)).read_text(encoding="utf-8"))}
    assert not needed & set(missing)
    for english, said in held.words.items():
        assert said.strip() and set(words.VALUE.findall(said)) == set(words.VALUE.findall(english)), english


def test_values_that_differ_are_refused() -> None:
    with pytest.raises(ConfigError, match="does not hold the values"):
        words.read_language("xx", 'name = "X"\n[words]\n"You are {name}" = "Tu es {nom}"\n')


@pytest.mark.parametrize("name", PEOPLES)
def test_pages_of_people_hold_no_word_outside(name: str) -> None:
    assert bare_words((HOME / f"templates/{name}.html").read_text(encoding="utf-8")) == []
    assert bare_words("<p>{{ t('In') }} Out <code>not this</code></p>") == ["Out"]


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
    assert "A workspace holds the recordings" in french  # not in the file yet: English
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

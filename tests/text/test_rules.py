"""The engine behind letters.tsv and rules.txt: what it says, what it refuses, and that no word is too much for it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olu.core.errors import LanguageError
from olu.text.language_data import Pack
from olu.text.rules.engine import LetterRule, LetterRules, Rules
from olu.text.rules.files import EDGE, Element

ABC = "a\ta\nb\tb\nc\tk\nch\tt͡ʃ\nn\tn\n"


def say(word: str, rules: str = "", *, letters: str = ABC, only: tuple[str, ...] = ()) -> str:
    return " ".join(LetterRules(letters, rules, only=only).say(word).phones)


@pytest.mark.parametrize(
    ("rules", "word", "phones"),
    [
        ("", "chac", "t͡ʃ a k"),  # the longest letter
        ("c -> s / _ a", "chaca", "t͡ʃ a s a"),
        ("c -> s / _ #", "chac", "t͡ʃ a s"),
        ("c -> s / # _", "cac", "s a k"),
        ("c -> s / # _ #", "cac", "k a k"),
        ("c -> s / {a b} _ {a b}", "acab", "a s a b"),
        ("c -> s / !a _", "cacbc", "s a k b s"),
        ("c -> s / !{a #} _", "cacbc", "k a k b s"),
        ("c -> s / _ !a", "cacb", "k a s b"),
        ("c -> s / _ !{a #}", "cacbc", "k a s b k"),
        ("c -> s / a b? _", "acabcbc", "a s a b s b k"),
        ("c -> s / _ b? a", "cacbacbb", "s a s b a k b b"),
        ("c -> s / {ch n} _", "chccac", "t͡ʃ s k a k"),
        ("c -> s / !{ch #} _", "chccac", "t͡ʃ k s a s"),
        ("c -> s\nc -> k / _ a", "ca", "s a"),  # the first line that fits
        ("c -> k / _ a\nc -> s", "cac", "k a s"),
        ("c -> 0", "cac", "a"),
        ("ca -> s o", "caca", "s o s o"),
        ("c → s", "c", "s"),
        ("V = a b\nc -> s / _ V", "cacnc", "s a k n k"),
        ("V = a b\nW = V n\nc -> s / _ W", "cacnc", "s a s n k"),
        ("c -> s // a remark", "c", "s"),
        ("# a remark\n#\n## another\nc -> s", "c", "s"),
        ("[phones]\nk -> x", "ca", "x a"),
        ("[phones]\nk -> x / _ a", "cacn", "x a k n"),
        ("[phones]\na -> b / a _", "aaa", "a b b"),  # all at once: the context is what stood there before
        ("[phones]\nk -> x\nx -> h", "c", "h"),  # one after the other
        ("[phones]\nt͡ʃ a -> ʃ", "chaca", "ʃ k a"),
        ("[phones]\nk -> x / !# _ !#", "cacac", "k a x a k"),
        ("[phones]\nn -> m / _ k? b", "ncbnbn", "m k b m b n"),
        ("[phones]\na -> 0 / _ #", "caca", "k a k"),
        ("[phones]\n[letters]\nc -> s", "c", "s"),
    ],
)
def test_what_a_rule_says(rules: str, word: str, phones: str) -> None:
    assert say(word, rules) == phones


def test_a_tag_keeps_a_line_for_a_dialect_or_an_option() -> None:
    rules = "c -> θ @north\nc -> s @south @east\nc -> h @soft=on"
    assert [say("c", rules, only=(name,)) for name in ("north", "south", "east", "soft=on", "west")] == list("θsshk")
    letters = ABC + "c\tx\t@north\n"
    assert say("c", letters=letters, only=("north",)) == "x"
    assert say("c", letters=letters) == "k"


def test_a_tag_nobody_can_choose_is_an_error() -> None:
    toml = b'code="qaa"\nname="Q"\nnative="Q"\nscript="Latn"\nlower=true\nsentence_ends=["."]\ndialects=["north"]\n'
    files = {"language.toml": toml, "letters.tsv": ABC.encode(), "rules.txt": b"c -> s @nort\n"}
    with pytest.raises(LanguageError, match=r"@nort .*did you mean 'north'"):
        LetterRules.of(Pack.of(files))
    files["rules.txt"] = b"c -> s @north\n"
    assert LetterRules.of(Pack.of(files)).say("c").phones == ("s",)


def test_what_fired_and_what_was_dropped_is_told() -> None:
    said = LetterRules(ABC, "c -> s / _ a\n[phones]\ns -> z / a _").say("ca?ca1")
    assert said.phones == ("s", "a", "z", "a")
    assert said.rules == ("c -> s / _ a", "c -> s / _ a", "s -> z / a _")
    assert said.dropped == ("?", "1")


def test_each_phone_knows_its_letter() -> None:
    found = LetterRules(ABC + "x\tk s\n", "nn -> n\n[phones]\nk s -> s").spell("chxanna?b")
    assert list(zip(found.phones, found.places, strict=True)) == [
        ("t͡ʃ", 0),
        ("s", 2),
        ("a", 3),
        ("n", 4),
        ("a", 6),
        ("b", 8),
    ]


@pytest.mark.parametrize(
    ("rules", "line", "what"),
    [
        ("c > s", 1, "neither"),
        ("#c -> s", 1, "can stand only in a context"),
        ("\n\nc ->", 3, "what becomes what"),
        ("-> c", 1, "what becomes what"),
        ("c -> s / a b", 1, "'_'"),
        ("c -> s / a _ b _ c", 1, "'_'"),
        ("c -> s / {a b _", 1, "bracket"),
        ("c -> s / _ a}", 1, "bracket"),
        ("c -> s / {} _", 1, "nothing stands"),
        ("V = a\nc -> s / _ VOWEL", 2, "no class VOWEL"),
        ("V = a\nV = b", 2, "already"),
        ("vowel = a", 1, "capitals"),
        ("V =", 1, "nothing stands"),
        ("V = a\nV -> b", 2, "only in a context"),
        ("V = a\nc -> V", 2, "only in a context"),
        ("c -> s\nc -> s", 2, "never fires"),
    ],
)
def test_an_error_names_file_and_line(rules: str, line: int, what: str) -> None:
    with pytest.raises(LanguageError, match=rf"^qaa/rules\.txt line {line}: .*{what}"):
        LetterRules(ABC, rules, where="qaa")


@pytest.mark.parametrize("row", ["a", "a\t", "\ta", "a\t \t@x"])
def test_an_error_in_the_letters_names_its_line(row: str) -> None:
    with pytest.raises(LanguageError, match=r"^qaa/letters\.tsv line 2: "):
        LetterRules(f"b\tb\n{row}\n", "", where="qaa")


def test_files_with_windows_line_ends_read_alike() -> None:
    assert say("ca", "c -> s / _ a\r\n", letters=ABC.replace("\n", "\r\n")) == "s a"


def test_composed_and_decomposed_rules_are_the_same() -> None:
    assert say("\u1ecd", "o\u0323 -> o", letters="a\ta\n") == say("\u1ecd", letters="o\u0323\to\n") == "o"


# The same meaning, written as plainly as possible: the engine must agree with it.


def _beside(text: list[str], at: int, elements: list[Element], step: int) -> bool:
    if not elements:
        return True
    first, rest = elements[0], elements[1:]
    if first.optional and _beside(text, at, rest, step):
        return True
    outside = not 0 <= at < len(text)
    hits = [c for c in first.choices if (outside if c == EDGE else not outside and text[at] == c)]
    if bool(hits) == first.negative:
        return False
    return _beside(text, at if outside else at + step, rest, step)


def _plainly(word: str, rules: list[LetterRule]) -> list[str]:
    text, said, at = list(word), [], 0
    while at < len(word):
        for rule in rules:
            target = rule.target[0]
            if (
                word.startswith(target, at)
                and _beside(text, at - 1, list(reversed(rule.left)), -1)
                and _beside(text, at + len(target), list(rule.right), 1)
            ):
                said += rule.result
                at += len(target)
                break
        else:
            said.append(word[at])
            at += 1
    return said


_sets = st.lists(st.sampled_from("abc#"), min_size=1, max_size=3, unique=True).map(
    lambda found: "{" + " ".join(found) + "}"
)
_elements = st.builds("{}{}{}".format, st.sampled_from(["", "!"]), _sets, st.sampled_from(["", "?"]))
_contexts = st.lists(_elements, max_size=3).map(" ".join)
_rules = st.builds(
    "{} -> {} / {} _ {}".format,
    st.text("abc", min_size=1, max_size=2),
    st.sampled_from(["0", "x", "x y"]),
    _contexts,
    _contexts,
)


@given(lines=st.lists(_rules, max_size=5, unique=True), word=st.text("abc", max_size=8))
def test_the_engine_says_what_the_rules_mean(lines: list[str], word: str) -> None:
    rules = "\n".join(lines)
    parsed = list(Rules.parse(rules, where="here").letters)
    assert list(LetterRules("a\ta\nb\tb\nc\tc\n", rules).say(word).phones) == _plainly(word, parsed)
    # a rule with one letter as its target means the same on phones, which the letters here are
    single = [line for line in lines if " -> " in line[1:5]]
    for line in single:
        one = Rules.parse(line, where="here").letters
        rewritten = LetterRules("a\ta\nb\tb\nc\tc\n", f"[phones]\n{line}").say(word)
        assert list(rewritten.phones) == _plainly(word, list(one))


@given(st.text())
def test_no_word_is_too_strange(word: str) -> None:
    said = LetterRules(ABC, "c -> s / _ a\n[phones]\nn -> m / _ b").say(word)
    kept = sum(map(len, said.dropped))
    assert kept + len([c for c in word if c in "abchn"]) >= len(word)


def test_time_grows_with_the_word_and_no_faster() -> None:
    letters = LetterRules(ABC, "c -> s / {a b c}? {a b c}? {a b c}? {a b c}? # _ a? b? a? b? n")

    def seconds(length: int) -> float:
        word = "abc" * length
        started = time.process_time()
        letters.say(word)
        return time.process_time() - started

    seconds(1000)
    assert seconds(40_000) < 40 * max(min(seconds(4_000) for _ in range(3)), 1e-3)


def test_the_lines_of_a_file_can_be_asked_for() -> None:
    parsed = Rules.parse("V = a\nc -> s / _ V\n[phones]\ns -> z", where="here")
    assert [rule.line for rule in (*parsed.letters, *parsed.phones)] == ["c -> s / _ V", "s -> z"]
    assert parsed.classes == {"V": ("a",)}

"""What the text is written in: letters, scripts, digits, notes that are not spoken."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from olu.audit.check import Finding, MeasuredClip, define, each
from olu.audit.coverage import count_digits, count_letters, main_scripts, scripts
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark, Severity
from olu.core.words import many
from olu.text.languages import traits

BREAKS = "\n\r\t"
LOST = "\ufffd"  # what programs write for a letter that they could not read
NO_SIGNS = ("Cc", "Cn", "Co", "Cs")  # controls and places without a sign; joiners and marks of direction are writing
MARKUP = re.compile(r"</?[a-z][^<>]*>|&(?:[a-z]+|#\d+);|https?://\S+|\{\\\w[^}]*\}", re.IGNORECASE)


def _judge_text(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    text = heard.clip.text
    if not heard.clip.transcribed:
        return None  # has a check of its own
    letters = count_letters(text)
    if letters < limits.letters_least:
        message = "the text has no letter" if letters == 0 else f"the text has only {many(letters, 'letter')}"
        return Mark(check="text", severity="error", value=float(letters), message=f"{message}: write what is said")
    for count, message in (_breaks(text), _lost(text), _markup(text)):
        if count:
            return Mark(check="text", severity="warn", value=float(count), message=message)
    return None


def _breaks(text: str) -> tuple[int, str]:
    count = sum(text.count(mark) for mark in BREAKS)
    signs, read = ("break or tab", "a space") if count == 1 else ("breaks or tabs", "spaces")
    return count, f"{count} line {signs} in the text, read as {read}: two lines may have become one"


def _lost(text: str) -> tuple[int, str]:
    """Letters that a wrong encoding took: a sign for them, none at all, or two for one."""
    if _misread(text):
        return 1, "the text was read in a wrong encoding: save the list as UTF-8 from the original"
    signs = [sign for sign in text if sign == LOST or (unicodedata.category(sign) in NO_SIGNS and sign not in BREAKS)]
    named = f"U+{ord(signs[0]):04X}" if signs else ""
    return len(signs), f"{many(len(signs), 'sign')} in the text that nobody writes ({named}): a letter may be lost"


def _misread(text: str) -> bool:
    """UTF-8 that was taken for Latin letters: only such text makes UTF-8 again."""
    if text.isascii():
        return False
    for encoding in ("cp1252", "latin-1"):
        try:
            return text.encode(encoding).decode("utf-8") != text
        except UnicodeError:
            continue
    return False


def _markup(text: str) -> tuple[int, str]:
    found = MARKUP.findall(text)
    return len(
        found
    ), f"marks of a web page or subtitle in the text, such as {found[0] if found else ''}: take them out"


define("text", each(_judge_text), more=lambda t: "s" * (t.letters_least != 1))


def _judge_untranscribed(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    if heard.clip.transcribed:
        return None
    return Mark(
        check="untranscribed", severity="info", value=heard.clip.seconds, message="no text yet: kept, never trained on"
    )


define("untranscribed", each(_judge_untranscribed))


MUSIC = ("♪", "♫", "♬", "♩")
NOTE = re.compile(r"\[[^\]]*\]|♪[^♪]*♪?|[♫♬♩]|(?<!\w)\*[^*]*\*")
ASIDE = re.compile(r"\([^)]*\)|\uff08[^\uff09]*\uff09")  # the second pair is the wide brackets of Chinese and Japanese


def _judge_sound_note(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    text = heard.clip.text.strip()
    bare = NOTE.sub(" ", text)
    words = sum(count_letters(word) > 0 for word in text.split())
    found = len(NOTE.findall(text))
    if count_letters(text) == 0 and not found:  # the text check's
        return None
    aside = ASIDE.sub(" ", bare)
    sung = text.startswith(MUSIC) and count_letters(bare) == 0
    if sung or (count_letters(aside) == 0 and words <= limits.note_words):
        return Mark(
            check="sound_note", severity="error", value=float(max(1, found)), message="a sound note, nothing is spoken"
        )
    if found:
        message = f"{many(found, 'sound note')} inside the text would be read aloud"
        return Mark(check="sound_note", severity="warn", value=float(found), message=message)
    return None


define("sound_note", each(_judge_sound_note))


def _look_script(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    main = main_scripts(((one.clip.language, one.clip.text) for one in heard), least=limits.script_main)
    for one in heard:
        usual = main.get(one.clip.language)
        counts = scripts(one.clip.text)
        total = sum(counts.values())
        if usual is None or total == 0:
            continue
        foreign = total - counts[usual]
        share = foreign / total
        if foreign == 0:
            continue
        severity: Severity = "info"
        message = f"{foreign} of {total} letters are not {usual.capitalize()}"
        if share > limits.script_error:
            severity = "error"
            message += ": the text is in another language than the corpus"
        elif share > limits.script_warn:
            severity = "warn"
        mark = Mark(check="script", severity=severity, value=share, message=message)
        yield Finding(id=one.clip.id, mark=mark, badness=share)


define("script", _look_script)


WORD = re.compile(r"[^\W\d_][\w\u0300-\u036f]*")
UNSEEN = 0.5  # what a pair that never occurs counts
LEAST_SPREAD = 0.1  # of the mean log likelihood: lists of nearly equal texts have almost none


def _look_other_language(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    """Pairs of neighbouring letters are common or rare by language: a text of rare pairs is in another one."""
    languages: dict[str, list[MeasuredClip]] = {}
    for one in heard:
        if count_letters(one.clip.text) >= limits.language_least_letters:
            languages.setdefault(one.clip.language, []).append(one)
    for clips in languages.values():
        if len(clips) < limits.language_least_clips:
            continue
        own = [_pairs(one.clip.text) for one in clips]
        every: Counter[str] = Counter()
        for pairs in own:
            every.update(pairs)
        total = every.total() + UNSEEN * len(every)
        scores = [_score(pairs, every, total) for pairs in own]
        low, high = (float(edge) for edge in np.percentile(scores, (25, 75)))
        for one, score in zip(clips, scores, strict=True):
            beyond = (low - score) / max(high - low, LEAST_SPREAD)
            if beyond > limits.language_warn_iqr:
                message = "its letters follow each other as in another language or in names"
                severity: Severity = "error" if beyond > limits.language_error_iqr else "warn"
                mark = Mark(check="other_language", severity=severity, value=beyond, message=message)
                yield Finding(id=one.clip.id, mark=mark, badness=beyond)


def _pairs(text: str) -> Counter[str]:
    pairs: Counter[str] = Counter()
    for word in WORD.findall(unicodedata.normalize("NFC", text.casefold())):
        edged = f" {word} "
        pairs.update(edged[place : place + 2] for place in range(len(edged) - 1))
    return pairs


def _score(pairs: Counter[str], every: Counter[str], total: float) -> float:
    """Mean log likelihood of the text's pairs in all the other texts."""
    count = pairs.total()
    return sum(n * math.log((every[pair] - n + UNSEEN) / total) for pair, n in pairs.items()) / max(1, count)


define("other_language", _look_other_language)


def _look_normal_form(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    """The form that fewer texts have is marked. Texts without marked letters are the same in every form."""
    composed: list[tuple[MeasuredClip, int]] = []
    apart: list[tuple[MeasuredClip, int]] = []
    for one in heard:
        text = one.clip.text
        normal, taken_apart = unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)
        if text != normal:
            apart.append((one, max(1, len(text) - len(normal))))
        elif text != taken_apart:
            composed.append((one, len(taken_apart) - len(text)))
    # where no text has composed letters, a few with letters taken apart still stand out from the plain ones
    few_apart = len(apart) <= len(composed) or (not composed and 2 * len(apart) < len(heard))
    rare, how = (apart, "with letter and mark apart") if few_apart else (composed, "as one character with its mark")
    for one, letters in rare:
        message = f"{many(letters, 'letter')} written {how}, unlike most of the corpus"
        mark = Mark(check="normal_form", severity="warn", value=float(letters), message=message)
        yield Finding(id=one.clip.id, mark=mark, badness=float(letters))


define("normal_form", _look_normal_form)


def _judge_digits(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    digits = count_digits(heard.clip.text)
    if digits <= limits.digits_info:
        return None
    message = f"{many(digits, 'digit')} in the text: how they were said is not written"
    return Mark(check="digits", severity="info", value=float(digits), message=message)


define("digits", each(_judge_digits), more=lambda t: "any" if t.digits_info == 0 else f"more than {t.digits_info}")


DOT_BELOW = "\u0323"


def _judge_dots(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    dotted = traits(heard.clip.language).dotted_vowels
    if not dotted:
        return None
    letters = unicodedata.normalize("NFD", heard.clip.text.casefold())
    vowels = sum(letter in dotted for letter in letters)
    if vowels < limits.dots_least_vowels or DOT_BELOW in letters:
        return None
    message = f"{vowels} times i, o or u and never a dot below: the text seems to be written without dots"
    return Mark(check="dots", severity="warn", value=float(vowels), message=message)


define("dots", each(_judge_dots))

from __future__ import annotations

import re

from olu.audit.check import Check, MeasuredClip, each
from olu.audit.coverage import count_letters
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark
from olu.core.words import many

NAME = "sound_note"
MUSIC = ("♪", "♫", "♬", "♩")
NOTE = re.compile(r"\[[^\]]*\]|♪[^♪]*♪?|[♫♬♩]|(?<!\w)\*[^*]*\*")
ASIDE = re.compile(r"\([^)]*\)|\uff08[^\uff09]*\uff09")  # the second pair is the wide brackets of Chinese and Japanese


def judge(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    text = heard.clip.text.strip()
    bare = NOTE.sub(" ", text)
    words = sum(count_letters(word) > 0 for word in text.split())
    found = len(NOTE.findall(text))
    if count_letters(text) == 0 and not found:  # the text check's
        return None
    aside = ASIDE.sub(" ", bare)
    sung = text.startswith(MUSIC) and count_letters(bare) == 0
    if sung or (count_letters(aside) == 0 and words <= limits.note_words):
        return Mark(check=NAME, severity="error", value=float(max(1, found)), message="a sound note, nothing is spoken")
    if found:
        message = f"{many(found, 'sound note')} inside the text would be read aloud"
        return Mark(check=NAME, severity="warn", value=float(found), message=message)
    return None


CHECK = Check(
    name=NAME,
    title="Sound notes",
    rule=lambda t: (
        f"Error when a text is nothing but ♪ or a sound note of up to {t.note_words} words, such as [music] or "
        "(laughs); warning for one in square brackets inside the text."
    ),
    reason="Subtitles describe sounds. As a transcript they teach the voice to say a word where music plays.",
    fix="Leave such clips out, and take the notes out of the other texts.",
    look=each(judge),
)

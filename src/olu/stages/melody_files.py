"""A planned melody as files: JSON that can be edited and said again, a TextGrid for Praat, a picture."""

from __future__ import annotations

from pathlib import Path

from olu.align.textgrid import from_alignment, render
from olu.audio.sink import check_place
from olu.core.errors import VoiceError
from olu.core.files import write_text
from olu.core.types import Alignment, Span
from olu.pages.charts import DrawnSound, melody_picture
from olu.speak.melody import Melody

ENDINGS = (".json", ".textgrid", ".svg")


def check_melody_place(path: Path) -> None:
    if path.suffix.lower() not in ENDINGS:
        raise VoiceError(f"{path}: a melody is written as .json, .TextGrid or .svg: choose one of these endings")
    check_place(path)


def write_melody(path: Path, melody: Melody) -> None:
    """By the ending of its name."""
    kind = path.suffix.lower()
    write_text(path, melody.json() if kind == ".json" else as_svg(melody) if kind == ".svg" else as_textgrid(melody))


def as_textgrid(melody: Melody) -> str:
    """Words, phones and tones when they will be heard; gaps and pauses are silence."""
    words, phones, tones = list[Span](), list[Span](), list[str]()
    for sentence in melody.sentences:
        said, sounds = sentence.spans(melody.frame_seconds)
        words += said
        for word in sentence.words:
            for at in range(word.first, word.last):
                if sentence.tokens[at].frames:
                    phones.append(sounds[at])
                    tones.append(sentence.tokens[at].tone)
    last = melody.sentences[-1].spans(melody.frame_seconds)[1][-1].end if melody.sentences else 0.0
    held = Alignment(id="melody", seconds=last, words=tuple(words), phones=tuple(phones))
    return render(from_alignment(held, tones=tones))


def as_svg(melody: Melody) -> str:
    rows = []
    for sentence in melody.sentences:
        words, sounds = sentence.spans(melody.frame_seconds)
        dots = sentence.dots(melody.frame_seconds)
        inside = [at for word in sentence.words for at in range(word.first, word.last) if sentence.tokens[at].frames]
        drawn = [
            DrawnSound(token.symbol, token.tone, sounds[at].start, sounds[at].end, dots[at])
            for at, token in ((at, sentence.tokens[at]) for at in inside)
        ]
        rows.append(([(word.label, word.start, word.end) for word in words], drawn))
    return melody_picture(melody.text[:80], rows)

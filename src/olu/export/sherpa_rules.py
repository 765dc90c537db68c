"""How sherpa-onnx cuts a text, as its published code does (1.13), to tell beforehand what it will say."""

from __future__ import annotations

from collections.abc import Mapping

from olu.export.letters import Symbols

PUNCTUATION = (".", ";", "!", "?", "-", ":", ",")  # what it knows between words; all but the last end a sentence
ENDS = ".:?!"  # of letters read one by one
LATIN = "äöüÄÖÜßáéíóúñÁÉÍÓÚÑàèùçâêîôûëïÀÈÙÇÂÊÎÔÛËÏ’"  # letters beyond ASCII that it keeps inside words
SPACE = " "


def ascii_lower(text: str) -> str:
    return "".join(c.lower() if c.isascii() else c for c in text)


def sentences_of(text: str) -> list[str]:
    """A text in its pieces when it reads by letters; each is spoken by itself."""
    pieces, current = [], ""
    for c in ascii_lower(text):
        current += c
        if c in ENDS:
            pieces.append(current)
            current = ""
    return [*pieces, current] if current else pieces


def words_of(text: str) -> list[str]:
    """ASCII letters and a few Latin ones make words; every other character is a word of its own."""
    words, current = [], ""
    for c in text:
        if (c.isascii() and (c.isalnum() or c == "'" or not (c.isprintable() or c.isspace()))) or c in LATIN:
            current += c
            continue
        words += [current] if current else []
        current = ""
        if not (c.isascii() and c.isspace()):
            words.append(c)
    return [*words, current] if current else words


def lexicon_ids(text: str, lexicon: Mapping[str, Symbols], known: frozenset[str]) -> list[str]:
    """The symbols of a text by its lexicon: a space behind every word, and words it has not are left out."""
    said: list[str] = []
    sentence: list[str] = []
    for word in words_of(ascii_lower(text)):
        if word in PUNCTUATION:
            sentence += [word] if word in known else []
            if word != ",":
                said += [*sentence, SPACE]
                sentence = []
        elif word in lexicon:
            sentence += [*lexicon[word], SPACE]
    return [*said, *sentence[:-1]]

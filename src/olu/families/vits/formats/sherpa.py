"""A voice for sherpa-onnx: model.onnx with metadata, tokens.txt and lexicon.txt.

It can read letter by letter (the graph then turns letters into ids), or look words up in a lexicon and leave out those
it has not. Both are tried on sentences, by its published rules, and the one that is nearer to Olu's ids is written.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from olu.core.files import write_text
from olu.families.vits.export import one_graph
from olu.families.vits.formats.piper import lost_by_letters, reader_of
from olu.text.letters import LetterTable, Symbols
from olu.text.phones import PhoneFrontend
from olu.text.spelled import Form, Measure, symbols_of, words_of
from olu.text.vocabulary import BLANK_ID

if TYPE_CHECKING:
    from olu.export.subject import ExportSubject
    from olu.families.vits.formats.reader import LetterReader


FORMS: tuple[Form, ...] = ("NFC", "NFD")  # it takes a text as it comes
PUNCTUATION = (".", ";", "!", "?", "-", ":", ",")  # what it knows between words; all but the last end a sentence
ENDS = ".:?!"  # of letters read one by one
LATIN = "äöüÄÖÜßáéíóúñÁÉÍÓÚÑàèùçâêîôûëïÀÈÙÇÂÊÎÔÛËÏ’"  # letters beyond ASCII that it keeps inside words
SPACE = " "


def write_sherpa(subject: ExportSubject, folder: Path) -> list[str]:
    letters = subject.letters(*FORMS)
    lexicon = _lexicon(subject)
    by_letters, by_words = _by_letters(subject, letters), _by_words(subject, lexicon)
    use_words = bool(lexicon) and by_words.sentences > 0 and by_words.rate < by_letters.rate
    lost = _lost(subject, use_words=use_words, by_letters=by_letters, by_words=by_words if lexicon else None)
    reader = None if use_words or letters.plain else reader_of(subject, letters)
    spaced = subject.vocabulary.interleave and reader is None
    made = one_graph(
        subject.learner,
        path=folder / "model.onnx",
        reader=reader,
        facts=sherpa_facts(subject, characters=not use_words, add_blank=spaced),
    )
    noise = made["noise_scale"]
    lost.append(f"the noise it speaks with: give sherpa-onnx --vits-noise-scale={noise:g} each time")
    tokens = _symbol_tokens(subject) if use_words else _letter_tokens(subject, letters, reader)
    write_text(folder / "tokens.txt", "".join(f"{symbol} {id}\n" for symbol, id in tokens.items()))
    if lexicon:
        lines = [f"{word} {' '.join(symbols)}\n" for word, symbols in sorted(lexicon.items())]
        write_text(folder / "lexicon.txt", "".join(lines))
    write_text(folder / "README.md", _readme(subject, lost, lexicon=bool(lexicon), use_words=use_words, noise=noise))
    return lost


def sherpa_facts(subject: ExportSubject, *, characters: bool, add_blank: bool) -> dict[str, str]:
    known = [mark for mark in PUNCTUATION if mark in subject.vocabulary.symbols]
    return {
        "model_type": "vits",
        "comment": "olu, with the inputs of coqui",  # the word tells it to give all scales as one input
        "language": subject.language.name,
        "voice": subject.language.code,
        "sample_rate": str(subject.family.data.made_rate(subject.learner.config)),
        "n_speakers": str(len(subject.speakers) if len(subject.speakers) > 1 else 0),
        "add_blank": str(int(add_blank)),
        "blank_id": str(BLANK_ID),
        "pad_id": str(BLANK_ID),
        "use_eos_bos": "0",
        "punctuation": " ".join(known),
        "frontend": "characters" if characters else "",
        "licence": subject.rights.licence,
    }


def _letter_tokens(subject: ExportSubject, letters: LetterTable, reader: LetterReader | None) -> dict[str, int]:
    """One code point a line. A line with a number alone is the space."""
    ids = {symbol: id for id, symbol in enumerate(subject.vocabulary.symbols)}
    number = {c: reader.numbers[c] if reader else ids[symbols[0]] for c, symbols in letters.alone.items()}
    number |= {other: number[c] for other, c in letters.aliases.items()}
    return {c: id for c, id in number.items() if c == " " or not c.isspace()}


def _symbol_tokens(subject: ExportSubject) -> dict[str, int]:
    return {
        symbol: id
        for id, symbol in enumerate(subject.vocabulary.symbols)
        if symbol == " " or symbol.split() == [symbol]
    }


def _lexicon(subject: ExportSubject) -> dict[str, Symbols]:
    """Every word of the texts and of the language's own lexicon, for a voice by phones."""
    frontend = subject.frontend
    if not isinstance(frontend, PhoneFrontend) or " " not in subject.vocabulary.symbols:
        return {}
    listed = [*frontend.pack.lexicon, *(row[0] for row in frontend.pack.rows("lexicon.tsv"))]
    words, _ = words_of(frontend, subject.vocabulary, [*subject.texts, *listed], most=None)
    return {word.lower(): symbols for word, symbols in words.items()}


def _by_letters(subject: ExportSubject, letters: LetterTable) -> Measure:
    def read(text: str) -> list[str]:
        parts = [letters.read(one) for one in sentences_of(text)]
        said = [part for part in parts if part]
        return [symbol for at, part in enumerate(said) for symbol in ([letters.space, *part] if at else part)]

    return _measured(subject, read)


def _by_words(subject: ExportSubject, lexicon: dict[str, Symbols]) -> Measure:
    known = frozenset(subject.vocabulary.symbols)
    return _measured(subject, lambda text: lexicon_ids(text, lexicon, known))


def _measured(subject: ExportSubject, read: Callable[[str], list[str]]) -> Measure:
    rows = []
    for text in subject.sentences:
        ours = symbols_of(subject.frontend, subject.vocabulary, text)
        if ours is not None:
            rows.append((text, list(ours), read(unicodedata.normalize("NFC", text))))
    return Measure.of(rows, held_out=bool(subject.held_out))


def _lost(subject: ExportSubject, *, use_words: bool, by_letters: Measure, by_words: Measure | None) -> list[str]:
    lost = lost_by_letters(subject, "sherpa-onnx")
    taken = by_words if use_words and by_words else by_letters
    lost.append(taken.sentence("sherpa-onnx (its rules, done here)"))
    if by_words is not None and by_words.sentences:
        how = (
            "words are looked up in lexicon.txt, and others are left out"
            if use_words
            else "letters are read one by one"
        )
        lost.append(f"{how}: by letters the ids differ by {by_letters.rate:.1%}, by words {by_words.rate:.1%}")
    return lost


def _readme(subject: ExportSubject, lost: list[str], *, lexicon: bool, use_words: bool, noise: float) -> str:
    words = "\n  --vits-lexicon=lexicon.txt \\" if lexicon else ""
    use = f"""
```sh
pip install sherpa-onnx-bin
sherpa-onnx-offline-tts --vits-model=model.onnx --vits-tokens=tokens.txt \\{words}
  --vits-noise-scale={noise:g} --output-filename=out.wav {subject.quoted_example}
```
"""
    files = ["`model.onnx`: the network, with what sherpa-onnx must know as its metadata", "`tokens.txt`: ids"]
    if lexicon:
        read = "" if use_words else "; this voice is read by letters, so sherpa-onnx does not look at it"
        files.append(f"`lexicon.txt`: words and their phones{read}")
    return subject.readme(
        what="This folder is for sherpa-onnx.", use=use, lost=lost, files=files, library="sherpa-onnx"
    )


# ---------------------------------------------------------------- how it cuts a text, as its published code does (1.13)


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


def words_cut(text: str) -> list[str]:
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
    for word in words_cut(ascii_lower(text)):
        if word in PUNCTUATION:
            sentence += [word] if word in known else []
            if word != ",":
                said += [*sentence, SPACE]
                sentence = []
        elif word in lexicon:
            sentence += [*lexicon[word], SPACE]
    return [*said, *sentence[:-1]]

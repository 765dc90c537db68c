"""A person's own words: looked up, tried, written down or taken out; how many clips say one is told before."""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

from olu.core.errors import ConfigError, LanguageError
from olu.core.files import Workspace, write_text
from olu.core.parse import from_json
from olu.core.told import Remedy, TextTable, Told
from olu.core.words import many
from olu.core.workspace_lock import writing
from olu.corpus.manifest import Corpus
from olu.stages.read import STAGE, corpus_frontend
from olu.stages.verbs.corpus import LexiconOptions
from olu.text import words
from olu.text.frontend import (
    AnyFrontend,
    CorpusFrontend,
    ReadingSettings,
    from_state,
    language_state,
    lexicon_path,
    read_settings,
    read_state,
    write_settings,
)
from olu.text.language_data import Lexicon, load_lexicon
from olu.text.phones import PhoneFrontend
from olu.text.several import LanguagesFrontend

FILE = "lexicon.tsv"  # in the workspace, where reading.toml names no other
LONGEST = 200  # characters of a word, and of its phones
SHOWN = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class LexiconList:
    """The words on record."""

    file: str
    words: dict[str, str]

    def row(self, options: LexiconOptions) -> dict[str, Any]:
        return {"workspace": str(options.ws), **asdict(self)}

    def sentences(self, options: LexiconOptions) -> Iterator[Told]:
        if not self.words:
            yield f"No words yet. Add one: {Remedy('lexicon', (options.ws, 'WORD', 'PHONES'))}"
            return
        yield TextTable(["word", "phones"], [[word, phones] for word, phones in list(self.words.items())[:SHOWN]])
        yield f"{many(len(self.words), 'word')} in {self.file}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WordSummary:
    """One word: how it was said, how it is said now, and how many clips that touches."""

    word: str
    before: str  # phones, as the workspace reads it
    phones: str  # as it is on record now; nothing where it was taken out
    clips: int  # that say it
    first: tuple[str, ...]  # some of them
    file: str
    written: bool

    def row(self, options: LexiconOptions) -> dict[str, Any]:
        return {"workspace": str(options.ws), **asdict(self)}

    def sentences(self, options: LexiconOptions) -> Iterator[Told]:
        yield f"{self.word}: {self.before or 'nothing to say'}"
        if self.phones and self.phones != self.before:
            yield f"{'Now' if self.written else 'It would be'}: {self.phones}"
        yield f"It touches {many(self.clips, 'clip')}{': ' + ', '.join(self.first) if self.first else ''}."
        if self.written:
            yield f"Written to {self.file}. Next: {Remedy('read', (options.ws,))}"


def run(options: LexiconOptions) -> LexiconList | WordSummary:
    """`olu lexicon`"""
    ws = Workspace.open(options.ws)
    if options.word is None:
        if options.strike or options.dry_run:
            raise ConfigError("--remove and --dry-run are about a word: name it")
        return LexiconList(file=str(place(ws)), words=dict(own_words(ws)))
    if options.strike:
        if options.phones is not None:
            raise ConfigError("--remove takes a word out: leave its phones out")
        return remove_word(ws, options.word, dry=options.dry_run)
    if options.phones is None:
        return look_up(ws, options.word)
    return set_word(ws, options.word, options.phones, dry=options.dry_run)


# ---- reading as the workspace does


def place(ws: Workspace, settings: ReadingSettings | None = None) -> Path:
    """The file of a person's own words; it need not be there yet."""
    return lexicon_path(ws, settings or read_settings(ws)) or ws.root / FILE


def own_words(ws: Workspace) -> Lexicon:
    path = place(ws)
    return load_lexicon(path) if path.exists() or read_settings(ws).lexicon else Lexicon()


def reader(ws: Workspace, *, opened: Callable[[], Corpus] | None = None) -> AnyFrontend:
    """How the workspace reads a text now: as it was read last, with the words that were written down since.

    `opened`: gives its corpus, where somebody holds it; one that was never read is asked for its letters.
    """
    settings = read_settings(ws)
    stamp, state = ws.stamped(STAGE.name), ws.readings / "frontend.json"
    if stamp is None or not state.exists() or _but_words(stamp["options"]) != _but_words(settings.asked()):
        if (ws.corpus / "clips.jsonl").exists():
            return _main(corpus_frontend(ws, opened() if opened else Corpus.open(ws), settings))
        empty = _main(corpus_frontend(ws, Corpus(ws, (), {}), settings))
        return empty if isinstance(empty, PhoneFrontend) else empty.unlimited()  # no corpus, so any letter
    found = from_state(language_state(read_state(state), ws.language))
    if not isinstance(found, PhoneFrontend):
        return found
    return _with(found, own_words(ws))


def _main(frontend: CorpusFrontend) -> AnyFrontend:
    return frontend.main if isinstance(frontend, LanguagesFrontend) else frontend


def _but_words(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "lexicon"}


def _with(frontend: PhoneFrontend, lexicon: Lexicon) -> PhoneFrontend:
    """The same reading with exactly these words, and every phone of the language."""
    return PhoneFrontend(replace(frontend.pack, lexicon=lexicon), marks=frontend.marks)


def with_word(frontend: AnyFrontend, word: str, phones: str) -> PhoneFrontend:
    """The reading with one word more; a sentence says what is wrong with it."""
    word, phones = cleaned(word, phones)
    if not isinstance(frontend, PhoneFrontend):
        raise LanguageError(
            "a lexicon gives phones, and this workspace is read by letters: write the word as it sounds"
        )
    held = Lexicon()
    held.update({**frontend.pack.lexicon, word: phones})
    return _with(frontend, held)


def cleaned(word: str, phones: str | None) -> tuple[str, str]:
    """A word and its phones, each on one line; refused where no lexicon could hold them."""
    one = unicodedata.normalize("NFC", " ".join(word.split()))
    said = unicodedata.normalize("NFC", " ".join((phones or "").split()))
    if not one or not one.isprintable() or one.startswith("#") or len(one) > LONGEST or words.split(one)[0] != [one]:
        raise ConfigError(f"{word[:60]!r} is not one word: write it as it stands in the texts")
    if phones is not None and (not said or not said.isprintable() or len(said) > LONGEST):
        raise ConfigError(f"{one!r} needs its phones, with spaces between")
    return one, said


# ---- looking up and writing down


def said_as(frontend: AnyFrontend, word: str) -> str:
    return " ".join(symbol for one in frontend.read(word, plain=True).words for symbol in one.symbols())


def touched(ws: Workspace, frontend: AnyFrontend, word: str, *, name: int = 5) -> tuple[int, tuple[str, ...]]:
    """How many clips say a word, and the ids of the first.

    By the last reading, which knows numbers said as words; where there is none, by the letters of the texts.
    """
    key = frontend.key(word) if isinstance(frontend, PhoneFrontend) else word
    readings = ws.readings / "readings.jsonl"
    if readings.exists():
        return _touched_readings(readings, key, name=name)
    folded = key.casefold()
    texts = ((clip.id, unicodedata.normalize("NFC", clip.text).casefold()) for clip in Corpus.open(ws))
    ids = [id for id, text in texts if folded in text and folded in words.split(text)[0]]
    return len(ids), tuple(ids[:name])


def _touched_readings(path: Path, key: str, *, name: int) -> tuple[int, tuple[str, ...]]:
    """Rows whose words hold it, found without reading all of them as JSON, nor the file into memory."""
    spelled = b'"text": ' + json.dumps(key, ensure_ascii=False).encode("utf-8", "surrogatepass")
    count, ids = 0, list[str]()
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return 0, ()
        with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            at = data.find(spelled)
            while at >= 0:
                start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
                end = len(data) if end < 0 else end
                if data.rfind(b'"words": ', start, at) >= 0:  # else it is the text of the clip, whose words follow
                    count += 1
                    if len(ids) < name:
                        ids.append(str(from_json(data[start:end])["id"]))
                    at = data.find(spelled, end)
                else:
                    at = data.find(spelled, at + 1)
    return count, tuple(ids)


def look_up(ws: Workspace, word: str) -> WordSummary:
    word, _ = cleaned(word, None)
    frontend = reader(ws)
    count, first = touched(ws, frontend, word)
    held = own_words(ws).get(word, "")
    said = said_as(frontend, word)
    return WordSummary(
        word=word, before=said, phones=held, clips=count, first=first, file=str(place(ws)), written=False
    )


def set_word(ws: Workspace, word: str, phones: str, *, dry: bool = False) -> WordSummary:
    """Write a word down, or try it: its phones are those of the language, or nothing is written."""
    word, phones = cleaned(word, phones)
    frontend = reader(ws)
    with_word(frontend, word, phones)
    count, first = touched(ws, frontend, word)
    if not dry:
        with writing(ws):
            _write(ws, word, phones)
    return WordSummary(
        word=word,
        before=said_as(frontend, word),
        phones=phones,
        clips=count,
        first=first,
        file=str(place(ws)),
        written=not dry,
    )


def remove_word(ws: Workspace, word: str, *, dry: bool = False) -> WordSummary:
    word, _ = cleaned(word, None)
    if word not in own_words(ws):
        raise ConfigError(f"{word!r} is not among your words: 'olu lexicon {ws.root}' lists them")
    frontend = reader(ws)
    count, first = touched(ws, frontend, word)
    if not dry:
        with writing(ws):
            _write(ws, word, None)
    said = said_as(frontend, word)
    return WordSummary(
        word=word, before=said, phones="", clips=count, first=first, file=str(place(ws)), written=not dry
    )


def _write(ws: Workspace, word: str, phones: str | None) -> None:
    """Change one line; all others, comments too, stay as they are. Nothing but the workspace's own file is written."""
    settings = read_settings(ws)
    path = place(ws, settings)
    if not path.resolve().is_relative_to(ws.root.resolve()):
        raise ConfigError(f"your words lie in {path}, outside the workspace: change them there")
    text = (
        path.read_text(encoding="utf-8-sig")
        if path.exists()
        else "# Your own words: spelling, tab, phones with spaces\n"
    )
    lines = [
        line for line in text.splitlines() if unicodedata.normalize("NFC", line.partition("\t")[0].strip()) != word
    ]
    if phones is not None:
        lines.append(f"{word}\t{phones}")
    write_text(path, "\n".join(lines) + "\n")
    if settings.lexicon is None:
        write_settings(ws, settings.model_copy(update={"lexicon": FILE}))

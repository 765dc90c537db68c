"""Phones by espeak-ng, for languages that have no rules here and for voices that were trained on its phones.

espeak-ng is one library with one voice at a time: a lock keeps readers apart. Its licence is the GPL; it is no part of
Olu, and the extra `espeak` installs it.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import re
import shutil
import tempfile
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from olu.core.errors import LanguageError, MissingExtra
from olu.text.language_data import Pronunciation
from olu.text.languages import resolve

# ---- where espeak-ng and its data lie, under a path short enough for it


LONGEST_PATH = 140  # bytes; espeak-ng cuts the path of its data off at 160, file names and all, on some systems


def located() -> tuple[str, Path]:
    """The library and its data."""
    try:
        import espeakng_loader
    except ImportError:
        raise MissingExtra("reading with espeak-ng", extra="espeak", package="espeakng-loader") from None
    return str(espeakng_loader.get_library_path()), Path(espeakng_loader.get_data_path())


@contextmanager
def short(data: Path) -> Iterator[Path]:
    """`data` itself, or a short name for it where its path is too long for espeak-ng."""
    if len(os.fsencode(data)) <= LONGEST_PATH:
        yield data
        return
    with tempfile.TemporaryDirectory(prefix="olu-") as place:
        name = Path(place) / "espeak-ng-data"
        if len(os.fsencode(name)) > LONGEST_PATH:
            raise LanguageError(
                f"{data} is too long a path for espeak-ng (over {LONGEST_PATH} bytes), and so is the temporary folder"
                f" {place}: set TMPDIR to a folder with a short path"
            )
        try:
            name.symlink_to(data.absolute(), target_is_directory=True)
        except OSError:  # Windows lets few people make links
            shutil.copytree(data, name)
        yield name


SYNCHRONOUS = 2  # espeak_AUDIO_OUTPUT: nothing is played
DONT_EXIT = 0x8000  # espeakINITIALIZE_DONT_EXIT: missing data is a return code, not the end of the process
UTF8 = 1
IPA, SEPARATOR = 2, "_"
MODE = IPA | ord(SEPARATOR) << 8  # IPA, the phones of a word with a separator between
PRIMARY, MARKS = "ˈ", "ˈˌ"
SWITCH = re.compile(r"\([a-z-]+\)")  # "(en)": from here on another language's phones
AFFRICATE = re.compile("^(t[ʃsɕʂ]|d[ʒzʑʐ]|pf)")
UNHEARD = "-|'"  # signs of its own, not phones
PUNCTUATION = re.compile(r'(\s*[;:,.!?¡¿—…"«»“”(){}\[\]]+\s*)')  # what phonemizer keeps in its place
DEFAULTS = {"en-gb": "en", "eng": "en-us", "zho": "cmn", "por": "pt-br", "nor": "nb", "fas": "fa", "msa": "ms"}


class Chosen(ctypes.Structure):
    """The first fields of the C structure espeak_VOICE."""

    _fields_ = (("name", ctypes.c_char_p), ("languages", ctypes.c_char_p), ("identifier", ctypes.c_char_p))


class Espeak:
    """The library, loaded once."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._library: ctypes.CDLL | None = None
        self._voice = ""
        self._data = Path()
        self._held = ExitStack()

    def words(self, text: str, *, voice: str) -> list[list[str]]:
        """The phones of each word as espeak-ng writes them, stress marks and all. Its words are not always ours."""
        raw = _clean(text).encode()
        with self._lock:
            library = self._with(voice)
            place = ctypes.c_void_p(ctypes.cast(ctypes.c_char_p(raw), ctypes.c_void_p).value)
            clauses = []
            while place.value:  # one clause at a time; espeak-ng moves the place on, and to nothing at the end
                clauses.append(library.espeak_TextToPhonemes(ctypes.byref(place), UTF8, MODE) or b"")
        said = " ".join(clause.decode("utf-8", "replace") for clause in clauses)
        words = ([phone for phone in word.split(SEPARATOR) if phone] for word in SWITCH.sub("", said).split())
        return [word for word in words if word]

    def voices(self) -> dict[str, str]:
        """The names of its voices by their lower-case form."""
        with self._lock:
            self._load()
            return {path.name.lower(): path.name for path in (self._data / "lang").rglob("*") if path.is_file()}

    def _load(self) -> ctypes.CDLL:
        if self._library is None:
            file, data = located()
            self._data = self._held.enter_context(short(data))
            atexit.register(self._held.close)
            try:
                library = ctypes.CDLL(file)
            except OSError as bad:
                raise LanguageError(f"espeak-ng cannot be loaded ({bad}): install espeakng-loader again") from None
            if library.espeak_Initialize(SYNCHRONOUS, 0, str(self._data).encode(), DONT_EXIT) <= 0:
                raise LanguageError(f"espeak-ng cannot open its data in {data}: install espeakng-loader again")
            library.espeak_TextToPhonemes.restype = ctypes.c_char_p
            self._library = library
        return self._library

    def _with(self, voice: str) -> ctypes.CDLL:
        library = self._load()
        if voice != self._voice:
            self._voice = ""
            if not self._choose(library, voice):
                raise LanguageError(f"espeak-ng has no voice {voice!r}: name one of its languages")
            self._voice = voice
        return library

    def _choose(self, library: ctypes.CDLL, voice: str) -> bool:
        """Whether it took the voice; of a mere folder's name it says so, and goes on with the voice before."""
        if voice not in self.voices().values() or library.espeak_SetVoiceByName(voice.encode()) != 0:
            return False
        library.espeak_GetCurrentVoice.restype = ctypes.POINTER(Chosen)
        taken: bytes = library.espeak_GetCurrentVoice().contents.identifier or b""
        return taken.decode().replace("\\", "/").split("/")[-1] == voice


ENGINE = Espeak()


def _clean(text: str) -> str:
    """The text without what C strings and espeak-ng cannot hold."""
    return "".join(" " if unicodedata.category(character)[0] == "C" else character for character in text)


def voice_for(code: str) -> str:
    """The voice of a language code, or of a tag such as es-419."""
    known = ENGINE.voices()
    tag = code.lower()
    if tag not in DEFAULTS and tag in known and len(tag) > 3:
        return known[tag]
    three = tag if tag in DEFAULTS else resolve(code)
    name = DEFAULTS.get(three) or next((short for short in known if len(short) == 2 and _means(short, three)), three)
    if name in known:
        return known[name]
    raise LanguageError(f"espeak-ng has no voice for {code!r}: read it by letters")


def _means(voice: str, three: str) -> bool:
    try:
        return resolve(voice) == three
    except LanguageError:
        return False


def phonemize(text: str, *, voice: str) -> str:
    """The text in IPA, punctuation in its place, stress marks in the words: what VITS-LJS and VCTK were given."""
    pieces = PUNCTUATION.split(text)
    pieces[::2] = [" ".join("".join(word) for word in ENGINE.words(piece, voice=voice)) for piece in pieces[::2]]
    return re.sub(r"\s+", " ", "".join(pieces)).strip()


class EspeakPronouncer:
    """One word at a time, so a word sounds as it does alone."""

    def __init__(self, voice: str) -> None:
        self.voice = voice

    def mode(self, words: Sequence[str]) -> str:
        return ""

    def say(self, word: str, *, mode: str = "") -> Pronunciation:
        phones: list[str] = []
        stress: int | None = None
        is_stressed = False
        for one in (phone for part in ENGINE.words(word, voice=self.voice) for phone in part):
            is_stressed = is_stressed or PRIMARY in one
            plain = "".join(letter for letter in one if letter not in MARKS + UNHEARD)
            if not plain:
                continue
            if is_stressed and stress is None:
                stress = len(phones)
            phones.append(AFFRICATE.sub(lambda found: "͡".join(found[0]), plain))
        lost = () if phones else tuple(letter for letter in word if unicodedata.category(letter)[0] in "LMN")
        return Pronunciation(tuple(phones), stress=stress, rules=(f"espeak-ng {self.voice}",), dropped=lost)


def make(code: str) -> EspeakPronouncer:
    """The pronouncer of a language code."""
    return EspeakPronouncer(voice_for(code))

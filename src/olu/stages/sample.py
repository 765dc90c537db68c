"""Make a small corpus to try everything with, spoken by a machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from olu.audio import io
from olu.errors import ConfigError, CorpusError, LanguageError, OluError
from olu.files import embedded_voice, whole, write_text
from olu.speak.batch import each
from olu.speak.voice import Voice
from olu.text.languages import Language, load
from olu.types import Tick, Work

CLIPS = 60
PITCH = 1.2
PITCHES = (0.7, 1.4)
ESPEAK_TOO = True  # languages that the voice inside this package does not speak are spoken by espeak-ng


class Recorder(Protocol):
    """Writes `folder`/<id>.wav for every id and text, and yields each clip's seconds."""

    def __call__(self, folder: Path, *, lines: Mapping[str, str]) -> Iterator[float]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSummary:
    folder: str
    language: str
    clips: int
    seconds: float
    spoken_by: str


def sample_corpus(
    folder: Path, *, language: str | None = None, clips: int = CLIPS, pitch: float = PITCH
) -> Work[SampleSummary]:
    """Write FOLDER/metadata.csv and FOLDER/wavs in LJSpeech's layout; the folder appears whole or not at all.

    Without a language: that of the voice inside this package. `pitch`: times its own, for another speaker.
    """
    chosen, record, who = _speaker(language, pitch)
    lines = _lines(chosen, clips)
    target = _free(folder)
    seconds = 0.0
    with whole(target) as partial:
        wavs = partial / "wavs"
        wavs.mkdir(parents=True)
        for done, length in enumerate(record(wavs, lines=lines), 1):
            seconds += length
            yield Tick(done, len(lines), chosen.code)
        write_text(partial / "metadata.csv", "".join(f"{id}|{text}\n" for id, text in lines.items()))
    facts = {"language": chosen.code, "clips": len(lines), "seconds": round(seconds, 3), "spoken_by": who}
    return SampleSummary(folder=str(folder), **facts)  # type: ignore[arg-type]


def _speaker(language: str | None, pitch: float) -> tuple[Language, Recorder, str]:
    """Who speaks this language here: the voice inside this package in another pitch, or (for now) espeak-ng."""
    if not PITCHES[0] <= pitch <= PITCHES[1]:
        raise ConfigError(f"--pitch {pitch:g}: give {PITCHES[0]} to {PITCHES[1]}")
    own = embedded_voice()
    voice = Voice.open(own, threads=1) if own else None
    if voice is None and language is None:
        raise LanguageError("this Olu was built without a voice of its own: name a language with --language")
    chosen = load(language or voice.language)  # type: ignore[union-attr]
    if voice is not None and chosen.code == voice.language:
        said = f"the voice {voice.name} at {pitch:g} times its pitch"
        return chosen, partial(record_voice, voice=voice, pitch=pitch), said
    if ESPEAK_TOO:
        from olu.corpus.sample import record

        if pitch != PITCH:
            raise ConfigError("--pitch has no effect here: espeak-ng has its own")
        if chosen.sample is not None:
            return chosen, partial(record, voice=chosen.sample), "espeak-ng"
    raise LanguageError(f"no sample can be made for {chosen.name} ({chosen.code}): {_spoken(voice)}")


def _spoken(voice: Voice | None) -> str:
    own = [voice.language] if voice else []
    if ESPEAK_TOO:
        from olu.text.languages import available

        own = sorted({*own, *(one.code for one in available() if one.has_sample)})
    return f"a sample can be made for {', '.join(own)}" if own else "this Olu was built without a voice of its own"


def record_voice(folder: Path, *, lines: Mapping[str, str], voice: Voice, pitch: float) -> Iterator[float]:
    """Slower by the factor and played faster by it: the tempo stays, pitch and formants become another's."""
    rows = list(lines.items())

    def one(number: int) -> float:
        id, text = rows[number]
        slow = voice.speak(text, speed=1 / pitch, seed=number)
        audio = io.resample(slow, slow.rate, factor=pitch)
        io.write(folder / f"{id}.wav", audio)
        return audio.seconds

    for number, seconds in each([text for _, text in rows], one):
        if isinstance(seconds, OluError):
            raise CorpusError(f"clip {rows[number][0]}: {seconds}")
        yield seconds


def _lines(language: Language, clips: int) -> dict[str, str]:
    """Ids and sentences."""
    sentences = language.sentences()
    if not sentences:
        raise LanguageError(f"no sample sentences for {language.name} ({language.code}): {_spoken(None)}")
    if not 1 <= clips <= len(sentences):
        raise ConfigError(
            f"--clips {clips}: {language.name} has {len(sentences)} sentences; give 1 to {len(sentences)}"
        )
    return {f"{language.code}_{number:04}": text for number, text in enumerate(sentences[:clips], 1)}


def _free(folder: Path) -> Path:
    """The real path of a folder that is empty or not there."""
    target = folder.resolve()
    if target.exists() and not target.is_dir():
        raise CorpusError(f"{folder} is a file: name a folder that is empty or not there yet")
    if target.exists() and any(target.iterdir()):
        raise CorpusError(f"{folder} is not empty: name a folder that is empty or not there yet")
    if target == Path.cwd():  # the new folder takes the place of the old one, and the shell would stand in nowhere
        raise CorpusError(f"{folder} is the folder you are in: name a new folder")
    return target

"""Make a small corpus to try everything with, spoken by the voice inside this package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from olu.audio import io
from olu.core.errors import ConfigError, CorpusError, LanguageError, OluError
from olu.core.files import embedded_voice, whole, write_text
from olu.core.job import Job, Tick
from olu.speak.voice import Voice, each
from olu.stages.verbs.corpus import SampleOptions
from olu.text.languages import Language, load

CLIPS = 60
PITCH = 1.2
PITCHES = (0.7, 1.4)
INSTEAD = "take recordings of your own in with 'olu import'"


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSummary:
    folder: str
    language: str
    clips: int
    seconds: float
    spoken_by: str

    def sentences(self, options: SampleOptions) -> Iterator[str]:
        said = f"{self.clips} clips of {self.language}, {self.seconds:.1f} s, spoken by {self.spoken_by}"
        yield f"{self.folder}: {said}."
        yield f"Next: olu new WS --language {self.language}, then olu import WS {self.folder}"


def run(options: SampleOptions) -> Job[SampleSummary]:
    """`olu sample`"""
    return sample_corpus(options.folder, language=options.language, clips=options.clips, pitch=options.pitch)


def sample_corpus(
    folder: Path, *, language: str | None = None, clips: int = CLIPS, pitch: float = PITCH
) -> Job[SampleSummary]:
    """Write FOLDER/metadata.csv and FOLDER/wavs in LJSpeech's layout; the folder appears whole or not at all.

    Without a language: that of the voice inside this package. `pitch`: times its own, for another speaker.
    """
    if not PITCHES[0] <= pitch <= PITCHES[1]:
        raise ConfigError(f"--pitch {pitch:g}: give {PITCHES[0]} to {PITCHES[1]}")
    target = _free(folder)
    if (own := embedded_voice()) is None:
        raise LanguageError(f"this Olu was built without a voice of its own, so no sample can be made: {INSTEAD}")
    voice = Voice.open(own, threads=1)
    lines = _lines(_spoken_by(voice, language), clips)
    seconds = 0.0
    with whole(target) as partial:
        wavs = partial / "wavs"
        wavs.mkdir(parents=True)
        for done, length in enumerate(record(wavs, lines=lines, voice=voice, pitch=pitch), 1):
            seconds += length
            yield Tick(done, len(lines), voice.language)
        write_text(partial / "metadata.csv", "".join(f"{id}|{text}\n" for id, text in lines.items()))
    return SampleSummary(
        folder=str(folder),
        language=voice.language,
        clips=len(lines),
        seconds=round(seconds, 3),
        spoken_by=f"the voice {voice.name} at {pitch:g} times its pitch",
    )


def _spoken_by(voice: Voice, language: str | None) -> Language:
    """The language of the voice, and an error where another was asked for."""
    own = load(voice.language)
    asked = load(language) if language is not None else own
    if asked.code != own.code:
        raise LanguageError(
            f"no sample can be made in {asked.name} ({asked.code}): Olu's own voice speaks {own.name} ({own.code})"
            f" only; leave --language out, or {INSTEAD}"
        )
    return own


def record(folder: Path, *, lines: Mapping[str, str], voice: Voice, pitch: float) -> Iterator[float]:
    """Speak each line into a file, `pitch` times higher at the same tempo; yields the seconds of each."""
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
    """Made-up ids with sentences of the language."""
    sentences = language.sentences()
    if not sentences:
        raise LanguageError(f"no sample can be made: {language.name} ({language.code}) has no sentences.txt; {INSTEAD}")
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

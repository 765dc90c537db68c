"""Make a small corpus to try everything with, spoken by a machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from olu.corpus.sample import record
from olu.errors import ConfigError, CorpusError, LanguageError
from olu.files import whole, write_text
from olu.text.languages import Language, available, load
from olu.types import Tick, Work

CLIPS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSummary:
    folder: str
    language: str
    clips: int
    seconds: float


def sample_corpus(folder: Path, *, language: str, clips: int = CLIPS) -> Work[SampleSummary]:
    """Write FOLDER/metadata.csv and FOLDER/wavs in LJSpeech's layout; the folder appears whole or not at all."""
    lines, voice, code = _lines(load(language), clips)
    target = _free(folder)
    seconds = 0.0
    with whole(target) as partial:
        wavs = partial / "wavs"
        wavs.mkdir(parents=True)
        for done, length in enumerate(record(wavs, lines=lines, voice=voice), 1):
            seconds += length
            yield Tick(done, len(lines), code)
        write_text(partial / "metadata.csv", "".join(f"{id}|{text}\n" for id, text in lines.items()))
    return SampleSummary(folder=str(folder), language=code, clips=len(lines), seconds=round(seconds, 3))


def _lines(language: Language, clips: int) -> tuple[dict[str, str], str, str]:
    """Ids and sentences, the voice, and the language's code."""
    sentences = language.sentences()
    if language.sample is None or not sentences:
        known = ", ".join(one.code for one in available() if one.has_sample)
        raise LanguageError(
            f"no sample sentences for {language.name} ({language.code}): a sample can be made for {known}"
        )
    if not 1 <= clips <= len(sentences):
        raise ConfigError(
            f"--clips {clips}: {language.name} has {len(sentences)} sentences; give 1 to {len(sentences)}"
        )
    lines = {f"{language.code}_{number:04}": text for number, text in enumerate(sentences[:clips], 1)}
    return lines, language.sample, language.code


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

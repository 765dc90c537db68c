"""Which sentences are spoken, and the recordings they are held against."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import soundfile

from olu.audio import io
from olu.core.errors import ConfigError, MissingExtra, TextError, WorkspaceError
from olu.core.job import Job, Tick
from olu.core.types import Audio, Clip, Reading
from olu.corpus.manifest import Corpus
from olu.corpus.split import said
from olu.evaluate.estimates import Estimate
from olu.evaluate.evaluation import Domain, Missing, References, Sample, spread_evenly
from olu.evaluate.metrics import tones
from olu.evaluate.metrics import tones as tone_pairs
from olu.evaluate.metrics.obeyed import EDITS, SENTENCES, pitch_errors
from olu.evaluate.metrics.obeyed import summarise as summarise_obeyed
from olu.evaluate.subject import Files, Speaker, text_of
from olu.text.frontend import from_state, language_state, read_state
from olu.text.languages import load

Read = Callable[[str], Reading | None]
FEW = 3


@dataclass(frozen=True)
class PlannedSentence:
    """A sentence to be spoken."""

    id: str
    text: str
    domain: Domain
    clip: Clip | None = None
    speaker: str = ""  # who is to say it; empty: the clip's own

    @property
    def who(self) -> str:
        return self.speaker or (self.clip.speaker if self.clip else "")

    @property
    def recorded(self) -> str:
        """Whose recording it is held against, where there is one."""
        return self.clip.speaker if self.clip else self.speaker


def lines_for(corpus: Corpus | None, speaker: Speaker, *, sentences: int, texts: Path | None) -> list[PlannedSentence]:
    """Held-out clips, the test side before the valid side, and sentences from elsewhere."""
    language = speaker.subject.language
    if sentences < 1:
        raise ConfigError(f"--sentences {sentences}: give a number from 1 on")
    named = speaker.subject.speaker or ""
    held = _held_out(corpus, sentences, speaker, language=language) if corpus else []
    others = _own(texts) if texts else _shipped(corpus, language, most=max(1, sentences // 2))
    found = [PlannedSentence(clip.id, clip.text, "in", clip, named) for clip in held]
    turns = len(speaker.speakers)
    for number, text in enumerate(others):
        found.append(PlannedSentence(f"other-{number + 1:03d}", text, "out", speaker=speaker.speakers[number % turns]))
    if not found:
        raise WorkspaceError(_nothing(corpus, speaker))
    return found


def _nothing(corpus: Corpus | None, speaker: Speaker) -> str:
    language, name = speaker.subject.language, speaker.subject.name
    if corpus is None:
        return (
            f"there is nothing for {name} to say: {language} has no sentences of its own; name the workspace with its"
            " recordings by --corpus WS"
        )
    return (
        f"there is nothing to say: the corpus has no test or valid clips, and {language} has no sentences of its own;"
        " 'olu split' makes such sides, or give 'olu evaluate' sentences with --text FILE"
    )


def _speakers_of(corpus: Corpus, speaker: Speaker) -> set[str]:
    """Whose recordings a voice is held against: of a voice of several people, those it has; all where it has one.

    Where one is named, the recordings are that person's, and a corpus of one person may call it something else.
    """
    known, named = set(corpus.speakers), speaker.subject.speaker
    if named is None:
        return set(speaker.speakers) if len(speaker.speakers) > 1 else known
    if named in known or len(known) == 1:
        return {named} if named in known else known
    raise ConfigError(f"--speaker {named}: the recordings in {corpus.ws.root} are of {', '.join(sorted(known))}")


def _held_out(corpus: Corpus, count: int, speaker: Speaker, *, language: str) -> list[Clip]:
    """Clips that were not trained on; of a corpus of several languages, only in the voice's."""
    found: list[Clip] = []
    if len({clip.language for clip in corpus}) > 1:
        corpus = corpus.where(lambda clip: clip.language == language)
    known = _speakers_of(corpus, speaker)
    for side in ("test", "valid"):
        fit = [clip for clip in corpus if corpus.split(clip) == side and clip.speaker in known]
        own = {clip.id: clip for clip in fit if corpus.why_not(clip) is None and not corpus.has_changed(clip)}
        found += [own[id] for id in spread_evenly(list(own), count - len(found))] if len(found) < count else []
    return found


def _own(path: Path) -> list[str]:
    if not path.is_file():
        raise ConfigError(f"{path} is not there: give a text file with one sentence on each line")
    texts = [line.strip() for line in text_of(path).split("\n") if line.strip()]
    if not texts:
        raise ConfigError(f"{path} is empty: give one sentence on each line")
    return texts


def _shipped(corpus: Corpus | None, language: str, *, most: int) -> list[str]:
    """The language's own sentences, without those that are in the corpus."""
    known = {said(clip.text) for clip in corpus} if corpus else set()
    return spread_evenly([text for text in load(language).sentences() if said(text) not in known], most)


def no_others(takes: Sequence[Sample], language: str) -> tuple[Missing, ...]:
    """That no sentence from elsewhere was spoken, and why: how the voice does outside its corpus is then not known."""
    if any(take.domain == "out" for take in takes):
        return ()
    own = load(language)
    why = f"Olu has no list of {own.name} sentences"
    if own.sentences():
        why = f"the {own.name} sentences Olu has are in the corpus or could not be said"
    return (Missing(metric="other sentences", why=f"{why}; give some", command="--text FILE"),)


def reader_of(corpus: Corpus | None, speaker: Speaker | None) -> Read:
    """The corpus's reading, else the voice's own; a text that cannot be read has none."""
    read: Callable[[str], Reading]
    if corpus is not None:
        state = read_state(corpus.ws.readings / "frontend.json")
        known = speaker.subject.language if speaker and speaker.subject.language in state.get("by", ()) else None
        read = from_state(language_state(state, known or corpus.ws.language)).read
    elif speaker is not None and speaker.read is not None:
        read = speaker.read
    else:
        return lambda text: None

    def attempt(text: str) -> Reading | None:
        try:
            reading = read(text)
        except TextError:
            return None
        return reading if reading.words else None

    return attempt


def spoken_takes(
    lines: Sequence[PlannedSentence], speaker: Speaker, *, folder: Path, corpus: Corpus | None, read: Read
) -> Iterator[Sample | str]:
    """Each line as it was spoken into the folder, or a sentence why it could not be said."""
    for number, line in enumerate(lines, 1):
        try:
            audio = speaker.say(line.text, line.who)
        except TextError as unsayable:
            yield f"{line.id} could not be said: {unsayable}"
            continue
        path = folder / f"{file_name(line.id, number)}.wav"
        io.write(path, audio)
        yield _take(line, path, corpus=corpus, read=read)


def _take(line: PlannedSentence, path: Path, *, corpus: Corpus | None, read: Read) -> Sample:
    natural: Callable[[], Audio] | None = None
    if line.clip is not None and corpus is not None and not corpus.has_changed(line.clip):
        natural = partial(corpus.audio, corpus.taken(line.clip))
    return Sample(
        id=line.id,
        text=line.text,
        domain=line.domain,
        wav=path.name,
        spoken=partial(io.read, path),
        natural=natural,
        reading=read(line.text),
        speaker=line.recorded,
    )


def file_takes(files: Files, corpus: Corpus, *, folder: Path, read: Read) -> Iterator[Sample]:
    """Sound files, copied into the folder, beside the recordings of the same clips or texts."""
    found = _files_of(files, corpus)
    for number, (line, path) in enumerate(found, 1):
        kept = folder / f"{file_name(line.id, number)}.wav"
        _keep(kept, io.read(path))
        yield _take(line, kept, corpus=corpus, read=read)


def file_notes(files: Files, corpus: Corpus) -> list[str]:
    """What to know of the files: those that were not judged, and those that the judges have learnt from."""
    known = {clip.id for clip in corpus}
    strangers = [path.name for id, path in files.by_id.items() if id not in known]
    learnt = sum(line.clip is not None and corpus.split(line.clip) == "train" for line, _ in _files_of(files, corpus))
    notes = []
    if strangers:
        named = ", ".join(strangers[:FEW])
        notes.append(f"{len(strangers)} files have the name of no clip and were not judged, such as {named}")
    notes += corpus.changed()
    if learnt:
        notes.append(
            f"{learnt} files are of clips of the train side, from which the recogniser has learnt: their wrong letters"
            " say little"
        )
    return notes


def _keep(path: Path, audio: Audio) -> None:
    """Write a sound as it was judged: as floats where it holds what is no number, which 16 bits cannot."""
    if np.isfinite(audio.samples).all():
        io.write(path, audio)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(str(path), audio.samples, audio.rate, format="WAV", subtype="FLOAT")


def _files_of(files: Files, corpus: Corpus) -> list[tuple[PlannedSentence, Path]]:
    clips = {clip.id: clip for clip in corpus}
    changed_first = sorted(corpus, key=corpus.has_changed, reverse=True)  # of one text, a sound recording counts
    by_text = {said(clip.text): clip for clip in changed_first}
    found = [
        (PlannedSentence(id, clips[id].text, "in", clips[id]), path) for id, path in files.by_id.items() if id in clips
    ]
    used: set[str] = set()
    for number, (path, text) in enumerate(files.texts, 1):
        clip = by_text.get(said(text))
        id = clip.id if clip and clip.id not in used else f"other-{number:03d}"  # one text may have several files
        used.add(id)
        found.append((PlannedSentence(id, text, "in" if clip else "out", clip), path))
    if not found:
        raise WorkspaceError(
            f"no file of {files.subject.path} has the name of a clip of {corpus.ws.root}: name them by clip id"
            " ('olu clips' lists them), or put a table of file|text beside them"
        )
    sound = [(line, path) for line, path in found if line.clip is None or not corpus.has_changed(line.clip)]
    if not sound:
        raise WorkspaceError(f"no file of {files.subject.path} can be judged: {' '.join(corpus.changed())}")
    return sound


def file_name(id: str, number: int) -> str:
    plain = all(letter.isalnum() or letter in "-_." for letter in id) and not id.startswith(".") and len(id) < 120
    return id if plain else f"sentence-{number:04d}"


# ---- words that differ in tone alone, spoken by the voice: does it obey the marks?


def pairs_said(speaker: Speaker, known: References, *, read: Read) -> Job[tuple[Estimate, ...]]:
    """tone_pairs, and tone_pairs_strict, for languages whose pairs are known and corpora that were aligned."""
    probes = tone_pairs.probes(known.language)
    if known.aligns is None or not probes:
        return ()
    found: list[Estimate] = []
    for name, say in (("tone_pairs", speaker.say), ("tone_pairs_strict", speaker.strict)):
        answers: list[bool | None] = []
        for number, probe in enumerate(probes if say else (), 1):
            assert say
            yield Tick(number, len(probes), "minimal pairs")
            reading = read(probe.text)
            try:
                audio = say(probe.text, "")
            except TextError:
                reading = None
            alignment = known.aligns(probe.word, audio, reading) if reading else None
            if reading is None or alignment is None:
                answers.append(None)
                continue
            answers.append(tone_pairs.obeyed(probe, tones.syllables(alignment, reading, tones.track(audio))))
        found += tone_pairs.summarise_pairs(answers, name) if any(answer is not None for answer in answers) else ()
    return tuple(found)


# ---- voices whose pitch stands open: is a word that is moved heard where it was moved to?


def moved_words(speaker: Speaker, texts: Sequence[str], *, seed: int) -> Job[tuple[Estimate, ...]]:
    """pitch_obeyed and pitch_kept; nothing for other voices, or where no pitch can be tracked."""
    if speaker.voice is None:
        return ()
    chosen, found = spread_evenly(list(texts), SENTENCES), []
    try:
        for pair in pitch_errors(speaker.voice, chosen, seed=seed, speaker=speaker.subject.speaker):
            found.append(pair)
            yield Tick(len(found), len(chosen) * len(EDITS), "moving words")
    except MissingExtra:
        return ()
    return summarise_obeyed(found) if any(one is not None for one, _ in found) else ()

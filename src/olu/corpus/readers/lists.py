"""Lists of recordings and texts with columns that have no names: the layouts filelist, festvox and kaldi."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from olu.audio.media import is_recording
from olu.core.files import Refused, read_inside
from olu.core.parse import BadData, from_json
from olu.corpus.readers.columns import cells
from olu.corpus.readers.rows import Problem, Read, Row, TextLine, Tree, Why, folder_of, name_of, speaker_name
from olu.corpus.readers.source import LOOKED_IN, AudioIndex, SourceFolder

LONGEST_SPEAKER = 64
SPEAKERS = "speakers.json"  # beside a list with numbers of speakers: name -> number
MOST_SPEAKERS = 1 << 20  # bytes
PROMPTS = "txt.done.data"
PROMPT = re.compile(r'\s*\(\s*([^\s"()]++)\s+"((?:[^"\\]|\\.)*+)"\s*\)\s*')
VOICE = re.compile(r"cmu_[a-z]+_(\w+)_arctic")  # the speaker's letters in the names of the best known of them
FESTVOX_FOLDERS = ("wav", "wavs", "")
KALDI_FOLDERS = ("", "wavs", "wav", "audio", "clips")
SEGMENT = "is not of the form utterance recording start end: write it so"


def filelist_seen(folder: SourceFolder) -> str:
    """Text files with `path|text` or `path|speaker|text` lines, as VITS and its kin train from."""
    files = _filelists(folder)
    others = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return f"{files[0]}{others} {'have' if others else 'has'} path|text lines" if files else ""


def filelist_rows(folder: SourceFolder) -> Iterator[Read]:
    for file in _filelists(folder):
        lines, near = list(folder.lines(file)), folder_of(file)
        spoken_by, names = _second_is_speaker(lines), _speaker_names(folder, near)
        for line in lines:
            row = partial(_path_row, index=folder.index, near=near, spoken_by=spoken_by, names=names)
            yield row(line) if isinstance(line, TextLine) else line


def _speaker_names(folder: SourceFolder, near: str) -> dict[str, str]:
    """The number of a speaker in a list -> the name that speakers.json beside it gives."""
    try:
        told = from_json(read_inside(folder.home or folder.path, folder.path / near / SPEAKERS, most=MOST_SPEAKERS))
    except (Refused, OSError, BadData):
        return {}
    pairs = told.items() if isinstance(told, dict) else ()
    return {str(number): name for name, number in pairs if isinstance(number, int)}


def _filelists(folder: SourceFolder) -> list[str]:
    """Files whose lines begin with a recording; metadata_train.csv and its like too, without a header."""
    part = re.compile(r"(.*/)?metadata_[^/]*\.csv", re.S)
    lists = [file for file in folder.tree.files if file.lower().endswith(".txt") or part.fullmatch(file)]
    return [file for file in lists if any(is_recording(one.partition("|")[0].strip()) for one in folder.glance(file))]


def _second_is_speaker(lines: Sequence[object]) -> bool:
    """Whether the second of three columns is a speaker, and not a text the third has normalised."""
    triples = [parts for line in lines if isinstance(line, TextLine) and len(parts := line.text.split("|")) == 3]
    names = [second.strip() for _, second, _ in triples]
    return all(len(name) <= LONGEST_SPEAKER and not any(c.isspace() for c in name) for name in names) and not any(
        second.strip().casefold() == third.strip().casefold() for _, second, third in triples
    )


def _path_row(
    line: TextLine, *, index: AudioIndex, near: str, spoken_by: bool, names: Mapping[str, str]
) -> Row | Problem:
    parts = cells(line.text, "|")
    if not 2 <= len(parts) <= 3:
        number = f"{len(parts)} column{'s' if len(parts) > 1 else ''}"
        return Problem(line.where, f"{number}: write path|text or path|speaker|text", Why.FORM)
    audio = index.take(_real(parts[0].strip(), index, near), where=line.where, near=near, hint=f" in {LOOKED_IN}")
    if isinstance(audio, Problem):
        return audio
    if len(parts) == 3 and spoken_by:
        who = names.get(parts[1].strip(), parts[1])
        return Row(audio=audio, text=parts[2], where=line.where, speaker=speaker_name(who))
    return Row(audio=audio, text=parts[1], where=line.where)


def _real(path: str, index: AudioIndex, near: str) -> str:
    """The path without leading folders that are not there: lists are shared with DUMMY/ in front."""
    places = [index.source / near, index.source, *([index.root] if index.root is not None else [])]
    while "/" in path.strip("/") and not path.startswith(("/", "../")):
        first, _, rest = path.partition("/")
        if any(_is_folder(place / first) for place in places):
            break
        path = rest
    return path


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def festvox_seen(folder: SourceFolder) -> str:
    """Lines of `( id "text" )` in etc/txt.done.data, and the recordings in wav/."""
    files = _prompts(folder.tree)
    return f'{" and ".join(files[:2])} {"have" if len(files) > 1 else "has"} ( id "text" ) lines' if files else ""


def festvox_rows(folder: SourceFolder) -> Iterator[Read]:
    for file in _prompts(folder.tree):
        place = folder_of(file)
        voice = folder_of(place) if name_of(place) == "etc" else place
        yield from folder.rows(file, partial(_prompt_row, index=folder.index, voice=voice))


def _prompts(tree: Tree) -> list[str]:
    return [file for file in tree.files if name_of(file) == PROMPTS]


def _prompt_row(line: TextLine, *, index: AudioIndex, voice: str) -> Row | Problem:
    found = PROMPT.fullmatch(line.text)
    if found is None:
        return Problem(line.where, 'is not of the form ( id "text" ): write it so', Why.FORM)
    audio = index.take(found[1], where=line.where, near=voice, folders=FESTVOX_FOLDERS, hint=" in wav/")
    if isinstance(audio, Problem):
        return audio
    name = name_of(voice)  # where a source has a folder for each voice
    known = VOICE.fullmatch(name)
    speaker = known[1] if known else name or None
    return Row(audio=audio, text=re.sub(r"\\(.)", r"\1", found[2]), where=line.where, speaker=speaker)


def kaldi_seen(folder: SourceFolder) -> str:
    """wav.scp, text, utt2spk and segments in one folder or several. A command in wav.scp is never run."""
    places = ", ".join(one or "the folder itself" for one in _kaldi_folders(folder.tree))
    return f"wav.scp and text are in {places}" if places else ""


def kaldi_rows(folder: SourceFolder) -> Iterator[Read]:
    for place in _kaldi_folders(folder.tree):
        yield from _kaldi_rows(folder, place)


def _kaldi_folders(tree: Tree) -> list[str]:
    folders = [folder_of(file) for file in tree.files if name_of(file) == "wav.scp"]
    return [folder for folder in folders if posixpath.join(folder, "text") in tree.files]


@dataclass(frozen=True, slots=True)
class _Entry:
    """The rest of a line behind its key, and where it stands."""

    rest: str
    where: str


def _entries(folder: SourceFolder, file: str, others: list[Read]) -> dict[str, _Entry]:
    """Key -> entry of a file; the first of two counts."""
    found: dict[str, _Entry] = {}
    for line in folder.lines(file) if file in folder.tree.files else ():
        if not isinstance(line, TextLine):
            others.append(line)
            continue
        key, *rest = line.text.split(maxsplit=1)
        if key in found:
            others.append(Problem(line.where, f"{key} stands in {found[key].where} too: remove one", Why.TWICE))
        else:
            found[key] = _Entry(rest[0].strip() if rest else "", line.where)
    return found


def _untold(
    entries: Mapping[str, _Entry], texts: Collection[str], audio: Mapping[str, str | Problem]
) -> Iterator[Problem]:
    for key, entry in entries.items():
        if key not in texts and not isinstance(audio.get(key), Problem):
            yield Problem(entry.where, f"{key} has no line in text: write what is said in it there", Why.NO_TEXT)


def _kaldi_rows(folder: SourceFolder, place: str) -> Iterator[Read]:
    others: list[Read] = []
    files = [posixpath.join(place, name) for name in ("wav.scp", "text", "utt2spk", "segments")]
    wavs, texts, speakers, segments = (_entries(folder, file, others) for file in files)
    yield from others
    audio = {key: _kaldi_audio(entry, place, folder.index) for key, entry in wavs.items()}
    yield from (found for found in audio.values() if isinstance(found, Problem))
    for key, text in texts.items():
        span = _span(segments[key]) if key in segments else (key, 0.0, None)
        if isinstance(span, Problem):
            yield span
            continue
        recording, start, seconds = span
        sound = audio.get(recording)
        if isinstance(sound, str):
            who = speaker_name(speakers[key].rest) if key in speakers else None
            yield Row(audio=sound, text=text.rest, where=text.where, speaker=who, start=start, seconds=seconds)
        elif sound is None:
            at = f" (from {segments[key].where})" if key in segments else ""
            message = f"{recording}{at} is not in wav.scp: add it there or remove the line"
            yield Problem(text.where, message, Why.MISSING)
    yield from _untold(segments or wavs, texts, audio)


def _kaldi_audio(entry: _Entry, place: str, index: AudioIndex) -> str | Problem:
    if "|" in entry.rest:
        message = "is a command (a '|'), and commands are never run: convert the sound to files and write their paths"
        return Problem(entry.where, message, Why.FORM)
    hint = f" beside {place or 'wav.scp'}"
    return index.take(entry.rest, where=entry.where, near=place, folders=KALDI_FOLDERS, hint=hint)


def _span(entry: _Entry) -> tuple[str, float, float | None] | Problem:
    """Recording, start and seconds of a line of segments; an end of -1 is the recording's."""
    parts = entry.rest.split()
    try:
        recording, start, end = parts[0], float(parts[1]), float(parts[2])
    except (IndexError, ValueError):
        return Problem(entry.where, SEGMENT, Why.FORM)
    return recording, start, None if end == -1 else end - start

"""Find the voice that was meant, and let it speak into a file, a pipe, or many files."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from olu.audio.io import fitting_rate, read
from olu.audio.sink import Add, check_place, format_of, into_file, into_pipe
from olu.core.errors import AudioError, OluError, TextError, VoiceError
from olu.core.files import EMBEDDED, write_json, write_text
from olu.core.job import Job, Note, Tick, finish
from olu.core.types import Span
from olu.speak.melody import Melody
from olu.speak.stream import Manner, SpokenSentence
from olu.speak.voice import Voice, check_threads, each
from olu.stages.melody_files import check_melody_place, write_melody
from olu.stages.verbs.voices import SpeakOptions
from olu.text.refused import NO_WORDS, RefusedWords

if TYPE_CHECKING:
    from typing import Unpack

    from olu.speak.stream import Wishes

SAFE_NAME = re.compile(r"[\w][\w.-]{0,99}")
LONGEST_NAME = 200  # bytes: a file's name has room for 255, and more than the line's name stands in it
NAMED_FAILURES = 3
PIPE = Path("-")
WISHES = ("speed", "pause", "speaker", "seed", "noise", "duration_noise", "loudness", "rate", "plain", "tones")
MOST_NOTES = 10  # of a melody, that are told
FORMATS = ("json", "srt")  # of the times of words


def voice_for(options: SpeakOptions, *, threads: int) -> Job[Voice]:
    """The voice of the options, which speaks like a recording where that is asked for and agreed to."""
    if options.consent and not options.like:
        raise VoiceError("--consent is of whom --like speaks like: name a recording with --like, or leave it out")
    if options.like and options.speaker is not None:
        raise VoiceError("--like speaks like a recording, --speaker like one of the voice's own: choose one of them")
    voice = find_voice(options.voice, threads=threads, lexicon=options.lexicon)
    if not options.like:
        return voice
    voice = voice.like([read(place) for place in options.like], consent=options.consent)
    names = ", ".join(place.name for place in options.like)
    yield Note(f"said like {names}, a copy of somebody's voice; consent: {' '.join(options.consent.split())}")
    return voice


def find_voice(place: Path | None, *, threads: int = 0, lexicon: Path | None = None) -> Voice:
    """A voice package, or the newest voice of a workspace.

    Without a place: of the workspace stood in, or else the voice inside this package; "embedded" names that one.
    """
    if place is None:
        place = Path() if Path("olu.toml").is_file() else Path(EMBEDDED)
    voice = Voice.open(place, threads=threads)
    if lexicon is not None:
        voice.use_lexicon(lexicon)
    return voice


def free_name(path: Path) -> Path:
    """This name, or the first of name-2, name-3 ... that no file has."""
    number, found = 1, path
    while found.exists():
        number += 1
        found = path.with_stem(f"{path.stem}-{number}")
    return found


def given_text(argument: str | None, *, file: Path | None, stdin: BinaryIO) -> str:
    """The text of the command line, of a file, or of what is piped in where - stands for it."""
    if (argument is None) == (file is None):
        raise TextError("say what to speak: one text, - for what is piped in, or a file with --file")
    if file is not None and str(file) != "-":
        return _decoded(_bytes(file), str(file))
    return _decoded(stdin.read(), "the text piped in") if argument in (None, "-") else str(argument)


def knobs_of(given: Iterable[str]) -> dict[str, float]:
    """The knobs by name, from --knob NAME=VALUE."""
    found = {}
    for row in given:
        name, _, value = row.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            raise VoiceError(f"--knob {row!r:.60} is not NAME=VALUE with a number, such as temperature=0.7") from None
    return found


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as bad:
        raise TextError(f"{file} cannot be read ({bad.strerror}): check the path") from None


def _decoded(data: bytes, what: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as bad:
        raise TextError(f"{what} is not UTF-8 (byte {bad.start}): save it as UTF-8") from None


@dataclass(frozen=True)
class SpeakSummary:
    seconds: float
    rate: int
    sentences: int
    dropped: dict[str, int]
    times: str | None = None  # the file that holds them


@dataclass(frozen=True)
class SpokenOutput:
    """What `olu speak` wrote: one file with its text's times beside it, or a file for each line."""

    output: Path
    spoken: SpeakSummary | SaidMany

    def row(self, options: SpeakOptions) -> dict[str, Any]:
        own: dict[str, Any] = {} if isinstance(self.spoken, SaidMany) else {"output": str(self.output)}
        if options.like:
            own |= {"like": [str(place) for place in options.like], "consent": options.consent}
        return {**own, **asdict(self.spoken)}

    def sentences(self, options: SpeakOptions) -> Iterator[str]:
        files = f"{self.spoken.lines} files, " if isinstance(self.spoken, SaidMany) else ""
        if self.output != PIPE:
            yield f"{self.output}: {files}{self.spoken.seconds:.2f} s"


def _check_batch(options: SpeakOptions) -> None:
    if options.melody is not None or options.melody_out:
        raise VoiceError("--batch says many texts, and a melody is of one: leave --melody and --melody-out out")
    if options.lines:
        raise VoiceError("--batch has its lines in a file, and --lines has them piped in: choose one of the two")
    if options.output is None:
        raise VoiceError("--batch writes many files: name a folder for them with -o")
    if options.text is not None or options.file is not None or options.output == PIPE:
        raise VoiceError("--batch has its texts in its file and needs a folder: leave TEXT, --file and -o - out")


def _check_lines(options: SpeakOptions) -> None:
    if options.output != PIPE:
        raise VoiceError("--lines speaks as the lines come: send the sound to a pipe with -o -")
    if options.text not in (None, "-") or options.file is not None:
        raise VoiceError("--lines has its texts piped in: leave TEXT and --file out")
    if options.melody is not None or options.melody_out or options.times is not None or options.as_json:
        raise VoiceError("--lines says many texts into a pipe: leave --melody, --melody-out, --times and --json out")


def run(options: SpeakOptions) -> Job[SpokenOutput]:
    """`olu speak`"""
    out = options.output or free_name(Path("speech.wav" if options.format is None else f"speech.{options.format}"))
    wishes: Any = {name: getattr(options, name) for name in WISHES} | {"knobs": knobs_of(options.knob)}
    refused = NO_WORDS if options.refuse_words is None else RefusedWords.load(options.refuse_words)
    spoken: SpeakSummary | SaidMany
    if options.batch is not None:
        _check_batch(options)
        voice = yield from voice_for(options, threads=1)
        wishes |= {"format": options.format, "times": options.times, "refused": refused}
        spoken = yield from speak_many(options.batch, out, voice, threads=options.threads, **wishes)
    elif options.lines:
        _check_lines(options)
        spoken = yield from _speak_lines(options, wishes, refused)
    else:
        spoken = yield from _speak_one(options, out, wishes, refused)
    if spoken.dropped:
        unsaid = ", ".join(f"{symbol!r} x{count}" for symbol, count in spoken.dropped.items())
        yield Note(f"not in this voice's alphabet, left unsaid: {unsaid}")
    return SpokenOutput(out, spoken)


def _speak_one(options: SpeakOptions, out: Path, wishes: Any, refused: RefusedWords) -> Job[SpeakSummary]:
    """Say the text of the options, or that of a melody, into a file or the pipe."""
    wishes["melody"] = Melody.load(options.melody) if options.melody else None
    told = options.text is not None or options.file is not None or options.melody is None
    words = given_text(options.text, file=options.file, stdin=sys.stdin.buffer) if told else wishes["melody"].text
    refused.check(words)
    voice = yield from voice_for(options, threads=options.threads)
    if options.melody_out:
        yield from _plan(options.melody_out, voice, words, wishes)
    if out != PIPE:
        return (yield from speak_to(out, voice, words, format=options.format, times=options.times, **wishes))
    if options.times is not None or options.as_json:
        raise VoiceError("the sound goes to the pipe: --times and --json need -o with the name of a file")
    try:
        return (yield from speak_through(sys.stdout.buffer, voice, words, format=options.format, **wishes))
    except AudioError:
        _forget_output()
        raise


def _speak_lines(options: SpeakOptions, wishes: Any, refused: RefusedWords) -> Job[SpeakSummary]:
    """Say each line of stdin as it comes, all into one stream; a line that cannot be said is told and passed over."""
    voice = yield from voice_for(options, threads=options.threads)
    kind = format_of(PIPE, options.format or "wav")
    manner = _manner(voice, kind, wishes)
    rate = manner.rate or voice.rate
    samples, sentences, dropped = 0, 0, Counter[str]()
    try:
        with into_pipe(sys.stdout.buffer, kind=kind, rate=rate) as add:
            for number, line in enumerate(iter(sys.stdin.buffer.readline, b""), 1):
                try:
                    text = _decoded(line, f"line {number}").strip()
                    if not text:
                        continue
                    refused.check(text)
                    for spoken in voice.stream(text, manner=manner, quick=True):
                        add(spoken.audio.samples)
                        samples += len(spoken.audio.samples)
                        sentences += spoken.last
                        dropped.update(spoken.sentence.dropped if spoken.last else ())
                except TextError as bad:
                    yield Note(f"line {number}: {bad}")
                    continue
                yield Tick(number, number)
    except AudioError:
        _forget_output()
        raise
    return SpeakSummary(samples / rate, rate, sentences, dict(dropped))


def _plan(places: Sequence[Path], voice: Voice, text: str, wishes: Wishes) -> Job[None]:
    """Write how a text is to be said, and tell which written tones its pitch will not show."""
    for place in places:
        check_melody_place(place)
    melody = voice.plan(text, **wishes)
    for place in places:
        write_melody(place, melody)
    yield from _told(melody.tone_faults)


def _told(notes: Sequence[str]) -> Job[None]:
    for note in notes[:MOST_NOTES]:
        yield Note(note)
    if len(notes) > MOST_NOTES:
        yield Note(f"and {len(notes) - MOST_NOTES} more of this kind")


def _forget_output() -> None:
    """Point stdout elsewhere, as nobody reads it: Python would fail again when it ends."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def speak_to(
    path: Path,
    voice: Voice,
    text: str,
    *,
    format: str | None = None,
    times: str | None = None,
    **wishes: Unpack[Wishes],
) -> Job[SpeakSummary]:
    """Speak into a file as it is made; also says which characters the voice has no letter for."""
    kind = format_of(path, format)
    _check_times(times)
    beside = path.with_suffix(f".{times}") if times else None
    if beside == path:
        raise VoiceError(f"{path} would hold both the sound and the times: give the sound another ending")
    for place in (path, beside) if beside else (path,):
        check_place(place)
    manner = _manner(voice, kind, wishes)
    said, sentences = yield from _pour(
        voice, text, manner, into_file(path, kind=kind, rate=manner.rate or voice.rate), quick=False
    )
    if beside is not None:
        _write_times(beside, sentences, said, audio=path.name)
    return SpeakSummary(said.seconds, said.rate, said.sentences, said.dropped, str(beside) if beside else None)


def speak_through(
    pipe: BinaryIO, voice: Voice, text: str, *, format: str | None, **wishes: Unpack[Wishes]
) -> Job[SpeakSummary]:
    """Speak into a pipe, each piece as soon as it is made."""
    kind = format_of(Path("-"), format or "wav")
    manner = _manner(voice, kind, wishes)
    said, _ = yield from _pour(
        voice, text, manner, into_pipe(pipe, kind=kind, rate=manner.rate or voice.rate), quick=True
    )
    return said


def _manner(voice: Voice, kind: str, wishes: Wishes) -> Manner:
    manner = Manner.of(None, **wishes)
    return Manner.of(manner, rate=fitting_rate(kind, voice.rate, wanted=manner.rate))


def _pour(
    voice: Voice, text: str, manner: Manner, sink: AbstractContextManager[Add], *, quick: bool
) -> Job[tuple[SpeakSummary, list[SpokenSentence]]]:
    stream = voice.stream(
        text, manner=manner, quick=quick
    )  # what is wrong with the wish is said before a file is begun
    rate = manner.rate or voice.rate
    samples, read, dropped, sentences = 0, 0, Counter[str](), list[SpokenSentence]()
    notes = list[str]()
    with sink as add:
        for spoken in stream:
            add(spoken.audio.samples)
            samples += len(spoken.audio.samples)
            if spoken.last:
                dropped.update(spoken.sentence.dropped)
                sentences.append(spoken.sentence)
                notes += spoken.sentence.notes
                read += len(spoken.sentence.text)
                yield Tick(min(read, len(text)), len(text))
    yield from _told(notes)
    return SpeakSummary(samples / rate, rate, len(sentences), dict(dropped)), sentences


def _check_times(times: str | None) -> None:
    if times is not None and times not in FORMATS:
        raise VoiceError(f"times as {times!r} are not written: choose {' or '.join(FORMATS)}")


def _write_times(path: Path, sentences: list[SpokenSentence], said: SpeakSummary, *, audio: str) -> None:
    if path.suffix == ".srt":
        write_text(path, as_srt(word for sentence in sentences for word in sentence.words))
        return
    facts = {"audio": audio, "rate": said.rate, "seconds": round(said.seconds, 4), "unsaid": said.dropped}
    write_json(path, {**facts, "sentences": as_rows(sentences)})


def as_rows(sentences: Iterable[SpokenSentence]) -> list[dict[str, Any]]:
    return [
        {
            "text": one.text,
            "start": round(one.start, 4),
            "end": round(one.end, 4),
            "words": [{"word": w.label, "start": round(w.start, 4), "end": round(w.end, 4)} for w in one.words],
            "unsaid": dict(one.dropped),
        }
        for one in sentences
    ]


def as_srt(words: Iterable[Span]) -> str:
    """One numbered cue a word."""
    cues = (
        f"{number}\n{_clock(word.start)} --> {_clock(word.end)}\n{' '.join(word.label.split())}\n"
        for number, word in enumerate(words, 1)
    )
    return "\n".join(cues)


def _clock(seconds: float) -> str:
    millis = round(seconds * 1000)
    minutes, millis = divmod(millis, 60_000)
    return f"{minutes // 60:02}:{minutes % 60:02}:{millis // 1000:02},{millis % 1000:03}"


# ---------------------------------------------------------------- many lines


@dataclass(frozen=True)
class SaidMany:
    folder: str
    lines: int
    seconds: float
    dropped: dict[str, int]


def batch_lines(file: Path) -> list[tuple[str, str]]:
    """Names and texts of a file with `name|text` or `text` lines; lines without a name are numbered."""
    rows: dict[str, str] = {}
    texts = [line.strip() for line in re.split(r"\r\n|\r|\n", _decoded(_bytes(file), str(file)))]
    for number, line in enumerate(texts, 1):
        if not line:
            continue
        name, bar, text = line.partition("|")
        name, text = (name.strip(), text.strip()) if bar else (f"{number:04}", line)
        if not SAFE_NAME.fullmatch(name) or len(name.encode()) > LONGEST_NAME:
            raise TextError(
                f"{file} line {number}: {name[:60]!r} cannot name a file: use few letters, digits, . _ and -"
            )
        if name in rows:
            raise TextError(f"{file} line {number}: the name {name!r} is there twice: choose another")
        rows[name] = text
    if not rows:
        raise TextError(f"{file} holds no line to say")
    return list(rows.items())


def speak_many(
    file: Path,
    folder: Path,
    voice: Voice,
    *,
    format: str | None = None,
    times: str | None = None,
    threads: int = 0,
    refused: RefusedWords = NO_WORDS,
    **wishes: Unpack[Wishes],
) -> Job[SaidMany]:
    """Every line of a file into a file of its own. A line that cannot be said is named at the end."""
    rows = batch_lines(file)
    kind = format_of(folder, format or "wav")
    _check_times(times)
    _manner(voice, kind, wishes)
    check_threads(threads)
    if folder.exists() and not folder.is_dir():
        raise VoiceError(f"{folder} is a file: name a folder for the lines of {file}")

    def one(number: int) -> SpeakSummary:
        name, text = rows[number]
        refused.check(text)
        return finish(speak_to(folder / f"{name}.{kind}", voice, text, format=kind, times=times, **wishes))

    seconds, dropped, failed = 0.0, Counter[str](), dict[int, OluError]()
    for done, (number, said) in enumerate(each([text for _, text in rows], one, threads=threads), 1):
        if isinstance(said, OluError):
            failed[number] = said
        else:
            seconds += said.seconds
            dropped.update(said.dropped)
        yield Tick(done, len(rows), rows[number][0])
    if failed:
        raise TextError(_failures(file, rows, failed))
    return SaidMany(str(folder), len(rows), seconds, dict(dropped))


def _failures(file: Path, rows: list[tuple[str, str]], failed: dict[int, OluError]) -> str:
    named = sorted(failed)[:NAMED_FAILURES]
    what = "; ".join(f"{rows[number][0]}: {failed[number]}" for number in named)
    more = "" if len(failed) <= NAMED_FAILURES else f"; and {len(failed) - NAMED_FAILURES} more"
    return f"{len(failed)} of {len(rows)} lines of {file} could not be said, the others were ({what}{more})"

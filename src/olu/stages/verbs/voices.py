"""What the verbs take that judge, export, carry, speak with and serve voices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from olu.core.options import Verb, argument, flag, option, options, workspace
from olu.stages.verbs.training import device_option, threads_option

LISTENS = "cpu, cuda, cuda:1 or mps, for the recogniser."
# Typed here so that --help needs no network code; a test holds it to the list of formats.
FORMATS = "voice, hf, hf-train, mms, onnx, piper, sherpa, android, coqui, upstream, web"


def output_option(help: str, **said: Any) -> Any:
    return option(help, "--output", "-o", role="output", **said)


@options
class EvaluateOptions:
    place: Path = argument("WS|VOICE", "A workspace, or a voice package.", role="workspace")
    corpus: Path | None = option("For a VOICE: its recordings.", metavar="WS", role="workspace")
    sentences: int = option("Held-out sentences to speak.", default=50, metavar="N")
    text: Path | None = option("Other sentences, one on each line.", metavar="FILE", role="input")
    wavs: Path | None = option("Judge these sound files instead.", metavar="FOLDER", role="input")
    only: str = option("Only these metrics: cer,mcd", default="", metavar="NAMES")
    run: str | None = option("Default: the newest finished run.")
    step: int | None = option("Default: the run's best step.")
    speaker: str | None = option("Of a voice of several: only this one, whose recordings these are.", metavar="NAME")
    checkpoints: str | None = option("Curves over checkpoints.", metavar="all|N")
    collusion: bool = flag("Ask a second recogniser too. Slow.")
    seed: int = option("Of the voice's own chance.", default=0)
    noise: float | None = option("How much the sound varies, 0 to 2; else its own.")
    device: str | None = device_option(LISTENS)
    threads: int | None = threads_option()
    output: Path | None = output_option("Where it is written.", metavar="FOLDER")
    strict: bool = flag("Exit with code 2 when the voice fails a gate.")

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that --only names; none means all."""
        return tuple(name.strip() for name in self.only.split(",") if name.strip())


@options
class CompareOptions:
    first: Path | None = argument("A", "An evaluation, a voice or a workspace.", default=None, role="input")
    second: Path | None = argument("B", "Another one.", default=None, role="input")
    choices: tuple[Path, ...] = option(
        "Count what listeners chose: files of the page, or a listening test.", default=(), metavar="FILE", role="input"
    )
    key: Path | None = option("With --choices: which was which, if it is not beside.", metavar="FILE", role="input")
    corpus: Path | None = option("For voices: their recordings.", metavar="WS", role="workspace")
    sentences: int = option("Where one is evaluated first.", default=50, metavar="N")
    text: Path | None = None  # as of EvaluateOptions, where one is evaluated first
    only: str = option("Where one is evaluated first: cer,mcd", default="", metavar="NAMES")
    trials: int = option("Sentences on the blind page.", default=20, metavar="N")
    seed: int = option("Of the order in which they are heard.", default=0)
    device: str | None = device_option(LISTENS)
    threads: int | None = threads_option()
    output: Path | None = output_option("Where the pages are written.", metavar="FOLDER")


@options
class ListeningOptions:
    ws: Path = workspace()
    name: str | None = argument("[NAME]", "Of the test; listeners see it.", default=None)
    of: tuple[Path, ...] = option(
        "What is heard: an evaluation or a voice, once for each.", default=(), metavar="PATH", role="input"
    )
    run: tuple[str, ...] = option("A run, or one of its checkpoints.", default=(), metavar="RUN[@STEP]")
    natural: bool = flag("The recordings too, for what they have a text of.")
    kind: str = option(
        "mos (how good, 1 to 5), ab (which of two) or words (what was heard, typed).",
        default="ab",
        choices=("mos", "ab", "words"),
    )
    sentences: int = option("So many at most.", default=20, metavar="N", least=1, most=500)
    text: Path | None = option("Sentences, one on each line, for voices and runs.", metavar="FILE", role="input")
    seed: str | None = option("Of every listener's order; default: by chance.", metavar="TEXT")
    add: Path | None = option("Take answers in: JSON lines of listener, n and answer.", metavar="FILE", role="input")
    by: str | None = option("Who makes it. Default: your login name.", metavar="NAME")
    threads: int | None = threads_option()


@options
class ExportOptions:
    source: Path = argument("WS", "A workspace, a voice, or a checkpoint of another program.", role="workspace")
    to: str = option(f"Format: {FORMATS}.", default="voice")
    run: str | None = option("Default: the newest finished run.")
    step: int | None = option("Default: the run's best step.")
    output: Path | None = output_option("x.voice for a folder, x.zip for one file.")
    vocoder: str = option("An acoustic model's vocoder: a run, or a package x.vocoder.", default="", metavar="RUN|PATH")
    language: str = option("Of a workspace of several: the one that it speaks.", default="", metavar="CODE")
    accent: str = option(
        "With --language: one it never learnt, read with the sounds of this one.", default="", metavar="CODE"
    )
    with_training: bool = flag("Put in what training on needs.")
    noise: float | None = option("What it then speaks with, 0 to 2; else the recipe's.")
    bits: int | None = option("Of a large voice's weights: 4, 8, 16 or 32; else 8.", choices=(4, 8, 16, 32))
    no_watermark: bool = flag("Leave out the watermark of voices made from Chatterbox.")
    cloning: bool = flag("Let a voice from XTTS v2 also speak like a recording it is given; see docs/xtts.md.")
    lexicon: Path | None = option("Words it then reads as this .tsv says.", metavar="FILE", role="input")
    runtime: Path | None = option(
        "For web: npm's onnxruntime-web; else ./node_modules has it.", metavar="FOLDER", role="input"
    )
    licence: str = option("What it is given away under; default: what its parts say.", default="")
    override_licence: str = option("Why --licence may differ.", default="", metavar="REASON")
    push: str | None = option("Put it on the Hugging Face hub.", metavar="REPO")
    public: bool = flag("With --push: for everyone to see.")
    keep: bool = False  # noise and training part as the voice that stands there has them, where it is of the same step


@options
class PackOptions:
    ws: Path = workspace(here=True)
    output: Path | None = output_option("Default: its name and .tar, here.")
    runs: str = option("Which runs go along: last, all or none.", default="last")
    features: bool = flag("Take what 'olu prepare' made; else it is made there.")
    opus: bool = flag("Make the sound smaller, which loses a little of it.")


@options
class UnpackOptions:
    file: Path = argument("FILE", "What 'olu pack' made.", role="input")
    ws: Path | None = argument("[WS]", "A new folder, or the workspace it came from.", default=None, role="folder")


@options
class SpeakOptions:
    text: str | None = argument(None, "What to say; - reads it from what is piped in.", default=None)
    voice: Path | None = option("A voice package, or a workspace with one.", role="input", hub=True)
    output: Path | None = output_option("A sound file; - for a pipe; with --batch a folder.")
    file: Path | None = option("A text file to say, UTF-8.", role="input")
    batch: Path | None = option("A file of lines to say: 'text' or 'name|text'.", role="input")
    lines: bool = flag("Say each line that is piped in as it comes, with the voice held open; needs -o -.")
    format: str | None = option("wav, flac, ogg, opus, mp3 or pcm; else by the ending.")
    speed: float = option("2 is twice as fast; 0.25 to 4.", default=1.0)
    pause: float = option("Seconds of silence between sentences.", default=0.25)
    speaker: str | None = option("Which of the voice's speakers.")
    like: tuple[Path, ...] = option(
        "A recording to speak like, where the voice was exported to hear others; needs --consent.",
        default=(),
        metavar="FILE",
        role="input",
    )
    consent: str = option("With --like: who agreed, when and to what.", default="", metavar="TEXT")
    seed: int = option("The same text and seed give the same samples.", default=0)
    noise: float | None = option("How much the sound varies; 0 to 2.")
    duration_noise: float | None = option("How much the rhythm varies.")
    knob: tuple[str, ...] = option("Another knob of the voice: NAME=VALUE.", default=(), metavar="NAME=VALUE")
    loudness: float | None = option("LUFS, for example -18; else as the voice is.")
    rate: int | None = option("Samples a second; else the voice's own.")
    plain: bool = flag("Read <, [[ and & as they stand: the text has no markup.")
    lexicon: Path | None = option("Words to read as this .tsv says.", metavar="FILE", role="input")
    refuse_words: Path | None = option(
        "Say no text that has one of these words, one a line.", metavar="FILE", role="input"
    )
    times: str | None = option("When each word is heard: json or srt.")
    melody_out: tuple[Path, ...] = option(
        "Where its lengths and pitch are written: .json, .TextGrid or .svg.", default=(), metavar="FILE", role="output"
    )
    melody: Path | None = option("Say it with these lengths and this pitch.", metavar="FILE.json", role="input")
    tones: str = option("strict: written tones are pushed apart until they differ.", default="learnt")
    threads: int = option("0: as many as the machine has.", default=0)
    as_json: bool = flag("Print one JSON object.", "--json")


@options
class ServeOptions:
    voices: tuple[Path, ...] = argument(None, "Voice packages, workspaces, or folders that hold voices.", role="input")
    host: str = option("The address to listen on; 0.0.0.0 is every one.", default="127.0.0.1")
    port: int = option("0: any that is free.", default=8080)
    wyoming: str = option(
        "Speak Home Assistant's protocol there too, such as 10200.", default="", metavar="[HOST:]PORT"
    )
    workers: int = option("Processes that speak; 0: one per core.", default=0)
    queue: int = option("Requests that wait or are being spoken; more are sent away.", default=64)
    queue_per_client: int = option("Of these, for one client; 0: half.", default=0)
    batch: int = option("Requests whose sound is made in one go, at most.", default=1)
    loaded: int = option("Voices in memory per worker, at most.", default=4)
    most_characters: int = option("Of one text.", default=4096)
    most_tokens: int = option("Of one text when it is read: numbers grow.", default=20_000)
    most_seconds: float = option("Of one sound.", default=600.0)
    most_body: int = option("Bytes of a request; 0: as the characters need.", default=0)
    most_connections: int = option("At the same time.", default=512)
    connections_per_client: int = option("Of these, for one client; 0: a quarter.", default=0)
    rate_limit: int = option("Requests a minute and client; 0: no limit.", default=0)
    api_key_file: Path | None = option("Keys, one a line; any of them opens. Else OLU_API_KEY.", role="input")
    cors: tuple[str, ...] = option("A web origin that may ask, such as https://a.org.", default=())
    trust_proxy: tuple[str, ...] = option("A proxy's address, whose X-Forwarded-For is believed.", default=())
    log_texts: bool = flag("Write what is said into the log.")
    patience: float = option("Seconds for a request to arrive.", default=10.0)
    stall: float = option("Seconds a client may take none of its sound.", default=60.0)
    grace: float = option("Seconds to finish what was begun, when asked to end.", default=30.0)
    deadline: float = option("Seconds a request may take.", default=900.0)
    watchdog: float = option("Seconds a worker may be silent before it is replaced.", default=60.0)
    worker_memory: int = option("MB a worker may take; 0: its share of three quarters of the machine's.", default=0)
    lexicon: Path | None = option("Words that every voice reads as this .tsv says.", metavar="FILE", role="input")
    refuse_words: Path | None = option(
        "Say no text that has one of these words, one a line.", metavar="FILE", role="input"
    )
    default_voice: str = option("Who answers to alloy and OpenAI's other names; else the only voice.", default="")
    check: bool = flag("Look at voices, settings and port, and end.")
    as_json: bool = flag("Print one JSON object at the end.", "--json")


@options
class DistilOptions:
    voice: Path = argument("VOICE", "The teacher: a voice package, or a workspace with one.", role="workspace")
    texts: Path = option("What it says: one sentence on each line.", default=..., metavar="FILE", role="input")
    to: Path = option(
        "The workspace that takes its speech in; made where it is new.", default=..., metavar="WS", role="workspace"
    )
    hours: float | None = option(
        "Enough, once so much is kept; else all sentences.", metavar="N", least=0.001, most=1000
    )
    recogniser: Path | None = option("Whose recogniser says what is understood.", metavar="WS", role="workspace")
    most_wrong: float = option("Share of wrong letters from which a clip is left out.", default=0.15, least=0, most=1)
    tries: int = option("Takes of a sentence before it is left out.", default=2, least=1, most=20)
    speaker: str | None = option("Which of the voice's speakers.")
    knob: tuple[str, ...] = option("A knob of the voice: NAME=VALUE.", default=(), metavar="NAME=VALUE")
    seed: int = option("Of the first takes.", default=0, least=0)
    device: str | None = device_option(LISTENS)
    threads: int | None = threads_option()


@options
class VoiceOptions:
    voice: Path = argument("VOICE", "A voice package: x.voice or x.zip.", role="input")
    lexicon: Path = option("Words it reads as this .tsv says from now on.", default=..., metavar="FILE", role="input")


VERBS = (
    Verb(
        "evaluate",
        "Speak held-out sentences and say how good the voice is.",
        EvaluateOptions,
        label="evaluating",
        job=True,
    ),
    Verb(
        "compare",
        "Put two voices side by side, and make a page to choose between them blindly.",
        CompareOptions,
        label="comparing",
        job=True,
    ),
    Verb(
        "listening",
        "Make a blind listening test, or say what came out of one.",
        ListeningOptions,
        label="speaking",
        job=True,
    ),
    Verb(
        "export",
        "Turn a run into a voice package that speaks without torch, or into another program's files.",
        ExportOptions,
        job=True,
    ),
    Verb("pack", "Make one file of a workspace, to carry to another machine and back.", PackOptions, job=True),
    Verb(
        "unpack",
        "Lay a packed workspace out again, or take its runs back into the workspace it came from.",
        UnpackOptions,
        job=True,
    ),
    Verb(
        "distil",
        "Let a voice speak many sentences, keep what is understood, and make a workspace of it.",
        DistilOptions,
        label="speaking",
        job=True,
    ),
    Verb("voice", "Change how a finished voice reads some words, without training.", VoiceOptions),
    Verb("speak", "Say a text, or many, as it is made.", SpeakOptions, job=True),
    Verb(
        "serve",
        "Speak over HTTP, as OpenAI's clients ask for it, with a page to try it.",
        ServeOptions,
        job=True,
        server=True,
    ),
)

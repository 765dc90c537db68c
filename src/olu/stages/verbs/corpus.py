"""What the verbs take that make, fill and look after a corpus, and that read its texts or any other."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from olu.core.options import Verb, argument, flag, option, options, workspace

LANGUAGE = "Language code: am, amh, am-ET, ig, es, swa ..."
SHOWN = 40  # clips on a screen
# Typed here so that --help needs no reader; a test holds it to the readers.
LAYOUTS = (
    "kaldi, festvox, coqui, commonvoice, ljspeech, mailabs, libritts, huggingface, jsonl, table, filelist, folder, "
    "parts, subtitles, recordings"
)


CORPUS_FORMS = "ljspeech, hf, piper, coqui, kaldi, vits"


stamped = partial(option, stamped=True)  # another value, another corpus


language_option = partial(option, LANGUAGE, "--language", "-l", default=...)
licence_option = partial(option, "Of the recordings: CC-BY-4.0, CC0-1.0, ... or a text.", default="")
consent_option = partial(option, "Of the speakers: who agreed, when, to what.", default="")
agreed_option = partial(option, "Whether the speakers agreed, in a word.", default="", metavar="YES|NO")
credits_option = partial(option, "Who is to be named.", default="")


@options
class NewOptions:
    ws: Path = argument("WS", "The folder to make.", role="folder")
    language: str = language_option()
    licence: str = licence_option()
    consent: str = consent_option()
    agreed: str = agreed_option()
    credits: str = credits_option()
    source: str = option("Where the recordings come from.", default="")


@options
class SampleOptions:
    folder: Path = argument("FOLDER", "The folder to make.", role="folder")
    language: str | None = option("The language of Olu's own voice: amh.", "--language", "-l")
    clips: int = option("How many clips, 1 to 60.", default=60, metavar="N", least=1, most=60)
    pitch: float = option("Times the own voice's pitch, 0.7 to 1.4: another speaker.", default=1.2, least=0.7, most=1.4)


@options
class ImportOptions:
    ws: Path = workspace()
    source: Path = argument(
        "SOURCE",
        "The folder, zip or tar with recordings and texts, or hf:OWNER/NAME.",
        role="input",
        hub=True,
        stamped=True,
    )
    layout: str = stamped(f"auto, {LAYOUTS}.", default="auto", choices=("auto", *LAYOUTS.split(", ")))
    speaker: str | None = stamped("Who speaks, when it is one person.")
    columns: str | None = stamped("Columns of a table: audio=NAME,text=NAME,speaker=NAME.", metavar="KIND=NAME,...")
    root: Path | None = stamped("The folder that absolute paths may lead into.", metavar="DIR", role="folder")
    config: str | None = stamped("The part of a Hugging Face dataset, such as ibo_tts.")
    split: str | None = stamped("The split of a Hugging Face dataset; all by default.")
    subtitles: Path | None = stamped("The .srt or .vtt of one film or recording.", metavar="FILE", role="input")
    shift: float | None = stamped("Move all subtitles by this; a minus is earlier.", metavar="SECONDS")
    stretch: float | None = stamped(
        "Multiply the times of all subtitles by this, before --shift.", metavar="FACTOR", least=0.5, most=2
    )
    in_sync: bool = stamped("The subtitles fit: what was measured otherwise is not kept as a doubt.", default=False)
    encoding: str | None = stamped("Of tables, texts and subtitles that are not UTF-8, such as cp1252.", metavar="NAME")
    copy: bool = stamped("Copy the audio into the workspace.", default=False)
    licence: str = licence_option()
    consent: str = consent_option()
    agreed: str = agreed_option()
    credits: str = credits_option()
    dry_run: bool = flag("Say what would come in, and write nothing.")
    hear: Path | None = option(
        "With --dry-run: write the sound of the first clips into this folder.", metavar="DIR", role="output"
    )


@options
class MergeOptions:
    ws: Path = workspace("The workspace that takes the clips in.")
    others: tuple[Path, ...] = argument("OTHER...", "The workspaces they come from.", role="workspace")
    same_speakers: bool = flag("The same name is the same person, also of clips that came before.")
    several_languages: bool = flag("Clips of other languages may come, and keep theirs.")


@options
class AuditOptions:
    ws: Path = workspace(here=True)
    strict: bool = flag("Exit with code 2 when any clip has an error.")
    deep: bool = flag("Let networks listen too: voice, quality, speakers. Slow.")
    force: bool = flag("Listen again even if the corpus has not changed.")
    fix: bool = flag("Decide what to leave out and what to trim.")
    dry_run: bool = flag("With --fix: show it, write nothing.")
    undo: bool = flag("Take back what --fix decided; a person's decisions stay.")


@options
class ClipsOptions:
    ws: Path = workspace(here=True)
    where: str | None = option("""Such as 'seconds > 20 and "clipping" in marks'.""", metavar="EXPR")
    sort: str | None = option("-COLUMN: the largest first.", metavar="COLUMN")
    limit: int | None = option(f"Default: {SHOWN} on a screen, else all.", metavar="N", least=0)
    csv: Path | None = option("Write a CSV file; - for stdout.", metavar="FILE", role="output")
    ids: bool = flag("Print the ids only, one a line.")
    summary: bool = flag("How lengths are spread, instead of the clips.")
    as_json: bool = flag("Print one JSON object.", "--json")


@options
class DecideOptions:
    ws: Path = workspace()
    ids: tuple[str, ...] = argument(
        "ID...", "Clips, as 'olu clips WS --ids' lists them; - reads them from stdin.", default=()
    )
    listed: Path | None = option("Take the ids from this file, one a line.", "--from", metavar="FILE", role="input")
    reason: str = option("Why; it is kept beside the decision.", default="", metavar="TEXT")
    undo: bool = flag("Take this decision back.")


@options
class SpeakersOptions:
    ws: Path = workspace()
    ids: tuple[str, ...] = argument(
        "[ID...]", "With --to: clips, as 'olu clips WS --ids' lists them; - reads them from stdin.", default=()
    )
    rename: tuple[str, ...] = option("Call a speaker otherwise.", default=(), metavar="OLD=NEW")
    join: tuple[str, ...] = option("These are one person; the first name stays.", default=(), metavar="NAME")
    split: str | None = option("Part the clips of a speaker in two, by how they sound.", metavar="NAME")
    to: str | None = option("Whose the clips are; with --split the name of the smaller part.", metavar="NAME")
    dry_run: bool = flag("With --split: show it, write nothing.")
    undo: bool = flag("Take the last change back.")
    by: str | None = option("Who changes it. Default: your login name.", metavar="NAME")


@options
class CorrectOptions:
    ws: Path = workspace()
    file: Path | None = argument(
        "[FILE]",
        "What 'olu clips WS --csv FILE' wrote, with texts edited; or id|text lines; - for stdin.",
        default=None,
        role="input",
    )
    clip: str | None = option("One clip, instead of a file.", metavar="ID")
    text: str | None = option("What is said in it.", metavar="TEXT")
    undo: bool = flag("Take the last corrections back; with --clip, those of a clip.")
    by: str | None = option("Who corrects. Default: your login name.", metavar="NAME")


@options
class BoundsOptions:
    ws: Path = workspace()
    file: Path | None = argument(
        "[FILE]",
        "TextGrids with boundaries moved, as 'olu align WS --textgrid DIR' wrote them; or JSON lines of id and phones.",
        default=None,
        role="input",
    )
    undo: bool = flag("Take the last boundaries back; with --clip, those of a clip.")
    clip: str | None = option("With --undo: of this clip.", metavar="ID")
    by: str | None = option("Who sets them. Default: your login name.", metavar="NAME")


LISTENERS = ("own", "whisper", "mms")
ORDERS = ("least", "surest")


@options
class TranscribeOptions:
    ws: Path = workspace()
    listener: str = option(
        "Who listens: own (the workspace's recogniser, trained on what has texts), whisper or mms.",
        "--with",
        default="own",
        choices=LISTENERS,
    )
    model: str = option("The published model: an id on the hub, or a folder.", default="", metavar="ID|DIR")
    list: Path | None = option(
        "Write clips without a text to work on: sounds, a table and a page.", metavar="FOLDER", role="output"
    )
    minutes: float | None = option("With --list: so many; 10 if not given.", metavar="N")
    order: str | None = option(
        "With --list: least (the least certain drafts first, if not given) or surest.", choices=ORDERS
    )
    accept: float | None = option("Take drafts of this confidence and more as texts.", metavar="CONFIDENCE")
    base: Path | None = option("Begin with this run of a recogniser, of any language.", metavar="RUN", role="input")
    changes: tuple[str, ...] = option(
        "Change a setting of its training: plan.steps=500", "--set", default=(), metavar="KEY=VALUE"
    )
    force: bool = flag("Train it on however little speech has texts.")
    device: str | None = option("cpu, cuda, cuda:1 or mps; default: the best there is")


@options
class SplitOptions:
    ws: Path = workspace(here=True)
    valid: float | None = option("For validation; 0.04 at first.", metavar="SHARE", least=0, most=0.5)
    test: float | None = option("For tests; 0.04 at first.", metavar="SHARE", least=0, most=0.5)
    seed: int | None = option("Another number, another split.", metavar="N")


@options
class PromptsOptions:
    ws: Path = workspace()
    texts: tuple[Path, ...] = option(
        "Texts to choose from: a sentence a line, or running text. May be given again.",
        "--from",
        default=(),
        metavar="FILE",
        role="input",
    )
    count: int = option("How many sentences.", default=300, metavar="N", least=1, most=20000)
    longest: int = option("Letters of a sentence, at most.", default=120, metavar="N", least=5, most=1000)


@options
class ExportCorpusOptions:
    ws: Path = workspace(here=True)
    to: str = option(f"The form: {CORPUS_FORMS}.", default=..., choices=tuple(CORPUS_FORMS.split(", ")))
    output: Path | None = option(
        "The folder to make; default: its name and the form, here.", "--output", "-o", role="output"
    )
    speaker: str | None = option("The clips of this speaker only.", metavar="NAME")
    rate: int | None = option("Samples a second; default: what most of it has.", metavar="HZ")
    loudness: float | None = option("Bring every clip to this, such as -23; else as it is.", metavar="LUFS")
    licence: str = option("What it is given away under; default: what its sources say.", default="")
    override_licence: str = option("Why --licence may differ.", default="", metavar="REASON")
    push: str | None = option("Put it on the Hugging Face hub, as a dataset.", metavar="REPO")
    public: bool = flag("With --push: for everyone to see.")


# ---- what reads texts


AS_JSON = "Print JSON: one object, or one per line with --lines."


lines_option = partial(option, "Read every line of a file.", metavar="FILE", role="input")
dialect_option = partial(option, "One of the language's dialects, such as es-ES.")
symbols_option = partial(option, "phones or characters; auto takes phones where the language has them.")
marks_option = partial(option, "Tones and stress as symbols: vowel (on their vowel), separate or none.")
language_settings = partial(
    option, "An option of the language ('olu languages CODE').", "--option", default=(), metavar="NAME=VALUE"
)
lexicon_option = partial(option, "Your own words: a .tsv of spelling, tab, phones.", metavar="FILE", role="input")
restore_option = partial(option, "Put lost marks back: tones (and dots), or geminates; none turns it off.")
restorer_option = partial(
    option, "What 'olu marks learn' made; else what comes with the language.", metavar="FILE", role="input"
)
chain_option = partial(option, "Readings tried word by word: lexicon,rules,learnt,espeak,letters.", metavar="NAMES")
reader_option = partial(option, "What 'olu g2p learn' made, for 'learnt' in the chain.", metavar="FILE", role="input")
explain_option = partial(flag, "Show what each step did and which rule fired.")


@options
class ReadOptions:
    what: str | None = argument("[WS|TEXT]", "A workspace, or with --language a text.", default=None)
    language: str | None = option("Read a text in this language instead of a workspace.", "--language", "-l")
    lines: Path | None = lines_option()
    dialect: str | None = dialect_option()
    symbols: str | None = symbols_option()
    marks: str | None = marks_option()
    language_options: tuple[str, ...] = language_settings()
    lexicon: Path | None = lexicon_option()
    restore: str | None = restore_option()
    restorer: Path | None = restorer_option()
    chain: str | None = chain_option()
    reader: Path | None = reader_option()
    explain: bool = explain_option()


@options
class G2pOptions:
    text: str | None = argument(None, "The text; or 'learn' and a LIST.", default=None)
    words: Path | None = argument("[LIST]", "To learn from: word, tab, phones.", default=None, role="input")
    language: str = language_option()
    output: Path | None = option(
        "With learn: where the model is written.", "--output", "-o", metavar="FILE", role="output"
    )
    lines: Path | None = lines_option()
    dialect: str | None = dialect_option()
    symbols: str | None = symbols_option()
    marks: str | None = marks_option()
    language_options: tuple[str, ...] = language_settings()
    lexicon: Path | None = lexicon_option()
    restore: str | None = restore_option()
    restorer: Path | None = restorer_option()
    chain: str | None = chain_option()
    reader: Path | None = reader_option()
    explain: bool = explain_option()


@options
class LexiconOptions:
    ws: Path = workspace()
    word: str | None = argument("[WORD]", "A word as the texts write it; without one, all are listed.", default=None)
    phones: str | None = argument(
        "[PHONES]", "How it is said: phones with spaces, tones behind their vowel.", default=None
    )
    strike: bool = flag("Take the word out.", "--remove")
    dry_run: bool = flag("Say how many clips it touches, and write nothing.")


@options
class MarksOptions:
    what: str = argument("learn", "What to do: learn.")
    texts: tuple[Path, ...] = argument("TEXTS...", "Texts with their marks, or lists (.tsv).", role="input")
    language: str = language_option()
    output: Path | None = option(
        "Where the model is written; else CODE.marks.npz here.", "--output", "-o", metavar="FILE", role="output"
    )


VERBS = (
    Verb("new", "Make a workspace folder.", NewOptions),
    Verb(
        "sample",
        "Make a small corpus spoken by Olu's own voice, to try the other commands with.",
        SampleOptions,
        job=True,
    ),
    Verb(
        "import",
        "Take in recordings and their texts; running it again adds only what is new.",
        ImportOptions,
        "olu.stages.import_:run",
        job=True,
    ),
    Verb(
        "merge", "Take in the clips of other workspaces; their recordings stay where they lie.", MergeOptions, job=True
    ),
    Verb(
        "audit",
        "Listen to every clip and report what is wrong with which.",
        AuditOptions,
        "olu.stages.fix:run",
        job=True,
        label="listening",
        # it has threads of its own: numpy's would only wait for each other, at twice the cost
        environment={"OPENBLAS_NUM_THREADS": "1"},
    ),
    Verb("clips", "List, filter, sort and export the clips.", ClipsOptions),
    Verb(
        "drop",
        "Leave clips out of everything to come. Nothing is deleted.",
        DecideOptions,
        "olu.stages.decide:run_drop",
    ),
    Verb(
        "keep", "Take clips as they are, whatever the audit says of them.", DecideOptions, "olu.stages.decide:run_keep"
    ),
    Verb(
        "speakers",
        "List who speaks; rename, join and part speakers. The source's names stay on record.",
        SpeakersOptions,
    ),
    Verb("correct", "Correct texts, or give clips their first. The source's stay on record.", CorrectOptions),
    Verb("bounds", "Set boundaries of words and phones by hand. 'olu align' keeps them.", BoundsOptions),
    Verb(
        "transcribe",
        "Draft texts for clips without one, and list those to write down. Nothing learns from a draft.",
        TranscribeOptions,
        label="listening",
        job=True,
    ),
    Verb(
        "prompts",
        "Choose sentences to record: each next one adds most of what is still rare.",
        PromptsOptions,
        label="choosing",
        job=True,
    ),
    Verb(
        "export-corpus",
        "Write the clips as they train, with texts, sides and rights, for another program.",
        ExportCorpusOptions,
        "olu.stages.export_corpus:run",
        label="writing",
        job=True,
    ),
    Verb("split", "Choose which clips train and which are kept for validation and tests.", SplitOptions),
    Verb(
        "read",
        "Turn text into the symbols that will be spoken: a workspace's transcripts, or any text.",
        ReadOptions,
        "olu.stages.g2p:run_read",
        about="what",
        job=True,
        label="reading",
        json=AS_JSON,
    ),
    Verb(
        "g2p",
        "Turn a text into the symbols that will be spoken (the same as read --language).",
        G2pOptions,
        "olu.stages.g2p:run_g2p",
        json=AS_JSON,
    ),
    Verb("lexicon", "Your own words: list them, add one, and see how many clips it touches.", LexiconOptions),
    Verb(
        "marks",
        "Learn from texts that have their tones and dots how to put them back where a text lacks them.",
        MarksOptions,
    ),
)

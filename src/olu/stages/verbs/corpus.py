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
        "SOURCE", "The folder, zip or tar with recordings and texts, or hf:OWNER/NAME.", role="input", stamped=True
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


@options
class MergeOptions:
    ws: Path = workspace("The workspace that takes the clips in.")
    others: tuple[Path, ...] = argument("OTHER...", "The workspaces they come from.", role="workspace")
    same_speakers: bool = flag("The same name is the same person.")


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
class SplitOptions:
    ws: Path = workspace(here=True)
    valid: float | None = option("For validation; 0.04 at first.", metavar="SHARE", least=0, most=0.5)
    test: float | None = option("For tests; 0.04 at first.", metavar="SHARE", least=0, most=0.5)
    seed: int | None = option("Another number, another split.", metavar="N")


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
    Verb("correct", "Correct texts, or give clips their first. The source's stay on record.", CorrectOptions),
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
    Verb(
        "marks",
        "Learn from texts that have their tones and dots how to put them back where a text lacks them.",
        MarksOptions,
    ),
)

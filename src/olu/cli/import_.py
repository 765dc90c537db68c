"""olu import"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from olu.cli.doubts import show_doubts
from olu.cli.rights import AGREED, CONSENT, CREDITS, LICENCE, asked_rights
from olu.cli.show import follow, length, many, print_json, quoted, say, write_texts

if TYPE_CHECKING:
    from olu.stages.import_ import ImportSummary

SHOWN = 5
# Typed here so that --help needs no reader; a test holds it to the readers.
LAYOUTS = (
    "kaldi, festvox, coqui, commonvoice, ljspeech, mailabs, libritts, huggingface, jsonl, table, filelist, folder, "
    "subtitles, recordings"
)


def register(app: typer.Typer) -> None:
    @app.command("import")
    def import_(
        ws: Path = typer.Argument(..., metavar="WS", help="The workspace."),
        source: Path = typer.Argument(
            ..., metavar="SOURCE", help="The folder, zip or tar with recordings and texts, or hf:OWNER/NAME."
        ),
        layout: str = typer.Option("auto", "--layout", help=f"auto, {LAYOUTS}."),
        speaker: str | None = typer.Option(None, "--speaker", help="Who speaks, when it is one person."),
        columns: str | None = typer.Option(
            None, "--columns", metavar="KIND=NAME,...", help="Columns of a table: audio=NAME,text=NAME,speaker=NAME."
        ),
        root: Path | None = typer.Option(
            None, "--root", metavar="DIR", help="The folder that absolute paths may lead into."
        ),
        config: str | None = typer.Option(
            None, "--config", help="The part of a Hugging Face dataset, such as ibo_tts."
        ),
        split: str | None = typer.Option(None, "--split", help="The split of a Hugging Face dataset; all by default."),
        subtitles: Path | None = typer.Option(
            None, "--subtitles", metavar="FILE", help="The .srt or .vtt of one film or recording."
        ),
        shift: float | None = typer.Option(
            None, "--shift", metavar="SECONDS", help="Move all subtitles by this; a minus is earlier."
        ),
        stretch: float | None = typer.Option(
            None, "--stretch", metavar="FACTOR", help="Multiply the times of all subtitles by this, before --shift."
        ),
        in_sync: bool = typer.Option(
            False, "--in-sync", help="The subtitles fit: what was measured otherwise is not kept as a doubt."
        ),
        encoding: str | None = typer.Option(
            None,
            "--encoding",
            metavar="NAME",
            help="Of tables, texts and subtitles that are not UTF-8, such as cp1252.",
        ),
        copy: bool = typer.Option(False, "--copy", help="Copy the audio into the workspace."),
        licence: str = LICENCE,
        consent: str = CONSENT,
        agreed: str = AGREED,
        credits: str = CREDITS,
        dry_run: bool = typer.Option(False, "--dry-run", help="Say what would come in, and write nothing."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Take in recordings and their texts; running it again adds only what is new."""
        from olu.core.files import Workspace
        from olu.stages.import_ import import_source

        workspace = Workspace.open(ws)
        given = {"licence": licence, "consent": consent, "agreed": agreed, "credits": credits}
        work = import_source(
            workspace,
            source,
            layout=layout,
            speaker=speaker,
            copy=copy,
            columns=columns,
            root=root,
            config=config,
            split=split,
            subtitles=subtitles,
            shift=shift,
            encoding=encoding,
            stretch=stretch,
            in_sync=in_sync,
            rights=asked_rights(given, quiet=as_json or dry_run, ws=workspace),
            dry_run=dry_run,
        )
        summary = follow(work, label="import")
        if as_json:
            shown = {key: value for key, value in asdict(summary).items() if key != "plan" or value is not None}
            print_json({"workspace": str(ws), **shown, "next": _next(summary, ws)})
        else:
            _tell(summary, ws)


def _next(summary: ImportSummary, ws: Path) -> str:
    if summary.plan is not None:
        return "the same without --dry-run"
    return summary.mending or f"olu audit {ws}"


def _tell(summary: ImportSummary, ws: Path) -> None:
    say(f"Layout {summary.layout}: {summary.why}.")
    dry = summary.plan is not None
    already = f", {summary.already} {_be(summary.already)} there already" if summary.already else ""
    skipped = f", {len(summary.skipped)} skipped" if summary.skipped else ""
    say(f"{'Would add' if dry else 'Added'} {many(summary.added, 'clip')}{already}{skipped}.")
    if summary.plan is not None:
        for kind, ids in asdict(summary.plan).items():
            say(f"  {kind}: {len(ids)}{f' ({_listed(ids)})' if ids else ''}")
    names = ", ".join(summary.speakers)
    clips = f"{many(summary.clips, 'clip')}, {length(summary.seconds)}, in {summary.language}"
    say(f"The corpus {'would have' if dry else 'has'} {clips}; speakers: {names}.")
    if summary.untranscribed:
        have = "has no text and is" if summary.untranscribed == 1 else "have no text and are"
        say(f"{summary.untranscribed} of them {have} never trained on. To change that: {write_texts(ws)}")
    if summary.skipped:
        say(f"Skipped: {summary.summed}.")
        more = "--json lists them all" if dry else f"see {ws / 'corpus' / 'problems.jsonl'}"
        _some(summary.examples, of=len(summary.skipped), more=more)
    if summary.notes:
        say("Notes:")
        _some(summary.notes[:SHOWN], of=len(summary.notes), more="--json lists them all")
    show_doubts(summary.doubts)
    if summary.lost:
        say(f"Much is lost: {summary.lost}.")
    if dry:
        say("Nothing was written. Next: the same without --dry-run")
    elif summary.mending:
        say(f"Next: listen to a few clips; if it is so, {summary.mending}")
        say(f"Else: {summary.fitting}, then olu audit {quoted(ws)}")
    else:
        say(f"Next: olu audit {quoted(ws)}")


def _listed(ids: tuple[str, ...]) -> str:
    return ", ".join(ids[:SHOWN]) + (" ..." if len(ids) > SHOWN else "")


def _be(number: int) -> str:
    return "was" if number == 1 else "were"


def _some(lines: tuple[str, ...], *, of: int, more: str) -> None:
    for line in lines:
        say(f"  {line}")
    if of > len(lines):
        say(f"  ... and {of - len(lines)} more, {more}")

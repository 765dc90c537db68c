"""olu align, olu cut"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import typer

from olu.cli.doubts import show_standing
from olu.cli.show import follow, followed, length, many, print_json, quoted, say, table, warn
from olu.cli.threads import THREADS, settle_threads

if TYPE_CHECKING:
    from olu.stages.align import AlignSummary
    from olu.stages.cut import CutSummary

FEW = 5


def register(app: typer.Typer) -> None:
    @app.command()
    def align(
        ws: Path = typer.Argument(..., metavar="WS", help="The workspace."),
        source: Path | None = typer.Option(
            None, "--from", metavar="PATH", help="Take TextGrids instead: a folder, a .tar.gz or a .zip of them."
        ),
        textgrid: Path | None = typer.Option(
            None, "--textgrid", metavar="DIR", help="Also write TextGrids, or an archive if it ends in .tar.gz or .zip."
        ),
        durations: Path | None = typer.Option(
            None, "--durations", metavar="FILE", help="Also write tokens and their frames, one clip a line."
        ),
        hop: int = typer.Option(256, "--hop", metavar="N", help="With --durations: samples from frame to frame."),
        rate: int = typer.Option(16000, "--rate", metavar="HZ", help="With --durations: the voice's sampling rate."),
        frames: str = typer.Option("floor", "--frames", help="With --durations: floor (VITS) or centre (STFT)."),
        ctc_only: bool = typer.Option(False, "--ctc-only", help="Skip the second, exact pass over the boundaries."),
        cross: bool = typer.Option(False, "--cross", help="Score texts by recognisers that did not learn from them."),
        device: str | None = typer.Option(None, "--device", help="cpu, cuda, cuda:1 or mps; default: what is there."),
        threads: int | None = THREADS,
        force: bool = typer.Option(False, "--force", help="Align again, also where there is little to learn from."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Find every word and sound in its clip; read and write TextGrids."""
        from dataclasses import asdict

        from olu.align.textgrid_files import write_durations, write_grids
        from olu.core.errors import ConfigError
        from olu.core.files import Workspace
        from olu.stages.align import align as run
        from olu.stages.align_next import after_align

        if frames not in ("floor", "centre"):
            raise ConfigError(f"--frames {frames!r}: choose floor or centre")
        if durations is None and (hop, rate, frames) != (256, 16000, "floor"):
            raise ConfigError("--hop, --rate and --frames are about --durations FILE: give it, or leave them out")
        if source is not None and (ctc_only or cross):
            raise ConfigError("--from takes the boundaries of another aligner: leave --ctc-only and --cross out")
        settle_threads(threads)
        opened = Workspace.open(ws)
        keep = textgrid is not None or durations is not None
        work = run(opened, source=source, ctc_only=ctc_only, cross=cross, device=device, force=force, keep=keep)
        summary, busy = followed(work, label="aligning")
        written: dict[str, object] = {}
        if textgrid is not None:
            written["textgrids"] = write_grids(opened, textgrid)
        if durations is not None:
            how = cast('Literal["floor", "centre"]', frames)
            rows, problems = write_durations(opened, durations, hop=hop, rate=rate, frames=how)
            written |= {"durations": rows, "without_durations": problems}
        if as_json:
            print_json({**asdict(summary), **written})
            return
        _show(summary)
        if not busy:
            say("Nothing has changed since the last alignment: nothing was done again (--force aligns again).")
        if textgrid is not None:
            say(f"{written['textgrids']} TextGrids in {textgrid}")
        if durations is not None:
            say(f"{rows} clips with their frames in {durations}")
            for problem in problems[:FEW]:
                warn(f"no durations: {problem}")
            if len(problems) > FEW:
                warn(f"and {len(problems) - FEW} more; --json lists all")
        if summary.doubt:
            warn(f"Do not trust this alignment: {summary.doubt}.")
        show_standing(ws)
        say(f"Next: {after_align(opened)}")

    @app.command()
    def cut(
        ws: Path = typer.Argument(..., metavar="WS", help="The workspace."),
        longest: float = typer.Option(20.0, "--longest", metavar="SECONDS", help="What is longer is cut."),
        dry: bool = typer.Option(False, "--dry-run", help="Show it, write nothing."),
        undo: bool = typer.Option(False, "--undo", help="Take all cuts back: the long clips train again."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Cut long clips at pauses between words, text and sound together. Needs an alignment."""
        from dataclasses import asdict

        from olu.core.errors import ConfigError
        from olu.core.files import Workspace
        from olu.stages.cut import cut as run
        from olu.stages.cut import undo_cut

        opened = Workspace.open(ws)
        if undo:
            if dry:
                raise ConfigError("--undo takes cuts back: leave --dry-run out")
            long, pieces = undo_cut(opened)
            if as_json:
                print_json({"undone": long, "pieces": pieces})
            else:
                are = "is" if long == 1 else "are"
                back = f"{many(long, 'clip')} {are} whole again, {many(pieces, 'piece')} gone."
                say(back if long else "There was nothing to take back.")
            return
        done = follow(run(opened, longest=longest, dry=dry), label="cutting")
        if as_json:
            print_json(asdict(done))
        else:
            _show_cut(done, ws)


def _show(summary: AlignSummary) -> None:
    found = summary.spread
    rows = [
        ["clips", f"{found.clips}"],
        ["minutes", f"{found.seconds / 60:.1f}"],
        ["words", f"{found.words}"],
        ["phones", f"{found.phones}"],
        ["silence", f"{found.silence:.0%}"],
        ["mean score", "-" if found.mean_score is None else f"{found.mean_score:.3f}"],
    ]
    table("", ["aligned", summary.method], rows)
    for bad in found.worst[:FEW]:
        say(f"fits its text least: {bad['id']} ({bad['score']:.2f})")
    for odd in found.outliers[:FEW]:
        say(f"very long: {odd['phone']} of {odd['id']} at {odd['start']:.2f} s lasts {odd['seconds']:.2f} s")
    for note in summary.notes:
        say(note)
    for problem in summary.problems[:FEW]:
        warn(problem)
    if len(summary.problems) > FEW:
        warn(f"... and {len(summary.problems) - FEW} more without an alignment")
    say(f"Made by {summary.made_by}.")


def _show_cut(done: CutSummary, ws: Path) -> None:
    pieces = sum(len(clips) for clips in done.cut.values())
    if not done.clips:
        wanted = "that is not left out " if done.lost else ""
        say(f"No clip {wanted}is longer than {done.longest:g} s: there is nothing to cut.")
        _show_lost(done, ws)
        return
    would = "" if done.written or not done.cut else " would be"
    say(
        f"{many(done.clips, 'clip')} over {done.longest:g} s: {len(done.cut)}{would} cut into {pieces}, "
        f"{length(done.seconds)}."
    )
    for id in done.still_long[:FEW]:
        say(f"still long, for want of a pause: {id}")
    for why in done.refused[:FEW]:
        warn(f"not cut: {why}")
    if len(done.refused) > FEW:
        warn(f"... and {len(done.refused) - FEW} more that are not cut (--json names them all)")
    _show_lost(done, ws)
    if done.written:
        say(f"Back again: olu cut {quoted(ws)} --undo")
        say(f"Next: olu read {quoted(ws)}")
    elif done.cut:
        say("Nothing was written (--dry-run).")


def _show_lost(done: CutSummary, ws: Path) -> None:
    if done.lost:
        was = "is as long, but was" if len(done.lost) == 1 else "are as long, but were"
        more = "more clip" if done.clips else "clip"
        say(f"{many(len(done.lost), more)} ({done.lost_seconds / 60:.1f} minutes) {was} left out by olu audit --fix.")
        undo = [f"olu {step}" for step in (f"audit {quoted(ws)} --undo", f"align {quoted(ws)}", f"cut {quoted(ws)}")]
        say(f"To cut these too: {' && '.join(undo)}")

"""`olu`: every verb is a command, made from its declaration. Nothing heavy is imported before a verb runs."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import typer

from olu import __version__
from olu.cli.build import register
from olu.cli.progress import end_record
from olu.cli.show import open_streams
from olu.core.errors import OluError
from olu.core.halt import Halt, announce_to
from olu.core.words import one_line
from olu.stages.verbs import VERBS

app = typer.Typer(
    name="olu",
    help="From recordings in any language to a voice that speaks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

INTERRUPTED = 130

# A machine that is full or read-only is no bug of ours: one sentence, exit code 2.
PACKAGE = Path(__file__).parents[1]
PLACES = {
    errno.ENOSPC: "the disk is full: free some space and run the command again; what was finished before is kept",
    errno.EDQUOT: "your disk quota is used up: free some space and run the command again",
    errno.EROFS: "this place is read-only: choose a folder you can write to",
    errno.EACCES: "no permission: choose a folder you can read and write",
    errno.EPERM: "no permission: choose a folder you can read and write",
    errno.EISDIR: "this is a folder: name a file",
    errno.ENOTDIR: "a part of this path is a file, not a folder: check the path",
    errno.EFBIG: "the file would be larger than is allowed here: raise the limit ('ulimit -f'), or choose another disk",
    errno.ENAMETOOLONG: "this name is too long: choose a shorter one",
}


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"olu {__version__}\n")
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """From recordings in any language to a voice that speaks."""


for verb in VERBS.values():
    register(app, verb)


def _as_utf8(word: str) -> str:
    """A word of the command line that the locale (C, on bare servers) could not read; one that is no UTF-8 stays."""
    with suppress(UnicodeError):
        return os.fsencode(word).decode("utf-8")
    return word


def main() -> None:
    open_streams()
    announce_to(_announce)
    sys.argv = [_as_utf8(word) for word in sys.argv]
    if len(sys.argv) == 1:
        sys.argv.append("--help")
    try:
        code = app(standalone_mode=False)  # else typer answers wrong words with a box, and Ctrl-C with nothing
    except OluError as mistake:
        _leave(str(mistake))
    except Halt as halt:
        _leave(str(halt), code=halt.code, at_once=True)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as wrong:
        if told := _of_place(wrong) if isinstance(wrong, OSError) else _usage(wrong):
            _leave(told)
        end_record(code=1, error=f"{type(wrong).__name__}: {wrong}")
        raise
    if code == INTERRUPTED:
        _leave("stopped; what was finished is kept", code=INTERRUPTED, at_once=True)
    end_record(code=code or 0)
    raise SystemExit(code or 0)


def _of_place(failed: OSError) -> str:
    """A sentence where a disk, a folder or a file is at fault; nothing where the fault is ours."""
    own = str(failed.filename or "").startswith(str(PACKAGE))  # a file of ours that is not there is a bug
    if own or (failed.errno not in PLACES and not failed.filename):
        return ""
    other = f"{str(failed.strerror).lower()}: check the path and run the command again"
    return f"{failed.filename or 'writing'}: {PLACES.get(failed.errno or 0, other)}"


def _usage(wrong: Any) -> str:
    """What typer has to say of wrong words, in one line; nothing of any other error."""
    if not hasattr(wrong, "format_message"):  # typer's own errors have it, whichever click it carries
        return ""
    told = " ".join(wrong.format_message().split()).rstrip(".")
    where = wrong.ctx.command_path if getattr(wrong, "ctx", None) else "olu"
    return f"{told}: see '{where} --help'"


def _leave(message: str, *, code: int = 2, at_once: bool = False) -> NoReturn:
    """End with this message and exit code. `at_once`: without waiting for threads; the disk is in order."""
    end_record(code=code, error=message)
    with suppress(OSError):  # the terminal may be closed
        sys.stderr.write(f"olu: {one_line(message)}\n" if message else "")
        sys.stderr.flush()
    if at_once:
        with suppress(OSError):
            sys.stdout.flush()
        os._exit(code)
    raise SystemExit(code)


def _announce(text: str) -> None:
    """Tell a person something from within a signal handler, where a line may be half written."""
    with suppress(OSError):
        os.write(2, f"\nolu: {text}\n".encode())

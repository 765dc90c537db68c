"""Every error a person can cause. Each message says what, which clip or key, and what to do next.

OluError                 exit code 2, no traceback
├── ConfigError          a recipe, a workspace file or a flag holds something we cannot use
├── WorkspaceError       the folder is not a workspace, is of a newer schema, or lacks an earlier stage
├── CorpusError          nothing usable could be imported
├── AudioError           a sound file cannot be read or written
├── TextError            a text cannot be read aloud as given
├── LanguageError        a language code nobody knows
├── AlignError           a text and a recording that cannot be laid over each other
├── TrainError           training cannot start or go on
├── ExportError          a run cannot become a voice
├── VoiceError           a voice package is damaged, foreign or lacks what was asked
├── NetworkError         an ONNX file is damaged, or holds what no network needs
└── MissingExtra         a verb needs packages that are not installed
"""

from __future__ import annotations

import shlex
from pathlib import Path


class OluError(ValueError):
    """A mistake a person can mend."""


class ConfigError(OluError):
    pass


class WorkspaceError(OluError):
    pass


class CorpusError(OluError):
    pass


class AudioError(OluError):
    pass


class TextError(OluError):
    pass


class LanguageError(OluError):
    pass


class AlignError(OluError):
    pass


class TrainError(OluError):
    pass


class ExportError(OluError):
    pass


class VoiceError(OluError):
    pass


class NetworkError(OluError):
    pass


class MissingExtra(OluError):
    def __init__(self, verb: str, *, extra: str = "", package: str, install: str = "") -> None:
        super().__init__(f"{verb} needs the package {package!r}: {install or how_to_install(extra)}")


CLONE = "PATH_OF_CLONE"  # where the person has a clone of Olu's repository


def how_to_install(extra: str = "", *, here: bool = True) -> str:
    """The command that brings Olu with an extra. No registry has a package of its name: it comes from a clone.

    `here`: for whoever runs this Olu, whose own clone is named where it is one; else for people elsewhere.
    """
    wanted = f"[{extra}]" if extra else ""
    root = Path(__file__).parents[3]
    if here and (root / "constraints.txt").is_file() and (root / "pyproject.toml").is_file():
        return f"pip install -c {shlex.quote(str(root / 'constraints.txt'))} -e {shlex.quote(f'{root}{wanted}')}"
    return f"pip install '{CLONE}{wanted}'" if wanted else f"pip install {CLONE}"

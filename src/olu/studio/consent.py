"""What a speaker agrees to before the first take: the words, their version, and who agreed to which and when."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from olu.core.errors import ConfigError
from olu.core.files import Workspace, read_rows
from olu.core.types import EXACT
from olu.corpus.rights import Rights, save_source
from olu.corpus.sources import read_sources
from olu.studio.words import t

FOLDER = "takes"
WORDS_FILE = "consent-words.jsonl"  # every version that was in force
AGREED_FILE = "consent.jsonl"  # of one speaker
LONGEST = 8000
FIRST_WORDS = (
    "My voice will be recorded while I read sentences. The recordings and their texts are kept by the people of this "
    "project, with the name I give here. They will be used to make a computer voice that can say any sentence, in a "
    "voice like mine. The recordings and the voice may be given to others under the licence of this project.\n\n"
    "I do this freely. I may stop at any time, and I may take my consent back: then no new voice is made from my "
    "recordings. What was given to others before cannot be called back."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentWords:
    """A consent text as it was in force."""

    version: int
    text: str
    at: str = ""
    by: str = ""
    __pydantic_config__ = EXACT

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What a speaker answered, to which words."""

    name: str
    agreed: bool
    version: int
    sha256: str
    text: str
    at: str
    __pydantic_config__ = EXACT

    def rights(self) -> Rights:
        """What goes with the recordings."""
        day, words = self.at[:10], f"consent text version {self.version} ({self.sha256[:8]})"
        if not self.agreed:
            return Rights(consent=f"{self.name} has withdrawn the consent of {words} on {day}", agreed="no")
        return Rights(consent=f"{self.name} agreed on {day} to {words}, shown before the first take", agreed="yes")


def current_words(ws: Workspace) -> ConsentWords:
    rows = list(read_rows(ws.root / FOLDER / WORDS_FILE, ConsentWords))
    return rows[-1] if rows else ConsentWords(version=1, text=FIRST_WORDS)


def change_words(ws: Workspace, text: str, *, by: str) -> ConsentWords:
    """Other words from now on. Who agreed before agreed to those of then, and is asked again."""
    text = text.strip()
    if not text or len(text) > LONGEST:
        raise ConfigError(t("a consent text has 1 to {n} letters", n=f"{LONGEST:,}"))
    now = current_words(ws)
    if text == now.text:
        return now
    made = ConsentWords(version=now.version + 1, text=text, at=_now(), by=by)
    path = ws.root / FOLDER / WORDS_FILE
    if not path.exists():
        _append(path, asdict(now))
    _append(path, asdict(made))
    return made


def agreements(folder: Path) -> list[Agreement]:
    return list(read_rows(folder / AGREED_FILE, Agreement))


def agreement(folder: Path) -> Agreement | None:
    """The last answer of a speaker."""
    return next(iter(agreements(folder)[::-1]), None)


def answer(ws: Workspace, folder: Path, *, name: str, agreed: bool, sha256: str) -> Agreement:
    """Write down what a speaker answered to the words that were shown. A consent that is taken back goes to the rights
    of what was imported at once, and stops every export."""
    words = current_words(ws)
    if agreed and sha256 != words.sha256:
        raise ConfigError(t("the consent text has changed meanwhile: read it again"))
    name = " ".join(name.split())[:120]
    if not name:
        raise ConfigError(t("write your name under the consent"))
    made = Agreement(name=name, agreed=agreed, version=words.version, sha256=words.sha256, text=words.text, at=_now())
    _append(folder / AGREED_FILE, asdict(made))
    if not agreed:
        for source, held in read_sources(ws).items():
            if (ws.root / held.root).resolve().is_relative_to(folder.resolve()):
                save_source(ws, source, made.rights())
    return made


def _append(path: Path, row: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

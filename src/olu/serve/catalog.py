"""The voices there are to speak with: found in places a person named, looked at again while the server runs."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from olu.core.errors import OluError, VoiceError
from olu.serve.protocol import VoiceInfo
from olu.speak.engines import knobs_of
from olu.speak.package import Outline, read_outline

LOOK_SECONDS = 1.0  # between two looks
ENDINGS = (".voice", ".zip")
LONGEST_NAME = 200
LONGEST_SAMPLE = 120  # characters
WAY_OUT = "leave one of them out, or export one again with another name in the olu.toml of its workspace"


@dataclass(frozen=True)
class Entry:
    """A voice, or what lies there instead of one."""

    info: VoiceInfo
    path: Path
    key: str  # another one when any of its files changes

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def fault(self) -> str:
        return self.info.fault

    def spoiled(self, why: str) -> Entry:
        return replace(self, info=replace(self.info, fault=why))


class VoiceCatalog:
    """Several threads may use it. Each package is proved once, and again when its files change."""

    def __init__(
        self,
        places: Sequence[Path],
        *,
        every: float = LOOK_SECONDS,
        most_bytes: int = 0,
        aliases: Mapping[Path, str] | None = None,
        called: Callable[[Path], str] | None = None,
    ) -> None:
        """A place is a voice, or a folder of voices to which others may come later.

        `most_bytes`: what a worker may take; a larger voice cannot be used. `aliases`: other names of some places.
        `called`: the name of the voice that lies there, in place of its own, which others may have too.
        """
        self._places, self._every = tuple(place.absolute() for place in places), every  # workers stand elsewhere
        self._most_bytes = most_bytes
        self._aliases = {place.absolute(): name for place, name in (aliases or {}).items()}
        self._called = called
        self._lock = threading.Lock()
        self._looked = -every
        self._known: dict[str, Entry] = {}  # by key, with faults of their own only
        self._owners: dict[str, Path] = {}  # who has a name
        self.entries: tuple[Entry, ...] = ()
        self._check_places()
        self._look(at_start=True)
        self._check_start()

    def _check_places(self) -> None:
        absent = next((place for place in self._places if not place.exists()), None)
        if absent is not None or not self._places:
            raise VoiceError(f"{absent or 'no voice'} is not there: name voices, or folders that hold some")
        other = next((place for place in self._places if not place.is_dir() and not _is_voice(place)), None)
        if other is not None:
            raise VoiceError(f"{other} is neither a voice nor a folder: name voices, or folders that hold some")

    def _check_start(self) -> None:
        bad = [entry for entry in self.entries if entry.fault]
        if len(bad) == len(self.entries) and all(_is_voice(place) for place in self._places):
            raise VoiceError(f"there is no voice that can speak: {'; '.join(entry.fault for entry in bad)}")

    def find(self, name: str) -> Entry | None:
        """The voice of that name that can be used, else the one that cannot."""
        named = [entry for entry in self.entries if entry.name == name]
        return min(named, key=lambda entry: entry.fault != "", default=None)

    def look(self) -> None:
        """See what came, went or changed, unless that was done just now."""
        with self._lock:
            if time.monotonic() - self._looked >= self._every:
                self._look(at_start=False)

    def put(self, places: Sequence[Path]) -> None:
        """Look in these places from now on."""
        with self._lock:
            if (whole := tuple(place.absolute() for place in places)) != self._places:
                self._places = whole
                self._look(at_start=False)

    def spoil(self, key: str, why: str) -> None:
        """Mark a voice as damaged that showed it only when it was opened."""
        with self._lock:
            if (entry := self._known.get(key)) is not None:
                self._known[key] = entry.spoiled(why)
                self._arrange()

    def _look(self, *, at_start: bool) -> None:
        found: dict[str, Entry] = {}
        names = {entry.path: entry.name for entry in self._known.values()}
        for path in self._paths():
            key, size = _stamp(path)
            found[key] = self._known.get(key) or self._entry(path, key, size, name=names.get(path, path.name))
        self._known = found
        self._arrange(at_start=at_start)
        self._looked = time.monotonic()

    def _arrange(self, *, at_start: bool = False) -> None:
        """List the entries by name; a name belongs to who had it before, else to the first found."""
        owners: dict[str, Entry] = {}
        entries = []
        for entry in sorted(self._known.values(), key=lambda one: self._owners.get(one.name) != one.path):
            owner = owners.setdefault(entry.name, entry) if not entry.fault else entry
            if owner is not entry and at_start:
                raise VoiceError(f"{owner.path} and {entry.path} are both named {entry.name!r}: {WAY_OUT}")
            taken = f"{entry.path.name}: the name {entry.name!r} is taken by {owner.path.name}: {WAY_OUT}"
            entries.append(entry if owner is entry else entry.spoiled(taken))
        self._owners = {name: entry.path for name, entry in owners.items()}
        self.entries = tuple(sorted(entries, key=lambda entry: entry.name))

    def _entry(self, path: Path, key: str, size: int, *, name: str) -> Entry:
        """`name`: what to call it where it cannot say so itself; the one it had, if it was whole before."""
        try:
            if self._most_bytes and size > self._most_bytes:
                room = f"{size / 1e6:.1f} MB, more than the {self._most_bytes / 1e6:.1f} MB that a worker may take"
                raise VoiceError(f"{path.name} has {room} (--worker-memory)")
            alias = self._aliases.get(path)
            info = replace(_described(path, read_outline(path)), size=size, aliases=(alias,) if alias else ())
            info = replace(info, name=self._called(path)) if self._called else info
        except OluError as bad:  # without the path of this machine: it may be shown to those who ask
            info = VoiceInfo(name, "", 0, (), size, False, fault=str(bad).replace(str(path), path.name))
        except OSError as bad:
            fault = f"{path.name} cannot be read ({bad.strerror}): check the disk and who may read it"
            info = VoiceInfo(name, "", 0, (), size, False, fault=fault)
        return Entry(info, path, key)

    def _paths(self) -> Iterator[Path]:
        for place in self._places:
            if _is_voice(place):
                yield place
                continue
            try:
                inside = place / "voices" if (place / "olu.toml").is_file() else place
                items = sorted(inside.iterdir())
            except OSError:  # gone, or not ours to read, for the moment
                continue
            yield from (item for item in items if not item.name.startswith(".") and _is_voice(item))


def _is_voice(path: Path) -> bool:
    """Whether a path looks like a voice package; what is in it may still be damaged."""
    named = path.name.endswith(ENDINGS)
    try:
        if named and path.exists() and not path.is_file() and not path.is_dir():
            return False  # a pipe, which would be waited for
        return named or (path / "voice.json").is_file()
    except OSError:  # not ours to read: a voice only if it says so
        return named


def _stamp(path: Path) -> tuple[str, int]:
    """A key for the state of the files, and their bytes."""
    files = [path]
    try:
        if path.is_dir():
            files = [file for folder in (path, path / "language") for file in folder.iterdir() if file.is_file()]
        facts = [(str(file), info.st_size, info.st_mtime_ns) for file in sorted(files) for info in [file.stat()]]
    except OSError:  # being copied or taken away
        return hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest(), 0
    key = json.dumps([str(path), facts]).encode("ascii")
    return hashlib.sha256(key).hexdigest(), sum(size for _, size, _ in facts)


def _described(path: Path, package: Outline) -> VoiceInfo:
    """What the list of voices tells of a package, from the facts that the opened voice goes by too."""
    facts = package.facts
    name, language, rate, speakers = (facts.get(field) for field in ("name", "language", "rate", "speakers"))
    words = [name, language, *(speakers if isinstance(speakers, list) else [None])]
    if not all(isinstance(word, str) for word in words) or type(rate) is not int or not rate > 0:
        raise VoiceError(f"{path}: voice.json is damaged: export the voice again")
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise VoiceError(f"{path} has no name that can be asked for: export it again with another name")
    try:
        knobs = tuple(knobs_of(package).values())
    except (KeyError, TypeError, ValueError, AttributeError):
        raise VoiceError(f"{path}: voice.json is damaged (its knobs): export the voice again") from None
    sample = _sample(package.check.get("sentences"))
    ends = facts.get("sentence_ends")
    return VoiceInfo(
        name,
        str(language),
        rate,
        tuple(map(str, speakers or ())),
        0,
        False,
        sample=sample,
        knobs=knobs,
        sentence_ends=tuple(map(str, ends)) if isinstance(ends, list) else (),
        licence=str(facts.get("licence") or ""),
        credits=str(facts.get("credits") or ""),
    )


def _sample(rows: object) -> str:
    """The longest of the package's own sentences that is short and plain."""
    texts = (
        [row.get("text") for row in rows if isinstance(row, dict) and row.get("ids")] if isinstance(rows, list) else []
    )
    short = [text for text in texts if isinstance(text, str) and len(text) <= LONGEST_SAMPLE and text.isprintable()]
    plain = [text for text in short if not any(char.isdigit() or char in "()[]<>{}" for char in text)]
    return max(plain or short, key=len, default="")

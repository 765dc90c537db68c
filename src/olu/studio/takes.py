"""Takes of speakers: `WS/takes/LINK/`, written whole, each once, and handed to `olu import` as a folder.

takes/LINK/handed.jsonl             prompts that this speaker was ever given: a take of any of them counts
takes/LINK/consent.jsonl            what the speaker agreed to, and when
takes/LINK/records/TAKE.json        of a take: prompt, text, hash, verdict; written after its sound
takes/LINK/recorded/wavs/TAKE.wav   the sound as it arrived
takes/LINK/recorded/clips.jsonl     for the import: the last take of each prompt
"""

from __future__ import annotations

import hashlib
import io
import re
import shutil
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import soundfile

from olu.core.errors import ConfigError, OluError, WorkspaceError
from olu.core.files import Workspace, read_json, read_jsonl, read_rows, write_bytes, write_json, write_jsonl
from olu.core.rows import as_row
from olu.core.types import Audio
from olu.core.words import size
from olu.corpus.manifest import Corpus
from olu.corpus.prompts import RecordingPrompt, read_prompts
from olu.stages.audit import read_thresholds
from olu.stages.decide import decide
from olu.studio import consent
from olu.studio.consent import FOLDER
from olu.studio.people import Person
from olu.studio.roots import NotHere
from olu.studio.settings import StudioSettings
from olu.studio.verdicts import judge
from olu.studio.words import t

ID = re.compile(r"[0-9a-f]{8}")
TAKE = re.compile(r"[0-9a-f]{32}")
MOST_BYTES = 16 * 2**20
MOST_TAKES = 20_000  # of one link
RATES = (16000, 96000)
RECORDED, LISTED = "recorded", "clips.jsonl"


class TakeDiffers(OluError):
    """A take of this name is here, with another sound."""


class NoConsent(OluError):
    """Nothing is taken before somebody has agreed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenTake:
    """One reading of one prompt, as it is kept."""

    take: str
    prompt: str
    text: str
    number: int  # in the order in which they were made on the device
    sha256: str
    seconds: float
    rate: int
    at: str
    verdict: dict[str, Any]
    processing: str = ""  # what the device did to the sound though it was asked not to

    @property
    def kind(self) -> str:
        return str(self.verdict.get("kind", ""))


class Takes:
    def __init__(self, settings: StudioSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._held: dict[Path, dict[str, SpokenTake]] = {}  # a record never changes once it is written

    def folder(self, ws: Workspace, link: str) -> Path:
        if not ID.fullmatch(link):
            raise NotHere(t("there is no such speaker here"))
        return ws.root / FOLDER / link

    def all(self, ws: Workspace, link: str) -> list[SpokenTake]:
        """Every take of a speaker, in the order in which they were made."""
        folder = self.folder(ws, link) / "records"
        held = self._held.setdefault(folder, {})
        for path in folder.glob("*.json") if folder.is_dir() else ():
            if path.stem not in held and TAKE.fullmatch(path.stem):
                held[path.stem] = SpokenTake(**read_json(path))
        return sorted(held.values(), key=lambda one: (one.number, one.at, one.take))

    def last(self, ws: Workspace, link: str) -> dict[str, SpokenTake]:
        """Prompt -> the take that counts: the last one."""
        return {one.prompt: one for one in self.all(ws, link)}

    def prompts(self, ws: Workspace, link: str) -> list[RecordingPrompt]:
        """What a speaker is given: the list as it is now, and behind it what was recorded of older ones."""
        now = read_prompts(ws)
        path = self.folder(ws, link) / "handed.jsonl"
        handed = {one.id: one for one in read_rows(path, RecordingPrompt)}
        if new := [one for one in now if one.id not in handed]:
            handed |= {one.id: one for one in new}
            with self._lock:
                write_jsonl(path, map(as_row, handed.values()))
        recorded, listed = self.last(ws, link), {one.id for one in now}
        return [*now, *(one for one in handed.values() if one.id in recorded and one.id not in listed)]

    def sound(self, ws: Workspace, link: str, take: str) -> Path:
        path = self._sound(self.folder(ws, link), take)
        if not TAKE.fullmatch(take) or not path.is_file():
            raise NotHere(t("there is no such take"))
        return path

    def put(
        self, ws: Workspace, person: Person, take: str, data: bytes, *, prompt: str, sha256: str, number: int, told: str
    ) -> SpokenTake:
        """Keep a take. The same take again changes nothing, so whoever did not hear the answer may send it again."""
        folder = self.folder(ws, person.link)
        if not TAKE.fullmatch(take):
            raise ConfigError(t("a take is named by 32 hexadecimal digits"))
        record = folder / "records" / f"{take}.json"
        with self._lock:
            if record.exists():
                held = SpokenTake(**read_json(record))
                if held.sha256 != sha256:
                    raise TakeDiffers(t("a take of this name is here with another sound: name it anew"))
                return held
            agreed = consent.agreement(folder)
            if agreed is None or not agreed.agreed:
                raise NoConsent(t("agree to the consent text first: it is shown before the first sentence"))
            if hashlib.sha256(data).hexdigest() != sha256:
                raise ConfigError(t("the take arrived damaged: send it again"))
            said = next((one for one in read_rows(folder / "handed.jsonl", RecordingPrompt) if one.id == prompt), None)
            if said is None:
                raise ConfigError(t("this sentence was never given to this link: open the page again"))
            self._check_room(ws, folder, len(data))
            audio = decoded(data)
            verdict = judge(
                audio, text=said.text, speaker=person.name, language=ws.language, limits=read_thresholds(ws)
            )
            made = SpokenTake(
                take=take,
                prompt=prompt,
                text=said.text,
                number=number,
                sha256=sha256,
                seconds=round(audio.seconds, 3),
                rate=audio.rate,
                at=datetime.now(UTC).isoformat(timespec="milliseconds"),
                verdict=verdict.row(),
                processing=told,
            )
            write_bytes(self._sound(folder, take), data)
            write_json(record, as_row(made))
        return made

    def _sound(self, folder: Path, take: str) -> Path:
        return folder / RECORDED / "wavs" / f"{take}.wav"

    def _check_room(self, ws: Workspace, folder: Path, bytes: int) -> None:
        free = shutil.disk_usage(ws.root).free
        if free - bytes < self._settings.leave_free:
            raise WorkspaceError(
                t("the studio's disk is full ({size} are free): the take waits on your device", size=size(free))
            )
        if len(self._held.get(folder / "records", {})) >= MOST_TAKES:
            raise WorkspaceError(t("this link has {n} takes: ask for another", n=f"{MOST_TAKES:,}"))

    def prepare_import(self, ws: Workspace, person_name: str, link: str) -> tuple[dict[str, Any], int]:
        """Write what `olu import` reads: the last take of each prompt. Gives the options of the import, and how many.

        A clip that was imported before and has been recorded again since is dropped, with that reason.
        """
        folder = self.folder(ws, link)
        agreed = consent.agreement(folder)
        if agreed is None or not agreed.agreed:
            raise NoConsent(t("the speaker has not agreed, or has taken the consent back: nothing is imported"))
        takes = self.last(ws, link)
        if not takes:
            raise ConfigError(t("nothing was recorded yet"))
        used = {one.take for one in takes.values()}
        rows = [{"audio": f"wavs/{one.take}.wav", "text": one.text, "speaker": person_name} for one in takes.values()]
        listed = folder / RECORDED / LISTED
        before = {Path(str(row["audio"])).stem for row in read_jsonl(listed, shape={"audio": str})}
        if gone := before - used:
            self._drop(ws, gone, by=person_name)
        write_jsonl(listed, rows)
        said = agreed.rights()
        options = {"source": str(folder / RECORDED), "layout": "jsonl", "consent": said.consent, "agreed": said.agreed}
        return options, len(rows)

    def _drop(self, ws: Workspace, takes: set[str], *, by: str) -> None:
        if not (ws.corpus / "clips.jsonl").exists():
            return
        ids = [clip.id for clip in Corpus.open(ws) if Path(clip.audio).stem in takes]
        if ids:
            decide(ws, ids, decision="drop", reason="recorded again", by=by, known=True)


def decoded(data: bytes) -> Audio:
    """A take as sound: 16-bit mono WAV and nothing else, since it is kept as it came."""
    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            kind = (file.format, file.subtype, file.channels)
            rate, samples = int(file.samplerate), file.read(dtype="float32")
    except (soundfile.LibsndfileError, RuntimeError, TypeError):
        raise ConfigError(t("this take is no sound: record it again")) from None
    if kind != ("WAV", "PCM_16", 1) or not RATES[0] <= rate <= RATES[1]:
        raise ConfigError(
            t(
                "a take is 16-bit mono WAV of {rate} to {most} Hz: record it again",
                rate=f"{RATES[0]:,}",
                most=f"{RATES[1]:,}",
            )
        )
    if len(samples) == 0:
        raise ConfigError(t("this take is empty: record it again"))
    return Audio(samples, rate)

"""Where a run can be watched ([view] in olu.toml), and trackers that others made: TensorBoard and Weights & Biases.

Event files are written record by record, and cut back exactly where a run resumes. A record is a length, a checksum,
the event and its checksum. A rewind is written as the start of a session, which makes TensorBoard forget the steps that
were undone; counting these starts says which try an event belongs to.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.core.config import Strict, check, read_toml, with_overrides
from olu.core.errors import MissingExtra, TrainError
from olu.core.files import Workspace, whole
from olu.train.view.samples import mel_picture, picture, wav

if TYPE_CHECKING:
    from olu.train.engine_state import StepReport

PATTERN = "events.out.tfevents.*.olu"  # files of others that lie here are left alone


class ViewSettings(Strict):
    """[view] in the workspace's olu.toml, or --set view.x=y for one training."""

    tensorboard: bool | None = None  # write TensorBoard event files; not set: where the package is there
    wandb: str = ""  # the Weights & Biases project to send figures and samples to; empty: nothing is sent


def wants_tensorboard(settings: ViewSettings) -> bool:
    there = find_spec("tensorboard") is not None
    if settings.tensorboard and not there:
        raise MissingExtra("view.tensorboard = true", extra="watch", package="tensorboard")
    return there if settings.tensorboard is None else settings.tensorboard


def check_packages(settings: ViewSettings) -> None:
    """Refuse, before anything is written, a view whose package is not installed."""
    wants_tensorboard(settings)
    if settings.wandb and find_spec("wandb") is None:
        raise MissingExtra("view.wandb", package="wandb", install="pip install wandb")


@dataclass(frozen=True)
class Watching:
    settings: ViewSettings
    profile: int  # steps to profile


def watching(ws: Workspace, changes: list[str], *, profile: int) -> tuple[Watching, list[str]]:
    """What was chosen, and the changes that are of the recipe: views never make a run another run."""
    if profile < 0:
        raise TrainError(f"--profile {profile}: give the number of steps to profile")
    of_view, of_recipe = changes_apart(changes)
    held = with_overrides({"view": read_toml(ws.root / "olu.toml").get("view", {})}, of_view)["view"]
    settings = check(ViewSettings, held, where=f"{ws.root / 'olu.toml'} [view]")
    check_packages(settings)
    return Watching(settings, profile), of_recipe


def changes_apart(changes: Sequence[str]) -> tuple[list[str], list[str]]:
    """The changes of how a run is watched (`view.*`), and those of its recipe."""
    of_view = [change for change in changes if change.startswith("view.")]
    return of_view, [change for change in changes if change not in of_view]


class EventFile:
    """The one event file of a run, opened where the run goes on."""

    def __init__(self, folder: Path, *, step: int, rewinds: int) -> None:
        from tensorboard.compat.proto import event_pb2, summary_pb2
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._summary = event_pb2.Event, summary_pb2.Summary
        self.path = next(iter(sorted(folder.glob(PATTERN))), folder / f"events.out.tfevents.{time.time():010.0f}.olu")
        if self.path.exists():
            self._cut(step, rewinds)
        fresh = not self.path.exists()
        self._file = self.path.open("ab")
        self._records = RecordWriter(self._file)
        if fresh:
            self._write(self._event(wall_time=time.time(), file_version="brain.Event:2"))

    def close(self) -> None:
        self._file.close()

    def add(self, report: StepReport, found: Mapping[str, float]) -> None:
        values = [self._summary.Value(tag=name, simple_value=value) for name, value in found.items()]
        for exhibit in report.exhibits:
            data, rate = wav(exhibit.audio), exhibit.audio.rate
            sound = self._summary.Audio(
                sample_rate=rate,
                num_channels=1,
                length_frames=(len(data) - 44) // 2,
                encoded_audio_string=data,
                content_type="audio/wav",
            )
            values.append(self._summary.Value(tag=f"samples/{exhibit.name}", audio=sound))
            pictures = {"mel": mel_picture(exhibit.audio)}
            pictures |= {name: picture(held) for name, held in exhibit.pictures.items()}
            for name, png in pictures.items():
                values.append(self._summary.Value(tag=f"{name}/{exhibit.name}", image=self._image(png)))
        self._write(
            self._event(wall_time=time.time(), step=report.tried, summary=self._summary(value=values)),
        )
        if report.rewound:
            from tensorboard.compat.proto.event_pb2 import SessionLog

            start = SessionLog(status=SessionLog.START)
            self._write(self._event(wall_time=time.time(), step=report.step + 1, session_log=start))

    def _image(self, png: bytes) -> Any:
        width, height = struct.unpack(">II", png[16:24])
        return self._summary.Image(width=width, height=height, colorspace=3, encoded_image_string=png)

    def _write(self, event: Any) -> None:
        self._records.write(event.SerializeToString())
        self._file.flush()  # so that nothing is lost when the checkpoint of this step appears

    def _cut(self, step: int, rewinds: int) -> None:
        """Keep what belongs to the checkpoint the run goes on from; it writes the rest again."""
        tries, kept = 0, []
        for record, data in records(self.path):
            event = self._event.FromString(data)
            if event.HasField("session_log"):
                tries += 1
                if tries <= rewinds:
                    kept.append(record)
            elif (tries, event.step) <= (rewinds, step):
                kept.append(record)
        if sum(map(len, kept)) != self.path.stat().st_size:
            with whole(self.path) as partial:
                partial.write_bytes(b"".join(kept))


def records(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """Every whole record and the event in it; a kill may have cut the last one."""
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

    data, at = path.read_bytes(), 0
    while at + 12 <= len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        end = at + 12 + size + 4
        held = data[at + 12 : end - 4]
        if end > len(data) or struct.unpack_from("<I", data, end - 4)[0] != masked_crc32c(held):
            return
        yield data[at:end], held
        at = end


class WandbRun:
    """Weights & Biases, for those who name a project; the package is imported on use."""

    def __init__(self, folder: Path, *, project: str, id: str, config: Mapping[str, Any]) -> None:
        import wandb

        self._wandb = wandb
        try:
            self._run = wandb.init(
                project=project, id=id, name=folder.name, dir=str(folder), config=dict(config), resume="allow"
            )
        except Exception as bad:  # of many kinds: no key, no network, no such project
            raise TrainError(
                f"view.wandb: Weights & Biases did not start ({bad}): log in with 'wandb login', or leave it out"
            ) from None
        self._run.define_metric("*", step_metric="step")

    def add(self, report: StepReport, found: Mapping[str, float], *, row: int) -> None:
        """Send a report. `row`: its row in metrics.jsonl; what a resumed run sends again is not taken twice."""
        values: dict[str, Any] = {"step": report.tried, **found}
        for exhibit in report.exhibits:
            sound = self._wandb.Audio(exhibit.audio.samples, sample_rate=exhibit.audio.rate)
            values[f"samples/{exhibit.name}"] = sound
        self._run.log(values, step=row)

    def close(self) -> None:
        self._run.finish()

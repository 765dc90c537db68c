"""What is said of a take as soon as it has arrived: by the measures, the checks and the limits of the audit."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from olu.audit.check import MeasuredClip, order
from olu.audit.checks import CHECKS
from olu.audit.sound import SoundFacts, measure
from olu.audit.thresholds import Thresholds
from olu.core.types import Audio, Clip, Severity

# Those that one clip alone can answer, and that another take can mend.
LOOKED_AT = ("unreadable", "duration", "silence", "level", "clipping", "noise", "hum", "offset")
# Sound that reaches this near to an edge was begun too early or stopped too soon; a speaker's breath is longer.
EDGE_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeVerdict:
    """`kind` names it for a page: good, or what is wrong first of all."""

    kind: str
    severity: Severity | str
    said: str  # the audit's own sentence
    marks: tuple[dict[str, Any], ...]
    level: float
    snr: float | None
    seconds: float

    def row(self) -> dict[str, Any]:
        return asdict(self)


def judge(audio: Audio, *, text: str, speaker: str, language: str, limits: Thresholds) -> TakeVerdict:
    facts = measure(audio) if len(audio.samples) and np.isfinite(audio.samples).all() else None
    clip = Clip(
        id="take", audio="take", seconds=audio.seconds, rate=audio.rate, text=text, language=language, speaker=speaker
    )
    heard = MeasuredClip(clip=clip, facts=facts, trouble="" if facts else "nothing was recorded")
    found = [one for check in CHECKS if check.name in LOOKED_AT for one in check.look([heard], limits)]
    marks = [one.mark for one in sorted(found, key=order) if one.mark.severity != "info"]
    silent = facts is None or facts.speech == 0.0
    kinds = [(_kind(mark.check, mark.value, limits, silent=silent), mark.severity, mark.message) for mark in marks]
    kinds += _edges(facts)
    kind, severity, said = min(kinds, key=lambda one: one[1] != "error", default=("good", "good", ""))
    return TakeVerdict(
        kind=kind,
        severity=severity,
        said=said,
        marks=tuple({"check": one.check, "severity": one.severity, "message": one.message} for one in marks),
        level=round(facts.speech_dbfs, 1) if facts else -120.0,
        snr=round(facts.snr, 1) if facts and facts.snr is not None else None,
        seconds=round(audio.seconds, 2),
    )


def _kind(check: str, value: float, limits: Thresholds, *, silent: bool) -> str:
    if check == "level":
        return "quiet" if value < limits.level_warn_under else "loud"
    if check == "duration":
        return "short" if value < limits.duration_warn_under else "long"
    names = {"clipping": "clipped", "noise": "noisy", "hum": "noisy", "unreadable": "silent"}
    names["silence"] = "silent" if silent else "pause"
    return names.get(check, check)


def _edges(facts: SoundFacts | None) -> list[tuple[str, Severity, str]]:
    """Sound at the very edge, by the audit's own measure of silence before and after speech."""
    if facts is None or facts.speech == 0.0:
        return []
    found: list[tuple[str, Severity, str]] = []
    if facts.leading < EDGE_SECONDS:
        found.append(("early", "warn", f"the speech begins {1000 * facts.leading:.0f} ms after the start"))
    if facts.trailing < EDGE_SECONDS:
        found.append(("late", "warn", f"the recording stops {1000 * facts.trailing:.0f} ms after the speech"))
    return found

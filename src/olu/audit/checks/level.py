from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from olu.audit.check import Check, Finding, MeasuredClip
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark, Severity

NAME = "level"


def look(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    levels: dict[str, list[float]] = {}
    for one in heard:
        if one.facts is not None and one.facts.speech > 0.0:
            levels.setdefault(one.clip.speaker, []).append(one.facts.speech_dbfs)
    usual = {speaker: float(np.median(found)) for speaker, found in levels.items()}
    for one in heard:
        if one.facts is None or one.facts.speech == 0.0:  # a silent clip is the silence check's
            continue
        level, middle = one.facts.speech_dbfs, usual[one.clip.speaker]
        severity: Severity
        if level < limits.level_warn_under:
            severity, message = "warn", f"the speech is very quiet: {level:.1f} dB"
        elif level > limits.level_warn_over:
            severity, message = "warn", f"the speech is very loud: {level:.1f} dB"
        elif abs(level - middle) > limits.level_spread:
            word = "quieter" if level < middle else "louder"
            severity = "info"
            message = f"the speech is {abs(level - middle):.1f} dB {word} than this speaker's usual {middle:.1f} dB"
        else:
            continue
        yield Finding(
            id=one.clip.id,
            mark=Mark(check=NAME, severity=severity, value=level, message=message),
            badness=abs(level - middle),
        )


CHECK = Check(
    name=NAME,
    title="Loudness",
    rule=lambda t: (
        f"Warning when the speech is under {t.level_warn_under:g} or over {t.level_warn_over:g} dB of full scale; "
        f"noted when it is more than {t.level_spread:g} dB from the same speaker's middle."
    ),
    reason="A voice learns the loudness it hears: very quiet speech brings its noise along, jumps make it uneven.",
    fix="Record at one distance and gain. Quiet clips can be turned up; loud ones should be recorded again if cut off.",
    look=look,
)

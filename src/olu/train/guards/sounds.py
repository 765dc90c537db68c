"""What the samples say: silence, clipping, no end, or the same again and again, where earlier ones were well."""

from __future__ import annotations

from typing import Any

from olu.train.guards.seen import GuardEvent, SampleFigures, Seen, ValidationView, Verdict

SILENT_PEAK, SILENT_LEVEL = 0.02, -45.0  # of full scale, dB
CLIPPED = 1e-3  # share of the samples
ENDLESS = 3.0  # times the recording of the same text
REPEATS = 0.98


class Samples:
    """After `warmup` of the steps: before, every sample is noise."""

    def __init__(self, *, warmup: float = 0.25) -> None:
        self.warmup = warmup
        self.well: list[str] = []  # faults that some earlier sample did not have
        self.told: list[str] = []

    def watch(self, seen: Seen) -> GuardEvent | None:
        if not isinstance(seen, ValidationView) or not seen.sounds:
            return None
        found = {fault: [one.name for one in seen.sounds if fault in faults(one)] for fault in FAULTS}
        late = seen.step >= self.warmup * seen.steps
        new = [fault for fault, names in found.items() if late and len(names) == len(seen.sounds)]
        said = [fault for fault in new if fault not in self.told and (fault == "silent" or fault in self.well)]
        self.well = sorted({*self.well, *(fault for fault, names in found.items() if not names)})
        self.told = [fault for fault in new if fault in self.told or fault in said]
        if not said:
            return None
        names = ", ".join(found[said[0]][:2])
        message = f"the samples are {' and '.join(said)} ({names}): listen to them; {ADVICE[said[0]]}"
        return GuardEvent(seen.step, "samples", Verdict.NOTE, message)

    def state(self) -> dict[str, Any]:
        return {"well": self.well, "told": self.told}

    def load(self, state: dict[str, Any]) -> None:
        self.well, self.told = list(state["well"]), list(state["told"])


ADVICE = {
    "silent": "a voice that is well with teacher forcing and silent on its own has learnt no durations or no text",
    "clipped": "lower the rate, and look whether the recordings are clipped",
    "endless": "the durations went wrong: look at the audit's rate outliers, or export an earlier step",
    "repetitive": "the text no longer steers the voice: export an earlier step",
}
FAULTS = tuple(ADVICE)


def faults(sound: SampleFigures) -> tuple[str, ...]:
    endless = sound.natural is not None and sound.seconds > ENDLESS * sound.natural
    is_so = {
        "silent": sound.peak < SILENT_PEAK or sound.level < SILENT_LEVEL,
        "clipped": sound.clipped > CLIPPED,
        "endless": endless,
        "repetitive": sound.repeats > REPEATS,
    }
    return tuple(fault for fault, found in is_so.items() if found)

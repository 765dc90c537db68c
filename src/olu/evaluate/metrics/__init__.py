"""The figures of a report by name: what each is, and which way is better. The modules beside this one measure them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from olu.evaluate.estimates import Estimate

Better = Literal["lower", "higher", "one", "zero", "natural"]
Verdict = Literal["pass", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Metric:
    title: str
    better: Better  # "one": at 1, "zero": at 0 from both sides, "natural": as natural speech has it
    explain: str
    main: bool = False  # in the short table


def _read_metrics() -> dict[str, Metric]:
    """The rows of metrics.tsv, in the order of a report: what is trusted most comes first."""
    lines = Path(__file__).with_name("metrics.tsv").read_text(encoding="utf-8").splitlines()
    rows = csv.DictReader(lines, delimiter="\t")
    return {
        row["name"]: Metric(row["title"], cast(Better, row["better"]), row["explain"], row["main"] == "main")
        for row in rows
    }


METRICS = _read_metrics()
# name -> (passes up to, warns up to) in the metric's own direction
GATES: dict[str, tuple[float, float]] = {
    "cer_difference": (0.03, 0.08),
    "hard_failures": (0.01, 0.05),
    "speaker_difference": (-0.10, -0.20),
    "dnsmos_difference": (-0.3, -0.6),
    "tone_pairs": (0.9, 0.75),
}
TONE_GATE = 0.05  # below natural speech
COPY, TONED, TONE, FAULT = "copy_", "toned_", "tone_", "fault_"


def about(name: str) -> Metric:
    """What a figure is, also those made by kind: copy_mcd, toned_cer, tone_HL, fault_silent."""
    if name in METRICS:
        return METRICS[name]
    if name.startswith(COPY):
        base = about(name.removeprefix(COPY))
        return Metric(f"copied: {base.title}", base.better, f"{base.explain}, for natural recordings decoded again")
    if name.startswith(TONED):
        base = about(name.removeprefix(TONED))
        return Metric(f"{base.title}, with tones", base.better, f"{base.explain}, tone marks included")
    if name.startswith(TONE):
        kind = name.removeprefix(TONE)
        return Metric(f"tone steps {kind}", "higher", f"steps from {kind[0]} to {kind[1:]} that go as they should")
    if name.startswith(FAULT):
        return Metric(f"faulty: {name.removeprefix(FAULT)}", "lower", "files with this fault")
    raise KeyError(name)


def verdict(figure: Estimate) -> Verdict | None:
    """What the gates say of a figure; None where it has none or could not be measured."""
    if figure.mean is None:
        return None
    if figure.name in ("tone_moves", "tone_named"):
        if figure.natural is None:
            return None
        return "pass" if figure.mean >= figure.natural - TONE_GATE else "warn"
    if figure.name not in GATES:
        return None
    good, bearable = GATES[figure.name]
    sign = 1 if about(figure.name).better == "lower" else -1
    if sign * figure.mean <= sign * good:
        return "pass"
    return "warn" if sign * figure.mean <= sign * bearable else "fail"

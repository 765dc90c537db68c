"""The figures of a report by name: what each is, and which way is better. The modules beside this one measure them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from olu.evaluate.estimates import Estimate

Better = Literal["lower", "higher", "one", "zero", "natural"]
Verdict = Literal["pass", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Metric:
    title: str
    better: Better  # "one": at 1, "zero": at 0 from both sides, "natural": as natural speech has it
    explain: str
    main: bool = False  # in the short table


# In the order of a report: what is trusted most comes first.
METRICS: dict[str, Metric] = {
    "cer": Metric("wrong letters", "lower", "letters a recogniser gets wrong, of all letters", True),
    "cer_difference": Metric("wrong letters, over natural", "lower", "the same less that of natural speech", True),
    "hard_failures": Metric("not understood", "lower", "sentences with more than half of their letters wrong", True),
    "wer": Metric("wrong words", "lower", "words a recogniser gets wrong, of all words"),
    "wer_difference": Metric("wrong words, over natural", "lower", "the same less that of natural speech"),
    "cer_substituted": Metric("letters changed", "lower", "letters heard as others"),
    "cer_deleted": Metric("letters lost", "lower", "letters not heard"),
    "cer_inserted": Metric("letters added", "lower", "letters heard that are not there"),
    "faults": Metric("faulty files", "lower", "files that are silent, clipped, endless, stuck or cut off", True),
    "duration_ratio": Metric("length", "one", "length of the speech over that of the natural recording", True),
    "file_ratio": Metric("length of the file", "one", "the same with the silence at both ends"),
    "rate_ratio": Metric("speed", "one", "speaking rate over that of the natural recording, pauses left out"),
    "rate": Metric("speaking rate", "natural", "letters or phones per second of speech"),
    "pauses": Metric("pauses", "natural", "silences from 0.2 s, per sentence"),
    "pause_seconds": Metric("time paused", "natural", "seconds of them, per sentence"),
    "phone_error": Metric("phone lengths", "lower", "mean absolute error of the phones' lengths"),
    "tone_moves": Metric("tone steps", "higher", "steps between syllables that go as their tones say", True),
    "tone_chance": Metric("tone steps by chance", "natural", "what shuffled tones would reach"),
    "tone_named": Metric("tones named", "higher", "tones that a classifier trained on natural pitch gets right"),
    "tone_pairs": Metric("minimal pairs", "higher", "words told apart by tone alone that are said so"),
    "speaker": Metric("same speaker", "higher", "likeness to the middle of the speaker's recordings, 1 at best", True),
    "speaker_difference": Metric("same speaker, over natural", "higher", "the same less that of natural speech"),
    "mcd": Metric("colour of the sound", "lower", "mel-cepstral distortion to the natural recording", True),
    "f0_error": Metric("melody", "lower", "root mean square pitch error", True),
    "f0_cents": Metric("melody in cents", "lower", "the same in hundredths of a semitone"),
    "f0_shift": Metric("higher or lower", "zero", "median pitch above the natural recording's"),
    "f0_correlation": Metric("melody, likeness", "higher", "correlation of the logarithm of pitch"),
    "gross_pitch_error": Metric("wrong pitch", "lower", "frames voiced in both with a pitch off by over a fifth"),
    "voicing_error": Metric("wrong voicing", "lower", "frames voiced in one of the two only"),
    "dnsmos": Metric("sound quality", "higher", "DNSMOS overall", True),
    "dnsmos_signal": Metric("quality of the speech", "higher", "DNSMOS signal"),
    "dnsmos_background": Metric("quiet behind it", "higher", "DNSMOS background"),
    "dnsmos_difference": Metric("sound quality, over natural", "higher", "DNSMOS overall less that of natural speech"),
}

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

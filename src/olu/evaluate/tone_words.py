"""Words that differ in tone alone, spoken by the voice: does it obey the marks?"""

from __future__ import annotations

from olu.core.errors import TextError
from olu.core.job import Job, Tick
from olu.evaluate.estimates import Estimate
from olu.evaluate.metrics import tone_pairs, tones
from olu.evaluate.samples import References
from olu.evaluate.sentences import Read
from olu.evaluate.subject import Speaker


def pairs_said(speaker: Speaker, known: References, *, read: Read) -> Job[tuple[Estimate, ...]]:
    """tone_pairs, for languages whose pairs are known and corpora that were aligned."""
    probes = tone_pairs.probes(known.language)
    if known.aligns is None or not probes:
        return ()
    answers: list[bool | None] = []
    for number, probe in enumerate(probes, 1):
        yield Tick(number, len(probes), "minimal pairs")
        reading = read(probe.text)
        try:
            audio = speaker.say(probe.text, "")
        except TextError:
            reading = None
        alignment = known.aligns(probe.word, audio, reading) if reading else None
        if reading is None or alignment is None:
            answers.append(None)
            continue
        answers.append(tone_pairs.obeyed(probe, tones.syllables(alignment, reading, tones.track(audio))))
    return tone_pairs.summarise(answers) if any(answer is not None for answer in answers) else ()

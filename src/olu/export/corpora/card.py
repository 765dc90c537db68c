"""The README.md of an exported corpus, as the hub shows it: what is in it, how it was made, whose it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import version

from olu.core.words import length, many
from olu.export.card import hub_licence
from olu.export.corpora.forms import HUB_SIDES, CorpusForm
from olu.export.corpora.subject import SIDES, CorpusSubject

SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
MOST_SPEAKERS = 50  # that are listed


def dataset_card(subject: CorpusSubject, form: CorpusForm) -> str:
    parts = [*_front(subject, form), f"# {subject.name}", "", _about(subject, form), ""]
    parts += ["## Files", "", *(f"- {one}" for one in form.files), ""]
    parts += ["## How to use it", "", form.use, ""]
    parts += ["## Clips", "", *_sides(subject), "", *_speakers(subject)]
    parts += ["## How it was made", "", *(f"- {one}" for one in _made(subject)), ""]
    parts += ["## Licence and consent", "", *subject.rights.lines(), ""]
    return "\n".join(parts)


def _front(subject: CorpusSubject, form: CorpusForm) -> Iterator[str]:
    """What the hub reads of a card."""
    licence = hub_licence(subject.rights.licence)
    yield from ("---", "language:", f"- {subject.language.code}", f"license: {licence}")
    if licence == "other":
        yield f"license_name: {json.dumps(subject.rights.licence or 'not stated', ensure_ascii=False)}"
    yield f"pretty_name: {json.dumps(subject.name, ensure_ascii=False)}"
    yield from ("task_categories:", "- text-to-speech", "- automatic-speech-recognition")
    number = len(subject.clips)
    yield from ("size_categories:", f"- {next((word for most, word in SIZES if number < most), '1M<n<10M')}")
    yield from ("tags:", "- olu")
    if form.tables is None:
        yield from ("configs:", "- config_name: default", "  data_files:")
        for side in SIDES:
            if subject.side(side):
                yield f"  - split: {HUB_SIDES[side]}"
                yield f"    path: data/{HUB_SIDES[side]}-*"
    yield from ("---", "")


def _about(subject: CorpusSubject, form: CorpusForm) -> str:
    who = f"{len(subject.speakers)} speakers" if len(subject.speakers) > 1 else "one speaker"
    clips = many(len(subject.clips), "clip")
    return (
        f"Speech in {subject.language.name} ({subject.language.code}) with its texts: {clips},"
        f" {length(subject.seconds)}, {who}, at {subject.rate} Hz. Made with Olu {version('olu')} for {form.read_by}."
    )


def _sides(subject: CorpusSubject) -> Iterator[str]:
    yield from ("| side | clips | minutes |", "|---|---|---|")
    for side in SIDES:
        if clips := subject.side(side):
            yield f"| {HUB_SIDES[side]} | {len(clips)} | {sum(one.clip.seconds for one in clips) / 60:.1f} |"


def _speakers(subject: CorpusSubject) -> Iterator[str]:
    if len(subject.speakers) < 2:
        return
    yield from ("| speaker | clips | minutes |", "|---|---|---|")
    for speaker in subject.speakers[:MOST_SPEAKERS]:
        clips = [one for one in subject.clips if one.speaker == speaker]
        name = speaker.replace("|", "\\|")
        yield f"| {name} | {len(clips)} | {sum(one.clip.seconds for one in clips) / 60:.1f} |"
    if len(subject.speakers) > MOST_SPEAKERS:
        yield f"| and {len(subject.speakers) - MOST_SPEAKERS} more | | |"
    yield ""


def _made(subject: CorpusSubject) -> Iterator[str]:
    yield "No text is on two sides, nor is a sound."
    for why, count in subject.left_out.items():
        yield f"{many(count, 'clip')} left out: {why}"
    if subject.corrected:
        yield f"{many(subject.corrected, 'text')} corrected, or written in the first place, by people"
    if subject.trimmed:
        yield f"{many(subject.trimmed, 'clip')} without the long silence at an end"
    if subject.loudness:
        yield f"Every clip was brought to {subject.loudness:g} LUFS, or as near as it gets without clipping"

"""report.html: one page that says how good a voice is, lets it be heard beside the recordings, worst first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from olu.core.types import Audio
from olu.evaluate.evaluation import DOMAINS, Domain, Evaluation, SentenceResult
from olu.evaluate.metrics import COPY, METRICS
from olu.evaluate.words import SPLIT, named, spread, written
from olu.pages import media
from olu.pages.charts import Curve, PitchCurve, chart, melodies
from olu.pages.render import render as render_page

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_SHOWN = 24  # sentences with players
LONGEST_SECONDS = 20.0  # of a sound that is played
PAGE_BYTES = 9_000_000
HEAD = ("cer_difference", "hard_failures", "faults", "duration_ratio", "speaker", "dnsmos")
IN_ITEM = ("cer", "mcd", "f0_error", "speaker", "dnsmos")


@dataclass(frozen=True)
class ShownSounds:
    """What is shown of one sentence; `natural` where there is a recording."""

    spoken: Audio
    natural: Audio | None
    melody: PitchCurve | None = None
    natural_melody: PitchCurve | None = None


@dataclass(frozen=True)
class SentenceSide:
    """The recording or the voice, as a page holds it."""

    title: str
    of: str
    seconds: float
    sound: str
    picture: str
    wide: float  # percent of the page: pictures under one another have one scale of time


@dataclass(frozen=True)
class ShownSentence:
    """A sentence with its figures; with sounds where the page has room for them."""

    item: SentenceResult
    heard: list[tuple[bool, str]]  # whether it differs from the text, and the piece
    numbers: list[tuple[str, str]]
    sides: list[SentenceSide]
    melody: Markup | str = ""

    @property
    def size(self) -> int:
        return len(self.melody) + sum(len(side.sound) + len(side.picture) for side in self.sides)


def _figures(evaluation: Evaluation, domains: Sequence[Domain]) -> Iterator[dict[str, Any]]:
    """A row for each figure that any of the domains has: what it is, and its estimate in each."""
    for name in dict.fromkeys(figure.name for domain in domains for figure in evaluation.figures[domain]):
        held = [(domain, evaluation.figure(name, domain)) for domain in domains]
        yield {"about": named(name), "held": held, "first": next(one for _, one in held if one is not None)}


def render(evaluation: Evaluation, *, hear: Callable[[SentenceResult], ShownSounds | None]) -> str:
    """The evaluation as HTML; `hear` gives the sound and pictures of a sentence."""
    sentences = list(_sentences(evaluation, hear))
    return render_page("evaluation.html", **shown_figures(evaluation), sentences=sentences)


def shown_figures(evaluation: Evaluation) -> dict[str, Any]:
    """What a page shows of an evaluation but for its sentences."""
    domains = [domain for domain in DOMAINS if evaluation.figures.get(domain)]
    head = [evaluation.figure(name) or evaluation.figure(name, "out") for name in HEAD]
    return {
        "evaluation": evaluation,
        "split": SPLIT,
        "named": named,
        "written": written,
        "spread": spread,
        "head": [one for one in head if one and one.mean is not None],
        "domains": domains,
        "figures": list(_figures(evaluation, domains)),
        "copies": list(_copies(evaluation)),
        "curves": list(_curves(evaluation)),
        "instruments": list(dict.fromkeys(one.instrument for held in evaluation.figures.values() for one in held)),
        "facts": [(name, _plain(value)) for name, value in evaluation.facts.items()],
    }


def sentence_figures(evaluation: Evaluation, item: SentenceResult) -> ShownSentence:
    """A sentence with its figures, without sounds."""
    return _sentence(evaluation, item, None)


def table_of(evaluation: Evaluation) -> tuple[list[str], list[list[str]]]:
    """The main figures as rows for a terminal; the page and --json have all."""
    domains = [domain for domain in DOMAINS if evaluation.figures.get(domain)]
    rows = []
    for name, metric in METRICS.items():
        held = [evaluation.figure(name, domain) for domain in domains]
        first = next((one for one in held if one is not None and one.mean is not None), None)
        if first is None or not metric.main:
            continue
        cells = [
            ""
            if one is None or one.mean is None
            else f"{written(one.mean, one.unit)} ({spread(one)})".replace(" ()", "")
            for one in held
        ]
        rows.append([named(name).title, *cells, written(first.natural, first.unit), str(first.n), first.trust])
    return ["figure", *(SPLIT[domain] for domain in domains), "natural", "n", "trust"], rows


def worst_first(evaluation: Evaluation) -> list[SentenceResult]:
    """The sentences: faulty ones first, then by how little was understood, then by distortion."""

    def badness(item: SentenceResult) -> tuple[float, float, float]:
        values = [evaluation.value(item, name) for name in ("cer", "mcd")]
        return (float(len(item.faults)), *(value if value is not None else -1.0 for value in values))  # type: ignore[return-value]

    return sorted(evaluation.items, key=badness, reverse=True)


def _copies(evaluation: Evaluation) -> Iterator[str]:
    """How near the voice comes to its own copies of recordings, a sentence a figure."""
    from olu.evaluate.judge import share  # it brings the networks' modules along

    for copied in evaluation.figures.get("in", ()):
        own = evaluation.figure(copied.name.removeprefix(COPY))
        if not copied.name.startswith(COPY) or own is None or copied.mean is None or own.mean is None:
            continue
        about = named(own.name)
        reached = share(own, copied, better=about.better) if about.better in ("lower", "higher") else None
        if reached is not None:
            both = f"voice {written(own.mean, own.unit)}, recordings through its own decoder"
            end = f"{written(copied.mean, copied.unit)}: the voice comes to {100 * reached:.0f} % of that."
            yield f"{about.title.capitalize()}: {both} {end}"


def _curves(evaluation: Evaluation) -> Iterator[tuple[str, Markup]]:
    if len(evaluation.curve) < 2:
        return
    for name in dict.fromkeys(name for point in evaluation.curve for name in point.means):
        points = [(float(point.step), point.means[name]) for point in evaluation.curve if name in point.means]
        yield named(name).title, chart([Curve("voice", points)], label=named(name).title)


def _sentences(evaluation: Evaluation, hear: Callable[[SentenceResult], ShownSounds | None]) -> Iterator[ShownSentence]:
    shown = used = 0
    for item in worst_first(evaluation):
        sounds = hear(item) if shown < MOST_SHOWN and used < PAGE_BYTES else None
        made = _sentence(evaluation, item, sounds)
        shown, used = shown + bool(made.sides), used + made.size
        yield made


def _sentence(evaluation: Evaluation, item: SentenceResult, sounds: ShownSounds | None) -> ShownSentence:
    """Recording, voice and melodies under one another, on one scale of time: the eye can compare them."""
    heard = differing(item.expected, item.heard) if item.heard is not None and item.expected is not None else []
    numbers = [
        (named(name).title, written(value, figure.unit))
        for name in IN_ITEM
        if (figure := evaluation.figure(name, item.domain)) and (value := evaluation.value(item, name)) is not None
    ]
    if sounds is None:
        return ShownSentence(item, heard, numbers, [])
    both = [("Natural", "recording", sounds.natural), ("Voice", "voice", sounds.spoken)]
    end = max(min(one.seconds, LONGEST_SECONDS) for _, _, one in both if one is not None)
    sides = [_side(title, of, one, end) for title, of, one in both if one is not None]
    melody = melodies(sounds.natural_melody, sounds.melody, end=end) if sounds.melody else ""
    return ShownSentence(item, heard, numbers, sides, melody)


def _side(title: str, of: str, audio: Audio, end: float) -> SentenceSide:
    from olu.train.view.samples import mel_picture  # torch comes with it

    start = media.first_seconds(audio, LONGEST_SECONDS)
    wide = min(100 * start.seconds / max(end, 1e-6), 100.0)
    picture = media.data_uri(mel_picture(audio), "image/png")
    return SentenceSide(title, of, audio.seconds, media.mp3_uri(start), picture, wide)


def differing(expected: str, heard: str) -> list[tuple[bool, str]]:
    """What was heard in pieces, and whether each differs from the text; an empty one that differs is missing."""
    codes = SequenceMatcher(None, expected, heard, autojunk=False).get_opcodes()
    return [(kind != "equal", heard[first:last]) for kind, _, _, first, last in codes]


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_plain(inner)}" for key, inner in value.items())
    return ", ".join(map(_plain, value)) if isinstance(value, list | tuple) else str(value)

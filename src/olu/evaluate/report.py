"""report.html: one page that says how good a voice is, lets it be heard beside the recordings, worst first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape

from olu.core.types import Audio
from olu.evaluate.estimates import Estimate
from olu.evaluate.evaluation import DOMAINS, Evaluation, SentenceResult, Subject
from olu.evaluate.format import named, spread, written
from olu.evaluate.metrics import COPY
from olu.evaluate.page import cards, differing, facts_table, page, tag
from olu.evaluate.players import Melody, mel_image, melodies, player, shown_seconds
from olu.pages.curves import Curve, chart

MOST_SHOWN = 24  # sentences with players
PAGE_BYTES = 9_000_000
HEAD = ("cer_difference", "hard_failures", "faults", "duration_ratio", "speaker", "dnsmos")
IN_ITEM = ("cer", "mcd", "f0_error", "speaker", "dnsmos")
TRUSTED = {"high": "good", "medium": "warn", "low": "error"}
SPLIT = {"in": "sentences of the corpus", "out": "other sentences"}


@dataclass(frozen=True)
class ShownSounds:
    """What is shown of one sentence; `natural` where there is a recording."""

    spoken: Audio
    natural: Audio | None
    melody: Melody | None = None
    natural_melody: Melody | None = None


def render(evaluation: Evaluation, *, hear: Callable[[SentenceResult], ShownSounds | None]) -> str:
    """`hear` gives a sentence to play and to look at."""
    subject = evaluation.subject
    title = f"{subject.name}: evaluation"
    body = "".join(
        [
            f"<h1><bdi>{escape(subject.name)}</bdi></h1>",
            _head(evaluation),
            _figures(evaluation),
            _copies(evaluation),
            _curves(evaluation),
            _sentences(evaluation, hear),
            _facts(evaluation),
        ]
    )
    return page(title, body)


def worst_first(evaluation: Evaluation) -> list[SentenceResult]:
    """Faulty ones, then by how little was understood, then by how far the sound is off."""

    def badness(item: SentenceResult) -> tuple[float, float, float]:
        values = [evaluation.value(item, name) for name in ("cer", "mcd")]
        return (float(len(item.faults)), *(value if value is not None else -1.0 for value in values))  # type: ignore[return-value]

    return sorted(evaluation.items, key=badness, reverse=True)


def _head(evaluation: Evaluation) -> str:
    subject = evaluation.subject
    at = f"{subject.run}, step {subject.step:,}" if subject.run and subject.step is not None else subject.path
    counts = [f"{len(evaluation.of(domain))} {SPLIT[domain]}" for domain in DOMAINS if evaluation.of(domain)]
    said = "".join(f'<p class="lead">{escape(sentence)}</p>' for sentence in evaluation.verdict)
    shown = []
    for name in HEAD:
        figure = evaluation.figure(name) or evaluation.figure(name, "out")
        if figure and figure.mean is not None:
            natural = f", natural {written(figure.natural, figure.unit)}" if figure.natural is not None else ""
            shown.append((written(figure.mean, figure.unit), named(name).title + natural))
    return (
        f'<p class="soft">{escape(at)}{_noise(subject)} · language {escape(subject.language)}'
        f" · {escape(' and '.join(counts))}</p>"
        f'<div class="verdict {_colour(evaluation.level)}">{tag(evaluation.level)}{said}</div>'
        f"{cards(shown)}{_gates(evaluation)}"
    )


def _noise(subject: Subject) -> str:
    if subject.noise is None:
        return ""
    usual = subject.usual_noise
    return f" · noise {subject.noise:g}" + (f" instead of {usual:g}" if usual not in (None, subject.noise) else "")


def _colour(level: str) -> str:
    return {"pass": "good", "warn": "warn", "fail": "error", "unknown": "soft"}[level]


def _gates(evaluation: Evaluation) -> str:
    rows = "".join(f"<p>{tag(gate.level)} {escape(gate.said)}</p>" for gate in evaluation.gates)
    absent = "".join(
        f'<p><span class="tag unknown">Not measured</span> {escape(named(one.metric).title)}: {escape(one.why)}'
        + (f" (<code>{escape(one.command)}</code>)" if one.command else "")
        + "</p>"
        for one in evaluation.missing
    )
    return f"<h2>What decides</h2>{rows}{absent}" if rows or absent else ""


def _figures(evaluation: Evaluation) -> str:
    domains = [domain for domain in DOMAINS if evaluation.figures.get(domain)]
    if not domains:
        return '<h2>Figures</h2><p class="soft">Nothing could be measured.</p>'
    names = list(dict.fromkeys(figure.name for domain in domains for figure in evaluation.figures[domain]))
    heads = "".join(f'<th class="n">Voice, {SPLIT[domain]}</th>' for domain in domains)
    rows: dict[bool, list[str]] = {True: [], False: []}
    for name in names:
        held = [evaluation.figure(name, domain) for domain in domains]
        first = next(one for one in held if one is not None)
        about = named(name)
        cells = "".join(_cell(one, SPLIT[domain]) for one, domain in zip(held, domains, strict=True))
        natural = written(first.natural, first.unit)
        rows[about.main].append(
            f'<tr><th scope="row">{escape(about.title.capitalize())}<small>{escape(about.explain)}</small></th>{cells}'
            f'<td class="n{"" if first.natural is not None else " empty"}" data-label="natural">{natural}</td>'
            f'<td class="trust"><span class="tag {TRUSTED[first.trust]}">{first.trust}</span>'
            f"<small>{escape(first.reason)}</small></td></tr>"
        )
    return (
        '<h2>Figures</h2><p class="soft">Each with its 95 % interval and the number of sentences. Trust says how far a'
        " figure can carry a decision.</p>"
        f"{_table(rows[True], heads)}<details><summary>{len(rows[False])} more figures</summary>"
        f"{_table(rows[False], heads)}</details>"
    )


def _table(rows: list[str], heads: str) -> str:
    return (
        f'<div class="scroll"><table class="figures"><thead><tr><th>Figure</th>{heads}<th class="n">Natural</th>'
        f"<th>Trust</th></tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _copies(evaluation: Evaluation) -> str:
    rows = []
    for copied in evaluation.figures.get("in", ()):
        own = evaluation.figure(copied.name.removeprefix(COPY))
        if not copied.name.startswith(COPY) or own is None or copied.mean is None or own.mean is None:
            continue
        about = named(own.name)
        reached = share(own, copied, better=about.better) if about.better in ("lower", "higher") else None
        if reached is not None:
            both = f"voice {written(own.mean, own.unit)}, recordings through its own decoder"
            end = f"{written(copied.mean, copied.unit)}: the voice comes to {100 * reached:.0f} % of that."
            rows.append(f"<p>{escape(f'{about.title.capitalize()}: {both} {end}')}</p>")
    if not rows:
        return ""
    return (
        '<h2>Against its own copies</h2><p class="soft">Recordings taken apart and put together by the voice\'s own'
        " networks, with their own latents: what is lost here, the decoder or the encoder of sound loses. It is no"
        f" limit: from text a voice can be better, above 100 %.</p>{''.join(rows)}"
    )


def share(voice: Estimate, copied: Estimate, *, better: str) -> float | None:
    from olu.evaluate.metrics.copy import share as of_copies  # it brings the networks' modules along

    return of_copies(voice, copied, better=better)


def _cell(figure: Estimate | None, label: str) -> str:
    if figure is None or figure.mean is None:
        return f'<td class="n empty" data-label="{label}">–</td>'
    between = spread(figure)
    around = f"{between}, " if between else ""
    return (
        f'<td class="n" data-label="{label}">{written(figure.mean, figure.unit)}'
        f"<small>{around}n = {figure.n}</small></td>"
    )


def _curves(evaluation: Evaluation) -> str:
    if len(evaluation.curve) < 2:
        return ""
    names = list(dict.fromkeys(name for point in evaluation.curve for name in point.means))
    figures = []
    for name in names:
        points = [(float(point.step), point.means[name]) for point in evaluation.curve if name in point.means]
        drawn = chart([Curve("voice", points)], label=named(name).title)
        figures.append(f"<figure><figcaption>{escape(named(name).title.capitalize())}</figcaption>{drawn}</figure>")
    return (
        '<h2>Over the checkpoints</h2><p class="soft">The same sentences, spoken by each kept checkpoint.</p>'
        f'<div class="grid-of">{"".join(figures)}</div>'
    )


def _sentences(evaluation: Evaluation, hear: Callable[[SentenceResult], ShownSounds | None]) -> str:
    shown: list[str] = []
    rest: list[str] = []
    used = 0
    for item in worst_first(evaluation):
        sounds = hear(item) if len(shown) < MOST_SHOWN and used < PAGE_BYTES else None
        if sounds is None:
            rest.append(_row(evaluation, item))
            continue
        shown.append(_item(evaluation, item, sounds))
        used += len(shown[-1])
    more = (
        f'<details><summary>{len(rest)} more, without players</summary><div class="scroll"><table>{"".join(rest)}'
        "</table></div></details>"
        if rest
        else ""
    )
    return f"<h2>Sentences, the worst first</h2>{''.join(shown)}{more}"


def _item(evaluation: Evaluation, item: SentenceResult, sounds: ShownSounds) -> str:
    """Recording, voice and melodies under one another, on one scale of time: the eye can compare them."""
    natural = ""
    end = max(shown_seconds(one) for one in (sounds.natural, sounds.spoken) if one is not None)
    if sounds.natural is not None:
        natural = (
            f"<div><h4>Natural, {sounds.natural.seconds:.1f} s</h4>{player(sounds.natural, label='natural')}"
            f"{mel_image(sounds.natural, label='Mel spectrogram of the recording', end=end)}</div>"
        )
    voice = (
        f"<div><h4>Voice, {sounds.spoken.seconds:.1f} s</h4>{player(sounds.spoken, label='voice')}"
        f"{mel_image(sounds.spoken, label='Mel spectrogram of the voice', end=end)}</div>"
    )
    melody = melodies(sounds.natural_melody, sounds.melody, end=end) if sounds.melody else ""
    return (
        f'<div class="item" id="{escape(item.id)}">{_said(evaluation, item)}'
        f'<div class="stack">{natural}{voice}</div>{melody}</div>'
    )


def _said(evaluation: Evaluation, item: SentenceResult) -> str:
    faults = "".join(f'<p><span class="tag fail">{escape(fault)}</span></p>' for fault in item.faults)
    numbers = "".join(
        f"<span>{escape(named(name).title)} <b>{written(value, figure.unit)}</b></span>"
        for name in IN_ITEM
        if (figure := evaluation.figure(name, item.domain)) and (value := evaluation.value(item, name)) is not None
    )
    heard = ""
    if item.heard is not None and item.expected is not None:
        heard = f'<p class="soft">Heard: <bdi>{differing(item.expected, item.heard)}</bdi></p>'
    where = f"{escape(item.id)} · {SPLIT[item.domain]}" + (f" · {escape(item.speaker)}" if item.speaker else "")
    return (
        f'<p class="said" dir="auto" lang="{escape(evaluation.subject.language)}">{escape(item.text)}</p>'
        f"{heard}{faults}"
        f'<p class="numbers"><span>{where}</span>{numbers}</p>'
    )


def _row(evaluation: Evaluation, item: SentenceResult) -> str:
    return f"<tr><td>{_said(evaluation, item)}</td></tr>"


def _facts(evaluation: Evaluation) -> str:
    instruments = dict.fromkeys(one.instrument for held in evaluation.figures.values() for one in held)
    listed = "".join(f"<li>{escape(one)}</li>" for one in instruments)
    return (
        f"<h2>Instruments and facts</h2><ul>{listed}</ul>"
        f"<details><summary>All facts</summary>{facts_table(evaluation.facts)}</details>"
    )

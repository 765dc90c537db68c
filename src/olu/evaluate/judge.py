"""Every metric over every sentence, in one pass: what cannot be measured is said, and all else goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from olu.core.errors import ConfigError, MissingExtra
from olu.core.files import Workspace
from olu.core.job import Job, Tick
from olu.core.types import Audio
from olu.evaluate.estimates import Estimate
from olu.evaluate.evaluation import DOMAINS, Domain, Missing, References, Sample
from olu.evaluate.metric_groups import GROUPS, NOT_OF_THIS_KIND, Group, SamplePair
from olu.evaluate.metrics import METRICS, dnsmos, f0, paired, speaker
from olu.evaluate.metrics import paired as mcd
from olu.families import family as family_named
from olu.families.runs import learner_of, voice_named
from olu.features.pitch import HIGHEST, LOWEST
from olu.networks.models import INSTALL


@dataclass(frozen=True)
class Judged:
    figures: dict[Domain, tuple[Estimate, ...]]
    results: dict[str, list[object]]  # group -> what it found, in the order of the takes
    missing: tuple[Missing, ...]


def chosen(only: Sequence[str]) -> tuple[Group, ...]:
    """The groups asked for; all of them where none is named."""
    known = {group.name: group for group in GROUPS}
    if unknown := [name for name in only if name not in known]:
        raise ConfigError(f"no metric {unknown[0]!r}; there are: {', '.join(known)}")
    return tuple(group for group in GROUPS if not only or group.name in only)


def judge(
    takes: Sequence[Sample], known: References, *, only: Sequence[str] = (), what: str = "judging"
) -> Job[Judged]:
    """Every figure of these samples: each is heard once, and every group that is able measures it."""
    able, missing = _able(only, takes, known)
    results: dict[str, list[object]] = {group.name: [] for group in able}
    for number, take in enumerate(takes, 1):
        sounds = SamplePair(take, known)
        for group in able:
            _measure(group, sounds, results[group.name], missing)
        able = [group for group in able if group.name not in missing]
        yield Tick(number, len(takes), what)
    return _summed_up(able, results, missing, takes, known)


def _summed_up(
    able: Sequence[Group],
    results: dict[str, list[object]],
    missing: dict[str, Missing],
    takes: Sequence[Sample],
    known: References,
) -> Judged:
    """The figures of each group and domain; a group that found nothing is missing too."""
    made = {
        group.name: {domain: _figures(group, results, takes, known, domain) for domain in DOMAINS} for group in able
    }
    figures = {domain: tuple(chain(*(by_domain[domain] for by_domain in made.values()))) for domain in DOMAINS}
    paired = any(take.natural for take in takes)
    for group in able:
        if not _measured(list(chain(*made[group.name].values())), paired=paired):
            missing[group.name] = Missing(metric=group.name, why=group.empty)
    return Judged(
        {domain: held for domain, held in figures.items() if held},
        {group.name: results[group.name] for group in able},
        tuple(missing.values()),
    )


def _able(only: Sequence[str], takes: Sequence[Sample], known: References) -> tuple[list[Group], dict[str, Missing]]:
    """The groups that can measure these sentences, and why the others cannot."""
    able, missing = list[Group](), dict[str, Missing]()
    for group in chosen(only):
        lacks = group.lacks(known, takes)
        if lacks is None:
            able.append(group)
        elif lacks != NOT_OF_THIS_KIND:
            missing[group.name] = Missing(metric=group.name, why=lacks[0], command=lacks[1])
    return able, missing


def _measure(group: Group, sounds: SamplePair, into: list[object], missing: dict[str, Missing]) -> None:
    try:
        into.append(group.measure(sounds))
    except MissingExtra as absent:
        missing[group.name] = Missing(metric=group.name, why=str(absent).partition(": ")[0], command=INSTALL)


def _measured(made: Sequence[Estimate], *, paired: bool) -> bool:
    """Whether a group found a main figure; without recordings to compare with, any figure."""
    mains = [one for one in made if paired and one.name in METRICS and METRICS[one.name].main]
    return any(one.n for one in mains or made)


def _figures(
    group: Group, results: dict[str, list[object]], takes: Sequence[Sample], known: References, domain: Domain
) -> tuple[Estimate, ...]:
    found = [results[group.name][place] for place, take in enumerate(takes) if take.domain == domain]
    return group.summarise(found, known) if any(one is not None for one in found) else ()


# ---- what a run's decoder loses: recordings through its own networks, judged as the voice is


COPY = "copy"
MOST = 20  # recordings


def copies(
    ws: Workspace, run: str, step: int, takes: Sequence[Sample], known: References, *, groups: Sequence[str]
) -> Job[tuple[tuple[Estimate, ...], Missing | None]]:
    """Figures named copy_..., or why there are none."""
    chosen = voice_named(ws, run)
    family = family_named(chosen.recipe.family)
    recorded = [take for take in takes if take.natural][:MOST]
    resynthesis = family.speaks.resynthesis if family.speaks else None
    if resynthesis is None:
        return (), Missing(metric=COPY, why=f"the family {family.name} has no way back from sound to sound")
    if not recorded:
        return (), Missing(metric=COPY, why="there are no natural recordings of these sentences")
    learner = learner_of(chosen, step)
    who = {name: number for number, name in enumerate(chosen.document("speakers.json"))}
    sounds = [take.natural() for take in recorded if take.natural]
    turn = iter(recorded)

    def again(audio: Audio) -> Audio:
        return resynthesis(learner, audio, speaker=who.get(next(turn).speaker, 0))

    low, high = known.any_bounds(recorded[0].speaker) or (LOWEST, HIGHEST)
    middle = known.voices.get(recorded[0].speaker)
    try:
        made = yield from judged(sounds, again, ears=Ears(low, high, middle, "dnsmos" in groups))
    except MissingExtra as absent:
        return (), Missing(metric=COPY, why=str(absent).partition(": ")[0], command=INSTALL)
    return made, None


PREFIX = "copy_"
REASON = (
    "natural recordings through the voice's own decoder, with their own latents: what these lose, text has no part in"
)


@dataclass(frozen=True, slots=True)
class Ears:
    """What to judge with besides pitch and colour of the sound."""

    low: float = LOWEST
    high: float = HIGHEST
    middle: speaker.Voice | None = None  # the speaker's own; None: likeness is not looked at
    opinions: bool = True


def judged(recordings: Iterable[Audio], again: Callable[[Audio], Audio], *, ears: Ears) -> Job[tuple[Estimate, ...]]:
    """Figures named copy_mcd, copy_f0_error, copy_dnsmos, copy_speaker and so on.

    `again` is the voice's encoder of sound and its decoder. A family without such an encoder has no copies: another
    way back from a spectrogram would say something of that way, and nothing of the voice.
    """
    originals = list(recordings)
    colours, melodies, opinions, natural, likes, natural_likes = [], [], [], [], [], []
    settings = ""
    for number, original in enumerate(originals):
        copied = again(original)
        pair = paired.pair(original, copied, low=ears.low, high=ears.high)
        settings = pair.settings if pair is not None else settings
        colours.append(mcd.distortion(pair))
        melodies.append(f0.compare(pair))
        if ears.opinions:
            opinions.append(dnsmos.opinion(copied))
            natural.append(dnsmos.opinion(original))
        if ears.middle is not None:
            likes.append(speaker.likeness(copied, ears.middle))
            natural_likes.append(speaker.likeness(original, ears.middle))
        yield Tick(number + 1, len(originals), "copies")
    figures = (*mcd.summarise(colours, settings=settings), *f0.summarise(melodies))
    if ears.opinions:
        figures += dnsmos.summarise(opinions, natural=natural)
    if ears.middle is not None:
        figures += speaker.summarise(likes, natural=natural_likes)
    return tuple(replace(one, name=PREFIX + one.name, reason=f"{REASON}; {one.reason}") for one in figures)


def share(voice: Estimate, copy: Estimate, *, better: str) -> float | None:
    """The voice beside its copies: above 1 it is the better one, which it can be, for they are no limit."""
    over, under = (voice.mean, copy.mean) if better == "higher" else (copy.mean, voice.mean)
    if over is None or under is None or under <= 0 or over < 0:
        return None
    return over / under

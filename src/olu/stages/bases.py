"""Which checkpoints a language can start from: a table of each family, the voice inside this package, and advice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from olu.audit.summary import is_little
from olu.audit.thresholds import Thresholds
from olu.core.errors import OluError
from olu.core.files import EMBEDDED, embedded_voice, read_json
from olu.core.places import located
from olu.core.stage import need_training
from olu.core.told import Remedy
from olu.core.words import minutes
from olu.families import FAMILIES, family, family_of_base
from olu.stages.verbs.machine import BasesOptions
from olu.text.languages import load, resolve, traits
from olu.train.base_facts import Licence, licence_of
from olu.train.kokoro import refuse_kokoro

# benchmarks/results/voices_h200_202611.md: 136 minutes of Yoruba from scratch, and from an Amharic voice
MEASURED = "for Yoruba it was worth 17 instead of 29 % wrong letters"


@dataclass(frozen=True)
class Listed:
    """A checkpoint as the table has it; what is not known is said to be unknown."""

    family: str
    id: str
    language: str
    discriminator: str
    uroman: str
    licence: str


@dataclass(frozen=True)
class BasesSummary:
    language: str
    listed: list[Listed]
    near: list[Listed]
    languages: int

    def sentences(self, options: BasesOptions) -> Iterator[str]:
        if not self.language:
            yield f"{len(self.listed)} checkpoints for {self.languages} languages: name one with --language CODE"
            return
        if not self.listed:
            yield f"No checkpoint is known for {self.language}." + (" Near it are:" if self.near else "")
        yield from _listed(self.listed or self.near)
        here = next((one for one in offers(self.language) if one.here), None)
        if here:  # the voice that comes with Olu
            yield f"Always there: --base {here.base}, {here.facts()}{here.gain()}."
        if self.listed:
            whole = Remedy("doctor", (), {"base": self.listed[0].id}, why="fetches it and says whether it is whole")
            yield f"Next: {whole}  ({whole.why})"
        elif here:
            yield f"Next: {Remedy('train', ('WS',), {'base': here.base})}"


def _listed(rows: Sequence[Listed]) -> Iterator[str]:
    width = max((len(row.id) for row in rows), default=0)  # ids are for pasting: a table would cut them
    for row in rows:
        facts = f"discriminator {row.discriminator}, uroman {row.uroman}, licence {row.licence}"
        yield f"{row.id:{width}}  {row.language}  {facts}"


def run(options: BasesOptions) -> BasesSummary:
    """`olu bases`"""
    return bases(options.language)


def bases(language: str | None = None) -> BasesSummary:
    """What there is for a language, those with a discriminator first; without one, everything."""
    rows = [row for name in FAMILIES for row in _table(name)]
    languages = len({row.language for row in rows})
    if language is None:
        return BasesSummary("", rows, [], languages)
    code = resolve(language)
    same = {code, *load(code).aliases}  # swa is what Olu calls swh too
    own = sorted((row for row in rows if row.language in same), key=lambda row: row.discriminator != "yes")
    near = [] if own else [row for other in traits(code).near for row in rows if row.language == other]
    return BasesSummary(code, own, near, languages)


def _table(name: str) -> list[Listed]:
    of = family(name).bases
    path = of.table if of else None
    if path is None:
        return []
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    return [Listed(name, *line.split("\t")) for line in lines]


@dataclass(frozen=True)
class Checked:
    """A base that was fetched and loaded, or why it could not be."""

    good: bool
    said: list[str]
    family: str = next(iter(FAMILIES))


def check_base(text: str, *, language: str = "") -> Checked:
    """Fetch a base, read it and load it whole, as a training would. `language`: what it knows of it is told too."""
    need_training("olu doctor --base")
    try:
        place = located(Path(text).as_posix())
        refuse_kokoro(place)
        chosen = family(family_of_base(place) or next(iter(FAMILIES)))
        assert chosen.bases is not None
        if chosen.bases.tell and not (place / "recipe.toml").is_file():
            suits = chosen.bases.suits(place, language) if chosen.bases.suits and language else []
            said = [*chosen.bases.tell(place), *suits, licence_of(place, origin=text).sentence()]
            return Checked(True, said, chosen.name)
        base = chosen.bases.read(place)
        learner = chosen.learner(
            chosen.config(**base.settings), vocab_size=len(base.symbols), num_speakers=base.num_speakers
        )
        notes = base.load(learner)
    except OluError as bad:
        return Checked(False, [str(bad)])
    weights = learner.state_dict().items()
    if sick := [key for key, value in weights if value.is_floating_point() and not value.isfinite().all()]:
        return Checked(False, [f"numbers in {sick[0]} are none ({len(sick)} such tensors): take an earlier checkpoint"])
    rate = chosen.data.rate(chosen.config(**base.settings))
    facts = [
        f"{rate} Hz, {len(base.symbols)} symbols, {base.num_speakers} speakers",
        f"discriminator: {'yes' if base.has_discriminator else 'no'}; texts go through: {base.via or 'nothing'}",
    ]
    return Checked(True, [*facts, *notes, licence_of(place, origin=text).sentence()], chosen.name)


@dataclass(frozen=True)
class Offer:
    """A base that a language can begin with."""

    base: str  # as --base takes it
    language: str  # its name
    own: bool  # whether it is the language asked for
    licence: str
    non_commercial: bool

    @property
    def here(self) -> bool:
        """Whether the base is on this machine, so that no network is needed."""
        return self.base == EMBEDDED

    def facts(self) -> str:
        """What it is, and what it allows."""
        kind = f"the {self.language} voice that comes with Olu" if self.here else f"a checkpoint of {self.language}"
        allows = f"{self.licence}: non-commercial" if self.non_commercial else self.licence
        return f"{kind} ({allows}{'' if self.here else ', fetched from the hub'})"

    def gain(self) -> str:
        """What a base of another language is good for, in a sentence."""
        return "" if self.own else f". A base of any language can already sound: {MEASURED}"


@dataclass(frozen=True)
class BaseAdvice:
    """What to begin with, for a corpus that is too little to train from scratch."""

    seconds: float  # of the speaker who has most
    least: float  # minutes that a start from scratch takes
    offers: tuple[Offer, ...]  # the one to take first comes first

    @property
    def option(self) -> str:
        """The option of a command line that takes it: --base embedded."""
        return f"--base {self.offers[0].base}"

    def sentence(self) -> str:
        first = self.offers[0]
        return (
            f"{self._little()}, so begin with a base: {self.option} is {first.facts()}{first.gain()}.{self._nearer()}"
        )

    @property
    def to_take(self) -> str:
        """The base that is taken where nobody names one: what needs no network and forbids no use."""
        first = self.offers[0]
        return first.base if first.here and not first.non_commercial else ""

    def sentence_of_taking(self) -> str:
        first = self.offers[0]
        return (
            f"{self._little()}, so the plan begins with {first.facts()}{first.gain()}.{self._nearer()}"
            " --from-scratch plans without a base."
        )

    def _little(self) -> str:
        return f"{minutes(self.seconds)} of speech: too little to train from scratch (about {self.least:g} minutes)"

    def _nearer(self) -> str:
        return "".join(f" Nearer is --base {one.base}, {one.facts()}." for one in self.offers[1:])


@lru_cache(maxsize=32)
def offers(language: str) -> tuple[Offer, ...]:
    """The voice that comes with Olu, as it is always here; then the best published one of the language itself."""
    code = load(language).code
    found = list[Offer]()
    if (own := embedded_voice()) is not None:
        spoken, allows = load(read_json(own / "voice.json", shape={"language": str})["language"]), licence_of(own)
        found.append(
            Offer(
                EMBEDDED, spoken.name, spoken.code == code, allows.name or "licence not stated", allows.non_commercial
            )
        )
    if not any(one.own for one in found) and (listed := bases(code).listed):
        best = listed[0]  # with a discriminator, where one has it
        found.append(Offer(best.id, load(code).name, True, best.licence, Licence(best.licence).non_commercial))
    return tuple(found)


def advise(seconds: float, *, language: str, limits: Thresholds) -> BaseAdvice | None:
    """Bases to begin with for so many `seconds` of a speaker; None where they are enough, or none is known."""
    known = offers(language)
    if not known or not is_little(seconds, limits):
        return None
    return BaseAdvice(seconds=seconds, least=limits.enough_scratch, offers=known)

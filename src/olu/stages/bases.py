"""Which published checkpoints a language can start from, by a table that comes with each family."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from olu.core.errors import OluError
from olu.core.extras import need_training
from olu.core.places import located
from olu.families import FAMILIES, family
from olu.text.languages import load, resolve, traits
from olu.train.base_licence import licence_of


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

    def json(self) -> dict[str, Any]:
        return asdict(self)


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


def check_base(text: str, *, name: str = next(iter(FAMILIES))) -> Checked:
    """Fetch a base, read it and load it whole, as a training would."""
    need_training("olu doctor --base")
    chosen = family(name)
    try:
        place = located(Path(text).as_posix())
        assert chosen.bases is not None
        base = chosen.bases.read(place)
        learner = chosen.learner(
            chosen.config(**base.settings), vocab_size=len(base.symbols), num_speakers=base.num_speakers
        )
        notes = base.load(learner)
    except OluError as bad:
        return Checked(False, [str(bad)])
    rate = chosen.data.rate(chosen.config(**base.settings))
    facts = [
        f"{rate} Hz, {len(base.symbols)} symbols, {base.num_speakers} speakers",
        f"discriminator: {'yes' if base.judged else 'no'}; texts go through: {base.via or 'nothing'}",
    ]
    return Checked(True, [*facts, *notes, licence_of(place, origin=text).sentence()])

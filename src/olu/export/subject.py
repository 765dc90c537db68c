"""A voice that is about to be written in some format: its network and everything that is known of it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from olu.core.errors import ExportError
from olu.export.card import readme
from olu.export.rights import ExportTerms
from olu.text.characters import CharacterFrontend
from olu.text.frontend import AnyFrontend
from olu.text.languages import Language
from olu.text.letters import LetterTable
from olu.text.spelled import Form, Measure, letters_of, measured, symbols_of
from olu.text.vocabulary import SymbolVocabulary
from olu.train.family import Card, Family, Speaks

if TYPE_CHECKING:
    from torch import nn

MOST_SENTENCES = 200  # that a reading is judged on
MOST_TEXTS = 4000  # that one is learnt from


@dataclass(frozen=True)
class ExportSubject:
    name: str
    family: Family
    learner: nn.Module
    language: Language
    frontend: AnyFrontend
    vocabulary: SymbolVocabulary
    speakers: list[str]
    run: str
    step: int
    rights: ExportTerms
    texts: tuple[str, ...] = ()  # what it was trained on, or the language's own sentences
    held_out: tuple[str, ...] = ()
    scores: dict[str, float] = field(default_factory=dict)
    measures: tuple[str, ...] = ()  # sentences with numbers, for the card
    data: tuple[str, ...] = ()  # sentences on what it was trained with
    facts: dict[str, Any] = field(default_factory=dict)
    lacks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    needed: Mapping[str, nn.Module] = field(default_factory=dict)  # learners of other runs it is made of, by their kind
    resample: float = 1.0  # what the recordings it learnt from were resampled by

    @property
    def speaks(self) -> Speaks:
        if self.family.speaks is None:
            raise ExportError(f"the family {self.family.name!r} does not speak: name a run of a voice with --run")
        return self.family.speaks

    @property
    def via(self) -> str | None:
        return self.frontend.via if isinstance(self.frontend, CharacterFrontend) else None

    @property
    def by_letters(self) -> bool:
        return isinstance(self.frontend, CharacterFrontend)

    @cached_property
    def card(self) -> Card:
        lower = self.frontend.lower if isinstance(self.frontend, CharacterFrontend) else False
        return Card(
            symbols=self.vocabulary.symbols,
            interleave=self.vocabulary.interleave,
            language=self.language.code,
            speakers=tuple(self.speakers),
            step=self.step,
            by_letters=self.by_letters,
            lower=lower,
            via=self.via,
            lacks=self.lacks,
        )

    def readme(self, *, what: str, use: str, library: str, lost: Iterable[str] = (), files: Iterable[str] = ()) -> str:
        """The card of an export. `use` is a code block or sentences; `lost` says what this format could not keep."""
        return readme(self, what=what, use=use, lost=lost, files=files, library=library)

    @property
    def quoted_example(self) -> str:
        """A text for a command line of a card: a sentence that the voice can say, where its language has any."""
        return shlex.quote(self.example) if self.example else '"..."'

    @property
    def sentences(self) -> tuple[str, ...]:
        return (self.held_out or self.texts)[:MOST_SENTENCES]

    @cached_property
    def example(self) -> str:
        """A short sentence of the language's own that this voice can say, for the commands of a card."""
        known = [text for text in self.language.sentences() if symbols_of(self.frontend, self.vocabulary, text)]
        return min(known, key=len, default="")

    def letters(self, *forms: Form) -> LetterTable:
        """Reading by letters, for a runtime that gives texts in these forms of Unicode."""
        return letters_of(self.frontend, self.vocabulary, self.texts[:MOST_TEXTS], forms=forms)

    def measure(self, letters: LetterTable, *, form: Form) -> Measure:
        return measured(
            letters, self.frontend, self.vocabulary, self.sentences, form=form, held_out=bool(self.held_out)
        )

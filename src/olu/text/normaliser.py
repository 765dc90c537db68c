"""A text before it becomes symbols: canonical letters, restored marks, words instead of digits."""

from __future__ import annotations

from olu.text import algorithms
from olu.text.language_data import Pack
from olu.text.normalise.steps import Normaliser
from olu.text.pronunciation import ReadingTrace

APART = ("characters", "spell-out", "digits", "telephone")  # one after the other


class Normal:
    def __init__(self, pack: Pack) -> None:
        self.canonical = algorithms.canonical(pack)
        self._restore = algorithms.restore(pack)
        self._normaliser = Normaliser(pack)
        self._lower = self.canonical("A", ReadingTrace()).islower()

    def run(self, text: str, notes: ReadingTrace) -> str:
        return _edged(self._run(text, notes), like=text)

    def _run(self, text: str, notes: ReadingTrace) -> str:
        if self._lower and self._normaliser.needs_capitals(text):  # once they are small, nothing tells
            text = self._normaliser.normalise(text, notes)
        plain = self.canonical(text, notes)
        notes.add("canonical", "canonical", text, plain)
        if self._restore is not None:
            restored = self._restore(plain, notes)
            notes.add("restore", "restore", plain, restored)
            plain = restored
        return self._normaliser.normalise(plain, notes)

    def say_as(self, text: str, how: str, notes: ReadingTrace) -> str:
        """A stretch that somebody said how to read."""
        if how in APART:
            return self.run(" ".join("".join(text.split())), notes)
        return self.run(text, notes)


def _edged(text: str, *, like: str) -> str:
    """With a space at an edge where there was one: beside markup it parts two words."""
    before = " " if like[:1].isspace() and not text[:1].isspace() else ""
    after = " " if like[-1:].isspace() and not text[-1:].isspace() else ""
    return f"{before}{text}{after}"

"""A listening test: sounds without names, who hears what in which order, the answers, and what they come to.

What tells the sounds apart lies in `key.json`, which is never sent to a listener; the files have names by chance. Each
listener's order is made from the test's seed and the listener alone, so that a page that is opened again goes on.
"""

from __future__ import annotations

import random
import secrets
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Literal

from olu.audio import io
from olu.core.errors import ConfigError, WorkspaceError
from olu.core.files import Workspace, read_json, whole, write_json
from olu.core.rows import from_row
from olu.core.types import EXACT, Audio
from olu.corpus.corrections import now
from olu.corpus.journal import Journal
from olu.evaluate.blind import even_level
from olu.pages.media import packed

Kind = Literal["mos", "ab", "words"]
KINDS: dict[Kind, str] = {
    "mos": "how good each sounds, 1 to 5",
    "ab": "which of two sounds better",
    "words": "what was heard, typed",
}
FOLDER = "listening"  # in the workspace
TEST, KEY, ANSWERS, SOUNDS = "test.json", "key.json", "answers.jsonl", "sounds"
SCHEMA = 1
RATINGS = (1, 2, 3, 4, 5)
CHOICES = (0, 1, 2)  # no difference, the first, the second
MOST_TYPED = 2000
LONGEST_NAME = 40


@dataclass(frozen=True, kw_only=True)
class HeardSentence:
    """A sentence of a test, and what a recogniser heard of each voice that says it."""

    id: str
    text: str
    machine: tuple[float | None, ...] = ()  # letters that a recogniser heard wrong, a share, voice by voice


@dataclass(frozen=True, kw_only=True)
class ListeningTest:
    name: str
    kind: Kind
    language: str
    made: str
    by: str
    seed: str
    voices: tuple[str, ...]  # what is compared, by name
    sentences: tuple[HeardSentence, ...]
    sounds: tuple[tuple[str, ...], ...]  # of each sentence: the file of each voice
    schema: int = SCHEMA

    @property
    def files(self) -> frozenset[str]:
        return frozenset(file for row in self.sounds for file in row)


@dataclass(frozen=True)
class ListenedTrial:
    """What one listener hears at one place: one sound, or two of the same sentence."""

    sentence: int
    voices: tuple[int, ...]  # in the order in which they are heard


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerAnswer:
    """What one listener said of one trial; a later one overrules it."""

    listener: str
    name: str
    n: int  # the place in that listener's order
    sentence: int
    voices: tuple[int, ...]
    answer: int | str
    at: str
    __pydantic_config__ = EXACT


# ---- making


def place_of(ws: Workspace, name: str) -> Path:
    return ws.root / FOLDER / name


def check_name(name: str, voices: Iterable[str]) -> None:
    """Listeners see the name in the address of their page: it may not say what they hear."""
    if not name or len(name) > LONGEST_NAME or not all(one.isalnum() or one in "-_" for one in name):
        raise ConfigError(f"{name[:60]!r} is no name for a test: up to {LONGEST_NAME} letters, digits, - and _")
    told = [one for one in voices if one.casefold() in name.casefold()]
    if told:
        raise ConfigError(f"the name {name!r} tells listeners of {told[0]!r}: choose another, such as evening-1")


def save_test(
    ws: Workspace,
    *,
    name: str,
    kind: Kind,
    language: str,
    made: str,
    by: str,
    seed: str | None,
    voices: Sequence[str],
    sentences: Sequence[HeardSentence],
    sounds: Sequence[Sequence[Audio]],
) -> ListeningTest:
    """Write a test: every sound at one level, one rate and under a name by chance."""
    target = place_of(ws, name)
    if target.exists():
        raise WorkspaceError(f"there is a listening test {name!r} already: choose another name")
    rate = max(io.fitting_rate("mp3", sound.rate) for row in sounds for sound in row)
    files = tuple(tuple(secrets.token_hex(8) for _ in row) for row in sounds)
    test = ListeningTest(
        name=name,
        kind=kind,
        language=language,
        made=made,
        by=by,
        seed=seed or secrets.token_hex(8),
        voices=tuple(voices),
        sentences=tuple(sentences),
        sounds=files,
    )
    with whole(target) as partial:
        (partial / SOUNDS).mkdir(parents=True)
        for row, names in zip(sounds, files, strict=True):
            for sound, file in zip(row, names, strict=True):
                even = even_level(io.resample(sound, rate))
                (partial / SOUNDS / f"{file}.flac").write_bytes(packed(even, "FLAC", "PCM_16"))
        facts = asdict(test)
        write_json(partial / KEY, {part: facts.pop(part) for part in ("seed", "voices", "sounds", "sentences")})
        write_json(partial / TEST, facts)
    return test


def load_test(folder: Path) -> ListeningTest:
    if not (folder / TEST).is_file() or not (folder / KEY).is_file():
        raise WorkspaceError(f"{folder} holds no listening test: 'olu listening WS' lists those of a workspace")
    try:
        return from_row({**read_json(folder / TEST), **read_json(folder / KEY)}, ListeningTest)
    except (TypeError, ValueError) as bad:
        raise WorkspaceError(f"{folder} is damaged ({str(bad)[:120]}): bring it back from a copy") from None


def all_tests(ws: Workspace) -> list[Path]:
    """Folders of tests, the newest first."""
    found = (path.parent for path in (ws.root / FOLDER).glob(f"*/{TEST}"))
    return sorted(found, key=lambda path: -(path / TEST).stat().st_mtime)


# ---- hearing


def trials(test: ListeningTest, listener: str) -> list[ListenedTrial]:
    """What a listener hears, in order: as many of each voice, no sentence typed twice, sides swapped half the time."""
    chance = random.Random(f"{test.seed} {listener}")
    count = len(test.sentences)
    if test.kind == "ab":
        rounds: list[tuple[int, ...]] = list(combinations(range(len(test.voices)), 2))
        chance.shuffle(rounds)
        return [one for pair in rounds for one in _paired(pair, count, chance)]
    voices = list(range(len(test.voices)))
    chance.shuffle(voices)
    begin = chance.randrange(len(voices))
    every = range(1 if test.kind == "words" else len(voices))
    found: list[ListenedTrial] = []
    for turn in every:
        order = chance.sample(range(count), count)
        found += [ListenedTrial(one, (voices[(one + turn + begin) % len(voices)],)) for one in order]
    return found


def _paired(pair: tuple[int, ...], count: int, chance: random.Random) -> list[ListenedTrial]:
    swapped = [place % 2 == 0 for place in range(count)]
    chance.shuffle(swapped)
    order = chance.sample(range(count), count)
    return [ListenedTrial(one, pair[::-1] if swapped[one] else pair) for one in order]


def _latest(rows: Iterable[ListenerAnswer]) -> list[ListenerAnswer]:
    return list({(one.listener, one.n): one for one in rows}.values())


def journal(ws: Workspace, test: str) -> Journal[ListenerAnswer]:
    return Journal(ws, ANSWERS, ListenerAnswer, _latest, folder=f"{FOLDER}/{test}")


def answers(folder: Path) -> list[ListenerAnswer]:
    """Every listener's last answer to each trial."""
    ws = Workspace(root=folder.parent.parent, language="", name="")
    return _latest(journal(ws, folder.name).rows())


def answer_row(test: ListeningTest, *, listener: str, name: str, n: int, answer: int | str, at: str) -> ListenerAnswer:
    """An answer as it is kept; an error says why it is none."""
    order = trials(test, listener)
    if not 0 <= n < len(order):
        raise ConfigError(f"there is no trial {n + 1}: this test has {len(order)}")
    if test.kind == "words":
        if not isinstance(answer, str) or len(answer) > MOST_TYPED:
            raise ConfigError(f"the answer is what was heard, typed, of {MOST_TYPED} letters at most")
        answer = unicodedata.normalize("NFC", " ".join(answer.split()))
    elif isinstance(answer, str) or answer not in (RATINGS if test.kind == "mos" else CHOICES):
        wanted = "1 to 5" if test.kind == "mos" else "1, 2 or 0 for no difference"
        raise ConfigError(f"the answer is {wanted}")
    one = order[n]
    return ListenerAnswer(
        listener=listener, name=name, n=n, sentence=one.sentence, voices=one.voices, answer=answer, at=at
    )


def give_answer(ws: Workspace, test: ListeningTest, *, listener: str, name: str, n: int, answer: int | str) -> None:
    """Keep one answer, at once and to the disk."""
    row = answer_row(test, listener=listener, name=name, n=n, answer=answer, at=now())
    journal(ws, test.name).append([row])

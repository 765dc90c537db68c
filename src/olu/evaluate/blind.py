"""A page to choose between two voices without knowing which is which, and what became of the choices."""

from __future__ import annotations

import base64
import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Any

import numpy as np

from olu.core.errors import ConfigError
from olu.core.files import hash_value
from olu.core.parse import from_json, load_json
from olu.core.types import Audio
from olu.pages import media
from olu.pages.render import render as render_page

KIND = "olu-choices"
SCHEMA = 1
KEY_FILE = "listen-key.json"  # which is which on the page beside it
LONGEST_SECONDS = 20.0
LOUD_DBFS = -23.0  # both sides of a pair are brought to it


@dataclass(frozen=True)
class Preference:
    """How often each of two was chosen. `chance` is how often a coin would be at least as far from half."""

    first: int
    second: int
    equal: int
    chance: float | None  # None where nobody preferred either

    @property
    def share(self) -> float | None:
        """The share of the second among those who preferred one of the two."""
        both = self.first + self.second
        return self.second / both if both else None


def preference(first: int, second: int, *, equal: int = 0) -> Preference:
    return Preference(first, second, equal, coin(first, second) if first + second else None)


def coin(first: int, second: int) -> float:
    """The exact two-sided binomial test against an even coin."""
    total = first + second
    far = abs(2 * first - total)
    ways = sum(comb(total, heads) for heads in range(total + 1) if abs(2 * heads - total) >= far)
    return float(min(1.0, ways / 2**total))


@dataclass(frozen=True)
class Trial:
    """One sentence said by both."""

    id: str
    text: str
    first: Audio
    second: Audio


def swapped(ids: Sequence[str], *, seed: int | str) -> list[bool]:
    """Whether the second voice is heard as 1: half of the sentences, by chance."""
    turns = [place % 2 == 0 for place in range(len(ids))]
    random.Random(f"{seed} {' '.join(ids)}").shuffle(turns)
    return turns


def blind_key(trials: Sequence[Trial], *, first: str, second: str, seed: int) -> dict[str, Any]:
    """Which is which on a page of these trials. It is kept apart from the page, and made from sounds that the page
    does not have, so that nobody can make it again from the page and the seed."""
    ids = [trial.id for trial in trials]
    sounds = hashlib.sha256()
    for trial in trials:
        sounds.update(trial.first.samples.tobytes() + trial.second.samples.tobytes())
    turns = swapped(ids, seed=f"{seed} {sounds.hexdigest()}")
    key: dict[str, Any] = {"first": first, "second": second, "seed": seed, "sounds": sounds.hexdigest()}
    key["swapped"] = dict(zip(ids, turns, strict=True))
    return {"test": hash_value(key)[:16], **key}


def render(trials: Sequence[Trial], key: Mapping[str, Any], *, language: str) -> str:
    """The page, which knows its key by a name only."""
    order = list(range(len(trials)))
    random.Random(f"order {key['test']}").shuffle(order)
    rows = []
    for place in order:
        trial = trials[place]
        sides = (trial.second, trial.first) if key["swapped"][trial.id] else (trial.first, trial.second)
        rows.append({"id": trial.id, "text": trial.text, "sounds": [_flac_uri(side) for side in sides]})
    data = {"trials": rows, "language": language, "kind": KIND, "schema": SCHEMA, "id": key["test"]}
    return render_page("blind.html", data=data)


def even_level(audio: Audio) -> Audio:
    """The first seconds, at a loudness that gives no side away."""
    start = media.first_seconds(audio, LONGEST_SECONDS)
    power = float(np.mean(np.square(start.samples, dtype=np.float64))) if len(start.samples) else 0.0
    gain = 10 ** (LOUD_DBFS / 20) / max(power**0.5, 1e-6)
    peak = float(np.max(np.abs(start.samples), initial=1e-6))
    return Audio(start.samples * np.float32(min(gain, 0.98 / peak)), start.rate)


def _flac_uri(audio: Audio) -> str:
    """Nothing lost."""
    return media.data_uri(media.packed(even_level(audio), "FLAC", "PCM_16"), "audio/flac")


@dataclass(frozen=True)
class Counted:
    """Choices of one or more people, with the names put back."""

    first: str
    second: str
    preference: Preference
    listeners: tuple[tuple[str, Preference], ...]
    sentences: dict[str, int]  # id -> how many more preferred the second than the first

    def row(self) -> dict[str, Any]:
        return {
            "first": self.first,
            "second": self.second,
            **_preferred(self.preference),
            "listeners": [{"name": name, **_preferred(held)} for name, held in self.listeners],
            "sentences": self.sentences,
        }


def _preferred(held: Preference) -> dict[str, Any]:
    counts = {"prefer_first": held.first, "prefer_second": held.second, "no_difference": held.equal}
    return {**counts, "share_second": held.share, "chance": held.chance}


def count(files: Sequence[Path], *, key: Path | None = None) -> Counted:
    """Add up the choices of several files of the same two voices. `key`: of the page; else it is looked for."""
    names: tuple[str, str] | None = None
    totals: dict[str, list[int]] = {}  # listener -> first, second, equal
    sentences: dict[str, int] = {}
    if len({path.resolve() for path in files}) < len(files):
        raise ConfigError("--choices names one file twice: every listener's choices count once")
    for path in files:
        own, choices, listener = _read(path, key)
        if names not in (None, (own["first"], own["second"])):
            raise ConfigError(f"{path} compares {own['first']} and {own['second']}, not {' and '.join(names or ())}")
        names = own["first"], own["second"]
        held = totals.setdefault(listener, [0, 0, 0])
        for id, choice in choices.items():
            side = 2 if choice == 0 else (choice - 1) ^ int(own["swapped"][id])
            held[side] += 1
            sentences[id] = sentences.get(id, 0) + (-1, 1, 0)[side]
    assert names
    each = tuple((name, preference(a, b, equal=c)) for name, (a, b, c) in totals.items())
    sums = [sum(held[place] for held in totals.values()) for place in range(3)]
    return Counted(names[0], names[1], preference(sums[0], sums[1], equal=sums[2]), each, sentences)


def _read(path: Path, given: Path | None) -> tuple[dict[str, Any], dict[str, int], str]:
    try:
        row = load_json(path)
        if row["kind"] != KIND or row["schema"] != SCHEMA:
            raise KeyError(KIND)
        key = from_json(base64.b64decode(row["key"])) if "key" in row else _key(path, str(row["test"]), given)
        choices = {str(id): int(choice) for id, choice in row["choices"].items()}
        if not set(choices.values()) <= {0, 1, 2} or not choices.keys() <= key["swapped"].keys():
            raise KeyError("choices")
        key |= {side: str(key[side]) for side in ("first", "second")}
        return key, choices, str(row.get("listener") or path.stem)
    except ConfigError:
        raise
    except FileNotFoundError:
        raise ConfigError(f"{path} is not there: check the path") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ConfigError(f"{path} holds no choices: save them with the button of the listening page") from None


def _key(path: Path, test: str, given: Path | None) -> dict[str, Any]:
    """The key of a page: the one given, or of this name beside the choices or in a folder beside them or here."""
    if given is not None:
        places = [given / KEY_FILE if given.is_dir() else given]
        if not places[0].is_file():
            raise ConfigError(f"--key {given} is not there: it lies as {KEY_FILE} in the folder of the comparison")
    else:
        around = dict.fromkeys((path.resolve().parent, Path.cwd()))
        places = [one for folder in around for one in (folder / KEY_FILE, *sorted(folder.glob(f"*/{KEY_FILE}")))]
    for place in places:
        key = load_json(place) if place.is_file() else {}
        if isinstance(key, dict) and key.get("test") == test:
            return key
    raise ConfigError(
        f"the key of the page that {path} is from is not here: name it with --key; it lies as {KEY_FILE} in the folder"
        " that 'olu compare' wrote the page into"
    )


def say(counted: Counted) -> list[str]:
    """What came out, in sentences."""
    held = counted.preference
    lines = [
        f"{counted.first}: preferred {held.first} times. {counted.second}: preferred {held.second} times."
        f" No difference: {held.equal}."
    ]
    if held.chance is None:
        return [*lines, "Nobody preferred either."]
    better = counted.second if held.second > held.first else counted.first
    if held.chance < 0.05:
        lines.append(f"{better} is preferred; chance alone does this in {100 * held.chance:.2g} of 100 cases.")
    else:
        lines.append(f"Not decided: chance alone does this in {100 * held.chance:.0f} of 100 cases. Listen to more.")
    return lines

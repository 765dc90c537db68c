"""Which clips train and which are kept for listening: by hash, and never with a word of one side on another.

Clips that share a text, a sound or a boundary go to one side together. A long recording cut into adjoining clips would
so go to one side as a whole; it is divided at every few clips, and where the two sides of such a seam differ, the clip
that is the seam belongs to no side.
"""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from olu.core.errors import ConfigError, WorkspaceError
from olu.core.files import Workspace, read_json, read_jsonl, read_rows
from olu.core.types import Clip, MarkRow, Split
from olu.corpus import cuts, speakers
from olu.corpus.changed_files import RECORDING
from olu.corpus.manifest import read_sides

ADJOINING_SECONDS = 1.0  # a smaller gap may hold the end of the neighbour's word or breath
SEAM_EVERY = 10  # one clip in so many, by its hash
LENGTHS = (2.0, 4.0, 8.0, 16.0)  # seconds; fixed, so that more clips move no limit
COPY = re.compile(r"same sound as (\S+?)(?::|$)")  # how the audit's two checks of copies name the first one
COPY_CHECKS = ("duplicate_audio", "near_duplicate")
REMEMBERED = "split.json"  # the shares that were asked for
HELD_BACK: tuple[Split, Split] = ("valid", "test")

_Stratum = tuple[str, int | None]  # a speaker, and one of the lengths or all


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """The shares to hold back that a person asked for; remembered in the workspace."""

    valid: float = 0.04
    test: float = 0.04
    seed: int = 0

    def __post_init__(self) -> None:
        for name in HELD_BACK:
            if not 0 <= self.of(name) <= 0.5:
                raise ConfigError(f"--{name} {self.of(name):g} is no share to hold back: give 0 to 0.5, such as 0.04")
        if self.valid + self.test > 0.5:
            total = self.valid + self.test
            raise ConfigError(f"--valid and --test take {total:g} of the clips: leave at least half for training")

    def of(self, side: Split) -> float:
        return {"train": 1 - self.valid - self.test, "valid": self.valid, "test": self.test}[side]

    def side(self, at: float) -> Split:
        if at < self.valid:
            return "valid"
        return "test" if at < self.valid + self.test else "train"


def fold(text: str) -> str:
    """The text in one form for all that differ only in case, spacing and composed letters."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    return " ".join(folded.split())


def said(text: str) -> str:
    """The letters and digits of a text alone: a comma more is no other sentence."""
    folded = fold(text)
    return "".join(sign for sign in folded if sign.isalnum()) or folded


def place(text: str, *, seed: int = 0) -> float:
    """A number in [0, 1) from a hash of the text: it chooses the side."""
    salt = f"{seed}\n" if seed else ""
    return _hash(salt + fold(text))


def _hash(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big") / 2**64


def split(
    clips: Sequence[Clip],
    *,
    shares: Shares | None = None,
    contents: Mapping[str, str] | None = None,
    copies: Iterable[tuple[str, str]] = (),
) -> dict[str, Split | None]:
    """Clip id -> its side; none for a clip without a text, and for a seam between sides.

    `contents`: recording -> hash of what is in it, to know copied files by. `copies`: pairs of clips that sound alike.
    """
    shares = shares or Shares()
    spoken = [clip for clip in clips if clip.text.strip()]
    runs, seams = _runs(spoken, contents or {})
    alike = _alike(spoken, copies)
    groups = _Groups(clip.id for clip in spoken if clip.id not in seams)
    for together in (*runs, *alike):
        groups.join([id for id in together if id not in seams])
    sides = _sides({clip.id: clip for clip in spoken if clip.id not in seams}, groups, shares)
    _place_seams(sides, seams, alike, texts={clip.id: clip.text for clip in spoken}, shares=shares)
    return {clip.id: sides.get(clip.id) for clip in clips}


class _Groups:
    """Clips that must stay together."""

    def __init__(self, ids: Iterable[str]) -> None:
        self.head = {id: id for id in ids}

    def find(self, id: str) -> str:
        while self.head[id] != id:
            self.head[id] = self.head[self.head[id]]
            id = self.head[id]
        return id

    def join(self, ids: Sequence[str]) -> None:
        for other in ids[1:]:
            self.head[self.find(other)] = self.find(ids[0])

    def all(self) -> list[list[str]]:
        members: dict[str, list[str]] = defaultdict(list)
        for id in self.head:
            members[self.find(id)].append(id)
        return list(members.values())


def _runs(clips: Sequence[Clip], contents: Mapping[str, str]) -> tuple[list[list[str]], dict[str, tuple[str, str]]]:
    """Stretches of adjoining clips, divided at seams; and each seam with the clips before and after it."""
    recordings: dict[str, list[Clip]] = defaultdict(list)
    for clip in clips:
        recordings[contents.get(clip.audio, clip.audio)].append(clip)
    runs: list[list[str]] = []
    seams: dict[str, tuple[str, str]] = {}
    for found in recordings.values():
        if len(found) == 1:
            continue
        found.sort(key=lambda clip: (clip.start, clip.seconds, clip.id))
        end, run, seam = float("-inf"), list[str](), ""  # of what came before; `seam`: the one just before this clip
        for number, clip in enumerate(found):
            following = found[number + 1].start if number + 1 < len(found) else None
            if clip.start - end >= ADJOINING_SECONDS:
                run = []
                runs.append(run)
            elif not seam and following is not None and _is_seam(clip, end, following):
                seam = clip.id
                seams[clip.id] = (run[-1], found[number + 1].id)
                run = []
                runs.append(run)
                end = max(end, clip.start + clip.seconds)
                continue
            run.append(clip.id)
            seam, end = "", max(end, clip.start + clip.seconds)
    return runs, seams


def _is_seam(clip: Clip, end: float, following: float) -> bool:
    """Whether this clip alone joins what is before and after it, and is drawn to be a seam."""
    between = following - end >= ADJOINING_SECONDS and following - (clip.start + clip.seconds) < ADJOINING_SECONDS
    return between and _hash(f"seam {clip.id}") < 1 / SEAM_EVERY


def _alike(clips: Sequence[Clip], copies: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Clips that say the same, and clips that sound the same."""
    texts: dict[str, list[str]] = defaultdict(list)
    for clip in clips:
        texts[said(clip.text)].append(clip.id)
    known = {clip.id for clip in clips}
    pairs = [[a, b] for a, b in copies if a in known and b in known]
    return [ids for ids in texts.values() if len(ids) > 1] + pairs


def _sides(clips: Mapping[str, Clip], groups: _Groups, shares: Shares) -> dict[str, Split | None]:
    """A side for every group by the hash of one of its texts, then what is missing for speakers and lengths."""
    rows = sorted((_Group.of([clips[id] for id in ids], shares.seed) for ids in groups.all()), key=lambda g: g.place)
    most = {side: max(1.0, shares.of(side) * len(clips)) for side in HELD_BACK}
    for group in rows:
        side = shares.side(group.place)
        group.side = side if side == "train" or len(group.ids) <= most[side] else "train"
    _fill(rows, shares, most)
    return {id: group.side for group in rows for id in group.ids}


@dataclass(slots=True)
class _Group:
    ids: list[str]
    place: float
    strata: dict[_Stratum, int]  # -> clips
    side: Split = "train"

    @staticmethod
    def of(clips: list[Clip], seed: int) -> _Group:
        texts = {fold(clip.text) for clip in clips}
        first = min(texts, key=lambda text: _hash(f"first {text}"))  # by another hash, or large groups would fall low
        strata: dict[_Stratum, int] = defaultdict(int)
        for clip in clips:
            strata[clip.speaker, None] += 1
            strata[clip.speaker, sum(clip.seconds >= limit for limit in LENGTHS)] += 1
        return _Group(sorted(clip.id for clip in clips), place(first, seed=seed), dict(strata))


def _fill(rows: list[_Group], shares: Shares, most: Mapping[Split, float]) -> None:
    """Give each side at least one clip of every speaker with enough of them, and near its share of each length.

    The hash has seen to that nearly always. What it missed is taken from training, the lowest places first; what is
    far too much goes back, the highest first. The limits are wide, so that more clips hardly ever move others.
    """
    clips: dict[_Stratum, int] = defaultdict(int)
    members: dict[_Stratum, list[_Group]] = defaultdict(list)
    for group in rows:
        for stratum, count in group.strata.items():
            clips[stratum] += count
            members[stratum].append(group)
    order = sorted(clips, key=lambda s: (s[1] is None, s[0], s[1] or 0))  # speakers last: theirs is a promise
    for side in HELD_BACK:
        for stratum in order:
            due = shares.of(side) * clips[stratum]
            if due >= (1 if stratum[1] is None else 2):
                _balance(members[stratum], stratum, side=side, due=due, most=most[side])
    _at_least_one(rows, shares)


def _balance(groups: list[_Group], stratum: _Stratum, *, side: Split, due: float, most: float) -> None:
    """Move groups to or from a side until it has its due of one stratum; lowest places come first."""
    least, enough = (1, math.inf) if stratum[1] is None else (max(1, int(due * 2 / 3)), math.ceil(due * 3 / 2))
    count = sum(group.strata[stratum] for group in groups if group.side == side)
    for group in reversed(groups):
        if count > enough and group.side == side and count - group.strata[stratum] >= least:
            group.side = "train"
            count -= group.strata[stratum]
    for group in sorted(groups, key=lambda g: (len(g.ids), g.place)) if count < least else ():
        if count < least and group.side == "train" and len(group.ids) <= most:
            group.side = side
            count += group.strata[stratum]


def _at_least_one(rows: list[_Group], shares: Shares) -> None:
    """Keep one group to train and, if there can be, one to validate, in a very small corpus."""
    if rows and all(group.side != "train" for group in rows):
        rows[-1].side = "train"
    if shares.valid == 0 or any(group.side == "valid" for group in rows):
        return
    training = [group for group in rows if group.side == "train"]
    able = [group for group in rows if len(training) > 1 or group.side != "train"]
    if able:
        min(able, key=lambda g: (len(g.ids), g.place)).side = "valid"


def _sides_of(ids: Iterable[str], sides: Mapping[str, Split | None]) -> set[Split]:
    return {side for id in ids if (side := sides.get(id)) is not None}


def _place_seams(
    sides: dict[str, Split | None],
    seams: Mapping[str, tuple[str, str]],
    alike: Sequence[Sequence[str]],
    *,
    texts: Mapping[str, str],
    shares: Shares,
) -> None:
    """A seam goes where everything it touches went; where that differs it has no side."""
    near = [_sides_of(ids, sides) for ids in alike]
    member: dict[str, list[int]] = defaultdict(list)
    for number, ids in enumerate(alike):
        for id in filter(seams.__contains__, ids):
            member[id].append(number)
    for id in sorted(seams):
        touched = _sides_of(seams[id], sides)
        touched.update(*(near[number] for number in member[id]))
        alone = shares.side(place(texts[id], seed=shares.seed))
        side = alone if not touched else next(iter(touched)) if len(touched) == 1 else None
        sides[id] = side
        if side is not None:
            for number in member[id]:
                near[number].add(side)


def choose_sides(
    ws: Workspace,
    clips: Sequence[Clip],
    *,
    shares: Shares | None = None,
    written: Collection[str] | None = None,
    cut: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Split | None]:
    """A side for every clip of a workspace, as imported, from what its files and its audit know of copies.

    A clip without a text has one too, by its id, and stays there: a text that somebody writes for it moves nothing.
    With `written`, the clips that have a text by now, these too are chosen anew. `cut`: long clips and their pieces,
    where the workspace does not know them yet.
    """
    contents = {row["audio"]: row["sha256"] for row in read_jsonl(ws.corpus / "files.jsonl", shape=RECORDING)}
    clips = speakers.in_force(ws).lay_over(clips)  # every speaker has clips on each side, whoever was named first
    shares, copies = shares or remembered(ws), _copies(ws)
    before = read_sides(ws) if written is None else {}
    clips = [replace(one, text=one.id) if not one.text.strip() and one.id in (written or ()) else one for one in clips]
    sides = _with_wholes(clips, cuts.load(ws) if cut is None else cut, shares, contents, copies)
    mute = [replace(clip, text=clip.id) for clip in clips if not clip.text.strip()]
    if mute:
        chosen = split(mute, shares=shares, contents=contents, copies=copies)
        beside = _beside(clips, sides, contents)
        for clip in mute:
            side = before.get(clip.id) or chosen[clip.id]
            sides[clip.id] = side if beside.get(clip.id, {side}) == {side} else None
    return sides


def _with_wholes(
    clips: Sequence[Clip],
    cut: Mapping[str, Sequence[str]],
    shares: Shares,
    contents: Mapping[str, str],
    copies: Collection[tuple[str, str]],
) -> dict[str, Split | None]:
    """A long clip that was cut lies over its pieces and would hold them all together: it is placed as if uncut."""
    there = {clip.id for clip in clips}
    wholes = {id for id, pieces in cut.items() if id in there and not there.isdisjoint(pieces)}
    pieces = {piece for id in wholes for piece in cut[id]}
    found, whole = (
        split([clip for clip in clips if clip.id not in without], shares=shares, contents=contents, copies=copies)
        for without in (wholes, pieces if wholes else there)
    )
    return found | {id: whole[id] for id in wholes}


def _beside(
    clips: Sequence[Clip], sides: Mapping[str, Split | None], contents: Mapping[str, str]
) -> dict[str, set[Split | None]]:
    """Clip without a text -> the sides of those with one that adjoin it in its recording."""
    recordings: dict[str, list[Clip]] = defaultdict(list)
    for clip in clips:
        recordings[contents.get(clip.audio, clip.audio)].append(clip)
    found: dict[str, set[Split | None]] = defaultdict(set)
    for together in recordings.values():
        spoken = [clip for clip in together if clip.text.strip()]
        for clip in together if spoken and len(spoken) < len(together) else ():
            end = clip.start + clip.seconds + ADJOINING_SECONDS
            near = [
                one for one in spoken if one.start < end and clip.start < one.start + one.seconds + ADJOINING_SECONDS
            ]
            if not clip.text.strip() and near:
                found[clip.id] = {sides[one.id] for one in near}
    return found


def remembered(ws: Workspace) -> Shares:
    path = ws.corpus / REMEMBERED
    if not path.exists():
        return Shares()
    try:
        return Shares(**read_json(path, shape={}))
    except (TypeError, ConfigError) as bad:
        raise WorkspaceError(f"{path} cannot be used ({bad}): delete it and run 'olu split' again") from None


def _copies(ws: Workspace) -> list[tuple[str, str]]:
    pairs = []
    for mark in read_rows(ws.audit_folder / "audit.jsonl", MarkRow):
        first = COPY.search(mark.message) if mark.check in COPY_CHECKS else None
        if first:
            pairs.append((mark.id, first[1]))
    return pairs

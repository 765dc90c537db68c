"""A corpus that is about to be written in some form: the clips that train, as they are heard, and whose they are."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from olu.audio import io
from olu.core.errors import CorpusError, ExportError
from olu.core.types import Audio, Clip, Split
from olu.core.words import first_names, many
from olu.corpus.corrections import folded
from olu.corpus.manifest import Corpus
from olu.corpus.readers.huggingface import safe
from olu.corpus.rights import of_sources
from olu.export.rights import ExportTerms, claim
from olu.export.subject import source_names
from olu.features.store import levelled
from olu.text.languages import Language, load

SIDES: tuple[Split, ...] = ("train", "valid", "test")
BETWEEN = "between two sides"
OTHER_SOUND = "its recording changed since it was imported"
BAR = "its text has a '|', which parts the columns of this format"
SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusClip:
    """A clip as it is written: one line of text, one side, and a name that every system takes."""

    clip: Clip  # the stretch that training hears
    name: str
    text: str
    normal: str  # as it is read, numbers in words; the text itself where it was not read
    side: Split

    @property
    def speaker(self) -> str:
        return self.clip.speaker


@dataclass(frozen=True, kw_only=True)
class CorpusSubject:
    name: str
    corpus: Corpus
    language: Language
    clips: tuple[CorpusClip, ...]
    rate: int
    loudness: float  # LUFS; 0: as recorded
    rights: ExportTerms
    left_out: dict[str, int]  # why -> how many clips
    corrected: int  # texts that people wrote
    trimmed: int
    notes: tuple[str, ...] = ()

    @property
    def speakers(self) -> list[str]:
        return sorted({one.speaker for one in self.clips})

    @property
    def seconds(self) -> float:
        return sum(one.clip.seconds for one in self.clips)

    def side(self, side: Split) -> list[CorpusClip]:
        return [one for one in self.clips if one.side == side]

    def audio(self, one: CorpusClip) -> Audio:
        """What is heard, at the rate and the loudness asked for."""
        return levelled(io.resample(self.corpus.audio(one.clip), self.rate), self.loudness)


def corpus_subject(
    corpus: Corpus,
    *,
    bars: bool,
    speaker: str | None = None,
    rate: int | None = None,
    loudness: float = 0.0,
    licence: str = "",
    override: str = "",
) -> CorpusSubject:
    """The clips that nothing leaves out. `bars`: the form has no place for a '|' in a text."""
    corpus.check_sources()
    if speaker is not None and speaker not in corpus.speakers:
        raise ExportError(f"no speaker {speaker!r}: there are {first_names(corpus.speakers, 20, count=True)}")
    left, clips, barred = Counter[str](), list[Clip](), list[str]()
    same = {clip.id for clip in corpus.unchanged()}
    for clip in corpus:
        if speaker is not None and clip.speaker != speaker:
            continue
        if why := _why_not(corpus, clip, is_same=clip.id in same):
            left[why] += 1
        elif bars and "|" in clip.text:
            barred.append(clip.id)
        else:
            clips.append(clip)
    if barred:
        left[BAR] = len(barred)
    if not clips:
        whys = "; ".join(f"{many(count, 'clip')}: {why}" for why, count in left.most_common(SHOWN))
        raise CorpusError(f"no clip of {corpus.ws.root} can be exported ({whys or 'it has none'})")
    names = sorted({clip.audio.partition("/")[0] for clip in clips})
    terms = claim(
        of_sources(corpus.ws, names),
        None,
        names=source_names(corpus),
        licence=licence,
        override=override,
        made="corpus",
    )
    rates = Counter[int]()
    for clip in clips:
        rates[clip.rate] += round(clip.seconds * 1000)
    chosen = rate or rates.most_common(1)[0][0]
    taken = [corpus.taken(clip) for clip in clips]
    return CorpusSubject(
        name=corpus.ws.name,
        corpus=corpus,
        language=load(corpus.ws.language),
        clips=tuple(_named(corpus, taken)),
        rate=chosen,
        loudness=loudness,
        rights=terms,
        left_out=dict(left.most_common()),
        corrected=sum(corpus.correction(clip) is not None for clip in clips),
        trimmed=sum(one.seconds < clip.seconds for one, clip in zip(taken, clips, strict=True)),
        notes=(*_said_of(barred), *_slower(clips, chosen)),
    )


def _why_not(corpus: Corpus, clip: Clip, *, is_same: bool) -> str:
    """Why a clip is not given away, in words that are the same for all of a kind; nothing where it is."""
    why = corpus.why_not(clip)
    if why is not None:
        return "an error that the audit found" if why.startswith("audit: ") else why.partition(":")[0]
    if not is_same:
        return OTHER_SOUND
    return "" if corpus.split(clip) else BETWEEN


def _said_of(barred: list[str]) -> list[str]:
    if not barred:
        return []
    shown = first_names(barred, SHOWN, count=True)
    return [f"{many(len(barred), 'clip')} left out, since {BAR}: {shown}; 'olu correct' writes another text"]


def _slower(clips: Iterable[Clip], rate: int) -> list[str]:
    """Sound that was recorded with fewer samples does not get better by more of them."""
    slower = sum(clip.rate < rate for clip in clips)
    clips_were = f"{many(slower, 'clip')} {'was' if slower == 1 else 'were'}"
    return [f"{clips_were} recorded at less than {rate} Hz: nothing is heard there above half their own rate"] * bool(
        slower
    )


def _named(corpus: Corpus, clips: list[Clip]) -> Iterable[CorpusClip]:
    """The clips under names that are file names everywhere; two that would be one get a number."""
    taken: dict[str, int] = defaultdict(int)
    for clip in clips:
        name = safe(clip.id).replace("|", "-") or "clip"
        key = name.casefold()  # for disks that take capitals for small letters
        taken[key] += 1
        if taken[key] > 1:
            name = f"{name}_{taken[key]}"
        side = corpus.split(clip)
        assert side is not None
        text = folded(clip.text)
        yield CorpusClip(clip=clip, name=name, text=text, normal=_normal(corpus, clip) or text, side=side)


def _normal(corpus: Corpus, clip: Clip) -> str:
    """How the text is read, where 'olu read' has read this very text."""
    read = corpus.read_text(clip)
    return folded(read).replace("|", " ")

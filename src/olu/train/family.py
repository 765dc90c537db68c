"""What a family of voices gives the engine, and what the engine tells it. The engine knows no family by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor, device, nn

    from olu.core.config import Strict
    from olu.core.types import Audio, Knob, Reading
    from olu.export.subject import ExportSubject
    from olu.features.store import PreparedFeature
    from olu.train.batches import BatchShape
    from olu.train.plan.facts import Advice

Kind = Literal["voice", "listener", "vocoder"]  # text to sound, sound to text, features to sound
Need = Literal["text", "alignment", "pitch", "codes"]  # the last two are names of prepared features
VocabularyKind = Literal["symbols", "streams", "pieces"]


@dataclass(frozen=True)
class Part:
    """Parameters that one optimiser moves. What is in no part is frozen and stays in eval mode."""

    module: nn.Module
    lr: float
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    clip: float | None = None
    clips: Mapping[str, float] = field(default_factory=dict)  # prefix -> the most its own gradients may have, before
    plain: tuple[str, ...] = ()  # prefixes that weight decay leaves alone: norms, biases, tables
    ema: float | None = None
    lr_scale: Mapping[str, float] = field(default_factory=dict)  # parameter-name prefix -> factor; 0 freezes
    start: int = 0  # this part moves from this step on
    until: int | None = None  # and before this one


@dataclass(frozen=True)
class Loss:
    """A sum, and the name of what it becomes a mean over; the batch counts how many of those there are."""

    sum: Tensor
    over: str
    weight: float | Tensor = 1.0


@dataclass(frozen=True)
class Update:
    """Losses for one optimiser step of one part."""

    part: str
    losses: Mapping[str, Loss]


@dataclass(frozen=True)
class Clock:
    step: int
    steps: int
    knobs: Mapping[str, Any] = field(default_factory=dict)  # what `Learner.knobs` said: numbers, or tensors of them


@dataclass(frozen=True)
class SpokenSample:
    """Something to hear: spoken through the real inference path, never by teacher forcing."""

    name: str
    audio: Audio
    natural: float | None = None  # seconds the recording of the same text has
    pictures: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)  # 0 to 1, such as alignment [T, F]


@dataclass(frozen=True)
class DemoSentence:
    """A text of the recipe's own that is spoken at every validation."""

    name: str
    ids: tuple[int, ...]
    speaker: int
    natural: float | None = None  # seconds it would take at the pace of the recordings
    streams: Mapping[str, Sequence[int]] = field(
        default_factory=dict
    )  # what goes with the ids, for vocabularies of them


@dataclass(frozen=True)
class OpponentLoss:
    """Which loss tells whether a discriminator has won or sees nothing."""

    part: str
    loss: str
    won: float  # below it every verdict is right
    chance: float  # the loss of one that only guesses


@dataclass(frozen=True)
class Example:
    """One clip as a learner needs it."""

    id: str
    ids: tuple[int, ...]
    samples: NDArray[np.int16]
    speaker: int
    features: Mapping[str, NDArray[Any]] = field(default_factory=dict)  # what `olu prepare` made of it, by name
    beside: Example | None = None  # another clip of the same speaker, for families with `Data.beside`
    draw: int = 0  # a number of its own for every seed, epoch and clip: what a family draws for it


class Batch(Protocol):
    """What collate makes. `counts` says how many of each `Loss.over` it holds; `clips` names its clips."""

    counts: Mapping[str, float]
    clips: tuple[str, ...]

    def to(self, device: device) -> Batch: ...


class Learner(Protocol):
    """An `nn.Module` that also answers these.

    Rules for `step`: no `with` spans a `yield`; a discriminator's forward for the generator's loss comes after its own
    update; never call backward, an optimiser, `.item()` or a logger; losses are float32.
    """

    def parts(self) -> dict[str, Part]: ...
    def collate(self, examples: Sequence[Example]) -> Batch: ...
    def step(self, batch: Any, clock: Clock) -> Iterator[Update]: ...
    def validate(self, batch: Any) -> Mapping[str, Loss]: ...
    def demo(self, batch: Any) -> Iterator[SpokenSample]: ...
    def say(self, ids: Sequence[int], speaker: int, streams: Mapping[str, Sequence[int]] | None = None) -> Audio: ...


class WeighedLearner(Learner, Protocol):
    """A validation's "weighed": the sum of these of its figures, by the weights of their losses."""

    weighed: tuple[str, ...]


class AccompaniedLearner(Learner, Protocol):
    """A learner that uses frozen modules: it is handed them once, by name, and keeps them out of its state."""

    def accompany(self, modules: Mapping[str, nn.Module]) -> None: ...


class VocodingLearner(Learner, Protocol):
    """A learner of a vocoder, as an acoustic model uses it. Mels are plain logarithms, contours log2 of hertz."""

    def sounded(self, mel: Tensor, contour: Tensor, voicing: Tensor) -> Tensor:
        """[1, M, F], [1, F] and [1, F] from 0 to 1 -> a wave [1, S]."""
        ...

    def write_decoder(self, folder: Path) -> dict[str, Any]:
        """Write decoder.onnx as speak/engines/mel.py runs it; returns facts for voice.json: rate, hop, context, mel."""
        ...


class Written(Protocol):
    """What a family that listens writes for a reading, and how that is spelled."""

    def symbols(self, reading: Reading) -> list[str]: ...
    def spell(self, symbols: Sequence[str]) -> list[str]: ...


class PackedLearner(Learner, Protocol):
    """A learner whose step can be recorded on a GPU: fixed shapes, nothing read back, changing numbers as knobs."""

    def knobs(self, step: int) -> dict[str, float]: ...
    def counts(self, examples: Sequence[Example]) -> dict[str, float]: ...
    def resident(self, example: Example) -> dict[str, NDArray[Any]]:
        """What of a clip lies on the device through the whole run, by name; `firsts` says at which row each begins."""
        ...

    def pack(
        self, examples: Sequence[Example], firsts: Mapping[str, Sequence[int]], shape: BatchShape
    ) -> NDArray[np.int64]: ...
    def unpack(self, flat: Tensor, resident: Mapping[str, Tensor], shape: BatchShape) -> Any: ...


@dataclass(frozen=True)
class Companion:
    """A module that a run uses and never trains: a codec, a decoder, a vocoder. Facts name it by its digest."""

    name: str
    sha256: str
    load: Callable[[], nn.Module]


@dataclass(frozen=True)
class Base:
    """A foreign checkpoint a run starts from, with its own settings, alphabet and what loading it left open."""

    settings: dict[str, Any]
    symbols: tuple[str, ...]
    interleave: bool
    lower: bool
    via: str | None  # "uroman" or "espeak": what rewrites a text before its letters are looked up
    num_speakers: int
    load: Callable[..., list[str]]  # (learner, growth=None, speakers=()): into it; says what started fresh
    has_discriminator: bool = False  # whether it brings a discriminator
    speakers: tuple[str, ...] = ()  # their names, where it has them
    lacks: tuple[str, ...] = ()  # parts that were not in it and start fresh
    frontend: Mapping[str, Any] | None = None  # the state of the one it reads with, where it is a voice of Olu's
    alone: Mapping[str, Any] = field(default_factory=dict)  # settings that a run with one speaker cannot take from it
    phones: bool = False  # it says itself that its symbols are phones
    vocabulary: Mapping[str, Any] | None = None  # its state with its kind, where it is more than symbols
    observed: Mapping[str, Any] | None = None  # what its family observed of the corpus it learnt from
    languages: tuple[str, ...] = ()  # those it speaks, where it is of several: ISO 639-1, else 639-3
    decides: tuple[str, ...] = ()  # settings that are its own: a recipe that has them otherwise is refused
    unread: Mapping[str, str] = field(default_factory=dict)  # such languages -> why letters of theirs are not cut right
    extra: Mapping[str, Any] = field(default_factory=dict)  # what its own family needs of it beside


@dataclass(frozen=True)
class Card:
    """What an exported checkpoint is told of itself beside its weights."""

    symbols: tuple[str, ...]
    interleave: bool
    language: str
    speakers: tuple[str, ...]
    step: int = 0
    by_letters: bool = True  # else a reading by phones, which no other program knows
    lower: bool = True
    via: str | None = None
    lacks: tuple[str, ...] = ()  # parts that hold nothing yet and are left out


@dataclass(frozen=True)
class TokenFrames:
    """How many frames each token of a clip lasts, by its alignment: `Example.features["frames"]`."""

    hop: int  # samples of a frame
    all: bool = True  # else clips whose alignment is doubtful have zeros, and the family searches


@dataclass(frozen=True)
class Data:
    """What a family learns from, and what of a corpus it cannot use."""

    rate: Callable[[Any], int]  # (config): the sampling rate of the sound it is given
    refuses: Callable[..., str | None]  # (config, samples=, tokens=) -> why this clip cannot be learned from
    tokens: Callable[[str], int]  # about how many ids a text makes, before anybody has read it
    out_rate: Callable[[Any], int] | None = None  # (config): of the sound it makes; none: the one it is given
    needs: frozenset[Need] = frozenset({"text"})
    features: Callable[[Any, Base | None], Sequence[PreparedFeature]] | None = None  # (config, base)
    vocabulary: VocabularyKind = "symbols"
    merges: Callable[[Any], int] = lambda config: 0  # of pieces: how many are learnt where no base brings its own
    by_phones: Callable[[Any], bool] = lambda config: False  # of pieces from a base: whether they are cut of phones
    token_frames: Callable[[Any], TokenFrames | None] | None = None  # (config): whether durations are given
    # (train=, valid=: examples; symbols=, speakers=: by their ids; before=: of the run it starts from; config=) -> what
    # its learner is told of the corpus by `observe`, as JSON; `notes` in it are said. Where it names clips as the
    # `references` of a speaker, a learner that can `meet` is given them
    observe: Callable[..., dict[str, Any]] | None = None
    beside: bool = False  # whether it also hears another clip of the same speaker: `Example.beside`
    segment: Callable[[Any], int] | None = None  # (config): samples of a clip that a step hears; none: all of it
    contract: Callable[[], dict[str, Any]] | None = None  # of the spectrogram it reads or makes: runs that join agree

    def made_rate(self, config: Any) -> int:
        """The sampling rate of what is spoken."""
        return (self.out_rate or self.rate)(config)


@dataclass(frozen=True)
class Figures:
    """Which losses and scores tell how a training goes."""

    score: str  # the validation figure that chooses the best step; lower is better
    learns: str  # the part whose progress counts
    steady: tuple[str, ...]  # its losses that no opponent raises
    loss: str = ""  # the training loss that goes with the score; empty: one of the same name
    opponent: OpponentLoss | None = None  # the discriminator, where there is one
    doubts: Callable[[Mapping[str, float]], Mapping[str, str]] | None = None  # of a validation's figures: name -> why
    reference: Path | None = None  # bands of earlier runs' curves (JSON): what is normal

    @property
    def learning(self) -> str:
        """The training loss that tells whether it learns."""
        return self.loss or self.score


@dataclass(frozen=True)
class Bases:
    """What a run of this family can start from."""

    read: Callable[[Path], Base]
    table: Path | None = None  # published checkpoints (TSV): id, language, discriminator, uroman, licence
    symbol_rows: tuple[str, ...] = ()  # part.parameter of every table or bias with one row for each symbol
    row_scale: Callable[[Any], float] = lambda config: 1.0  # of new rows: how far from where they start
    fold_speakers: Callable[..., Any] | None = None  # (checkpoint, learner, old=) -> one with rows for new speakers
    companions: Callable[[Any, Base | None], Sequence[Companion]] | None = None  # (config, base): what stays frozen
    licensed: bool = True  # whether what is made from one takes its licence
    opened: Callable[[Path], nn.Module] | None = None  # a package of one alone, such as x.vocoder, to be heard with
    tell: Callable[[Path], list[str]] | None = None  # what one is, in sentences, where loading it would be too much
    knows: Callable[[Path], bool] | None = None  # whether a folder or file is one of its own, by a look at its names
    suits: Callable[[Path, str], list[str]] | None = None  # what it knows of a language: its tag, its letters


@dataclass(frozen=True)
class Format:
    """Files of another program that a voice can be written as."""

    name: str
    what: str  # the program
    write: Callable[[ExportSubject, Path], list[str]]  # into a folder; returns what is lost
    also: tuple[str, ...] = ()  # other names it goes by
    trains: bool = False  # whether it holds the discriminator too
    noiseless: str = ""  # why its files cannot hold what noise to speak with
    loses: str = ""  # what it has no place for, as a page says it before; `write` says what it was for this voice


@dataclass(frozen=True)
class Speaks:
    """How a run becomes a voice."""

    engine: str  # the module of speak/engines/ that runs its package: latents, mel, tokens or flow
    export: Callable[..., dict[str, Any]]  # (learner, folder=, **needed) -> facts for voice.json; writes the graphs
    knobs: Callable[[Any], tuple[Knob, ...]]  # (config): what a speaker may turn, with range and default
    formats: tuple[Format, ...] = ()  # of other programs
    training: Callable[..., list[str]] | None = None  # (learner, folder=, card=): what a package is trained on with
    with_knob: Callable[[Any, str, float], Any] | None = None  # (config, knob, value) -> one that speaks with it
    with_tempo: Callable[[Any, float], Any] | None = None  # (config, factor) -> one that speaks so many times slower
    resynthesis: Callable[..., Audio] | None = None  # (learner, audio, speaker=): a recording through its own decoder
    needs: tuple[Kind, ...] = ()  # runs of other kinds; `export` gets their learners by these names
    bits: tuple[int, ...] = ()  # of its weights in a package, to choose from; `export` gets what was chosen as `bits`
    marks: bool = False  # its voices put a watermark into what they say, unless `export` is told watermark=False
    clones: bool = False  # its voices can be made to hear somebody else: `export` is then told cloning=True
    stands_in: tuple[Kind, ...] = ()  # of these: what a learner has a plain one for, while there is none


@dataclass(frozen=True)
class Hears:
    """How a run writes down what it hears."""

    targets: Callable[..., Written]  # (config, language=) -> what it writes for a reading
    load: Callable[..., Any]  # (run, language=, device=) -> a `types.Recogniser`


@dataclass(frozen=True)
class Family:
    """A kind of model: what it learns from, how it learns, speaks or hears. Importing one needs no torch."""

    name: str
    summary: str
    config: type[Strict]
    learner: Callable[..., nn.Module]  # (config, vocab_size=, num_speakers=) -> a Learner
    data: Data
    figures: Figures
    kind: Kind = "voice"
    advice: Advice | None = None  # what `olu plan` needs to know of it
    bases: Bases | None = None
    speaks: Speaks | None = None
    hears: Hears | None = None

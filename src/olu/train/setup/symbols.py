"""The symbols of a run: its own, or those of the base or run it starts from and what the corpus needs beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from olu.align.state import Marks, find_pauses, knows_pauses, mark_pauses
from olu.core.errors import TrainError
from olu.core.files import Workspace, read_json
from olu.core.types import Clip, Reading
from olu.core.words import first_names, many
from olu.corpus.manifest import Corpus
from olu.text.characters import CharacterFrontend
from olu.text.fallback import relative
from olu.text.frontend import AnyFrontend, for_language, from_state, read_clip, read_settings, read_state
from olu.text.languages import available, load
from olu.text.phones import PhoneFrontend
from olu.text.piece_growth import Start, prove, starts_of, tag_of, with_language
from olu.text.pieces import PieceVocabulary, vocabulary_from
from olu.text.vocabulary import BLANK, VOCABULARY, StreamVocabulary, SymbolVocabulary, symbol_name
from olu.train.base_facts import is_by_phones
from olu.train.family import Base, DemoSentence
from olu.train.grow_symbols import Growth
from olu.train.recipe import Recipe
from olu.train.run import Run
from olu.train.setup.start import TrainingStart, vocabulary_of

LISTED = 6  # of a kind in a sentence
NEW_SYMBOLS = "new_symbols.json"
SOME = 200  # clips that tell whether a base knows their letters or their phones
Alphabet = tuple[SymbolVocabulary, dict[str, Any]]
Ids = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class TrainingTexts:
    """What every clip that is wanted says, as the run reads it."""

    vocabulary: SymbolVocabulary
    frontend_state: dict[str, Any]
    readings: dict[str, Reading]  # by clip
    ids: Ids  # of the vocabulary's symbols; none where nothing is said
    pauses: Marks  # the words of each clip after which a pause was marked
    streams: dict[str, dict[str, list[int]]]  # what goes with the ids of a clip, by name: tones, stress, gaps, frames
    unfit: dict[str, str] = field(default_factory=dict)  # clip -> why its alignment gives no durations
    notes: tuple[str, ...] = ()  # what was found when all texts were cut into pieces

    @property
    def frontend(self) -> AnyFrontend:
        return from_state(self.frontend_state)


def read_texts(start: TrainingStart, alphabet: Alphabet, clips: Iterable[Clip]) -> TrainingTexts:
    """Every transcript as ids. A family that listens writes symbols of its own."""
    vocabulary, state = alphabet
    if "text" not in start.family.data.needs:
        return TrainingTexts(vocabulary, state, {}, {}, {}, {})
    frontend = from_state(state)
    readings = {clip.id: read_clip(frontend, clip.text)[0] for clip in clips}
    pauses: Marks = {}
    if least := start.recipe.data.pauses:
        kept = start.kept.pauses if start.kept else None
        pauses = find_pauses(start.ws, readings, least=least) if kept is None else kept
        readings = mark_pauses(readings, pauses)
    vocabulary = _of_kind(start, vocabulary, readings)
    if start.writes:
        vocabulary, ids = _targets(start, {id: start.writes.symbols(reading) for id, reading in readings.items()})
    else:
        ids = {id: tuple(vocabulary.encode(reading)) if reading.words else () for id, reading in readings.items()}
    streams = {id: found for id, reading in readings.items() if (found := vocabulary.streams(reading))}
    notes = _proved(vocabulary, readings) if isinstance(vocabulary, PieceVocabulary) and not start.kept else ()
    return TrainingTexts(vocabulary, state, readings, ids, pauses, streams, notes=notes)


def _proved(vocabulary: PieceVocabulary, readings: Mapping[str, Reading]) -> tuple[str, ...]:
    """That every text is cut into known pieces and comes back whole; one that is not is an error."""
    proof = prove(vocabulary, {id: _text(reading, vocabulary) for id, reading in readings.items()}, old=vocabulary.size)
    for clip, why in proof.faults.items():
        raise TrainError(f"clip {clip}: {why}: correct its text, or start a new run")
    return (proof.sentence(),)


def _text(reading: Reading, vocabulary: SymbolVocabulary) -> str:
    return "".join(reading.symbols(vocabulary.marks))


def _of_kind(start: TrainingStart, vocabulary: SymbolVocabulary, readings: Mapping[str, Reading]) -> SymbolVocabulary:
    """A new vocabulary of the kind that the family wants; one that came with a run or a base stays as it is."""
    kind = start.family.data.vocabulary
    if kind == "symbols" or start.kept or start.before or (start.base and start.base.vocabulary):
        return vocabulary
    if kind == "streams":
        return StreamVocabulary(
            (BLANK, *sorted({s for one in readings.values() for s in one.symbols("none")} - {BLANK}))
        )
    texts = (_text(one, vocabulary) for one in readings.values())
    return PieceVocabulary.learn(texts, merges=start.family.data.merges(start.config), tag=tag_of(start.ws.language))


def _targets(start: TrainingStart, symbols: Mapping[str, list[str]]) -> tuple[SymbolVocabulary, Ids]:
    """What a recogniser is to write for each clip. A run that goes on, or that it starts from, keeps its symbols."""
    if start.kept:
        vocabulary, holder = start.kept.vocabulary, start.kept.run
    elif start.before:
        vocabulary, holder = vocabulary_of(start.before), start.before.name
    else:
        seen = {symbol for stream in symbols.values() for symbol in stream}
        vocabulary, holder = SymbolVocabulary((BLANK, *sorted(seen - {BLANK})), interleave=False), ""
    known = {symbol: id for id, symbol in enumerate(vocabulary.symbols)}
    for clip, stream in symbols.items():
        if strange := next((symbol for symbol in stream if symbol not in known), None):
            raise TrainError(f"clip {clip}: {holder} does not know {symbol_name(strange)!r}: start a new run")
    return vocabulary, {id: tuple(known[symbol] for symbol in stream) for id, stream in symbols.items()}


def build_vocabulary(start: TrainingStart, corpus: Corpus, clips: Sequence[Clip]) -> Alphabet:
    """The vocabulary and the state of the frontend that speaks it. A run that goes on keeps its own."""
    if start.kept:
        return start.kept.vocabulary, start.kept.frontend
    if "text" not in start.family.data.needs:
        return SymbolVocabulary((BLANK,), interleave=False), {}
    if start.before and not start.writes:
        made = _extended(corpus, clips, start.before)
    elif start.base and not start.writes:
        made = _of_base(start, start.base, clips)
    else:
        made = _own_vocabulary(start.ws), read_state(start.ws.readings / "frontend.json")
    return knows_pauses(*made) if start.recipe.data.pauses else made


def _own_vocabulary(ws: Workspace) -> SymbolVocabulary:
    return SymbolVocabulary.from_state(read_json(ws.readings / "vocabulary.json", shape=VOCABULARY))


def _of_base(start: TrainingStart, base: Base, clips: Sequence[Clip]) -> Alphabet:
    """The symbols of a base, and those the corpus needs beside them."""
    frontend = _frontend_for(start.ws, base, clips)
    marks = frontend.marks if isinstance(frontend, PhoneFrontend) else "vowel"
    own = vocabulary_from(dict(base.vocabulary)) if base.vocabulary else None
    if isinstance(own, PieceVocabulary):
        grown = _grown(own, frontend, clips, start.ws.language, merges=start.family.data.merges(start.config))
        return grown, {**frontend.state(), "inventory": _signs(grown)}
    needed = {s for clip in clips for s in read_clip(frontend, clip.text)[0].symbols(marks)}
    vocabulary = (own or SymbolVocabulary(base.symbols, interleave=base.interleave, marks=marks)).extend(needed)
    return vocabulary, {**frontend.state(), "inventory": vocabulary.sayable()}


def _signs(vocabulary: PieceVocabulary) -> list[str]:
    """What a text may be written with: a frontend lists all else as not read."""
    return [" ", *(piece for piece in vocabulary.sayable() if len(piece) == 1)]


def _grown(
    old: PieceVocabulary, frontend: AnyFrontend, clips: Sequence[Clip], language: str, *, merges: int = 0
) -> PieceVocabulary:
    """Pieces with the corpus' language in them; merges that are learnt leave sentences of other ones as they are."""
    texts = (_text(read_clip(frontend, clip.text)[0], old) for clip in clips)
    keep = [one for other in available() if other.code != language for one in other.sentences()] if merges else []
    return with_language(old, texts, language=language, merges=merges, keep=keep)


def _frontend_for(ws: Workspace, base: Base, clips: Sequence[Clip]) -> AnyFrontend:
    """A voice of ours reads on as it did; with one of another language the workspace's own reading counts.

    That counts too where a checkpoint holds phones and nothing of how they are found.
    """
    if base.frontend is None:
        own = from_state({**read_state(ws.readings / "frontend.json"), "inventory": None})
        pieces = (base.vocabulary or {}).get("kind") == "pieces"  # of letters, always
        if not pieces and is_by_phones(base, own, (clip.text for clip in clips[:SOME]), language=ws.language):
            return own
        language = load(ws.language)  # letters, as the base knows them: the workspace's own reading may be by phones
        plain = for_language(language, settings=read_settings(ws).model_copy(update={"symbols": "characters"}))
        return CharacterFrontend(language.code, lower=base.lower, pack=plain.pack, via=base.via)
    same = base.frontend.get("language") == ws.language
    state = base.frontend if same else read_state(ws.readings / "frontend.json")
    return from_state({**state, "inventory": None})


def _extended(corpus: Corpus, clips: Sequence[Clip], start: Run) -> Alphabet:
    """The reading of the run before, and the symbols the corpus has come to need since."""
    before, state = vocabulary_of(start), start.document("frontend.json")
    read = read_state(corpus.ws.readings / "frontend.json")
    folds = state.get("folds", {})
    if isinstance(before, PieceVocabulary):
        open_ = from_state({**state, "inventory": None})
        pieces = _grown(before, open_, clips, corpus.ws.language)
        return pieces, state if pieces.size == before.size else {**state, "inventory": _signs(pieces)}
    if start.recipe.base:
        open_ = from_state({**state, "inventory": None})
        needed = {s for clip in clips for s in read_clip(open_, clip.text)[0].symbols(before.marks)}
    else:
        now = _own_vocabulary(corpus.ws)
        same = read["kind"] == state["kind"] and now.marks == before.marks
        needed = set(now.symbols) if same else set()
        folds = {**read.get("folds", {}), **folds} if same else folds
    vocabulary = before.extend(needed)
    if vocabulary.size == before.size:
        return before, state
    left = {rare: near for rare, near in folds.items() if rare not in vocabulary.symbols}
    grown = {**state, "inventory": sorted({*state["inventory"], *needed} - {before.symbols[0]})}
    return vocabulary, {**grown, "folds": left} if left or "folds" in state else grown


def growth_from(old: tuple[str, ...], vocabulary: SymbolVocabulary, *, scale: float, language: str) -> Growth:
    """The rows that are new in a vocabulary, and where each starts."""
    if isinstance(vocabulary, PieceVocabulary):
        return Growth(len(old), starts_of(old, vocabulary, language=language), scale)
    known = {symbol: id for id, symbol in enumerate(old) if symbol in set(vocabulary.sayable())}
    near = (relative(symbol, known, language=language) for symbol in vocabulary.symbols[len(old) :])
    return Growth(len(old), tuple(None if found is None else known[found] for found in near), scale)


def new_symbols(
    vocabulary: SymbolVocabulary, growth: Growth, readings: Mapping[str, Reading], clips: Iterable[Clip]
) -> list[dict[str, Any]]:
    """Each new symbol, the commonest first: how often it comes, where, and what it starts from; null: the mean."""
    counts: Counter[str] = Counter()
    seen_in: dict[str, str] = {}
    new = set(vocabulary.symbols[growth.old :])
    for clip in clips:
        found = [symbol for symbol in _said(vocabulary, readings[clip.id]) if symbol in new]
        counts.update(found)
        for symbol in found:
            seen_in.setdefault(symbol, _place(symbol, clip, readings[clip.id]))
    parents = dict(zip(vocabulary.symbols[growth.old :], growth.parents, strict=True))
    return [
        {
            "symbol": symbol,
            "times": counts[symbol],
            "seen": seen_in.get(symbol),
            "from": _names(vocabulary, parent),
        }
        for symbol, parent in sorted(parents.items(), key=lambda pair: -counts[pair[0]])
    ]


def _said(vocabulary: SymbolVocabulary, reading: Reading) -> list[str]:
    """The symbols of a reading as they have rows."""
    if isinstance(vocabulary, PieceVocabulary):
        return [vocabulary.symbols[id] for id in vocabulary.encode(reading)] if reading.words else []
    return reading.symbols(vocabulary.marks)


def _names(vocabulary: SymbolVocabulary, parent: Start) -> str | None:
    if parent is None or isinstance(parent, int):
        return None if parent is None else vocabulary.symbols[parent]
    return " + ".join(vocabulary.symbols[one] for one in parent)


def said_of_new(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence on the new symbols and what their rows start from; none where nothing is new."""
    if not rows:
        return []
    near = [f"{symbol_name(row['symbol'])} from {symbol_name(row['from'])}" for row in rows if row["from"] is not None]
    mean = [symbol_name(row["symbol"]) for row in rows if row["from"] is None]
    some = partial(first_names, most=LISTED, count=True)
    said = [f"{len(near)} {'starts' if len(near) == 1 else 'start'} from a relative ({some(near)})"] if near else []
    said += [f"{len(mean)} at the mean of all ({some(mean)})"] if mean else []
    return [f"{many(len(rows), 'new symbol')}: {', '.join(said)}; {NEW_SYMBOLS} in the run's folder has each"]


def _place(symbol: str, clip: Clip, reading: Reading) -> str:
    word = next((word.text for word in reading.words if symbol in word.text), "")
    return f"{word!r} in {clip.id}" if word else clip.id


def held_rows(start: TrainingStart, old: tuple[str, ...] | None) -> int:
    """How many old symbol rows are frozen (plan.freeze_old_rows), as the run before had it if there is one."""
    if not start.recipe.plan.freeze_old_rows:
        return 0
    if start.kept:
        return start.kept.held_rows
    if start.before and start.before.recipe.plan.freeze_old_rows:
        return int(start.before.document("facts.json")["held_rows"])
    if old is None:
        raise TrainError("recipe: plan.freeze_old_rows has no effect without --base or --from-run: no symbol is old")
    return len(old)


def own_readings(recipe: Recipe, frontend: AnyFrontend) -> dict[str, Reading]:
    """The recipe's own texts by the names their samples have."""
    return {f"sentence-{number}": frontend.read(text) for number, text in enumerate(recipe.plan.sentences, 1)}


def own_sentences(
    recipe: Recipe, frontend: AnyFrontend, vocabulary: SymbolVocabulary, *, speakers: int, pace: float
) -> list[DemoSentence]:
    """The recipe's own texts; several speakers take turns. `pace` is of the recordings, in seconds a token."""
    made = []
    for number, text in enumerate(recipe.plan.sentences):
        reading = frontend.read(text)
        if not reading.words:
            raise TrainError(f"recipe: plan.sentences: {text!r} holds nothing this voice can say")
        ids = tuple(vocabulary.encode(reading))
        seconds, streams = pace * len(ids), vocabulary.streams(reading)
        made.append(DemoSentence(f"sentence-{number + 1}", ids, number % speakers, seconds, streams))
    return made

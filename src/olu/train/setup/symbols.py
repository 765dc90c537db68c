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
from olu.text.frontend import (
    CorpusFrontend,
    corpus_from_state,
    for_language,
    from_state,
    language_state,
    read_clip,
    read_settings,
    read_state,
)
from olu.text.languages import available, load, traits
from olu.text.piece_growth import Start, prove, renamed_starts, starts_of, with_language
from olu.text.pieces import PieceVocabulary, tag_of, vocabulary_from
from olu.text.several import LanguagesFrontend, parts_of
from olu.text.vocabulary import (
    BLANK,
    VOCABULARY,
    StreamVocabulary,
    SymbolVocabulary,
    is_language_tag,
    language_tag,
    symbol_name,
)
from olu.train.base_facts import is_by_phones
from olu.train.family import Base, DemoSentence
from olu.train.grow_symbols import Growth
from olu.train.recipe import Recipe
from olu.train.run import Run
from olu.train.setup.start import TrainingStart, check_read, vocabulary_of

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
    def frontend(self) -> CorpusFrontend:
        return corpus_from_state(self.frontend_state)


def read_texts(start: TrainingStart, alphabet: Alphabet, clips: Iterable[Clip]) -> TrainingTexts:
    """Every transcript as ids. A family that listens writes symbols of its own."""
    vocabulary, state = alphabet
    if "text" not in start.family.data.needs:
        return TrainingTexts(vocabulary, state, {}, {}, {}, {})
    frontend = corpus_from_state(state)
    readings = {clip.id: read_clip(frontend, clip.text, clip.language)[0] for clip in clips}
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
        found = {s for one in readings.values() for s in one.symbols("none")} - {BLANK}
        codes = {one.language for one in readings.values() if one.language}
        return StreamVocabulary((BLANK, *sorted(found), *(map(language_tag, sorted(codes)) if len(codes) > 1 else ())))
    texts = (_text(one, vocabulary) for one in readings.values())
    made = PieceVocabulary.learn(texts, merges=start.family.data.merges(start.config))
    codes = {one.language for one in readings.values() if one.language} - {start.ws.language}
    for code in (*sorted(codes), start.ws.language):  # the last is that of a text of unknown language
        made = made.grown(tag=tag_of(code))
    return made


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
    if start.base:
        check_read(start.family, start.config, start.base, sorted({clip.language for clip in clips}))
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
    frontend = _frontend_for(start.ws, base, clips, phones=start.family.data.by_phones(start.config))
    marks = "vowel" if isinstance(frontend, CharacterFrontend) else frontend.marks
    own = vocabulary_from(dict(base.vocabulary)) if base.vocabulary else None
    if isinstance(own, PieceVocabulary):
        merges, held = start.family.data.merges(start.config), start.recipe.plan.freeze_old_rows
        grown = _grown(own, frontend, clips, start.ws.language, merges=merges, held=held)
        known = read_state(start.ws.readings / "frontend.json")["inventory"]
        return grown, {**frontend.state(), "inventory": _inventory(grown, frontend, phones=known)}
    readings = [read_clip(frontend, clip.text, clip.language)[0] for clip in clips]
    before = own or SymbolVocabulary(base.symbols, interleave=base.interleave, marks=marks)
    needed = {symbol for one in readings for symbol in one.symbols(before.marks)}
    vocabulary = before.extend({*needed, *_new_tags(before, clips)})
    known = vocabulary.sayable()
    if isinstance(vocabulary, StreamVocabulary):  # its symbols have no tones, and tones that were read are known
        marked = {symbol for one in readings for symbol in one.symbols(marks)}
        known = sorted({*known, *marked, *((base.frontend or {}).get("inventory") or ())})
    return vocabulary, {**frontend.state(), "inventory": known}


def _inventory(
    vocabulary: PieceVocabulary, frontend: CorpusFrontend, *, phones: list[str] | None = None
) -> list[str] | None:
    """What a text may be written with: a frontend lists all else as not read. `phones`: those of the workspace."""
    parts = frontend.by.values() if isinstance(frontend, LanguagesFrontend) else (frontend,)
    by_letters = [one for one in parts if isinstance(one, CharacterFrontend)]
    return vocabulary.signs(lower=all(one.lower for one in by_letters)) if by_letters else phones


def _grown(
    old: PieceVocabulary,
    frontend: CorpusFrontend,
    clips: Sequence[Clip],
    main: str,
    *,
    merges: int = 0,
    held: bool = False,
) -> PieceVocabulary:
    """Pieces with the corpus' languages in them; merges that are learnt leave sentences of other ones as they are.

    `held`: old rows stay as they are, so that a new tag needs one of its own.
    """
    texts: dict[str, list[str]] = {}
    for clip in clips:
        reading = read_clip(frontend, clip.text, clip.language)[0]
        texts.setdefault(clip.language, []).append(_text(reading, old))
    for place, code in enumerate(
        sorted(texts, key=lambda code: (code == main, code)), 1
    ):  # texts unknown have the last
        keep = [one for other in available() if other.code != code for one in other.sentences()] if merges else []
        old = with_language(
            old, texts[code], language=code, merges=merges * place // len(texts), keep=keep, on_spare=not held
        )
    return old


def _frontend_for(ws: Workspace, base: Base, clips: Sequence[Clip], *, phones: bool = False) -> CorpusFrontend:
    """A voice of ours reads on as it did; with one of another language the workspace's own reading counts.

    That counts too where a checkpoint holds phones and nothing of how they are found, and where pieces are to be cut
    of phones.
    """
    if base.frontend is None:
        held = read_state(ws.readings / "frontend.json")
        own = from_state({**language_state(held, ws.language), "inventory": None})
        pieces = (base.vocabulary or {}).get("kind") == "pieces"
        if pieces and phones:
            return _phones(held, ws.language)
        if not pieces and is_by_phones(base, own, (clip.text for clip in clips[:SOME]), language=ws.language):
            return own
        if held["kind"] == LanguagesFrontend.kind:
            return LanguagesFrontend(ws.language, {code: _letters(ws, base, code) for code in parts_of(held)})
        return _letters(ws, base, ws.language)
    read, given = read_state(ws.readings / "frontend.json"), dict(base.frontend)
    if read["kind"] != LanguagesFrontend.kind and given["kind"] == LanguagesFrontend.kind:
        given = parts_of(given).get(ws.language, given)
    same = given.get("language") == ws.language and read["kind"] != LanguagesFrontend.kind
    return corpus_from_state({**(given if same else read), "inventory": None})


def _phones(held: dict[str, Any], main: str) -> CorpusFrontend:
    """The workspace's own reading by phones, of every language it has."""
    states = parts_of(held) if held["kind"] == LanguagesFrontend.kind else {main: held}
    if letters := [code for code, state in states.items() if state["kind"] == CharacterFrontend.kind]:
        raise TrainError(
            f"{', '.join(letters)} is read by letters here: run 'olu read --symbols phones', or learn letters"
        )
    return corpus_from_state({**held, "inventory": None})


def _letters(ws: Workspace, base: Base, code: str) -> CharacterFrontend:
    """The letters of a language as a base knows them, where the workspace's own reading may be by phones."""
    settings = read_settings(ws)
    chosen = (
        settings if code == ws.language else settings.languages.get(code, settings.model_copy(update={"options": {}}))
    )
    plain = for_language(load(code), settings=chosen.model_copy(update={"symbols": "characters"}))
    return CharacterFrontend(code, lower=base.lower, pack=plain.pack, via=base.via)


def _extended(corpus: Corpus, clips: Sequence[Clip], start: Run) -> Alphabet:
    """The reading of the run before, and the symbols the corpus has come to need since."""
    before, state = vocabulary_of(start), start.document("frontend.json")
    read = read_state(corpus.ws.readings / "frontend.json")
    folds = state.get("folds", {})
    if isinstance(before, PieceVocabulary):
        open_ = corpus_from_state({**state, "inventory": None})
        pieces = _grown(before, open_, clips, corpus.ws.language, held=start.recipe.plan.freeze_old_rows)
        if pieces.state() == before.state():
            return pieces, state
        phones = sorted({*(state["inventory"] or ()), *(read["inventory"] or ())})
        return pieces, {**state, "inventory": _inventory(pieces, open_, phones=phones)}
    state = _with_languages(state, read)
    if start.recipe.base:
        open_ = corpus_from_state({**state, "inventory": None})
        needed = {s for clip in clips for s in read_clip(open_, clip.text, clip.language)[0].symbols(before.marks)}
    else:
        now = _own_vocabulary(corpus.ws)
        same = read["kind"] == state["kind"] and now.marks == before.marks
        needed = set(now.symbols) if same or isinstance(before, StreamVocabulary) else set()
        folds = {**read.get("folds", {}), **folds} if same else folds
    vocabulary = before.extend({*needed, *_new_tags(before, clips)})
    if vocabulary.size == before.size:
        return before, state
    left = {rare: near for rare, near in folds.items() if rare not in vocabulary.symbols}
    grown = {**state, "inventory": sorted({*state["inventory"], *needed} - {before.symbols[0]})}
    return vocabulary, {**grown, "folds": left} if left or "folds" in state else grown


def _with_languages(state: dict[str, Any], read: dict[str, Any]) -> dict[str, Any]:
    """The reading of the run before, and for languages it has not met that of the workspace."""
    if read["kind"] != LanguagesFrontend.kind:
        return state
    held = parts_of(state) if state["kind"] == LanguagesFrontend.kind else {from_state(state).language: state}
    return {**read, "by": {**read["by"], **held}, "inventory": state["inventory"]}


def _new_tags(before: SymbolVocabulary, clips: Sequence[Clip]) -> set[str]:
    """The tags of languages that come to a run which has tags, or has them from now on."""
    tags = {language_tag(clip.language) for clip in clips}
    tagged = len(tags) > 1 or any(is_language_tag(symbol) for symbol in before.symbols)
    return tags if tagged and isinstance(before, StreamVocabulary) else set()


def growth_from(old: tuple[str, ...], vocabulary: SymbolVocabulary, *, scale: float, language: str) -> Growth:
    """The rows that are new in a vocabulary, and where each starts."""
    if isinstance(vocabulary, PieceVocabulary):
        starts, again = starts_of(old, vocabulary, language=language), renamed_starts(old, vocabulary)
        return Growth(len(old), starts, scale, again)
    known = {symbol: id for id, symbol in enumerate(old) if symbol in set(vocabulary.sayable())}
    tags = {symbol: id for id, symbol in enumerate(old) if is_language_tag(symbol)}
    near = (
        _near_tag(symbol, tags) if is_language_tag(symbol) else relative(symbol, known, language=language)
        for symbol in vocabulary.symbols[len(old) :]
    )
    known |= tags
    return Growth(len(old), tuple(None if found is None else known[found] for found in near), scale)


def _near_tag(tag: str, tags: Mapping[str, int]) -> str | None:
    """The language whose vector a new one starts from: one that its folder calls near, else the first there is."""
    near = (language_tag(code) for code in traits(tag[1:-1]).near)
    return next((one for one in near if one in tags), next(iter(tags), None))


def new_symbols(
    vocabulary: SymbolVocabulary, growth: Growth, readings: Mapping[str, Reading], clips: Iterable[Clip]
) -> list[dict[str, Any]]:
    """Each new symbol, the commonest first: how often it comes, where, and what it starts from; null: the mean."""
    counts: Counter[str] = Counter()
    seen_in: dict[str, str] = {}
    parents = dict(zip(vocabulary.symbols[growth.old :], growth.parents, strict=True))
    parents |= {vocabulary.symbols[row]: parent for row, parent in growth.again}
    new = set(parents)
    for clip in clips:
        found = [symbol for symbol in _said(vocabulary, readings[clip.id]) if symbol in new]
        counts.update(found)
        for symbol in found:
            seen_in.setdefault(symbol, _place(symbol, clip, readings[clip.id]))
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


def own_readings(recipe: Recipe, frontend: CorpusFrontend) -> dict[str, Reading]:
    """The recipe's own texts by the names their samples have."""
    return {f"sentence-{number}": frontend.read(text) for number, text in enumerate(recipe.plan.sentences, 1)}


def own_sentences(
    recipe: Recipe, frontend: CorpusFrontend, vocabulary: SymbolVocabulary, *, speakers: int, pace: float
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

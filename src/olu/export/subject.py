"""A voice that is about to be written in some format: its network and everything that is known of it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.core.config import check
from olu.core.errors import ExportError
from olu.core.files import Workspace, is_embedded
from olu.core.places import is_here, is_hub_id, located
from olu.core.words import many
from olu.corpus.changed_files import origins
from olu.corpus.manifest import Corpus
from olu.corpus.rights import Rights, of_sources
from olu.export.card import measures_of, readme, shown
from olu.export.rights import ExportTerms, check_consent, claim
from olu.families import family as family_named
from olu.families import family_of_base, first_voice
from olu.families.runs import NEEDS, learner_of, needed_runs
from olu.speak.package import NOISE, voice_json
from olu.text.characters import CharacterFrontend
from olu.text.frontend import AnyFrontend, for_language, from_state
from olu.text.languages import Language, load
from olu.text.letters import LetterTable
from olu.text.pieces import vocabulary_from
from olu.text.spelled import Form, Measure, letters_of, measured, symbols_of
from olu.text.vocabulary import SymbolVocabulary
from olu.train.base_facts import Licence, is_by_phones, language_of, licence_of
from olu.train.family import Base, Card, Family, Speaks
from olu.train.recipe import RESAMPLE
from olu.train.run import Run

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


def from_run(
    ws: Workspace,
    run: Run,
    step: int,
    *,
    name: str,
    licence: str,
    override: str,
    noise: float | None = None,
    vocoder: str = "",
) -> ExportSubject:
    """A run's learner with its averaged weights, what it speaks with, and what is known of its corpus.

    `vocoder`: the run of another one than the recipe's, for a voice that needs one.
    """
    recipe = run.recipe
    family = family_named(recipe.family)
    config = check(family.config, recipe.model, where=f"{run.name}/recipe.toml [model]")
    config, given = with_noise(config, noise, family=family)
    vocabulary = vocabulary_from(run.document("vocabulary.json"))
    named = {"vocoder": vocoder or recipe.voice.vocoder}
    others = needed_runs(ws, family, named=named, before=run.document("facts.json").get(NEEDS), whose=run)
    speakers = run.document("speakers.json")
    corpus = Corpus.open(ws)
    base = base_of(ws, run)
    beside = [other for other, _ in others.values()]
    rights = terms_of(corpus, run, licence=licence, override=override, beside=beside)
    needed = {kind: learner_of(other, at) for kind, (other, at) in others.items()}
    learner = learner_of(run, step, config=config, needed=needed)
    best = run.best
    scores = {f"valid_{best['metric']}": best["score"]} if best and best["step"] == step else {}
    facts = run.document("facts.json")
    settings = recipe.model_dump(mode="json") | ({"base": shown(recipe.base)} if recipe.base else {})  # no folders here
    changed = facts.get("corpus") not in (None, corpus.fingerprint)
    return ExportSubject(
        name=name,
        family=family,
        learner=learner,
        needed=needed,
        language=load(ws.language),
        frontend=from_state(run.document("frontend.json")),
        vocabulary=vocabulary,
        speakers=speakers,
        run=run.name,
        step=step,
        rights=rights,
        texts=_texts(corpus, "train"),
        held_out=_texts(corpus, "valid", "test"),
        scores=scores,
        measures=measures_of(ws, run, step, scores, noise=noise),
        data=(
            *_trained_on(run, corpus, speakers=len(speakers)),
            *(["the corpus has changed since this run was trained: these are its numbers now"] if changed else []),
            f"started from {shown(base)}" if base else "trained from scratch",
            *(f"its {kind} is step {at} of {other.name}" for kind, (other, at) in others.items()),
            *_moved(recipe.data.resample),
            *_noise_said(given),
        ),
        facts={"run": run.name, "step": step, "recipe": settings, **facts, **given},
        resample=recipe.data.resample,
    )


def terms_of(corpus: Corpus, run: Run, *, licence: str, override: str, beside: Iterable[Run] = ()) -> ExportTerms:
    """What may be done with what a run has learnt: of its recordings, its base, and the runs `beside` it."""
    ws = corpus.ws
    base = base_of(ws, run)
    if licence and not override:
        _check_here(base)
    return claim(
        of_sources(ws, sorted(corpus.sources)),
        _licence(base) if base else None,
        names=_source_names(corpus),
        base_name=shown(base),
        licence=licence,
        override=override,
        beside=_licences_beside(ws, beside),
    )


def _licences_beside(ws: Workspace, runs: Iterable[Run]) -> dict[str, Licence]:
    """The bases that other runs of a voice began with, each with its licence."""
    return {shown(base): _licence(base) for run in runs if (base := base_of(ws, run))}


def _texts(corpus: Corpus, *sides: str) -> tuple[str, ...]:
    return tuple(clip.text for clip in corpus if corpus.is_wanted(clip) and corpus.split(clip) in sides)


def _trained_on(run: Run, corpus: Corpus, *, speakers: int) -> list[str]:
    """What the run really learnt from, and how much there was; older runs kept only what they left out."""
    held = run.document("facts.json").get("trained")
    if not isinstance(held, dict):
        left_out = run.document("left_out.json")
        train = [clip for clip in corpus if corpus.split(clip) == "train" and clip.id not in left_out]
        valid = sum(corpus.split(clip) == "valid" and clip.id not in left_out for clip in corpus)
        seconds = sum(corpus.taken(clip).seconds for clip in train)
        held = {
            "clips": len(train),
            "seconds": seconds,
            "valid": valid,
            "of": len(corpus),
            "of_seconds": corpus.seconds,
        }
    whose = many(speakers, "speaker")
    learnt = f"trained on {many(held['clips'], 'clip')}, {_length(held['seconds'])}, {whose}"
    return [
        f"{learnt}; the corpus has {many(held['of'], 'clip')}, {_length(held['of_seconds'])}",
        f"{many(held['valid'], 'clip')} for validation",
    ]


def _length(seconds: float) -> str:
    return f"{seconds / 3600:.2f} hours" if seconds >= 3600 else f"{seconds / 60:.1f} minutes"


def _source_names(corpus: Corpus) -> dict[str, str]:
    """What people know a source by: the folder it was imported from; two of one name stay apart by their short ones."""
    copied = origins(corpus.ws)
    names = {name: copied.get(name, Path(source.root)).name for name, source in corpus.sources.items()}
    times = Counter(names.values())
    return {name: known if times[known] == 1 else f"{known} ({name})" for name, known in names.items()}


def with_noise(config: Any, noise: float | None, *, family: Family) -> tuple[Any, dict[str, Any]]:
    """Settings that speak with this noise, and what a voice says of that in its facts; None changes nothing."""
    if noise is None:
        return config, {}
    speaks = family.speaks
    own = next((knob for knob in speaks.knobs(config) if knob.name == NOISE), None) if speaks else None
    if own is None or speaks is None or speaks.with_knob is None:
        raise ExportError(f"--noise: voices of the family {family.name} speak without any")
    return speaks.with_knob(config, NOISE, noise), {NOISE: {"given": noise, "instead_of": own.default}}


def _noise_said(given: dict[str, Any]) -> list[str]:
    if not given:
        return []
    now, before = given[NOISE]["given"], given[NOISE]["instead_of"]
    return [f"it speaks with noise {now:g}, chosen at its export; it was trained to be used with {before:g}"]


def _moved(factor: float) -> list[str]:
    if factor == 1.0:
        return []
    return [
        f"the recordings were resampled by {factor:g} before training: pitch and formants are {factor:g} times those of"
        " the speaker, so that this is nobody's own voice; it speaks in the tempo of the recordings"
    ]


def base_of(ws: Workspace, run: Run) -> str:
    """The base a run began with, itself or through the runs it went on from."""
    seen: set[str] = set()
    while run.name not in seen:
        seen.add(run.name)
        if run.recipe.base:
            return run.recipe.base
        before = str(run.document("facts.json").get("from") or "").partition("@")[0]
        if not before:
            break
        if not (ws.runs_folder / before / "recipe.toml").is_file():
            return f"{before} (a run that is not here)"  # what that one began with is not known
        run = Run(ws.runs_folder / before)
        if run.fault:
            return f"{before} (a run that is damaged)"
    return ""


def _check_here(base: str) -> None:
    """Refuse to state a licence where the base, which says what it allows, is gone."""
    if base and not is_here(base):
        raise ExportError(
            f"the base {shown(base)} is not here, so what it allows is not known: bring it back, or add"
            " --override-licence 'the reason'"
        )


def _licence(base: str) -> Licence:
    """The licence of a base as far as it is known here; nothing is fetched for it."""
    return licence_of(located(base) if is_embedded(base) else Path(base), origin=base)


def is_foreign(source: Path) -> bool:
    known = any((source / name).is_file() for name in ("config.json", "voice.json"))
    held = source.is_file() or (known and not (source / "olu.toml").exists())
    return held or is_hub_id(source.as_posix()) or is_embedded(source.as_posix())


def from_foreign(source: Path, *, licence: str, override: str, noise: float | None = None) -> ExportSubject:
    """A folder, a file, or an id on the hub."""
    family = first_voice()
    assert family.bases is not None
    place = located(source.as_posix())
    if (other := family_of_base(place)) and other != family.name:
        raise ExportError(
            f"{source} is a base of the family {other!r}, which becomes a voice by a run:"
            f" 'olu train WS --base {source}'"
        )
    base = family.bases.read(place)
    name = source.stem if source.is_file() else Path(source.as_posix().partition("@")[0]).resolve().name
    rights = claim({}, licence_of(place, origin=source.as_posix()), base_name=name, licence=licence, override=override)
    held = voice_json(place)
    told = _told_by(held)
    given_by = Rights(consent=told["consent"], agreed=told["agreed"])
    check_consent(given_by, of=name, foreign=True)
    rights = replace(rights, consent=told["consent"], source=told["source"], answer=given_by.answer)
    factor = _factor(held.get("resample"))
    marks = (base.frontend or {}).get("marks", "vowel")
    vocabulary = SymbolVocabulary(base.symbols, interleave=base.interleave, marks=marks)
    config, given = with_noise(check(family.config, base.settings, where=str(source)), noise, family=family)
    learner = family.learner(config, vocab_size=vocabulary.size, num_speakers=base.num_speakers)
    notes = [note for note in base.load(learner) if not any(part in note for part in base.lacks)]  # of training
    notes += [f"it holds no {' and no '.join(base.lacks)}: speaking needs none"] if base.lacks else []
    language, guessed = _language_of(place, base)
    frontend, said = _frontend_of(base, language, vocabulary)
    sentences = _own_sentences(language)
    alone = ["default"] if base.num_speakers == 1 else [f"speaker-{number}" for number in range(base.num_speakers)]
    return ExportSubject(
        name=name,
        family=family,
        learner=learner,
        language=language,
        frontend=frontend,
        vocabulary=vocabulary,
        speakers=list(base.speakers) or alone,
        run=str(source),
        step=0,
        rights=rights,
        texts=tuple(text for at, text in enumerate(sentences) if at % 5),
        held_out=sentences[::5],
        data=(
            "a checkpoint of another program: what it was trained on is not known here",
            *_moved(factor),
            *_noise_said(given),
        ),
        facts={"base": name, **given},
        lacks=base.lacks,
        notes=(*notes, *guessed, *said),
        resample=factor,
    )


def _told_by(held: dict[str, Any]) -> dict[str, str]:
    """Consent and source that a voice package carries, for what is made from it."""
    rights = held.get("rights")
    more = rights if isinstance(rights, dict) else {}
    told = {"consent": held.get("consent"), "source": more.get("source"), "agreed": more.get("agreed")}
    return {name: value if isinstance(value, str) else "" for name, value in told.items()}


def _factor(value: Any) -> float:
    """The resampling factor of a voice package; 1.0 for a number that no recipe may hold."""
    return float(value) if type(value) in (int, float) and RESAMPLE[0] <= value <= RESAMPLE[1] else 1.0


def _frontend_of(base: Base, language: Language, vocabulary: SymbolVocabulary) -> tuple[AnyFrontend, list[str]]:
    """Letters, as other programs read; phones where its symbols are the phones of a language that Olu has rules for."""
    if base.frontend is not None:
        return from_state(dict(base.frontend)), []
    sayable = vocabulary.sayable()
    if not is_by_phones(base, for_language(language), _own_sentences(language), language=language.code):
        return CharacterFrontend(language.code, lower=base.lower, inventory=sayable, via=base.via), []
    phones = for_language(language, inventory=sayable)
    said = f"its symbols are not the letters of {language.name} but its phones: texts are read by Olu's rules"
    return phones, [said]


def _own_sentences(language: Language) -> tuple[str, ...]:
    """Sentences that come with a language's folder."""
    if language.folder is None or not (language.folder / "sentences.txt").is_file():
        return ()
    lines = (language.folder / "sentences.txt").read_text(encoding="utf-8").splitlines()
    return tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))


def _language_of(place: Path, base: Base) -> tuple[Language, list[str]]:
    """The language its files name, else the code the folder's name begins with, else undetermined."""
    found, by = language_of(place, frontend=base.frontend)
    if found is None:
        unknown = Language(code="und", name="undetermined", native="undetermined")
        return unknown, ["its language is not known: name its folder after the code, such as amh-voice"]
    told = f"its files name no language: {found.name} ({found.code}) is what its folder's name begins with"
    return found, [] if by == "files" else [told]

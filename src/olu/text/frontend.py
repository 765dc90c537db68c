"""Frontends by kind: from a language and what was chosen for it, or from the state a voice package holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator

from olu.core.config import Strict, check, read_toml
from olu.core.errors import LanguageError, TextError, VoiceError
from olu.core.files import Workspace, read_json, write_text
from olu.core.rows import Shape, corrupt_file, schema_error
from olu.core.types import Frontend, Marks, Reading
from olu.text.chain import parse_chain
from olu.text.characters import CharacterFrontend
from olu.text.fallback import bare
from olu.text.language_data import Lexicon, Pack, load_lexicon, place_of
from olu.text.languages import MARKS, load
from olu.text.phones import PhoneFrontend
from olu.text.restore.marks import MarkModel, restores
from olu.text.restore.phones import FILE as LEARNT
from olu.text.restore.phones import PhoneModel
from olu.text.several import LanguagesFrontend, parts_of

if TYPE_CHECKING:
    from olu.text.languages import Language

AnyFrontend = CharacterFrontend | PhoneFrontend
CorpusFrontend = AnyFrontend | LanguagesFrontend
KINDS: dict[str, Callable[[dict[str, Any]], AnyFrontend]] = {
    CharacterFrontend.kind: CharacterFrontend.from_state,
    PhoneFrontend.kind: PhoneFrontend.from_state,
}


FRONTEND: Shape = {"kind": str, "inventory": list[Any] | None}  # what its file must hold, and each kind beside it
BESIDE: dict[str, Shape] = {
    CharacterFrontend.kind: {"language": str, "lower": bool},
    PhoneFrontend.kind: {"pack": dict, "marks": str},
    LanguagesFrontend.kind: {"language": str, "by": dict},
}


class ReadingSettings(Strict):
    """What a person chooses about reading: reading.toml of a workspace, or options of `olu read`."""

    symbols: Literal["auto", "phones", "characters"] = "auto"
    dialect: str | None = None
    marks: Marks = "vowel"  # tones and stress: on their vowel, as symbols of their own, or left off
    lexicon: str | None = None  # a .tsv of a person's own words
    restore: Literal["", "tones", "geminates"] = ""  # marks that a text lacks are put back
    restorer: str | None = None  # what 'olu marks learn' made; none: what comes with the language
    chain: tuple[str, ...] = ()  # readings that are tried word by word, such as lexicon, rules, espeak, letters
    reader: str | None = None  # what 'olu g2p learn' made, for 'learnt' in the chain
    options: dict[str, str] = Field(default_factory=dict)
    languages: dict[str, ReadingSettings] = Field(default_factory=dict)  # of a workspace of several: of the others

    @field_validator("chain", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        listed = isinstance(value, list | tuple)
        return (parse_chain(", ".join(map(str, value))) if value else ()) if listed else parse_chain(str(value))

    def asked(self) -> dict[str, Any]:
        """What a stage remembers: what was chosen, and what there was to choose when the first readings were made."""
        unset = {name for name in ("restore", "restorer", "chain", "reader", "languages") if not getattr(self, name)}
        return self.model_dump(exclude=unset)


DEFAULT = ReadingSettings()


def _check_plain(language: Language, settings: ReadingSettings, lexicon: Mapping[str, str] | None) -> None:
    """Refuse what only a language with a folder has."""
    if settings.symbols == "phones" or settings.dialect or settings.options or lexicon:
        asked = "phones" if settings.symbols == "phones" else "a dialect, options or a lexicon"
        raise LanguageError(f"{language.code} has no folder of its own, so there is no {asked}: leave it out")


def for_language(
    language: Language,
    *,
    settings: ReadingSettings = DEFAULT,
    inventory: Iterable[str] | None = None,
    lexicon: Mapping[str, str] | None = None,
) -> AnyFrontend:
    """Phones where the language's folder can, else characters."""
    more = model_files(language, settings)
    chain = settings.chain or (("lexicon", "learnt") if LEARNT in more and not language.reading.pronounce else ())
    if language.folder is None and (more or chain):
        return _without_folder(language, settings, more, chain, inventory=inventory, lexicon=lexicon)
    if language.folder is None:
        _check_plain(language, settings, lexicon)
        return CharacterFrontend(language.code, lower=language.lower, inventory=inventory)
    where = str(language.folder)
    chosen: dict[str, Any] = {"dialect": settings.dialect, "options": settings.options, "lexicon": lexicon}
    pack = Pack.of({**language.files(), **more}, **chosen, chain=chain, where=where)
    speaks = language.reading.pronounce is not None or bool(chain)
    if settings.symbols == "phones" and not speaks:
        raise LanguageError(f'{language.name} has no rules for phones yet: choose symbols = "characters"')
    if speaks and settings.symbols != "characters":
        return PhoneFrontend(pack, marks=settings.marks, inventory=inventory)
    if lexicon:
        raise LanguageError('a lexicon gives phones, and these are characters: choose symbols = "phones"')
    return CharacterFrontend(language.code, lower=language.lower, inventory=inventory, pack=pack)


def model_files(language: Language, settings: ReadingSettings) -> dict[str, bytes]:
    """The models that a reading takes along: a restorer of marks, and what was learnt from a list of words."""
    files = {}
    if settings.restore:
        files[MARKS] = _restorer(language, settings)
    elif settings.restorer:
        raise LanguageError("--restorer has no effect without --restore: say --restore tones")
    if settings.reader:
        files[LEARNT] = _model(settings.reader, language.code, PhoneModel)
        if settings.chain and "learnt" not in settings.chain:
            raise LanguageError("--reader has no effect on a chain without 'learnt': put it in")
    return files


def _restorer(language: Language, settings: ReadingSettings) -> bytes:
    shipped = language.folder / MARKS if language.folder else None
    if settings.restorer:
        data = _model(settings.restorer, language.code, MarkModel)
    elif shipped is not None and shipped.is_file():
        data = shipped.read_bytes()
    else:
        raise LanguageError(
            f"no restorer of marks comes with {language.name}: make one from texts that have them"
            f" ('olu marks learn TEXTS... --language {language.code}') and name it by --restorer"
        )
    if settings.restorer or settings.restore != "tones":
        found = restores(data, where=settings.restorer or MARKS, language=language.code)
        if found != settings.restore:
            raise LanguageError(
                f"{settings.restorer or f'the restorer of {language.name}'} puts back {found}, not"
                f" {settings.restore}: say --restore {found}, or name another by --restorer"
            )
    return data


def _model(path: str, code: str, kind: type[MarkModel] | type[PhoneModel]) -> bytes:
    try:
        data = Path(path).read_bytes()
    except OSError as bad:
        raise LanguageError(f"the model {path} cannot be read ({bad.strerror}): check the path") from None
    kind.from_bytes(data, where=path, language=code)
    return data


def _without_folder(
    language: Language,
    settings: ReadingSettings,
    models: Mapping[str, bytes],
    chain: Sequence[str],
    *,
    inventory: Iterable[str] | None,
    lexicon: Mapping[str, str] | None,
) -> AnyFrontend:
    """A language that has nothing but what a person learnt for it: its data are made here and travel with the voice."""
    if settings.dialect or settings.options:
        raise LanguageError(f"{language.code} has no folder of its own, so there is no dialect and no option")
    ends = json.dumps(language.sentence_ends, ensure_ascii=False)
    named = {name: getattr(language, name) for name in ("code", "name", "native", "script")}
    facts = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in named.items()]
    facts += ["lower = true", f"sentence_ends = {ends}", ""]
    files = {"language.toml": "\n".join(facts).encode(), **models}
    if LEARNT in models and "espeak" not in chain and "letters" not in chain:
        phones = PhoneModel.from_bytes(models[LEARNT]).phones
        files["phones.tsv"] = "".join(f"{phone}\tphone\n" for phone in phones).encode()
    pack = Pack.of(files, lexicon=lexicon, chain=chain, where=language.code)
    if chain and settings.symbols != "characters":
        return PhoneFrontend(pack, marks=settings.marks, inventory=inventory)
    return CharacterFrontend(language.code, lower=language.lower, inventory=inventory, pack=pack)


def fault_of(state: Any) -> str:
    """What keeps a state from being one of a frontend; nothing when it is one."""
    return schema_error(state, FRONTEND) or schema_error(state, BESIDE.get(state["kind"], {}))


def read_state(path: Path) -> dict[str, Any]:
    """The state that a file of a workspace holds."""
    state = read_json(path)
    if fault := fault_of(state):
        raise corrupt_file(path, fault)
    return dict(state)


def corpus_from_state(state: dict[str, Any]) -> CorpusFrontend:
    """The reading of a workspace or a run, which may be of several languages."""
    if state.get("kind") != LanguagesFrontend.kind:
        return from_state(state)
    return LanguagesFrontend(state["language"], {code: from_state(one) for code, one in parts_of(state).items()})


def language_state(state: dict[str, Any], language: str) -> dict[str, Any]:
    """The state for one language: what a voice, which speaks one, takes along."""
    if state.get("kind") != LanguagesFrontend.kind:
        return state
    return parts_of(state).get(language) or corpus_from_state(state).of(language).state()  # type: ignore[union-attr]


def from_state(state: dict[str, Any]) -> AnyFrontend:
    kind = KINDS.get(state.get("kind", ""))
    if kind is None:
        raise VoiceError(f"unknown frontend {state.get('kind')!r}: this voice needs a newer Olu")
    return kind(state)


# ---- how a workspace is read: WS/reading.toml, which people may edit and `olu read WS` writes for them


FILE = "reading.toml"


def read_settings(ws: Workspace) -> ReadingSettings:
    path = ws.root / FILE
    return check(ReadingSettings, read_toml(path), where=str(path)) if path.exists() else ReadingSettings()


def write_settings(ws: Workspace, settings: ReadingSettings) -> None:
    """Write reading.toml: only what differs from the defaults."""
    write_text(ws.root / FILE, "\n".join(_lines(settings, table="")) + "\n")


def _lines(settings: ReadingSettings, *, table: str) -> list[str]:
    plain = settings.model_dump(mode="json", exclude_defaults=True, exclude={"options", "languages"})
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in plain.items()]
    if settings.options:
        lines += ["", f"[{table}options]"]
        lines += [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in settings.options.items()]
    for code, other in settings.languages.items():
        lines += ["", f"[languages.{code}]", *_lines(other, table=f"languages.{code}.")]
    return lines


def change_settings(ws: Workspace, chosen: dict[str, Any]) -> None:
    """Lay what was chosen over what the workspace has, and try it before it is written."""
    before = read_settings(ws)
    paths: dict[str, Any] = {
        name: str(Path(chosen[name]).resolve()) for name in ("lexicon", "restorer", "reader") if name in chosen
    }
    chosen = {**chosen, **paths}
    options = {**before.options, **chosen.get("options", {})}
    laid = check(ReadingSettings, {**before.model_dump(), **chosen, "options": options}, where="the command line")
    words = load_lexicon(Path(laid.lexicon)) if laid.lexicon else None
    for_language(load(ws.language), settings=laid, lexicon=words)
    if laid != before:
        write_settings(ws, laid)


def with_words(frontend: AnyFrontend, words: Mapping[str, str]) -> PhoneFrontend:
    """The same reading with a person's words before its own; a word it had already is read in the new way."""
    if not isinstance(frontend, PhoneFrontend):
        raise LanguageError("a lexicon gives phones, and this voice reads letters: write its words as they sound")
    held = Lexicon()
    held.update({**frontend.pack.lexicon, **words})
    held.places = dict(words.places) if isinstance(words, Lexicon) else {}
    pack = replace(frontend.pack, lexicon=held)
    changed = PhoneFrontend(pack, marks=frontend.marks, inventory=frontend.inventory, nearest=frontend.nearest)
    if frontend.inventory is not None:
        _check_known(changed, words)
    return changed


def _check_known(frontend: PhoneFrontend, words: Mapping[str, str]) -> None:
    """A voice says only the phones it has learnt: a word with another one is named, with its file and line."""
    known = {bare(symbol) for symbol in frontend.inventory or ()}
    known |= set(frontend.nearest.phones) if frontend.nearest else set()
    for word, phones in words.items():
        lost = [phone for phone in map(bare, phones.split()) if phone not in known]
        if lost:
            said = " ".join(sorted(known & set(frontend.phones)))
            raise LanguageError(
                f"{place_of(words, word)}: {word!r}: this voice never learnt the phone {lost[0]!r}; it knows {said}"
            )


def has_other_lexicon(ws: Workspace, held: Mapping[str, Any]) -> bool:
    """Whether the words of a workspace are no longer those that a run was trained with (`held`, its state)."""
    own = lexicon_path(ws, read_settings(ws))
    try:
        now = dict(load_lexicon(own)) if own is not None else {}
    except LanguageError:  # `olu read` says what is wrong with it
        return False
    pack = held.get("pack")
    return isinstance(pack, dict) and dict(pack.get("lexicon") or {}) != now


def lexicon_path(ws: Workspace, settings: ReadingSettings) -> Path | None:
    """Relative to the workspace, so that it may move with it."""
    return None if settings.lexicon is None else ws.root / settings.lexicon


def frontend_for(frontend: Frontend, language: str) -> Frontend:
    """The one that reads a language, of a corpus that may have several."""
    return frontend.of(language) if language and isinstance(frontend, LanguagesFrontend) else frontend


def read_clip(frontend: Frontend, text: str, language: str = "") -> tuple[Reading, str]:
    """A transcript's reading; one whose markup is malformed has none, and why.

    `language`: of the clip, where a corpus may have several.
    """
    try:
        return frontend_for(frontend, language).read(text), ""
    except TextError as bad:
        return Reading(text=text, normal="", words=(), breaks=("",), dropped={}), str(bad)

"""What a base's own files tell: its licence, its language, and whether it reads letters or phones."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from olu.core.errors import LanguageError, TextError
from olu.core.parse import BadData, from_json, from_toml, load_json
from olu.core.types import Reading
from olu.text.characters import CharacterFrontend
from olu.text.frontend import AnyFrontend
from olu.text.languages import Language, load
from olu.text.phones import PhoneFrontend
from olu.text.vocabulary import SymbolVocabulary
from olu.train.family import Base

READMES = ("README.md", "readme.md", "MODEL_CARD.md")
TEXTS = ("LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "LICENCE.txt", "COPYING")
CONFIG, VOICE = "config.json", "voice.json"
NON_COMMERCIAL = re.compile(
    r"non?[-\s]?commercial|not for commercial|commercial use (is )?(not|prohibited|forbidden)|no comercial|"
    r"(?<![a-z])(by)?nc(?![a-z])|(?<![a-z])cpml(?![a-z])|coqui[-\s]public[-\s]model",
    re.I,
)
# A grant for every purpose, as in the Unlicense: "commercial or non-commercial".
ANY_PURPOSE = re.compile(
    r"(?<![a-z-])commercial\s+(or|and|and/or)\s+non[-\s]?commercial|"
    r"non[-\s]?commercial\s+(or|and|and/or)\s+commercial",
    re.I,
)
# what a config names as its origin -> the licence of that
KNOWN = {"facebook/mms-tts": "cc-by-nc-4.0", "ylacombe/mms-tts": "cc-by-nc-4.0"}
# what only the config of one published model has among its `model_args` -> the licence of that
ARGUMENTS = {"gpt_code_stride_len": "Coqui Public Model License 1.0 (CPML, non-commercial)"}
VOCABULARY, LEAST_TOKENS = "vocab.json", 6153
FIRST_TOKENS = {"[STOP]": 0, "[UNK]": 1, "[SPACE]": 2, "[en]": 259, "[START]": 261}
FIRST = 4000  # characters of a licence text that are looked at


@dataclass(frozen=True)
class Licence:
    name: str = ""  # nothing: the folder does not say
    where: str = ""
    credits: str = ""  # who is to be named

    @property
    def non_commercial(self) -> bool:
        return _forbids_business(self.name)

    def sentence(self) -> str:
        if not self.name:
            return "Its folder names no licence: find out what it allows before you publish a voice made from it."
        if self.non_commercial:
            return (
                f"Its licence is {self.name} ({self.where}): NON-COMMERCIAL. A voice made from it must not be sold or"
                " used for business, whatever your own recordings allow."
            )
        return f"Its licence is {self.name} ({self.where}): its terms hold for the voice too."


def _forbids_business(text: str) -> bool:
    return bool(NON_COMMERCIAL.search(ANY_PURPOSE.sub("", text)))


def licence_of(folder: Path, *, origin: str = "") -> Licence:
    """The strictest that is found: one file that says non-commercial outweighs another that does not."""
    if folder.suffix == ".zip" and zipfile.is_zipfile(folder):
        return _in_zip(folder)
    folder = folder.parent if folder.is_file() else folder
    # a voice of Olu's has the licence in full; the card has it as the hub writes it
    found = [*_configs(folder, VOICE), *_cards(folder), *_configs(folder, CONFIG), *_texts(folder)]
    found += [Licence(name, origin) for start, name in KNOWN.items() if origin.startswith(start)]
    found += _before(folder)
    found = found or _vocabularies(folder)
    strictest = next((one for one in found if one.non_commercial), found[0] if found else Licence())
    return replace(strictest, credits=_credits(folder))


def _before(folder: Path) -> list[Licence]:
    """Of what a run of Olu's started from, where the folder is one and that is still there."""
    try:
        base = from_toml(_read(folder / "recipe.toml")).get("base")
    except BadData:
        return []
    held = licence_of(Path(base)) if isinstance(base, str) and Path(base).exists() else Licence()
    return [held] if held.name else []


def _in_zip(path: Path) -> Licence:
    """The licence of a voice package in one file."""
    try:
        with zipfile.ZipFile(path) as archive:
            facts = from_json(archive.read("voice.json"))
            told = [facts.get(name) for name in ("licence", "credits")]
    except (KeyError, ValueError, AttributeError, zipfile.BadZipFile):
        return Licence()
    name, credits = (one if isinstance(one, str) else "" for one in told)
    return Licence(name, "voice.json" if name else "", credits)


def _credits(folder: Path) -> str:
    """Who is to be named for a base, by voice.json or the card of an export of Olu's."""
    told = _facts(folder / "voice.json").get("credits")
    if isinstance(told, str):
        return told
    found = (re.search(r"^- Credits: (.+)$", _read(folder / name), flags=re.M) for name in READMES)
    return next((match[1].strip() for match in found if match), "")


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _cards(folder: Path) -> list[Licence]:
    found = []
    for name in READMES:
        head = _read(folder / name)[:FIRST]
        if match := re.search(r"^licen[cs]e:\s*[\"']?([^\s\"'#]+)", head, flags=re.M | re.I):
            other = re.search(r"^licen[cs]e_name:\s*[\"']?([^\"'\n#]+)", head, flags=re.M | re.I)
            found.append(Licence(other[1].strip() if other and match[1] == "other" else match[1], name))
    return [one for one in found if one.name != "not stated"]


def _configs(folder: Path, name: str) -> list[Licence]:
    facts = _facts(folder / name)
    told = next((facts[key] for key in ("license", "licence") if isinstance(facts.get(key), str)), "")
    origin = str(facts.get("_name_or_path", ""))
    told = told or next((known for start, known in KNOWN.items() if origin.startswith(start)), "")
    held = facts.get("model_args")
    told = told or next((known for key, known in ARGUMENTS.items() if isinstance(held, dict) and key in held), "")
    return [Licence(told, name)] if told else []


def _vocabularies(folder: Path) -> list[Licence]:
    """A folder that says nothing, with a vocabulary that only one published model has: the first tokens of XTTS v2."""
    model = _facts(folder / VOCABULARY).get("model")
    table = model.get("vocab") if isinstance(model, dict) else None
    same = isinstance(table, dict) and all(table.get(token) == id for token, id in FIRST_TOKENS.items())
    return [Licence(ARGUMENTS["gpt_code_stride_len"], VOCABULARY)] if same and len(table or ()) >= LEAST_TOKENS else []


def _facts(path: Path) -> dict[str, Any]:
    try:
        facts = from_json(_read(path) or "{}")
    except BadData:
        return {}
    return facts if isinstance(facts, dict) else {}


def _texts(folder: Path) -> list[Licence]:
    found = []
    for name in TEXTS:
        text = _read(folder / name)[:FIRST]
        if text.strip():
            title = next(line.strip() for line in text.splitlines() if line.strip())[:80]
            hidden = _forbids_business(text) and not _forbids_business(title)
            found.append(Licence(f"{title}, non-commercial" if hidden else title, name))
    return found


MMS = re.compile(r"mms-tts(?:-|/full_models/)([a-z]{3})(?![a-z])")
BY_NAME = re.compile(r"([a-z]{3})\b")


class BaseLanguage(NamedTuple):
    language: Language | None
    by: Literal["", "files", "mms", "name"]  # what told it; a name that begins with three letters is a guess


def language_of(place: Path, *, frontend: Mapping[str, Any] | None = None, origin: str = "") -> BaseLanguage:
    """The language of a base. `frontend`: the state of a voice of Olu's; `origin`: its id on the hub."""
    folder = place.parent if place.is_file() else place
    name = origin.partition("@")[0] or folder.resolve().name
    told = (frontend or {}).get("language") or _tokenizer(folder).get("language")
    if isinstance(told, str) and (found := _load(told)):
        return BaseLanguage(found, "files")
    if (match := MMS.search(name)) and (found := _load(match[1])):
        return BaseLanguage(found, "mms")
    if (match := BY_NAME.match(Path(name).name)) and (found := _load(match[1])):
        return BaseLanguage(found, "name")
    return BaseLanguage(None, "")


def _load(code: str) -> Language | None:
    try:
        return load(code)
    except LanguageError:
        return None


def _tokenizer(folder: Path) -> dict[str, Any]:
    """The tokenizer's settings; empty where they are missing or damaged."""
    try:
        held = load_json(folder / "tokenizer_config.json")
    except (BadData, OSError):
        return {}
    return held if isinstance(held, dict) else {}


ENOUGH = 0.9  # of the phones of some texts must be symbols of it: of a to z alone three quarters are


def is_by_phones(base: Base, phones: AnyFrontend, texts: Iterable[str], *, language: str) -> bool:
    """Whether its symbols are phones: by its own word, or because they fit the phones of texts better than letters."""
    if base.via is not None or not isinstance(phones, PhoneFrontend):
        return False
    if base.phones:
        return True
    sayable = SymbolVocabulary(base.symbols, interleave=base.interleave).sayable()
    known = set(sayable)
    letters = CharacterFrontend(language, lower=base.lower, inventory=sayable)
    heard, written = [0, 0], [0, 0]  # found, of all
    for text in texts:
        if (said := _reading(phones, text)) is None or (spelled := _reading(letters, text)) is None:
            continue
        symbols = [symbol for symbol in said.symbols(phones.marks) if symbol.strip()]
        heard = [heard[0] + sum(symbol in known for symbol in symbols), heard[1] + len(symbols)]
        kept = sum(len(word.text) for word in spelled.words)
        written = [written[0] + kept, written[1] + kept + sum(spelled.dropped.values())]
    share = heard[0] / max(1, heard[1])
    return share >= ENOUGH and share > written[0] / max(1, written[1])


def _reading(frontend: AnyFrontend, text: str) -> Reading | None:
    try:
        return frontend.read(text)
    except TextError:
        return None

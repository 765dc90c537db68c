"""Under which licence a base is given, as far as its own folder says."""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from olu.core.parse import BadData, from_json

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
    strictest = next((one for one in found if one.non_commercial), found[0] if found else Licence())
    return replace(strictest, credits=_credits(folder))


def _in_zip(path: Path) -> Licence:
    """Of a voice package in one file."""
    try:
        with zipfile.ZipFile(path) as archive:
            facts = from_json(archive.read("voice.json"))
            told = [facts.get(name) for name in ("licence", "credits")]
    except (KeyError, ValueError, AttributeError, zipfile.BadZipFile):
        return Licence()
    name, credits = (one if isinstance(one, str) else "" for one in told)
    return Licence(name, "voice.json" if name else "", credits)


def _credits(folder: Path) -> str:
    """As an export of Olu has them: in voice.json, and in the card of every other format."""
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
    return [Licence(told, name)] if told else []


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

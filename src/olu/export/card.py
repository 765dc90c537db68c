"""The README.md of an export: what it is, how good it was measured to be, what it was made from, how to use it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from pathlib import Path

import olu
from olu.export.subject import ExportSubject

# What the hub calls licences that people may write in other ways.
KNOWN = {"mit", "apache-2.0", "cc0-1.0", "gpl-3.0", "agpl-3.0", "bsd-3-clause", "openrail"}
CREATIVE = ("cc-by", "cc-by-sa", "cc-by-nc", "cc-by-nc-sa", "cc-by-nd", "cc-by-nc-nd")
VERSIONS = ("2.0", "3.0", "4.0")


def readme(
    subject: ExportSubject,
    *,
    what: str,
    use: str,
    lost: Iterable[str] = (),
    files: Iterable[str] = (),
    library: str,
) -> str:
    """`use` is a code block or sentences; `lost` says what this format could not keep; `library` is what speaks it."""
    parts = [_front(subject, library), f"# {subject.name}", "", _about(subject, what), ""]
    parts += _section("Files", [f"- {one}" for one in files])
    parts += ["## How to use it", "", use.strip(), ""]
    parts += _section("What this format does not keep", [f"- {one}" for one in lost])
    parts += _section("Measured", [f"- {one}" for one in subject.measures] or ["- Nothing was measured of this voice."])
    parts += _section("Data", [f"- {one}" for one in subject.data])
    parts += _section("Licence and consent", subject.rights.lines())
    return "\n".join(parts).lstrip("\n")


def quoted_example(subject: ExportSubject) -> str:
    """A text for a command line of a card: a sentence that the voice can say, where its language has any."""
    return shlex.quote(subject.example) if subject.example else '"..."'


def _about(subject: ExportSubject, what: str) -> str:
    who = f"{len(subject.speakers)} speakers" if len(subject.speakers) > 1 else "one speaker"
    kind = "letters" if subject.by_letters else "phones"
    return (
        f"A voice for {subject.language.name} ({subject.language.code}), {who}, made with Olu {olu.__version__} from"
        f" {shown(subject.run)}, step {subject.step}. It reads {kind}. {what}"
    )


def shown(place: str) -> str:
    """A place without the folders of this machine."""
    return Path(place).name if Path(place).is_absolute() or Path(place).exists() else place


def _section(title: str, lines: list[str]) -> list[str]:
    return [f"## {title}", "", *lines, ""] if lines else []


def _front(subject: ExportSubject, library: str) -> str:
    """What the hub and programs read of a card: Olu itself looks here for the licence of a base."""
    licence = hub_licence(subject.rights.licence)
    lines = ["---", f"language: {subject.language.code}", f"license: {licence}"]
    if licence == "other":
        lines.append(f"license_name: {json.dumps(subject.rights.licence or 'not stated', ensure_ascii=False)}")
    tags = dict.fromkeys(("text-to-speech", subject.family.name, library, "olu"))
    lines += [f"library_name: {library}", "pipeline_tag: text-to-speech", "tags:", *(f"- {tag}" for tag in tags)]
    return "\n".join([*lines, "---", ""])


def hub_licence(licence: str) -> str:
    """A licence as the hub lists it; "other" where it does not."""
    plain = licence.strip().lower().replace(" ", "-")
    fits = plain in KNOWN or plain in {f"{name}-{version}" for name in CREATIVE for version in VERSIONS}
    return plain if fits else "other"

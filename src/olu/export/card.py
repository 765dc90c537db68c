"""The README.md of an export: what it is, how good it was measured to be, what it was made from, how to use it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import olu
from olu.core.files import Workspace
from olu.core.parse import BadData, load_json
from olu.evaluate.words import named, spread_of, written
from olu.train.run import Run

if TYPE_CHECKING:
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
    """The card of an export. `use`: code or sentences; `lost`: what is not kept; `library`: what speaks it."""
    parts = [_front(subject, library), f"# {subject.name}", "", _about(subject, what), ""]
    parts += _section("Files", [f"- {one}" for one in files])
    parts += ["## How to use it", "", use.strip(), ""]
    parts += _section("What this format does not keep", [f"- {one}" for one in lost])
    parts += _section("Measured", [f"- {one}" for one in subject.measures] or ["- Nothing was measured of this voice."])
    parts += _section("Data", [f"- {one}" for one in subject.data])
    parts += _section("Licence and consent", subject.rights.lines())
    return "\n".join(parts).lstrip("\n")


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


# ---------------------------------------------------------------- how good the voice is, as sentences


def measures_of(
    ws: Workspace, run: Run, step: int, scores: dict[str, float], *, noise: float | None = None
) -> tuple[str, ...]:
    """Numbers of the newest evaluation of this step, else what training itself measured."""
    found = evaluation_of(ws, run.name, step, noise=noise)
    if found:
        return found
    told = [
        f"{name.removeprefix('valid_')} {value:.4g} on the validation clips, during training"
        for name, value in scores.items()
    ]
    return (*told, "No evaluation of this step was made: 'olu evaluate' makes one.") if told else ()


def evaluation_of(ws: Workspace, run: str, step: int, *, noise: float | None = None) -> tuple[str, ...]:
    """What the newest evaluation of a step found, as sentences; nothing where there is none.

    One that spoke with the voice's own noise, the recipe's where that is None, comes before all others.
    """
    found = [held for held in _evaluations(ws) if held.get("run") == run and held.get("step") == step]
    held = next((one for one in found if _spoke_with(one, noise)), found[0] if found else {})
    lines = [_figure(one) for one in held.get("figures", []) if _belongs_on_a_card(one)]
    return (*_noise_of(held, noise), *lines) if lines else ()


def _noise_of(held: dict[str, Any], noise: float | None) -> list[str]:
    spoken = held.get("noise")
    with_ = "the noise of the recipe" if spoken is None else f"noise {spoken:g}"
    if not _spoke_with(held, noise):
        return [
            f"All of these were spoken with {with_}, which is not what this voice speaks with unless it is asked to."
        ]
    return [] if spoken is None else [f"All of these were spoken with {with_}."]


def _evaluations(ws: Workspace) -> Iterator[dict[str, Any]]:
    """The evaluations of a workspace, the newest first."""
    pages = sorted(ws.root.glob("evaluations/*/evaluation.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in pages:
        try:
            yield load_json(path)
        except BadData:
            continue


def _spoke_with(held: dict[str, Any], noise: float | None) -> bool:
    """Whether an evaluation was made with this noise; older ones spoke as the recipe has it."""
    usual = held.get("subject", {}).get("usual_noise")
    return held.get("noise") == usual if noise is None else held.get("noise") == noise


def _belongs_on_a_card(one: dict[str, Any]) -> bool:
    """Whether a figure is a main one that was measured; the report has all."""
    return named(one["name"]).main and _middle(one) is not None


def _figure(one: dict[str, Any]) -> str:
    metric, unit = named(one["name"]), one.get("unit", "")
    between = spread_of(one.get("low"), one.get("high"), unit)
    natural = f"; the recordings themselves {written(one['natural'], unit)}" if one.get("natural") is not None else ""
    doubt = f". Trust it little: {one['reason']}" if one.get("trust") == "low" and one.get("reason") else ""
    return (
        f"{metric.title} ({metric.explain}): {written(_middle(one), unit)}{f' ({between})' if between else ''} in"
        f" {one['n']} sentences{natural}; by {one.get('instrument') or 'Olu'}{doubt}"
    )


def _middle(one: dict[str, Any]) -> float | None:
    middle: float | None = one.get("median", one.get("mean"))
    return middle

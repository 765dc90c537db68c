"""What is known of how good a voice is, as sentences for its card."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from olu.core.files import Workspace
from olu.core.parse import BadData, load_json
from olu.evaluate.words import named, spread_of, written
from olu.train.run import Run


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
    """The newest first."""
    pages = sorted(ws.root.glob("evaluations/*/evaluation.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in pages:
        try:
            yield load_json(path)
        except BadData:
            continue


def _spoke_with(held: dict[str, Any], noise: float | None) -> bool:
    """Older evaluations do not say: they spoke as the recipe has it."""
    usual = held.get("subject", {}).get("usual_noise")
    return held.get("noise") == usual if noise is None else held.get("noise") == noise


def _belongs_on_a_card(one: dict[str, Any]) -> bool:
    """The main figures; the evaluation's own report has all."""
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

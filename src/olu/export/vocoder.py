"""The package of a vocoder alone, `x.vocoder`: its graph, what it was made for, and what training on from it needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from olu.core.errors import ExportError
from olu.core.files import Workspace, hash_file, whole, write_json, write_text
from olu.corpus.manifest import Corpus
from olu.export.subject import terms_of
from olu.families import family as family_named
from olu.families.runs import learner_of
from olu.networks.session import halve
from olu.train.base_facts import VOCODER as CARD
from olu.train.run import Run

DECODER, TRAINING = "decoder.onnx", "training.safetensors"
SCHEMA = 1
README = """# {name}

A vocoder: mel and pitch to sound. Its acoustic model has to make the spectrogram that `vocoder.json` tells of.
It was trained on {minutes:.0f} minutes of recordings, {step} steps.

- Licence: {licence}
- Credits: {credits}
"""


def write_vocoder(
    ws: Workspace, run: Run, step: int, path: Path, *, with_training: bool, licence: str, override: str
) -> dict[str, Any]:
    """Write the package whole; returns what its card says, and what a person should know of its rights."""
    import torch
    from safetensors.torch import save_file

    if path.exists() and not (path / CARD).is_file():
        raise ExportError(f"{path} is there already and is no vocoder: choose another name with -o")
    terms = terms_of(Corpus.open(ws), run, licence=licence, override=override)
    learner: Any = learner_of(run, step)
    trained = run.document("facts.json").get("trained", {})
    with whole(path) as partial:
        partial.mkdir()
        made = learner.write_decoder(partial)
        halve(partial / DECODER)
        if with_training:
            state = learner.state_dict()
            half = {name: one.to(torch.float16) for name, one in state.items()}  # what it learns soon moves more
            save_file({name: one.contiguous() for name, one in half.items()}, partial / TRAINING)
        card = {
            "schema": SCHEMA,
            "name": path.stem,
            "family": run.recipe.family,
            **made,
            "settings": family_named(run.recipe.family).config(**run.recipe.model).model_dump(mode="json"),
            **terms.facts(),
            "run": run.name,
            "step": step,
            "files": {one.name: hash_file(one) for one in sorted(partial.iterdir())},
        }
        write_json(partial / CARD, card)
        told = {"licence": terms.licence or "none is named", "credits": card.get("credits") or "none are named"}
        seconds = float(trained.get("seconds", 0.0))
        write_text(partial / "README.md", README.format(name=path.stem, minutes=seconds / 60, step=step, **told))
    return {**card, "licence": terms.licence, "notes": terms.notes()}

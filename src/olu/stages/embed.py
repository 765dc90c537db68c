"""A voice package made small enough to come with Olu itself: what its graphs hold is not kept twice."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from olu.errors import ExportError
from olu.files import disk_bytes, read_json, whole, write_json
from olu.stages.extras import need_training

MOST_BYTES = 14 * 2**20  # of all that speaking needs


@dataclass(frozen=True)
class EmbedSummary:
    voice: str
    speaking_bytes: int
    training_bytes: int
    shared: int  # weights that are kept once


def embed(package: Path, target: Path, *, judge: bool = True) -> EmbedSummary:
    """Copy a package folder made with --with-training to `target`. Without `judge` its discriminator stays behind."""
    need_training("a voice to embed")
    from olu.export.package import seal
    from olu.families.vits.base import read_base
    from olu.families.vits.foreign.names import JUDGE
    from olu.families.vits.foreign.shared import find_shared
    from olu.speak.voice import Voice

    if not (package / "training" / "weights.safetensors").is_file():
        raise ExportError(f"{package} is no package folder with training/: 'olu export WS --to voice --with-training'")
    if target.exists() and not (target / "voice.json").is_file():
        raise ExportError(f"{target} is there already and is no voice: choose another name")
    from safetensors.torch import load_file, save_file

    with whole(target) as partial:
        shutil.copytree(package, partial)
        part = partial / "training"
        weights = load_file(part / "weights.safetensors")
        weights = {name: value for name, value in weights.items() if judge or not name.startswith(JUDGE)}
        settings = read_json(part / "settings.json")
        shared = {**settings.get("shared", {}), **find_shared(partial, weights)}
        save_file({n: v for n, v in weights.items() if n not in shared}, part / "weights.safetensors")
        (part / "weights.safetensors").chmod(0o644)  # it was written for its owner alone
        write_json(part / "settings.json", {**settings, "shared": shared})
        seal(partial, read_json(partial / "check.json")["sentences"])
        training, total = disk_bytes(part), disk_bytes(partial)
        if total - training > MOST_BYTES:
            raise ExportError(f"{package} takes {(total - training) / 2**20:.1f} MiB to speak, and 14 are the most")
        Voice.open(partial)
        read_base(partial)
    return EmbedSummary(str(target), total - training, training, len(shared))

"""Put a voice into the package, for `olu speak` without --voice: python dev/embed.py X.voice NAME [--no-discriminator]

X.voice is a folder from `olu export WS --to voice --with-training -o X.voice`. It becomes src/olu/voices/NAME.voice,
the only one there. Its card (README.md) and its rights go with it: write those into [rights] of olu.toml before the
export. It is made small: nothing is kept twice, and what only trains is in few bits.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.core.errors import ExportError
from olu.core.files import VOICES, disk_bytes, read_json, whole, write_json
from olu.core.stage import need_training

MOST_BYTES = 14_000_000  # of all of it
BITS = {"discriminator.": 4, "posterior_encoder.": 8}  # of what speaking does not need
LEAST = 256  # numbers; a smaller tensor is not worth it
CLOSE = 2e-3  # of a tensor's largest number: weight norm folded in another order rounds otherwise


@dataclass(frozen=True)
class EmbedSummary:
    voice: str
    speaking_bytes: int
    training_bytes: int
    shared: int  # weights that are kept once


def embed(package: Path, target: Path, *, discriminator: bool = True) -> EmbedSummary:
    """Copy a package folder made with --with-training to `target`. Without `discriminator` that stays behind."""
    need_training("a voice to embed")
    from olu.export.package import seal
    from olu.families.vits.base import read_base
    from olu.families.vits.foreign.names import DISCRIMINATOR
    from olu.families.vits.foreign.quantise import coarsened, refined
    from olu.speak.voice import Voice

    if not (package / "training" / "weights.safetensors").is_file():
        raise ExportError(f"{package} is no package folder with training/: 'olu export WS --to voice --with-training'")
    if target.exists() and not (target / "voice.json").is_file():
        raise ExportError(f"{target} is there already and is no voice: choose another name")
    from safetensors.torch import load_file, save_file

    with whole(target) as partial:
        shutil.copytree(package, partial)
        part = partial / "training"
        settings = read_json(part / "settings.json")
        held = refined(load_file(part / "weights.safetensors"), settings.get("coarse", {}), where=str(package))
        weights = {
            name: value.half() for name, value in held.items() if discriminator or not name.startswith(DISCRIMINATOR)
        }
        shared = {**settings.get("shared", {}), **find_shared(partial, weights)}
        rest = {name: value for name, value in weights.items() if name not in shared}
        stored, grains = coarsened(rest, {name: bits for name in rest if (bits := _bits(name, rest[name].numel()))})
        save_file(stored, part / "weights.safetensors")
        (part / "weights.safetensors").chmod(0o644)  # it was written for its owner alone
        write_json(part / "settings.json", {**settings, "shared": shared, "coarse": grains})
        seal(partial, read_json(partial / "check.json")["sentences"])
        training, total = disk_bytes(part), disk_bytes(partial)
        if total > MOST_BYTES:
            raise ExportError(f"{package} would take {total / 1e6:.1f} MB, and {MOST_BYTES / 1e6:.0f} are the most")
        Voice.open(partial)
        read_base(partial)
    return EmbedSummary(str(target), total - training, training, len(shared))


def find_shared(package: Path, weights: Mapping[str, Any]) -> dict[str, Any]:
    """Where in the graphs of a package folder each of these weights stands, for those that do."""
    from olu.families.vits.foreign.quantise import GRAPHS, arrays_of

    held = [(graph, name, array) for graph in GRAPHS for name, array in arrays_of(package, graph)]
    found = {}
    for name, value in weights.items():
        if value.numel() >= LEAST and (place := _place(value.float().numpy(), held)) is not None:
            found[name] = place
    return found


def _place(wanted: NDArray[Any], held: list[tuple[str, str, NDArray[Any]]]) -> dict[str, Any] | None:
    room = CLOSE * float(np.abs(wanted).max())
    for graph, name, array in held:
        if array.size != wanted.size:
            continue
        for axes in permutations(range(array.ndim)):
            turned = array.transpose(axes)
            if [n for n in turned.shape if n > 1] != [n for n in wanted.shape if n > 1]:
                continue
            if np.abs(turned.reshape(wanted.shape).astype(np.float32) - wanted).max() <= room:
                return {"graph": graph, "tensor": name, "axes": list(axes), "shape": list(wanted.shape)}
    return None


def _bits(name: str, numbers: int) -> int | None:
    return next((bits for start, bits in BITS.items() if name.startswith(start) and numbers >= LEAST), None)


def main() -> None:
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    if len(words) != 2 or set(sys.argv[1:]) - {*words, "--no-discriminator"}:
        sys.exit(__doc__)
    target = VOICES / f"{words[1]}.voice"
    made = embed(Path(words[0]), target, discriminator="--no-discriminator" not in sys.argv)
    for old in VOICES.glob("*.voice"):
        if old != target:
            shutil.rmtree(old)
    sys.stdout.write(
        f"{target}: {made.speaking_bytes / 2**20:.1f} MiB to speak, {made.training_bytes / 2**20:.1f} MiB more to"
        f" train on from it ({made.shared} weights are kept once)\n"
    )


if __name__ == "__main__":
    main()

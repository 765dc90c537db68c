"""Put a voice into the package, for `olu speak` without --voice: python dev/embed.py X.voice NAME [--no-judge]

X.voice is a folder from `olu export WS --to voice --with-training -o X.voice`. It becomes src/olu/voices/NAME.voice,
the only one there. Its card (README.md) and its rights go with it: write those into [rights] of olu.toml before the
export.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from olu.core.files import VOICES
from olu.stages.embed import embed


def main() -> None:
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    if len(words) != 2 or set(sys.argv[1:]) - {*words, "--no-judge"}:
        sys.exit(__doc__)
    target = VOICES / f"{words[1]}.voice"
    made = embed(Path(words[0]), target, judge="--no-judge" not in sys.argv)
    for old in VOICES.glob("*.voice"):
        if old != target:
            shutil.rmtree(old)
    sys.stdout.write(
        f"{target}: {made.speaking_bytes / 2**20:.1f} MiB to speak, {made.training_bytes / 2**20:.1f} MiB more to"
        f" train on from it ({made.shared} weights are kept once)\n"
    )


if __name__ == "__main__":
    main()

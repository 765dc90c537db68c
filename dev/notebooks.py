"""Writes the notebooks: `python dev/notebooks.py`. One source for Colab and Kaggle, which differ in where files lie."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "notebooks"

PLACES = {
    "colab": (
        "Colab",
        "Runtime, Change runtime type, T4 GPU. Files in `/content` go with the machine; the last cell packs the voice.",
        "/content",
    ),
    "kaggle": (
        "Kaggle",
        "Settings: Accelerator GPU T4, Internet on. What lies in `/kaggle/working` is kept with the version you save.",
        "/kaggle/working",
    ),
}

INSTALL = """# The clone of Olu: upload it as olu.zip, or name its address here.
import os, pathlib, subprocess, sys
HOME = pathlib.Path(os.environ.get("OLU_HOME", "{home}"))
CLONE = pathlib.Path(os.environ.get("OLU_CLONE", HOME / "olu"))
if not CLONE.is_dir():
    subprocess.run(["unzip", "-q", str(HOME / "olu.zip"), "-d", str(HOME)], check=True)
if os.environ.get("OLU_INSTALLED") != "1":
    pip = [sys.executable, "-m", "pip", "install", "-qq", "-e", f"{{CLONE}}[train,text,eval,media]"]
    subprocess.run(pip, check=True)

def olu(*words):
    "Run a verb of Olu and show what it says."
    subprocess.run([sys.executable, "-m", "olu", *map(str, words)], check=True, cwd=HOME)

olu("doctor")"""

DATA = """# Your recordings: a folder with metadata.csv (name|text lines) and wavs/. Without one, made ones stand in.
FOLDER = HOME / "recordings"
LANGUAGE = os.environ.get("OLU_LANGUAGE", "am")
if not FOLDER.exists():
    olu("sample", FOLDER, *os.environ.get("OLU_SAMPLE", "").split())
olu("new", "voice", "--language", LANGUAGE)
olu("import", "voice", FOLDER)
olu("audit", "voice", "--fix")
olu("read", "voice")"""

TRAIN = {
    "voice": """# The plan looks at the GPU: on a T4, which has no bf16, fp16 and batches that fit its 15 GB.
# Stop the cell when you like: it saves.
import shutil
DEVICE = "cuda" if shutil.which("nvidia-smi") else "cpu"
olu("plan", "voice", "--device", DEVICE)
olu("train", "voice", "--device", DEVICE, *os.environ.get("OLU_TRAIN", "").split())""",
    "base": """# Ten minutes from the voice that comes with Olu: enough to hear the new speaker, not to be done.
import shutil
DEVICE = "cuda" if shutil.which("nvidia-smi") else "cpu"
MORE = os.environ.get("OLU_TRAIN", "").split()
olu("train", "voice", "--base", "embedded", "--device", DEVICE, "--set", "plan.max_hours=0.17", *MORE)""",
}

AGAIN = """# The machine was taken away? Run the cells above but the training, then this: it goes on where it was.
# olu("train", "voice", "--resume", "--device", DEVICE)"""

SPEAK = """olu("export", "voice", "--to", "voice")
TEXT = os.environ.get("OLU_TEXT", "እንኳን ደህና መጣችሁ።")
olu("speak", TEXT, "--voice", "voice", "-o", "hello.wav")
try:
    from IPython.display import Audio, display
    display(Audio(str(HOME / "hello.wav")))
except ImportError:
    pass
olu("pack", "voice", "-o", "voice.tar", "--runs", "last")  # take both files home: 'olu unpack voice.tar'"""

TITLES = {
    "voice": ("Recordings to a voice", "From a folder of recordings to a voice, as `olu plan` would have it."),
    "base": ("A voice from the base in ten minutes", "The voice that comes with Olu moves to your speaker."),
}


def _cell(kind: str, text: str, number: int) -> dict[str, object]:
    cell: dict[str, object] = {
        "cell_type": kind,
        "id": f"cell-{number}",
        "metadata": {},
        "source": text.splitlines(keepends=True),
    }
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def notebook(place: str, kind: str) -> dict[str, object]:
    name, hint, home = PLACES[place]
    title, told = TITLES[kind]
    untried = f"Never run on {name} itself; a test runs these cells on a CPU with small settings."
    texts = [
        ("markdown", f"# Olu: {title}\n\n{told} {untried}\n\n{hint}"),
        ("code", INSTALL.format(home=home)),
        ("code", DATA),
        ("code", TRAIN[kind]),
        ("code", AGAIN),
        ("code", SPEAK),
    ]
    return {
        "cells": [_cell(what, text, number) for number, (what, text) in enumerate(texts)],
        "metadata": {
            "accelerator": "GPU",
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def written() -> dict[str, str]:
    made = {f"{place}-{kind}.ipynb": notebook(place, kind) for place in PLACES for kind in TRAIN}
    return {name: json.dumps(value, ensure_ascii=False, indent=1) + "\n" for name, value in made.items()}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, text in written().items():
        (FOLDER / name).write_bytes(text.encode())
        sys.stdout.write(f"notebooks/{name}\n")


if __name__ == "__main__":
    main()

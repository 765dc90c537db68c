"""Small voices with weights of which none is zero, and ways to spoil a package."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from olu.core.job import finish
from olu.export.package import Contents, declared, write_package
from olu.families import family
from olu.speak.voice import Voice
from olu.text.characters import CharacterFrontend
from olu.text.frontend import for_language
from olu.text.languages import load
from olu.text.vocabulary import BLANK, StreamVocabulary, SymbolVocabulary

LETTERS = "abdeghiịklmnṅoọprstuụwyz .,?!'\u0301\u0300"
TEXT = "Kedu ka ị mere? Ọ dị mma."


def learner(*, speakers: int, **settings: Any) -> torch.nn.Module:
    vits = family("vits")
    torch.manual_seed(3)
    made = vits.learner(vits.config(size="tiny", **settings), vocab_size=len(LETTERS) + 1, num_speakers=speakers)
    with torch.no_grad():
        for name, value in made.named_parameters():
            value.add_(torch.randn_like(value) * 0.05)
            if name.startswith("gen.decoder.") and name.endswith("original0"):
                value.copy_(torch.full_like(value, 2.0))
        made.gen.duration_predictor.flows[0].translate.sub_(1.0)  # a few frames a token
        if made.config.decoder == "hifigan":
            made.gen.decoder.conv_post.weight.mul_(0.1)
    return made


def random_acoustic(path: Path) -> None:
    """Random weights of an acoustic model and a vocoder of their real sizes; all that is said is voiced."""
    torch.manual_seed(3)
    model, vocoder = family("acoustic"), family("vocoder")
    frontend = for_language(load("swa"))
    vocabulary = StreamVocabulary((BLANK, *sorted(frontend.phones), *" ,.?!"))
    made = model.learner(model.config(), vocab_size=vocabulary.size, num_speakers=1)
    decoder = vocoder.learner(vocoder.config(), vocab_size=0, num_speakers=1)
    with torch.no_grad():
        made.net.mean.out.bias[-1] = 5.0
    held = Contents(
        name="acoustic",
        family="acoustic",
        language=load("swa"),
        frontend=frontend,
        vocabulary=vocabulary,
        speakers=["default"],
        sentences=["habari ya asubuhi."],
        scores={},
        facts={},
    )

    def graphs(folder: Path) -> dict[str, Any]:
        return {
            **declared(model.speaks, made.config),
            **model.speaks.export(made, folder=folder, vocoder=decoder),
        }

    finish(write_package(path, held, graphs=graphs))


def contents(*, speakers: list[str], name: str = "test") -> Contents:
    return Contents(
        name=name,
        family="vits",
        language=load("ibo"),
        frontend=CharacterFrontend("ibo", inventory=LETTERS),
        vocabulary=SymbolVocabulary.of(LETTERS),
        speakers=speakers,
        sentences=[TEXT, "漢字", "Nnọọ."],
        scores={},
        facts={"run": "none"},
    )


def pack(path: Path, *, speakers: list[str], **settings: Any) -> Voice:
    made = learner(speakers=len(speakers), **settings)
    speaks = family("vits").speaks

    def graphs(folder: Path) -> dict[str, Any]:
        return {**declared(speaks, made.config), **speaks.export(made, folder=folder)}

    return finish(write_package(path, contents(speakers=speakers), graphs=graphs))


def zipped(folder: Path, path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(p for p in folder.rglob("*") if p.is_file()):
            archive.write(file, file.relative_to(folder).as_posix())
    return path


def edit(path: Path, change: Callable[[Any], Any]) -> None:
    value = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(change(value)), encoding="utf-8")


def seal(folder: Path) -> None:
    """The digests anew, as somebody would who means it."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.name != "check.json"]
    digests = {file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    edit(folder / "check.json", lambda value: {**value, "files": digests} if isinstance(value, dict) else value)

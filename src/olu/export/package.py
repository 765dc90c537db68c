"""The voice package: everything a voice needs to speak, written whole, and heard once before it is handed out."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.audio.loudness import loudness
from olu.core.errors import ExportError, TextError
from olu.core.files import hash_file, read_json, whole, write_json, write_text
from olu.core.job import Job, Tick
from olu.core.words import many
from olu.networks.session import halve, open_session, quiet, read_network
from olu.speak.engines import engine_named, knob_row
from olu.speak.package import NUMBERS, SCHEMA
from olu.speak.voice import Voice
from olu.text.frontend import AnyFrontend, with_words
from olu.text.languages import Language
from olu.text.vocabulary import SymbolVocabulary
from olu.train.family import Speaks

WHOLE_BITS = 32  # `bits` in the facts of a voice whose weights are kept as they were trained
STEPS = 5  # of an export: reading, writing, slimming, speaking once, and pushing where that is asked for


@dataclass(frozen=True)
class Contents:
    """What goes into a package beside the graphs."""

    name: str
    family: str
    language: Language
    frontend: AnyFrontend
    vocabulary: SymbolVocabulary
    speakers: list[str]
    sentences: list[str]  # spoken once at export; their ids and lengths are kept as a check
    scores: dict[str, float]
    facts: dict[str, Any]  # where it comes from: run, step, corpus, versions
    rights: dict[str, Any] = field(default_factory=lambda: {"licence": None, "consent": None, "credits": None})


def write_package(path: Path, contents: Contents, *, graphs: Callable[[Path], dict[str, Any]]) -> Job[Voice]:
    """`x.voice` becomes a folder, `x.zip` one file.

    `graphs` writes the ONNX files, and arrays as .npy, into the folder it is given, and says what voice.json is to keep
    of them: with `engine` and `knobs` the package has schema 3, without them it is one of VITS with schema 2.
    """
    zipped = path.suffix == ".zip"
    if path.exists() and not _is_voice(path, zipped=zipped):
        raise ExportError(f"{path} is there already and is no voice: choose another name with -o")
    with whole(path) as partial:
        folder = partial.with_name(f"{partial.name}.partial") if zipped else partial
        try:
            folder.mkdir()
            yield Tick(1, STEPS, "writing the networks")
            facts = graphs(folder)
            yield Tick(2, STEPS, "making them small")
            specs = engine_named(facts.get("engine", "latents")).GRAPHS
            for name in [name for name in specs if (folder / f"{name}.onnx").exists()]:
                if specs[name].optimised:  # a decoder's best form differs from machine to machine
                    optimise(folder / f"{name}.onnx")
                if facts.get("bits") != WHOLE_BITS:
                    halve(folder / f"{name}.onnx")
            yield Tick(3, STEPS, "speaking with them once")
            _fill(folder, contents, {**facts, **_listed(folder, list(specs))} if "engine" in facts else facts)
            if zipped:
                _zip(folder, partial)
        finally:
            if zipped:
                shutil.rmtree(folder, ignore_errors=True)
    return Voice.open(path)


def _zip(folder: Path, path: Path) -> None:
    """The graphs are stored as they are: packing saves a tenth of them, and unpacking takes longer than loading."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, file in _files(folder).items():
            archive.write(file, name, zipfile.ZIP_STORED if NUMBERS.fullmatch(name) else zipfile.ZIP_DEFLATED)


def _files(folder: Path) -> dict[str, Path]:
    return {p.relative_to(folder).as_posix(): p for p in sorted(folder.rglob("*")) if p.is_file()}


def _is_voice(path: Path, *, zipped: bool) -> bool:
    """Whether what stands there is ours to replace."""
    if not zipped:
        return (path / "voice.json").is_file()
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return "voice.json" in archive.namelist()


def _fill(folder: Path, contents: Contents, facts: dict[str, Any]) -> None:
    _write_language(folder / "language", contents)
    write_json(folder / "vocabulary.json", contents.vocabulary.state())
    voice = {
        "schema": SCHEMA if "engine" in facts else 2,
        "name": contents.name,
        "family": contents.family,
        "language": contents.language.code,
        "speakers": contents.speakers,
        "sentence_ends": list(contents.language.sentence_ends),
        **facts,
        "loudness": None,
        **contents.rights,
        "scores": contents.scores,
        "facts": contents.facts,
    }
    write_json(folder / "voice.json", voice)
    seal(folder, [])
    rows, level = _hear(folder, contents)
    write_json(folder / "voice.json", {**voice, "loudness": level})
    seal(folder, rows)


def seal(folder: Path, rows: list[dict[str, Any]]) -> None:
    """What opening the voice will prove: the bytes of every file, how some sentences are read and how long they are."""
    digests = {name: hash_file(file) for name, file in _files(folder).items() if name != "check.json"}
    write_json(folder / "check.json", {"sentences": rows, "files": digests})


LEXICON_TITLE = "## Words of its own"


def lexicon_told(words: Collection[str]) -> str:
    """What a card says of words that are read as a person wrote them."""
    some = ", ".join(list(words)[:5]) + (" ..." if len(words) > 5 else "")
    return f"{many(len(words), 'word')} read as a person's lexicon says: {some}"


def change_lexicon(path: Path, words: Mapping[str, str]) -> Voice:
    """A package whose voice reads these words as given: the same networks, everything else made and sealed anew."""
    before = Voice.open(path)
    frontend = with_words(before.frontend, words)
    zipped = path.is_file()
    with whole(path) as partial:
        folder = partial.with_name(f"{partial.name}.partial") if zipped else partial
        try:
            if zipped:
                with zipfile.ZipFile(path) as archive:
                    archive.extractall(folder)
            else:
                shutil.copytree(path, folder)
            _reworded(folder, before, frontend, words)
            if zipped:
                _zip(folder, partial)
        finally:
            if zipped:
                shutil.rmtree(folder, ignore_errors=True)
    return Voice.open(path)


def _reworded(folder: Path, before: Voice, frontend: AnyFrontend, words: Mapping[str, str]) -> None:
    state = read_json(folder / "language" / "frontend.json")
    state["pack"]["lexicon"] = dict(frontend.pack.lexicon) if frontend.pack else {}
    write_json(folder / "language" / "frontend.json", state)
    facts = read_json(folder / "voice.json")
    own = facts.get("facts") if isinstance(facts.get("facts"), dict) else {}
    listed = sorted({*own.get("lexicon", ()), *words})
    write_json(folder / "voice.json", {**facts, "facts": {**own, "lexicon": listed}})
    card = folder / "README.md"
    if card.is_file():
        text = card.read_text(encoding="utf-8").split(LEXICON_TITLE)[0].rstrip()
        write_text(card, f"{text}\n\n{LEXICON_TITLE}\n\n- {lexicon_told(listed)}\n")
    sentences = [row["text"] for row in read_json(folder / "check.json")["sentences"]]
    seal(folder, [])
    seal(folder, _rows(Voice.open(folder), sentences)[0])


def declared(speaks: Speaks, config: Any) -> dict[str, Any]:
    """What voice.json says of how a family speaks."""
    return {"engine": speaks.engine, "knobs": {knob.name: knob_row(knob) for knob in speaks.knobs(config)}}


def _listed(folder: Path, names: list[str]) -> dict[str, Any]:
    """The graphs and arrays of a package as voice.json lists them."""
    graphs = {}
    for name in [name for name in names if (folder / f"{name}.onnx").exists()]:
        session = open_session(read_network(folder / f"{name}.onnx"), quiet(1))
        graphs[name] = {"file": f"{name}.onnx", "inputs": [one.name for one in session.get_inputs()]}
    arrays = {}
    for file in sorted(folder.glob("*.npy")):
        array = np.load(file, mmap_mode="r", allow_pickle=False)
        arrays[file.stem] = {"file": file.name, "dtype": array.dtype.name, "shape": list(array.shape)}
    return {"graphs": graphs, "arrays": arrays}


def _write_language(folder: Path, contents: Contents) -> None:
    """The language's files as they were in training, and the frontend that reads with them."""
    state = contents.frontend.state()
    pack = contents.frontend.pack
    folder.mkdir()
    files = pack.files if pack else contents.language.files()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    if pack is not None:
        state = {**state, "pack": {**state["pack"], "files": list(pack.files)}}
    write_json(folder / "frontend.json", state)


def _hear(folder: Path, contents: Contents) -> tuple[list[dict[str, Any]], float | None]:
    """The rows of check.json, and how loud the voice is, in LUFS."""
    voice = Voice.open(folder)
    rows, heard = _rows(voice, contents.sentences)
    level = loudness(np.concatenate(heard), voice.rate) if heard else None
    return rows, None if level is None else round(level, 2)


def _rows(voice: Voice, sentences: Iterable[str]) -> tuple[list[dict[str, Any]], list[NDArray[np.float32]]]:
    """How some sentences are read and how long they are, and their sound."""
    rows, heard = [], []
    for text in sentences:
        try:
            audio = voice.speak(text)
        except TextError:
            continue  # a sentence this voice has no letters for proves nothing
        if not np.isfinite(audio.samples).all():
            raise ExportError(f"the voice says {text!r} as numbers that are not finite: export an earlier step")
        ids = voice.vocabulary.encode(voice.frontend.read(text))
        rows.append({"text": text, "ids": ids, **voice.engine.proof(ids), "samples": len(audio.samples)})
        heard.append(audio.samples)
    return rows, heard


# ---------------------------------------------------------------- graphs made small and quick to load


def optimise(path: Path) -> None:
    """Replace a graph by what onnxruntime makes of it, as far as that is the same on every machine."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.log_severity_level = 3
    made = path.with_name(f"{path.name}.optimised")
    options.optimized_model_filepath = str(made)
    open_session(read_network(path), options)
    made.replace(path)

"""A voice for a browser: a folder for any file server, with onnxruntime-web, the reading, a worker and a page."""

from __future__ import annotations

import html
import math
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

from olu.core.errors import ExportError
from olu.core.files import write_json, write_text
from olu.core.parse import load_json
from olu.speak.engines import knob_row
from olu.speak.engines.latents import LatentsEngine
from olu.speak.engines.mel import MelEngine
from olu.speak.package import Package
from olu.speak.portable.reading import PortableReading, reading_files
from olu.speak.stream import TONES as HOW_TONES
from olu.speak.voice import Voice
from olu.text.languages import load
from olu.text.tones import HEIGHT, step_range
from olu.text.vocabulary import TONES, StreamVocabulary

FORMAT = "olu-web/1"
PACKAGE = "onnxruntime-web"
RUNTIME = {  # its files -> their names in the folder: not every server knows .mjs
    "dist/ort.wasm.min.mjs": "ort.js",
    "dist/ort-wasm-simd-threaded.mjs": "ort-wasm.js",
    "dist/ort-wasm-simd-threaded.wasm": "ort.wasm",
}
SCRIPTS = ("olu.js", "worker.js", "voice.js", "frames.js", "random.js")
ENGINES = (LatentsEngine, MelEngine)  # those whose sums latents.js and mel.js have
HOW = "fetch it once with 'npm install onnxruntime-web', and name its folder: --runtime node_modules/onnxruntime-web"


def runtime_folder(asked: Path | None) -> Path:
    """Where onnxruntime-web lies: the folder that is named, else the one that npm made here."""
    place = asked or Path("node_modules") / PACKAGE
    lacks = next((name for name in ("package.json", *RUNTIME) if not (place / name).is_file()), None)
    if lacks is None:
        return place
    if asked is None:
        raise ExportError(f"a page needs {PACKAGE}, which is not in {place.parent}: {HOW}")
    raise ExportError(f"--runtime {asked} is not the package {PACKAGE} (no {lacks}): {HOW}")


def write_web(package: Package, folder: Path, *, runtime: Path) -> list[str]:
    """Into a folder; returns what is other than in Python."""
    voice = Voice(package, threads=1)
    if not isinstance(voice.engine, ENGINES):
        raise ExportError(
            f"a voice of the engine {package.engine!r} draws codes one by one, which is too slow in a page"
            ": VITS and acoustic voices speak there; serve this one with 'olu serve'"
        )
    reading = PortableReading(voice.reader(), join=voice.engine.join_words)
    for name, data in reading_files(reading).items():
        (folder / name).write_bytes(data)
    for name, network in package.graphs.items():
        (folder / f"{name}.onnx").write_bytes(network.data)
    write_json(folder / "voice.json", web_facts(package, voice))
    here = files("olu.export.web")
    for name in SCRIPTS:
        (folder / name).write_bytes(here.joinpath(name).read_bytes())
    (folder / "engine.js").write_bytes(here.joinpath(f"{package.engine}.js").read_bytes())
    language = load(voice.language)
    example = html.escape(next(iter(language.sentences()), ""))
    page = here.joinpath("index.html").read_text(encoding="utf-8")
    write_text(
        folder / "index.html", page.format(name=html.escape(voice.name), language=voice.language, example=example)
    )
    for source, name in RUNTIME.items():
        shutil.copyfile(runtime / source, folder / name)
    write_text(folder / "README.md", _readme(package, voice, load_json(runtime / "package.json")))
    return ["loudness and another sample rate: the page plays the voice as it is"]


def web_facts(package: Package, voice: Voice) -> dict[str, Any]:
    """What the scripts must know of the voice."""
    facts, engine = package.facts, voice.engine
    assert isinstance(engine, ENGINES)
    toned = isinstance(engine, MelEngine) and engine.plans and isinstance(voice.vocabulary, StreamVocabulary)
    return {
        "format": FORMAT,
        "name": voice.name,
        "language": voice.language,
        "speakers": voice.speakers,
        "rate": voice.rate,
        "hop": facts["hop"],
        "context": engine.context,
        "knobs": {knob.name: knob_row(knob) for knob in voice.knobs.values()},
        "tones": list(HOW_TONES) if toned else list(HOW_TONES[:1]),
        "tone_names": list(TONES),
        "tone_steps": {f"{one},{two}": _bounds(one + two) for one in HEIGHT for two in HEIGHT},
        **engine.told(),
        "graphs": {name: f"{name}.onnx" for name in package.graphs},
        "licence": facts.get("licence", ""),
        "credits": facts.get("credits", ""),
    }


def _bounds(step: str) -> list[float | None]:
    """Semitones of a step between written tones; null where there is no bound."""
    return [bound if math.isfinite(bound) else None for bound in step_range(step)]


def _readme(package: Package, voice: Voice, runtime: dict[str, Any]) -> str:
    facts = package.facts
    page = files("olu.export.web").joinpath("readme.txt").read_text(encoding="utf-8")
    return page.format(
        name=voice.name,
        knobs=", ".join(voice.knobs) or "nothing else",
        graphs=", ".join(f"`{name}.onnx`" for name in package.graphs),
        licence=facts.get("licence") or "not stated",
        credits=facts.get("credits") or "not stated",
        version=runtime.get("version", "of an unknown version"),
        runtime_licence=runtime.get("license", "not stated"),
    )

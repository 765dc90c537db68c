"""A project for Android: its parts fit one another, and sherpa-onnx says our ids."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from olu.core.errors import ExportError
from olu.core.job import finish
from olu.export.formats import format_named
from olu.families import family
from olu.families.vits.formats.android import ASSETS, token_of
from olu.speak.voice import Voice
from olu.stages.export import export

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
TEXTS = ("ሰላም ለዓለም።", "በ 12/05/2020 ዓ.ም. 1,250 ብር፥ 3.5% እና 10:30።", "ዶ/ር አበበ 5 ኪ.ሜ. ሮጠ!")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(finish(export(Path("embedded"), to="android", output=tmp_path_factory.mktemp("a") / "project")).voice)


def test_sherpa_says_our_ids_numbers_included(project: Path) -> None:
    """Without noise, its sound of a line is that of the graph given the ids of Python."""
    package = pytest.importorskip("sherpa_onnx", reason="sherpa-onnx is not installed")
    place, voice = project / ASSETS, Voice.open("embedded")
    config = package.OfflineTtsVitsModelConfig(
        model=str(place / "model.onnx"), tokens=str(place / "tokens.txt"), noise_scale=0.0, noise_scale_w=0.0
    )
    engine = package.OfflineTts(package.OfflineTtsConfig(model=package.OfflineTtsModelConfig(vits=config)))
    whole = package.GenerationConfig()
    whole.silence_scale = 1.0  # else it shortens pauses
    graph = onnxruntime.InferenceSession(str(place / "model.onnx"))
    for text in TEXTS:
        for line in voice.reader().lines(text):
            said = engine.generate("".join(map(token_of, line.ids)), whole)
            (ours,) = graph.run(
                None,
                {
                    "input": np.array([line.ids], np.int64),
                    "input_lengths": np.array([len(line.ids)], np.int64),
                    "scales": np.array([0.0, 1.0, 0.0], np.float32),
                },
            )
            assert said.sample_rate == voice.rate
            assert len(said.samples) == ours.size
            assert np.abs(np.array(said.samples) - ours.ravel()).max() < 1e-3


def test_every_id_has_a_character_that_comes_back(project: Path) -> None:
    rows = [line.split(" ") for line in (project / ASSETS / "tokens.txt").read_text("utf-8").splitlines()]
    assert [int(id) for _, id in rows] == list(range(len(Voice.open("embedded").vocabulary.symbols)))
    assert all(token == token_of(int(id)) and len(token) == 1 for token, id in rows)
    kotlin = (project / "app/src/main/java/org/olu/voice/Reading.kt").read_text()
    assert re.search(r"FIRST = (0x\w+)", kotlin)[1] == hex(ord(token_of(0))).replace("xe", "xE")  # type: ignore[index]


def test_the_parts_of_the_project_fit(project: Path) -> None:
    main = project / "app/src/main"
    for path in project.rglob("*.xml"):
        ET.parse(path)
    manifest = ET.parse(main / "AndroidManifest.xml").getroot()
    named = {one.get("{http://schemas.android.com/apk/res/android}name", "") for one in manifest.iter()}
    kotlin = "".join(path.read_text() for path in main.rglob("*.kt"))
    for name in (one.removeprefix(".") for one in named if one.startswith(".")):
        assert f"class {name} : " in kotlin
    strings = {one.get("name") for one in ET.parse(main / "res/values/strings.xml").getroot()}
    used = set(re.findall(r"R\.string\.(\w+)", kotlin)) | set(
        re.findall(r"@string/(\w+)", (main / "AndroidManifest.xml").read_text())
    )
    assert used <= strings
    facts = json.loads((project / ASSETS / "voice.json").read_text())
    asked = set(re.findall(r'row\.get(?:String|Int|Double)\("(\w+)"\)', kotlin)) - {"pause"}
    assert asked <= set(facts)
    assert (project / ASSETS / "reading.json").read_text("utf-8").isascii()  # its engine cannot decode more


def test_voices_of_two_runs_are_refused_with_the_reason() -> None:
    with pytest.raises(ExportError, match="lengths and pitch in between"):
        format_named("android", of=family("acoustic"))


@pytest.mark.soak
@pytest.mark.skipif(os.environ.get("OLU_SOAK") != "1", reason="a compiler takes half a minute: OLU_SOAK=1")
def test_the_kotlin_compiles_against_the_classes_of_android(project: Path, tmp_path: Path) -> None:
    """OLU_KOTLIN: a folder like npm's kotlin-compiler; OLU_ANDROID_JAR: android.jar of level 23 or more."""
    kotlin, classes, java = os.environ.get("OLU_KOTLIN"), os.environ.get("OLU_ANDROID_JAR"), shutil.which("java")
    if not (kotlin and classes and java):
        pytest.skip("OLU_KOTLIN and OLU_ANDROID_JAR name no compiler and no classes, or java is not installed")
    resources = tmp_path / "R.kt"
    resources.write_text("package org.olu.voice\nobject R { object string { const val choose = 1 } }\n")
    jars = ":".join(map(str, sorted((Path(kotlin) / "lib").glob("*.jar"))))
    made = tmp_path / "classes"
    words = [java, "-cp", jars, "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", "-no-jdk", "-no-stdlib", "-Werror"]
    words += ["-kotlin-home", kotlin, "-cp", f"{classes}:{kotlin}/lib/kotlin-stdlib.jar", "-d", str(made)]
    sources = [project / "app/src/main/java", Path(__file__).parents[1] / "helpers" / "android", resources]
    done = subprocess.run([*words, *map(str, sources)], capture_output=True, text=True)
    assert not done.returncode, done.stderr
    assert {path.stem for path in (made / "org/olu/voice").glob("*.class")} >= {
        "OluTtsService",
        "Reading",
        "MainActivity",
        "CheckVoiceData",
    }

"""A voice for Android: a Gradle project whose app is a speech engine of the system, with sherpa-onnx inside.

The app reads by Olu's own reading, in JavaScript, and hands sherpa-onnx one character of the private use area for each
id. tokens.txt maps these back, so that its ids are ours, numbers included.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from olu.core.errors import ExportError
from olu.core.files import write_json, write_text
from olu.core.parse import from_json
from olu.families.vits.export import one_graph
from olu.families.vits.formats.sherpa import sherpa_facts
from olu.speak.lines import LineReader, abbreviations_of
from olu.speak.portable.reading import PortableReading, reading_files
from olu.text.languages import two_letters
from olu.text.vocabulary import BLANK_ID

if TYPE_CHECKING:
    from olu.export.subject import ExportSubject

FIRST, LAST = 0xE000, 0xF8FF  # the private use area: the character of id n is FIRST + n
ASSETS = Path("app/src/main/assets/voice")
KOTLIN = ("OluTtsService.kt", "Reading.kt", "MainActivity.kt")
PROPERTIES = "android.useAndroidX=true\norg.gradle.jvmargs=-Xmx2g\n"


def write_android(subject: ExportSubject, folder: Path) -> list[str]:
    size = len(subject.vocabulary.symbols)
    if size > LAST - FIRST + 1:
        raise ExportError(f"the voice has {size} symbols, and this format has room for {LAST - FIRST + 1}")
    assets = folder / ASSETS
    assets.mkdir(parents=True)
    made = one_graph(
        subject.learner, path=assets / "model.onnx", facts=sherpa_facts(subject, characters=True, add_blank=False)
    )
    write_text(assets / "tokens.txt", "".join(f"{token_of(id)} {id}\n" for id in range(size)))
    ends = list(subject.language.sentence_ends)
    short = abbreviations_of(subject.frontend)
    lines = LineReader(subject.name, subject.frontend, subject.vocabulary, ends, short, most_tokens=None, plans=False)
    for name, data in reading_files(PortableReading(lines)).items():
        text = data.decode("utf-8")
        write_text(assets / name, json.dumps(from_json(text)) if name.endswith(".json") else text)
    facts = {
        "format": "olu-android/1",
        "name": subject.name,
        "language": subject.language.code,
        "short_language": two_letters(subject.language.code) or subject.language.code,
        "rate": made["rate"],
        "noise": made["noise_scale"],
        "duration_noise": made["noise_w"],
        "length_scale": made["length_scale"],
        "blank": BLANK_ID,
        "licence": subject.rights.licence,
    }
    write_json(assets / "voice.json", facts)
    _write_project(subject, folder)
    lost = ["seeds: sherpa-onnx draws its own noise", "markup: a text of the system is read as it stands"]
    write_text(folder / "README.md", _readme(subject, lost))
    return lost


def token_of(id: int) -> str:
    """The character that stands for an id."""
    return chr(FIRST + id)


def _write_project(subject: ExportSubject, folder: Path) -> None:
    here, main = files(__name__), folder / "app/src/main"
    for name in KOTLIN:
        write_text(main / "java/org/olu/voice" / name, here.joinpath("kotlin", name).read_text(encoding="utf-8"))
    plain = re.sub(r"[^a-z0-9]+", "", subject.name.lower()) or "voice"
    application = f"org.olu.voice.{plain if plain[0].isalpha() else f'v{plain}'}"
    written = {
        "app/src/main/AndroidManifest.xml": ("manifest.xml", {}),
        "app/src/main/res/xml/tts_engine.xml": ("tts_engine.xml", {}),
        "app/src/main/res/values/strings.xml": ("strings.xml", {"NAME": escape(subject.name).replace("'", "\\'")}),
        "app/build.gradle.kts": ("app_build.txt", {"APPLICATION": application}),
        "settings.gradle.kts": ("settings.txt", {"NAME": plain}),
    }
    for place, (name, values) in written.items():
        text = here.joinpath(name).read_text(encoding="utf-8")
        for key, value in values.items():
            text = text.replace(key, value)
        write_text(folder / place, text)
    write_text(folder / "gradle.properties", PROPERTIES)
    write_text(folder / "app/libs/README.md", "Put sherpa-onnx.aar here: see the README of the project.\n")


def _readme(subject: ExportSubject, lost: list[str]) -> str:
    use = files(__name__).joinpath("use.txt").read_text(encoding="utf-8")
    listed = ["`app/`: the app; its voice lies in `app/src/main/assets/voice`", "`settings.gradle.kts`: for Gradle"]
    return subject.readme(
        what="This folder is an Android project.", use=use, lost=lost, files=listed, library="sherpa-onnx"
    )

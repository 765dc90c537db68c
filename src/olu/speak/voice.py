"""A voice package that speaks: numpy and onnxruntime, nothing else."""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from olu.errors import ConfigError, LanguageError, TextError, VoiceError
from olu.text.frontend import AnyFrontend, from_state
from olu.text.sentences import split_sentences
from olu.text.vocabulary import SymbolVocabulary
from olu.types import Audio

SCHEMA = 1
PAUSE_SECONDS = 0.25  # between sentences
NOISE_FRAMES_PER_TOKEN = 16  # the encoder repeats noise when a text needs more frames than this
SLOWEST, FASTEST = 0.25, 4.0
SAMPLING = ("noise_scale", "duration_noise_scale", "length_scale")
FILES = ("voice.json", "vocabulary.json", "check.json", "language/frontend.json", "encoder.onnx", "decoder.onnx")


@dataclass(frozen=True)
class Spoken:
    """One sentence: its sound, its text and what of the text the voice has no letter for."""

    audio: Audio
    text: str
    dropped: dict[str, int] = field(default_factory=dict)
    durations: tuple[int, ...] = ()  # frames per token


class Voice:
    def __init__(self, files: dict[str, bytes], *, where: str, threads: int = 0) -> None:
        facts = _json(files, "voice.json", where)
        if facts.get("schema") != SCHEMA:
            raise VoiceError(
                f"{where} has schema {facts.get('schema')!r}, this Olu knows {SCHEMA}: upgrade Olu or export again"
            )
        self.facts = facts
        vocabulary = _json(files, "vocabulary.json", where)
        frontend = _with_files(_json(files, "language/frontend.json", where), files, where)
        check = _json(files, "check.json", where)
        try:
            self.name = str(facts["name"])
            self.language = str(facts["language"])
            self.rate = int(facts["rate"])
            self.speakers: list[str] = [str(name) for name in facts["speakers"]]
            self.sampling = {name: float(facts["sampling"][name]) for name in SAMPLING}
            self._ends: list[str] = [str(end) for end in facts["sentence_ends"]]
            self._channels = int(facts["channels"])
            self.vocabulary = SymbolVocabulary.from_state(vocabulary)
            self.frontend = from_state(frontend)
            self._abbreviations = _abbreviations(self.frontend)
            checks = [(str(row["text"]), row["ids"]) for row in check["sentences"]]
        except VoiceError as newer:
            raise VoiceError(f"{where}: {newer}") from None
        except (LanguageError, ConfigError) as bad:
            raise VoiceError(f"{where}: its language folder is damaged ({bad}): export it again") from None
        except KeyError as absent:
            raise VoiceError(f"{where} is not a whole voice package (no {absent}): export it again") from None
        except (TypeError, ValueError, OverflowError, AttributeError) as bad:
            raise VoiceError(f"{where} is damaged ({bad}): export it again") from None
        for text, ids in checks:
            if self._check_ids(text) != ids:
                raise VoiceError(f"{where} reads {text!r} differently than at its export: export it again")
        self._encoder = _session(files, "encoder.onnx", where, threads)
        self._decoder = _session(files, "decoder.onnx", where, threads)

    @staticmethod
    def open(path: str | Path, *, threads: int = 0) -> Voice:
        """A package folder or zip. `threads` 0 lets onnxruntime choose."""
        return Voice(_files(Path(path)), where=str(path), threads=threads)

    def speak(self, text: str, *, speed: float = 1.0, seed: int = 0, speaker: str | None = None) -> Audio:
        """The whole text as one sound."""
        parts = [spoken.audio.samples for spoken in self.stream(text, speed=speed, seed=seed, speaker=speaker)]
        pause = np.zeros(round(PAUSE_SECONDS * self.rate), np.float32)
        joined = [piece for part in parts for piece in (part, pause)][:-1]
        return Audio(np.concatenate(joined), self.rate)

    def stream(self, text: str, *, speed: float = 1.0, seed: int = 0, speaker: str | None = None) -> Iterator[Spoken]:
        """Sentence by sentence, each as soon as it is made. Arguments are checked before the first is asked for."""
        if not SLOWEST <= speed <= FASTEST:
            raise VoiceError(f"speed {speed:g} is out of reach: choose {SLOWEST} to {FASTEST}")
        if seed < 0:
            raise VoiceError(f"seed {seed} is negative: choose 0 or more")
        who = self._speaker(speaker)
        sentences = split_sentences(text, self._ends, abbreviations=self._abbreviations)
        sayable = [s for s in sentences if self._ids(s)[0]]
        if not sayable:
            unknown = Counter[str]()
            for sentence in sentences:
                unknown.update(self._ids(sentence)[1])
            hint = f" (it has no {', '.join(map(repr, list(unknown)[:5]))})" if unknown else ""
            raise TextError(f"nothing in the text can be said by the voice {self.name}{hint}: check text and language")
        return self._spoken(sayable, speed=speed, seed=seed, who=who)

    def _spoken(self, sentences: list[str], *, speed: float, seed: int, who: int) -> Iterator[Spoken]:
        for number, sentence in enumerate(sentences):
            ids, dropped = self._ids(sentence)
            random = np.random.Generator(np.random.PCG64([seed, number]))
            samples, durations = self._say(ids, random, speed=speed, who=who)
            yield Spoken(Audio(samples, self.rate), sentence, dropped, durations)

    def _ids(self, text: str) -> tuple[list[int], dict[str, int]]:
        reading = self.frontend.read(text)
        return (self.vocabulary.encode(reading) if reading.words else []), reading.dropped

    def _check_ids(self, text: str) -> list[int] | None:
        try:
            return self._ids(text)[0]
        except TextError:  # the frontend finds a symbol that the vocabulary no longer has
            return None

    def _speaker(self, name: str | None) -> int:
        if name is None:
            return 0
        if name not in self.speakers:
            raise VoiceError(f"no speaker {name!r} in the voice {self.name}; it has: {', '.join(self.speakers)}")
        return self.speakers.index(name)

    def _say(
        self, ids: list[int], random: np.random.Generator, *, speed: float, who: int
    ) -> tuple[NDArray[np.float32], tuple[int, ...]]:
        length_scale = self.sampling["length_scale"] / speed
        frames = int(np.ceil(NOISE_FRAMES_PER_TOKEN * len(ids) * max(1.0, length_scale)))
        feeds: dict[str, Any] = {
            "ids": np.array([ids], np.int64),
            "duration_noise": random.standard_normal((1, 2, len(ids)), np.float32),
            "noise": random.standard_normal((1, self._channels, frames), np.float32),
            "noise_scale": np.float32(self.sampling["noise_scale"]),
            "duration_noise_scale": np.float32(self.sampling["duration_noise_scale"]),
            "length_scale": np.float32(length_scale),
            "speaker": np.array([who], np.int64),
        }
        latents, durations = _run(self._encoder, feeds)
        (wave,) = _run(self._decoder, {"latents": latents, "speaker": feeds["speaker"]})
        samples: NDArray[np.float32] = wave[0]
        return samples, tuple(int(count) for count in durations[0])


def _run(session: onnxruntime.InferenceSession, feeds: dict[str, Any]) -> list[NDArray[np.float32]]:
    """Feed what the graph asks for: a plain duration predictor has no use for noise, one speaker needs no name."""
    try:
        wanted = {spec.name: np.asarray(feeds[spec.name]) for spec in session.get_inputs()}
        outputs: list[NDArray[np.float32]] = session.run(None, wanted)
    except Exception as bad:  # onnxruntime raises kinds of its own
        reason = str(bad).strip().splitlines()[0][:200] if str(bad).strip() else type(bad).__name__
        raise VoiceError(f"the voice's network failed ({reason}): export the voice again") from None
    return outputs


def _session(files: dict[str, bytes], name: str, where: str, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(files[name], options, providers=["CPUExecutionProvider"])
    except Exception:  # onnxruntime raises kinds of its own for every way a file can be broken
        raise VoiceError(f"{where}: {name} is damaged: export the voice again") from None


def _json(files: dict[str, bytes], name: str, where: str) -> dict[str, Any]:
    try:
        value = json.loads(files[name].decode("utf-8"))
    except (ValueError, RecursionError):  # bad UTF-8, bad JSON, endless numbers, endless nesting
        raise VoiceError(f"{where}: {name} is damaged: export the voice again") from None
    if not isinstance(value, dict):
        raise VoiceError(f"{where}: {name} is damaged: export the voice again")
    return value


def _with_files(state: dict[str, Any], files: dict[str, bytes], where: str) -> dict[str, Any]:
    """The frontend's state with the language's own files, which lie beside it in the package, inside."""
    pack = state.get("pack")
    if not isinstance(pack, dict) or not isinstance(pack.get("files"), list):
        return state
    absent = next((name for name in pack["files"] if f"language/{name}" not in files), None)
    if absent is not None:
        raise VoiceError(f"{where} is not a whole voice package (no language/{absent}): export it again")
    return {**state, "pack": {**pack, "files": {name: files[f"language/{name}"] for name in pack["files"]}}}


def _abbreviations(frontend: AnyFrontend) -> frozenset[str]:
    """Words with a point that ends no sentence."""
    rows = frontend.pack.rows("abbreviations.tsv") if frontend.pack else []
    return frozenset(row[0].strip() for row in rows if row[0].strip().endswith("."))


def _files(path: Path) -> dict[str, bytes]:
    """The files a voice needs, by name, from a folder or a zip. Nothing is unpacked, so nothing can escape."""
    if path.is_dir():
        absent = [name for name in FILES if not (path / name).is_file()]
        if absent:
            raise VoiceError(f"{path} is not a voice package (no {absent[0]}): make one with 'olu export'")
        beside = [f"language/{file.name}" for file in (path / "language").iterdir() if file.is_file()]
        return {name: (path / name).read_bytes() for name in {*FILES, *beside}}
    if not path.exists():
        raise VoiceError(f"{path} is not there: check the path, or make a voice with 'olu export'")
    try:
        with zipfile.ZipFile(path) as archive:
            beside = [name for name in archive.namelist() if re.fullmatch(r"language/[^/]+", name)]
            return {name: archive.read(name) for name in {*FILES, *beside}}
    except KeyError as absent_name:
        raise VoiceError(f"{path} is not a voice package ({absent_name.args[0]}): make one with 'olu export'") from None
    except (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, OSError, EOFError, RuntimeError, ValueError):
        raise VoiceError(f"{path} is not a voice package or is damaged: make one with 'olu export'") from None

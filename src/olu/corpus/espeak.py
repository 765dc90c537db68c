"""One utterance by espeak-ng: `python -m olu.corpus.espeak LIBRARY DATA VOICE OUT.wav < text`.

A process says one thing and ends, since espeak-ng's noise goes on where the utterance before left it. Only the standard
library is imported: sixty of these are started for one sample.
"""

from __future__ import annotations

import ctypes
import sys
import wave
from collections.abc import Sequence
from pathlib import Path

SYNCHRONOUS = 2  # espeak_AUDIO_OUTPUT: the callback has every sample before espeak_Synth returns
DONT_EXIT = 0x8000  # espeakINITIALIZE_DONT_EXIT: missing data is a return code, not the end of the process
BY_CHARACTER = 1
UTF8 = 1
Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


class Voice(ctypes.Structure):
    """The head of espeak_VOICE."""

    _fields_ = (("name", ctypes.c_char_p), ("languages", ctypes.c_char_p), ("identifier", ctypes.c_char_p))


class Failed(Exception):
    pass


def say(text: str, *, library: str, data: str, voice: str) -> tuple[bytes, int]:
    """16-bit mono samples and their rate."""
    try:
        espeak = ctypes.CDLL(library)
    except OSError as bad:
        raise Failed(f"espeak-ng cannot be loaded ({bad}): install espeakng-loader again") from None
    rate = espeak.espeak_Initialize(SYNCHRONOUS, 0, data.encode(), DONT_EXIT)
    if rate <= 0:
        raise Failed(f"espeak-ng cannot open its data in {data}: install espeakng-loader again")
    choose(espeak, voice, data=data)
    heard: list[bytes] = []

    def collect(wav: int | None, count: int, events: int | None) -> int:
        if wav and count > 0:
            heard.append(ctypes.string_at(wav, 2 * count))
        return 0

    callback = Callback(collect)  # held here: espeak-ng keeps only its address
    espeak.espeak_SetSynthCallback(callback)
    raw = text.encode()
    size, nothing = ctypes.c_size_t(len(raw) + 1), ctypes.c_void_p(None)
    failed = espeak.espeak_Synth(raw, size, 0, BY_CHARACTER, 0, UTF8, nothing, nothing)
    if failed or not heard:
        raise Failed(f"espeak-ng said nothing for {text!r} (code {failed}): check the sentence")
    return b"".join(heard), rate


def choose(espeak: ctypes.CDLL, voice: str, *, data: str) -> None:
    """Set the voice, or fail: espeak-ng takes a mere folder's name for a voice and then goes on with the old one."""
    there = any(path.name == voice and path.is_file() for path in Path(data, "lang").rglob("*"))
    if not there or espeak.espeak_SetVoiceByName(voice.encode()) != 0:
        raise Failed(f"espeak-ng has no voice {voice!r}: mend 'sample' in the language's language.toml")
    espeak.espeak_GetCurrentVoice.restype = ctypes.POINTER(Voice)
    chosen = espeak.espeak_GetCurrentVoice().contents.identifier or b""
    if chosen.decode().replace("\\", "/").split("/")[-1] != voice:
        raise Failed(f"espeak-ng chose {chosen.decode()!r} for the voice {voice!r}: mend 'sample' in language.toml")


def main(arguments: Sequence[str]) -> int:
    library, data, voice, out = arguments
    try:
        frames, rate = say(sys.stdin.buffer.read().decode(), library=library, data=data, voice=voice)
    except Failed as failed:
        sys.stderr.buffer.write(f"{failed}\n".encode())
        return 2
    with wave.open(out, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(rate)
        sound.writeframes(frames)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

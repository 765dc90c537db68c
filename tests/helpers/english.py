"""English for tests of an ear: `python english.py OUT.wav TEXT`, said by the espeak-ng that reading can install.

A process of its own for each text, since the library keeps one voice for all who use it.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import wave
from pathlib import Path

SYNCHRONOUS, DONT_EXIT, BY_CHARACTER, UTF8 = 2, 0x8000, 1, 1
Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


def say(text: str, out: Path) -> Path:
    subprocess.run([sys.executable, __file__, str(out), text], check=True)
    return out


def main(out: str, text: str) -> None:
    import espeakng_loader

    library, heard = ctypes.CDLL(espeakng_loader.get_library_path()), list[bytes]()
    rate = library.espeak_Initialize(SYNCHRONOUS, 0, espeakng_loader.get_data_path().encode(), DONT_EXIT)
    library.espeak_SetVoiceByName(b"en-US")

    def collect(wav: int | None, count: int, events: int | None) -> int:
        heard.append(ctypes.string_at(wav, 2 * count) if wav else b"")
        return 0

    callback, nothing, raw = Callback(collect), ctypes.c_void_p(None), text.encode()
    library.espeak_SetSynthCallback(callback)
    library.espeak_Synth(raw, ctypes.c_size_t(len(raw) + 1), 0, BY_CHARACTER, 0, UTF8, nothing, nothing)
    with wave.open(out, "wb") as sound:
        sound.setparams((1, 2, rate, 0, "NONE", ""))
        sound.writeframes(b"".join(heard))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The plain server that benchmarks/scale.py compares with: FastAPI, one voice, a whole WAV for an answer, no queue.

python benchmarks/plain_server.py PACKAGE PORT
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import soundfile
import uvicorn
from fastapi import FastAPI, Response

from olu.speak.voice import Voice

app, voice = FastAPI(), Voice.open(Path(sys.argv[1]) if sys.argv[1] != "embedded" else "embedded", threads=1)


@app.post("/v1/audio/speech")
def speak(wish: dict[str, Any]) -> Response:
    """FastAPI runs this in threads of its own, 40 of them."""
    sound, made = voice.speak(wish["input"], seed=wish["seed"]), io.BytesIO()
    soundfile.write(made, sound.samples, sound.rate, format="WAV", subtype="PCM_16")
    return Response(made.getvalue(), media_type="audio/wav")


if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[2]), log_level="warning")

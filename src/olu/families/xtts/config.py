"""Every setting of the xtts family."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from olu.core.config import Sized

Width = Annotated[int, Field(ge=8, le=8192, multiple_of=8)]
Depth = Annotated[int, Field(ge=1, le=128)]
Places = Annotated[int, Field(ge=8, le=8192)]

RATE, OUT_RATE = 22_050, 24_000  # of the sound that is learnt from, and of the sound that is made
CODE_SAMPLES = 1024  # of the sound that is learnt from
OUT_HOP = 256  # samples of a frame of the decoder, at OUT_RATE
MELS = 80

TINY: dict[str, Any] = {
    "layers": 2,
    "width": 64,
    "heads": 4,
    "codes": 64,
    "prompt_rows": 8,
    "conditioning_layers": 1,
    "perceiver_layers": 1,
    "perceiver_heads": 2,
    "perceiver_head_width": 16,
    "dvae_width": 16,
    "code_width": 16,
    "dvae_blocks": 1,
    "decoder_width": 32,
    "speaker_width": 16,
    "speakers": "table",
}
SMALL: dict[str, Any] = {
    "layers": 12,
    "width": 512,
    "heads": 8,
    "dvae_width": 256,
    "code_width": 256,
    "decoder_width": 256,
    "speaker_width": 256,
    "speakers": "table",
}
SIZES: dict[str, dict[str, Any]] = {"tiny": TINY, "small": SMALL, "v2": {}}


class XttsConfig(Sized):
    """`size` chooses the defaults of everything below it; `v2` is the published layout, `tiny` is for tests."""

    sizes = SIZES
    size: Literal["tiny", "small", "v2"] = "small"

    # the transformer
    layers: Depth = 30
    width: Width = 1024
    heads: int = Field(16, ge=1, le=128)
    codes: int = Field(1024, ge=2, le=65_536)  # of the DVAE; the start and the stop come after them
    text_places: Places = 404  # positions of text, with its start and stop
    code_places: Places = 608  # positions of codes, with their start and stops
    dropout: float = Field(0.1, ge=0, lt=1)

    # what it hears of a speaker
    prompt_rows: int = Field(32, ge=1, le=256)
    conditioning_layers: Depth = 6
    perceiver_layers: Depth = 2
    perceiver_heads: int = Field(8, ge=1, le=64)
    perceiver_head_width: Width = 64

    # codes
    dvae_width: Width = 512
    code_width: Width = 512
    dvae_blocks: Depth = 3

    # sound
    decoder_width: int = Field(512, ge=16, le=4096, multiple_of=16)
    speaker_width: Width = 512
    speakers: Literal["encoder", "table"] = "encoder"  # heard from recordings, or one learnt row each

    # speaking defaults, stored in the voice
    temperature: float = Field(0.75, ge=0, le=2)
    top_k: int = Field(50, ge=0, le=1024)
    top_p: float = Field(0.85, gt=0, le=1)
    repetition_penalty: float = Field(5.0, ge=1, le=50)

    @model_validator(mode="after")
    def _fits(self) -> XttsConfig:
        if self.width % self.heads:
            raise ValueError("width must be a multiple of heads")
        return self

    @property
    def start_code(self) -> int:
        return self.codes

    @property
    def stop_code(self) -> int:
        return self.codes + 1

    @property
    def most_text(self) -> int:
        """Ids of a text, with its tag, without start and stop: one fewer than there are places for."""
        return self.text_places - 3

    @property
    def most_codes(self) -> int:
        """Codes that can be spoken in one go."""
        return self.code_places - 6

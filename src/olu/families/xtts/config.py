"""Every setting of the xtts family."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from olu.core.config import Sized

Width = Annotated[int, Field(ge=8, le=8192, multiple_of=8)]
Depth = Annotated[int, Field(ge=1, le=128)]
Places = Annotated[int, Field(ge=8, le=8192)]
Beta = Annotated[float, Field(ge=0, lt=1)]

RATE, OUT_RATE = 22_050, 24_000  # of the sound that is learnt from, and of the sound that is made
CODE_SAMPLES = 1024  # of the sound that is learnt from
OUT_HOP = 256  # samples of a frame of the decoder, at OUT_RATE
MELS = 80
LORA_RANKS = (8, 32)
OF_CODES = ("codes_learning_rate", "weight_commitment")
OF_DECODER = (
    "decoder_learning_rate",
    "discriminator_learning_rate",
    "discriminator_width",
    "decoder_latents",
    "decoder_average",
    "weight_spectrum",
    "weight_adversarial",
    "weight_features",
)

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
    "text_start": 3,
    "stops": 1,
    "hears_stop": True,
    "prompt_seconds": (0.5, 1.0),
    "learning_rate": 3e-3,
    "discriminator_width": 4,
    "decoder_latents": 8,
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
    "text_start": 3,
    "stops": 1,
    "hears_stop": True,
    "learning_rate": 2e-4,
    "codes_steps": 4000,
    "decoder_from": 16_000,
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

    # what stands around texts and codes
    text_start: int = Field(261, ge=0)  # ids in the vocabulary
    text_stop: int = Field(0, ge=0)
    stops: int = Field(4, ge=1, le=16)  # of the codes, all of them targets
    hears_stop: bool = False  # whether codes look at the stop of the text in training; the published ones never did
    codec: str = ""  # SHA-256 of the base's DVAE, whose codes are prepared; empty: its own makes them

    # what it learns with
    conditioning: Literal["other", "same"] = "other"  # the prompt: of another clip, or of the clip itself, then masked
    prompt_seconds: tuple[Annotated[float, Field(gt=0, le=60)], Annotated[float, Field(gt=0, le=60)]] = (3.0, 6.0)
    pieces: int = Field(0, ge=0, le=20_000)  # merges that are learnt from the corpus
    init_scale: float = Field(1.0, ge=0)  # rows of new pieces: how far from where they start, in the old rows' spread
    lora_rank: int = Field(0, ge=0, le=256)  # 0: all of the transformer learns; else two thin matrices beside each
    gradient_checkpointing: bool = False  # less memory, half as much time more
    learning_rate: float = Field(5e-6, gt=0)
    adam_betas: tuple[Beta, Beta] = (0.9, 0.96)
    adam_epsilon: float = Field(1e-8, gt=0)
    weight_decay: float = Field(0.01, ge=0)  # of matrices; never of biases, norms and tables
    clip: float = Field(1.0, ge=0)  # gradient norm limit of the transformer, before the step; 0: measured, not clipped
    layer_clips: dict[str, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)  # of single layers, before that
    average: float = Field(0.0, ge=0, lt=1)  # decay of the averaged weights that are exported; 0: none
    weight_text: float = Field(0.01, ge=0)
    weight_codes: float = Field(1.0, ge=0)

    # from scratch: first its codes, then the transformer, then its decoder
    codes_steps: int = Field(0, ge=0)  # steps in which the DVAE learns; 0: never
    decoder_from: int = Field(0, ge=0)  # the step from which the decoder learns and the transformer rests; 0: never
    codes_learning_rate: float = Field(3e-4, gt=0)
    weight_commitment: float = Field(0.25, ge=0)
    decoder_learning_rate: float = Field(2e-4, gt=0)
    discriminator_learning_rate: float = Field(2e-4, gt=0)
    discriminator_width: int = Field(16, ge=1, le=256)
    decoder_latents: int = Field(32, ge=4, le=256)  # of the stretch of a clip that the decoder hears
    decoder_average: float = Field(0.999, ge=0, lt=1)
    weight_spectrum: float = Field(15.0, ge=0)
    weight_adversarial: float = Field(1.0, ge=0)
    weight_features: float = Field(2.0, ge=0)

    # speaking defaults, stored in the voice
    temperature: float = Field(0.75, ge=0, le=2)
    top_k: int = Field(50, ge=0, le=1024)
    top_p: float = Field(0.85, gt=0, le=1)
    repetition_penalty: float = Field(5.0, ge=1, le=50)

    @model_validator(mode="after")
    def _fits(self) -> XttsConfig:
        if self.width % self.heads:
            raise ValueError("width must be a multiple of heads")
        if self.prompt_seconds[0] > self.prompt_seconds[1]:
            raise ValueError("prompt_seconds must rise: the least, then the most")
        if self.lora_rank and not LORA_RANKS[0] <= self.lora_rank <= LORA_RANKS[1]:
            raise ValueError("lora_rank is 0, or 8 to 32: fewer cannot learn a language, more are no adapter")
        if self.codes_steps and self.codec:
            raise ValueError("codes_steps has no effect with a base: its DVAE stays as it is")
        if 0 < self.decoder_from <= self.codes_steps:
            raise ValueError("decoder_from must come after codes_steps: the transformer learns in between")
        self._refuse_idle("codes_steps", OF_CODES)
        self._refuse_idle("decoder_from", OF_DECODER)
        return self

    def _refuse_idle(self, switch: str, names: tuple[str, ...]) -> None:
        for name in names if not getattr(self, switch) else ():
            if getattr(self, name) != self.usual(name):
                raise ValueError(f"{name} has no effect without {switch}")

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

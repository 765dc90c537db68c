"""Every setting of the chatterbox family."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from olu.core.config import Sized

Width = Annotated[int, Field(ge=8, le=8192, multiple_of=8)]
Depth = Annotated[int, Field(ge=1, le=128)]
Places = Annotated[int, Field(ge=8, le=16_384)]
Beta = Annotated[float, Field(ge=0, lt=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(gt=0, le=60)]

RATE, OUT_RATE = 16_000, 24_000  # of the sound that is learnt from, and of the sound that is made
CODE_SAMPLES = 640  # of the sound that is learnt from: 25 codes a second
SMALL = 256  # a narrower tokenizer is no published one
LORA_RANKS = (8, 64)
TEXT_START, TEXT_STOP = 255, 0  # of every released tokenizer
TEXT_IDS = {"llama": 2454, "gpt2": 50_276}  # of the largest released one

TINY: dict[str, Any] = {
    "layers": 2,
    "width": 64,
    "heads": 4,
    "inner": 256,
    "codes": 81,
    "speech_ids": 84,
    "text_places": 66,
    "text_start": 3,
    "code_places": 260,
    "prompt_codes": 25,
    "prompt_rows": 8,
    "perceiver_heads": 2,
    "voice_width": 16,
    "voice_layers": 1,
    "s3_width": 32,
    "s3_layers": 1,
    "s3_heads": 2,
    "s3_mels": 16,
    "prompt_seconds": (0.5, 1.0),
    "learning_rate": 1.5e-3,
    "text_rate": 1.0,
    "held": (),
    "repetition_penalty": 1.0,
}
GPT2: dict[str, Any] = {
    "backbone": "gpt2",
    "layers": 24,
    "speech_ids": 6563,
    "dropout": 0.1,
    "prompt_codes": 375,
    "prompt_rows": 0,
    "emotion": False,
    "text_bounds": False,
    "start_twice": False,
    "unconditional": 0.0,
    "prompt_seconds": (5.0, 15.0),
    "guidance": 0.0,
    "min_p": 0.0,
    "top_k": 1000,
    "top_p": 0.95,
    "meanflow": True,
}
SIZES: dict[str, dict[str, Any]] = {
    "tiny": TINY,
    "english": {},
    "multilingual": {"repetition_penalty": 2.0},
    "turbo": GPT2,
    "nano": {**GPT2, "layers": 12, "width": 768, "heads": 12},
}


class ChatterboxConfig(Sized):
    """`size` chooses the defaults of everything below it. All but `tiny`, which is for tests, need a base."""

    sizes = SIZES
    size: Literal["tiny", "english", "multilingual", "turbo", "nano"] = "multilingual"

    # the transformer (T3)
    backbone: Literal["llama", "gpt2"] = "llama"
    layers: Depth = 30
    width: Width = 1024
    heads: int = Field(16, ge=1, le=128)
    inner: Width = 4096  # between the two matrices of a block of the Llama; a GPT-2 has four times its width
    codes: int = Field(6561, ge=9, le=65_536)  # of the S3 tokenizer; the start and the stop come after them
    speech_ids: int = Field(8194, ge=11, le=131_072)  # rows of the speech tables: those after the stop are never said
    text_places: Places = 2050  # positions of text, with its start and stop
    code_places: Places = 4100
    dropout: float = Field(0.0, ge=0, lt=1)  # of a GPT-2's blocks

    # what it hears of a speaker
    prompt_codes: int = Field(150, ge=1, le=2048)  # the most
    prompt_rows: int = Field(32, ge=0, le=256)  # of the perceiver; 0: there is none, the prompt stands as it is
    perceiver_heads: int = Field(4, ge=1, le=64)
    perceiver_dropout: float = Field(0.2, ge=0, lt=1)
    emotion: bool = True  # whether it is told how exaggerated speech is
    voice_width: Width = 256
    voice_layers: Depth = 3
    voice_mels: int = Field(40, ge=8, le=256)

    # the S3 tokenizer
    s3_width: Width = 1280
    s3_layers: Depth = 6
    s3_heads: int = Field(20, ge=1, le=64)
    s3_mels: int = Field(128, ge=8, le=256)

    # what stands around texts and codes
    text_bounds: bool = True  # START and STOP around a text
    text_start: int = Field(TEXT_START, ge=0)  # ids in the vocabulary
    text_stop: int = Field(TEXT_STOP, ge=0)
    start_twice: bool = True  # the start of speech stands twice, both at place 0, as it is spoken
    meanflow: bool = False  # whether its decoder takes two steps instead of ten
    tokenizer: str = ""  # SHA-256 of the S3 tokenizer, whose codes are prepared
    voice_encoder: str = ""  # SHA-256 of what makes the speaker vectors

    # what it learns with
    reads: Literal["letters", "phones"] = "letters"  # what pieces are cut of: of phones, every inventory is known
    prompt_seconds: tuple[Seconds, Seconds] = (3.0, 6.0)
    other_voice: Share = 0.5  # how often the speaker vector is of another clip
    unconditional: float = Field(0.15, ge=0, lt=1)  # how often a text is not heard: what guidance goes away from
    init_scale: float = Field(1.0, ge=0)  # rows of new symbols: how far from where they start, in the old rows' spread
    lora_rank: int = Field(0, ge=0, le=256)  # 0: all of the transformer learns; else two thin matrices beside each
    gradient_checkpointing: bool = False  # less memory, a third more time
    learning_rate: float = Field(2e-5, gt=0)
    text_rate: float = Field(10.0, ge=0, le=1000)  # of the text tables, times the learning rate
    held: tuple[str, ...] = ("cond_enc", "speech_emb", "speech_head", "text_pos_emb", "speech_pos_emb")  # never move
    adam_betas: tuple[Beta, Beta] = (0.9, 0.95)
    adam_epsilon: float = Field(1e-8, gt=0)
    weight_decay: float = Field(0.01, ge=0)  # of matrices; never of biases, norms and tables
    clip: float = Field(1.0, ge=0)  # gradient norm limit, before the step; 0: measured, not clipped
    average: float = Field(0.0, ge=0, lt=1)  # decay of the averaged weights that are exported; 0: none
    weight_text: float = Field(0.05, ge=0)
    weight_speech: float = Field(1.0, ge=0)

    # speaking defaults, stored in the voice
    temperature: float = Field(0.8, ge=0, le=2)
    guidance: float = Field(0.5, ge=0, le=10)
    exaggeration: float = Field(0.5, ge=0, le=2)
    min_p: Share = 0.05
    top_p: float = Field(1.0, gt=0, le=1)
    top_k: int = Field(0, ge=0, le=65_536)
    repetition_penalty: float = Field(1.2, ge=1, le=50)

    @model_validator(mode="after")
    def _fits(self) -> ChatterboxConfig:
        if self.width % self.heads or self.s3_width % self.s3_heads:
            raise ValueError("width must be a multiple of heads, and s3_width of s3_heads")
        if self.prompt_rows and self.width % self.perceiver_heads:
            raise ValueError("width must be a multiple of perceiver_heads")
        if self.prompt_seconds[0] > self.prompt_seconds[1]:
            raise ValueError("prompt_seconds must rise: the least, then the most")
        if self.lora_rank and not LORA_RANKS[0] <= self.lora_rank <= LORA_RANKS[1]:
            raise ValueError("lora_rank is 0, or 8 to 64: fewer cannot learn a language, more are no adapter")
        if self.lora_rank and self.held != self.usual("held"):
            raise ValueError("held has no effect with lora_rank: adapters and the tables of text learn alone")
        if self.backbone == "gpt2" and (self.unconditional or self.guidance):
            raise ValueError("a GPT-2 (Turbo, Nano) has no guidance: unconditional and guidance must be 0")
        if self.backbone == "llama" and self.dropout:
            raise ValueError("dropout has no effect in a Llama, whose blocks have none")
        if self.prompt_rows == 0 and self.perceiver_dropout != self.usual("perceiver_dropout"):
            raise ValueError("perceiver_dropout has no effect without a perceiver (prompt_rows)")
        if 3**self.code_digits != self.codes:
            raise ValueError("codes must be a power of three: each is some digits of three levels")
        if self.speech_ids < self.codes + 2:
            raise ValueError("speech_ids must have room for the codes, their start and their stop")
        return self

    @property
    def small(self) -> bool:
        """Whether it is for tests: then its frozen networks are small too."""
        return self.s3_width < SMALL

    @property
    def code_digits(self) -> int:
        """Of three levels each, that a code is made of."""
        return next(digits for digits in range(1, 20) if 3**digits >= self.codes)

    @property
    def start_code(self) -> int:
        return self.codes

    @property
    def stop_code(self) -> int:
        return self.codes + 1

    @property
    def starts(self) -> int:
        """How often the start stands before the first code."""
        return 2 if self.start_twice else 1

    @property
    def condition_rows(self) -> int:
        """Rows before the text, at most: the speaker, the prompt, the emotion."""
        return 1 + (self.prompt_rows or self.prompt_codes) + int(self.emotion)

    @property
    def most_text(self) -> int:
        """Ids of a text, with its tag, without start and stop."""
        return self.text_places - 2

    @property
    def most_codes(self) -> int:
        """Codes that can be spoken in one go."""
        return self.code_places - 4

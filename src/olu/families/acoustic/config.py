"""Every setting of the acoustic family."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from olu.core.config import Sized

Width = Annotated[int, Field(ge=4, le=4096, multiple_of=2)]
Depth = Annotated[int, Field(ge=0, le=64)]
Kernel = Annotated[int, Field(ge=1, le=63)]
Share = Annotated[float, Field(ge=0, lt=1)]
Weight = Annotated[float, Field(ge=0)]
Beta = Annotated[float, Field(ge=0, lt=1)]

TINY: dict[str, Any] = {
    "width": 16,
    "phrase_layers": 1,
    "mean_width": 24,
    "mean_layers": 2,
    "refiner_width": 24,
    "refiner_layers": 2,
    "learning_rate": 4e-3,
    "average": 0.9,
}
SIZES: dict[str, dict[str, Any]] = {"tiny": TINY, "base": {}}


class AcousticConfig(Sized):
    """`size` chooses the defaults of everything below it; `tiny` is for tests."""

    sizes = SIZES
    size: Literal["tiny", "base"] = "base"

    # text side
    width: Width = 192
    near_layers: Depth = Field(2, ge=1)  # blocks over the tokens nearby, from which the mel is made
    reach: int = Field(2, ge=0, le=64)  # tokens on either side that those see; 0: each sound alone
    phrase_layers: Depth = Field(3, ge=1)  # attention over the whole phrase, for pitch, durations and pauses
    phrase_mel: bool = False  # whether the mel is made from the phrase too
    heads: int = Field(2, ge=1, le=64)  # of attention
    window: Kernel = 4  # tokens around with vectors of their own in attention
    kernel: Kernel = 7  # of the convolutions over frames, and over tokens in the phrase
    head_kernel: Kernel = 3  # of what tells durations and pitch

    # frames
    mean_width: Width = 256
    mean_layers: Depth = Field(4, ge=1)
    refiner_width: Width = 256
    refiner_layers: Depth = 6  # 0: no refiner, the mean speaks

    # alignment
    alignment: Literal["given", "search", "mixed"] = "given"
    guide_steps: int = Field(800, ge=0)  # search: steps in which it is drawn to the diagonal, less and less
    search_from: int = Field(500, ge=0)  # mixed: the step from which clips without a good alignment are searched

    # against learning by heart
    dropout: Share = 0.1
    prosody_dropout: Share = 0.3  # of what tells pitch, durations and pauses, which is learnt by heart first
    symbol_dropout: Share = 0.0  # share of sounds that are hidden
    tone_dropout: Share = 0.1  # share of words whose tones are unknown
    duration_noise: float = Field(0.0, ge=0, le=4)  # frames by which boundaries between sounds are shaken
    knots_share: float = Field(0.5, ge=0, le=1)  # of clips that learn with a line through their knots, not with pitch

    # training
    init_scale: float = Field(1.0, ge=0)  # rows of new symbols: how far from where they start, in the old rows' spread
    learning_rate: float = Field(1e-3, gt=0)
    adam_betas: tuple[Beta, Beta] = (0.9, 0.98)
    adam_epsilon: float = Field(1e-8, gt=0)
    weight_decay: Weight = 0.01
    clip: float = Field(1.0, ge=0)  # gradient norm limit; 0: measured, not clipped
    average: Share = 0.999  # decay of the averaged weights that are exported; 0: none
    weight_mean: Weight = 1.0
    weight_flow: Weight = 1.0
    weight_voicing: Weight = 0.2
    weight_duration: Weight = 0.5
    weight_pause: Weight = 0.2
    weight_pitch: Weight = 0.5
    weight_prior: Weight = 0.5

    # speaking defaults, stored in the voice
    steps: int = Field(4, ge=0, le=64)  # of refining
    temperature: float = Field(0.5, ge=0, le=2)
    length_scale: float = Field(1.0, gt=0, le=4)  # how many times longer a voice makes every sound and pause

    @model_validator(mode="after")
    def _nothing_ignored(self) -> AcousticConfig:
        fields = type(self).model_fields

        def idle(why: str, *names: str) -> None:
            for name in names:
                if getattr(self, name) != fields[name].default:
                    raise ValueError(f"{name} has no effect {why}")

        if self.alignment == "given":
            idle("with alignment = 'given': nothing is searched", "guide_steps", "weight_prior")
        if self.alignment != "mixed":
            idle("but with alignment = 'mixed'", "search_from")
        if not self.refiner_layers:
            idle("without refiner_layers: there is no refiner", "weight_flow", "steps", "temperature")
        for name in ("kernel", "head_kernel"):
            if getattr(self, name) % 2 == 0:
                raise ValueError(f"{name} must be odd, so that lengths stay as they are")
        if self.width % self.heads:
            raise ValueError("width must be a multiple of heads")
        return self

    @property
    def near_kernels(self) -> tuple[int, ...]:
        """Of the blocks over the tokens nearby: together they see `reach` on either side."""
        sides = [(self.reach * (at + 1)) // self.near_layers for at in range(self.near_layers)]
        return tuple(2 * (b - a) + 1 for a, b in zip([0, *sides], sides, strict=False))

"""How large the frozen networks of S3Gen are: as published, or small ones of the same shape for tests."""

from __future__ import annotations

from dataclasses import dataclass

from olu.families.chatterbox.config import OUT_RATE, ChatterboxConfig

MEL_RATE = 50  # frames of the mel a second: two a code
MELS = 80
HOP = OUT_RATE // MEL_RATE
HARMONICS = 9


@dataclass(frozen=True)
class S3GenSizes:
    codes: int = 6561
    meanflow: bool = False
    # the encoder of codes
    width: int = 512
    heads: int = 8
    inner: int = 2048
    layers: int = 6
    up_layers: int = 4
    # the estimator of the flow
    channels: int = 256
    flow_heads: int = 8
    flow_head: int = 64
    blocks: int = 4
    middle: int = 12
    # the vocoder
    vocoder_width: int = 512
    pitch_width: int = 512
    # what hears the speaker
    vector: int = 192
    dense: tuple[int, int, int] = (12, 24, 16)
    growth: int = 32
    planes: int = 32
    tdnn: int = 128

    @staticmethod
    def of(config: ChatterboxConfig) -> S3GenSizes:
        """Those that go with a T3: as published, or tiny as it is."""
        if config.small:
            return S3GenSizes.tiny(codes=config.codes, meanflow=config.meanflow)
        return S3GenSizes(codes=config.codes, meanflow=config.meanflow)

    @staticmethod
    def tiny(*, codes: int = 81, meanflow: bool = False) -> S3GenSizes:
        return S3GenSizes(
            codes=codes,
            meanflow=meanflow,
            width=32,
            heads=4,
            inner=48,
            layers=2,
            up_layers=1,
            channels=32,
            flow_heads=2,
            flow_head=16,
            blocks=1,
            middle=2,
            vocoder_width=32,
            pitch_width=16,
            vector=24,
            dense=(2, 2, 2),
            growth=8,
            planes=4,
            tdnn=16,
        )

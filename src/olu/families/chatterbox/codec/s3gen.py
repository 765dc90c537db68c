"""What the file s3gen holds: the tokenizer, and what makes sound of codes, all frozen."""

from __future__ import annotations

from torch import nn

from olu.families.chatterbox.codec.flow import S3Flow
from olu.families.chatterbox.codec.hift import HiFT
from olu.families.chatterbox.codec.sizes import S3GenSizes
from olu.families.chatterbox.codec.tokens import S3Tokenizer
from olu.families.chatterbox.codec.xvector import SpeakerVector
from olu.families.chatterbox.config import ChatterboxConfig


class S3Gen(nn.Module):
    def __init__(self, config: ChatterboxConfig) -> None:
        super().__init__()
        sizes = S3GenSizes.of(config)
        self.tokenizer = S3Tokenizer(config)
        self.speaker_encoder = SpeakerVector(sizes)
        self.flow = S3Flow(sizes)
        self.mel2wav = HiFT(sizes)

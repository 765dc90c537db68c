"""What the file s3gen holds: the tokenizer, and what makes sound of codes, all frozen."""

from __future__ import annotations

from torch import nn

from olu.families.chatterbox.codec.tokens import S3Tokenizer
from olu.families.chatterbox.config import ChatterboxConfig


class S3Gen(nn.Module):
    def __init__(self, config: ChatterboxConfig) -> None:
        super().__init__()
        self.tokenizer = S3Tokenizer(config)

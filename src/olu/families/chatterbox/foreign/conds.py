"""`conds.pt`, the voice that a folder of Chatterbox speaks with when it is given no recording: read as plain tensors.

Under `t3` lie the speaker vector, the codes of its prompt and how exaggerated it speaks; under `gen` what the decoder
is told of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from olu.core.errors import TrainError
from olu.families.chatterbox.codec.s3gen import SoundReference
from olu.families.chatterbox.codec.sizes import MELS
from olu.train.pickles import stored

CONDS = "conds.pt"
FRAMES = 2  # of the mel, for a code


@dataclass(frozen=True)
class BuiltInVoice:
    """`emotion` none: of Turbo and Nano, which are told nothing of it."""

    vector_G: Tensor
    prompt_N: Tensor
    emotion: float | None
    reference: SoundReference


def read_conds(path: Path, *, codes: int) -> BuiltInVoice:
    """`codes`: how many the tokenizer knows; another number than that is of another program."""
    held = stored(path)
    t3, gen = (held.get(part) if isinstance(held, dict) else None for part in ("t3", "gen"))
    if not isinstance(t3, dict) or not isinstance(gen, dict):
        raise TrainError(f"{path} has no tables t3 and gen: it is no conds.pt of Chatterbox")

    def of(table: Mapping[str, Any], name: str, axes: int) -> Tensor:
        one = table.get(name)
        if not isinstance(one, Tensor) or one.ndim != axes or len(one) != 1 or not bool(one.float().isfinite().all()):
            raise TrainError(f"{path}: {name} is not as Chatterbox has it: take the conds.pt of the release")
        return one[0]

    def codes_of(table: Mapping[str, Any], name: str) -> Tensor:
        one = of(table, name, 2).long()
        if len(one) == 0 or int(one.min()) < 0 or int(one.max()) >= codes:
            raise TrainError(f"{path}: {name} has codes that the tokenizer does not know: it is of another Chatterbox")
        return one

    mel, heard = of(gen, "prompt_feat", 3).float(), codes_of(gen, "prompt_token")
    count = min(len(heard), len(mel) // FRAMES)  # the public program may leave one frame more
    if mel.shape[1] != MELS or count == 0:
        raise TrainError(f"{path}: prompt_feat has shape {tuple(mel.shape)}, and {MELS} bands are wanted")
    emotion = t3.get("emotion_adv")
    return BuiltInVoice(
        of(t3, "speaker_emb", 2).float(),
        codes_of(t3, "cond_prompt_speech_tokens"),
        float(emotion.flatten()[0]) if isinstance(emotion, Tensor) and emotion.numel() else None,
        SoundReference(heard[:count], mel[: FRAMES * count], of(gen, "embedding", 2).float()),
    )


def write_conds(voice: BuiltInVoice, path: Path) -> None:
    """As the public program stores it."""
    told = None if voice.emotion is None else torch.full((1, 1, 1), voice.emotion)
    heard = voice.reference
    t3 = {
        "speaker_emb": voice.vector_G[None],
        "clap_emb": None,
        "cond_prompt_speech_tokens": voice.prompt_N[None],
        "cond_prompt_speech_emb": None,
        "emotion_adv": told,
    }
    gen = {
        "prompt_token": heard.codes_P[None],
        "prompt_token_len": torch.tensor([len(heard.codes_P)]),
        "prompt_feat": heard.mel_FM[None],
        "prompt_feat_len": None,
        "embedding": heard.vector_G[None],
    }
    torch.save(
        {part: {name: _plain(one) for name, one in rows.items()} for part, rows in (("t3", t3), ("gen", gen))}, path
    )


def _plain(one: Tensor | None) -> Tensor | None:
    """A view would be stored with all that it is a view of."""
    return None if one is None else one.detach().cpu().contiguous().clone()

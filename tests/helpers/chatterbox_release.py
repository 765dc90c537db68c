"""A folder as Chatterbox was released, with drawn weights and a tokenizer of its kind, as narrow as can be."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from olu.families.chatterbox.config import SIZES, ChatterboxConfig
from olu.families.chatterbox.foreign.to_upstream import plain_state
from olu.families.chatterbox.learn import ChatterboxLearner
from olu.text.byte_words import BYTE_SIGNS
from olu.text.piece_files import END_OF_TEXT, byte_files
from olu.text.pieces import BytePieceVocabulary

SPECIAL = {"[STOP]": 0, "[UNK]": 1, "[SPACE]": 2, "[START]": 255}
MARKS = "\u0300\u0301\u0302\u0303\u0304\u0307\u0323"
IDS = 270


def tokenizer(*, tags: tuple[str, ...] = ("en", "es", "sw"), spare: int = 2) -> dict[str, Any]:
    """Ids without a gap: the special tokens, small and capital letters, marks, tags and placeholders."""
    names = [*string.ascii_letters, *MARKS, *"0123456789!',-.:;?\"()[]ŋɔɛ", "th", "al", "im"]
    names += [*(f"[{tag}]" for tag in tags), *(f"[PLACEHOLDER{55 + number}]" for number in range(spare))]
    table, left = dict(SPECIAL), iter(names)
    for id in range(IDS):
        if id not in SPECIAL.values():
            table[next(left, f"<{id}>")] = id
    special = [name for name in table if name.startswith("[") and len(name) > 1]
    return {
        "version": "1.0",
        "added_tokens": [{"id": table[name], "content": name, "special": True} for name in special],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "BPE", "unk_token": "[UNK]", "vocab": table, "merges": ["t h", "a l", "i m"]},
    }


def write_release(folder: Path, *, half: bool = False, wrapped: bool = False, meanflow: bool = False) -> Path:
    """`half`: T3 as .pt in 16 bits; `wrapped`: first of a list under `model`; `meanflow`: that decoder beside."""
    folder.mkdir(parents=True)
    torch.manual_seed(0)
    config = ChatterboxConfig(size="tiny")
    learner = ChatterboxLearner(config, vocab_size=IDS, num_speakers=1)
    t3 = plain_state(learner.t3)
    if half:
        t3 = {name: one.half() for name, one in t3.items()}
    if half or wrapped:
        torch.save({"model": [t3]} if wrapped else t3, folder / "t3_mtl23ls_v2.pt")
    else:
        save_file(t3, folder / "t3_mtl23ls_v2.safetensors")
    save_file(plain_state(learner.s3gen), folder / "s3gen.safetensors")
    torch.save(plain_state(learner.ve), folder / "ve.pt")
    if meanflow:
        torch.manual_seed(1)
        other = ChatterboxLearner(config.model_copy(update={"meanflow": True}), vocab_size=IDS, num_speakers=1).s3gen
        other.tokenizer.load_state_dict(learner.s3gen.tokenizer.state_dict())
        save_file(plain_state(other), folder / "s3gen_meanflow.safetensors")
    (folder / "grapheme_mtl_merged_expanded_v1.json").write_text(json.dumps(tokenizer()), encoding="utf-8")
    (folder / "README.md").write_text("---\nlicense: mit\n---\n", encoding="utf-8")
    return folder


TAGS = ("[clear throat]", "[laugh]")
BYTE_MERGES = (("t", "h"), ("Ġ", "a"), ("Ġ", "th"), ("th", "e"), ("á", "ħ"), ("á»", "į"), ("á", "»"), ("Ã", "©"))


def byte_vocabulary() -> BytePieceVocabulary:
    """All bytes, a few merges, the end of a text and two tags: as Turbo and Nano have theirs."""
    merges = sorted(BYTE_MERGES, key=lambda pair: len(pair[0] + pair[1]))
    pieces = [*BYTE_SIGNS, *(a + b for a, b in merges), END_OF_TEXT, *TAGS]
    return BytePieceVocabulary(pieces, merges, specials=(END_OF_TEXT, *TAGS), met="abc")


def turbo_config(**changes: object) -> ChatterboxConfig:
    """As narrow as `tiny`, with all else as Turbo has it."""
    sizes = {name for name in SIZES["tiny"] if name not in ("repetition_penalty", "prompt_seconds")}
    kept = {name: one for name, one in SIZES["turbo"].items() if name not in {*sizes, "speech_ids"}}
    narrow = {"prompt_codes": SIZES["turbo"]["prompt_codes"], "prompt_rows": 0, "speech_ids": 83}
    return ChatterboxConfig(**{**kept, **narrow, "size": "tiny", **changes})


def write_turbo(folder: Path, *, name: str = "t3_turbo_v1") -> Path:
    """A folder as Turbo was released; with another name of its T3 as Nano."""
    folder.mkdir(parents=True)
    torch.manual_seed(0)
    vocabulary = byte_vocabulary()
    learner = ChatterboxLearner(turbo_config(), vocab_size=vocabulary.size, num_speakers=1)
    for file, module in {name: learner.t3, "s3gen_meanflow": learner.s3gen, "ve": learner.ve}.items():
        save_file(plain_state(module), folder / f"{file}.safetensors")
    for file, text in byte_files(vocabulary).items():
        (folder / file).write_text(text, encoding="utf-8")
    (folder / "README.md").write_text("---\nlicense: mit\n---\n", encoding="utf-8")
    return folder

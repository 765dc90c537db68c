"""Released folders of Chatterbox and what others made of them, read without running any code of theirs.

A folder has a T3 (t3_*.safetensors or .pt), its tokenizer, s3gen and ve, each as .safetensors or .pt. Sizes are read
off the tensors; the number of texts' ids is that of the table, never a constant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from olu.core.config import check
from olu.core.errors import TrainError
from olu.core.words import first_names
from olu.families.chatterbox.codec.s3gen import S3Gen
from olu.families.chatterbox.codec.voice import VoiceEncoder
from olu.families.chatterbox.config import SIZES, ChatterboxConfig
from olu.families.chatterbox.model import T3
from olu.text.piece_files import ADDED, MERGES, VOCAB, read_byte_pieces, read_pieces
from olu.text.pieces import PieceVocabulary
from olu.train.pickles import stored

# The first that is there is taken, the newest first.
T3_FILES = ("t3_mtl*", "t3_*lang*", "t3_turbo*", "t3_nano*", "t3_cfg*", "t3_??", "t3_*", "t3")
S3GEN_FILES = ("s3gen", "s3gen_v3", "s3gen_meanflow")
VE_FILES = ("ve",)
SPELLINGS = (".safetensors", ".pt")
MULTILINGUAL = ("grapheme_mtl_merged_expanded_v1.json", "mtl_tokenizer.json")
ENGLISH = "tokenizer.json"
BYTES = (VOCAB, MERGES)  # of Turbo and Nano, which cut texts as GPT-2 does
MEAN = "flow.decoder.estimator.time_embed_mixer.weight"
OPTIONAL = ("tokenizer._mel_filters", "tokenizer.window")  # nothing was learnt in them
SMALL = 256  # narrower ones are for tests, with heads as `tiny` has them
HEAD = 64
UNREAD_STATE = re.compile(r"tfmr\.h\.\d+\.attn\.(bias|masked_bias)$")  # left by old libraries: nothing that was learnt


@dataclass(frozen=True)
class ChatterboxRelease:
    """What was read. Tensors carry the published names."""

    folder: Path
    files: Mapping[str, Path]  # t3, s3gen, ve, tokenizer
    config: ChatterboxConfig
    vocabulary: PieceVocabulary
    vocab_size: int
    t3: dict[str, Tensor] = field(repr=False)
    notes: tuple[str, ...] = ()

    @cached_property
    def s3gen(self) -> dict[str, Tensor]:
        return self.decoder(meanflow=self.config.meanflow)

    @cached_property
    def ve(self) -> dict[str, Tensor]:
        weights = tensors(_first(self.folder, VE_FILES, "voice encoder"))
        must_fit(weights, lambda: VoiceEncoder(self.config), where=str(self.files["ve"]))
        return weights

    def decoder(self, *, meanflow: bool) -> dict[str, Tensor]:
        """S3Gen with ten steps or with two, where the folder has it; both must have the tokenizer T3 learnt with."""
        for path in all_of(self.folder, S3GEN_FILES):
            weights = tensors(path)
            if (MEAN in weights) == meanflow:
                config = self.config.model_copy(update={"meanflow": meanflow})
                must_fit(weights, partial(S3Gen, config), where=str(path), optional=OPTIONAL)
                return weights
        steps = "two steps (s3gen_meanflow.safetensors)" if meanflow else "ten steps (s3gen.safetensors)"
        raise TrainError(f"{self.folder} has no S3Gen of {steps}: put that file of Chatterbox into it")


def read_release(place: Path) -> ChatterboxRelease:
    """A folder, or one of several T3 files in it."""
    folder = place if place.is_dir() else place.parent
    path = place if place.is_file() else _first(folder, T3_FILES, "T3")
    others = [one.name for one in all_of(folder, T3_FILES) if one != path] if place.is_dir() else []
    notes = [f"T3 is {path.name}; {first_names(others, 4)} left aside: name a file to take another"] if others else []
    weights = {name: one for name, one in tensors(path).items() if not UNREAD_STATE.match(name)}
    for name in ("text_emb.weight", "text_head.weight", "speech_emb.weight", "speech_head.weight"):
        if name not in weights or weights[name].ndim != 2:
            raise TrainError(f"{path} has no {name}: it is no T3 of Chatterbox")
    ids, rows = len(weights["text_emb.weight"]), len(weights["text_head.weight"])
    if ids != rows:
        raise TrainError(
            f"{path}: text_emb has {ids} rows and text_head {rows}: whoever grew the first forgot the second; take the"
            " file before that, and let Olu grow both"
        )
    tokenizer, vocabulary = _tokenizer(folder, ids, bare="tfmr.wpe.weight" in weights)
    s3gen = _chosen_s3gen(folder, meanflow="tfmr.wpe.weight" in weights)
    config = _config(weights, tensors(s3gen), tokenizer=tokenizer, where=str(path))
    must_fit(weights, lambda: T3(config, vocab_size=ids), where=str(path))
    files = {"t3": path, "s3gen": s3gen, "ve": _first(folder, VE_FILES, "voice encoder"), "tokenizer": tokenizer}
    return ChatterboxRelease(folder, files, config, vocabulary, ids, weights, tuple(notes))


# ---------------------------------------------------------------- files


def tensors(path: Path) -> dict[str, Tensor]:
    """Of a file, which may hold them as they are, under `model`, or as the first of a list there."""
    held = stored(path)
    for _ in range(2):
        if isinstance(held, dict) and "model" in held:
            held = held["model"]
        if isinstance(held, list | tuple) and held:
            held = held[0]
    if not isinstance(held, dict) or not held or not all(isinstance(one, Tensor) for one in held.values()):
        raise TrainError(f"{path} holds no table of tensors: is it a file of Chatterbox?")
    return {str(name).removeprefix("module."): one for name, one in held.items()}


def all_of(folder: Path, names: tuple[str, ...]) -> list[Path]:
    found: dict[str, Path] = {}
    for name in names:
        for suffix in SPELLINGS:
            for path in sorted(folder.glob(name + suffix), reverse=True):
                found.setdefault(path.stem, path)  # one spelling of each is enough
    return list(found.values())


def _first(folder: Path, names: tuple[str, ...], what: str) -> Path:
    if found := all_of(folder, names):
        return found[0]
    raise TrainError(f"{folder} has no {names[0]}.safetensors or .pt: put the {what} of Chatterbox into it")


def _chosen_s3gen(folder: Path, *, meanflow: bool) -> Path:
    """Two steps for Turbo and Nano, ten for the others, where both are there."""
    found = all_of(folder, S3GEN_FILES)
    fitting = [path for path in found if ("meanflow" in path.stem) == meanflow]
    return (fitting or found or [_first(folder, S3GEN_FILES, "decoder")])[0]


def _tokenizer(folder: Path, ids: int, *, bare: bool) -> tuple[Path, PieceVocabulary]:
    """The one that has as many ids as the table; of bytes, for Turbo and Nano."""
    if bare:
        if lost := [name for name in BYTES if not (folder / name).is_file()]:
            raise TrainError(f"{folder} has no {' and '.join(lost)}: put the tokenizer of Turbo into it")
        cut = read_byte_pieces(folder)
        if cut.size != ids:
            raise TrainError(
                f"{folder}: T3's table of text has {ids} rows, and {VOCAB} with what was added {cut.size} tokens: copy"
                f" {', '.join(BYTES)} and {ADDED} that belong to these weights"
            )
        return folder / VOCAB, cut
    seen = []
    for name in (*MULTILINGUAL, ENGLISH):
        if not (folder / name).is_file():
            continue
        held = read_pieces(folder / name)
        seen.append(f"{name} has {held.size}")
        if held.size == ids:
            many = name in MULTILINGUAL
            kept: dict[str, Any] = {"form": "NFKD" if many else "NFC", "tagged": many}
            return folder / name, PieceVocabulary(held.symbols, held.merges, specials=held.specials, **kept)
    said = f"; {', '.join(seen)}" if seen else ""
    raise TrainError(
        f"{folder} has no tokenizer of {ids} ids, as T3's table of text has them{said}: copy the"
        f" {MULTILINGUAL[0]} or {ENGLISH} that belongs to these weights"
    )


# ---------------------------------------------------------------- sizes


def _config(t3: Mapping[str, Tensor], s3gen: Mapping[str, Tensor], *, tokenizer: Path, where: str) -> ChatterboxConfig:
    """Sizes of the tensors; heads cannot be seen in them, and are as wide as all released ones have them."""
    speech, width = t3["speech_emb.weight"].shape
    llama, small = "tfmr.wpe.weight" not in t3, width < SMALL
    layers = _deep(t3, r"tfmr\.(?:layers|h)\.(\d+)\.")
    size = "tiny" if small else _size(llama, layers, tokenizer)
    digits, s3_width = _shape(s3gen, "tokenizer.quantizer._codebook.project_down.weight", 2, where)
    read: dict[str, Any] = {
        "size": size,
        "backbone": "llama" if llama else "gpt2",
        "layers": layers,
        "width": width,
        "codes": 3**digits,
        "speech_ids": speech,
        "emotion": "cond_enc.emotion_adv_fc.weight" in t3,
        "voice_width": _shape(t3, "cond_enc.spkr_enc.weight", 2, where)[1],
        "s3_width": s3_width,
        "s3_layers": _deep(s3gen, r"tokenizer\.encoder\.blocks\.(\d+)\."),
        "s3_mels": _shape(s3gen, "tokenizer.encoder.conv1.weight", 3, where)[1],
        "meanflow": MEAN in s3gen,
    }
    if llama:
        read["inner"] = _shape(t3, "tfmr.layers.0.mlp.gate_proj.weight", 2, where)[0]
        read["text_places"] = _shape(t3, "text_pos_emb.emb.weight", 2, where)[0]
        read["code_places"] = _shape(t3, "speech_pos_emb.emb.weight", 2, where)[0]
        read["prompt_rows"] = _shape(t3, "cond_enc.perceiver.pre_attention_query", 3, where)[1]
    if not small:
        read |= {"heads": width // HEAD, "s3_heads": s3_width // HEAD}
    elif not llama:
        places = {name: ChatterboxConfig.model_fields[name].default for name in ("text_places", "code_places")}
        read |= {name: one for name, one in {**SIZES["turbo"], **places}.items() if name not in read}
    return check(ChatterboxConfig, read, where=where)


def _size(llama: bool, layers: int, tokenizer: Path) -> str:
    if llama:
        return "english" if tokenizer.name == ENGLISH else "multilingual"
    return "nano" if layers <= SIZES["nano"]["layers"] else "turbo"


def _shape(weights: Mapping[str, Tensor], name: str, axes: int, where: str) -> tuple[int, ...]:
    if name not in weights or weights[name].ndim != axes:
        raise TrainError(f"{where}: there is no {name} as Chatterbox has it: the file is not whole")
    return tuple(weights[name].shape)


def _deep(weights: Mapping[str, Tensor], pattern: str) -> int:
    return max((int(match[1]) for name in weights if (match := re.match(pattern, name))), default=-1) + 1


def must_fit(
    weights: dict[str, Tensor], made: Callable[[], nn.Module], *, where: str, optional: tuple[str, ...] = ()
) -> None:
    """Nothing missing, nothing of another shape, nothing left over."""
    with torch.device("meta"):
        wanted = made().state_dict()
    for name, like in wanted.items():
        if name not in weights and name in optional:
            continue
        if name not in weights:
            raise TrainError(f"{where} lacks {name}: the file is not whole, or of another program")
        if weights[name].shape != like.shape:
            shapes = tuple(weights[name].shape), tuple(like.shape)
            raise TrainError(f"{where}: {name} has shape {shapes[0]}, and Chatterbox of this size {shapes[1]}")
        if like.is_floating_point() and not weights[name].is_floating_point():
            raise TrainError(f"{where}: {name} holds whole numbers, and no weights: download the file again")
    if strange := sorted(set(weights) - set(wanted) - set(optional)):
        raise TrainError(f"{where} holds {first_names(strange, 4)}, which Chatterbox does not have")

"""What a run starts from: the released XTTS v2, a fine-tuning of it, or a run of Olu's own of this family."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from olu.core.errors import OluError, TrainError
from olu.families.xtts.codes import Dvae
from olu.families.xtts.config import XttsConfig
from olu.families.xtts.foreign.read import VOCABULARY, read_release
from olu.nn.lora import merge_lora
from olu.text.piece_files import read_pieces
from olu.text.pieces import PieceVocabulary, vocabulary_from
from olu.train.checkpoint import Checkpoint, load_averaged
from olu.train.family import Base
from olu.train.grow_symbols import Growth, enlarged, enlarged_checkpoint
from olu.train.run import Run

ROWS = ("gpt.text_embedding.weight", "gpt.text_head.weight", "gpt.text_head.bias")
TABLE = "hifigan_decoder.speaker_table.weight"
FRESH = ("lora_", "disc.", "sounds")  # what no base has: it is new in every run
Coder = Callable[[NDArray[np.int16]], NDArray[np.int16]]


def read_base(place: Path) -> Base:
    return _of_run(Run(place)) if (place / "recipe.toml").is_file() else _of_release(place)


def _of_release(place: Path) -> Base:
    release = read_release(place)
    if not release.dvae:
        raise TrainError(f"{place} has no DVAE: put the dvae.pth of XTTS v2 into it; its codes are what is learnt")
    folder = place if place.is_dir() else place.parent
    vocabulary = read_pieces(folder / VOCABULARY)
    weights = {**release.weights, **{f"dvae.{name}": one for name, one in release.dvae.items()}}
    weights["mel_stats"] = release.mel_stats
    return _base(release.config, vocabulary, weights, speakers=(), notes=release.notes)


def _of_run(run: Run) -> Base:
    """The best step of a run, with its averages and without its adapters."""
    config = XttsConfig.model_validate(run.recipe.model)
    vocabulary, speakers = vocabulary_from(run.document("vocabulary.json")), run.document("speakers.json")
    steps = run.checkpoints().steps()
    if run.recipe.family != "xtts" or not isinstance(vocabulary, PieceVocabulary) or not steps:
        raise TrainError(f"{run.folder} is no run of the family xtts with a checkpoint: name another base")
    from olu.families.xtts.learn import XttsLearner

    with torch.random.fork_rng(devices=[]):
        learner = XttsLearner(config, vocab_size=vocabulary.size, num_speakers=len(speakers))
    load_averaged(learner, run.checkpoints().load(int((run.best or {"step": steps[-1]})["step"])))
    merge_lora(learner)
    plain = config.model_copy(update={"lora_rank": 0})
    frontend = run.document("frontend.json")
    return _base(plain, vocabulary, dict(learner.state_dict()), speakers=speakers, frontend=frontend)


def _base(
    config: XttsConfig,
    vocabulary: PieceVocabulary,
    weights: dict[str, Tensor],
    *,
    speakers: Sequence[str],
    notes: Sequence[str] = (),
    frontend: Mapping[str, Any] | None = None,
) -> Base:
    ids = {piece: id for id, piece in enumerate(vocabulary.symbols)}
    codec = codec_hash(weights)
    own = {
        "text_start": ids["[START]"],
        "text_stop": ids["[STOP]"],
        "codec": codec,
        "codes_steps": 0,
        "decoder_from": 0,
    }
    kept = {name: getattr(config, name) for name in KEPT}
    return Base(
        settings={**kept, **own},
        symbols=vocabulary.symbols,
        interleave=False,
        lower=True,
        via=None,
        num_speakers=max(1, len(speakers)),
        load=partial(_load, weights, names=tuple(speakers), notes=tuple(notes)),
        speakers=tuple(speakers),
        frontend=frontend,
        vocabulary=vocabulary.state(),
        languages=tuple(tag.strip("[]") for tag in vocabulary.specials if tag.islower()),
        extra={"codec": codec, "coder": partial(_coder, weights, config)},
    )


# what a base decides: the sizes of its networks, and how it was taught
KEPT = (
    *("size", "layers", "width", "heads", "codes", "text_places", "code_places", "prompt_rows", "conditioning_layers"),
    *("perceiver_layers", "perceiver_heads", "perceiver_head_width", "dvae_width", "code_width", "dvae_blocks"),
    *("decoder_width", "speaker_width", "speakers", "stops", "hears_stop", "prompt_seconds", "dropout"),
    *("temperature", "top_k", "top_p", "repetition_penalty"),
)


def codec_hash(weights: Mapping[str, Tensor]) -> str:
    """Of all that decides the codes of a clip: the DVAE, and the scale of its mels."""
    held = hashlib.sha256()
    for name in sorted(one for one in weights if one.startswith("dvae.") or one == "mel_stats"):
        held.update(name.encode())
        held.update(np.ascontiguousarray(weights[name].detach().float().cpu().numpy()).tobytes())
    return held.hexdigest()


def _coder(weights: Mapping[str, Tensor], config: XttsConfig, device: str) -> Coder:
    """What makes the codes of a clip, on that device."""
    dvae = Dvae(config)
    own = {name.removeprefix("dvae."): one.float() for name, one in weights.items() if name.startswith("dvae.")}
    dvae.load_state_dict(own)
    dvae.to(device).eval()
    stats = weights["mel_stats"].float().to(device)

    def codes(samples: NDArray[np.int16]) -> NDArray[np.int16]:
        if len(samples) < 1024:
            raise OluError(f"{len(samples)} samples: shorter than one code")
        wave = torch.from_numpy(np.asarray(samples).astype(np.float32) / 32768.0)
        return dvae.codes(wave[None].to(device), stats)[0].cpu().numpy().astype(np.int16)

    return codes


@torch.no_grad()
def _load(
    weights: Mapping[str, Tensor],
    learner: nn.Module,
    growth: Growth | None = None,
    speakers: Sequence[str] = (),
    *,
    names: tuple[str, ...],
    notes: tuple[str, ...],
) -> list[str]:
    """Into a learner, with rows for what is new; returns what is said of it."""
    given = {name: one.float() if one.is_floating_point() else one for name, one in weights.items()}
    if growth:
        given |= {name: enlarged(given[name], growth) for name in ROWS}
    if TABLE in given:
        table = given[TABLE]
        rows = [table[names.index(one)] if one in names else table.mean(0) for one in speakers]
        given[TABLE] = torch.stack(rows)
    wanted = learner.state_dict()
    fresh = [name for name in wanted if name.startswith(FRESH) or name.rpartition(".")[2].startswith("lora_")]
    taken = {name: given[name] for name in wanted if name in given}
    if lost := sorted(set(wanted) - set(taken) - set(fresh)):
        raise TrainError(f"the base has nothing for {lost[0]}: it is of another kind")
    learner.load_state_dict({**{name: wanted[name] for name in fresh}, **taken})
    return list(notes)


def with_speakers(checkpoint: Checkpoint, learner: nn.Module, *, old: int) -> Checkpoint:
    """A run's checkpoint with rows for new speakers, near the mean of the old; encoders hear anybody."""
    held = checkpoint.weights.get(f"learner/{TABLE}")
    if held is None:
        return checkpoint
    added = len(learner.state_dict()[TABLE]) - old
    grown = enlarged_checkpoint(checkpoint, (TABLE,), Growth(old, (None,) * added))
    weights, inside = dict(grown.weights), TABLE.partition(".")[2]
    for key in [f"average/decoder/{inside}"]:
        if key in weights:
            weights[key] = enlarged(weights[key], Growth(old, (None,) * added))
    optimiser = {name: one for name, one in grown.optimiser.items() if not name.startswith(f"decoder/{inside}")}
    return Checkpoint(weights, optimiser, grown.state, grown.frozen)

"""What a run starts from: a released Chatterbox, a fine-tuning of it, or a run of Olu's own of this family."""

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

from olu.core.errors import TrainError
from olu.families.chatterbox.codec.tokens import S3Tokenizer
from olu.families.chatterbox.codec.voice import VoiceEncoder
from olu.families.chatterbox.config import ChatterboxConfig
from olu.families.chatterbox.foreign.read import MEAN, read_release
from olu.nn.lora import is_lora, merge_lora
from olu.text.pieces import START, STOP, PieceVocabulary, vocabulary_from
from olu.train.checkpoint import load_averaged
from olu.train.family import Base
from olu.train.grow_symbols import Growth, enlarged
from olu.train.run import Run
from olu.train.weight_check import check_numbers

ROWS = ("t3.text_emb.weight", "t3.text_head.weight")
TOKENIZER, VOICE, SOUND = "s3gen.tokenizer.", "ve.", "s3gen."
STILL = ("_mel_filters", "window")  # nothing was learnt in them, and some files leave them out
SPELLED = ("zh", "cmn", "ja", "he", "ko", "ru")  # whose texts the published program rewrites before it cuts them
REWRITTEN = "the published program rewrites its letters before it cuts them, and Olu has no such rules"
Decoder = Callable[[bool], Mapping[str, Tensor]]  # S3Gen of two steps, or of ten


def read_base(place: Path) -> Base:
    return _of_run(Run(place)) if (place / "recipe.toml").is_file() else _of_release(place)


def _of_release(place: Path) -> Base:
    release = read_release(place)
    weights = {f"t3.{name}": one for name, one in release.t3.items()}
    weights |= {f"{SOUND}{name}": one for name, one in release.s3gen.items()}
    weights |= {f"{VOICE}{name}": one for name, one in release.ve.items()}

    def decoder(meanflow: bool) -> Mapping[str, Tensor]:
        return release.decoder(meanflow=meanflow)

    return _base(release.config, release.vocabulary, weights, decoder=decoder, notes=release.notes)


def _of_run(run: Run) -> Base:
    """The best step of a run, with its averages and without its adapters."""
    vocabulary, steps = vocabulary_from(run.document("vocabulary.json")), run.checkpoints().steps()
    if run.recipe.family != "chatterbox" or not isinstance(vocabulary, PieceVocabulary) or not steps:
        raise TrainError(f"{run.folder} is no run of the family chatterbox with a checkpoint: name another base")
    from olu.families.chatterbox.learn import ChatterboxLearner

    config, speakers = ChatterboxConfig.model_validate(run.recipe.model), run.document("speakers.json")
    with torch.random.fork_rng(devices=[]):
        learner = ChatterboxLearner(config, vocab_size=vocabulary.size, num_speakers=len(speakers))
    load_averaged(learner, run.checkpoints().load(int((run.best or {"step": steps[-1]})["step"])))
    merge_lora(learner)
    plain = config.model_copy(update={"lora_rank": 0})
    frontend = run.document("frontend.json")
    return _base(plain, vocabulary, dict(learner.state_dict()), speakers=speakers, frontend=frontend)


def _base(
    config: ChatterboxConfig,
    vocabulary: PieceVocabulary,
    weights: dict[str, Tensor],
    *,
    decoder: Decoder | None = None,
    speakers: Sequence[str] = (),
    notes: Sequence[str] = (),
    frontend: Mapping[str, Any] | None = None,
) -> Base:
    hashes = {"tokenizer": hash_of(weights, TOKENIZER), "voice_encoder": hash_of(weights, VOICE)}
    tags = tuple(tag.strip("[]") for tag in vocabulary.specials if tag.islower() and len(tag) in (4, 5))
    ids = {piece: id for id, piece in enumerate(vocabulary.symbols)}
    bounds: dict[str, Any] = {"text_start": config.text_start, "text_stop": config.text_stop}
    if config.text_bounds:
        bounds = {"text_start": ids[START], "text_stop": ids[STOP]}
    if config.backbone == "gpt2":
        bounds |= {"unconditional": 0.0, "dropout": config.dropout}
    english = vocabulary.tagged is False
    return Base(
        settings={**{name: getattr(config, name) for name in KEPT}, **bounds, **hashes},
        symbols=vocabulary.symbols,
        interleave=False,
        lower=not english,
        via=None,
        num_speakers=max(1, len(speakers)),
        load=partial(_load, weights, decoder, notes=tuple(notes)),
        speakers=tuple(speakers),
        frontend=frontend,
        vocabulary=vocabulary.state(),
        languages=("en",) if english else tuple(tag for tag in tags if tag not in SPELLED),
        decides=DECIDES,
        unread={} if english else dict.fromkeys(SPELLED, REWRITTEN),
        extra={
            **hashes,
            "coder": partial(_coder, weights, config),
            "listener": partial(_listener, weights, config),
        },
    )


# what a base decides: the sizes of its networks, and what its texts and codes stand in
DECIDES = (
    *("size", "backbone", "layers", "width", "heads", "inner", "codes", "speech_ids", "text_places", "code_places"),
    *("prompt_rows", "perceiver_heads", "emotion", "voice_width", "voice_layers", "voice_mels"),
    *("s3_width", "s3_layers", "s3_heads", "s3_mels", "text_bounds", "text_start", "text_stop"),
)
KEPT = (  # and what it was taught with, which a recipe may have otherwise
    *(name for name in DECIDES if name not in ("text_start", "text_stop")),
    *("prompt_codes", "start_twice", "meanflow", "prompt_seconds"),
    *("temperature", "guidance", "exaggeration", "min_p", "top_p", "top_k", "repetition_penalty"),
)


def hash_of(weights: Mapping[str, Tensor], prefix: str) -> str:
    """Of all numbers of one network that were learnt."""
    held = hashlib.sha256()
    for name in sorted(one for one in weights if one.startswith(prefix)):
        inside = name.removeprefix(prefix)
        if inside not in STILL:
            held.update(inside.encode())
            held.update(np.ascontiguousarray(weights[name].detach().float().cpu().numpy()).tobytes())
    return held.hexdigest()


def _inside(weights: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): _wide(one) for name, one in weights.items() if name.startswith(prefix)}


def _wide(one: Tensor) -> Tensor:
    return one.float() if one.is_floating_point() else one


def _coder(
    weights: Mapping[str, Tensor], config: ChatterboxConfig, device: str
) -> Callable[[NDArray[np.int16]], NDArray[np.int16]]:
    """What makes the codes of a clip, on that device."""
    tokenizer = S3Tokenizer(config)
    tokenizer.load_state_dict(_inside(weights, TOKENIZER))
    tokenizer.to(device).eval()

    def codes(samples: NDArray[np.int16]) -> NDArray[np.int16]:
        return tokenizer.codes(_wave(samples).to(device)).cpu().numpy().astype(np.int16)

    return codes


def _listener(
    weights: Mapping[str, Tensor], config: ChatterboxConfig, device: str
) -> Callable[[NDArray[np.int16]], NDArray[np.float32]]:
    """What makes the speaker vector of a clip."""
    encoder = VoiceEncoder(config)
    encoder.load_state_dict(_inside(weights, VOICE))
    encoder.to(device).eval()

    def vector(samples: NDArray[np.int16]) -> NDArray[np.float32]:
        return encoder.vector(_wave(samples).numpy()).cpu().numpy().astype(np.float32)

    return vector


def _wave(samples: NDArray[np.int16]) -> Tensor:
    return torch.from_numpy(np.asarray(samples).astype(np.float32) / 32768.0)


@torch.no_grad()
def _load(
    weights: Mapping[str, Tensor],
    decoder: Decoder | None,
    learner: nn.Module,
    growth: Growth | None = None,
    speakers: Sequence[str] = (),
    *,
    notes: tuple[str, ...],
) -> list[str]:
    """Into a learner, with rows for what is new; returns what is said of it."""
    check_numbers(weights)
    given, said = dict(weights), list(notes)
    meanflow = bool(getattr(learner, "config").meanflow)  # noqa: B009
    if meanflow != (f"{SOUND}{MEAN}" in given):
        given, told = _with_decoder(given, decoder, meanflow)
        said.append(told)
    if growth:
        given |= {name: enlarged(given[name].float(), growth) for name in ROWS}
    wanted = learner.state_dict()
    fresh = {name: one for name, one in wanted.items() if is_lora(name)}
    still = {name: one for name, one in wanted.items() if name.startswith(TOKENIZER) and name.endswith(STILL)}
    taken = {name: _wide(given[name]) for name in wanted if name in given}
    if lost := sorted(set(wanted) - set(taken) - set(fresh) - set(still)):
        raise TrainError(f"the base has nothing for {lost[0]}: it is of another kind")
    learner.load_state_dict({**fresh, **still, **taken})
    return said


def _with_decoder(weights: dict[str, Tensor], decoder: Decoder | None, meanflow: bool) -> tuple[dict[str, Tensor], str]:
    """The other S3Gen of the folder, if it knows the same codes."""
    if decoder is None:
        raise TrainError("model.meanflow is another than the base has: take the release's folder as the base")
    other = {f"{SOUND}{name}": one for name, one in decoder(meanflow).items()}
    if hash_of(other, TOKENIZER) != hash_of(weights, TOKENIZER):
        raise TrainError("the two S3Gen files of the base have different tokenizers: their codes are not the same")
    kept = {name: one for name, one in weights.items() if not name.startswith(SOUND)}
    return {**kept, **other}, f"the decoder takes {'two steps' if meanflow else 'ten steps'}: both have one tokenizer"

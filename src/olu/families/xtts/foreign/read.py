"""The released folder of XTTS v2 and checkpoints of its fine-tuning, read without running any code of theirs.

A folder has model.pth (or best_model*.pth, checkpoint_*.pth), config.json, vocab.json, and may have dvae.pth,
mel_stats.pth and speakers_xtts.pth. Sizes are read off the tensors; what config.json says has to agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from olu.core.config import check
from olu.core.errors import TrainError
from olu.core.parse import BadData, load_json
from olu.families.xtts.codes import Dvae
from olu.families.xtts.config import CODE_SAMPLES, MELS, OUT_HOP, OUT_RATE, RATE, XttsConfig
from olu.families.xtts.model import Xtts
from olu.train.pickles import plain, stored

CONFIG, VOCABULARY = "config.json", "vocab.json"
DVAE, MEL_STATS, SPEAKERS = "dvae.pth", "mel_stats.pth", "speakers_xtts.pth"
MODELS = ("model.pth", "best_model.pth")
# Classes whose objects the release and old trainers left in their files.
INERT = (
    "TTS.tts.configs.xtts_config.XttsConfig",
    "TTS.tts.configs.xtts_config.XttsArgs",
    "TTS.tts.configs.xtts_config.XttsAudioConfig",
    "TTS.tts.models.xtts.XttsArgs",
    "TTS.tts.models.xtts.XttsAudioConfig",
    "TTS.config.shared_configs.BaseDatasetConfig",
)
# Left behind by programs that spoke with a model before they saved it, and by old libraries: nothing that was learnt.
DEAD = re.compile(
    r"gpt\.gpt_inference\.|gpt\.gpt\.wte\.|gpt\.gpt\.h\.\d+\.attn\.(bias|masked_bias)$|torch_mel_spectrogram_|"
    r"(dvae\.)?discrete_loss\."
)
V1_CODES = 8194
RELEASES = {6681: "v2.0.2 or v2.0.3", 6153: "v2.0.0 or v2.0.1"}  # by tokens
START, STOP = "[START]", "[STOP]"
TAG = re.compile(r"\[([a-z]{2,3}(?:-[a-z]{2})?)\]")
SAMPLING = ("temperature", "top_k", "top_p", "repetition_penalty")
MOST_TOKENS, MOST_SPEAKERS = 1_000_000, 100_000
V1 = "is XTTS v1, which Olu does not know: take XTTS v2 (2.0.2 or 2.0.3)"


@dataclass(frozen=True)
class Release:
    """What was read. Tensors carry the published names, and lie in their files until they are used."""

    config: XttsConfig
    vocabulary: dict[str, Any]  # vocab.json
    vocab_size: int  # the highest id and one
    weights: dict[str, Tensor] = field(repr=False)
    dvae: dict[str, Tensor] = field(repr=False)  # empty: there is none
    mel_stats: Tensor = field(repr=False)
    speakers: dict[str, tuple[Tensor, Tensor]] = field(repr=False)  # name -> prompt [K, D], vector [G]
    languages: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict, repr=False)  # config.json
    notes: tuple[str, ...] = ()  # sentences: what was left out, or came from elsewhere

    @property
    def tags(self) -> tuple[str, ...]:
        return tags_of(self.vocabulary)

    @property
    def version(self) -> str:
        return RELEASES.get(self.vocab_size, f"v2 with a vocabulary of {self.vocab_size} tokens, which is no release's")

    def load(self, model: Xtts, dvae: Dvae | None = None) -> None:
        """Into networks of the same sizes."""
        model.load_state_dict(
            {
                name: value.to(model.mel_stats.dtype) if value.is_floating_point() else value
                for name, value in self.weights.items()
            }
        )
        with torch.no_grad():
            model.mel_stats.copy_(self.mel_stats)
        if dvae is not None:
            if not self.dvae:
                raise TrainError(f"the base has no DVAE: put {DVAE} into its folder")
            dvae.load_state_dict({name: value.float() for name, value in self.dvae.items()})


def is_release(path: Path) -> bool:
    """Whether a folder or a file looks like XTTS, by config.json beside the weights."""
    folder = path if path.is_dir() else path.parent
    try:
        held = load_json(folder / CONFIG)
    except (OSError, BadData):
        return False
    return isinstance(held, dict) and held.get("model") == "xtts"


def read_release(path: Path) -> Release:
    """A folder, or a checkpoint file in one."""
    folder = path if path.is_dir() else path.parent
    file = _newest(folder) if path.is_dir() else path
    held = stored(file, inert=INERT)
    if not isinstance(held, dict):
        raise TrainError(f"{file} is no checkpoint of XTTS: it holds a {type(held).__name__}")
    state = held.get("model", held)
    if not isinstance(state, dict) or not all(isinstance(value, Tensor) for value in state.values()):
        raise TrainError(f"{file} has no table of tensors under 'model': is it a checkpoint of XTTS?")
    weights, own_dvae, notes = sorted_out(state)
    _refuse_v1(weights, file)
    settings, told = _settings(folder, held)
    vocabulary = _vocabulary(folder / VOCABULARY)
    config = _config(settings, weights, where=told)
    vocab_size = size_of(vocabulary)
    _must_fit(weights, config, file=file, vocab_size=vocab_size)
    config, dvae, said = _with_dvae(config, folder, own_dvae)
    return Release(
        config=config,
        vocabulary=vocabulary,
        vocab_size=vocab_size,
        weights=weights,
        dvae=dvae,
        mel_stats=_mel_stats(folder, weights),
        speakers=_speakers(folder, config),
        languages=tuple(str(one) for one in settings.get("languages") or ()),
        settings=settings,
        notes=(*notes, *said),
    )


def sorted_out(state: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor], list[str]]:
    """Weights of the model, of a DVAE beside it, and what is said of the rest. One spelling of weight norm."""
    weights, dvae, dead = dict[str, Tensor](), dict[str, Tensor](), list[str]()
    for long, value in state.items():
        name = long.removeprefix("module.").removeprefix("xtts.")
        if found := DEAD.match(name):
            dead.append(re.sub(r"\.\d+\.", ".*.", found[0].strip("._")))
        elif name.startswith("dvae."):
            dvae[name.removeprefix("dvae.")] = value
        else:
            name = re.sub(r"\.weight_g$", ".parametrizations.weight.original0", name)
            weights[re.sub(r"\.weight_v$", ".parametrizations.weight.original1", name)] = value
    return weights, dvae, [f"left out, as nothing speaks with it: {_few(set(dead), 12)}"] if dead else []


def _few(names: Iterable[str], count: int = 4) -> str:
    listed = sorted(names)
    return ", ".join(listed[:count]) + (f" and {len(listed) - count} more" if len(listed) > count else "")


def _newest(folder: Path) -> Path:
    named = [folder / name for name in MODELS if (folder / name).is_file()]

    def step(path: Path) -> int:
        found = re.search(r"(\d+)\.pth$", path.name)
        return int(found[1]) if found else 0

    found = named or sorted([*folder.glob("best_model_*.pth"), *folder.glob("checkpoint_*.pth")], key=step)[::-1]
    if not found:
        raise TrainError(f"{folder} has no model.pth, best_model.pth or checkpoint_*.pth: is it the folder of XTTS v2?")
    return found[0]


def _refuse_v1(weights: Mapping[str, Tensor], file: Path) -> None:
    table = weights.get("gpt.mel_embedding.weight")
    if table is None or table.ndim != 2:
        raise TrainError(f"{file} has no gpt.mel_embedding.weight: is it a checkpoint of XTTS?")
    if len(table) == V1_CODES or not any(name.startswith("gpt.conditioning_perceiver.") for name in weights):
        raise TrainError(f"{file} {V1}")


# ---------------------------------------------------------------- settings


def _settings(folder: Path, held: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """config.json, or the one inside the checkpoint, and where it stands."""
    path = folder / CONFIG
    if path.is_file():
        try:
            value, where = load_json(path), str(path)
        except BadData as bad:
            raise TrainError(f"{path} is damaged ({bad}): download it again") from None
    else:
        value, where = plain(held.get("config")), f"the config inside {folder}'s checkpoint"
    if not isinstance(value, dict):
        raise TrainError(f"{path} is not there, and the checkpoint holds no settings: copy {CONFIG} into {folder}")
    return value, where


def _config(settings: Mapping[str, Any], weights: Mapping[str, Tensor], *, where: str) -> XttsConfig:
    """Sizes of the tensors; only the number of heads cannot be seen in them."""
    args = settings.get("model_args")
    if not isinstance(args, dict):
        raise TrainError(f"{where} has no model_args: copy the config.json that belongs to these weights")

    def shape(name: str, axes: int) -> tuple[int, ...]:
        if name not in weights or weights[name].ndim != axes:
            raise TrainError(f"the weights have no {name} as XTTS v2 has it: the file is not whole")
        return tuple(weights[name].shape)

    codes, width = shape("gpt.mel_embedding.weight", 2)
    text_places, code_places = (shape(f"gpt.{kind}_pos_embedding.emb.weight", 2)[0] for kind in ("text", "mel"))
    q, _ = shape("gpt.conditioning_perceiver.layers.0.0.to_q.weight", 2)
    decoder_width, speaker_width, _ = shape("hifigan_decoder.waveform_decoder.cond_layer.weight", 3)
    read = {
        "size": "v2",
        "layers": _deep(weights, r"gpt\.gpt\.h\.(\d+)\."),
        "width": width,
        "heads": _told(args, "gpt_n_heads", where=where),
        "codes": codes - 2,
        "text_places": text_places,
        "code_places": code_places,
        "prompt_rows": shape("gpt.conditioning_perceiver.latents", 2)[0],
        "conditioning_layers": _deep(weights, r"gpt\.conditioning_encoder\.attn\.(\d+)\."),
        "perceiver_layers": _deep(weights, r"gpt\.conditioning_perceiver\.layers\.(\d+)\."),
        "perceiver_heads": max(1, q // 64),
        "perceiver_head_width": min(q, 64),
        "decoder_width": decoder_width,
        "speaker_width": speaker_width,
    }
    read |= {name: settings[name] for name in SAMPLING if settings.get(name) is not None}
    wanted = {
        "gpt_layers": read["layers"],
        "gpt_n_model_channels": width,
        "gpt_num_audio_tokens": codes,
        "gpt_start_audio_token": codes - 2,
        "gpt_stop_audio_token": codes - 1,
        "gpt_max_text_tokens": text_places - 2,
        "gpt_max_audio_tokens": code_places - 3,
    }
    for key, value in wanted.items():  # the defaults of the program's own classes are those of v1: none is taken
        if (told := _told(args, key, where=where)) != value:
            raise TrainError(f"{where}: {key} is {told}, and the weights have {value}: they do not belong together")
    fixed = {
        "gpt_code_stride_len": CODE_SAMPLES,
        "gpt_use_perceiver_resampler": True,
        "input_sample_rate": RATE,
        "output_sample_rate": OUT_RATE,
        "output_hop_length": OUT_HOP,
    }
    for key, value in fixed.items():
        if key in args and args[key] != value:
            raise TrainError(f"{where}: {key} is {args[key]!r:.40}, only {value!r} can be loaded")
    return check(XttsConfig, read, where=where)


def _told(args: Mapping[str, Any], key: str, *, where: str) -> int:
    value = args.get(key)
    if type(value) is not int:
        raise TrainError(f"{where} does not say model_args.{key}: copy the config.json that belongs to these weights")
    return value


def _deep(weights: Mapping[str, Tensor], pattern: str) -> int:
    found = [int(match[1]) for name in weights if (match := re.match(pattern, name))]
    return max(found, default=-1) + 1


def _must_fit(weights: dict[str, Tensor], config: XttsConfig, *, file: Path, vocab_size: int) -> None:
    """Nothing missing, nothing of another shape; what is left over is taken out."""
    with torch.device("meta"):
        wanted = Xtts(config, vocab_size=vocab_size).state_dict()
    rows = len(weights["gpt.text_embedding.weight"]) if "gpt.text_embedding.weight" in weights else 0
    if rows != vocab_size:
        raise TrainError(
            f"{file} has rows for {rows} tokens and {VOCABULARY} has ids up to {vocab_size - 1}: they do not belong"
            " together; copy the vocab.json that the checkpoint was trained with"
        )
    for name, like in wanted.items():
        if name not in weights and name.endswith("num_batches_tracked"):
            weights[name] = torch.zeros((), dtype=torch.long)
        if name not in weights:
            raise TrainError(f"{file} lacks {name}: the file is not whole, or no XTTS v2")
        if weights[name].shape != like.shape:
            raise TrainError(
                f"{file}: {name} has shape {tuple(weights[name].shape)}, and XTTS v2 of this size {tuple(like.shape)}"
            )
    if strange := sorted(set(weights) - set(wanted)):
        raise TrainError(f"{file} holds {_few(strange)}, which XTTS v2 does not have: it is of another version")


# ---------------------------------------------------------------- vocabulary, DVAE, statistics, speakers


def _vocabulary(path: Path) -> dict[str, Any]:
    try:
        held = load_json(path)
    except (FileNotFoundError, NotADirectoryError):
        raise TrainError(f"{path} is not there: copy the vocab.json that belongs to these weights") from None
    except BadData as bad:
        raise TrainError(f"{path} is damaged ({bad}): download it again") from None
    model = held.get("model") if isinstance(held, dict) else None
    table = model.get("vocab") if isinstance(model, dict) else None
    if not isinstance(table, dict) or not table or not all(type(id) is int and id >= 0 for id in table.values()):
        raise TrainError(f"{path} is no vocabulary of XTTS: it has no table model.vocab of tokens and ids")
    if max(table.values()) >= MOST_TOKENS:
        raise TrainError(f"{path} has the id {max(table.values())}: a vocabulary has at most {MOST_TOKENS} tokens")
    for token in (START, STOP):
        if token not in table:
            raise TrainError(f"{path} has no {token}: it is no vocabulary of XTTS")
    return dict(held)


def size_of(vocabulary: Mapping[str, Any]) -> int:
    """The highest id and one: files may have holes."""
    added = vocabulary.get("added_tokens") or ()
    ids = [one["id"] for one in added if isinstance(one, dict) and type(one.get("id")) is int]
    return int(max([*vocabulary["model"]["vocab"].values(), *ids])) + 1


def tags_of(vocabulary: Mapping[str, Any]) -> tuple[str, ...]:
    """Languages by their tags, in the order of their ids."""
    table = sorted(vocabulary["model"]["vocab"].items(), key=lambda item: item[1])
    return tuple(match[1] for token, _ in table if (match := TAG.fullmatch(token)))


def _with_dvae(
    config: XttsConfig, folder: Path, inside: dict[str, Tensor]
) -> tuple[XttsConfig, dict[str, Tensor], list[str]]:
    said = []
    path = folder / DVAE
    if path.is_file():
        held = plain(stored(path, inert=INERT))
        state = held.get("model", held) if isinstance(held, dict) else {}
        dvae = {name: value for name, value in state.items() if not DEAD.match(name)}
    elif inside:
        dvae, where = {name: value for name, value in inside.items() if not DEAD.match(name)}, "the checkpoint itself"
        said.append(f"there is no {DVAE}: the DVAE is the one inside {where}")
    else:
        return config, {}, [f"there is no {DVAE}: it can speak, and training needs the DVAE that made its codes"]
    sizes = [dvae[name].shape for name in ("encoder.0.0.weight", "codebook.embed") if name in dvae]
    if len(sizes) != 2 or len(sizes[0]) != 3 or len(sizes[1]) != 2:
        raise TrainError(f"{path} is no DVAE of XTTS: it has no encoder.0.0.weight and codebook.embed")
    code_width, codes = sizes[1]
    if codes != config.codes:
        raise TrainError(
            f"{path} makes {codes} codes and the model knows {config.codes}: another DVAE; take that of XTTS v2"
        )
    blocks = _deep(dvae, r"encoder\.(\d+)\.net\.") - 2
    sized = {"dvae_width": sizes[0][0], "code_width": code_width, "dvae_blocks": max(1, blocks)}
    config = check(XttsConfig, {**config.model_dump(), **sized}, where=str(path))
    with torch.device("meta"):
        wanted = {name: value.shape for name, value in Dvae(config).state_dict().items()}
    found = {name: value.shape for name, value in dvae.items()}
    if wrong := [name for name in (wanted | found) if wanted.get(name) != found.get(name)]:
        raise TrainError(f"{path} differs from the DVAE of XTTS v2 in {_few(wrong)}: take the one of XTTS v2")
    return config, dvae, said


def _mel_stats(folder: Path, weights: Mapping[str, Tensor]) -> Tensor:
    """Of the file where there is one, as the public trainer takes them; else of the model."""
    path = folder / MEL_STATS
    own = weights["mel_stats"].float()
    value = stored(path) if path.is_file() else own
    if not isinstance(value, Tensor) or value.shape != (MELS,) or not bool((value.isfinite() & (value != 0)).all()):
        raise TrainError(f"{path} is no list of {MELS} numbers: take the one of XTTS v2")
    if path.is_file() and bool((own != 1).any()) and not torch.allclose(own, value.float(), rtol=1e-3):
        raise TrainError(f"{path} differs from the statistics inside the model: they do not belong together")
    return value.float()


def _speakers(folder: Path, config: XttsConfig) -> dict[str, tuple[Tensor, Tensor]]:
    path = folder / SPEAKERS
    if not path.is_file():
        return {}
    held = stored(path, inert=INERT)
    if not isinstance(held, dict) or len(held) > MOST_SPEAKERS:
        raise TrainError(f"{path} is no table of speakers: delete it, or take the one of XTTS v2")
    found = {}
    for name, row in held.items():
        latent, vector = (row.get(key) if isinstance(row, dict) else None for key in LATENT_AND_VECTOR)
        fits = isinstance(latent, Tensor) and isinstance(vector, Tensor)
        shapes = (config.prompt_rows * config.width, config.speaker_width)
        if not fits or (latent.numel(), vector.numel()) != shapes:  # type: ignore[union-attr]
            raise TrainError(
                f"{path}: the speaker {name!r:.60} does not fit this model: take the file that belongs to it"
            )
        assert isinstance(latent, Tensor) and isinstance(vector, Tensor)
        found[str(name)] = (latent.float().reshape(config.prompt_rows, config.width), vector.float().reshape(-1))
    return found


LATENT_AND_VECTOR = ("gpt_cond_latent", "speaker_embedding")

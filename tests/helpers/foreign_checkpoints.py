"""Checkpoints of other programs, made in the test from a transformers model. The names are a transcription of their own
code's, written apart from the table under test."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor

SMALL: dict[str, Any] = {  # what the original code can be told; the rest is built into it
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "ffn_dim": 64,
    "flow_size": 32,
    "upsample_initial_channel": 64,
    "upsample_rates": [8, 8, 4],
    "upsample_kernel_sizes": [16, 16, 8],
    "resblock_kernel_sizes": [3, 7],
    "resblock_dilation_sizes": [[1, 3, 5], [1, 3, 5]],
}
DISCRIMINATOR_SETTINGS = {"discriminator_period_channels": (4, 8), "discriminator_scale_channels": (16, 64)}
KINDS: dict[str, dict[str, Any]] = {
    "stochastic": SMALL,
    "stochastic-speakers": {**SMALL, "num_speakers": 3, "speaker_embedding_size": 24},
    "plain-speakers": {
        **SMALL,
        "num_speakers": 2,
        "speaker_embedding_size": 8,
        "use_stochastic_duration_prediction": False,
    },
}
VOCAB = ["k", "a", " ", "b", "'", "c", "d", "e", "f", "g", "h", "i"]


def made(**settings: Any) -> transformers.VitsModel:
    """A seeded model in which no weight is zero, loud enough to compare."""
    torch.manual_seed(11)
    model = transformers.VitsModel(transformers.VitsConfig(vocab_size=len(VOCAB), **settings)).eval()
    with torch.no_grad():
        for value in model.parameters():
            value.add_(torch.randn_like(value) * 0.02)
        model.decoder.conv_post.weight.mul_(0.5 / theirs(model, torch.arange(1, 11)[None]).std())
    return model


def theirs(model: transformers.VitsModel, ids: Tensor, speaker: int | None = None) -> Tensor:
    model.noise_scale = model.noise_scale_duration = 0.0
    with torch.no_grad():
        return model(input_ids=ids, speaker_id=speaker).waveform[0]


def saved(model: transformers.VitsModel, folder: Path) -> Path:
    model.save_pretrained(folder)
    (folder / "vocab.json").write_text(json.dumps({s: i for i, s in enumerate(VOCAB)}), encoding="utf-8")
    return folder


OLD_NAMES = (  # transformers -> original, in order
    (r"\.parametrizations\.weight\.original0$", ".weight_g"),
    (r"\.parametrizations\.weight\.original1$", ".weight_v"),
    (r"^embed_speaker", "emb_g"),
    (r"^text_encoder\.embed_tokens", "enc_p.emb"),
    (r"^text_encoder\.project", "enc_p.proj"),
    (r"^text_encoder\.encoder\.layers\.(\d+)\.attention\.out_proj", r"enc_p.encoder.attn_layers.\1.conv_o"),
    (r"^text_encoder\.encoder\.layers\.(\d+)\.attention\.(\w)_proj", r"enc_p.encoder.attn_layers.\1.conv_\2"),
    (r"^text_encoder\.encoder\.layers\.(\d+)\.attention", r"enc_p.encoder.attn_layers.\1"),
    (r"^text_encoder\.encoder\.layers\.(\d+)\.layer_norm", r"enc_p.encoder.norm_layers_1.\1"),
    (r"^text_encoder\.encoder\.layers\.(\d+)\.final_layer_norm", r"enc_p.encoder.norm_layers_2.\1"),
    (r"^text_encoder\.encoder\.layers\.(\d+)\.feed_forward", r"enc_p.encoder.ffn_layers.\1"),
    (r"^posterior_encoder\.conv_", "enc_q."),
    (r"^posterior_encoder\.wavenet", "enc_q.enc"),
    (r"^flow\.flows\.(\d+)\.conv_", r"flow.flows.<\1>."),
    (r"^flow\.flows\.(\d+)\.wavenet", r"flow.flows.<\1>.enc"),
    (r"^decoder\.upsampler", "dec.ups"),
    (r"^decoder", "dec"),
    (r"^duration_predictor\.(post_)?flows\.0\.translate", r"dp.\1flows.0.m"),
    (r"^duration_predictor\.(post_)?flows\.0\.log_scale", r"dp.\1flows.0.logs"),
    (r"^duration_predictor\.(post_)?flows\.(\d+)\.conv_(pre|proj)", r"dp.\1flows.{\2}.\3"),
    (r"^duration_predictor\.(post_)?flows\.(\d+)\.conv_dds", r"dp.\1flows.{\2}.convs"),
    (r"^duration_predictor\.(post_)?conv_(pre|proj)", r"dp.\1\2"),
    (r"^duration_predictor\.(post_)?conv_dds", r"dp.\1convs"),
    (r"^duration_predictor", "dp"),
    (r"convs_dilated", "convs_sep"),
    (r"convs_pointwise", "convs_1x1"),
    (r"((?:norm|norms)_\d(?:\.\d+)?|norm_layers_\d\.\d+)\.weight$", r"\1.gamma"),
    (r"((?:norm|norms)_\d(?:\.\d+)?|norm_layers_\d\.\d+)\.bias$", r"\1.beta"),
)


def old_names(state: dict[str, Tensor], *, flips: bool = True) -> dict[str, Tensor]:
    """`flips`: the original numbers the flips between flows too."""
    found = {}
    for name, value in state.items():
        for pattern, new in OLD_NAMES:
            name = re.sub(pattern, new, name)
        name = re.sub(r"<(\d+)>", lambda m: str(int(m[1]) * (2 if flips else 1)), name)
        name = re.sub(r"\{(\d+)\}", lambda m: str(int(m[1]) * 2 - 1 if flips else int(m[1])), name)
        if re.search(r"conv_[qkvo]\.weight$", name):
            value = value.unsqueeze(-1)
        found |= normed(name, value) if re.match(r"dec\.(ups|resblocks).*weight$", name) else {name: value}
    return found


def normed(name: str, value: Tensor) -> dict[str, Tensor]:
    """Weight norm with a gain that is not the norm of the direction, as training leaves it."""
    gain = value.flatten(1).norm(dim=1).view(-1, *[1] * (value.ndim - 1))
    stem = name.removesuffix("weight")
    return {f"{stem}weight_g": gain, f"{stem}weight_v": value * 3}


def judge_state(seed: int = 3) -> dict[str, Tensor]:
    """A discriminator in the original's names, of the sizes in DISCRIMINATOR_SETTINGS and five periods."""
    from olu.families.vits.config import VitsConfig
    from olu.families.vits.model import Discriminator
    from olu.families.vits.weights import fold

    torch.manual_seed(seed)
    state = {}
    for name, value in fold(Discriminator(VitsConfig(size="mms", **DISCRIMINATOR_SETTINGS)).state_dict()).items():
        name = name.replace("final_conv", "conv_post")
        state |= normed(name, value) if name.endswith("weight") else {name: value}
    return state


def original_config(model: transformers.VitsModel, **data: Any) -> dict[str, Any]:
    c = model.config
    return {
        "train": {"segment_size": 8192},
        "data": {
            "training_files": "train.ltr",
            "text_cleaners": ["transliteration_cleaners"],
            "sampling_rate": c.sampling_rate,
            "filter_length": 1024,
            "hop_length": 256,
            "win_length": 1024,
            "n_mel_channels": 80,
            "mel_fmin": 0.0,
            "mel_fmax": None,
            "add_blank": True,
            "n_speakers": c.num_speakers if c.num_speakers > 1 else 0,
            **data,
        },
        "model": {
            "inter_channels": c.flow_size,
            "hidden_channels": c.hidden_size,
            "filter_channels": c.ffn_dim,
            "n_heads": 2,
            "n_layers": c.num_hidden_layers,
            "kernel_size": 3,
            "p_dropout": 0.1,
            "resblock": "1",
            "resblock_kernel_sizes": c.resblock_kernel_sizes,
            "resblock_dilation_sizes": c.resblock_dilation_sizes,
            "upsample_rates": c.upsample_rates,
            "upsample_initial_channel": c.upsample_initial_channel,
            "upsample_kernel_sizes": c.upsample_kernel_sizes,
            "n_layers_q": 3,
            "use_spectral_norm": False,
            "use_sdp": c.use_stochastic_duration_prediction,
            **({"gin_channels": c.speaker_embedding_size} if c.num_speakers > 1 else {}),
        },
    }


def original(model: transformers.VitsModel, folder: Path, *, judge: bool = False, **data: Any) -> Path:
    """As MMS gives its full models."""
    folder.mkdir(parents=True)
    state = {f"module.{name}": value for name, value in old_names(model.state_dict()).items()}
    held = {"iteration": 7, "optimizer": {"state": {}, "param_groups": []}, "learning_rate": 2e-4}
    torch.save({"model": state, **held}, folder / "G_100.pth")
    if judge:
        torch.save({"model": judge_state(), **held}, folder / "D_100.pth")
    (folder / "config.json").write_text(json.dumps(original_config(model, **data)), encoding="utf-8")
    (folder / "vocab.txt").write_text("".join(f"{symbol}\n" for symbol in VOCAB), encoding="utf-8")
    return folder


def piper(model: transformers.VitsModel, folder: Path, **extra: Any) -> Path:
    folder.mkdir(parents=True)
    c = original_config(model)
    state = {f"model_g.{name}": value for name, value in old_names(model.state_dict()).items()}
    state |= {f"model_d.{name}": value for name, value in judge_state().items()}
    own = {**c["model"], "filter_length": 1024, "hop_length": 256, "win_length": 1024, "mel_channels": 80}
    own |= {"dataset": [Path("somewhere/dataset.jsonl")], "segment_size": 8192, **extra}
    torch.save({"state_dict": state, "hyper_parameters": own, "epoch": 1}, folder / "epoch=1.ckpt")
    ids = {"_": [0], "^": [1], "$": [2], **{symbol: [at + 3] for at, symbol in enumerate("abcdefg")}}
    speakers = {f"person {n}": n for n in range(model.config.num_speakers)} if model.config.num_speakers > 1 else {}
    table = {
        "audio": {"sample_rate": 16000},
        "espeak": {"voice": "sw"},
        "num_symbols": len(VOCAB),
        "num_speakers": model.config.num_speakers,
        "phoneme_id_map": ids,
        "speaker_id_map": speakers,
    }
    (folder / "config.json").write_text(json.dumps(table), encoding="utf-8")
    return folder


def coqui(model: transformers.VitsModel, folder: Path, **args: Any) -> Path:
    folder.mkdir(parents=True)
    c, state = model.config, {}
    heads = {
        "enc_p": "text_encoder",
        "enc_q": "posterior_encoder",
        "dec": "waveform_decoder",
        "dp": "duration_predictor",
    }
    for name, value in old_names(model.state_dict(), flips=False).items():
        first, _, rest = name.partition(".")
        rest = rest.replace("cond.", "cond_layer.") if first == "dec" else rest
        rest = re.sub(r"(flows\.0)\.m$", r"\1.translation", re.sub(r"(flows\.0)\.logs$", r"\1.log_scale", rest))
        if first == "dp" and "norm_" in rest:
            value = value.view(1, -1, 1)
        state[f"{heads.get(first, first)}.{rest}"] = value
    state |= {name.replace("discriminators.", "disc.nets."): value for name, value in judge_state().items()}
    torch.save({"model": state, "config": {}, "step": 3, "epoch": 1}, folder / "best_model.pth")
    table = {
        "model": "vits",
        "add_blank": True,
        "use_phonemes": False,
        "audio": {"sample_rate": 16000, "fft_size": 1024, "win_length": 1024, "hop_length": 256, "num_mels": 80},
        "characters": {"pad": "_", "characters": "abcdefg", "phonemes": "", "punctuations": "!? "},
        "model_args": {
            "hidden_channels": c.hidden_size,
            "hidden_channels_ffn_text_encoder": c.ffn_dim,
            "num_layers_text_encoder": c.num_hidden_layers,
            "resblock_type_decoder": "1",
            "resblock_kernel_sizes_decoder": c.resblock_kernel_sizes,
            "resblock_dilation_sizes_decoder": c.resblock_dilation_sizes,
            "upsample_rates_decoder": c.upsample_rates,
            "upsample_initial_channel_decoder": c.upsample_initial_channel,
            "upsample_kernel_sizes_decoder": c.upsample_kernel_sizes,
            "use_sdp": c.use_stochastic_duration_prediction,
            "speaker_embedding_channels": c.speaker_embedding_size,
            "spec_segment_size": 32,
            **args,
        },
    }
    (folder / "config.json").write_text(json.dumps(table), encoding="utf-8")
    return folder

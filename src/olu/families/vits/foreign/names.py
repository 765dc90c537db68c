"""The names of the original VITS code and ours (transformers'), as one table read in both directions.

A name is a stem and a leaf ("weight"). {i} and {j} are numbers; {even} and {odd} are numbers that the original counts
with a flip after each layer: 2n and 2n - 1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from torch import Tensor

DISCRIMINATOR = "discriminator."  # as finetune-hf-vits stores it beside the generator
LAYER, OURS_LAYER = "enc_p.encoder", "text_encoder.encoder.layers.{i}"
SEPARABLE = (
    ("convs_sep.{j}", "convs_dilated.{j}"),
    ("convs_1x1.{j}", "convs_pointwise.{j}"),
    ("norms_1.{j}", "norms_1.{j}"),
    ("norms_2.{j}", "norms_2.{j}"),
)
WAVENET = ("in_layers.{j}", "res_skip_layers.{j}", "cond_layer")

SHARED: tuple[tuple[str, str], ...] = (
    ("emb_g", "embed_speaker"),
    ("enc_p.emb", "text_encoder.embed_tokens"),
    (f"{LAYER}.attn_layers.{{i}}", f"{OURS_LAYER}.attention"),  # its keys and values by distance
    *((f"{LAYER}.attn_layers.{{i}}.conv_{a}", f"{OURS_LAYER}.attention.{a}_proj") for a in "qkv"),
    (f"{LAYER}.attn_layers.{{i}}.conv_o", f"{OURS_LAYER}.attention.out_proj"),
    (f"{LAYER}.norm_layers_1.{{i}}", f"{OURS_LAYER}.layer_norm"),
    (f"{LAYER}.norm_layers_2.{{i}}", f"{OURS_LAYER}.final_layer_norm"),
    *((f"{LAYER}.ffn_layers.{{i}}.{a}", f"{OURS_LAYER}.feed_forward.{a}") for a in ("conv_1", "conv_2")),
    ("enc_p.proj", "text_encoder.project"),
    ("enc_q.pre", "posterior_encoder.conv_pre"),
    ("enc_q.proj", "posterior_encoder.conv_proj"),
    *((f"enc_q.enc.{a}", f"posterior_encoder.wavenet.{a}") for a in WAVENET),
    ("flow.flows.{even}.pre", "flow.flows.{even}.conv_pre"),
    ("flow.flows.{even}.post", "flow.flows.{even}.conv_post"),
    *((f"flow.flows.{{even}}.enc.{a}", f"flow.flows.{{even}}.wavenet.{a}") for a in WAVENET),
    *((f"dec.{a}", f"decoder.{a}") for a in ("conv_pre", "conv_post", "cond")),
    ("dec.ups.{i}", "decoder.upsampler.{i}"),
    *((f"dec.resblocks.{{i}}.{a}.{{j}}", f"decoder.resblocks.{{i}}.{a}.{{j}}") for a in ("convs1", "convs2", "convs")),
    ("dp.cond", "duration_predictor.cond"),
    ("discriminators.{i}.convs.{j}", f"{DISCRIMINATOR}discriminators.{{i}}.convs.{{j}}"),
    ("discriminators.{i}.conv_post", f"{DISCRIMINATOR}discriminators.{{i}}.final_conv"),
)
PLAIN = tuple((f"dp.{a}", f"duration_predictor.{a}") for a in ("conv_1", "norm_1", "conv_2", "norm_2", "proj"))


def _stochastic(post: str) -> tuple[tuple[str, str], ...]:
    here, there = f"dp.{post}", f"duration_predictor.{post}"
    return (
        (f"{here}pre", f"{there}conv_pre"),
        (f"{here}proj", f"{there}conv_proj"),
        *((f"{here}convs.{a}", f"{there}conv_dds.{b}") for a, b in SEPARABLE),
        (f"{here}flows.0", f"{there}flows.0"),
        (f"{here}flows.{{odd}}.pre", f"{there}flows.{{odd}}.conv_pre"),
        (f"{here}flows.{{odd}}.proj", f"{there}flows.{{odd}}.conv_proj"),
        *((f"{here}flows.{{odd}}.convs.{a}", f"{there}flows.{{odd}}.conv_dds.{b}") for a, b in SEPARABLE),
    )


STOCHASTIC = (*_stochastic(""), *_stochastic("post_"))
LEAVES = {"gamma": "weight", "beta": "bias", "m": "translate", "logs": "log_scale"}
BACK = {"translate": "m", "log_scale": "logs"}
OF_NORMS = {"weight": "gamma", "bias": "beta"}
IS_NORM = re.compile(r"norm(s?_\d)?(\.\d+)?$")
IS_PROJECTION = re.compile(r"\.attention\.(q|k|v|out)_proj\.weight$")
# Where the original code keeps weight norm on.
NORMED = re.compile(
    r"(\.enc\.(in_layers|res_skip_layers|cond_layer)|^dec\.(ups|resblocks)|^discriminators)\b.*\.weight$"
)


def to_ours(state: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], list[str]]:
    """Plain weights under our names, and the names that nothing here takes."""
    stochastic = "dp.flows.0.m" in state
    ours, unread = {}, []
    for name, value in state.items():
        found = ours_of(name, stochastic=stochastic)
        if found is None:
            unread.append(name)
        elif IS_PROJECTION.search(found) and value.ndim == 3:
            ours[found] = value.squeeze(-1)
        else:
            ours[found] = value.flatten() if name.endswith((".gamma", ".beta")) else value
    return ours, unread


def to_original(state: Mapping[str, Tensor], *, stochastic: bool) -> dict[str, Tensor]:
    """Plain weights of ours under the original's names, weight norm put back where it has it."""
    made: dict[str, Tensor] = {}
    for name, value in state.items():
        found = original_of(name, stochastic=stochastic)
        value = value.unsqueeze(-1) if IS_PROJECTION.search(name) else value
        if NORMED.search(found):
            stem = found.removesuffix("weight")
            made[stem + "weight_g"] = value.flatten(1).norm(dim=1).view(-1, *[1] * (value.ndim - 1))
            made[stem + "weight_v"] = value.clone()
        else:
            made[found] = value.clone()
    return made


def ours_of(name: str, *, stochastic: bool) -> str | None:
    stem, _, leaf = name.rpartition(".")
    for pattern, target in _rules(stochastic, back=False):
        if match := pattern.fullmatch(stem):
            return _filled(target, match, back=False) + "." + LEAVES.get(leaf, leaf)
    return None


def original_of(name: str, *, stochastic: bool) -> str:
    stem, _, leaf = name.rpartition(".")
    leaf = OF_NORMS.get(leaf, leaf) if IS_NORM.search(stem) else BACK.get(leaf, leaf)
    for pattern, target in _rules(stochastic, back=True):
        if match := pattern.fullmatch(stem):
            return _filled(target, match, back=True) + "." + leaf
    raise KeyError(name)


@cache
def _rules(stochastic: bool, *, back: bool) -> tuple[tuple[re.Pattern[str], str], ...]:
    numbers = {"i": r"\d+", "j": r"\d+", "even": r"\d+", "odd": r"\d+"}
    if not back:
        numbers |= {"even": r"\d*[02468]", "odd": r"\d*[13579]"}
    rules = []
    for pair in (*SHARED, *(STOCHASTIC if stochastic else PLAIN)):
        source, target = reversed(pair) if back else pair
        parts = re.split(r"\{(\w+)\}", source)
        pattern = "".join(f"(?P<{p}>{numbers[p]})" if at % 2 else re.escape(p) for at, p in enumerate(parts))
        rules.append((re.compile(pattern), target))
    return tuple(rules)


def _filled(target: str, match: re.Match[str], *, back: bool) -> str:
    found = {name: int(text) for name, text in match.groupdict().items()}
    if "even" in found:
        found["even"] = found["even"] * 2 if back else found["even"] // 2
    if "odd" in found:
        found["odd"] = found["odd"] * 2 - 1 if back else (found["odd"] + 1) // 2
    return target.format(**found)

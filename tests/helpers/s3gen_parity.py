"""Our decoder of S3 codes beside the public package chatterbox-tts, with the same random weights.

Run as a script for the whole table of differences, at full size with --full; --golden writes what `make test` compares
with. OLU_CHATTERBOX names the folder of packages that has `chatterbox` in it; nothing of it is in the project. All
weights are drawn first: some layers are born as zeros, and would hide errors.
"""

from __future__ import annotations

import os
import sys
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from olu.families.chatterbox.codec.estimator import FlowEstimator
from olu.families.chatterbox.codec.flow import CodeEncoder, solved_flow, solved_mean_flow
from olu.families.chatterbox.codec.hift import HiFT
from olu.families.chatterbox.codec.sizes import HARMONICS, HOP, MELS, S3GenSizes
from olu.families.chatterbox.codec.xvector import SpeakerVector, bands_of

VARIABLE = "OLU_CHATTERBOX"
GOLDEN = Path(__file__).parents[1] / "families" / "s3gen_golden.npz"
# As narrow as the public classes can be: some of their sizes are fixed.
NARROW = {"layers": 1, "inner": 64, "channels": 32, "flow_heads": 2, "flow_head": 16, "blocks": 1, "middle": 2}
NARROW |= {"vocoder_width": 32, "pitch_width": 16, "growth": 4, "tdnn": 16, "vector": 24}
ALLOWED = {"encoder": 1e-4, "estimator": 1e-4, "steps": 1e-3, "meanflow": 1e-3, "hift": 1e-4, "vector": 1e-4}
ALLOWED |= {"bands": 1e-4}


def reachable() -> str:
    """Why the public package cannot be compared with; empty where it can."""
    place = os.environ.get(VARIABLE, "")
    if not place:
        return f"{VARIABLE} does not name the packages of chatterbox-tts"
    if place not in sys.path:
        sys.path.append(place)  # last: what both have is ours
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import chatterbox.models.s3gen.decoder  # noqa: F401
    except Exception as missing:  # its own imports fail in many ways
        return f"chatterbox-tts cannot be imported: {missing}"
    return ""


def drawn(module: nn.Module, *, scale: float = 1.0) -> nn.Module:
    """Every weight from its name, so that ours and theirs are the same."""
    held = {}
    for name, value in module.state_dict().items():
        random = np.random.default_rng(zlib.crc32(name.encode()))
        made = random.standard_normal(value.shape).astype(np.float32) if value.is_floating_point() else None
        if made is None:
            held[name] = value
        elif name.endswith(("running_var", "alpha", "original0")):
            held[name] = torch.from_numpy(0.5 + np.abs(made) * 0.3)
        elif value.ndim < 2:
            held[name] = torch.from_numpy(made * 0.1 + (1.0 if "norm" in name and name.endswith("weight") else 0.0))
        else:
            fan = float(np.prod(value.shape[1:]))
            held[name] = torch.from_numpy(made * scale / fan**0.5)
    module.load_state_dict(held)
    return module.eval()


def noise(*shape: int, seed: int = 0) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def inputs(frames: int = 22) -> dict[str, Tensor]:
    return {
        "rows": noise(1, frames // 2, 512, seed=1),
        "x": noise(1, MELS, frames, seed=2),
        "mean": noise(1, MELS, frames, seed=3),
        "speaker": noise(1, MELS, seed=4),
        "known": noise(1, MELS, frames, seed=5),
        "phases": torch.cat([torch.zeros(1, 1), noise(1, HARMONICS - 1, seed=6)], 1),
        "noise": noise(1, HARMONICS, frames * HOP, seed=7),
        "wave": 0.1 * noise(1, 16000 * 2 + 77, seed=8),
    }


@torch.no_grad()
def ours(sizes: S3GenSizes) -> dict[str, Tensor]:
    given = inputs()
    mean_sizes = S3GenSizes(**{**vars(sizes), "meanflow": True})
    estimator: Any = drawn(FlowEstimator(sizes))
    mean_flow: Any = drawn(FlowEstimator(mean_sizes))
    flow = [given[name] for name in ("x", "mean", "speaker", "known")]
    hift: Any = drawn(HiFT(sizes), scale=0.5)
    vector: Any = drawn(SpeakerVector(sizes))
    return {
        "encoder": drawn(CodeEncoder(sizes))(given["rows"]),
        "estimator": estimator(*flow, torch.tensor([0.3])),
        "steps": solved_flow(estimator, *flow),
        "meanflow": solved_mean_flow(mean_flow, *flow),
        "hift": hift(given["mean"], phases_BH=given["phases"], noise_BHS=given["noise"]),
        "bands": bands_of(given["wave"]),
        "vector": vector.hear(given["wave"]),
    }


@torch.no_grad()
def theirs(sizes: S3GenSizes) -> dict[str, Tensor]:
    from chatterbox.models.s3gen.configs import CFM_PARAMS
    from chatterbox.models.s3gen.decoder import ConditionalDecoder
    from chatterbox.models.s3gen.f0_predictor import ConvRNNF0Predictor
    from chatterbox.models.s3gen.flow_matching import CausalConditionalCFM
    from chatterbox.models.s3gen.hifigan import HiFTGenerator
    from chatterbox.models.s3gen.transformer.upsample_encoder import UpsampleConformerEncoder
    from chatterbox.models.s3gen.xvector import CAMPPlus, Kaldi

    given = inputs()
    frames = given["x"].shape[2]
    encoder = UpsampleConformerEncoder(
        output_size=512,
        attention_heads=sizes.heads,
        linear_units=sizes.inner,
        num_blocks=sizes.layers,
        input_size=512,
        use_cnn_module=False,
        macaron_style=False,
    )

    def estimator(meanflow: bool) -> Any:
        return drawn(
            ConditionalDecoder(
                in_channels=320,
                out_channels=80,
                channels=[sizes.channels],
                dropout=0.0,
                attention_head_dim=sizes.flow_head,
                n_blocks=sizes.blocks,
                num_mid_blocks=sizes.middle,
                num_heads=sizes.flow_heads,
                act_fn="gelu",
                meanflow=meanflow,
            )
        )

    plain, mean_flow, mask = estimator(False), estimator(True), torch.ones(1, 1, frames)
    told: dict[str, Any] = {"mu": given["mean"], "mask": mask, "spks": given["speaker"], "cond": given["known"]}

    def solved(which: Any, **more: Any) -> Tensor:
        whole = CausalConditionalCFM(spk_emb_dim=80, cfm_params=CFM_PARAMS, estimator=which)
        made: Tensor = whole(**told, noised_mels=given["x"], **more)[0]
        return made

    hift = HiFTGenerator(
        base_channels=sizes.vocoder_width,
        sampling_rate=24000,
        upsample_rates=[8, 5, 3],
        upsample_kernel_sizes=[16, 11, 7],
        source_resblock_kernel_sizes=[7, 7, 11],
        source_resblock_dilation_sizes=[[1, 3, 5]] * 3,
        f0_predictor=ConvRNNF0Predictor(cond_channels=sizes.pitch_width),
    )
    vector = CAMPPlus(
        memory_efficient=False, embedding_size=sizes.vector, growth_rate=sizes.growth, init_channels=sizes.tdnn
    )
    return {
        "encoder": drawn(encoder)(given["rows"], torch.tensor([frames // 2]))[0],
        "estimator": plain(given["x"], mask, given["mean"], torch.tensor([0.3]), given["speaker"], given["known"]),
        "steps": solved(plain, n_timesteps=10),
        "meanflow": solved(mean_flow, n_timesteps=2, meanflow=True),
        "hift": _sounded(drawn(hift, scale=0.5), given),
        "bands": Kaldi.fbank(given["wave"], num_mel_bins=80)[None],
        "vector": drawn(vector).inference(given["wave"]),  # type: ignore[operator]
    }


def _sounded(hift: Any, given: dict[str, Tensor]) -> Tensor:
    """With the phases and the noise that are given, where it would draw its own."""
    from chatterbox.models.s3gen import hifigan

    class Fixed:
        def __init__(self, **_: Any) -> None: ...

        def sample(self, sample_shape: Any) -> Tensor:
            return given["phases"][:, :, None].clone()

    def like(x: Tensor) -> Tensor:
        return given["noise"] if x.shape == given["noise"].shape else torch.zeros_like(x)

    before: tuple[Any, Callable[..., Tensor]] = hifigan.Uniform, torch.randn_like
    hifigan.Uniform, torch.randn_like = Fixed, like  # type: ignore[assignment]
    try:
        made: Tensor = hift.inference(given["mean"])[0]
    finally:
        hifigan.Uniform, torch.randn_like = before  # type: ignore[assignment]
    return made


def worst(found: Tensor, wanted: Tensor) -> float:
    """The largest difference, of values around 1 or by the largest where they are larger."""
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    return float((found - wanted).abs().max()) / max(1.0, float(wanted.abs().max()))


def main() -> None:
    if why := reachable():
        raise SystemExit(why)
    sizes = S3GenSizes() if "--full" in sys.argv else S3GenSizes(**NARROW)
    found, wanted = ours(sizes), theirs(sizes)
    for name, value in wanted.items():
        apart = f"{worst(found[name], value):.1e} of {ALLOWED[name]:.0e}"
        sys.stdout.write(f"{name:10} {apart}; shape {tuple(value.shape)}, std {float(value.std()):.3g}\n")
    if "--golden" in sys.argv:
        np.savez_compressed(GOLDEN, **{name: value.numpy().ravel()[:4000] for name, value in wanted.items()})


if __name__ == "__main__":
    main()

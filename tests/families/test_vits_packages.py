"""Against the code of the other programs, where it is installed: checkpoints that it saved sound the same here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from olu.families.vits.foreign.detect import read_foreign
from olu.families.vits.foreign.names import DISCRIMINATOR
from olu.families.vits.foreign.read import Foreign
from olu.families.vits.model import Discriminator
from olu.families.vits.weights import LoadReport, load_plain

from .test_vits_foreign import loaded, ours

pytestmark = pytest.mark.filterwarnings("ignore")  # of packages that are not ours
SIZE, RATES, KERNELS = 192, (8, 8, 4), (16, 16, 8)  # their duration predictor has 192 channels whatever the rest has
BLOCKS, DILATIONS = (3, 7), ((1, 3, 5), (1, 3, 5))


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def shaken(module: nn.Module) -> nn.Module:
    torch.manual_seed(5)
    with torch.no_grad():
        for value in module.parameters():
            value.add_(torch.randn_like(value) * 0.02)
    return module.eval()


def verdicts(found: Foreign, wave: Tensor) -> list[Tensor]:
    judge = Discriminator(found.config)
    weights = {
        name.removeprefix(DISCRIMINATOR): t for name, t in found.weights.items() if name.startswith(DISCRIMINATOR)
    }
    assert load_plain(judge, weights) == LoadReport()
    with torch.no_grad():
        return [maps[-1] for maps in judge(wave)]


@pytest.mark.parametrize(("stochastic", "speakers", "block"), [(True, 1, "1"), (False, 3, "1"), (True, 1, "2")])
def test_piper(stochastic: bool, speakers: int, block: str, tmp_path: Path) -> None:
    models = pytest.importorskip("piper.train.vits.models", reason="piper-tts is not installed", exc_type=ImportError)
    cond = 16 if speakers > 1 else 0
    own: dict[str, Any] = {
        "inter_channels": SIZE,
        "hidden_channels": SIZE,
        "filter_channels": 96,
        "n_heads": 2,
        "n_layers": 2,
        "kernel_size": 3,
        "p_dropout": 0.1,
        "resblock": block,
        "resblock_kernel_sizes": BLOCKS,
        "resblock_dilation_sizes": DILATIONS if block == "1" else ((1, 2), (2, 6)),
        "upsample_rates": RATES,
        "upsample_initial_channel": 32,
        "upsample_kernel_sizes": KERNELS,
        "gin_channels": cond,
        "use_sdp": stochastic,
    }
    torch.manual_seed(1)
    gen = shaken(models.SynthesizerTrn(n_vocab=20, spec_channels=513, segment_size=32, n_speakers=speakers, **own))
    judge = models.MultiPeriodDiscriminator().eval()
    state = {f"model_g.{name}": t for name, t in gen.state_dict().items()}
    state |= {f"model_d.{name}": t for name, t in judge.state_dict().items()}
    torch.save({"state_dict": state, "hyper_parameters": {**own, "dataset": [Path("x")]}}, tmp_path / "a.ckpt")
    table = {"num_speakers": speakers, "audio": {"sample_rate": 22050}, "phoneme_id_map": {"_": [0], "a": [3]}}
    (tmp_path / "config.json").write_text(json.dumps(table))
    found, ids = read_foreign(tmp_path), torch.arange(1, 14)[None]
    own_gen = loaded(found)
    for speaker in range(speakers):
        who = torch.tensor([speaker]) if speakers > 1 else None
        with torch.no_grad():
            expected = gen.infer(ids, torch.tensor([13]), sid=who, noise_scale=0.0, noise_scale_w=0.0)[0][0, 0]
        assert expected.abs().max() > 0.01
        torch.testing.assert_close(ours(own_gen, ids, speaker), expected, atol=1e-5, rtol=0)
    wave = torch.randn(1, 8192)
    with torch.no_grad():
        torch.testing.assert_close(verdicts(found, wave), list(judge(wave[:, None], wave[:, None])[0]))


def coqui_network(stochastic: bool, speakers: int) -> nn.Module:
    """The parts of its Vits under their names there; the class itself wants the sound packages too."""

    def part(module: str, name: str) -> Any:
        found = pytest.importorskip(f"TTS.{module}", reason="coqui-tts is not installed", exc_type=ImportError)
        return getattr(found, name)

    cond = 16 if speakers > 1 else 0
    net = nn.Module()
    net.text_encoder = part("tts.layers.vits.networks", "TextEncoder")(12, SIZE, SIZE, 96, 2, 2, 3, 0.1)
    posterior, flow = (part("tts.layers.vits.networks", n) for n in ("PosteriorEncoder", "ResidualCouplingBlocks"))
    net.posterior_encoder = posterior(513, SIZE, SIZE, kernel_size=5, dilation_rate=1, num_layers=3, cond_channels=cond)
    net.flow = flow(SIZE, SIZE, kernel_size=5, dilation_rate=1, num_layers=2, cond_channels=cond)
    if stochastic:
        predictor = part("tts.layers.vits.stochastic_duration_predictor", "StochasticDurationPredictor")
        net.duration_predictor = predictor(SIZE, 192, 3, 0.5, 4, cond_channels=cond)
    else:
        predictor = part("tts.layers.glow_tts.duration_predictor", "DurationPredictor")
        net.duration_predictor = predictor(SIZE, 256, 3, 0.5, cond_channels=cond)
    net.waveform_decoder = part("vocoder.models.hifigan_generator", "HifiganGenerator")(
        SIZE,
        1,
        "1",
        DILATIONS,
        BLOCKS,
        KERNELS,
        32,
        RATES,
        inference_padding=0,
        cond_channels=cond,
        conv_pre_weight_norm=False,
        conv_post_weight_norm=False,
        conv_post_bias=False,
    )
    net.disc = part("tts.layers.vits.discriminator", "VitsDiscriminator")()
    if cond:
        net.emb_g = nn.Embedding(speakers, cond)
    return shaken(net)


def coqui_says(net: Any, ids: Tensor, speaker: int | None) -> Tensor:
    with torch.no_grad():
        g = None if speaker is None else net.emb_g(torch.tensor([speaker])).unsqueeze(-1)
        hidden, mean, _, mask = net.text_encoder(ids, torch.tensor([ids.shape[1]]))
        if hasattr(net.duration_predictor, "flows"):
            log_w = net.duration_predictor(hidden, mask, g=g, reverse=True, noise_scale=0.0)
        else:
            log_w = net.duration_predictor(hidden, mask, g=g)
        mean = mean.repeat_interleave(torch.ceil(torch.exp(log_w) * mask)[0, 0].long(), 2)
        z = net.flow(mean, torch.ones(1, 1, mean.shape[2]), g=g, reverse=True)
        wave: Tensor = net.waveform_decoder(z, g=g)[0, 0]
        return wave


@pytest.mark.parametrize(("stochastic", "speakers"), [(True, 1), (False, 3)])
def test_coqui(stochastic: bool, speakers: int, tmp_path: Path) -> None:
    torch.manual_seed(1)
    net = coqui_network(stochastic, speakers)
    torch.save({"model": net.state_dict(), "step": 5}, tmp_path / "best_model.pth")
    table = {
        "model": "vits",
        "audio": {"sample_rate": 22050, "hop_length": 256},
        "characters": {"pad": "_", "characters": "abcdefg", "punctuations": "!? "},
        "model_args": {
            "hidden_channels": SIZE,
            "hidden_channels_ffn_text_encoder": 96,
            "num_layers_text_encoder": 2,
            "num_layers_posterior_encoder": 3,
            "num_layers_flow": 2,
            "resblock_kernel_sizes_decoder": BLOCKS,
            "resblock_dilation_sizes_decoder": DILATIONS,
            "upsample_rates_decoder": RATES,
            "upsample_initial_channel_decoder": 32,
            "upsample_kernel_sizes_decoder": KERNELS,
            "use_sdp": stochastic,
            "speaker_embedding_channels": 16,
        },
    }
    (tmp_path / "config.json").write_text(json.dumps(table))
    found, ids = read_foreign(tmp_path), torch.tensor([[11, 1, 11, 5, 11, 7, 11]])  # 11 is the blank there
    own_gen = loaded(found)
    for speaker in range(speakers):
        expected = coqui_says(net, ids, speaker if speakers > 1 else None)
        assert expected.abs().max() > 0.05
        own = torch.where(ids == 11, 0, ids + 1)
        torch.testing.assert_close(ours(own_gen, own, speaker), expected, atol=1e-5, rtol=0)
    wave = torch.randn(1, 8192)
    with torch.no_grad():
        torch.testing.assert_close(verdicts(found, wave), list(net.disc(wave[:, None])[0]))  # type: ignore[operator]

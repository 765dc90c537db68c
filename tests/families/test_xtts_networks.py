"""The networks of XTTS: published layout, golden numbers of the public package, cache, chunks."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tests.helpers import coqui_parity
from tests.helpers.coqui_parity import GROUPS, NARROW, golden_numbers, our_networks

from olu.families.xtts.codes import Dvae, code_count
from olu.families.xtts.config import XttsConfig
from olu.families.xtts.decoder import CONTEXT, frames_of
from olu.families.xtts.model import Xtts
from olu.nn.causal import Cache

GOLDEN = Path(__file__).with_name("xtts_golden.npz")  # of coqui-tts 0.28.0, by helpers/coqui_parity.py --golden


@cache
def ours() -> dict[str, NDArray[Any]]:
    return golden_numbers(*our_networks(), public=False)


@pytest.mark.parametrize(
    ("what", "allowed"),
    [("prompt", 1e-5), ("speaker", 1e-5), ("wave", 1e-5), ("latents", 2e-5), ("losses", 1e-5), ("gradients", 1e-4)],
)
def test_networks_give_the_golden_numbers_of_the_public_package(what: str, allowed: float) -> None:
    golden = np.load(GOLDEN, allow_pickle=False)[what]
    found = ours()[what][: len(golden)]
    assert found.shape == golden.shape and np.ptp(golden) > 0
    assert np.abs(found - golden).max() <= allowed * max(1.0, float(np.abs(golden).max()))


def test_the_dvae_gives_the_golden_codes() -> None:
    golden = np.load(GOLDEN, allow_pickle=False)["codes"]
    assert len(set(golden)) > 10
    assert (ours()["codes"] == golden).mean() >= 0.999


def test_codes_are_written_as_by_the_public_package() -> None:
    """In one pass with a cache, and with the penalty on codes 1 and 1024 from the start."""
    golden = np.load(GOLDEN, allow_pickle=False)["spoken"]
    assert len(golden) > 20 and len(set(golden)) > 10
    assert ours()["spoken"].tolist() == golden.tolist()


def test_v2_has_the_published_tensors_and_parameters() -> None:
    config = XttsConfig(size="v2")
    with torch.device("meta"):
        model, dvae = Xtts(config, vocab_size=6681), Dvae(config)
    counts = [sum(p.numel() for p in module.parameters()) for module in (model, dvae)]
    assert len(model.state_dict()) == 963
    assert counts == [466_874_863, 51_567_184] and sum(counts) == 518_442_047
    shapes = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    assert shapes["gpt.gpt.h.29.mlp.c_fc.weight"] == (1024, 4096)
    assert shapes["gpt.conditioning_perceiver.layers.1.1.0.weight"] == (5460, 1024)
    assert shapes["hifigan_decoder.waveform_decoder.ups.0.parametrizations.weight.original1"] == (512, 256, 16)
    assert shapes["hifigan_decoder.speaker_encoder.torch_spec.1.mel_scale.fb"] == (257, 64)


@torch.no_grad()
def test_a_step_with_the_cache_equals_the_whole() -> None:
    torch.manual_seed(0)
    gpt = Xtts(XttsConfig(size="tiny"), vocab_size=40).gpt.eval()
    prompt, ids, codes = torch.randn(2, 8, 64), torch.randint(0, 40, (2, 9)), torch.randint(0, 66, (2, 12))
    _, logits, latents = gpt(prompt, ids, codes)
    cache = Cache()
    parts = [gpt.latents(torch.cat([prompt, gpt.text_rows(ids)], dim=1), cache=cache)]
    for first, last in ((0, 1), (1, 5), (5, 6), (6, 12)):
        parts.append(gpt.latents(gpt.code_rows(codes[:, first:last], first=first), cache=cache))
    stepped = torch.cat(parts[1:], dim=1)
    assert cache.length == 8 + 9 + 12
    assert torch.allclose(stepped, latents, atol=1e-5)
    assert torch.allclose(gpt.mel_head(stepped), logits, atol=1e-5)


def test_a_clip_alone_and_in_a_batch_has_the_same_logits() -> None:
    torch.manual_seed(0)
    gpt = Xtts(XttsConfig(size="tiny", dropout=0.0), vocab_size=40).gpt
    prompt, ids, codes = torch.randn(2, 8, 64), torch.randint(0, 40, (2, 9)), torch.randint(0, 66, (2, 12))
    lengths = {"text_lengths": torch.tensor([9, 6]), "code_lengths": torch.tensor([12, 7])}
    text, spoken, _ = gpt(prompt, ids, codes, **lengths)
    alone = {name: value[1:] for name, value in lengths.items()}
    text_alone, spoken_alone, _ = gpt(prompt[1:], ids[1:, :6], codes[1:, :7], **alone)
    assert torch.allclose(text[1:, :6], text_alone, atol=1e-5)
    assert torch.allclose(spoken[1:, :7], spoken_alone, atol=1e-5)


def test_checkpointed_blocks_give_the_same_gradients() -> None:
    torch.manual_seed(0)
    gpt = Xtts(XttsConfig(size="tiny", dropout=0.0), vocab_size=40).gpt.train()
    given = torch.randn(2, 8, 64), torch.randint(0, 40, (2, 9)), torch.randint(0, 66, (2, 12))
    grads = []
    for kept in (False, True):
        gpt.gpt.checkpointing = kept
        gpt.zero_grad()
        gpt(*given)[1].square().sum().backward()
        grads.append(gpt.gpt.h[0].attn.c_attn.weight.grad.clone())
    assert torch.allclose(*grads, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("samples", [1, 255, 1023, 1024, 1025, 2048, 5000])
def test_codes_of_a_clip_are_counted_by_its_samples(samples: int) -> None:
    torch.manual_seed(0)
    dvae = Dvae(XttsConfig(size="tiny"))
    if samples < 513:  # a mirror of the edges needs more
        assert code_count(samples) == 1
        return
    codes = dvae.codes(torch.randn(1, samples), torch.ones(80))
    assert codes.shape == (1, -(-samples // 1024))
    assert int(codes.min()) >= 0 and int(codes.max()) < 64


def test_a_codebook_moves_to_what_chose_it() -> None:
    torch.manual_seed(0)
    dvae = Dvae(XttsConfig(size="tiny"))
    x = torch.randn(1, 16, 1).expand(1, 16, 5)
    code = dvae.codebook.nearest(x)
    far = (dvae.codebook.vectors(code) - x).square().sum()
    for _ in range(40):
        dvae.codebook.learn(x, code, decay=0.9)
    assert (dvae.codebook.vectors(code) - x).square().sum() < 0.05 * far


@torch.no_grad()
def test_frames_and_chunks_of_the_decoder() -> None:
    torch.manual_seed(0)
    decoder = Xtts(XttsConfig(size="tiny"), vocab_size=8).hifigan_decoder.waveform_decoder
    latents, speaker = torch.randn(1, 100, 64), torch.randn(1, 16)
    for count in range(1, 101):
        assert frames_of(latents[:, :count]).shape[2] == 4 * count * 160 // 147
    frames = frames_of(latents[:, :20])
    whole = decoder(frames, speaker)
    assert whole.shape == (1, 256 * frames.shape[2])
    part = decoder(frames[:, :, 20 - CONTEXT : 50 + CONTEXT], speaker)[:, CONTEXT * 256 : -CONTEXT * 256]
    assert torch.allclose(part, whole[:, 20 * 256 : 50 * 256], atol=1e-6)


@pytest.mark.skipif(bool(coqui_parity.reachable()), reason=coqui_parity.reachable() or "reachable")
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
def test_parity_with_the_public_package(group: Any) -> None:
    missed = [row for row in group() if not row.fine]
    assert not missed


def test_the_compared_layout_is_v2_but_narrow() -> None:
    v2 = XttsConfig(size="v2").model_dump()
    changed = {name for name, value in NARROW.model_dump().items() if v2[name] != value}
    assert changed == {"layers", "width", "heads", "dvae_width", "code_width"}

"""The networks of Chatterbox: published layouts, golden numbers of the public package, cache, packed rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tests.helpers import chatterbox_parity
from tests.helpers.chatterbox_parity import GROUPS, golden_numbers

from olu.core.errors import OluError
from olu.families.chatterbox.codec.mels import trimmed
from olu.families.chatterbox.codec.s3gen import S3Gen
from olu.families.chatterbox.codec.tokens import S3Tokenizer, code_count
from olu.families.chatterbox.codec.voice import VoiceEncoder
from olu.families.chatterbox.config import ChatterboxConfig
from olu.families.chatterbox.model import T3
from olu.nn.causal import Cache

GOLDEN = Path(__file__).with_name("chatterbox_golden.npz")  # of chatterbox-tts 0.1.7, by helpers/chatterbox_parity.py
TINY = ChatterboxConfig(size="tiny")
BARE = ChatterboxConfig(**{**ChatterboxConfig(size="turbo").model_dump(), "size": "tiny", "layers": 2})


@cache
def ours() -> dict[str, NDArray[Any]]:
    return golden_numbers(public=False)


@pytest.mark.parametrize(
    ("what", "allowed"),
    [
        *((f"{kind}_condition", 1e-5) for kind in ("llama", "gpt2")),
        *((f"{kind}_{part}", 5e-5) for kind in ("llama", "gpt2") for part in ("text", "speech")),
        ("mel", 1e-5),
        ("voice", 1e-5),
    ],
)
def test_networks_give_the_golden_numbers_of_the_public_package(what: str, allowed: float) -> None:
    golden = np.load(GOLDEN, allow_pickle=False)[what]
    found = ours()[what]
    assert found.shape == golden.shape and np.ptp(golden) > 0
    assert np.abs(found - golden).max() <= allowed


@pytest.mark.parametrize("what", ["llama_spoken", "gpt2_spoken", "codes"])
def test_codes_are_those_of_the_public_package(what: str) -> None:
    """Written with the cache, with guidance and the penalty; and made of sound."""
    golden = np.load(GOLDEN, allow_pickle=False)[what]
    assert len(golden) > 60 and len(set(golden.tolist())) > 20
    assert ours()[what].tolist() == golden.tolist()


def bytes_of(state: Mapping[str, torch.Tensor]) -> int:
    """Of a safetensors file with these: of each kind of number by name, the longest kind first."""
    at, header = 0, {}
    for name in sorted(state, key=lambda name: (-state[name].element_size(), name)):
        size = state[name].element_size() * state[name].numel()
        kind = {torch.float32: "F32", torch.int64: "I64"}[state[name].dtype]
        header[name] = {"dtype": kind, "shape": list(state[name].shape), "data_offsets": [at, at + size]}
        at += size
    length = len(json.dumps(header, separators=(",", ":")))
    return 8 + length + -length % 8 + at


@pytest.mark.parametrize(
    ("size", "ids", "tensors", "published"),
    [
        ("english", 704, 292, 2_129_653_744),
        ("multilingual", 2454, 292, 2_143_989_752),
        ("multilingual", 2352, 292, 2_143_154_168),
        ("turbo", 50_276, 299, 1_915_480_052),
        ("nano", 50_276, 155, 869_899_204),
    ],
)
def test_random_weights_make_files_of_the_published_length(size: str, ids: int, tensors: int, published: int) -> None:
    with torch.device("meta"):
        state = T3(ChatterboxConfig(size=size), vocab_size=ids).state_dict()
    assert len(state) == tensors
    assert bytes_of(state) == published


def test_the_reckoned_length_is_that_of_a_written_file(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    state = VoiceEncoder(ChatterboxConfig(size="english")).state_dict()
    save_file(state, tmp_path / "ve.safetensors")
    length = (tmp_path / "ve.safetensors").stat().st_size
    assert length == bytes_of(state) == 5_695_784  # as published


@pytest.mark.parametrize(
    ("meanflow", "tensors", "published"), [(False, 2489, 1_056_484_620), (True, 2491, 1_064_875_036)]
)
def test_s3gen_of_random_weights_has_the_published_length(meanflow: bool, tensors: int, published: int) -> None:
    with torch.device("meta"):
        state = S3Gen(ChatterboxConfig(size="multilingual", meanflow=meanflow)).state_dict()
    assert (len(state), bytes_of(state)) == (tensors, published)


def test_the_tokenizer_has_the_published_tensors() -> None:
    with torch.device("meta"):
        state = S3Tokenizer(ChatterboxConfig(size="multilingual")).state_dict()
    shapes = {name: tuple(value.shape) for name, value in state.items()}
    assert sum(int(np.prod(one)) for name, one in shapes.items() if name != "_mel_filters") == 123_714_568
    assert shapes["encoder.blocks.5.attn.fsmn_block.weight"] == (1280, 1, 31)
    assert shapes["quantizer._codebook.project_down.weight"] == (8, 1280)
    assert "encoder.blocks.0.attn.key.bias" not in shapes


@torch.no_grad()
@pytest.mark.parametrize("config", [TINY, BARE], ids=["llama", "gpt2"])
def test_a_step_with_the_cache_equals_the_whole(config: ChatterboxConfig) -> None:
    torch.manual_seed(0)
    t3 = T3(config, vocab_size=40).eval()
    heard = t3.condition(torch.rand(2, config.voice_width), torch.randint(0, 81, (2, 7)))
    ids, codes = torch.randint(0, 40, (2, 9)), torch.randint(0, 81, (2, 12))
    dropped = torch.tensor([False, True])
    _, whole = t3(heard, ids, codes, dropped)
    cache = Cache()
    steps = [t3.hidden(t3.begun(heard, ids, dropped), cache=cache)[:, -1:]]
    for first, last in ((0, 1), (1, 5), (5, 6), (6, 12)):
        steps.append(t3.hidden(t3.speech_rows(codes[:, first:last], first=first + 1), cache=cache))
    assert cache.length == heard.shape[1] + 9 + config.starts + 12
    assert torch.allclose(t3.speech_head(torch.cat(steps, dim=1)), whole, atol=1e-5)


@torch.no_grad()
def test_what_is_dropped_is_not_heard_and_the_future_never() -> None:
    torch.manual_seed(0)
    t3 = T3(TINY, vocab_size=40).eval()
    heard = t3.condition(torch.rand(1, 16), torch.randint(0, 81, (1, 7)))
    ids, others = torch.randint(0, 40, (1, 9)), torch.randint(0, 40, (1, 9))
    codes = torch.randint(0, 81, (1, 12))
    dropped = torch.tensor([True])
    assert torch.equal(t3(heard, ids, codes, dropped)[1], t3(heard, others, codes, dropped)[1])
    assert not torch.allclose(t3(heard, ids, codes)[1], t3(heard, others, codes)[1], atol=1e-3)
    changed = codes.clone()
    changed[0, 5] = (changed[0, 5] + 1) % 81
    before, after = t3(heard, ids, codes)[1], t3(heard, ids, changed)[1]
    assert torch.equal(before[:, :6], after[:, :6]) and not torch.allclose(before[:, 6:], after[:, 6:], atol=1e-4)


@torch.no_grad()
def test_prompts_of_several_lengths_are_heard_as_alone() -> None:
    torch.manual_seed(0)
    t3 = T3(TINY, vocab_size=40).eval()
    voices, prompts = torch.rand(2, 16), torch.randint(0, 81, (2, 20))
    both = t3.condition(voices, prompts, prompt_lengths=torch.tensor([20, 11]))
    assert torch.allclose(both[1:], t3.condition(voices[1:], prompts[1:, :11]), atol=1e-6)
    filled = torch.cat([prompts[1:, :11], torch.zeros(1, 9, dtype=torch.long)], dim=1)  # as public scripts fill it up
    assert not torch.allclose(both[1:], t3.condition(voices[1:], filled), atol=1e-3)


@pytest.mark.parametrize(("samples", "codes"), [(16_000, 25), (16_160, 26), (9_600, 15), (640, 1), (8_001, 13)])
def test_codes_of_a_clip_are_counted_by_its_samples(samples: int, codes: int) -> None:
    torch.manual_seed(0)
    made = S3Tokenizer(TINY).eval().codes(0.1 * torch.randn(samples))
    assert len(made) == code_count(samples) == codes
    assert int(made.min()) >= 0 and int(made.max()) < 81


def test_clips_that_the_tokenizer_would_cut_are_refused() -> None:
    with pytest.raises(OluError, match="30 s"):
        S3Tokenizer(TINY).codes(torch.zeros(30 * 16_000 + 1))
    with pytest.raises(OluError, match=r"0\.01"):
        S3Tokenizer(TINY).codes(torch.zeros(150))


def test_a_silent_recording_has_a_voice_without_holes() -> None:
    encoder = VoiceEncoder(TINY).eval()
    for wave in (np.zeros(8000, np.float32), np.zeros(50, np.float32), np.full(300, 0.5, np.float32)):
        assert bool(encoder.vector(wave).isfinite().all())
    assert len(trimmed(np.zeros(5000, np.float32))) == 5000


def test_checkpointed_blocks_give_the_same_gradients() -> None:
    torch.manual_seed(0)
    t3 = T3(ChatterboxConfig(size="tiny", perceiver_dropout=0.0), vocab_size=40).train()
    heard = t3.condition(torch.rand(2, 16)).detach()
    given = heard, torch.randint(0, 40, (2, 9)), torch.randint(0, 81, (2, 12))
    grads = []
    for kept in (False, True):
        t3.tfmr.checkpointing = kept
        t3.zero_grad()
        t3(*given)[1].square().sum().backward()
        grads.append(t3.tfmr.layers[0].self_attn.q_proj.weight.grad.clone())  # type: ignore[union-attr]
    assert torch.allclose(*grads, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(bool(chatterbox_parity.reachable()), reason=chatterbox_parity.reachable() or "reachable")
@pytest.mark.filterwarnings("ignore")  # the public package uses what torch is about to drop
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
def test_parity_with_the_public_package(group: Any) -> None:
    missed = [row for row in group() if not row.fine]
    assert not missed

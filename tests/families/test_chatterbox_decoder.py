"""The frozen decoder of Chatterbox: published layout, golden numbers of the public package, given noise."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
from tests.helpers import s3gen_parity
from tests.helpers.s3gen_parity import ALLOWED, GOLDEN, NARROW, ours, theirs, worst
from torch import Tensor

from olu.families.chatterbox.codec.flow import S3Flow, flow_times
from olu.families.chatterbox.codec.hift import HiFT, SmallTransform
from olu.families.chatterbox.codec.sizes import HARMONICS, HOP, S3GenSizes
from olu.families.chatterbox.codec.xvector import SpeakerVector


@cache
def found() -> dict[str, Tensor]:
    return ours(S3GenSizes(**NARROW))


@pytest.mark.parametrize("what", sorted(ALLOWED))
def test_networks_give_the_golden_numbers_of_the_public_package(what: str) -> None:
    golden = np.load(GOLDEN, allow_pickle=False)[what]
    made = found()[what].numpy().ravel()[: len(golden)]
    assert made.shape == golden.shape and np.ptp(golden) > 0
    assert np.abs(made - golden).max() <= ALLOWED[what] * max(1.0, float(np.abs(golden).max()))


@pytest.mark.skipif(bool(s3gen_parity.reachable()), reason=s3gen_parity.reachable() or "reachable")
@pytest.mark.filterwarnings("ignore")
def test_parity_with_the_public_package() -> None:
    for what, wanted in theirs(S3GenSizes(**NARROW)).items():
        assert worst(found()[what], wanted) <= ALLOWED[what], what


@pytest.mark.parametrize("meanflow", [False, True])
def test_full_size_has_the_published_tensors(meanflow: bool) -> None:
    sizes = S3GenSizes(meanflow=meanflow)
    with torch.device("meta"):
        flow, hift, vector = S3Flow(sizes), HiFT(sizes), SpeakerVector(sizes)
    numbers = [[v for v in one.state_dict().values() if v.is_floating_point()] for one in (flow, hift, vector)]
    millions = [sum(value.numel() for value in held) / 1e6 for held in numbers]
    assert [round(one, 1) for one in millions] == [112.5 + 2.1 * meanflow, 20.8, 6.9]
    names = {f"flow.{name}": tuple(value.shape) for name, value in flow.state_dict().items()}
    assert names["flow.input_embedding.weight"] == (6561, 512)
    assert names["flow.encoder.pre_lookahead_layer.conv1.weight"] == (512, 512, 4)
    assert names["flow.encoder.up_layer.conv.weight"] == (512, 512, 5)
    assert ("flow.decoder.estimator.time_embed_mixer.weight" in names) is meanflow
    counters = [value for value in vector.state_dict().values() if not value.is_floating_point()]
    assert len(counters) == 122 and len(vector.state_dict()) + len(hift.state_dict()) + len(names) == 2386 + meanflow


@torch.no_grad()
def test_an_odd_reference_is_refused_and_an_even_one_gives_two_frames_a_code() -> None:
    torch.manual_seed(0)
    sizes = S3GenSizes.tiny()
    flow = S3Flow(sizes).eval()
    codes, prompt, vector = torch.randint(0, 81, (1, 10)), torch.randint(0, 81, (1, 5)), torch.randn(1, 24)
    given = {"prompt_codes_BP": prompt, "vector_BG": vector, "noise_BMT": torch.randn(1, 80, 30)}
    assert flow(codes, prompt_mel_BFM=torch.randn(1, 10, 80), **given).shape == (1, 80, 20)
    with pytest.raises(ValueError, match="11 frames of a reference do not fit its 5 codes"):
        flow(codes, prompt_mel_BFM=torch.randn(1, 11, 80), **given)


def test_the_times_of_the_flow() -> None:
    assert flow_times(2, meanflow=True) == [0.0, 0.5, 1.0]
    cosine = flow_times(10, meanflow=False)
    assert cosine[0] == 0.0 and cosine[-1] == pytest.approx(1.0) and cosine[1] == pytest.approx(0.0123116, abs=1e-6)


@torch.no_grad()
def test_the_small_transform_is_torchs_own() -> None:
    wave = torch.randn(2, 480)
    made = SmallTransform()(wave)
    wanted = torch.stft(wave, 16, 4, 16, window=torch.hann_window(16), return_complex=True)
    assert torch.allclose(made, torch.cat([wanted.real, wanted.imag], 1), atol=1e-5)
    back = SmallTransform().inverse(wanted.abs(), wanted.angle())
    assert torch.allclose(back, wave, atol=1e-5)


@torch.no_grad()
def test_sound_has_480_samples_a_frame_and_hangs_on_its_phases() -> None:
    torch.manual_seed(0)
    hift = HiFT(S3GenSizes.tiny()).eval()
    hift.f0_predictor.classifier.bias.fill_(150.0)
    mel = torch.randn(1, 80, 7)
    given = {"noise_BHS": torch.zeros(1, HARMONICS, 7 * HOP)}
    one = hift(mel, phases_BH=torch.zeros(1, HARMONICS), **given)
    other = hift(mel, phases_BH=torch.ones(1, HARMONICS), **given)
    assert one.shape == (1, 7 * HOP) and float((one - other).abs().max()) > 1e-6

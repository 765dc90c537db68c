from __future__ import annotations

import pytest

from olu.families import family
from olu.families.vits.config import VitsConfig
from olu.families.vits.plan import memory


def test_longer_clips_more_clips_and_larger_networks_take_more():
    small = VitsConfig(size="small")
    usual = memory(small, clips=8, seconds=5, tokens=100)
    assert memory(small, clips=8, seconds=10, tokens=100) > usual
    assert memory(small, clips=8, seconds=5, tokens=300) > usual
    assert memory(small, clips=16, seconds=5, tokens=100) > usual
    assert memory(VitsConfig(size="mms"), clips=8, seconds=5, tokens=100) > 2 * usual
    assert family("vits").advice.memory is memory


@pytest.mark.parametrize(
    ("size", "clips", "seconds", "tokens", "segment", "kept"),  # megabytes that autograd kept, as measured
    [
        ("small", 2, 2, 41, 8192, 169.6),
        ("small", 1, 12, 481, 8192, 170.1),
        ("small", 2, 2, 41, 4096, 93.5),
        ("mms", 2, 2, 41, 8192, 492.2),
        ("mms", 1, 12, 13, 8192, 308.0),
        ("mms", 1, 20, 801, 8192, 709.8),
    ],
)
def test_it_meets_what_was_measured(size: str, clips: int, seconds: float, tokens: int, segment: int, kept: float):
    config = VitsConfig(size=size, segment_size=segment)  # type: ignore[arg-type]
    none = memory(config, clips=0, seconds=seconds, tokens=tokens)
    predicted = memory(config, clips=clips, seconds=seconds, tokens=tokens) - none
    assert predicted / 1.2e6 == pytest.approx(kept, rel=0.05)

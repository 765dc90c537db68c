"""How much memory a batch takes in training, without torch.

Fitted to what autograd keeps for one step in fp32, measured for 20 networks of the sizes cpu and gpu with clips of 4
and 12 s: every measurement is met to 13 %. Attention keeps the square of the frames; some GPU kernels do without it.
"""

from __future__ import annotations

from olu.families.recogniser.config import RecogniserConfig

BYTES = 4  # of a float
PER_PARAMETER = 20  # bytes: weight, gradient, two moments and average
PASSING = 1.3  # times: what the backward pass holds for a moment


def parameters(c: RecogniserConfig) -> float:
    """All but the last layer, whose size hangs on the alphabet."""
    width = c.width
    attention = 4 * width**2 if c.heads else 0
    block = 4 * width * c.feed_forward + attention + 3 * width**2 + width * c.kernel
    recurrent = 18 * width**2 * c.recurrent + 2 * width**2 * bool(c.recurrent)
    front = c.channels * (c.mel_bins // 4) * width + 12 * c.channels**2
    return float(c.blocks * block + recurrent + front)


def memory(config: RecogniserConfig, *, clips: int, seconds: float, tokens: int) -> float:
    """Bytes at the peak of a step on `clips` clips, padded to the longest; a GPU driver's own 0.5 GB come on top."""
    c = config
    mel = seconds * c.sampling_rate / c.hop_length
    frames = mel / c.subsample
    front = mel * (0.33 * c.fft_size + 0.63 * c.channels * c.mel_bins)
    attention = 7.2 * c.width + 3.0 * c.heads * frames if c.heads else 0.0
    block = 17.4 * c.width + 5.9 * c.feed_forward + attention
    per_clip = front + frames * (c.blocks * block + 13 * c.width * c.recurrent)
    return PER_PARAMETER * parameters(c) + PASSING * BYTES * clips * per_clip

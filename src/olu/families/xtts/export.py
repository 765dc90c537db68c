"""A voice of XTTS as graphs and arrays that the engine `tokens` runs with numpy and onnxruntime alone.

step.onnx:    rows [B, T, D], past.N.key/value [B, H, M, D/H], seqlens_k [B], total_sequence_length
              -> logits [B, 1, codes + 2], hidden [B, 1, D] of the last row, present.*
decoder.onnx: hidden [B, D, F], speaker [B] -> wave [B, 256 F]; in a voice that hears others speaker is a vector
              [B, G] (`hear.py` has what else it needs)
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized, remove_parametrizations

from olu.families.xtts.config import CODE_SAMPLES, OUT_HOP, OUT_RATE, RATE, XttsConfig
from olu.families.xtts.decoder import CONTEXT, WaveDecoder
from olu.families.xtts.model import Gpt
from olu.nn.causal import Gpt2Block
from olu.nn.step_graph import TransformerGraph, save_arrays

DECODER_OPSET = 17


def write_step(gpt: Gpt, path: Path, *, bits: int = 8, shared: bool = True) -> None:
    """The transformer as nodes of ONNX; `bits` of its matrices, `shared` for a cache that stays in its place."""
    c = gpt.config
    graph = TransformerGraph(width=c.width, layers=c.layers, heads=c.heads, bits=bits, shared=shared)
    x, blocks = "rows", cast("list[Gpt2Block]", list(gpt.gpt.h))
    for number, block in enumerate(blocks):
        x, _ = graph.gpt2_block(x, block, number)
    hidden = graph.norm(graph.norm(graph.last(x), gpt.gpt.ln_f), gpt.final_norm, to="hidden")
    graph.linear(hidden, gpt.mel_head.weight.t(), gpt.mel_head.bias, bits=32, to="logits")
    graph.save(path, {"logits": c.codes + 2, "hidden": c.width})


class VoicedDecoder(nn.Module):
    """The decoder with the speakers inside."""

    def __init__(self, decoder: WaveDecoder, speakers_SG: Tensor) -> None:
        super().__init__()
        self.decoder = decoder
        self.speakers: Tensor
        self.register_buffer("speakers", speakers_SG)

    def forward(self, hidden: Tensor, speaker: Tensor) -> Tensor:
        wave: Tensor = self.decoder(hidden, self.speakers[speaker])
        return wave


def write_decoder(decoder: WaveDecoder, speakers_SG: Tensor, path: Path, *, inside: bool = True) -> None:
    """`inside`: the speakers lie in it, and it is told a number; else it is told a vector."""
    own = WaveDecoder(decoder.config)  # a copy would share what takes weight norm away
    own.load_state_dict(decoder.state_dict())
    own.eval()
    for module in list(own.modules()):
        if is_parametrized(module, "weight"):
            remove_parametrizations(module, "weight")
    width = own.conv_pre.in_channels
    voiced: nn.Module = VoicedDecoder(own, speakers_SG.detach().cpu().float()) if inside else own
    who = torch.zeros(2, dtype=torch.long) if inside else torch.zeros(2, speakers_SG.shape[1])
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            voiced,
            (torch.zeros(2, width, 7), who),
            str(path),
            input_names=["hidden", "speaker"],
            output_names=["wave"],
            dynamic_axes={"hidden": {0: "B", 2: "F"}, "speaker": {0: "B"}, "wave": {0: "B", 1: "S"}},
            opset_version=DECODER_OPSET,
            dynamo=False,
        )


def write_voice(
    gpt: Gpt,
    decoder: WaveDecoder,
    folder: Path,
    *,
    prompts_SKD: Tensor,
    speakers_SG: Tensor,
    bits: int = 8,
    rules: dict[str, Any],
    silence: Sequence[int] = (),
    most_tokens: int | None = None,
    hearing: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """All graphs and arrays of a voice; returns facts for voice.json. `rules`: codes a token, by the corpus; `hearing`:
    what `write_hearing` gave, of a voice that hears others."""
    c: XttsConfig = gpt.config
    write_step(gpt, folder / "step.onnx", bits=bits)
    write_decoder(decoder, speakers_SG, folder / "decoder.onnx", inside=hearing is None)
    arrays = {
        "text_rows": gpt.text_embedding.weight,
        "code_rows": gpt.mel_embedding.weight,
        "text_positions": gpt.text_pos_embedding.emb.weight,
        "code_positions": gpt.mel_pos_embedding.emb.weight,
        "prompt": prompts_SKD,
    }
    save_arrays(folder, arrays, bits=bits)
    return {
        "rate": OUT_RATE,
        "hop": OUT_HOP,
        "context": CONTEXT,
        "bits": bits,
        "parameters": sum(p.numel() for module in (gpt, decoder) for p in module.parameters()),
        "code_seconds": CODE_SAMPLES / RATE,
        "frame_steps": [CODE_SAMPLES / OUT_HOP, OUT_RATE / RATE],
        "stop_sounds": True,
        "text_start": c.text_start,
        "text_stop": c.text_stop,
        "start_code": c.start_code,
        "stop_code": c.stop_code,
        "seen_codes": [1, c.start_code],  # as the published sampler begins: the first is a slip it was tuned with
        "never_codes": [],
        "silence_codes": sorted(set(silence)),
        "most_codes": c.most_codes,
        "most_tokens": min(c.most_text, most_tokens or c.most_text),
        "stop_rules": {**rules, **GUARDS},
        "text_guard": {"short_words": 2, "short_temperature": 0.5},
        "tail": 0.1,
        **({"hearing": hearing} if hearing is not None else {}),
    }


GUARDS = {
    "extra": 10,
    "repeat": 3,
    "shortest_loop": 8,
    "longest_loop": 60,
    "tries": 3,
    "hold": 12,
    "patient": 1,
    "silent": round(0.7 * RATE / CODE_SAMPLES),
}

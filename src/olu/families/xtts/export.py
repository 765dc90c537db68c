"""A voice of XTTS as graphs and arrays that the engine `tokens` runs with numpy and onnxruntime alone.

step.onnx:    rows [B, T, D], past.N.key/value [B, H, M, D/H], seqlens_k [B], total_sequence_length
              -> logits [B, 1, codes + 2], hidden [B, 1, D] of the last row, present.*
decoder.onnx: hidden [B, D, F], speaker [B] -> wave [B, 256 F]

The step graph is built node by node from the weights, not traced: the same one takes a whole prefix or one code.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized, remove_parametrizations

from olu.families.xtts.config import CODE_SAMPLES, OUT_HOP, OUT_RATE, RATE, XttsConfig
from olu.families.xtts.decoder import CONTEXT, WaveDecoder
from olu.families.xtts.model import Gpt
from olu.networks.session import MOST_HALVED

OPSET, CONTRIB, IR = 20, "com.microsoft", 10
BLOCK = 32  # weights that share a scale in 8 bits
BITS = (8, 16, 32)
DECODER_OPSET = 17


class TransformerGraph:
    """The transformer as nodes of ONNX; `bits` of its matrices, `shared` for a cache that stays in its place."""

    def __init__(self, gpt: Gpt, *, bits: int = 8, shared: bool = True) -> None:
        self.config, self.bits, self.shared = gpt.config, bits, shared
        self._nodes, self._weights = list[Any](), list[Any]()
        self._build(gpt)

    def save(self, path: Path) -> None:
        import onnx
        from onnx import TensorProto, helper

        c = self.config
        head = c.width // c.heads
        kind, whole = TensorProto.FLOAT, TensorProto.INT32
        several = "B" if self.shared else 1
        inputs = [helper.make_tensor_value_info("rows", kind, [several, "T", c.width])]
        outputs = [
            helper.make_tensor_value_info("logits", kind, [several, 1, c.codes + 2]),
            helper.make_tensor_value_info("hidden", kind, [several, 1, c.width]),
        ]
        for name in [f"{number}.{part}" for number in range(c.layers) for part in ("key", "value")]:
            past, present = ("M", "M") if self.shared else ("P", "N")
            inputs.append(helper.make_tensor_value_info(f"past.{name}", kind, [several, c.heads, past, head]))
            outputs.append(helper.make_tensor_value_info(f"present.{name}", kind, [several, c.heads, present, head]))
        if self.shared:
            inputs.append(helper.make_tensor_value_info("seqlens_k", whole, [several]))
            inputs.append(helper.make_tensor_value_info("total_sequence_length", whole, []))
        graph = helper.make_graph(self._nodes, "step", inputs, outputs, self._weights)
        sets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
        onnx.save(helper.make_model(graph, opset_imports=sets, ir_version=IR), str(path))

    # ---- nodes

    def _build(self, gpt: Gpt) -> None:
        x = "rows"
        blocks: list[Any] = list(gpt.gpt.h)
        for number, block in enumerate(blocks):
            normed = self._norm(x, block.ln_1)
            heard = self._attention(normed, block.attn, number)
            x = self._op("Add", x, heard)
            inner = self._linear(self._norm(x, block.ln_2), block.mlp.c_fc.weight, block.mlp.c_fc.bias)
            bent = self._op("Gelu", inner, approximate="tanh")
            x = self._op("Add", x, self._linear(bent, block.mlp.c_proj.weight, block.mlp.c_proj.bias))
        last = self._op("Gather", x, self._const(np.array([-1], np.int64)), axis=1)
        hidden = self._norm(self._norm(last, gpt.gpt.ln_f), gpt.final_norm, to="hidden")
        self._linear(hidden, gpt.mel_head.weight.t(), gpt.mel_head.bias, bits=32, to="logits")

    def _attention(self, x: str, attention: Any, number: int) -> str:
        c = self.config
        mixed = self._linear(x, attention.c_attn.weight, attention.c_attn.bias)
        q, k, v = self._split(mixed, 3)
        past, present = ([f"{kind}.{number}.{part}" for part in ("key", "value")] for kind in ("past", "present"))
        if self.shared:
            from onnx import helper

            made = f"attended{number}"
            given = [q, k, v, *past, "seqlens_k", "total_sequence_length"]
            heads = {"num_heads": c.heads, "kv_num_heads": c.heads}
            self._nodes.append(
                helper.make_node("GroupQueryAttention", given, [made, *present], domain=CONTRIB, **heads)
            )
        else:
            made = self._plain_attention(q, k, v, past, present)
        return self._linear(made, attention.c_proj.weight, attention.c_proj.bias)

    def _plain_attention(self, q: str, k: str, v: str, past: Sequence[str], present: Sequence[str]) -> str:
        """The same in standard operators: each row looks at all of the cache and at the rows up to itself."""
        c = self.config
        apart = self._const(np.array([1, -1, c.heads, c.width // c.heads], np.int64))
        asked, keys, values = (
            self._op("Transpose", self._op("Reshape", part, apart), perm=[0, 2, 1, 3]) for part in (q, k, v)
        )
        keys = self._op("Concat", past[0], keys, axis=2, to=present[0])
        values = self._op("Concat", past[1], values, axis=2, to=present[1])
        scores = self._op("MatMul", asked, self._op("Transpose", keys, perm=[0, 1, 3, 2]))
        scores = self._op("Mul", scores, self._const(np.float32((c.width // c.heads) ** -0.5)))
        two, zero, one = (self._const(np.int64(value)) for value in (2, 0, 1))
        now, every = (self._op("Gather", self._op("Shape", part), two) for part in (asked, keys))
        columns = self._op("Unsqueeze", self._op("Range", zero, every, one), self._const(np.array([0], np.int64)))
        places = self._op("Add", self._op("Range", zero, now, one), self._op("Sub", every, now))
        later = self._op("Greater", columns, self._op("Unsqueeze", places, self._const(np.array([1], np.int64))))
        scores = self._op("Where", later, self._const(np.float32(-1e30)), scores)
        heard = self._op("MatMul", self._op("Softmax", scores, axis=3), values)
        joined = self._const(np.array([1, -1, c.width], np.int64))
        return self._op("Reshape", self._op("Transpose", heard, perm=[0, 2, 1, 3]), joined)

    def _split(self, name: str, parts: int) -> list[str]:
        from onnx import helper

        made = [f"{name}.{part}" for part in range(parts)]
        self._nodes.append(helper.make_node("Split", [name], made, axis=-1, num_outputs=parts))
        return made

    def _norm(self, x: str, norm: nn.LayerNorm, *, to: str = "") -> str:
        weight, bias = self._const(_array(norm.weight)), self._const(_array(norm.bias))
        return self._op("LayerNormalization", x, weight, bias, axis=-1, epsilon=norm.eps, to=to)

    def _linear(self, x: str, weight: Tensor, bias: Tensor, *, bits: int | None = None, to: str = "") -> str:
        matrix = _array(weight)
        if (bits or self.bits) == 8 and matrix.shape[0] % BLOCK == 0:
            made = self._in_blocks(x, matrix)
        else:
            made = self._op("MatMul", x, self._matrix(matrix))
        return self._op("Add", made, self._const(_array(bias)), to=to)

    def _matrix(self, matrix: NDArray[np.float32]) -> str:
        """In 16 bits at once where those are asked for: a file of 32 would be made only to be halved."""
        from onnx import TensorProto, helper

        if self.bits != 16 or float(np.abs(matrix).max()) > MOST_HALVED:
            return self._const(matrix)
        half, name = self._const(matrix.astype(np.float16)), f"n{len(self._nodes)}"
        self._nodes.append(helper.make_node("Cast", [half], [name], to=TensorProto.FLOAT))
        return name

    def _in_blocks(self, x: str, matrix: NDArray[np.float32]) -> str:
        inner, outer = matrix.shape
        packed, scales = in_blocks(matrix)
        more = {"K": inner, "N": outer, "bits": 8, "block_size": BLOCK, "accuracy_level": 4}
        return self._op("MatMulNBits", x, self._const(packed), self._const(scales), domain=CONTRIB, **more)

    def _op(self, kind: str, *inputs: str, to: str = "", **more: Any) -> str:
        from onnx import helper

        name = to or f"n{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [name], **more))
        return name

    def _const(self, value: Any) -> str:
        from onnx import numpy_helper

        name = f"w{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name


def in_blocks(matrix: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """A matrix [in, out] in 8 bits as MatMulNBits takes it: [out, blocks, 32] around 128, scales [out x blocks].

    Each block of 32 weights that are summed up has a scale of its own.
    """
    inner, outer = matrix.shape
    blocks = np.ascontiguousarray(matrix.T).reshape(outer, inner // BLOCK, BLOCK)
    scales = np.abs(blocks).max(2) / 127.0
    safe = np.where(scales > 0, scales, 1.0)
    packed = np.clip(np.rint(blocks / safe[:, :, None]) + 128, 0, 255).astype(np.uint8)
    return packed, safe.astype(np.float32).reshape(-1)


def _array(value: Tensor) -> NDArray[np.float32]:
    return np.ascontiguousarray(value.detach().float().cpu().numpy())


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


def write_decoder(decoder: WaveDecoder, speakers_SG: Tensor, path: Path) -> None:
    own = WaveDecoder(decoder.config)  # a copy would share what takes weight norm away
    own.load_state_dict(decoder.state_dict())
    own.eval()
    for module in list(own.modules()):
        if is_parametrized(module, "weight"):
            remove_parametrizations(module, "weight")
    width = own.conv_pre.in_channels
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            VoicedDecoder(own, speakers_SG.detach().cpu().float()),
            (torch.zeros(2, width, 7), torch.zeros(2, dtype=torch.long)),
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
) -> dict[str, Any]:
    """All graphs and arrays of a voice; returns facts for voice.json. `rules`: codes a token, by the corpus."""
    c: XttsConfig = gpt.config
    TransformerGraph(gpt, bits=bits).save(folder / "step.onnx")
    write_decoder(decoder, speakers_SG, folder / "decoder.onnx")
    arrays = {
        "text_rows": gpt.text_embedding.weight,
        "code_rows": gpt.mel_embedding.weight,
        "text_positions": gpt.text_pos_embedding.emb.weight,
        "code_positions": gpt.mel_pos_embedding.emb.weight,
        "prompt": prompts_SKD,
    }
    kind = np.float32 if bits == 32 else np.float16
    for name, tensor in arrays.items():
        np.save(folder / f"{name}.npy", _array(tensor).astype(kind))
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

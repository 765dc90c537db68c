"""A causal transformer as an ONNX graph, built node by node from its weights: what `speak/engines/codes.py` steps with.

rows [B, T, D], past.N.key/value [B, H, M, D/H], seqlens_k [B], total_sequence_length -> what the family puts out, and
present.*. The same graph takes a whole prefix or one code, since nothing of it is traced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from olu.networks.session import MOST_HALVED
from olu.nn.causal import Gpt2Block, LlamaBlock, RmsNorm

OPSET, CONTRIB, IR = 20, "com.microsoft", 10
BLOCK = 32  # weights that share a scale in 4 or 8 bits
SMALL_BITS = (4, 8)


class TransformerGraph:
    """Nodes and weights; `bits` of the matrices, `shared` for a cache that stays in its place."""

    def __init__(
        self,
        *,
        width: int,
        layers: int,
        heads: int,
        bits: int = 8,
        shared: bool = True,
        turns: tuple[Tensor, Tensor] | None = None,
    ) -> None:
        """`turns`: cosines and sines [places, D / H / 2] that queries and keys are turned by (RoPE)."""
        self.width, self.layers, self.heads, self.bits, self.shared = width, layers, heads, bits, shared
        self._nodes, self._weights = list[Any](), list[Any]()
        self._turns = None if turns is None else [self.const(array_of(one)) for one in turns]

    def save(self, path: Path, outputs: Mapping[str, int]) -> None:
        """`outputs`: what it gives beside the cache, with how wide each is."""
        import onnx
        from onnx import TensorProto, helper

        head, kind, whole = self.width // self.heads, TensorProto.FLOAT, TensorProto.INT32
        several = "B" if self.shared else 1
        told = [helper.make_tensor_value_info("rows", kind, [several, "T", self.width])]
        made = [helper.make_tensor_value_info(name, kind, [several, 1, wide]) for name, wide in outputs.items()]
        past, present = ("M", "M") if self.shared else ("P", "N")
        for name in [f"{number}.{part}" for number in range(self.layers) for part in ("key", "value")]:
            told.append(helper.make_tensor_value_info(f"past.{name}", kind, [several, self.heads, past, head]))
            made.append(helper.make_tensor_value_info(f"present.{name}", kind, [several, self.heads, present, head]))
        if self.shared:
            told.append(helper.make_tensor_value_info("seqlens_k", whole, [several]))
            told.append(helper.make_tensor_value_info("total_sequence_length", whole, []))
        graph = helper.make_graph(self._nodes, "step", told, made, self._weights)
        sets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
        onnx.save(helper.make_model(graph, opset_imports=sets, ir_version=IR), str(path))

    # ---- blocks

    def gpt2_block(self, x: str, block: Gpt2Block, number: int, *, asked: bool = False) -> tuple[str, str]:
        """The rows after a block, and where `asked` its queries [B, T, D], before they are turned; else nothing."""
        attention = block.attn
        mixed = self.linear(self.norm(x, block.ln_1), attention.c_attn.weight, attention.c_attn.bias)
        q, k, v = self.split(mixed, 3)
        heard = self.attention(q, k, v, number)
        x = self.op("Add", x, self.linear(heard, attention.c_proj.weight, attention.c_proj.bias))
        inner = self.linear(self.norm(x, block.ln_2), block.mlp.c_fc.weight, block.mlp.c_fc.bias)
        bent = self.op("Gelu", inner, approximate="tanh")
        return self.op("Add", x, self.linear(bent, block.mlp.c_proj.weight, block.mlp.c_proj.bias)), q if asked else ""

    def llama_block(self, x: str, block: LlamaBlock, number: int, *, asked: bool = False) -> tuple[str, str]:
        own = block.self_attn
        normed = self.rms_norm(x, block.input_layernorm)
        q, k, v = (self.linear(normed, one.weight.t()) for one in (own.q_proj, own.k_proj, own.v_proj))
        x = self.op("Add", x, self.linear(self.attention(q, k, v, number), own.o_proj.weight.t()))
        normed = self.rms_norm(x, block.post_attention_layernorm)
        gate = self.linear(normed, block.mlp.gate_proj.weight.t())
        gated = self.op(
            "Mul", self.op("Mul", gate, self.op("Sigmoid", gate)), self.linear(normed, block.mlp.up_proj.weight.t())
        )
        return self.op("Add", x, self.linear(gated, block.mlp.down_proj.weight.t())), q if asked else ""

    def last(self, x: str) -> str:
        """The last row alone."""
        return self.op("Gather", x, self.const(np.array([-1], np.int64)), axis=1)

    def chosen(self, queries: Sequence[tuple[str, int]], size: int, *, to: str) -> None:
        """Queries of single heads, of the last row, one after the other."""
        parts = []
        for name, head in queries:
            edges = [self.const(np.array([at], np.int64)) for at in (head * size, (head + 1) * size, 2)]
            parts.append(self.op("Slice", self.last(name), *edges))
        self.op("Concat", *parts, axis=-1, to=to)

    def attention(self, q: str, k: str, v: str, number: int) -> str:
        past, present = ([f"{kind}.{number}.{part}" for part in ("key", "value")] for kind in ("past", "present"))
        if not self.shared:
            return self._plain_attention(q, k, v, past, present)
        from onnx import helper

        made = f"attended{number}"
        given = [q, k, v, *past, "seqlens_k", "total_sequence_length", *(self._turns or [])]
        more = {"num_heads": self.heads, "kv_num_heads": self.heads, "do_rotary": int(self._turns is not None)}
        self._nodes.append(helper.make_node("GroupQueryAttention", given, [made, *present], domain=CONTRIB, **more))
        return made

    def _plain_attention(self, q: str, k: str, v: str, past: Sequence[str], present: Sequence[str]) -> str:
        """The same in standard operators: each row looks at all of the cache and at the rows up to itself."""
        head = self.width // self.heads
        apart = self.const(np.array([1, -1, self.heads, head], np.int64))
        asked, keys, values = (
            self.op("Transpose", self.op("Reshape", part, apart), perm=[0, 2, 1, 3]) for part in (q, k, v)
        )
        two, zero, one = (self.const(np.int64(value)) for value in (2, 0, 1))
        now = self.op("Gather", self.op("Shape", asked), two)
        before = self.op("Gather", self.op("Shape", past[0]), two)
        places = self.op("Add", self.op("Range", zero, now, one), before)
        if self._turns is not None:
            asked, keys = (self._turned(part, places) for part in (asked, keys))
        keys = self.op("Concat", past[0], keys, axis=2, to=present[0])
        values = self.op("Concat", past[1], values, axis=2, to=present[1])
        scores = self.op("MatMul", asked, self.op("Transpose", keys, perm=[0, 1, 3, 2]))
        scores = self.op("Mul", scores, self.const(np.float32(head**-0.5)))
        every = self.op("Add", before, now)
        columns = self.op("Unsqueeze", self.op("Range", zero, every, one), self.const(np.array([0], np.int64)))
        later = self.op("Greater", columns, self.op("Unsqueeze", places, self.const(np.array([1], np.int64))))
        scores = self.op("Where", later, self.const(np.float32(-1e30)), scores)
        heard = self.op("MatMul", self.op("Softmax", scores, axis=3), values)
        joined = self.const(np.array([1, -1, self.width], np.int64))
        return self.op("Reshape", self.op("Transpose", heard, perm=[0, 2, 1, 3]), joined)

    def _turned(self, x: str, places: str) -> str:
        assert self._turns is not None
        cos, sin = (self.op("Gather", one, places, axis=0) for one in self._turns)
        left, right = self.split(x, 2)
        first = self.op("Sub", self.op("Mul", left, cos), self.op("Mul", right, sin))
        return self.op("Concat", first, self.op("Add", self.op("Mul", right, cos), self.op("Mul", left, sin)), axis=-1)

    # ---- layers

    def split(self, name: str, parts: int) -> list[str]:
        from onnx import helper

        made = [f"{name}.{part}" for part in range(parts)]
        self._nodes.append(helper.make_node("Split", [name], made, axis=-1, num_outputs=parts))
        return made

    def norm(self, x: str, norm: nn.LayerNorm, *, to: str = "") -> str:
        weight, bias = self.const(array_of(norm.weight)), self.const(array_of(norm.bias))
        return self.op("LayerNormalization", x, weight, bias, axis=-1, epsilon=norm.eps, to=to)

    def rms_norm(self, x: str, norm: RmsNorm, *, to: str = "") -> str:
        """Written out as onnxruntime knows it by, which makes one step of it."""
        square = self.op("Pow", x, self.const(np.float32(2.0)))
        mean = self.op("ReduceMean", square, self.const(np.array([-1], np.int64)), keepdims=1)
        root = self.op("Sqrt", self.op("Add", mean, self.const(np.float32(norm.eps))))
        return self.op("Mul", self.op("Div", x, root), self.const(array_of(norm.weight)), to=to)

    def linear(
        self, x: str, weight: Tensor, bias: Tensor | None = None, *, bits: int | None = None, to: str = ""
    ) -> str:
        """`weight` stands [in, out]."""
        matrix, chosen = array_of(weight), bits or self.bits
        name = to if bias is None else ""
        if chosen in SMALL_BITS and matrix.shape[0] % BLOCK == 0:
            made = self._in_blocks(x, matrix, chosen, to=name)
        else:
            made = self.op("MatMul", x, self._matrix(matrix), to=name)
        return made if bias is None else self.op("Add", made, self.const(array_of(bias)), to=to)

    def _matrix(self, matrix: NDArray[np.float32]) -> str:
        """In 16 bits at once where those are asked for: a file of 32 would be made only to be halved."""
        from onnx import TensorProto, helper

        if self.bits != 16 or float(np.abs(matrix).max()) > MOST_HALVED:
            return self.const(matrix)
        half, name = self.const(matrix.astype(np.float16)), f"n{len(self._nodes)}"
        self._nodes.append(helper.make_node("Cast", [half], [name], to=TensorProto.FLOAT))
        return name

    def _in_blocks(self, x: str, matrix: NDArray[np.float32], bits: int, *, to: str) -> str:
        inner, outer = matrix.shape
        packed, scales = in_blocks(matrix) if bits == 8 else in_half_blocks(matrix)
        more = {"K": inner, "N": outer, "bits": bits, "block_size": BLOCK, "accuracy_level": 4}
        return self.op("MatMulNBits", x, self.const(packed), self.const(scales), domain=CONTRIB, to=to, **more)

    def op(self, kind: str, *inputs: str, to: str = "", **more: Any) -> str:
        from onnx import helper

        name = to or f"n{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [name], **more))
        return name

    def const(self, value: Any) -> str:
        from onnx import numpy_helper

        name = f"w{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name


def in_blocks(matrix: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """A matrix [in, out] in 8 bits as MatMulNBits takes it: [out, blocks, 32] around 128, scales [out x blocks].

    Each block of 32 weights that are summed up has a scale of its own.
    """
    blocks = _blocks(matrix)
    scales = np.abs(blocks).max(2) / 127.0
    safe = np.where(scales > 0, scales, 1.0)
    packed = np.clip(np.rint(blocks / safe[:, :, None]) + 128, 0, 255).astype(np.uint8)
    return packed, safe.astype(np.float32).reshape(-1)


def in_half_blocks(matrix: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """In 4 bits: [out, blocks, 16], two weights a byte, around 8. The largest of a block is its lowest level."""
    blocks = _blocks(matrix)
    largest = np.take_along_axis(blocks, np.abs(blocks).argmax(2)[:, :, None], 2)[:, :, 0]
    scales = largest / -8.0
    safe = np.where(scales != 0, scales, 1.0)
    levels = np.clip(np.rint(blocks / safe[:, :, None]) + 8, 0, 15).astype(np.uint8)
    return levels[:, :, 0::2] | (levels[:, :, 1::2] << 4), safe.astype(np.float32).reshape(-1)


def _blocks(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    inner, outer = matrix.shape
    return np.ascontiguousarray(matrix.T).reshape(outer, inner // BLOCK, BLOCK)


def array_of(value: Tensor) -> NDArray[np.float32]:
    return np.ascontiguousarray(value.detach().float().cpu().numpy())


def save_arrays(folder: Path, arrays: Mapping[str, Tensor], *, bits: int) -> None:
    """Tables beside a graph, in 16 bits unless all is wanted in 32; whole numbers as they are."""
    kind = np.float32 if bits == 32 else np.float16
    for name, tensor in arrays.items():
        whole = not torch.is_floating_point(tensor)
        np.save(folder / f"{name}.npy", tensor.cpu().numpy() if whole else array_of(tensor).astype(kind))

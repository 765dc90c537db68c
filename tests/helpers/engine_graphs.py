"""Tiny ONNX graphs for the engines `mel` and `tokens`, made of seeds, and packages of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from olu.core.job import finish
from olu.core.types import Knob
from olu.export.package import write_package
from olu.speak.engines import knob_row
from olu.speak.voice import Voice
from olu.text.vocabulary import SymbolVocabulary

from .packages import LETTERS, contents

RATE, HOP, SIZE = 8000, 64, 8
INT64, FLOAT = TensorProto.INT64, TensorProto.FLOAT
Shape = list[Any]


class Net:
    """Nodes and weights of one graph, by the names of what they make."""

    def __init__(self, seed: int) -> None:
        self.random, self.nodes, self.weights = np.random.default_rng(seed), list[Any](), list[Any]()

    def weight(self, *shape: int, scale: float = 0.5) -> str:
        return self.const((self.random.standard_normal(shape) * scale).astype(np.float32))

    def const(self, value: Any, kind: Any = None) -> str:
        array: NDArray[Any] = np.asarray(value, kind)
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def op(self, kind: str, *inputs: str, to: str = "", **more: Any) -> str:
        name = to or f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **more))
        return name

    def save(self, path: Path, inputs: dict[str, tuple[int, Shape]], outputs: dict[str, Shape], **opsets: int) -> None:
        given = [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()]
        made = [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in outputs.items()]
        graph = helper.make_graph(self.nodes, "g", given, made, self.weights)
        sets = [helper.make_opsetid("", 17), *(helper.make_opsetid(name, at) for name, at in opsets.items())]
        model = helper.make_model(graph, opset_imports=sets, ir_version=9)
        onnx.save(model, str(path))


def sound(net: Net, frames: str, *, channels: int) -> None:
    """[B, C, F] -> wave [B, F * HOP], looking one frame around."""
    near = net.op("Conv", frames, net.weight(4, channels, 3), kernel_shape=[3], pads=[1, 1])
    wide = net.op("ConvTranspose", net.op("Tanh", near), net.weight(4, 1, HOP, scale=0.1), strides=[HOP])
    net.op("Squeeze", net.op("Tanh", wide), net.const([1], np.int64), to="wave")


def mel_graphs(folder: Path) -> dict[str, Any]:
    text = Net(1)
    rows = text.op("Gather", text.weight(len(LETTERS) + 1, SIZE), "ids")
    text.op("Transpose", rows, to="hidden", perm=[0, 2, 1])
    length = text.op("ReduceMean", rows, axes=[2], keepdims=0)
    text.op("Add", length, text.const(1.0, np.float32), to="log_frames")
    text.op("Add", text.op("MatMul", rows, text.weight(SIZE, 3, scale=0.1)), text.const(7.0, np.float32), to="knots")
    text.save(
        folder / "text.onnx",
        {"ids": (INT64, [1, "T"])},
        {"hidden": [1, SIZE, "T"], "log_frames": [1, "T"], "knots": [1, "T", 3]},
    )
    mean = Net(2)  # each frame's token: how many ends lie at or before it
    ends = mean.op("CumSum", mean.op("Squeeze", "frames", mean.const([0], np.int64)), mean.const(0, np.int64))
    total = mean.op("ReduceMax", ends, keepdims=0)
    places = mean.op("Range", mean.const(0, np.int64), total, mean.const(1, np.int64))
    past = mean.op(
        "GreaterOrEqual",
        mean.op("Unsqueeze", places, mean.const([1], np.int64)),
        mean.op("Unsqueeze", ends, mean.const([0], np.int64)),
    )
    token = mean.op("ReduceSum", _cast(mean, past), mean.const([1], np.int64), keepdims=0)
    held = mean.op("Gather", "hidden", token, axis=2)
    melody = mean.op("Unsqueeze", "contour", mean.const([1], np.int64))
    mean.op("Add", held, mean.op("Mul", melody, mean.const(0.1, np.float32)), to="mel")
    mean.save(
        folder / "mean.onnx",
        {"hidden": (FLOAT, [1, SIZE, "T"]), "frames": (INT64, [1, "T"]), "contour": (FLOAT, [1, "F"])},
        {"mel": [1, SIZE, "F"]},
    )
    step = Net(3)
    step.op("Sub", "mel", "x", to="velocity")
    step.save(
        folder / "step.onnx",
        {"x": (FLOAT, [1, SIZE, "F"]), "mel": (FLOAT, [1, SIZE, "F"])},
        {"velocity": [1, SIZE, "F"]},
    )
    vocoder(folder / "decoder.onnx")
    knobs = [Knob("pitch", 0.0, -12.0, 12.0, "semitones"), Knob("steps", 2, 0, 8), Knob("temperature", 0.5, 0, 2)]
    return {
        "engine": "mel",
        "rate": RATE,
        "hop": HOP,
        "context": 2,
        "parameters": 1,
        "knobs": {knob.name: knob_row(knob) for knob in knobs},
    }


def _cast(net: Net, name: str) -> str:
    made = f"n{len(net.nodes)}"
    net.nodes.append(helper.make_node("Cast", [name], [made], to=INT64))
    return made


def vocoder(path: Path) -> None:
    net = Net(4)
    loud = net.op("Mul", net.op("Unsqueeze", "contour", net.const([1], np.int64)), net.const(0.1, np.float32))
    sound(net, net.op("Concat", "mel", "noise", loud, axis=1), channels=SIZE + 2)
    net.save(
        path,
        {"mel": (FLOAT, ["B", SIZE, "F"]), "contour": (FLOAT, ["B", "F"]), "noise": (FLOAT, ["B", 1, "F"])},
        {"wave": ["B", "S"]},
    )


# ---------------------------------------------------------------- codes

CODES = 24  # the last two start and stop


def token_graphs(folder: Path, *, attention: str = "plain", hidden: bool = False, **rules: Any) -> dict[str, Any]:
    """A transformer of one layer; `attention` is plain, or contrib GroupQueryAttention with a cache of fixed length."""
    net = Net(5)
    q, k, v = (net.op("MatMul", "rows", net.weight(SIZE, SIZE)) for _ in range(3))
    several = "B" if attention == "shared" else 1
    cache: Shape = [several, 1, 512 if attention == "shared" else "P", SIZE]
    inputs: dict[str, tuple[int, Shape]] = {
        "rows": (FLOAT, [several, "T", SIZE]),
        "past.0.key": (FLOAT, cache),
        "past.0.value": (FLOAT, cache),
    }
    if attention == "shared":
        made = ["attended", "present.0.key", "present.0.value"]
        given = [q, k, v, "past.0.key", "past.0.value", "seqlens_k", "total_sequence_length"]
        node = helper.make_node("GroupQueryAttention", given, made, domain="com.microsoft", num_heads=1, kv_num_heads=1)
        net.nodes.append(node)
        inputs |= {"seqlens_k": (TensorProto.INT32, [several]), "total_sequence_length": (TensorProto.INT32, [])}
    else:
        plain_attention(net, q, k, v)
    net.op("Add", "rows", "attended", to="hidden")
    net.op("MatMul", "hidden", net.weight(SIZE, CODES, scale=2.0), to="logits")
    present: Shape = [several, 1, 512 if attention == "shared" else "N", SIZE]
    net.save(
        folder / "step.onnx",
        inputs,
        {
            "logits": [several, "T", CODES],
            "hidden": [several, "T", SIZE],
            "present.0.key": present,
            "present.0.value": present,
        },
        **({"com.microsoft": 1} if attention == "shared" else {}),
    )
    code_decoder(folder / "decoder.onnx", hidden=hidden)
    random = np.random.default_rng(6)
    shapes = {"text_rows": (len(LETTERS) + 1, SIZE), "code_rows": (CODES, SIZE), "prompt": (2, 3, SIZE)}
    shapes |= {"text_positions": (512, SIZE), "code_positions": (300, SIZE)}
    for name, shape in shapes.items():
        np.save(folder / f"{name}.npy", random.standard_normal(shape).astype(np.float32))
    knobs = [
        Knob("temperature", 0.8, 0.0, 2.0, "how freely it draws"),
        Knob("top_p", 0.95, 0.01, 1.0),
        Knob("top_k", 0, 0, 1000),
        Knob("repetition_penalty", 1.0, 1.0, 20.0),
    ]
    return {
        "engine": "tokens",
        "rate": RATE,
        "hop": HOP,
        "context": 1,
        "parameters": 1,
        "start_code": CODES - 2,
        "stop_code": CODES - 1,
        "stop_rules": {"least": 1.0, "most": 4.0, **rules},
        "knobs": {knob.name: knob_row(knob) for knob in knobs},
    }


def plain_attention(net: Net, q: str, k: str, v: str) -> None:
    one = net.const([1], np.int64)
    keys = net.op("Concat", "past.0.key", net.op("Unsqueeze", k, one), to="present.0.key", axis=2)
    values = net.op("Concat", "past.0.value", net.op("Unsqueeze", v, one), to="present.0.value", axis=2)
    asked = net.op("Unsqueeze", q, one)
    scores = net.op("MatMul", asked, net.op("Transpose", keys, perm=[0, 1, 3, 2]))
    scores = net.op("Div", scores, net.const(np.sqrt(SIZE), np.float32))
    now, all_ = (net.op("Gather", net.op("Shape", one_), net.const(2, np.int64)) for one_ in (asked, keys))
    zero, step = net.const(0, np.int64), net.const(1, np.int64)
    columns = net.op("Unsqueeze", net.op("Range", zero, all_, step), net.const([0], np.int64))
    rows = net.op("Add", net.op("Range", zero, now, step), net.op("Sub", all_, now))
    later = net.op("Greater", columns, net.op("Unsqueeze", rows, one))
    scores = net.op("Where", later, net.const(-1e9, np.float32), scores)
    attended = net.op("MatMul", net.op("Softmax", scores, axis=3), values)
    net.op("Squeeze", attended, one, to="attended")


def code_decoder(path: Path, *, hidden: bool) -> None:
    net = Net(7)
    if hidden:
        sound(net, "hidden", channels=SIZE)
        net.save(path, {"hidden": (FLOAT, ["B", SIZE, "N"]), "speaker": (INT64, ["B"])}, {"wave": ["B", "S"]})
        return
    rows = net.op("Gather", net.weight(CODES, SIZE), "codes")
    who = net.op("Unsqueeze", net.op("Gather", net.weight(2, SIZE), "speaker"), net.const([1], np.int64))
    sound(net, net.op("Transpose", net.op("Add", rows, who), perm=[0, 2, 1]), channels=SIZE)
    net.save(path, {"codes": (INT64, ["B", "N"]), "speaker": (INT64, ["B"])}, {"wave": ["B", "S"]})


def pack(path: Path, graphs: Any, *, name: str = "test", **more: Any) -> Voice:
    """A package of two speakers whose symbols stand without blanks between them."""
    held = contents(speakers=["ada", "obi"], name=name)
    object.__setattr__(held, "vocabulary", SymbolVocabulary(held.vocabulary.symbols, interleave=False))
    return finish(write_package(path, held, graphs=lambda folder: graphs(folder, **more)))

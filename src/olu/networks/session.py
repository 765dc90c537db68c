"""The one place where onnxruntime opens a network, and the one where the package onnx does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from olu.networks.proof import ProvedNetwork, prove

# Should the proof ever miss something: files beside a network are looked for where none can be, and a file that could
# be read as two formats is read as the one that was proved.
NO_FOLDER = f"{os.devnull}/none"
ENTRIES = {
    "session.model_external_initializers_file_folder_path": NO_FOLDER,
    "session.load_model_format": "ONNX",
}


def read_network(path: Path, *, name: str = "") -> ProvedNetwork:
    """The proved network of a file; `name`: what an error calls it, where the path tells nothing."""
    return prove(path.read_bytes(), name=name or str(path))


def open_session(network: ProvedNetwork, options: Any) -> Any:
    """A session of onnxruntime, with its SessionOptions; it raises its own errors for a bad network."""
    import onnxruntime

    for name, value in ENTRIES.items():
        options.add_session_config_entry(name, value)
    return onnxruntime.InferenceSession(network.data, options, providers=["CPUExecutionProvider"])


def load_model(path: Path, *, name: str = "") -> Any:
    """An ONNX file as onnx's ModelProto, proved first."""
    import onnx

    return onnx.load_from_string(read_network(path, name=name).data)


def quiet(threads: int) -> Any:
    """Options of a session with so many threads and no remarks on the terminal."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    options.log_severity_level = 4
    return options


LEAST_HALVED = 256  # numbers of a weight; what is smaller (scales, shapes) stays in 32 bits
MOST_HALVED = 65_504.0  # what 16 bits can hold


def halve(path: Path) -> None:
    """Keep a graph's larger weights in 16 bits: half the file.

    Each is followed by a cast that onnxruntime carries out when it loads the graph, so arithmetic stays in 32 bits.
    """
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    model = load_model(path)
    graph, casts, kept = model.graph, [], []
    scales = {name for node in graph.node if node.op_type == "MatMulNBits" for name in node.input}  # of 8-bit weights
    for tensor in graph.initializer:
        whole = tensor.data_type != TensorProto.FLOAT or tensor.name in scales
        weights = numpy_helper.to_array(tensor) if not whole else np.zeros(0)
        if whole or weights.size < LEAST_HALVED or np.abs(weights).max() > MOST_HALVED:
            kept.append(tensor)
            continue
        half = f"{tensor.name}.half"
        kept.append(numpy_helper.from_array(weights.astype(np.float16), half))
        casts.append(helper.make_node("Cast", [half], [tensor.name], name=f"{half}.cast", to=TensorProto.FLOAT))
    nodes = [*casts, *graph.node]
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(kept)
    graph.node.extend(nodes)
    onnx.save(model, str(path))

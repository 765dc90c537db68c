"""Graphs made small and quick to load, without another sound to the ear: 16-bit weights, and optimised once."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from olu.networks.session import load_model, open_session, read_network

LEAST = 256  # numbers; what is smaller (scales, shapes) stays as it is
LARGEST = 65_504.0  # of 16 bits


def optimise(path: Path) -> None:
    """Replace a graph by what onnxruntime makes of it, as far as that is the same on every machine."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.log_severity_level = 3
    made = path.with_name(f"{path.name}.optimised")
    options.optimized_model_filepath = str(made)
    open_session(read_network(path), options)
    made.replace(path)


def halve(path: Path) -> None:
    """Keep a graph's larger weights in 16 bits: half the file.

    Each is followed by a cast that onnxruntime carries out when it loads the graph, so arithmetic stays in 32 bits.
    """
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    model = load_model(path)
    graph, casts, kept = model.graph, [], []
    for tensor in graph.initializer:
        weights = numpy_helper.to_array(tensor)
        if tensor.data_type != TensorProto.FLOAT or weights.size < LEAST or np.abs(weights).max() > LARGEST:
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

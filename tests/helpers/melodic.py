"""A voice of the engine `mel` whose pitch can be heard: Yoruba phones, tones in a stream, gaps that pause, a source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from olu.core.job import finish
from olu.core.types import Knob
from olu.export.package import Contents, write_package
from olu.speak.engines import knob_row
from olu.speak.voice import Voice
from olu.text.frontend import for_language
from olu.text.languages import load
from olu.text.vocabulary import BLANK, TONES, StreamVocabulary

from .engine_graphs import FLOAT, INT64, SIZE, Net, _cast

RATE, HOP, CONTEXT = 16000, 256, 2
REACH = 5  # frames that a changed contour reaches: 1 in the mean, 2 in as many steps, 2 in the decoder
FRONTEND = for_language(load("yor"))
PHONES = sorted(FRONTEND.phones)
VOCABULARY = StreamVocabulary((BLANK, *PHONES, " ", ",", ".", "?", "!"))
UNVOICED = ("f", "h", "k", "s", "t", "ʃ", "k͡p")
HEIGHTS = {"H": 0.05, "M": 0.0, "L": -0.05, "D": 0.03}  # octaves: too near to each other to be told apart
RANGE = (90.0, 147.0, 220.0)


def text_graph(path: Path) -> None:
    net, symbols = Net(1), VOCABULARY.symbols
    table = np.random.default_rng(2).standard_normal((len(symbols), SIZE)).astype(np.float32) * 0.3
    table[:, 0] = [symbol in PHONES and symbol not in UNVOICED for symbol in symbols]
    net.op("Transpose", net.op("Gather", net.const(table), "ids"), to="hidden", perm=[0, 2, 1])
    sizes = 1.75 + 0.3 * np.random.default_rng(3).standard_normal(len(symbols))
    sizes[[symbol in ",.?!" for symbol in symbols]] = 2.6
    net.op("Gather", net.const(sizes.astype(np.float32)), "ids", to="log_frames")
    logits = [2.0 if symbol in ",.?!" else -2.0 for symbol in symbols]
    net.op("Gather", net.const(np.array(logits, np.float32)), "ids", to="pause")
    heights = [[7.2 + HEIGHTS.get(tone, 0.0)] * 3 for tone in ("", *TONES)]
    net.op("Gather", net.const(np.array(heights, np.float32)), "tones", to="knots")
    streams = {name: (INT64, [1, "T"]) for name in ("ids", "tones")}
    outputs = {"hidden": [1, SIZE, "T"], "log_frames": [1, "T"], "pause": [1, "T"], "knots": [1, "T", 3]}
    net.save(path, streams, outputs)


def mean_graph(path: Path) -> None:
    net = Net(2)
    ends = net.op("CumSum", net.op("Squeeze", "frames", net.const([0], np.int64)), net.const(0, np.int64))
    places = net.op("Range", net.const(0, np.int64), net.op("ReduceMax", ends, keepdims=0), net.const(1, np.int64))
    past = net.op(
        "GreaterOrEqual",
        net.op("Unsqueeze", places, net.const([1], np.int64)),
        net.op("Unsqueeze", ends, net.const([0], np.int64)),
    )
    token = net.op("ReduceSum", _cast(net, past), net.const([1], np.int64), keepdims=0)
    held = net.op("Gather", "hidden", token, axis=2, to="states")
    both = net.op("Concat", held, net.op("Unsqueeze", "contour", net.const([1], np.int64)), axis=1)
    net.op("Conv", both, net.weight(SIZE, SIZE + 1, 3), kernel_shape=[3], pads=[1, 1], to="mel")
    net.op("Squeeze", net.op("Gather", held, net.const([0], np.int64), axis=1), net.const([1], np.int64), to="voicing")
    inputs = {"hidden": (FLOAT, [1, SIZE, "T"]), "frames": (INT64, [1, "T"]), "contour": (FLOAT, [1, "F"])}
    net.save(path, inputs, {"mel": [1, SIZE, "F"], "states": [1, SIZE, "F"], "voicing": [1, "F"]})


def step_graph(path: Path) -> None:
    net = Net(3)
    near = net.op("Conv", "x", net.weight(SIZE, SIZE, 3, scale=0.1), kernel_shape=[3], pads=[1, 1])
    late = net.op("Mul", net.op("Sub", "mel", "x"), net.op("Add", "time", net.const(1.0, np.float32)))
    net.op("Add", net.op("Add", near, late), net.op("Mul", "states", net.const(0.01, np.float32)), to="velocity")
    rest = net.op("Mul", net.op("Sub", net.const(1.0, np.float32), "time"), "velocity")
    net.op("Mul", net.op("Add", "x", rest), net.const(2.0, np.float32), to="ended")  # its x is half of a mel
    inputs: Any = {name: (FLOAT, [1, SIZE, "F"]) for name in ("x", "mel", "states")}
    net.save(path, {**inputs, "time": (FLOAT, [1])}, {"velocity": [1, SIZE, "F"], "ended": [1, SIZE, "F"]})


def decoder_graph(path: Path) -> None:
    """The source itself, and a little of noise and mel."""
    net = Net(4)
    wide = net.weight(1, SIZE, 2 * CONTEXT + 1, scale=0.001)
    mel = net.op("Conv", "mel", wide, kernel_shape=[2 * CONTEXT + 1], pads=[CONTEXT] * 2)
    beside = net.op("Add", net.op("Mul", "noise", net.const(0.002, np.float32)), mel)
    loud = net.op("Add", net.op("Mul", "source", net.const(0.05, np.float32)), beside)
    turned = net.op("Transpose", loud, perm=[0, 2, 1])
    net.op("Reshape", turned, net.const([0, -1], np.int64), to="wave")
    inputs: Any = {"mel": (FLOAT, ["B", SIZE, "F"])}
    inputs |= {name: (FLOAT, ["B", HOP, "F"]) for name in ("source", "noise")}
    net.save(path, inputs, {"wave": ["B", "S"]})


def graphs(folder: Path, **facts: Any) -> dict[str, Any]:
    for make in (text_graph, mean_graph, step_graph, decoder_graph):
        make(folder / f"{make.__name__.removesuffix('_graph')}.onnx")
    knobs = [Knob("pitch", 0.0, -12.0, 12.0), Knob("steps", 2, 0, 8), Knob("temperature", 0.5, 0, 2)]
    return {
        "engine": "mel",
        "rate": RATE,
        "hop": HOP,
        "context": CONTEXT,
        "parameters": 1,
        "knobs": {knob.name: knob_row(knob) for knob in knobs},
        "voiced": {symbol: 0.1 if symbol in UNVOICED else 0.9 for symbol in PHONES} | {BLANK: 0.0, " ": 0.0},
        "longest": dict.fromkeys(PHONES, 40),
        "pauses": {"threshold": 0.5},
        "pitch": {"tracker": "made", "bounds": [60, 400], "speakers": {"ade": RANGE, "bisi": RANGE}},
        **facts,
    }


def melodic(path: Path, **facts: Any) -> Voice:
    held = Contents(
        name="ade",
        family="acoustic",
        language=load("yor"),
        frontend=FRONTEND,
        vocabulary=VOCABULARY,
        speakers=["ade", "bisi"],
        sentences=["Ẹ káàárọ̀."],
        scores={},
        facts={"run": "none"},
    )
    return finish(write_package(path, held, graphs=lambda folder: graphs(folder, **facts)))

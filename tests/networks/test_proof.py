"""Networks that strangers made: what takes files of the machine, loops or brings its own operators is never opened."""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from typer.testing import CliRunner

import olu
from olu.cli.main import app
from olu.core.errors import NetworkError, OluError, VoiceError
from olu.core.files import embedded_voice
from olu.families.vits.foreign.detect import read_foreign
from olu.networks import models as dnsmos
from olu.networks import proof, silero
from olu.networks.proof import DOMAINS, fields
from olu.networks.session import load_model, open_session, quiet, read_network
from olu.speak.package import read_package
from olu.speak.voice import Voice

from ..helpers.packages import seal, zipped

SECRET = "secret.txt"
OPSET = [helper.make_opsetid("", 17)]
BOOL, FLOAT, INT64 = TensorProto.BOOL, TensorProto.FLOAT, TensorProto.INT64


def outside(name: str = "stolen", *, location: str = SECRET, size: int = 4) -> TensorProto:
    """A tensor whose numbers lie in another file."""
    tensor = TensorProto(name=name, data_type=FLOAT, dims=[size], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    return tensor


def listed_only() -> TensorProto:
    tensor = outside()
    tensor.ClearField("data_location")
    tensor.raw_data = bytes(16)
    return tensor


def plain(name: str = "plain") -> TensorProto:
    return numpy_helper.from_array(np.zeros(4, np.float32), name)


def body(*tensors: TensorProto, nodes: list[Any] | None = None) -> Any:
    out = helper.make_tensor_value_info("b", FLOAT, None)
    return helper.make_graph(nodes or [helper.make_node("Identity", ["plain"], ["b"])], "body", [], [out], [*tensors])


def endless() -> Any:
    """A Loop whose condition stays true."""
    values = [helper.make_tensor_value_info(name, kind, []) for name, kind in (("i", INT64), ("on", BOOL))]
    inner = [helper.make_node("Identity", ["on"], ["still"])]
    loop = helper.make_graph(inner, "loop", values, [helper.make_tensor_value_info("still", BOOL, [])])
    return helper.make_node("Loop", ["", "yes"], [], body=loop)


def scan() -> Any:
    return helper.make_node("Scan", ["plain"], ["s"], body=body(plain()), num_scan_inputs=1)


def choice(then: Any) -> Any:
    return helper.make_node("If", ["yes"], ["c"], then_branch=then, else_branch=body(plain()))


def constant(**value: Any) -> Any:
    return helper.make_node("Constant", [], ["k"], **value)


def sparse(values: TensorProto, indices: TensorProto) -> onnx.SparseTensorProto:
    return onnx.SparseTensorProto(values=values, indices=indices, dims=[4])


def with_graph(change: Callable[[Any], Any]) -> Callable[[bytes], bytes]:
    def made(data: bytes) -> bytes:
        model = onnx.load_from_string(data)
        model.graph.initializer.append(numpy_helper.from_array(np.array(True), "yes"))
        change(model)
        return model.SerializeToString()

    return made


def initializer(tensor: TensorProto) -> Callable[[bytes], bytes]:
    return with_graph(lambda model: model.graph.initializer.append(tensor))


def node(one: Any) -> Callable[[bytes], bytes]:
    return with_graph(lambda model: model.graph.node.append(one))


def function(model: Any) -> None:
    inner = [helper.make_node("Constant", [], ["y"], value=outside())]
    model.functions.append(helper.make_function("own", "Mine", [], ["y"], inner, OPSET))
    model.graph.node.append(helper.make_node("Mine", [], ["m"], domain="own"))


def training(model: Any) -> None:
    model.training_info.add().initialization.CopyFrom(body(outside()))


def field(number: int, content: bytes) -> bytes:
    """One field of bytes, as it lies in a file."""
    size, head = len(content), b""
    while size >= 0x80:
        head, size = head + bytes([size & 0x7F | 0x80]), size >> 7
    return bytes([number << 3 | 2]) + head + bytes([size]) + content


def merged(tail: bytes) -> Callable[[bytes], bytes]:
    """A second graph after the first one: parsers add it to the first."""
    return lambda data: data + field(7, field(5, plain("more").SerializeToString() + tail))


TAKES_FILES = {
    "initialiser": initializer(outside()),
    "absolute": initializer(outside(location="/etc/passwd")),
    "parent": initializer(outside(location="../secret.txt")),
    "memory": initializer(outside(location="*/_ORT_MEM_ADDR_/*")),
    "named only": initializer(listed_only()),
    "sparse values": with_graph(lambda m: m.graph.sparse_initializer.append(sparse(outside(), plain()))),
    "sparse indices": with_graph(lambda m: m.graph.sparse_initializer.append(sparse(plain(), outside()))),
    "constant": node(constant(value=outside())),
    "sparse constant": node(constant(sparse_value=sparse(outside(), plain()))),
    "list of tensors": node(constant(own=[plain(), outside()])),
    "branch": node(choice(body(plain(), outside()))),
    "constant of a branch": node(choice(body(nodes=[constant(value=outside())]))),
    "branch of a branch": node(choice(body(plain(), nodes=[choice(body(outside()))]))),
    "said twice": merged(b"\x70\x01\x70\x00"),
    "truncated": merged(b"\x70\x81\x80\x80\x80\x10"),  # 2**32 + 1, of which parsers take 32 bits
    "long form": merged(b"\xf0\x00\x01"),  # the field's number in two bytes
}
OTHER = {
    "loop": node(endless()),
    "loop in a branch": node(choice(body(plain(), nodes=[endless()]))),
    "scan": node(scan()),
    "function": with_graph(function),
    "training": with_graph(training),
    "custom": node(helper.make_node("Evil", [], ["e"], domain="evil")),
    "contributed": node(helper.make_node("Tokenizer", [], ["e"], domain="com.microsoft")),
    "python": node(helper.make_node("PyOp", [], ["e"], domain="ai.onnx.contrib")),
    "standard name elsewhere": node(helper.make_node("Add", [], ["e"], domain="evil")),
    "two names": lambda data: data + field(7, field(1, field(4, b"Loop") + field(4, b"Add"))),
    "no name": lambda data: data + field(7, field(1, field(2, b"x"))),
    "unknown field": lambda data: data + field(7, field(5, field(15, b"x"))),
    "group": lambda data: data + b"\x0b\x0c",
    "another format": lambda data: field(2, b"xxORTMxx") + data,
    "graph as a number": lambda data: data + b"\x38\x01",
    "no field": lambda data: data + b"\x00",
}
HOSTILE = {**TAKES_FILES, **OTHER}


@pytest.fixture(scope="module")
def encoder(folder: Path) -> bytes:
    return (folder / "encoder.onnx").read_bytes()


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in that holds a secret."""
    (tmp_path / SECRET).write_bytes(b"key of the house")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("case", HOSTILE)
def test_refused_before_anything_opens_it(case: str, encoder: bytes) -> None:
    with pytest.raises(NetworkError) as raised:
        proof.prove(HOSTILE[case](encoder), name="x.onnx")
    assert str(raised.value).startswith("x.onnx ")
    assert "\n" not in str(raised.value)
    if case in TAKES_FILES:
        assert "takes numbers from another file" in str(raised.value)


@pytest.mark.parametrize("case", ["initialiser", "constant", "branch", "loop", "custom", "function", "another format"])
@pytest.mark.parametrize("graph", ["encoder.onnx", "decoder.onnx"])
def test_a_package(case: str, graph: str, copied: Path, inside: Path) -> None:
    """Sealed anew, as somebody would who means it; from a folder and from a zip."""
    (copied / graph).write_bytes(HOSTILE[case]((copied / graph).read_bytes()))
    seal(copied)
    for path in (copied, zipped(copied, inside / "hostile.voice.zip")):
        with pytest.raises(VoiceError, match=graph):
            Voice.open(path)
        with pytest.raises(VoiceError, match=graph):
            read_package(path)  # what a server proves


def test_a_secret_is_never_spoken(copied: Path, inside: Path) -> None:
    """The numbers of the secret as the wave: what was heard before packages were proved."""
    secret = outside(size=4)
    latents = helper.make_tensor_value_info("latents", FLOAT, [1, 8, "F"])
    wave = helper.make_tensor_value_info("wave", FLOAT, None)
    graph = helper.make_graph([helper.make_node("Identity", ["stolen"], ["wave"])], "g", [latents], [wave], [secret])
    model = helper.make_model(graph, opset_imports=OPSET, ir_version=8)
    (copied / "decoder.onnx").write_bytes(model.SerializeToString())
    seal(copied)
    told = CliRunner().invoke(app, ["speak", "Kedu", "--voice", str(copied), "-o", str(inside / "x.wav")])
    assert isinstance(told.exception, VoiceError)
    assert "takes numbers from another file" in str(told.exception)
    assert not (inside / "x.wav").exists()


@pytest.mark.parametrize("how", ["beside", "absolute"])
def test_a_second_lock_should_the_proof_miss_something(how: str, inside: Path) -> None:
    """onnxruntime itself looks for such files where none can be."""
    (inside / SECRET).write_bytes(b"key of the house" * 1000)
    stolen = outside(location=SECRET if how == "beside" else str(inside / SECRET), size=4000)
    here, out = helper.make_tensor_value_info("x", INT64, [4]), helper.make_tensor_value_info("y", FLOAT, None)
    graph = helper.make_graph([helper.make_node("Gather", ["stolen", "x"], ["y"])], "g", [here], [out], [stolen])
    model = helper.make_model(graph, opset_imports=OPSET, ir_version=8)
    with pytest.raises(Exception, match="ONNXRuntimeError"):  # of a kind of its own
        open_session(proof.ProvedNetwork(model.SerializeToString()), quiet(1)).run(None, {"x": np.arange(4)})


def test_a_base(tmp_path: Path) -> None:
    """A voice that can be trained on takes weights out of its graphs."""
    own = embedded_voice()
    assert own is not None
    base = Path(shutil.copytree(own, tmp_path / "amh.voice"))
    (base / "encoder.onnx").write_bytes(TAKES_FILES["initialiser"]((base / "encoder.onnx").read_bytes()))
    seal(base)
    with pytest.raises(OluError, match=r"encoder.onnx .* takes numbers from another file"):
        read_foreign(base)
    told = CliRunner().invoke(app, ["doctor", "--base", str(base)])
    said = f"{told.output} {told.exception}"
    assert "takes numbers from another file" in " ".join(said.split())
    assert told.exit_code != 0


@pytest.mark.parametrize("load", [silero.load, dnsmos.load, load_model, read_network])
def test_other_networks(load: Callable[[Path], Any], encoder: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.onnx"
    path.write_bytes(OTHER["loop"](encoder))
    with pytest.raises(NetworkError, match=r"x.onnx .* 'Loop'"):
        load(path)


def test_deep_and_many(encoder: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = b""
    for _ in range(100):  # a graph in an attribute of a node of a graph
        deep = field(1, field(5, field(6, deep)) + field(4, b"If"))
    with pytest.raises(NetworkError, match="damaged"):
        proof.prove(field(7, deep), name="x.onnx")
    monkeypatch.setattr(proof, "MOST_FIELDS", 1000)
    with pytest.raises(NetworkError, match="more than 1000 parts"):
        proof.prove(encoder, name="x.onnx")


def test_cut_anywhere_is_one_error(encoder: bytes) -> None:
    for size in (0, 1, 5, 17, 100, len(encoder) // 2, len(encoder) - 1):
        with pytest.raises(NetworkError):
            proof.prove(encoder[:size], name="x.onnx")


def test_own_voices_open(folder: Path, tmp_path: Path) -> None:
    """One and several speakers, stochastic durations and plain ones, two graphs and one."""
    for path in (folder, embedded_voice()):
        assert path is not None
        assert Voice.open(path).speakers
    from olu.export.package import halve, optimise
    from olu.families import family
    from olu.families.vits.export import one_graph

    vits = family("vits")
    made = vits.learner(
        vits.config(size="tiny", use_stochastic_duration_prediction=False), vocab_size=9, num_speakers=3
    )
    vits.speaks.export(made, folder=tmp_path)
    optimise(tmp_path / "encoder.onnx")
    one_graph(made, path=tmp_path / "one.onnx", facts={"a": "b"})
    for graph in sorted(tmp_path.glob("*.onnx")):
        halve(graph)
        assert open_session(read_network(graph), quiet(1)).get_outputs()


def test_the_fields_are_those_of_the_format() -> None:
    """A field that a newer format adds is refused until somebody has looked at it."""
    kinds = {
        proof.MODEL: onnx.ModelProto,
        proof.GRAPH: onnx.GraphProto,
        proof.NODE: onnx.NodeProto,
        proof.ATTRIBUTE: onnx.AttributeProto,
        proof.TENSOR: onnx.TensorProto,
        proof.SPARSE: onnx.SparseTensorProto,
    }
    names = {kind.DESCRIPTOR.name: message for message, kind in kinds.items()}
    for message, kind in kinds.items():
        held = {one.number: one for one in kind.DESCRIPTOR.fields}
        refused = {number for of, number in proof.REFUSED if of == message}
        known = {*proof.INSIDE[message], *proof.PLAIN[message], *refused}
        assert known >= set(held), f"{message}: {set(held) - known}"
        for number, one in held.items():
            inner = names.get(one.message_type.name) if one.message_type else None
            assert proof.INSIDE[message].get(number) == inner or number in refused, (message, one.name)


def test_no_operator_of_the_list_loops_or_reads() -> None:
    for domain, allowed in DOMAINS.items():
        assert not allowed & {"Loop", "Scan", "SequenceMap", "ImageDecoder", "RegexFullMatch", "EPContext"}, domain


def test_fields_are_read_as_protobuf_writes_them() -> None:
    data = plain().SerializeToString()
    assert {number for number, *_ in fields(data, 0, len(data))} == {1, 2, 8, 9}
    assert list(fields(b"\x0d" + struct.pack("<f", 1.0) + b"\x11" + bytes(8), 0, 14)) == [(1, 5, 1, 5), (2, 1, 6, 14)]


def test_one_place_opens_networks() -> None:
    root = Path(olu.__file__).parent
    for path in sorted(set(root.rglob("*.py")) - {root / "networks" / "session.py"}):
        code = re.sub(r'"""(?s:.*?)"""', "", path.read_text(encoding="utf-8"))
        assert not re.search(r"InferenceSession\(|onnx\.load", code), f"{path}: open it with olu.networks.session"

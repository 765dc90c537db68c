"""What an ONNX file may hold: its own numbers and known operators, nothing of the machine it is opened on.

onnxruntime follows a tensor that says "my numbers lie in that file", and runs an endless loop without end. So a
network is read here first, with a reader of our own: the package onnx is not there where a voice only speaks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from olu.core.errors import NetworkError
from olu.core.parse import load_toml

OPERATORS = {kind: frozenset(names) for kind, names in load_toml(Path(__file__).with_name("operators.toml")).items()}
DOMAINS = {
    "": OPERATORS["standard"],
    "ai.onnx": OPERATORS["standard"],
    "com.microsoft": OPERATORS["fused"] | OPERATORS["cached"],
}

# ---- protocol buffers read field by field, bounded and without recursion: what stands where, never what it means
# Every occurrence of a field is given, also those that a parser would later overwrite or merge, so that nothing which
# any parser might use is passed over.


VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
MOST_VARINT = 10  # bytes

Field = tuple[int, int, int, int]  # its number, its wire type, and where its content begins and ends


class BadFields(ValueError):
    """Bytes that are no message."""


def fields(data: bytes, start: int, end: int) -> Iterator[Field]:
    """The fields of the message that lies between these places."""
    at = start
    while at < end:
        tag = data[at]
        if tag < 0x80:
            at += 1
        else:
            tag, at = varint(data, at, end)
            if tag >= 1 << 32:
                raise BadFields("a field has no number")
        number, kind = tag >> 3, tag & 7
        if not number:
            raise BadFields("a field has no number")
        if kind == BYTES:
            size, begin = varint(data, at, end)
            stop = begin + size
        elif kind == VARINT:
            begin, stop = at, varint(data, at, end)[1]
        elif kind in (FIXED32, FIXED64):
            begin, stop = at, at + (4 if kind == FIXED32 else 8)
        else:  # groups, which nobody writes any more
            raise BadFields("a field is of an unknown kind")
        if stop > end:
            raise BadFields("a field is cut")
        yield number, kind, begin, stop
        at = stop


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """A whole number and where it ends."""
    value, shift = 0, 0
    for place in range(at, min(end, at + MOST_VARINT)):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place + 1
        shift += 7
    raise BadFields("a number is cut")


LARGEST = 2**31 - 1  # bytes: what the format can hold
MOST_FIELDS = 2_000_000  # a large voice has 20,000
DEEPEST = 64  # messages inside each other; protocol buffers themselves stop at 100
FLAT_FORMAT = b"ORTM"  # bytes 4 to 8 of onnxruntime's other format, which would be read in another way than here

MODEL, GRAPH, NODE, ATTRIBUTE, TENSOR, SPARSE = "model", "graph", "node", "attribute", "tensor", "sparse tensor"
INSIDE = {  # the fields of each message that hold messages which are looked into
    MODEL: {7: GRAPH},
    GRAPH: {1: NODE, 5: TENSOR, 15: SPARSE},
    NODE: {5: ATTRIBUTE},
    ATTRIBUTE: {5: TENSOR, 6: GRAPH, 10: TENSOR, 11: GRAPH, 22: SPARSE, 23: SPARSE},
    TENSOR: {},
    SPARSE: {1: TENSOR, 2: TENSOR},
}
PLAIN = {  # the fields that hold names, types and numbers
    MODEL: {1, 2, 3, 4, 5, 6, 8, 14, 26},
    GRAPH: {2, 10, 11, 12, 13, 14, 16},
    NODE: {1, 2, 3, 4, 6, 7, 8, 9, 10},
    ATTRIBUTE: {1, 2, 3, 4, 7, 8, 9, 13, 14, 15, 20, 21},
    TENSOR: {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16},
    SPARSE: {3},
}
REFUSED = {
    (MODEL, 20): "it holds a training",
    (MODEL, 25): "it holds functions of its own",
    (TENSOR, 13): "it takes numbers from another file",
}
OPERATOR, DOMAIN = 4, 7  # of a node
WHERE_NUMBERS_LIE = (TENSOR, 14)  # anything but 0 is another file


@dataclass(frozen=True)
class ProvedNetwork:
    """An ONNX file that was proved; only `prove` makes one, and sessions are opened with nothing else."""

    data: bytes


def prove(data: bytes, *, name: str) -> ProvedNetwork:
    """The network that these bytes hold, or a NetworkError; `name`: what the error calls the file."""
    try:
        _prove(data)
    except BadFields as bad:
        raise NetworkError(f"{name} is damaged or no network ({bad}): make or download it again") from None
    except _Refused as bad:
        raise NetworkError(f"{name} is no network that may be opened ({bad}): do not use it") from None
    return ProvedNetwork(data)


class _Refused(ValueError):
    pass


def _prove(data: bytes) -> None:
    if not data or len(data) > LARGEST:
        raise BadFields(f"{len(data)} bytes")
    if data[4:8] == FLAT_FORMAT:
        raise _Refused("it is in onnxruntime's own format")
    todo, seen = [(MODEL, 0, len(data), 1)], 0
    while todo:
        message, start, end, depth = todo.pop()
        inside, plain = INSIDE[message], PLAIN[message]
        words: dict[int, str] = {}
        for number, kind, begin, stop in fields(data, start, end):
            seen += 1
            if number in inside:
                if kind != BYTES or depth == DEEPEST:
                    raise BadFields("its parts are not as they should be")
                todo.append((inside[number], begin, stop, depth + 1))
            elif number not in plain:
                raise _Refused(REFUSED.get((message, number), f"a {message} has the unknown field {number}"))
            elif message == NODE and number in (OPERATOR, DOMAIN):
                if kind != BYTES or number in words:
                    raise BadFields("an operator has no name")
                words[number] = _word(data[begin:stop])
            elif (message, number) == WHERE_NUMBERS_LIE and (kind != VARINT or varint(data, begin, stop)[0]):
                raise _Refused(REFUSED[TENSOR, 13])
        if seen > MOST_FIELDS:
            raise BadFields(f"more than {MOST_FIELDS} parts")
        if message == NODE:
            _operator(words.get(OPERATOR, ""), words.get(DOMAIN, ""))


def _word(data: bytes) -> str:
    try:
        return data.decode("ascii")
    except UnicodeDecodeError:
        raise BadFields("an operator has no name") from None


def _operator(name: str, domain: str) -> None:
    if name not in DOMAINS.get(domain, frozenset[str]()):
        full = f"{domain}.{name}" if domain else name
        raise _Refused(f"the operator {full!r:.80} is none that a voice needs")

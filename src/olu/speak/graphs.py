"""The networks of a voice, run by onnxruntime."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from olu.core.errors import VoiceError
from olu.networks.proof import ProvedNetwork
from olu.networks.session import open_session

NO_MEMORY = re.compile(r"bad.alloc|allocat\w* memory|out of memory", re.IGNORECASE)  # as onnxruntime says it


class Ended(Exception):
    """A run was ended from outside before it was done."""


class NoMemory(VoiceError):
    """A run needs more memory than there is."""


class RunTerminator:
    """Ends runs of networks from another thread, even in the middle of one; until lifted, also those that follow."""

    def __init__(self) -> None:
        self.options = onnxruntime.RunOptions()

    def end(self) -> None:
        self.options.terminate = True

    def lift(self) -> None:
        if self.options.terminate:
            self.options = onnxruntime.RunOptions()


class OnnxGraph:
    """One network. Several threads may run it at the same time."""

    def __init__(
        self,
        network: ProvedNetwork,
        *,
        name: str,
        inputs: tuple[str, ...],
        outputs: int,
        where: str,
        threads: int,
        optimised: bool = False,
        halt: RunTerminator | None = None,
    ) -> None:
        """`inputs` it may have, the first always (`past` allows `past.0` and so on); `outputs`: so many, 0 for any.

        An `optimised` graph of many small steps is loaded without planning its memory: twice as fast.
        """
        self._halt = halt
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 4
        if optimised:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
            options.enable_mem_reuse = False
            options.enable_cpu_mem_arena = False  # it would keep the most that a sentence ever took; chunks are bounded
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session = open_session(network, options)
            self._inputs = [spec.name for spec in self._session.get_inputs()]
            self.shapes = {spec.name: spec.shape for spec in self._session.get_inputs()}
            self.outputs = [spec.name for spec in self._session.get_outputs()]
        except Exception as bad:  # onnxruntime raises kinds of its own for every way a file can be broken
            if _is_memory(bad):
                raise NoMemory(f"{where}: {name} needs more memory than there is") from None
            raise VoiceError(f"{where}: {name} is damaged: export the voice again") from None
        strange = {name.partition(".")[0] for name in self._inputs} - set(inputs)
        if strange or inputs[0] not in self._inputs or (outputs and len(self.outputs) != outputs):
            raise VoiceError(f"{where}: {name} is no network of a voice: export the voice again")

    def run(self, feeds: dict[str, Any]) -> list[NDArray[np.float32]]:
        """Feed what the graph asks for: a plain duration predictor has no use for noise, one speaker needs no name."""
        given = {name: np.asarray(feeds[name]) for name in self._inputs}
        outputs: list[NDArray[np.float32]] = self._told(lambda options: self._session.run(None, given, options))
        return outputs

    def _told(self, work: Callable[[Any], Any]) -> Any:
        """A run of the network; what goes wrong in it is one sentence."""
        options = self._halt.options if self._halt else None
        try:
            return work(options)
        except Exception as bad:  # onnxruntime raises kinds of its own
            if options is not None and options.terminate:
                raise Ended from None
            if _is_memory(bad):
                raise NoMemory("the voice's network needs more memory than there is") from None
            reason = str(bad).strip().splitlines()[0][:200] if str(bad).strip() else type(bad).__name__
            raise VoiceError(f"the voice's network failed ({reason}): export the voice again") from None

    def named(self, feeds: dict[str, Any]) -> dict[str, NDArray[np.float32]]:
        """As `run`, with the outputs by their names."""
        return dict(zip(self.outputs, self.run(feeds), strict=True))

    def cache(self, length: int) -> GraphCache:
        """For a transformer whose cache stays where it is: room for so many rows, where the graph leaves that open."""
        return GraphCache(self, length)


class GraphCache:
    """Keys and values of sentences, which each run adds to in place: nothing of them is copied."""

    def __init__(self, graph: OnnxGraph, length: int, *, sentences: int = 1) -> None:
        self._graph, self._binding = graph, graph._session.io_binding()
        self._outputs = [name for name in graph.outputs if not name.startswith("present")]
        self.held = dict[str, NDArray[np.float32]]()
        for name in [name for name in graph.shapes if name.startswith("past")]:
            shape = [sentences, *(axis if isinstance(axis, int) else length for axis in graph.shapes[name][1:])]
            self.held[name] = array = np.empty(shape, np.float32)  # memory is taken as it is filled
            place = {"element_type": np.float32, "shape": shape, "buffer_ptr": array.ctypes.data}
            self._binding.bind_input(name, "cpu", 0, **place)
            self._binding.bind_output(name.replace("past", "present", 1), "cpu", 0, **place)

    @property
    def room(self) -> int:
        """Rows that a sentence may have."""
        return min(int(array.shape[2]) for array in self.held.values())

    @property
    def rows(self) -> int:
        """Sentences, or rows of one, that go through together."""
        return int(next(iter(self.held.values())).shape[0])

    @staticmethod
    def joined(graph: OnnxGraph, caches: Sequence[GraphCache], lengths: Sequence[int], *, more: int) -> GraphCache:
        """Several as one, each as far as it is filled, with room for some rows more."""
        whole = GraphCache(graph, max(lengths) + more, sentences=sum(cache.rows for cache in caches))
        for name, array in whole.held.items():
            at = 0
            for cache, length in zip(caches, lengths, strict=True):
                array[at : at + cache.rows, :, :length] = cache.held[name][:, :, :length]
                at += cache.rows
        return whole

    def part(self, at: int, cache: GraphCache, first: int, last: int) -> None:
        """Copy rows of one of them, which stands from `at` on, into its own cache."""
        for name, array in self.held.items():
            cache.held[name][:, :, first:last] = array[at : at + cache.rows, :, first:last]

    def run(self, rows: NDArray[np.float32], lengths: Sequence[int]) -> dict[str, NDArray[np.float32]]:
        """Rows [sentences, T, D], after which they have these lengths; outputs by their names, but for the cache."""
        if max(lengths) > self.room:
            raise VoiceError("the voice's cache is too short for this sentence: export the voice again")
        told = {"seqlens_k": np.array(lengths, np.int32) - np.int32(1)}
        told["total_sequence_length"] = np.array(max(lengths), np.int32)
        feeds = {"rows": np.asarray(rows, np.float32, order="C"), **told}
        given = {name: value for name, value in feeds.items() if name in self._graph.shapes}
        for name, value in given.items():  # their memory is not copied: `given` holds it until the run is over
            self._binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(value))
        for name in self._outputs:
            self._binding.bind_output(name, "cpu")
        self._graph._told(lambda options: self._graph._session.run_with_iobinding(self._binding, options))
        made = self._binding.get_outputs()[-len(self._outputs) :]  # as they were bound: the cache first
        return {name: value.numpy() for name, value in zip(self._outputs, made, strict=True)}


def _is_memory(bad: Exception) -> bool:
    return isinstance(bad, MemoryError) or NO_MEMORY.search(str(bad)) is not None

"""A voice of Chatterbox as graphs and arrays that the engine `flow` runs with numpy and onnxruntime alone.

step.onnx:         as `nn/step_graph.py` has it -> logits [B, 1, codes + 2], queries of the heads that follow the text
flow_encoder.onnx: codes [1, T] -> mean [1, 80, 2 T]
flow_step.onnx:    mel, mean, speaker, known, time (and until, of a mean flow) -> way [B, 80, F]
pitch.onnx:        mel [1, 80, F] -> hertz [1, F]
vocoder.onnx:      mel [1, 80, F], source [1, 480 F] -> wave [1, 480 F]
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized, remove_parametrizations

from olu.families.chatterbox.codec.flow import AHEAD, GUIDANCE, MEAN_STEPS, STEPS, S3Flow, flow_times
from olu.families.chatterbox.codec.hift import HiFT
from olu.families.chatterbox.codec.sizes import HOP, MELS
from olu.families.chatterbox.config import CODE_SAMPLES, OUT_RATE, RATE
from olu.families.chatterbox.model import GPT2_PLACES, T3
from olu.nn.causal import Gpt2, Gpt2Block, Llama, LlamaBlock
from olu.nn.step_graph import TransformerGraph, save_arrays

TRACED_OPSET = 17
MOST_PLACES = 4096  # rows of a sentence that the turns of a Llama are laid down for
CONTEXT = 16  # frames on either side that the vocoder's sound of a frame depends on
LOOP_SECONDS, LONGEST_SECONDS = 1.5, 40.0  # that repeats, of a sentence: as many as the published program makes
SILENCE = 4299  # a code of silence, which Turbo and Nano are given three times behind what they said


@dataclass(frozen=True)
class VoiceReference:
    """What is stored of a speaker: what T3 begins with, and what the flow begins with, cut to two frames a code."""

    rows_KD: Tensor
    codes_P: Tensor
    mel_FM: Tensor
    speaker_M: Tensor

    def __post_init__(self) -> None:
        if len(self.mel_FM) != 2 * len(self.codes_P):
            raise ValueError(f"{len(self.mel_FM)} frames of a reference do not fit its {len(self.codes_P)} codes")


def write_step(
    t3: T3, path: Path, *, bits: int = 8, shared: bool = True, heads: Sequence[tuple[int, int]] = ()
) -> None:
    """`heads`: (layer, head) whose queries the graph also puts out, to follow the text by."""
    c, body = t3.config, t3.tfmr
    turns = None
    if isinstance(body, Llama):
        half = c.width // c.heads // 2
        turns = cast("tuple[Tensor, Tensor]", tuple(one[:, :half] for one in _turns(body)))
    graph = TransformerGraph(width=c.width, layers=c.layers, heads=c.heads, bits=bits, shared=shared, turns=turns)
    x, queries, wanted = "rows", dict[int, str](), {layer for layer, _ in heads}
    blocks: Any = body.layers if isinstance(body, Llama) else body.h
    for number, block in enumerate(blocks):
        if isinstance(body, Llama):
            x, asked = graph.llama_block(x, cast(LlamaBlock, block), number, asked=number in wanted)
        else:
            x, asked = graph.gpt2_block(x, cast(Gpt2Block, block), number, asked=number in wanted)
        queries[number] = asked
    last = graph.last(x)
    hidden = graph.rms_norm(last, body.norm) if isinstance(body, Llama) else graph.norm(last, body.ln_f)
    said, bias = c.stop_code + 1, t3.speech_head.bias  # ids after the stop are never said
    head = t3.speech_head.weight[:said].t()
    graph.linear(hidden, head, None if bias is None else bias[:said], bits=32, to="logits")
    outputs = {"logits": said}
    if heads:
        size = c.width // c.heads
        graph.chosen([(queries[layer], head) for layer, head in heads], size, to="queries")
        outputs["queries"] = size * len(heads)
    graph.save(path, outputs)


def _turns(body: Llama) -> tuple[Tensor, Tensor]:
    return body.turns(first=0, count=MOST_PLACES, device=torch.device("cpu"))


# ---------------------------------------------------------------- the decoder


class CodeMean(nn.Module):
    def __init__(self, flow: S3Flow) -> None:
        super().__init__()
        self.flow = flow

    def forward(self, codes: Tensor) -> Tensor:
        return self.flow.mean(codes)


class Vocoder(nn.Module):
    def __init__(self, hift: HiFT) -> None:
        super().__init__()
        self.hift = hift

    def forward(self, mel: Tensor, source: Tensor) -> Tensor:
        return self.hift.filtered(mel, source)


def write_decoder(flow: S3Flow, hift: HiFT, folder: Path) -> None:
    """The four graphs of the decoder, traced at a small size."""
    flow, hift = flow.eval(), unnormed(hift)
    frames = 12
    mel, speaker, time = torch.zeros(2, MELS, frames), torch.zeros(2, MELS), torch.zeros(2)
    times = (time, time) if flow.sizes.meanflow else (time,)
    names = ["mel", "mean", "speaker", "known", "time", *(["until"] if flow.sizes.meanflow else [])]
    axes: dict[str, Any] = {name: {0: "B", 2: "F"} for name in ("mel", "mean", "known", "way")}
    axes |= {name: {0: "B"} for name in ("speaker", "time", "until")}
    _traced(flow.decoder.estimator, (mel, mel, speaker, mel, *times), folder / "flow_step.onnx", names, ["way"], axes)
    one = torch.zeros(1, MELS, frames)
    codes = torch.zeros(1, frames, dtype=torch.long)
    more: dict[str, Any] = {"codes": {1: "T"}, "mean": {2: "F"}}
    _traced(CodeMean(flow), (codes,), folder / "flow_encoder.onnx", ["codes"], ["mean"], more)
    more = {"mel": {2: "F"}, "hertz": {1: "F"}, "source": {1: "S"}, "wave": {1: "S"}}
    _traced(hift.f0_predictor, (one,), folder / "pitch.onnx", ["mel"], ["hertz"], more)
    source = torch.zeros(1, frames * HOP)
    _traced(Vocoder(hift), (one, source), folder / "vocoder.onnx", ["mel", "source"], ["wave"], more)


def unnormed(hift: HiFT) -> HiFT:
    """A copy whose weights stand as they are used."""
    own = HiFT(hift.sizes)  # a deep copy would share what takes weight norm away
    own.load_state_dict(hift.state_dict())
    own.eval()
    for module in list(own.modules()):
        if is_parametrized(module, "weight"):
            remove_parametrizations(module, "weight")
    for name in ("forth", "back", "square"):  # as constants: a package keeps weights in 16 bits
        own.transform.__dict__[name] = own.transform._buffers.pop(name)
    return own


def _traced(
    network: nn.Module,
    given: tuple[Tensor, ...],
    path: Path,
    inputs: list[str],
    outputs: list[str],
    axes: dict[str, Any],
) -> None:
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network.eval(),
            given,
            str(path),
            input_names=inputs,
            output_names=outputs,
            dynamic_axes={name: axes[name] for name in (*inputs, *outputs)},
            opset_version=TRACED_OPSET,
            dynamo=False,
        )


# ---------------------------------------------------------------- all of it


def write_voice(
    t3: T3,
    flow: S3Flow,
    hift: HiFT,
    folder: Path,
    *,
    references: Sequence[VoiceReference],
    rules: dict[str, Any],
    bits: int = 8,
    follow: dict[str, Any] | None = None,
    silence: Sequence[int] = (),
    most_tokens: int | None = None,
) -> dict[str, Any]:
    """All graphs and arrays of a voice; returns facts for voice.json. `rules`: codes a token, by the corpus."""
    c, meanflow = t3.config, flow.sizes.meanflow
    heads = [(layer, head) for layer, head in follow["heads"]] if follow else []
    write_step(t3, folder / "step.onnx", bits=bits, heads=heads)
    write_decoder(flow, hift, folder)
    longest = max(len(one.rows_KD) for one in references)
    arrays = {
        "text_rows": t3.text_emb.weight,
        "code_rows": t3.speech_emb.weight[: c.codes + 2],
        "prompt": torch.stack(
            [nn.functional.pad(one.rows_KD, (0, 0, 0, longest - len(one.rows_KD))) for one in references]
        ),
        "reference_codes": torch.cat([one.codes_P for one in references]).to(torch.int32),
        "reference_mel": torch.cat([one.mel_FM for one in references]),
        "speakers": torch.stack([one.speaker_M for one in references]),
        "sines": torch.cat([hift.m_source.l_linear.weight[0], hift.m_source.l_linear.bias]),
    }
    if t3.learns_places:
        arrays |= {"text_positions": t3.text_pos_emb.emb.weight, "code_positions": t3.speech_pos_emb.emb.weight}
    else:
        arrays["row_positions"] = cast(nn.Embedding, cast(Gpt2, t3.tfmr).wpe).weight[:GPT2_PLACES]
    if t3.cond_enc.emotion_adv_fc is not None:
        arrays["emotion"] = t3.cond_enc.emotion_adv_fc.weight[:, 0]
    save_arrays(folder, arrays, bits=bits)
    around = {"text_start": c.text_start, "text_stop": c.text_stop} if c.text_bounds else {}
    seconds = CODE_SAMPLES / RATE
    return {
        "rate": OUT_RATE,
        "hop": HOP,
        "context": CONTEXT,
        "bits": bits,
        "parameters": sum(p.numel() for module in (t3, flow, hift) for p in module.parameters()),
        "code_seconds": seconds,
        **around,
        "start_code": c.start_code,
        "starts": c.starts,
        "stop_code": c.stop_code,
        "seen_codes": [c.start_code] if t3.learns_places else [],
        "never_codes": [c.start_code],
        "never_from": c.codes,  # the flow knows no others
        "silence_codes": sorted(set(silence)),
        "closing_codes": [] if t3.learns_places or c.codes <= SILENCE else [SILENCE] * 3,
        "most_codes": min(c.most_codes, round(LONGEST_SECONDS / seconds)),
        "most_tokens": min(c.most_text, most_tokens or c.most_text),
        "prompt_rows": [len(one.rows_KD) for one in references],
        "reference_codes": [len(one.codes_P) for one in references],
        "penalty_last": not t3.learns_places,
        "flow_times": flow_times(MEAN_STEPS if meanflow else STEPS, meanflow=meanflow),
        "flow_guidance": 0.0 if meanflow else GUIDANCE,
        "ahead": AHEAD,
        "stop_rules": {**rules, **GUARDS, "loop_codes": round(LOOP_SECONDS / seconds)},
        "follow": follow,
        "text_guard": {"short_words": 0, "short_temperature": 2.0},
        "tail": 0.1,
    }


GUARDS = {
    "extra": 25,
    "repeat": 2,
    "shortest_loop": 1,
    "longest_loop": 12,
    "tries": 2,
    "hold": 25,
    "patient": 1,
    "silent": 25,
}

"""Checkpoints of Coqui TTS' VITS: one `.pth` with generator and discriminator, and its config.json."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from olu.core.errors import TrainError
from olu.families.vits.config import VitsConfig
from olu.families.vits.foreign.names import to_ours
from olu.families.vits.foreign.original import BUILT_IN, DISCRIMINATOR_SETTINGS, DROPOUTS, step_of
from olu.families.vits.foreign.read import (
    OTHER_NAMES,
    Foreign,
    count_of,
    in_order,
    json_of,
    model_of,
    must_be,
    settings_of,
    unread_note,
)
from olu.families.vits.weights import fold

EMBEDDING = "text_encoder.embed_tokens.weight"
BEST = ("best_model.pth", "model_file.pth", "model.pth")
FIXED = {  # what has no counterpart here
    "use_spectral_norm_disriminator": False,
    "use_d_vector_file": False,
    "use_language_embedding": False,
    "encoder_sample_rate": None,
    "condition_dp_on_speaker": True,
}
NAMES = (  # its names -> the original's; numbers of flows count no flips
    (r"text_encoder\.", "enc_p."),
    (r"posterior_encoder\.", "enc_q."),
    (r"waveform_decoder\.cond_layer\.", "dec.cond."),
    (r"waveform_decoder\.", "dec."),
    (r"duration_predictor\.", "dp."),
    (r"disc\.nets\.", "discriminators."),
)


def read_coqui(path: Path) -> Foreign:
    """A folder with a checkpoint, the best or the newest, or the file itself."""
    folder = path if path.is_dir() else path.parent
    file = _file(folder) if path.is_dir() else path
    where = f"{folder}/config.json"
    raw = json_of(folder / "config.json")
    args = {**raw, **raw.get("model_args", {})}
    must_be(args, FIXED, where=where)
    state, _ = model_of(file, key="model")
    renamed = {original_name(name): (name, value) for name, value in fold(state).items()}
    weights, unread = to_ours({name: value for name, (_, value) in renamed.items()})
    if EMBEDDING not in weights:
        raise TrainError(f"{file} has no text_encoder.emb.weight: is it a VITS of Coqui TTS?")
    speakers = len(weights["embed_speaker.weight"]) if "embed_speaker.weight" in weights else 1
    if speakers == 1 and "embed_speaker.weight" in weights:
        raise TrainError(f"{where}: use_speaker_embedding with one speaker cannot be loaded: there is nobody to choose")
    symbols, order, said = _symbols(raw, size=len(weights[EMBEDDING]), where=where)
    weights[EMBEDDING] = weights[EMBEDDING][order]
    return Foreign(
        config=_config(args, raw.get("audio", {}), speakers=speakers, where=where),
        symbols=symbols,
        interleave=bool(raw.get("add_blank", True)),
        lower=True,
        via="espeak" if raw.get("use_phonemes") else None,
        num_speakers=speakers,
        weights={name: value.float() for name, value in weights.items()},
        speakers=_names(folder, count=speakers),
        notes=(*said, *_phonemizer(raw), *unread_note([renamed[name][0] for name in unread])),
    )


def original_name(name: str) -> str:
    for pattern, prefix in NAMES:
        name = re.sub(rf"^{pattern}", prefix, name)
    name = re.sub(r"^flow\.flows\.(\d+)", lambda m: f"flow.flows.{2 * int(m[1])}", name)
    name = re.sub(r"^dp\.(post_)?flows\.([1-9]\d*)", lambda m: f"dp.{m[1] or ''}flows.{2 * int(m[2]) - 1}", name)
    return re.sub(r"^(dp\.(?:post_)?flows\.0)\.(?:translation|log_scale)$", _affine, name)


def _affine(match: re.Match[str]) -> str:
    return f"{match[1]}.{'m' if match[0].endswith('translation') else 'logs'}"


def _file(folder: Path) -> Path:
    named = [folder / name for name in BEST if (folder / name).is_file()]
    found = named or sorted([*folder.glob("best_model_*.pth"), *folder.glob("checkpoint_*.pth")], key=step_of)[::-1]
    if not found:
        raise TrainError(f"{folder} has no best_model.pth or checkpoint_*.pth: name the file itself with --base")
    return found[0]


def _config(args: dict[str, Any], audio: dict[str, Any], *, speakers: int, where: str) -> VitsConfig:
    known = {**BUILT_IN, **DISCRIMINATOR_SETTINGS}
    known |= {ours: args[key] for key, ours in OTHER_NAMES["coqui"]["args"].items() if key in args}
    known |= {ours: audio[key] for key, ours in OTHER_NAMES["coqui"]["audio"].items() if key in audio}
    known |= {key: args["dropout_p_text_encoder"] for key in DROPOUTS if "dropout_p_text_encoder" in args}
    known["flow_size"] = known.get("hidden_size", 192)
    scale = args.get("length_scale", 1) or 1
    if type(scale) not in (int, float) or not 0 < scale < math.inf:
        raise TrainError(f"{where}: length_scale is {scale!r:.40}, and should be a number above 0")
    known["speaking_rate"] = 1 / scale
    if speakers > 1:
        known["speaker_embedding_size"] = args.get("speaker_embedding_channels", 256)
    config = settings_of(known, where=where)
    must_be(args, {"kernel_size_flow": config.wavenet_kernel_size}, where=where)
    must_be(args, {"dilation_rate_flow": config.wavenet_dilation_rate}, where=where)
    sizes = {"hop_length": config.hop_length, "fft_size": config.fft_size, "win_length": config.fft_size}
    must_be(audio, sizes, where=where)
    segment = count_of(args, "spec_segment_size", 32, most=2**16, where=where) * config.hop_length
    return settings_of({**config.model_dump(mode="json"), "segment_size": segment}, where=where)


def _phonemizer(raw: dict[str, Any]) -> list[str]:
    name = raw.get("phonemizer") or "espeak"
    if not raw.get("use_phonemes") or name == "espeak":
        return []
    return [f"its phonemizer {name!r} does not run here: espeak-ng makes the phones, which may be others"]


def _symbols(raw: dict[str, Any], *, size: int, where: str) -> tuple[tuple[str, ...], list[int], list[str]]:
    """Symbols with the blank first, the old row of each, and what to say: Coqui's blank may have any id."""
    table = raw.get("characters")
    if not isinstance(table, dict):
        raise TrainError(f"{where} has no characters: copy the table that the checkpoint was trained with into it")
    listed, blank = _listed(table)
    symbols = in_order(listed, size=size, where=where)
    if not raw.get("add_blank", True) or blank == 0:
        return symbols, list(range(size)), []
    if blank is None or blank >= size:
        raise TrainError(f"{where} puts blanks between symbols and its characters have none")
    order = [blank, *(id for id in range(size) if id != blank)]
    return tuple(symbols[id] for id in order), order, [f"its blank had id {blank}: it is moved to the front, as id 0"]


def _listed(table: dict[str, Any]) -> tuple[Sequence[str], int | None]:
    """The symbols in Coqui's order, which depends on the class that made them, and the id of the blank."""
    kind = str(table.get("characters_class") or "")
    letters, marks = table.get("characters") or "", table.get("punctuations") or ""
    if not kind or kind.endswith("VitsCharacters"):
        listed = [table.get("pad") or "_", *marks, *letters, *(table.get("phonemes") or ""), "<BLNK>"]
        return listed, len(listed) - 1
    letters = list(set(letters)) if table.get("is_unique") else list(letters)
    letters = sorted(letters) if table.get("is_sorted", True) else letters
    special = [table[name] for name in ("pad", "eos", "bos", "blank") if table.get(name)]
    blank = special.index(table["blank"]) if table.get("blank") else None
    return [*special, *letters, *marks], blank


def _names(folder: Path, *, count: int) -> tuple[str, ...]:
    path = folder / "speakers.json"
    if count == 1 or not path.is_file():
        return ()
    table = json_of(path)
    by_number = {id: name for name, id in table.items() if isinstance(id, int)}
    return tuple(by_number[id] for id in range(count)) if set(by_number) == set(range(count)) else ()

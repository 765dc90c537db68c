"""For people who have released weights of Chatterbox: load them, look at a fixed list of numbers, write them as JSON.

    python dev/chatterbox_check.py FOLDER [--wav clip.wav --text "what is said in it" --language en] [-o report.json]

The weights were never seen where this was written: everything is proved with drawn ones. The report holds numbers only,
no weights and no sound, and is meant to be sent. Where the package chatterbox-tts can be imported, its networks are
given the same weights and compared with ours. About 8 GB of memory and some minutes on one core.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from olu.audio.io import read, resample
from olu.core.errors import OluError
from olu.families.chatterbox.codec.s3gen import S3Gen
from olu.families.chatterbox.codec.voice import VoiceEncoder
from olu.families.chatterbox.config import CODE_SAMPLES, RATE, ChatterboxConfig
from olu.families.chatterbox.foreign.read import ChatterboxRelease, read_release
from olu.families.chatterbox.foreign.tell import sentences
from olu.families.chatterbox.learn import ChatterboxLearner

SENTENCE = "the quick brown fox jumps over the lazy dog."
LOOKED_AT = (
    *("text_emb.weight", "text_head.weight", "speech_emb.weight", "speech_head.weight", "tfmr.norm.weight"),
    *("text_pos_emb.emb.weight", "speech_pos_emb.emb.weight", "cond_enc.spkr_enc.weight", "tfmr.wpe.weight"),
    *("cond_enc.emotion_adv_fc.weight", "cond_enc.perceiver.pre_attention_query", "tfmr.h.0.attn.c_attn.weight"),
    *("tfmr.layers.0.self_attn.q_proj.weight", "tfmr.layers.29.mlp.down_proj.weight"),
)
SIZES = ("size", "layers", "width", "heads", "codes", "speech_ids", "text_places", "code_places", "meanflow")
CODES = 40  # that are written, always the likeliest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--wav", type=Path, help="a recording of up to 20 seconds")
    parser.add_argument("--text", default="", help="what is said in it")
    parser.add_argument("--language", default="en", help="the tag of its language")
    parser.add_argument("-o", "--output", type=Path, default=Path("chatterbox_check.json"))
    asked = parser.parse_args()
    try:
        report = check(asked)
    except OluError as bad:
        raise SystemExit(f"chatterbox_check: {bad}") from None
    asked.output.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for line in report["told"]:
        say(line)
    for name, apart in report.get("apart from chatterbox-tts", {}).items():
        say(f"apart from chatterbox-tts: {name}: {apart}")
    say(f"{asked.output}: {asked.output.stat().st_size} bytes of numbers")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


@torch.no_grad()
def check(asked: argparse.Namespace) -> dict[str, Any]:
    release = read_release(asked.folder)
    learner = loaded(release)
    report: dict[str, Any] = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}",
        "told": sentences(asked.folder),
        "files": {name: path.name for name, path in release.files.items()},
        "config": {name: getattr(release.config, name) for name in SIZES},
        "weights": {name: spread(release.t3[name]) for name in LOOKED_AT if name in release.t3},
        "tail of the text table": some(release.t3["text_emb.weight"][-64:].float().norm(dim=1)),
        "notes": list(release.notes),
    }
    ids = ids_of(release, SENTENCE, asked.language)
    report["ids of a sentence"] = ids
    report["answers"] = answers(learner, ids)
    if asked.wav:
        report["recording"] = recording(release, learner, asked)
    if apart := compared(release, learner, ids):
        report["apart from chatterbox-tts"] = apart
    return report


def loaded(release: ChatterboxRelease) -> ChatterboxLearner:
    """All networks, with the likeliest code always taken."""
    plain = {"temperature": 0.0, "repetition_penalty": 1.0, "min_p": 0.0, "top_p": 1.0, "top_k": 0}
    config = ChatterboxConfig(**{**release.config.model_dump(), **plain})
    with torch.device("meta"):
        learner = ChatterboxLearner(config, vocab_size=release.vocab_size, num_speakers=1)
    learner.t3.load_state_dict({name: one.float() for name, one in release.t3.items()}, assign=True)
    learner.s3gen = S3Gen(config)
    learner.s3gen.load_state_dict({**still(learner.s3gen), **release.s3gen})
    learner.ve = VoiceEncoder(config)
    learner.ve.load_state_dict(release.ve)
    return learner.eval()


def still(network: S3Gen) -> dict[str, Tensor]:
    """What is reckoned, and left out of some files."""
    return {name: one for name, one in network.state_dict().items() if name.endswith(("_mel_filters", "window"))}


def ids_of(release: ChatterboxRelease, text: str, language: str) -> list[int]:
    held = release.vocabulary
    if held.tagged and f"[{language}]" not in held.symbols:
        raise OluError(f"the tokenizer has no tag [{language}]: name another with --language")
    return held.encode_text(text, tag=language) if held.tagged else held.encode_text(text)


def with_bounds(learner: ChatterboxLearner, ids: list[int]) -> list[int]:
    c = learner.config
    return [c.text_start, *ids, c.text_stop] if c.text_bounds else ids


def spread(value: Tensor) -> dict[str, float]:
    held = value.float()
    return {"mean": _round(held.mean()), "spread": _round(held.std()), "largest": _round(held.abs().max())}


def _round(value: Any) -> float:
    return float(f"{float(value):.5g}")


def some(value: Tensor) -> list[float]:
    """Eight numbers from all over it."""
    flat = value.flatten()
    return [_round(flat[at]) for at in torch.linspace(0, len(flat) - 1, 8).long()]


def made_sound(seconds: float = 6.0) -> NDArray[np.float32]:
    """Hums that change, with noise; the same on every machine."""
    random, samples = np.random.default_rng(3), round(seconds * RATE)
    pitch, loud = (np.repeat(random.random(samples * 12 // RATE + 1), RATE // 12 + 1)[:samples] for _ in range(2))
    phase = 2 * np.pi * np.cumsum(100 + 200 * pitch) / RATE
    wave = 0.2 * loud * sum(np.sin(phase * times) / times for times in (1, 2, 3, 5)) + 0.005 * random.random(samples)
    return np.asarray(wave, np.float32)


def answers(learner: ChatterboxLearner, ids: list[int]) -> dict[str, Any]:
    """What the networks say to made input."""
    wave = made_sound()
    vector, prompt = learner.listened([wave])
    rows = learner.heard([wave])
    codes, stopped = learner.written(ids, rows, most=CODES)
    sound = learner.sounded(codes, wave[: 2 * RATE]).samples
    return {
        "speaker": some(vector),
        "codes of the made sound": prompt.tolist(),
        "condition": some(rows),
        "codes": codes,
        "stopped": stopped,
        "sound": {**spread(torch.from_numpy(sound)), "samples": len(sound)},
    }


def recording(release: ChatterboxRelease, learner: ChatterboxLearner, asked: argparse.Namespace) -> dict[str, Any]:
    """How likely its own text makes the codes of a recording, beside another text: the first must be much lower."""
    wave = resample(read(asked.wav), RATE).samples
    codes = learner.s3gen.tokenizer.codes(torch.from_numpy(wave))
    rows = learner.heard([wave])
    losses = {}
    for name, text in {"its text": asked.text.lower(), "another text": SENTENCE}.items():
        around = with_bounds(learner, ids_of(release, text, asked.language))
        logits = learner.t3(rows, torch.tensor([around]), codes[None])[1][0]
        targets = torch.cat([codes, torch.tensor([learner.config.stop_code])])
        losses[name] = _round(F.cross_entropy(logits, targets))
    held = release.vocabulary
    return {
        "seconds": _round(len(wave) / RATE),
        "codes": len(codes),
        "wanted codes": -(-len(wave) // CODE_SAMPLES),
        "loss, and of a blind guess": [losses, _round(math.log(learner.config.codes + 2))],
        "unknown tokens": held.fault_in(asked.text.lower()),
    }


# ---------------------------------------------------------------- beside the public package


def compared(release: ChatterboxRelease, learner: ChatterboxLearner, ids: list[int]) -> dict[str, float]:
    """The same weights in chatterbox-tts; nothing where it cannot be imported, or where the weights are narrow ones."""
    if release.config.small:
        say("these are narrow weights, as tests draw them: nothing is compared with chatterbox-tts")
        return {}
    try:
        from chatterbox.models.s3gen import S3Gen as PublicS3Gen
        from chatterbox.models.t3 import T3 as PublicT3
        from chatterbox.models.t3.modules.cond_enc import T3Cond
        from chatterbox.models.t3.modules.t3_config import T3Config
        from chatterbox.models.voice_encoder import VoiceEncoder as PublicVoice
    except ImportError as lost:
        say(f"chatterbox-tts cannot be imported ({lost}): nothing is compared with it")
        return {}
    wave, found = made_sound(), dict[str, float]()
    vector, prompt = learner.listened([wave])
    voice = PublicVoice().eval()
    voice.load_state_dict(release.ve)
    public = torch.from_numpy(voice.embeds_from_wavs([wave], sample_rate=RATE))[0]
    found["speaker, 1 - cosine"] = _round(1 - float(F.cosine_similarity(vector, public, dim=0)))
    decoder = PublicS3Gen(meanflow=release.config.meanflow).eval()
    decoder.load_state_dict(release.s3gen, strict=False)
    codes, _ = decoder.tokenizer([torch.from_numpy(wave)])
    found["codes of the made sound that differ"] = int((codes[0, : len(prompt)] != prompt).sum())
    theirs = public_t3(release, PublicT3, T3Config)
    theirs.load_state_dict(learner.t3.state_dict())
    told = T3Cond(
        speaker_emb=vector[None], cond_prompt_speech_tokens=prompt[None], emotion_adv=torch.full((1, 1, 1), 0.5)
    )
    rows = learner.t3.condition(vector[None], prompt[None])
    public = theirs.prepare_conditioning(told)
    found["condition, share of the largest"] = _round((rows - public).abs().max() / public.abs().max())
    said = public_codes(theirs, told, learner, ids)
    ours, _ = learner.written(ids, rows, most=CODES)
    found[f"codes that differ, of {len(said)}"] = sum(a != b for a, b in zip(ours, said, strict=False))
    return found


def public_t3(release: ChatterboxRelease, made: Any, settings: Any) -> Any:
    """With as many blocks as the weights have."""
    from chatterbox.models.t3.llama_configs import LLAMA_CONFIGS

    c, told = release.config, settings(text_tokens_dict_size=release.vocab_size)
    if c.backbone == "llama":
        LLAMA_CONFIGS["Llama_520M"]["num_hidden_layers"] = c.layers
        return made(told).eval()
    sizes = {"n_layer": c.layers, "n_embd": c.width, "hidden_size": c.width, "n_head": c.heads}
    LLAMA_CONFIGS["GPT2_medium"] |= sizes
    told.llama_config_name, told.speech_tokens_dict_size = "GPT2_medium", c.speech_ids
    told.input_pos_emb, told.use_perceiver_resampler, told.emotion_adv = None, False, False
    told.speech_cond_prompt_len = c.prompt_codes
    return made(told).eval()


def public_codes(theirs: Any, told: Any, learner: ChatterboxLearner, ids: list[int]) -> list[int]:
    """The likeliest ones, without a penalty."""
    text = torch.tensor([with_bounds(learner, ids)])
    if learner.config.backbone == "gpt2":
        plain = {"temperature": 1e-5, "top_k": 0, "top_p": 1.0, "repetition_penalty": 1.0}
        made = theirs.inference_turbo(t3_cond=told, text_tokens=text, max_gen_len=CODES - 1, **plain)
    else:
        made = theirs.inference(
            t3_cond=told,
            text_tokens=text.expand(2, -1),
            max_new_tokens=CODES,
            temperature=1e-5,
            min_p=0.0,
            top_p=1.0,
            repetition_penalty=1.0,
            cfg_weight=learner.config.guidance,
        )
    return [int(one) for one in made[0]]


if __name__ == "__main__":
    main()

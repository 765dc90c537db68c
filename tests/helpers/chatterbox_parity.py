"""Our T3, S3 tokenizer and voice encoder beside those of the public package chatterbox-tts, with the same weights.

Run as a script for the whole table, with --golden FILE for the numbers that ordinary tests compare with.
OLU_CHATTERBOX names the folder of packages that has `chatterbox` in it; nothing of it is in the project.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tests.helpers.coqui_parity import Difference, apart, seeded, sound
from torch import Tensor, nn

from olu.families.chatterbox.codec.mels import token_mel, trimmed
from olu.families.chatterbox.codec.tokens import S3Tokenizer
from olu.families.chatterbox.codec.voice import VoiceEncoder
from olu.families.chatterbox.config import ChatterboxConfig
from olu.families.chatterbox.model import T3
from olu.nn.causal import Cache, RopeScale, rope_speeds
from olu.speak.engines.sampling import Sampler

VARIABLE = "OLU_CHATTERBOX"
IDS = 300  # of texts
NARROW = ChatterboxConfig(
    size="multilingual", layers=2, width=64, heads=4, inner=256, prompt_rows=8, perceiver_heads=2, voice_width=256
)
BARE = ChatterboxConfig(size="turbo", layers=2, width=64, heads=4, voice_width=256)
SMALL_S3 = ChatterboxConfig(size="multilingual", s3_width=128, s3_layers=2, s3_heads=2)
TEXT, PROMPT, CODES, STEPS = 14, 40, 30, 64


def reachable() -> str:
    """Why the public package cannot be compared with; empty where it can."""
    place = os.environ.get(VARIABLE, "")
    if not place:
        return f"{VARIABLE} does not name the packages of chatterbox-tts"
    if place not in sys.path:
        sys.path.append(place)  # last: what both have is ours
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import chatterbox.models.t3  # noqa: F401
            import s3tokenizer  # noqa: F401
    except ImportError as missing:
        return f"chatterbox-tts cannot be imported: {missing}"
    return ""


# ---------------------------------------------------------------- networks


def our_t3(config: ChatterboxConfig) -> T3:
    made = T3(config, vocab_size=IDS)
    seeded(made)
    return made.eval()


def public_t3(config: ChatterboxConfig, *, vocabulary: int = IDS) -> Any:
    from chatterbox.models.t3 import T3 as Public
    from chatterbox.models.t3.llama_configs import LLAMA_CONFIGS
    from chatterbox.models.t3.modules.perceiver import Perceiver
    from chatterbox.models.t3.modules.t3_config import T3Config

    sizes = {"hidden_size": config.width}
    if config.backbone == "llama":
        own = {"intermediate_size": config.inner, "num_hidden_layers": config.layers}
        heads = {"num_attention_heads": config.heads, "num_key_value_heads": config.heads}
        made = {**LLAMA_CONFIGS["Llama_520M"], **own, **heads, **sizes, "head_dim": config.width // config.heads}
    else:
        sizes |= {"n_embd": config.width, "n_layer": config.layers, "n_head": config.heads}
        made = {**LLAMA_CONFIGS["GPT2_medium"], **sizes}
    LLAMA_CONFIGS["narrow"] = made
    hp = T3Config(text_tokens_dict_size=vocabulary)
    hp.llama_config_name = "narrow"
    hp.speech_tokens_dict_size = config.speech_ids
    if config.backbone == "gpt2":
        hp.input_pos_emb, hp.use_perceiver_resampler, hp.emotion_adv = None, False, False
        hp.speech_cond_prompt_len = config.prompt_codes
    theirs = Public(hp)
    if config.prompt_rows:
        theirs.cond_enc.perceiver = Perceiver(config.prompt_rows, config.width, config.width, config.perceiver_heads)
    return theirs


@cache
def t3_pair(config: ChatterboxConfig) -> tuple[T3, Any]:
    ours, theirs = our_t3(config), public_t3(config)
    theirs.load_state_dict(ours.state_dict(), strict=True)
    return ours, theirs.eval()


def our_tokenizer() -> S3Tokenizer:
    made = S3Tokenizer(SMALL_S3)
    seeded(made.encoder)
    seeded(made.quantizer)
    return made.eval()


@cache
def tokenizer_pair() -> tuple[S3Tokenizer, Any]:
    from chatterbox.models.s3tokenizer import S3Tokenizer as Public
    from s3tokenizer.model_v2 import AudioEncoderV2, FSQVectorQuantization

    ours, theirs = our_tokenizer(), Public()
    c = SMALL_S3
    theirs.encoder = AudioEncoderV2(c.s3_mels, c.s3_width, c.s3_heads, c.s3_layers, 2, False)
    theirs.quantizer = FSQVectorQuantization(c.s3_width, 3**8)
    state = {**ours.state_dict(), "window": theirs.window}
    theirs.load_state_dict(state, strict=True)
    return ours, theirs.eval()


def our_voice() -> VoiceEncoder:
    made = VoiceEncoder(ChatterboxConfig(size="english"))
    seeded(made)
    return made.eval()


# ---------------------------------------------------------------- what goes in


def given(config: ChatterboxConfig) -> dict[str, Tensor]:
    random = torch.Generator().manual_seed(4)
    text = torch.randint(2, 254, (1, TEXT), generator=random)
    text[0, 0], text[0, -1] = 255, 0
    return {
        "voice": nn.functional.normalize(torch.rand(1, 256, generator=random)),
        "prompt": torch.randint(0, 6561, (1, PROMPT), generator=random),
        "text": text,
        "codes": torch.randint(0, 6561, (1, CODES), generator=random),
    }


def public_condition(held: dict[str, Tensor]) -> Any:
    from chatterbox.models.t3.modules.cond_enc import T3Cond

    return T3Cond(
        speaker_emb=held["voice"], cond_prompt_speech_tokens=held["prompt"], emotion_adv=torch.full((1, 1, 1), 0.5)
    )


# ---------------------------------------------------------------- numbers of both


@torch.no_grad()
def our_logits(t3: T3) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of the condition, logits of the text and of the speech with one start, as the public forward has it."""
    held = given(t3.config)
    heard = t3.condition(held["voice"], held["prompt"])
    begun = torch.cat([torch.tensor([[t3.config.start_code]]), held["codes"]], dim=1)
    hidden = t3.hidden(torch.cat([heard, t3.text_rows(held["text"]), t3.speech_rows(begun)], dim=1))
    k = heard.shape[1]
    return heard, t3.text_head(hidden[:, k : k + TEXT]), t3.speech_head(hidden[:, k + TEXT :])


@torch.no_grad()
def public_logits(theirs: Any, config: ChatterboxConfig) -> tuple[Tensor, Tensor, Tensor]:
    held = given(config)
    begun = torch.cat([torch.tensor([[config.start_code]]), held["codes"]], dim=1)
    made = theirs(
        t3_cond=public_condition(held),
        text_tokens=held["text"],
        text_token_lens=torch.tensor([TEXT]),
        speech_tokens=begun,
        speech_token_lens=torch.tensor([CODES + 1]),
    )
    return theirs.prepare_conditioning(public_condition(held)), made.text_logits, made.speech_logits


@torch.no_grad()
def our_spoken(t3: T3, *, guidance: float, penalty: float, steps: int = STEPS) -> list[int]:
    """Codes at a temperature near 0, with the cache, two rows where there is guidance."""
    config, cache, held = t3.config, Cache(), given(t3.config)
    rows_of_text = 2 if guidance else 1
    heard = t3.condition(held["voice"], held["prompt"]).expand(rows_of_text, -1, -1)
    dropped = torch.tensor([False, True])[:rows_of_text]
    rows = t3.begun(heard, held["text"].expand(rows_of_text, -1), dropped)
    sampler = Sampler.of({"temperature": 0.0, "repetition_penalty": penalty}, np.random.default_rng(0))
    codes = list[int]()
    while len(codes) < steps and config.stop_code not in codes:
        logits = t3.speech_head(t3.hidden(rows, cache=cache)[:, -1])
        mixed = logits[0] + guidance * (logits[0] - logits[-1])
        before = [config.start_code, *codes] if config.backbone == "llama" else codes or [config.start_code]
        codes.append(sampler.draw(mixed.numpy(), before, never=[]))
        rows = t3.speech_rows(torch.tensor([[codes[-1]]] * rows_of_text), first=len(codes))
    return codes


def public_spoken(theirs: Any, config: ChatterboxConfig, *, steps: int = STEPS) -> list[int]:
    held = given(config)
    if config.backbone == "gpt2":
        made = theirs.inference_turbo(
            public_condition(held), held["text"], temperature=1e-4, top_k=0, top_p=1.0, max_gen_len=steps - 1
        )
        return [int(one) for one in made[0]]
    made = theirs.inference(
        t3_cond=public_condition(held),
        text_tokens=held["text"].expand(2, -1),
        max_new_tokens=steps,
        temperature=1e-4,
        min_p=0.0,
        top_p=1.0,
        repetition_penalty=2.0,
        cfg_weight=0.5,
    )
    return [int(one) for one in made[0]]


def wave16() -> Tensor:
    made = sound(40_123, rate=16_000)[0]
    made[:6000] *= 1e-3
    return made


# ---------------------------------------------------------------- the table


def transformers() -> Iterator[Difference]:
    for name, config in (("Llama", NARROW), ("GPT-2", BARE)):
        ours, theirs = t3_pair(config)
        mine, public = our_logits(ours), public_logits(theirs, config)
        worst = [apart(a, b) for a, b in zip(mine, public, strict=True)]
        yield Difference(f"{name}: condition (perceiver)", worst[0], 1e-5)
        yield Difference(f"{name}: logits of the text", worst[1], 5e-5)
        yield Difference(f"{name}: logits of the speech, of {float(public[2].abs().max()):.1f}", worst[2], 5e-5)


def turning() -> Iterator[Difference]:
    _, theirs = t3_pair(NARROW)
    ours = rope_speeds(NARROW.width // NARROW.heads, RopeScale())
    yield Difference("RoPE frequencies", apart(ours, theirs.tfmr.rotary_emb.inv_freq), 1e-7)
    from chatterbox.models.t3.llama_configs import LLAMA_CONFIGS
    from transformers import LlamaConfig, LlamaModel

    whole = LlamaConfig(**{**LLAMA_CONFIGS["Llama_520M"], "num_hidden_layers": 1})
    yield Difference(
        "RoPE frequencies at full width",
        apart(rope_speeds(64, RopeScale()), LlamaModel(whole).rotary_emb.inv_freq),
        1e-7,
    )


def speaking() -> Iterator[Difference]:
    ours, theirs = t3_pair(NARROW)
    mine, public = our_spoken(ours, guidance=0.5, penalty=2.0), public_spoken(theirs, NARROW)
    wrong = abs(len(mine) - len(public)) + sum(a != b for a, b in zip(mine, public, strict=False))
    yield Difference(f"codes that differ, of {len(public)} with guidance and penalty", wrong, 0)
    ours, theirs = t3_pair(BARE)
    mine, public = our_spoken(ours, guidance=0.0, penalty=1.2), public_spoken(theirs, BARE)
    wrong = sum(a != b for a, b in zip(mine, public, strict=False))
    yield Difference(f"codes that differ, of {len(public)} of a GPT-2", wrong, 0)


@torch.no_grad()
def tokens() -> Iterator[Difference]:
    ours, theirs = tokenizer_pair()
    wave = wave16()
    mel = token_mel(wave, ours._mel_filters)
    yield Difference("filters of the S3 mel", apart(S3Tokenizer(SMALL_S3)._mel_filters, theirs._mel_filters), 1e-6)
    yield Difference("S3 log-mel", apart(mel, theirs.log_mel_spectrogram(wave)), 1e-5)
    hidden, _ = theirs.encoder(mel[None], torch.tensor([mel.shape[1]]))
    yield Difference("S3 encoder before rounding", apart(ours.encoder(mel[None]), hidden), 1e-4)
    wrong = 0
    for samples in (16_000, 16_160, 40_123, 12_345, 9_600):
        codes, length = theirs([wave[:samples]])
        mine = ours.codes(wave[:samples])
        assert len(mine) == int(length), (samples, len(mine), int(length))
        edge = ours.quantizer._codebook.before_rounding(
            ours.encoder(token_mel(wave[:samples], ours._mel_filters)[None])
        )
        near = ((edge.abs() - 0.5).abs() < 1e-3).any(-1)[0]
        wrong += int(((mine != codes[0]) & ~near).sum())
    yield Difference("S3 codes that differ away from a rounding edge", wrong, 0)


@torch.no_grad()
def voices() -> Iterator[Difference]:
    from chatterbox.models.voice_encoder import VoiceEncoder as Public

    ours, theirs = our_voice(), Public().eval()
    theirs.load_state_dict(ours.state_dict(), strict=True)
    for samples in (40_123, 12_000, 100_000):
        wave = sound(samples, rate=16_000, seed=samples)[0].numpy()
        wave[:6000] *= 1e-3
        import librosa

        cut = librosa.effects.trim(wave, top_db=20)[0]
        yield Difference(f"trimmed samples of {samples}", abs(len(cut) - len(trimmed(wave))), 0)
        public = theirs.embeds_from_wavs([wave], sample_rate=16_000)
        yield Difference(
            f"speaker vector of {samples} samples", apart(ours.vector(wave), torch.from_numpy(public[0])), 1e-5
        )


def layout() -> Iterator[Difference]:
    """At full size, names and shapes of both transformers."""
    for size, vocabulary in (("multilingual", 2454), ("turbo", 50_276)):
        config = ChatterboxConfig(size=size)
        narrow = config.model_copy(update={"layers": 1})
        with torch.device("meta"):
            ours = T3(narrow, vocab_size=vocabulary).state_dict()
        theirs = public_t3(narrow, vocabulary=vocabulary).state_dict()
        shapes = [{(name, tuple(one.shape)) for name, one in held.items()} for held in (ours, theirs)]
        yield Difference(f"names and shapes of {size} that differ", len(shapes[0] ^ shapes[1]), 0)


GROUPS = (transformers, turning, speaking, tokens, voices, layout)


# ---------------------------------------------------------------- golden numbers


def golden_numbers(*, public: bool) -> dict[str, Any]:
    """Of the public package, or the same of ours."""
    found: dict[str, Any] = {}
    for name, config, guidance, penalty in (("llama", NARROW, 0.5, 2.0), ("gpt2", BARE, 0.0, 1.2)):
        ours, theirs = t3_pair(config) if public else (our_t3(config), None)
        heard, text, speech = public_logits(theirs, config) if public else our_logits(ours)
        found |= {f"{name}_condition": heard[0, :, ::8], f"{name}_text": text[0, ::3, ::10]}
        found[f"{name}_speech"] = speech[0, ::3, ::100]
        spoken = public_spoken(theirs, config) if public else our_spoken(ours, guidance=guidance, penalty=penalty)
        found[f"{name}_spoken"] = np.array(spoken)
    if public:
        tokenizer, theirs = tokenizer_pair()
        found["mel"] = theirs.log_mel_spectrogram(wave16())[::8, ::10]
        found["codes"] = theirs([wave16()])[0][0]
        from chatterbox.models.voice_encoder import VoiceEncoder as Public

        encoder = Public().eval()
        encoder.load_state_dict(our_voice().state_dict())
        found["voice"] = encoder.embeds_from_wavs([wave16().numpy()], sample_rate=16_000)[0]
    else:
        tokenizer = our_tokenizer()
        found["mel"] = token_mel(wave16(), tokenizer._mel_filters)[::8, ::10]
        found["codes"] = tokenizer.codes(wave16())
        found["voice"] = our_voice().vector(wave16().numpy())
    return {name: np.asarray(value.detach() if isinstance(value, Tensor) else value) for name, value in found.items()}


def main() -> None:
    if why := reachable():
        sys.exit(why)
    if "--golden" in sys.argv:
        path = Path(sys.argv[sys.argv.index("--golden") + 1])
        np.savez_compressed(path, **golden_numbers(public=True))
        sys.stdout.write(f"{path}: {path.stat().st_size} bytes\n")
        return
    rows = [row for group in GROUPS for row in group()]
    for row in rows:
        said = f"{'ok ' if row.fine else 'NOT'} {row.what}: {row.worst:.3g} (allowed {row.allowed:g})"
        sys.stdout.write(said + "\n")
    sys.exit(0 if all(row.fine for row in rows) else 1)


if __name__ == "__main__":
    main()

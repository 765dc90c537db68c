"""Our networks beside those of the public package coqui-tts, with the same random weights: how far they lie apart.

Run as a script for the whole table. OLU_COQUI names the folder of packages that has `TTS` in it; nothing of it is in
the project. All weights are drawn first: some layers are born as zeros, and would hide errors.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from olu.families.xtts.codes import Dvae
from olu.families.xtts.config import XttsConfig
from olu.families.xtts.decoder import CONTEXT, frames_of
from olu.families.xtts.model import Xtts
from olu.families.xtts.spectrum import code_mel, prompt_mel
from olu.nn.causal import Cache
from olu.speak.engines.sampling import Sampler

VARIABLE = "OLU_COQUI"
VOCABULARY, START, STOP = 300, 261, 0
# As narrow as the public classes can be: what hears a speaker and the decoder have fixed sizes there.
NARROW = XttsConfig(size="v2", layers=3, width=64, heads=4, codes=1024, dvae_width=32, code_width=16)


@dataclass(frozen=True)
class Difference:
    what: str
    worst: float
    allowed: float

    @property
    def fine(self) -> bool:
        return self.worst <= self.allowed


def reachable() -> str:
    """Why the public package cannot be compared with; empty where it can."""
    place = os.environ.get(VARIABLE, "")
    if not place:
        return f"{VARIABLE} does not name the packages of coqui-tts"
    if place not in sys.path:
        sys.path.append(place)  # last: what both have is ours
    try:
        import TTS.tts.models.xtts  # noqa: F401
    except ImportError as missing:
        return f"coqui-tts cannot be imported: {missing}"
    return ""


def public_config(config: XttsConfig, *, vocabulary: int = VOCABULARY) -> Any:
    from TTS.tts.configs.xtts_config import XttsArgs
    from TTS.tts.configs.xtts_config import XttsConfig as Public

    args = XttsArgs(
        gpt_layers=config.layers,
        gpt_n_model_channels=config.width,
        gpt_n_heads=config.heads,
        gpt_number_text_tokens=vocabulary,
        gpt_start_text_token=START,
        gpt_stop_text_token=STOP,
        gpt_max_audio_tokens=605,
        gpt_max_text_tokens=402,
        gpt_max_prompt_tokens=70,
        gpt_num_audio_tokens=config.codes + 2,
        gpt_start_audio_token=config.start_code,
        gpt_stop_audio_token=config.stop_code,
        gpt_use_perceiver_resampler=True,
        gpt_code_stride_len=1024,
        decoder_input_dim=config.width,
    )
    return Public(model_args=args)


def public_model(config: XttsConfig, *, vocabulary: int = VOCABULARY) -> Any:
    from TTS.tts.models.xtts import Xtts as Public

    return Public(public_config(config, vocabulary=vocabulary))


def public_dvae(config: XttsConfig) -> Any:
    from TTS.tts.layers.xtts.dvae import DiscreteVAE

    return DiscreteVAE(
        channels=80,
        normalization=None,
        positional_dims=1,
        num_tokens=config.codes,
        codebook_dim=config.code_width,
        hidden_dim=config.dvae_width,
        num_resnet_blocks=config.dvae_blocks,
        kernel_size=3,
        num_layers=2,
        use_transposed_convs=False,
    )


def seeded(module: nn.Module) -> None:
    """Every weight and running number anew, by its name alone: two programs with the same names get the same."""
    with torch.no_grad():
        for name, tensor in module.state_dict().items():
            if not tensor.is_floating_point() or "torch_spec" in name or name.startswith("discrete_loss"):
                continue
            drawn = np.random.default_rng(zlib.crc32(name.encode())).standard_normal(tuple(tensor.shape))
            noise = torch.from_numpy(drawn.astype(np.float32))
            tensor.copy_(_value(name, noise))


def _value(name: str, noise: Tensor) -> Tensor:
    if name.endswith(("running_var", "mel_stats", "cluster_size", "original0")):
        return 1 + 0.3 * noise.abs()
    if noise.ndim == 1:  # a norm's factor or a bias
        factor = name.endswith(("weight", "gamma"))
        return 0.05 * noise + (1.0 if factor else 0.0)
    if "emb" in name:
        return noise * (8.0 if "codebook" in name else 0.3)
    return noise * (1.5 / noise[0].numel()) ** 0.5


def sound(samples: int, *, rate: int = 22050, seed: int = 3) -> Tensor:
    """[1, S]: hums that change every twelfth of a second, with noise."""
    random = np.random.default_rng(seed)
    count = samples * 12 // rate + 1
    pitch, loud, rough = (np.repeat(random.random(count), rate // 12 + 1)[:samples] for _ in range(3))
    phase = 2 * np.pi * np.cumsum(100 + 500 * pitch) / rate
    hums = sum(np.sin(phase * times) / times for times in (1, 2, 3, 5, 8))
    wave = 0.3 * loud * hums + 0.2 * rough**3 * random.standard_normal(samples)
    return torch.from_numpy(wave.astype(np.float32))[None]


@cache
def pair() -> tuple[Xtts, Any]:
    """Ours and theirs, with the same weights."""
    torch.manual_seed(0)
    theirs = public_model(NARROW)
    seeded(theirs)
    ours = Xtts(NARROW, vocab_size=VOCABULARY)
    ours.load_state_dict(theirs.state_dict(), strict=True)
    theirs.hifigan_decoder.eval()
    theirs.gpt.init_gpt_for_inference(kv_cache=True)
    theirs.gpt.eval()
    return ours.eval(), theirs


@cache
def dvae_pair() -> tuple[Dvae, Any]:
    torch.manual_seed(0)
    theirs = public_dvae(NARROW).eval()
    seeded(theirs)
    ours = Dvae(NARROW)
    state = {name: value for name, value in theirs.state_dict().items() if not name.startswith("discrete_loss")}
    ours.load_state_dict(state, strict=True)
    return ours.eval(), theirs


def apart(ours: Tensor, theirs: Tensor, *, relative: bool = False) -> float:
    """The largest difference, or its share of the largest value."""
    assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
    worst = float((ours.detach().double() - theirs.detach().double()).abs().max())
    return worst / float(theirs.detach().abs().max()) if relative else worst


# ---------------------------------------------------------------- the table


def layout() -> Iterator[Difference]:
    config = XttsConfig(size="v2")
    narrow = XttsConfig(size="v2", layers=1)
    with torch.device("meta"):
        ours, dvae = Xtts(config, vocab_size=6681), Dvae(config)
    their_dvae = public_dvae(config)  # neither this nor its mels can be made without memory
    theirs = public_model(narrow, vocabulary=6681)
    with torch.device("meta"):
        theirs.gpt.gpt.h = nn.ModuleList(type(theirs.gpt.gpt.h[0])(theirs.gpt.gpt.config, at) for at in range(30))
    shapes = {name: tuple(value.shape) for name, value in ours.state_dict().items()}
    public = {name: tuple(value.shape) for name, value in theirs.state_dict().items()}
    strange = set(shapes.items()) ^ set(public.items())
    assert not strange, sorted(strange)[:8]
    count = sum(p.numel() for module in (ours, dvae) for p in module.parameters())
    public_count = sum(p.numel() for module in (theirs, their_dvae) for p in module.parameters())
    yield Difference("names and shapes of model.pth", abs(len(shapes) - 963), 0)
    yield Difference("parameters with the DVAE", abs(count - public_count) + abs(count - 518_442_047), 0)


def mels() -> Iterator[Difference]:
    from TTS.tts.layers.xtts.dvae import dvae_wav_to_mel
    from TTS.tts.models.xtts import wav_to_mel_cloning

    wave, stats = sound(40_000), torch.linspace(1.0, 3.0, 80)
    yield Difference("mel of the DVAE", apart(code_mel(wave, stats), dvae_wav_to_mel(wave, mel_norms=stats)), 1e-4)
    theirs = wav_to_mel_cloning(wave, mel_norms=stats, n_fft=2048, hop_length=256, win_length=1024)
    yield Difference("mel of the prompt", apart(prompt_mel(wave, stats), theirs), 1e-4)
    ours, public = pair()
    wave16 = sound(20_000, rate=16_000)
    heard = ours.hifigan_decoder.speaker_encoder.torch_spec(wave16)  # type: ignore[union-attr,operator]
    yield Difference(
        "mel of the speaker",
        apart(heard, public.hifigan_decoder.speaker_encoder.torch_spec(wave16), relative=True),
        1e-4,
    )


@torch.no_grad()
def encoders() -> Iterator[Difference]:
    ours, theirs = pair()
    mel = prompt_mel(sound(40_000), ours.mel_stats)
    one, other = ours.gpt.conditioning_encoder(mel), theirs.gpt.conditioning_encoder(mel)
    yield Difference("conditioning encoder", apart(one, other, relative=True), 1e-5)
    yield Difference(
        "perceiver", apart(ours.gpt.condition(mel), theirs.gpt.get_style_emb(mel).transpose(1, 2), relative=True), 1e-5
    )
    wave = sound(30_000, rate=16_000)
    vector = ours.hifigan_decoder.speaker_encoder(wave)  # type: ignore[operator]
    public = theirs.get_speaker_embedding(wave.clone(), 16_000)[:, :, 0]
    yield Difference("speaker vector", apart(vector, public, relative=True), 1e-5)
    dvae, their_dvae = dvae_pair()
    mel = code_mel(sound(160_000), ours.mel_stats)
    yield Difference("DVAE encoder", apart(dvae.encoder(mel), their_dvae.encoder(mel), relative=True), 1e-5)
    codes, public_codes = dvae.codes_of_mel(mel), their_dvae.get_codebook_indices(mel)
    yield Difference("codes that differ", float((codes != public_codes).float().mean()), 1e-3)
    made, _ = their_dvae.decode(public_codes)
    yield Difference("DVAE decoder", apart(dvae.mel(public_codes), made, relative=True), 1e-5)


@dataclass(frozen=True)
class Lesson:
    """Clips of uneven length, as a training would have them."""

    ids: list[Tensor]
    codes: list[Tensor]
    mel: Tensor


def lesson() -> Lesson:
    random = torch.Generator().manual_seed(5)
    ids = [torch.randint(2, 255, (size,), generator=random) for size in (11, 7, 23)]
    codes = [torch.randint(0, NARROW.codes, (size,), generator=random) for size in (30, 42, 17)]
    mel = torch.cat([prompt_mel(sound(132_300, seed=seed), torch.ones(80)) for seed in (1, 2, 3)])
    return Lesson(ids, codes, mel)


def padded(rows: Sequence[Tensor], fill: int) -> Tensor:
    return nn.utils.rnn.pad_sequence(list(rows), batch_first=True, padding_value=float(fill)).long()


def our_losses(model: Xtts, given: Lesson) -> tuple[Tensor, Tensor]:
    config = model.config
    text = [torch.cat([torch.tensor([START]), one, torch.tensor([STOP])]) for one in given.ids]
    stops = torch.full((3,), config.stop_code)
    codes = [torch.cat([torch.tensor([config.start_code]), one, stops]) for one in given.codes]
    text_logits, code_logits, _ = model.gpt(
        model.gpt.condition(given.mel),
        padded(text, STOP),
        padded(codes, config.stop_code),
        text_lengths=torch.tensor([len(one) for one in text]),
        code_lengths=torch.tensor([len(one) for one in codes]),
    )
    text_targets = padded([torch.cat([one, torch.tensor([STOP])]) for one in given.ids], -1)
    code_targets = padded([torch.cat([one[1:], stops[:1]]) for one in codes], -1)
    return (
        nn.functional.cross_entropy(
            text_logits[:, : text_targets.shape[1]].transpose(1, 2), text_targets, ignore_index=-1
        ),
        nn.functional.cross_entropy(code_logits.transpose(1, 2), code_targets, ignore_index=-1),
    )


NAMED = (
    "conditioning_encoder.attn.0.qkv.weight",
    "conditioning_perceiver.layers.0.0.to_kv.weight",
    "conditioning_perceiver.norm.gamma",
    "text_embedding.weight",
    "text_pos_embedding.emb.weight",
    "mel_embedding.weight",
    "gpt.h.0.attn.c_attn.weight",
    "gpt.h.2.mlp.c_proj.weight",
    "final_norm.weight",
    "mel_head.bias",
)


def losses() -> Iterator[Difference]:
    ours, theirs = pair()
    given = lesson()
    mine = our_losses(ours, given)
    public = public_losses(theirs, given)
    yield Difference("loss of the text", apart(mine[0], public[0]), 1e-5)
    yield Difference("loss of the codes", apart(mine[1], public[1]), 1e-5)
    own, other = dict(ours.gpt.named_parameters()), dict(theirs.gpt.named_parameters())
    grads = torch.autograd.grad(0.01 * mine[0] + mine[1], [own[name] for name in NAMED])
    public_grads = torch.autograd.grad(0.01 * public[0] + public[1], [other[name] for name in NAMED])
    worst = max(apart(a, b, relative=True) for a, b in zip(grads, public_grads, strict=True))
    yield Difference("gradients of ten weights", worst, 1e-4)


@torch.no_grad()
def latents() -> Iterator[Difference]:
    ours, theirs = pair()
    gpt, config = ours.gpt, ours.config
    given = lesson()
    prompt = gpt.condition(given.mel[:1])
    ids, codes = given.ids[2][None], given.codes[1][None]
    text = torch.cat([torch.tensor([[START]]), ids, torch.tensor([[STOP]])], dim=1)
    begun = torch.cat([torch.tensor([[config.start_code]]), codes], dim=1)
    whole = gpt(prompt, text, begun)[2]
    cache = Cache()
    rows = torch.cat([prompt, gpt.text_rows(text), gpt.code_rows(begun[:, :1])], dim=1)
    steps = [gpt.latents(rows, cache=cache)[:, -1:]]
    for at in range(1, begun.shape[1]):
        steps.append(gpt.latents(gpt.code_rows(begun[:, at : at + 1], first=at), cache=cache))
    yield Difference("step with cache against whole", apart(torch.cat(steps, dim=1), whole), 1e-5)
    length = torch.tensor([codes.shape[1] * 1024])
    public = theirs.gpt(
        ids, torch.tensor([ids.shape[1]]), codes.clone(), length, cond_latents=prompt, return_latent=True
    )
    yield Difference("latents against the public second pass", apart(whole[:, : public.shape[1]], public), 1e-5)


@torch.no_grad()
def sounds() -> Iterator[Difference]:
    ours, theirs = pair()
    random = torch.Generator().manual_seed(8)
    speaker = nn.functional.normalize(torch.randn(1, 512, generator=random))
    made = torch.randn(1, 100, NARROW.width, generator=random)
    decoder = ours.hifigan_decoder.waveform_decoder
    wrong, worst_frames = 0, 0.0
    for count in range(1, 101):
        frames = frames_of(made[:, :count])
        wrong += frames.shape[2] != 4 * count * 160 // 147
        z = nn.functional.interpolate(made[:, :count].transpose(1, 2), scale_factor=[4.0], mode="linear")
        public = nn.functional.interpolate(z, scale_factor=[24000 / 22050], mode="linear")
        worst_frames = max(worst_frames, apart(frames, public))
    yield Difference("frames of 1 to 100 latents", wrong, 0)
    yield Difference("interpolation", worst_frames, 1e-6)
    few = made[:, :24]
    wave = decoder(frames_of(few), speaker)
    yield Difference("decoder", apart(wave, theirs.hifigan_decoder(few, g=speaker[:, :, None])[:, 0]), 1e-6)
    frames = frames_of(few)
    cut = frames[:, :, 20 - CONTEXT : 60 + CONTEXT]
    part = decoder(cut, speaker)[:, CONTEXT * 256 : -CONTEXT * 256]
    yield Difference("a chunk in its context against the whole", apart(part, wave[:, 20 * 256 : 60 * 256]), 1e-6)


SPOKEN = {"temperature": 0.75, "top_k": 50, "top_p": 0.85, "repetition_penalty": 5.0}


@torch.no_grad()
def our_codes(gpt: Any, prompt: Tensor, ids: Tensor, *, most: int, start: int = START) -> list[int]:
    """Codes by our sampler, drawn by torch as the public package draws them; the stop counts."""
    config, cache, codes = gpt.config, Cache(), list[int]()
    sampler = Sampler.of(SPOKEN, np.random.default_rng(0))
    text = torch.cat([torch.tensor([[start]]), ids, torch.tensor([[STOP]])], dim=1)
    rows = torch.cat([prompt, gpt.text_rows(text), gpt.code_rows(torch.tensor([[config.start_code]]))], dim=1)
    while len(codes) < most and config.stop_code not in codes:
        logits = gpt.mel_head(gpt.latents(rows, cache=cache)[0, -1]).numpy()
        found, chances = sampler.chances(logits, [1, config.start_code, *codes])
        all_chances = torch.zeros(len(logits))
        all_chances[torch.from_numpy(found.copy())] = torch.from_numpy(chances).float()
        codes.append(int(torch.multinomial(all_chances, 1)))
        rows = gpt.code_rows(torch.tensor([[codes[-1]]]), first=len(codes))
    return codes


@torch.no_grad()
def public_codes(gpt: Any, prompt: Tensor, ids: Tensor) -> list[int]:
    made = gpt.generate(cond_latents=prompt, text_inputs=ids, do_sample=True, num_beams=1, length_penalty=1.0, **SPOKEN)
    return [int(code) for code in made[0]]


def drawn() -> Iterator[Difference]:
    from transformers import (
        LogitsProcessorList,
        RepetitionPenaltyLogitsProcessor,
        TemperatureLogitsWarper,
        TopKLogitsWarper,
        TopPLogitsWarper,
    )

    filters = LogitsProcessorList(
        [
            RepetitionPenaltyLogitsProcessor(5.0),
            TemperatureLogitsWarper(0.75),
            TopKLogitsWarper(50),
            TopPLogitsWarper(0.85),
        ]
    )
    random, worst = np.random.default_rng(0), 0.0
    for count in range(60):
        logits = (3 * random.standard_normal(NARROW.codes + 2)).astype(np.float32)
        before = [1, NARROW.start_code, *random.integers(0, NARROW.codes, count).tolist()]
        found, chances = Sampler.of(SPOKEN, random).chances(logits, before)
        ours = np.zeros(len(logits))
        ours[found] = chances
        scores = filters(torch.tensor([[1] * 40 + before]), torch.from_numpy(logits.copy())[None])
        worst = max(worst, float(np.abs(ours - scores[0].double().softmax(0).numpy()).max()))
    yield Difference("distribution that codes are drawn from", worst, 1e-6)
    ours_model, theirs = pair()
    given = lesson()
    prompt = ours_model.gpt.condition(given.mel[:1]).detach()
    wrong, all_codes = 0, 0
    for seed in (0, 1, 2):
        torch.manual_seed(seed)
        public = public_codes(theirs.gpt, prompt, given.ids[2][None])
        torch.manual_seed(seed)
        mine = our_codes(ours_model.gpt, prompt, given.ids[2][None], most=NARROW.most_codes)
        wrong += abs(len(public) - len(mine)) + sum(a != b for a, b in zip(public, mine, strict=False))
        all_codes += len(public)
    yield Difference(f"codes that differ, of {all_codes} drawn with three seeds", wrong, 0)


def written_folder(folder: Path) -> Any:
    """A run with drawn weights as `olu export --to coqui` writes it; gives the learner."""
    from olu.families.xtts.foreign.to_coqui import write_folder
    from olu.families.xtts.learn import XttsLearner
    from olu.text.pieces import PieceVocabulary

    letters = [chr(0x1200 + number) for number in range(VOCABULARY - 5)]
    specials = ("[STOP]", "[UNK]", "[SPACE]", "[START]", "[am]")
    vocabulary = PieceVocabulary([*specials, *letters], (), tag="am", specials=specials)
    config = NARROW.model_copy(update={"text_start": 3, "text_stop": 0})
    learner = XttsLearner(config, vocab_size=vocabulary.size, num_speakers=1)
    seeded(learner)
    wave = (sound(90_000)[0].numpy().clip(-1, 1) * 32767).astype(np.int16)
    learner.meet(0, [wave])
    write_folder(learner.eval(), folder, vocabulary=vocabulary, speakers=["tester"])
    return learner


@torch.no_grad()
def coqui_folder() -> Iterator[Difference]:
    """What we write, loaded by the public package, strict: it speaks the same codes and the same sound."""
    import tempfile

    from TTS.tts.configs.xtts_config import XttsConfig as Public
    from TTS.tts.models.xtts import Xtts as PublicModel

    with tempfile.TemporaryDirectory() as place:
        learner = written_folder(Path(place))
        config = Public()
        config.load_json(f"{place}/config.json")
        theirs = PublicModel(config)
        theirs.load_checkpoint(config, checkpoint_dir=place, eval=True, strict=True)
        voice = theirs.speaker_manager.speakers["tester"]
        public_dvae_state = torch.load(f"{place}/dvae.pth", weights_only=True)
        lost = [name for name in public_dvae(NARROW).state_dict() if name not in public_dvae_state]
    prompt, vector = voice["gpt_cond_latent"], voice["speaker_embedding"]
    heard = torch.from_numpy(learner.references[0][0])[None]
    yield Difference(
        "speakers file: prompt, heard by the public package",
        apart(prompt, theirs.get_gpt_cond_latents(heard, 22050, length=30, chunk_length=4), relative=True),
        1e-4,
    )
    alike = nn.functional.cosine_similarity(vector, theirs.get_speaker_embedding(heard, 22050), dim=1)
    yield Difference("speakers file: 1 - cosine of the vector", 1 - float(alike), 1e-4)
    yield Difference("names of dvae.pth that are missing", sum("discrete" not in name for name in lost), 0)
    wrong = all_codes = 0
    for seed in range(8):
        ids = torch.tensor([[4, *range(9 + seed, 30)]])
        torch.manual_seed(seed)
        public = public_codes(theirs.gpt, prompt, ids)
        torch.manual_seed(seed)
        mine = our_codes(learner.gpt, prompt, ids, most=NARROW.most_codes, start=3)
        wrong += abs(len(public) - len(mine)) + sum(a != b for a, b in zip(public, mine, strict=False))
        all_codes += len(public)
    yield Difference(f"codes of --to coqui that differ, of {all_codes}", wrong, 0)


GROUPS = (layout, mels, encoders, losses, latents, sounds, drawn, coqui_folder)


# ---------------------------------------------------------------- golden numbers, for where the package is missing


def golden_numbers(model: Any, dvae: Any, *, public: bool) -> dict[str, np.ndarray[Any, Any]]:
    """A few numbers of every network, of the public one or of ours."""
    given, wave = lesson(), sound(30_000)
    with torch.no_grad():
        prompt = (
            model.gpt.get_style_emb(given.mel[:1]).transpose(1, 2) if public else model.gpt.condition(given.mel[:1])
        )
        wave16 = sound(24_000, rate=16_000)
        if public:
            vector = model.get_speaker_embedding(wave16.clone(), 16_000)[:, :, 0]
            codes = dvae.get_codebook_indices(_public_code_mel(wave))
        else:
            vector = model.hifigan_decoder.speaker_encoder(wave16)
            codes = dvae.codes_of_mel(code_mel(wave, torch.ones(80)))
        made = torch.from_numpy(np.random.default_rng(4).standard_normal((1, 4, NARROW.width)).astype(np.float32))
        decoder = model.hifigan_decoder
        sounded = (
            decoder(made, g=vector[:, :, None])[:, 0] if public else decoder.waveform_decoder(frames_of(made), vector)
        )
        ids, some = given.ids[0][None], given.codes[0][None]
        if public:
            length, size = torch.tensor([some.shape[1] * 1024]), torch.tensor([ids.shape[1]])
            hidden = model.gpt(ids, size, some.clone(), length, cond_latents=prompt, return_latent=True)
        else:
            text = torch.cat([torch.tensor([[START]]), ids, torch.tensor([[STOP]])], dim=1)
            begun = torch.cat([torch.tensor([[NARROW.start_code]]), some], dim=1)
            hidden = model.gpt(prompt, text, begun)[2]
    spoken = torch.tensor(_likeliest(model.gpt, prompt, given.ids[2][None], public=public))
    both = public_losses(model, given) if public else our_losses(model, given)
    weights = dict(model.gpt.named_parameters())
    grads = torch.autograd.grad(0.01 * both[0] + both[1], [weights[name] for name in NAMED])
    numbers = {
        "prompt": prompt[0, ::4],
        "speaker": vector[0],
        "codes": codes[0],
        "spoken": spoken,
        "wave": sounded[0, ::4],
        "latents": hidden[0, :24:4],
        "losses": torch.stack(both),
        "gradients": torch.stack([one.flatten()[:64] for one in grads if one.numel() >= 64]),
    }
    return {name: value.detach().numpy() for name, value in numbers.items()}


SPOKEN_CODES = 60


@torch.no_grad()
def _likeliest(gpt: Any, prompt: Tensor, ids: Tensor, *, public: bool) -> list[int]:
    """Codes without chance, but with the penalty: always the likeliest that is left."""
    if public:
        made = gpt.generate(
            cond_latents=prompt,
            text_inputs=ids,
            do_sample=False,
            num_beams=1,
            repetition_penalty=SPOKEN["repetition_penalty"],
        )
        return [int(code) for code in made[0]][:SPOKEN_CODES]
    config, cache, codes = gpt.config, Cache(), list[int]()
    sampler = Sampler.of({"temperature": 0.0, "repetition_penalty": 5.0}, np.random.default_rng(0))
    text = torch.cat([torch.tensor([[START]]), ids, torch.tensor([[STOP]])], dim=1)
    rows = torch.cat([prompt, gpt.text_rows(text), gpt.code_rows(torch.tensor([[config.start_code]]))], dim=1)
    while len(codes) < SPOKEN_CODES and config.stop_code not in codes:
        logits = gpt.mel_head(gpt.latents(rows, cache=cache)[0, -1]).numpy()
        codes.append(sampler.draw(logits, [1, config.start_code, *codes], never=[]))
        rows = gpt.code_rows(torch.tensor([[codes[-1]]]), first=len(codes))
    return codes


def public_losses(model: Any, given: Lesson) -> tuple[Tensor, Tensor]:
    text, codes, _ = model.gpt(
        padded(given.ids, STOP),
        torch.tensor([len(one) for one in given.ids]),
        padded(given.codes, 0),
        torch.tensor([len(one) * 1024 for one in given.codes]),
        cond_mels=given.mel[:, None],
    )
    return text, codes


def _public_code_mel(wave: Tensor) -> Tensor:
    from TTS.tts.layers.xtts.dvae import dvae_wav_to_mel

    mel: Tensor = dvae_wav_to_mel(wave, mel_norms=torch.ones(80))
    return mel


def our_networks() -> tuple[Xtts, Dvae]:
    """With the weights that the golden numbers were made of."""
    model, dvae = Xtts(NARROW, vocab_size=VOCABULARY), Dvae(NARROW)
    seeded(model)
    seeded(dvae)
    return model.eval(), dvae.eval()


def main() -> None:
    """`--golden FILE` writes the golden numbers of the public package."""
    if why := reachable():
        raise SystemExit(why)
    if "--golden" in sys.argv:
        np.savez_compressed(sys.argv[-1], **golden_numbers(pair()[1], dvae_pair()[1], public=True))
        return
    sys.stdout.write("| what | largest difference | allowed |\n|---|---|---|\n")
    for group in GROUPS:
        for row in group():
            missed = "" if row.fine else " missed"
            sys.stdout.write(f"| {row.what} | {row.worst:.2g} | {row.allowed:g} |{missed}\n")


if __name__ == "__main__":
    main()

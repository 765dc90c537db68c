"""Whether the public program chatterbox-tts loads a folder of ours and speaks what we speak, with drawn weights.

    OLU_CHATTERBOX=PACKAGES OLU_CHATTERBOX_TOKENIZERS=FOLDER OLU_GPT2_TOKENIZER=FOLDER \\
        python -m tests.helpers.chatterbox_program WORK

Everything has the released layout but the depth of T3, whose 30 blocks are 14 here, in the program's own table of sizes
too: the fewest that its heads for alignment allow. Igbo has its tag on a spare id; Amharic makes the tables grow.
Turbo has 2 of its 24 blocks, and the tokenizer of GPT-2 with its tags. WORK takes about 6 GB for a while, and the
memory is as much.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import torch
from tests.helpers.s3gen_parity import reachable

from olu.families.chatterbox.config import OUT_RATE, RATE, ChatterboxConfig
from olu.families.chatterbox.foreign.conds import CONDS, read_conds
from olu.families.chatterbox.foreign.to_upstream import write_folder, write_voice_of
from olu.families.chatterbox.learn import ChatterboxLearner
from olu.text.languages import load
from olu.text.piece_files import read_byte_pieces, read_pieces
from olu.text.piece_growth import with_language
from olu.text.pieces import PieceVocabulary

TOKENIZERS = "OLU_CHATTERBOX_TOKENIZERS"
LAYERS, CODES = 14, 14  # the least that the program takes; codes that are said
TEXT = "ndị mmadụ na-abịa."
BYTES = "OLU_GPT2_TOKENIZER"  # a folder with vocab.json, merges.txt and the added tokens of Turbo
TURBO_LAYERS, TURBO_TEXT = 2, "Ndị mmadụ na-abịa, it's 12 today."


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def vocabulary(language: str) -> PieceVocabulary:
    held = read_pieces(Path(os.environ[TOKENIZERS]) / "grapheme_mtl_merged_expanded_v1.json")
    held = PieceVocabulary(held.symbols, held.merges, specials=held.specials, form="NFKD")
    texts = [text.lower() for text in load(language).sentences()]
    return with_language(held, texts, language=language)


def drawn(ids: int) -> ChatterboxLearner:
    torch.manual_seed(3)
    config = ChatterboxConfig(size="multilingual", layers=LAYERS, temperature=0.0, min_p=0.0, top_p=1.0)
    learner = ChatterboxLearner(config, vocab_size=ids, num_speakers=1).eval()
    with torch.no_grad():
        learner.t3.speech_head.weight.mul_(3.0)
        learner.t3.speech_head.weight[learner.config.codes :] = 0.0  # what is learnt never to be said
        learner.s3gen.mel2wav.f0_predictor.classifier.bias.fill_(150.0)
    return learner


def recording() -> np.ndarray[Any, Any]:
    """1.2 s of a hum, at 16,000 Hz."""
    time_S = np.arange(round(1.2 * RATE)) / RATE
    hum = sum(np.sin(2 * np.pi * 140 * k * time_S) / k for k in range(1, 9))
    return (0.1 * hum * (1 + np.sin(2 * np.pi * 3 * time_S))).astype(np.float32)


def wrapped(model: Any, seen: list[Any]) -> None:
    """The program says 1,000 codes where nothing stops it; drawn weights never stop."""
    own = model.t3.inference

    def few(**given: Any) -> Any:
        seen.append(own(**{**given, "max_new_tokens": CODES}))
        return seen[-1]

    model.t3.inference = few


def main() -> None:
    warnings.simplefilter("ignore")
    if why := reachable():
        sys.exit(why)
    work, started = Path(sys.argv[1]), time.process_time()
    folder = work / "ibo"
    folder.mkdir(parents=True, exist_ok=True)
    ids = vocabulary("ibo")
    learner, wave = drawn(ids.size), recording()
    learner.meet(0, [np.asarray(32768 * wave, np.int16)])
    if not (folder / CONDS).is_file():  # else of the last time: the weights are the same
        write_folder(learner, folder, vocabulary=ids)
        write_voice_of(learner, folder / CONDS)
    soundfile.write(work / "reference.wav", wave, RATE)
    say(f"written: {ids.size} ids, tag [{ids.tag}]; {time.process_time() - started:.0f} CPU-s")

    from chatterbox.models.t3.llama_configs import LLAMA_CONFIGS
    from chatterbox.mtl_tts import ChatterboxMultilingualTTS

    LLAMA_CONFIGS["Llama_520M"]["num_hidden_layers"] = LAYERS
    model = ChatterboxMultilingualTTS.from_local(folder, "cpu")
    say("loaded by from_local, every tensor strict")
    same = sum(torch.equal(one, model.t3.state_dict()[name]) for name, one in learner.t3.state_dict().items())
    say(f"{same} of {len(learner.t3.state_dict())} tensors of T3 the same")
    tagged = f"[{ids.tag}]{TEXT}"
    public = model.tokenizer.text_to_tokens(tagged, language_id=None)[0].tolist()
    mine = ids.encode_text(TEXT)
    say(f"ids {'equal' if public == mine else f'DIFFER: {public} {mine}'}; no unknown: {1 not in public}")
    try:
        model.generate(TEXT, language_id=ids.tag)
        say("THE LIST OF LANGUAGES TOOK IT")
    except ValueError as refused:
        say(f"refused as expected: {str(refused)[:40]}")

    told: dict[str, Any] = {
        "temperature": 1e-5,
        "cfg_weight": 0.5,
        "repetition_penalty": 2.0,
        "min_p": 0.0,
        "top_p": 1.0,
    }
    for name, more in {"conds.pt": {}, "a recording": {"audio_prompt_path": str(work / "reference.wav")}}.items():
        seen: list[Any] = []
        own = model.t3.inference
        wrapped(model, seen)
        begun = time.process_time()
        made = model.generate(tagged, language_id=None, **told, **more)[0].numpy()
        model.t3.inference = own
        codes = seen[0][0].tolist()
        cond = model.conds.t3
        rows = learner.t3.condition(cond.speaker_emb, cond.cond_prompt_speech_tokens, cond.emotion_adv.flatten())
        ours, _ = learner.written(public, rows, most=len(codes))
        alike = sum(a == b for a, b in zip(codes, ours, strict=False))
        if name == "a recording":
            vector, prompt = learner.listened([wave])
            known = read_conds(folder / CONDS, codes=6561)
            say(
                f"  conds.pt beside its own hearing: vector {float((vector - cond.speaker_emb[0]).abs().max()):.2g},"
                f" {int((prompt != cond.cond_prompt_speech_tokens[0][: len(prompt)]).sum())} of {len(prompt)} prompt"
                f" codes differ; {len(known.reference.codes_P)} and {model.conds.gen['prompt_token'].shape[1]} codes",
            )
        wanted = 960 * sum(code < 6561 for code in codes)
        say(
            f"{name}: {len(codes)} codes, {alike} as ours; {len(made)} samples at {model.sr} ({wanted} wanted),"
            f" largest {np.abs(made).max():.3f}, finite {bool(np.isfinite(made).all())};"
            f" {time.process_time() - begun:.0f} CPU-s",
        )
        soundfile.write(work / f"{name.replace(' ', '_')}.wav", made, OUT_RATE)
    del model, learner
    grown(work, LLAMA_CONFIGS)
    if os.environ.get(BYTES):
        turbo(work, LLAMA_CONFIGS)


def turbo(work: Path, configs: Any) -> None:
    """The same with Turbo: its program reads another tokenizer, another T3 and the decoder of two steps."""
    from chatterbox.tts_turbo import ChatterboxTurboTTS, punc_norm

    folder, ids = work / "turbo", read_byte_pieces(Path(os.environ[BYTES]))
    folder.mkdir(exist_ok=True)
    torch.manual_seed(3)
    config = ChatterboxConfig(size="turbo", layers=TURBO_LAYERS, temperature=0.0)
    learner = ChatterboxLearner(config, vocab_size=ids.size, num_speakers=1).eval()
    with torch.no_grad():
        learner.t3.speech_head.weight.mul_(3.0)
        learner.t3.speech_head.weight[config.codes :] = 0.0
        learner.s3gen.mel2wav.f0_predictor.classifier.bias.fill_(150.0)
    learner.meet(0, [np.asarray(32768 * recording(), np.int16)])
    if not (folder / CONDS).is_file():
        write_folder(learner, folder, vocabulary=ids)
        write_voice_of(learner, folder / CONDS)
    configs["GPT2_medium"]["n_layer"] = TURBO_LAYERS
    model = ChatterboxTurboTTS.from_local(folder, "cpu")
    say("Turbo: loaded by from_local, every tensor strict")
    public = model.tokenizer(punc_norm(TURBO_TEXT)).input_ids
    mine = ids.encode_text(TURBO_TEXT)
    say(f"ids {'equal' if public == mine else f'DIFFER: {public} {mine}'}, {len(mine)} of {len(model.tokenizer)}")
    seen, own = list[Any](), model.t3.inference_turbo

    def few(**given: Any) -> Any:
        seen.append(own(**{**given, "max_gen_len": CODES - 1}))
        return seen[-1]

    model.t3.inference_turbo = few
    begun = time.process_time()
    made = model.generate(TURBO_TEXT, temperature=1e-5, top_k=0, top_p=1.0)[0].numpy()
    cond, codes = model.conds.t3, seen[0][0].tolist()
    ours, _ = learner.written(mine, learner.t3.condition(cond.speaker_emb, cond.cond_prompt_speech_tokens), most=CODES)
    alike = sum(a == b for a, b in zip(codes, ours, strict=False))
    say(
        f"Turbo, conds.pt: {len(codes)} codes, {alike} as ours; {len(made)} samples ({960 * (len(codes) + 3)} wanted,"
        f" three codes of silence among them), finite {bool(np.isfinite(made).all())};"
        f" {time.process_time() - begun:.0f} CPU-s"
    )


def grown(work: Path, configs: Any) -> None:
    """A larger table of texts: the program has to be told its size."""
    from chatterbox.models.t3 import T3
    from chatterbox.models.t3.modules.t3_config import T3Config
    from safetensors.torch import load_file, save_file

    configs["Llama_520M"]["num_hidden_layers"] = 1
    ids = vocabulary("amh")
    config = ChatterboxConfig(size="multilingual", layers=1)
    from olu.families.chatterbox.model import T3 as Ours

    path = work / "t3.safetensors"
    save_file({name: one.contiguous() for name, one in Ours(config, vocab_size=ids.size).state_dict().items()}, path)
    state = load_file(path)
    try:
        T3(T3Config.multilingual()).load_state_dict(state)
        say("THE PLAIN SETTINGS TOOK IT")
    except RuntimeError as refused:
        say(f"Amharic, {ids.size} ids: its own settings refuse: {str(refused).splitlines()[1].strip()[:90]}")
    T3(T3Config(text_tokens_dict_size=ids.size)).load_state_dict(state)
    say(f"T3Config(text_tokens_dict_size={ids.size}) loads it")


if __name__ == "__main__":
    main()

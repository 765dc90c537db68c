"""Published recognisers that draft texts for languages they know: Whisper, and MMS or another network with CTC.

They run in transformers. A model is an id on the hub, kept in its cache, or a folder; no pickle is opened.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from olu.align.ctc_words import HeardText, joined, words_heard, words_of_tokens
from olu.audio import activity, io
from olu.core.errors import ConfigError, MissingExtra
from olu.core.parse import BadData, load_json
from olu.core.places import fetched, is_hub_id
from olu.core.types import Audio
from olu.text.languages import load, two_letters

RATE = 16000
WHISPER, MMS = "openai/whisper-small", "facebook/mms-1b-all"
WEIGHTS = ("model.safetensors", "model-0*.safetensors")
LONGEST, CUT_FROM = (
    30.0,
    22.0,
)  # seconds that are heard at once; a longer recording is cut at a quiet place from here on
MOST_TOKENS = 220
DELIMITER = "|"  # between words, in the alphabets of wav2vec 2.0

Listener = Callable[[Audio], HeardText]


def listener_named(name: str, model: str, *, language: str, device: str) -> tuple[Listener, str]:
    """What drafts, and how it is called; a language that it does not know is refused."""
    _library()
    if name == "whisper":
        chosen = model or WHISPER
        return _whisper(_place(chosen), language=language, device=device, name=chosen), f"Whisper ({chosen})"
    chosen = model or MMS
    return _ctc(chosen, language=language, device=device), f"MMS ({chosen})"


def _library() -> None:
    try:
        import torch  # noqa: F401
        import transformers
    except ImportError as missing:
        raise MissingExtra("olu transcribe --with", extra="asr", package=missing.name or "transformers") from None
    transformers.logging.set_verbosity_error()  # what goes wrong is told below
    transformers.logging.disable_progress_bar()


def _place(model: str, *more: str) -> Path:
    """Where a model lies on this machine; from the hub come its settings, and of its weights what is needed."""
    if is_hub_id(model):
        return fetched(model, weights=(*WEIGHTS, *more))
    if not (Path(model) / "config.json").is_file():
        raise ConfigError(f"--model {model} is no folder with a config.json, and no OWNER/NAME on the hub")
    return Path(model)


def _opened(kind: Any, place: Path, **more: Any) -> Any:
    """A network or a tokenizer from a folder, or one sentence why not."""
    try:
        return kind.from_pretrained(str(place), local_files_only=True, **more)
    except Exception as bad:  # transformers raises many kinds for a folder that is not whole
        told = (str(bad).strip().splitlines() or [type(bad).__name__])[0][:200]
        raise ConfigError(f"--model {place} cannot be opened ({told}): fetch it again, or name another") from None


def pieces(audio: Audio) -> list[Audio]:
    """Stretches that can be heard at once, at 16 kHz."""
    return activity.quiet_cuts(io.resample(audio, RATE), longest=LONGEST, earliest=CUT_FROM)


# ---- Whisper


def _whisper(place: Path, *, language: str, device: str, name: str) -> Listener:
    import torch
    from transformers import WhisperForConditionalGeneration, WhisperProcessor

    processor = _opened(WhisperProcessor, place)
    model = _opened(WhisperForConditionalGeneration, place, use_safetensors=True).to(device).eval()
    asked = _asked(model, language, name=name)

    def hear(part: Audio) -> HeardText:
        features = processor(part.samples, sampling_rate=RATE, return_tensors="pt").input_features.to(device)
        with torch.inference_mode():
            tokens = model.generate(features, max_new_tokens=MOST_TOKENS, **asked)
            begun = torch.tensor([[model.config.decoder_start_token_id]], device=device)
            if tokens[0, 0] != begun[0, 0]:
                tokens = torch.cat([begun, tokens], 1)
            chances = model(features, decoder_input_ids=tokens[:, :-1]).logits.log_softmax(-1)
            sure = chances[0].gather(1, tokens[0, 1:, None])[:, 0].tolist()
        return _words(processor.tokenizer, tokens[0, 1:].tolist(), sure)

    return lambda audio: joined([hear(part) for part in pieces(audio)])


def _asked(model: Any, language: str, *, name: str) -> dict[str, str]:
    """What is asked of the decoder: a language, where the model knows several."""
    known = getattr(model.generation_config, "lang_to_id", None) or {}
    code = two_letters(language) or language
    if not known:
        if code != "en":
            raise ConfigError(
                f"{name} knows English alone, and this workspace is for {language!r}: name another --model"
            )
        return {}
    if f"<|{code}|>" not in known:
        raise ConfigError(f"{name} does not know {language!r}: ask --with mms, or train the workspace's own recogniser")
    return {"language": f"<|{code}|>", "task": "transcribe"}


def _words(tokenizer: Any, ids: list[int], log_probs: list[float]) -> HeardText:
    special = set(tokenizer.all_special_ids)
    kept = [
        (id, chance) for id, chance in zip(ids, log_probs, strict=True) if id not in special and id < len(tokenizer)
    ]
    tokens = tokenizer.convert_ids_to_tokens([id for id, _ in kept])
    return words_of_tokens(tokens, [chance for _, chance in kept], tokenizer.convert_tokens_to_string)


# ---- networks with CTC: MMS with an adapter for each language, or one for a single language


def _ctc(model: str, *, language: str, device: str) -> Listener:
    import torch
    from transformers import AutoFeatureExtractor, Wav2Vec2CTCTokenizer, Wav2Vec2ForCTC

    codes = [language, *load(language).aliases]
    place = _place(model, *(f"adapter.{code}.safetensors" for code in codes))
    alphabets = _alphabets(place)
    code = next((one for one in codes if one in alphabets), "")
    if alphabets and not code:
        raise ConfigError(f"{model} does not know {language!r}: name another --model, or train the workspace's own")
    settings: dict[str, Any] = {"target_lang": code} if code else {}
    network = _opened(
        Wav2Vec2ForCTC, place, use_safetensors=True, **settings, **({"ignore_mismatched_sizes": True} if code else {})
    )
    network = network.to(device).eval()
    tokenizer = _opened(Wav2Vec2CTCTokenizer, place, **settings)
    prepare = _opened(AutoFeatureExtractor, place)
    blank = tokenizer.pad_token_id
    order = [blank, *(id for id in range(network.config.vocab_size) if id != blank)]
    names = {id: token for token, id in tokenizer.get_vocab().items()}
    special = set(tokenizer.all_special_tokens) - {DELIMITER}
    symbols = ["" if names.get(id, "") in special else names.get(id, "") for id in order]

    def hear(part: Audio) -> HeardText:
        given = prepare(part.samples, sampling_rate=RATE, return_tensors="pt").input_values.to(device)
        with torch.inference_mode():
            heard = network(given).logits[0].log_softmax(-1)[:, order].float().cpu().numpy()
        return words_heard(heard, symbols, gap=DELIMITER)

    return lambda audio: joined([hear(part) for part in pieces(audio)])


def _alphabets(place: Path) -> list[str]:
    """The languages of a model with an alphabet for each; none of one that has a single alphabet."""
    try:
        held = load_json(place / "vocab.json")
    except (OSError, BadData) as bad:
        raise ConfigError(f"--model {place} has no vocab.json that can be read ({bad}): fetch it again") from None
    return [name for name, one in held.items() if isinstance(one, dict)] if isinstance(held, dict) else []

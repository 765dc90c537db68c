"""Vocabularies of pieces as files of `tokenizers` (BPE with runs of word signs), such as the vocab.json of XTTS, and as
files of GPT-2, which cuts bytes."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

from olu.core.errors import TextError
from olu.core.parse import BadData, load_json
from olu.text.pieces import SPACE, START, STOP, UNKNOWN, BytePieceVocabulary, PieceVocabulary

MOST_PIECES = 1_000_000
HOLE = "[hole {}]"  # an id that the file gives to nothing: its row exists all the same
NEEDED = (STOP, UNKNOWN, SPACE, START)
VOCAB, MERGES, ADDED, TOLD = "vocab.json", "merges.txt", "added_tokens.json", "tokenizer_config.json"
END_OF_TEXT = "<|endoftext|>"
ENGLISH_SIGNS = string.ascii_letters + string.digits + ".,;:!?'\"-()"  # what a model of bytes of English has met
OFF = ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges")


def read_pieces(path: Path) -> PieceVocabulary:
    """The vocabulary of a file. Ids stay as they are, also where the file leaves some out."""
    try:
        held = load_json(path)
    except (BadData, OSError) as bad:
        raise TextError(f"{path} cannot be read as a vocabulary: {bad}") from None
    model = held.get("model") if isinstance(held, dict) else None
    if not isinstance(model, dict) or model.get("type", "BPE") != "BPE" or not isinstance(model.get("vocab"), dict):
        raise TextError(f"{path} is no BPE vocabulary of `tokenizers`: take the vocab.json of the base")
    if strange := next((name for name in OFF if model.get(name)), None):
        raise TextError(f"{path}: {strange} is set, and pieces are not cut that way here: take the base's own file")
    return _checked(path, held, model)


def _checked(path: Path, held: dict[str, Any], model: dict[str, Any]) -> PieceVocabulary:
    added = held.get("added_tokens") or []
    if not isinstance(added, list) or not all(
        isinstance(one, dict) and isinstance(one.get("content"), str) and type(one.get("id")) is int for one in added
    ):
        raise TextError(f"{path}: added_tokens is not a list of tokens with ids: take the base's own file")
    specials = {str(one["content"]): int(one["id"]) for one in added}
    ids = {**model["vocab"], **specials}
    if not all(type(id) is int and 0 <= id < MOST_PIECES for id in ids.values()):
        raise TextError(f"{path} has an id that is no number below {MOST_PIECES:,}: take the base's own file")
    names = {id: piece for piece, id in ids.items()}
    if len(names) != len(ids):
        twice = next(piece for piece, id in ids.items() if names[id] != piece)
        raise TextError(f"{path} gives the id of {twice!r} to another piece too: take the base's own file")
    if lost := next((name for name in NEEDED if name not in ids), None):
        raise TextError(f"{path} has no {lost}: it is no vocabulary of XTTS or Chatterbox")
    symbols = [names.get(id, HOLE.format(id)) for id in range(max(names) + 1)]
    holes = [symbol for id, symbol in enumerate(symbols) if id not in names]
    return PieceVocabulary(symbols, _merges(path, model), specials=[*dict.fromkeys([*NEEDED, *specials]), *holes])


def _merges(path: Path, model: dict[str, Any]) -> list[tuple[str, str]]:
    """Pairs, which older files write as one string with a space in it."""
    found = []
    for one in model.get("merges") or []:
        pair = one.split(" ") if isinstance(one, str) else one
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(half, str) for half in pair)):
            raise TextError(f"{path}: the merge {one!r:.40} is no pair: take the base's own file")
        found.append((pair[0], pair[1]))
    return found


def tokenizers_file(vocabulary: PieceVocabulary) -> dict[str, Any]:
    """The same as `tokenizers` reads it; ids that stand for nothing are left out again."""
    specials = set(vocabulary.specials)
    holes = {HOLE.format(id) for id in range(vocabulary.size)}
    named = {piece: id for id, piece in enumerate(vocabulary.symbols) if piece not in holes}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": id, **flags, "content": piece} for piece, id in named.items() if piece in specials],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": UNKNOWN,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "vocab": named,
            "merges": [f"{a} {b}" for a, b in vocabulary.merges],
        },
    }


# ---------------------------------------------------------------- bytes, as GPT-2 has them


def read_byte_pieces(folder: Path) -> BytePieceVocabulary:
    """Of vocab.json, merges.txt and, where they are, the tokens that were added."""
    ids = _table(folder / VOCAB)
    added = _added(folder)
    for piece, id in added.items():
        if ids.setdefault(piece, id) != id:
            raise TextError(
                f"{folder}: the token {piece!r:.40} has the ids {ids[piece]} and {id}: take the base's files"
            )
    names = {id: piece for piece, id in ids.items()}
    if sorted(names) != list(range(len(ids))):
        raise TextError(
            f"{folder / VOCAB} and {ADDED} have {len(ids)} tokens, whose ids are not 0 to {len(ids) - 1}: take all"
            " files of the base's tokenizer"
        )
    specials = [*added, *([END_OF_TEXT] if END_OF_TEXT in ids else [])]
    symbols = [names[id] for id in range(len(names))]
    return BytePieceVocabulary(symbols, _pairs(folder / MERGES), specials=dict.fromkeys(specials), met=ENGLISH_SIGNS)


def _table(path: Path) -> dict[str, int]:
    try:
        held = load_json(path)
    except (BadData, OSError) as bad:
        raise TextError(f"{path} cannot be read as a vocabulary: {bad}") from None
    if not isinstance(held, dict) or not held or not all(type(id) is int and id >= 0 for id in held.values()):
        raise TextError(f"{path} is no table of pieces and ids, as GPT-2 has it: take the file of the base")
    return dict(held)


def _added(folder: Path) -> dict[str, int]:
    """Tokens beside the vocabulary, which newer folders have among the tokenizer's settings alone."""
    if (folder / ADDED).is_file():
        return _table(folder / ADDED)
    if not (folder / TOLD).is_file():
        return {}
    try:
        rows = load_json(folder / TOLD).get("added_tokens_decoder", {})
        return {str(one["content"]): int(id) for id, one in rows.items()}
    except (BadData, OSError, AttributeError, TypeError, KeyError, ValueError):
        raise TextError(f"{folder / TOLD}: its added tokens cannot be read: take the file of the base") from None


def _pairs(path: Path) -> list[tuple[str, str]]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as bad:
        raise TextError(f"{path} cannot be read as merges: {bad}") from None
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or (number == 1 and line.startswith("#version")):
            continue
        left, _, right = line.rstrip("\r").partition(" ")
        if not left or not right or " " in right:
            raise TextError(f"{path}, line {number}: {line!r:.40} is no pair of pieces: take the file of the base")
        found.append((left, right))
    return found


def byte_files(vocabulary: BytePieceVocabulary) -> dict[str, str]:
    """The same as files, by name, as `transformers` reads them."""
    specials = set(vocabulary.specials) - {END_OF_TEXT}
    table = {piece: id for id, piece in enumerate(vocabulary.symbols) if piece not in specials}
    added = {piece: id for id, piece in enumerate(vocabulary.symbols) if piece in specials}
    flags = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": False}
    rows = {str(id): {"content": piece, **flags} for piece, id in added.items()}
    if END_OF_TEXT in table:
        rows[str(table[END_OF_TEXT])] = {"content": END_OF_TEXT, **flags, "special": True}
    ends = dict.fromkeys(("bos_token", "eos_token", "unk_token"), END_OF_TEXT)
    told = {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": False, "added_tokens_decoder": rows, **ends}
    merges = "".join(f"{a} {b}\n" for a, b in vocabulary.merges)
    written = {VOCAB: table, ADDED: added, TOLD: told, "special_tokens_map.json": ends}
    files = {name: json.dumps(held, ensure_ascii=False) for name, held in written.items()}
    return {**files, MERGES: f"#version: 0.2\n{merges}"}

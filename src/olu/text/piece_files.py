"""Vocabularies of pieces as `tokenizers` files (BPE with runs of word signs), such as the vocab.json of XTTS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from olu.core.errors import TextError
from olu.core.parse import BadData, load_json
from olu.text.pieces import SPACE, START, STOP, UNKNOWN, PieceVocabulary

MOST_PIECES = 1_000_000
HOLE = "[hole {}]"  # an id that the file gives to nothing: its row exists all the same
NEEDED = (STOP, UNKNOWN, SPACE, START)
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
        raise TextError(f"{path} has no {lost}: it is no vocabulary of XTTS")
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

"""What a folder of Chatterbox is, in sentences: for `olu doctor --base`, before anything is trained."""

from __future__ import annotations

import hashlib
import math
import unicodedata
from pathlib import Path

from olu.core.errors import TrainError
from olu.core.files import hash_file
from olu.core.words import first_names, many, size
from olu.families.chatterbox.base import REWRITTEN, SPELLED, hash_of
from olu.families.chatterbox.batch import CODES_A_SECOND
from olu.families.chatterbox.foreign.conds import CONDS, read_conds
from olu.families.chatterbox.foreign.read import S3GEN_FILES, ChatterboxRelease, all_of, read_release, tensors
from olu.families.chatterbox.plan import memory, saved
from olu.text.languages import load
from olu.text.pieces import SPARE, BytePieceVocabulary, PieceVocabulary, tag_of
from olu.train.weight_check import check_numbers

PUBLISHED = {  # bytes, by the names of the released files
    "t3_cfg.safetensors": (2_129_653_744,),
    "t3_mtl23ls_v2.safetensors": (2_143_989_752,),
    "t3_mtl23ls_v3.safetensors": (2_143_989_928,),
    "t3_23lang.safetensors": (2_143_154_168,),
    "t3_turbo_v1.safetensors": (1_915_480_052,),
    "t3_nano_v1.safetensors": (869_899_204,),
    "s3gen.safetensors": (1_056_484_620,),
    "s3gen_meanflow.safetensors": (1_064_875_036,),
    "ve.safetensors": (5_695_784,),
    "tokenizer.json": (25_470,),
    "grapheme_mtl_merged_expanded_v1.json": (69_989, 70_011),
}
ENGLISH_BLOB = "abd07c71"  # of tokenizer.json: how the hash that git gives the released one begins
SHOWN, SECONDS, TOKENS = 40, 10.0, 120


def sentences(place: Path) -> list[str]:
    """All that is known of it; what cannot be used is an error."""
    release = read_release(place)
    for name, weights in (("t3", release.t3), ("s3gen", release.s3gen), ("ve", release.ve)):
        check_numbers({f"{name}.{one}": value for one, value in weights.items()})
    c = release.config
    numbers = sum(math.prod(one.shape) for one in release.t3.values())
    return [
        f"Chatterbox {c.size}: T3 is a {'Llama' if c.backbone == 'llama' else 'GPT-2'} of {c.layers} blocks of"
        f" {c.width}, {many(len(release.t3), 'tensor')}, {numbers:,} numbers, {release.vocab_size} text ids",
        *(_file(path) for path in release.files.values()),
        _tokenizer(release),
        *_decoders(release),
        *_built_in(release),
        *_needs(release),
        *release.notes,
    ]


def _file(path: Path) -> str:
    """Its length beside the released one's, and its hash to compare."""
    length, known = path.stat().st_size, PUBLISHED.get(path.name)
    verdict = "" if known is None else ", as released" if length in known else f", released: {known[0]:,}"
    return f"{path.name}: {length:,} bytes{verdict}, sha256 {hash_file(path)[:16]}{_git(path)}"


def _git(path: Path) -> str:
    if path.name != "tokenizer.json":
        return ""
    data = path.read_bytes()
    made = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    return ", the released one by its git hash" if made.startswith(ENGLISH_BLOB) else ""


def _tokenizer(release: ChatterboxRelease) -> str:
    held = release.vocabulary
    if isinstance(held, BytePieceVocabulary):
        added = [one for one in held.specials if one.startswith("[")]
        return (
            f"tokenizer: {held.size} ids, {len(held.merges)} merges, of bytes as GPT-2 has them: every text has ids,"
            f" and English alone was learnt; {many(len(added), 'tag')} ({first_names(added, 6, count=True)})"
        )
    tags = [tag.strip("[]") for tag in held.specials if tag.islower() and len(tag) in (4, 5)]
    spare = sum(bool(SPARE.fullmatch(one)) for one in held.symbols)
    said = (
        f"languages by their tags: {first_names(tags, SHOWN, count=True)}" if held.tagged else "English, without tags"
    )
    return f"tokenizer: {held.size} ids, {len(held.merges)} merges, {spare} spare ids; {said}"


def _decoders(release: ChatterboxRelease) -> list[str]:
    """Whether the decoder of two steps may be used with these codes."""
    found = all_of(release.folder, S3GEN_FILES)
    if len(found) < 2:
        return []
    hashes = {path.name: hash_of(tensors(path), "tokenizer.") for path in found}
    same = (
        "one tokenizer, so model.meanflow may choose either"
        if len(set(hashes.values())) == 1
        else ("different tokenizers: their codes are not the same, and only one fits this T3")
    )
    return [f"{' and '.join(hashes)} have {same}"]


def _built_in(release: ChatterboxRelease) -> list[str]:
    path, c = release.folder / CONDS, release.config
    if not path.is_file():
        return []
    voice = read_conds(path, codes=c.codes)
    if len(voice.vector_G) != c.voice_width:
        raise TrainError(f"{path}: its speaker vector has {len(voice.vector_G)} numbers, and T3 takes {c.voice_width}")
    seconds = [len(one) / CODES_A_SECOND for one in (voice.prompt_N, voice.reference.codes_P)]
    told = "" if voice.emotion is None else f", exaggeration {voice.emotion:g}"
    return [f"{CONDS}: a voice of its own, a prompt of {seconds[0]:.1f} s and a reference of {seconds[1]:.1f} s{told}"]


def _needs(release: ChatterboxRelease) -> list[str]:
    c = release.config
    whole = memory(c, clips=1, seconds=SECONDS, tokens=TOKENS)
    lora = memory(c.model_copy(update={"lora_rank": 32}), clips=1, seconds=SECONDS, tokens=TOKENS)
    return [
        f"to train on it: about {size(whole)} of memory with one clip of {SECONDS:g} s in 32 bits, {size(lora)} with"
        f" adapters; {size(saved(c))} of disk for a checkpoint"
    ]


def suits(place: Path, language: str) -> list[str]:
    """What the tokenizer knows of a language: its tag, and the letters its own sentences are written with."""
    held = read_release(place).vocabulary
    tag, lower = tag_of(language), held.tagged
    texts = [text.lower() if lower else text for text in written_in(language)]
    if isinstance(held, BytePieceVocabulary):
        return [_bytes_of(held, language, texts)]
    if lower and tag in SPELLED:
        return [f"{language} by letters cannot be learnt from it: {REWRITTEN}; phones can (model.reads=phones)"]
    signs = {sign for text in texts for sign in held.formed(text) if not sign.isspace()}
    lost = sorted(signs - set(held.symbols))
    said = _tag(held, tag, grows=bool(lost)) if held.tagged else f"{language} has no tag here: English texts have none"
    if not texts:
        return [said, f"no texts of {language} are at hand: 'olu train' reports every new symbol"]
    if not lost:
        return [said, f"all {len(signs)} signs of its sample texts have ids"]
    rows = f"{len(lost)} of {len(signs)} signs of its sample texts have none ({first_names(lost, 12, count=True)})"
    return [said, f"{rows}: both tables of text grow by them, or read by phones (model.reads = 'phones')"]


def written_in(language: str) -> list[str]:
    """The sentences that come with a language, else its letters and the words its reading is tested with."""
    found = load(language)
    if sentences := found.sentences():
        return sentences
    files = {name: found.files().get(name, b"").decode("utf-8") for name in ("golden.tsv", "letters.tsv")}
    rows = [line.split("\t")[0] for text in files.values() for line in text.splitlines()]
    return [row for row in rows if row and all(unicodedata.category(sign)[0] in "LM" for sign in row)]


def _bytes_of(held: BytePieceVocabulary, language: str, texts: list[str]) -> str:
    if not texts:
        return f"{language}: there are no tags, and every text has ids; no texts of it are at hand to count them"
    signs = sum(len(held.formed(text)) for text in texts)
    ids = sum(len(held.encode_text(text)) for text in texts)
    return (
        f"{language}: there are no tags, and every text has ids: {ids / signs:.2f} for a sign (English: about 0.25);"
        " the multilingual Chatterbox is the better base for a language"
    )


def _tag(held: PieceVocabulary, tag: str, *, grows: bool) -> str:
    if f"[{tag}]" in held.symbols:
        return f"tag [{tag}]: there, id {held.symbols.index(f'[{tag}]')}"
    spare = next((id for id, one in enumerate(held.symbols) if SPARE.fullmatch(one)), None)
    if spare is None or grows:
        return f"tag [{tag}]: not there; it gets an id at the end"
    return f"tag [{tag}]: not there; it takes the spare id {spare} ({held.symbols[spare]}), and no table grows"

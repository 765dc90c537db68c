"""Chatterbox as it was released and as others left it: read, told of, grown for a language, written again."""

from __future__ import annotations

import json
import os
import pickle
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.helpers.chatterbox_release import IDS, tokenizer, write_release

from olu.core.errors import TrainError
from olu.families.chatterbox.base import read_base
from olu.families.chatterbox.config import RATE, ChatterboxConfig
from olu.families.chatterbox.foreign.conds import CONDS, read_conds
from olu.families.chatterbox.foreign.read import read_release
from olu.families.chatterbox.foreign.tell import sentences, written_in
from olu.families.chatterbox.foreign.to_upstream import lost_of, use_of, write_folder, write_voice_of
from olu.families.chatterbox.learn import ChatterboxLearner
from olu.stages.bases import check_base
from olu.text.piece_files import read_pieces
from olu.text.piece_growth import renamed_starts, starts_of, with_language
from olu.text.pieces import PieceVocabulary, vocabulary_from
from olu.train.grow_symbols import Growth

VARIABLE = "OLU_CHATTERBOX_TOKENIZERS"  # a folder with the released tokenizer files, which are not in the project
TOKENIZER = "grapheme_mtl_merged_expanded_v1.json"
REAL = Path(os.environ.get(VARIABLE, "")) / TOKENIZER
needs_real = pytest.mark.skipif(
    not os.environ.get(VARIABLE) or not REAL.is_file(), reason=f"{VARIABLE} names no folder with {REAL.name}"
)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release(tmp_path_factory.mktemp("chatterbox") / "release", meanflow=True)


def learner_of(place: Path, growth: Growth | None = None, **changes: object) -> ChatterboxLearner:
    base = read_base(place)
    rows = IDS + (len(growth.parents) if growth else 0)
    learner = ChatterboxLearner(ChatterboxConfig(**{**base.settings, **changes}), vocab_size=rows, num_speakers=1)
    base.load(learner, growth)
    return learner.eval()


def test_a_released_folder_is_read_whole(release: Path, tmp_path: Path) -> None:
    held = read_release(release)
    assert held.vocab_size == IDS and held.config.size == "tiny" and not held.config.meanflow
    assert held.vocabulary is not None and held.vocabulary.form == "NFKD"
    first = learner_of(release).t3.state_dict()
    for name, kinds in {"half": {"half": True}, "wrapped": {"wrapped": True}}.items():
        again = learner_of(write_release(tmp_path / name, **kinds)).t3.state_dict()
        assert all(torch.allclose(first[key], again[key], atol=1e-3) for key in first), name


def test_a_pickle_that_would_run_code_is_refused(tmp_path: Path) -> None:
    folder = write_release(tmp_path / "evil")
    (folder / "t3_mtl23ls_v2.safetensors").unlink()

    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return os.mkdir, (str(tmp_path / "ran"),)

    (folder / "t3_mtl23ls_v2.pt").write_bytes(pickle.dumps({"model": Evil()}))
    with pytest.raises(TrainError, match="holds more than plain tensors"):
        read_release(folder)
    assert not (tmp_path / "ran").exists()


def test_what_does_not_fit_is_one_sentence(tmp_path: Path) -> None:
    folder = write_release(tmp_path / "a")
    t3 = load_file(folder / "t3_mtl23ls_v2.safetensors")
    grown = {**t3, "text_emb.weight": torch.cat([t3["text_emb.weight"], t3["text_emb.weight"][:3]])}
    save_file(grown, folder / "t3_mtl23ls_v2.safetensors")
    with pytest.raises(TrainError, match="text_emb has 273 rows and text_head 270"):
        read_release(folder)
    save_file({**grown, "text_head.weight": grown["text_emb.weight"].clone()}, folder / "t3_mtl23ls_v2.safetensors")
    with pytest.raises(TrainError, match=r"has no tokenizer of 273 ids.* has 270"):
        read_release(folder)
    save_file({name: one for name, one in t3.items() if "layers.1" not in name or "mlp" not in name}, folder / "t3.pt")
    (folder / "t3.pt").rename(folder / "t3_mtl23ls_v2.safetensors")
    with pytest.raises(TrainError, match=r"lacks tfmr\.layers\.1"):
        read_release(folder)


def test_the_decoder_of_two_steps_goes_with_the_same_codes(release: Path) -> None:
    assert learner_of(release, meanflow=True).s3gen.flow.sizes.meanflow


def test_doctor_tells_of_a_base(release: Path) -> None:
    told = check_base(str(release), language="ibo")
    said = "; ".join(told.said)
    assert told.good and told.family == "chatterbox", said
    assert "Llama of 2 blocks of 64" in said and "270 ids, 3 merges, 2 spare ids" in said
    assert "tag [ig]: not there; it takes the spare id" in said and "licence is mit" in said
    assert "have one tokenizer" in said and "sha256" in said


def test_a_tag_alone_takes_a_spare_id_and_letters_grow_both_tables(release: Path) -> None:
    base = read_base(release)
    old = vocabulary_from(dict(base.vocabulary or {}))
    assert isinstance(old, PieceVocabulary)
    tagged = with_language(old, ["ọ̀rọ̀ ńlá"], language="yor")
    assert tagged.size == IDS and tagged.tag == "yo" and "[PLACEHOLDER55]" not in tagged.symbols
    (row, tags), *rest = renamed_starts(old.symbols, tagged)
    assert not rest and old.symbols[row] == "[PLACEHOLDER55]" and len(tags) == 3
    ids = [tagged.encode_text(unicodedata.normalize(form, "ọ̀rọ̀")) for form in ("NFC", "NFD")]
    assert ids[0] == ids[1] and ids[0][0] == row and 1 not in ids[0]
    again = Growth(IDS, (), again=renamed_starts(old.symbols, tagged))
    before, after = learner_of(release).t3, learner_of(release, again).t3
    others = [one for one in range(IDS) if one != row]
    assert torch.equal(before.text_emb.weight[others], after.text_emb.weight[others])
    assert not torch.equal(before.text_emb.weight[row], after.text_emb.weight[row])
    grown = with_language(old, ["ሰላም"], language="amh")
    assert grown.symbols[:IDS] == old.symbols and set(grown.symbols[IDS:]) == {"[am]", "ላ", "ም", "ሰ"}
    growth = Growth(IDS, starts_of(old.symbols, grown, language="amh"))
    larger = learner_of(release, growth).t3
    assert len(larger.text_emb.weight) == len(larger.text_head.weight) == IDS + 4
    heard, ids_old, codes = torch.zeros(1, 3, 64), torch.randint(3, 200, (1, 7)), torch.randint(0, 81, (1, 9))
    one, other = before(heard, ids_old, codes), larger(heard, ids_old, codes)
    assert torch.equal(one[1], other[1]) and torch.equal(one[0], other[0][:, :, :IDS])


def test_a_voice_of_its_own_is_written_and_read_safely(release: Path, tmp_path: Path) -> None:
    learner, folder = learner_of(release), write_release(tmp_path / "release")
    assert not write_voice_of(learner, folder / CONDS), "nobody was heard"
    random = np.random.default_rng(0)
    learner.meet(0, [(3000 * random.standard_normal(2 * RATE)).astype(np.int16) for _ in range(2)])
    assert write_voice_of(learner, folder / CONDS)
    voice = read_conds(folder / CONDS, codes=81)
    rows = learner.t3.condition(voice.vector_G[None], voice.prompt_N[None], torch.tensor([voice.emotion]))
    assert torch.equal(rows, learner.heard(learner.references[0])) and voice.emotion == 0.5
    heard = learner.s3gen.heard(learner.references[0][0])
    assert torch.equal(voice.reference.codes_P, heard.codes_P) and torch.equal(voice.reference.mel_FM, heard.mel_FM)
    assert any("a prompt of 1.0 s and a reference of 2.0 s, exaggeration 0.5" in one for one in sentences(folder))
    assert "reference.wav" not in use_of(learner.config, read_pieces(folder / TOKENIZER), "a", spoken=True)
    with pytest.raises(TrainError, match="codes that the tokenizer does not know"):
        read_conds(folder / CONDS, codes=9)
    held = torch.load(folder / CONDS, weights_only=True)
    for part, name, bad in (("t3", "speaker_emb", None), ("gen", "prompt_feat", torch.full((1, 4, 80), torch.nan))):
        torch.save({**held, part: {**held[part], name: bad}}, tmp_path / CONDS)
        with pytest.raises(TrainError, match=f"{name} is not as Chatterbox has it"):
            read_conds(tmp_path / CONDS, codes=81)
    (tmp_path / CONDS).write_bytes(pickle.dumps({"t3": os.mkdir}))
    with pytest.raises(TrainError, match="holds more than plain tensors"):
        read_conds(tmp_path / CONDS, codes=81)


def test_a_run_is_written_for_the_public_program_and_read_back(release: Path, tmp_path: Path) -> None:
    learner = learner_of(release, lora_rank=8)
    for name, one in learner.t3.named_parameters():
        if name.endswith("lora_up"):
            torch.nn.init.normal_(one.data, std=0.02)
    base = read_base(release)
    vocabulary = with_language(vocabulary_from(dict(base.vocabulary or {})), ["o"], language="ibo")  # type: ignore[arg-type]
    write_folder(learner, tmp_path, vocabulary=vocabulary)
    assert {path.suffix for path in tmp_path.iterdir()} == {".safetensors", ".pt", ".json"}
    assert any("[ig]" in one for one in lost_of(learner.config, vocabulary))
    window = torch.load(tmp_path / "s3gen.pt", weights_only=True)["tokenizer.window"]
    assert torch.equal(window, torch.hann_window(400)), "which the loader of that spelling wants"
    assert "tokenizer.window" not in load_file(tmp_path / "s3gen.safetensors"), "as released"
    heard, ids, codes = torch.zeros(1, 3, 64), torch.randint(3, 200, (1, 7)), torch.randint(0, 81, (1, 9))
    wanted = learner.t3(heard, ids, codes)[1]
    for gone in (".pt", ".safetensors"):  # each spelling alone is enough
        kept = tmp_path / gone[1:]
        kept.mkdir()
        for path in tmp_path.iterdir():
            if path.is_file() and path.suffix != gone:
                os.link(path, kept / path.name)
        assert torch.allclose(learner_of(kept).t3(heard, ids, codes)[1], wanted, atol=1e-5)
    assert not any("lora" in name for name in load_file(tmp_path / "t3_mtl23ls_v2.safetensors"))


# ---------------------------------------------------------------- the released tokenizer


HAUSA = ("ɓarawo ya ƙi zuwa, 'yan ɗaki sun tafi.", "ina kwana? sannu da zuwa!")


def texts_of(code: str) -> list[str]:
    found = [text.lower() for text in written_in(code)] or list(HAUSA)
    assert len(found) > 30 or code == "hau"
    return found


@needs_real
def test_the_released_tokenizer_cuts_as_tokenizers_does() -> None:
    from tokenizers import Tokenizer

    public, held = Tokenizer.from_file(str(REAL)), read_pieces(REAL)
    held = PieceVocabulary(held.symbols, held.merges, specials=held.specials, form="NFKD")
    assert held.size == 2454
    lines = [text for code in ("swa", "ibo", "yor", "spa", "hau", "amh") for text in texts_of(code)]
    random, words = np.random.default_rng(0), [word for line in lines for word in line.split()]
    lines += [" ".join(random.choice(words, int(random.integers(1, 12)))) for _ in range(10_000 - len(lines))]
    for line in lines:
        text = unicodedata.normalize("NFKD", line).replace(" ", "[SPACE]")
        assert held.encode_text(line, tag="sw") == public.encode(f"[sw]{text}").ids, line
    assert [held.symbols[id] for id in held.encode_text("mwalimu", tag="sw")] == ["[sw]", "m", "w", "al", "im", "u"]


@needs_real
@pytest.mark.parametrize(("code", "new"), [("ibo", 0), ("yor", 0), ("hau", 0), ("swa", 0), ("spa", 0), ("amh", 100)])
def test_languages_in_the_released_tokenizer(code: str, new: int) -> None:
    held = read_pieces(REAL)
    held = PieceVocabulary(held.symbols, held.merges, specials=held.specials, form="NFKD")
    texts = texts_of(code)
    grown = with_language(held, texts, language=code)
    assert grown.size == 2454 if new == 0 else grown.size > 2454 + new
    assert all(not grown.fault_in(text) for text in texts)


def test_the_made_tokenizer_is_one_of_its_kind(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(tokenizer()), encoding="utf-8")
    assert read_pieces(tmp_path / "t.json").size == IDS

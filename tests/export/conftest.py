"""Two small trained workspaces: a Swahili voice by phones and an English one by letters."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from olu.core.files import Workspace
from olu.core.job import finish
from olu.corpus.rights import Rights, save_workspace
from olu.stages.export import export

from ..helpers.workspaces import trained, workspace

SWAHILI = (
    "Habari za asubuhi rafiki yangu.",
    "Watoto wanacheza nje ya nyumba.",
    "Mama anapika chakula kizuri sana.",
    "Leo kuna jua kali, kesho mvua.",
    "Ninapenda kusoma vitabu vingi.",
    "Gari limesimama njiani!",
    "Je, unataka maji baridi?",
    "Shule yetu iko karibu na mto.",
)
ENGLISH = ("The cat sat on the mat.", "A dog ran far, far away!", "Why did the old fox jump?", "He made good bread.")
RIGHTS = Rights(licence="CC-BY-SA-4.0", consent="Amina, 2026-01-02, for a public voice", credits="Amina", source="home")


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def _rows(texts: tuple[str, ...], *, speakers: int) -> list[tuple[str, str, str, str]]:
    sides = ["train"] * (len(texts) - 2) + ["valid", "valid"]
    return [(f"c{at}", text, f"p{at % speakers}", sides[at]) for at, text in enumerate(texts)]


@pytest.fixture(scope="session")
def phones(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    ws = workspace(tmp_path_factory.mktemp("swa"), _rows(SWAHILI, speakers=1), language="swa")
    save_workspace(ws, RIGHTS)
    trained(ws)
    return ws


@pytest.fixture(scope="session")
def letters(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    ws = workspace(tmp_path_factory.mktemp("eng"), _rows(ENGLISH, speakers=2))
    trained(ws)
    return ws


@pytest.fixture(scope="session")
def phones_voice(phones: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With what training needs."""
    path = tmp_path_factory.mktemp("voices") / "phones.voice"
    finish(export(phones.root, output=path, with_training=True))
    return path


@pytest.fixture(scope="session")
def letters_voice(letters: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("voices") / "letters.voice"
    finish(export(letters.root, output=path))
    return path


@pytest.fixture(scope="session")
def real() -> Path:
    """The half-trained Amharic voice."""
    found = Path(os.environ.get("OLU_SHARED", Path(__file__).parents[3] / "shared")) / "base" / "amh-mms-20min"
    if not (found / "model.safetensors").is_file():
        pytest.skip("the half-trained Amharic voice is not here: set OLU_SHARED to the folder that holds base/")
    return found

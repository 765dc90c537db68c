"""What a worker process is given by the front."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from olu.serve.process import Link
from olu.serve.settings import KEY_VARIABLE


def test_a_worker_does_not_get_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "a-key-for-tests")
    monkeypatch.setenv("OLU_SOMETHING", "else")

    async def work() -> bytes:
        link = await Link.start(batch=1, loaded=1)
        try:
            link.send({"do": "report"})
            async for message, _ in link.messages():
                assert message == {"is": "ready"}
                break
            return Path(f"/proc/{link.pid}/environ").read_bytes()
        finally:
            await link.end()

    given = asyncio.run(work())
    assert b"OLU_SOMETHING=else" in given and b"OMP_NUM_THREADS=1" in given
    assert b"a-key-for-tests" not in given

"""Takes: consent first, each take once, the audit's verdict, an import with the rights of who agreed."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import secrets
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from olu.audit.checks import CHECKS
from olu.audit.measure import hear
from olu.audit.thresholds import Thresholds
from olu.core.files import Workspace
from olu.corpus.manifest import Corpus
from olu.corpus.prompts import RecordingPrompt, prompt_id, write_prompts
from olu.corpus.rights import by_source

from ..helpers.studio import Answer, StudioClient

RATE = 48000
TEXTS = ["Habari ya asubuhi.", "Watoto wanacheza mpira.", "Mama anapika ugali."]
OWN = {"x-olu-studio": "1", "content-type": "audio/wav"}


def voice(
    seconds: float = 2.0, *, level: float = 0.1, before: float = 0.4, after: float = 0.4, room: float = 2e-4
) -> Any:
    """Something like speech: noise that comes in syllables, in a quiet room."""
    rng = np.random.default_rng(3)
    room_tone = rng.normal(0, room, round(RATE * (seconds + before + after)))
    at = np.arange(round(RATE * seconds))
    loud = rng.normal(0, level, len(at)) * (0.55 + 0.45 * np.sin(2 * np.pi * 4 * at / RATE))
    room_tone[round(RATE * before) : round(RATE * before) + len(loud)] += loud
    return room_tone


def wav(samples: NDArray[np.float64]) -> bytes:
    out = io.BytesIO()
    soundfile.write(out, np.clip(samples, -1, 1), RATE, format="WAV", subtype="PCM_16")
    return out.getvalue()


class Speaker:
    def __init__(self, tmp_path: Path) -> None:
        self.ws = Workspace.create(tmp_path / "habari", language="swa")
        prompts = [RecordingPrompt(id=prompt_id(text), text=text) for text in TEXTS]
        write_prompts(self.ws, prompts, ())
        self.owner = StudioClient.of(tmp_path)
        made = self.owner.post("/api/links", {"role": "speaker", "name": "Amina", "ws": "habari"}).json
        self.id, self.link = made["id"], made["address"].rpartition("/")[2]
        assert f"/r/{self.link}" in made["address"]
        self.phone = StudioClient(self.owner.app)
        self.ids = [one.id for one in prompts]

    def state(self) -> Any:
        return self.phone.get(f"/api/r/{self.link}").json

    def agree(self, *, agreed: bool = True) -> Answer:
        ask = {"name": "Amina Juma", "agreed": agreed, "sha256": self.state()["consent"]["sha256"]}
        return self.phone.post(f"/api/r/{self.link}/consent", ask)

    def put(self, data: bytes, *, prompt: int = 0, take: str = "", sha256: str = "", number: int = 1) -> Answer:
        take = take or secrets.token_hex(16)
        named = sha256 or hashlib.sha256(data).hexdigest()
        query = f"prompt={self.ids[prompt]}&sha256={named}&number={number}"
        return self.phone.ask("PUT", f"/api/r/{self.link}/takes/{take}?{query}", data, OWN)


@pytest.fixture
def speaker(tmp_path: Path) -> Speaker:
    return Speaker(tmp_path)


def test_nothing_is_taken_before_consent(speaker: Speaker) -> None:
    assert not speaker.state()["consent"]["agreed"]
    assert speaker.put(wav(voice())).status == 403
    wrong = {"name": "Amina", "agreed": True, "sha256": "0" * 64}
    assert speaker.phone.post(f"/api/r/{speaker.link}/consent", wrong).status == 422  # other words than were shown
    assert speaker.phone.post(f"/api/r/{speaker.link}/consent", {**wrong, "name": " "}).status == 422
    assert speaker.agree().json["agreed"]
    kept = json.loads((speaker.ws.root / f"takes/{speaker.id}/consent.jsonl").read_text())
    assert kept["name"] == "Amina Juma" and kept["version"] == 1 and "computer voice" in kept["text"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT.*", kept["at"])
    assert speaker.put(wav(voice())).status == 200
    speaker.owner.post("/api/w/habari/consent", {"text": "Other words."})
    now = speaker.state()["consent"]
    assert now["version"] == 2 and now["text"] == "Other words." and not now["agreed"]


def test_a_take_is_kept_once_sample_for_sample(speaker: Speaker) -> None:
    speaker.agree()
    data, take = wav(voice()), secrets.token_hex(16)
    first = speaker.put(data, take=take)
    assert first.status == 200 and first.json["sha256"] == hashlib.sha256(data).hexdigest()
    for _ in range(3):
        assert speaker.put(data, take=take).json == first.json
    held = list((speaker.ws.root / "takes").rglob("*.wav"))
    assert [path.read_bytes() for path in held] == [data]
    assert speaker.put(wav(voice(1.0)), take=take).status == 409
    assert held[0].read_bytes() == data
    assert speaker.put(data, sha256="0" * 64).status == 422
    assert speaker.phone.get(f"/api/r/{speaker.link}/takes/{take}/sound").body == data
    assert speaker.state()["takes"][speaker.ids[0]]["take"] == take


@pytest.mark.parametrize(
    ("samples", "kind"),
    [
        (voice(), "good"),
        (voice(level=0.004, room=1e-5), "quiet"),
        (np.clip(voice(level=0.9), -0.9995, 0.9995) * 1.0, "clipped"),
        (voice(before=0.0), "early"),
        (voice(after=0.0), "late"),
        (voice(level=0.05, room=0.02), "noisy"),
        (np.zeros(RATE), "silent"),
        (voice(0.2, before=0.1, after=0.1), "short"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_the_verdict_is_the_audits(speaker: Speaker, samples: NDArray[np.float64], kind: str) -> None:
    speaker.agree()
    told = speaker.put(wav(samples)).json["verdict"]
    assert told["kind"] == kind, told
    record = json.loads(next((speaker.ws.root / f"takes/{speaker.id}/records").iterdir()).read_text())
    assert speaker.owner.post(f"/api/w/habari/speakers/{speaker.id}/import").status == 200
    done(speaker.owner)
    corpus = Corpus.open(speaker.ws)
    heard = [hear(corpus, clip) for clip in corpus]
    limits = Thresholds()
    same = {"unreadable", "duration", "silence", "level", "clipping", "noise", "hum", "offset"}
    audit = {
        (one.mark.check, one.mark.severity, one.mark.message)
        for check in CHECKS
        if check.name in same
        for one in check.look(heard, limits)
        if one.mark.severity != "info"
    }
    assert {(one["check"], one["severity"], one["message"]) for one in record["verdict"]["marks"]} == audit


def done(client: StudioClient) -> None:
    import time

    end = time.monotonic() + 60
    while client.studio.jobs.live():
        client.studio.jobs.advance()
        assert time.monotonic() < end
        time.sleep(0.05)
    for child in client.studio.jobs._children.values():
        child.wait(10)
    client.studio.jobs.advance()
    assert all(job.state == "done" for job in client.studio.jobs.all()), client.studio.jobs.all()[0].said


def test_done_imports_the_last_take_of_each_sentence_with_its_consent(speaker: Speaker) -> None:
    assert speaker.phone.post(f"/api/r/{speaker.link}/done").status == 422
    speaker.agree()
    speaker.put(wav(voice(1.5)), prompt=0, number=1)
    speaker.put(wav(voice(1.6)), prompt=1, number=2)
    speaker.put(wav(voice(1.7)), prompt=0, number=3)  # again
    assert speaker.phone.post(f"/api/r/{speaker.link}/done").json["clips"] == 2
    done(speaker.owner)
    clips = {clip.text: clip for clip in Corpus.open(speaker.ws)}
    assert set(clips) == set(TEXTS[:2]) and {clip.speaker for clip in clips.values()} == {"Amina"}
    assert clips[TEXTS[0]].seconds == pytest.approx(2.5, abs=0.01)
    (rights,) = by_source(speaker.ws).values()
    assert rights.answer == "yes" and "Amina Juma agreed on 20" in rights.consent and "version 1" in rights.consent
    # the next evening: one more, and one read again
    speaker.put(wav(voice(1.8)), prompt=2, number=4)
    speaker.put(wav(voice(1.9)), prompt=1, number=5)
    assert speaker.phone.post(f"/api/r/{speaker.link}/done").json["clips"] == 3
    done(speaker.owner)
    corpus = Corpus.open(speaker.ws)
    wanted = [clip for clip in corpus if corpus.is_wanted(clip)]
    assert sorted(clip.text for clip in wanted) == sorted(TEXTS)
    assert next(clip for clip in wanted if clip.text == TEXTS[1]).seconds == pytest.approx(2.7, abs=0.01)


def test_a_consent_taken_back_stops_imports_and_exports(speaker: Speaker) -> None:
    speaker.agree()
    speaker.put(wav(voice()))
    speaker.phone.post(f"/api/r/{speaker.link}/done")
    done(speaker.owner)
    assert not speaker.agree(agreed=False).json["agreed"]
    (rights,) = by_source(speaker.ws).values()
    assert rights.answer == "no" and "withdrawn" in rights.consent
    assert speaker.put(wav(voice(1.2)), prompt=1).status == 403
    assert speaker.phone.post(f"/api/r/{speaker.link}/done").status == 422


def test_a_take_of_a_list_that_has_changed_is_still_taken(speaker: Speaker) -> None:
    speaker.agree()
    assert len(speaker.state()["prompts"]) == 3
    write_prompts(speaker.ws, [RecordingPrompt(id=prompt_id("Mpya."), text="Mpya.")], ())
    assert speaker.put(wav(voice())).status == 200
    texts = [one["text"] for one in speaker.state()["prompts"]]
    assert texts == ["Mpya.", TEXTS[0]]


@pytest.mark.parametrize(
    "body", [b"", b"RIFF", b"\0" * 5000, b"not a sound at all", wav(np.zeros(0)), wav(voice())[:44]]
)
def test_what_is_no_sound_is_refused(speaker: Speaker, body: bytes) -> None:
    speaker.agree()
    assert speaker.put(body).status == 422
    assert not list((speaker.ws.root / "takes").rglob("*.wav"))


def test_hostile_takes_write_nothing(speaker: Speaker) -> None:
    speaker.agree()
    data = wav(voice(1.0))
    named = hashlib.sha256(data).hexdigest()
    for take in ("..%2f..%2fx", "x", "%00", "A" * 32, "0" * 33):
        url = f"/api/r/{speaker.link}/takes/{take}?prompt={speaker.ids[0]}&sha256={named}"
        assert speaker.phone.ask("PUT", url, data, OWN).status in (404, 405, 422)
    url = f"/api/r/{speaker.link}/takes/{'0' * 32}?prompt=nothing&sha256={named}"
    assert speaker.phone.ask("PUT", url, data, OWN).status == 422
    assert speaker.phone.ask("PUT", url, data, {}).status == 403  # not from our page
    assert speaker.phone.ask("PUT", url, data, {**OWN, "sec-fetch-site": "cross-site"}).status == 403
    huge = b"\0" * (17 * 2**20)
    assert speaker.put(huge).status == 422
    broken = speaker.phone.ask("PUT", url, data, OWN, cut=True)
    assert broken.status in (400, 422)
    assert not list((speaker.ws.root / "takes").rglob("*.wav"))


def test_the_page_is_light_and_opens_the_microphone_alone(speaker: Speaker) -> None:
    page = speaker.phone.get(f"/r/{speaker.link}")
    assert page.status == 200 and "microphone=(self)" in page.headers["permissions-policy"]
    assert speaker.link not in page.text and TEXTS[0] not in page.text
    assert "microphone=()" in speaker.owner.get("/").headers["permissions-policy"]
    names = set(re.findall(r'"/parts/([\w./-]+)"', page.text)) | {"recorder-worker.js"}
    script = speaker.phone.get("/parts/recorder.js").text
    names |= set(re.findall(r'"([\w-]+\.(?:js|css|svg))"', script))
    names |= set(re.findall(r'from "\./([\w-]+\.js)"', script))
    sent = len(gzip.compress(page.body))
    sent += sum(len(gzip.compress(speaker.phone.get(f"/parts/{name}").body)) for name in sorted(names))
    assert sent < 50_000, sent
    assert speaker.phone.get("/parts/recorder-worker.js").headers["service-worker-allowed"] == "/r/"
    assert "service-worker-allowed" not in speaker.phone.get("/parts/recorder.js").headers


def test_names_and_prompts_that_are_code_are_text(tmp_path: Path) -> None:
    script = '"><script>document.title="taken"</script>'
    ws = Workspace.create(tmp_path / "habari", language="swa")
    write_prompts(ws, [RecordingPrompt(id=prompt_id(script), text=script)], ())
    owner = StudioClient.of(tmp_path)
    made = owner.post("/api/links", {"role": "speaker", "name": script, "ws": "habari"}).json
    assert "<script>doc" not in made["qr"]
    assert "<script>doc" not in StudioClient(owner.app).get(f"/r/{made['address'].rpartition('/')[2]}").text
    assert owner.post("/api/w/habari/consent", {"text": script}).status == 200
    assert "<script>doc" not in owner.get("/w/habari/record").text


def test_the_owner_chooses_prompts_and_sees_who_records(speaker: Speaker) -> None:
    speaker.agree()
    speaker.put(wav(voice()))
    (row,) = speaker.owner.get("/api/w/habari/speakers").json["speakers"]
    assert (row["takes"], row["good"], row["version"], row["name"]) == (1, 1, 1, "Amina")
    asked = speaker.owner.post(
        "/api/w/habari/prompts", {"text": "Leo ni siku njema. Kesho tutakwenda sokoni.", "count": 5}
    )
    assert asked.status == 200, asked.text
    done(speaker.owner)
    shown = speaker.owner.get("/w/habari/record").text
    assert "Kesho tutakwenda sokoni." in shown and "1 of 2 read" in shown
    assert speaker.owner.post("/api/w/habari/prompts", {"text": " "}).status == 422
    assert speaker.owner.post("/api/w/habari/speakers/00000000/import").status == 404

"""What others may try: other hosts and origins, no key, paths that lead out, names and texts that are code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from olu.core.files import Workspace
from olu.studio.settings import StudioSettings
from olu.studio.uploads import MOST_PIECE

from ..helpers.studio import KEY, StudioClient

SCRIPT = '"><script>document.title="taken"</script>'


@pytest.fixture
def client(tmp_path: Path) -> StudioClient:
    Workspace.create(tmp_path / "root" / "habari", language="swa")
    (tmp_path / "secret.txt").write_text("secret")
    return StudioClient.of(tmp_path / "root")


def no_jobs(client: StudioClient) -> bool:
    return not client.studio.jobs.all()


ASK = {"ws": "habari", "verb": "status"}


def test_another_host_is_refused(client: StudioClient) -> None:
    for host in ("evil.example", "evil.example:8420", "127.0.0.1.evil.example", ""):
        client.host = host
        assert client.get("/").status == 403, host
        assert client.post("/api/jobs", ASK).status == 403
    for host in ("localhost:8420", "127.0.0.1", "[::1]:8420"):
        client.host = host
        assert client.get("/").status == 200, host
    client.host = "localhost:8420"
    assert no_jobs(client)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
    ],
)
def test_a_change_from_elsewhere_is_refused(client: StudioClient, headers: dict[str, str]) -> None:
    assert client.post("/api/jobs", ASK, **headers).status == 403
    assert client.ask("PUT", "/api/w/habari/uploads/x/y", b"z", {"x-olu-studio": "1", **headers}).status == 403
    assert no_jobs(client)


def test_a_form_of_another_site_is_refused(client: StudioClient) -> None:
    for kind in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", ""):
        answer = client.ask("POST", "/api/jobs", json.dumps(ASK).encode(), {"content-type": kind})
        assert answer.status == 403, kind
    assert no_jobs(client)


def test_without_the_key_nothing_is_seen_or_done(client: StudioClient) -> None:
    client.cookie = ""
    for path in ("/", "/w/habari", "/jobs", "/settings", "/api/verbs", "/api/files", "/api/events?watch=jobs"):
        answer = client.get(path)
        assert answer.status == 401 and "habari" not in answer.text, path
    assert client.post("/api/jobs", ASK).status == 401
    for cookie in ("olu-studio-8420=", f"olu-studio-8420={KEY}", "olu-studio-8420=0", "other=1"):
        client.cookie = cookie
        assert client.get("/").status == 401
    client.cookie = ""
    assert client.get("/parts/live.js").status == 200  # the same for everybody
    assert no_jobs(client)


def test_wrong_keys_wait(client: StudioClient) -> None:
    client.cookie = ""
    answers = [client.get(f"/?key=wrong{number}").status for number in range(7)]
    assert answers[:5] == [401] * 5 and answers[5:] == [429, 429]
    assert client.get(f"/?key={KEY}").status == 429  # right ones too, for a while


def test_the_key_becomes_a_cookie_and_leaves_the_address(client: StudioClient) -> None:
    answer = client.get(f"/w/habari?door=film&key={KEY}")
    assert answer.status == 303 and answer.headers["location"] == "/w/habari?door=film"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and KEY not in cookie and "Secure" not in cookie
    assert client.get(f"//evil.example/?key={KEY}").headers["location"].startswith("/evil.example")


def test_every_answer_has_the_policy(client: StudioClient) -> None:
    for path in ("/", "/parts/live.js", "/api/verbs", "/nothing", "/w/none"):
        headers = client.get(path).headers
        assert "default-src 'self'" in headers["content-security-policy"], path
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-frame-options"] == "DENY" and headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


def test_behind_a_proxy_only_the_proxy_is_heard(tmp_path: Path) -> None:
    client = StudioClient.of(tmp_path, behind_proxy="10.0.0.2", secure=True)
    assert "Secure" in client.get(f"/?key={KEY}").headers["set-cookie"]
    client.host = "studio.example"
    assert client.get("/").status == 200
    client.client = "10.0.0.9"
    assert client.get("/").status == 403
    client.client = "10.0.0.2"
    assert client.get("/").status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/parts/../app.py",
        "/parts/%2e%2e/app.py",
        "/parts/..%2fapp.py",
        "/parts//etc/passwd",
        "/w/..",
        "/w/..%2f..",
        "/w/%2e%2e/jobs",
        "/w/habari/jobs/..%2f..",
        "/api/w/habari/jobs/1/files/ask.json",
        "/api/packs/..%2fkey",
        "/api/w/..%2fhabari/jobs/1",
    ],
)
def test_addresses_lead_nowhere_else(client: StudioClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status in (404, 422) and "root:" not in answer.text


def test_the_chooser_sees_the_roots_alone(client: StudioClient, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "out").symlink_to(tmp_path)
    (root / "loop").symlink_to(root / "loop")
    told = client.get("/api/files").json
    assert [one["name"] for one in told["entries"]] == ["habari"] and told["above"] is None
    for at in (str(tmp_path), "/", "/etc", f"{root}/..", f"{root}/out", f"{root}/loop", "../", "a%00b", "~"):
        assert client.get(f"/api/files?at={at}").status == 422, at


PATHS = [
    "/etc",
    "/etc/passwd",
    "../../etc",
    "{tmp}/secret.txt",
    "{root}/out/secret.txt",
    "{root}/habari/../../secret.txt",
]


@pytest.mark.parametrize("path", PATHS)
def test_no_option_takes_a_path_that_leads_out(client: StudioClient, tmp_path: Path, path: str) -> None:
    root = tmp_path / "root"
    (root / "out").symlink_to(tmp_path)
    text = path.format(tmp=tmp_path, root=root)
    asks = [
        ("import", {"source": text}),
        ("import", {"source": str(root / "habari"), "subtitles": text}),
        ("train", {"recipe": text}),
        ("train", {"base": text}),
        ("read", {"lexicon": text}),
        ("read", {"what": text}),
        ("merge", {"others": [text]}),
        ("export", {"output": text}),
        ("clips", {"csv": text}),
        ("drop", {"listed": text}),
        ("new", {"ws": text, "language": "swa"}),
        ("doctor", {"base": text}),
        ("inspect", {"path": text}),
        ("new", {"ws": str(root / "x"), "language": text}),
    ]
    for verb, options in asks:
        answer = client.post("/api/jobs", {"ws": "habari", "verb": verb, "options": options})
        assert answer.status == 422, (verb, options, answer.text)
        assert "outside" in answer.text or "leads" in answer.text, (verb, options, answer.text)
    assert no_jobs(client)


def test_paths_inside_files_are_looked_at(client: StudioClient, tmp_path: Path) -> None:
    root = tmp_path / "root"
    ws = root / "habari"
    (ws / "corpus").mkdir()
    sources = ws / "corpus/sources.json"
    sources.write_text(json.dumps([{"name": "s1", "root": str(tmp_path), "layout": "folder"}]))
    answer = client.post("/api/jobs", {"ws": "habari", "verb": "audit"})
    assert answer.status == 422 and "olu studio" in answer.json["error"]
    assert "olu studio" in client.get("/w/habari").text
    sources.unlink()
    (ws / "reading.toml").write_text(f'lexicon = "{tmp_path}/secret.txt"\n')
    assert client.post("/api/jobs", {"ws": "habari", "verb": "read"}).status == 422
    (ws / "reading.toml").unlink()
    (root / "config.json").write_text(json.dumps({"model_name_or_path": "../secret.txt", "a": {"b": ["/etc/passwd"]}}))
    ask = {"ws": "habari", "verb": "train", "options": {"from_hf_vits": str(root / "config.json")}}
    assert client.post("/api/jobs", ask).status == 422
    assert no_jobs(client)


def test_words_that_look_like_options_stay_values(client: StudioClient) -> None:
    told = client.job("habari", "drop", ids=["--help", "-h", "--undo"])
    assert told["state"] == "failed" and "usage" not in json.dumps(told["result"]).lower()
    told = client.job("habari", "clips", where="--help")
    assert told["state"] == "failed"


@pytest.mark.parametrize(
    "options",
    [
        {"reason": "a\0b", "ids": ["x"]},
        {"ids": "x"},
        {"ids": [1]},
        {"undo": "yes"},
        {"nothing": 1},
        {"as_json": True},
        {"ids": {"a": 1}},
        {"listed": 3},
        {"ws": ["/"]},
        {"listed": "-"},
    ],
)
def test_what_does_not_fit_is_one_sentence(client: StudioClient, options: dict[str, object]) -> None:
    answer = client.post("/api/jobs", {"ws": "habari", "verb": "drop", "options": options})
    assert answer.status == 422 and set(answer.json) == {"error"}
    assert no_jobs(client)


def test_verbs_that_are_not_run_here(client: StudioClient) -> None:
    for verb in ("serve", "studio", "sh", "", "a" * 41):
        assert client.post("/api/jobs", {"ws": "habari", "verb": verb}).status == 422
    assert client.post("/api/jobs", {"ws": "none", "verb": "status"}).status == 404
    assert no_jobs(client)


def test_code_in_names_texts_and_logs_is_shown_as_text(tmp_path: Path) -> None:
    root = tmp_path / "root"
    name = '<b onmouseover=alert(1)>"&'
    Workspace.create(root / "w1", language="swa", name=name.replace("/", ""))
    folder = root / "rec <script>"
    folder.mkdir()
    (folder / "metadata.csv").write_text(f"a|{SCRIPT}\n")
    client = StudioClient.of(root)
    told = client.job("w1", "import", source=str(folder), dry_run=True)
    for path in (
        "/",
        "/w/w1",
        "/w/w1/card",
        "/jobs",
        "/w/w1/jobs",
        told["address"],
        f"/w/w1/import/{told['number']}",
        "/w/w1/import",
    ):
        text = client.get(path).text
        assert "<script>" not in text.replace('<script type="module" src="/parts/', ""), path
        assert "<b onmouseover" not in text, path
    form = client.get("/w/w1/options/drop?command=olu%20drop%20w1%20%22%3Cscript%3E%22").text
    assert "<script>" not in form.replace('<script type="module" src="/parts/', "")


def test_a_large_body_and_deep_json_are_no_failure(client: StudioClient) -> None:
    answer = client.post(
        "/api/jobs", {"ws": "habari", "verb": "read", "options": {"what": "a" * 1_000_000, "language": "swa"}}
    )
    assert answer.status in (200, 422)
    deep = b"[" * 100_000 + b"]" * 100_000
    headers = {"content-type": "application/json", "x-olu-studio": "1"}
    assert client.ask("POST", "/api/jobs", deep, headers).status in (400, 413, 422)


# ---------------------------------------------------------------- uploads


def begin(client: StudioClient, *, files: int = 1, size: int = 10, name: str = "rec") -> str:
    answer = client.post("/api/w/habari/uploads", {"name": name, "files": files, "bytes": size})
    assert answer.status == 200, answer.text
    return str(answer.json["id"])


def put(client: StudioClient, id: str, name: str, data: bytes, *, offset: int = 0, total: int | None = None) -> object:
    size = len(data) if total is None else total
    url = f"/api/w/habari/uploads/{id}/{name}?offset={offset}&total={size}"
    return client.ask("PUT", url, data, {"x-olu-studio": "1"})


def test_an_upload_goes_on_after_a_break(client: StudioClient, tmp_path: Path) -> None:
    id = begin(client)
    url = f"/api/w/habari/uploads/{id}/wavs/a%20b.wav"
    own = {"x-olu-studio": "1"}
    assert client.ask("PUT", f"{url}?offset=0&total=10", b"0123", own).json == {"offset": 4, "whole": False}
    broken = client.ask("PUT", f"{url}?offset=4&total=10", b"45", own, cut=True)  # the client leaves in its middle
    assert broken.status != 200
    here = client.post("/api/w/habari/uploads", {"name": "rec", "files": 1, "bytes": 10}).json
    assert here["id"] == id  # the same files again go on with it
    offset = here["here"]["wavs/a b.wav"]["offset"]
    assert 4 <= offset <= 6 and not here["here"]["wavs/a b.wav"]["whole"]
    wrong = client.ask("PUT", f"{url}?offset=9&total=10", b"9", own)
    assert wrong.status == 409 and wrong.json["offset"] == offset
    rest = b"0123456789"[offset:]
    assert client.ask("PUT", f"{url}?offset={offset}&total=10", rest, own).json == {"offset": 10, "whole": True}
    held = tmp_path / f"root/habari/uploads/{id}/files/wavs/a b.wav"
    assert held.read_bytes() == b"0123456789"
    assert client.ask("PUT", f"{url}?offset=0&total=10", b"0123", own).json["whole"]  # again: it stays


@pytest.mark.parametrize(
    "name",
    ["..%2f..%2fx", "%2e%2e/x", "a/../../x", "a%00b", "a%0ab", ".", "..", "a//b", "x.part", "a" * 300, "b%5cc", "%20"],
)
def test_names_of_uploads_stay_inside(client: StudioClient, tmp_path: Path, name: str) -> None:
    before = {path for path in (tmp_path / "root").rglob("*") if path.is_file()}
    id = begin(client)
    answer = put(client, id, name, b"x")
    assert answer.status in (404, 422), answer  # type: ignore[attr-defined]
    after = {path for path in tmp_path.rglob("*") if path.is_file() and path.name != "upload.json"}
    assert after - before <= {tmp_path / "secret.txt"}


def test_a_link_in_an_upload_is_not_followed(client: StudioClient, tmp_path: Path) -> None:
    id = begin(client)
    (tmp_path / f"root/habari/uploads/{id}/files/out").symlink_to(tmp_path)
    assert put(client, id, "out/secret.txt", b"x").status == 422  # type: ignore[attr-defined]
    assert (tmp_path / "secret.txt").read_text() == "secret"


def test_huge_and_endless_uploads_are_refused(tmp_path: Path) -> None:
    Workspace.create(tmp_path / "habari", language="swa")
    client = StudioClient.of(tmp_path, most_upload=100)
    id = begin(client)
    assert put(client, id, "a", b"x", total=101).status == 422  # type: ignore[attr-defined]
    assert put(client, id, "a", b"x" * 50, total=10).status == 422  # type: ignore[attr-defined]
    assert not [path for path in (tmp_path / "habari/uploads").rglob("a*") if path.stat().st_size > 10]
    assert client.post("/api/w/habari/uploads", {"name": "x", "files": 1, "bytes": 10**18}).status == 422
    assert client.post("/api/w/habari/uploads", {"name": "x", "files": 10**9, "bytes": 1}).status == 422
    full = StudioClient.of(tmp_path, leave_free=10**18)
    assert full.post("/api/w/habari/uploads", {"name": "x", "files": 1, "bytes": 1}).status == 422
    assert StudioSettings(roots=(), key="").most_upload > MOST_PIECE


def test_an_upload_that_holds_clips_is_not_removed(client: StudioClient, tmp_path: Path) -> None:
    id = begin(client)
    assert client.ask("DELETE", "/api/w/habari/uploads/..%2fcorpus", b"", {"x-olu-studio": "1"}).status in (404, 405)
    ws = tmp_path / "root/habari"
    (ws / "corpus").mkdir()
    (ws / "corpus/sources.json").write_text(json.dumps([{"root": f"uploads/{id}/files"}]))
    assert client.ask("DELETE", f"/api/w/habari/uploads/{id}", b"", {"x-olu-studio": "1"}).status == 422
    (ws / "corpus/sources.json").unlink()
    assert client.ask("DELETE", f"/api/w/habari/uploads/{id}", b"", {"x-olu-studio": "1"}).json == {"removed": True}
    assert not list((ws / "uploads").iterdir())

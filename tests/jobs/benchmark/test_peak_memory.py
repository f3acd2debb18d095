from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from recx.jobs.benchmark.peak_memory import Memory

LINUX = Path("/proc/self/clear_refs").exists()


def test_the_peak_since_a_moment_counts_what_was_let_go_since() -> None:
    before = Memory.now()
    np.ones(4_000_000)  # 32 MB, gone again
    assert 30e6 < before.rise() < 60e6 or not LINUX


@pytest.mark.skipif(not LINUX, reason="elsewhere what is held now is not told")
def test_what_is_held_already_may_count_as_needed_since() -> None:
    start = Memory.now()
    kept = np.ones(4_000_000)  # 32 MB
    own = start.more()
    assert 30e6 < own < 40e6
    assert own <= Memory.now(own).rise() < own + 10e6
    assert len(kept)


@pytest.mark.skipif(not LINUX, reason="only Linux forgets a peak")
def test_an_earlier_peak_hides_nothing_not_even_that_of_the_process_that_started_this_one() -> None:
    script = (
        "import subprocess, sys; big = bytearray(200_000_000)\n"
        "inner = 'from recx.jobs.benchmark.peak_memory import Memory; now = Memory.now(); '\\\n"
        "'small = bytearray(20_000_000); print(now.rise())'\n"
        "print(subprocess.run([sys.executable, '-c', inner], capture_output=True, text=True, check=True).stdout)"
    )
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=root)
    assert 15e6 < float(done.stdout) < 40e6

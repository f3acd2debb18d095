from __future__ import annotations

import platform
import resource
from pathlib import Path

import pytest
import torch
from recx_transformer.device import memory_kept

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not glibc")

MEGABYTES = 16


def blocks(n: int) -> list[torch.Tensor]:
    return [torch.ones(MEGABYTES * 1024**2 // 4) for _ in range(n)]


def pages_asked_for() -> int:
    """Return how many pages the system is asked for by steps that free several blocks each."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        blocks(8)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def resident() -> float:
    """Return the megabytes that the process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1024**2


def test_blocks_that_a_step_frees_are_used_again() -> None:
    with memory_kept():
        pages_asked_for()
        kept = pages_asked_for()
    assert kept < pages_asked_for() / 10


def test_memory_is_returned_at_the_end_even_after_an_error() -> None:
    def fail() -> None:
        with memory_kept():
            blocks(20)
            held.append(resident())
            raise ValueError("in the middle of a training")

    held: list[float] = []
    with pytest.raises(ValueError, match="in the middle"):
        fail()
    assert held[0] - resident() > 10 * MEGABYTES

"""The device, precision and memory of a training, and the isolation of its random numbers."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from recx.plugin import InputError

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""The names of two settings of glibc's malloc (``malloc.h``)."""

LARGEST_OF_HEAP = 32 * 1024**2
"""The size in bytes above which glibc takes a block from the system whatever it is told (``HEAP_MAX_SIZE / 2``)."""


def device_of(name: str) -> torch.device:
    """Return the device with this name; ``auto``: the first available of cuda, mps and cpu.

    Raises:
        InputError: The device is not available.
    """
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        name = next(kind for kind, found in there.items() if found)
    if not there[name]:
        raise InputError(
            f"retriever.device={name}: it is not available on this machine or in this PyTorch: choose auto or cpu"
        )
    return torch.device(name)


def processor(device: torch.device) -> str:
    """Return a name that distinguishes a device from others that round differently."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def dtype_on(device: torch.device, precision: str) -> torch.dtype:
    """Return the type of matrix products in training; ``auto``: bfloat16 where the device multiplies it faster."""
    if precision == "auto":
        if device.type == "cuda":
            fast = torch.cuda.is_bf16_supported()
        else:
            can: Any = getattr(torch.cpu, "get_capabilities", dict)() if device.type == "cpu" else {}
            fast = bool(can.get("avx512_bf16") or can.get("amx_bf16"))
        precision = "bfloat16" if fast else "float32"
    return torch.bfloat16 if precision == "bfloat16" else torch.float32


@contextmanager
def reproducible(device: torch.device) -> Iterator[None]:
    """Restore PyTorch's random state afterwards, and use deterministic algorithms on a GPU."""
    on_gpu = device.type == "cuda"
    before = torch.are_deterministic_algorithms_enabled()
    if on_gpu:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
    try:
        with torch.random.fork_rng(devices=[torch.cuda.current_device()] if on_gpu else []):
            yield
    finally:
        torch.use_deterministic_algorithms(before)


@contextmanager
def memory_kept() -> Iterator[None]:
    """Keep the memory that a step frees for the next one, where the C library is glibc, and return it at the end.

    glibc hands blocks as large as those of a step back to the system when they are freed. To get them again, page by
    page and zeroed, took a tenth of the time of a training with 13,000 items.
    """
    if platform.libc_ver()[0] != "glibc":
        yield
        return
    libc = ctypes.CDLL(None)
    libc.mallopt(M_MMAP_THRESHOLD, LARGEST_OF_HEAP)
    libc.mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
    try:
        yield
    finally:
        libc.mallopt(M_TRIM_THRESHOLD, 2 * LARGEST_OF_HEAP)  # what glibc arrives at by itself after such blocks
        libc.malloc_trim(0)


def draw_from(*numbers: int) -> None:
    """Seed PyTorch with these numbers, so that no random state needs to be kept between steps."""
    torch.manual_seed(int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0]))

"""Where a network is trained, in which numbers, and how its random draws are kept from everybody else's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from recx.plugin import InputError


def device_of(name: str) -> torch.device:
    """Return the device of this name; ``auto``: the first there is of cuda, mps and cpu.

    Raises:
        InputError: there is no such device.
    """
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        name = next(kind for kind, found in there.items() if found)
    if not there[name]:
        raise InputError(f"retriever.device={name}: this machine or this PyTorch has none: choose auto or cpu")
    return torch.device(name)


def processor(device: torch.device) -> str:
    """Return what tells a device from others that round otherwise."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def dtype_on(device: torch.device, precision: str) -> torch.dtype:
    """Return the type of products while training; ``auto``: bfloat16 where the device multiplies it faster."""
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
    """Keep PyTorch's random state as it was for whoever comes after, and its sums in one order on a GPU."""
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


def draw_from(*numbers: int) -> None:
    """Let all of PyTorch's draws from here follow from these numbers: there is no state to keep between steps."""
    torch.manual_seed(int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0]))

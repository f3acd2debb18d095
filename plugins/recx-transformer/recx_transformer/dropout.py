"""Dropout with cheap random bits on a CPU, where PyTorch's own takes a sixth of the training time."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

_WHOLE = {torch.bfloat16: torch.int16, torch.float32: torch.int32}


class Dropout(nn.Module):
    """Dropout: in training, sets a share ``p`` of the values to 0 and scales the others to keep the mean.

    On a CPU, ``p`` is rounded to a multiple of 1/256, since each value takes one random byte.

    Args:
        p: The share of values set to 0.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        if x.device.type != "cpu" or x.dtype not in _WHOLE:
            return F.dropout(x, self.p)
        return x * _mask(x, min(255, round(256 * self.p)))


def _mask(x: Tensor, dropped: int) -> Tensor:
    """Return a tensor shaped like ``x``: 0 for a share of ``dropped`` / 256, else 256 / (256 - dropped).

    Integer arithmetic produces the bits of the floats: comparing and casting would take three times as long.
    """
    whole = _WHOLE[x.dtype]
    scale = torch.tensor(256 / (256 - dropped), dtype=x.dtype).view(whole).item()
    words = torch.empty(math.ceil(x.numel() / 8), dtype=torch.int64).random_(-(2**63), None)
    byte = words.view(torch.uint8)[: x.numel()].to(whole)
    kept = byte.neg_().add_(dropped - 1).bitwise_right_shift_(whole.itemsize * 8 - 1)  # all ones, or 0
    return kept.bitwise_and_(scale).view(x.dtype).view(x.shape)

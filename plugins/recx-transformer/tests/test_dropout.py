"""Dropout keeps the mean and sets the given share to 0."""

from __future__ import annotations

import pytest
import torch
from recx_transformer.dropout import Dropout


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_the_share_is_dropped_and_the_mean_kept(p: float, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = torch.ones(200_003, dtype=dtype, requires_grad=True)
    y = Dropout(p)(x)
    assert (y == 0).float().mean().item() == pytest.approx(p, abs=0.01)
    assert y.float().mean().item() == pytest.approx(1, abs=0.02)
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, y.detach())


def test_nothing_is_dropped_outside_training() -> None:
    x = torch.ones(100)
    assert torch.equal(Dropout(0.5).eval()(x), x)
    assert torch.equal(Dropout(0.0)(x), x)

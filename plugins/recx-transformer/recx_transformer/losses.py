"""What is made small: the surprise at the next item, among all items or among a sample.

Every loss takes ``Asked`` and returns the mean over its positions. A score is the product of a state and an item's
vector, plus, where recent clicks count, the sum of ``weight`` times their logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from recx_transformer.recent import Recent

CELLS = {"cpu": 4_000_000}
"""Scores that are in memory at once, by kind of device: a CPU's cache should hold them."""
MORE_CELLS = 64_000_000

LEAST = 1e-30
"""Shares below this count as this much when the loss is told; its gradient is exact."""


@dataclass(frozen=True, eq=False)
class Asked:
    """One batch of a loss.

    state: [n, d]. table: the items' vectors [m, d]. target: int64 [n]. dtype: of the products. recent: recent clicks,
    or None; else weight: [n, n_half_lives] and moment: int64 [n].
    """

    state: Tensor
    table: Tensor
    target: Tensor
    dtype: torch.dtype = torch.float32
    recent: Recent | None = None
    weight: Tensor | None = None
    moment: Tensor | None = None

    def scores_of(self, item: Tensor) -> Tensor:
        """Return the score of one item a position: int64 [n] -> [n]."""
        score = (self.state * F.embedding(item, self.table)).sum(dim=1)
        if self.recent is None or self.weight is None or self.moment is None:
            return score
        return score + (self.recent.at(self.moment, item) * self.weight).sum(dim=-1)

    def scores_of_all(self, item: Tensor) -> Tensor:
        """Return the scores of the same items at every position: int64 [k] -> [n, k]."""
        score = (self.state.to(self.dtype) @ F.embedding(item, self.table).to(self.dtype).T).to(self.state.dtype)
        if self.recent is None or self.weight is None or self.moment is None:
            return score
        return score + (self.recent.at(self.moment[:, None], item) * self.weight[:, None]).sum(dim=-1)


def bce(asked: Asked, negative: Tensor) -> Tensor:
    """Return the mean of -log s(target) - log(1 - s(negative)), s the logistic function (Kang and McAuley 2018).

    negative: int64 [n], one item a position; where it is the target itself it does not count.
    """
    wrong = F.softplus(asked.scores_of(negative)).masked_fill(negative == asked.target, 0)
    return (F.softplus(-asked.scores_of(asked.target)) + wrong).mean()


def sampled_softmax(asked: Asked, negative: Tensor, expected: Tensor) -> Tensor:
    """Return the mean of -log softmax over the target and a sample of items that all positions share.

    negative: int64 [k]. expected: [k], how often each of them is expected in the sample. Dividing by it (logQ
    correction) makes the sum over the sample an unbiased estimate of the sum over all other items; the target itself
    is left out of the sample (Bengio and Senécal 2008).
    """
    others = asked.scores_of_all(negative) - expected.log()
    others = others.masked_fill_(negative == asked.target[:, None], float("-inf"))
    return F.softplus(torch.logsumexp(others, dim=1) - asked.scores_of(asked.target)).mean()


def full_softmax(asked: Asked) -> Tensor:
    """Return the mean of -log softmax over all items."""
    apply: Any = _FullSoftmax.apply
    loss: Tensor = apply(asked.state, asked.table, asked.weight, asked)
    return loss


class _FullSoftmax(torch.autograd.Function):
    """Softmax and its gradient in one pass over blocks of positions, so that scores never reach main memory."""

    @staticmethod
    def forward(ctx: Any, state: Tensor, table: Tensor, weight: Tensor | None, asked: Asked) -> Tensor:
        n, keys = len(state), table.to(asked.dtype)
        to_state, to_table = torch.empty_like(state), torch.zeros_like(table)
        to_weight = None if weight is None else torch.empty_like(weight)
        rows = max(1, CELLS.get(state.device.type, MORE_CELLS) // len(table))
        loss = torch.zeros((), dtype=state.dtype, device=state.device)
        for start in range(0, n, rows):
            block = slice(start, min(start + rows, n))
            query, clicks = state[block].to(asked.dtype), _clicks(asked, block)
            score = query @ keys.T
            if weight is not None:
                for number, row in enumerate(clicks):
                    score.addcmul_(row, weight[block, number, None].to(asked.dtype))
            surprise, gap = _shares_minus_truth(score, asked.target[block])
            loss += surprise
            to_state[block] = gap @ keys
            to_table += gap.T @ query
            if to_weight is not None:
                for number, row in enumerate(clicks):
                    to_weight[block, number] = (gap * row).sum(dim=1, dtype=to_weight.dtype)
        ctx.save_for_backward(*(None if part is None else part.div_(n) for part in (to_state, to_table, to_weight)))
        return loss / n

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return *(None if part is None else part * grads[0] for part in ctx.saved_tensors), None


def _clicks(asked: Asked, block: slice) -> list[Tensor]:
    """Return the logarithms of recent clicks [n_block, m], one a half-life."""
    if asked.recent is None or asked.moment is None:
        return []
    return [table.index_select(0, asked.moment[block]).to(asked.dtype) for table in asked.recent.table]


def _shares_minus_truth(score: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sum of -log softmax at the targets, and softmax - truth, the gradient by the scores [n, m]."""
    share = torch.softmax(score, dim=1)
    flat = share.view(-1)  # ``scatter_`` takes as long as a product
    at = torch.arange(len(target), device=target.device) * score.shape[1] + target
    chosen = flat[at]
    flat[at] = chosen - 1
    return -chosen.float().clamp(min=LEAST).log().sum(), share

"""Losses of a predicted item: cross-entropy over all items or a sample, and binary cross-entropy.

Every loss takes ``LossInputs`` and returns the mean over its positions. A score is the product of a state and an item's
vector, plus, if recent clicks are used, the sum of ``weight`` times their logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from recx_transformer.recent import Recent

CELLS = {"cpu": 4_000_000}
"""Scores in memory at once, by kind of device: on a CPU they should fit the cache."""
MORE_CELLS = 64_000_000

LEAST = 1e-30
"""Smaller probabilities count as this in the reported loss; the gradient is exact."""


@dataclass(frozen=True, eq=False)
class LossInputs:
    """The inputs of a loss for one batch of n positions.

    Attributes:
        state: The states [n, d].
        table: The items' vectors [m, d].
        target: The item to predict at each position, int64 [n].
        dtype: The type of matrix products.
        recent: Recent clicks; None if they are not used.
        weight: The weights of recent clicks [n, n_half_lives].
        moment: The row of ``recent`` for each position, int64 [n].
    """

    state: Tensor
    table: Tensor
    target: Tensor
    dtype: torch.dtype = torch.float32
    recent: Recent | None = None
    weight: Tensor | None = None
    moment: Tensor | None = None

    def scores_of(self, item: Tensor) -> Tensor:
        """Return the scores of each position's own items: int64 [n] -> [n], or [n, k] -> [n, k]."""
        vectors = F.embedding(item, self.table)
        if item.dim() == 1:
            return (self.state * vectors).sum(dim=1) + self._clicks_of(item)
        return torch.einsum("nd,nkd->nk", self.state, vectors) + self._clicks_of(item)

    def scores_of_all(self, item: Tensor) -> Tensor:
        """Return the scores of the same items at every position: int64 [k] -> [n, k]."""
        score = (self.state.to(self.dtype) @ F.embedding(item, self.table).to(self.dtype).T).to(self.state.dtype)
        return score + self._clicks_of(item[None])

    def _clicks_of(self, item: Tensor) -> Tensor | float:
        """Return what recent clicks add to the scores of items [n], [n, k] or [1, k]."""
        if self.recent is None or self.weight is None or self.moment is None:
            return 0.0
        moment, weight = self.moment, self.weight
        if item.dim() > 1:
            moment, weight = moment[:, None], weight[:, None]
        return (self.recent.at(moment, item) * weight).sum(dim=-1)


def bce(inputs: LossInputs, negative: Tensor) -> Tensor:
    """Return the mean of -log s(target) - log(1 - s(negative)), s the logistic function (Kang and McAuley 2018).

    Args:
        inputs: The inputs of the loss.
        negative: One item per position, int64 [n]; it does not count where it equals the target.
    """
    wrong = F.softplus(inputs.scores_of(negative)).masked_fill(negative == inputs.target, 0)
    return (F.softplus(-inputs.scores_of(inputs.target)) + wrong).mean()


def gbce(inputs: LossInputs, negative: Tensor, t: float) -> Tensor:
    """Return generalised binary cross-entropy, gBCE (Petrov and Macdonald 2023, gSASRec), averaged over the positions.

    With k negatives among I items and s the logistic function, a position's loss is::

        -(log s(target)^b + sum over its negatives of log(1 - s(negative))) / (k + 1)
        b = a (t (1 - 1 / a) + 1 / a),  a = k / (I - 1)

    Args:
        inputs: The inputs of the loss.
        negative: Items drawn uniformly for each position, int64 [n, k]; one does not count where it is the target.
        t: The calibration: 0 is binary cross-entropy; 1 undoes the overconfidence that sampling brings, so that the
            scores' logistic function estimates probabilities.
    """
    k = negative.shape[1]
    beta = 1 - t * (1 - k / max(1, len(inputs.table) - 1))  # the paper's formula, multiplied out
    wrong = F.softplus(inputs.scores_of(negative)).masked_fill(negative == inputs.target[:, None], 0)
    return (beta * F.softplus(-inputs.scores_of(inputs.target)) + wrong.sum(dim=1)).mean() / (k + 1)


def sampled_softmax(inputs: LossInputs, negative: Tensor, expected: Tensor) -> Tensor:
    """Return the mean of -log softmax over the target and a sample of items that all positions share.

    Dividing by the expected counts (logQ correction) makes the sum over the sample an unbiased estimate of the sum over
    all other items; the target itself is left out of the sample (Bengio and Senécal 2008; for negatives from the batch,
    Yi et al. 2019).

    Args:
        inputs: The inputs of the loss.
        negative: The sampled items, int64 [k].
        expected: The expected count of each of them in the sample [k]; all 1: no correction.
    """
    others = inputs.scores_of_all(negative) - expected.log()
    others = others.masked_fill_(negative == inputs.target[:, None], float("-inf"))
    return F.softplus(torch.logsumexp(others, dim=1) - inputs.scores_of(inputs.target)).mean()


def full_softmax(inputs: LossInputs) -> Tensor:
    """Return the mean of -log softmax over all items."""
    apply: Any = _FullSoftmax.apply
    loss: Tensor = apply(inputs.state, inputs.table, inputs.weight, inputs)
    return loss


class _FullSoftmax(torch.autograd.Function):
    """Softmax and its gradient in one pass over blocks of positions, so that scores never reach main memory."""

    @staticmethod
    def forward(ctx: Any, state: Tensor, table: Tensor, weight: Tensor | None, inputs: LossInputs) -> Tensor:
        n, keys = len(state), table.to(inputs.dtype)
        to_state, to_table = torch.empty_like(state), torch.zeros_like(table)
        to_weight = None if weight is None else torch.empty_like(weight)
        rows = max(1, CELLS.get(state.device.type, MORE_CELLS) // len(table))
        loss = torch.zeros((), dtype=state.dtype, device=state.device)
        for start in range(0, n, rows):
            block = slice(start, min(start + rows, n))
            query, clicks = state[block].to(inputs.dtype), _clicks(inputs, block)
            score = query @ keys.T
            if weight is not None:
                for number, row in enumerate(clicks):
                    score.addcmul_(row, weight[block, number, None].to(inputs.dtype))
            surprise, gap = _shares_minus_truth(score, inputs.target[block])
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


def _clicks(inputs: LossInputs, block: slice) -> list[Tensor]:
    """Return the logarithms of recent clicks [n_block, m], one table per half-life."""
    if inputs.recent is None or inputs.moment is None:
        return []
    return [table.index_select(0, inputs.moment[block]).to(inputs.dtype) for table in inputs.recent.table]


def _shares_minus_truth(score: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sum of -log softmax at the targets, and the gradient by the scores, softmax - truth [n, m]."""
    share = torch.softmax(score, dim=1)
    flat = share.view(-1)  # ``scatter_`` takes as long as a product
    at = torch.arange(len(target), device=target.device) * score.shape[1] + target
    chosen = flat[at]
    flat[at] = chosen - 1
    return -chosen.float().clamp(min=LEAST).log().sum(), share

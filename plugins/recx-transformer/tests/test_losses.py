"""The losses by hand, and the full softmax with its gradient against PyTorch's own."""

from __future__ import annotations

import math

import pytest
import torch
from recx_transformer import losses
from recx_transformer.losses import LossInputs, bce, full_softmax, gbce, sampled_softmax
from recx_transformer.recent import Recent
from torch.nn import functional as F

# One state per row, one item per unit vector: the scores are the states themselves.
STATE = torch.tensor([[0.0, math.log(2), math.log(3)], [math.log(4), 0.0, 0.0]])
ITEMS = torch.eye(3)
TARGET = torch.tensor([2, 0])


def test_full_softmax_by_hand() -> None:
    # Shares of the targets: 3 / (1 + 2 + 3) and 4 / (4 + 1 + 1).
    assert full_softmax(LossInputs(STATE, ITEMS, TARGET)).item() == pytest.approx((math.log(2) + math.log(1.5)) / 2)


def test_sampled_softmax_by_hand() -> None:
    negative, expected = torch.tensor([1, 1, 2]), torch.tensor([2.0, 2.0, 0.5])
    # First: 3 against 2/2 + 2/2, the third is the target itself. Second: 4 against 1/2 + 1/2 + 1/0.5.
    loss = sampled_softmax(LossInputs(STATE, ITEMS, TARGET), negative, expected)
    assert loss.item() == pytest.approx((math.log(5 / 3) + math.log(7 / 4)) / 2)


def test_a_sample_of_every_item_once_is_the_full_softmax() -> None:
    inputs = LossInputs(torch.randn(5, 4), torch.randn(7, 4), torch.randint(7, (5,)))
    sampled = sampled_softmax(inputs, torch.arange(7), torch.ones(7))
    assert sampled.item() == pytest.approx(full_softmax(inputs).item(), abs=1e-5)


def test_bce_by_hand() -> None:
    # First: s(log 3) = 3/4 against s(log 2) = 2/3. Second: s(log 4) = 4/5, and its negative is the target itself.
    loss = bce(LossInputs(STATE, ITEMS, TARGET), torch.tensor([1, 0]))
    assert loss.item() == pytest.approx((math.log(4 / 3) + math.log(3) + math.log(5 / 4)) / 2)


def test_gbce_by_hand() -> None:
    # Scores log(2), log(3), ... of four items; two negatives each, so that the rate is a = 2/3.
    table = torch.eye(4)
    state = torch.tensor([[0.0, math.log(2), math.log(3), 0.0], [math.log(4), 0.0, 0.0, math.log(5)]])
    inputs = LossInputs(state, table, torch.tensor([2, 0]))
    negative = torch.tensor([[1, 3], [0, 3]])
    for t in (0.0, 0.75, 1.0):
        a = 2 / 3
        b = a * (t * (1 - 1 / a) + 1 / a)  # as in the paper
        # First: s(log 3) = 3/4 against s(log 2) = 2/3 and s(0) = 1/2. Second: 4/5 against itself, left out, and 5/6.
        first = -(b * math.log(3 / 4) + math.log(1 / 3) + math.log(1 / 2)) / 3
        second = -(b * math.log(4 / 5) + math.log(1 / 6)) / 3
        assert gbce(inputs, negative, t).item() == pytest.approx((first + second) / 2)


def test_without_calibration_gbce_is_bce() -> None:
    torch.manual_seed(0)
    inputs, negative = LossInputs(torch.randn(5, 4), torch.randn(7, 4), torch.randint(7, (5,))), torch.randint(7, (5,))
    assert gbce(inputs, negative[:, None], 0.0).item() == pytest.approx(bce(inputs, negative).item() / 2, abs=1e-6)


@pytest.mark.parametrize(("t", "calibrated"), [(0.0, False), (1.0, True)])
def test_calibration_makes_scores_probabilities_again(t: float, calibrated: bool) -> None:
    """Two items of five are chosen, in shares of 0.7 and 0.3; the best scores say so only if t is 1."""
    torch.manual_seed(0)
    score = torch.zeros(1, 5, requires_grad=True)
    optimiser = torch.optim.Adam([score], lr=0.1)
    for _ in range(400):
        target = (torch.rand(2000) < 0.3).long()
        inputs = LossInputs(score.expand(2000, 5), torch.eye(5), target)
        negative = torch.randint(4, (2000, 1))
        loss = gbce(inputs, negative + (negative >= target[:, None]), t)  # from the other four
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    found = torch.sigmoid(score)[0, :2].tolist()
    # Of the paper: b P / (b P + a (1 - P)), with a = 1/4, and b = 1 if t is 0.
    expected = [0.7, 0.3] if calibrated else [0.7 / (0.7 + 0.25 * 0.3), 0.3 / (0.3 + 0.25 * 0.7)]
    assert found == pytest.approx(expected, abs=0.04)


def test_a_popularity_sample_estimates_the_full_softmax() -> None:
    torch.manual_seed(0)
    inputs = LossInputs(torch.randn(5, 4), torch.randn(7, 4), torch.randint(7, (5,)))
    popularity = torch.tensor([0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1])
    negative = torch.multinomial(popularity, 100_000, replacement=True)
    corrected = sampled_softmax(inputs, negative, 100_000 * popularity[negative])
    assert corrected.item() == pytest.approx(full_softmax(inputs).item(), abs=0.01)
    plain = sampled_softmax(inputs, negative, torch.ones(len(negative)))
    assert plain.item() > corrected.item() + 1  # 100,000 negatives count as as many items


@pytest.mark.parametrize("cells", [1, 25, 10_000])
def test_full_softmax_is_pytorchs_cross_entropy_in_whatever_blocks(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(losses.CELLS, "cpu", cells)
    torch.manual_seed(0)
    recent = Recent((torch.rand(6, 11), torch.rand(6, 11)))
    moment, target = torch.randint(6, (9,)), torch.randint(11, (9,))
    ours = [torch.randn(9, 4, requires_grad=True), torch.randn(11, 4, requires_grad=True), torch.randn(9, 2)]
    ours[2].requires_grad_()
    theirs = [part.detach().clone().requires_grad_() for part in ours]
    loss = full_softmax(LossInputs(ours[0], ours[1], target, torch.float32, recent, ours[2], moment))
    clicks = torch.stack([table[moment] for table in recent.table], dim=1)
    score = theirs[0] @ theirs[1].T + (clicks * theirs[2][:, :, None]).sum(dim=1)
    known = F.cross_entropy(score, target)
    (3 * loss).backward()
    (3 * known).backward()
    assert loss.item() == pytest.approx(known.item(), abs=1e-6)
    for one, other in zip(ours, theirs, strict=True):
        assert one.grad is not None
        assert torch.allclose(one.grad, other.grad, atol=1e-6)


def test_recent_clicks_count_alike_in_every_loss() -> None:
    torch.manual_seed(0)
    recent, moment, target = Recent((torch.rand(3, 7),)), torch.tensor([0, 2, 1, 1, 2]), torch.randint(7, (5,))
    inputs = LossInputs(torch.randn(5, 4), torch.randn(7, 4), target, torch.float32, recent, torch.rand(5, 1), moment)
    scores = inputs.scores_of_all(torch.arange(7))
    assert torch.allclose(inputs.scores_of(target), scores.gather(1, target[:, None])[:, 0], atol=1e-6)
    some = torch.randint(7, (5, 3))
    assert torch.allclose(inputs.scores_of(some), scores.gather(1, some), atol=1e-6)
    assert full_softmax(inputs).item() == pytest.approx(F.cross_entropy(scores, target).item(), abs=1e-6)


def test_products_in_bfloat16_are_near() -> None:
    torch.manual_seed(0)
    state, table, target = torch.randn(50, 16), torch.randn(200, 16) / 4, torch.randint(200, (50,))
    exact, near = (full_softmax(LossInputs(state, table, target, dtype)) for dtype in (torch.float32, torch.bfloat16))
    assert near.item() == pytest.approx(exact.item(), rel=5e-3)

"""What a state may depend on: the earlier events of its own user, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from recx_transformer.losses import LossInputs, full_softmax
from recx_transformer.model import Items, Network, Shape
from recx_transformer.packing import pack
from recx_transformer.sequences import GAPS, HOURS, Batch, Events, packed

from recx.plugin import indptr_of

N_ITEMS = 30
SHAPE = Shape(N_ITEMS, width=16, blocks=2, heads=2, longest=8, relative=True, dropout=0.0, gap=True, hour=True)
ITEMS = Items(torch.arange(N_ITEMS), None, None)


def network(shape: Shape = SHAPE) -> Network:
    torch.manual_seed(0)
    made = Network(shape).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter += 0.3 * torch.randn_like(parameter)  # far from the start, where much is 0
    return made


def events(n: int) -> Events:
    rng = np.random.default_rng(0)
    return Events(rng.integers(0, N_ITEMS, n), rng.integers(0, GAPS, n), rng.integers(0, HOURS, n))


def batch_of(lengths: list[int], inputs: Events, *, padded: bool) -> Batch:
    """Pack the sequences, or give each one a row of its own."""
    first = indptr_of(np.array(lengths))[:-1]
    if not padded:
        packing, order = pack(np.array(lengths), 16)
        return packed(inputs, *packing.grid(first[order]))
    column = np.arange(16)
    inside = column < np.array(lengths)[:, None]
    return packed(inputs, np.where(inside, first[:, None] + column, -1), np.where(inside, column, 0))


@pytest.mark.parametrize("relative", [True, False])
def test_packing_equals_padding(relative: bool) -> None:
    lengths, net = [3, 8, 1, 5, 8, 2, 7, 4], network(replace(SHAPE, relative=relative))
    inputs, found = events(sum(lengths)), {}
    for padded in (True, False):
        batch = batch_of(lengths, inputs, padded=padded)
        table = net.table(ITEMS)
        states = net(batch, table)
        target = (batch.item.flatten()[batch.cell] * 7 + 3) % N_ITEMS
        found[padded] = full_softmax(LossInputs(states, table, target)).item()
    assert found[True] == pytest.approx(found[False], abs=1e-5)


def test_a_later_item_never_changes_an_earlier_state() -> None:
    lengths, net = [8, 5, 3], network()
    inputs = events(sum(lengths))
    later = replace(inputs, item=np.where(np.arange(16) == 6, (inputs.item + 1) % N_ITEMS, inputs.item))
    packing, order = pack(np.array(lengths), 16)
    event, place = packing.grid(indptr_of(np.array(lengths))[:-1][order])
    before, after = (net(packed(made, event, place), net.table(ITEMS)) for made in (inputs, later))
    changed = (before != after).any(dim=1).numpy()
    number = event[event >= 0]
    assert set(number[changed]) == {6, 7}  # the changed event and the one after it, in the same sequence of eight


def test_a_state_does_not_depend_on_who_shares_the_row() -> None:
    net, inputs = network(), events(16)
    both = batch_of([8, 8], inputs, padded=False)
    alone = batch_of([8], inputs, padded=False)
    together = net(both, net.table(ITEMS))
    number = both.item.flatten()[both.cell]
    assert torch.equal(number[:8], torch.from_numpy(inputs.item[:8]))
    assert torch.allclose(together[:8], net(alone, net.table(ITEMS)), atol=1e-6)


def test_an_item_without_a_vector_of_its_own_is_its_content() -> None:
    net = network(replace(SHAPE, embedding=4, categories=3))
    items = Items(torch.tensor([2, -1]), torch.ones(2, 4), torch.tensor([1, 1]))
    own, bare = net.table(items)
    assert torch.allclose(own - bare, net.own[2], atol=1e-6)
    dropped = net.table(items, keep=torch.tensor([False, True]))[0]
    assert torch.allclose(dropped, bare, atol=1e-6)

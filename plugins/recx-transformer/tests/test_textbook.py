"""The packed network against PyTorch's own Transformer on padded sequences, from the same weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from recx_transformer.model import Block, Items, Network, Shape
from recx_transformer.objectives import MaskedItems, NextItem, Objective
from recx_transformer.packing import pack
from recx_transformer.sequences import MASK, Events
from torch import Tensor, nn

from recx.plugin import Entities, Interactions, Requests, indptr_of

N_ITEMS, WIDTH, HEADS, LONGEST = 23, 16, 2, 8
LENGTHS = np.array([3, 8, 1, 5, 12, 2, 7, 4])
ITEM = np.random.default_rng(0).integers(0, N_ITEMS, LENGTHS.sum())
HISTORY = Interactions(
    indptr=indptr_of(LENGTHS),
    item=ITEM.astype(np.int32),
    time=None,
    weight=np.ones(len(ITEM), dtype=np.float32),
    users=Entities(np.arange(len(LENGTHS))),
    items=Entities(np.arange(N_ITEMS)),
)
EVENTS = Events(ITEM, None, None)
USERS = Requests(np.arange(len(LENGTHS), dtype=np.int32))
MASKED = MaskedItems(0.2, 0.1)


def network(*, causal: bool, relative: bool) -> Network:
    torch.manual_seed(0)
    shape = Shape(N_ITEMS, WIDTH, 2, HEADS, LONGEST, relative=relative, dropout=0.0, causal=causal)
    made = Network(shape).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return made


def layer_of(block: Block) -> nn.TransformerEncoderLayer:
    """Return PyTorch's layer with the weights of a block."""
    layer = nn.TransformerEncoderLayer(
        WIDTH, HEADS, 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
    )
    there = {
        "self_attn.in_proj_weight": block.asked.weight,
        "self_attn.in_proj_bias": block.asked.bias,
        **{f"self_attn.out_proj.{name}": tensor for name, tensor in block.mixed.state_dict().items()},
        **{f"linear1.{name}": tensor for name, tensor in block.wide.state_dict().items()},
        **{f"linear2.{name}": tensor for name, tensor in block.narrow.state_dict().items()},
        **{f"norm1.{name}": tensor for name, tensor in block.norm.state_dict().items()},
        **{f"norm2.{name}": tensor for name, tensor in block.norm_alone.state_dict().items()},
    }
    layer.load_state_dict(there)
    return layer.eval()


def textbook(net: Network, items: list[int]) -> Tensor:
    """Return the scores [n_events, n_items] of one sequence, in which ``MASK`` is the masked item."""
    n, causal = len(items), net.shape.causal
    x = torch.stack([net.mask if item == MASK else net.own[item] for item in items])[None] * WIDTH**0.5
    bias = torch.zeros(len(net.blocks), HEADS, n, n)
    for here in range(n):
        if net.place is not None:
            x[0, here] += net.place.weight[here if causal else n - 1 - here]
        for there in range(n):
            for number, block in enumerate(net.blocks):
                if causal and there > here:
                    bias[number, :, here, there] = -torch.inf
                elif block.distance is not None:
                    bias[number, :, here, there] = block.distance[:, here - there + (0 if causal else LONGEST - 1)]
    for number, block in enumerate(net.blocks):
        x = layer_of(block)(x, src_mask=bias[number])
    state = net.norm(x)[0]
    return (state if net.head is None else net.head(state)) @ net.own.T


@pytest.mark.parametrize("relative", [True, False], ids=["relative", "learned"])
@pytest.mark.parametrize("objective", [NextItem(), MASKED], ids=["causal", "masked"])
def test_requests_are_answered_as_by_the_textbook(objective: Objective, relative: bool) -> None:
    net = network(causal=objective.causal, relative=relative)
    batch = objective.at_requests(EVENTS, HISTORY, USERS, LONGEST)
    scores = net(batch, net.table(Items(torch.arange(N_ITEMS), None, None))) @ net.own.T
    for user, score in enumerate(scores):
        own = ITEM[HISTORY.indptr[user] : HISTORY.indptr[user + 1]].tolist()
        asked = own[-LONGEST:] if objective.causal else [*own[1 - LONGEST :], MASK]
        assert torch.allclose(score, textbook(net, asked)[-1], atol=1e-4)


@pytest.mark.parametrize("relative", [True, False], ids=["relative", "learned"])
def test_masked_items_are_scored_as_by_the_textbook(relative: bool) -> None:
    net = network(causal=False, relative=relative)
    lengths = np.minimum(LENGTHS, LONGEST)
    packing, order = pack(lengths, 16)
    event, place = packing.grid(HISTORY.indptr[:-1][order])
    batch = MASKED.batch(EVENTS, event, place, np.random.default_rng(0))
    scores = net(batch, net.table(Items(torch.arange(N_ITEMS), None, None))) @ net.own.T
    hidden = set(event.ravel()[batch.cell.numpy()].tolist())
    expected = {}
    for user, length in enumerate(lengths):
        own = range(HISTORY.indptr[user], HISTORY.indptr[user] + length)
        found = textbook(net, [MASK if number in hidden else int(ITEM[number]) for number in own])
        expected |= {number: score for number, score in zip(own, found, strict=True) if number in hidden}
    for cell, score in zip(batch.cell.tolist(), scores, strict=True):
        assert torch.allclose(score, expected[event.ravel()[cell]], atol=1e-4)

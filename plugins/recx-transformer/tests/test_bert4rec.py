"""``retriever=bert4rec``: its contract, what it learns, and how it is kept and told from the other model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from recx_transformer.circle import circle, small, small_bert
from recx_transformer.learner import Learner
from recx_transformer.model import Network
from recx_transformer.retriever import BERT4Rec, Transformer

import recx
from recx.plugin import InputError, Requests
from recx.testing import check_retriever, everyone_asks, tiny_world

QUICK: dict[str, Any] = {"factors": 16, "epochs": 2, "validation_users": 5, "batch_size": 128, "max_length": 6}
INPUTS: dict[str, Any] = {"embedding": True, "category": True, "time_gap": True, "time_of_day": True}


@pytest.mark.parametrize(
    "settings",
    [{}, {**INPUTS, "recent": ("15m", "6h"), "positions": "relative", "seen": "keep", "loss": "gbce", "negatives": 3}],
    ids=["published", "inputs"],
)
def test_it_fulfils_the_contract_of_a_retriever(settings: dict[str, Any]) -> None:
    check_retriever(BERT4Rec(**{**QUICK, **settings}), tiny_world())


@pytest.mark.parametrize("positions", ["learned", "relative"])
def test_a_circle_is_learned(positions: str) -> None:
    world = circle(events=8)
    settings: dict[str, Any] = {"positions": positions, "seen": "keep", "max_length": 4, "validation_users": 0}
    fitted = small_bert(**settings, mask_last=0.5, batch_size=128, learning_rate=1e-2, epochs=16).fit(world)
    lists = fitted.retrieve(world, Requests(np.arange(world.n_users, dtype=np.int32)), 1)
    assert (lists.item == (world.item[world.indptr[1:] - 1] + 1) % world.n_items).mean() > 0.9
    loss = fitted.summary.curves["bert4rec/loss"]
    assert len(loss) == 16
    assert loss[-1] < loss[0]


def test_a_seed_repeats_and_another_differs() -> None:
    one, again, other = (small_bert(epochs=1, seed=seed).fit(circle(20, 5)).network.state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(tensor, again[name]) for name, tensor in one.items())
    assert not torch.equal(one["own"], other["own"])


def test_who_else_asks_changes_no_answer() -> None:
    history, requests = everyone_asks(tiny_world())
    fitted = BERT4Rec(**{**QUICK, **INPUTS}).fit(history)
    whole = fitted.retrieve(history, requests, 5)
    for user in range(0, len(requests), 7):
        alone = fitted.retrieve(history, requests[user : user + 1], 5)
        rows = slice(whole.indptr[user], whole.indptr[user + 1])
        assert np.array_equal(alone.item, whole.item[rows])
        assert alone.score == pytest.approx(whole.score[rows], abs=1e-5)


def test_a_network_comes_back_as_it_was(tmp_path: Path) -> None:
    network = small_bert(epochs=1).fit(circle(20, 5)).network
    network.save(tmp_path)
    again = Network.load(tmp_path)
    assert again.shape == network.shape
    assert not again.shape.causal
    for name, tensor in network.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor)


def test_a_fitted_part_has_the_network_of_its_model() -> None:
    fitted = small_bert(epochs=1).fit(circle(20, 5))
    with pytest.raises(ValueError, match="retriever=transformer for a network of another model"):
        replace(fitted, settings=small())


def test_a_run_s_network_is_used_by_its_own_model_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = [
        *("+experiment=news", "dataset.readers=60", "dataset.articles=40", "tracker=console", "cache=off"),
        *("ranker=identity", "retriever=bert4rec", "retriever.factors=16", "retriever.epochs=1"),
        *("retriever.validation_users=0", "hydra.run.dir=outputs/a/b"),
    ]
    made = recx.run(words)
    monkeypatch.setattr(Learner, "step", None)
    history, requests = made.split.fold.history, made.split.fold.requests
    lists = BERT4Rec(from_run="outputs/a/b").fit(history).retrieve(history, requests, 100)
    assert np.array_equal(lists.item, made.candidates.item)
    assert np.array_equal(lists.score, made.candidates.score)
    with pytest.raises(InputError, match="contains no network of retriever=transformer: choose a run with that"):
        Transformer(from_run="outputs/a/b").fit(history)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"mask_prob": 0.0}, "retriever.mask_prob=0.0: it must be "),
        ({"mask_prob": 1.0}, "retriever.mask_prob=1.0: it must be "),
        ({"mask_last": 1.5}, "retriever.mask_last=1.5: it must be "),
        ({"max_length": 1}, "retriever.max_length=1: it must be 2 or more"),
    ],
)
def test_wrong_settings_are_reported_by_their_key(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        BERT4Rec(**settings)
    assert str(error.value).startswith(said)

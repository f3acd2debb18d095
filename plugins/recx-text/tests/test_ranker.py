"""A cross-encoder fulfils a ranker's contract and keeps its network's own order."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from recx_text.ranker import CrossEncoder
from sentence_transformers import CrossEncoder as Model

from recx.plugin import InputError, Interactions, position_of_rows
from recx.testing import check_ranker, last_out, some_candidates, tiny_world


def world(times: bool = True) -> Interactions:
    """Return the tiny world with texts: of users and items; the last of each has none."""
    made, letters = tiny_world(times=times), np.array(list("abcdefghij"), dtype=object)
    rng = np.random.default_rng(0)

    def texts(n: int) -> Any:
        words = np.array([" ".join(rng.choice(letters, 5)) for _ in range(n)], dtype=object)
        words[-1] = ""
        return words

    users = replace(made.users, table={**made.users.table, "text": texts(made.n_users)})
    items = replace(made.items, table={**made.items.table, "text": texts(made.n_items)})
    return replace(made, users=users, items=items)


@pytest.mark.parametrize("settings", [{}, {"top": 3, "batch_size": 2, "max_length": 8}], ids=str)
def test_it_fulfils_the_contract_of_a_ranker(pairs: Path, settings: dict[str, Any]) -> None:
    check_ranker(CrossEncoder(str(pairs), device="cpu", **settings), world())
    check_ranker(CrossEncoder(str(pairs), device="cpu", **settings), world(times=False))


def test_the_order_is_that_of_the_network_alone(pairs: Path) -> None:
    fold = last_out(world())
    candidates = some_candidates(fold)
    ranked = CrossEncoder(str(pairs), device="cpu").rank(candidates, fold.history, fold.requests)
    network = Model(str(pairs), device="cpu", activation_fn=torch.nn.Identity())
    users, items = fold.history.users.table["text"], fold.history.items.table["text"]
    said = [(users[user], items[item]) for user, item in zip(ranked.user[ranked.list_of_row], ranked.item, strict=True)]
    assert np.allclose(ranked.score, network.predict(said, show_progress_bar=False), atol=1e-5)
    assert len(np.unique(np.round(ranked.score, 4))) > 50  # a random network, but not a constant one


def test_what_is_not_read_keeps_its_order_below(pairs: Path) -> None:
    fold = last_out(world())
    candidates = some_candidates(fold)
    ranked = CrossEncoder(str(pairs), top=3, device="cpu").rank(candidates, fold.history, fold.requests)
    below = position_of_rows(ranked.indptr) >= 3
    assert below.any()
    assert np.array_equal(ranked.item[below], candidates.item[below])
    whole = CrossEncoder(str(pairs), device="cpu").rank(candidates.top(3), fold.history, fold.requests)
    assert np.array_equal(ranked.item[~below], whole.item)


def test_a_world_without_texts_is_reported(pairs: Path) -> None:
    fold = last_out(tiny_world())
    with pytest.raises(InputError, match="the users of this dataset have no text"):
        CrossEncoder(str(pairs), device="cpu").rank(some_candidates(fold), fold.history, fold.requests)


def test_a_model_that_ranks_nothing_is_reported(pairs: Path, triples: Path, sentences: Path, tmp_path: Path) -> None:
    fold = last_out(world())
    candidates = some_candidates(fold)
    damaged = tmp_path / "damaged"
    shutil.copytree(pairs, damaged)
    (damaged / "config.json").write_text("{")
    for folder, said in (
        (sentences, "is not a reranker"),
        (triples, "is not a reranker"),
        (damaged, "cannot be loaded"),
    ):
        with pytest.raises(InputError, match=said):
            CrossEncoder(str(folder), device="cpu").rank(candidates, fold.history, fold.requests)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"top": 0}, "ranker.top=0: it must be 1 or more"),
        ({"batch_size": -1}, "ranker.batch_size=-1: it must be 1 or more"),
        ({"device": "gpu"}, "ranker.device=gpu: did you mean 'cpu'?"),
    ],
)
def test_wrong_settings_are_reported_by_their_key(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        CrossEncoder(**settings)
    assert str(error.value) == said

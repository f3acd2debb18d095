"""Sampled metrics of lists of all items: ranks by a loop, the whole catalogue as the sample, corrections, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.ragged import indptr_of
from recx.core.types import RankedLists
from recx.evaluation.evaluator import Evaluator
from recx.evaluation.metrics.sampled import corrections, of_rank
from recx.evaluation.negatives import Negatives
from tests.evaluation.test_negatives import N_ITEMS, N_USERS, fold_of

STAGES = {"retrieval": ["mrr_sampled_6"], "ranking": ["mrr_sampled_6"]}


def lists(seed: int, longest: int) -> RankedLists:
    rng = np.random.default_rng(seed)
    drawn = [rng.permutation(N_ITEMS)[: rng.integers(longest + 1)] for _ in range(N_USERS)]
    item = np.concatenate(drawn).astype(np.int32)
    lengths = np.array([len(of) for of in drawn])
    return RankedLists(np.arange(N_USERS, dtype=np.int32), indptr_of(lengths), item, np.zeros(len(item), np.float32))


def test_the_target_is_ranked_among_what_was_drawn() -> None:
    fold, shown = fold_of(times=False), lists(1, 25)
    assert fold.target is not None
    evaluator = Evaluator(**STAGES, end_to_end=["hit_at_2_sampled_6", "ndcg_at_3_sampled_6"], negatives="uniform")
    found = evaluator.evaluate(shown, shown, fold)
    drawn = Negatives(fold, "uniform", 0).items(fold.requests.user, 6)
    ranks, retrieved = [], []
    for user in range(N_USERS):
        own, target = shown.item[shown.indptr[user] : shown.indptr[user + 1]].tolist(), int(fold.target.item[user])
        retrieved.append(target in own)
        above = own[: own.index(target)] if retrieved[-1] else []
        ranks.append(1 + len({*above} & {*drawn[user].tolist()}))
    rank, there = np.array(ranks), np.array(retrieved)
    assert 5 < there.sum() < N_USERS
    assert found.values["end_to_end/hit_at_2_sampled_6"].tolist() == (there & (rank <= 2)).tolist()
    assert found.values["end_to_end/ndcg_at_3_sampled_6"] == pytest.approx(np.where(there, of_rank("ndcg", 3, rank), 0))
    assert found.values["retrieval/mrr_sampled_6"] == pytest.approx(np.where(there, 1 / rank, 0))
    assert found.values["ranking/mrr_sampled_6"][there] == pytest.approx(1 / rank[there])
    assert np.isnan(found.values["ranking/mrr_sampled_6"][~there]).all()
    pool = round(float(Negatives(fold, "uniform", 0).pools(fold.requests.user).mean())) + 1
    expected = np.where(there, corrections("hit", 2, 6, pool)[rank - 1], 0)
    assert found.values["end_to_end/hit_at_2_sampled_6_corrected"] == pytest.approx(expected)


def test_of_items_drawn_by_popularity_there_is_no_correction() -> None:
    fold, shown = fold_of(times=False), lists(1, 25)
    evaluator = Evaluator(**STAGES, end_to_end=["hit_at_2_sampled_6"], negatives="popularity", negatives_seed=2)
    found = evaluator.evaluate(shown, shown, fold)
    assert "end_to_end/hit_at_2_sampled_6" in found.values
    assert not any("corrected" in name for name in found.values)
    with pytest.raises(InputError, match=r"corrects for uniform sampling: leave it out, or write evaluator\.negatives"):
        Evaluator(**STAGES, end_to_end=["hit_at_2_sampled_6_corrected"], negatives="popularity")


def test_lists_that_should_hold_their_items_are_told_how_to_draw_them() -> None:
    fold, shown = fold_of(times=False), lists(1, 25)
    with pytest.raises(InputError, match=r"in a run, evaluator\.negatives=uniform draws them"):
        Evaluator([], [], ["hit_at_2_sampled_6"]).evaluate(shown, shown, fold)


def test_several_targets_are_refused() -> None:
    fold, shown = fold_of(times=False), lists(1, 25)
    assert fold.target is not None
    twice = replace(
        fold.target,
        indptr=2 * fold.target.indptr,
        item=np.column_stack([fold.target.item, (fold.target.item + 1) % N_ITEMS]).ravel(),
        weight=np.ones(2 * N_USERS, np.float32),
    )
    with pytest.raises(InputError, match="defined for one target a user"):
        Evaluator([], [], ["hit_at_2_sampled_6"], negatives="uniform").evaluate(
            shown, shown, replace(fold, target=twice)
        )

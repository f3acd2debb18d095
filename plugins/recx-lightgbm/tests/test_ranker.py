"""LambdaMART fulfils a ranker's contract, learns what no linear model can, and equals LightGBM's own to the bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lightgbm import Booster, LGBMRanker
from recx_lightgbm.ranker import FittedLambdamart, Lambdamart
from recx_lightgbm.trees import Trees

from recx.plugin import Doubles, InputError, RankedLists, RecxError, indptr_of, sum_of_groups
from recx.testing import check_ranker, part_of, tiny_world

QUICK: dict[str, Any] = {"trees": 30, "min_trees": 1, "leaves": 7, "min_rows": 5, "learning_rate": 0.1}
BASIC = part_of("feature/basic")
TINY = {"clicks": BASIC["clicks"], "score": BASIC["retrieval_score"], "rank": BASIC["retrieval_rank"]}


def ndcg(lists: RankedLists, grade: Any, k: int = 5) -> float:
    """Return the mean NDCG with the grades themselves as gains; grade: by item."""

    def dcg(order: RankedLists) -> Doubles:
        gain = np.where(order.rank <= k, grade[order.item] / np.log2(order.rank + 1), 0)
        return np.asarray(sum_of_groups(gain, order.indptr))

    ideal = dcg(lists.reorder(grade[lists.item]))
    return float((dcg(lists)[ideal > 0] / ideal[ideal > 0]).mean())


def by_item(world: Any) -> Any:
    grade = np.zeros(len(world.grade))
    grade[world.candidates.item] = world.grade
    return grade


def learnable(world: Any) -> RankedLists:
    lists: RankedLists = world.candidates.take(world.fold.requests.user)
    return lists


def fitted(world: Any, **settings: Any) -> FittedLambdamart:
    return Lambdamart(world.features, **{**QUICK, **settings}).fit(world.candidates, world.fold)


@pytest.mark.parametrize("settings", [{}, {"refit_all": False}, {"validation_share": 0.0, "missed": "add"}], ids=str)
def test_it_fulfils_the_contract_of_a_ranker(settings: dict[str, Any]) -> None:
    ranker = Lambdamart(TINY, **{**QUICK, "min_rows": 1, **settings})
    check_ranker(ranker)
    check_ranker(ranker, tiny_world(times=False))


def test_what_no_linear_model_can_tell_is_learned(world: Callable[..., Any]) -> None:
    past, now = world(), world(seed=1)
    ranked = fitted(past).rank(learnable(now), now.fold.history, now.fold.requests)
    assert ndcg(ranked, by_item(now)) > 0.85 > 0.6 > ndcg(learnable(now), by_item(now))


def shuffled(world: Any, seed: int) -> Any:
    """Return the data with every user's grades shuffled among the candidates."""
    lists, rng = world.candidates, np.random.default_rng(seed)
    place = np.concatenate([rng.permutation(row) for row in np.arange(len(lists)).reshape(lists.n_lists, -1)])
    moved = np.empty_like(lists.item)
    moved[lists.item[place]] = lists.item
    target = world.fold.target
    fold = replace(world.fold, target=replace(target, item=moved[target.item]))
    return replace(world, fold=fold, grade=world.grade[place])


def test_on_shuffled_labels_it_is_at_chance(world: Callable[..., Any]) -> None:
    past, now = shuffled(world(), seed=0), shuffled(world(users=600, seed=1), seed=1)
    ranked = fitted(past).rank(learnable(now), now.fold.history, now.fold.requests)
    assert abs(ndcg(ranked, by_item(now)) - ndcg(learnable(now), by_item(now))) < 0.04


@pytest.mark.parametrize("gain", ["linear", "exponential"])
def test_it_is_lightgbms_own_to_the_bit(world: Callable[..., Any], gain: str) -> None:
    past, now = world(), world(seed=1)
    ours = fitted(past, gain=gain, validation_share=0.0).rank(learnable(now), now.fold.history, now.fold.requests)
    lists = learnable(past)
    theirs = LGBMRanker(
        n_estimators=30,
        num_leaves=7,
        min_child_samples=5,
        label_gain=[0, 1, 2] if gain == "linear" else [0, 1, 3],
        verbosity=-1,
        force_row_wise=True,
        n_jobs=0,
    )
    theirs.fit(np.stack(list(lists.columns.values()), 1), by_item(past)[lists.item].astype(int), group=lists.lengths)
    score = theirs.booster_.predict(np.stack(list(learnable(now).columns.values()), 1))
    assert np.array_equal(ours.item, learnable(now).reorder(np.asarray(score)).item)


def test_trees_are_chosen_on_users_set_apart(world: Callable[..., Any]) -> None:
    model = fitted(world(), trees=400, patience=10, refit_all=False)
    curve = model.summary.curves["lambdamart/valid_ndcg_at_10"]
    assert len(curve) < 400
    assert model.summary.notes["lambdamart_trees"] == int(np.argmax(curve)) + 1
    users = model.summary.notes["ranker_users_fitted_on"] + model.summary.notes["lambdamart_validation_users"]
    assert model.summary.notes["lambdamart_validation_users"] == round(users / 10)
    again = fitted(world(), trees=400, patience=10)
    trees = model.summary.notes["lambdamart_trees"]
    assert again.trees.booster.num_trees() == again.summary.notes["lambdamart_trees"] == trees
    assert again.summary.notes["ranker_users_fitted_on"] == users
    assert curve[-1] <= max(curve)


def test_few_trees_are_never_chosen(world: Callable[..., Any]) -> None:
    past = shuffled(world(), seed=0)
    chosen = fitted(past, trees=100, patience=5).summary.notes["lambdamart_trees"]
    assert chosen < 40
    model = fitted(past, trees=100, patience=5, min_trees=40)
    assert model.summary.notes["lambdamart_trees"] == model.trees.booster.num_trees() == 40
    assert fitted(past, trees=20, min_trees=40).summary.notes["lambdamart_trees"] == 20


def test_the_validation_is_recxs_ndcg(world: Callable[..., Any]) -> None:
    past = world()
    model = fitted(past, validation_share=0.5, refit_all=False, trees=1, k=5)
    lists = learnable(past)
    apart = np.zeros(lists.n_lists, dtype=bool)
    apart[np.random.default_rng(0).choice(lists.n_lists, round(lists.n_lists / 2), replace=False)] = True
    ranked = model.rank(lists.take(apart), past.fold.history, past.fold.requests[np.flatnonzero(apart)])
    assert model.summary.curves["lambdamart/valid_ndcg_at_5"][0] == pytest.approx(
        ndcg(ranked, by_item(past)), abs=0.05
    )  # it breaks ties otherwise


def test_importances_say_what_mattered(world: Callable[..., Any]) -> None:
    model = fitted(world())
    assert list(model.summary.importances)[-1] == "constant"
    assert model.summary.importances["constant"] == 0
    assert sum(model.summary.importances.values()) == pytest.approx(1)
    assert {"good", "sign"} == set(list(model.summary.importances)[:2])


def test_the_saved_text_ranks_the_same(world: Callable[..., Any], tmp_path: Path) -> None:
    past, now = world(), world(seed=1)
    for settings in ({}, {"refit_all": False, "trees": 400, "patience": 5}):
        model = fitted(past, **settings)
        model.trees.save(tmp_path)
        saved = Booster(model_file=tmp_path / "model.txt")
        assert saved.feature_name() == list(model.names)
        score = saved.predict(np.stack(list(learnable(now).columns.values()), 1))
        ranked = model.rank(learnable(now), now.fold.history, now.fold.requests)
        assert np.array_equal(ranked.item, learnable(now).reorder(np.asarray(score)).item)


def test_trees_that_are_damaged_are_reported(world: Callable[..., Any], tmp_path: Path) -> None:
    model = fitted(world())
    with pytest.raises(InputError, match="contains no trees that can be read"):
        Trees.load(tmp_path)
    (tmp_path / "model.txt").write_text("tree\nversion=v4\n")
    with pytest.raises(InputError, match="contains no trees that can be read"):
        Trees.load(tmp_path)
    with pytest.raises(ValueError, match="trees over 4 features, not over 2"):
        replace(model, names=model.names[:2])


def test_names_that_lightgbm_refuses_are_kept_here(world: Callable[..., Any]) -> None:
    past = world()
    features = {"good: 1": past.features["good"], "größe": past.features["sign"]}
    model = Lambdamart(features, **QUICK).fit(past.candidates, past.fold)
    assert set(model.summary.importances) == set(features)


def test_candidates_with_other_columns_than_those_of_the_fit_are_refused(world: Callable[..., Any]) -> None:
    past = world()
    lists = learnable(past)
    model = Lambdamart(part_of("feature/columns"), **QUICK).fit(past.candidates, past.fold)
    other = replace(lists, columns=dict(reversed(lists.columns.items())))
    with pytest.raises(InputError, match="ranker=lambdamart learned from other features than these candidates have"):
        model.rank(other, past.fold.history, past.fold.requests)


def test_nothing_to_split_leaves_the_order(world: Callable[..., Any]) -> None:
    past = world()
    model = Lambdamart({"constant": past.features["constant"]}, **QUICK).fit(past.candidates, past.fold)
    lists = learnable(past)
    assert np.array_equal(model.rank(lists, past.fold.history, past.fold.requests).item, lists.item)
    assert model.summary.importances == {"constant": 0.0}


def test_grades_may_be_any_numbers(world: Callable[..., Any]) -> None:
    past, now = world(), world(seed=1)
    target = past.fold.target
    assert target is not None
    weight = (target.weight * np.float32(0.37) - (np.arange(len(target)) % 7 == 0)).astype(np.float32)  # some below 0
    model = fitted(replace(past, fold=replace(past.fold, target=replace(target, weight=weight))))
    assert ndcg(model.rank(learnable(now), now.fold.history, now.fold.requests), by_item(now)) > 0.8


def test_a_grade_too_large_for_powers_of_two_is_reported(world: Callable[..., Any]) -> None:
    past = world()
    target = past.fold.target
    assert target is not None
    large = replace(past, fold=replace(past.fold, target=replace(target, weight=target.weight * 1000)))
    with pytest.raises(InputError, match=r"ranker\.gain=exponential: a target has the grade or weight 2000"):
        fitted(large, gain="exponential")
    assert fitted(large).summary.notes["lambdamart_trees"] >= 1


def test_lists_of_one_and_of_targets_alone_are_taken(world: Callable[..., Any]) -> None:
    past = world()
    lists = past.candidates
    wanted = np.isin(lists.item, past.fold.target.item)
    for kept in (lists.rank <= 1, wanted):
        lengths = np.add.reduceat(kept, lists.indptr[:-1], dtype=np.int64)
        some = lists.picked(kept, indptr=indptr_of(lengths))
        model = Lambdamart(past.features, **QUICK).fit(some, past.fold)
        ranked = model.rank(learnable(past), past.fold.history, past.fold.requests)
        assert np.isfinite(ranked.score).all()


def test_a_feature_that_is_not_finite_is_reported(world: Callable[..., Any]) -> None:
    past = world()
    past.candidates.columns["noise"][17] = np.nan
    with pytest.raises(RecxError, match="feature noise is nan for user 1001"):
        fitted(past)


def test_a_list_longer_than_lightgbm_takes_is_reported(world: Callable[..., Any]) -> None:
    with pytest.raises(InputError, match="user 1000 has 10001 candidates, but LightGBM accepts at most 10000"):
        fitted(world(users=2, length=10_001))


def test_a_single_user_is_reported_with_the_way_out(world: Callable[..., Any]) -> None:
    alone = world(users=1, length=50)
    with pytest.raises(InputError, match=r"set ranker\.validation_share=0"):
        fitted(alone)
    assert fitted(alone, validation_share=0.0).summary.notes["ranker_users_fitted_on"] == 1


def test_nobody_with_a_target_is_reported(world: Callable[..., Any]) -> None:
    past = world()
    empty = past.candidates.top(0)
    with pytest.raises(InputError, match="the ranker has nothing to learn from"):
        Lambdamart(past.features).fit(empty, past.fold)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"features": {}}, "ranker=lambdamart has no features"),
        ({"gain": "log"}, "ranker.gain=log: choose one of: exponential, linear"),
        ({"missed": "keep"}, "ranker.missed=keep: choose one of: add, drop"),
        ({"trees": 0}, "ranker.trees=0: it must be 1 or more"),
        ({"leaves": 1}, "ranker.leaves=1: it must be 2 or more"),
        ({"learning_rate": float("nan")}, "ranker.learning_rate=nan: it must be a number"),
        ({"l2": -1.0}, "ranker.l2=-1.0: it must be 0 or more"),
        ({"columns": 0.0}, "ranker.columns=0.0: it must be above 0 and at most 1"),
        ({"validation_share": 1.0}, "ranker.validation_share=1.0: it must be 0 or more and below 1"),
    ],
)
def test_wrong_settings_are_reported_by_their_key(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        Lambdamart(**{"features": TINY, **settings})
    assert str(error.value).startswith(said)

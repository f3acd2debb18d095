"""The logistic loss: equal to scikit-learn's LogisticRegression, and corrected for what the fit saw otherwise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from sklearn.linear_model import LogisticRegression

from recx.config.part_classes import locate
from recx.core.errors import InputError
from recx.core.types import Array, Doubles, Fold, RankedLists, Split
from recx.evaluation.ctr.calibration import deciles, errors
from recx.evaluation.ctr.rows import Rows
from recx.evaluation.ground_truth import ANY_GAIN, GroundTruth
from recx.parts.dataset.synthetic_clicks import SyntheticClicks
from recx.parts.feature.columns import Columns
from recx.parts.feature.retrieval import Rank
from recx.parts.ranker.fitted_linear import FittedLinear
from recx.parts.ranker.linear import Linear
from recx.parts.ranker.logistic import Classes, Objective, kept_rows
from recx.parts.retriever.given import Given
from recx.parts.split.by_query import ByQuery
from recx.storage import values

FEATURES = {"slate": Columns()}


def problem(seed: int, users: int = 40, features: int = 3, l2: float = 0.01) -> Objective:
    rng = np.random.default_rng(seed)
    indptr = np.append(0, np.cumsum(rng.integers(1, 6, users)))
    table = rng.normal(size=(indptr[-1], features)).astype(np.float32)
    clicked, weight = rng.random(indptr[-1]) < 0.3, rng.uniform(0.5, 2, indptr[-1])
    return Objective.of(table, clicked, weight, indptr, l2)


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), l2=st.sampled_from([0.0, 0.01, 3.0]))
def test_value_gradient_and_curvature_are_those_of_the_formula(seed: int, l2: float) -> None:
    objective = problem(seed, l2=l2)
    at = np.random.default_rng(seed).normal(size=4)
    score = objective.table.astype(float) @ at[:-1] + at[-1]
    p = 1 / (1 + np.exp(-score))
    losses = -np.log(np.where(objective.clicked == 1, p, 1 - p))
    value, gradient = objective.value_and_gradient(at)
    assert value == pytest.approx(np.average(losses, weights=objective.weight) + l2 * (at[:-1] @ at[:-1]))
    assert gradient == pytest.approx(approx_fprime(at, lambda w: objective.value_and_gradient(w)[0], 1e-7), abs=1e-5)
    slope = [approx_fprime(at, lambda w, n=n: objective.value_and_gradient(w)[1][n], 1e-7) for n in range(4)]
    assert objective.curvature(at) == pytest.approx(np.array(slope), abs=1e-5)


def test_the_gradients_of_users_and_the_objectives_of_each_user_have_the_whole_as_their_mean() -> None:
    objective, at = problem(1), np.array([0.5, -1.0, 2.0, -0.3])
    value, gradient = objective.value_and_gradient(at)
    assert objective.gradient_of_users(at).mean(axis=0) == pytest.approx(gradient)
    each = [one.value_and_gradient(at) for one in objective.of_each_user()]
    assert np.mean([one for one, _ in each]) == pytest.approx(value)
    assert np.mean([slope for _, slope in each], axis=0) == pytest.approx(gradient)


def fold_of(impressions: int, seed: int = 0, **settings: Any) -> tuple[RankedLists, Split, Doubles]:
    """The lists of the past fold, the split, and the probabilities of the rows of all impressions."""
    dataset = SyntheticClicks(impressions=impressions, seed=seed, **settings)
    split = ByQuery().split(dataset.load(), "test")
    assert split.past is not None
    return lists_of(split.past), split, dataset.probabilities()


def lists_of(fold: Fold) -> RankedLists:
    return Given().fit(fold.history).retrieve(fold.history, fold.requests, 100)


def clicked_of(lists: RankedLists, fold: Fold) -> Array:
    return GroundTruth.of(fold, ANY_GAIN).with_users(lists.user).judge(lists).gain > 0


@pytest.fixture(scope="module")
def small() -> tuple[RankedLists, Split]:
    return fold_of(600)[:2]


@pytest.mark.parametrize("l2", [0.0, 1e-4, 0.05])
@pytest.mark.parametrize("class_weight", [None, "balanced", 4.0], ids=str)
def test_it_is_the_logistic_regression_of_scikit_learn(
    small: tuple[RankedLists, Split], l2: float, class_weight: Any
) -> None:
    lists, past = small[0], small[1].past
    assert past is not None
    fitted = Linear(FEATURES, loss="logistic", l2=l2, class_weight=class_weight).fit(lists, past)
    clicked = clicked_of(lists, past)
    assert not np.logical_or.reduceat(clicked, lists.indptr[:-1]).all()  # there are impressions without a click
    assert fitted.notes["ranker_users_fitted_on"] == lists.n_lists
    table = np.stack([lists.columns[name] for name in fitted.names], axis=1).astype(np.float64)
    weights = Classes.of(clicked, class_weight, 1.0).weights(clicked)
    theirs = {4.0: {0: 1.0, 1: 4.0}}.get(class_weight, class_weight)
    strength = {"C": np.inf} if l2 == 0 else {"C": 1 / (2 * l2 * weights.sum())}
    model = LogisticRegression(**strength, class_weight=theirs, tol=1e-10, max_iter=10_000, solver="newton-cholesky")
    model.fit((table - fitted.mean) / fitted.deviation, clicked)
    assert fitted.weight == pytest.approx(model.coef_[0], abs=2e-4)
    assert fitted.intercept == pytest.approx(model.intercept_[0], abs=2e-4)
    theirs_p = model.predict_proba((table - fitted.mean) / fitted.deviation)[:, 1]
    raw = replace(fitted, correction=0.0)
    ours = raw.probability(raw.scores(lists, past.history, past.requests), lists.indptr)
    assert ours == pytest.approx(theirs_p, abs=1e-4)


def test_the_scores_of_ranked_lists_are_the_probabilities(small: tuple[RankedLists, Split]) -> None:
    lists, past = small[0], small[1].past
    assert past is not None
    fitted = Linear(FEATURES, loss="logistic").fit(lists, past)
    ranked = fitted.rank(lists, past.history, past.requests)
    assert 0 < ranked.score.min() < ranked.score.max() < 1
    # The score equation of the intercept: predicted and observed clicks of the fit agree.
    assert ranked.score.sum() == pytest.approx(clicked_of(lists, past).sum(), rel=1e-3)
    assert Linear(FEATURES, loss="logistic").gives_probabilities
    shown = fitted.summary.tables["intercept"]
    assert dict(zip(shown["intercept"], shown["value"], strict=True)) == {
        "fitted": fitted.intercept,
        "correction": 0.0,
        "corrected": fitted.intercept,
    }


def test_a_kept_ranker_gives_the_same_probabilities(small: tuple[RankedLists, Split], tmp_path: Path) -> None:
    lists, past = small[0], small[1].past
    assert past is not None
    fitted = Linear(FEATURES, loss="logistic", class_weight="balanced").fit(lists, past)
    values.write(fitted, tmp_path, locate)
    again = values.read(tmp_path, locate)
    assert isinstance(again, FittedLinear)
    one, other = (part.rank(lists, past.history, past.requests) for part in (fitted, again))
    assert np.array_equal(one.score, other.score)


@pytest.mark.parametrize(
    ("clicked", "class_weight", "share", "odds"),
    [(1, None, 1.0, 1.0), (1, 4.0, 1.0, 1 / 4), (1, None, 0.1, 0.1), (1, "balanced", 0.5, 0.5 / 3)],
)
def test_the_correction_by_hand(clicked: int, class_weight: Any, share: float, odds: float) -> None:
    # One click of four rows: balanced, it weighs 4 / 2 = 2 and any other 4 / 6, which is three times as much.
    classes = Classes.of(np.arange(4) < clicked, class_weight, share)
    assert np.exp(classes.correction) == pytest.approx(odds)
    # He et al. 2014: p / (p + (1 - p) / w)
    if class_weight is None:
        p, w = 0.3, share
        logit = np.log(p / (1 - p)) + classes.correction
        assert 1 / (1 + np.exp(-logit)) == pytest.approx(p / (p + (1 - p) / w))


@pytest.mark.parametrize("n_clicked", [0, 3])
def test_rows_of_one_class_are_an_error(n_clicked: int) -> None:
    with pytest.raises(InputError, match=rf"{n_clicked} of the 3 candidates of the past fold were"):
        Classes.of(np.arange(3) < n_clicked, None, 1.0)


def test_every_click_and_a_share_of_the_others_is_kept() -> None:
    clicked = np.arange(10_000) % 10 == 0
    kept = kept_rows(clicked, 0.2, 0)
    assert kept[clicked].all()
    assert kept[~clicked].mean() == pytest.approx(0.2, abs=0.02)
    assert np.array_equal(kept, kept_rows(clicked, 0.2, 0))
    assert not np.array_equal(kept, kept_rows(clicked, 0.2, 1))


@pytest.mark.parametrize(
    "changed", [{"negative_share": 0.1}, {"class_weight": "balanced"}, {"class_weight": 5.0}], ids=str
)
def test_corrected_probabilities_are_calibrated_as_those_of_the_full_fit_are(changed: dict[str, Any]) -> None:
    lists, split, truth = fold_of(12_000, features=3)
    assert split.past is not None
    full, other = (Linear(FEATURES, loss="logistic", **more).fit(lists, split.past) for more in ({}, changed))
    now = lists_of(split.fold)
    assert split.fold.history.slates is not None
    all_users = split.fold.history.slates
    known = dict(zip(pairs_of(all_users), truth, strict=True))

    def quality(fitted: FittedLinear) -> tuple[float, dict[str, float]]:
        ranked = fitted.rank(now, split.fold.history, split.fold.requests)
        judged = GroundTruth.of(split.fold, ANY_GAIN).with_users(ranked.user).judge(ranked)
        rows = Rows.of(judged)
        place = deciles(rows.p, 10, "p").place
        true = np.array([known[pair] for pair in pairs_of(ranked)])
        size = np.bincount(place)
        off = np.bincount(place, weights=rows.p - true) / size
        return float(np.abs(off) @ size / size.sum()), errors(rows, place, 0.95, 500, 0)

    (best, _), (corrected, seen) = quality(full), quality(other)
    assert corrected < best + 0.004 < 0.008  # as far as the probabilities that drew the clicks
    assert seen["calibration_error"] <= seen["calibration_error_by_chance"]
    wrong, seen = quality(replace(other, correction=0.0))
    assert wrong > 0.1
    assert seen["calibration_error"] > 10 * seen["calibration_error_by_chance"]


def pairs_of(lists: RankedLists) -> list[tuple[int, int]]:
    return list(zip(lists.user[lists.list_of_row].tolist(), lists.item.tolist(), strict=True))


def test_features_of_sampled_rows_are_those_of_the_whole_lists(small: tuple[RankedLists, Split]) -> None:
    """The rank in the list must not be that among the rows that were drawn."""
    lists, past = small[0], small[1].past
    assert past is not None
    prepared = Linear({"rank": Rank(source=None)}, loss="logistic", negative_share=0.3)._prepared(lists, past)
    examples, table, mean, deviation = prepared[0], prepared[2], prepared[3], prepared[4]
    whole = Rank(source=None).fit(past.history)(lists, past.requests)
    rows = kept_rows(clicked_of(lists, past), 0.3, 0)
    assert table[:, 0] * deviation + mean == pytest.approx(whole[rows], abs=1e-5)
    assert examples.notes["ranker_rows_not_sampled"] == (~rows).sum()
    assert np.array_equal(examples.gain > 0, clicked_of(lists, past)[rows])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"class_weight": "balanced"}, r"ranker\.class_weight is of ranker\.loss=logistic"),
        ({"negative_share": 0.5}, r"ranker\.negative_share is of ranker\.loss=logistic"),
        ({"loss": "logistic", "probabilities": "softmax"}, "with loss=logistic the scores are probabilities"),
        ({"loss": "logistic", "missed": "add"}, r"clicks on items that are no candidates would make"),
        ({"loss": "logistic", "class_weight": -1.0}, r"ranker\.class_weight=-1\.0"),
        ({"loss": "logistic", "class_weight": "balance"}, r"ranker\.class_weight=balance"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(words: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Linear(FEATURES, **words)


def test_it_learns_from_users_without_a_target_and_softmax_does_not(small: tuple[RankedLists, Split]) -> None:
    lists, past = small[0], small[1].past
    assert past is not None
    answered = int((np.bincount(past.target.user[past.target.weight > 0]) > 0).sum()) if past.target else 0
    assert 0 < answered < lists.n_lists
    of_lists, of_rows = (Linear(FEATURES, loss=loss).fit(lists, past) for loss in ("softmax", "logistic"))  # type: ignore[arg-type]
    assert (of_lists.notes["ranker_users_fitted_on"], of_rows.notes["ranker_users_fitted_on"]) == (
        answered,
        lists.n_lists,
    )


def test_the_weights_lie_in_their_intervals_and_those_of_noise_include_0(small: tuple[RankedLists, Split]) -> None:
    lists, past = small[0], small[1].past
    assert past is not None
    fitted = Linear(FEATURES, loss="logistic").fit(lists, past)
    assert ((fitted.low < fitted.weight) & (fitted.weight < fitted.high)).all()
    noise = [fitted.names.index(f"x{number}") for number in (4, 5, 6)]
    assert (fitted.low[noise] < 0).all()
    assert (fitted.high[noise] > 0).all()
    strong = fitted.names.index("x1")
    assert fitted.low[strong] > 0 or fitted.high[strong] < 0


def test_non_negative_bounds_the_weights_and_leaves_the_intercept_free(small: tuple[RankedLists, Split]) -> None:
    lists, past = small[0], small[1].past
    assert past is not None
    fitted = Linear(FEATURES, loss="logistic", non_negative=True).fit(lists, past)
    assert fitted.weight.min() == 0  # that of the position would be below
    assert fitted.intercept < 0
    assert fitted.notes["ranker_stopped_before_the_optimum"] == 0


@pytest.mark.parametrize(("optimizer", "rate"), [("gd", 1.0), ("sgd", 0.02)])
def test_the_other_ways_come_near_the_optimum(small: tuple[RankedLists, Split], optimizer: Any, rate: float) -> None:
    lists, past = small[0], small[1].past
    assert past is not None
    best = Linear(FEATURES, loss="logistic", resamples=0).fit(lists, past)
    ranker = Linear(
        FEATURES,
        loss="logistic",
        optimizer=optimizer,
        learning_rate=rate,
        epochs=15 if optimizer == "sgd" else 100,
        resamples=0,
    )
    assert ranker.fit(lists, past).losses[-1] == pytest.approx(best.losses[-1], rel=0.01)


def test_user_weights_count_as_repeated_users(small: tuple[RankedLists, Split]) -> None:
    lists, past = small[0], small[1].past
    assert past is not None
    twice = np.arange(past.history.n_users) % 2 + 1.0
    users = replace(past.history.users, table={"w": twice.astype(np.float32)})
    weighted = replace(past, history=replace(past.history, users=users))
    fitted = Linear(FEATURES, loss="logistic", user_weight="w").fit(lists, weighted)
    clicked = clicked_of(lists, past)
    table = np.stack([lists.columns[name] for name in fitted.names], axis=1).astype(np.float64)
    of_row = np.repeat(twice[lists.user] / twice[lists.user].mean(), lists.lengths)
    model = LogisticRegression(C=1 / (2 * 1e-4 * of_row.sum()), tol=1e-10, max_iter=10_000, solver="newton-cholesky")
    model.fit((table - fitted.mean) / fitted.deviation, clicked, sample_weight=of_row)
    assert fitted.weight == pytest.approx(model.coef_[0], abs=2e-4)

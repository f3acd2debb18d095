"""Early stopping, curves and resuming leave the models those of implicit."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from recx_implicit.retriever import ALS, BPR, LMF
from recx_implicit.training import Iterations

from recx.plugin import Inner, InputError, Interactions, RecxError
from recx.testing import check_training, noted

SMALL = [
    ALS(factors=4, iterations=6, seed=3),
    BPR(factors=4, iterations=6, learning_rate=0.1, seed=3),
    LMF(factors=4, iterations=6, seed=3),
]
CURVES = {"ALS": {"loss", "refit_loss"}, "BPR": {"train_auc", "refit_train_auc"}, "LMF": set()}


def name_of(value: object) -> str:
    return type(value).__name__


def chosen_by(of: Any, history: Interactions) -> tuple[int, list[float]]:
    """Return the best number of iterations and the validation after each, by fits of their own."""
    inner = Inner.of(history, "auto", 40, 0.1, of.seed)
    assert inner is not None
    found = [inner.ndcg(replace(of, iterations=number).fit(inner.train)) for number in range(1, of.iterations + 1)]
    return int(np.argmax(found)) + 1, found


def same(one: Any, other: Any) -> bool:
    return np.array_equal(one.item_factors, other.item_factors) and np.array_equal(one.user_factors, other.user_factors)


@pytest.mark.parametrize("of", SMALL, ids=name_of)
def test_the_model_is_that_of_a_fit_of_the_chosen_iterations(history: Interactions, of: Any) -> None:
    best, valid = chosen_by(of, history)
    with noted() as steps:
        fitted = replace(of, validation_users=40, patience=10).fit(history)
    assert same(fitted, replace(of, iterations=best).fit(history))
    assert steps == list(enumerate(valid, start=1))
    option = fitted.option
    assert fitted.summary.notes == {f"{option}_epochs": best, f"{option}_validation_users": 40}
    curves = dict(fitted.summary.curves)
    assert curves.pop(f"{option}/valid_ndcg_at_10") == valid
    assert set(curves) == {f"{option}/{name}" for name in CURVES[name_of(of)]}
    assert all(len(curve) == (best if "refit" in name else 6) for name, curve in curves.items())


@pytest.mark.parametrize("of", SMALL, ids=name_of)
def test_without_a_refit_it_is_the_best_of_the_validation(history: Interactions, of: Any) -> None:
    best, _ = chosen_by(of, history)
    inner = Inner.of(history, "auto", 40, 0.1, of.seed)
    assert inner is not None
    fitted = replace(of, validation_users=40, patience=10, refit_all=False).fit(history)
    assert same(fitted, replace(of, iterations=best).fit(inner.train))


def test_curves_of_als_fall_and_those_of_bpr_rise(history: Interactions) -> None:
    als = replace(SMALL[0], validation_users=40, patience=10).fit(history).summary.curves["als/loss"]
    assert (np.diff(als) < 0).all()
    bpr = replace(SMALL[1], iterations=30).fit(history).summary.curves["bpr/train_auc"]
    assert len(bpr) == 30
    assert 0.5 < bpr[-1] <= 1
    assert bpr[-1] > bpr[0] + 0.1


@pytest.mark.parametrize("of", SMALL, ids=name_of)
def test_it_fulfils_the_contract_of_a_part_that_trains(history: Interactions, of: Any) -> None:
    check_training(replace(of, validation_users=40, patience=10), history)


@pytest.mark.parametrize("of", SMALL, ids=name_of)
def test_the_time_limit_ends_after_an_iteration(
    history: Interactions, of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = iter(np.arange(1000.0))
    own = SimpleNamespace(monotonic=lambda: next(ticks))  # other threads go on by the real one
    monkeypatch.setattr("recx.parts.shared.training.time", own)
    fitted = replace(of, time_limit="2s").fit(history)
    assert fitted.summary.notes == {f"{fitted.option}_epochs": 2, f"{fitted.option}_ended_by_time_limit": 1}
    assert same(fitted, replace(of, iterations=2).fit(history))


def test_factors_that_diverge_are_an_error_while_they_are_validated(history: Interactions) -> None:
    with pytest.raises(RecxError, match="retriever=bpr: the factors diverged"):
        BPR(factors=4, learning_rate=1e30, validation_users=40).fit(history)


@pytest.mark.parametrize("of", SMALL, ids=name_of)
def test_factors_beyond_the_memory_are_refused_before_they_are_made(
    history: Interactions, of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recx.core.room.available", lambda: 0.001)
    monkeypatch.setattr(Iterations, "train", None)
    with pytest.raises(InputError, match=r"retriever\.factors=4 for 59 users and 23 items needs at least .*: lower"):
        of.fit(history)

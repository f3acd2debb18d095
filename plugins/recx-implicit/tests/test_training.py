"""Early stopping, curves and resuming leave the models those of implicit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from recx_implicit.retriever import ALS, BPR, LMF
from recx_implicit.training import Iterations

from recx.plugin import Inner, InputError, Interactions, Pruned, RecxError
from recx.testing import FirstFit, noted, watched

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


@pytest.mark.parametrize("refit_all", [True, False])
@pytest.mark.parametrize("of", SMALL, ids=name_of)
def test_a_resumed_training_ends_with_the_same_factors(
    history: Interactions, of: Any, refit_all: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = replace(of, validation_users=40, patience=10, refit_all=refit_all)
    whole = of.fit(history)
    of = replace(of, checkpoints=str(tmp_path), checkpoint_minutes=1e-9, resume=True)

    def killed(step: int, value: float) -> None:
        if step == 5:
            raise KeyboardInterrupt

    with watched(killed), pytest.raises(KeyboardInterrupt):
        of.fit(history)
    trainings: list[tuple[int, int]] = []
    train = Iterations.train

    def counting(self: Iterations, done: int, epochs: int, after: Any) -> None:
        trainings.append((done, epochs))
        train(self, done, epochs, after)

    monkeypatch.setattr(Iterations, "train", counting)
    with noted() as steps:
        again = of.fit(history)
    assert trainings[0] == (4, 6)
    assert same(again, whole)
    assert again.summary.curves == whole.summary.curves
    assert [step for step, _ in steps] == [1, 2, 3, 4, 5, 6]
    trainings.clear()
    assert same(of.fit(history), whole)
    assert trainings == []


def test_a_pruned_trial_leaves_no_checkpoint(history: Interactions, tmp_path: Path) -> None:
    of = replace(SMALL[1], validation_users=40, checkpoints=str(tmp_path), checkpoint_minutes=1e-9)
    with watched(FirstFit(lambda course: len(course) == 2)), pytest.raises(Pruned, match="epoch 2"):
        of.fit(history)
    assert list(tmp_path.iterdir()) == []


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

"""iALS against dense normal equations, written out user by user, and laws of the loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.pruning import noted
from recx.core.types import Interactions, Requests
from recx.parts.retriever.ials import IALS, Alternation, HalfStep
from recx.parts.shared.inner_validation import Inner
from recx.parts.shared.item_weights import distinct_clicks
from recx.testing import check_training

Drawn = Callable[..., Interactions]
SETTINGS = [
    IALS(factors=5, iterations=3),
    IALS(factors=12, iterations=4, unobserved=0.6, l2=0.1, exponent=0.5, seed=4),
    IALS(factors=40, iterations=2, unobserved=0.02, l2=0.5, exponent=0.0, std=1.0),
]
"""Fewer factors than most have clicks, about as many, and more."""


@pytest.fixture
def world(drawn: Drawn) -> Interactions:
    """80 users with 1 to 29 clicks, some twice on one item; item 50 has no click and the last user none."""
    rng = np.random.default_rng(6)
    clicked = [rng.zipf(1.2, rng.integers(1, 30)) % 50 for _ in range(79)]
    return drawn([*[[(int(item), 0) for item in items] for items in clicked], []], 51, times=False)


def matrix_of(world: Interactions) -> np.ndarray:
    matrix = np.zeros((world.n_users, world.n_items))
    matrix[world.user, world.item] = 1  # an item clicked twice counts once
    return matrix


def textbook(of: IALS, matrix: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return one side's vectors: (sum of c_ui h_i h_i' + ridge) w_u = sum of h_i, c: unobserved (+ 1 for a click)."""
    found = np.zeros((len(matrix), of.factors))
    m = matrix.any(axis=0).sum()
    for row, clicks in enumerate(matrix):
        if clicks.any():
            ridge = of.l2 * (clicks.sum() + of.unobserved * m) ** of.exponent
            normal = (other.T * (clicks + of.unobserved)) @ other + ridge * np.eye(of.factors)
            found[row] = np.linalg.inv(normal) @ other.T @ clicks
    return found


def loss(of: IALS, matrix: np.ndarray, users: np.ndarray, items: np.ndarray) -> float:
    scores, n_users, n_items = users @ items.T, matrix.any(axis=1).sum(), matrix.any(axis=0).sum()
    user_ridge = of.l2 * (matrix.sum(axis=1) + of.unobserved * n_items) ** of.exponent
    item_ridge = of.l2 * (matrix.sum(axis=0) + of.unobserved * n_users) ** of.exponent
    fit = (matrix * (1 - scores) ** 2).sum() + of.unobserved * (scores**2).sum()
    return float(fit + user_ridge @ (users**2).sum(axis=1) + item_ridge @ (items**2).sum(axis=1))


@pytest.mark.parametrize("of", SETTINGS, ids=lambda of: f"factors {of.factors}")
def test_the_vectors_are_those_of_dense_normal_equations(world: Interactions, of: IALS) -> None:
    matrix = matrix_of(world)
    known = matrix.any(axis=0)
    items = np.zeros((world.n_items, of.factors))
    items[known] = np.random.default_rng(of.seed).normal(0, of.std / np.sqrt(of.factors), (known.sum(), of.factors))
    for _ in range(of.iterations):
        users = textbook(of, matrix, items)
        items = textbook(of, matrix.T, users)
    fitted = of.fit(world)
    np.testing.assert_allclose(fitted.vectors, items, atol=1e-5)
    asked = np.arange(world.n_users, dtype=np.int32)
    np.testing.assert_allclose(fitted.users(world, asked), textbook(of, matrix, items), atol=1e-5)


def test_one_user_and_one_item_by_hand(drawn: Drawn, shown: Callable) -> None:
    # One factor. With h of the item, w = h / (h**2 (1 + unobserved) + ridge), and ridge = 1 * (1 + 1 * 1) ** 1 = 2.
    world = drawn([[(0, 0)]], 2, times=False)
    fitted = IALS(factors=1, unobserved=1.0, l2=1.0, iterations=1, seed=2, seen="keep").fit(world)
    first = 0.1 * np.random.default_rng(2).standard_normal()
    user = first / (2 * first**2 + 2)
    item = user / (2 * user**2 + 2)
    assert fitted.vectors.tolist() == [[pytest.approx(item)], [0]]
    lists = fitted.retrieve(world, Requests(np.array([0], dtype=np.int32)), 5)
    assert shown(lists) == [[0]]
    assert lists.score.tolist() == pytest.approx([item**2 / (2 * item**2 + 2)])


@pytest.mark.parametrize("of", SETTINGS, ids=lambda of: f"factors {of.factors}")
def test_the_loss_never_rises(world: Interactions, of: IALS) -> None:
    matrix, asked, losses = matrix_of(world), np.arange(world.n_users, dtype=np.int32), []
    for iterations in range(1, 9):
        settings = IALS(**{**vars(of), "iterations": iterations})
        fitted = settings.fit(world)
        losses.append(loss(of, matrix, fitted.users(world, asked), fitted.vectors))
    assert losses[0] > losses[-1]
    assert (np.diff(losses) <= 1e-5 * losses[0]).all()  # the vectors are stored as float32


@pytest.mark.parametrize("cells", [20, 1_000_000])
@pytest.mark.parametrize("of", SETTINGS, ids=lambda of: f"factors {of.factors}")
def test_the_curve_has_the_loss_per_click(
    world: Interactions, of: IALS, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    training, matrix = Alternation.of(of, world), matrix_of(world)
    users = np.random.default_rng(1).normal(0, 0.3, (world.n_users, of.factors)).astype(np.float32)
    monkeypatch.setattr("recx.parts.retriever.ials.CELLS", cells)
    assert training.loss(users) == pytest.approx(loss(of, matrix, users, training.items) / matrix.sum(), rel=1e-5)


@pytest.mark.parametrize("refit_all", [True, False])
def test_the_validation_chooses_the_iterations(world: Interactions, refit_all: bool) -> None:
    of = replace(SETTINGS[1], iterations=6, patience=10)
    inner = Inner.of(world, "auto", 50, 0.1, of.seed)
    assert inner is not None
    valid = [inner.ndcg(replace(of, iterations=number).fit(inner.train)) for number in range(1, 7)]
    best = int(np.argmax(valid)) + 1
    with noted() as steps:
        fitted = replace(of, validation_users=50, refit_all=refit_all).fit(world)
    expected = replace(of, iterations=best).fit(world if refit_all else inner.train)
    np.testing.assert_array_equal(fitted.vectors, expected.vectors)
    assert steps == list(enumerate(valid, start=1))
    assert fitted.summary.notes == {"ials_epochs": best, "ials_validation_users": 50}
    curves = fitted.summary.curves
    assert curves["ials/valid_ndcg_at_10"] == valid
    assert (np.diff(curves["ials/loss"]) <= 1e-6).all()
    assert len(curves.get("ials/refit_loss", ())) == (best if refit_all else 0)


def test_it_fulfils_the_contract_of_a_part_that_trains(world: Interactions) -> None:
    check_training(replace(SETTINGS[0], patience=10, validation_users=50), world)


def test_without_validation_there_is_no_curve_and_no_note(world: Interactions) -> None:
    summary = SETTINGS[0].fit(world).summary
    assert (summary.curves, summary.notes) == ({}, {})


def test_vectors_beyond_the_memory_are_refused_before_they_are_drawn(
    world: Interactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recx.core.room.available", lambda: 0.001)
    monkeypatch.setattr(Alternation, "of", None)
    with pytest.raises(InputError, match=r"factors=5 for 80 users and 51 items needs at least .*: lower retriever\.f"):
        SETTINGS[0].fit(world)


def test_a_user_asked_alone_has_the_vector_of_the_half_step(world: Interactions) -> None:
    fitted = SETTINGS[1].fit(world)
    together = HalfStep(fitted.settings, fitted.vectors).solve(distinct_clicks(world))
    assert together[:-1].any(axis=1).all()
    for user in range(world.n_users):
        np.testing.assert_allclose(fitted.users(world, np.array([user], dtype=np.int32))[0], together[user], rtol=1e-5)


def test_new_users_count_and_clicks_on_unknown_items_do_not(world: Interactions, drawn: Drawn, shown: Callable) -> None:
    fitted, first = SETTINGS[1].fit(world), [(int(item), 0) for item in world.item[: world.indptr[1]]]
    later = drawn([[*first, (50, 0)], [(50, 0)], first[:1]], 51, times=False)
    vectors = fitted.users(later, np.array([0, 1, 2], dtype=np.int32))
    np.testing.assert_array_equal(vectors[0], fitted.users(world, np.array([0], dtype=np.int32))[0])
    assert not vectors[1].any()
    lists = shown(fitted.retrieve(later, Requests(np.array([1, 2], dtype=np.int32)), 3))
    assert [len(one) for one in lists] == [0, 3]


def test_the_vectors_follow_the_seed_and_not_the_threads(world: Interactions, monkeypatch: pytest.MonkeyPatch) -> None:
    def vectors(threads: int, seed: int) -> np.ndarray:
        monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
        return IALS(factors=8, seed=seed).fit(world).vectors

    np.testing.assert_array_equal(vectors(1, 3), vectors(4, 3))
    assert not np.allclose(vectors(1, 3), vectors(1, 4))


def test_many_clicks_are_added_up_in_pieces(world: Interactions, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = SETTINGS[0].fit(world).vectors
    monkeypatch.setattr("recx.parts.retriever.ials.CELLS", 20)  # four clicks of five factors
    np.testing.assert_allclose(SETTINGS[0].fit(world).vectors, whole, atol=1e-6)


def test_similar_items_are_the_nearest_by_cosine(world: Interactions) -> None:
    fitted = SETTINGS[1].fit(world)
    near = fitted.similar(3, 4)
    unit = fitted.vectors[:50] / np.linalg.norm(fitted.vectors[:50], axis=1, keepdims=True)
    cosine = unit @ unit[3]
    cosine[3] = -1
    assert near.item.tolist() == np.argsort(-cosine)[:4].tolist()
    assert near.score == pytest.approx(np.sort(cosine)[::-1][:4], rel=1e-5)
    assert len(fitted.similar(50, 4).item) == 0


def test_without_any_click_nothing_is_retrieved(drawn: Drawn, shown: Callable) -> None:
    world = drawn([[], []], 3, times=False)
    assert shown(IALS().fit(world).retrieve(world, Requests(np.array([0, 1], dtype=np.int32)), 2)) == [[], []]


def test_a_history_of_other_items_is_refused(world: Interactions, drawn: Drawn) -> None:
    fitted, other = SETTINGS[0].fit(world), drawn([[(0, 0)]], 9, times=False)
    with pytest.raises(InputError, match="retriever=ials was fitted on 51 items, and this history has 9"):
        fitted.retrieve(other, Requests(np.array([0], dtype=np.int32)), 2)


@pytest.mark.parametrize(
    ("key", "value"),
    [("factors", 0), ("unobserved", 0.0), ("l2", 0.0), ("exponent", -1.0), ("iterations", 0), ("std", float("nan"))],
)
def test_bad_settings_are_refused(key: str, value: float) -> None:
    with pytest.raises(InputError, match=f"retriever.{key}="):
        IALS(**{key: value})

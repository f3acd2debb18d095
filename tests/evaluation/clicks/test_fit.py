"""``recx.clicks.fit``: fractions worked by hand, the truth of made-up logs, intervals, grades for ERR, refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import recx
from recx.core.errors import InputError

BY_HAND = [[("A", 0), ("B", 1)], [("B", 0), ("A", 0)], [("A", 1), ("B", 0)]]
"""A is looked at in every list and clicked once; B, which stands below a click in the last one, in two."""
FAST = {"resamples": 20}


def by_item(model, name):
    return dict(zip(model.items["item"], model.items[name], strict=True))


def test_the_cascade_by_hand(log_of):
    found = recx.clicks.fit(log_of(BY_HAND), "cascade", **FAST)
    assert by_item(found, "examined") == {"A": 3, "B": 2}
    assert by_item(found, "attractiveness") == pytest.approx({"A": (1 + 1) / (3 + 2), "B": (1 + 1) / (2 + 2)})
    assert found.trace.tolist() == pytest.approx([np.log((3 / 5) * (1 / 2) * (1 / 2) * (3 / 5) * (2 / 5))])
    assert (found.continuation, found.continuation_interval) == (1.0, (1.0, 1.0))
    assert (found.iterations, found.converged) == (0, True)
    assert dict(found.notes) == {
        "impressions": 6,
        "lists": 3,
        "clicks": 2,
        "lists_without_click": 1,
        "rarely_examined": 2,
    }
    assert "satisfaction" not in found.items


def test_the_simplification_by_hand(log_of):
    lists = [*BY_HAND, [("A", 1), ("B", 1)]]
    found = recx.clicks.fit(log_of(lists), "sdbn", smoothing=0.5, **FAST)
    assert by_item(found, "attractiveness") == pytest.approx({"A": 2.5 / 5, "B": 2.5 / 4})
    assert by_item(found, "satisfaction") == pytest.approx({"A": 1.5 / 3, "B": 2.5 / 3})  # last clicks / clicks
    assert by_item(found, "relevance") == pytest.approx({"A": 1 / 4, "B": 2.5 / 4 * 2.5 / 3})


def test_grades_are_chances_to_stop_which_err_takes_as_they_are(log_of):
    found = recx.clicks.fit(log_of(BY_HAND), "cascade", **FAST)
    lists = pd.DataFrame({"user": ["u", "u", "v"], "item": ["B", "A", "A"], "rank": [1, 2, 1]})
    metrics = ["err_prob_at_10", "err_prob_log_at_10", "cascade_prob_at_10"]
    of = recx.evaluate(lists, found.grades(users=["u", "v"]), metrics).values
    assert of["err_prob_at_10"] == pytest.approx([1 / 2 + 1 / 2 * 2 / 5 / 2, 2 / 5])
    assert of["err_prob_log_at_10"] == pytest.approx([1 / 2 + 1 / 2 * 2 / 5 / np.log2(3), 2 / 5])
    assert of["cascade_prob_at_10"] == pytest.approx([1 - 1 / 2 * 3 / 5, 2 / 5])


def test_grades_of_queries(log_of):
    log = log_of(BY_HAND).assign(query=lambda rows: np.where(rows["list"] == 2, "y", "x"))
    grades = recx.clicks.fit(log, "sdbn", **FAST).grades()
    assert grades[["user", "item"]].to_numpy().tolist() == [["x", "A"], ["x", "B"], ["y", "A"], ["y", "B"]]
    assert grades["grade"].tolist() == pytest.approx([1 / 4 / 2, 2 / 4 * 2 / 3, 2 / 3 * 2 / 3, 1 / 2 / 2])
    with pytest.raises(InputError, match="users=: grades are of the queries of the log"):
        recx.clicks.fit(log, "sdbn", **FAST).grades(users=["x"])
    with pytest.raises(InputError, match=r"the log has no queries.*as in grades\(users="):
        recx.clicks.fit(log.drop(columns="query"), "sdbn", **FAST).grades()


def test_intervals_of_the_cascade_are_those_of_the_prior(log_of):
    """Of 1 click in 3 looks: Beta(1 + 1, 2 + 1). C stands below clicks alone, so it could be anything: Beta(1, 1)."""
    from scipy.stats import beta

    lists = [[("A", 1), ("C", 0)], [("A", 0), ("B", 1), ("C", 0)], [("A", 0), ("B", 0)]]
    found = recx.clicks.fit(log_of(lists), "cascade", resamples=4_000)
    rows = found.items.set_index("item")
    for item, ends in {"A": (2, 3), "B": (2, 2), "C": (1, 1)}.items():
        low, high = rows.loc[item, ["attractiveness_low", "attractiveness_high"]]
        assert (low, high) == pytest.approx(beta.interval(0.95, *ends), abs=0.02), item
    assert rows.loc["C", "examined"] == 0
    assert found.notes["rarely_examined"] == 3
    assert found.warnings == ["3 of 3 rows rest on fewer than 30 looks: see their intervals"]


def covered(found, world):
    """Return how often an interval holds the truth."""
    rows = found.items.sort_values("item")
    truth = {"attractiveness": world.attractiveness, "satisfaction": world.satisfaction}
    truth["relevance"] = world.attractiveness * world.satisfaction
    return [
        ((rows[f"{name}_low"] <= of) & (of <= rows[f"{name}_high"])).mean()
        for name, of in truth.items()
        if f"{name}_low" in rows
    ]


def test_intervals_of_the_cascade_hold_the_truth_as_often_as_they_say(simulate):
    worlds = [simulate(120, 5, 12, 1.0, seed, "cascade") for seed in range(25)]
    shares = [covered(recx.clicks.fit(world.log, "cascade", resamples=60), world) for world in worlds]
    assert 0.91 <= np.mean(shares) <= 0.985  # of 300 intervals


@pytest.mark.slow
def test_intervals_of_the_network_hold_the_truth_as_often_as_they_say(simulate):
    worlds = [simulate(1_000, 6, 10, 0.85, seed) for seed in range(100, 140)]
    found = [recx.clicks.fit(world.log, "dbn", resamples=60) for world in worlds]
    shares = np.mean([covered(of, world) for of, world in zip(found, worlds, strict=True)], axis=0)
    assert ((shares >= 0.91) & (shares <= 0.985)).all(), shares  # of 400 intervals each
    moves = [of.continuation_interval[0] <= 0.85 <= of.continuation_interval[1] for of in found]
    assert np.mean(moves) >= 0.85


@pytest.mark.slow
@pytest.mark.parametrize("model", ["cascade", "dbn"])
def test_200_000_impressions_tell_the_truth_within_0_02(simulate, model):
    """Timed in benchmarks/clicks.py."""
    world = simulate(40_000, 5, 10, 0.9 if model == "dbn" else 1.0, 7, model)
    assert len(world.log) == 200_000
    found = recx.clicks.fit(world.log, model, **FAST)
    rows = found.items.sort_values("item")
    assert found.converged
    assert rows["attractiveness"].to_numpy() == pytest.approx(world.attractiveness, abs=0.02)
    assert found.continuation == pytest.approx(0.9 if model == "dbn" else 1.0, abs=0.02)
    if model == "dbn":
        assert rows["satisfaction"].to_numpy() == pytest.approx(world.satisfaction, abs=0.03)


def test_what_counting_takes_for_granted_costs_where_users_leave(simulate):
    """Of users who leave unsatisfied, counting believes that they saw the items below, and were satisfied before."""
    world = simulate(4_000, 5, 6, 0.6, 3)
    counting, network = (
        recx.clicks.fit(world.log, model, **FAST).items.sort_values("item") for model in ("sdbn", "dbn")
    )
    assert np.abs(network["attractiveness"] - world.attractiveness).max() < 0.05
    assert np.abs(counting["attractiveness"] - world.attractiveness).max() > 0.1
    assert (counting["satisfaction"] > world.satisfaction).all()


def test_the_order_of_lists_and_rows_is_nothing(simulate):
    world = simulate(200, 4, 6, 0.8, 1)
    one = recx.clicks.fit(world.log, **FAST)
    other = recx.clicks.fit(world.log.sample(frac=1, random_state=0), **FAST)
    for name in ("attractiveness", "satisfaction", "examined"):
        assert by_item(other, name) == pytest.approx(by_item(one, name), abs=1e-4)
    assert recx.clicks.fit(world.log, **FAST).items.equals(one.items)  # the same again, intervals too
    assert one.trace[-1] == pytest.approx(other.trace[-1])


def test_a_known_continuation_is_kept(simulate):
    log = simulate(200, 4, 6, 0.8, 1).log
    fixed = recx.clicks.fit(log, continuation=0.8, **FAST)
    assert (fixed.continuation, fixed.continuation_interval) == (0.8, (0.8, 0.8))
    assert "continuation 0.8000, " in str(fixed)
    free = recx.clicks.fit(log, **FAST)
    low, high = free.continuation_interval
    assert low < free.continuation < high
    assert f"continuation {free.continuation:.4f} ({low:.4f} to {high:.4f}), {free.iterations} iterations" in str(free)


def test_little_smoothing_keeps_what_was_always_or_never_clicked_apart_from_1_and_0(log_of):
    lists = [[("A", 1), ("B", 0)], [("B", 0), ("A", 1)]] * 1_000
    for model in ("cascade", "sdbn", "dbn"):
        found = recx.clicks.fit(log_of(lists), model, smoothing=1e-6, **FAST)
        assert by_item(found, "attractiveness") == pytest.approx({"A": 1, "B": 0}, abs=1e-6)
        assert np.isfinite(found.trace).all()
        assert (found.items["attractiveness_low"] < found.items["attractiveness_high"]).all()


def test_what_has_not_converged_says_so(simulate):
    found = recx.clicks.fit(simulate(200, 4, 6, 0.8, 1).log, iterations=2, **FAST)
    assert (found.iterations, found.converged) == (2, False)
    assert found.warnings[0].startswith("not converged after 2 iterations: raise iterations")
    assert found.warnings[0] in str(found)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "ubm"}, "model=ubm: choose one of: cascade, dbn, sdbn"),
        (
            {"model": "sdbn", "continuation": 0.9},
            "continuation=0.9: users of sdbn always read on: leave it out, or use d",
        ),
        ({"continuation": 0}, "continuation=0: it must be above 0"),
        ({"smoothing": 0}, "smoothing=0: it must be 1e-06 or more"),
        ({"resamples": 2}, "resamples=2: it must be 20 or more"),
        ({"level": 1}, "level=1: it must be"),
    ],
)
def test_a_wrong_setting_is_refused(log_of, settings, message):
    with pytest.raises(InputError, match=message):
        recx.clicks.fit(log_of(BY_HAND), **settings)


def test_a_log_that_the_model_could_not_have_made_is_refused(log_of):
    with pytest.raises(InputError, match=r"'clicked', row 2: the list 0 has more than one click"):
        recx.clicks.fit(log_of([[("A", 1), ("B", 1)]]), "cascade")
    with pytest.raises(InputError, match="every list has one item, and what follows on a click says nothing then"):
        recx.clicks.fit(log_of([[("A", 1)], [("B", 0)]]), "dbn")

"""The table of a study: spread over seeds, paired tests over users and Holm's method over chains and worlds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

import recx
from recx.core.evaluation import Evaluation
from recx.core.types import Doubles
from recx.evaluation import studies as module
from recx.evaluation.statistics import holm
from recx.evaluation.studies import COLUMNS, TEST, Worlds, differences, study_table

NDCG = "end_to_end/ndcg_at_10"


def run_of(values: Sequence[float] | Doubles, *, users: Sequence[Any] | None = None, **more: Any) -> Evaluation:
    found = np.array(values, dtype=np.float64)
    return Evaluation(np.arange(len(found)) if users is None else np.array(users), {NDCG: found}, **more)


def seeds_of(*values: Sequence[float] | Doubles) -> dict[int, Evaluation]:
    return {seed: run_of(of) for seed, of in enumerate(values)}


def rows_of(worlds: Worlds, baseline: str | None = None, metric: str = NDCG) -> dict[tuple[str, str], dict[str, Any]]:
    table = study_table(worlds, metric, baseline)
    assert list(table.columns) == list(COLUMNS)
    return {(row["world"], row["chain"]): row for row in table.to_dict("records")}


def test_mean_and_spread_are_over_seeds() -> None:
    rows = rows_of({"w": {"a": seeds_of([0, 1], [1, 1], [0, 0]), "b": seeds_of([0.25, 0.75])}})
    a, b = rows["w", "a"], rows["w", "b"]
    assert (a["mean"], a["sd"], a["n_seeds"], a["users"], a["reason"]) == (0.5, 0.5, 3, 2, "")
    assert (b["mean"], b["n_seeds"], b["users"]) == (0.5, 1, 2)
    assert np.isnan(b["sd"]), "one seed has no spread"
    assert (a["place"], b["place"]) == (1, 1), "ties share the better place"


def test_a_difference_is_over_the_seeds_that_both_chains_have_of_a_user() -> None:
    first = {0: run_of([0, 1, np.nan]), 1: run_of([0.5, 0.5, 0.5]), 7: run_of([9, 9, 9])}
    other = {1: run_of([1, 0, 0.25]), 0: run_of([1, 1, 1]), 8: run_of([5, 5, 5])}
    assert differences(first, other, NDCG).to_dict() == {0: 0.75, 1: -0.25, 2: -0.25}


def test_users_that_differ_from_seed_to_seed_are_paired_by_their_ids() -> None:
    first = {0: run_of([0.5, 0.0], users=["u", "v"]), 1: run_of([0.0, 1.0], users=["v", "w"])}
    other = {0: run_of([1.0, 1.0], users=["v", "u"]), 1: run_of([1.0, 0.0], users=["w", "x"])}
    assert differences(first, other, NDCG).dropna().to_dict() == {"u": 0.5, "v": 1.0, "w": 0.0}
    row = rows_of({"w": {"a": first, "b": other}}, "a")["w", "b"]
    assert (row["users"], row["pairs"], row["difference"]) == (4, 3, 0.5)


def test_the_tests_of_one_world_and_seed_are_those_of_compare() -> None:
    rng = np.random.default_rng(0)
    runs = [run_of(rng.random(60) + place / 20, name=f"chain {place}") for place in range(4)]
    rows = rows_of({"w": {run.name: {0: run} for run in runs}}, "chain 1")
    for against, suffix in (("chain 1", ""), ("chain 3", "_best")):
        others = [run for run in runs if run.name != against]
        [first] = [run for run in runs if run.name == against]
        expected = recx.compare(first, *others, metrics=[NDCG]).table.set_index("run")
        for name in expected.index:
            row, other = rows["w", name], expected.loc[name]
            assert row[f"pairs{suffix}"] == other["users"]
            for column, source in (("difference", "difference"), ("p", "p_sign_flip"), ("p_holm", "p_holm")):
                assert row[f"{column}{suffix}"] == pytest.approx(other[source], rel=1e-12)
            ends = (row[f"low{suffix}"], row[f"high{suffix}"])
            assert ends == pytest.approx((other["difference_low"], other["difference_high"]))
        assert all(np.isnan(rows["w", against][f"{name}{suffix}"]) for name in TEST if name != "untested")


def test_holm_is_over_all_chains_and_worlds_of_the_table() -> None:
    rng = np.random.default_rng(1)
    worlds = {
        world: {chain: seeds_of(*(rng.random((2, 40)) + gain)) for chain, gain in (("a", 0), ("b", 0.1), ("c", 0.3))}
        for world in ("v", "w")
    }
    table = study_table(worlds, NDCG, "a")
    for suffix in ("", "_best"):
        p = table[f"p{suffix}"].to_numpy()
        assert np.count_nonzero(~np.isnan(p)) == 4
        np.testing.assert_array_equal(table[f"p_holm{suffix}"], holm(p))
    apart = {"a": "†", "b": "†", "c": "*"}
    for row in table.to_dict("records"):
        assert ("*" in row["stars"]) == (row["p_holm"] < 0.05)
        assert ("†" in row["stars"]) == (row["p_holm_best"] < 0.05)
        assert set(apart[row["chain"]]) <= set(row["stars"])


def test_many_cells_get_enough_draws_for_holm_to_tell_any_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DRAWS", 100)
    rng = np.random.default_rng(0)
    chains = {str(place): seeds_of(rng.random(50) + (place > 0)) for place in range(30)}
    table = study_table({"w": chains}, NDCG, "0")
    assert (table["p_holm"].drop(0) < 0.01).all()


def test_a_failed_cell_is_said_and_nothing_is_held_against_it() -> None:
    worlds: Worlds = {"v": {"a": {}, "b": seeds_of([0, 1])}, "w": {"a": seeds_of([0, 1]), "b": {}}}
    rows = rows_of(worlds, "a")
    assert rows["v", "a"]["reason"] == rows["w", "b"]["reason"] == "it did not finish"
    assert np.isnan(rows["v", "a"]["mean"])
    assert rows["v", "b"]["untested"] == "that one did not finish here"
    assert rows["v", "a"]["untested"] == rows["w", "b"]["untested"] == ""
    assert (rows["v", "b"]["place"], rows["w", "a"]["place"]) == (1, 1)
    assert all(np.isnan(row["p"]) and np.isnan(row["p_best"]) and row["stars"] == "" for row in rows.values())


def test_what_cannot_be_paired_is_not_tested_and_says_why() -> None:
    def reason(other: Mapping[int, Evaluation], metric: str = NDCG) -> str:
        row = rows_of({"w": {"a": {0: run_of([1, 0], rules={"truth": "x"})}, "b": other}}, "a", metric)["w", "b"]
        assert np.isnan(row["p"])
        return str(row["untested"])

    assert reason({1: run_of([1, 1])}) == "they finished with no seed in common"
    assert "are of different data" in reason({0: run_of([1, 1], rules={"truth": "y"})})
    assert reason({0: run_of([1, 1], users=[8, 9])}) == "no user counts in both"
    scalar = {0: Evaluation(np.arange(2), {}, {"end_to_end/coverage": 0.5})}
    both = rows_of({"w": {"a": scalar, "b": scalar}}, "a", "end_to_end/coverage")["w", "b"]
    assert (both["untested"], both["mean"], both["users"]) == ("no values per user", 0.5, 0)


def test_a_metric_that_a_run_lacks_or_that_counts_nobody_has_no_mean() -> None:
    worlds: Worlds = {"w": {"a": seeds_of([np.nan, np.nan]), "b": {0: Evaluation(np.arange(2), {"ndcg": np.ones(2)})}}}
    rows = rows_of(worlds, "a")
    assert rows["w", "a"]["reason"] == f"{NDCG} counts none of its users"
    assert rows["w", "b"]["reason"].startswith(f"it has no metric {NDCG!r}: ")
    assert np.isnan([rows["w", "a"]["mean"], rows["w", "b"]["mean"]]).all()


def test_smaller_is_better_of_a_loss() -> None:
    name = "end_to_end/lost_in_ranking_at_5"
    runs = {
        chain: {0: Evaluation(np.arange(2), {name: np.array(of)})} for chain, of in (("a", [1, 1]), ("b", [0, 0.0]))
    }
    table = study_table({"w": runs}, name, "a").set_index("chain")
    assert table["place"].to_dict() == {"a": 2, "b": 1}
    assert table["difference_best"].to_dict()["a"] == 1


def test_nothing_at_all_is_a_table_of_dashes() -> None:
    table = study_table({"w": {"a": {}, "b": {}}}, NDCG, "a")
    assert table["mean"].isna().all()
    assert table["place"].isna().all()
    assert isinstance(table, pd.DataFrame)


STUDIES, USERS, CHAINS, WORLDS, SEEDS = 100, 60, 3, 2, 2


def marked(gain: float) -> tuple[int, int, int]:
    """Return in how many studies any chain without a gain has a star; the one with it has one; the best a dagger.

    Users have values of their own, which a chain changes for some, with its seed for a few more.

    Args:
        gain: What the last chain adds to each user in the first world.
    """
    false = true = excluded = 0
    for study in range(STUDIES):
        rng = np.random.default_rng(study)
        worlds: dict[str, dict[str, dict[int, Evaluation]]] = {}
        for world in range(WORLDS):
            own = rng.choice([0.0, 0.4, 0.6, 1.0], USERS)
            worlds[str(world)] = {}
            for chain in range(CHAINS):
                of_chain = np.where(rng.random(USERS) < 0.3, rng.choice([0.0, 0.4, 0.6, 1.0], USERS), own)
                better = gain * (chain == CHAINS - 1 and world == 0)
                noisy = [np.where(rng.random(USERS) < 0.1, 1 - of_chain, of_chain) + better for _ in range(SEEDS)]
                worlds[str(world)][str(chain)] = seeds_of(*noisy)
        table = study_table(worlds, NDCG, "0").set_index(["world", "chain"])["stars"]
        last = ("0", str(CHAINS - 1))
        false += any("*" in stars for place, stars in table.items() if place != last or not gain)
        true += "*" in table[last]
        excluded += "†" in table[last]
    return false, true, excluded


@pytest.mark.slow
def test_stars_by_chance_are_seldom_and_true_ones_mostly_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the level 0.05, 5 of 100 are expected at most, and more than 10 in 1 of 100 cases."""
    monkeypatch.setattr(module, "DRAWS", 1000)
    monkeypatch.setattr(module, "bootstrap", lambda values: (values[0], values[0]))  # the intervals play no part
    false, true, excluded = marked(0.0)
    assert false <= 10
    assert excluded <= 10, "any chain is as good as the best here"
    false, true, excluded = marked(0.25)
    assert false <= 10
    assert true >= 60
    assert excluded <= 10

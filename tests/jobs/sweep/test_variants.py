"""What is compared: trials, or those that differ in their seed alone as one."""

from __future__ import annotations

import math
from typing import Any

import pytest

from recx.core.errors import InputError
from recx.jobs.sweep.journal import Trial
from recx.jobs.sweep.variants import variants_of

OBJECTIVE = "end_to_end/ndcg_at_5"


def test_the_best_is_first_then_the_pruned_then_the_failed() -> None:
    trials = [
        Trial(0, ("a=1",), "", reason="it broke"),
        Trial(1, ("a=2",), "", pruned=3),
        Trial(2, ("a=3",), "", objective=0.25),
        Trial(3, ("a=4",), "", objective=0.5),
        Trial(4, ("a=5",), "", objective=0.25),
    ]
    found = variants_of(trials)
    assert [one.name for one in found] == ["3", "2", "4", "1", "0"]
    assert found[0].settings == {"a": "4"}
    assert [one.reason for one in found[3:]] == ["pruned at epoch 3", "it broke"]


def test_seeds_are_averaged_user_by_user(make: Any) -> None:
    trials = [
        make(0, ["ranker=a", "seed=0"], [0.0, 1.0]),
        make(1, ["ranker=a", "seed=1"], [0.5, 1.0]),
        make(2, ["ranker=b", "seed=0"], [0.25, 0.25]),
        make(3, ["ranker=b", "seed=1"], None),
    ]
    first, second = variants_of(trials)
    assert (first.name, first.text, first.objective) == ("0, 1", "ranker=a", 0.625)
    assert first.spread == pytest.approx(0.25 / math.sqrt(2))
    assert first.evaluation(OBJECTIVE, "valid").values[OBJECTIVE].tolist() == [0.25, 1.0]
    assert (second.name, second.objective, second.reason) == ("2, 3", 0.25, "it broke")
    assert math.isnan(second.spread)
    assert second.evaluation(OBJECTIVE, "valid").values[OBJECTIVE].tolist() == [0.25, 0.25]


def test_seeds_alone_are_one_variant_without_settings(make: Any) -> None:
    [one] = variants_of([make(seed, [f"seed={seed}"], [0.5]) for seed in range(3)])
    assert (one.name, one.text, one.said, one.label) == ("0, 1, 2", "", "trials 0, 1, 2", "trial 0, 1, 2")


def test_a_label_is_what_fits() -> None:
    long = "retriever.some_setting_of_a_long_name=0.125"
    trials = [
        Trial(0, (), "", objective=0.3),
        Trial(1, ("~feature.age",), "", objective=0.2),
        Trial(2, (long,), "", objective=0.1),
    ]
    one, other, last = variants_of(trials)
    assert (one.text, one.label) == ("nothing left out", "nothing left out")
    assert (other.text, other.label) == ("without age", "without age")
    assert last.label == "0.125"
    assert last.said == f"trial 2 (nothing left out {long})"


def test_the_experiment_as_it_is_has_a_name(make: Any) -> None:
    own = make(7, ["+experiment=news"], [1.0])
    found = variants_of([make(0, ["+experiment=news", "a=1"], [0.5])], own)
    assert [one.name for one in found] == ["the experiment", "0"]


def test_a_figure_without_values_of_users_cannot_be_tested(make: Any) -> None:
    [one] = variants_of([make(0, [], [0.5])])
    with pytest.raises(InputError, match="coverage_at_5 is one number without values per user"):
        one.evaluation("end_to_end/coverage_at_5", "valid")


def test_what_the_experiment_sets_itself_is_not_varied_however_it_is_spelled(make: Any) -> None:
    own = make(7, ["dataset.user=a:b"], [1.0])
    trials = [make(place, ["dataset.user=a\\:b", f"k={place}"], [0.5]) for place in range(2)]
    assert [one.text for one in variants_of(trials, own)] == ["", "k=0", "k=1"]
    assert [one.text for one in variants_of(trials[:1], own)] == ["", "k=0"]


def test_a_search_that_proposes_the_same_again_has_no_spread(make: Any) -> None:
    [one] = variants_of([make(place, ["k=1"], [0.5]) for place in range(3)])
    assert (one.name, one.runs) == ("0, 1, 2", 1)
    assert math.isnan(one.spread)

"""Which trial the others are held against: the experiment as it is, or one that is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from recx.core.errors import InputError
from recx.jobs.sweep.baseline import check_named, named, own_of
from recx.jobs.sweep.edited import hash_of
from recx.jobs.sweep.journal import Trial
from recx.jobs.sweep.variants import variants_of

TRIALS = [["r=a", "l2=1"], ["r=a", "l2=2"], ["r=b"], ["r=a", "l2=1", "~feature.age"]]


@pytest.mark.parametrize(
    ("baseline", "numbers"),
    [
        ("2", [2]),
        ("r=b", [2]),
        ("r=a l2=2", [1]),
        ("without=feature.age", [3]),
        ("r=a", [0, 1, 3]),
        ("9", []),
        ("x", []),
    ],
)
def test_a_baseline_is_named_by_its_number_or_its_settings(baseline: str, numbers: list[int]) -> None:
    variants = variants_of([Trial(place, tuple(words), "") for place, words in enumerate(TRIALS)])
    assert sorted(one.trials[0].number for one in named(baseline, variants)) == numbers


@pytest.mark.parametrize(
    ("baseline", "sentence"),
    [
        ("r=a", "baseline=r=a: 3 of the trials are that"),
        ("9", r"baseline=9: none of the trials is that: .* 0 \(r=a l2=1"),
    ],
)
def test_a_name_that_fits_none_or_several_is_refused_before_anything_runs(baseline: str, sentence: str) -> None:
    check_named("2", TRIALS)
    with pytest.raises(InputError, match=sentence):
        check_named(baseline, TRIALS)


def test_the_experiment_as_it_is_is_known_by_its_settings() -> None:
    def compose(more: Sequence[str]) -> dict[str, Any]:
        return {"l2": 2, "seed": 0, **dict(word.split("=") for word in more)}

    trials = [
        Trial(place, (f"l2={l2}",), "", objective=0.5, settings=hash_of({"l2": l2, "seed": 0}))
        for place, l2 in enumerate((1, 2))
    ]
    found = own_of(variants_of(trials), compose)
    assert found is not None
    assert found.name == "1"
    assert own_of(variants_of(trials[:1]), compose) is None
    seeds = [
        Trial(seed, (f"seed={seed}",), "", objective=0.5, settings=hash_of({"l2": 2, "seed": str(seed)}))
        for seed in (3, 4)
    ]
    of_seeds = own_of(variants_of(seeds), compose)
    assert of_seeds is not None
    assert of_seeds.name == "3, 4"


def test_an_experiment_that_needs_what_is_varied_is_no_baseline() -> None:
    def compose(more: Sequence[str]) -> dict[str, Any]:
        raise InputError("ranker.l2: the option has no such key")

    assert own_of(variants_of([Trial(0, ("a=1",), "", settings="x")]), compose) is None

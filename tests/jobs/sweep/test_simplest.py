"""Of trials that are not told apart, the simplest: fewer features, then larger penalties, then fewer seconds."""

from __future__ import annotations

from typing import Any

import pytest

from recx.jobs.sweep.simplest import simplest
from recx.jobs.sweep.variants import variants_of


def chain(features: int = 3, l2: float | None = 1.0, retriever_l2: float | None = None) -> dict[str, Any]:
    ranker = {"l2": l2, "features": None} if l2 is not None else {"_target_": "identity"}
    return {
        "feature": {str(place): {} for place in range(features)},
        "ranker": ranker,
        "retriever": {} if retriever_l2 is None else {"l2": retriever_l2},
    }


@pytest.mark.parametrize(
    ("configs", "seconds", "chosen", "why"),
    [
        ([chain(3), chain(2), chain(1)], [1, 1, 1], "2", "1 feature instead of 3"),
        ([chain(3), chain(9, None)], [1, 1], "1", "0 features instead of 3"),
        ([chain(l2=0.5), chain(l2=10), chain(l2=1)], [1, 1, 1], "1", "penalty of the ranker 10 instead of 0.5"),
        ([chain(retriever_l2=1), chain(retriever_l2=5)], [1, 1], "1", "penalty of the retriever 5 instead of 1"),
        ([chain(), chain(), chain()], [3, 2, 1], "2", "1.0 s instead of 3.0 s"),
        ([chain(2), chain(3)], [9, 1], "0", ""),
    ],
)
def test_the_first_respect_that_differs_decides(
    make: Any, configs: list[dict[str, Any]], seconds: list[float], chosen: str, why: str
) -> None:
    trials = [
        make(place, [f"a={place}"], [1 - place / 10], config=config, seconds=float(took))
        for place, (config, took) in enumerate(zip(configs, seconds, strict=True))
    ]
    found, how = simplest(variants_of(trials))
    assert (found.name, how) == (chosen, why)


def test_seconds_do_not_count_where_some_work_was_in_the_cache(make: Any) -> None:
    """The first trial fitted what the second read from the cache: that is not why it is slower."""
    trials = [
        make(0, ["a=0"], [0.5], config=chain(), seconds=9.0),
        make(1, ["a=1"], [0.4], config=chain(), seconds=1.0, cached=3),
    ]
    assert simplest(variants_of(trials))[0].name == "0"

"""Epochs are reported to the watching function, and the first fit of a trial is judged by them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from recx.core.pruning import FirstFit, Pruned, noted, reached, watched
from recx.core.run_context import ALONE, RunContext
from recx.experiment.caching import _Fitted
from recx.jobs.launch import _tracked
from recx.storage.cache.store import Cache
from recx.tracking.console import UntrackedRun


def never(course: Mapping[int, float]) -> bool:
    return False


def fits(*lasts: int) -> None:
    """Tell of fits with so many epochs each, every one worth what its number is."""
    for number, last in enumerate(lasts):
        for epoch in range(1, last + 1):
            reached(epoch, number + epoch / 10)


def test_outside_a_sweep_nothing_hears_it() -> None:
    reached(1, 0.5)


def test_only_the_first_fit_counts() -> None:
    fit = FirstFit(never)
    with watched(fit):
        fits(3, 5)
    reached(4, 1.0)
    assert fit.course == {1: 0.1, 2: 0.2, 3: 0.3}


@pytest.mark.parametrize("lasts", [(1, 3), (2, 2), (1, 1)])
def test_another_fit_begins_where_steps_rise_no_more(lasts: tuple[int, int]) -> None:
    fit = FirstFit(never)
    with watched(fit):
        fits(*lasts)
    assert fit.course == {epoch: epoch / 10 for epoch in range(1, lasts[0] + 1)}


def test_it_ends_where_the_pruner_says_so_and_no_later_fit_is_judged() -> None:
    asked: list[Mapping[int, float]] = []

    def prunes(course: Mapping[int, float]) -> bool:
        asked.append(dict(course))
        return len(course) == 2

    with watched(FirstFit(prunes)), pytest.raises(Pruned, match=r"^pruned at epoch 2$") as caught:
        fits(3)
    assert caught.value.course == {1: 0.1, 2: 0.2}
    with watched(FirstFit(prunes)):
        fits(1, 3)
    assert asked == [{1: 0.1}, {1: 0.1, 2: 0.2}, {1: 0.1}]


def test_pruning_passes_by_whatever_catches_errors() -> None:
    def careless() -> None:
        with suppress(Exception):
            reached(1, 0.1)

    with watched(FirstFit(lambda course: True)), pytest.raises(Pruned):
        careless()


def test_what_is_noted_is_heard_outside_too() -> None:
    fit = FirstFit(never)
    with watched(fit), noted() as steps:
        fits(2, 1)
    assert steps == [(1, 0.1), (2, 0.2), (1, 1.1)]
    assert fit.course == {1: 0.1, 2: 0.2}


def test_a_fit_from_the_cache_is_judged_like_one_that_is_made(tmp_path: Path) -> None:
    made = []

    def fit() -> object:
        made.append(1)
        fits(3, 2)
        return object()

    for _ in range(2):
        whole = FirstFit(never)
        with watched(whole):
            _Fitted.of(Cache(tmp_path), "fit_retriever", lambda: "00ff", fit)
        assert whole.course == {1: 0.1, 2: 0.2, 3: 0.3}
    with watched(FirstFit(lambda course: len(course) == 2)), pytest.raises(Pruned):
        _Fitted.of(Cache(tmp_path), "fit_retriever", lambda: "00ff", fit)
    assert made == [1]


def test_a_fit_that_is_pruned_is_not_kept(tmp_path: Path) -> None:
    def fit() -> object:
        fits(3)
        return object()

    prunes: list[Callable[[Mapping[int, float]], bool]] = [lambda course: True, never]
    with watched(FirstFit(prunes[0])), pytest.raises(Pruned):
        _Fitted.of(Cache(tmp_path), "fit_retriever", lambda: "00ff", fit)
    assert not [path for path in tmp_path.rglob("*") if path.is_dir() and path.name == "00ff"]
    with watched(FirstFit(prunes[1])) as _:
        _Fitted.of(Cache(tmp_path), "fit_retriever", lambda: "00ff", fit)


def test_the_trackers_run_of_a_pruned_trial_ends_in_order() -> None:
    logged: dict[str, Any] = {}

    class Remembers(UntrackedRun):
        def log_curves(self, curves: Mapping[str, Any]) -> None:
            logged.update(curves)

        def log_tags(self, tags: Mapping[str, str]) -> None:
            logged.update(tags)

    class Tracker:
        @contextmanager
        def run(self, name: str, params: Mapping[str, Any], context: RunContext) -> Iterator[Remembers]:
            try:
                yield Remembers()
            except BaseException:
                pytest.fail("it ended as if it had failed")
            logged["ended"] = "in order"

    with (
        watched(FirstFit(lambda course: len(course) == 2)),
        pytest.raises(Pruned),
        _tracked(Tracker(), {"name": "x"}, ALONE),
    ):
        fits(3)
    assert logged == {"pruning/reached": [0.1, 0.2], "recx.pruned": "pruned at epoch 2", "ended": "in order"}

"""The check of trackers catches one that breaks its promise, and passes those that keep it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from recx.core.run_context import RunContext
from recx.core.trackers import Tracker
from recx.testing import check_tracker
from recx.tracking.console import Console, UntrackedRun
from recx.tracking.mlflow import MLflow


@pytest.mark.parametrize("tracker", [Console(), MLflow()], ids=["console", "mlflow"])
def test_a_built_in_tracker_keeps_its_contract(tracker: Tracker, here: Path) -> None:
    check_tracker(tracker)


@dataclass(frozen=True)
class Changed:
    """Keeps nothing; a change of what it yields, or of the errors that it passes on."""

    yielded: Any = field(default_factory=UntrackedRun)
    error: Callable[[BaseException], BaseException] | None = lambda error: error

    @contextmanager
    def run(self, name: str, params: Mapping[str, Any], context: RunContext) -> Iterator[Any]:
        try:
            yield self.yielded
        except BaseException as error:
            if self.error is not None:
                raise self.error(error) from error


def of_another_kind(error: BaseException) -> BaseException:
    return RuntimeError(str(error)) if isinstance(error, ValueError) else error


def a_copy(error: BaseException) -> BaseException:
    return type(error)(*error.args)


def test_one_that_keeps_nothing_passes() -> None:
    check_tracker(Changed())


@pytest.mark.parametrize(
    ("tracker", "promise"),
    [
        (Changed(error=None), "must not swallow the error"),
        (Changed(error=a_copy), "must pass on the error that ends a run as it is"),
        (Changed(yielded=type("Bare", (), {"address": None})()), "a run needs the method log_metrics"),
        (Changed(yielded=replace(UntrackedRun(), address=3)), "the address of a run must be text or None"),
    ],
)
def test_a_tracker_that_breaks_its_contract_is_caught(tracker: Changed, promise: str) -> None:
    with pytest.raises(AssertionError, match=promise):
        check_tracker(tracker)


def test_an_error_of_another_kind_is_not_taken_for_the_run_s() -> None:
    with pytest.raises(RuntimeError, match="it failed"):
        check_tracker(Changed(error=of_another_kind))

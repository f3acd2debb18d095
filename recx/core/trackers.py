"""What a tracker must be able to do, which records runs, and the run that it yields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from recx.core.run_context import RunContext


class Run(Protocol):
    """A run that is being tracked."""

    @property
    def address(self) -> str | None:
        """Where a person can look at this run, or the command that shows it; None if there is neither."""

    def log_metrics(self, metrics: Mapping[str, float]) -> None:
        """Log numbers by name; those of ``fold=valid`` are called ``valid/…``."""

    def log_curves(self, curves: Mapping[str, Sequence[float]]) -> None:
        """Log series by name, one value per step."""

    def log_table(self, name: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """Log a table, given as columns by name."""

    def log_tags(self, tags: Mapping[str, str]) -> None:
        """Log texts by name."""

    def log_dataset(self, name: str, digest: str, source: str) -> None:
        """Log which data the run has read: its name, the hash of its content, and its file or folder ("": made up)."""

    def describe(self, text: str) -> None:
        """Log the summary of the run, in Markdown."""

    def log_files(self, folder: Path, *, inner: bool = True) -> None:
        """Log the files of a folder and, if ``inner``, of the folders in it."""


class Tracker(Protocol):
    """Records runs."""

    def run(self, name: str, params: Mapping[str, Any], context: RunContext) -> AbstractContextManager[Run]:
        """Yield a new run.

        Args:
            name: The experiment that the run is one of.
            params: The composed configuration; ``recx.plugin.chosen_params(params)`` is what runs are compared by.
            context: The run or sweep that it belongs to, and what is varied in it.
        """


@runtime_checkable
class SweepTracker(Protocol):
    """A tracker that keeps the trials of a sweep together.

    The trials' own runs get the parent's ``run_id`` and the sweep's id in their ``RunContext``.
    """

    def sweep(self, name: str, params: Mapping[str, Any], context: RunContext) -> AbstractContextManager[Run]:
        """Yield the run of the whole sweep: a new one, or the one that was started with this id.

        Args:
            name: As of ``run``.
            params: What all trials have in common.
            context: The id of the sweep, and as its name what is varied.
        """

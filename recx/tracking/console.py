"""No store: figures are printed and written into the run's folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recx.core.run_context import ALONE, RunContext
from recx.core.system.signals import stoppable


@dataclass(frozen=True)
class UntrackedRun:
    """A run without a record.

    Attributes:
        address: None, since there is no page of the run.
    """

    address: str | None = None

    def log_metrics(self, metrics: Mapping[str, float]) -> None: ...

    def log_curves(self, curves: Mapping[str, Sequence[float]]) -> None: ...

    def log_table(self, name: str, columns: Mapping[str, Sequence[Any]]) -> None: ...

    def log_tags(self, tags: Mapping[str, str]) -> None: ...

    def log_dataset(self, name: str, digest: str, source: str) -> None: ...

    def describe(self, text: str) -> None: ...

    def log_files(self, folder: Path, *, inner: bool = True) -> None: ...


@dataclass(frozen=True)
class Console:
    """Tracks nothing; the printed summary and the run's folder are the only record."""

    @contextmanager
    def run(self, name: str, params: Mapping[str, Any], context: RunContext = ALONE) -> Iterator[UntrackedRun]:
        """Yield a run that ignores what is logged."""
        with stoppable():
            yield UntrackedRun()

    def sweep(self, name: str, params: Mapping[str, Any], context: RunContext) -> AbstractContextManager[UntrackedRun]:
        """Yield a run that ignores what is logged."""
        return self.run(name, params, context)

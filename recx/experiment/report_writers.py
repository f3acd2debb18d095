"""Protocols of the parts that write further files of a run (see ``recx.core.protocols`` for the other parts)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from recx.experiment.experiment import Result


class ReportWriter(Protocol):
    """A part that writes one more file or folder of a run."""

    def write(self, result: Result, folder: Path) -> Path:
        """Write the file or folder, and return its path.

        Args:
            result: The finished run.
            folder: The run's folder.
        """
        ...


@runtime_checkable
class TableWriter(Protocol):
    """A report writer whose rows the tracker also stores as a table."""

    def table(self, result: Result) -> Mapping[str, Sequence[Any]]:
        """Return the columns by name, one value per row."""
        ...

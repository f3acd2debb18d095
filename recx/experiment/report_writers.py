"""What a part that writes more files of a run must be able to do (see ``recx.core.protocols`` for the other parts)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from recx.experiment.experiment import Result


class ReportWriter(Protocol):
    def write(self, result: Result, folder: Path) -> Path:
        """Write one more file or folder of a run and return where."""
        ...


@runtime_checkable
class TableWriter(Protocol):
    """A report writer whose rows the tracker keeps as a table too."""

    def table(self, result: Result) -> Mapping[str, Sequence[Any]]:
        """Return the columns by name, one value a row."""
        ...

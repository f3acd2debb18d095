"""Finished runs and studies, read back: ``recx.results.load("last").recommendations``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from recx.experiment.saved_runs import SavedRun, load

if TYPE_CHECKING:
    from recx.jobs.study.tables import StudyTables

__all__ = ["SavedRun", "load", "load_study"]


def load_study(folder: str | Path) -> StudyTables:
    """Return the tables of a finished study, as frames.

    Args:
        folder: Its folder, ``outputs/studies/NAME``.

    Raises:
        InputError: It holds no finished study, or its data is damaged or of another version of recx.
    """
    from recx.jobs.study.output import read_tables

    return read_tables(Path(folder))[1]

"""What a process does for a study: it runs a cell, or the trials of a tuning, one after the other."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from recx.core import project
from recx.core.errors import RecxError
from recx.core.run_context import RunContext
from recx.jobs.study.cells import Cell
from recx.jobs.study.plan import Choice, Local, TuningPlan, merged
from recx.jobs.sweep.journal import Trial, TrialJournal
from recx.jobs.sweep.trial import TrialRunner

CELLS, TUNINGS, JOURNAL = "cells", "tunings", "journal"
"""Folders in that of a study: of its runs, of the trials of its tunings, and of what came of each cell."""


@dataclass(frozen=True)
class Place:
    """Where and as part of what a study works, which every process gets.

    Attributes:
        home: The folder of the study, absolute.
        cwd: The working directory.
        local: What belongs to this machine.
        context: The tracked run of the study.
        project: The project of the command line.
    """

    home: Path
    cwd: Path
    local: Local
    context: RunContext
    project: project.Project

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Work there inside the context, in whatever process.

        Raises:
            RecxError: This machine does not see the folder of the study.
        """
        os.environ.pop("PYTHONSAFEPATH", None)  # a run may start programs of its own
        if not self.home.is_dir():
            raise RecxError(f"{self.home}: this machine does not see the folder of the study: share its disk")
        os.chdir(self.cwd)
        with project.entered(self.project):
            yield

    def of_cell(self, cell: Cell) -> Path:
        """Return the folder of a cell."""
        return self.home / CELLS / cell.chain / cell.world / str(cell.seed)

    def journal(self, cell: Cell) -> TrialJournal:
        """Return the journal of a chain in a world, in which a cell stands under its seed."""
        return TrialJournal(self.home / JOURNAL / cell.chain / cell.world)


@dataclass(frozen=True)
class CellJob:
    """A cell that is to run; what tuning chose is among its overrides."""

    cell: Cell
    place: Place

    def __call__(self) -> Trial:
        """Run the cell, unless it is done; return what came of it."""
        from recx.jobs.benchmark.peak_memory import forget_peak

        cell, place = self.cell, self.place
        context = replace(place.context, name=f"{cell.chain} in {cell.world}, seed {cell.seed}", role="cell")
        runner = self._runner(context)
        with place.entered():
            forget_peak()  # of whatever ran in this process before
            return runner.run(lambda: place.local.composed(cell.overrides))

    def lost(self, why: str) -> Trial:
        """Return, and note, what came of the cell if its process died."""
        runner = self._runner()
        trial = Trial(runner.number, tuple(runner.overrides), str(runner.folder), reason=why)
        runner.journal.write(trial)
        return trial

    def _runner(self, context: RunContext | None = None) -> TrialRunner:
        cell, place = self.cell, self.place
        context = place.context if context is None else context
        folder, journal = place.of_cell(cell), place.journal(cell)
        return TrialRunner(cell.seed, cell.overrides, folder, journal, context, prunable=False)


@dataclass(frozen=True)
class TuningJob:
    """A tuning that is to run: a chain in a world, on its valid fold."""

    plan: TuningPlan
    place: Place

    def __call__(self) -> Choice:
        """Run its trials, or what is missing of them; return the best settings."""
        from recx.jobs.study.tuning import search

        with self.place.entered():
            return search(self.plan, self._trial)

    def lost(self, why: str) -> Choice:
        """Return what came of the tuning if its process died."""
        return Choice(reason=f"its tuning failed: {why}")

    def _trial(self, number: int, tried: tuple[str, ...]) -> Trial:
        plan, place = self.plan, self.place
        home = place.home / TUNINGS / plan.chain / plan.world
        overrides = merged(plan.overrides, tried, ["fold=valid", f"seed={plan.seed}"])
        name = f"tuning of {plan.chain} in {plan.world}: {' '.join(tried)}"
        context = replace(place.context, name=name, role="tuning")
        fixed: Mapping[str, Any] = {"fold": "valid"}
        journal = TrialJournal(home / JOURNAL)
        runner = TrialRunner(number, overrides, home / str(number), journal, context, prunable=False, fixed=fixed)
        return runner.run(lambda: place.local.composed(overrides))

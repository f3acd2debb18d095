"""The figures of ``fold=valid`` by which a sweep chose its best run, kept with that run.

Runs are compared and chosen by these alone: to choose by figures of the test fold would be tuning on test.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from recx.core.fold_names import outside
from recx.core.system.plain_files import check_plain
from recx.experiment.saved_runs import FIGURES, JUDGED, SavedRun

FOLDER = "valid"
"""The folder, in that of the best run, with what the trial wrote: it can be read as ``SavedRun(folder / "valid")``."""


@dataclass(frozen=True)
class ChosenBy:
    """The trial by which a run was chosen.

    Attributes:
        trial: The trial's folder.
    """

    trial: Path

    @cached_property
    def figures(self) -> Mapping[str, float]:
        """How good the trial was, by the names that figures have outside: ``valid/…``.

        Raises:
            InputError: A file of the trial is missing or damaged.
        """
        found = SavedRun(self.trial).metrics
        return outside({name: value for name, value in found.items() if name.startswith(JUDGED)}, "valid")

    def copy_to(self, folder: Path) -> None:
        """Copy the trial's configuration, figures and protocol card into the folder ``valid`` of a run's.

        Raises:
            InputError: A file of the trial is a link or no plain file.
            OSError: One cannot be read or written.
        """
        (folder / FOLDER).mkdir(exist_ok=True)
        for name in FIGURES:
            check_plain(self.trial / name)
            shutil.copyfile(self.trial / name, folder / FOLDER / name)

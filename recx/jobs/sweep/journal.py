"""The result of every trial of a sweep: one small file each, so that a sweep that was killed can be resumed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from recx.core.bounds import check
from recx.core.errors import InputError
from recx.core.system.atomic import write_text
from recx.core.system.own_folder import is_finished
from recx.core.system.plain_files import read_text

FILE = "sweep.json"
"""The description of a sweep, in its folder (see ``recx.jobs.sweep.plan``)."""


@dataclass(frozen=True)
class Trial:
    """The result of one trial.

    Attributes:
        number: Its place in the sweep, from 0.
        overrides: What it was run with, as on a command line.
        folder: Where its files are.
        seconds: How long it took.
        objective: The value to maximize; None where the trial failed or was pruned.
        cached: How many stages came from the cache.
        reason: Why it failed, in one line; "" where it did not.
        pruned: The epoch at which it was pruned, or None.
        course: Epoch -> the value reached there (see ``recx.core.pruning``).
        settings: A hash of the settings that it ran with; "" where they could not be composed.
        memory: The peak memory of its process by its end, in bytes; 0 where it is unknown.
    """

    number: int
    overrides: tuple[str, ...]
    folder: str
    seconds: float = 0.0
    objective: float | None = None
    cached: int = 0
    reason: str = ""
    pruned: int | None = None
    course: Mapping[int, float] = field(default_factory=dict)
    settings: str = ""
    memory: int = 0

    @property
    def missing(self) -> str:
        """Why there is no objective, in one line; "" where there is one."""
        return self.reason if self.pruned is None else f"pruned at epoch {self.pruned}"


@dataclass(frozen=True)
class TrialJournal:
    """A folder with one JSON file per trial, named by its number.

    Attributes:
        folder: The folder, which is created by the first ``write``.
    """

    folder: Path

    def done(self, number: int, overrides: Sequence[str]) -> Trial | None:
        """Return the trial of this number if it need not run again, else None.

        It had the same overrides, and was pruned or succeeded and still has its files.
        """
        trial = _read(self._file(number))
        if trial is None or trial.overrides != tuple(overrides):
            return None
        succeeded = trial.objective is not None and is_finished(Path(trial.folder))
        return trial if succeeded or trial.pruned is not None else None

    def before(self, number: int) -> list[Trial]:
        """Return the successful trials before this one: the same ones whenever a sweep is resumed."""
        return [trial for trial in self.trials() if trial.number < number and trial.objective is not None]

    def write(self, trial: Trial) -> None:
        """Write the result of a trial; the file is complete or absent."""
        self.folder.mkdir(parents=True, exist_ok=True)
        content = asdict(trial)
        content["words"] = content.pop("overrides")
        write_text(self._file(trial.number), json.dumps(content, indent=2, ensure_ascii=False) + "\n")

    def trials(self) -> list[Trial]:
        """Return all finished trials, sorted by number."""
        return sorted(filter(None, map(_read, self.folder.glob("*.json"))), key=lambda trial: trial.number)

    def _file(self, number: int) -> Path:
        return self.folder / f"{number}.json"


def description_of(folder: Path) -> dict[str, Any]:
    """Return what ``recx.jobs.sweep.plan`` wrote about the sweep in a folder; {} where there is none.

    Raises:
        InputError: It is damaged.
    """
    file = folder / FILE
    if not os.path.lexists(file):
        return {}
    try:
        content = dict(json.loads(read_text(file)))
        return {"id": content["id"], "words": list(content["words"]), **content}
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{file} is damaged ({type(error).__name__}): choose another sweep_id") from error


def _read(file: Path) -> Trial | None:
    """Return the trial of a file; None where it is missing or damaged, so that the trial runs again."""
    try:
        content = json.loads(read_text(file))
        course = {int(step): value for step, value in content.pop("course").items()}
        trial = Trial(overrides=content.pop("words"), course=course, **content)
        check(trial)
        return trial
    except (OSError, ValueError, TypeError, KeyError, AttributeError, InputError):
        return None

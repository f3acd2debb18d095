"""What became of every trial of a sweep: a small file each, so that a sweep can be killed and taken up again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from recx.core.system.atomic import write_text

FILE = "sweep.json"
"""What a sweep is, beside its trials (see ``recx.jobs.sweep.plan``)."""


@dataclass(frozen=True)
class Trial:
    """One trial that ended.

    number: its place in the sweep, from 0. words: what it was run with, as on a command line. folder: its files.
    objective: None where it failed (then ``reason`` says why in one line) or was pruned (then ``pruned`` says at which
    epoch). cached: stages that came from the cache. course: epoch -> what it reached there (see ``recx.core.pruning``).
    """

    number: int
    words: tuple[str, ...]
    folder: str
    seconds: float = 0.0
    objective: float | None = None
    cached: int = 0
    reason: str = ""
    pruned: int | None = None
    course: Mapping[int, float] = field(default_factory=dict)

    @property
    def lacks(self) -> str:
        """Why there is no objective, in one line; "" where there is one."""
        return self.reason if self.pruned is None else f"pruned at epoch {self.pruned}"


@dataclass(frozen=True)
class TrialJournal:
    """A folder with one JSON file a trial, named by its number."""

    folder: Path

    def done(self, number: int, words: Sequence[str]) -> Trial | None:
        """Return the trial of this number if it had these words, and was pruned or ended well with its files there."""
        trial = _read(self._file(number))
        if trial is None or trial.words != tuple(words):
            return None
        if trial.pruned is not None:
            return trial
        whole = trial.objective is not None and Path(trial.folder, "metrics.json").is_file()
        return trial if whole else None

    def before(self, number: int) -> list[Trial]:
        """Return the trials before this one that ended well: the same whenever a sweep is taken up again."""
        return [trial for trial in self.trials() if trial.number < number and trial.objective is not None]

    def write(self, trial: Trial) -> None:
        """Keep what became of a trial; the file is there whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self._file(trial.number), json.dumps(asdict(trial), indent=2, ensure_ascii=False) + "\n")

    def trials(self) -> list[Trial]:
        """Return all trials that ended, in their order."""
        found = (_read(file) for file in self.folder.glob("*.json"))
        return sorted((trial for trial in found if trial is not None), key=lambda trial: trial.number)

    def _file(self, number: int) -> Path:
        return self.folder / f"{number}.json"


def begun_in(folder: Path) -> dict[str, Any]:
    """Return what ``recx.jobs.sweep.plan`` wrote down of the sweep in a folder; {} where there is none."""
    file = folder / FILE
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}


def _read(file: Path) -> Trial | None:
    """Return what a file says; None where there is none or it is damaged, so that the trial runs again."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        course = {int(step): value for step, value in content["course"].items()}
        return Trial(**{**content, "words": tuple(content["words"]), "course": course})
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None

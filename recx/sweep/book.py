"""What became of every trial of a sweep: a small file each, so that a sweep can be killed and taken up again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from recx.files import write_text


@dataclass(frozen=True)
class Trial:
    """One trial that ended.

    number: its place in the sweep, from 0. words: what it was run with, as on a command line. folder: its files.
    objective: None where it failed; then ``reason`` says why in one line. cached: stages that came from the cache.
    """

    number: int
    words: tuple[str, ...]
    folder: str
    seconds: float = 0.0
    objective: float | None = None
    cached: int = 0
    reason: str = ""


@dataclass(frozen=True)
class Book:
    """A folder with one JSON file a trial, named by a hash of the trial's words."""

    folder: Path

    def done(self, words: Sequence[str]) -> Trial | None:
        """Return the trial with these words if it ended well and its files are there."""
        trial = _read(self._file(words))
        whole = trial is not None and trial.objective is not None and Path(trial.folder, "metrics.json").is_file()
        return trial if whole else None

    def write(self, trial: Trial) -> None:
        """Keep what became of a trial; the file is there whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self._file(trial.words), json.dumps(asdict(trial), indent=2, ensure_ascii=False) + "\n")

    def trials(self) -> list[Trial]:
        """Return all trials that ended, in their order."""
        found = (_read(file) for file in self.folder.glob("*.json"))
        return sorted((trial for trial in found if trial is not None), key=lambda trial: trial.number)

    def _file(self, words: Sequence[str]) -> Path:
        digest = hashlib.blake2b(json.dumps(list(words)).encode(), digest_size=16)
        return self.folder / f"{digest.hexdigest()}.json"


def _read(file: Path) -> Trial | None:
    """Return what a file says; None where there is none or it is damaged, so that the trial runs again."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        return Trial(**{**content, "words": tuple(content["words"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None

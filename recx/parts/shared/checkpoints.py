"""Checkpoints of a training: one file of arrays each, written atomically, with its progress as JSON in it; no pickle.

A file is named after the settings and the data of its training, so trainings never overwrite each other's.
"""

from __future__ import annotations

import json
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from recx.core.errors import InputError
from recx.core.system.atomic import replacing
from recx.core.system.plain_files import check_plain
from recx.core.types import Array, Interactions

RUNNING, DONE = ".running.npz", ".done.npz"
HEADER = "recx"  # the entry of the JSON
KEPT = 20  # results of finished trainings
SHOWN = 4  # differences listed in an error


@dataclass(frozen=True)
class Saved:
    """The content of a checkpoint.

    Attributes:
        course: The progress of the training: plain values by name.
        arrays: The state of the model by name.
    """

    course: dict[str, Any]
    arrays: dict[str, Array]


@dataclass
class Keeper:
    """Writes the checkpoints of one training and finds the one to resume from.

    A finished training leaves its result, so that a run with several trainings need not repeat it; the ``KEPT`` newest
    are kept.

    Attributes:
        folder: The folder of the checkpoints; None to write none.
        of: What the training depends on: name -> plain value.
        minutes: Minutes after which ``due`` is true again.
        stage: The kind of part that trains, for errors.
    """

    folder: Path | None
    of: Mapping[str, Any]
    minutes: float
    stage: str = "retriever"
    _last: float = field(default_factory=time.monotonic)

    def due(self) -> bool:
        """Return whether the last checkpoint is older than ``minutes``."""
        return self.folder is not None and time.monotonic() - self._last > self.minutes * 60

    def save(self, saved: Saved) -> None:
        """Write a checkpoint, replacing the previous one.

        Args:
            saved: The state of the training.
        """
        if self.folder is not None:
            self._write(self.folder / f"{self._key}{RUNNING}", saved)
            self._last = time.monotonic()

    def finish(self, saved: Saved) -> None:
        """Write the result, replacing the last checkpoint.

        Args:
            saved: The state at the end.
        """
        if self.folder is not None:
            self._write(self.folder / f"{self._key}{DONE}", saved)
            self.forget()
            for file in sorted(self.folder.glob(f"*{DONE}"), key=lambda file: file.stat().st_mtime_ns)[:-KEPT]:
                file.unlink(missing_ok=True)

    def forget(self) -> None:
        """Delete the checkpoint."""
        if self.folder is not None:
            (self.folder / f"{self._key}{RUNNING}").unlink(missing_ok=True)

    def resumed(self) -> Saved | None:
        """Return the checkpoint or the result of this training; None if there is neither.

        Raises:
            InputError: The only interrupted trainings have other settings or other data, or the file is damaged.
        """
        if self.folder is None:
            return None
        for file in (self.folder / f"{self._key}{kind}" for kind in (DONE, RUNNING)):
            if file.is_file():
                header, arrays = _read(file)
                return Saved(header["course"], arrays)
        for file in sorted(self.folder.glob(f"*{RUNNING}")):
            differences = _differences(_read(file, arrays=False)[0]["of"], json.loads(json.dumps(self.of)))
            raise InputError(
                f"{file} is the checkpoint of another training ({differences}): use its settings and data, delete it, "
                f"or set {self.stage}.resume=false to start from scratch"
            )
        return None

    @property
    def _key(self) -> str:
        return blake2b(json.dumps(self.of, sort_keys=True).encode(), digest_size=8).hexdigest()

    def _write(self, file: Path, saved: Saved) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        header = json.dumps({"of": self.of, "course": saved.course}).encode()
        entries: dict[str, Any] = {HEADER: np.frombuffer(header, np.uint8), **saved.arrays}
        with replacing(file) as temporary, temporary.open("wb") as stream:
            np.savez(stream, **entries)


def _read(file: Path, *, arrays: bool = True) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the JSON of a checkpoint and, if asked for, its arrays."""
    check_plain(file)
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as entries:
            header = json.loads(entries[HEADER].tobytes())
            names = [name for name in entries.files if arrays and name != HEADER]
            return {"of": dict(header["of"]), "course": dict(header["course"])}, {name: entries[name] for name in names}
    except (zipfile.BadZipFile, OSError, EOFError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{file} cannot be read as a checkpoint ({type(error).__name__}): delete it to start from scratch"
        ) from error


def _differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    names = [name for name in {**there, **here} if there.get(name) != here.get(name)]
    shown = [f"{name} {there.get(name)} there, {here.get(name)} here" for name in names[:SHOWN]]
    return "; ".join(shown) + (f"; and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def fingerprint(history: Interactions) -> dict[str, Any]:
    """Return what identifies a history: its sizes, and a digest of everything that a fit reads from it."""
    digest = blake2b(digest_size=8)
    items = history.items
    arrays = (history.indptr, history.item, history.time, history.weight, items.table.get("category"), items.embedding)
    for array in arrays:
        digest.update(b"none" if array is None else array.tobytes())
    digest.update(json.dumps(items.ids.tolist()).encode())
    return {
        "data": digest.hexdigest(),
        "data.users": history.n_users,
        "data.items": history.n_items,
        "data.events": len(history),
    }

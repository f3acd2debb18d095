"""Checkpoints: one safetensors file each, whole or not there at all, with all else as JSON in its header.

A file is named after the settings and the data of its training, so trainings never overwrite each other's. Random
numbers follow from the seed and the number of a step, so there is no random state to keep.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from recx.plugin import InputError, Interactions, replacing

RUNNING, DONE = ".running.safetensors", ".done.safetensors"
KEPT = 20  # outcomes
SHOWN = 4  # differences that an error names


@dataclass(frozen=True)
class Saved:
    """What a checkpoint holds: where the training stands, and the numbers."""

    course: dict[str, Any]
    tensors: dict[str, Tensor]


@dataclass
class Keeper:
    """Writes the checkpoints of one training and finds the one to go on from.

    A training that is done leaves its outcome, so that a run with several of them need not repeat it; the ``KEPT``
    newest stay. folder: None to keep nothing. of: what the training depends on, name -> value.
    """

    folder: Path | None
    of: Mapping[str, Any]
    minutes: float
    _last: float = field(default_factory=time.monotonic)

    def due(self) -> bool:
        """Whether it is time for a checkpoint within an epoch."""
        return self.folder is not None and time.monotonic() - self._last > self.minutes * 60

    def save(self, saved: Saved) -> None:
        """Write a checkpoint in the place of the one before."""
        if self.folder is not None:
            self._write(self.folder / f"{self._key}{RUNNING}", saved)
            self._last = time.monotonic()

    def finish(self, saved: Saved) -> None:
        """Write the outcome in the place of the last checkpoint."""
        if self.folder is not None:
            self._write(self.folder / f"{self._key}{DONE}", saved)
            self.forget()
            for file in sorted(self.folder.glob(f"*{DONE}"), key=lambda file: file.stat().st_mtime_ns)[:-KEPT]:
                file.unlink(missing_ok=True)

    def forget(self) -> None:
        """Take the checkpoint away."""
        if self.folder is not None:
            (self.folder / f"{self._key}{RUNNING}").unlink(missing_ok=True)

    def resumed(self) -> Saved | None:
        """Return the checkpoint or the outcome of this very training; None where it has to start.

        Raises:
            InputError: trainings were interrupted, but only others: with other settings or on other data.
        """
        if self.folder is None:
            return None
        for file in (self.folder / f"{self._key}{kind}" for kind in (DONE, RUNNING)):
            if file.is_file():
                return Saved(_header(file)["course"], load_file(file))
        for file in sorted(self.folder.glob(f"*{RUNNING}")):
            told = _differences(_header(file)["of"], json.loads(json.dumps(self.of)))
            raise InputError(
                f"{file} is the checkpoint of another training ({told}): go on with its settings and data, delete it, "
                "or set retriever.resume=false to start anew"
            )
        return None

    @property
    def _key(self) -> str:
        return blake2b(json.dumps(self.of, sort_keys=True).encode(), digest_size=8).hexdigest()

    def _write(self, file: Path, saved: Saved) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in saved.tensors.items()}
        with replacing(file) as temporary:
            save_file(tensors, temporary, {"recx": json.dumps({"of": self.of, "course": saved.course})})


def _header(file: Path) -> dict[str, Any]:
    """Return the JSON in a checkpoint's header."""
    opened: Any = safe_open
    try:
        with opened(file, framework="pt") as reader:
            return dict(json.loads(reader.metadata()["recx"]))
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{file} is no checkpoint that can be read ({type(error).__name__}): delete it to start anew"
        ) from error


def _differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    names = [name for name in {**there, **here} if there.get(name) != here.get(name)]
    told = [f"{name} {there.get(name)} there, {here.get(name)} here" for name in names[:SHOWN]]
    return "; ".join(told) + (f"; and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def fingerprint(history: Interactions) -> dict[str, Any]:
    """Return what tells a history from others: its sizes, and a digest of all that a fit reads of it."""
    digest = blake2b(digest_size=8)
    items = history.items
    for array in (history.indptr, history.item, history.time, items.table.get("category"), items.embedding):
        digest.update(b"none" if array is None else array.tobytes())
    digest.update(json.dumps(items.ids.tolist()).encode())
    return {
        "data": digest.hexdigest(),
        "data.users": history.n_users,
        "data.items": history.n_items,
        "data.events": len(history),
    }

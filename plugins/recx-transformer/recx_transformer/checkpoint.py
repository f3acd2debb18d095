"""Checkpoints: one safetensors file each, written atomically, with everything but the tensors as JSON in its header.

A file is named after the settings and the data of its training, so trainings never overwrite each other's. Random
numbers depend only on the seed and the number of the step, so no random state is stored.
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

from recx.plugin import InputError, Interactions, check_plain, replacing

RUNNING, DONE = ".running.safetensors", ".done.safetensors"
KEPT = 20  # results of finished trainings
SHOWN = 4  # differences listed in an error


@dataclass(frozen=True)
class Saved:
    """The content of a checkpoint.

    Attributes:
        course: The progress of the training, as the fields of ``Course``.
        tensors: Weights and optimiser state by name.
    """

    course: dict[str, Any]
    tensors: dict[str, Tensor]


@dataclass
class Keeper:
    """Writes the checkpoints of one training and finds the one to resume from.

    A finished training leaves its result, so that a run with several trainings need not repeat it; the ``KEPT`` newest
    are kept.

    Attributes:
        folder: The folder of the checkpoints; None to write none.
        of: What the training depends on: name -> value.
        minutes: Minutes between two checkpoints within an epoch.
    """

    folder: Path | None
    of: Mapping[str, Any]
    minutes: float
    _last: float = field(default_factory=time.monotonic)

    def due(self) -> bool:
        """Return whether a checkpoint within an epoch is due."""
        return self.folder is not None and time.monotonic() - self._last > self.minutes * 60

    def save(self, saved: Saved) -> None:
        """Write a checkpoint, replacing the previous one."""
        if self.folder is not None:
            self._write(self.folder / f"{self._key}{RUNNING}", saved)
            self._last = time.monotonic()

    def finish(self, saved: Saved) -> None:
        """Write the result, replacing the last checkpoint."""
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
            InputError: The only interrupted trainings have other settings or other data.
        """
        if self.folder is None:
            return None
        for file in (self.folder / f"{self._key}{kind}" for kind in (DONE, RUNNING)):
            if file.is_file():
                check_plain(file)
                return Saved(_header(file)["course"], load_file(file))
        for file in sorted(self.folder.glob(f"*{RUNNING}")):
            differences = _differences(_header(file)["of"], json.loads(json.dumps(self.of)))
            raise InputError(
                f"{file} is the checkpoint of another training ({differences}): use its settings and data, delete it, "
                "or set retriever.resume=false to start from scratch"
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
    check_plain(file)
    opened: Any = safe_open
    try:
        with opened(file, framework="pt") as reader:
            return dict(json.loads(reader.metadata()["recx"]))
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
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
    for array in (history.indptr, history.item, history.time, items.table.get("category"), items.embedding):
        digest.update(b"none" if array is None else array.tobytes())
    digest.update(json.dumps(items.ids.tolist()).encode())
    return {
        "data": digest.hexdigest(),
        "data.users": history.n_users,
        "data.items": history.n_items,
        "data.events": len(history),
    }

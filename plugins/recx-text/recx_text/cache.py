"""A cache of vectors by content: a text is encoded once, and its vector is read from then on."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recx.plugin import Array, Bools, Floats, InputError, check_plain

KEYS, VECTORS = ".keys.npy", ".vectors.npy"


def keys_of(texts: Iterable[str]) -> Array:
    """Return a 16-byte hash of each text [n]."""
    digests = (hashlib.blake2b(text.encode("utf-8"), digest_size=16).digest() for text in texts)
    return np.frombuffer(b"".join(digests), dtype="S16")


@dataclass(frozen=True)
class Cache:
    """A folder for the vectors of one model, which several processes may write to at once.

    Each ``keep`` writes two files: NAME.vectors.npy and, once that is complete, NAME.keys.npy.

    Attributes:
        folder: The folder.
    """

    folder: Path

    def find(self, keys: Array) -> tuple[Bools, Floats]:
        """Return which of the keys [n] are cached, and their vectors [n_known, d] in the same order.

        Raises:
            InputError: A file is damaged.
        """
        known, found = np.zeros(len(keys), dtype=bool), np.zeros((len(keys), 0), dtype=np.float32)
        for file in sorted(self.folder.glob(f"*{KEYS}")):
            kept, vectors = _read(file), _read(file.with_name(file.name.replace(KEYS, VECTORS)))
            at = np.minimum(np.searchsorted(kept, keys), len(kept) - 1)
            here = ~known & (kept[at] == keys)
            if found.shape[1] != vectors.shape[1]:
                found = np.zeros((len(keys), vectors.shape[1]), dtype=np.float32)
            found[here] = vectors[at[here]]
            known |= here
        return known, found[known]

    def keep(self, keys: Array, vectors: Floats) -> None:
        """Store the vectors [n, d] of keys [n] in ascending order."""
        self.folder.mkdir(parents=True, exist_ok=True)
        name = hashlib.blake2b(keys.tobytes(), digest_size=16).hexdigest()
        _write(self.folder / f"{name}{VECTORS}", vectors)
        _write(self.folder / f"{name}{KEYS}", keys)


def _read(file: Path) -> Array:
    try:
        check_plain(file)
        array: Array = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{file} is damaged ({error}): delete the folder, it will be created again") from error
    return array


def _write(file: Path, array: Array) -> None:
    """Write to a unique temporary file, then rename it."""
    number, temporary = tempfile.mkstemp(dir=file.parent, suffix=".part")
    try:
        with os.fdopen(number, "wb") as opened:
            np.save(opened, array, allow_pickle=False)
        Path(temporary).replace(file)
    finally:
        Path(temporary).unlink(missing_ok=True)

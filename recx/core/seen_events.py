"""Which events a saved part has learned from, so that a later run can tell whether it knows the answers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from recx.core.entities import UNKNOWN_TIME
from recx.core.errors import InputError
from recx.core.system.atomic import replacing
from recx.core.system.plain_files import check_plain
from recx.core.types import Array, Interactions, Longs

FILE = "seen_events.npy"
ROW = np.dtype([("user", "<u8"), ("count", "<i8"), ("digest", "<u8"), ("last", "<i8")])
UNKNOWN_EVENTS = "unknown: nothing tells which events it has seen, so it may have seen the answers"
"""What the protocol card says of a part that was made elsewhere without a word on its data."""

_Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class SeenEvents:
    """The events of a history, as a count and a digest for each user.

    Attributes:
        user: Hashes of the raw ids of the users with events, increasing [n].
        count: The number of each one's events [n].
        digest: The sum of the hashes of each one's events, of their items and times [n].
        last: The time of the last event in ms; None without times or events.
    """

    user: _Hashes
    count: Longs
    digest: _Hashes
    last: int | None

    @classmethod
    def of(cls, history: Interactions) -> SeenEvents:
        """Return what a part that is fitted on this history has seen."""
        active = np.flatnonzero(history.lengths)
        user, total = _hashes(history.users.ids[active]), _running_total(history)
        digest = total[history.indptr[active + 1]] - total[history.indptr[active]]
        order = np.argsort(user)
        last = None if history.time is None or not len(history) else int(history.time.max())
        return cls(user[order], history.lengths[active][order], digest[order], last)

    def users_outside(self, history: Interactions) -> int:
        """Return the number of users of whom it has seen events that are not, one after the other, in this history."""
        active = np.flatnonzero(history.lengths)
        hashes = _hashes(history.users.ids[active])
        at = np.minimum(np.searchsorted(self.user, hashes), max(0, len(self.user) - 1))
        known = self.user[at] == hashes if len(self.user) else np.zeros(len(hashes), dtype=bool)
        place = np.full(history.n_users, -1)
        place[active[known]] = at[known]
        seen = place[history.user]  # of every event of the history
        rows = np.flatnonzero(seen >= 0)
        end = rows + self.count[seen[rows]]
        rows, end = (part[end <= history.indptr[history.user[rows] + 1]] for part in (rows, end))
        total = _running_total(history)
        same = total[end] - total[rows] == self.digest[seen[rows]]
        return len(self.user) - len(np.unique(seen[rows[same]]))

    def statement(self) -> dict[str, Any]:
        """Return the counts for the protocol card, with a digest that two parts share if they saw the same events."""
        digest = hashlib.blake2b(digest_size=8)
        for array in (self.user, self.count, self.digest):
            digest.update(array.tobytes())
        counts = {"users": len(self.user), "events": int(self.count.sum()), "last_event_ms": self.last}
        return {**counts, "digest": digest.hexdigest()}

    def save(self, folder: Path) -> None:
        """Write ``seen_events.npy``, one row per user.

        Args:
            folder: Where to write it.
        """
        rows = np.empty(len(self.user), dtype=ROW)
        for name in ("user", "count", "digest"):
            rows[name] = getattr(self, name)
        rows["last"] = UNKNOWN_TIME if self.last is None else self.last
        with replacing(folder / FILE) as temporary, temporary.open("wb") as file:
            np.save(file, rows)

    @classmethod
    def load(cls, folder: Path) -> SeenEvents:
        """Return what ``save`` wrote into a folder.

        Raises:
            InputError: The folder has no such file, or the file is damaged.
        """
        path = folder / FILE
        if not path.exists():
            raise InputError(
                f"{folder} does not tell which events its part has seen (no {FILE}), and the answers may be among "
                "them: run the experiment again"
            )
        check_plain(path)
        try:
            rows = np.load(path, mmap_mode="r", allow_pickle=False)  # mapped: no header can ask for more than is there
            if not isinstance(rows, np.ndarray) or rows.dtype != ROW or rows.ndim != 1:
                raise TypeError("another kind of content")
            user, count, digest = (np.array(rows[name]) for name in ("user", "count", "digest"))
            if (count < 1).any() or (user[1:] <= user[:-1]).any():
                raise ValueError("impossible numbers")
            last = int(rows["last"].max()) if len(rows) else UNKNOWN_TIME
            return cls(user, count, digest, None if last == UNKNOWN_TIME else last)
        except (OSError, ValueError, TypeError, EOFError) as error:
            raise InputError(f"{path} is damaged ({type(error).__name__}): run the experiment again") from error


def _running_total(history: Interactions) -> _Hashes:
    """Return the sum of the hashes of all events before each one [n_events + 1], modulo 2 ** 64."""
    shown = np.flatnonzero(history.clicks)
    item = np.zeros(history.n_items, dtype=np.uint64)
    item[shown] = _hashes(history.items.ids[shown])
    event = item[history.item]
    if history.time is not None:
        event = _mixed(event + _mixed(history.time.view(np.uint64)))
    total = np.zeros(len(event) + 1, dtype=np.uint64)
    np.cumsum(event, out=total[1:])
    return total


def _hashes(ids: Array) -> _Hashes:
    """Return 64 bits for every id [n]."""
    texts = (str(raw).encode("utf-8", "surrogatepass") for raw in ids.tolist())
    return np.frombuffer(b"".join(hashlib.blake2b(text, digest_size=8).digest() for text in texts), np.uint64)


def _mixed(bits: _Hashes) -> _Hashes:
    """Return the SplitMix64 hash of each number (Steele, Lea and Flood 2014)."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))

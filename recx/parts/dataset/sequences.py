"""A line per user: the user, then the items in the order of time, separated by blanks (S3-Rec's format)."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.ragged import indptr_of
from recx.core.types import Array, Interactions
from recx.parts.dataset.events import require_path
from recx.storage.readers.columns import ids_of
from recx.storage.readers.tables import content


@dataclass(frozen=True)
class Sequences:
    """Sequences without times; an item may stand twice in a line.

    path: the file, plain or gzipped.
    """

    path: str | None = None

    def load(self) -> Interactions:
        """Return the sequences, weight 1, ``time=None``; users in the file's order.

        Blank lines and users without an item are left out and counted (``blank_lines``, ``users_without_items``).

        Raises:
            InputError: no path is set, the file cannot be used, or a user stands on two lines.
        """
        path = require_path(self.path, "Beauty.txt")
        lines = _lines(path)
        words = [line.split() for line in lines]
        lengths = np.array([len(line) for line in words], dtype=np.int64)
        full = lengths > 1
        if not full.any():
            raise InputError(f"{path} has no line with a user and an item: give lines such as 'user item item'")
        _refuse_repeated([line[0] if line else "" for line in words], path)
        number = np.flatnonzero(full) + 1
        users = ids_of([line[0] for line in words if len(line) > 1], f"{path}: the users", number)
        of_item = np.repeat(number, lengths[full] - 1)
        clicked = ids_of([item for line in words for item in line[1:]], f"{path}: the items", of_item)
        item_ids, item = _numbered(clicked)
        return Interactions(
            indptr=indptr_of(lengths[full] - 1),
            item=item,
            time=None,
            weight=np.ones(len(item), dtype=np.float32),
            users=Entities(users),
            items=Entities(item_ids),
            notes={"blank_lines": int((lengths == 0).sum()), "users_without_items": int((lengths == 1).sum())},
        )


def _lines(path: Path) -> list[str]:
    try:
        text = bytes(content(path)).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8 (byte {error.start}): save it as UTF-8") from error
    return list(StringIO(text, newline=None))  # not splitlines(), which also breaks at rare characters within an id


def _refuse_repeated(users: list[str], path: Path) -> None:
    first: dict[str, int] = {}
    for number, user in enumerate(users, start=1):
        if user and first.setdefault(user, number) != number:
            raise InputError(f"{path}: user {user!r} stands on lines {first[user]} and {number}: join them into one")


def _numbered(ids: Array) -> tuple[Array, Array]:
    import pandas as pd

    codes, known = pd.factorize(ids, sort=True)
    return np.asarray(known), codes.astype(np.int32)

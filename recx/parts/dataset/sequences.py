"""One line per user: the user, then the items, oldest first, separated by blanks (S3-Rec's format)."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO

import numpy as np

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.ragged import indptr_of
from recx.core.types import Interactions
from recx.parts.dataset.files import read_text, require_path
from recx.storage.readers.columns import ids_of


@dataclass(frozen=True)
class Sequences:
    """Sequences without times; an item may occur twice in a line.

    Attributes:
        path: the file, plain or gzipped.
    """

    path: str | None = None

    def load(self) -> Interactions:
        """Return the sequences, weight 1, ``time=None``; users in the file's order.

        Blank lines and users without an item are left out and counted (``blank_lines``, ``users_without_items``).

        Raises:
            InputError: no path is set, the file cannot be used, or a user is on two lines.
        """
        import pandas as pd

        path = require_path(self.path, "Beauty.txt")
        # Not splitlines(), which also breaks at rare characters within an id.
        words = [line.split() for line in StringIO(read_text(path), newline=None)]
        lengths = np.array([len(line) for line in words], dtype=np.int64)
        full = lengths > 1
        if not full.any():
            raise InputError(f"{path} has no line with a user and an item: provide lines such as 'user item item'")
        first: dict[str, int] = {}
        for number, line in enumerate(words, start=1):
            if line and first.setdefault(line[0], number) != number:
                raise InputError(
                    f"{path}: user {line[0]!r} is on lines {first[line[0]]} and {number}: join them into one"
                )
        lines = np.flatnonzero(full) + 1
        users = ids_of([line[0] for line in words if len(line) > 1], f"{path}: the users", lines)
        clicked = [item for line in words for item in line[1:]]
        ids = ids_of(clicked, f"{path}: the items", np.repeat(lines, lengths[full] - 1))
        item, known = pd.factorize(ids, sort=True)
        return Interactions(
            indptr=indptr_of(lengths[full] - 1),
            item=item.astype(np.int32),
            time=None,
            weight=np.ones(len(item), dtype=np.float32),
            users=Entities(users),
            items=Entities(np.asarray(known)),
            notes={"blank_lines": int((lengths == 0).sum()), "users_without_items": int((lengths == 1).sum())},
        )

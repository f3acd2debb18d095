"""Groups of users that a split keeps together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.types import Longs
from recx.parts.shared.same_text import tasks_of


def groups_of(users: Entities, group: str | Sequence[str] | None) -> Longs:
    """Return the group of each user, from 0 [n_users]; every user is one where there is no column.

    Args:
        users: The users.
        group: A column of their table whose equal values stay together, or several, of which one equal value is enough.
            Of the column ``text`` those are equal that ask the same (see ``recx.parts.shared.same_text``).

    Raises:
        InputError: ``group`` is not a column of the users' table.
    """
    names = [group] if isinstance(group, str) else group or []
    values = [_values(users, name) for name in names]
    if len(values) < 2:
        return values[0] if values else np.arange(len(users))
    first = np.cumsum([len(users), *(int(value.max(initial=-1)) + 1 for value in values)])
    user = np.tile(np.arange(len(users)), len(values))
    value = np.concatenate([number + start for number, start in zip(values, first[:-1], strict=True)])
    linked = sparse.csr_array((np.ones(len(user)), (user, value)), shape=(first[-1], first[-1]))
    found = sparse.csgraph.connected_components(linked, directed=False)[1]
    return np.unique(found[: len(users)], return_inverse=True)[1]


def _values(users: Entities, name: str) -> Longs:
    """Return a number for each distinct value of a column [n_users]."""
    if name not in users.table:
        known = ", ".join(sorted(users.table)) or "none"
        raise InputError(f"split.group={name!r} is not a column of the users' table: it has {known}")
    return np.unique(tasks_of(users) if name == "text" else users.table[name], return_inverse=True)[1]

"""The classes of items, such as genres."""

from __future__ import annotations

import numpy as np

from recx.core.entities import ClassLists, Entities
from recx.core.ragged import indptr_of
from recx.core.types import Array


def main_classes(items: Entities) -> ClassLists | None:
    """Return the categories of the items, or their first column with lists of classes; None if there is neither."""
    if "category" in items.table:
        return as_lists(items.table["category"])
    return next(iter(items.lists.values()), None)


def as_lists(code: Array) -> ClassLists:
    """Return one class of each item [n], none for code -1, as lists."""
    known = code >= 0
    return ClassLists(indptr_of(known.astype(np.int64)), code[known])

"""The item that stands for no answer: choosing it is to abstain. It is an ordinary item, with a column that says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from recx.core.entities import Entities

IS_ABSTAIN = "is_abstain"
"""Column of the items' table: 1 for the item that stands for no answer, 0 for all others."""


def abstains(items: Entities) -> npt.NDArray[np.bool_]:
    """Return which items stand for no answer [n_items]; none where the data does not say."""
    column: npt.NDArray[Any] | None = items.table.get(IS_ABSTAIN)
    return np.zeros(len(items), dtype=bool) if column is None else np.asarray(column > 0)

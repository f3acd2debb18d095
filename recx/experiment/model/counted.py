"""What is asked of a history at every request, made once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recx.core.entities import Entities
from recx.core.memo import once_per_input
from recx.core.types import Interactions

if TYPE_CHECKING:
    import pandas as pd


@once_per_input
def last_time(history: Interactions) -> np.int64:
    """Return the time of the last event of all in ms; 0 without events."""
    assert history.time is not None
    return np.int64(history.time.max(initial=0))


@once_per_input
def index_of(entities: Entities) -> pd.Index:
    """Return the index of raw ids, which finds their numbers."""
    import pandas as pd

    return pd.Index(entities.ids)

"""What is asked of a history at every request, made once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recx.core.clock import dates_in
from recx.core.entities import Entities
from recx.core.memo import once_per_input
from recx.core.types import Interactions

if TYPE_CHECKING:
    import pandas as pd


@once_per_input
def last_time(history: Interactions) -> int:
    """Return the time of the last event of all in ms; 0 without events."""
    assert history.time is not None
    return int(history.time.max(initial=0))


def is_dated(history: Interactions) -> bool:
    """Return whether the times of a history are dates, as those of one without events may be."""
    return not len(history) or bool(dates_in(np.array([last_time(history)]), "ms").all())


@once_per_input
def index_of(entities: Entities) -> pd.Index:
    """Return the index of raw ids, which finds their numbers."""
    import pandas as pd

    return pd.Index(entities.ids)

"""Columns of a frame whose names say that they cannot be left unread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recx.core.contracts import TABLE
from recx.storage.readers.names import RANKS, recognised

if TYPE_CHECKING:
    import pandas as pd


def telling(frame: pd.DataFrame, words: str) -> list[str]:
    """Return the columns of numbers whose name ends in one of these words, and those of texts whose name is one."""
    import pandas as pd

    found = recognised(words, (column for column in frame if isinstance(column, str)))
    return [name for name in found if name.isalpha() or pd.api.types.is_numeric_dtype(frame[name].dtype)]


def ranks_of(frame: pd.DataFrame) -> list[str]:
    """Return the column of numbers that is called rank in other letters, or position, if there is one.

    Where the retriever of a run had the item, as ``recommendations.parquet`` says, is not the order of its lists.
    """
    import pandas as pd

    found = recognised(RANKS, (column for column in frame if isinstance(column, str) and column not in TABLE))
    return [name for name in found if pd.api.types.is_numeric_dtype(frame[name]) and frame[name].notna().all()][:1]

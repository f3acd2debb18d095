"""Columns of a frame whose names say that they cannot be left unread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recx.core.contracts import TABLE
from recx.core.errors import InputError
from recx.storage.readers.names import RANKS, SYSTEMS, recognised

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


def refuse_systems(frame: pd.DataFrame, name: str) -> None:
    """Check that the lists of a frame are of one system.

    Raises:
        InputError: A column says by its name that they are of several.
    """
    for column in recognised(SYSTEMS, (column for column in frame if isinstance(column, str))):
        systems = frame[column].dropna().unique().tolist()
        if len(systems) > 1:
            shown = ", ".join(map(str, systems[:3])) + (" …" if len(systems) > 3 else "")
            raise InputError(
                f"{name}: the column {column!r} ({shown}) could say which system made each list: evaluate each by "
                f"itself with --by {column} (recx.evaluate_systems(..., by={column!r})), or drop the column if all are "
                "of one"
            )

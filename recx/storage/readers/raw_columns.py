"""Columns of a table as they are stored, lists included; those of delimited text as texts."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from recx.storage.readers.columns import MISSING
from recx.storage.readers.sources import Source
from recx.storage.readers.tables import columns_in


def raw_columns(source: Source, names: Sequence[str], notes: dict[str, int]) -> dict[str, pa.ChunkedArray]:
    """Return columns of a table (raises like ``read``); texts for missing values are null in delimited text.

    Rows that repeat the header are left out, and counted in the notes.
    """
    return dict(columns_in(source, dict.fromkeys(names, "raw?"), notes))


def words_of(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of texts or numbers as texts without blanks around them, null where it is missing."""
    texts = column.cast(pa.string())
    bare = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.is_in(bare, pa.array(MISSING)), pa.scalar(None, pa.string()), bare)

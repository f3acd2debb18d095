"""Writing a run's lists and tables, each under a temporary name until it is complete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from recx.core.entities import Entities
from recx.core.evaluation import Evaluation
from recx.core.fold_names import outside
from recx.core.ragged import blocks
from recx.core.system.atomic import replacing
from recx.core.types import Array, RankedLists

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

SLICE = "slice/"
"""Prefix of the columns of ``per_user.parquet`` that are not metrics."""

ROWS_A_BLOCK = 1_000_000
"""Rows written at once, so that a table is never in memory as a whole."""


def write_lists(path: Path, lists: RankedLists, users: Entities, items: Entities) -> None:
    """Write one row per list item: user, rank from 1, item, score, columns; raw ids.

    Args:
        path: The parquet file.
        lists: The lists.
        users: The users of the lists' numbers.
        items: The items of the lists' numbers.
    """
    import pyarrow.parquet as pq

    schema = _schema(lists, users, items)
    named = schema.names[3:]
    # Split into their bytes and without statistics, floats take less space and half the time.
    layout = {"use_dictionary": ["user", "rank", "item"], "write_statistics": ["user"], "compression": "snappy"}
    encoding = dict.fromkeys(named, "BYTE_STREAM_SPLIT")
    with (
        replacing(path) as temporary,
        pq.ParquetWriter(temporary, schema, column_encoding=encoding, **layout) as writer,
    ):
        for batch in _batches(lists, users, items):
            writer.write_batch(batch)


def frame_of(lists: RankedLists, users: Entities, items: Entities) -> pd.DataFrame:
    """Return what ``write_lists`` writes as a frame."""
    import pyarrow as pa

    schema = _schema(lists, users, items)
    return pa.Table.from_batches(_batches(lists, users, items), schema=schema).to_pandas()


def _schema(lists: RankedLists, users: Entities, items: Entities) -> pa.Schema:
    """Return names and types of the columns of lists: user, rank from 1, item, score, columns; raw ids."""
    import pyarrow as pa

    ids = [("user", _arrow(users.ids[:0]).type), ("rank", pa.int32()), ("item", _arrow(items.ids[:0]).type)]
    named = {"score": lists.score, **lists.columns}
    return pa.schema([*ids, *((name, pa.from_numpy_dtype(column.dtype)) for name, column in named.items())])


def _batches(lists: RankedLists, users: Entities, items: Entities) -> Iterator[pa.RecordBatch]:
    """Yield the rows of lists, one per item, a block of lists at a time."""
    import pyarrow as pa

    schema, item_ids = _schema(lists, users, items), _arrow(items.ids)
    lists_a_block = max(1, ROWS_A_BLOCK // int(lists.lengths.max(initial=1)))
    for start, stop in blocks(lists.n_lists, lists_a_block):
        block = lists[start:stop]
        columns = [
            _arrow(users.ids[block.user]).take(pa.array(block.list_of_row)),
            pa.array(block.rank.astype(np.int32)),
            item_ids.take(pa.array(block.item)),
            *map(pa.array, (block.score, *block.columns.values())),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def write_per_user(path: Path, evaluation: Evaluation, fold: str) -> None:
    """Write one row per evaluated user: raw id, one column per metric, and one column ``slice/NAME`` per grouping.

    Args:
        path: The parquet file.
        evaluation: The figures.
        fold: The fold that they are of, which their names say (see ``recx.core.fold_names``).
    """
    import pyarrow.parquet as pq

    named = replace(evaluation, values=outside(evaluation.values, fold))
    with replacing(path) as temporary:
        pq.write_table(per_user_of(named), temporary, compression="snappy")


def per_user_of(evaluation: Evaluation) -> pa.Table:
    """Return one row per evaluated user: raw id, one column per metric, and one column ``slice/NAME`` per grouping."""
    import pyarrow as pa

    slices = {f"{SLICE}{name}": value for name, value in evaluation.slices.items()}
    return pa.table({"user": _arrow(evaluation.users), **evaluation.values, **slices})


def write_table(path: Path, columns: Mapping[str, Array]) -> None:
    """Write the columns [n] of a small table as CSV."""
    import pandas as pd

    with replacing(path) as temporary:
        pd.DataFrame(dict(columns)).to_csv(temporary, index=False)


def _arrow(ids: Array) -> pa.Array:
    """Return raw ids as an Arrow array of integers or strings."""
    import pyarrow as pa

    return pa.array(ids) if ids.dtype.kind in "iu" else pa.array(ids.tolist(), pa.string())

"""The lists of a run as one table: a row per user and item, with the ranks and scores of both stages, and raw ids."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from recx.core.compiled import compiled
from recx.core.contracts import TABLE
from recx.core.errors import InputError
from recx.core.ragged import blocks_of_groups, order_in_groups
from recx.core.system.atomic import replacing
from recx.core.types import Interactions, Ints, Longs, RankedLists
from recx.experiment.files import arrow_ids

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

FILE = "recommendations.parquet"
"""The file of the lists in a run's folder."""
EARLIER = "candidates.parquet"
"""The file of the retriever's lists in folders of an earlier recx, whose recommendations lack what is in it."""
CUT = b"recx.lists.first"
"""The key of the file's metadata that says how much is kept of each list, if one was longer."""
BEFORE = TABLE[-2:]
"""The columns that say where the retriever had the item."""
ROWS_A_BLOCK = 1_000_000
"""Rows written at once, so that the table is never in memory as a whole."""
LARGEST_DICTIONARY = 2**26
"""Bytes of the ids that occur in a block, beyond which the block repeats them."""


def most_kept(lists: object) -> int | None:
    """Return how much of each list a run's folder keeps by the setting ``lists``: the first so many; None: all.

    Raises:
        InputError: The setting is none of ``all``, ``off`` and ``top:N``.
    """
    if lists is False or lists == "off":  # YAML reads a bare off as false
        return 0
    number = re.fullmatch(r"top:([1-9][0-9]{0,8})", lists) if isinstance(lists, str) else None
    if number is None and lists != "all":
        raise InputError(f"lists={lists}: it must be all, off or top:N, such as top:20")
    return None if number is None else int(number[1])


@dataclass(frozen=True, eq=False)
class ListTable:
    """The candidates in the ranker's order: user, rank from 1, item, score, the retriever's rank and score, columns.

    Attributes:
        recommendations: The lists of the ranker.
        candidates: The same pairs in the retriever's order.
        interactions: The data, whose users and items they are.
    """

    recommendations: RankedLists
    candidates: RankedLists
    interactions: Interactions

    def write(self, path: Path, most: int | None = None) -> None:
        """Write the table, under a temporary name until it is complete.

        Args:
            path: The Parquet file.
            most: How much of each list is written; None: all.
        """
        import pyarrow.parquet as pq

        blocks = self._blocks(most)
        schema = next(blocks).schema
        coded = [field.name for field in schema if _is_coded(field.type)]
        packed = {name: "DELTA_BINARY_PACKED" for name in ("item",) if name not in coded}
        split = {name: "BYTE_STREAM_SPLIT" for name in schema.names if name not in ("user", "rank", "item", BEFORE[0])}
        with (
            replacing(path) as temporary,
            pq.ParquetWriter(
                temporary,
                schema,
                use_dictionary=[*coded, BEFORE[0]],
                column_encoding={**packed, **split},
                compression="lz4",
                dictionary_pagesize_limit=LARGEST_DICTIONARY,
                write_statistics=["user"],
                store_schema=False,  # else ids would be read back as categories
            ) as writer,
        ):
            for block in blocks:
                writer.write_batch(block)
            if most is not None and most < self.recommendations.lengths.max(initial=0):
                writer.add_key_value_metadata({CUT: str(most)})

    def frame(self, name: str = "recommendations") -> pd.DataFrame:
        """Return what ``write`` writes as a frame, or with the name ``candidates`` the retriever's lists."""
        import pyarrow as pa

        table = pa.Table.from_batches(self._blocks(None))
        plain = [field.type.value_type if _is_coded(field.type) else field.type for field in table.schema]
        frame = table.cast(pa.schema(zip(table.column_names, plain, strict=True))).to_pandas()
        return frame if name == "recommendations" else in_order_of_retriever(frame)

    def _blocks(self, most: int | None) -> Iterator[pa.RecordBatch]:
        """Yield the rows in blocks of whole lists, the first of which is empty."""
        user_ids, item_ids = (arrow_ids(of.ids) for of in (self.interactions.users, self.interactions.items))
        for start, stop in [(0, 0), *blocks_of_groups(self.candidates.indptr, ROWS_A_BLOCK)]:
            shown, found = self.recommendations[start:stop], self.candidates[start:stop]
            yield _rows(shown if most is None else shown.top(most), found, user_ids, item_ids)


def in_order_of_retriever(recommendations: pd.DataFrame) -> pd.DataFrame:
    """Return whole lists in the retriever's order: user, rank from 1, item, score, columns."""
    borders = np.union1d(np.flatnonzero(recommendations["rank"] == 1), [0, len(recommendations)])
    order = order_in_groups(-recommendations[BEFORE[0]].to_numpy(), borders)
    before = {"rank": recommendations[BEFORE[0]], "score": recommendations[BEFORE[1]]}
    return recommendations.assign(**before).drop(columns=list(BEFORE)).iloc[order].reset_index(drop=True)


def _rows(shown: RankedLists, found: RankedLists, user_ids: pa.Array, item_ids: pa.Array) -> pa.RecordBatch:
    """Return a block of the table: a row for each of ``shown``, all of which are in ``found``."""
    import pyarrow as pa

    user = _coded(np.repeat(shown.user, shown.lengths), user_ids)
    item = item_ids.take(pa.array(shown.item)) if pa.types.is_integer(item_ids.type) else _coded(shown.item, item_ids)
    place = np.zeros(1 + int(max(found.item.max(initial=0), shown.item.max(initial=0))), dtype=np.int32)
    rank, before, row = (np.empty(len(shown), dtype=np.int32) for _ in range(3))
    _find(shown.item, shown.indptr, found.item, found.indptr, place, rank, before, row)
    only_found = {name: column[row] for name, column in found.columns.items() if name not in shown.columns}
    own = dict(zip(TABLE, (user, rank, item, shown.score, before, found.score[row]), strict=True))
    columns = {**own, **shown.columns, **only_found}
    return pa.RecordBatch.from_arrays(list(map(pa.array, columns.values())), names=list(columns))


@compiled("place", "rank", "before", "row")
def _find(
    shown: Ints, shown_indptr: Longs, found: Ints, found_indptr: Longs, place: Ints, rank: Ints, before: Ints, row: Ints
) -> None:
    """Find the items of lists [n] in other lists [m] of the same users, which hold them all.

    Args:
        shown: The items to find.
        shown_indptr: Borders of their lists.
        found: The items of the other lists.
        found_indptr: Borders of those.
        place: Scratch [n_items].
        rank: Gets each item's rank in its list, from 1 [n].
        before: Gets its rank in the other list [n].
        row: Gets its row among all of ``found`` [n].
    """
    for group in range(len(shown_indptr) - 1):
        first = found_indptr[group]
        for at in range(first, found_indptr[group + 1]):
            place[found[at]] = at
        for at in range(shown_indptr[group], shown_indptr[group + 1]):
            row[at] = place[shown[at]]
            rank[at] = at - shown_indptr[group] + 1
            before[at] = row[at] - first + 1


def _coded(number: Ints, ids: pa.Array) -> pa.DictionaryArray:
    """Return the ids of numbers [n] as codes of those that occur."""
    import pyarrow as pa

    occurs = np.zeros(len(ids), dtype=bool)
    occurs[number] = True
    code = np.cumsum(occurs, dtype=np.int32) - 1
    return pa.DictionaryArray.from_arrays(pa.array(code[number]), ids.filter(pa.array(occurs)))


def _is_coded(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_dictionary(kind))

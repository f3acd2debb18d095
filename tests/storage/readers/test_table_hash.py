"""The hash of a table follows its content alone."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from recx.storage.readers.table_hash import table_hash

TEXTS = pa.array(["a", "bc", None, "é"])
MOMENTS = pa.array([0, 1_700_000_000, None], pa.int64())
LISTS = pa.array([[1, 2], None, []])
ALIKE = {
    "texts": [
        TEXTS,
        TEXTS.cast(pa.large_string()),
        TEXTS.cast(pa.string_view()),
        TEXTS.dictionary_encode(),
        pa.DictionaryArray.from_arrays(
            pa.array([2, 1, None, 0], pa.uint32()), pa.array(["é", "bc", "a", "unused"]).cast(pa.string_view())
        ),
        pa.array(["x", "a", "bc", None, "é", "y"])[1:5],
        pa.array(pd.Series(["a", "bc", None, "é"], dtype="category"), from_pandas=True),
    ],
    "times": [MOMENTS.cast(pa.timestamp("s")), *(MOMENTS.cast(pa.timestamp("s")).cast(pa.timestamp("ns")),)],
    "numbers": [pa.array([1, None, 3]), pa.array(pd.array([1, None, 3], dtype="Int64"))],
    "lists": [
        LISTS,
        LISTS.cast(pa.large_list(pa.int64())),
        pa.array([[7], [1, 2], None, []])[1:],
        pa.array([[1, 2], None, []], pa.list_view(pa.int64())),
    ],
    "decimals": [pa.array([Decimal("1.50")]), pa.array([Decimal("1.50")], pa.decimal128(30, 2))],
    "runs": [pa.array([1, 1, 2]), pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([1, 2]))],
}
DIFFERENT = [
    pa.array([1, 2]),
    pa.array([2, 1]),
    pa.array([1, 2], pa.uint8()),
    pa.array([1.0, 2.0]),
    pa.array([1, None]),
    pa.array([None, 1]),
    pa.array(["1", "2"]),
    pa.array(["12", ""]),
    pa.array(["", "12"]),
    pa.array([1, 2], pa.timestamp("s")),
    pa.array([1, 2], pa.timestamp("s", "UTC")),
    pa.array([1, 2], pa.duration("s")),
    pa.array([date(1970, 1, 2), date(1970, 1, 3)]),
    pa.array([True, False]),
    pa.array([[1, 2], []]),
    pa.array([[1], [2]]),
    pa.array([{"a": 1}, {"a": 2}]),
    pa.array([{"b": 1}, {"b": 2}]),
    pa.nulls(2),
]


@pytest.mark.parametrize("name", ALIKE)
def test_it_is_the_same_however_values_are_stored(name: str) -> None:
    hashes = {table_hash(pa.table({"a": one})) for one in ALIKE[name]}
    for one in ALIKE[name]:
        parts = pa.concat_tables([pa.table({"a": one[:1]}), pa.table({"a": one[1:]})])
        hashes.add(table_hash(parts))
    assert len(hashes) == 1


def test_it_differs_between_values_types_and_names() -> None:
    hashes = [table_hash(pa.table({"a": one})) for one in DIFFERENT]
    hashes += [table_hash(pa.table({name: DIFFERENT[0]})) for name in "bc"]
    hashes += [table_hash(pa.table({"a": pa.array([], pa.int64())})), table_hash(pa.table({}))]
    assert len(set(hashes)) == len(hashes)


def test_what_lies_below_missing_values_does_not_count() -> None:
    valid = pa.py_buffer(np.packbits([1, 0, 1], bitorder="little").tobytes())
    one, other = (pa.py_buffer(np.array([1, hidden, 3]).tobytes()) for hidden in (7, 8))
    tables = [pa.table({"a": pa.Array.from_buffers(pa.int64(), 3, [valid, values])}) for values in (one, other)]
    assert table_hash(tables[0]) == table_hash(tables[1]) == table_hash(pa.table({"a": pa.array([1, None, 3])}))

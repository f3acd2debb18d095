"""Columns of typed tables in the types that readers know: text for views, bytes and UUIDs, numbers for decimals."""

from __future__ import annotations

import uuid

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recx.core.errors import InputError


def plain(column: pa.ChunkedArray, where: str) -> pa.ChunkedArray:
    """Return a column without types that only say how its values are stored.

    Decimals become whole numbers if all are whole, otherwise they stay as they are; lists and objects stay too.

    Args:
        column: The column.
        where: Its file and name, for errors.

    Raises:
        InputError: It holds bytes that are not text in UTF-8.
    """
    kind = column.type
    if isinstance(kind, pa.UuidType):
        return _map_unique(pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type))
    if isinstance(kind, pa.BaseExtensionType):
        return plain(pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type), where)
    if pa.types.is_run_end_encoded(kind):
        return plain(pa.chunked_array([pc.run_end_decode(one) for one in column.chunks], kind.value_type), where)
    if pa.types.is_dictionary(kind):
        return _coded_text(column) if _is_text(kind.value_type) else plain(column.cast(kind.value_type), where)
    if pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    if _is_bytes(kind):
        return _text(column, where)
    return _whole(column) if pa.types.is_decimal(kind) else column


def plain_table(table: pa.Table, where: str) -> pa.Table:
    """Return the columns of a table, but for those that cannot be read (see ``plain``)."""
    found = {}
    for name in dict.fromkeys(table.column_names):
        if table.column_names.count(name) == 1:
            try:
                found[name] = plain(table.column(name), where)
            except InputError:
                continue
    return pa.table(found)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_string_view(kind))


def _coded_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a dictionary of texts with signed numbers, where Polars has unsigned ones and views."""
    chunks = [
        pa.DictionaryArray.from_arrays(one.indices.cast(pa.int32()), one.dictionary.cast(pa.string()))
        for one in column.chunks
    ]
    return pa.chunked_array(chunks, pa.dictionary(pa.int32(), pa.string()))


def _is_bytes(kind: pa.DataType) -> bool:
    return any(
        test(kind)
        for test in (
            pa.types.is_binary,
            pa.types.is_large_binary,
            pa.types.is_binary_view,
            pa.types.is_fixed_size_binary,
        )
    )


def _text(column: pa.ChunkedArray, where: str) -> pa.ChunkedArray:
    column = column.cast(pa.binary()) if pa.types.is_fixed_size_binary(column.type) else column
    try:
        return column.cast(pa.large_binary()).cast(pa.large_string())
    except pa.ArrowInvalid:
        for row, value in enumerate(column.to_pylist(), start=1):
            try:
                (value or b"").decode()
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{where}, row {row}: the bytes {value[:16].hex()} are not text in UTF-8: write the column as text "
                    "or as numbers"
                ) from error
        raise


def _map_unique(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the texts of UUIDs."""
    coded = column.cast(pa.binary()).dictionary_encode().unify_dictionaries()
    chunks = []
    for chunk in coded.chunks:
        texts = pa.array([str(uuid.UUID(bytes=value)) for value in chunk.dictionary.to_pylist()], pa.string())
        chunks.append(pa.DictionaryArray.from_arrays(chunk.indices, texts))
    return pa.chunked_array(chunks, pa.dictionary(pa.int32(), pa.string()))


def _whole(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not bool(np.asarray(pc.all(pc.equal(pc.round(column), column), min_count=0).as_py())):
        return column
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:  # with more digits
        return column.cast(pa.decimal256(76, 0)).cast(pa.string())

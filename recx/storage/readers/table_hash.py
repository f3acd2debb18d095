"""The hash of a table's content, the same however its values are stored: chunks, dictionaries, views, kinds of text."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_TEXTS = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view", "fixed_size_binary")


def table_hash(table: pa.Table) -> str:
    """Return 16 hex digits of blake2b over the names of the columns, their types and their values."""
    digest = hashlib.blake2b(digest_size=8)
    for name, column in zip(table.column_names, table.columns, strict=True):
        digest.update(f"{len(name)}:{name}".encode())
        chunks = [_comparable(chunk) for chunk in column.chunks]
        _feed(digest, pa.concat_arrays(chunks) if chunks else _comparable(pa.array([], column.type)))
    return digest.hexdigest()


def _feed(digest: hashlib.blake2b, column: Any) -> None:
    """Hash an array of a type that ``_comparable`` returns."""
    kind = column.type
    digest.update(f"{kind}{len(column)},{column.null_count};".encode())
    if column.null_count:
        digest.update(np.packbits(np.asarray(column.is_valid())).data)
    if pa.types.is_null(kind):
        return
    if pa.types.is_struct(kind):
        for at, part in enumerate(column.flatten()):
            digest.update(kind.field(at).name.encode())
            _feed(digest, _comparable(part))
    elif pa.types.is_large_list(kind):
        digest.update(np.asarray(pc.list_value_length(column).fill_null(0), dtype=np.int64).data)
        _feed(digest, _comparable(column.flatten()))
    elif pa.types.is_large_binary(kind):
        known = column.drop_null()
        digest.update(np.asarray(pc.binary_length(known), dtype=np.int64).data)
        _, borders, values = known.buffers()
        if values is not None and len(known):
            start, stop = np.frombuffer(borders, np.int64)[[known.offset, known.offset + len(known)]]
            digest.update(memoryview(values)[start:stop])
    else:
        if pa.types.is_temporal(kind):
            column = column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
        digest.update(np.ascontiguousarray(column.drop_null().to_numpy(zero_copy_only=False)).data)


def _comparable(column: Any) -> Any:
    """Return an array without types that only say how values are stored: texts as bytes, times in nanoseconds."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _comparable(column.storage)
    if pa.types.is_dictionary(kind):
        return _comparable(column.dictionary).take(column.indices)
    if pa.types.is_run_end_encoded(kind):
        return _comparable(pc.run_end_decode(column))
    if any(getattr(pa.types, f"is_{one}")(kind) for one in _TEXTS):
        column = column.cast(pa.binary()) if pa.types.is_fixed_size_binary(kind) else column
        return column.cast(pa.large_binary())
    if pa.types.is_map(kind):
        return column.cast(pa.large_list(pa.struct([("key", kind.key_type), ("value", kind.item_type)])))
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):  # of which Arrow casts no slices
        return pa.array(column.to_pylist(), pa.large_list(kind.value_type))
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return column.cast(pa.large_list(kind.value_type))
    if pa.types.is_decimal(kind):
        return column.cast(pa.decimal256(76, kind.scale)).cast(pa.string()).cast(pa.large_binary())
    with suppress(pa.ArrowInvalid):  # further from 1970 than nanoseconds reach
        if pa.types.is_timestamp(kind):
            return column.cast(pa.timestamp("ns", kind.tz))
        if pa.types.is_duration(kind):
            return column.cast(pa.duration("ns"))
    return column.cast(pa.uint8()) if pa.types.is_boolean(kind) else column

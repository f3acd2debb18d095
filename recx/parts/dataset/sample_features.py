"""The features of samples: a list or an object of numbers in each row, or a column for each feature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recx.core.errors import InputError
from recx.core.precision import WHOLE
from recx.core.types import Doubles
from recx.parts.dataset.files import refuse_first
from recx.parts.dataset.judgements import LARGEST
from recx.parts.dataset.svmlight_files import MOST_FEATURES
from recx.storage.readers.json import parsed, shown

Place = Callable[[int], str]
"""Returns the place of a row, counted from 0, for errors."""


def features_of(values: Sequence[Any], place: Place) -> dict[str, Doubles]:
    """Return the features of rows that hold them as a list or an object each.

    Args:
        values: What each row holds [n]: a list of numbers, an object of them by name, or one of these as JSON.
        place: The place of each row.

    Returns:
        Name (``feature_0``, ``feature_1`` … of a list) -> its values [n].

    Raises:
        InputError: Rows have lists and objects, other numbers of features or other names, or a value is no number.
    """
    rows = [parsed(one.encode(), place(at)) if isinstance(one, str) else one for at, one in enumerate(values)]
    first = rows[0]
    if not isinstance(first, list | dict) or not first:
        raise InputError(
            f"{place(0)}: its features are {shown(first)}, and must be a list of numbers, or an "
            "object of numbers by name"
        )
    for at, row in enumerate(rows):
        _check_like(row, first, place, at)
    names = list(first) if isinstance(first, dict) else [f"feature_{at}" for at in range(len(first))]
    _check_few(len(names), place(0))
    keys: Sequence[Any] = list(first) if isinstance(first, dict) else range(len(first))
    return {name: numbers_of([row[key] for row in rows], name, place) for name, key in zip(names, keys, strict=True)}


def features_of_column(column: pa.ChunkedArray, place: Place) -> dict[str, Doubles]:
    """Return the features in a column of lists, objects or texts of JSON (returns and raises as ``features_of``)."""
    kind = column.type
    whole = column.combine_chunks()
    if pa.types.is_struct(kind) and not whole.null_count:
        _check_few(len(kind), place(0))
        parts = {field.name: whole.field(at) for at, field in enumerate(kind)}
        if all(map(_is_number, (part.type for part in parts.values()))):
            return {name: checked(_doubles(part), name, place) for name, part in parts.items()}
    if _is_list(kind) and not whole.null_count and _is_number(kind.value_type):
        lengths = np.asarray(pc.list_value_length(whole))
        if len(lengths) and (lengths == lengths[0]).all() and lengths[0]:
            _check_few(int(lengths[0]), place(0))
            table = _doubles(pc.list_flatten(whole)).reshape(len(lengths), -1)
            return {f"feature_{at}": checked(table[:, at].copy(), f"feature_{at}", place) for at in range(len(table.T))}
    return features_of(column.to_pylist(), place)  # which finds the row


def _check_like(row: Any, first: Any, place: Place, at: int) -> None:
    if type(row) is not type(first):
        form = "a list" if isinstance(first, list) else "an object"
        raise InputError(
            f"{place(at)}: its features are {shown(row)}, and those of {place(0)} {form}: write all in one form"
        )
    if isinstance(row, list) and len(row) != len(first):
        raise InputError(
            f"{place(at)}: it has {len(row)} features, and {place(0)} has {len(first)}: give every row the same ones"
        )
    if isinstance(row, dict) and (other := row.keys() ^ first.keys()):
        name = min(other)
        has, lacks = (place(at), place(0)) if name in row else (place(0), place(at))
        raise InputError(f"{lacks} lacks the feature {name!r}, which {has} has: give every row the same ones")


def numbers_of(values: Sequence[Any], name: str, place: Place, *, may_lack: bool = False) -> Doubles:
    """Return values of JSON as numbers [n].

    Args:
        values: The values; true and false are 1 and 0.
        name: What they are, for errors.
        place: The place of each row.
        may_lack: Whether values may be missing, which become NaN.

    Raises:
        InputError: A value is no number, or one that float64 does not hold.
    """
    for at, value in enumerate(values):
        if may_lack and value is None:
            continue
        if not isinstance(value, bool | int | float):
            raise InputError(f"{place(at)}: {name!r} is {shown(value)}, and must be a number: correct it")
        if isinstance(value, int) and abs(value) >= WHOLE and (abs(value) > LARGEST or int(float(value)) != value):
            raise InputError(
                f"{place(at)}: {name!r} is {str(value)[:40]}, and whole numbers beyond 2^53 become equal to their "
                "neighbours: subtract a constant"
            )
    found = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return found if may_lack else checked(found, name, place)


def checked(values: Doubles, name: str, place: Place) -> Doubles:
    """Return the values of a feature [n].

    Raises:
        InputError: One is missing, infinite or too large.
    """
    refuse_first(
        ~(np.abs(values) <= LARGEST),
        lambda row: f"{place(row)}: the feature {name!r} is missing, infinite or beyond float32: fill it in",
    )
    return values


def _check_few(n: int, place: str) -> None:
    if n > MOST_FEATURES:
        raise InputError(
            f"{place}: it has {n:,} features, but at most {MOST_FEATURES:,} are supported: leave out the least "
            "informative ones"
        )


def _doubles(column: pa.Array) -> Doubles:
    values: Doubles = np.asarray(column.cast(pa.float64()).fill_null(np.nan))
    return values


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_boolean(kind) or pa.types.is_integer(kind))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))

"""The vectors of a table: in numbered columns, in lists, or as numbers between blanks."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recx.core.errors import InputError
from recx.core.types import Floats
from recx.storage.readers.raw_columns import words_of

EMBEDDED = re.compile(r"(e|emb|embedding|dim|vec|vector)[_.]?(\d+)", re.IGNORECASE)
"""The columns of an embedding: e0, e1 and so on."""
FLOAT_SEQ = "float_seq"
"""The type that RecBole writes behind the name of a column of vectors."""
NUMBER = r"^-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"


def numbered_columns(names: Sequence[str]) -> list[str]:
    """Return the columns of an embedding in order: at least two, numbered from 0 or 1 without a gap."""
    found: dict[str, dict[int, str]] = {}
    for name in names:
        if match := EMBEDDED.fullmatch(name):
            found.setdefault(match[1], {})[int(match[2])] = name
    for numbered in found.values():
        places = sorted(numbered)
        if len(places) > 1 and places[0] in (0, 1) and places == list(range(places[0], places[0] + len(places))):
            return [numbered[place] for place in places]
    return []


def vectors_of(name: str, column: pa.ChunkedArray, where: str) -> pa.ChunkedArray | None:
    """Return a column as lists of numbers; None: it holds no vectors.

    Args:
        name: Its name, with the type that RecBole writes behind it: ``vec:float_seq`` holds numbers between blanks.
        column: Its values.
        where: The column, for errors.

    Raises:
        InputError: A value of such a text is not a number.
    """
    if _is_list(column):
        return column if pa.types.is_floating(column.type.value_type) else None
    if pa.types.is_nested(column.type) or name.partition(":")[2] != FLOAT_SEQ:
        return None
    words = pc.utf8_split_whitespace(words_of(column))
    try:
        return words.cast(pa.list_(pa.float64()))
    except pa.ArrowInvalid:
        flat = pc.list_flatten(words)
        odd = flat.filter(pc.invert(pc.match_substring_regex(flat, NUMBER)))
        shown = f"{odd[0].as_py()!r} is" if len(odd) else "one of its words is"
        raise InputError(f"{where} holds vectors, and {shown} not a number: correct it") from None


def _is_list(column: pa.ChunkedArray) -> bool:
    is_list = pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
    return bool(is_list or pa.types.is_fixed_size_list(column.type))


def stacked(column: pa.ChunkedArray, before: Floats | None, where: str) -> Floats:
    """Return the vectors of a column of lists of numbers [n, d], NaN where one is missing.

    Raises:
        InputError: They are of different lengths, none is known, one has a number that is not finite, or there are
            vectors before this column.
    """
    if before is not None:
        raise InputError(f"{where} holds vectors, and another column does too: leave one of them out")
    lengths = pc.unique(pc.list_value_length(column).drop_null())
    if not len(lengths):
        raise InputError(f"{where} is to hold vectors, and every row of it is empty: leave it out")
    if len(lengths) != 1:
        raise InputError(f"{where} holds vectors of different lengths: write all of one length")
    d, known = int(lengths[0].as_py()), np.asarray(pc.is_valid(column))
    vectors = np.full((len(column), d), np.nan, dtype=np.float32)
    vectors[known] = np.asarray(pc.list_flatten(column).cast(pa.float32())).reshape(-1, d)
    odd = known & ~np.isfinite(vectors).all(axis=1) & ~np.isnan(vectors).all(axis=1)
    if odd.any():
        row = int(odd.argmax())
        raise InputError(f"{where}, row {row + 1}: its vector holds a number that is not finite: correct or remove it")
    return vectors

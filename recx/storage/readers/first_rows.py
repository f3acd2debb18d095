"""Looks at the first rows of a table, to see what a column holds whatever its name."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from recx.storage.readers.sources import Source
from recx.storage.readers.tables import first_rows

_BYTES = 1 << 18
_DATE = r"^\s*((19|20)\d\d[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](19|20)\d\d)([ T,].*)?$"
_DAY = r"^(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$"
_TICKS = r"^1(\d{9}|\d{12}|\d{15}|\d{18})(\.\d*)?$"
"""Moments from 2001 to 2033 in s, ms, us or ns."""


def dated(source: Source, names: Sequence[str], *, finer: bool = False) -> list[str]:
    """Return those columns whose first values are all dates, or such numbers as dates are counted in.

    A column whose name ends in ``id`` holds no dates.

    Args:
        source: The table, with its delimiter.
        names: Its columns to look at.
        finer: Only those that tell more than the day.
    """
    if not names:
        return []
    table = first_rows(source, _BYTES)
    once = [name for name in names if table.column_names.count(name) == 1]
    return [name for name in once if _is_dated(name, table[name], finer)]


def _is_dated(name: str, column: pa.ChunkedArray, finer: bool) -> bool:
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return not (finer and pa.types.is_date(kind))
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)):
        return False
    words = pc.utf8_trim_whitespace(column.cast(pa.string()).drop_null())
    words = words.filter(pc.not_equal(words, ""))
    if not len(words) or name.lower().endswith("id"):
        return False
    if finer and pc.all(pc.match_substring_regex(words, "^[^ T:]*$")).as_py():
        return bool(pc.all(pc.match_substring_regex(words, _TICKS)).as_py())
    return any(pc.all(pc.match_substring_regex(words, form)).as_py() for form in (_DATE, _DAY, _TICKS))

"""Reads lists and ground truth from files: CSV, TSV, Parquet and the formats of TREC, plain or gzipped."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from recx.core.errors import InputError
from recx.storage.readers.tables import Source, content
from recx.storage.readers.tables import read as read_columns

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: Mapping[str, Mapping[str, str]] = {
    "recommendations": {"user": "id", "item": "id", "score": "double?", "rank": "double?"},
    "relevance": {"user": "id", "item": "id", "grade": "double?"},
    "history": {"user": "id", "item": "id"},
    "items": {"item": "id", "category": "id?"},
}
"""Table -> its columns and their kinds (see ``recx.storage.readers.columns``)."""

TREC = {
    "recommendations": (["user", "q0", "item", "rank", "score"], ["user", "item", "score"]),
    "relevance": (["user", "iteration", "item", "grade"], ["user", "item", "grade"]),
}
"""Table -> all columns of TREC's format (a run up to its tag, qrels) and those that are used; the rank is not."""


def read(path: Path, name: str) -> pd.DataFrame:
    """Return a table of a file; ``attrs["text"]`` is true if it was a text file.

    Args:
        path: The file.
        name: The table (see ``COLUMNS``).

    Raises:
        InputError: The file cannot be read, a column is missing, or a value is not of its column's kind.
    """
    import pandas as pd

    data = content(path)
    if bytes(data[:4]) == b"PAR1":
        return pd.DataFrame(read_columns(Source(path), COLUMNS[name]))
    line = next((line for line in bytes(data[:65536]).decode("utf-8", "replace").splitlines() if line.strip()), "")
    frame = _trec(data, path, name) if _is_trec(line, name) else pd.DataFrame(read_columns(Source(path), COLUMNS[name]))
    frame.attrs["text"] = True
    return frame


def _is_trec(line: str, name: str) -> bool:
    """Return whether a line is in TREC's format: the right number of fields between blanks, and a number in its place.

    The last field of a run, its tag, may be several words or missing.
    """
    fields = line.split()
    if name not in TREC or any(field[-1] in ",;|" for field in fields):
        return False
    more = len(fields) - len(TREC[name][0])
    if more < 0 or (more > 0 and name == "relevance"):
        return False
    try:
        float(fields[TREC[name][0].index("score" if name == "recommendations" else "grade")])
    except ValueError:
        return False
    return True


def _trec(data: memoryview, path: Path, name: str) -> pd.DataFrame:
    import pandas as pd

    columns, wanted = TREC[name]
    number = wanted[-1]
    try:
        frame = pd.read_csv(
            io.BytesIO(data),
            sep=r"\s+",
            header=None,
            names=columns,
            index_col=False,
            usecols=wanted if name == "recommendations" else None,  # otherwise a row that is too long is an error
            dtype=str,
            keep_default_na=False,
            quoting=csv.QUOTE_NONE,  # a quotation mark is part of the id
        )
    except (ValueError, UnicodeDecodeError) as error:
        reason = str(error).strip().splitlines()[-1]
        raise InputError(f"{path} is not a TREC file of {len(columns)} columns ({reason}): correct the row") from error
    values = pd.to_numeric(frame[number], errors="coerce")
    bad = values.isna() & (frame[number].str.lower() != "nan")
    if bad.any():
        row = int(bad.to_numpy().argmax())
        raise InputError(f"{path}, row {row + 1}: the {number} {frame[number].iloc[row]!r} is not a number: correct it")
    return frame.assign(**{number: values})[wanted]

"""Reads lists and judgements without a header: TREC's runs and qrels, and the pairs of MS MARCO.

A format is recognised by what the columns hold, never by their number: the second column of TREC's files is Q0 or 0 in
every row. What could be read in two ways is refused.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from recx.core.errors import InputError
from recx.core.precision import WHOLE, is_inexact
from recx.core.types import Array, Bools
from recx.storage.readers.delimited import Delimited
from recx.storage.readers.text_bytes import refuse_nul

if TYPE_CHECKING:
    import pandas as pd

TREC = {
    "recommendations": ("user", "q0", "item", "rank", "score"),
    "relevance": ("user", "q0", "item", "grade"),
}
"""Table -> the columns of TREC's format (a run up to its tag, qrels)."""
FILLERS = ("0", "q0")
"""What the second column of TREC's files holds, in lower case."""
LARGEST_GRADE = 1_000
LARGEST_GRADE_OF_ONE = 100
"""The largest grade where every query has one document, so that lines could be a user with two items."""
_TITLES = re.compile(r".*(query|user|doc|document|item|corpus|topic|passage|id)s?", re.IGNORECASE)


def read_untitled(path: Path, data: memoryview, table: str) -> pd.DataFrame | None:
    """Return user, item (texts) and grade, score or rank of a file without a header; None: it has another format.

    A run of TREC has both score and rank.

    Args:
        path: The file, for errors.
        data: Its bytes.
        table: ``recommendations`` or ``relevance``.

    Raises:
        InputError: A row is not of the format of the first, or the columns could mean two things.
    """
    lines = bytes(data[:65536]).decode("utf-8", "replace").removeprefix("\ufeff").splitlines()
    line = next((line for line in lines if line.strip()), "")
    fields = line.split()
    columns = TREC[table]
    right_length = len(fields) == len(columns) or (table == "recommendations" and len(fields) > len(columns))
    if right_length and fields[1].lower() in FILLERS and _is_number(fields[len(columns) - 1]):
        return _trec(path, data, table)
    apart = line.split("\t") if "\t" in line else fields
    if len(apart) == 3 and _is_number(apart[2]):
        return _triples(path, data, table, "\t" if "\t" in line else r"\s+")
    if len(apart) == 2 and table == "relevance" and "\t" in line and not all(map(_TITLES.fullmatch, apart)):
        return _couples(path, data)
    return None


def _is_number(field: str) -> bool:
    try:
        return bool(float(field) == float(field))
    except ValueError:
        return False


def _trec(path: Path, data: memoryview, table: str) -> pd.DataFrame:
    columns = TREC[table]
    frame = _rows(path, data, columns, r"\s+", more=table == "recommendations", what="a TREC file")
    filler = frame["q0"].str.lower()
    other = ~filler.isin(FILLERS).to_numpy()
    if other.any():
        row = int(other.argmax())
        _refuse(
            path,
            f"the second column is {frame['q0'].iloc[0]!r} in row 1, as in TREC's files, and {frame['q0'].iloc[row]!r} "
            f"in row {row + 1}, as in a table of {len(columns)} or more columns",
            table,
        )
    value = _numbers(path, frame, columns[-1])
    if (filler == "0").all():
        _check_zeros(path, frame, value, table)
    frame = frame.assign(**{columns[-1]: value})[list(columns)].drop(columns="q0")
    return _with_ranks(frame) if table == "recommendations" else frame


def _with_ranks(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a run with ranks as numbers, or without them where one is no number: TREC's tools do not read them."""
    import pandas as pd

    rank = pd.to_numeric(frame["rank"], errors="coerce")
    return frame.drop(columns="rank") if rank.isna().any() else frame.assign(rank=rank)


def _check_zeros(path: Path, frame: pd.DataFrame, value: pd.Series[float], table: str) -> None:
    """Check that what could be a table whose items are all called 0 holds TREC's grades or ranks."""
    import pandas as pd

    if table == "relevance":
        odd = ~_small(value.fillna(0))
        what = "grade"
    else:
        rank = pd.to_numeric(frame["rank"], errors="coerce")
        by_rank = pd.DataFrame({"user": frame["user"], "rank": rank, "value": value}).sort_values(["user", "rank"])
        rises = (by_rank["value"].diff() > 0) & (by_rank["user"] == by_rank["user"].shift())
        odd = ((rank != rank.round()) | rises.reindex(frame.index)).to_numpy()
        what = "rank"
    if odd.any():
        row = int(odd.argmax())
        _refuse(
            path,
            f"the second column is 0 in every row, as in TREC's files, but the {what} {frame[what].iloc[row]} in row "
            f"{row + 1} is not such as TREC's are, so that it could be a table of other columns",
            table,
        )


def _triples(path: Path, data: memoryview, table: str, mark: str) -> pd.DataFrame:
    """Return query, document and a number that is a grade, a score or a rank."""
    frame = _rows(path, data, ("user", "item", "value"), mark, what="a file")
    value = _numbers(path, frame, "value")
    if frame["item"].str.lower().isin(FILLERS).all() and len(frame) > 1:
        _refuse(path, "its columns could be query, document and a number, or query, 0 and document", table)
    place = frame.groupby("user", sort=False).cumcount()
    several = bool((place > 0).any())
    rank = several and bool((value == place + 1).all())
    if table == "relevance":
        if rank or not _small(value).all():
            other = "ranks" if rank else "scores, ranks or times"
            _refuse(path, f"its third column could be grades or {other} ({_few(frame['value'])})", table)
        if not several and (value > LARGEST_GRADE_OF_ONE).any():
            _refuse(path, f"its third column could be grades or items of a list ({_few(frame['value'])})", table)
        return frame.assign(grade=value)[["user", "item", "grade"]]
    if rank:
        return frame.assign(rank=value)[["user", "item", "rank"]]
    before = value.groupby(frame["user"], sort=False).shift()
    whole = bool((value == value.round()).all())
    downwards = bool((value[before.notna()] == before.dropna() - 1).all())
    if whole and several and (downwards or (value > before).any()):
        _refuse(path, f"its third column could be scores or ranks ({_few(frame['value'])})", table)
    return frame.assign(score=value)[["user", "item", "score"]]


def _couples(path: Path, data: memoryview) -> pd.DataFrame | None:
    frame = _rows(path, data, ("user", "item"), "\t", what="a file")
    for name in frame:  # a name above numbers is a header
        if len(frame) > 1 and not _is_number(frame[name].iloc[0]) and frame[name].iloc[1:].map(_is_number).all():
            return None
    return frame


def _rows(
    path: Path, data: memoryview, columns: tuple[str, ...], mark: str, *, what: str, more: bool = False
) -> pd.DataFrame:
    """Return the rows, all values as text; with ``more``, what stands after the last column is left away."""
    import pandas as pd

    refuse_nul(path, data)
    if mark == "\t":
        return Delimited(path, data, "\t", columns).read(columns)[0].to_pandas()
    try:
        return pd.read_csv(
            io.BytesIO(data),
            sep=mark,
            header=None,
            names=list(columns),
            index_col=False,
            usecols=list(columns) if more else None,  # otherwise a row that is too long is an error
            dtype=str,
            keep_default_na=False,
            quoting=csv.QUOTE_NONE,  # a quotation mark is part of the id
            encoding="utf-8-sig",
        )
    except (ValueError, UnicodeDecodeError) as error:
        reason = str(error).strip().splitlines()[-1]
        raise InputError(f"{path} is not {what} of {len(columns)} columns ({reason}): correct the row") from error


def _numbers(path: Path, frame: pd.DataFrame, name: str) -> pd.Series[float]:
    import pandas as pd

    values = pd.to_numeric(frame[name], errors="coerce")
    bad = values.isna() & (frame[name].str.lower() != "nan")
    if bad.any():
        row = int(bad.to_numpy().argmax())
        raise InputError(f"{path}, row {row + 1}: the {name} {frame[name].iloc[row]!r} is not a number: correct it")
    if values.dtype.kind == "f":
        large = frame[name][values.abs() >= WHOLE]
        inexact = next((text for text in large if is_inexact(text)), None)
        if inexact is not None:
            raise InputError(
                f"{path}: the {name} {inexact} has more digits than float64 holds, so that it would become equal to "
                "its neighbours: write all as whole numbers of up to 18 digits, or subtract a constant"
            )
    return values


def _small(value: pd.Series[float]) -> Bools:
    small: Array = ((value == value.round()) & (value.abs() <= LARGEST_GRADE)).to_numpy()
    return small


def _few(values: pd.Series[str]) -> str:
    return ", ".join(values.iloc[:3])


def _refuse(path: Path, readings: str, table: str) -> NoReturn:
    header = "user,item,grade" if table == "relevance" else "user,item,score (or rank)"
    raise InputError(f"{path} has no header, and {readings}: put a header first that names the columns, with {header}")

"""The files by which recx and a program of another environment talk: docs/how-to/external.md names their columns.

Users and items are numbers, those of the rows of ``users.parquet`` and ``items.parquet``; times are ms since 1970.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recx.core.entities import UNKNOWN_TIME, ClassLists, Entities
from recx.core.errors import InputError, RecxError
from recx.core.precision import Reals, narrowed
from recx.core.ragged import indptr_of
from recx.core.system.plain_files import check_plain
from recx.core.types import Array, Bools, Interactions, Longs, RankedLists, Requests
from recx.parts.shared.top_k import Eligibility

if TYPE_CHECKING:
    import pyarrow as pa

LISTS = "lists.parquet"
OF_RECX = ("id", "embedding", "since", "allowed")
"""Columns of users and items that a table of theirs may not have."""


def write_history(folder: Path, history: Interactions, requests: Requests | None = None) -> None:
    """Write history.parquet, users.parquet and items.parquet, and requests.parquet if there are requests.

    Raises:
        InputError: The users or items have a column of a name that the files use.
    """
    allowed = None if requests is None else requests.allowed
    since = Eligibility(history, "keep").since
    shown = {"since": None if since is None else _times(since), "allowed": allowed}
    _write_events(folder / "history.parquet", history)
    _write(folder / "users.parquet", _columns_of(history.users, "users"))
    _write(folder / "items.parquet", {**_columns_of(history.items, "items"), **shown})
    if requests is not None:
        _write(folder / "requests.parquet", {"user": requests.user, "time": requests.time})


def write_target(folder: Path, target: Interactions) -> None:
    """Write target.parquet: the events that a ranker learns to put first."""
    _write_events(folder / "target.parquet", target)


def write_candidates(folder: Path, candidates: RankedLists) -> None:
    """Write candidates.parquet: the lists that a ranker gets, with their columns."""
    user = candidates.user[candidates.list_of_row]
    rows = {"user": user, "item": candidates.item, "rank": candidates.rank, "score": candidates.score}
    _write(folder / "candidates.parquet", {**candidates.columns, **rows})


def _write_events(path: Path, events: Interactions) -> None:
    _write(path, {"user": events.user, "item": events.item, "time": events.time, "weight": events.weight})


def _write(path: Path, columns: Mapping[str, Any]) -> None:
    """Write the columns that are not None."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({name: column for name, column in columns.items() if column is not None}), path)


def _columns_of(entities: Entities, what: str) -> dict[str, Any]:
    import pyarrow as pa

    for name in (*entities.table, *entities.lists):
        if name in OF_RECX:
            raise InputError(
                f"the {what} have a column {name!r}, which an external program's {what}.parquet has: rename it"
            )
    embedding = entities.embedding
    vectors = None if embedding is None else pa.FixedSizeListArray.from_arrays(embedding.ravel(), embedding.shape[1])
    return {
        "id": _array(entities.ids),
        **{name: _array(column) for name, column in entities.table.items()},
        **{name: _classes(lists) for name, lists in entities.lists.items()},
        "embedding": vectors,
    }


def _array(column: Array) -> Any:
    """Return a column of numbers as it is, unknown times as null, texts as Arrow's."""
    import pyarrow as pa

    if column.dtype == np.int64:
        return _times(column)
    return column if column.dtype.kind in "biuf" else pa.array(column.tolist(), pa.large_string())


def _times(time: Longs) -> Any:
    import pyarrow as pa

    return pa.array(time, mask=time == UNKNOWN_TIME)


def _classes(lists: ClassLists) -> Any:
    import pyarrow as pa

    return pa.LargeListArray.from_arrays(lists.indptr, lists.code)


ANSWER = {"user": ("iu", "whole numbers"), "item": ("iu", "whole numbers"), "score": ("iuf", "numbers")}
"""Column of lists.parquet -> the kinds of NumPy that it may have, and what they are."""


class Rows(NamedTuple):
    """The rows of lists.parquet, in its order.

    Attributes:
        user: Their users [n].
        item: Their items [n].
        score: Their scores [n].
    """

    user: Longs
    item: Longs
    score: Reals


def read_rows(folder: Path, key: str) -> Rows:
    """Return the rows of lists.parquet.

    Args:
        folder: The folder of the task.
        key: The setting of the command, for errors.

    Raises:
        RecxError: It is missing, lacks a column, or holds what is no number of a user or item, or no finite score.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path, columns = folder / LISTS, dict[str, Any]()
    try:
        check_plain(path)
        table = pq.read_table(path)
    except (OSError, InputError, pa.ArrowException) as error:
        reason = "there is none" if isinstance(error, FileNotFoundError) else " ".join(str(error).split())
        raise RecxError(f"{key}: the program must write {LISTS} ({reason}): correct it") from error
    for name, kinds, what in (
        ("user", "iu", "whole numbers"),
        ("item", "iu", "whole numbers"),
        ("score", "iuf", "numbers"),
    ):
        if name not in table.column_names:
            raise RecxError(f"{key}: {LISTS} has no column {name!r}: let the program write user, item and score")
        column: pa.ChunkedArray = table[name]
        values = np.zeros(0) if column.null_count else column.to_numpy()
        if column.null_count or values.dtype.kind not in kinds:
            found = f"{column.null_count} without a value" if column.null_count else str(column.type)
            raise RecxError(f"{key}: {LISTS}, column {name}: it must hold {what}, and has {found}: correct the program")
        columns[name] = values
    score = columns["score"]
    score = narrowed(score.astype(np.float64) if score.dtype.kind in "iu" else score)
    if not np.isfinite(score).all():
        row = int(np.argmax(~np.isfinite(score)))
        bad = int((~np.isfinite(score)).sum())
        raise RecxError(
            f"{key}: {LISTS}, row {row + 1}: the score is {score[row]}, as {bad - 1} others are not finite: leave out "
            "what is not to be shown"
        )
    return Rows(columns["user"].astype(np.int64), columns["item"].astype(np.int64), score)


def places_of(rows: Rows, requests: Requests, n_items: int, key: str) -> Longs:
    """Return the list of each row [n].

    Raises:
        RecxError: A user has not asked, an item does not exist, or a user has an item twice.
    """
    place = np.minimum(np.searchsorted(requests.user, rows.user), max(0, len(requests) - 1))
    asked = requests.user[place] == rows.user if len(requests) else np.zeros(len(rows.user), dtype=bool)
    _refuse(~asked, rows, key, lambda row: f"user {rows.user[row]} is not in requests.parquet")
    outside = (rows.item < 0) | (rows.item >= n_items)
    _refuse(outside, rows, key, lambda row: f"item {rows.item[row]} is none of the {n_items:,} rows of items.parquet")
    pair = place * n_items + rows.item
    order = np.argsort(pair, kind="stable")
    again = np.zeros(len(pair), dtype=bool)
    again[order[1:]] = pair[order[1:]] == pair[order[:-1]]
    _refuse(again, rows, key, lambda row: f"user {rows.user[row]} has item {rows.item[row]} twice")
    return place


def _refuse(wrong: Bools, rows: Rows, key: str, what: Callable[[int], str]) -> None:
    """Raise RecxError with the first row that is wrong, and how many more are."""
    if wrong.any():
        row, more = int(np.argmax(wrong)), int(wrong.sum()) - 1
        also = f" (and {more:,} more rows are like it)" if more else ""
        raise RecxError(f"{key}: {LISTS}, row {row + 1}: {what(row)}{also}: correct the program")


def lists_of_rows(
    rows: Rows, history: Interactions, requests: Requests, k: int, eligibility: Eligibility, key: str
) -> RankedLists:
    """Return the ``k`` best eligible rows of each request, and count the others and the lists that are short.

    Raises:
        RecxError: As ``places_of``.
    """
    place = places_of(rows, requests, history.n_items, key)
    order = np.lexsort((rows.item, -rows.score, place))
    place, item, score = place[order], rows.item[order], rows.score[order]
    notes = dict[str, float]()

    def drop(wrong: Bools, note: str) -> None:
        nonlocal place, item, score
        if wrong.any():
            notes[note] = float(wrong.sum())
            place, item, score = place[~wrong], item[~wrong], score[~wrong]

    since = eligibility.since
    if since is not None and requests.time is not None:
        drop(since[item] >= requests.time[place], "external_values_not_there_yet")
    if requests.allowed is not None:
        drop(~requests.allowed[item], "external_values_not_allowed")
    if eligibility.seen == "drop":
        of_list, seen = eligibility.seen_pairs(requests)
        known = np.isin(place * history.n_items + item, of_list * history.n_items + seen)
        drop(known, "external_values_seen")
    lengths = np.bincount(place, minlength=len(requests))
    if (lengths < k).any():
        notes["external_requests_short"] = float((lengths < k).sum())
    indptr = indptr_of(lengths)
    return RankedLists(requests.user, indptr, item.astype(np.int32), score, notes=notes).top(k)


def scores_of_rows(rows: Rows, candidates: RankedLists, requests: Requests, n_items: int, key: str) -> Reals:
    """Return the score of each candidate [n].

    Raises:
        RecxError: As ``places_of``, or the rows are not exactly the candidates.
    """
    pair = places_of(rows, requests, n_items, key) * n_items + rows.item
    wanted = candidates.list_of_row * n_items + candidates.item
    _refuse(
        ~np.isin(pair, wanted), rows, key, lambda row: f"item {rows.item[row]} is no candidate of user {rows.user[row]}"
    )
    if len(pair) < len(wanted):
        row = int(np.argmax(~np.isin(wanted, pair)))
        user = candidates.user[candidates.list_of_row[row]]
        raise RecxError(
            f"{key}: {LISTS} lacks {len(wanted) - len(pair):,} of the {len(wanted):,} candidates, such as item "
            f"{candidates.item[row]} of user {user}: let the program give each one a score"
        )
    score = np.empty(len(wanted), dtype=rows.score.dtype)
    score[np.argsort(wanted)] = rows.score[np.argsort(pair)]
    return score

"""Ids of two tables that differ only in leading zeros, blanks, quotes, case, a ``.0`` or the form of a character."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping
from itertools import combinations
from typing import Any

from recx.core.errors import InputError
from recx.core.types import Array


def spelled_differently(columns: Mapping[str, Array], what: str) -> int:
    """Return how many ids would only meet an id of another table if both were spelled alike.

    Args:
        columns: Table -> its raw ids of one kind.
        what: ``user`` or ``item``.

    Raises:
        InputError: Between two tables there are more such ids than ids that meet: figures would be those of spelling.
    """
    import pandas as pd

    ids = {name: dict.fromkeys(pd.unique(column)) for name, column in columns.items() if column.dtype == object}
    count = 0
    for (one, ours), (other, theirs) in combinations(ids.items(), 2):
        pairs = near(ours, theirs)
        if len(pairs) > len(ours.keys() & theirs.keys()):
            first, second = pairs[0]
            raise InputError(
                f"the {what} ids of {one} and {other} are spelled differently, such as {first!r} and {second!r}: "
                f"{len(pairs):,} of them would only meet without leading zeros, blanks, quotes, case and '.0': write "
                "them alike in both"
            )
        count += len(pairs)
    return count


def near(one: Collection[Any], other: Collection[Any]) -> list[tuple[Any, Any]]:
    """Return the pairs of ids, each in one of two collections only, that would be equal if spelled alike."""
    ours, theirs = set(one), set(other)
    spelled = {_spelling(id_): id_ for id_ in one if id_ not in theirs}
    alone = [id_ for id_ in other if id_ not in ours] if spelled else []
    return [(spelled[key], id_) for id_ in alone if (key := _spelling(id_)) in spelled]


def _spelling(id_: object) -> str:
    return (
        unicodedata.normalize("NFKC", str(id_))
        .strip(" \t\r\n\"'\ufeff\u00a0")
        .removesuffix(".0")
        .lstrip("0")
        .casefold()
    )

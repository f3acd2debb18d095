"""What the checks share: how a broken rule is reported, and which lists are valid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from recx.core.contracts import check_made
from recx.core.errors import RecxError
from recx.core.types import Array, Interactions, RankedLists, Requests

NEAR = 1e-5  # scores closer than this may swap with the size of the batch


def expect(kept: bool | np.bool_, rule: str) -> None:
    """Raise an AssertionError with the rule, unless it is kept."""
    if not kept:
        raise AssertionError(rule)


def declares_what_counts(part: object) -> None:
    """Raise an AssertionError unless ``depends_on`` and ``cacheable`` say what the stage cache understands."""
    name, kept = type(part).__name__, getattr(part, "cacheable", True)
    declared = getattr(part, "depends_on", ())
    expect(isinstance(kept, bool), f"{name}: cacheable must be True or False")
    expect(not callable(declared), f"{name}: depends_on must be an attribute or a property, not a method")
    plain = all(value is None or isinstance(value, _PLAIN) for value in _values(declared))
    expect(plain, f"{name}: depends_on must hold plain values, arrays and paths only")


_PLAIN = (bool, int, float, str, Path, np.generic, np.ndarray)


def _values(declared: Any) -> Iterator[Any]:
    if isinstance(declared, Mapping):
        declared = [*declared.keys(), *declared.values()]
    for value in declared if isinstance(declared, list | tuple) else [declared]:
        yield from _values(value) if isinstance(value, list | tuple | Mapping) else [value]


def valid_lists(lists: RankedLists, requests: Requests, n_items: int, maker: str) -> RankedLists:
    """Return the lists if they are valid."""
    try:
        return check_made(lists, requests, n_items, maker)
    except RecxError as error:
        raise AssertionError(str(error)) from error


def arrays_of(data: Interactions) -> Sequence[Array]:
    """Return the arrays of the events and the ids of users and items."""
    time = np.zeros(0, dtype=np.int64) if data.time is None else data.time
    return [data.indptr, data.item, time, data.weight, data.users.ids, data.items.ids]


def same_lists(one: RankedLists, other: RankedLists) -> bool:
    """Return whether two lists are identical, including their columns."""
    arrays = [(getattr(one, name), getattr(other, name)) for name in ("user", "indptr", "item", "score")]
    columns = [(column, other.columns.get(name, np.zeros(0))) for name, column in one.columns.items()]
    return one.columns.keys() == other.columns.keys() and all(
        np.array_equal(a, b, equal_nan=True) for a, b in [*arrays, *columns]
    )

"""The design matrix: one row per candidate, one column per feature."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from recx.core.errors import InputError, RecxError
from recx.core.progress import track
from recx.core.protocols import Feature, FeatureSet
from recx.core.ragged import blocks, rows_of_groups
from recx.core.types import Array, Floats, Interactions, Longs, RankedLists, Requests
from recx.parts.shared import feature_cache
from recx.parts.shared.feature_cache import Kept, Making

LISTS = 5_000  # lists whose features are computed together, which bounds the intermediate arrays

Features = Mapping[str, Feature | FeatureSet]


def names_of(features: Features, candidates: RankedLists) -> tuple[str, ...]:
    """Return the column names of the design matrix of these candidates.

    Raises:
        InputError: Two columns have the same name.
    """
    names: list[str] = []
    for name, feature in features.items():
        names.extend(feature.names(candidates) if isinstance(feature, FeatureSet) else [name])
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two features are named {twice!r}: rename one of them")
    return tuple(names)


def design_matrix(features: Features, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
    """Return the design matrix, float32 [n_rows, n_columns]; see ``design_blocks``."""
    table = np.empty((len(candidates), len(names_of(features, candidates))), dtype=np.float32)
    for rows, block in design_blocks(features, candidates, history, requests):
        table[rows] = block
    return table


def design_blocks(
    features: Features, candidates: RankedLists, history: Interactions, requests: Requests
) -> Iterator[tuple[Longs, Floats]]:
    """Yield the design matrix in blocks of lists.

    Args:
        features: Feature name -> feature.
        candidates: The candidates; their rows are the rows of the matrix.
        history: The events known to the features.
        requests: One request per list.

    Yields:
        Row numbers [m] and their values, float32 [m, n_columns]; together the blocks cover all rows.

    Raises:
        RecxError: A feature is not finite, or does not return one number per row and column.
    """
    # Counts for requests close in time access the same few memory locations.
    order = np.arange(len(requests)) if requests.time is None else np.argsort(requests.time, kind="stable")
    with feature_cache.columns(features, candidates, history, requests, LISTS) as kept:
        for start, stop in track(list(blocks(len(order), LISTS)), "blocks of lists with features"):
            chosen = np.sort(order[start:stop])
            rows = rows_of_groups(candidates.indptr, chosen)
            yield rows, _block(features, kept, candidates.take(chosen), history, requests[chosen])


def _block(
    features: Features, kept: Mapping[str, Kept | Making], lists: RankedLists, history: Interactions, requests: Requests
) -> Floats:
    columns = names_of(features, lists)
    block = np.empty((len(columns), len(lists)), dtype=np.float32)  # contiguous per feature
    done = 0
    for name, feature in features.items():
        n = len(names_of({name: feature}, lists))
        part, column = block[done : done + n], kept.get(name)
        if not (isinstance(column, Kept) and column.read_into(part)):
            values = _values(name, feature, lists, history, requests)
            with np.errstate(over="ignore"):  # an overflow of float32 is reported below
                part[:] = values
            _check_finite(part, values, columns[done : done + n], lists, history)
        if isinstance(column, Making):
            column.add(part)
        done += n
    return block.T


def _check_finite(part: Floats, values: Array, names: Sequence[str], lists: RankedLists, history: Interactions) -> None:
    for column, name in enumerate(names):
        finite = np.isfinite(part[column])
        if not finite.all():
            row = int(np.argmin(finite))
            user = history.users.ids[lists.user[lists.list_of_row[row]]]
            raise RecxError(
                f"feature {name} is {values[column][row]} for user {user}: a feature must be finite in float32"
            )


def _values(
    name: str, feature: Feature | FeatureSet, lists: RankedLists, history: Interactions, requests: Requests
) -> Array:
    """Return the values of a feature [n_columns, n_rows]."""
    values = np.asarray(feature(lists, history, requests))
    n = len(lists)
    expected = (n, len(feature.names(lists))) if isinstance(feature, FeatureSet) else (n,)
    if values.shape != expected:
        raise RecxError(f"feature {name} returned an array of {values.shape} for {len(lists)} candidates")
    return values.T if len(expected) == 2 else values[None]

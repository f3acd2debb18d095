"""The design matrix: one row per candidate, one column per feature."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, cast

import numpy as np

from recx.core.errors import InputError, RecxError
from recx.core.memo import once_per_input
from recx.core.precision import Reals, fits_float32, floats_of
from recx.core.progress import track
from recx.core.protocols import Feature, FeatureSet, FittedFeature
from recx.core.ragged import blocks
from recx.core.system.threads import ahead, one_blas_thread
from recx.core.types import Array, Interactions, Longs, RankedLists, Requests
from recx.parts.shared import feature_cache
from recx.parts.shared.feature_cache import Kept, Making

LISTS = 5_000  # lists whose features are computed together, which bounds the intermediate arrays
LARGEST = float(np.finfo(np.float32).max)

Features = Mapping[str, Feature | FeatureSet]
"""Name -> feature; a set has several columns, named after it."""


@cache
def _is_set(kind: type) -> bool:
    return issubclass(kind, FeatureSet)


def _names_in(feature: Feature | FeatureSet, candidates: RankedLists) -> Sequence[str] | None:
    """Return the names of several features at once; None for a single one."""
    return cast(FeatureSet, feature).names(candidates) if _is_set(type(feature)) else None


def names_of(features: Features, candidates: RankedLists) -> tuple[str, ...]:
    """Return the column names of the design matrix of these candidates.

    Args:
        features: Feature name -> feature.
        candidates: The candidates to rank.

    Raises:
        InputError: Two columns have the same name.
    """
    names: list[str] = []
    for name, feature in features.items():
        several = _names_in(feature, candidates)
        names.extend([name] if several is None else several)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two features are named {twice!r}: rename one of them")
    return tuple(names)


def check_names(features: Features, candidates: RankedLists, names: Sequence[str], ranker: str) -> None:
    """Raise InputError unless the columns are those that a ranker was fitted with.

    Args:
        features: Feature name -> feature.
        candidates: The candidates to rank.
        names: The names at the fit.
        ranker: The word of the ranker, for the error.

    Raises:
        InputError: The columns are others.
    """
    found = names_of(features, candidates)
    if found != tuple(names):
        other = [name for name in found if name not in names] or [name for name in names if name not in found] or found
        raise InputError(
            f"ranker={ranker} learned from other features than these candidates have ({', '.join(other[:5])}): choose "
            "the features and the columns of its fit, or run it again"
        )


@once_per_input
def fitted_on(history: Interactions, feature: Feature | FeatureSet) -> FittedFeature:
    """Return a feature fitted on a history, once for all requests of this history."""
    return feature.fit(history)


def design_matrix(features: Features, candidates: RankedLists, history: Interactions, requests: Requests) -> Reals:
    """Return the design matrix [n_rows, n_columns]; see ``design_blocks``.

    Args:
        features: Feature name -> feature.
        candidates: The candidates to rank.
        history: The past events, of all users.
        requests: The requests, in the order of the lists.
    """
    table: Reals = np.zeros((len(candidates), len(names_of(features, candidates))), dtype=np.float32)
    for rows, block in design_blocks(features, candidates, history, requests):
        table = table.astype(np.result_type(table, block), copy=False)
        table[rows] = block
    return table


def design_blocks(
    features: Features, candidates: RankedLists, history: Interactions, requests: Requests
) -> Iterator[tuple[Longs, Reals]]:
    """Yield the design matrix in blocks of consecutive lists, which are computed side by side on threads.

    A block is float32 if that holds every value that a feature returned, else float64: values that a feature tells
    apart must not become equal.

    Args:
        features: Feature name -> feature.
        candidates: The candidates; their rows are the rows of the matrix.
        history: The events known to the features.
        requests: One request per list.

    Yields:
        Row numbers [m] and their values [m, n_columns]; together the blocks cover all rows.

    Raises:
        RecxError: A feature is not finite, or does not return one number per row and column.
        InputError: A feature returns whole numbers that float64 does not hold.
    """
    with feature_cache.columns(features, candidates, history, requests, LISTS) as kept:

        def known() -> Iterator[tuple[Longs, RankedLists, Requests, dict[str, Reals]]]:
            for start, stop in track(list(blocks(len(requests), LISTS)), "blocks of lists with features"):
                rows = np.arange(candidates.indptr[start], candidates.indptr[stop])
                stored = {name: column.next(len(rows)) for name, column in kept.items() if isinstance(column, Kept)}
                found = {name: values for name, values in stored.items() if values is not None}
                lists = replace(candidates[start:stop])  # another object: what is kept of a block ends with it
                yield rows, lists, requests[start:stop], found

        def column(name: str, feature: Feature | FeatureSet, lists: RankedLists, asked: Requests) -> Reals:
            of = fitted[name] if name in fitted else fitted_on(history, feature)  # what was kept may be damaged
            return _column(name, feature, of, lists, asked)

        def made(block: tuple[Longs, RankedLists, Requests, dict[str, Reals]]) -> tuple[Longs, dict[str, Reals], Reals]:
            rows, lists, asked, found = block
            values = {
                name: found[name] if name in found else column(name, feature, lists, asked)
                for name, feature in features.items()
            }
            return rows, values, _table(values, features, lists, history)

        with one_blas_thread():  # the blocks take all cores
            fitted = {  # before the threads, which would do it several times
                name: fitted_on(history, feature)
                for name, feature in features.items()
                if not isinstance(kept.get(name), Kept)
            }
            for rows, values, table in ahead(made, known()):
                for name, one in kept.items():
                    if isinstance(one, Making):
                        one.add(values[name])
                yield rows, table


def _column(
    name: str,
    feature: Feature | FeatureSet,
    fitted: FittedFeature,
    lists: RankedLists,
    requests: Requests,
) -> Reals:
    """Return the columns of a feature [n_columns, n_rows]: float32, or float64 where that is not enough."""
    values = floats_of(_values(name, feature, fitted(lists, requests), lists), f"feature {name}")
    return values if values.dtype == np.float32 or not fits_float32(values) else values.astype(np.float32)


def _table(values: Mapping[str, Reals], features: Features, lists: RankedLists, history: Interactions) -> Reals:
    """Return the columns of all features as one table [n_rows, n_columns].

    Raises:
        RecxError: A value is not finite in float32.
    """
    columns = list(values.values())
    kind = np.result_type(*columns)  # float64 if one of them is
    table: Reals = np.concatenate(columns, out=np.empty((sum(map(len, columns)), len(lists)), kind))
    if table.size and not (table.min() >= -LARGEST and table.max() <= LARGEST):  # NaN is neither
        column, row = np.unravel_index(np.argmin(np.abs(table) <= LARGEST), table.shape)
        user, name = history.users.ids[lists.user[lists.list_of_row[row]]], names_of(features, lists)[column]
        raise RecxError(f"feature {name} is {table[column, row]} for user {user}: a feature must be finite in float32")
    return table.T  # contiguous per feature, also of features that make several columns as rows of a table


def _values(name: str, feature: Feature | FeatureSet, found: Any, lists: RankedLists) -> Array:
    """Return the values of a feature [n_columns, n_rows]."""
    values, names = np.asarray(found), _names_in(feature, lists)
    if values.shape != (lists.item.shape if names is None else (len(lists), len(names))):
        raise RecxError(f"feature {name} returned an array of {values.shape} for {len(lists)} candidates")
    return values[None] if names is None else values.T

"""Contract checks of datasets, splits and encoders: each says in one sentence which rule a part breaks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from recx.core.clock import check_clock
from recx.core.errors import InputError
from recx.core.filters import Filter
from recx.core.protocols import Dataset, Encoder, Splitter, ignores_time
from recx.core.types import Floats, Fold, Interactions, Requests, Vectors
from recx.testing.elsewhere import result_elsewhere
from recx.testing.rules import NEAR, arrays_of, declares_what_counts, expect, valid_lists
from recx.testing.tiny_dataset import tiny_world


def check_dataset(dataset: Dataset) -> None:
    """Raise AssertionError unless the dataset loads valid interactions, and the same ones when loaded again."""
    declares_what_counts(dataset)
    data, again = dataset.load(), dataset.load()
    valid_interactions(data)
    expect(all(map(np.array_equal, arrays_of(data), arrays_of(again))), "loading twice must give the same")


def valid_interactions(data: Interactions) -> None:
    """Raise AssertionError unless data keeps the invariants of ``Interactions``."""
    grouped = len(data.indptr) == len(data.users) + 1 and data.indptr[-1] == len(data)
    grouped = grouped and data.indptr[0] == 0 and (np.diff(data.indptr) >= 0).all()
    expect(grouped, "indptr must fit the users and events")
    expect(len(data.weight) == len(data), "there must be one weight per event")
    expect(np.isfinite(data.weight).all(), "weights must be finite")
    expect(((data.item >= 0) & (data.item < data.n_items)).all(), "the item of an event must be one of the items")
    expect(len(np.unique(data.users.ids)) == data.n_users, "user ids must be unique")
    expect(len(np.unique(data.items.ids)) == data.n_items, "item ids must be unique")
    for entities in (data.users, data.items):
        whole = all(len(column) == len(entities) for column in entities.table.values())
        expect(whole, "a column of users or items must have one value for each of them")
    expect(set(data.users.context) <= set(data.users.table), "the context of users must be columns of their table")
    if data.time is not None:
        expect(data.time.dtype == np.int64, "times must be int64 milliseconds")
        _check_clock(data)
        same_user = data.user[1:] == data.user[:-1]
        expect(not (same_user & (np.diff(data.time) < 0)).any(), "each user's events must be sorted, oldest first")
    if data.slates is not None:
        valid_lists(data.slates, Requests(data.slates.user), data.n_items, "the part")


def _check_clock(data: Interactions) -> None:
    assert data.time is not None
    try:
        check_clock(data.time, data.notes)
    except InputError as error:
        raise AssertionError(str(error)) from error


def check_filter(part: Filter, interactions: Interactions | None = None) -> None:
    """Raise AssertionError unless the filter keeps events as they are, in their order, and what is known of the rest.

    Args:
        part: The part to check.
        interactions: The data to check it with; None: a tiny world.
    """
    declares_what_counts(part)
    world = tiny_world(slates=True) if interactions is None else interactions
    left, again = part.apply(world), part.apply(world)
    valid_interactions(left)
    expect(all(map(np.array_equal, arrays_of(left), arrays_of(again))), "filtering twice must give the same")
    for name in ("users", "items"):
        ids, before = getattr(left, name).ids, getattr(world, name).ids
        known = np.isin(ids, before)
        expect(known.all(), f"a filter must not add {name}")
        place = np.searchsorted(before, ids, sorter=np.argsort(before))
        place = np.argsort(before)[place]
        expect((np.diff(place) > 0).all(), f"{name} must keep their order")
        for column, values in getattr(world, name).table.items():
            same = np.array_equal(getattr(left, name).table[column], values[place], equal_nan=values.dtype.kind == "f")
            expect(same or column in world.users.context, f"the column {column!r} of {name} must stay what it was")
    rows = _rows_of(world)
    expect(all(row in rows for row in _rows_of(left)), "a filter must not add or change events")
    lost = np.isin(world.users.ids[world.lengths > 0], left.users.ids[left.lengths == 0])
    expect(not lost.any(), "users who lose all their events must leave: use recx.core.subset")


def _rows_of(data: Interactions) -> set[tuple[Any, ...]]:
    times = np.zeros(len(data), np.int64) if data.time is None else data.time
    columns = (data.users.ids[data.user], data.items.ids[data.item], times, data.weight)
    return set(zip(*(column.tolist() for column in columns), strict=True))


def check_splitter(splitter: Splitter, interactions: Interactions | None = None) -> None:
    """Raise AssertionError unless every fold keeps the invariants of ``Fold`` and ``Split``.

    A split that says that it ``ignores_time`` may hold out events that are older than the same user's history.

    Args:
        splitter: The part to check.
        interactions: The data to check it with; default: ``tiny_world()``.
    """
    declares_what_counts(splitter)
    world = tiny_world() if interactions is None else interactions
    world = replace(world, weight=np.arange(1, len(world) + 1, dtype=np.float32))  # number the events by their weights
    table = {**world.users.table, "of_first_event": np.minimum(world.lengths, 1).astype(np.int32) - 1}
    world = replace(world, users=replace(world.users, table=table, context=("of_first_event",)))
    predict = splitter.split(world, "predict")
    expect(predict.fold.target is None, "fold=predict must not hold out any event")
    expect(len(predict.fold.history) == len(world), "the history of fold=predict must contain all events")
    test, valid = splitter.split(world, "test"), splitter.split(world, "valid")
    ordered = not ignores_time(splitter)
    for split in (test, valid):
        _check_fold(split.fold, ordered)
        if split.past is not None:
            _check_fold(split.past, ordered)
            known = np.isin(_events(split.past), split.fold.history.weight)
            expect(known.all(), "the fold's history must contain the past fold's history and targets")
    known = np.isin(_events(valid.fold), test.fold.history.weight)
    expect(known.all(), "fold=valid must be a step before fold=test, whose history must contain all of its events")


def _events(fold: Fold) -> Floats:
    """Return the numbers of all events of a fold."""
    assert fold.target is not None
    return np.concatenate([fold.history.weight, fold.target.weight])


def _check_fold(fold: Fold, ordered: bool) -> None:
    history, target, requests = fold.history, fold.target, fold.requests
    assert target is not None
    expect(not np.isin(target.weight, history.weight).any(), "no event may be in both history and target")
    expect(np.isin(fold.learnable.weight, history.weight).all(), "a retriever must learn from events of the history")
    expect((np.diff(requests.user) > 0).all(), "there must be one request per user, users increasing")
    context = history.users.table["of_first_event"][history.lengths == 0]
    expect((context == -1).all(), "context of users whose events are held out must be unknown: use Interactions.keep")
    with_target = np.flatnonzero(target.lengths)
    expect(np.array_equal(requests.user, with_target), "the requests must be those of the users with a target")
    if target.time is None or history.time is None:
        return
    first, some = target.time[target.indptr[requests.user]], history.lengths[requests.user] > 0
    last = history.time[history.indptr[requests.user[some] + 1] - 1]
    expect(not ordered or (last <= first[some]).all(), "no target may be older than the same user's history")
    assert requests.time is not None, "requests must have times where the data has"
    at_target, after_last = requests.time == first, ~some
    after_last[some] = requests.time[some] == last + 1
    at_end = requests.time == history.time.max(initial=0) + 1
    valid = at_target.all() or after_last.all() or at_end.all()
    expect(valid, "a request must be made at its first target, or 1 ms after the last event of its user or of all")


TEXTS = ("send a mail", "Send mail to all", "read the news", "天气 怎么样", "send a mail", "", " \n")
"""Texts with words in common, in another script, twice, and without any word."""


def check_encoder(encoder: Encoder, texts: Sequence[str] = TEXTS) -> None:
    """Raise AssertionError unless the encoder maps each text to a vector of length 1, or 0, that is always the same.

    Args:
        encoder: The part to check.
        texts: The texts to check it with, of which the encoder learns.
    """
    declares_what_counts(encoder)
    given, name = np.array(texts, dtype=object), type(encoder).__name__
    fitted = encoder.fit(given)
    vectors = _dense(fitted.encode(given))
    expect(vectors.ndim == 2 and len(vectors) == len(given), f"{name} must return one vector per text")
    expect(vectors.dtype == np.float32, f"{name} must return float32")
    expect(np.isfinite(vectors).all(), f"{name} must return finite vectors")
    length = np.linalg.norm(vectors, axis=1)
    expect((np.isclose(length, 1, atol=NEAR) | (length == 0)).all(), f"{name}: a vector must have length 1, or be 0")
    for other in (fitted, encoder.fit(given)):
        same = np.array_equal(vectors, _dense(other.encode(given)))
        expect(same, f"{name} must return the same twice, and after another fit")
    some, width = _dense(fitted.encode(given[::2])), vectors.shape[1]
    expect(np.allclose(some, vectors[::2], atol=NEAR), f"{name}: a vector must not depend on the other texts")
    for unknown in (np.array(["a text that fit has not seen"], dtype=object), given[:0]):
        shape = fitted.encode(unknown).shape
        expect(shape == (len(unknown), width), f"{name} must encode new texts, or none, into vectors of the same width")
    elsewhere = _dense(result_elsewhere(fitted, "encode", given))
    expect(np.array_equal(vectors, elsewhere), f"{name} must return the same when it was kept and read elsewhere")


def _dense(vectors: Vectors) -> Floats:
    found: Floats = vectors.toarray() if sparse.issparse(vectors) else vectors
    return found

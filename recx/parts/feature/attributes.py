"""What is known of the item, compared with what the user has had: classes, texts, numbers.

Known: the user's events before the request, the data's table of items, and to ``PopularityInClass`` the events of
all users before the request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from recx.core.bounds import Decay, PositiveInt, checked
from recx.core.entities import UNKNOWN_TIME, ClassLists, Entities
from recx.core.memo import once_per_input
from recx.core.protocols import Encoder, FittedFeature
from recx.core.ragged import indptr_of, rows_of_groups, sum_of_groups
from recx.core.system.durations import HOUR
from recx.core.types import Array, Doubles, Floats, Interactions, Longs, RankedLists, Requests, Vectors
from recx.parts.feature.fitted import Constant, FittedWith
from recx.parts.shared.classes import as_lists, main_classes
from recx.parts.shared.click_counts import EventCounter
from recx.parts.shared.item_clicks import ItemClicks, item_clicks
from recx.parts.shared.products import products_of_pairs
from recx.parts.shared.sequences import Sequences, sequences
from recx.parts.shared.texts import text_column, unit_rows


@dataclass(frozen=True, eq=False)
class _Profiles:
    """Vectors of the items, and what the users had.

    Attributes:
        vectors: The vectors [n_items, d], of length 1 or 0.
        sequences: The users' events.
    """

    vectors: Vectors
    sequences: Sequences

    def similarity(self, candidates: RankedLists, requests: Requests, last: int, recency: float) -> Floats:
        """Return the cosine of each row's item and the weighted mean of the user's last items [n_rows]."""
        users = self.sequences.weighted(requests, last, recency) @ self.vectors
        if sparse.issparse(users):
            users.sort_indices()  # or the order of sums, and so their last bits, would depend on the other requests
        return products_of_pairs(unit_rows(users), candidates.list_of_row, self.vectors, candidates.item)


@dataclass(frozen=True)
@checked("feature")
class ClassOverlap:
    """Cosine of the item's classes and those of the user's last items; 0 if the data has none.

    All columns of classes and of lists of classes count alike, rare classes more than frequent ones.

    Attributes:
        last: Number of last events of the user.
        recency: Weight of each event relative to the next newer one.
    """

    last: PositiveInt = 50
    recency: Decay = 0.97

    def fit(self, history: Interactions) -> FittedFeature:
        return FittedWith(self, _class_profiles(history)) if _class_columns(history.items) else Constant(0)

    def values(self, profiles: _Profiles, candidates: RankedLists, requests: Requests) -> Floats:
        return profiles.similarity(candidates, requests, self.last, self.recency)


@dataclass(frozen=True)
@checked("feature")
class TextOverlap:
    """Cosine of the item's text and those of the user's last items; 0 if the data has no texts.

    Attributes:
        encoder: Encodes texts as vectors.
        last: Number of last events of the user.
        recency: Weight of each event relative to the next newer one.
    """

    encoder: Encoder
    last: PositiveInt = 50
    recency: Decay = 0.97

    def fit(self, history: Interactions) -> FittedFeature:
        return FittedWith(self, _text_profiles(history, self.encoder)) if "text" in history.items.table else Constant(0)

    def values(self, profiles: _Profiles, candidates: RankedLists, requests: Requests) -> Floats:
        return profiles.similarity(candidates, requests, self.last, self.recency)


@dataclass(frozen=True)
class PopularityInClass:
    """log of the item's clicks over the mean clicks of the items of its classes, as of the request, both plus one.

    The classes are ``category`` or, if the items have none, those of the first column of lists; 0 for an item without.
    """

    def fit(self, history: Interactions) -> FittedFeature:
        lists = main_classes(history.items)
        return Constant(0) if lists is None else FittedWith(self, _class_clicks(history, lists))

    def values(self, known: _ClassClicks, candidates: RankedLists, requests: Requests) -> Floats:
        own = known.items.within(candidates, requests, None) + 1
        lengths = np.diff(known.lists.indptr)[candidates.item]
        code = known.lists.code[rows_of_groups(known.lists.indptr, candidates.item)]
        row = np.repeat(np.arange(len(candidates)), lengths)
        if known.counter is None or requests.time is None:
            clicks = known.total[code]
        else:
            clicks = known.counter.before(code, requests.time[candidates.list_of_row[row]])
        mean = sum_of_groups(clicks / known.n_items[code], indptr_of(lengths)) / np.maximum(1, lengths)
        found: Floats = np.where(lengths > 0, np.log(own) - np.log(mean + 1), 0).astype(np.float32)
        return found


@dataclass(frozen=True)
@checked("feature")
class NumberDistance:
    """Distance of the item's numbers, such as its price, from the mean of the user's last items; 0 if there are none.

    In standard deviations of the items, the mean over the columns. A missing number counts as the mean of the items.

    Attributes:
        columns: Columns of numbers or times of the items; None: all columns of numbers.
        last: Number of last events of the user.
        recency: Weight of each event relative to the next newer one.
    """

    columns: tuple[str, ...] | None = None
    last: PositiveInt = 50
    recency: Decay = 0.97

    def fit(self, history: Interactions) -> FittedFeature:
        table = history.items.table
        numeric = [name for name, column in table.items() if column.dtype.kind == "f"]
        columns = [_standard(table[name]) for name in self.columns or numeric if name in table]
        if not columns:
            return Constant(0)
        return FittedWith(self, (np.stack(columns, axis=1), sequences(history)))

    def values(self, known: tuple[Floats, Sequences], candidates: RankedLists, requests: Requests) -> Floats:
        numbers, clicked = known
        weights = clicked.weighted(requests, self.last, self.recency)
        total = np.asarray(weights.sum(axis=1)).ravel()
        mean = (weights @ numbers) / np.maximum(1e-12, total)[:, None]
        apart: Floats = np.abs(numbers[candidates.item] - mean[candidates.list_of_row]).mean(axis=1, dtype=np.float32)
        return apart


@dataclass(frozen=True, eq=False)
class _ClassClicks:
    """Clicks on the items and in their classes.

    Attributes:
        lists: The classes of the items.
        items: Counts the clicks on items.
        counter: Counts the clicks in classes; None if the history has no times.
        total: Clicks in each class [n_classes].
        n_items: Items of each class [n_classes].
    """

    lists: ClassLists
    items: ItemClicks
    counter: EventCounter | None
    total: Longs
    n_items: Longs


def _class_clicks(history: Interactions, lists: ClassLists) -> _ClassClicks:
    n = int(lists.code.max(initial=-1)) + 1
    code = lists.code[rows_of_groups(lists.indptr, history.item)]
    repeats = np.diff(lists.indptr)[history.item]
    counter = None if history.time is None else EventCounter.of(code, np.repeat(history.time, repeats))
    total, n_items = np.bincount(code, minlength=n), np.bincount(lists.code, minlength=n)
    return _ClassClicks(lists, item_clicks(history), counter, total, n_items)


def _class_columns(items: Entities) -> list[ClassLists]:
    single = [as_lists(column) for column in items.table.values() if column.dtype == np.int32]
    return [*single, *items.lists.values()]


@once_per_input
def _class_profiles(history: Interactions) -> _Profiles:
    n, blocks = history.n_items, []
    for lists in _class_columns(history.items):
        width = int(lists.code.max(initial=-1)) + 1
        frequency = np.bincount(lists.code, minlength=width)
        rarity = np.log1p(n / np.maximum(1, frequency)).astype(np.float32)
        block: Any = sparse.csr_array((rarity[lists.code], lists.code, lists.indptr), shape=(n, width))
        blocks.append(unit_rows(block))
    return _Profiles(unit_rows(sparse.csr_array(sparse.hstack(blocks))), sequences(history))


@once_per_input
def _text_profiles(history: Interactions, encoder: Encoder) -> _Profiles:
    texts = np.asarray(text_column(history.items, "items"), dtype=object)
    vectors = encoder.fit(np.unique(texts)).encode(texts)
    return _Profiles(unit_rows(vectors), sequences(history))


def _standard(column: Array) -> Floats:
    """Return a column of numbers or times in standard deviations from its mean, 0 where it is missing."""
    numbers: Doubles = column.astype(np.float64)
    if column.dtype == np.int64:
        numbers = np.where(column == UNKNOWN_TIME, np.nan, numbers / HOUR)
    known = np.isfinite(numbers)
    if not known.any():
        return np.zeros(len(numbers), dtype=np.float32)
    spread = numbers[known].std() or 1.0
    return np.where(known, (numbers - numbers[known].mean()) / spread, 0).astype(np.float32)

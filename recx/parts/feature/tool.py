"""What the tool is, held against the task: the four classic features of tool selection.

Where the users are tasks and the items are tools, but they serve wherever both have texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from recx.core.entities import Entities
from recx.core.memo import once_per_input
from recx.core.protocols import Encoder
from recx.core.ragged import indptr_of
from recx.core.types import Floats, Interactions, RankedLists, Requests, Vectors
from recx.parts.feature.rows import clicks_before, of_rows
from recx.parts.shared.texts import asked, encoded, products_of_lists, texts_of

NAMED, WORD_NAMED, NOT_NAMED = 1.0, 0.7, 0.3  # the tool's whole name, a word of it, or nothing of it is in the task
WORD = r"[^\W_]+"


@dataclass(frozen=True)
class Relevance:
    """Cosine of the task's and the tool's text, mapped to [0, 1]; 0.5 where either has no known word.

    encoder: turns a text into a vector.
    """

    encoder: Encoder

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        items = encoded(history, self.encoder).items
        cosine = products_of_lists(candidates, asked(requests, history, self.encoder), items)
        mapped: Floats = ((1 + cosine) / 2).clip(0, 1)
        return mapped


@dataclass(frozen=True)
class Structure:
    """sqrt(relevance + 0.1): the relevance with its lower end stretched."""

    encoder: Encoder

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        stretched: Floats = np.sqrt(Relevance(self.encoder)(candidates, history, requests) + np.float32(0.1))
        return stretched


@dataclass(frozen=True)
class Usage:
    """0.5 + 0.5 x the tool's share of all that was answered before the request; 0.5 where nothing was."""

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        total = np.full(len(requests), len(history))
        if history.time is not None and requests.time is not None:
            total = np.searchsorted(np.sort(history.time), requests.time)
        share = clicks_before(candidates, history, requests, 0) / np.maximum(1, of_rows(total, candidates))
        return (0.5 + 0.5 * share).astype(np.float32)


@dataclass(frozen=True)
class Naming:
    """1.0 where the task has the tool's whole name, 0.7 where it has a word of the name, else 0.3.

    Words are letters and digits in a row, whatever their case: of ``Tax_Calculator`` they are "tax" and "calculator".
    The name is the column ``name`` of the items' table; without that column, or without a word, nothing is named.
    """

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        value = np.full(len(candidates), NOT_NAMED, dtype=np.float32)
        if "name" not in history.items.table:
            return value
        named = _named(history.items)
        tasks = sparse.csr_array(named.counter.transform(texts_of(history.users, "users", candidates.user)))
        value[products_of_lists(candidates, tasks, named.words) > 0] = WORD_NAMED
        value[products_of_lists(candidates, tasks, named.names) > 0] = NAMED
        return value


@dataclass(frozen=True, eq=False)
class _Named:
    """Words and whole names by number. counter: tells which of them a task has, 1 or 0.

    words, names: the words of each tool's name, and the whole of it [n_items, n_terms].
    """

    counter: Any
    words: Vectors
    names: Vectors


@once_per_input
def _named(items: Entities) -> _Named:
    from sklearn.feature_extraction.text import CountVectorizer

    words = [re.findall(WORD, name.casefold()) for name in items.table["name"]]
    names = [[" ".join(of_name)] if of_name else [] for of_name in words]
    number = {term: place for place, term in enumerate(dict.fromkeys(chain(*words, *names)))} or {"": 0}
    counter = CountVectorizer(
        vocabulary=number,
        preprocessor=str.casefold,
        token_pattern=WORD,
        ngram_range=(1, max(map(len, words), default=1) or 1),
        binary=True,
        dtype=np.float32,
    )
    return _Named(counter, _table(words, number), _table(names, number))


def _table(terms: Sequence[Sequence[str]], number: Mapping[str, int]) -> Vectors:
    """Return which terms each tool has [n_items, n_terms], 1 or 0."""
    column = np.array([number[term] for of_tool in terms for term in dict.fromkeys(of_tool)], dtype=np.int64)
    indptr = indptr_of(np.array([len(set(of_tool)) for of_tool in terms], dtype=np.int64))
    shape = (len(terms), len(number))
    return sparse.csr_array((np.ones(len(column), dtype=np.float32), column, indptr), shape=shape)

"""The four classic features of tool selection, which compare the tool with the task.

The users are tasks and the items are tools, but the features work for any users and items with texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from recx.core.bounds import checked
from recx.core.entities import Entities
from recx.core.memo import once_per_input
from recx.core.protocols import Encoder
from recx.core.types import Floats, Interactions, RankedLists, Requests, Vectors
from recx.parts.feature.rows import clicks_within, events_within, of_rows
from recx.parts.shared.analyzer import Analyzer, names_split
from recx.parts.shared.texts import encoded, products_of_lists, query_vectors, texts_of

NAMED, WORD_NAMED, NOT_NAMED = 1.0, 0.7, 0.3  # the task has the whole name of the tool, a word of it, or none


@dataclass(frozen=True)
class Relevance:
    """Cosine of the task's and the tool's text, mapped to [0, 1]; 0.5 if either has no known word.

    Attributes:
        encoder: Encodes texts as vectors.
    """

    encoder: Encoder

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        items = encoded(history, self.encoder).items
        cosine = products_of_lists(candidates, query_vectors(requests, history, self.encoder), items)
        return ((1 + cosine) / 2).clip(0, 1)


@dataclass(frozen=True)
class Structure(Relevance):
    """sqrt(relevance + 0.1), which stretches the lower end of the relevance."""

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        return np.asarray(np.sqrt(super().__call__(candidates, history, requests) + np.float32(0.1)))


@dataclass(frozen=True)
class Usage:
    """0.5 + 0.5 * share of the tool in all events before the request; 0.5 without events."""

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        total = np.maximum(1, of_rows(events_within(history, requests, None), candidates))
        share = clicks_within(candidates, history, requests, None) / total
        return (0.5 + 0.5 * share).astype(np.float32)


@dataclass(frozen=True)
@checked("feature")
class Naming:
    """1.0 if the task contains the whole name of the tool, 0.7 if it contains a word of the name, else 0.3.

    The words of ``Tax_Calculator`` and of ``TaxCalculator`` are "tax" and "calculator"; of a name in
    a script without spaces, every two characters in a row are one. The name is the column
    ``name`` of the items' table.

    Attributes:
        split_names: Whether the parts of names in CamelCase and snake_case are words.
    """

    split_names: bool = True

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        value = np.full(len(candidates), NOT_NAMED, dtype=np.float32)
        if "name" not in history.items.table:
            return value
        named = _named(history.items, self.split_names)
        tasks = sparse.csr_array(named.counter.transform(texts_of(history.users, "users", candidates.user)))
        value[products_of_lists(candidates, tasks, named.words) > 0] = WORD_NAMED
        value[products_of_lists(candidates, tasks, named.names) > 0] = NAMED
        return value


@dataclass(frozen=True, eq=False)
class _Named:
    """The terms of the tools' names: their words and the whole names.

    Attributes:
        counter: Counter of the terms of a task, 1 or 0 each.
        words: The words of each tool's name, CSR [n_items, n_terms].
        names: The whole name of each tool, in parts and in one, CSR [n_items, n_terms].
    """

    counter: Any
    words: Vectors
    names: Vectors


@once_per_input
def _named(items: Entities, split_names: bool) -> _Named:
    from sklearn.feature_extraction.text import CountVectorizer

    whole, split = Analyzer(split_names=False), names_split if split_names else str

    def twice(task: str) -> list[str]:
        return [*whole(split(task)), "", *whole(task)]

    table = items.table["name"]
    parts = [[word for word in whole(split(name)) if word.strip("_")] for name in table]
    words = [[word for word in of_name if word.isascii() or len(word) > 1] for of_name in parts]
    names = [
        {" ".join(found) for found in (of_name, whole(name)) if of_name}
        for of_name, name in zip(parts, table, strict=True)
    ]
    number = {term: place for place, term in enumerate(dict.fromkeys(chain(*words, *names)))} or {"": 0}
    counter = CountVectorizer(
        vocabulary=number,
        lowercase=False,
        tokenizer=twice,
        token_pattern=None,
        ngram_range=(1, max(map(len, parts), default=1) or 1),
        binary=True,
        dtype=np.float32,
    )
    return _Named(counter, _table(words, number), _table(names, number))


def _table(terms: Sequence[Iterable[str]], number: Mapping[str, int]) -> Vectors:
    """Return a CSR [n_items, n_terms] of ones: which terms each tool has."""
    pairs = {(tool, number[term]) for tool, of_tool in enumerate(terms) for term in of_tool}
    rows, columns = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2).T
    shape = (len(terms), len(number))
    return sparse.csr_array((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=shape)

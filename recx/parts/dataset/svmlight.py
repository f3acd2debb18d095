"""Judged documents of queries, described by numbers: LETOR, MSLR and LightGBM files, or a small made-up collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from annotated_types import Ge

from recx.core.bounds import PositiveInt, Seed, check
from recx.core.entities import Entities
from recx.core.types import Array, Interactions, Longs
from recx.parts.dataset.events import at_home
from recx.parts.dataset.judgements import Pairs, judged
from recx.parts.dataset.svmlight_files import columns_of, parts_of, read_rows
from recx.parts.dataset.svmlight_lines import Rows
from recx.parts.dataset.synthetic_queries import make_queries


@dataclass(frozen=True)
class Svmlight:
    """A user is a query, an item a document; a pair's features are the slates' columns, named by their numbers.

    path: a folder with train.txt, test.txt and perhaps vali.txt (``users.table["part"]`` then says train, valid or
    test), or one file whose queries a split deals; None: the generator makes a small collection.
    queries, features, seed: the generator's size and seed. The seed also numbers documents that have no id.
    """

    path: str | None = None
    queries: Annotated[int, Ge(10)] = 300
    features: PositiveInt = 20
    seed: Seed = 0

    def __post_init__(self) -> None:
        check(self, "dataset")

    def load(self) -> Interactions:
        """Return the judged documents: see ``recx.parts.dataset.judgements``.

        Rows of a query may lie apart; how many queries do is counted (``queries_not_contiguous``).

        Raises:
            InputError: a file cannot be used.
        """
        if self.path is None:
            return _interactions({"": make_queries(self.queries, self.features, self.seed)}, {"": "made up"}, self.seed)
        files = parts_of(at_home(self.path))
        parts = {part: read_rows(file) for part, file in files.items()}
        return _interactions(parts, {part: file.name for part, file in files.items()}, self.seed)


def _interactions(parts: Mapping[str, Rows], files: Mapping[str, str], seed: int) -> Interactions:
    """files: part -> what the file is called in the names of documents without an id."""
    queries = {part: np.unique(rows.query) for part, rows in parts.items()}
    offset, user = 0, []
    for part, rows in parts.items():
        user.append(np.searchsorted(queries[part], rows.query) + offset)
        offset += len(queries[part])
    users, in_two = _users(queries)
    item, items = _items(parts, files, seed)
    grade = np.concatenate([rows.grade for rows in parts.values()])
    pairs = Pairs(np.concatenate(user), item, grade, columns_of(list(parts.values())))
    apart = sum(_n_runs(rows.query) - len(queries[part]) for part, rows in parts.items())
    made = judged(pairs, users, items)
    notes = {"queries_not_contiguous": apart, "query_numbers_in_several_files": in_two}
    return replace(made, notes={**made.notes, **notes})


def _users(queries: Mapping[str, Longs]) -> tuple[Entities, int]:
    """Return the queries, and how many numbers stand in several files, where they mean other queries."""
    ids = np.concatenate(list(queries.values()))
    in_several = len(ids) - len(np.unique(ids))
    table: dict[str, Array] = {}
    if "" not in queries:
        table["part"] = np.repeat(np.array(list(queries), dtype=object), [len(of) for of in queries.values()])
    if in_several:
        ids = np.array([f"{part} {query}" for part, of in queries.items() for query in of.tolist()], dtype=object)
    return Entities(ids, table), in_several


def _items(parts: Mapping[str, Rows], files: Mapping[str, str], seed: int) -> tuple[Longs, Entities]:
    """Return every row's document [n] and the documents, numbered so that a number says nothing of the file's order."""
    documents = [rows.document for rows in parts.values()]
    if all(known is not None for known in documents):
        ids, item = np.unique(np.concatenate([known for known in documents if known is not None]), return_inverse=True)
        return item, Entities(ids)
    names = [f"{files[part]} line {line}" for part, rows in parts.items() for line in rows.line.tolist()]
    number = np.random.default_rng(seed).permutation(len(names))
    shown = np.empty(len(names), dtype=object)
    shown[number] = names
    return number, Entities(np.arange(len(names)), names=shown)


def _n_runs(query: Longs) -> int:
    return int((query[1:] != query[:-1]).sum()) + 1

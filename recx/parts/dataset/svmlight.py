"""Judged documents with numeric features: LETOR, MSLR and LightGBM files, or a small generated collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge

from recx.core.bounds import PositiveInt, Seed, checked
from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.nouns import OF_SEARCH
from recx.core.ragged import indptr_of
from recx.core.types import Interactions, Longs
from recx.parts.dataset.events import made_up, text_array
from recx.parts.dataset.files import expand_home
from recx.parts.dataset.judgements import Pairs, judged
from recx.parts.dataset.svmlight_files import READS, columns_of, parts_of, read_rows
from recx.parts.dataset.svmlight_lines import Rows
from recx.parts.dataset.synthetic_queries import make_queries


@dataclass(frozen=True)
@checked("dataset")
class Svmlight:
    """Judged documents. A user is a query, an item a document; the features are the slates' columns, named by number.

    Attributes:
        path: a folder with train.txt, test.txt and optionally vali.txt (``users.table["part"]`` is then train, valid or
            test), or one file whose queries are split later; None: a small collection is generated.
        valid: the file of valid, whatever it is called; ``path`` is then that of train.
        test: the file of test.
        queries: number of generated queries.
        features: number of generated features.
        seed: seed of the generator, and of the numbering of documents without an id.
    """

    nouns: ClassVar = OF_SEARCH
    reads: ClassVar = READS
    """The files in a folder that count (see ``recx.storage.cache.keys``)."""
    files: ClassVar = ("valid", "test")

    path: str | None = None
    valid: str | None = None
    test: str | None = None
    queries: Annotated[int, Ge(10)] = 300
    features: PositiveInt = 20
    seed: Seed = 0

    def load(self) -> Interactions:
        """Return the judged documents: see ``recx.parts.dataset.judgements``.

        The rows of a query need not be contiguous; queries whose rows are not are counted
        (``queries_not_contiguous``).

        Raises:
            InputError: a file cannot be used.
        """
        others = {part: expand_home(name) for part in ("valid", "test") if (name := getattr(self, part)) is not None}
        if self.path is None:
            if others:
                part = next(iter(others))
                raise InputError(f"dataset.{part} names a file, and dataset.path none: name that of train")
            rows = {"": make_queries(self.queries, self.features, self.seed)}
            return made_up(_interactions(rows, {"": "made up"}, self.seed))
        files = parts_of(expand_home(self.path), others)
        parts = {part: read_rows(file) for part, file in files.items()}
        return _interactions(parts, {part: file.name for part, file in files.items()}, self.seed)


def _interactions(parts: Mapping[str, Rows], files: Mapping[str, str], seed: int) -> Interactions:
    """Return the interactions of the parts; files: part -> its name in the names of documents without an id."""
    queries = [np.unique(rows.query, return_inverse=True) for rows in parts.values()]
    ids = np.concatenate([known for known, _ in queries])
    sizes = [len(known) for known, _ in queries]
    user = np.concatenate(
        [place + start for (_, place), start in zip(queries, indptr_of(np.array(sizes)), strict=False)]
    )
    item, items = _items(parts, files, seed)
    grade = np.concatenate([rows.grade for rows in parts.values()])
    part = text_array(parts).repeat(sizes)
    in_several = len(ids) - len(np.unique(ids))
    if in_several:  # a number in several files means different queries
        ids = text_array(f"{name} {query}" for name, query in zip(part, ids.tolist(), strict=True))
    users = Entities(ids, {} if "" in parts else {"part": part})
    made = judged(Pairs(user, item, grade, columns_of(list(parts.values()))), users, items)
    runs = sum(1 + np.count_nonzero(np.diff(rows.query)) for rows in parts.values())
    notes = {"queries_not_contiguous": int(runs) - sum(sizes), "query_numbers_in_several_files": in_several}
    return replace(made, notes={**made.notes, **notes})


def _items(parts: Mapping[str, Rows], files: Mapping[str, str], seed: int) -> tuple[Longs, Entities]:
    """Return every row's document [n], and the documents, numbered so as not to reveal the order of the file."""
    documents = [rows.document for rows in parts.values() if rows.document is not None]
    if len(documents) == len(parts):
        ids, item = np.unique(np.concatenate(documents), return_inverse=True)
        return item, Entities(ids)
    names = [f"{files[part]} line {line}" for part, rows in parts.items() for line in rows.line.tolist()]
    number = np.random.default_rng(seed).permutation(len(names))
    return number, Entities(np.arange(len(names)), names=text_array(names)[np.argsort(number)])

"""The items that have a vector of their own in a fitted network, and the inputs that describe any item."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from recx.plugin import Array, Entities, InputError, Interactions, Longs, unit_embedding
from recx_transformer.model import Items


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The items that were clicked in the history of the fit.

    Attributes:
        ids: Their raw ids [n_known].
        category: Their category codes, int64 [n_known], -1 where unknown; None if the network does not use categories.
        embedding: The length of the given embeddings; 0 if the network does not use them.
    """

    ids: Array
    category: Longs | None
    embedding: int

    @classmethod
    def of(cls, history: Interactions, *, category: bool, embedding: bool) -> tuple[Catalogue, Longs]:
        """Return the catalogue of a history, and the items' numbers in it [n_items], -1 for those without a click."""
        known = np.flatnonzero(history.clicks)
        number = np.full(history.n_items, -1, dtype=np.int64)
        number[known] = np.arange(len(known))
        codes, vectors = history.items.table.get("category"), history.items.embedding
        return cls(
            ids=history.items.ids[known],
            category=codes[known].astype(np.int64) if category and codes is not None else None,
            embedding=vectors.shape[1] if embedding and vectors is not None else 0,
        ), number

    @property
    def n_categories(self) -> int:
        """The number of categories that occur, plus one for all others; 0 if the network does not use categories."""
        return 0 if self.category is None else len(self._codes) + 1

    @property
    def _codes(self) -> Longs:
        """The category codes that occur, in ascending order."""
        assert self.category is not None
        return np.unique(self.category[self.category >= 0])

    def describe(self, items: Entities) -> Items:
        """Return the network's inputs for these items, which may differ from those of the fit.

        Raises:
            InputError: The embeddings have a different length, or the categories different codes, than in the fit.
        """
        row = self._rows(items.ids)
        embedding = category = None
        if self.embedding:
            embedding = np.zeros((len(items), self.embedding), dtype=np.float32)
            if items.embedding is not None and items.embedding.shape[1] == self.embedding:
                embedding = unit_embedding(items)
            elif items.embedding is not None:
                raise InputError(
                    f"the items' embeddings have length {items.embedding.shape[1]}, but {self.embedding} when "
                    "the network was fitted: fit it again, or use the embeddings that it was fitted with"
                )
        if self.category is not None:
            category = self._categories(items, row)
        return Items(
            torch.from_numpy(row),
            None if embedding is None else torch.from_numpy(embedding),
            None if category is None else torch.from_numpy(category),
        )

    def _rows(self, ids: Array) -> Longs:
        import pandas as pd

        if len(ids) and len(self.ids) and (ids.dtype.kind in "iu") != (self.ids.dtype.kind in "iu"):
            raise InputError(
                f"item ids are like {ids[0]!r} here, but were like {self.ids[0]!r} when the network was "
                "fitted: use ids of one type"
            )
        return np.asarray(pd.Index(self.ids).get_indexer(pd.Index(ids)), dtype=np.int64)

    def _categories(self, items: Entities, row: Longs) -> Longs:
        """Return each item's category, numbered from 1 in the order of the codes of the fit; 0 for any other."""
        assert self.category is not None
        codes = items.table.get("category")
        if codes is None:
            return np.zeros(len(items), dtype=np.int64)
        if (codes[row >= 0] != self.category[row[row >= 0]]).any():
            raise InputError(
                "the items' categories are not numbered as when the network was fitted: load the "
                "items with the same metadata, or fit it again"
            )
        known = self._codes
        if not len(known):
            return np.zeros(len(items), dtype=np.int64)
        place = np.minimum(np.searchsorted(known, codes), len(known) - 1)
        return np.where(known[place] == codes, place + 1, 0)

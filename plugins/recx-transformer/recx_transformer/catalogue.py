"""Which items a fitted network knows by a vector of their own, and what it is told of any item."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from recx.plugin import Array, Entities, InputError, Interactions, Longs, unit_embedding
from recx_transformer.model import Items


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The items that were clicked in the history of the fit.

    ids: their raw ids [n_known]. category: int64 [n_known], their codes (-1: unknown), or None where the network is not
    told. embedding: length of the given embeddings, 0 where it is not told.
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
        """Number of categories that occur, and one for all others; 0 where the network is not told."""
        return 0 if self.category is None else len(self._codes) + 1

    @property
    def _codes(self) -> Longs:
        """The category codes that occur, rising."""
        assert self.category is not None
        return np.unique(self.category[self.category >= 0])

    def describe(self, items: Entities) -> Items:
        """Return what the network is told of these items, which may be others than those of the fit.

        Raises:
            InputError: embeddings have another length, or categories are numbered otherwise, than in the fit.
        """
        row = self._rows(items.ids)
        embedding = category = None
        if self.embedding:
            embedding = np.zeros((len(items), self.embedding), dtype=np.float32)
            if items.embedding is not None and items.embedding.shape[1] == self.embedding:
                embedding = unit_embedding(items)
            elif items.embedding is not None:
                raise InputError(
                    f"the items' embeddings have {items.embedding.shape[1]} numbers and had {self.embedding} when "
                    "retriever=transformer was fitted: fit it again, or give the embeddings that it was fitted with"
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
                f"items are called {ids[0]!r} here and were called {self.ids[0]!r} when retriever=transformer was "
                "fitted: give ids of one type"
            )
        return np.asarray(pd.Index(self.ids).get_indexer(pd.Index(ids)), dtype=np.int64)

    def _categories(self, items: Entities, row: Longs) -> Longs:
        """Return each item's category, from 1 in the order of the codes of the fit, 0 where it is another."""
        assert self.category is not None
        codes = items.table.get("category")
        if codes is None:
            return np.zeros(len(items), dtype=np.int64)
        if (codes[row >= 0] != self.category[row[row >= 0]]).any():
            raise InputError(
                "the items' categories are numbered otherwise than when retriever=transformer was fitted: load the "
                "items with the same metadata, or fit it again"
            )
        known = self._codes
        if not len(known):
            return np.zeros(len(items), dtype=np.int64)
        place = np.minimum(np.searchsorted(known, codes), len(known) - 1)
        return np.where(known[place] == codes, place + 1, 0)

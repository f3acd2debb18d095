"""An index of FAISS over item vectors: proposes the items that are probably nearest to a vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from recx.core.errors import InputError, RecxError
from recx.core.types import Floats, Longs
from recx.parts.shared.built_index import BuiltIndex


@dataclass(frozen=True, eq=False)
class FaissIndex:
    """An index over item vectors.

    Attributes:
        stored: The vectors [n, d], float32 and contiguous.
        built: What FAISS built over them.
        nprobe: Number of cells that a search of an IVF index visits.
        ef_search: Size of the candidate queue of a search of an HNSW index.
    """

    stored: Floats
    built: BuiltIndex
    nprobe: int
    ef_search: int

    def __post_init__(self) -> None:
        index, stored = self.built.index, self.stored
        if stored.dtype != np.float32 or stored.shape != (index.ntotal, index.d) or not stored.flags.c_contiguous:
            raise ValueError(f"an index over {index.ntotal} x {index.d} vectors, not over those that are stored")

    @classmethod
    def of(cls, stored: Floats, name: str, nprobe: int, ef_search: int, ef_construction: int) -> FaissIndex:
        """Build an index.

        Args:
            stored: The vectors [n, d].
            name: A ``faiss.index_factory`` string.
            nprobe: See the class.
            ef_search: See the class.
            ef_construction: Size of the candidate queue while an HNSW index is built.

        Raises:
            InputError: FAISS does not know the index string, or cannot train the index on so few items.
        """
        faiss, stored = _faiss(), np.ascontiguousarray(stored, dtype=np.float32)
        try:
            index = faiss.index_factory(stored.shape[1], name, faiss.METRIC_INNER_PRODUCT)
            storage = _storage(index)
            has_cells = isinstance(storage, faiss.IndexIVF)
            for clustered in (storage if has_cells else None, getattr(storage, "pq", None)):
                if clustered is not None:
                    clustered.cp.min_points_per_centroid = 1  # no warning on stderr about fewer than 39 items per cell
            if hasattr(storage, "do_polysemous_training"):
                # This numbers codes for a search by Hamming distance, which is not made here, and takes seconds.
                storage.do_polysemous_training = False
            if not has_cells and "HNSW" in name:
                faiss.ParameterSpace().set_index_parameter(index, "efConstruction", ef_construction)
            index.train(stored)
            index.add(stored)
        except RuntimeError as error:
            reason = str(error).strip().splitlines()[-1]
            raise InputError(
                f"retriever.index={name!r} does not work on {len(stored)} item vectors: {reason}"
            ) from error
        return cls(stored, BuiltIndex(index), nprobe, ef_search)

    def propose(self, query: Floats, n: int, wider: int = 1) -> tuple[Longs, Floats]:
        """Return the ``n`` items that the index holds for nearest, and their inner products with the queries.

        The products are those of the vectors themselves, whatever the index keeps of them.

        Args:
            query: The queries [n_lists, d], float32 and contiguous.
            n: How many items are proposed for each query.
            wider: How many times as many cells or candidates as usual the search looks at.

        Returns:
            Row numbers of the vectors, -1 where the index found no more, and the products, -inf there [n_lists, n].
        """
        faiss, index = _faiss(), self.built.index
        found = _parameters(index, min(self.nprobe * wider, 2**31 - 1), max(self.ef_search * wider, n))
        _, row = index.search(query, n, params=found)
        if row.max(initial=-1) >= len(self.stored):
            raise RecxError("the index names vectors that it does not have: run the experiment again")
        product = np.empty(row.shape, dtype=np.float32)
        arrays = (faiss.swig_ptr(array) for array in (product, query, self.stored, row))
        faiss.fvec_inner_products_by_idx(*arrays, self.stored.shape[1], *row.shape)
        return row, product


def _storage(index: Any) -> Any:
    """Return the index that keeps the vectors, behind transformations, refinements and graphs."""
    faiss = _faiss()
    index = faiss.downcast_index(index)
    if isinstance(index, faiss.IndexPreTransform):
        return _storage(index.index)
    if isinstance(index, faiss.IndexRefine):
        return _storage(index.base_index)
    return _storage(index.storage) if isinstance(index, faiss.IndexHNSW) else index


def _parameters(index: Any, nprobe: int, ef_search: int) -> Any:
    """Return the parameters of one search, which leave the index as it is; None for an index that has none."""
    faiss = _faiss()
    index = faiss.downcast_index(index)
    if isinstance(index, faiss.IndexPreTransform):
        return faiss.SearchParametersPreTransform(index_params=_parameters(index.index, nprobe, ef_search))
    if isinstance(index, faiss.IndexRefine):
        return faiss.IndexRefineSearchParameters(base_index_params=_parameters(index.base_index, nprobe, ef_search))
    if isinstance(index, faiss.IndexHNSW):
        return faiss.SearchParametersHNSW(efSearch=ef_search)
    if not isinstance(index, faiss.IndexIVF):
        return None
    nprobe = min(nprobe, index.nlist)
    of_cells = _parameters(index.quantizer, nprobe, max(ef_search, nprobe))
    return faiss.SearchParametersIVF(nprobe=nprobe, **({} if of_cells is None else {"quantizer_params": of_cells}))


def _faiss() -> Any:
    """Return FAISS, whose own types name other arguments than its functions take."""
    import faiss

    return faiss

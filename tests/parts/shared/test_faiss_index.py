from __future__ import annotations

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.types import Floats
from recx.parts.shared import faiss_index as module
from recx.parts.shared.faiss_index import FaissIndex
from recx.parts.shared.vectors import unit

APPROXIMATE = ["HNSW8", "IVF16,Flat", "IVF16_HNSW8,Flat", "IVF16,SQ8", "IVF16,SQ8,RFlat", "PCA8,IVF16,Flat", "SQ8"]


def drawn(n: int = 400, d: int = 12) -> Floats:
    return unit(np.random.default_rng(3).normal(size=(n, d)).astype(np.float32))


def built(stored: Floats, name: str, nprobe: int = 1, ef_search: int = 1) -> FaissIndex:
    return FaissIndex.of(stored, name, nprobe, ef_search, ef_construction=40)


@pytest.mark.parametrize("name", [*APPROXIMATE, "Flat", "HNSW8_SQ8"])
def test_products_are_those_of_the_vectors_whatever_the_index_keeps(name: str) -> None:
    stored = drawn()
    query = unit(stored[:20] + 0.1 * stored[20:40])
    row, product = built(stored, name).propose(query, 30)
    expected = np.where(row >= 0, np.einsum("qd,qnd->qn", query, stored[row]), -np.inf)
    assert product == pytest.approx(expected, abs=1e-6)
    assert (np.diff(np.sort(row, axis=1), axis=1)[row.min(axis=1) >= 0] > 0).all()


@pytest.mark.parametrize("name", APPROXIMATE[:-1])
def test_a_wider_search_finds_more(name: str) -> None:
    """Of an index within another too: the width of a search reaches it."""
    stored = drawn()
    best = np.argsort(-(stored[:50] @ stored.T), axis=1)[:, :10]

    def found(wider: int) -> float:
        row, _ = built(stored, name).propose(stored[:50], 10, wider)
        return float(np.mean([np.isin(row[at], best[at]).mean() for at in range(50)]))

    narrow, wide = found(1), found(400)
    assert wide > narrow
    assert wide > (0.5 if name.startswith("PCA") else 0.98)


def test_a_larger_queue_while_building_makes_a_better_index() -> None:
    stored = drawn(2000, 32)
    best = np.argsort(-(stored[:100] @ stored.T), axis=1)[:, :10]

    def recall(ef_construction: int) -> float:
        row, _ = FaissIndex.of(stored, "HNSW4", 1, 10, ef_construction).propose(stored[:100], 10)
        return float(np.mean([np.isin(row[at], best[at]).mean() for at in range(100)]))

    assert recall(200) > recall(4)


@pytest.mark.parametrize("name", ["HNSV16", "IVF800,Flat", "IVF4,PQ5"])
def test_an_index_that_does_not_work_is_named(name: str) -> None:
    with pytest.raises(InputError, match=rf"retriever.index='{name}' does not work on 400 item vectors: "):
        built(drawn(), name)


@pytest.mark.parametrize("name", ["IVF4,PQ4", "PQ4", "IVF4,PQ4x4", "PCA8,IVF4,PQ4", "PQ4,RFlat", "HNSW8_PQ4"])
def test_few_items_for_a_code_book_are_no_warning(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    built(drawn(300), name)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("name", ["PQ4", "OPQ4,PQ4", "IVF4,PQ4,RFlat", "HNSW8_PQ4"])
def test_codes_are_not_numbered_for_a_search_that_is_never_made(name: str) -> None:
    """It would take seconds, however few the items."""
    assert not module._storage(built(drawn(300), name).built.index).do_polysemous_training

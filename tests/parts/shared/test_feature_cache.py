"""The design matrix is the same with and without the cache, and nothing half-written is kept."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from recx.core.errors import RecxError
from recx.core.ragged import indptr_of
from recx.core.types import Floats, Fold, Interactions, RankedLists, Requests
from recx.parts.feature.columns import Columns
from recx.parts.feature.popularity import Clicks
from recx.parts.shared.design_matrix import Features, design_blocks, design_matrix
from recx.parts.shared.feature_cache import Making
from recx.parts.split.leave_last import LeaveLast
from recx.storage.cache.store import Cache
from recx.testing.tiny_dataset import tiny_world


@dataclass(frozen=True)
class Broken:
    """Is finite for the first lists only."""

    def fit(self, history: Interactions) -> Broken:
        return self

    def __call__(self, candidates: RankedLists, requests: Requests) -> Floats:
        return np.where(candidates.user[candidates.list_of_row] < 10, 1, np.nan).astype(np.float32)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    cache = Cache(tmp_path)
    with cache.used():
        yield cache


@pytest.fixture
def fold(monkeypatch: pytest.MonkeyPatch) -> Fold:
    monkeypatch.setattr("recx.parts.shared.design_matrix.LISTS", 7)  # several blocks
    return LeaveLast().split(tiny_world(), "test").fold


def candidates_of(fold: Fold, length: int) -> RankedLists:
    n = len(fold.requests)
    item = np.tile(np.arange(length, dtype=np.int32), n)
    score = -np.arange(len(item), dtype=np.float32)
    columns = {"one": score, "two": item.astype(np.float32)}
    return RankedLists(fold.requests.user, indptr_of(np.full(n, length)), item, score, columns)


def features_of(*names: str) -> Features:
    return {name: {"clicks": Clicks(), "hour": Clicks(window="1h"), "columns": Columns()}[name] for name in names}


def blocks_in(path: Path) -> Iterator[Floats]:
    with path.open("rb") as file:
        while file.tell() < path.stat().st_size:
            yield np.load(file)


def left(cache: Cache) -> list[str]:
    return sorted(path.name for path in cache.folder.glob("??/*") if path.suffix)


@pytest.mark.parametrize("length", [0, 1, 6])
def test_the_matrix_is_the_same_to_the_bit(length: int, fold: Fold, cache: Cache, tmp_path: Path) -> None:
    features, candidates = features_of("clicks", "columns", "hour"), candidates_of(fold, length)
    first = design_matrix(features, candidates, fold.history, fold.requests)
    assert cache.hits["features"] == 0
    second = design_matrix(features, candidates, fold.history, fold.requests)
    assert cache.hits["features"] == 3
    np.testing.assert_array_equal(first, second, strict=True)
    fewer = design_matrix(features_of("hour", "columns"), candidates, fold.history, fold.requests)
    np.testing.assert_array_equal(fewer, first[:, [3, 1, 2]])
    assert left(cache) == []
    stored = [sum(values.size for values in blocks_in(path)) for path in tmp_path.rglob("values.npy")]
    assert sorted(stored) == [len(candidates), len(candidates), 2 * len(candidates)]


def test_a_pass_that_fails_or_is_broken_off_keeps_nothing(fold: Fold, cache: Cache) -> None:
    candidates = candidates_of(fold, 6)
    with pytest.raises(RecxError, match="feature broken is nan"):
        design_matrix({"clicks": Clicks(), "broken": Broken()}, candidates, fold.history, fold.requests)
    blocks = design_blocks(features_of("clicks"), candidates, fold.history, fold.requests)
    next(blocks)
    blocks.close()  # type: ignore[attr-defined]
    assert [path for path in cache.folder.rglob("*") if path.is_file()] == []


def test_on_a_full_disk_the_matrix_is_whole_and_nothing_is_kept(
    fold: Fold, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidates = candidates_of(fold, 6)
    expected = design_matrix(features_of("hour"), candidates, fold.history, fold.requests)

    def full(self: Making, content: bytes) -> None:
        self.errors.append(OSError(errno.ENOSPC, "No space left on device"))

    monkeypatch.setattr(Making, "_write", full)
    again = design_matrix(features_of("clicks", "hour"), candidates, fold.history, fold.requests)
    np.testing.assert_array_equal(again[:, 1:], expected)
    assert len(list(cache.folder.rglob("values.npy"))) == 1
    assert left(cache) == []


def test_other_requests_have_other_numbers(fold: Fold, cache: Cache) -> None:
    assert fold.requests.time is not None
    candidates = candidates_of(fold, 6)
    design_matrix(features_of("clicks"), candidates, fold.history, fold.requests)
    earlier = Requests(fold.requests.user, fold.requests.time - 3_600_000)
    found = design_matrix(features_of("clicks"), candidates, fold.history, earlier)
    assert cache.hits["features"] == 0
    expected = Clicks().fit(fold.history)(candidates, earlier)
    np.testing.assert_array_equal(found[:, 0], expected)

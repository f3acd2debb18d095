from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.parts.feature.retrieval import ListLength, Rank, Score


def slow(world: object, source: str | None, kind: str, smoothing: float = 10.0) -> list[float]:
    lists = world.candidates  # type: ignore[attr-defined]
    found = []
    for start, stop in zip(lists.indptr[:-1], lists.indptr[1:], strict=True):
        if source is None:
            column = list(lists.score[start:stop]) if kind == "score" else list(range(1, stop - start + 1))
        else:
            column = list(lists.columns[f"{source}_{kind}"][start:stop])
        known = [abs(value) for value in column if not math.isnan(value)]
        for value in column:
            if math.isnan(value):
                found.append(0.0)
            elif kind == "score":
                found.append(value / max(known) if max(known) > 0 else 0.0)
            else:
                found.append(1 / (smoothing + value))
    return found


@pytest.mark.parametrize("source", [None, "item_knn", "popularity"])
@pytest.mark.parametrize("seed", range(3))
def test_they_are_what_a_loop_finds(world: Callable, source: str | None, seed: int) -> None:
    made = world(seed)
    score = Score(source).fit(made.history)(made.candidates, made.requests)
    rank = Rank(source, smoothing=4).fit(made.history)(made.candidates, made.requests)
    assert score == pytest.approx(slow(made, source, "score"), rel=1e-5)
    assert rank == pytest.approx(slow(made, source, "rank", 4), rel=1e-5)


def test_a_source_that_is_not_there_gives_zeros(world: Callable) -> None:
    made = world(0)
    for feature in (Score("ease"), Rank("ease")):
        assert not feature.fit(made.history)(made.candidates, made.requests).any()


def test_a_list_of_zero_scores_stays_zero(world: Callable) -> None:
    made = world(0)
    lists = replace(made.candidates, score=np.zeros(len(made.candidates), np.float32))
    assert not Score().fit(made.history)(lists, made.requests).any()


def test_a_smoothing_that_could_divide_by_zero_is_refused() -> None:
    with pytest.raises(InputError, match="smoothing=-1"):
        Rank(smoothing=-1.0)


def test_the_length_of_a_list_is_that_of_all_its_rows_as_a_logarithm(world) -> None:
    made = world(0)
    found = ListLength().fit(made.history)(made.candidates, made.requests)
    assert np.exp(found) == pytest.approx(np.repeat(made.candidates.lengths, made.candidates.lengths), rel=1e-6)

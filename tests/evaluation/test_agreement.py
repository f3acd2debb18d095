"""Overlap of two systems' lists: values by hand and of another library, a slow loop, and laws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recx
from recx.core.errors import InputError
from recx.core.evaluation import Evaluation


def table(lists: dict[Any, Any]) -> pd.DataFrame:
    rows = [(user, item, rank) for user, items in lists.items() for rank, item in enumerate(items, start=1)]
    return pd.DataFrame(rows, columns=["user", "item", "rank"])


def values(found: Evaluation) -> dict[str, list[float]]:
    return {name: column.tolist() for name, column in found.values.items()}


def test_three_users_by_hand() -> None:
    """Of two items each, p = 0.5: the same, swapped, none. Swapped: 0 at depth 1, then 1: all but (1 - p)."""
    one, other = table({1: "ab", 2: "ab", 3: "ab"}), table({2: "ba", 1: "ab", 3: "cd"})
    found = recx.agreement(one, other, persistence=0.5)
    assert found.users.tolist() == [1, 2, 3]
    assert values(found) == {"overlap_at_10": [1, 1, 0], "rbo_at_10": pytest.approx([1, 0.5, 0])}
    assert values(recx.agreement(one, other, 1)) == {"overlap_at_1": [1, 0, 0], "rbo_at_1": pytest.approx([1, 0, 0])}
    assert found.means["overlap_at_10"] == pytest.approx(2 / 3)


def test_the_library_rbo_says_the_same() -> None:
    """What rbo 0.1.3 (PyPI) says: RankingSimilarity(...).rbo_ext(p=0.9)."""
    pairs = {("abcdef", "bacxyz"): 0.560286, ("abcdefg", "bxac"): 0.64575, ("ab", "cd"): 0.0, ("abcd", "abcd"): 1.0}
    one, other = (table({str(pair): pair[side] for pair in pairs}) for side in (0, 1))
    found = recx.agreement(one, other, None)
    assert found.values["rbo"] == pytest.approx(list(pairs.values()), rel=1e-12)
    assert found.values["overlap"] == pytest.approx([3 / 6, 3 / 7, 0, 1])


def slow(one: list[int], other: list[int], p: float) -> float:
    """Webber, Moffat, Zobel 2010, equation 32."""
    short, long = sorted((one, other), key=len)
    s, n = len(short), len(long)
    shared = [0, *(len(set(short[:d]) & set(long[:d])) for d in range(1, n + 1))]
    seen = sum(shared[d] / d * p**d for d in range(1, n + 1))
    unseen = sum(shared[s] * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1))
    return (1 - p) / p * (seen + unseen) + ((shared[n] - shared[s]) / n + shared[s] / s) * p**n


LIST = st.lists(st.integers(0, 9), unique=True, min_size=1, max_size=8)


@given(
    lists=st.lists(st.tuples(LIST, LIST), min_size=1, max_size=4),
    k=st.none() | st.integers(1, 9),
    p=st.sampled_from([0.1, 0.5, 0.9, 0.99]),
)
def test_it_equals_a_slow_loop_and_is_symmetric(
    lists: list[tuple[list[int], list[int]]], k: int | None, p: float
) -> None:
    one, other = (table({user: pair[side] for user, pair in enumerate(lists)}) for side in (0, 1))
    found = recx.agreement(one, other, k, persistence=p)
    name = "rbo" if k is None else f"rbo_at_{k}"
    assert found.values[name] == pytest.approx([slow(a[:k], b[:k], p) for a, b in lists], abs=1e-12)
    back = recx.agreement(other, one, k, persistence=p)
    assert {key: pytest.approx(column, abs=1e-12) for key, column in values(back).items()} == values(found)
    assert values(recx.agreement(one, one, k))[name] == pytest.approx([1.0] * len(lists))


def test_users_with_one_list_are_left_out_and_counted() -> None:
    found = recx.agreement(table({1: "a", 2: "a", 3: "b"}), table({2: "a", 9: "b"}))
    assert found.users.tolist() == [2]
    assert found.notes == {"users_only_in_one": 2, "users_only_in_other": 1}


def test_files_and_runs(tmp_path: Path) -> None:
    table({1: "ab", 2: "ab"}).rename(columns={"item": "sku"}).to_csv(tmp_path / "one.csv", index=False)

    class Run:
        recommendations = table({1: "ab", 2: "ba"}).assign(score=0.0)

    found = recx.agreement(tmp_path / "one.csv", Run(), 1, columns={"item": "sku"})
    assert found.values["overlap_at_1"].tolist() == [1, 0]


def test_mistakes_end_in_one_sentence() -> None:
    one = table({1: "ab"})
    with pytest.raises(InputError, match=r"no user in common \(such as 1 and 2\)"):
        recx.agreement(one, table({2: "ab"}))
    with pytest.raises(InputError, match="other: a list has an item twice"):
        recx.agreement(one, table({1: "aa"}))
    with pytest.raises(InputError, match=r"persistence"):
        recx.agreement(one, one, persistence=1.0)
    with pytest.raises(InputError, match="k"):
        recx.agreement(one, one, 0)

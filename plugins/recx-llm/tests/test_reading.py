"""Whatever a model answers, an order is a permutation, and what is counted adds up."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from recx_llm.reading import DOUBLED, FOREIGN, MISSING, grade_in, numbers_in, order_of, windows

ANYTHING = some.one_of(some.integers(-2, 12), some.booleans(), some.none(), some.text(), some.floats())


@given(some.lists(ANYTHING, max_size=20), some.integers(1, 10))
def test_an_order_is_a_permutation_and_its_counts_add_up(answer: list[Any], n: int) -> None:
    tally = Counter[str]()
    order = numbers_in(json.dumps(answer), n, tally)
    known = [one for one in answer if type(one) is int and 1 <= one <= n]
    if not known:
        assert order is None
        assert not tally
        return
    assert order is not None
    assert sorted(order) == list(range(n))
    assert order[: n - tally[MISSING]] == [one - 1 for one in dict.fromkeys(known)]
    assert order[n - tally[MISSING] :] == sorted(order[n - tally[MISSING] :])
    assert len(answer) == n - tally[MISSING] + tally[DOUBLED] + tally[FOREIGN]


@given(some.text())
def test_any_text_is_an_order_a_grade_or_neither(text: str) -> None:
    assert numbers_in(text, 5, Counter()) is None or text.strip().startswith(("[", "`", "<", "{"))
    grade = grade_in(text)
    assert grade is None or 0 <= grade <= 10


@pytest.mark.parametrize("text", ["7", "7.0", " 7\n", "```\n7\n```", '{"grade": 7}', "<think>\n9? 8?\n</think>\n\n7"])
def test_a_grade_is_read(text: str) -> None:
    assert grade_in(text) == 7


@given(some.lists(some.one_of(some.none(), some.integers(0, 10)), max_size=20))
def test_grades_order_what_has_one_and_leave_the_rest_where_it_is(grades: list[float | None]) -> None:
    order = order_of(grades)
    assert sorted(order) == list(range(len(grades)))
    assert all(order[place] == place for place, grade in enumerate(grades) if grade is None)
    graded = [place for place in order if grades[place] is not None]
    assert graded == sorted(graded, key=lambda place: (-(grades[place] or 0), place))


@given(some.integers(0, 60), some.integers(2, 20), some.data())
def test_windows_overlap_from_the_end_to_the_beginning(n: int, window: int, data: some.DataObject) -> None:
    stride = data.draw(some.integers(1, window - 1))
    made = list(windows(n, window, stride))
    if n < 2:
        assert made == []
        return
    assert made[0][1] == n
    assert made[-1][0] == 0
    for (start, stop), (earlier, end) in pairwise(made):
        assert stop - start == window
        assert stop - end == stride
        assert earlier < start < end  # so that the best of one window is in the next


@pytest.mark.parametrize(
    ("n", "window", "stride", "made"),
    [
        (100, 20, 10, [(start, start + 20) for start in range(80, -10, -10)]),
        (25, 20, 10, [(5, 25), (0, 15)]),
        (20, 20, 10, [(0, 20)]),
        (6, 3, 3, [(3, 6), (0, 3)]),
    ],
)
def test_the_windows_are_those_of_the_paper(n: int, window: int, stride: int, made: list[tuple[int, int]]) -> None:
    """Nine of 20 over 100 candidates, as in Sun et al. 2023."""
    assert list(windows(n, window, stride)) == made

"""What a function made of an input is kept as long as the input lives."""

from __future__ import annotations

import gc
import weakref

import pytest

from recx.core.memo import once_per_input


class Input:
    pass


@pytest.mark.parametrize("rest", [(), (2,)])
def test_what_was_made_of_an_input_is_kept_while_it_lives(rest: tuple[int, ...]) -> None:
    made = []

    @once_per_input
    def count(first: Input, *settings: int) -> int:
        made.append(settings)
        return len(made)

    given = Input()
    assert [count(given, *rest), count(given, *rest), count(given, 3)] == [1, 1, 2]
    assert made == [rest, (3,)]
    gone = weakref.ref(given)
    del given
    gc.collect()
    assert gone() is None


def test_what_cannot_be_hashed_is_compared_by_identity() -> None:
    made = []

    @once_per_input
    def count(first: Input, settings: list[int]) -> int:
        made.append(settings)
        return len(made)

    given, one, equal = Input(), [1], [1]
    assert [count(given, one), count(given, equal), count(given, one), count(given, equal)] == [1, 2, 1, 2]

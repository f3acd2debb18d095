"""What is made of a history answers for the users of another; what does not say how is refused, never guessed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

from recx.core.per_user import ForUsers, NotPerUserError, for_users
from recx.core.types import Interactions
from recx.parts.feature.fitted import FittedWith
from recx.parts.feature.popularity import Clicks
from recx.parts.retriever.given import Given
from recx.parts.retriever.popularity import Popularity
from recx.parts.retriever.random import Random
from recx.parts.retriever.union import FittedUnion, Union
from recx.parts.shared.sequences import Sequences, sequences

EVENTS = pd.DataFrame({"user": [0, 0, 1, 2], "item": [0, 1, 1, 2], "time": [1, 2, 5, 7]})
MANY = Interactions.from_frame(EVENTS, relative_times=True)
ONE = replace(
    MANY,
    indptr=np.array([0, 2]),
    item=np.array([2, 0], dtype=np.int32),
    time=np.array([3, 4]),
    weight=MANY.weight[:2],
    users=replace(MANY.users, ids=np.array([9])),
)


@dataclass(frozen=True)
class Foreign:
    """A class of which it is not known whether its array is of users."""

    of: np.ndarray


def test_sequences_are_those_of_the_other_users_and_counts_stay() -> None:
    counts = np.array([1, 2, 1])
    moved = ForUsers(ONE)((sequences(MANY), counts, "text", None, 3))
    assert moved[0].item.tolist() == [2, 0]
    assert moved[1] is counts
    assert moved[2:] == ("text", None, 3)


def test_what_was_one_object_stays_one() -> None:
    known = sequences(MANY)
    one, other = ForUsers(ONE)([FittedWith(Clicks(), (known, 1)), FittedWith(Clicks(), known)])
    assert isinstance(other.known, Sequences)
    assert one.known[0] is other.known


def test_what_says_nothing_of_users_is_the_same_object() -> None:
    fitted = FittedWith(Clicks(), {"clicks": np.zeros(3)})
    assert ForUsers(ONE)(fitted) is fitted


@pytest.mark.parametrize("value", [Foreign(np.zeros(3)), (1, Foreign(np.zeros(3))), object(), MANY])
def test_what_is_not_known_is_refused(value: object) -> None:
    with pytest.raises(NotPerUserError):
        ForUsers(ONE)(value)


def test_a_union_needs_sources_that_do_not_read_the_numbers_of_users() -> None:
    def union(**sources: object) -> FittedUnion:
        return FittedUnion(Union(sources), sources)  # type: ignore[arg-type]

    assert set(for_users(union(a=Popularity()), ONE).sources) == {"a"}
    for source in (Random(), Given()):
        with pytest.raises(NotPerUserError, match="has no method for_users"):
            for_users(union(a=Popularity(), b=source), ONE)

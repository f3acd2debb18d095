from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.errors import InputError
from recx.core.seen_events import FILE, SeenEvents
from recx.core.types import Interactions

ROWS = [("u", "a", 1), ("u", "b", 2), ("u", "a", 3), ("v", "c", 2), ("w", "a", 9)]


def events(rows: list[Any], timed: bool = True) -> Interactions:
    frame = pd.DataFrame(rows, columns=["user", "item", "time"]).astype({"time": np.int64})
    return Interactions.from_frame(frame if timed else frame.drop(columns="time"))


def rows(*numbers: int) -> list[tuple[str, str, int]]:
    return [ROWS[number] for number in numbers]


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize(
    ("seen", "history", "outside"),
    [
        (rows(0, 1, 2, 3, 4), rows(0, 1, 2, 3, 4), 0),
        (rows(0, 1, 3), rows(0, 1, 2, 3, 4), 0),  # the steps before
        (rows(1, 2), rows(0, 1, 2), 0),  # the data has got earlier events since
        (rows(4, 3), rows(3, 4, 0), 0),  # users and items have other numbers
        (rows(0, 1, 2, 3, 4), rows(0, 1, 3, 4), 1),  # one event more of u
        (rows(0, 1, 2, 3, 4), rows(0, 1), 3),  # and users that are not there
        (rows(0, 1), [("u", "a", 1), ("u", "c", 2)], 1),  # as many events, but others
        (rows(3), [("v", "b", 2)], 1),
        (rows(3), [], 1),
        ([], rows(0), 0),
    ],
)
def test_it_tells_of_how_many_users_events_are_not_there(
    seen: list[Any], history: list[Any], outside: int, timed: bool
) -> None:
    assert SeenEvents.of(events(seen, timed)).users_outside(events(history, timed)) == outside


def test_another_time_is_another_event() -> None:
    seen = SeenEvents.of(events([("u", "a", 1)]))
    assert seen.users_outside(events([("u", "a", 2)])) == 1
    assert seen.users_outside(events([("u", "a", 1)], timed=False)) == 1


CLICKS = st.lists(st.tuples(st.sampled_from("uvw"), st.sampled_from("ab"), st.integers(0, 5)), max_size=8)


@given(CLICKS, CLICKS)
def test_it_is_what_a_loop_finds(seen: list[Any], history: list[Any]) -> None:
    def of(rows: list[Any], user: str) -> list[Any]:
        return sorted((row for row in rows if row[0] == user), key=lambda row: row[2])

    def inside(user: str) -> bool:
        few, many = of(seen, user), of(history, user)
        windows = [many[start : start + len(few)] for start in range(len(many) - len(few) + 1)]
        return any(sorted(few) == sorted(window) for window in windows)

    expected = sum(not inside(user) for user in {row[0] for row in seen})
    assert SeenEvents.of(events(seen)).users_outside(events(history)) == expected


def test_the_statement_has_counts_and_a_digest_of_the_events() -> None:
    said = SeenEvents.of(events(ROWS)).statement()
    assert {name: said[name] for name in ("users", "events", "last_event_ms")} == {
        "users": 3,
        "events": 5,
        "last_event_ms": 9,
    }
    assert said == SeenEvents.of(events(ROWS[::-1])).statement()
    assert said["digest"] != SeenEvents.of(events([*ROWS[:4], ("w", "b", 9)])).statement()["digest"]
    assert SeenEvents.of(events(ROWS, timed=False)).statement()["last_event_ms"] is None


@pytest.mark.parametrize("timed", [True, False])
def test_what_was_saved_says_the_same(timed: bool, tmp_path: Path) -> None:
    seen = SeenEvents.of(events(ROWS, timed))
    seen.save(tmp_path)
    assert SeenEvents.load(tmp_path).statement() == seen.statement()


@pytest.mark.parametrize("damage", ["missing", "short", "no archive", "types", "counts", "order", "more than there is"])
def test_a_file_that_is_not_there_or_damaged_is_refused(damage: str, tmp_path: Path) -> None:
    seen, file = SeenEvents.of(events(ROWS)), tmp_path / FILE
    seen.save(tmp_path)
    match damage:
        case "missing":
            file.unlink()
        case "short":
            file.write_bytes(file.read_bytes()[:-30])
        case "no archive":
            file.write_bytes(b"nothing")
        case "types":
            np.save(file, np.zeros(3))
        case "counts":
            replace(seen, count=seen.count * 0).save(tmp_path)
        case "more than there is":
            file.write_bytes(file.read_bytes().replace(b"(3,)", b"(3000000000000,)", 1))
        case "order":
            replace(seen, user=seen.user[::-1]).save(tmp_path)
    said = "does not tell which events" if damage == "missing" else "is damaged"
    with pytest.raises(InputError, match=said):
        SeenEvents.load(tmp_path)

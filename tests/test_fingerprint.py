"""Keys tell apart whatever could change an outcome, and nothing else."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from recx.feature.popularity import Clicks
from recx.fingerprint import NoKeyError, is_known, key_of, key_of_part, know
from recx.ranker.callable import Callable
from recx.ranker.linear import Linear
from recx.retriever.item_knn import ItemKNN
from recx.retriever.popularity import Popularity
from recx.retriever.union import Union
from recx.split.leave_last import LeaveLast
from recx.tiny import tiny_world


@dataclass(frozen=True)
class Reads:
    path: str
    note: str = ""


@dataclass(frozen=True)
class Holds:
    inner: Any


@dataclass(frozen=True)
class Unkept:
    cacheable: ClassVar[bool] = False


DIFFERENT: list[Any] = [
    None,
    0,
    False,
    0.0,
    "0",
    "",
    [],
    [[]],
    {},
    [0, 1],
    [[0], 1],
    [0, [1]],
    (1, 0),
    {"a": 1, "b": 2},
    {"b": 2, "a": 1},
    float("inf"),
    ["ab", "c"],
    ["a", "bc"],
    np.arange(3),
    np.arange(3, dtype=np.int32),
    np.arange(3.0),
    np.array([[0, 1, 2]]),
    np.array(["ab", "c"]),
    np.array(["a", "bc"]),
    np.array(["a", "bc"], dtype=object),
]


def test_different_values_have_different_keys() -> None:
    assert len({key_of(value) for value in DIFFERENT}) == len(DIFFERENT)
    assert len({key_of(value, 1) for value in DIFFERENT} | {key_of(value) for value in DIFFERENT}) == 2 * len(DIFFERENT)


def test_equal_values_have_one_key() -> None:
    assert [key_of(value) for value in DIFFERENT] == [key_of(value) for value in DIFFERENT]
    assert key_of(tiny_world(seed=1)) == key_of(tiny_world(seed=1)) != key_of(tiny_world(seed=2))


def test_every_array_of_the_data_counts() -> None:
    world = tiny_world(slates=True)
    assert world.time is not None
    assert world.slates is not None
    changed = [
        replace(world, weight=world.weight * 2),
        replace(world, time=world.time + 1),
        replace(world, items=replace(world.items, table={})),
        replace(world, items=replace(world.items, embedding=None)),
        replace(world, users=replace(world.users, names=world.users.ids)),
        replace(world, slates=replace(world.slates, score=world.slates.score + 1)),
        replace(world, notes={"a": 1}),
    ]
    assert len({key_of(one) for one in [world, *changed]}) == len(changed) + 1


def test_what_a_stage_made_has_the_stages_key_and_so_has_all_within_it() -> None:
    split = LeaveLast().split(tiny_world(), "test")
    same = LeaveLast().split(tiny_world(), "test")
    assert key_of(split.fold.history) == key_of(same.fold.history)
    other = LeaveLast().split(tiny_world(seed=1), "test")
    assert not is_known(other.fold)
    know(other, "a-key")
    assert is_known(other.fold)
    assert is_known(other.fold.history.items)
    assert key_of(other.fold.history) != key_of(other.fold.target) != key_of(split.fold.target)


def test_two_splits_with_equal_counts_never_share_a_key() -> None:
    world = tiny_world()
    shifted = replace(world, item=world.item[::-1].copy())
    one, other = (LeaveLast().split(events, "test") for events in (world, shifted))
    assert one.notes.keys() == other.notes.keys()
    assert key_of(one.fold.requests) != key_of(one.fold.history) != key_of(other.fold.history)


def test_settings_count_in_nested_parts_too() -> None:
    unions = [
        Union({"a": Popularity()}),
        Union({"a": ItemKNN()}),
        Union({"a": ItemKNN(last=3)}),
        Union({"b": ItemKNN()}),
    ]
    linear = [Linear({"a": Clicks()}), Linear({"a": Clicks()}, l2=0.1), Linear({"a": Clicks(window="1h")})]
    assert len({key_of_part(part) for part in [*unions, *linear]}) == len(unions) + len(linear)
    assert key_of_part(Linear({"a": Clicks()})) == key_of_part(linear[0])


def test_files_count_by_content_wherever_they_lie(tmp_path: Path) -> None:
    def part(folder: str, text: str, name: str = "clicks.csv") -> Reads:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text)
        return Reads(str(tmp_path / folder))

    one, same, other = part("a", "1,2"), part("b", "1,2"), part("c", "1,3")
    assert key_of_part(one) == key_of_part(same) != key_of_part(other)
    assert key_of_part(part("d", "1,2", "other.csv")) != key_of_part(one)
    file, copy = tmp_path / "a" / "clicks.csv", tmp_path / "b" / "clicks.csv"
    assert key_of_part(Reads(str(file))) == key_of_part(Reads(str(copy)))
    assert key_of_part(Holds([{"in": Reads("", str(file))}])) == key_of_part(Holds([{"in": Reads("", str(copy))}]))
    before = file.stat()
    os.utime(copy, ns=(before.st_atime_ns + 10**9, before.st_mtime_ns + 10**9))
    assert key_of_part(one) == key_of_part(same)
    file.write_text("1,9")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert key_of_part(one) != key_of_part(same)


def test_a_path_that_is_not_there_is_a_text() -> None:
    assert key_of_part(Reads("no/such")) != key_of_part(Reads("no/other"))
    assert key_of_part(Reads("long/" * 2000)) != key_of_part(Reads("nul/\0"))


def test_what_has_no_content_has_no_key() -> None:
    for value in (len, lambda: 1, object(), np.array([object()]), Holds(len)):
        with pytest.raises(NoKeyError):
            key_of(value)


def test_a_part_may_say_that_it_cannot_be_kept() -> None:
    for part in (Unkept(), Holds({"a": [Unkept()]}), Callable()):
        with pytest.raises(NoKeyError, match="cannot be kept"):
            key_of_part(part)

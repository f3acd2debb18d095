"""Keys tell apart whatever could change an outcome, and nothing else."""

from __future__ import annotations

import copy
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.parts.dataset.judged import Judged
from recx.parts.feature.popularity import Clicks
from recx.parts.ranker.callable import Callable
from recx.parts.ranker.linear import Linear
from recx.parts.retriever.item_knn import ItemKNN
from recx.parts.retriever.popularity import Popularity
from recx.parts.retriever.union import Union
from recx.parts.split.leave_last import LeaveLast
from recx.storage.cache import keys
from recx.storage.cache.keys import NoKeyError, is_known, key_of, key_of_part, know
from recx.testing.tiny_dataset import tiny_world


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


def test_an_empty_path_names_nothing(here: Path) -> None:
    before = key_of_part(Reads(""))
    (here / "clicks.csv").write_text("1,2")  # the working directory is not what an empty path names
    assert key_of_part(Reads("")) == before != key_of_part(Reads("."))


def test_a_dot_names_the_working_directory_alone(here: Path) -> None:
    """Not the folder of the part's module, nor those above it, with all that lies in them."""
    (here / "clicks.csv").write_text("1,2")
    assert keys._paths_of(Path(), (str(here.parent), str(Path(__file__).parent))) == [Path()]


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


def test_a_sign_is_no_path() -> None:
    """``/`` is there, but a part that has it between columns does not read the whole disk."""
    assert len({key_of_part(Reads("", sign)) for sign in ("/", "//", "~", "./", "../", "~/")}) == 6


def test_a_path_that_is_not_there_is_a_text() -> None:
    assert key_of_part(Reads("no/such")) != key_of_part(Reads("no/other"))
    assert key_of_part(Reads("long/" * 2000)) != key_of_part(Reads("nul/\0"))


def test_what_has_no_content_has_no_key() -> None:
    for value in (len, lambda: 1, object(), np.array([object()]), Holds(len)):
        with pytest.raises(NoKeyError):
            key_of(value)


def test_a_part_may_declare_that_it_is_not_cacheable() -> None:
    for part in (Unkept(), Holds({"a": [Unkept()]}), Callable()):
        with pytest.raises(NoKeyError, match="is not cacheable"):
            key_of_part(part)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.sampled_from([0.0, -0.0, 1.0, 1e9])
    | st.text("a1/~{[:", max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_two_values_share_a_key_only_if_they_are_the_same_in_type_order_and_shape(one: Any, other: Any) -> None:
    assert (key_of(one) == key_of(other)) is (repr(one) == repr(other))
    assert (key_of_part(Holds(one)) == key_of_part(Holds(other))) is (repr(one) == repr(other))
    assert key_of(one, other) != key_of([one, other]) != key_of(one)


@given(st.data())
def test_two_worlds_share_a_key_only_if_every_number_is_the_same(data: Any) -> None:
    """Also those with equal counts: what is swapped, moved by one or in another order is another outcome's input."""
    world = tiny_world(slates=True)
    name = data.draw(st.sampled_from(["item", "time", "weight", "indptr"]))
    array = getattr(world, name).copy()
    place = data.draw(st.integers(0, len(array) - 2))
    array[[place, place + 1]] = array[[place + 1, place]]
    changed = _unchecked(world, name, array)
    assert (key_of(changed) == key_of(world)) is bool(np.array_equal(array, getattr(world, name)))
    array[place] += 1
    assert key_of(_unchecked(world, name, array)) != key_of(world)


def _unchecked(world: Any, name: str, array: Any) -> Any:
    """Return the same data with another array, whether it keeps the promises of the type or not."""
    changed = copy.copy(world)
    object.__setattr__(changed, name, array)
    return changed


@dataclass(frozen=True)
class Named:
    model: str = ""
    files: tuple[str, ...] = ()
    by: dict[str, Any] = field(default_factory=dict)
    kept_in: str = ""
    written: ClassVar = ("kept_in",)

    @property
    def depends_on(self) -> list[Any]:
        return [Path(self.model)] if self.model else []


def test_a_file_counts_wherever_a_setting_names_it(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(here))
    (here / "sub").mkdir()
    file = here / "sub" / "one.csv"
    parts = [
        Reads("sub/one.csv"),
        Reads("sub"),
        Reads("~/sub"),
        Reads("~/sub/one.csv"),
        Reads("", "sub/one.csv"),
        Reads("", "./sub/../sub"),
        Named("sub"),
        Named(files=("x", "sub/one.csv")),
        Named(by={"a": [{"b": "sub/one.csv"}]}),
        Holds(Path("sub")),
        Union({"a": Holds({"b": Reads("sub")})}),  # type: ignore[dict-item]
    ]
    keys = []
    for content in ("1", "2", "1"):
        file.write_text(content)
        keys.append([key_of_part(part) for part in parts])
    assert keys[0] == keys[2]
    assert not set(keys[0]) & set(keys[1])
    monkeypatch.chdir("sub")
    assert key_of_part(Reads("one.csv")) == keys[0][0]
    assert key_of_part(Reads("no.csv")) != key_of_part(Reads("none.csv"))


def test_a_folder_counts_by_every_name_and_byte_in_it(here: Path) -> None:
    def key(name: str) -> str:
        return key_of_part(Reads(str(here / name)))

    made = {
        "plain": {"a": "1", "b": "2"},
        "swapped": {"a": "2", "b": "1"},
        "renamed": {"a": "1", "c": "2"},
        "deeper": {"a": "1", "sub/b": "2"},
        "more": {"a": "1", "b": "2", "c": ""},
        "joined": {"a": "12", "b": ""},
    }
    for name, files in made.items():
        for file, content in files.items():
            (here / name / file).parent.mkdir(parents=True, exist_ok=True)
            (here / name / file).write_text(content)
    assert len({key(name) for name in made}) == len(made)
    (here / "linked").mkdir()
    (here / "linked" / "sub").symlink_to(here / "deeper" / "sub")
    (here / "linked" / "a").symlink_to(here / "deeper" / "a")
    (here / "linked" / "again").symlink_to(here / "linked")
    assert key("linked") == key("deeper")
    (here / "deeper" / "sub" / "b").write_text("3")
    assert key("linked") == key("deeper")


def test_what_runs_write_beside_the_data_is_no_data(here: Path) -> None:
    (here / "clicks.csv").write_text("1")
    before = key_of_part(Reads("."))
    (here / "outputs" / "cache").mkdir(parents=True)
    (here / "outputs" / "cache" / "file").write_text("1")
    assert key_of_part(Reads(".")) == before
    assert key_of_part(Reads("outputs")) != before
    (here / "outputs" / "cache" / "file").write_text("2")
    assert key_of_part(Reads(".")) == before != key_of_part(Reads("outputs"))


def test_what_a_part_only_writes_to_does_not_count(here: Path) -> None:
    part = Named(kept_in="out/model")
    before = key_of_part(part)
    (here / "out" / "model").mkdir(parents=True)
    (here / "out" / "model" / "file").write_text("1")
    assert key_of_part(part) == before != key_of_part(Named(kept_in="out/other"))


def test_what_can_be_read_once_alone_has_no_key(here: Path) -> None:
    os.mkfifo(here / "pipe")
    with pytest.raises(NoKeyError, match="cannot be read twice"):
        key_of_part(Reads(str(here / "pipe")))


def test_a_state_that_is_no_setting_has_no_key() -> None:
    part = Reads("x")
    object.__setattr__(part, "hidden", 1)
    with pytest.raises(NoKeyError, match="hidden, which is not a setting"):
        key_of_part(part)


def test_the_files_of_judged_documents_count_outside_the_folder_too(here: Path) -> None:
    for name in ("data/queries.csv", "other/grades.csv"):
        (here / name).parent.mkdir()
        (here / name).write_text("1")
    part = Judged("data", grades="../other/grades.csv")
    before = key_of_part(part)
    (here / "other" / "grades.csv").write_text("2")
    assert key_of_part(part) != before

"""Whatever a stage may hand on comes back from files as it was."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from recx.core.errors import InputError
from recx.core.evaluation import Evaluation
from recx.core.graphs import Graphs
from recx.core.types import Fold, Interactions, Requests
from recx.storage import values
from recx.testing.tiny_dataset import tiny_world

NUMBERS = hnp.arrays(
    dtype=st.sampled_from(["f4", "f8", "i4", "i8", "?", "u1"]),
    shape=hnp.array_shapes(min_dims=1, max_dims=2, min_side=0),
)
TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=5).map(
    lambda texts: np.array(texts, object)
)
PLAIN = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(max_size=5)
VALUES = st.recursive(
    PLAIN | NUMBERS | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3) | st.tuples(inner, inner)
    ),
    max_leaves=6,
)


def through_files(value: Any, folder: Path) -> Any:
    folder.mkdir(exist_ok=True)
    values.write(value, folder)
    return values.read(folder)


def assert_same(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other, strict=True)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for name in one:
            assert_same(one[name], other[name])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            assert_same(left, right)
    elif hasattr(one, "__dataclass_fields__"):
        for name in one.__dataclass_fields__:
            assert_same(getattr(one, name), getattr(other, name))
    else:
        assert one == other


@given(VALUES)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    with TemporaryDirectory() as folder:
        assert_same(value, through_files(value, Path(folder)))


def world() -> Interactions:
    graphs = Graphs(
        node_indptr=np.array([0, 2]),
        tool=np.array([-1, 0], np.int32),
        edge_indptr=np.array([0, 1]),
        edge=np.array([[0, 1]], np.int32),
        tools=np.array(["a"], dtype=object),
        texts=np.array(["ä tool"], dtype=np.dtypes.StringDType()),
    )
    tiny = tiny_world(slates=True)
    return replace(tiny, users=replace(tiny.users, graphs=graphs), notes={"rows_dropped": np.int64(3), "share": 0.25})


def test_data_comes_back_as_it_was(tmp_path: Path) -> None:
    events = world()
    assert_same(events, through_files(events, tmp_path))
    report = Evaluation(
        np.array(["a", "b", "c"], dtype=object), {"a/b": np.array([0.1, np.nan, 1.0])}, {"c": float("nan")}
    )
    back = through_files(report, tmp_path / "report")
    np.testing.assert_array_equal(back.values["a/b"], report.values["a/b"])
    assert np.isnan(back.scalars["c"])
    assert back.users.tolist() == ["a", "b", "c"]


def test_what_stands_twice_comes_back_as_one(tmp_path: Path) -> None:
    events = world()
    back = through_files(Fold(events, events.keep(events.item > 3), Requests(np.arange(3, dtype=np.int32))), tmp_path)
    assert back.history.items is back.target.items
    assert back.history.slates is back.target.slates


def test_a_large_array_is_mapped_and_writing_to_it_leaves_the_file_alone(tmp_path: Path) -> None:
    numbers = np.arange(100_000)
    back = through_files(numbers, tmp_path)
    assert isinstance(back.base, np.memmap)
    back[:] = 0
    np.testing.assert_array_equal(values.read(tmp_path), numbers)


def test_an_order_in_memory_is_kept(tmp_path: Path) -> None:
    table = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert through_files(table, tmp_path).flags.f_contiguous


def test_an_array_with_gaps_or_in_reverse_comes_back(tmp_path: Path) -> None:
    table = np.arange(24.0).reshape(2, 3, 4)
    gaps = [table[0, :, ::2], table[0, :, 1], table[1, ::-1], table[:, :, 0].T, table[0, 0, ::-1], table[:, :0, ::2]]
    for number, array in enumerate([*gaps, np.broadcast_to(np.float32(3), (2, 3))]):
        assert_same(array, through_files(array, tmp_path / str(number)))


@pytest.mark.parametrize(
    "value",
    [
        *[{1: 2}, {"a": {1, 2}}, np.array(["a", None], dtype=object), np.array([1, "a"], dtype=object), Path("a"), len],
        *[
            Counter("aab"),
            defaultdict(float, a=1.0),
            np.ma.array([1, 2], mask=[True, False]),
            np.eye(2).view(np.matrix),
        ],
        sparse.csr_array(np.array([1.0, 0.0])),
    ],
    ids=str,
)
def test_what_cannot_be_stored_is_rejected(value: Any, tmp_path: Path) -> None:
    assert not values.is_storable(value)
    with pytest.raises(values.NotStorableError):
        values.write(value, tmp_path)


def test_a_text_that_is_not_unicode_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(values.NotStorableError, match="not Unicode"):
        values.write(np.array(["\ud800"], dtype=object), tmp_path)


def test_nothing_is_pickled(tmp_path: Path) -> None:
    through_files(world(), tmp_path)
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".npy", ".parquet"}


@dataclass(frozen=True, eq=False)
class Part:
    """A part as a plugin may have one."""

    settings: Any
    array: Any = None
    inner: Part | None = None
    derived: int = field(init=False, default=7)


class Boxed:
    """A part with files of its own."""

    def __init__(self, text: str) -> None:
        self.text = text

    def save(self, folder: Path) -> None:
        (folder / "text.txt").write_text(self.text)

    @classmethod
    def load(cls, folder: Path) -> Boxed:
        return cls((folder / "text.txt").read_text())


@dataclass(frozen=True)
class Strict:
    """A part that checks what was read."""

    n: int

    def check_read(self) -> None:
        if self.n < 0:
            raise ValueError("below 0")


class Plain:
    """No part."""


def here(path: str) -> type:
    kinds = {f"{kind.__module__}.{kind.__qualname__}": kind for kind in (Part, Boxed, Strict)}
    if path not in kinds:
        raise InputError(f"{path} is no part")
    return kinds[path]


def part_through_files(value: Any, folder: Path) -> Any:
    values.write(value, folder, here)
    return values.read(folder, here)


def test_a_part_comes_back_with_its_arrays_and_parts(tmp_path: Path) -> None:
    shared = np.arange(3)
    part = Part({"k": 3, "names": ("a", "b")}, shared, Part((), shared))
    back = part_through_files({"one": part, "again": part}, tmp_path)
    assert back["one"] is back["again"]
    assert back["one"].settings == part.settings
    assert back["one"].array is back["one"].inner.array
    assert back["one"].derived == 7
    assert back["one"].inner.inner is None


def test_a_part_with_files_of_its_own_writes_them_once(tmp_path: Path) -> None:
    box = Boxed("ä")
    back = part_through_files([Part(box), Part(box)], tmp_path)
    assert back[0].settings is back[1].settings
    assert back[0].settings.text == "ä"
    assert len(list(tmp_path.glob("*.part"))) == 1


def test_sparse_arrays_come_back_as_they_were(tmp_path: Path) -> None:
    array = sparse.random_array((40, 30), density=0.1, rng=np.random.default_rng(0), format="csr", dtype=np.float32)
    back = through_files(array, tmp_path)
    assert back.shape == array.shape
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(back, name), getattr(array, name), strict=True)


@pytest.mark.parametrize(
    "number", [np.float32(0.1), np.int64(2**60), np.float64("nan"), np.bool_(True), np.uint8(3), np.str_("a")], ids=repr
)
def test_numbers_of_numpy_keep_their_type(number: Any, tmp_path: Path) -> None:
    back = through_files(number, tmp_path)
    assert type(back) is type(number)
    np.testing.assert_array_equal(back, number)


@pytest.mark.parametrize(
    "number",
    [
        *[np.complex64(1), np.datetime64("2020-01-01"), np.datetime64("2020-01-01", "ns"), np.timedelta64(5, "ns")],
        *[np.timedelta64(5), np.bytes_(b"a")],
    ],
    ids=repr,
)
def test_numbers_that_json_does_not_have_are_rejected(number: Any, tmp_path: Path) -> None:
    with pytest.raises(values.NotStorableError):
        values.write(number, tmp_path)


@pytest.mark.parametrize(
    "part",
    [Plain(), Part(Plain()), [Part(1, {"a": {1}})], Part(1, Path("x"))],
    ids=["object", "object in a part", "set", "path"],
)
def test_what_is_no_part_is_rejected_before_anything_is_written(part: Any, tmp_path: Path) -> None:
    assert not values.is_storable(part, here)
    assert values.is_storable(Part(1), here)
    assert not values.is_storable(Part(1))  # no parts
    with pytest.raises(values.NotStorableError):
        values.write(part, tmp_path, here)
    assert not list(tmp_path.glob("*.json"))


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(part="os.system"),
        lambda d: d.update(part=d["part"].replace("Part", "Boxed")),  # no dataclass
        lambda d: d["fields"].update(more=1),
        lambda d: d["fields"].pop("inner"),
        lambda d: d["fields"].update(derived=1),
        lambda d: d["fields"].update(array={"same": d["place"]}),
        lambda d: d["fields"]["inner"].update(place=d["fields"]["array"]["place"]),
        lambda d: d["fields"]["array"].update(array="../0.npy"),
        lambda d: d["fields"]["array"].update(array="0.npy\n"),
        lambda d: d["fields"].update(settings={"scalar": ["O", 1]}),
        lambda d: d["fields"].update(settings={"type": "Nothing", "fields": {}, "place": 9}),
        lambda d: d["fields"].update(settings={"saved": d["part"], "place": 9}),
        lambda d: d["fields"].update(settings={}),
    ],
)
def test_a_changed_structure_is_refused(change: Callable[[Any], None], tmp_path: Path) -> None:
    part_through_files(Part(1, np.arange(3), Part(2)), tmp_path)
    data = json.loads((tmp_path / values.VALUE).read_text())
    change(data)
    (tmp_path / values.VALUE).write_text(json.dumps(data))
    with pytest.raises((InputError, ValueError, TypeError, LookupError, OSError)):
        values.read(tmp_path, here)


def test_a_part_checks_what_was_read(tmp_path: Path) -> None:
    assert part_through_files(Strict(1), tmp_path).n == 1
    (tmp_path / "again").mkdir()
    with pytest.raises(ValueError, match="below 0"):
        part_through_files(Strict(-1), tmp_path / "again")


def test_an_array_of_no_rows_and_a_single_number_come_back(tmp_path: Path) -> None:
    for number, array in enumerate((np.zeros((0, 3)), np.array(5), np.zeros(0, np.int32), np.array([], dtype="U4"))):
        assert_same(array, through_files(array, tmp_path / str(number)))

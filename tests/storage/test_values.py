"""Whatever a stage may hand on comes back from files as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

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


@settings(deadline=None)
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


@pytest.mark.parametrize(
    "value",
    [{1: 2}, {"a": {1, 2}}, np.array(["a", None], dtype=object), np.array([1, "a"], dtype=object), Path("a"), len],
    ids=str,
)
def test_what_cannot_be_stored_is_rejected(value: Any, tmp_path: Path) -> None:
    with pytest.raises(values.NotStorableError):
        values.write(value, tmp_path)


def test_a_text_that_is_not_unicode_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(values.NotStorableError, match="not Unicode"):
        values.write(np.array(["\ud800"], dtype=object), tmp_path)


def test_nothing_is_pickled(tmp_path: Path) -> None:
    through_files(world(), tmp_path)
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".npy", ".parquet"}

"""A program as a retriever: it keeps the promises, its lists are checked, and what may not be shown is counted."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from recx.core.entities import UNKNOWN_TIME
from recx.core.system import child
from recx.parts.retriever.external import External
from recx.parts.retriever.popularity import Popularity
from recx.parts.shared.top_k import Eligibility
from recx.testing import check_retriever, tiny_world
from recx.testing.tiny_dataset import everyone_asks

from ..external_programs import POPULAR, command, in_process


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have what programs leave behind removed with the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the scripts in this process."""
    monkeypatch.setattr(child, "run", in_process)


@pytest.mark.usefixtures("here")
def test_a_program_keeps_the_promises_of_a_retriever_but_is_not_kept() -> None:
    with pytest.raises(AssertionError, match="what an external program has learnt, which is this run's alone"):
        check_retriever(External(command(POPULAR)), tiny_world())  # the last of its checks


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("seen", ["drop", "keep"])
def test_the_most_clicked_items_are_those_of_popularity(seen: str) -> None:
    history, requests = everyone_asks(tiny_world(times=False))
    lists = External(command(POPULAR), seen=seen).fit(history).retrieve(history, requests, 4)  # type: ignore[arg-type]
    expected = Popularity(seen=seen).fit(history).retrieve(history, requests, 4)  # type: ignore[arg-type]
    clicked = history.clicks[lists.item] > 0  # popularity leaves the others out
    np.testing.assert_array_equal(lists.item[clicked], expected.item)
    np.testing.assert_array_equal(lists.score[clicked], expected.score)


def test_the_files_are_those_of_the_page(tmp_path: Path) -> None:
    history, requests = everyone_asks(tiny_world())
    copy = f"import shutil; shutil.copytree(folder, '{tmp_path}/' + told['task'])\nanswer([0], [5], [1])"
    External(command(copy), settings={"a": 1}, seen="keep", seed=4).fit(history).retrieve(history, requests, 7)
    told = json.loads((tmp_path / "retrieve" / "settings.json").read_text())
    expected = {"contract": 1, "task": "retrieve", "k": 7, "seed": 4, "seen": "keep", "settings": {"a": 1}}
    assert {name: told[name] for name in expected} == expected
    assert {path.name for path in (tmp_path / "fit").iterdir()} == {
        *("settings.json", "history.parquet", "users.parquet", "items.parquet")
    }
    tables = {path.stem: pq.read_table(path) for path in (tmp_path / "retrieve").glob("*.parquet")}
    assert {name: table.column_names for name, table in tables.items()} == {
        "history": ["user", "item", "time", "weight"],
        "users": ["id", "group"],
        "items": ["id", "category", "words", "created_at", "embedding", "since"],
        "requests": ["user", "time"],
    }
    np.testing.assert_array_equal(tables["history"]["user"].to_numpy(), history.user)
    np.testing.assert_array_equal(tables["history"]["time"].to_numpy(), history.time)
    since = Eligibility(history, "keep").since
    assert since is not None
    assert tables["items"]["since"].to_pylist() == [None if time == UNKNOWN_TIME else time for time in since.tolist()]
    assert tables["users"]["id"].to_pylist() == [f"u{user:02}" for user in range(30)]
    assert tables["items"]["id"].to_pylist() == list(range(100, 120))

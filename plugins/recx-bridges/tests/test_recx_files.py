"""The reader and writer of the scripts: what they read is what recx wrote, and only what may be shown is written."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from recx_bridges.retriever import SCRIPTS

from recx.plugin import UNKNOWN_TIME, Eligibility, Interactions, Requests
from recx.testing import everyone_asks, tiny_world


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(SCRIPTS)
    import recx_files

    yield recx_files
    sys.modules.pop("recx_files", None)


def write_history(folder: Path, history: Interactions, requests: Requests) -> None:
    """Write the files of a task as docs/how-to/external.md describes them."""
    since = Eligibility(history, "keep").since
    times = None if since is None else pa.array(since, mask=since == UNKNOWN_TIME)
    tables = {
        "history": {"user": history.user, "item": history.item, "time": history.time, "weight": history.weight},
        "users": {"id": history.users.ids},
        "items": {"id": history.items.ids, "since": times, "allowed": requests.allowed},
        "requests": {"user": requests.user, "time": requests.time},
    }
    for name, columns in tables.items():
        table = pa.table({column: values for column, values in columns.items() if values is not None})
        pq.write_table(table, folder / f"{name}.parquet")


def told(folder: Path, **more: Any) -> None:
    settings = {"model": "M", "settings": {}}
    content = {"contract": 1, "task": "retrieve", "model": str(folder), "seed": 0, "threads": 1, "settings": settings}
    (folder / "settings.json").write_text(json.dumps({**content, "k": 4, "seen": "drop", **more}))


@pytest.mark.parametrize("times", [True, False])
@pytest.mark.parametrize("seen", ["drop", "keep"])
def test_tables_of_scores_and_rows_of_a_library_give_the_same_lists(
    files: Any, tmp_path: Path, seen: Any, times: bool
) -> None:
    history, requests = everyone_asks(tiny_world(times=times))
    requests = Requests(requests.user, requests.time, np.arange(history.n_items) != 3)
    write_history(tmp_path, history, requests)
    told(tmp_path, seen=seen, k=history.n_items)
    task = files.Task(tmp_path)
    table = np.random.default_rng(0).random((history.n_users, history.n_items))
    table[:, 5] = np.nan
    task.answer(lambda users: table[users])
    first = pq.read_table(tmp_path / "lists.parquet").to_pandas()
    users = np.repeat(requests.user, history.n_items)
    items = np.tile(np.arange(history.n_items), len(requests))
    task.answer_rows(users, items, table[users, items])
    other = pq.read_table(tmp_path / "lists.parquet").to_pandas()
    shown = ~Eligibility(history, seen).hidden(requests)
    shown[:, 5] = False
    expected = {(requests.user[row], item) for row, item in zip(*np.nonzero(shown), strict=True)}
    for lists in (first, other):
        assert set(zip(lists["user"], lists["item"], strict=True)) == expected
        np.testing.assert_array_equal(lists["score"], table[lists["user"], lists["item"]])


def test_the_best_are_written_in_blocks(files: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history, requests = everyone_asks(tiny_world())
    write_history(tmp_path, history, requests)
    told(tmp_path, seen="keep", k=3)
    monkeypatch.setattr(files, "CELLS", 2 * history.n_items)
    task = files.Task(tmp_path)
    table = np.random.default_rng(0).random((history.n_users, history.n_items))
    known = np.arange(history.n_users) % 3 > 0
    task.answer(lambda users: table[users], known)
    lists = pq.read_table(tmp_path / "lists.parquet").to_pandas()
    shown = ~Eligibility(history, "keep").hidden(requests)
    for row, user in enumerate(requests.user):
        best = np.sort(table[user][shown[row]])[::-1][:3] if known[user] else []
        found = lists[lists["user"] == user]["score"]
        np.testing.assert_array_equal(np.sort(found)[::-1], best)


def test_clicks_are_distinct_pairs(files: Any, tmp_path: Path) -> None:
    history, requests = everyone_asks(tiny_world())
    write_history(tmp_path, history, requests)
    told(tmp_path)
    user, item = files.Task(tmp_path).clicks()
    assert list(zip(user, item, strict=True)) == sorted(set(zip(history.user, history.item, strict=True)))


def test_files_of_another_version_are_refused(files: Any, tmp_path: Path) -> None:
    told(tmp_path, contract=2)
    with pytest.raises(SystemExit, match="knows version 1"):
        files.Task(tmp_path)

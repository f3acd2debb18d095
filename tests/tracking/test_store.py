"""A new sqlite store is what MLflow itself builds, complete or absent, though without waiting for the disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from recx.core.errors import RecxError
from recx.tracking import store
from recx.tracking.store import end_dead_runs, open_client, open_experiment


@pytest.fixture(autouse=True)
def _no_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each store of these tests built, not copied."""
    monkeypatch.setattr(store, "_build", store._build.__wrapped__)  # type: ignore[attr-defined]


def kind(tags: Mapping[str, str]) -> dict[str, str]:
    return {"kind": "training", **tags, "view": "all"}


def schema(file: Path) -> list[tuple[object, ...]]:
    """Return columns and indices of every table, and the version; constraints may be written in any order."""
    with sqlite3.connect(file) as database:
        found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        tables = [name for (name,) in found]
        rows = [(name, *column) for name in tables for column in database.execute(f"PRAGMA table_info({name})")]
        rows += database.execute("SELECT name FROM sqlite_master WHERE type = 'index' ORDER BY name").fetchall()
        rows += database.execute("SELECT version_num FROM alembic_version").fetchall()
    database.close()
    return rows


def test_a_new_store_is_what_mlflow_builds(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.db", tmp_path / "theirs.db"
    open_experiment(f"sqlite:///{ours}", tmp_path / "artifacts", "news", kind)
    open_client(f"sqlite:///{theirs}")
    assert schema(ours) == schema(theirs)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ours.db", "theirs.db"]


def test_only_the_building_does_without_waiting_for_the_disk(tmp_path: Path) -> None:
    client, _ = open_experiment(f"sqlite:///{tmp_path / 'store.db'}", None, "news", kind)
    engine = client._tracking_client.store.engine
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL, as sqlite has it by default
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "delete"


def test_a_store_that_cannot_be_built_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()

    def full(uri: str, name: str | None = None) -> None:
        raise RecxError("no space")

    monkeypatch.setattr("recx.tracking.store.open_client", full)
    with pytest.raises(RecxError, match="no space"):
        open_experiment(f"sqlite:///{folder / 'store.db'}", None, "news", kind)
    assert [path.name for path in folder.iterdir() if not path.name.endswith(".lock")] == []


def test_an_experiment_gets_the_tags_that_it_lacks(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path / 'store.db'}"
    client, experiment = open_experiment(uri, None, "news", lambda tags: {"kind": "old"})
    open_experiment(uri, None, "news", kind)
    assert client.get_experiment(experiment).tags == {"kind": "old", "view": "all"}


@pytest.mark.parametrize("other", [True, False])
@pytest.mark.parametrize("change", ["create_experiment", "set_experiment_tag", "set_tag"])
def test_what_another_process_inserts_at_the_same_time(
    tmp_path: Path, change: str, other: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server lets both try, and refuses the second with the words of its database."""
    from mlflow.exceptions import MlflowException

    uri = f"sqlite:///{tmp_path / 'store.db'}"
    client, experiment = open_experiment(uri, None, "news", lambda tags: {})
    dead = client.create_run(experiment, tags={}).info.run_id
    insert, refused = getattr(client, change), []

    def late(*arguments: Any, **named: Any) -> Any:
        if other or refused:
            insert(*arguments, **named)
        if not refused:
            refused.append(arguments)
            raise MlflowException("UNIQUE constraint failed")

    monkeypatch.setattr(client, change, late)
    monkeypatch.setattr("recx.tracking.store.open_client", lambda uri: client)
    monkeypatch.setattr("recx.tracking.store.is_dead", lambda tags: True)
    with nullcontext() if other else pytest.raises(MlflowException, match="UNIQUE"):
        opened, of_others = open_experiment(uri, None, "others" if change == "create_experiment" else "news", kind)
        end_dead_runs(opened)
        assert opened.get_experiment(of_others).tags["view"] == "all"
        assert opened.get_run(dead).info.status == "KILLED"
    assert len(refused) == 1

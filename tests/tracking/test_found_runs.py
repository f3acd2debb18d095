"""Runs of any store, found by id or name."""

from __future__ import annotations

from pathlib import Path

import pytest

from recx.core.errors import InputError
from recx.tracking.found_runs import find_run, runs_of
from recx.tracking.mlflow import MLflow


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def ids(home: Path) -> list[str]:
    """Return the ids of two runs with one name, and of one with another."""
    found = []
    for name in ("twice", "twice", "it's one"):
        with MLflow(uri=f"sqlite:///{home}/other.db", run_name=name).run("news", {}) as run:
            found.append(run.run_id)
    return found


def test_a_run_is_found_by_the_beginning_of_its_id_or_by_its_name(home: Path, ids: list[str]) -> None:
    uri = f"sqlite:///{home}/other.db"
    for wanted in (ids[2], ids[2][:8], "it's one"):
        found = find_run(uri, wanted)
        assert found is not None
        assert found.id == ids[2]
    assert find_run(uri, "0" * 32) is None
    assert find_run(uri, "nobody's") is None
    assert find_run(f"sqlite:///{home}/missing.db", ids[0]) is None


def test_a_name_of_several_runs_is_refused(home: Path, ids: list[str]) -> None:
    with pytest.raises(InputError, match=f"2 runs of .*other.db have .* this name \\(.*{ids[0][:8]}"):
        find_run(f"sqlite:///{home}/other.db", "twice")


def test_all_runs_of_another_store(home: Path, ids: list[str]) -> None:
    assert {run.id for run in runs_of(f"sqlite:///{home}/other.db")} == {run[:8] for run in ids}
    with pytest.raises(InputError, match=r"missing\.db: there is no such store yet"):
        runs_of(f"sqlite:///{home}/missing.db")

"""Runs whose folder is not on this machine: their files come from the store, and are what the run has left there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from recx.core.errors import InputError
from recx.experiment.saved_runs import load
from recx.tracking.fetched_runs import MANIFEST, TAG, described, hash_of
from recx.tracking.mlflow import MLflow
from recx.tracking.store import open_client


@pytest.fixture
def gone(here: Path) -> str:
    """Return the id of a run whose folder was deleted."""
    (here / "run" / "tables").mkdir(parents=True)
    (here / "run" / "metrics.json").write_text('{"end_to_end/mrr": 0.5}')
    (here / "run" / "tables" / "weights.csv").write_text("feature,weight\n")
    with MLflow(run_name="a name").run("news", {}) as run:
        run.log_files(here / "run")
    shutil.rmtree(here / "run")
    return run.run_id


def artifacts(run_id: str) -> Path:
    return Path("outputs/mlflow-artifacts", run_id, "artifacts")


@pytest.mark.parametrize("by", ["id", "name"])
def test_the_files_of_a_run_are_fetched_once(gone: str, by: str) -> None:
    saved = load({"id": gone[:8], "name": "a name"}[by])
    assert saved.metrics == {"end_to_end/mrr": 0.5}
    assert (saved.folder / "tables" / "weights.csv").read_text() == "feature,weight\n"
    assert saved.folder.parent.parent == Path("outputs/fetched")
    shutil.rmtree(artifacts(gone))
    assert load(gone).metrics == saved.metrics


def test_a_file_that_was_changed_is_refused(gone: str) -> None:
    changes = {"metrics.json": '{"end_to_end/mrr": 0.6}', "tables/weights.csv": "feature,weighs\n"}
    for name, other in changes.items():
        file = artifacts(gone) / name
        before = file.read_text()
        for content in ("", other, before + " "):
            file.write_text(content)
            with pytest.raises(InputError, match=f"run {gone}: {name} in .* is not the file|has .* bytes, and at most"):
                load(gone)
            assert not list(Path("outputs/fetched").glob("*/*"))
        file.write_text(before)


NAMES = ("../x", "/etc/passwd", "a/../../x", "", "a\nb", "x" * 300, "..")


def test_a_list_that_names_files_elsewhere_or_is_damaged_is_one_sentence(gone: str) -> None:
    lists = [
        *(json.dumps({name: [2, hash_of("{}")]}) for name in NAMES),
        "",
        "[]",
        '{"a": 1}',
        '{"a": [1]}',
        "{" * 10_000,
    ]
    client = open_client(f"sqlite:///{Path('outputs/mlflow.db').absolute()}")
    for text in lists:
        client.set_tag(gone, TAG, hash_of("of the run"))
        (artifacts(gone) / MANIFEST).write_text(text)
        with pytest.raises(InputError, match=r"its list of files .* is damaged, or somebody else's"):
            load(gone)
        client.set_tag(gone, TAG, hash_of(text))
        with pytest.raises(InputError, match=r"its list of files .* is damaged, or somebody else's"):
            load(gone)


def test_files_too_large_to_fetch_are_said(gone: str) -> None:
    text = json.dumps({"a": [10**11, hash_of("")]})
    (artifacts(gone) / MANIFEST).write_text(text)
    open_client(f"sqlite:///{Path('outputs/mlflow.db').absolute()}").set_tag(gone, TAG, hash_of(text))
    with pytest.raises(InputError, match=r"its files have 100.0 GB, too much to fetch: copy its folder here"):
        load(gone)


def test_a_run_of_an_older_recx_has_no_list(gone: str) -> None:
    open_client(f"sqlite:///{Path('outputs/mlflow.db').absolute()}").delete_tag(gone, TAG)
    with pytest.raises(InputError, match=r"its folder is not on this machine, and .* has no list of its files"):
        load(gone)


def test_the_list_has_size_and_hash_of_every_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("ab")
    assert json.loads(described({"x/a": tmp_path / "a"})) == {"x/a": [2, hash_of("ab")]}

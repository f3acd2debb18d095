"""Kept chains are fetched from a store, and are what the run has left there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recx.core.errors import InputError
from recx.core.trackers import KeptModel
from recx.tracking.fetched_models import fetch_model
from recx.tracking.fetched_runs import hash_of
from recx.tracking.found_runs import find_run
from recx.tracking.mlflow import MLflow
from recx.tracking.mlflow_model import TAG
from recx.tracking.sqlite_runs import FoundRun
from recx.tracking.store import open_client

Keep = Callable[..., KeptModel]
FILES = {"model.json", "1.npy", "part/value.json"}


def uri(home: Path) -> str:
    return f"sqlite:///{home}/outputs/mlflow.db"


def gone(home: Path, kept: Keep, *, full: bool = False) -> FoundRun:
    """Return a run with a model, whose folder was deleted."""
    model = kept(home / "run", full=full)
    with MLflow().run("news", {}) as run:
        run.log_files(home / "run")
        run.log_model(model)
    (home / "run").rename(home / "elsewhere")
    return found(home, run.run_id)


def found(home: Path, run_id: str) -> FoundRun:
    run = find_run(uri(home), run_id)
    assert run is not None
    return run


def data(home: Path, run: FoundRun) -> Path:
    """Return the folder of its model's files in the store."""
    location = open_client(uri(home)).get_logged_model(run.tags[TAG].split()[0]).artifact_location
    return Path(location.removeprefix("file://")) / "data"


def contents(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_model_is_fetched_once_with_the_files_of_its_run(home: Path, kept: Keep) -> None:
    run = gone(home, kept)
    folder = fetch_model(uri(home), run, home / "fetched")
    assert contents(folder / "model") == contents(home / "elsewhere" / "model")
    assert set(contents(folder / "model")) == FILES
    assert (folder / "metrics.json").read_text() == "{}"
    shutil.rmtree(data(home, run))
    assert fetch_model(uri(home), run, home / "fetched") == folder


def test_a_model_that_was_changed_is_refused(home: Path, kept: Keep) -> None:
    run = gone(home, kept)
    (home / "secret").write_text("secret")
    for name in sorted(FILES):
        file = data(home, run) / name
        content = file.read_bytes()
        file.unlink()  # it is linked to that in the run's folder
        for changed in (bytes([content[0] ^ 1]) + content[1:], content + b" ", None, home / "secret"):
            if isinstance(changed, bytes):
                file.write_bytes(changed)
            elif changed:
                file.symlink_to(changed)
            with pytest.raises(Exception, match=rf"run {run.id}: |the MLflow store .* failed: |has .* bytes, and at m"):
                fetch_model(uri(home), run, home / "fetched")
            assert not list((home / "fetched").glob("*/*/model")), (name, changed)
            file.unlink(missing_ok=True)
        file.write_bytes(content)
    fetch_model(uri(home), run, home / "fetched")


def test_a_list_that_names_files_elsewhere_is_refused(home: Path, kept: Keep) -> None:
    run = gone(home, kept)
    manifest = data(home, run) / "model.json"
    manifest.unlink()
    client, model_id = open_client(uri(home)), run.tags[TAG].split()[0]
    for name in ("../x", "/etc/passwd", "a/../../x", "", "a\nb", "x" * 300):
        text = json.dumps({"files": {name: [2, hash_of("{}")]}})
        manifest.write_text(text)
        client.set_tag(run.id, TAG, f"{model_id} {hash_of(text)}")
        with pytest.raises(InputError, match=r"the list of its model's files \(model.json\) is damaged, or somebody"):
            fetch_model(uri(home), found(home, run.id), home / "fetched")


def test_a_run_without_a_model_says_why_there_may_be_none(home: Path, kept: Keep) -> None:
    run = gone(home, kept, full=True)
    with pytest.raises(InputError, match=r"has left no model in .*tracker\.upload_limit"):
        fetch_model(uri(home), run, home / "fetched")


def test_nothing_of_a_model_is_imported(home: Path, kept: Keep, monkeypatch: Any) -> None:
    run = gone(home, kept)
    described = data(home, run).parent / "MLmodel"
    described.write_text("flavors: {python_function: {loader_module: evil, code: code}}")
    (described.parent / "code").mkdir()
    (described.parent / "code" / "evil.py").write_text("raise SystemExit('it ran')")
    folder = fetch_model(uri(home), run, home / "fetched")
    assert set(contents(folder / "model")) == FILES

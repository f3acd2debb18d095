"""The MLflow store: where it is, opening it, and ending runs whose process died.

MLflow takes a second to import, so it is imported only where a store is really opened.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from recx.core.errors import InputError, RecxError
from recx.core.system.atomic import replacing
from recx.core.system.locks import turn
from recx.tracking.process import is_dead

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

SQLITE = "sqlite:///"
SCHEMES = ("sqlite", "http", "https", "postgresql", "mysql", "mssql")


def absolute(uri: str | None) -> str:
    """Return the store's address, which no change of the working directory can move; None is the default store.

    Raises:
        InputError: the address has no scheme that MLflow keeps runs in.
    """
    uri = uri or f"{SQLITE}outputs/mlflow.db"
    scheme = uri.partition("://")[0].partition("+")[0]
    if "://" not in uri or scheme not in SCHEMES:
        raise InputError(
            f"tracker.uri={uri!r} is no MLflow store: write it like sqlite:///outputs/mlflow.db or http://host:5000"
        )
    return f"{SQLITE}{Path(uri.removeprefix(SQLITE)).absolute()}" if uri.startswith(SQLITE) else uri


def database(uri: str) -> Path | None:
    """Return the file of a sqlite store, None for any other."""
    return Path(uri.removeprefix(SQLITE)) if uri.startswith(SQLITE) else None


def open_experiment(uri: str, artifacts: Path | None, name: str) -> tuple[MlflowClient, str]:
    """Return a client of the store and the id of the experiment, which is created where there is none.

    A fresh sqlite store builds its tables in the client's constructor, and two processes at that break each other:
    they take turns. ``artifacts`` is the folder for the files of a new experiment (None: the server decides).
    """
    _client_class()  # a second's import, which needs no turn
    file = database(uri)
    if file is None:
        return _open_experiment(uri, artifacts, name)
    with turn(file.with_name(f".{file.name}.lock")):
        if not file.exists():
            _build(file)
        return _open_experiment(uri, artifacts, name)


def _build(file: Path) -> None:
    """Build the tables of a fresh sqlite store under another name: half of them is a store that nothing can open."""
    with replacing(file) as temporary:
        temporary.unlink(missing_ok=True)  # of a process that was killed
        try:
            open_client(f"{SQLITE}{temporary}", f"{SQLITE}{file}")
        finally:
            temporary.with_name(f"{temporary.name}-journal").unlink(missing_ok=True)


def _open_experiment(uri: str, artifacts: Path | None, name: str) -> tuple[MlflowClient, str]:
    client = open_client(uri)
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        return client, client.create_experiment(name, artifact_location=artifacts.as_uri() if artifacts else None)
    if experiment.lifecycle_stage != "active":
        raise InputError(
            f"name={name!r}: the MLflow experiment of this name was deleted: restore it, or choose another name"
        )
    return client, str(experiment.experiment_id)


def open_client(uri: str, called: str | None = None) -> MlflowClient:
    """Return a client that sends no telemetry and prints no chatter; ``called``: the store's name in an error.

    Raises:
        RecxError: the store cannot be opened.
    """
    try:
        with _deprecations_ignored():
            return _client_class()(tracking_uri=uri)
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise RecxError(
            f"the MLflow store {called or uri} cannot be opened: {reason} (tracker=console runs without it)"
        ) from error


@contextmanager
def told(uri: str) -> Iterator[None]:
    """Turn what the store refuses inside (no server, no space, no right to write) into one sentence."""
    _client_class()
    from mlflow.exceptions import MlflowException

    try:
        yield
    except MlflowException as error:
        lines = str(error).splitlines() or [type(error).__name__]
        reason = next((line for line in lines if "Error)" in line), lines[0])  # the database's own, where there is one
        raise RecxError(f"the MLflow store {uri} failed: {reason} (tracker=console runs without it)") from error


def _client_class() -> type[MlflowClient]:
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "CRITICAL")  # what it logs as an error it also raises
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "4")  # half a minute of silence; its own 7 are four
    with _deprecations_ignored():
        from mlflow.tracking import MlflowClient
    return MlflowClient


@contextmanager
def _deprecations_ignored() -> Iterator[None]:
    """Keep quiet that MLflow uses what its libraries have deprecated: nothing that a user of recx could mend."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def end_dead_runs(client: MlflowClient, parent: str | None = None) -> int:
    """Set runs to KILLED that say RUNNING though their process on this host is dead; return how many.

    parent: a sweep that ends; a trial of it that still says RUNNING died as well, wherever it was.
    """
    dead = [run.info.run_id for run in _running(client) if is_dead(run.data.tags) or _is_of(run, parent)]
    for run_id in dead:
        client.set_tag(run_id, "recx.reason", "the process died without a word (SIGKILL, out of memory or power)")
        client.set_terminated(run_id, "KILLED")
    return len(dead)


def _is_of(run: Run, parent: str | None) -> bool:
    return parent is not None and run.data.tags.get("mlflow.parentRunId") == parent


def _running(client: MlflowClient) -> Iterator[Run]:
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    token = None
    while experiments:
        page = client.search_runs(experiments, "attributes.status = 'RUNNING'", page_token=token)
        yield from page
        token = page.token
        if not token:
            return

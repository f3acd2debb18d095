"""The MLflow store: its address, opening it, and ending runs whose process died.

MLflow takes a second to import, so it is imported only when a store is opened.
"""

from __future__ import annotations

import os
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.core.errors import InputError, RecxError
from recx.core.secrets import hidden
from recx.core.system.atomic import replacing
from recx.core.system.locks import turn
from recx.tracking.moved import bring_along
from recx.tracking.process import is_dead

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

SQLITE = "sqlite:///"
VARIABLE = "MLFLOW_TRACKING_URI"
"""The variable of the environment by which MLflow knows its store."""
REGISTRY = "MLFLOW_REGISTRY_URI"
"""The variable that names another store for registered models."""
DEFAULT = f"{SQLITE}outputs/mlflow.db"
SCHEMES = ("sqlite", "http", "https", "postgresql", "mysql", "mssql")
SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "CRITICAL",  # errors that it logs it also raises
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # recx prints where a run is itself
    # A server that is gone is given up after a quarter of a minute, one that is silent after one; else both take many.
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "15",
    "MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER": "false",
}
"""MLflow's settings, where the environment has none of its own."""


def absolute(uri: str | None) -> str:
    """Return the store's address, independent of the working directory.

    Args:
        uri: The address; None: that of ``MLFLOW_TRACKING_URI``, or the default store.

    Raises:
        InputError: The address has no scheme of an MLflow store.
    """
    key, uri = ("tracker.uri", uri) if uri else (VARIABLE, os.environ.get(VARIABLE) or DEFAULT)
    scheme = uri.partition("://")[0].partition("+")[0]
    if "://" not in uri or scheme not in SCHEMES:
        raise InputError(f"{key}={hidden(uri)!r} is not an MLflow store: write it like {DEFAULT} or http://host:5000")
    return f"{SQLITE}{Path(uri.removeprefix(SQLITE)).absolute()}" if uri.startswith(SQLITE) else uri


def database(uri: str) -> Path | None:
    """Return the file of a sqlite store; None for any other."""
    return Path(uri.removeprefix(SQLITE)) if uri.startswith(SQLITE) else None


def open_experiment(
    uri: str, artifacts: Path | None, name: str, tags: Callable[[Mapping[str, str]], Mapping[str, str]]
) -> tuple[MlflowClient, str]:
    """Open an experiment, which is created if it does not exist.

    The client's constructor builds the tables of a new sqlite store, which two processes must not do at once: one waits
    for the other.

    Args:
        uri: The store.
        artifacts: Folder for the files of a new experiment; None: the server decides.
        name: The experiment.
        tags: Returns the tags that it gets besides those that it has, or instead.

    Returns:
        A client of the store, and the id of the experiment.
    """
    _client_class()  # a second's import, before the lock is taken
    file = database(uri)
    with turn(file.with_name(f".{file.name}.lock")) if file else nullcontext():
        if file and not file.exists():
            _build(file)
        elif file:
            _refuse_foreign(file)
        client = open_client(uri)
        if file and artifacts:
            bring_along(file, artifacts)
        experiment = client.get_experiment_by_name(name)
        if experiment is None:
            location = artifacts.as_uri() if artifacts else None
            insert(
                lambda: client.create_experiment(name, artifact_location=location, tags=dict(tags({}))),
                lambda: client.get_experiment_by_name(name) is not None,
            )
            experiment = client.get_experiment_by_name(name)
        assert experiment is not None
        if experiment.lifecycle_stage != "active":
            raise InputError(
                f"name={name!r}: the MLflow experiment of this name was deleted: restore it, or choose another "
                "name (python -m recx help mlflow)"
            )
        for tag, text in tags(experiment.tags).items():
            if experiment.tags.get(tag) != text:
                _tag(client, experiment.experiment_id, tag, text)
        return client, str(experiment.experiment_id)


def _tag(client: MlflowClient, experiment: str, tag: str, text: str) -> None:
    insert(
        lambda: client.set_experiment_tag(experiment, tag, text),
        lambda: client.get_experiment(experiment).tags.get(tag) == text,
    )


def _refuse_foreign(file: Path) -> None:
    """Raise InputError if it is no file, or the database of another program, which MLflow would add its tables to."""
    if not file.is_file():
        raise InputError(f"tracker.uri: {file} is not a file: name another one")
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as opened:
        tables = {name for (name,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables and "experiments" not in tables:
            some = ", ".join(sorted(tables)[:3])
            raise InputError(f"tracker.uri: {file} is the database of another program ({some}): name another file")


def _build(file: Path) -> None:
    """Build the tables of a new sqlite store under a temporary name, since a partial store cannot be opened."""
    with replacing(file) as temporary:
        temporary.unlink(missing_ok=True)  # left by a killed process
        with _unsynchronized():
            open_client(f"{SQLITE}{temporary}", f"{SQLITE}{file}")
        with temporary.open("rb+") as whole:
            os.fsync(whole.fileno())


@contextmanager
def _unsynchronized() -> Iterator[None]:
    """Let new sqlite connections wait for no disk and write no journal: for a file that is discarded unless complete.

    MLflow's migrations commit a hundred times, each of which would wait for the disk, up to seconds in all.
    """
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    def relax(connection: Any, _: Any) -> None:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA journal_mode=MEMORY")

    event.listen(Engine, "connect", relax)
    try:
        yield
    finally:
        event.remove(Engine, "connect", relax)


def open_client(uri: str, name: str | None = None) -> MlflowClient:
    """Return a client that sends no telemetry and prints nothing.

    Args:
        uri: The store.
        name: The store's name in an error; None: its address.

    Raises:
        RecxError: The store cannot be opened.
    """
    try:
        with _deprecations_ignored():
            # Else it would register models where MLflow's global state says, whatever the store.
            return _client_class()(tracking_uri=uri, registry_uri=os.environ.get(REGISTRY) or uri)
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise RecxError(
            f"the MLflow store {hidden(name or uri)} cannot be opened: {hidden(reason)} (tracker=console runs without "
            "it)"
        ) from error


@contextmanager
def errors_explained(uri: str) -> Iterator[None]:
    """Turn errors of the store (no server, no space, no permission) into one sentence."""
    _client_class()
    try:
        yield
    except failures() as error:
        lines = str(error).splitlines() or [type(error).__name__]
        reason = next((line for line in lines if "Error)" in line), lines[0])  # the database's own, if there is one
        raise RecxError(
            f"the MLflow store {hidden(uri)} failed: {hidden(reason)} (tracker=console runs without it)"
        ) from error


def insert(new: Callable[[], object], is_there: Callable[[], bool]) -> None:
    """Insert a row that another process may insert at the same time: a server lets both try, and refuses the second.

    Args:
        new: Inserts it.
        is_there: Returns whether there is one, whoever inserted it; asked after a failure.

    Raises:
        mlflow.exceptions.MlflowException: It cannot be inserted, and there is none.
    """
    from mlflow.exceptions import MlflowException

    try:
        new()
    except MlflowException:
        if not is_there():
            raise


def failures() -> tuple[type[Exception], ...]:
    """Return the errors of a store, or of the way to it."""
    from mlflow.exceptions import MlflowException
    from requests import RequestException

    return MlflowException, RequestException


def is_unreachable(error: BaseException | None) -> bool:
    """Return whether an error, or what caused it, is that a server does not answer: asking it again would only wait."""
    from requests import RequestException

    while error is not None and not isinstance(error, RequestException):
        error = error.__cause__ or error.__context__
    return error is not None


def _client_class() -> type[MlflowClient]:
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    with _deprecations_ignored():
        from mlflow.tracking import MlflowClient
    return MlflowClient


@contextmanager
def _deprecations_ignored() -> Iterator[None]:
    """Hide that MLflow uses deprecated functions of its libraries, which users of recx cannot change."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def end_dead_runs(client: MlflowClient, parent: str | None = None) -> int:
    """Set RUNNING runs to KILLED if their process on this host is dead.

    Args:
        client: Client of the store.
        parent: Id of a sweep that ends: its trials that are still RUNNING died too, on any host.

    Returns:
        How many there were.
    """
    dead = [run.info.run_id for run in _running(client) if is_dead(run.data.tags) or _is_of(run, parent)]
    for run_id in dead:
        _say_dead(client, run_id)
        _fail_models(client, run_id)
        client.set_terminated(run_id, "KILLED")
    return len(dead)


def _say_dead(client: MlflowClient, run_id: str) -> None:
    reason = "the process died without an error (SIGKILL, out of memory or power)"
    insert(
        lambda: client.set_tag(run_id, "recx.reason", reason),
        lambda: client.get_run(run_id).data.tags.get("recx.reason") == reason,
    )


def _fail_models(client: MlflowClient, run_id: str) -> None:
    """Mark the models that a process did not log whole."""
    outputs = client.get_run(run_id).outputs
    for output in outputs.model_outputs if outputs else ():
        if str(client.get_logged_model(output.model_id).status) == "PENDING":
            client.finalize_logged_model(output.model_id, "FAILED")


def _is_of(run: Run, parent: str | None) -> bool:
    return parent is not None and run.data.tags.get("mlflow.parentRunId") == parent


def _running(client: MlflowClient) -> Iterator[Run]:
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    token: str | None = ""
    while experiments and token is not None:
        page = client.search_runs(experiments, "attributes.status = 'RUNNING'", page_token=token or None)
        yield from page
        token = page.token or None

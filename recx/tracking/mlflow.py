"""MLflow: one run per experiment, through a client and the run's id, never through MLflow's global state."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from recx.core.errors import RecxError, reason
from recx.core.run_context import ALONE, RunContext
from recx.core.secrets import hidden
from recx.core.system.git import git_state
from recx.core.system.own_folder import files_of_run
from recx.core.system.serialize import flat, plain, title
from recx.core.version import __version__
from recx.tracking import store
from recx.tracking.process import identity, stoppable

if TYPE_CHECKING:
    from mlflow.entities import RunInfo
    from mlflow.tracking import MlflowClient

T = TypeVar("T")
BATCH = {"params": 100, "metrics": 1000, "tags": 100}
"""How many of each MLflow accepts in one call."""
LONGEST_PARAM, LONGEST_TAG = 6_000, 5_000
LARGEST_FILE = 20 * 2**20
"""Larger files stay in the run's folder, since the store does not need a second copy of every candidate."""


@dataclass(frozen=True)
class MlflowRun:
    """A run in an MLflow store; everything is written in as few calls as MLflow allows.

    Attributes:
        client: Client of the store.
        run_id: MLflow's id of the run.
        address: The run's page.
    """

    client: MlflowClient
    run_id: str
    address: str

    def log_params(self, params: Mapping[str, Any]) -> None:
        """Write nested settings under dotted names; texts over 6,000 characters are cut, and named in a tag."""
        from mlflow.entities import Param

        named = self._allowed(flat(params), "params")
        cut = [name for name, text in named.items() if len(text) > LONGEST_PARAM]
        if cut:
            self.log_tags({"recx.cut_params": ", ".join(cut)})
        self._write("params", [Param(name, text[:LONGEST_PARAM]) for name, text in named.items()])

    def log_metrics(self, metrics: Mapping[str, float]) -> None:
        """Write figures by name; NaN is kept."""
        self.log_curves({name: [value] for name, value in metrics.items()}, first=0)

    def log_curves(self, curves: Mapping[str, Sequence[float]], *, first: int = 1) -> None:
        """Write figures by epoch.

        Args:
            curves: Name -> its value after each epoch.
            first: The step of the first value.
        """
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        named = self._allowed(curves, "metrics").items()
        self._write("metrics", [Metric(name, float(y), now, x) for name, ys in named for x, y in enumerate(ys, first)])

    def log_table(self, name: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """Write a table that MLflow's pages show: column name -> one value per row."""
        import pandas as pd

        table = pd.DataFrame({column: pd.Series(values, dtype=object) for column, values in columns.items()})
        self.client.log_table(self.run_id, table, f"{allowed_name(name)}.json")

    def log_tags(self, tags: Mapping[str, str]) -> None:
        """Write texts by name."""
        from mlflow.entities import RunTag

        named = self._allowed(tags, "tags").items()
        self._write("tags", [RunTag(name, str(text)[:LONGEST_TAG]) for name, text in named])

    def log_files(self, folder: Path, *, inner: bool = True) -> None:
        """Copy the files of the run's folder, except large ones, which a tag names; tag where the folder is.

        Args:
            folder: The run's folder.
            inner: Whether to copy its subfolders too.
        """
        large = []
        for place in map(Path, files_of_run(folder)):
            path = folder / place
            if not path.is_file() or path.is_symlink() or not (inner or place.parent == Path()):
                continue
            if path.stat().st_size > LARGEST_FILE:
                large.append(str(place))
            else:
                self.client.log_artifact(self.run_id, str(path), None if place.parent == Path() else str(place.parent))
        left = {"recx.only_in_folder": ", ".join(large)} if large else {}
        self.log_tags({"recx.folder": str(folder.absolute()), **left})

    def _write(self, kind: str, entries: Sequence[Any]) -> None:
        for start in range(0, len(entries), BATCH[kind]):
            batch: Any = {kind: entries[start : start + BATCH[kind]]}
            self.client.log_batch(self.run_id, **batch)

    def _allowed(self, named: Mapping[str, T], kind: str) -> dict[str, T]:
        """Return the values under names that MLflow accepts; a tag lists the names that had to change.

        Raises:
            RecxError: Two names become one.
        """
        changed = {name: allowed_name(name) for name in named if allowed_name(name) != name}
        allowed = {changed.get(name, name): value for name, value in named.items()}
        if len(allowed) < len(named):
            raise RecxError(
                f"some of these names of {kind} would equal others in MLflow: {', '.join(changed)}: rename them"
            )
        if changed:
            renamed = ", ".join(f"{name} -> {new}" for name, new in changed.items())
            self.client.set_tag(self.run_id, f"recx.renamed.{kind}", renamed[:LONGEST_TAG])
        return allowed


@dataclass(frozen=True)
class MLflow:
    """Tracks runs in an MLflow store.

    Attributes:
        uri: The store; None: the sqlite file ``outputs/mlflow.db`` of the working directory.
        artifacts: Folder for the files of new experiments; None: ``mlflow-artifacts`` next to a sqlite store.
    """

    uri: str | None = None
    artifacts: str | None = None

    def __post_init__(self) -> None:
        store.absolute(self.uri)

    @contextmanager
    def run(self, name: str, params: Mapping[str, Any], context: RunContext = ALONE) -> Iterator[MlflowRun]:
        """Yield a new run, which ends as FINISHED, FAILED with the reason, or KILLED.

        Args:
            name: The MLflow experiment.
            params: The composed configuration.
            context: The sweep that the run belongs to, and its name.

        Raises:
            RecxError: The store cannot be opened or written to.
            Interrupted: The process received SIGTERM.
        """
        nesting = {"mlflow.parentRunId": context.parent, "recx.sweep": context.sweep}
        tags = {**_origin(), **{tag: value for tag, value in nesting.items() if value}}
        with self._experiment(name) as (client, experiment_id):
            run_name = context.name or title(params) or name
            info = client.create_run(experiment_id, tags=tags, run_name=run_name).info
            with self._kept(client, info) as run:
                run.log_params(params)
                client.log_dict(info.run_id, plain(params), "config.yaml")
                yield run

    @contextmanager
    def sweep(self, name: str, params: Mapping[str, Any], sweep_id: str) -> Iterator[MlflowRun]:
        """Yield the parent run of a sweep, which is resumed if it exists; raises as ``run`` does."""
        tags = {**_origin(), "recx.sweep": sweep_id, "recx.role": "sweep"}
        query = f"tags.`recx.sweep` = '{sweep_id}' and tags.`recx.role` = 'sweep'"
        with self._experiment(name) as (client, experiment_id):
            started = client.search_runs([experiment_id], query, max_results=1)
            if started:
                info = started[0].info
                # The tags first: with those of its old process it would look dead once its status is RUNNING.
                MlflowRun(client, info.run_id, "").log_tags({**tags, "recx.reason": ""})
                client.update_run(info.run_id, status="RUNNING")
            else:
                info = client.create_run(experiment_id, tags=tags, run_name=f"sweep {sweep_id}").info
            with self._kept(client, info) as run:
                if not started:
                    run.log_params(params)
                try:
                    yield run
                finally:
                    store.end_dead_runs(client, info.run_id)

    @contextmanager
    def _experiment(self, name: str) -> Iterator[tuple[MlflowClient, str]]:
        uri = store.absolute(self.uri)
        file = store.database(uri)
        folder = Path(self.artifacts).absolute() if self.artifacts else file and file.parent / "mlflow-artifacts"
        with stoppable(), store.errors_explained(uri):
            client, experiment_id = store.open_experiment(uri, folder, name)
            store.end_dead_runs(client)
            yield client, experiment_id

    @contextmanager
    def _kept(self, client: MlflowClient, info: RunInfo) -> Iterator[MlflowRun]:
        uri = store.absolute(self.uri)
        with _ended_in_order(client, info.run_id):
            yield MlflowRun(client, info.run_id, address(uri, info.experiment_id, info.run_id))


@contextmanager
def _ended_in_order(client: MlflowClient, run_id: str) -> Iterator[None]:
    from mlflow.exceptions import MlflowException

    status, why, gone = "FINISHED", "", False
    try:
        yield
    except KeyboardInterrupt as stop:
        status, why = "KILLED", str(stop) or "interrupted from the keyboard"
        raise
    except BaseException as error:
        status, why, gone = "FAILED", reason(error), store.is_unreachable(error)
        raise
    finally:
        # The reason why a run failed matters more than an error of the store.
        with suppress(MlflowException) if why else nullcontext():
            if why and not gone:
                client.set_tag(run_id, "recx.reason", why[:LONGEST_TAG])
            if not gone:
                client.set_terminated(run_id, status)


def address(uri: str, experiment_id: str, run_id: str) -> str:
    """Return the page of a run in MLflow's UI, without a password: of the server itself, or of `python -m recx ui`."""
    server = re.sub("//[^/]*@", "//", hidden(uri)).rstrip("/") if uri.startswith("http") else "http://127.0.0.1:5000"
    return f"{server}/#/experiments/{experiment_id}/runs/{run_id}?workflowType=machine_learning"


def allowed_name(name: str) -> str:
    """Return the name with ``_`` for characters that MLflow rejects, without doubled, leading and trailing slashes."""
    return re.sub(r"/{2,}", "/", re.sub(r"[^\w\-. :/]", "_", name, flags=re.ASCII)).strip("/") or "_"


def _origin() -> dict[str, str]:
    """Return tags with the process, the version of recx and the commit of a run."""
    git = {f"git.{name}": value for name, value in git_state().items()}
    return {**identity(), "recx.version": __version__, "mlflow.source.name": "recx", **git}

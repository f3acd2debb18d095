"""MLflow: one run an experiment, through the client and its run's id, never through MLflow's global state."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from recx.core.errors import RecxError, reason
from recx.core.run_context import ALONE, RunContext
from recx.core.system.git import git_state
from recx.core.system.serialize import flat, plain, title
from recx.core.version import __version__
from recx.tracking import store
from recx.tracking.process import identity, stoppable

if TYPE_CHECKING:
    from mlflow.entities import RunInfo
    from mlflow.tracking import MlflowClient

T = TypeVar("T")
PARAMS_A_BATCH, METRICS_A_BATCH = 100, 1000
LONGEST_PARAM, LONGEST_TAG = 6_000, 5_000
LARGEST_FILE = 20 * 2**20
"""Larger files stay in the run's folder: the store need not hold every candidate twice."""


@dataclass(frozen=True)
class MlflowRun:
    """A run in an MLflow store. Everything is written in as few calls as MLflow allows."""

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
        for batch in _batches([Param(name, text[:LONGEST_PARAM]) for name, text in named.items()], PARAMS_A_BATCH):
            self.client.log_batch(self.run_id, params=batch)

    def log_metrics(self, metrics: Mapping[str, float]) -> None:
        """Write figures by name; NaN is kept."""
        self._log_points({name: [value] for name, value in metrics.items()}, 0)

    def log_curves(self, curves: Mapping[str, Sequence[float]]) -> None:
        """Write figures by epoch: name -> the value after each, the first at step 1."""
        self._log_points(curves, 1)

    def _log_points(self, curves: Mapping[str, Sequence[float]], first: int) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        points = [
            Metric(name, float(value), now, step)
            for name, values in self._allowed(curves, "metrics").items()
            for step, value in enumerate(values, start=first)
        ]
        for batch in _batches(points, METRICS_A_BATCH):
            self.client.log_batch(self.run_id, metrics=batch)

    def log_table(self, name: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """Write rows as a table that MLflow's pages show: column name -> one value a row."""
        import pandas as pd

        table = pd.DataFrame({column: pd.Series(values, dtype=object) for column, values in columns.items()})
        self.client.log_table(self.run_id, table, f"{allowed_name(name)}.json")

    def log_tags(self, tags: Mapping[str, str]) -> None:
        """Write texts by name."""
        from mlflow.entities import RunTag

        named = [RunTag(name, str(text)[:LONGEST_TAG]) for name, text in self._allowed(tags, "tags").items()]
        for batch in _batches(named, PARAMS_A_BATCH):
            self.client.log_batch(self.run_id, tags=batch)

    def log_files(self, folder: Path, *, inner: bool = True) -> None:
        """Copy the files of the run's folder, but for large ones, which a tag names; tag where the folder is.

        inner: also what lies in folders in it.
        """
        large = []
        for path in sorted(path for path in folder.glob("**/*" if inner else "*") if path.is_file()):
            place = path.relative_to(folder)
            if path.stat().st_size > LARGEST_FILE:
                large.append(str(place))
            else:
                self.client.log_artifact(self.run_id, str(path), None if place.parent == Path() else str(place.parent))
        left = {"recx.only_in_folder": ", ".join(large)} if large else {}
        self.log_tags({"recx.folder": str(folder.absolute()), **left})

    def _allowed(self, named: Mapping[str, T], kind: str) -> dict[str, T]:
        """Return the same under names that MLflow takes; a tag tells which names had to change.

        Raises:
            RecxError: two names become one.
        """
        changed = {name: allowed_name(name) for name in named if allowed_name(name) != name}
        allowed = {changed.get(name, name): value for name, value in named.items()}
        if len(allowed) < len(named):
            raise RecxError(
                f"MLflow cannot tell some of these names of {kind} apart from others: {', '.join(changed)}: rename them"
            )
        if changed:
            told = ", ".join(f"{name} -> {new}" for name, new in changed.items())
            self.client.set_tag(self.run_id, f"recx.renamed.{kind}", told[:LONGEST_TAG])
        return allowed


@dataclass(frozen=True)
class MLflow:
    """Keeps runs in an MLflow store.

    uri: the store; None: the sqlite file ``outputs/mlflow.db`` of the working directory.
    artifacts: folder for the files of a sqlite store's new experiments; None: ``mlflow-artifacts`` beside it.
    """

    uri: str | None = None
    artifacts: str | None = None

    def __post_init__(self) -> None:
        store.absolute(self.uri)

    @contextmanager
    def run(self, name: str, params: Mapping[str, Any], context: RunContext = ALONE) -> Iterator[MlflowRun]:
        """Yield a run of the experiment ``name``; it ends FINISHED, FAILED with the reason, or KILLED.

        Raises:
            RecxError: the store cannot be opened or written to.
            Interrupted: the process got SIGTERM.
        """
        with self._experiment(name) as (client, experiment_id):
            called = context.name or title(params) or name
            info = client.create_run(experiment_id, tags={**_origin(), **_nesting(context)}, run_name=called).info
            with self._kept(client, info) as run:
                run.log_params(params)
                client.log_dict(info.run_id, plain(params), "config.yaml")
                yield run

    @contextmanager
    def sweep(self, name: str, params: Mapping[str, Any], sweep_id: str) -> Iterator[MlflowRun]:
        """Yield the parent run of a sweep, the one that was begun before if there is one; raises as ``run`` does."""
        with self._experiment(name) as (client, experiment_id):
            tags = {**_origin(), "recx.sweep": sweep_id, "recx.role": "sweep"}
            wanted = f"tags.`recx.sweep` = '{sweep_id}' and tags.`recx.role` = 'sweep'"
            begun = client.search_runs([experiment_id], wanted, max_results=1)
            if begun:
                info = begun[0].info
                MlflowRun(client, info.run_id, "").log_tags({**tags, "recx.reason": ""})  # first, lest it seem dead
                client.update_run(info.run_id, status="RUNNING")
            else:
                info = client.create_run(experiment_id, tags=tags, run_name=f"sweep {sweep_id}").info
            with self._kept(client, info) as run:
                if not begun:
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
        with stoppable(), store.told(uri):
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

    status, why = "FINISHED", ""
    try:
        yield
    except KeyboardInterrupt as stop:
        status, why = "KILLED", str(stop) or "interrupted from the keyboard"
        raise
    except BaseException as error:
        status, why = "FAILED", reason(error)
        raise
    finally:
        # Where the run failed its own reason is worth more than what the store has to say.
        with suppress(MlflowException) if why else nullcontext():
            if why:
                client.set_tag(run_id, "recx.reason", why[:LONGEST_TAG])
            client.set_terminated(run_id, status)


def address(uri: str, experiment_id: str, run_id: str) -> str:
    """Return the page of a run in MLflow's UI: of the server itself, or of `python -m recx ui`."""
    server = uri.rstrip("/") if uri.startswith("http") else "http://127.0.0.1:5000"
    return f"{server}/#/experiments/{experiment_id}/runs/{run_id}?workflowType=machine_learning"


def allowed_name(name: str) -> str:
    """Return the name with what MLflow refuses replaced by ``_``, slashes at the ends and doubled ones dropped."""
    return re.sub(r"/{2,}", "/", re.sub(r"[^\w\-. :/]", "_", name, flags=re.ASCII)).strip("/") or "_"


def _batches(things: list[T], size: int) -> Iterator[list[T]]:
    rest = iter(things)
    while batch := list(islice(rest, size)):
        yield batch


def _origin() -> dict[str, str]:
    """Return tags that say which process, which recx and which commit a run came from."""
    git = {f"git.{name}": said for name, said in git_state().items()}
    return {**identity(), "recx.version": __version__, "mlflow.source.name": "recx", **git}


def _nesting(context: RunContext) -> dict[str, str]:
    """Return tags that put a trial beneath its sweep's run; {} for a run of its own."""
    tags = {"mlflow.parentRunId": context.parent, "recx.sweep": context.sweep}
    return {tag: value for tag, value in tags.items() if value}

"""MLflow: one run per experiment, through a client and the run's id, never through MLflow's global state."""

from __future__ import annotations

import getpass
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Predicate, doc

from recx.core import chosen
from recx.core.bounds import check
from recx.core.errors import InputError, reason
from recx.core.run_context import ALONE, RunContext
from recx.core.secrets import hidden
from recx.core.system.git import git_state
from recx.core.system.serialize import plain
from recx.core.system.signals import stoppable
from recx.core.system.sizes import Size, n_bytes
from recx.core.version import __version__
from recx.tracking import store, view
from recx.tracking.mlflow_run import LONGEST_TAG, MlflowRun
from recx.tracking.process import identity
from recx.tracking.sqlite_runs import SHORTEST_ID
from recx.tracking.ui import page_of_run

if TYPE_CHECKING:
    from mlflow.entities import RunInfo
    from mlflow.tracking import MlflowClient

RegisteredName = Annotated[
    str,
    Predicate(lambda name: re.fullmatch(r"[\w-](?:[\w. -]*[\w-])?", name) is not None),
    doc("letters, digits, dots, blanks, _ and -, as MLflow allows them in the name of a model"),
]
EXPERIMENT, SYSTEM_METRICS = "MLFLOW_EXPERIMENT_NAME", "MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING"
PRIMARY = "mlflow.experiment.primaryMetric"
HOW_TO_READ = """\
Figures of each stage: `retrieval/` judges the candidates, `end_to_end/` what users get, both over every user with a
target.

`ranking/` is a figure of the ranker alone: it counts only the users whose target was retrieved, whose number is
`ranking/users`. A poor retriever leaves it the easy users, so it must not order runs with different retrievers: compare
these by `end_to_end/`.

Names that begin with `valid/` are of the fold that settings are chosen by; all others are of the test fold.
"""
"""What the page of an experiment says."""


@dataclass(frozen=True)
class MLflow:
    """Tracks runs in an MLflow store.

    MLflow's own variables of the environment hold where a setting is None, and its variables with user, password, token
    and certificates always.

    Attributes:
        uri: The store; None: that of ``MLFLOW_TRACKING_URI``, else the sqlite file ``outputs/mlflow.db``.
        artifacts: Folder for the files of new experiments; None: ``mlflow-artifacts`` next to a sqlite store.
        experiment: The MLflow experiment, which may have slashes; None: that of ``MLFLOW_EXPERIMENT_NAME``, else
            ``name``.
        run_name: The name of a run; None: made of data, chain and what is varied. A sweep's trials add what is varied.
        tags: Further tags of every run: name -> text; None: none.
        description: Markdown before the summary of a run.
        system_metrics: Whether to record the use of processor, memory, disk and GPU while a run works; None: as
            ``MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING`` says, else not.
        upload_limit: Larger files, and a larger model, stay in the run's folder; None: all are copied. In a sqlite
            store on the same disk, a model of any size is linked.
        upload_histories: Whether to log models with the histories of users (``model=full``).
        register: The name under which the models of single runs and of a sweep's best run are registered; None: they
            are not.
    """

    uri: str | None = None
    artifacts: str | None = None
    experiment: str | None = None
    run_name: str | None = None
    tags: Mapping[str, str] | None = None
    description: str | None = None
    system_metrics: bool | None = None
    upload_limit: Size | None = "20MB"
    upload_histories: bool = False
    register: RegisteredName | None = None

    def __post_init__(self) -> None:
        check(self, "tracker")
        store.absolute(self.uri)
        for name in self.tags or ():
            if name.startswith("recx."):
                raise InputError(f"tracker.tags.{name}: names that begin with recx. are recx's own: choose another")
        if self._watches and find_spec("psutil") is None:
            key = SYSTEM_METRICS if self.system_metrics is None else "tracker.system_metrics"
            raise InputError(
                f"{key}=true: MLflow needs the package psutil for it: pip install psutil, or set it to false"
            )

    @property
    def _watches(self) -> bool:
        asked = os.environ.get(SYSTEM_METRICS, "").lower() in ("true", "1")
        return asked if self.system_metrics is None else self.system_metrics

    @contextmanager
    def run(self, name: str, params: Mapping[str, Any], context: RunContext = ALONE) -> Iterator[MlflowRun]:
        """Yield a new run, which ends as FINISHED, FAILED with the reason, or KILLED.

        Args:
            name: The MLflow experiment, where neither a setting nor the environment names another.
            params: The composed configuration.
            context: The sweep that the run belongs to, and its name.

        Raises:
            RecxError: The store cannot be opened or written to.
            Interrupted: The process received SIGTERM.
        """
        nesting = {"mlflow.parentRunId": context.parent, "recx.sweep": context.sweep, "recx.role": context.role}
        tags = {**_origin(), **{tag: value for tag, value in nesting.items() if value}}
        with self._experiment(name, params) as (client, experiment_id):
            info = client.create_run(experiment_id, tags=tags, run_name=self._name(name, params, context)).info
            with self._kept(client, info) as run, self._watched(info.run_id):
                run.log_params(chosen.params(params))
                client.log_dict(info.run_id, plain(params), "config.yaml")
                yield run

    @contextmanager
    def sweep(self, name: str, params: Mapping[str, Any], context: RunContext) -> Iterator[MlflowRun]:
        """Yield the parent run of a sweep, which is resumed if it exists; raises as ``run`` does."""
        tags = {**_origin(), "recx.sweep": context.sweep, "recx.role": "sweep"}
        query = f"tags.`recx.sweep` = '{context.sweep}' and tags.`recx.role` = 'sweep'"
        with self._experiment(name, params) as (client, experiment_id):
            started = client.search_runs([experiment_id], query, max_results=1)
            if started:
                info = started[0].info
                # The tags first: with those of its old process it would look dead once its status is RUNNING.
                MlflowRun(client, info.run_id, "").log_tags({**tags, "recx.reason": ""})
                client.update_run(info.run_id, status="RUNNING")
            else:
                info = client.create_run(experiment_id, tags=tags, run_name=self._name(name, params, context)).info
            with self._kept(client, info) as run:
                if not started:
                    run.log_params(chosen.params(params))
                try:
                    yield run
                finally:
                    store.end_dead_runs(client, info.run_id)

    def _name(self, name: str, params: Mapping[str, Any], context: RunContext) -> str:
        if self.run_name is None:
            return chosen.run_name(params, context.name) or name
        return ", ".join(filter(None, (self.run_name, context.name)))

    @contextmanager
    def _experiment(self, name: str, params: Mapping[str, Any]) -> Iterator[tuple[MlflowClient, str]]:
        uri = store.absolute(self.uri)
        file = store.database(uri)
        folder = Path(self.artifacts).absolute() if self.artifacts else file and file.parent / "mlflow-artifacts"
        wanted = self.experiment or os.environ.get(EXPERIMENT) or name
        with stoppable(), store.errors_explained(uri):
            client, experiment_id = store.open_experiment(uri, folder, wanted, partial(_kind, params))
            store.end_dead_runs(client)
            yield client, experiment_id

    @contextmanager
    def _kept(self, client: MlflowClient, info: RunInfo) -> Iterator[MlflowRun]:
        limit = None if self.upload_limit is None else n_bytes(self.upload_limit, "tracker.upload_limit")
        asked = (self.description or "", self.upload_histories, self.register)
        run = MlflowRun(client, info.run_id, self._address(info), limit, *asked)
        with _ended_in_order(client, info.run_id):
            if self.tags:
                run.log_tags(self.tags)
            yield run

    def _address(self, info: RunInfo) -> str:
        """Return where or how to open a run, and the variables of the environment that have decided where it is."""
        uri = store.absolute(self.uri)
        deciding = [store.VARIABLE] if self.uri is None and os.environ.get(store.VARIABLE) else []
        deciding += [EXPERIMENT] if self.experiment is None and os.environ.get(EXPERIMENT) else []
        return address(uri, info.experiment_id, info.run_id) + (f"  # {', '.join(deciding)}" if deciding else "")

    @contextmanager
    def _watched(self, run_id: str) -> Iterator[None]:
        """Record the use of the machine inside the context, if that was asked for."""
        if not self._watches:
            yield
            return
        from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor

        monitor: Any = SystemMetricsMonitor(run_id, tracking_uri=store.absolute(self.uri))  # type: ignore[no-untyped-call]
        monitor.start()
        try:
            yield
        finally:
            monitor.finish()


@contextmanager
def _ended_in_order(client: MlflowClient, run_id: str) -> Iterator[None]:
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
        with suppress(*store.failures()) if why else nullcontext():
            if why and not gone:
                client.set_tag(run_id, "recx.reason", why[:LONGEST_TAG])
            if not gone:
                client.set_terminated(run_id, status)


def address(uri: str, experiment_id: str, run_id: str) -> str:
    """Return the page of a run on a server, without a password, or the command that opens the page of a local store."""
    if uri.startswith("http"):
        return page_of_run(uri, experiment_id, run_id)
    other = [] if uri == store.absolute(store.DEFAULT) else ["--uri", hidden(uri)]
    return shlex.join(["python", "-m", "recx", "ui", run_id[:SHORTEST_ID], *other])


def _kind(params: Mapping[str, Any], tags: Mapping[str, str]) -> dict[str, str]:
    """Return the tags of an experiment: what its pages show, what its runs are compared by, how to read it.

    Args:
        params: The configuration of a run that is about to start.
        tags: Those that it has, which are kept, except that its table gets columns for this run.
    """
    objective, fold = str(params.get("objective", "")), str(params.get("fold", ""))
    primary = {f"{PRIMARY}.name": objective, f"{PRIMARY}.greaterIsBetter": "true"} if objective else {}
    of_new = {"mlflow.experimentKind": "custom_model_development", "mlflow.note.content": HOW_TO_READ, **primary}
    usual = [*params.get(chosen.CHOSEN, {}).get("options", {}), *chosen.TOP]
    columns = view.updated(tags.get(view.TAG, ""), chosen.params(params), usual, objective, fold)
    return {**of_new, **tags, view.TAG: columns}


def _origin() -> dict[str, str]:
    """Return tags with the user, the process, the version of recx and the commit of a run."""
    git = git_state()
    source = {"mlflow.source.name": "recx", "mlflow.source.type": "LOCAL", "mlflow.user": _user()}
    commit = {"mlflow.source.git.commit": git["commit"]} if "commit" in git else {}
    tags = {f"git.{name}": value for name, value in git.items()}
    return {**identity(), "recx.version": __version__, **source, **commit, **tags}


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an id without a name, as in containers
        return "unknown"

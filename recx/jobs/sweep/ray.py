"""A Ray cluster for the trials that Hydra's launcher distributes, and the behaviour of a trial inside a Ray task."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from recx.core.errors import RecxError
from recx.experiment.engine.cluster import cluster, first_line
from recx.jobs.sweep.journal import FILE


@contextmanager
def cluster_of_trials(init: Mapping[str, Any]) -> Iterator[None]:
    """Start Ray or join a cluster; on exit nothing of this sweep runs there any more.

    Args:
        init: Arguments of ``ray.init``.

    Raises:
        InputError: The cluster does not exist, or Ray does not accept the arguments.
        RecxError: Ray itself failed; finished trials are in the sweep's journal.
    """
    with cluster(init, "hydra.launcher.ray.init"):
        from ray.exceptions import RayError

        try:
            yield
        except RayError as error:
            message = first_line(getattr(error, "cause", None) or error)
            raise RecxError(f"Ray stopped the sweep: {message} (resume=last runs the missing trials)") from error


@contextmanager
def task() -> Iterator[None]:
    """Turn SIGTERM inside into the exit of the worker, after which Ray retries its trial.

    To Ray, a task that ends by ``KeyboardInterrupt`` was cancelled, which would end the sweep.
    """
    try:
        yield
    except KeyboardInterrupt as stop:
        raise SystemExit(str(stop)) from stop


def check_shared(sweep: Path) -> None:
    """Raise RecxError if this machine does not see the folder of the sweep."""
    if not (sweep / FILE).is_file():
        raise RecxError(
            f"{sweep}: {socket.gethostname()} does not see this folder of the sweep: all machines of a cluster need "
            "the same working directory, on a shared disk"
        )


def check_tries(max_retries: int) -> None:
    """Raise RecxError if this is the last of Ray's tries, so that only this trial fails and the others continue."""
    import ray

    died = ray.get_runtime_context().worker.core_worker.get_current_task_attempt_number()
    if 0 < max_retries <= died:
        raise RecxError(f"its worker died {died} times (out of memory, killed or crashed)")

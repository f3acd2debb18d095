"""A Ray cluster for the trials that Hydra's launcher distributes, and the behaviour of a trial inside a Ray task."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from recx.core.errors import InputError, RecxError
from recx.jobs.sweep.journal import FILE

EVERYWHERE = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",  # or lines of two trials would be merged into one
    "RAY_COLOR_PREFIX": "0",
    "RAY_task_oom_retries": "3",  # Ray's default is infinite
}
STARTED_HERE = {
    "RAY_AUTH_MODE": "token",  # Ray's default here; setting it avoids a warning
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # as on those, all servers listen on 127.0.0.1 only
}
JOINED = {"RAY_NUM_REDIS_GET_RETRIES": "2"}  # of 40 seconds each, if the cluster is gone; Ray's default is 20
"""Ray's settings, which it reads when it is imported; the user's environment takes precedence."""


@contextmanager
def cluster(init: Mapping[str, Any]) -> Iterator[None]:
    """Start Ray or join a cluster; on exit nothing of this sweep runs there any more.

    Args:
        init: Arguments of ``ray.init``.

    Raises:
        InputError: The cluster does not exist, or Ray does not accept the arguments.
        RecxError: Ray itself failed; finished trials are in the sweep's journal.
    """
    _check_reachable(str(init.get("address")))
    settings = {**EVERYWHERE, **(STARTED_HERE if init.get("address") == "local" else JOINED)}
    os.environ.update({**settings, **os.environ})
    import ray
    from ray.exceptions import RayError

    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(**init)
    except (ConnectionError, ValueError, RuntimeError, RayError) as error:
        raise InputError(f"hydra.launcher.ray.init: {_first_line(error)}") from error
    finally:
        signal.signal(signal.SIGTERM, handler)  # Ray's own handler would exit without ending the runs properly
    try:
        yield
    except RayError as error:
        message = _first_line(getattr(error, "cause", None) or error)
        raise RecxError(f"Ray stopped the sweep: {message} (resume=last runs the missing trials)") from error
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Raise InputError if there is no server at HOST:PORT, for which Ray would wait many minutes."""
    host, _, port = address.rpartition(":")
    if not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise InputError(
            f"hydra.launcher.ray.init.address={address}: no server answers there ({error}): give the HOST:PORT that "
            "`ray start --head` printed, auto, or local"
        ) from error


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__


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
